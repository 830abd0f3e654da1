"""Text → may it be parsed? One pass over the tokens, before any parser sees the text.

    f((((...))))     more than 100 open brackets            CannotRead
    a + b + ... + z  more than 800 links in one expression  CannotRead

The parser takes quadratic time in nesting and ends the process when its stack is used up, so that what is too deep has
to be refused here; what is merely deep is run in a thread with a large stack. Imports no parser, reads no files.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from typing import NoReturn, TypeVar

from adlint.source import Source

MAX_CHARACTERS = 1_000_000
MAX_BRACKETS = 100
MAX_BLOCKS = 100
MAX_LINKS = 800
MAX_ELIFS = 500

# Above these the interpreter's usual limit of 1,000 frames may not do for a recursive walk.
_DEEP_BRACKETS = 15
_DEEP_BLOCKS = 20
_DEEP_LINKS = 60
_DEEP_ELIFS = 40

_STACK_BYTES = 256 * 1024 * 1024
_RECURSION_LIMIT = 20_000

_TOKEN = re.compile(
    r"""
      (?P<string>[rbfutRBFUT]{0,2}(?:
          '{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3}
        | "{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"{3}
        | '[^'\\\r\n]*(?:\\(?:\r\n|.)[^'\\\r\n]*)*'
        | "[^"\\\r\n]*(?:\\(?:\r\n|.)[^"\\\r\n]*)*"))
    | (?P<skip>\#[^\r\n]*|\\(?:\r\n|\n|\r)|\b\d[\d_.]*)
    | (?P<line>(?:\r\n|\n|\r)[ \t\f]*)
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<end>[,;])
    | (?P<link>\*\*|//|<<|>>|->|[-+*/%@&|^~<>]|\.\s*(?=[^\W\d])
        |\b(?:and|or|not|is|in|if|for|lambda|await|yield)\b)
    """,
    re.DOTALL | re.VERBOSE,
)

_T = TypeVar("_T")


class CannotRead(Exception):
    """A text that cannot be analysed: what is wrong with it, and where (1-based line and column)."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def is_deep(text: str) -> bool:
    """Tell whether walks over the text's tree need `in_deep_stack`; raise `CannotRead` if they would need more."""
    if len(text) > MAX_CHARACTERS:
        raise CannotRead(f"the file has more than {MAX_CHARACTERS:,} characters", 1, 1)
    nul = text.find("\0")
    if nul >= 0:
        _refuse("the file contains a NUL character", text, nul)
    return _scan(text, text, 0)


def _scan(text: str, whole: str, offset: int) -> bool:
    """Scan `text`, which begins at `offset` of `whole`; tell whether it is deep."""
    deep = False
    links = [0]
    blocks = [[-1, 0]]
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "link":
            links[-1] += 1
        elif kind == "open":
            links[-1] += 1
            _count(links[-1], whole, offset + token.start())
            deep = deep or links[-1] > _DEEP_LINKS
            links.append(0)
            if len(links) > MAX_BRACKETS + 1:
                _refuse(f"more than {MAX_BRACKETS} nested brackets", whole, offset + token.start())
            deep = deep or len(links) > _DEEP_BRACKETS
        elif kind == "close":
            if len(links) > 1:
                links.pop()
            continue
        elif kind == "end":
            links[-1] = 0
        elif kind == "line":
            if len(links) == 1 and not text.startswith(("#", "\r", "\n"), token.end()):
                links[0] = 0
                deep = _block(blocks, token, text, whole, offset) or deep
            continue
        elif kind == "string":
            links[-1] += 1
            body = token.group()
            if len(body) > MAX_BRACKETS and {*body[:2].lower()} & {"f", "t"} and "{" in body:
                quote = body.index("'") if "'" in body[:3] else body.index('"')
                deep = _scan(body[quote + 1 : -1], whole, offset + token.start() + quote + 1) or deep
        deep = deep or links[-1] > _DEEP_LINKS
        _count(links[-1], whole, offset + token.start())
    return deep


def _count(links: int, whole: str, offset: int) -> None:
    if links > MAX_LINKS:
        _refuse(f"an expression of more than {MAX_LINKS} operations", whole, offset)


def _block(blocks: list[list[int]], token: re.Match[str], text: str, whole: str, offset: int) -> bool:
    """Note a logical line in the open blocks (their widths and how many `elif` follow one another)."""
    width = token.end() - token.start()
    while blocks[-1][0] > width:
        blocks.pop()
    if blocks[-1][0] < width:
        blocks.append([width, 0])
    if text.startswith("elif", token.end()):
        blocks[-1][1] += 1
    else:
        blocks[-1][1] = 0
    if len(blocks) > MAX_BLOCKS + 2:
        _refuse(f"more than {MAX_BLOCKS} nested blocks", whole, offset + token.end())
    if blocks[-1][1] > MAX_ELIFS:
        _refuse(f"more than {MAX_ELIFS} `elif` in a row", whole, offset + token.end())
    return len(blocks) > _DEEP_BLOCKS or blocks[-1][1] > _DEEP_ELIFS


def _refuse(what: str, text: str, offset: int) -> NoReturn:
    place = Source("", text).position(offset)
    message = what if what.startswith("the file") else f"the file is too deeply nested to be analysed: {what}"
    raise CannotRead(message, place.line, place.column)


_lock = threading.Lock()
_deep_threads = 0
_usual_limit = 0
_here = threading.local()


def in_deep_stack(function: Callable[..., _T], *args: object) -> _T:
    """Return `function(*args)`, run where deep recursion is safe; exceptions pass through."""
    if getattr(_here, "deep", False):
        return function(*args)
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        _here.deep = True
        try:
            results.append(function(*args))
        except BaseException as error:
            errors.append(error)

    _enter_deep()
    try:
        thread = _start(run)
        thread.join()
    finally:
        _leave_deep()
    if errors:
        raise errors[0]
    return results[0]


def _start(run: Callable[[], None]) -> threading.Thread:
    """Start a thread with a large stack, or with a smaller one where memory is limited."""
    size = _STACK_BYTES
    while True:
        thread = threading.Thread(target=run, daemon=True)
        with _lock:
            usual = threading.stack_size(size)
            try:
                thread.start()
            except RuntimeError:
                if size < 2**24:
                    raise
                size //= 2
                continue
            finally:
                threading.stack_size(usual)
        return thread


# The recursion limit belongs to the interpreter, not to a thread: the first deep thread raises it, the last resets it.
def _enter_deep() -> None:
    global _deep_threads, _usual_limit
    with _lock:
        if _deep_threads == 0:
            _usual_limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_usual_limit, _RECURSION_LIMIT))
        _deep_threads += 1


def _leave_deep() -> None:
    global _deep_threads
    with _lock:
        _deep_threads -= 1
        if _deep_threads == 0:
            sys.setrecursionlimit(_usual_limit)
