"""What the tape did on the way to a line: an account for people, as text or as a picture. Prints nothing.

explain(source, settings, line)      one Trace for each finding there, or one of what happens there without any
renderer("text")(traces)             text, mermaid, dot or svg
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

FORMATS = ("text", "mermaid", "dot", "svg")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A node of the tape, by its number in the trace.

    `kind` is that of the tape's node: leaf, operation, call, part, cut or source. `name` is what the program calls it,
    or the code that makes it; `line` is empty where no line does. `parents` are those that a gradient flows into,
    `behind` those that none does. `cut` says why there is no graph. Unknown is None.
    """

    number: int
    kind: str
    name: str
    operation: str
    line: str
    turn: str
    requires_grad: bool | None
    saves: bool | None
    parents: tuple[int, ...]
    behind: tuple[int, ...]
    cut: str


@dataclass(frozen=True, slots=True)
class Slot:
    """The gradient slot of a leaf: clean, filled, applied or stale, before and after a step of the trace."""

    tensor: int
    was: str
    now: str


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened on the path, in order.

    `kind`: made (one of `tensors`), backward or grad (which walks them), step, clear, update, scope, mode, or here
    (where the finding is, if nothing else happens there). A pass frees `freed`, and meets `met` of those that the pass
    at `by` has freed; one that is `refused` raises, and `outdated` is then what it needs and the leaf that has changed
    since. `word` says what a scope or mode changes to, and "kept" of a pass that frees nothing; `others` counts what a
    pass walks that is not shown.
    """

    kind: str
    line: str
    turn: str
    code: str
    tensors: tuple[int, ...] = ()
    others: int = 0
    freed: tuple[int, ...] = ()
    met: tuple[int, ...] = ()
    by: str = ""
    outdated: tuple[int, ...] = ()
    slots: tuple[Slot, ...] = ()
    word: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """What led to a finding, or without one (no `rule`), what the tensors of a line went through.

    `headline` is the finding as a report has it, `note` says why a report may not have it, `left_out` counts tensors
    that lie too far away to be shown.
    """

    place: str
    rule: str
    headline: str
    note: str
    tensors: tuple[Tensor, ...]
    steps: tuple[Step, ...]
    left_out: int = 0


def renderer(form: str) -> Callable[[Sequence[Trace]], str]:
    """Return what makes a text of traces."""
    if form == "svg":
        from adlint.trace.svg import render as draw

        return draw
    if form in ("mermaid", "dot"):
        from adlint.trace import notation

        return notation.mermaid if form == "mermaid" else notation.dot
    from adlint.trace.text import render

    return render
