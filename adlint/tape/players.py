"""Two players with a network and an optimizer each: does the loss of one run back into the network of the other?"""

from __future__ import annotations

from dataclasses import replace

from adlint.tape.facts import Event
from adlint.tape.graph import ancestors
from adlint.tape.machine import Entry, Machine
from adlint.tape.overwrites import updated_since
from adlint.tape.state import State
from adlint.tape.values import Optimizer


def intruder(m: Machine, state: State, node: int, first: Event, event: Event) -> tuple[Event, tuple[Entry, ...]] | None:
    """Return which of two backwards that both need `node` belongs to the other player, and where that player's network
    takes in what leads to the node; None if the two do not oppose each other.

    The owner of what lies behind the node is known by its step or clear between the two.
    """
    behind = ancestors(m.nodes, node).leaves
    if not behind or not behind <= m.owned:
        return None
    owned = _owned(state)
    owners = [leaves for leaves in owned if leaves & behind]
    own = frozenset().union(*owners) if owners else frozenset[int]()
    others = [leaves for leaves in owned if not leaves & own]
    opposed = frozenset().union(*others) if others else frozenset[int]()
    if not behind <= own or not opposed:
        return None
    reached = _leaves(m, first)
    if updated_since(state, own & reached, first.moment):
        found, rival = event, _leaves(m, event) & opposed
    elif updated_since(state, opposed & reached, first.moment) or all(
        state.slot(one).phase >= first.moment for one in behind
    ):
        found, rival = first, reached & opposed
    else:
        return None
    other = event if found is first else first
    entries = gates(m, found, behind, rival, other if other.site is not found.site else None)
    return (found, entries) if entries else None


def several(m: Machine, state: State, first: Event, event: Event) -> bool:
    """Tell whether more than one optimizer owns parameters that two backwards reach."""
    reached = _leaves(m, first) | _leaves(m, event)
    return sum(bool(leaves & reached) for leaves in _owned(state)) > 1


def leaks(m: Machine, state: State, leaf: int, own: Event, backward: Event, stepped: Event) -> tuple[Entry, ...]:
    """Return where the network of a step's optimizer takes in what brings its backward to a leaf of another optimizer,
    which has an own backward; nothing if the former also reaches the leaf on another way."""
    thing = state.store.get(stepped.object.id) if hasattr(stepped.object, "id") else None
    if not isinstance(thing, Optimizer) or thing.leaves is None or leaf in thing.leaves:
        return ()
    seen, stack = set(), list(backward.object)
    while stack:
        current = stack.pop()
        parents = m.nodes[current].parents
        if current == leaf:
            return ()
        if current not in seen and not thing.leaves.intersection(parents):
            stack.extend(parents)
        seen.add(current)
    return gates(m, backward, frozenset({leaf}), thing.leaves, own)


def gates(
    m: Machine, backward: Event, behind: frozenset[int], rival: frozenset[int], other: Event | None
) -> tuple[Entry, ...]:
    """Return the forwards in a backward's graph in which networks that own `rival` take in what leads to `behind`, with
    only these inputs, and whether the same places serve another backward."""
    walked = _walked(m, backward)
    elsewhere = frozenset[int]() if other is None else _walked(m, other)
    serving = {entry.site for entry in m.entries if entry.results & elsewhere}
    found: dict[object, Entry] = {}
    for entry in m.entries:
        if not entry.leaves & rival or entry.leaves & behind or not entry.results & walked:
            continue
        handed = tuple(
            (key, nodes)
            for key, nodes in entry.handed
            if any(n in walked and ancestors(m.nodes, n).leaves & behind for n in nodes)
        )
        if handed:
            found[entry.site] = replace(entry, handed=handed, shared=entry.site in serving)
    return tuple(found.values())


def _owned(state: State) -> list[frozenset[int]]:
    things = (thing for key, thing in state.store.items() if type(key) is int)
    return [thing.leaves for thing in things if isinstance(thing, Optimizer) and thing.leaves]


def _walked(m: Machine, event: Event) -> frozenset[int]:
    return frozenset(n for root in event.object for n in ancestors(m.nodes, root).nodes)


def _leaves(m: Machine, event: Event) -> frozenset[int]:
    return frozenset().union(*(ancestors(m.nodes, root).leaves for root in event.object))
