"""The slots lattice: what stands in the gradient slot of a leaf.

    clean --backward--> filled --step--> applied --backward--> stale --step of the same applier--> a finding
      ^------------------- clear -----------+---------------------+

A backward into a filled slot is accumulation and legal. A slot that a step has applied and nobody has cleared becomes
stale with the next backward; that is harmless until the same optimizer (or manual update) applies it again.
"""

from __future__ import annotations

from dataclasses import dataclass

from adlint.tape.facts import Event
from adlint.tape.values import Key


@dataclass(frozen=True, slots=True)
class Slot:
    """The history of one slot since it was last clean. `fills` are the backwards in it; `stale` the first one that added
    to applied gradients; `foreign` a backward that belonged to another optimizer's step, with that step."""

    status: str = "clean"
    fills: tuple[Event, ...] = ()
    applied: Event | None = None
    applier: Key = None
    stale: Event | None = None
    foreign: tuple[Event, Event] | None = None
    cleared: Event | None = None
    before: Event | None = None
    uncalled: Event | None = None
    read: bool = False


def fill(slot: Slot, backward: Event) -> Slot:
    """Return the slot after a backward has added to it."""
    fills = (*slot.fills, backward)[-4:]
    if slot.status in ("applied", "stale"):
        return Slot(
            "stale",
            fills,
            slot.applied,
            slot.applier,
            slot.stale or backward,
            slot.foreign,
            slot.cleared,
            slot.before,
            slot.uncalled,
        )
    return Slot("filled", fills, foreign=slot.foreign, cleared=slot.cleared, before=slot.before, uncalled=slot.uncalled)


def apply(slot: Slot, step: Event, applier: Key) -> Slot:
    """Return the slot after a step or manual update has used it."""
    if slot.status == "clean":
        return slot
    return Slot("applied", slot.fills, step, applier, cleared=slot.cleared, before=slot.before)


def clear(slot: Slot, event: Event | None) -> Slot:
    """Return the slot after a clear; what was applied before is remembered as evidence that the loop does clear."""
    return Slot(cleared=event, before=slot.applied or slot.before)
