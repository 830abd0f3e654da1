"""Retained passes: does anything walk the graph that they keep, or is it kept only to add gradients up one by one?

A pass that was asked to keep its graph leaves its event on the nodes that saved something. Whoever walks one of these
nodes later makes use of the retention; at the end of the program, what nobody has used was kept in vain.
"""

from __future__ import annotations

from collections.abc import Iterable

from adlint.tape.facts import Event, Fact
from adlint.tape.graph import Walk, ancestors, must_require_grad, surely_reached
from adlint.tape.machine import Machine, Pile
from adlint.tape.slots import Slot
from adlint.tape.state import Outcome, State
from adlint.tape.values import Class, Instance, Key, Module, Optimizer, Sequence, Table, Tensor, Tuple, Value

ADDING = frozenset({"+", "sum", "torch.add", "Tensor.add", "add_", "torch.sum", "Tensor.sum", "torch.stack"})
OTHER, SUM, HELD, UNSEEN = "other", "sum", "held", "unseen"


def keep(m: Machine, state: State, event: Event, walk: Walk) -> None:
    """Remember what a pass keeps that was asked to keep its graph."""
    if not event.asked or state.muted or state.crashed:
        return
    lasting = m.profile.consume == "saved-tensors"
    nodes = frozenset(
        n for n in walk.nodes if m.nodes[n].kind != "leaf" and not (lasting and m.nodes[n].saves is False)
    )
    uses = m.uses.setdefault(event.site, set())
    m.keeping.add(event.site)
    for earlier, kept in m.kept.items():
        again = earlier.site is event.site and earlier.turn != event.turn and _here(state, earlier, kept)
        if again and kept & behind(m, held(state)):
            uses.add(HELD)
    m.kept[event] = nodes
    state.store[("kept", 0)] = True
    for n in nodes:
        state.store[("kept", n)] = event


def _here(state: State, event: Event, nodes: frozenset[int]) -> bool:
    return any(state.store.get(("kept", n)) == event for n in nodes)


def walked(m: Machine, state: State, event: Event, walk: Walk) -> None:
    """Note that a pass goes through nodes that earlier ones kept; a pass that frees them ends their retention."""
    m.passing.add(event.site)
    if ("kept", 0) not in state.store:
        return
    met: dict[Event, list[int]] = {}
    for n in walk.nodes:
        for one in (n, *m.twins.get(n, ())):
            first = state.store.get(("kept", one))
            if first is not None:
                met.setdefault(first, []).append(one)
    for first, nodes in met.items():
        m.uses[first.site].add(_use(m, state, first, event, nodes))
    if not event.retained:
        for nodes in met.values():
            for n in nodes:
                state.store.pop(("kept", n), None)


def handed(m: Machine, state: State, nodes: Iterable[int]) -> None:
    """Note that tensors are handed to unknown code, which may backpropagate them."""
    if ("kept", 0) not in state.store:
        return
    for n in behind(m, nodes):
        first = state.store.get(("kept", n))
        if first is not None:
            m.uses[first.site].add(HELD)


def touched(m: Machine, state: State) -> None:
    """Note that gradients are read, applied or changed, so that it matters which losses they are of by now."""
    if ("kept", 0) in state.store:
        state.store[("touched", 0)] = m.fresh()


def wiped(m: Machine, state: State) -> None:
    """Note that gradients are cleared."""
    if ("kept", 0) in state.store:
        state.store[("wiped", 0)] = m.fresh()


def _use(m: Machine, state: State, first: Event, event: Event, nodes: list[int]) -> str:
    """Tell what the second pass over kept nodes is for: it adds to the first one's gradients, or something else."""
    if event.kind != "backward" or not (first.whole and event.whole):
        return OTHER
    if state.store.get(("touched", 0), 0) > first.moment or set(first.object) & set(event.object):
        return OTHER
    running = first.site is event.site and _adds_up(m, first, event)
    if not running and (state.store.get(("wiped", 0), 0) > first.moment or _contains(m, first, event)):
        return OTHER
    sure = surely_reached(m.nodes, first.object) & surely_reached(m.nodes, event.object)
    node = next((n for n in nodes if n in sure and _surely(m, n, first, event)), None)
    if node is None:
        return OTHER
    m.piles[(first, event)] = Pile(node, running)
    return SUM


def _surely(m: Machine, node: int, first: Event, second: Event) -> bool:
    """Tell whether a node surely needs to be kept for the second pass."""
    return m.nodes[node].saves is True and all(
        any(must_require_grad(m.nodes, node, root, m.evidence) for root in event.object) for event in (first, second)
    )


def _contains(m: Machine, first: Event, second: Event) -> bool:
    """Tell whether one of two losses is made of the other."""
    later = {n for root in second.object for n in ancestors(m.nodes, root).nodes}
    return any(root in later for root in first.object)


def _adds_up(m: Machine, first: Event, second: Event) -> bool:
    """Tell whether the second loss is the first one with further terms added."""
    stack, seen = list(second.object), set()
    while stack:
        n = stack.pop()
        if n in first.object:
            return True
        if n not in seen and m.nodes[n].operation in ADDING:
            stack.extend(m.nodes[n].parents)
        seen.add(n)
    return False


