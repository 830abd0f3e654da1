"""The quick front end gives the same program as the one that can mend."""

from __future__ import annotations

import ast
import dataclasses
import sysconfig
from pathlib import Path

import libcst as cst
import pytest

from adlint import lower as lower_module
from adlint import outline as outline_module
from adlint import program as ir
from adlint.guard import CannotRead
from adlint.lower import in_deep_stack, lower
from adlint.outline import outline

ROOT = Path(__file__).resolve().parent.parent
OWN = sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "adlint").rglob("*.py"), *(ROOT / "examples").rglob("*.py")])
LIBRARY = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[::4]

SYNTAX = """
@a.b
@c(1, k=2, *d, **e)
class A(B, *C, metaclass=M, **k):
    "text"
    x: int
    y: "int" = 3

    async def f(self, /, a, b=1, *c: int, d, e=2, **g) -> int:
        async with open(a) as f, b: yield
        async for x in y: await z
        return [i async for i in x if i if not i]

def g(*, a=(yield), b=lambda x, *y: (yield x)):
    nonlocal_ = lambda: 0
    def h():
        nonlocal nonlocal_
        global u, v
    try:
        raise E("x") from None
    except (A, B) as e:
        pass
    except C: ...
    else:
        del a, b[0]
        del (c, d)
        del e
    finally:
        return
match x:
    case [1, *rest] | {"k": v, **more} | A(b, c=d) if g: pass
    case (a | _): pass
    case _: pass
if a: pass
elif b: pass
else:
    if c: pass
    else: pass
while a < b <= c != d: continue
else: break
for i, (j, *k) in l: a[1:2, ..., ::3], b[i,], c[()], d[*a], e[1], f[a:b]
a = b = -1 + +2 - ~3 ** 4 // 5 % 6 @ 7 << 8 >> 9 & 10 | 11 ^ 12
(a and b) and c or (d or not e) and (f and (g and h))
x @= y; x //= y; x **= 1
"a" 'b' "\\n" r"\\n"; b"a" b"b"; "a" f"{x!r:>{w}}" "b" f"{y}"; 1_000; 0x1F; 1e3; 2j; True; None; 10**20
{1, *a}; {**a, "b": c}; {k: v for k, v in x}; {i for i in j}; (i for i in j for k in l if m); f(i for i in j)
(y := f(x)); a if b else c; x.y.z[0](1)(*a, k=1, *b)
import a.b, c.d as e, f
from . import a
from .. import b as c
from .m import *
from ..p.q import r, s as t
from m import n
assert a, b
with (a as b, c): pass
def gen():
    yield from x
    class K:
        def m(self): return [(yield)]
"""


def shape(value: object) -> object:
    """Return a tree without its handles."""
    if isinstance(value, ir.Node):
        names = [field.name for field in dataclasses.fields(value) if field.name != "handle"]
        return (type(value).__name__, *(shape(getattr(value, name)) for name in names))
    return [shape(item) for item in value] if isinstance(value, tuple) else repr(value)


def same(text: str) -> None:
    def compare() -> None:
        one, other = lower(text, "a.py"), outline(text, "a.py")
        assert len(one.body) == len(other.body)
        for a, b in zip(one.body, other.body, strict=True):
            assert shape(a) == shape(b)
            assert one.span(a) == other.span(b)

    in_deep_stack(compare)


def test_every_syntax() -> None:
    """Gives the same tree and the same places of statements for all of Python."""
    text = SYNTAX.replace("d[*a]", "d[a]").replace("        return [(yield)]", "        return (yield)")
    same(text)


@pytest.mark.parametrize("file", [*OWN, *LIBRARY], ids=lambda file: file.name)
def test_real_files(file: Path) -> None:
    """Gives the same tree for real files."""
    text = file.read_text(encoding="utf-8", errors="replace").removeprefix("\ufeff")
    try:
        outline(text, "a.py")
    except CannotRead:
        return
    same(text)


def test_places_are_columns_of_characters() -> None:
    """Counts characters, not bytes, and the lines of any line ending."""
    program = outline("é = 'ü'; b = 1\r\n@d\r\ndef f(): pass\r\n", "a.py")
    assert [(s.start.line, s.start.column) for s in map(program.span, program.body)] == [(1, 1), (1, 10), (2, 1)]


def test_what_cannot_be_parsed() -> None:
    """Says so, whatever is wrong."""
    for text, message, line, column in (
        ("x = 1\ndef f(:", "syntax error: invalid syntax", 2, 7),
        ("x = 1\0", "", 1, None),
        ("(" * 5000, "the file ", 1, None),
        ("x = " + "[" * 99 + "]" * 99, "the file is too deeply nested to be looked into", 1, 1),
        ("x = '\ud800'", "cannot be parsed: 'utf-8' codec can't encode character", 1, 1),
    ):
        with pytest.raises(CannotRead) as caught:
            outline(text, "a.py")
        assert caught.value.message.startswith(message)
        assert (caught.value.line, column or caught.value.column) == (line, caught.value.column)


def test_syntax_of_a_later_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes a statement or an expression that it does not know for one that nobody can see into."""
    text = "match a:\n    case b: pass\nx = lambda: a\ny\n"
    for module, read, kinds in (
        (outline_module, outline, (ast.Match, ast.Lambda)),
        (lower_module, lower, (cst.Match, cst.Lambda)),
    ):
        monkeypatch.delitem(module._STATEMENTS, kinds[0])
        monkeypatch.delitem(module._EXPRESSIONS, kinds[1])
        program = read(text, "a.py")
        assert [shape(statement) for statement in program.body] == [
            ("Evaluate", ("Opaque", [])),
            ("Assign", [("Name", "'x'")], ("Opaque", []), "None"),
            ("Evaluate", ("Name", "'y'")),
        ]
        assert [program.span(statement).start.line for statement in program.body] == [1, 3, 4]
