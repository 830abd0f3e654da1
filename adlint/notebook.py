"""A Jupyter notebook as one Python program, and back: the code cells in order, each below a comment with its number.

    # cell 1
    pass                       what was `%matplotlib inline`: magics and shell lines keep their place and do nothing
    import torch
    # cell 3
    loss.backward()

Lines and columns of a cell stay what they are: form feeds, after which Python counts from the margin, stand for the
indent of a whole cell and for prompts. Writing back touches the JSON strings of changed lines only; lines that
stand for something else, and the borders of cells, cannot be changed. Reads no files, prints nothing.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_INDENT = re.compile(r"(?:[ \t]*\r?\n)*([ \t]+)(?=\S)")
_PROMPTS = (
    (re.compile(r"\s*>>>(?: |$)", re.MULTILINE), re.compile(r"^[ \t\f]*(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)),
    (re.compile(r"\s*In \[\d+\]: "), re.compile(r"^(?:\f*In \[\d+\]: |[ \t\f]*\.{3,}: ?)", re.MULTILINE)),
)
_CELL_MAGIC = re.compile(r"[ \t\f]*%%[ \t]*(\w*)")
_PYTHON_CELLS = frozenset({"capture", "debug", "ipytest", "prun", "pypy", "python", "python3", "time", "timeit"})
_MAGIC = re.compile(r"[ \t\f]*(?:[%!?]|[\w.*\[\]]+\?{1,2}[ \t]*$)", re.MULTILINE)
_TIMED = re.compile(r"[ \t\f]*(%(?:time|timeit|prun)[ \t]+)(?![-\s])([^\n]*)")
_ASSIGNED = re.compile(r"([ \t\f]*[A-Za-z_][\w \t,.\[\]*:'\"]*=[ \t]*)[%!][^\n]*")
_SHELL = re.compile(r"\f*(?:pip3?|conda|mamba|cd|ls|mkdir|rm|cp|mv|cat|wget|curl|git|unzip|tar)[ \t]+[-\w./~\"']")
_TOKEN = re.compile(
    r'''
      (?P<string>"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<skip>\#[^\n]*|\\\r?\n) | (?P<open>[(\[{]) | (?P<close>[)\]}]) | (?P<end>\n)
    ''',
    re.DOTALL | re.VERBOSE,
)
_SPACE = re.compile(r"[ \t\r\n]*")
_ATOM = re.compile(r"[^\s,\]}]+")
_BRACKET = re.compile(r'"(?:[^"\\]+|\\.)*"|[\[{\]}]')
_WRITTEN = re.compile(r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u.{4}|\\?.")


class NotANotebook(Exception):
    """A text that cannot be taken for a notebook, and the index at which that shows."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(frozen=True)
class Cell:
    """A code cell: its number among all cells, its lines as they are in the notebook and as Python.

    `error` says why the cell is left out, with the line and column in it. `whole` means that the notebook keeps each
    line as a string of its own, or all of them as one, and the cell has no margin of blanks or prompts.
    """

    number: int
    lines: tuple[str, ...]
    python: tuple[str, ...]
    error: tuple[str, int, int] | None = None
    whole: bool = True


