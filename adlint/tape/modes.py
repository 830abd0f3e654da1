"""Training and evaluation mode: what put a network in which, and what was run in the wrong one.

    net.eval() ... net(x) ... backward     trained in evaluation mode, though it was trained in the other before
    net.train() ... backward ... no_grad: for x in data: net(x)      evaluated in training mode
    net.eval (no call)                     named and nothing else

Networks that the program builds have a mode in each module; unknown ones have theirs by key. In the store:
("trained", net) once a backward went through since its mode was last set to training, ("evaluating", net) what put a
trained network in evaluation mode, ("held", module) what did so to a part on its own, ("thawed", module) what undid it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from adlint import program as p
from adlint.tape import attributes, calls, conditions, library, unseen
from adlint.tape.facts import Event, Fact, apart
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    FALSE,
    Builtin,
    Class,
    Const,
    Instance,
    Key,
    Method,
    Module,
    Ref,
    Sequence,
    Table,
    Tensor,
    Unknown,
    Value,
    key_of,
)

STRAIGHT = 1_000


@dataclass(frozen=True, slots=True)
class Run:
    """One recorded forward of a network: in which mode, and what had put it there after it was trained."""

    net: Key
    forward: Event
    training: bool | None
    setter: Event | None
    thawed: tuple[tuple[Event, Event], ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """One unrecorded forward of a network in training mode that was trained before."""

    net: Key
    forward: Event
    leaves: frozenset[int]


# ---------------------------------------------------------------- setting a mode


def of_module(m: Machine, state: State, receiver: Ref, given: calls.Arguments, training: bool, site: p.Node) -> None:
    """Run `eval()` or `train(mode)` on a network that the program builds."""
    thing = state.object(receiver)
    assert isinstance(thing, Module)
    flag = given.get(0, "mode") if training else None
    own = attributes.find(state, thing.cls, "train") if isinstance(thing.cls, Ref) else None
    if not training and own is not None:
        calls.call(m, state, attributes.bind(m, state, own, receiver, site), calls.Arguments((FALSE,)), site)
        return
    mode: bool | None = training
    if flag is not None:
        mode = None if _saved(flag) else conditions.decided(m, state, flag)
    event = _event(m, state, site)
    m.log(state, "mode", site, now=_called(mode))
    sure = flag is None or isinstance(flag, Const)
    _put(m, state, receiver, mode, event if sure else None, set())
    if mode and sure:
        state.store[("set", receiver)] = True
    elif mode is False and sure:
        m.holds = True
        state.store[("held", receiver.id)] = event
        state.store.pop(("thawed", receiver.id), None)


def _put(m: Machine, state: State, module: Ref, mode: bool | None, event: Event | None, seen: set[int]) -> None:
    """Put a module and everything in it into a mode; members with a `train` of their own run it."""
    thing = state.object(module)
    assert isinstance(thing, Module)
    seen.add(module.id)
    held = state.store.get(("held", module.id))
    if thing.training is False and mode and event is not None and held is not None and len(seen) > 1:
        state.store[("thawed", module.id)] = (held, event)
    state.store[module.id] = replace(thing, training=mode)
    _switched(m, state, module, mode, event)
    for member in dict.fromkeys([*thing.children, *thing.attributes.values()]):
        inner = state.object(member)
        if not isinstance(inner, Module) or not isinstance(member, Ref) or member.id in seen:
            continue
        own = attributes.find(state, inner.cls, "train") if isinstance(inner.cls, Ref) else None
        if own is not None and event is not None and mode is not None:
            bound = attributes.bind(m, state, own, member, event.site)
            calls.call(m, state, bound, calls.Arguments((Const(mode),)), event.site)
        else:
            _put(m, state, member, mode, event, seen)


def of_unknown(m: Machine, state: State, base: Key, given: calls.Arguments, training: bool, site: p.Node) -> None:
    """Run `eval()` or `train(mode)` on an unknown network, and so on what is a part of it."""
    m.evidence.add(base)
    flag = given.get(0, "mode") if training else None
    mode: bool | None = training
    if flag is not None:
        mode = None if _saved(flag) else conditions.decided(m, state, flag)
    event = _event(m, state, site) if flag is None or isinstance(flag, Const) else None
    m.log(state, "mode", site, now=_called(mode))
    base = unwrapped(m, base)
    if (mode is not False or event is None) and not _is_path(base):
        for net in m.moded:
            state.store.pop(("evaluating", net), None)
    for net in (base, *(one for one in m.moded if one != base and library.inside(one, base))):
        if net == base or mode is not False:
            _know(state, net, mode)
        _switched(m, state, net, mode, event)
    m.moded.add(base)


def _is_path(key: Key) -> bool:
    """Tell whether a key is a name or an attribute of one; anything else may be a part of a network."""
    while isinstance(key, tuple) and len(key) == 3 and key[0] == "attr":
        key = key[1]
    return not isinstance(key, tuple) or key[0] not in ("result", "item", "method", "element")


def _know(state: State, net: Key, mode: bool | None) -> None:
    if mode is None:
        state.store.pop(("mode", net), None)
    else:
        state.store[("mode", net)] = mode


def _switched(m: Machine, state: State, net: Key, mode: bool | None, event: Event | None) -> None:
    """Keep what a network was trained in; a switch to training undoes one to evaluation."""
    before: Event | None = state.store.get(("evaluating", net))
    if mode is False:
        if ("trained", net) in state.store and event is not None and before is None:
            state.store[("evaluating", net)] = event
        return
    state.store.pop(("trained", net), None)
    state.store.pop(("tested", net), None)
    if before is not None:
        del state.store[("evaluating", net)]
        if event is not None:
            m.undone[before.site] = max(m.undone.get(before.site, -1), nearness(before, event))


def nearness(first: Event, second: Event) -> int:
    """Return how soon the second event comes after the first: the deeper the loop that turned between, the sooner."""
    level = apart(first.turn, second.turn)
    return STRAIGHT if level is None else level


def _event(m: Machine, state: State, site: p.Node) -> Event:
    """Return the event of a switch, the same one whatever the conditions were, so that paths meet again."""
    return Event("mode", site, state.calls, frozenset(), turn=state.turn, path=state.log)


def _called(mode: bool | None) -> str:
    return {True: "training", False: "evaluation", None: "unknown"}[mode]


def _saved(flag: Value) -> bool:
    """Tell whether a flag is what a network's own mode was before."""
    key = flag.key if isinstance(flag, Unknown) else None
    return isinstance(key, tuple) and len(key) == 3 and key[0] == "attr" and key[2] == "training"


