"""What the steps, clears and clips of a program were seen to do, over all paths: evidence for and against a finding.

A path may find a step idle only because it went where no training goes. What another path has seen settles it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from adlint import program as p
from adlint.tape.facts import Event, apart
from adlint.tape.slots import Slot
from adlint.tape.values import Const, Key


@dataclass(slots=True)
class Ledger:
    """`fed`: the backwards that a step applied to a leaf, and the loop that turned in between. `applied`: the steps
    that applied a backward's gradients to a leaf. `everywhen`: backwards that a step applied at once, without waiting
    for a count. `steps`: those that always found only what they had applied before. `served`: leaves that some step was
    for. `handed`: leaves that unknown code may step; `blind` if it may step any. `useful`: clips that saw gradients not
    applied yet. `built`: the optimizer of a leaf and where it was built; `replaced`: leaves that took the place of
    such a leaf later. `filled`: the first backward of a place into a leaf, and how its optimizer is written there;
    `ever`: leaves that some backward has filled. `waiting`: backwards and steps that came to what waits for a
    step, and the depth of the loop that turned in between, if one did."""

    fed: dict[tuple[p.Node, int], set[tuple[p.Node, int | None]]] = field(default_factory=dict)
    applied: dict[tuple[p.Node, int], set[p.Node]] = field(default_factory=dict)
    everywhen: set[p.Node] = field(default_factory=set)
    served: set[int] = field(default_factory=set)
    handed: set[int] = field(default_factory=set)
    blind: bool = False
    useful: set[p.Node] = field(default_factory=set)
    steps: dict[p.Node, Event | None] = field(default_factory=dict)
    uncalled: dict[int, Event] = field(default_factory=dict)
    built: dict[int, tuple[Key, p.Node]] = field(default_factory=dict)
    replaced: dict[int, tuple[Event, Event]] = field(default_factory=dict)
    filled: dict[tuple[p.Node, int], tuple[Event, str]] = field(default_factory=dict)
    ever: set[int] = field(default_factory=set)
    waiting: set[tuple[p.Node, int | None]] = field(default_factory=set)

    def met(self, event: Event, slot: Slot) -> None:
        """Remember a backward or step that comes to gradients which wait for a step."""
        if slot.waits and slot.fills:
            self.waiting.add((event.site, apart(slot.fills[-1].turn, event.turn)))

    def stepped(self, step: Event, useful: bool) -> None:
        """Remember a step, and whether there was anything new for it."""
        if useful:
            self.steps[step.site] = None
        else:
            self.steps.setdefault(step.site, step)

    def apply(self, step: Event, leaf: int, fills: tuple[Event, ...]) -> None:
        """Remember that a step has applied backwards to a leaf."""
        for one in fills:
            self.fed.setdefault((step.site, leaf), set()).add((one.site, apart(one.turn, step.turn)))
            self.applied.setdefault((one.site, leaf), set()).add(step.site)
            if step.turn == one.turn and not any(counts(key) for key, _ in step.guards - one.guards):
                self.everywhen.add(one.site)


def counts(key: Key) -> bool:
    """Tell whether a condition asks how many turns there were since the last time: a remainder."""
    if not isinstance(key, tuple):
        return False
    if len(key) == 4 and key[:2] == ("op", "%"):
        return bool(key[3] != Const(1))
    if key[:1] == ("rest",):
        return True
    return any(counts(part) for part in key)
