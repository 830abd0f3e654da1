"""Clips and scalers: gradients are clipped when they are there, and without the factor that a scaler put into them.

backward --(scaled)--> unscale_ --> clip --> step          a clip anywhere else sees nothing new, or the wrong size
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from adlint import program as p
from adlint.tape import library, retention, slots
from adlint.tape.facts import Event, Fact
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    FALSE,
    Const,
    Instance,
    Key,
    Leaves,
    Library,
    Module,
    Optimizer,
    Ref,
    Sequence,
    Unknown,
    Value,
    key_of,
)


def scale(m: Machine, state: State, scaler: Value, values: list[Value], site: p.Node) -> Value:
    """Return a loss with a scaler's factor; a scaler that is switched off leaves the loss alone."""
    result = library.operation(m, state, "*", values, site)
    thing = state.object(scaler)
    if not (isinstance(thing, Instance) and thing.attributes.get("enabled") == FALSE):
        m.scaled.update(dict.fromkeys(library.nodes_in(m, state, result), key_of(scaler)))
    return result


def unscale(m: Machine, state: State, optimizer: Value | None, site: p.Node) -> None:
    """Take the factor out of what an optimizer owns; None for everything."""
    retention.touched(m, state)
    thing = None if optimizer is None else state.object(optimizer)
    leaves = thing.leaves if isinstance(thing, Optimizer) else None
    event = m.event(state, "unscale", site)
    for one, slot in state.slots():
        if slot.scaled is not None and (leaves is None or one in leaves or one not in m.owned):
            state.store[("slot", one)] = replace(slot, scaled=None, unscaled=event)


def handed(m: Machine, state: State, values: Iterable[Value]) -> None:
    """Hand values to unknown code: with a scaler among them, it may take the factor out."""
    scalers = set(m.scaled.values())
    if not scalers or not any(key_of(value) in scalers for value in values if isinstance(value, (Ref, Unknown))):
        return
    for one, slot in state.slots():
        if slot.scaled is not None:
            state.store[("slot", one)] = replace(slot, scaled=None, clipped=None)


def clip(m: Machine, state: State, parameters: Value | None, limit: Value | None, site: p.Node) -> None:
    """Clip gradients; without a limit that bounds them, a clip only tells their size."""
    retention.touched(m, state)
    if parameters is None or _measures(limit):
        return
    thing = state.object(parameters)
    sure = isinstance(parameters, Leaves) or isinstance(thing, (Module, Optimizer, Sequence))
    leaves = library.expand(m, state, library.leaves_behind(m, state, parameters)) if sure else frozenset()
    if not leaves or any(_awaits(state, state.slot(one)) for one in leaves):
        m.ledger.useful.add(site)
    event = m.event(state, "clip", site)
    for one in leaves:
        slot = state.slot(one)
        if slot.scaled is not None and not slot.read:
            state.store[("slot", one)] = replace(slot, clipped=event)
        elif slot.status in ("clean", "applied"):
            _idle(m, state, one, slot, event)


def _measures(limit: Value | None) -> bool:
    if isinstance(limit, Const):
        return isinstance(limit.value, (int, float)) and (math.isinf(limit.value) or limit.value >= 1e6)
    return isinstance(limit, Library) and limit.name.rpartition(".")[2] == "inf"


def _awaits(state: State, slot: slots.Slot) -> bool:
    """Tell whether there may be gradients in a slot that no step has applied."""
    since = slot.cleared.moment if slot.cleared is not None else 0
    unseen = state.store.get(("opened", 0), 0) > since and slot.status == "clean"
    return slot.waits or slot.given or slot.vague or bool(unseen)


def _idle(m: Machine, state: State, one: int, slot: slots.Slot, event: Event) -> None:
    """Note a clip behind the step, or keep it in mind until the backward comes."""
    step = slot.applied or slot.before
    if step is not None and step.turn == event.turn and step.kind == "step":
        m.note(state, Fact("idle-clip", event, (step,), True, details=(("leaf", one), ("late", True))))
        state.store[("slot", one)] = replace(slot, early=event)
    elif slot.status == "clean" or (step is not None and step.turn != event.turn):
        state.store[("slot", one)] = replace(slot, early=event)


def filled(m: Machine, state: State, one: int, slot: slots.Slot, backward: Event) -> None:
    """Note that the backward of this turn comes after its clip."""
    clip = slot.early
    if clip is not None and clip.turn == backward.turn and backward.turn and clip.guards <= backward.guards:
        m.note(state, Fact("idle-clip", clip, (backward,), True, details=(("leaf", one), ("late", False))))


def stepped(m: Machine, state: State, scaler: Key, site: p.Node) -> None:
    """Step an optimizer of which nothing is known through a scaler that has scaled a loss."""
    if scaler in m.scaled.values() and isinstance(site, p.Call) and site.arguments:
        event = m.event(state, "step", site, site.arguments[0].value)
        for one, slot in state.slots():
            applied(m, state, one, slot, event)


def applied(m: Machine, state: State, one: int, slot: slots.Slot, step: Event) -> None:
    """Note a step that applies what was clipped while still scaled; a clip between two steps is for the second one."""
    if slot.early is not None and slot.status == "applied":
        m.ledger.useful.add(slot.early.site)
    if slot.clipped is not None and slot.fills:
        causes = (slot.fills[-1], step) if slot.unscaled is None else (slot.fills[-1], step, slot.unscaled)
        m.note(state, Fact("scaled-clip", slot.clipped, causes, True, details=(("leaf", one), ("step", step))))
