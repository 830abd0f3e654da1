"""The slots lattice: what stands in the gradient slot of a leaf.

    clean --backward--> filled --step--> applied --backward--> stale --step of the same applier--> a finding
      ^------------------- clear -----------+---------------------+

A backward into a filled slot is accumulation and legal. A slot that a step has applied and nobody has cleared becomes
stale with the next backward; that is harmless until the same optimizer (or manual update) applies it again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adlint.tape.facts import Event
from adlint.tape.values import Key


@dataclass(frozen=True, slots=True)
class Slot:
    """The history of one slot since it was last clean.

    `fills` are the backwards in it; `stale` the first one that added to applied gradients; `foreign` a backward that
    belonged to another optimizer's step, with that step; `phase` is when it was last cleared, `joint` whether the other
    optimizer was cleared together with it.
    """

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
    phase: int = -1
    joint: bool = False


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
            phase=slot.phase,
            joint=slot.joint,
        )
    return replace(slot, status="filled", fills=fills, read=False)


def apply(slot: Slot, step: Event, applier: Key) -> Slot:
    """Return the slot after a step or manual update has used it."""
    if slot.status == "clean":
        return slot
    return Slot("applied", slot.fills, step, applier, cleared=slot.cleared, before=slot.before, phase=slot.phase)


def clear(slot: Slot, event: Event | None, phase: int = -1) -> Slot:
    """Return the slot after a clear in a phase; what was applied before is remembered as evidence that the loop clears.

    Clears without a backward or step between them are of one phase.
    """
    return Slot(cleared=event, before=slot.applied or slot.before, phase=phase)
