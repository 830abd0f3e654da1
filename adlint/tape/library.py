"""What the framework does: tensors and nodes, backward, step, clear, freezing, and in-place updates of leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adlint import program as p
from adlint.tape import attributes, slots
from adlint.tape.facts import Event, Fact, Guard, Turn
from adlint.tape.graph import Node, Walk, ancestors, must_require_grad
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    NONE,
    Bound,
    Closure,
    Const,
    Counter,
    Gradient,
    Instance,
    Key,
    Leaves,
    Method,
    Module,
    Optimizer,
    Partial,
    Ref,
    Sequence,
    Table,
    Tensor,
    Tuple,
    Unknown,
    Value,
    key_of,
)

# ---------------------------------------------------------------- values and nodes


def is_tensorial(m: Machine, state: State, value: Value) -> bool:
    """Tell whether a value is a tensor that the tape knows."""
    return isinstance(state.object(value), Tensor) or (isinstance(value, Leaves) and value.single)


def is_open(m: Machine, state: State, value: Value) -> bool:
    """Tell whether a value is the result of an unknown call, which may be no tensor at all."""
    thing = state.object(value)
    return isinstance(thing, Tensor) and m.nodes[thing.node].kind in ("call", "part")


def leaf_of(m: Machine, key: Key) -> int:
    """Return the leaf that stands for the parameters of an unknown."""
    if key not in m.leaves_of:
        m.leaves_of[key] = identity = m.counter
        m.counter += 1
        m.nodes[identity] = Node(identity, "leaf", "parameters", (), False, None, None, (), key)
    return m.leaves_of[key]


def source_of(m: Machine, key: Key) -> int:
    """Return the node that stands for an unknown value used as a tensor."""
    if key not in m.values_of:
        m.values_of[key] = identity = m.counter
        m.counter += 1
        m.nodes[identity] = Node(identity, "source", "unknown", (), None, None, None, (), key)
    return m.values_of[key]


def nodes_in(m: Machine, state: State, value: Value, depth: int = 4, sources: bool = True) -> tuple[int, ...]:
    """Return the nodes of the tensors in a value: itself, or inside tuples, lists, dicts and distributions."""
    thing = state.object(value)
    if isinstance(thing, Tensor):
        return (thing.node,)
    if isinstance(value, Leaves):
        return () if value.data else tuple(sorted(leaf for leaf in value.leaves if not state.frozen(leaf)))
    if isinstance(value, Unknown):
        if ("tracked", value.key) in state.store:
            return (leaf_of(m, value.key),)
        return (source_of(m, value.key),) if sources else ()
    if depth == 0:
        return ()
    parts: Iterable[Value] = ()
    if isinstance(value, Tuple):
        parts = value.items
    elif isinstance(thing, Sequence):
        parts = thing.items
    elif isinstance(thing, Table):
        parts = [item for _, item in thing.items]
    elif isinstance(thing, Instance):
        parts = thing.attributes.values()
    return tuple(n for part in parts for n in nodes_in(m, state, part, depth - 1, sources and depth > 3))


def tensor(m: Machine, state: State, node: int) -> Ref:
    return m.allocate(state, Tensor(node))


def cut(m: Machine, state: State, site: p.Node) -> Ref:
    """Return a tensor without a graph."""
    return tensor(m, state, m.node(state, "cut", "", (), False, site, False))


def leaf(m: Machine, state: State, site: p.Node) -> Ref:
    """Return a new tensor that requires grad."""
    return tensor(m, state, m.node(state, "leaf", "tensor", (), False, site, True))


def operation(m: Machine, state: State, name: str, values: Iterable[Value], site: p.Node) -> Value:
    """Return the result of an operation of the framework on values."""
    parents = tuple(n for v in values for n in nodes_in(m, state, v))
    return tensor(m, state, m.node(state, "operation", name, parents, m.profile.saves(name), site))


def part(m: Machine, state: State, value: Value, key: Key, site: p.Node) -> Value:
    """Return an element of the result of an unknown call."""
    held = state.store.get(("part", key_of(value), key))
    if held is not None:
        found: Value = held
        return found
    nodes = nodes_in(m, state, value)
    result = tensor(m, state, m.node(state, "part", str(key), nodes, None, site))
    state.store[("part", key_of(value), key)] = result
    return result


def gradient(m: Machine, state: State, leaves: frozenset[int]) -> Gradient:
    """Return the content of slots; from now on an update of the leaf may be made of it."""
    m.reads |= leaves
    for one in leaves:
        slot = state.slot(one)
        if slot.status != "clean":
            state.store[("slot", one)] = replace(slot, read=True)
    return Gradient(leaves)


def leaves_behind(m: Machine, state: State, value: Value) -> frozenset[int]:
    """Return the leaves that a value is, or is made of: a parameter, a module, an optimizer, an unknown."""
    thing = state.object(value)
    if isinstance(value, Leaves):
        return value.leaves
    if isinstance(thing, Tensor):
        return frozenset({thing.node}) if m.nodes[thing.node].kind == "leaf" else frozenset()
    if isinstance(thing, Module):
        return module_leaves(m, state, value)
    if isinstance(thing, Optimizer):
        return thing.leaves or frozenset()
    if isinstance(value, Unknown):
        return frozenset({leaf_of(m, value.key)})
    if isinstance(value, Tuple):
        return frozenset().union(*(leaves_behind(m, state, v) for v in value.items))
    if isinstance(thing, Sequence):
        return frozenset().union(*(leaves_behind(m, state, v) for v in thing.items))
    if isinstance(thing, Table):
        return frozenset().union(*(leaves_behind(m, state, v) for _, v in thing.items))
    return frozenset()


def module_leaves(m: Machine, state: State, value: Value, seen: frozenset[Value] = frozenset()) -> frozenset[int]:
    """Return the leaves of a module and of all modules and parameters in it."""
    thing = state.object(value)
    if value in seen:
        return frozenset()
    seen = seen | {value}
    if isinstance(thing, Tensor):
        return frozenset({thing.node}) if m.nodes[thing.node].kind == "leaf" else frozenset()
    if isinstance(value, Leaves):
        return value.leaves
    if not isinstance(thing, Module):
        return frozenset()
    own = frozenset() if thing.leaf is None else frozenset({thing.leaf})
    members = [*thing.children, *thing.attributes.values()]
    return own.union(*(module_leaves(m, state, v, seen) for v in members))


def members(state: State, value: Value, seen: frozenset[Value] = frozenset()) -> frozenset[Value]:
    """Return a module and all modules in it."""
    thing = state.object(value)
    if value in seen or not isinstance(thing, Module):
        return frozenset()
    seen = seen | {value}
    return frozenset({value}).union(*(members(state, v, seen) for v in [*thing.children, *thing.attributes.values()]))


def related(m: Machine, one: int, other: int) -> bool:
    """Tell whether two leaves may stand for a common parameter: equal, or one unknown a member of the other."""
    if one == other:
        return True
    a, b = m.nodes[one].callee, m.nodes[other].callee
    return a is not None and b is not None and (_inside(a, b) or _inside(b, a))


def _inside(key: Key, other: Key) -> bool:
    while isinstance(key, tuple) and len(key) == 3 and key[0] in ("attr", "item"):
        key = key[1]
        if key == other:
            return True
    return False


def expand(m: Machine, state: State, leaves: frozenset[int]) -> frozenset[int]:
    """Return the leaves with slots that may be among `leaves`."""
    return leaves | {
        held for held, _ in state.slots() if m.nodes[held].callee and any(related(m, held, one) for one in leaves)
    }


# ---------------------------------------------------------------- backward


def backward(
    m: Machine,
    state: State,
    kind: str,
    roots: tuple[int, ...],
    site: p.Node,
    subject: p.Node | None,
    retained: bool,
    inputs: frozenset[int] | None = None,
) -> None:
    """Walk the graph from the roots as one pass: look for freed ancestors, then free them and fill the slots."""
    roots = tuple(n for n in roots if m.nodes[n].requires_grad is not False)
    if not roots:
        return
    now = state.store.get(("moment", 0), 0)
    later = _moment(m, state)
    event = m.event(state, kind, site, subject, retained=retained, root=roots[0], object=roots, moment=later)
    m.facts.training.update((site, *state.calls))
    walks = [ancestors(m.nodes, n, inputs if kind == "grad" else None) for n in roots]
    walk = Walk(
        tuple(dict.fromkeys(n for w in walks for n in w.nodes)), frozenset().union(*(w.leaves for w in walks))
    )
    m.training_loops.update(mark for mark, _ in state.turn)
    state.store[("phase", 0)] = m.fresh()
    m.walked.update(walk.nodes)
    m.walked.update(roots)
    if _consumed(m, state, event, walk, now):
        return
    m.facts.passes.add(site)
    _passes(m, state, event)
    if not retained and m.profile.consume != "never":
        for n in walk.nodes:
            if m.nodes[n].kind != "leaf" and ("freed", n) not in state.store:
                state.store[("freed", n)] = event
    if kind == "grad":
        return
    for one in walk.leaves:
        if state.frozen(one) or (inputs is not None and not any(related(m, one, other) for other in inputs)):
            continue
        slot = state.slot(one)
        if slot.status == "clean" and slot.before is not None:
            m.passed.add((f"slot {one}", slot.before.site, site, apart(slot.before.turn, event.turn)))
        state.store[("slot", one)] = slots.fill(slot, event)


def _passes(m: Machine, state: State, event: Event) -> None:
    """Remember that this backward went well after the earlier ones of the path."""
    earlier: dict[p.Node, Event] = state.store.get(("backwards", 0), {})
    for first in earlier.values():
        m.passed.add(("graph", first.site, event.site, apart(first.turn, event.turn)))
    if not event.retained:
        state.store[("backwards", 0)] = {**earlier, event.site: event}


def _moment(m: Machine, state: State) -> int:
    """Start a new moment: something has happened to the slots."""
    state.store[("moment", 0)] = moment = m.fresh()
    return moment


def _consumed(m: Machine, state: State, event: Event, walk: Walk, now: int) -> bool:
    """Note a backward through freed nodes; tell whether PyTorch raises for certain."""
    freed = [(n, e) for n in walk.nodes if (e := state.freed(n)) is not None]
    if not freed:
        return False
    for node, first in freed:
        assert first.root is not None
        same = _same_loss(m, first, event, walk)
        if not any(must_require_grad(m.nodes, node, root, m.evidence) for root in first.object):
            continue
        if not _stale_tensors(m, node, first, walk):
            continue
        kind = _consumption(m, node, first, event, same)
        definite = chained(first.guards, event.guards)
        details = (("covered", _covered(m, first, event)), ("direct", first.moment == now))
        m.note(state, Fact(kind, event, (first,), definite, m.nodes[node].site, details=details))
        state.crashed = state.crashed or definite
        return definite
    again = [e for n, e in freed if n in e.object]
    if again and all(m.nodes[n].saves is False for n in walk.nodes if m.nodes[n].kind != "leaf"):
        first = again[0]
        if state.turn == first.turn:
            details = (("covered", True), ("direct", first.moment == now))
            m.note(state, Fact("doubled", event, (first,), chained(first.guards, event.guards), details=details))
    return False


SCALING = frozenset({"*", "/", "+", "-", "neg", "Tensor.clone", "Tensor.mul", "Tensor.div", "[]"})


def _same_loss(m: Machine, first: Event, second: Event, walk: Walk) -> bool:
    """Tell whether two backwards start from one loss: itself, an alias or clone, a function of it, or scaled anew."""
    if set(first.object) & set(second.object):
        return True
    if first.kind == "grad":
        return False
    if any(root in walk.nodes for root in first.object):
        return True
    if any(root in ancestors(m.nodes, other).nodes for root in second.object for other in first.object):
        return True
    return bool({_unscaled(m, n) for n in first.object} & {_unscaled(m, n) for n in second.object})


def _covered(m: Machine, first: Event, second: Event) -> bool:
    """Tell whether the first backward gave all gradients of the second loss already."""
    reached = {n for root in first.object for n in ancestors(m.nodes, root).nodes}
    whole = {_unscaled(m, n) for n in first.object}
    return all(root in reached or _unscaled(m, root) in whole for root in second.object)


def _unscaled(m: Machine, node: int) -> int:
    """Return the node that a root is a multiple of."""
    while len(m.nodes[node].parents) == 1 and m.nodes[node].operation in SCALING:
        node = m.nodes[node].parents[0]
    return node


def _consumption(m: Machine, node: int, first: Event, event: Event, same: bool) -> str:
    """Name what happened, from the loop turns in which the node was made, freed and met again."""
    level = apart(first.turn, event.turn)
    straight = "consumed-again" if same else "shared-consumed"
    if level is None:
        return straight
    here = event.turn[level]
    made = m.nodes[node].turn[level : level + 1]
    if made and made[0][0] == here[0]:
        return "carried-graph"
    before = all(m.nodes[root].turn[level : level + 1] != (here,) for root in event.object)
    return straight if before and not same else "stale-forward"


def apart(first: Turn, second: Turn) -> int | None:
    """Return the depth of the loop that turned between two events; None if none did."""
    for depth, (a, b) in enumerate(zip(first, second)):
        if a != b:
            return depth if a[0] == b[0] else None
    return None


def _stale_tensors(m: Machine, node: int, first: Event, walk: Walk) -> bool:
    """Tell whether a freed node held tensors that the second walk needs for certain."""
    record = m.nodes[node]
    if record.saves is not None:
        return record.saves
    if record.kind == "source":
        return node in first.object
    if record.kind in ("call", "part"):
        if node in first.object and node in (walk.nodes[0],):
            return True
        if record.kind == "call" and record.callee not in m.evidence and not any(_inside(record.callee, e) for e in m.evidence):
            return False
        earlier = {n for root in first.object for n in ancestors(m.nodes, root).nodes}
        return any(_direct(m, n, node) for n in earlier) and any(_direct(m, n, node) for n in walk.nodes)
    return False


def _direct(m: Machine, child: int, node: int) -> bool:
    return node in m.nodes[child].parents and m.nodes[child].kind != "part"


def chained(first: frozenset[Guard], second: frozenset[Guard]) -> bool:
    """Tell whether two events surely happen together: the guards of one are among those of the other."""
    return first <= second or second <= first


# ---------------------------------------------------------------- slots


def owner_key(value: Value) -> Key:
    return key_of(value)


def step(m: Machine, state: State, optimizer: Value, site: p.Node, subject: p.Node | None) -> None:
    """Apply the slots that an optimizer owns."""
    thing = state.object(optimizer)
    event = m.event(state, "step", site, subject, object=owner_key(optimizer))
    state.store[("phase", 0)] = _moment(m, state)
    m.facts.training.update((site, *state.calls))
    m.training_loops.update(mark for mark, _ in state.turn)
    if isinstance(thing, Optimizer) and thing.leaves is not None:
        owned = expand(m, state, thing.leaves)
        exact = True
    else:
        owned, exact = _unclaimed(m, state), False
    served: set[Event] = set()
    for one in owned:
        slot = state.slot(one)
        if not exact and slot.applier not in (None, owner_key(optimizer)):
            continue
        served.update(slot.fills)
        _apply(m, state, one, event, owner_key(optimizer), exact)
        aliased = state.store.get(("alias", one))
        for other in aliased or ():
            _apply(m, state, other, event, owner_key(optimizer), exact)
    if exact:
        _mark_foreign(m, state, owned, served, event)


def _mark_foreign(m: Machine, state: State, owned: frozenset[int], served: set[Event], event: Event) -> None:
    """Remember, in slots of other optimizers, the backwards that this step was for."""
    phases = {state.slot(one).phase for one in owned if state.slot(one).fills}
    for one, slot in state.slots():
        if one in owned or slot.status == "clean" or slot.foreign is not None or one not in m.owned:
            continue
        joint = slot.phase != -1 and slot.phase in phases
        mine = next((b for b in slot.fills if b in served), None)
        if mine is not None:
            state.store[("slot", one)] = replace(slot, foreign=(mine, event), joint=joint)


def _apply(m: Machine, state: State, one: int, event: Event, applier: Key, exact: bool) -> None:
    slot = state.slot(one)
    if slot.status == "stale" and slot.applier == applier and slot.applied is not None and slot.stale is not None:
        definite = chained(slot.applied.guards, slot.stale.guards)
        causes = (slot.applied, *slot.fills[:1]) if slot.uncalled is None else (slot.applied, slot.uncalled)
        m.note(state, Fact("applied-again", slot.stale, causes, definite, details=(("leaf", one), ("step", event))))
    elif slot.foreign is not None and exact:
        own = slot.fills[-1]
        apart_from = (own.site, own.calls) != (slot.foreign[0].site, slot.foreign[0].calls)
        if apart_from and not (slot.joint and _reaches(m, state, own, slot.foreign[1])):
            definite = chained(slot.foreign[0].guards, own.guards)
            m.note(state, Fact("foreign-applied", own, slot.foreign, definite, details=(("leaf", one), ("step", event))))
    state.store[("slot", one)] = slots.apply(slot, event, applier)


def _reaches(m: Machine, state: State, backward: Event, step: Event) -> bool:
    """Tell whether a backward also filled slots that the optimizer of a step owns."""
    thing = state.object(step.object) if isinstance(step.object, Ref) else None
    leaves = thing.leaves if isinstance(thing, Optimizer) and thing.leaves is not None else frozenset()
    return any(leaves & ancestors(m.nodes, root).leaves for root in backward.object)


def _unclaimed(m: Machine, state: State) -> frozenset[int]:
    """Return the leaves with slots that no known optimizer owns."""
    return frozenset(one for one, _ in state.slots() if one not in m.owned)


def clear(m: Machine, state: State, leaves: frozenset[int] | None, site: p.Node) -> None:
    """Clear slots; None for all that an unknown receiver may own."""
    event = m.event(state, "clear", site)
    _moment(m, state)
    wide = _unclaimed(m, state) if leaves is None else expand(m, state, leaves)
    for one in wide:
        state.store[("slot", one)] = slots.clear(state.slot(one), event, state.store.get(("phase", 0), 0))
        state.store.pop(("alias", one), None)


def uncalled_clear(m: Machine, state: State, leaves: frozenset[int], site: p.Node, subject: p.Node) -> None:
    """Remember that a clear was named but not called."""
    event = m.event(state, "clear", site, subject, uncalled=True)
    for one in leaves:
        state.store[("slot", one)] = replace(state.slot(one), uncalled=event)


def assign_gradient(m: Machine, state: State, leaves: frozenset[int], value: Value, site: p.Node) -> None:
    """Run `p.grad = value`: None clears, another gradient is shared, anything else replaces."""
    event = m.event(state, "clear", site)
    for one in expand(m, state, leaves):
        state.store[("slot", one)] = slots.clear(state.slot(one), event)
        state.store.pop(("alias", one), None)
        if isinstance(value, Gradient):
            state.store[("alias", one)] = tuple(sorted(value.leaves - {one}))


def update_in_place(m: Machine, state: State, target: Value, values: Iterable[Value], site: p.Node) -> None:
    """Change a leaf in place: where its gradient was read since the last backward, the update applies it."""
    leaves = leaves_behind(m, state, target) if not isinstance(target, Unknown) else frozenset()
    if not leaves:
        return
    event = m.event(state, "update", site, object=("update", site))
    for one in leaves:
        if state.slot(one).read:
            _apply(m, state, one, event, ("update", site), exact=True)


def set_requires_grad(m: Machine, state: State, target: Value, flag: Value, site: p.Node) -> None:
    """Freeze or thaw; on a tensor without a graph, make it a leaf."""
    thing = state.object(target)
    on = not (isinstance(flag, Const) and not flag.value)
    if not isinstance(flag, Const):
        on = m.decide(state, ("truth", key_of(flag))) if isinstance(flag, Unknown) else True
    if isinstance(thing, Tensor) and isinstance(target, Ref) and m.nodes[thing.node].kind != "leaf":
        if on and m.nodes[thing.node].requires_grad is not True:
            state.store[target.id] = Tensor(m.node(state, "leaf", "tensor", (), False, site, True))
        return
    for one in leaves_behind(m, state, target):
        state.store[("frozen", one)] = not on
    if isinstance(target, Unknown) and on:
        state.store[("attribute", target.key, "requires_grad")] = flag
        state.store[("tracked", target.key)] = True
        m.evidence.add(target.key)


def param_groups(m: Machine, state: State, value: Ref, thing: Optimizer) -> Value:
    """Return what `optimizer.param_groups` holds: one group standing for all."""
    leaves: Value = Unknown(("params", value.id)) if thing.leaves is None else Leaves(thing.leaves)
    group = m.allocate(state, Table(((Const("params"), leaves),), more=True))
    return m.allocate(state, Sequence("list", (group,)))


# ---------------------------------------------------------------- unknown code


def reachable(m: Machine, state: State, values: Iterable[Value]) -> list[Value]:
    """Return the values and what can be reached from them."""
    seen: dict[Value, None] = {}
    stack = list(values)
    while stack and len(seen) < 400:
        value = stack.pop()
        if value in seen or isinstance(value, (Const, Unknown)):
            continue
        seen[value] = None
        thing = state.object(value)
        if isinstance(value, Tuple):
            stack += value.items
        elif isinstance(value, Bound):
            stack.append(value.receiver)
        elif isinstance(value, Partial):
            stack += [value.function, *value.arguments, *(v for _, v in value.keywords)]
        elif isinstance(value, Closure):
            stack += [v for key, v in state.store.items() if type(key) is tuple and key[0] == value.frame and value.frame]
        elif isinstance(value, Method):
            stack.append(value.receiver)
        elif isinstance(thing, Sequence):
            stack += thing.items
        elif isinstance(thing, Table):
            stack += [v for _, v in thing.items]
        elif isinstance(thing, (Instance, Optimizer)):
            stack += thing.attributes.values()
        elif isinstance(thing, Counter):
            stack += thing.parts
    return list(seen)


def havoc(m: Machine, state: State, values: Iterable[Value]) -> None:
    """Let unknown code do what it likes with values: clear, step, backpropagate, switch modes."""
    for value in reachable(m, state, values):
        thing = state.object(value)
        if isinstance(thing, Optimizer):
            _forget(state, thing.leaves if thing.leaves is not None else _unclaimed(m, state))
        elif isinstance(thing, Module):
            _forget(state, module_leaves(m, state, value))
            for one in members(state, value):
                inner = state.object(one)
                if isinstance(inner, Module) and isinstance(one, Ref):
                    state.store[one.id] = replace(inner, training=None)
        elif isinstance(thing, Tensor):
            m.escaped.add(thing.node)
        elif isinstance(value, Leaves):
            _forget(state, value.leaves)


def _forget(state: State, leaves: Iterable[int]) -> None:
    for one in leaves:
        if ("slot", one) in state.store:
            state.store[("slot", one)] = slots.Slot()


def escape(m: Machine, state: State, values: Iterable[Value]) -> None:
    """Remember that tensors have gone where they may be backpropagated unseen."""
    for value in reachable(m, state, values):
        thing = state.object(value)
        if isinstance(thing, Tensor):
            m.escaped.add(thing.node)


__all__ = ["NONE", "attributes", "Unknown"]