@dataclass(frozen=True)
class Notebook:
    """The JSON text of a notebook and its code cells."""

    json: str
    cells: tuple[Cell, ...]
    marker: str

    @classmethod
    def read(cls, text: str) -> Notebook:
        """Take a notebook apart; raises `NotANotebook`. One in another language has no cells."""
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise NotANotebook(f"the notebook is not valid JSON: {_small(error.msg)}", error.pos) from None
        except RecursionError:
            raise NotANotebook("the notebook is not valid JSON: it is nested too deeply") from None
        if not isinstance(data, dict) or not isinstance(data.get("nbformat"), int):
            raise NotANotebook("the file is JSON, but no notebook: it has no `nbformat`")
        if data["nbformat"] != 4:
            raise NotANotebook(f"the notebook has format {data['nbformat']}; formats other than 4 are not read")
        listed = data.get("cells")
        if not isinstance(listed, list):
            raise NotANotebook("the notebook has no list of cells")
        cells: list[Cell] = []
        if _language(data) == "python":
            for number, cell in enumerate(listed, 1):
                if isinstance(cell, dict) and cell.get("cell_type") == "code":
                    cells.append(_cell(number, cell))
        return cls(text, tuple(cells), _marker(cells))

    @classmethod
    def of(cls, cells: Iterable[tuple[int, str]]) -> Notebook:
        """Return the notebook of some code cells, each with its number among all cells; it has no JSON text."""
        made = tuple(_cell(number, {"source": source}) for number, source in cells)
        return cls("", made, _marker(made))

    @cached_property
    def text(self) -> str:
        """The program that the cells are, in their order."""
        return "".join(f"{self.marker}{cell.number}\n{_closed(cell.python)}" for cell in self.cells)

    def place(self, text: str, line: int) -> tuple[int, int]:
        """Return the number of the cell that a line of `text` is in, and its number there; 0 above the first cell."""
        borders = self._borders(text)
        number, first = next(((n, at) for n, at in reversed(borders) if at < line), (0, 0))
        return number, line - first

    def line(self, number: int, line: int) -> int:
        """Return the line of the program that is that line of that cell."""
        return next((at for n, at in self._borders(self.text) if n == number), 0) + line

    def index(self, number: int, line: int, column: int) -> int:
        """Return the index in the JSON text of that column of that line of that cell; 0 where there is no such cell.

        A column past the end of a line is at its end, as is a line past the last one.
        """
        cell = next((cell for cell in self.cells if cell.number == number), None)
        if cell is None or not self.json:
            return 0
        source = self._sources[number - 1]
        if not cell.lines:
            return source.start
        text = cell.lines[line - 1] if 0 < line <= len(cell.lines) else ""
        before = sum(map(len, cell.lines[: max(line - 1, 0)])) + min(column - 1, len(text.rstrip("\r\n")))
        at = source.start
        for start, end in source.items if source.listed else ((source.start, source.end),):
            at = start + 1
            for count, character in enumerate(_WRITTEN.finditer(self.json, at, end - 1)):
                if count == before:
                    return character.start()
                at = character.end()
            before -= len(json.loads(self.json[start:end]))
        return at

    def admits(self, edits: list[tuple[int, int, int, int, str]]) -> bool:
        """Tell whether edits of the program (line and column from, line and column to, content) can be written back.

        All of them have to lie in one cell and to leave alone what is no Python.
        """
        borders = [*(at for _, at in self._borders(self.text)), self.text.count("\n") + 1]
        touched = set()
        for first, column, last, end, content in edits:
            number = sum(border < first for border in borders[:-1]) - 1
            if number < 0 or last > borders[number + 1] or (last == borders[number + 1] and end > 1):
                return False
            cell, border = self.cells[number], borders[number]
            if (first, column) == (last, end) and column == 1 and content.endswith("\n"):
                changed = range(0)
            elif first == borders[number + 1]:
                return False
            else:
                changed = range(first - border - 1, last - border - (end == 1 < last - first + 1))
            if not cell.whole or any(cell.lines[n] != cell.python[n] for n in changed if n < len(cell.lines)):
                return False
            touched.add(number)
        return len(touched) <= 1

    def written(self, text: str) -> str:
        """Return the JSON text of the notebook whose program is `text`; raises ValueError where that cannot be."""
        if text == self.text:
            return self.json
        result = self.json
        for cell, lines in reversed(list(self.changed(text))):
            if not cell.whole:
                raise ValueError(f"the lines of cell {cell.number} are not strings of their own")
            result = _replaced(result, self._sources[cell.number - 1], lines)
        return result

    def changed(self, text: str) -> Iterator[tuple[Cell, list[str]]]:
        """Yield the cells that differ where the program is `text`, with their new lines as a notebook has them.

        Raises ValueError where the program cannot be taken apart into cells.
        """
        borders = self._borders(text)
        if [number for number, _ in borders] != [cell.number for cell in self.cells]:
            raise ValueError("the borders of cells have changed")
        lines = _LINE.findall(text)
        ends = [*(at - 1 for _, at in borders[1:]), len(lines)]
        for cell, (_, at), end in zip(self.cells, borders, ends, strict=True):
            if "".join(lines[at:end]) != _closed(cell.python):
                yield cell, _restored(cell, lines[at:end])

    @cached_property
    def _sources(self) -> list[_Strings]:
        return _sources(self.json)

    def _borders(self, text: str) -> list[tuple[int, int]]:
        """Return the number of each cell and the line of the comment above it."""
        found = []
        for at, line in enumerate(_LINE.findall(text), 1):
            if line.startswith(self.marker):
                number = line[len(self.marker) :].strip()
                if number.isdecimal():
                    found.append((int(number), at))
        return found


