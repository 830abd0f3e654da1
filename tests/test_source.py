"""Decoding, encoding and position arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adlint.diagnostics import Position, Span
from adlint.source import Source, Unreadable

WHOLE = [
    pytest.param(b"", id="empty"),
    pytest.param(b"x = 1\n", id="plain"),
    pytest.param(b"x = 1", id="no final newline"),
    pytest.param(b"\xef\xbb\xbfx = 1\n", id="byte order mark"),
    pytest.param(b"a = 1\r\nb = 2\r\n", id="crlf"),
    pytest.param(b"a = 1\rb = 2\r", id="lone carriage returns"),
    pytest.param(b"a = 1\r\nb = 2\nc = 3\r", id="mixed line ends"),
    pytest.param(b"\x0cdef f(): pass\n", id="form feed"),
    pytest.param("s = '\u2028\x85\x1c'\n".encode(), id="unicode separators"),
    pytest.param(b"# -*- coding: latin-1 -*-\ns = '\xe9'\n", id="latin-1"),
    pytest.param("#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\ns = '€'\n".encode("cp1252"), id="cp1252"),
    pytest.param("# coding: shift_jis\ns = '日本'\n".encode("shift_jis"), id="shift_jis"),
]


@pytest.mark.parametrize("data", WHOLE)
def test_unchanged_text_is_written_back_byte_by_byte(data: bytes) -> None:
    """Encodes exactly what was decoded."""
    assert data == Source.from_bytes(data).encode()


@pytest.mark.parametrize(
    ("data", "position", "words"),
    [
        (b"a = 1\nb = '\xff'\n", Position(2, 6), "0xff is not utf-8"),
        ("# é\r\nb = '".encode() + b"\xe9'\n", Position(2, 6), "0xe9 is not utf-8"),
        (b"a = 1\nb = \0\n", Position(2, 5), "NUL"),
        (b"# coding: klingon\n", Position(1, 11), "unknown encoding `klingon`"),
        (b"\n# coding: rot13\n", Position(2, 11), "unknown encoding `rot13`"),
        (b"\xef\xbb\xbf# coding: latin-1\n", Position(1, 1), "byte order mark"),
        ("a = 1\n".encode("utf-16"), Position(1, 1), "UTF-16"),
    ],
)
def test_what_cannot_be_decoded_has_a_position(data: bytes, position: Position, words: str) -> None:
    """Names the first offending character."""
    with pytest.raises(Unreadable) as caught:
        Source.from_bytes(data)
    assert (position, True) == (caught.value.position, words in caught.value.message)


def test_a_cookie_below_code_is_none() -> None:
    """Looks for a coding cookie in the first two lines only, and not below code."""
    assert "utf-8" == Source.from_bytes(b"x = 1\n# coding: latin-1\n").encoding
    assert "utf-8" == Source.from_bytes(b"\n\n# coding: latin-1\n").encoding
    assert "utf-8" == Source.from_bytes(b"# coding: UTF-8\n").encoding


def test_lines_end_where_python_ends_them() -> None:
    """Splits at newline, carriage return and both, and nowhere else."""
    source = Source("x.py", "a\x0c\u2028b\r\nc\rd\n")
    assert ["a\x0c\u2028b", "c", "d", ""] == [source.line(n + 1) for n in range(source.line_count)]


@pytest.mark.parametrize(
    ("text", "newline"), [("a\r\nb\r\nc\n", "\r\n"), ("a", "\n"), ("a\rb", "\r"), ("a\n\r\n", "\n")]
)
def test_newline_is_that_of_most_lines(text: str, newline: str) -> None:
    """Counts line endings; none at all means a newline."""
    assert newline == Source("x.py", text).newline


@given(st.text(alphabet="ab\n\r\t\x0c\u2028é😋"), st.data())
def test_positions_and_offsets_are_inverse(text: str, data: st.DataObject) -> None:
    """Comes back to the same place."""
    source = Source("x.py", text)
    offset = data.draw(st.integers(0, len(text)))
    assert offset == source.offset(source.position(offset))


def test_places_outside_are_moved_inside() -> None:
    """Does not run past the end of a line or of the text."""
    source = Source("x.py", "ab\ncd")
    assert (3, 5) == (source.offset(Position(1, 99)), source.offset(Position(9, 1)))
    assert "b\nc" == source.slice(Span(Position(1, 2), Position(2, 2)))