def applied(m: Machine, state: State, slot: Slot, step: Event) -> None:
    """Look at gradients that a step applies: were they added up by passes that kept the graph for one another?"""
    if not m.piles:
        return
    for (first, second), pile in m.piles.items():
        if second in slot.fills and (pile.running or first in slot.fills):
            definite = first.guards <= second.guards or second.guards <= first.guards
            details = (("running", pile.running), ("frees", not second.retained))
            m.note(
                state,
                Fact("piled-up", first, (second, step), definite, m.nodes[pile.node].site, details=details),
            )


def left(m: Machine, outcomes: Iterable[Outcome]) -> None:
    """Close a root. Where not all of it was seen, any graph may have been walked again; where paths were dropped, by
    another pass."""
    dropped = any(outcome.state.partial for outcome in outcomes)
    m.unfinished = m.unfinished or not m.complete or dropped
    if not m.complete or (dropped and len(m.passing) > 1):
        for site in m.keeping:
            m.uses[site].add(UNSEEN)
    m.keeping.clear()
    m.passing.clear()


def outlives(m: Machine, state: State, start: int, receiver: Value | None) -> None:
    """Let escape what a root leaves in names and objects that were there before it; what the module itself left there
    before any root began is none of theirs."""
    if m.steppings or ("kept", 0) in state.store:
        m.escaped.update(n for n in held(state, start, receiver) if n >= m.began)


def conclude(m: Machine) -> None:
    """Note the passes that kept their graph in vain, and forget piles whose graph was kept for something else too."""
    if m.hooked:
        m.noted = {key: fact for key, fact in m.noted.items() if fact.kind != "piled-up"}
    if not m.kept:
        return
    escaped = behind(m, m.escaped)
    vain: dict[object, tuple[Event, bool]] = {}
    gone = set()
    for event, nodes in m.kept.items():
        if nodes & escaped:
            m.uses[event.site].add(HELD)
            gone.add(event.site)
        repeated = bool(event.turn or event.calls)
        first, known = vain.get(event.site, (event, True))
        vain[event.site] = (first, known and repeated and _known(m, nodes))
    for event, known in vain.values():
        if not m.uses[event.site]:
            m.note(State(), Fact("kept-in-vain", event, (), known))
    for key, fact in list(m.noted.items()):
        if fact.kind == "piled-up":
            site = fact.event.site
            frees = dict(fact.details)["frees"]
            if m.uses[site] & {OTHER, UNSEEN} or (site in gone and not frees):
                del m.noted[key]


def _known(m: Machine, nodes: frozenset[int]) -> bool:
    """Tell whether everything in a graph is known: unknown networks may carry it on, unknown arguments may share it."""
    for n in nodes:
        node = m.nodes[n]
        if node.kind in ("call", "part") or (node.kind == "source" and not _drawn(node.callee)):
            return False
    return True


def _drawn(key: Key) -> bool:
    """Tell whether an unknown is data: an element that a loop draws, or a part of one."""
    while isinstance(key, tuple) and len(key) == 3:
        if key[0] == "element" or (key[0] == "item" and isinstance(key[2], tuple)):
            return True
        if key[0] not in ("attr", "item", "index", "method"):
            break
        key = key[1]
    return isinstance(key, tuple) and key[:1] == ("foreign",)


def behind(m: Machine, nodes: Iterable[int]) -> set[int]:
    """Return nodes with all their ancestors."""
    seen: set[int] = set()
    stack = [n for n in nodes if n in m.nodes]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            stack.extend(m.nodes[n].parents)
            stack.extend(m.twins.get(n, ()))
    return seen


def held(state: State, start: int | None = None, receiver: Value | None = None) -> set[int]:
    """Return the nodes of tensors that objects and containers hold, as far as names reach them; with `start`, also of
    those that names reach themselves, in what is older."""
    found: set[int] = set()
    seen: set[Value] = set()
    stack: list[Value] = [] if receiver is None else [receiver]
    for key, value in state.store.items():
        if type(key) is tuple and (key[0] == "attribute" or type(key[0]) is int):
            if start is not None and type(key[0]) is int and key[0] >= start:
                continue
            if start is not None or key[0] == "attribute" or not isinstance(state.object(value), Tensor):
                stack.append(value)
    while stack:
        value = stack.pop()
        try:
            if value in seen:
                continue
            seen.add(value)
        except TypeError:
            continue
        thing = state.object(value)
        if isinstance(thing, Tensor):
            found.add(thing.node)
        elif isinstance(value, Tuple):
            stack += value.items
        elif isinstance(thing, Sequence):
            stack += thing.items
        elif isinstance(thing, Table):
            stack += [v for _, v in thing.items]
        elif isinstance(thing, (Instance, Module, Optimizer, Class)):
            stack += thing.attributes.values()
            stack += thing.children if isinstance(thing, Module) else ()
    return found


__all__ = ["applied", "behind", "conclude", "handed", "held", "keep", "left", "outlives", "touched", "walked", "wiped"]
