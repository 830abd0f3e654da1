"""What a rule reports: plain data, no behaviour beyond ordering.

Positions are 1-based lines and 1-based columns in code points, end-exclusive, of the decoded source text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

HOME = "https://adlint.readthedocs.io"


class Severity(Enum):
    """How bad a finding is; chosen by the rule, overridden by the settings."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Certainty(Enum):
    """`DEFINITE` holds on a feasible path; `POSSIBLE` only if two guards that may be related are not."""

    DEFINITE = "definite"
    POSSIBLE = "possible"


class Applicability(Enum):
    """How a fix may be applied: unasked (`SAFE`), on request (`UNSAFE`), or by hand only (`DISPLAY`)."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place between two characters: 1-based line, 1-based column in code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of source text from `start` up to, not including, `end`."""

    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span` by `content`; an empty span inserts."""

    span: Span
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that are applied all together or not at all; `DISPLAY` fixes may have none."""

    title: str
    applicability: Applicability
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """An earlier line that explains a finding."""

    message: str
    filename: str
    span: Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what happened, where, why, and how to mend it.

    `uncalled` names a function that nothing in the file calls, where a caller in another file would change the verdict.
    """

    code: str
    name: str
    message: str
    severity: Severity
    certainty: Certainty
    filename: str
    span: Span
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    uncalled: str = field(default="", kw_only=True)

    @property
    def url(self) -> str:
        """The page that explains the rule."""
        return page(self.name)


def page(rule: str) -> str:
    """Return the address of the page about a rule, by its name."""
    return f"{HOME}/rules/{rule}"


def one_line(text: str) -> str:
    """Return a text with escapes for what cannot stand in one line of a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
