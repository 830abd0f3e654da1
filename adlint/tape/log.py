"""What happened on a path, for those who ask how the tape came to a finding; kept only by a machine that is told to.

Each happening knows the one before it, so that paths share what they have in common and going two ways costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adlint import program as p

if TYPE_CHECKING:
    from adlint.tape.facts import Turn
    from adlint.tape.graph import Node


@dataclass(frozen=True, slots=True, eq=False)
class Happening:
    """One thing that happened, and whether it was recorded there.

    `kind`: made (a node), backward or grad (the nodes it walks, its roots first), refused (that pass raises), outdated
    (a node that the pass needs, and the leaf changed since), freed (nodes, by the pass before), step, clear or update
    (without nodes), slot (of a leaf, `was` and `now`), mode. `tape` holds all nodes of the machine, `number` counts
    what has happened on the path.
    """

    kind: str
    site: p.Node | None
    nodes: tuple[int, ...]
    was: str
    now: str
    turn: Turn
    calls: tuple[p.Node, ...]
    recording: str | None
    scope: p.Node | None
    tape: Mapping[int, Node]
    number: int
    before: Happening | None


def happenings(last: Happening | None) -> list[Happening]:
    """Return what happened on a path, from its beginning."""
    found = list(_back(last))
    found.reverse()
    return found


def leads_through(last: Happening, one: Happening) -> bool:
    """Tell whether a path that ends with one happening has come by another one."""
    return next(earlier for earlier in _back(last) if earlier.number <= one.number) is one


def _back(one: Happening | None) -> Iterator[Happening]:
    while one is not None:
        yield one
        one = one.before
