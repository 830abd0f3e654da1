"""What a machine knows of other files, and how much of them it may still run.

A call into another file has a budget of its own, so that what is followed never takes a step from what is linted. What
has been too much once is not tried again: it is code that nobody can see.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adlint import program as p
from adlint.tape.resolver import NOTHING, Resolver
from adlint.tape.values import Ref

IN_ALL, A_ROOT, A_CALL = 54_000, 13_500, 4_500
FORWARDS, CHEAP = 4, 100
WAYS = 2
"""How many ways through a function are told apart at most, times two."""


@dataclass(slots=True)
class Abroad:
    """`frames`: the global frame of each file that was asked for, None where there is none: 0 for the file that is
    linted, others below. `base` holds what modules define. `inside`: such code is being run. `focus`: a file
    that is run as freely as the one with the roots."""

    resolver: Resolver = NOTHING
    frames: dict[str, int | None] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)
    programs: list[p.Program] = field(default_factory=list)
    base: dict[Any, Any] = field(default_factory=dict)
    following: list[tuple[str, str]] = field(default_factory=list)
    inside: bool = False
    focus: str = ""
    total: int = IN_ALL
    left: int = A_ROOT
    lost: set[p.Node] = field(default_factory=set)
    forwards: dict[Ref, int] = field(default_factory=dict)
    costs: dict[p.Node, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Begin a root."""
        self.left = min(A_ROOT, self.total)
        self.forwards.clear()

    def admits(self, node: p.Node) -> bool:
        """Tell whether a function of another file may be run."""
        return self.left > 0 and node not in self.lost

    def admits_forward(self, module: Ref, node: p.Node) -> bool:
        """Tell whether a forward may be run once more: the first ones tell how it goes, and cheap ones always may."""
        if self.inside:
            return True
        if self.costs.get(node, 0) <= CHEAP:
            return self.admits(node)
        count = self.forwards[module] = self.forwards.get(module, 0) + 1
        return count <= FORWARDS and self.admits(node)
