"""The graph lattice: nodes, what they save, and their lifetime.

        {live, freed}            lifetime on a path is a point; joins keep paths apart, so a freed node is freed for
          /      \\               certain on that path. What a backward frees is the profile's.
      {live}   {freed}

`requires_grad` and `saves` are three-valued: True, False, or None for unknown. A node is made once and never changes.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from adlint import program as p
from adlint.tape.facts import Turn
from adlint.tape.values import Key


@dataclass(frozen=True, slots=True)
class Node:
    """One step of a recorded computation, or a leaf.

    `kind`: "leaf" (a parameter or a tensor that requires grad), "operation", "call" (a module or an unknown function),
    "part" (an element of an unknown result) or "cut" (a value without a graph). `turn` is the loop turn it was made in.
    `cut` says why there is no graph: off or inference (recording was off, by `scope`), detach, untracked (an operation
    without a gradient), wrapped or data (a new tensor made of tensors, or of numbers that were read), derived (made of
    values without a graph), or nothing that is sure; a leaf made of a cut value has one too. `behind` are the operands
    that no gradient flows into, `hidden` is set where there may be operands that the tape does not see; `joint` is a
    part that is made of all that its whole is made of.
    """

    id: int
    kind: str
    operation: str
    parents: tuple[int, ...]
    saves: bool | None
    requires_grad: bool | None
    site: p.Node | None
    turn: Turn = ()
    callee: Key = None
    cut: str = ""
    behind: tuple[int, ...] = ()
    hidden: bool = False
    scope: p.Node | None = None
    joint: bool = False


@dataclass(frozen=True, slots=True)
class Walk:
    """What one backward from a root reaches: every tracked ancestor, root first, and the leaves among them."""

    nodes: tuple[int, ...]
    leaves: frozenset[int]


def ancestors(nodes: dict[int, Node], root: int, stop: frozenset[int] | None = None) -> Walk:
    """Collect the ancestors of `root` that may require grad; with `stop`, what lies on a way to one of these nodes."""
    seen: dict[int, None] = {}
    stack = [root]
    while stack:
        current = stack.pop()
        if current in seen or nodes[current].requires_grad is False:
            continue
        seen[current] = None
        stack.extend(nodes[current].parents)
    found = list(seen)
    if stop is not None:
        found = _between(nodes, found, stop)
    return Walk(tuple(found), frozenset(n for n in found if nodes[n].kind == "leaf"))


def _between(nodes: dict[int, Node], found: list[int], targets: frozenset[int]) -> list[int]:
    kept = {n for n in found if n in targets}
    changed = bool(kept)
    while changed:
        changed = False
        for n in found:
            if n not in kept and any(parent in kept for parent in nodes[n].parents):
                kept.add(n)
                changed = True
    return [n for n in found if n in kept and n not in targets]


def surely_reached(nodes: dict[int, Node], roots: tuple[int, ...]) -> frozenset[int]:
    """Return the ancestors that a backward walks for certain: an unknown function may have cut what lies behind it, and
    each part of its result may come from another of its arguments, unless they are joint."""
    seen: set[int] = set()
    wholes: set[int] = set()
    stack = list(roots)
    while stack:
        current = stack.pop()
        node = nodes[current]
        if current in seen or node.requires_grad is False:
            continue
        seen.add(current)
        if node.kind == "part" and not node.joint:
            wholes.update(node.parents)
        elif node.kind != "call" or (node.requires_grad is True and not node.hidden):
            stack.extend(node.parents)
    return frozenset(seen | wholes)


def sources(nodes: dict[int, Node], root: int, evidence: Set[Key], without: int | None = None) -> frozenset[int]:
    """Return the nodes from which the gradient of `root` can originate, not looking behind `without`.

    A leaf is one, and a call of something unknown, which may hold parameters. Values of which nothing is known (data,
    most of the time) are not counted.
    """
    result, seen, stack = set(), set(), [root]
    while stack:
        current = stack.pop()
        if current in seen or current == without:
            continue
        seen.add(current)
        node = nodes[current]
        if node.requires_grad is False:
            continue
        if node.kind == "leaf":
            if node.requires_grad is True or node.callee in evidence:
                result.add(current)
        elif node.kind == "call":
            result.add(current)
        stack.extend(node.parents)
    return frozenset(result)


def must_require_grad(nodes: dict[int, Node], node: int, root: int, evidence: Set[Key]) -> bool:
    """Tell whether `node` requires grad for certain, given that a backward from `root` ran through.

    It does when it is known to, or when every source that could make `root` require grad lies behind it.
    """
    if nodes[node].requires_grad is True or node == root:
        return True
    return not sources(nodes, root, evidence, without=node) and nodes[node].kind not in ("source", "leaf")