def unwrapped(m: Machine, key: Key) -> Key:
    """Return the key of the network behind a wrapper's own attribute for it."""
    while (
        isinstance(key, tuple) and len(key) == 3 and key[0] == "attr" and m.profile.method("module", key[2]) == "self"
    ):
        key = key[1]
    return key


def forget(m: Machine, state: State, bases: Iterable[Key], values: Iterable[Value]) -> None:
    """Unknown code was handed values, or is a method of `bases`: it may have set their networks to another mode."""
    if not m.moded:
        return
    keys = set(bases)
    values = list(values)
    for value in [*values, *library.reachable(m, state, values)]:
        thing = state.object(value)
        parts: Iterable[Value] = (value,)
        if isinstance(thing, Sequence):
            parts = (value, *thing.items)
        elif isinstance(thing, Table):
            parts = (value, *(item for _, item in thing.items))
        elif isinstance(thing, Instance):
            parts = (value, *thing.attributes.values())
        keys.update(key for part in parts for key in (key_of(part), unseen.result_key(part)))
    for net in m.moded:
        if net in keys or any(library.inside(net, key) for key in keys):
            state.store.pop(("evaluating", net), None)
            if state.store.get(("mode", net)):
                del state.store[("mode", net)]


def named(m: Machine, state: State, receiver: Value, name: str, site: p.Node) -> None:
    """Look at an expression statement `receiver.eval` or `receiver.train`: a switch that is not made."""
    role = m.profile.method("module", name)
    if role not in ("eval", "train"):
        return
    net, training = _net(m, state, receiver)
    if net is None or (isinstance(receiver, Unknown) and net not in m.evidence):
        return
    if role == "train" and (training is not False or ("evaluating", net) not in state.store):
        return
    if role == "eval" and (training is False or sensitive(m, state, receiver) is False):
        return
    m.note(state, Fact("mode-named", _event(m, state, site), (), True, details=(("role", role),)))
    state.store[("named", net)] = True
    state.store.pop(("evaluating", net), None)


def _net(m: Machine, state: State, value: Value) -> tuple[Key, bool | None]:
    """Return the identity of a network and its mode."""
    thing = state.object(value)
    if isinstance(thing, Module) and isinstance(value, Ref):
        return value, thing.training
    key: Key = None
    if isinstance(value, Unknown):
        key = unwrapped(m, value.key)
    elif isinstance(thing, Tensor):
        key = ("result", value)
    return key, state.store.get(("mode", key))


