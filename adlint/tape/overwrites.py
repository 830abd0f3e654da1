"""Parameters updated between a forward and a later backward through it: which nodes still need the old values.

A node is older than an update if its identity is the smaller one: identities are given out in the order of the path.
"""

from __future__ import annotations

from collections.abc import Iterable

from adlint.tape.facts import Event, apart
from adlint.tape.graph import Walk, surely_reached
from adlint.tape.machine import Machine
from adlint.tape.state import State


def overwrite(m: Machine, state: State, leaves: Iterable[int], event: Event, unseen: bool = False) -> None:
    """Remember that leaves were updated in place; `unseen` where the framework does not notice it."""
    moment = m.fresh()
    for one in leaves:
        state.store[("written", one)] = (moment, event, unseen)


def outdated(m: Machine, state: State, event: Event, walk: Walk) -> tuple[int, int, Event] | None:
    """Return a node of a walk that kept the value of a parameter which was updated after it was made, and both."""
    sure = surely_reached(m.nodes, event.object)
    for node in walk.nodes:
        if node not in sure:
            continue
        for parent in m.nodes[node].parents:
            if m.nodes[parent].kind != "leaf":
                continue
            moment, update, unseen = state.store.get(("written", parent), (0, None, False))
            if moment <= node or unseen or update is None:
                continue
            if _needs(m, node, parent) or _will_need(m, node, update, event, walk):
                return node, parent, update
    return None


def _needs(m: Machine, node: int, leaf: int) -> bool:
    """Tell whether the backward of a node needs the value of a leaf for certain."""
    record = m.nodes[node]
    when = m.profile.keeps(record.operation) if record.kind == "operation" else ""
    if record.kind == "call":
        when = "tracked" if record.callee is not None and record.callee == m.nodes[leaf].callee else ""
    if when == "tracked":
        return any(m.nodes[other].requires_grad is True for other in record.parents if other != leaf)
    return when == "always"


def _will_need(m: Machine, node: int, update: Event, event: Event, walk: Walk) -> bool:
    """Tell whether a node of an earlier turn of a loop will need its parameters a turn later: it began with plain data,
    but in this turn the same operation has worked on something that requires grad."""
    level = apart(update.turn, event.turn)
    if level is None or m.nodes[node].turn[level : level + 1] == (event.turn[level],):
        return False
    record = m.nodes[node]
    return any(
        m.nodes[n].site is record.site
        and m.nodes[n].operation == record.operation
        and m.nodes[n].turn[level : level + 1] == (event.turn[level],)
        and any(
            m.profile.keeps(record.operation) and _needs(m, n, q) for q in m.nodes[n].parents if q in record.parents
        )
        for n in walk.nodes
        if n != node
    )


def updated_since(state: State, leaves: Iterable[int], moment: int) -> bool:
    """Tell whether one of the leaves was updated after a moment."""
    return any(state.store.get(("written", one), (0,))[0] > moment for one in leaves)


def place(m: Machine, node: int, earlier: Event, event: Event) -> str:
    """Say where a node was made as seen from two events that met it: "carried" from an earlier turn of the loop that
    turned between them, "stale" before that loop, "here" if no loop turned or it goes over parts of that forward."""
    level = apart(earlier.turn, event.turn)
    if level is None:
        return "here"
    here = event.turn[level]
    made = m.nodes[node].turn[level : level + 1]
    if made and made[0][0] == here[0]:
        return "carried"
    return "here" if goes_over(m, here[0], event) else "stale"


def goes_over(m: Machine, mark: int, event: Event) -> bool:
    """Tell whether a loop goes over parts of the graph that an event walks."""
    run = m.loops.get(mark)
    if run is None or not run.elements:
        return False
    seen, stack = set(), list(event.object)
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        if current in run.elements and m.nodes[current].kind != "leaf" and m.nodes[current].requires_grad is not False:
            return True
        stack.extend(m.nodes[current].parents)
    return False
