"""Tensors and their nodes, the leaves behind values, freezing, and what unknown code may do to all of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adlint import program as p
from adlint.tape import calls, clips, inference, retention, shapes, slots, terms, updates
from adlint.tape.graph import Node
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    Bound,
    Builtin,
    Closure,
    Const,
    Counter,
    Gradient,
    Instance,
    Key,
    Leaves,
    Library,
    Linear,
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
    named,
)

# ---------------------------------------------------------------- values and nodes


def is_tensorial(m: Machine, state: State, value: Value) -> bool:
    """Tell whether a value is a tensor that the tape knows."""
    return isinstance(state.object(value), Tensor) or (isinstance(value, Leaves) and value.single)


def is_tracked(state: State, value: Value) -> bool:
    """Tell whether a value is an unknown that was told to require grad, and so is a tensor."""
    return isinstance(value, Unknown) and ("tracked", value.key) in state.store


def is_open(m: Machine, state: State, value: Value) -> bool:
    """Tell whether a value is the result of an unknown call, which may be no tensor at all."""
    thing = state.object(value)
    return isinstance(thing, Tensor) and m.nodes[thing.node].kind in ("call", "part")


def alien(m: Machine) -> Unknown:
    """Return a value of another framework than the profile's."""
    m.aliens = True
    return m.unknown(_ALIEN)


def is_alien(m: Machine, key: Key) -> bool:
    """Tell whether an unknown comes from another framework."""
    pending = [key] if m.aliens else []
    for _ in range(64):
        if not pending:
            return False
        part = pending.pop()
        if isinstance(part, Unknown):
            part = part.key
        if isinstance(part, tuple):
            if part[:1] == (_ALIEN,):
                return True
            pending += part
    return False


_ALIEN = "alien"


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
        return () if value.data else tuple(sorted(value.leaves))
    if isinstance(value, Unknown):
        if ("tracked", value.key) in state.store:
            return (leaf_of(m, value.key),)
        if is_alien(m, value.key):
            return ()
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


def cut(m: Machine, state: State, site: p.Node, why: str = "", behind: tuple[int, ...] = ()) -> Ref:
    """Return a tensor without a graph: why, and which nodes it was cut off from."""
    if why == "detach":
        m.detached.update(behind)
    return tensor(m, state, m.node(state, "cut", "", (), False, site, False, cut=why, behind=behind))


def leaf(m: Machine, state: State, site: p.Node, why: str = "", behind: tuple[int, ...] = ()) -> Ref:
    """Return a new tensor that requires grad, and how it was cut off from others whose values it is made of."""
    return tensor(m, state, m.node(state, "leaf", "tensor", (), False, site, True, cut=why, behind=behind))


def operation(m: Machine, state: State, name: str, values: Iterable[Value], site: p.Node) -> Value:
    """Return the result of an operation of the framework on values."""
    held = list(values)
    parents = tuple(n for v in held for n in nodes_in(m, state, v))
    hidden = not all(_transparent(m, state, v) for v in held)
    inference.entered(m, state, name, parents, site)
    if state.recording in ("off", "inference"):
        hidden = m.profile.result(name) == "same"
    made = m.node(state, "operation", name, parents, m.profile.saves(name), site, hidden=hidden)
    terms.summed(m, state, name, parents, made, site)
    return shapes.operation(m, state, name, calls.Arguments(tuple(held)), tensor(m, state, made), site, direct=True)


def _transparent(m: Machine, state: State, value: Value, depth: int = 4) -> bool:
    """Tell whether `nodes_in` finds every tensor in a value."""
    thing = state.object(value)
    if isinstance(value, Unknown):
        return depth > 2
    if isinstance(value, (Const, Linear, Library, Builtin, Leaves)) or isinstance(thing, Tensor):
        return True
    if depth == 0:
        return False
    if isinstance(value, Tuple):
        return all(_transparent(m, state, v, depth - 1) for v in value.items)
    if isinstance(thing, Sequence):
        return bool(thing.items) and all(_transparent(m, state, v, depth - 1) for v in thing.items)
    return isinstance(thing, Table) and all(_transparent(m, state, v, depth - 1) for _, v in thing.items)


