"""What the tape saw: facts, with the events that led to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adlint import program as p
from adlint.tape.values import Key

if TYPE_CHECKING:
    from adlint.tape.log import Happening

Guard = tuple[Key, bool]
Turn = tuple[tuple[int, int], ...]
"""The loops being run, outermost first: which run of a loop, and its how-manieth turn."""


def apart(first: Turn, second: Turn) -> int | None:
    """Return the depth of the loop that turned between two events; None if none did."""
    for depth, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return depth if a[0] == b[0] else None
    return None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the tape at one place on one path.

    `kind`: backward, grad, step, clear, update, forward. `calls` are the calls of the program that led there,
    outermost first. `guards` are the undecided conditions it depends on. `subject` is the expression it happened to.
    Two events of one `moment` have no backward, step or clear between them. A backward that was `asked` to keep its
    graph has the flag itself; a `whole` one adds the gradient of a loss to every slot, without a seed or a choice.
    `path` is what had happened before, if a log is kept.
    """

    kind: str
    site: p.Node
    calls: tuple[p.Node, ...]
    guards: frozenset[Guard]
    subject: p.Node | None = None
    turn: Turn = ()
    object: Key = None
    retained: bool = False
    root: int | None = None
    uncalled: bool = False
    asked: bool = False
    whole: bool = True
    moment: int = 0
    path: Happening | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fact:
    """A predicate found true of an event; `causes` are the earlier events, the most telling one first. `midway` are the
    loops that the path enters after their first turn. `path` is what had happened until then, if a log is kept."""

    kind: str
    event: Event
    causes: tuple[Event, ...]
    definite: bool
    shared: p.Node | None = None
    owner: str = ""
    details: tuple[tuple[str, object], ...] = ()
    midway: frozenset[int] = frozenset()
    path: Happening | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class Facts:
    """All facts of a program, in the order noted, without repeats."""

    found: list[Fact] = field(default_factory=list)
    training: set[p.Node] = field(default_factory=set)
    """The backwards and steps that were run, and the calls that led to them."""
    loops: dict[int, p.Node] = field(default_factory=dict)
    """The loops by the marks of their runs, as in an event's turn."""
    passes: set[p.Node] = field(default_factory=set)
    """The backwards that went through at least once."""
    others: tuple[p.Program, ...] = ()
    """The other programs that were entered: events may lie in them."""
    left_out: list[p.Function] = field(default_factory=list)
    """The functions that nobody calls and that were not run, because the file's budget was used up."""
    ends: list[Happening] = field(default_factory=list)
    """What happened on the paths that were run to their ends, if a log is kept."""

    def loop_between(self, first: Event, second: Event) -> p.Node | None:
        """Return the loop that turned between two events, if one did."""
        for (mark, number), (other, later) in zip(first.turn, second.turn, strict=False):
            if (mark, number) != (other, later):
                return self.loops.get(mark) if mark == other else None
        return None

    def of(self, kind: str) -> list[Fact]:
        """Return the facts of one kind."""
        return [fact for fact in self.found if fact.kind == kind]