def _marker(cells: Iterable[Cell]) -> str:
    """Return what the comment above a cell begins with: nothing that a line of a cell begins with."""
    marker = "# cell "
    while any(line.startswith(marker) for cell in cells for line in cell.python):
        marker = "#" + marker
    return marker


def _language(data: dict[str, Any]) -> str:
    metadata = data.get("metadata")
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        held = metadata.get(key) if isinstance(metadata, dict) else None
        if isinstance(held, dict) and isinstance(held.get(name), str):
            return "python" if held[name].lower().startswith(("python", "ipython")) else "other"
    return "python"


def _cell(number: int, cell: dict[str, Any]) -> Cell:
    source = cell.get("source", "")
    parts = [source] if isinstance(source, str) else source if isinstance(source, list) else []
    if not all(isinstance(part, str) for part in parts):
        return Cell(number, (), (), ("the source is no text", 1, 1), False)
    whole = "".join(parts)
    lines = tuple(_LINE.findall(whole))
    each = isinstance(source, str) or tuple(parts) == lines
    metadata = cell.get("metadata")
    editor = metadata.get("vscode") if isinstance(metadata, dict) else None
    other = isinstance(editor, dict) and editor.get("languageId", "python") != "python"
    plain = _unmargined(whole)
    each = each and plain == whole
    python = None if other else _python(plain)
    if python is None:
        return Cell(number, lines, _blank(lines), whole=each)
    error = _error(python)
    if "\r" in python.replace("\r\n", ""):
        error = "a carriage return stands alone", 1, 1
    return Cell(number, lines, _blank(lines) if error else tuple(_LINE.findall(python)), error, each)


