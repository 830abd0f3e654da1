"""Tree handles → places in the text, computed for a whole module when the first is asked for.

The tree prints itself into a state that counts characters; that is several times cheaper than the tree library's own
position metadata and gives the same answers. Parentheses around an expression do not belong to it, except the innermost
pair of a tuple or a generator expression, which is its display. Imports nothing of the tree library.
"""

from __future__ import annotations

from typing import Any

from adlint.diagnostics import Span
from adlint.guard import in_deep_stack
from adlint.program import Node
from adlint.source import Source


class Positions:
    """The spans of a module's nodes; calling it answers for a program node.

    A handle is a tree node, or a pair of tree nodes (first, last) where the tree has none of its own.
    """

    def __init__(self, module: Any, source: Source, deep: bool) -> None:
        self.source = source
        self._module = module
        self._deep = deep
        self._counter: _Counter | None = None
        self._dropped: list[int] = []
        self._exact = True

    def __call__(self, node: Node) -> Span:
        start, end = self.offsets(node.handle)
        return self.source.span(start, end)

    @property
    def exact(self) -> bool:
        """Whether the tree accounts for every character, so that edits at its positions are safe."""
        self._count()
        return self._exact

    def offsets(self, handle: Any) -> tuple[int, int]:
        """Return start and end of a handle as indices in the text."""
        spans = self._count().spans
        if isinstance(handle, tuple):
            first, last = handle
            return self.offsets(first)[0], self.offsets(last)[1]
        start, end = spans[handle]
        kind = type(handle).__name__
        if kind in ("Tuple", "GeneratorExp"):
            if handle.lpar:
                start, end = spans[handle.lpar[-1]][0], spans[handle.rpar[0]][1]
        elif kind in ("FunctionDef", "ClassDef") and handle.decorators:
            start = spans[handle.decorators[0]][0]
        elif kind == "CompFor":
            start = spans[handle.whitespace_before][1]
        elif kind == "Param":
            last = handle.default or (handle.annotation and handle.annotation.annotation)
            if last is not None:
                end = spans[last.rpar[-1] if last.rpar else last][1]
        if self._dropped:
            first = self._in_text(start)
            return first, max(first, self._in_text(end - 1) + 1)
        return start, end

    def _count(self) -> _Counter:
        if self._counter is None:
            counter = _Counter(self._module.default_indent, self._module.default_newline)
            if self._deep:
                in_deep_stack(self._module._codegen, counter)
            else:
                self._module._codegen(counter)
            code = "".join(counter.tokens)
            counter.tokens.clear()
            if code != self.source.text:
                self._dropped, self._exact = _dropped(code, self.source.text)
            self._counter = counter
        return self._counter

    def _in_text(self, offset: int) -> int:
        """Return where in the text a character is that the tree has at an offset."""
        for place in self._dropped:
            if place > offset:
                break
            offset += 1
        return offset


def _dropped(code: str, text: str) -> tuple[list[int], bool]:
    """Return where in the text the tree has dropped form feeds, the space before the colon of `except (A, B) :`, or a
    line that holds nothing but a backslash, and whether edits are safe: the last changes what a line begins with."""
    places = []
    at = 0
    for place, character in enumerate(text):
        if at < len(code) and code[at] == character:
            at += 1
        elif character in "\f \t\r\n\\":
            places.append(place)
        else:
            return places, False
    return places, at == len(code) and not any(text[place] == "\\" for place in places)


class _Counter:
    """What tree nodes print themselves into: counts characters and notes where each node starts and ends."""

    __slots__ = ("_open", "default_indent", "default_newline", "indent_tokens", "offset", "spans", "tokens")

    def __init__(self, indent: str, newline: str) -> None:
        self.default_indent = indent
        self.default_newline = newline
        self.indent_tokens: list[str] = []
        self.tokens: list[str] = []
        self.offset = 0
        self.spans: dict[Any, tuple[int, int]] = {}
        self._open: list[int] = []

    def increase_indent(self, value: str) -> None:
        self.indent_tokens.append(value)

    def decrease_indent(self) -> None:
        self.indent_tokens.pop()

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.tokens.append(token)
            self.offset += len(token)

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.offset += len(value)

    def pop_trailing_newline(self) -> None:
        if self.tokens:
            self.offset -= len(self.tokens.pop())

    def before_codegen(self, node: Any) -> None:
        self._open.append(self.offset)

    def after_codegen(self, node: Any) -> None:
        start = self._open.pop()
        if node not in self.spans:
            self.spans[node] = (start, self.offset)

    def record_syntactic_position(self, node: Any, *, start_node: Any = None, end_node: Any = None) -> _Syntactic:
        return _Syntactic(self, node, start_node, end_node)


class _Syntactic:
    """Notes the span of a node without the whitespace that the tree keeps with it."""

    __slots__ = ("counter", "end_node", "node", "start", "start_node")

    def __init__(self, counter: _Counter, node: Any, start_node: Any, end_node: Any) -> None:
        self.counter = counter
        self.node = node
        self.start_node = start_node
        self.end_node = end_node

    def __enter__(self) -> None:
        self.start = self.counter.offset

    def __exit__(self, *_: object) -> None:
        spans = self.counter.spans
        start = self.start if self.start_node is None else spans[self.start_node][0]
        end = self.counter.offset if self.end_node is None else spans[self.end_node][1]
        spans[self.node] = (start, end)
