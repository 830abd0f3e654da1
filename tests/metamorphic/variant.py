"""A rewritten program, and where each of its statements stood before."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from adlint.diagnostics import Diagnostic

Place = tuple[int, int]
Found = list[tuple[str, Place | None]]
Rewriting = Callable[[str], "Variant | None"]


@dataclass(frozen=True)
class Variant:
    """A text, and the tree that it parses to: statements that stood in the first text keep their old places.

    A statement that the rewriting made has no place. With `moved`, the findings stay the same but not their places.
    """

    text: str
    tree: ast.Module
    moved: bool = False

    @classmethod
    def of(cls, tree: ast.Module, *, moved: bool = False) -> Variant:
        for statement in statements(tree):
            statement.lineno, statement.col_offset = (
                getattr(statement, "lineno", 0),
                getattr(statement, "col_offset", 0),
            )
        return cls(ast.unparse(tree) + "\n", tree, moved)

    def trace(self, diagnostics: list[Diagnostic]) -> Found:
        """Return the rules that are reported, and the old places of the statements they are reported on."""
        here, there = statements(ast.parse(self.text)), statements(self.tree)
        pairs = list(zip(here, there, strict=True))
        found: Found = []
        for item in diagnostics:
            at = item.span.start.line, item.span.start.column - 1
            inside = [
                (old, new) for new, old in pairs if begin(new) <= at <= (new.end_lineno or 0, new.end_col_offset or 0)
            ]
            old = max(inside, key=lambda pair: begin(pair[1]))[0] if inside else None
            place = (old.lineno, old.col_offset) if old is not None and old.lineno else None
            found.append((item.name, None if self.moved else place))
        if self.moved:
            return sorted(set(found))
        return sorted(found, key=lambda one: (one[0], one[1] or (0, 0)))


def statements(tree: ast.AST) -> list[ast.stmt]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def begin(node: ast.stmt) -> Place:
    """Return where a statement begins, its decorators included."""
    first = min((d.lineno for d in getattr(node, "decorator_list", [])), default=node.lineno)
    return (node.lineno, node.col_offset) if first == node.lineno else (first, 0)


def blocks(tree: ast.AST) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """Yield every list of statements with the node that it belongs to."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                yield node, block


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def preamble(tree: ast.Module) -> int:
    """Return how many statements stand before the first one that is neither a docstring nor an import."""
    kinds = (ast.Import, ast.ImportFrom)
    return next((n for n, s in enumerate(tree.body) if not (isinstance(s, kinds) or is_docstring(s))), len(tree.body))
