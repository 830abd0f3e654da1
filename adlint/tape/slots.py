"""The slots lattice: what stands in the gradient slot of a leaf.

    clean --backward--> filled --step--> applied --backward--> stale --step of the same applier--> a finding
      ^------------------- clear -----------+---------------------+

A backward into a filled slot is accumulation and legal. A slot that a step has applied and nobody has cleared becomes
stale with the next backward; that is harmless until the same optimizer (or manual update) applies it again. A filled
slot that is cleared before any step is wiped: harmless, unless the step that comes next was meant to apply it.
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
    optimizer was cleared together with it. `wiped` is the backward whose gradients a clear took away before any step,
    with that clear; `idle` the last step that found nothing; `given` tells that the content was put there by hand,
    `vague` that unknown code may have put something there; `scaled` is the scaler whose factor is in the content,
    `clipped` the clip that saw it with the factor, `unscaled` what took the factor out after that, `early` a clip that
    saw nothing.
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
    wiped: tuple[Event, Event] | None = None
    idle: Event | None = None
    given: bool = False
    vague: bool = False
    scaled: Key = None
    clipped: Event | None = None
    unscaled: Event | None = None
    early: Event | None = None

    @property
    def waits(self) -> bool:
        """Whether there is something in it that no step has applied yet."""
        return self.status in ("filled", "stale")


def fill(slot: Slot, backward: Event, scaler: Key = None) -> Slot:
    """Return the slot after a backward has added to it, from a loss that a scaler may have scaled."""
    fills = (*slot.fills, backward)[-4:]
    if slot.status in ("applied", "stale"):
        stale = slot.stale or backward
        return replace(slot, status="stale", fills=fills, stale=stale, read=False, scaled=scaler, clipped=None)
    return replace(slot, status="filled", fills=fills, read=False, scaled=scaler)


def apply(slot: Slot, step: Event, applier: Key) -> Slot:
    """Return the slot after a step or manual update has used it, or found nothing in it."""
    if slot.status == "clean":
        return slot if slot.given or slot.vague else replace(slot, idle=step)
    return Slot("applied", slot.fills, step, applier, cleared=slot.cleared, before=slot.before, phase=slot.phase)


def clear(slot: Slot, event: Event | None, phase: int = -1) -> Slot:
    """Return the slot after a clear in a phase; what was applied before is remembered as evidence that the loop clears.

    Clears without a backward or step between them are of one phase.
    """
    wiped = slot.wiped if slot.status == "clean" else None
    if slot.status == "filled" and slot.fills and not slot.read and event is not None:
        wiped = (slot.fills[0], event)
    return Slot(
        cleared=event, before=slot.applied or slot.before, phase=phase, wiped=wiped, idle=slot.idle, early=slot.early
    )


def overwrite(slot: Slot, event: Event) -> Slot:
    """Return the slot after something other than a backward was put into it."""
    return Slot(cleared=event, before=slot.applied or slot.before, given=True)
