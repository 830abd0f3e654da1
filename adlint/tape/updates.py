"""Steps, manual updates and clears: what happens to gradient slots after a backward."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from adlint import program as p
from adlint.tape import clips, dropped, functional, library, overwrites, passes, players, retention, slots, windows
from adlint.tape.facts import Event, Fact, apart
from adlint.tape.graph import Walk, ancestors
from adlint.tape.ledger import counts
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
    m.log(state, "step", site)
    retention.touched(m, state)
    if isinstance(thing, Optimizer) and thing.leaves is not None:
        owned = library.expand(m, state, thing.leaves)
        exact = True
        m.ledger.served |= owned
    else:
        owned, exact = unclaimed(m, state), False
        m.ledger.blind = True
    if exact:
        dropped.stepped(m, state, owned, replace(event, moment=state.store[("stepped", 0)]))
    served: set[Event] = set()
    useful = not exact
    for one in owned:
        slot = state.slot(one)
        if not exact and slot.applier not in (None, key_of(optimizer)):
            continue
        served.update(slot.fills)
        useful = useful or slot.waits or slot.given or slot.vague
        _apply(m, state, one, event, key_of(optimizer), exact)
        aliased = state.store.get(("alias", one))
        for other in aliased or ():
            _apply(m, state, other, event, key_of(optimizer), exact, aliased=True)
    m.ledger.stepped(event, useful)
    if not useful:
        functional.stepped(m, state, event, owned)
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
    if aliased or slot.status != "clean" or slot.given or slot.vague:
        m.ledger.apply(event, one, slot.fills if slot.fills else (event,))
        m.ledger.met(event, slot)
        _windowed(m, state, one, slot, event, exact)
        clips.applied(m, state, one, slot, event)
        if exact and len(slot.fills) > 1:
            windows.applied(m, state, one, slot, event)
            together = passes.chained(slot.fills[0].guards, slot.fills[-1].guards)
            m.note(state, Fact("added-up", slot.fills[-1], (slot.fills[0], event), together))
    elif not _alone(m, state, slot, event, exact):
        return
    elif slot.wiped is not None:
        _wiped(m, state, one, slot.wiped, event)
    _put(m, state, one, slots.apply(slot, event, applier), event.site)


def _put(m: Machine, state: State, leaf: int, slot: slots.Slot, site: p.Node) -> None:
    m.log(state, "slot", site, (leaf,), state.slot(leaf).status, slot.status)
    state.store[("slot", leaf)] = slot


def _alone(m: Machine, state: State, slot: slots.Slot, step: Event, exact: bool) -> bool:
    """Tell whether a step that finds a slot clean finds nothing for certain: no backward may have come unseen since the
    clear, and, where nobody knows what the optimizer owns, it was itself what was cleared."""
    since = slot.cleared.moment if slot.cleared is not None else 0
    if exact:
        return bool(state.store.get(("opened", 0), 0) <= since)
    return slot.cleared is not None and slot.cleared.object == step.object and not _walked_since(state, since)


def _walked_since(state: State, moment: int) -> bool:
    return bool(state.store.get(("walked", 0), 0) > moment)


def _wiped(m: Machine, state: State, one: int, wiped: tuple[Event, Event], step: Event) -> None:
    """Note a step that finds nothing, because a clear came between it and the backward."""
    lost, clear = wiped
    definite = clear.guards <= lost.guards | step.guards and passes.chained(lost.guards, step.guards)
    if apart(lost.turn, step.turn) is None and definite:
        details = (("leaf", one), ("step", step), ("window", False), *_remedy(m, state, clear, step))
        m.note(state, Fact("wiped", clear, (lost, step), True, details=details))


def _remedy(m: Machine, state: State, clear: Event, step: Event) -> tuple[tuple[str, object], ...]:
    """Return whether a clear is for what a step applies alone, and, if not, the optimizer whose turn it began."""
    together = {one: slot for one, slot in state.slots() if slot.cleared is clear}
    thing = state.object(step.object) if isinstance(step.object, Ref) else None
    owned = thing.leaves if isinstance(thing, Optimizer) and thing.leaves is not None else frozenset(together)
    own = clear.object == step.object or not (
        isinstance(clear.object, Ref) and isinstance(state.object(clear.object), Optimizer)
    )
    others = {library.spelled(m, state, one) for one, slot in together.items() if slot.fills and one not in owned}
    return (("own", own and together.keys() <= owned), ("other", others.pop() if own and len(others) == 1 else ""))


def _windowed(m: Machine, state: State, one: int, slot: slots.Slot, step: Event, exact: bool) -> None:
    """Note a step at the end of a window that applies only its last backward, because each turn clears first."""
    if slot.wiped is None or not slot.fills:
        return
    (lost, clear), kept = slot.wiped, slot.fills[0]
    level = apart(lost.turn, kept.turn)
    if (lost.site, lost.calls, clear.turn) != (kept.site, kept.calls, kept.turn) or level is None:
        return
    if not clear.guards <= kept.guards or not (exact or clear.object == step.object):
        return
    if any(set(lost.object) & set(ancestors(m.nodes, root).nodes) for root in kept.object):
        return
    outside = step.turn[: level + 1] != kept.turn[: level + 1]
    waiting = any(counts(key) for key, _ in step.guards - kept.guards)
    reached = frozenset().union(*(ancestors(m.nodes, root).leaves for root in lost.object))
    if (outside or waiting) and not reached & m.reads:
        details = (("leaf", one), ("step", step), ("window", True), ("own", True), ("other", ""))
        m.note(state, Fact("wiped", clear, (lost, step), True, details=details))


def walked(m: Machine, state: State, walk: Walk, roots: tuple[int, ...]) -> None:
    """Remember a backward, and whether it may have reached leaves that the tape does not see."""
    now = state.store[("walked", 0)] = m.fresh()
    for n in walk.nodes:
        node = m.nodes[n]
        known = node.callee in m.evidence or any(library.inside(node.callee, one) for one in m.evidence)
        if (node.kind == "source" and n in roots) or (node.kind == "call" and not known):
            state.store[("opened", 0)] = now
            return


def filled(m: Machine, state: State, one: int, slot: slots.Slot, backward: Event) -> None:
    """Note a backward after the step of its own turn, which found nothing or the gradients of the turn before."""
    ledger = m.ledger
    ledger.ever.add(one)
    if backward.turn and (backward.site, one) not in ledger.filled:
        ledger.filled[(backward.site, one)] = (backward, library.spelled(m, state, one))
    idle = slot.idle
    if slot.status != "clean" or idle is None or idle.turn != backward.turn or not idle.guards <= backward.guards:
        return
    shorter = min(len(idle.calls), len(backward.calls))
    if idle.calls[:shorter] != backward.calls[:shorter]:
        return
    cleared = slot.cleared
    at_once = cleared is not None and (cleared.turn, cleared.calls) == (idle.turn, idle.calls)
    if backward.turn or at_once:
        m.note(state, Fact("idle-step", idle, (backward,), True, details=(("leaf", one), ("step", idle))))


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


def clear(m: Machine, state: State, leaves: frozenset[int] | None, site: p.Node, receiver: Value | None = None) -> None:
    """Clear slots; None for all that an unknown receiver may own."""
    retention.wiped(m, state)
    wide = unclaimed(m, state) if leaves is None else library.expand(m, state, leaves)
    subject = site.function.value if isinstance(site, p.Call) and isinstance(site.function, p.Attribute) else None
    owner = None if receiver is None else key_of(receiver)
    event = m.event(state, "clear", site, subject, object=owner, moment=passes.moment(m, state))
    m.log(state, "clear", site)
    for one in wide:
        _put(m, state, one, slots.clear(state.slot(one), event, state.store.get(("phase", 0), 0)), site)
        state.store.pop(("alias", one), None)


def taken(m: Machine, state: State, tensor: Value, site: p.Node) -> Value:
    """Return the gradient of a tensor that is read by a call; to read it is to use it."""
    leaves = library.leaves_behind(m, state, tensor)
    subject = site.function.value if isinstance(site, p.Call) and isinstance(site.function, p.Attribute) else None
    event = m.event(state, "update", site, subject, object=("read", subject))
    for one in leaves:
        _apply(m, state, one, event, ("read", one), exact=True)
    return Gradient(leaves) if leaves else NONE


def overwrite(m: Machine, state: State, leaves: frozenset[int], site: p.Node) -> None:
    """Put something other than the gradients of a backward into slots."""
    retention.touched(m, state)
    event = m.event(state, "clear", site, moment=passes.moment(m, state))
    for one in library.expand(m, state, leaves):
        _put(m, state, one, slots.overwrite(state.slot(one), event), site)
        state.store.pop(("alias", one), None)


def uncalled_step(m: Machine, state: State, leaves: frozenset[int], site: p.Node, subject: p.Node) -> None:
    """Remember that a step was named but not called."""
    event = m.event(state, "step", site, subject, uncalled=True)
    m.ledger.uncalled.update(dict.fromkeys(leaves, event))


def uncalled_clear(m: Machine, state: State, leaves: frozenset[int], site: p.Node, subject: p.Node) -> None:
    """Remember that a clear was named but not called."""
    event = m.event(state, "clear", site, subject, uncalled=True)
    for one in leaves:
        state.store[("slot", one)] = replace(state.slot(one), uncalled=event)


def assign_gradient(m: Machine, state: State, leaves: frozenset[int], value: Value, site: p.Node) -> None:
    """Run `p.grad = value`: None clears, another gradient is shared, anything else replaces."""
    if value != NONE:
        retention.touched(m, state)
        overwrite(m, state, leaves, site)
    else:
        clear(m, state, leaves, site)
    for one in library.expand(m, state, leaves):
        if isinstance(value, Gradient):
            state.store[("alias", one)] = tuple(sorted(value.leaves - {one}))


def update_in_place(m: Machine, state: State, target: Value, values: Iterable[Value], site: p.Node) -> None:
    """Change a leaf in place: where its gradient was read since the last backward, the update applies it."""
    leaves = library.leaves_behind(m, state, target) if not isinstance(target, Unknown) else frozenset()
    if not leaves:
        return
    event = m.event(state, "update", site, object=("update", site))
    m.log(state, "update", site)
    retention.touched(m, state)
    unseen = isinstance(target, Leaves) and target.data
    if unseen or state.recording != "on":
        overwrites.overwrite(m, state, leaves, event, unseen)
    for one in leaves:
        if state.slot(one).read:
            _apply(m, state, one, event, ("update", site), exact=True)