def _blank(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("\n" for _ in lines)


def _closed(lines: tuple[str, ...]) -> str:
    text = "".join(lines)
    return text if text.endswith("\n") or not text else text + "\n"


def _unmargined(source: str) -> str:
    """Put form feeds in the place of what IPython takes off every line: the indent of the first, and prompts."""
    if indent := _INDENT.match(source):
        source = re.sub(f"^{indent[1]}", "\f" * len(indent[1]), source, flags=re.MULTILINE)
    for first, every in _PROMPTS:
        if first.match(source):
            source = every.sub(lambda found: "\f" * len(found[0]), source)
    return source


def _python(source: str) -> str | None:
    """Return the cell with what is no Python taken out, every other character at its place; None if none of it is."""
    result: list[str] = []
    start = len(source) - len(source.lstrip())
    if found := _CELL_MAGIC.match(source, start):
        if found[1] not in _PYTHON_CELLS:
            return None
        end = _end(source, start)
        result.append(source[:start] + "#" + source[start + 1 : end])
        start = end
    else:
        start = 0
    while start < len(source):
        end = _end(source, start)
        line = source[start:end]
        if plain := _neutral(line):
            result.append(plain)
            while line.rstrip("\r\n").endswith("\\") and end < len(source):
                start, end = end, _end(source, end)
                line = source[start:end]
                result.append("\n")
        else:
            end = _logical_end(source, start)
            result.append(source[start:end])
        start = end
    return "".join(result)


def _end(text: str, start: int) -> int:
    found = text.find("\n", start)
    return len(text) if found < 0 else found + 1


def _logical_end(text: str, start: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token.lastgroup == "open":
            depth += 1
        elif token.lastgroup == "close":
            depth = max(depth - 1, 0)
        elif token.lastgroup == "end" and not depth:
            return token.end()
    return len(text)


def _neutral(line: str) -> str | None:
    """Return what stands for a magic or shell line; None if the line is none."""
    ending = "\n" if line.endswith("\n") else ""
    indent = line[: len(line) - len(line.lstrip(" \t\f"))]
    if found := _TIMED.match(line):
        simple = f"{indent}{'pass;':{len(found[1])}}{found[2].rstrip()}"
        if _error(simple.strip()) is None:
            return simple + ending
    if _MAGIC.match(line) or _SHELL.match(line):
        return f"{indent}pass{ending}"
    if found := _ASSIGNED.match(line):
        return f"{found[1]}get_ipython(){ending}"
    return None


def _error(python: str) -> tuple[str, int, int] | None:
    """Return why a cell is no Python, with its line and column."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(python)
    except SyntaxError as error:
        return (
            f"syntax error: {_small(error.msg or 'invalid syntax')}",
            max(error.lineno or 1, 1),
            max(error.offset or 1, 1),
        )
    except (ValueError, RecursionError, MemoryError) as error:
        return f"cannot be parsed: {error}", 1, 1
    return None


def _small(message: str) -> str:
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


def _restored(cell: Cell, new: list[str]) -> list[str]:
    """Return the lines of a cell that was changed as Python: unchanged ones as the notebook has them."""
    old = list(_LINE.findall(_closed(cell.python)))
    result: list[str] = []
    for tag, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            result += cell.lines[first:last]
            continue
        if any(cell.lines[number] != cell.python[number] for number in range(first, last)):
            raise ValueError(f"a line of cell {cell.number} that is no Python has changed")
        result += new[start:end]
    if result and cell.lines and not cell.lines[-1].endswith("\n"):
        result = [line if line.endswith("\n") else line + "\n" for line in result]
        result[-1] = result[-1].rstrip("\n")
    return result


@dataclass(frozen=True)
class _Strings:
    """Where the source of a cell is in the JSON text: its strings, and whether they stand in a list."""

    start: int
    end: int
    items: tuple[tuple[int, int], ...]
    listed: bool


def _replaced(text: str, source: _Strings, lines: list[str]) -> str:
    """Put lines in the place of a cell's source; strings that stay what they are are not written anew."""
    plain = text.isascii()

    def written(value: str) -> str:
        return json.dumps(value, ensure_ascii=plain)

    if not source.listed:
        return text[: source.start] + written("".join(lines)) + text[source.end :]
    old = [json.loads(text[start:end], strict=False) for start, end in source.items]
    if not old:
        return text[: source.start] + json.dumps(lines, ensure_ascii=plain) + text[source.end :]
    between = text[source.items[0][1] : source.items[1][0]] if len(old) > 1 else _joint(text, source)
    tokens: list[str] = []
    for tag, first, last, start, end in SequenceMatcher(None, old, lines, autojunk=False).get_opcodes():
        if tag == "equal":
            tokens += [text[slice(*source.items[number])] for number in range(first, last)]
        else:
            tokens += [written(line) for line in lines[start:end]]
    return text[: source.items[0][0]] + between.join(tokens) + text[source.items[-1][1] :]


def _joint(text: str, source: _Strings) -> str:
    """Return what goes between two lines of a cell that has only one: a comma, and what is in front of that one."""
    return "," + text[source.start + 1 : source.items[0][0]]


def _sources(text: str) -> list[_Strings]:
    """Find the sources of all cells in the JSON text of a notebook."""
    found: dict[tuple[Any, ...], Any] = {}
    _walk(text, _SPACE.match(text, 0).end(), (), found)  # type: ignore[union-attr]
    result = []
    for number in range(found[("cells",)][2]):
        start, end, count = found.get(("cells", number, "source"), (0, 0, None))
        items = [found[("cells", number, "source", n)][:2] for n in range(count)] if isinstance(count, int) else []
        result.append(_Strings(start, end, tuple(items), isinstance(count, int)))
    return result


def _walk(text: str, at: int, path: tuple[Any, ...], found: dict[tuple[Any, ...], Any]) -> int:
    """Note where the values that lead to the sources of cells are, the length of lists with them.

    Returns the end of the value at `at`.
    """
    opening = text[at]
    end: int
    count: int | None = None
    if opening == '"':
        _, end = scanstring(text, at + 1, False)
    elif opening in "[{" and path and not (path[0] == "cells" and path[2:] in ((), ("source",))):
        end = _closing(text, at)
    elif opening in "[{":
        count, end = 0, _skip(text, at + 1)
        while text[end] not in "]}":
            key: Any = count
            if opening == "{":
                key, end = scanstring(text, end + 1, False)
                end = _skip(text, _skip(text, end) + 1)
            end = _skip(text, _walk(text, end, (*path, key), found))
            end = _skip(text, end + 1) if text[end] == "," else end
            count += 1
        end += 1
    else:
        atom = _ATOM.match(text, at)
        end = atom.end() if atom else at + 1
    if not path or path[0] == "cells":
        found[path] = (at, end, count if opening == "[" else None)
    return end


def _closing(text: str, at: int) -> int:
    """Return the end of the list or object that begins at `at`, however deep it is."""
    depth = 0
    for found in _BRACKET.finditer(text, at):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if not depth:
            return found.end()
    return len(text)


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