def part(m: Machine, state: State, value: Value, key: Key, site: p.Node) -> Value:
    """Return an element of the result of an unknown call."""
    held = state.store.get(("part", key_of(value), key))
    if held is not None:
        found: Value = held
        return found
    nodes = nodes_in(m, state, value)
    joint = all(m.profile.is_recurrent(named(m.nodes[n].callee)) for n in nodes)
    result = tensor(m, state, m.node(state, "part", str(key), nodes, None, site, joint=joint))
    state.store[("part", key_of(value), key)] = result
    return result


def gradient(m: Machine, state: State, leaves: frozenset[int]) -> Gradient:
    """Return the content of slots; from now on an update of the leaf may be made of it."""
    m.reads |= leaves
    retention.touched(m, state)
    for one in leaves:
        slot = state.slot(one)
        if slot.status != "clean":
            state.store[("slot", one)] = replace(slot, read=True)
    return Gradient(leaves)


def leaves_behind(m: Machine, state: State, value: Value, inside: frozenset[Value] = frozenset()) -> frozenset[int]:
    """Return the leaves that a value is, or is made of: a parameter, a module, an optimizer, an unknown.

    `inside` are the containers around the value; one that holds itself adds nothing.
    """
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
    parts: Iterable[Value] = ()
    if isinstance(value, Tuple):
        parts = value.items
    elif isinstance(thing, Sequence):
        parts = thing.items
    elif isinstance(thing, Table):
        parts = [v for _, v in thing.items]
    elif isinstance(thing, Instance):
        parts = thing.attributes.values()
    if value in inside:
        return frozenset()
    return frozenset().union(*(leaves_behind(m, state, v, inside | {value}) for v in parts))


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
    return a is not None and b is not None and (inside(a, b) or inside(b, a))


def inside(key: Key, other: Key) -> bool:
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


# ---------------------------------------------------------------- slots


def set_requires_grad(m: Machine, state: State, target: Value, flag: Value, site: p.Node) -> None:
    """Freeze or thaw; on a tensor without a graph, make it a leaf."""
    thing = state.object(target)
    on = not (isinstance(flag, Const) and not flag.value)
    if not isinstance(flag, Const):
        on = m.decide(state, ("truth", key_of(flag))) if isinstance(flag, Unknown) else True
    if isinstance(thing, Tensor) and isinstance(target, Ref) and m.nodes[thing.node].kind != "leaf":
        state.store[("retained", thing.node)] = True
        if on and m.nodes[thing.node].requires_grad is not True:
            made = m.node(state, "leaf", "tensor", (), False, site, True, cut="wrapped", behind=(thing.node,))
            shapes.same(m, thing.node, made)
            state.store[target.id] = Tensor(made)
        return
    retention.touched(m, state)
    part = isinstance(target, Leaves) and (target.part or (target.single and len(state.guards) > state.entry))
    for one in leaves_behind(m, state, target):
        state.store[("frozen", one)] = False if on else part or site
    if isinstance(target, Unknown) and on:
        state.store[("attribute", target.key, "requires_grad")] = flag
        state.store[("tracked", target.key)] = True
        m.evidence.add(target.key)


def param_groups(m: Machine, state: State, value: Ref, thing: Optimizer) -> Value:
    """Return what `optimizer.param_groups` holds: one group standing for all."""
    leaves: Value = Unknown(("params", value.id)) if thing.leaves is None else Leaves(thing.leaves)
    group = m.allocate(state, Table(((Const("params"), leaves),), more=True))
    return m.allocate(state, Sequence("list", (group,)))


def exchange(m: Machine, state: State, old: Value, new: Value, site: p.Node) -> None:
    """Remember that a member of a network that an optimizer was built with is replaced by another one."""
    owned = module_leaves(m, state, old) & m.ledger.built.keys()
    if owned:
        built = m.ledger.built[min(owned)][1]
        events = (m.event(state, "replace", site), m.event(state, "build", built))
        m.ledger.replaced.update(dict.fromkeys(module_leaves(m, state, new) - m.owned, events))


