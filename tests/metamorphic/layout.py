"""Rewritings of the text alone: the tree stays what it was."""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections.abc import Iterator

from metamorphic.variant import Variant, is_docstring

BLANK = ("", "    ", "\t", "")


def reprinted(text: str) -> Variant:
    """Print the tree: no comments, one line for each statement."""
    return Variant.of(ast.parse(text))


def commented(text: str) -> Variant:
    """Put a comment before every statement, and one at its end."""
    lines = text.split("\n")
    for row, column in _ends(text):
        lines[row - 1] = f"{lines[row - 1][:column]}  # loss.backward()"
    for row, column, _ in reversed(list(_starts(text))):
        lines.insert(row - 1, " " * column + "# optimizer.zero_grad()")
    return Variant("\n".join(lines), ast.parse(text))


def spaced(text: str) -> Variant:
    """Put blank lines, some of which have blanks on them, before every statement."""
    lines = text.split("\n")
    for row, _, _ in reversed(list(_starts(text))):
        lines[row - 1 : row - 1] = [BLANK[row % 4]] * (1 + row % 3)
    return Variant("\n".join(lines) + "\n\n\n", ast.parse(text))


def windows(text: str) -> Variant:
    """End lines as on Windows."""
    return Variant(text.replace("\n", "\r\n"), ast.parse(text))


def tabbed(text: str) -> Variant:
    """Indent by tabs."""
    lines = text.split("\n")
    for row, column, depth in _starts(text):
        lines[row - 1] = "\t" * depth + lines[row - 1][column:]
    return Variant("\n".join(lines), ast.parse(text))


def parenthesised(text: str) -> Variant:
    """Put values, arguments, receivers and conditions in parentheses."""
    tree = ast.parse(text)
    offsets = [0]
    for line in text.encode().split(b"\n"):
        offsets.append(offsets[-1] + len(line) + 1)
    marks: list[tuple[int, bytes]] = []
    for node in _values(tree):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        marks.append((offsets[node.lineno - 1] + node.col_offset, b"("))
        marks.append((offsets[node.end_lineno - 1] + node.end_col_offset, b")"))
    whole = text.encode()
    for place, mark in sorted(marks, reverse=True):
        whole = whole[:place] + mark + whole[place:]
    return Variant(whole.decode(), tree)


def joined(text: str) -> Variant | None:
    """Put neighbouring simple statements on one line."""
    tree = ast.parse(text)
    lines = ast.unparse(tree).split("\n")
    plain = ast.parse("\n".join(lines))
    changed = False
    for block in reversed([b for n in ast.walk(plain) for b in _bodies(n)]):
        for one, other in reversed(list(itertools.pairwise(block))):
            simple = all(s.lineno == s.end_lineno and not hasattr(s, "body") for s in (one, other))
            if simple and not is_docstring(one) and other.lineno == one.lineno + 1 and other.lineno % 2:
                lines[one.lineno - 1] += "; " + lines[other.lineno - 1].lstrip()
                lines[other.lineno - 1] = ""
                changed = True
    return Variant("\n".join(lines) + "\n", tree) if changed else None


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        if isinstance(block := getattr(node, field, None), list):
            yield block


def _values(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield every expression that may stand in parentheses of its own, outside of formatted text."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.stmt) and is_docstring(node)):
            continue
        inner: list[ast.expr | None] = []
        read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        if read or isinstance(node, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.keyword)):
            inner.append(node.value)
        elif isinstance(node, ast.Call):
            inner += node.args
        elif isinstance(node, (ast.If, ast.While)):
            inner.append(node.test)
        elif isinstance(node, (ast.For, ast.comprehension)):
            inner.append(node.iter)
        for value in inner:
            if value is not None and not isinstance(value, (ast.Starred, ast.GeneratorExp, ast.JoinedStr)):
                yield value
        yield from _values(node)


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def _starts(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield line, column and depth of every logical line."""
    depth, fresh = 0, True
    for token in _tokens(text):
        if token.type == tokenize.INDENT:
            depth += 1
        elif token.type == tokenize.DEDENT:
            depth -= 1
        elif token.type == tokenize.NEWLINE:
            fresh = True
        elif fresh and token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER):
            fresh = False
            yield (*token.start, depth)


def _ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield where logical lines end, but for those that have a comment."""
    before = None
    for token in _tokens(text):
        if token.type == tokenize.NEWLINE and before is not None and before.type != tokenize.COMMENT:
            yield token.start
        before = token
