"""Steps, manual updates and clears: what happens to gradient slots after a backward."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adlint import program as p
from adlint.tape import library, overwrites, passes, players, retention, slots
from adlint.tape.facts import Event, Fact
from adlint.tape.graph import ancestors
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    NONE,
    Gradient,
    Key,
    Leaves,
    Optimizer,
    Ref,
    Unknown,
    Value,
    key_of,
)


def step(m: Machine, state: State, optimizer: Value, site: p.Node, subject: p.Node | None) -> None:
    """Apply the slots that an optimizer owns."""
    thing = state.object(optimizer)
    event = m.event(state, "step", site, subject, object=key_of(optimizer))
    state.store[("stepped", 0)] = passes.trains(m, state, site)
    retention.touched(m, state)
    if isinstance(thing, Optimizer) and thing.leaves is not None:
        owned = library.expand(m, state, thing.leaves)
        exact = True
    else:
        owned, exact = unclaimed(m, state), False
    served: set[Event] = set()
    for one in owned:
        slot = state.slot(one)
        if not exact and slot.applier not in (None, key_of(optimizer)):
            continue
        served.update(slot.fills)
        _apply(m, state, one, event, key_of(optimizer), exact)
        aliased = state.store.get(("alias", one))
        for other in aliased or ():
            _apply(m, state, other, event, key_of(optimizer), exact, aliased=True)
    if exact:
        overwrites.overwrite(m, state, (one for one in owned if state.slot(one).status == "applied"), event)
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


def _apply(m: Machine, state: State, one: int, event: Event, applier: Key, exact: bool, aliased: bool = False) -> None:
    slot = state.slot(one)
    retention.applied(m, state, slot, event)
    details = (("leaf", one), ("step", event), ("aliased", aliased))
    if exact and slot.foreign is not None and _spilled(m, state, slot):
        own = slot.fills[-1]
        definite = passes.chained(slot.foreign[0].guards, own.guards)
        m.note(state, Fact("foreign-applied", own, slot.foreign, definite, details=details))
    elif exact and slot.foreign is not None and (gates := _leaked(m, state, one, slot)):
        definite = passes.chained(slot.foreign[0].guards, event.guards)
        found = (("gates", gates), ("other", event))
        m.note(state, Fact("undetached", slot.foreign[0], (event, slot.fills[-1]), definite, details=found))
    elif slot.status == "stale" and slot.applier == applier and slot.applied is not None and slot.stale is not None:
        definite = passes.chained(slot.applied.guards, slot.stale.guards)
        causes = (slot.applied, *slot.fills[:1]) if slot.uncalled is None else (slot.applied, slot.uncalled)
        m.note(state, Fact("applied-again", slot.stale, causes, definite, details=details))
    state.store[("slot", one)] = slots.apply(slot, event, applier)


def _spilled(m: Machine, state: State, slot: slots.Slot) -> bool:
    """Tell whether a slot holds gradients of its own loss and of one that belonged to another optimizer."""
    if slot.foreign is None:
        return False
    own, foreign = slot.fills[-1], slot.foreign[0]
    if (own.site, own.calls) == (foreign.site, foreign.calls):
        return False
    return not (slot.joint and _reaches(m, state, own, slot.foreign[1]))


def _leaked(m: Machine, state: State, leaf: int, slot: slots.Slot) -> tuple[object, ...]:
    """Return where the other player's loss runs back into a leaf, if its gradient is added to that of the own loss."""
    assert slot.foreign is not None
    own, foreign = slot.fills[-1], slot.foreign[0]
    if (own.site, own.calls) == (foreign.site, foreign.calls):
        return ()
    return players.leaks(m, state, leaf, own, *slot.foreign)


def _reaches(m: Machine, state: State, backward: Event, step: Event) -> bool:
    """Tell whether a backward also filled slots that the optimizer of a step owns."""
    thing = state.object(step.object) if isinstance(step.object, Ref) else None
    leaves = thing.leaves if isinstance(thing, Optimizer) and thing.leaves is not None else frozenset()
    return any(leaves & ancestors(m.nodes, root).leaves for root in backward.object)


def unclaimed(m: Machine, state: State) -> frozenset[int]:
    """Return the leaves with slots that no known optimizer owns."""
    return frozenset(one for one, _ in state.slots() if one not in m.owned)


def clear(m: Machine, state: State, leaves: frozenset[int] | None, site: p.Node) -> None:
    """Clear slots; None for all that an unknown receiver may own."""
    event = m.event(state, "clear", site)
    passes.moment(m, state)
    retention.wiped(m, state)
    wide = unclaimed(m, state) if leaves is None else library.expand(m, state, leaves)
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
    (retention.wiped if value == NONE else retention.touched)(m, state)
    for one in library.expand(m, state, leaves):
        state.store[("slot", one)] = slots.clear(state.slot(one), event)
        state.store.pop(("alias", one), None)
        if isinstance(value, Gradient):
            state.store[("alias", one)] = tuple(sorted(value.leaves - {one}))


def update_in_place(m: Machine, state: State, target: Value, values: Iterable[Value], site: p.Node) -> None:
    """Change a leaf in place: where its gradient was read since the last backward, the update applies it."""
    leaves = library.leaves_behind(m, state, target) if not isinstance(target, Unknown) else frozenset()
    if not leaves:
        return
    event = m.event(state, "update", site, object=("update", site))
    retention.touched(m, state)
    unseen = isinstance(target, Leaves) and target.data
    if unseen or state.recording != "on":
        overwrites.overwrite(m, state, leaves, event, unseen)
    for one in leaves:
        if state.slot(one).read:
            _apply(m, state, one, event, ("update", site), exact=True)