def spelled(m: Machine, state: State, leaf: int) -> str:
    """Return how the running function writes the optimizer that owns a leaf; empty if it has no name for it."""
    if leaf not in m.owned:
        return ""
    frame: int | None = state.frame
    while frame is not None:
        for key, value in state.store.items():
            if type(key) is not tuple or key[0] != frame or not isinstance(value, Ref):
                continue
            thing = state.object(value)
            if isinstance(thing, Optimizer) and leaf in (thing.leaves or ()):
                return str(key[1])
            for name, held in thing.attributes.items() if isinstance(thing, (Instance, Module)) else ():
                inner = state.object(held)
                if isinstance(inner, Optimizer) and leaf in (inner.leaves or ()):
                    return f"{key[1]}.{name}"
        frame = state.store.get(("parent", frame))
    return ""


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
            stack += [
                v for key, v in state.store.items() if type(key) is tuple and key[0] == value.frame and value.frame > 0
            ]
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
    values = list(values)
    clips.handed(m, state, values)
    for value in reachable(m, state, values):
        thing = state.object(value)
        if isinstance(thing, (Optimizer, Module)) or isinstance(value, Leaves):
            retention.touched(m, state)
        _hand_over(m, state, value)
        if isinstance(thing, Instance) and thing.role == "engine" and isinstance(value, Ref):
            key = ("handlers", value.id)  # it may be given handlers that nobody sees
            state.store[key] = (*state.store.get(key, ()), ("", value, ()))
        if isinstance(thing, Optimizer):
            _forget(state, thing.leaves if thing.leaves is not None else updates.unclaimed(m, state))
        elif isinstance(thing, Module):
            _forget(state, module_leaves(m, state, value))
            unsettle(m, state, value)
            kept = [n for held in thing.attributes.values() for n in nodes_in(m, state, held, sources=False)]
            m.handed.update(kept)
            retention.handed(m, state, kept)
            for one in members(state, value):
                inner = state.object(one)
                if isinstance(inner, Module) and isinstance(one, Ref):
                    state.store[one.id] = replace(inner, training=None)
        elif isinstance(thing, Tensor):
            m.escaped.add(thing.node)
        elif isinstance(value, Leaves):
            _forget(state, value.leaves)


def unsettle(m: Machine, state: State, module: Value) -> None:
    """Forget that all parameters of a network are frozen; some may not be."""
    for one in module_leaves(m, state, module):
        if state.frozen(one):
            state.store[("frozen", one)] = True


def any_of(m: Machine, state: State, values: Iterable[Value]) -> None:
    """Remember that one of several optimizers is meant, and that it is not known which."""
    for value in values:
        if isinstance(state.object(value), Optimizer):
            _hand_over(m, state, value)


def _hand_over(m: Machine, state: State, value: Value) -> None:
    """Remember that unknown code got hold of an optimizer, or of filled slots."""
    thing = state.object(value)
    if isinstance(thing, Optimizer):
        m.ledger.handed |= thing.leaves or frozenset()
    elif isinstance(thing, Module):
        m.ledger.handed |= {one for one in module_leaves(m, state, value) if state.slot(one).status == "filled"}
        for held in reachable(m, state, thing.attributes.values()):
            inner = state.object(held)
            if isinstance(inner, Optimizer):
                m.ledger.handed |= inner.leaves or frozenset()
    elif isinstance(value, Leaves):
        m.ledger.handed |= {one for one in value.leaves if state.slot(one).status == "filled"}


def _forget(state: State, leaves: Iterable[int]) -> None:
    for one in leaves:
        state.store[("slot", one)] = slots.Slot(vague=True)


def escape(m: Machine, state: State, values: Iterable[Value]) -> None:
    """Remember that tensors have gone where they may be backpropagated unseen."""
    for value in reachable(m, state, values):
        thing = state.object(value)
        if isinstance(thing, (Module, Optimizer)):
            _hand_over(m, state, value)
        if isinstance(thing, Tensor):
            m.escaped.add(thing.node)
