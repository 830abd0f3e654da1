"""Program nodes → Edits on the original text.

    insert_after(step, "optimizer.zero_grad()")     an empty span at the start of the next line, indented like `step`
    wrap((loop,), "with torch.no_grad():")          the header, and one more level in front of each line that it covers

Nothing is printed anew: what no edit names stays as it was written. What cannot be done safely raises `CannotRewrite`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from typing import Any

import libcst as cst

from adlint import program as ir
from adlint.diagnostics import Edit, Position
from adlint.positions import Positions
from adlint.rewrite.naming import Names

_LOOSE = (ir.Boolean, ir.Compare, ir.Conditional, ir.Lambda, ir.Walrus, ir.Yield, ir.Slice, ir.Starred, ir.Opaque)
_LOOSE_OPERATORS = ("<<", ">>", "&", "^", "|")
_COMMENT = re.compile(r"[ \t\f]*(?:#[^\r\n]*)?")
_AFTER = re.compile(r"[ \t\f]*;?[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\n|\r|\Z)")
_COMMA = re.compile(r"[ \t]*,[ \t]*")
_STRINGS = tuple(
    getattr(cst, name) for name in ("SimpleString", "FormattedString", "TemplatedString") if hasattr(cst, name)
)


class CannotRewrite(Exception):
    """A change that cannot be made safely at this place."""


class Rewriter:
    """Makes the edits of one file's fixes."""

    def __init__(self, text: str, program: ir.Program) -> None:
        if not isinstance(program.span, Positions):
            raise TypeError("the program does not come from this front end")
        self._text = text
        self._program = program
        self._places = program.span
        self._source = program.span.source

    # Texts

    def text_of(self, node: ir.Node) -> str:
        """Return the source of a node."""
        start, end = self._places.offsets(node.handle)
        return self._text[start:end]

    def moved(self, statement: ir.Statement) -> str:
        """Return a statement as code for another place, with the comment at its end."""
        start, end = self._offsets(statement.handle)
        text = self._text[start:end]
        if "\n" in text or "\r" in text:
            if self._text[self._line_start(start) : start].strip() or any(self._string_lines((statement,))):
                raise CannotRewrite("the statement goes over several lines")
            margin = self._indentation(start)
            lines = re.split(r"\r\n|\n|\r", text)
            if any(line.strip() and not line.startswith(margin) for line in lines[1:]):
                raise CannotRewrite("the statement is not indented evenly")
            text = "\n".join([lines[0], *(line[len(margin) :] for line in lines[1:])])
        comment = re.compile(r"[ \t]*#[^\r\n]*").match(self._text, end)
        return text + comment.group() if comment else text

    def parenthesised(self, node: ir.Node) -> str:
        """Return the source of an expression, in parentheses where an operand of `+` needs them."""
        text = self.text_of(node)
        loose = isinstance(node, _LOOSE) or (isinstance(node, ir.Operator) and node.op in _LOOSE_OPERATORS)
        bare = isinstance(node, (ir.Collection, ir.Comprehension)) and text[:1] not in "([{"
        return f"({text})" if loose or bare or not _stands_alone(text) else text

    # Expressions

    def replace(self, node: ir.Node, code: str) -> tuple[Edit, ...]:
        """Replace the text of a node."""
        return (self._edit(*self._offsets(node.handle), code),)

    def add_argument(self, call: ir.Call, text: str) -> tuple[Edit, ...]:
        """Append a keyword argument, on its own line where the last one has its own and a trailing comma."""
        end = self._offsets(call.handle)[1] - 1
        keyword = text.partition("=")[0].strip()
        if any(argument.keyword == keyword for argument in call.arguments):
            raise CannotRewrite(f"the call has an argument `{keyword}`")
        if not call.arguments:
            return (self._edit(end, end, text),)
        last = call.arguments[-1].handle
        first, after = self._offsets(last)
        line = self._line_start(first)
        rest = re.compile(r"[ \t]*,[ \t]*(?:#[^\r\n]*)?(?:\r\n|\n|\r)").match(self._text, after)
        if rest and not self._text[line:first].strip():
            new = f"{self._text[line:first]}{text},{self._source.newline}"
            return (self._edit(rest.end(), rest.end(), new),)
        value = last.value
        if len(call.arguments) == 1 and isinstance(value, cst.GeneratorExp) and not value.lpar:
            return (self._edit(first, first, "("), self._edit(after, after, f"), {text}"))
        return (self._edit(after, after, f", {text}"),)

    def remove_argument(self, argument: ir.Argument, call: ir.Call) -> tuple[Edit, ...]:
        """Remove an argument and one comma; with its whole line, comment included, where it has one to itself."""
        position = call.arguments.index(argument)
        start, end = self._offsets(argument.handle)
        comma = _COMMA.match(self._text, end)
        if isinstance(argument.handle.comma, cst.Comma) and not comma:
            raise CannotRewrite("the comma stands on another line")
        after = comma.end() if comma else end
        line = self._line_start(start)
        rest = re.compile(r"(?:#[^\r\n]*)?(?:\r\n|\n|\r)").match(self._text, after)
        if rest and not self._text[line:start].strip():
            return (self._edit(line, rest.end(), ""),)
        if position == len(call.arguments) - 1 and position > 0:
            before = self._offsets(call.arguments[position - 1].handle)[1]
            if _COMMA.fullmatch(self._text, before, start):
                return (self._edit(before, end, ""),)
        return (self._edit(start, after, ""),)

    # Statements

    def insert_before(self, statement: ir.Statement, code: str) -> tuple[Edit, ...]:
        """Insert a statement above another, below that one's leading comments."""
        start, _ = self._offsets(statement.handle)
        line, position = self._line_of(statement)
        if line is not None and (isinstance(line, cst.SimpleStatementSuite) or position > 0):
            return (self._edit(start, start, _one_line(code) + "; "),)
        indentation = self._indentation(start)
        return (self._edit(self._margin(start), self._margin(start), self._lines(code, indentation)),)

    def insert_after(self, statement: ir.Statement, code: str) -> tuple[Edit, ...]:
        """Insert a statement below another."""
        start, end = self._offsets(statement.handle)
        line, position = self._line_of(statement)
        if line is not None and (isinstance(line, cst.SimpleStatementSuite) or position < len(line.body) - 1):
            return (self._edit(end, end, "; " + _one_line(code)),)
        if line is not None:
            start = self._offsets(line.body[0])[0]
        indentation = self._indentation(start)
        end = self._block_end(start, end)
        new = self._lines(code, indentation)
        if not self._ends_line(end):
            new = self._source.newline + new[: -len(self._source.newline)]
        return (self._edit(end, end, new),)

    def insert_first(self, body: tuple[ir.Statement, ...], code: str) -> tuple[Edit, ...]:
        """Insert a statement at the head of a block, below its docstring."""
        if not body:
            raise CannotRewrite("the block has no statement")
        first = body[0]
        return self.insert_after(first, code) if _is_docstring(first) else self.insert_before(first, code)

    def insert_last(self, body: tuple[ir.Statement, ...], code: str) -> tuple[Edit, ...]:
        """Insert a statement at the end of a block."""
        if not body:
            raise CannotRewrite("the block has no statement")
        return self.insert_after(body[-1], code)

    def move_before(self, statement: ir.Statement, place: ir.Statement) -> tuple[Edit, ...]:
        """Move a statement above another."""
        return (*self.insert_before(place, self.moved(statement)), *self.delete(statement))

    def move_after(self, statement: ir.Statement, place: ir.Statement) -> tuple[Edit, ...]:
        """Move a statement below another."""
        return (*self.insert_after(place, self.moved(statement)), *self.delete(statement))

    def delete(self, statement: ir.Statement) -> tuple[Edit, ...]:
        """Delete a statement with its lines and trailing comment; a block that would be empty gets `pass`."""
        start, end = self._offsets(statement.handle)
        line, position = self._line_of(statement)
        if line is not None and len(line.body) > 1:
            if position < len(line.body) - 1:
                return (self._edit(start, self._offsets(line.body[position + 1])[0], ""),)
            return (self._edit(self._offsets(line.body[position - 1])[1], end, ""),)
        if isinstance(line, cst.SimpleStatementSuite):
            return (self._edit(start, end, "pass"),)
        block = self._homes[statement.handle if line is None else line]
        self._indentation(start)
        if isinstance(block, cst.IndentedBlock) and len(block.body) == 1:
            return (self._edit(start, end, "pass"),)
        return (self._edit(self._line_start(start), self._block_end(start, end), ""),)

    def wrap(self, statements: tuple[ir.Statement, ...], header: str) -> tuple[Edit, ...]:
        """Put a header above consecutive statements of a block and indent their lines; the insides of strings stay."""
        if not statements:
            raise CannotRewrite("nothing to wrap")
        first, last = self._line_of(statements[0]), self._line_of(statements[-1])
        for line, _ in (first, last):
            if isinstance(line, cst.SimpleStatementSuite):
                raise CannotRewrite("the statement stands on its header's line")
        if first[1] > 0 or (last[0] is not None and last[1] < len(last[0].body) - 1):
            raise CannotRewrite("the statement shares its line")
        self._consecutive(statements)
        start, end = self._offsets(statements[0].handle)[0], self._offsets(statements[-1].handle)[1]
        indentation = self._indentation(start)
        tail = statements[-1].handle if last[0] is None else last[0].body[0]
        end = self._block_end(self._offsets(tail)[0], end)
        unit = self._unit(indentation)
        strings = list(self._string_lines(statements))
        edits = [self._edit(self._margin(start), self._margin(start), self._lines(header, indentation) + unit)]
        at = self._line_end(start)
        while at < end:
            margin = re.compile(r"(?:[ \t]*\f)*").match(self._text, at)
            place = margin.end() if margin else at
            following = self._line_end(at)
            if self._text[at:following].strip() and not any(begin < at < finish for begin, finish in strings):
                edits.append(self._edit(place, place, unit))
            at = following
        return tuple(edits)

    def decorate(self, function: ir.Function | ir.Class, decorator: str) -> tuple[Edit, ...]:
        """Add a decorator nearest to the definition: what wraps the others (`staticmethod`, ...) stays outside."""
        name = self._offsets(function.handle.name)[0]
        line = self._line_start(name)
        if self._text[line:name].split() not in (["def"], ["async", "def"], ["class"]):
            raise CannotRewrite("the definition does not begin on its name's line")
        start = line + len(self._text[line:name]) - len(self._text[line:name].lstrip())
        new = self._lines(decorator, self._indentation(start))
        return (self._edit(self._margin(start), self._margin(start), new),)

    def undecorate(self, function: ir.Function | ir.Class, decorator: ir.Expression) -> tuple[Edit, ...]:
        """Take a decorator away, with its line."""
        start, end = self._offsets(decorator.handle)
        line, after = self._line_start(start), _AFTER.match(self._text, end)
        if self._text[line:start].strip() != "@" or after is None:
            raise CannotRewrite("the decorator shares its lines")
        return (self._edit(line, after.end(), ""),)

    def absorb(self, body: tuple[ir.Statement, ...], following: tuple[ir.Statement, ...]) -> tuple[Edit, ...]:
        """Move statements that follow a compound statement into its block."""
        if not body or isinstance(self._line_of(body[-1])[0], cst.SimpleStatementSuite):
            raise CannotRewrite("the block stands on its header's line")
        header, *rest = self.wrap(following, "")
        start = self._offsets(following[0].handle)[0]
        return (replace(header, content=self._unit(self._indentation(start))), *rest)

    def unwrap(self, statement: ir.With) -> tuple[Edit, ...]:
        """Drop the header of a `with` that has one context, and move its block one level out."""
        if len(statement.items) != 1 or self._line_of(statement)[0] is not None:
            raise CannotRewrite("the statement has several contexts")
        start, end = self._offsets(statement.handle)
        outer, inner = self._indentation(start), self._indentation(self._offsets(statement.body[0].handle)[0])
        header = self._offsets(statement.items[0].handle)[1]
        at = self._line_end(header)
        if not re.fullmatch(r"\s*:[ \t]*(#[^\r\n]*)?\s*", self._text[header:at]) or not inner.startswith(outer):
            raise CannotRewrite("the header does not end with its context")
        edits = [self._edit(self._margin(start), at, "")]
        strings = list(self._string_lines(statement.body))
        while at < end:
            if self._text.startswith(inner, at) and not any(first < at < last for first, last in strings):
                edits.append(self._edit(at + len(outer), at + len(inner), ""))
            at = self._line_end(at)
        return tuple(edits)

    def spelling(self, dotted: str, at: ir.Node) -> tuple[str, tuple[Edit, ...]]:
        """Return how to write a dotted name at a place, and the import that this needs."""
        name, statement = self._names.spell(dotted, at)
        return name, self._import(statement) if statement else ()

    def _import(self, statement: str) -> tuple[Edit, ...]:
        """Insert an import at the end of the imports at the head of the file, which are all before `at`."""
        body = self._program.body
        head = list(takewhile(lambda one: isinstance(one, ir.Import) or (one is body[0] and _is_docstring(one)), body))
        if not head:
            return self.insert_before(body[0], statement + self._source.newline)
        gap = "" if isinstance(head[-1], ir.Import) else self._source.newline
        return self.insert_after(head[-1], gap + statement)

    def whole_line(self, statement: ir.Statement) -> str:
        """Return a statement that has its line to itself, with the comment behind it."""
        start, end = self._offsets(statement.handle)
        line, _ = self._line_of(statement)
        after = self._text[end : self._line_end(end)].rstrip("\r\n")
        shared = (
            not isinstance(line, cst.SimpleStatementLine)
            or len(line.body) > 1
            or self._text[self._line_start(start) : start].strip()
        )
        if shared or "\n" in self._text[start:end] or (after.strip() and not after.strip().startswith("#")):
            raise CannotRewrite("the statement does not have a line to itself")
        return self._text[start:end] + after.rstrip()

    # Places

    @cached_property
    def _names(self) -> Names:
        return Names(self._program, lambda node: self._offsets(node.handle))

    @cached_property
    def _homes(self) -> dict[Any, Any]:
        """What holds each statement of the tree: a block a line or compound statement, a line a simple statement."""
        homes: dict[Any, Any] = {}
        pending: list[Any] = [self._program.handle]
        while pending:
            block = pending.pop()
            for node in block.body:
                homes[node] = block
                if isinstance(node, cst.SimpleStatementLine):
                    homes.update(dict.fromkeys(node.body, node))
                elif not isinstance(block, cst.SimpleStatementSuite):
                    pending.extend(_suites(node))
        return homes

    def _line_of(self, statement: ir.Statement) -> tuple[Any, int]:
        """Return the line (or suite on a header's line) of a simple statement and its index there; None if compound."""
        home = self._homes.get(statement.handle)
        if home is None:
            raise CannotRewrite("the statement is an `elif`")
        if isinstance(home, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            return home, list(home.body).index(statement.handle)
        return None, 0

    def _consecutive(self, statements: tuple[ir.Statement, ...]) -> None:
        homes = list(dict.fromkeys(self._line_of(statement)[0] or statement.handle for statement in statements))
        body = list(self._homes[homes[0]].body)
        if homes[-1] not in body or body[body.index(homes[0]) : body.index(homes[-1]) + 1] != homes:
            raise CannotRewrite("the statements do not follow one another")

    def _string_lines(self, statements: tuple[ir.Statement, ...]) -> Iterator[tuple[int, int]]:
        """Yield the strings that go over several lines."""
        pending: list[Any] = [statement.handle for statement in statements]
        while pending:
            node = pending.pop()
            if isinstance(node, _STRINGS):
                start, end = self._places.offsets(node)
                if self._line_end(start) < end:
                    yield start, end
            else:
                pending.extend(node.children)

    def _offsets(self, handle: Any) -> tuple[int, int]:
        if not self._places.exact:
            raise CannotRewrite("the tree does not account for every character of the file")
        try:
            return self._places.offsets(handle)
        except KeyError:
            raise CannotRewrite("the node is of another file") from None

    def _edit(self, start: int, end: int, content: str) -> Edit:
        return Edit(self._source.span(start, end), content)

    def _line_start(self, offset: int) -> int:
        return offset - self._source.position(offset).column + 1

    def _line_end(self, offset: int) -> int:
        """Return the start of the next line, or the end of the text."""
        line = self._source.position(offset).line
        return self._source.offset(Position(line + 1, 1))

    def _ends_line(self, offset: int) -> bool:
        return offset > 0 and self._text[offset - 1] in "\r\n"

    def _margin(self, start: int) -> int:
        """Return where new lines go above the statement at `start`: its line's start, past form feeds."""
        line = self._line_start(start)
        return max(line, self._text.rfind("\f", line, start) + 1)

    def _indentation(self, start: int) -> str:
        text = self._text[self._margin(start) : start]
        if text.strip():
            raise CannotRewrite("the statement does not begin its line")
        if self._continues(self._line_start(start)):
            raise CannotRewrite("the statement begins on a continued line")
        return text

    def _continues(self, line: int) -> bool:
        return bool(re.search(r"\\(?:\r\n|\n|\r)\Z", self._text[max(0, line - 3) : line]))

    def _block_end(self, start: int, end: int) -> int:
        """Return the end of the statement's last line, or of comments below that its indentation claims."""
        rest = _AFTER.match(self._text, end)
        if rest is None:
            raise CannotRewrite("the statement goes on")
        end = at = rest.end()
        width = len(self._text[self._margin(start) : start].expandtabs())
        while at < len(self._text):
            comment = _COMMENT.match(self._text, at)
            found = comment.group() if comment else ""
            following = self._line_end(at)
            if self._text[at + len(found) : following].strip():
                break
            at = following
            indentation = found[: len(found) - len(found.lstrip())]
            if found.strip():
                if len(indentation.expandtabs()) <= width:
                    break
                end = at
        return end

    def _unit(self, indentation: str) -> str:
        """Return one more level of the file's own indentation."""
        return "\t" if indentation.startswith("\t") else str(self._program.handle.default_indent)

    def _lines(self, code: str, indentation: str) -> str:
        """Return code as whole lines with the file's line ending and indentation; code indents by four spaces."""
        unit = self._unit(indentation)
        newline = self._source.newline
        lines = []
        for line in re.split(r"\r\n|\n|\r", code):
            bare = line.lstrip(" ")
            levels, odd = divmod(len(line) - len(bare), 4)
            lines.append(f"{indentation}{unit * levels}{' ' * odd}{bare}" if bare else "")
        return newline.join(lines) + newline


class Sealed(Rewriter):
    """Makes no edits, for findings that involve other files."""

    def text_of(self, node: ir.Node) -> str:
        raise CannotRewrite("the finding involves another file")

    def _offsets(self, handle: Any) -> tuple[int, int]:
        raise CannotRewrite("the finding involves another file")


def _suites(node: Any) -> Iterator[Any]:
    """Yield the blocks of a compound statement and of its `elif`s, `else`s, handlers and cases."""
    if isinstance(node, cst.Match):
        for case in node.cases:
            yield case.body
        return
    yield node.body
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    for part in (getattr(node, "orelse", None), getattr(node, "finalbody", None)):
        if part is not None:
            yield from _suites(part)


def _is_docstring(statement: ir.Statement) -> bool:
    value = statement.value if isinstance(statement, ir.Evaluate) else None
    return isinstance(value, ir.Constant) and isinstance(value.value, str)


def _one_line(code: str) -> str:
    """Return code that may follow a semicolon."""
    try:
        body = ast.parse(code).body
    except SyntaxError:
        body = []
    if "\n" in code or "#" in code or not body or any(hasattr(node, "body") or hasattr(node, "cases") for node in body):
        raise CannotRewrite("a compound statement cannot share a line")
    return code


def _stands_alone(text: str) -> bool:
    """Tell whether an expression keeps its meaning without the parentheses that it may have had around it."""
    if "\n" not in text and "\r" not in text:
        return True
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True