# ---------------------------------------------------------------- layers that care


def sensitive(m: Machine, state: State, module: Value, training: bool | None = None) -> bool | None:
    """Tell whether anything in a network depends on its mode (and is in the given one, in evaluation because it was put
    there after it was trained); None if that cannot be seen."""
    opaque = not isinstance(state.object(module), Module)
    for member in library.members(state, module):
        thing = state.object(member)
        assert isinstance(thing, Module)
        minds = _reads_mode(m, state, thing.cls) if isinstance(thing.cls, Ref) else thing.modal
        there = training is None or thing.training is training
        if minds and there and (training is not False or ("evaluating", member) in state.store):
            return True
        opaque = opaque or minds is None or any(library.is_open(m, state, v) for v in thing.attributes.values())
    return None if opaque else False


def cares(m: Machine, state: State, name: str, given: calls.Arguments) -> bool | None:
    """Tell whether a library module behaves differently in evaluation, itself or by what it was given."""
    switch = m.profile.modal(name)
    if switch is not None:
        if not switch.argument:
            return True
        value = given.get(switch.position, switch.argument)
        return switch.default if value is None else not (isinstance(value, Const) and not value.value)
    if any(sensitive(m, state, v) for v in given.values if isinstance(state.object(v), Module)):
        return True
    return False if m.profile.modeless(name) else None


def _reads_mode(m: Machine, state: State, cls: Ref) -> bool | None:
    """Tell whether a class of the program asks for its own mode; None if a base of it is not known."""
    result: bool | None = False
    for thing in attributes.lineage(state, cls):
        known = m.modal.get(thing.node)
        if known is None:
            known = m.modal[thing.node] = _asks(thing)
        if known:
            return True
        for base in thing.bases:
            plain = isinstance(base, Ref) or (not isinstance(base, Unknown) and _is_plain_base(m, base))
            result = result if plain else None
    return result


def _is_plain_base(m: Machine, base: Value) -> bool:
    name = getattr(base, "name", "")
    return m.profile.role(name) != "module-base" or m.profile.base(name) is None


def _asks(thing: Class) -> bool:
    return any(
        isinstance(part, p.Attribute) and part.attr == "training" and isinstance(part.value, p.Name)
        for part in p.walk(thing.node)
    )


def _is_run_by_framework(m: Machine, state: State, thing: Module) -> bool:
    """Tell whether a framework sets the mode of a network around its hooks."""
    base = attributes.library_base(m, state, thing.cls)
    return base is not None and bool(base.hooks_by_framework)


# ---------------------------------------------------------------- forwards and backwards


def forward(m: Machine, state: State, net: Value, given: calls.Arguments, result: Value, site: p.Node) -> None:
    """Look at an outermost forward: remember in which mode it ran."""
    thing = state.object(net)
    key, training = _net(m, state, net)
    if key is None or state.muted or (isinstance(thing, Module) and _is_run_by_framework(m, state, thing)):
        return
    if state.recording in ("off", "inference"):
        _tried(m, state, net, key, given, result, site)
    elif state.recording == "on":
        _recorded(m, state, net, key, training, result, site)


def _recorded(
    m: Machine, state: State, net: Value, key: Key, training: bool | None, result: Value, site: p.Node
) -> None:
    setter = state.store.get(("evaluating", key)) if training is False else None
    if setter is not None and sensitive(m, state, net, False) is False:
        training, setter = None, None
    event = m.event(state, "forward", site, site)
    run = Run(key, event, training, setter, _thawed(m, state, net))
    for node in library.nodes_in(m, state, result, sources=False):
        m.runs[node] = run


def _thawed(m: Machine, state: State, net: Value) -> tuple[tuple[Event, Event], ...]:
    """Return what froze and what thawed parts of a network that were meant to stay as they are."""
    if not m.holds or not isinstance(state.object(net), Module):
        return ()
    found = []
    for member in library.members(state, net):
        if member == net or not isinstance(member, Ref):
            continue
        pair = state.store.get(("thawed", member.id))
        leaves = library.module_leaves(m, state, member)
        frozen = bool(leaves) and all(state.frozen(one) for one in leaves)
        if pair is not None and frozen and sensitive(m, state, member, True):
            found.append(pair)
    return tuple(dict.fromkeys(found))


def _tried(m: Machine, state: State, net: Value, key: Key, given: calls.Arguments, result: Value, site: p.Node) -> None:
    if ("trained", key) not in state.store or ("named", key) in state.store or not state.looping:
        return
    if isinstance(state.statement, p.Evaluate) and state.statement.value is site:
        return
    thing = state.object(net)
    if isinstance(thing, Module):
        if thing.training is not True:
            return
        leaves = library.module_leaves(m, state, net)
        minds = sensitive(m, state, net, True)
        if minds is False or (minds is None and ("set", key) not in state.store):
            return
    else:
        leaves = frozenset({library.leaf_of(m, key)})
        if state.store.get(("mode", key)) is not True or any(
            state.store.get(("mode", one)) is False and library.inside(one, key) for one in m.moded
        ):
            return
    if _is_made_here(m, state, given.values):
        return
    nodes = library.nodes_in(m, state, result, sources=False)
    trial = Trial(key, m.event(state, "forward", site, site), leaves)
    for node in nodes:
        m.trials[node] = trial
        m.taint[node] = frozenset({node})
    state.store[("tested", key)] = site


def _is_made_here(m: Machine, state: State, values: tuple[Value, ...]) -> bool:
    """Tell whether a network is run on values drawn for this very run: it generates, it is not tested on data."""
    nodes = [m.nodes[n] for v in values for n in library.nodes_in(m, state, v)]
    return bool(nodes) and all(node.cut == "data" and node.turn == state.turn for node in nodes)


def walked(m: Machine, state: State, event: Event, nodes: tuple[int, ...], leaves: frozenset[int]) -> None:
    """Look at the forwards behind a backward: networks trained, and networks trained in evaluation mode."""
    if len(m.owners) > 1:
        m.joint.add(leaves)
    m.training_turns.add(tuple(mark for mark, _ in event.turn))
    for node in nodes:
        if m.taint and node in m.taint:
            m.fed |= m.taint[node]
        run = m.runs.get(node)
        if run is None:
            continue
        for held, thawing in run.thawed:
            m.note(state, Fact("thawed", thawing, (held, run.forward), True))
        if run.training is False:
            if run.setter is not None and run.forward.site in m.plain_runs:
                m.note(state, Fact("trained-in-eval", run.forward, (run.setter,), True))
            continue
        m.plain_runs.add(run.forward.site)
        if (tested := state.store.get(("tested", run.net))) is not None:
            m.resumed.add(tested)
        if ("trained", run.net) not in state.store:
            state.store[("trained", run.net)] = True
            for member in library.members(state, run.net) if isinstance(run.net, Ref) else ():
                thing = state.object(member)
                if isinstance(thing, Module) and thing.training is not False:
                    state.store[("trained", member)] = True


# ---------------------------------------------------------------- where results go


def pass_on(m: Machine, state: State, function: Value, values: tuple[Value, ...], result: Value) -> None:
    """Let the result of a call come from the unrecorded forwards that its arguments come from."""
    if isinstance(function, Method):
        values = (function.receiver, *values)
    found = frozenset[int]().union(*(m.taint.get(one, frozenset()) for v in values for one in _marks(m, state, v)))
    if found and isinstance(function, Builtin) and function.name == "zip":
        m.fed |= found
    if found:
        for one in _marks(m, state, result):
            m.taint[one] = m.taint.get(one, frozenset()) | found


def _marks(m: Machine, state: State, value: Value) -> tuple[Key, ...]:
    if isinstance(value, Unknown):
        return (value, *library.nodes_in(m, state, value))
    return library.nodes_in(m, state, value)


# ---------------------------------------------------------------- the end of a root


def close(m: Machine, escaped: set[int]) -> None:
    """Note the evaluations in training mode: nothing that was computed there is trained with."""
    feeding = m.fed | frozenset(o for one in escaped for o in m.taint.get(one, ()))
    training = {m.trials[node].forward.site for node in feeding if node in m.trials}
    for trial in m.trials.values():
        marks = tuple(mark for mark, _ in trial.forward.turn)
        apart = any(mark not in m.training_loops for mark in marks)
        between = any(len(turn) > len(marks) and turn[: len(marks)] == marks for turn in m.training_turns)
        if trial.forward.site in training or not (apart or between) or _opposed(m, trial.leaves):
            continue
        resumed = trial.forward.site in m.resumed
        m.note(State(), Fact("tried-in-training", trial.forward, (), True, details=(("resumed", resumed),)))


def _opposed(m: Machine, leaves: frozenset[int]) -> bool:
    """Tell whether a loss through a network also went through one that another optimizer owns: a game of two players,
    in which samples are drawn in training mode."""
    others = [owned for owned in m.owners if not owned & leaves]
    return any(walk & leaves and any(walk & owned for owned in others) for walk in m.joint)
