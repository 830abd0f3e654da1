"""Text → Program: what each piece of syntax becomes, where it stands, and what is refused."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from adlint import guard, linter
from adlint import lower as lower_module
from adlint import program as ir
from adlint.lower import CannotRead, in_deep_stack, is_deep, lower
from adlint.positions import Positions
from adlint.source import Source


def show(value: object) -> str:
    """Write a program tree in one line."""
    if isinstance(value, ir.Node):
        parts = [show(getattr(value, field.name)) for field in dataclasses.fields(value) if field.name != "handle"]
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(show, value))}]"
    return repr(value)


def nodes(program: ir.Program) -> Iterator[ir.Node]:
    for statement in program.body:
        yield from ir.walk(statement)


def texts(text: str, kind: type[ir.Node] | tuple[type[ir.Node], ...]) -> list[str]:
    """Return the source of all nodes of a kind, in source order."""
    program = lower(text, "a.py")
    source = Source("a.py", text)
    spans = sorted({program.span(node) for node in nodes(program) if isinstance(node, kind)})
    return [source.slice(span) for span in spans]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x: int", "Declare(Name('x'), Name('int'))"),
        ("x: int = 3", "Assign([Name('x')], Constant(3), Name('int'))"),
        ("a = b = None", "Assign([Name('a'), Name('b')], Constant(None), None)"),
        ("a @= b", "Augment(Name('a'), '@', Name('b'))"),
        ("a; b", "Evaluate(Name('a')), Evaluate(Name('b'))"),
        (
            "a < b is not c",
            "Evaluate(Boolean('and', [Compare(Name('a'), '<', Name('b')), Compare(Name('b'), 'is not', Name('c'))]))",
        ),
        ("a not in b", "Evaluate(Compare(Name('a'), 'not in', Name('b')))"),
        (
            "a and b and c or not d",
            "Evaluate(Boolean('or', [Boolean('and', [Name('a'), Name('b'), Name('c')]), Boolean('not', [Name('d')])]))",
        ),
        ("-a ** ~b", "Evaluate(Operator('-', [Operator('**', [Name('a'), Operator('~', [Name('b')])])]))"),
        ("'a' \"b\" r'\\c'", "Evaluate(Constant('ab\\\\c'))"),
        ("b'a' b'\\xff'", "Evaluate(Constant(b'a\\xff'))"),
        ("'''it's'''", 'Evaluate(Constant("it\'s"))'),
        ("''", "Evaluate(Constant(''))"),
        ("''''''", "Evaluate(Constant(''))"),
        ("1_0, 0x1F, 1e3, 2j, ..., True", "Evaluate(Collection('tuple', [Constant(10), Constant(31), Constant(1000.0), "
         "Constant(2j), Constant(Ellipsis), Constant(True)]))"),
        ("f'{a!r:{b}}' 'c' f'{d=}'", "Evaluate(Template([Name('a'), Name('b'), Name('d')]))"),
        ("t'{a}'", "Evaluate(Template([Name('a')]))"),
        ("{1: a, **b}", "Evaluate(Mapping([[Constant(1), Name('a')], [None, Name('b')]]))"),
        ("[*a, b]", "Evaluate(Collection('list', [Starred(Name('a')), Name('b')]))"),
        ("{a, b}", "Evaluate(Collection('set', [Name('a'), Name('b')]))"),
        ("()", "Evaluate(Collection('tuple', []))"),
        (
            "f(a, *b, k=c, **d)",
            "Evaluate(Call(Name('f'), [Argument(Name('a'), None, ''), Argument(Name('b'), None, '*'), "
            "Argument(Name('c'), 'k', ''), Argument(Name('d'), None, '**')]))",
        ),
        (
            "f(x for x in y if a if b)",
            "Evaluate(Call(Name('f'), [Argument(Comprehension('generator', Name('x'), None, "
            "[Clause(Name('x'), Name('y'), [Name('a'), Name('b')])]), None, '')]))",
        ),
        (
            "{k: v for k, v in a for b in v}",
            "Evaluate(Comprehension('dict', Name('v'), Name('k'), [Clause(Collection('tuple', [Name('k'), Name('v')]), "
            "Name('a'), []), Clause(Name('b'), Name('v'), [])]))",
        ),
        ("[*a for a in b]", "Evaluate(Comprehension('list', "
         "Starred(Name('a')), None, [Clause(Name('a'), Name('b'), [])]))"),
        ("{**a for a in b}", "Evaluate(Comprehension('dict', "
         "Starred(Name('a')), None, [Clause(Name('a'), Name('b'), [])]))"),
        ("a[0]", "Evaluate(Subscript(Name('a'), Constant(0)))"),
        ("a[0,]", "Evaluate(Subscript(Name('a'), Collection('tuple', [Constant(0)])))"),
        ("a[(0, 1)]", "Evaluate(Subscript(Name('a'), Collection('tuple', [Constant(0), Constant(1)])))"),
        ("a[*b]", "Evaluate(Subscript(Name('a'), Collection('tuple', [Starred(Name('b'))])))"),
        (
            "a[..., 1:, ::b]",
            "Evaluate(Subscript(Name('a'), Collection('tuple', [Constant(Ellipsis), Slice(Constant(1), None, None), "
            "Slice(None, None, Name('b'))])))",
        ),
        ("a if b else c", "Evaluate(Conditional(Name('b'), Name('a'), Name('c')))"),
        ("(a := b)", "Evaluate(Walrus(Name('a'), Name('b')))"),
        (
            "lambda a, *b, c=1: a",
            "Evaluate(Lambda([Parameter('a', 'positional', None, None), Parameter('b', '*', None, None), "
            "Parameter('c', 'keyword', Constant(1), None)], Name('a')))",
        ),
        ("del a, b[0]", "Delete([Name('a'), Subscript(Name('b'), Constant(0))])"),
        ("assert a, b", "Assert(Name('a'))"),
        ("raise a from b", "Raise(Name('a'))"),
        ("import a.b, c.d as e", "Import([['a', 'a'], ['e', 'c.d']])"),
        ("from a.b import c as d, e", "Import([['d', 'a.b.c'], ['e', 'a.b.e']])"),
        ("from . import a", "Import([['a', '.a']])"),
        ("from ..a import *", "Import([['*', '..a']])"),
        ("lazy import a", "Import([['a', 'a']])"),
        ("type A[T] = list[T]", "Assign([Name('A')], Opaque([]), None)"),
        ("if a: b\nelif c: d\nelse: e", "Branch(Name('a'), [Evaluate(Name('b'))], [Branch(Name('c'), "
         "[Evaluate(Name('d'))], [Evaluate(Name('e'))])])"),
        ("for a, in b: continue\nelse: pass", "Loop(Collection('tuple', [Name('a')]), "
         "Name('b'), None, [Continue()], [Pass()])"),
        ("while a: break", "Loop(None, None, Name('a'), [Break()], [])"),
        ("with (a as b, c): pass", "With([ContextItem(Name('a'), Name('b')), ContextItem(Name('c'), None)], [Pass()])"),
        (
            "try: a\nexcept b as c: d\nexcept: e\nelse: f\nfinally: g",
            "Try([Evaluate(Name('a'))], [Handler(Name('b'), 'c', [Evaluate(Name('d'))]), "
            "Handler(None, None, [Evaluate(Name('e'))])], [Evaluate(Name('f'))], [Evaluate(Name('g'))])",
        ),
        ("try: a\nexcept* b: c", "Try([Evaluate(Name('a'))], "
         "[Handler(Name('b'), None, [Evaluate(Name('c'))])], [], [])"),
        ("def f(): global a, b", "Function('f', [], [Scope('global', ['a', 'b'])], [], False, False)"),
        ("class A[T](B, k=C): x: int", "Class('A', [Argument(Name('B'), None, ''), Argument(Name('C'), 'k', '')], "
         "[Declare(Name('x'), Name('int'))], [])"),
        ("@a\n@b()\nclass C: pass", "Class('C', [], [Pass()], [Name('a'), Call(Name('b'), [])])"),
        (
            "async def f(a, /, b: int, *, c): await a",
            "Function('f', [Parameter('a', 'positional', None, None), Parameter('b', 'positional', None, Name('int')), "
            "Parameter('c', 'keyword', None, None)], [Evaluate(Await(Name('a')))], [], True, False)",
        ),
        (
            "match a:\n case [x, *y] if z: pass\n case {'k': v, **r} | A(p, q=q): pass\n case _: pass",
            "Match(Name('a'), [Case(['x', 'y'], False, Name('z'), [Pass()]), "
            "Case(['v', 'r', 'p', 'q'], False, None, [Pass()]), Case([], True, None, [Pass()])])",
        ),
        ("match a:\n case {'k': v}: pass", "Match(Name('a'), [Case(['v'], False, None, [Pass()])])"),
        (f"x = {'1' * 5_000}", "Assign([Name('x')], Opaque([]), None)"),
        ("'a' '\\N{nobody}'", "Evaluate(Opaque([]))"),
        ("match a:\n case x if b: pass\n case (1 | x) as y: pass", "Match(Name('a'), [Case(['x'], False, Name('b'), "
         "[Pass()]), Case(['x', 'y'], True, None, [Pass()])])"),
    ],
)  # fmt: skip
def test_tree(text: str, tree: str) -> None:
    """Lowers each piece of syntax to its documented node."""
    assert ", ".join(show(statement) for statement in lower(text, "a.py").body) == tree


@pytest.mark.parametrize(
    ("body", "generator"),
    [
        ("yield", True),
        ("x = yield from a", True),
        ("if a:\n        [(yield)]", True),
        ("lambda: (yield)", False),
        ("def g(): yield", False),
        ("class A:\n        def g(self): yield", False),
        ("def g(): yield\n    yield", True),
    ],
)
def test_generators(body: str, generator: bool) -> None:
    """Counts the yields of a function's own body only."""
    function = lower(f"def f():\n    {body}\n", "a.py").body[0]
    assert isinstance(function, ir.Function)
    assert function.is_generator is generator


TRICKY = '''\
"""Docstring
of two lines"""
import torch  # comment

@decorator
# between
@other(1)
async def f(a: int, *b, c=(1), **d) -> int:  # header

    """é\U0001f600"""; x = ("é", a)  ;  y = (x)  # trailing
    if (a
        ): return (yield)
    elif b: pass;
    else:
    \tz = a.b \\
\t    .c(1)[2:3, ...]
    # footer
    return (((a + b)) * c)  # end

for i, in a: i
else:
    s = """
  text""" "b" f"{x!r:>{w}}"
    (x for x in y)
    f(x for x in y)
'''


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_spans(newline: str) -> None:
    """Gives every node its own text, whatever stands around it."""
    text = TRICKY.replace("\n", newline)

    def lines(*found: str) -> list[str]:
        return [line.replace("\n", newline) for line in found]

    first = TRICKY.index("@decorator")
    function = TRICKY[first : TRICKY.index("  # end")]
    assert texts(text, ir.Function) == lines(function)
    assert texts(text, ir.Import) == ["import torch"]
    assert texts(text, ir.Assign) == lines(
        'x = ("é", a)', "y = (x)", "z = a.b \\\n\t    .c(1)[2:3, ...]", 's = """\n  text""" "b" f"{x!r:>{w}}"'
    )
    branch = TRICKY[TRICKY.index("if (a") : TRICKY.index("\n    # footer")]
    assert texts(text, ir.Branch) == lines(branch, branch[branch.index("elif") :])
    assert texts(text, ir.Loop) == lines(TRICKY[TRICKY.index("for i,") : -1])
    assert texts(text, ir.Return) == ["return (yield)", "return (((a + b)) * c)"]
    assert texts(text, ir.Yield) == ["yield"]
    assert texts(text, ir.Pass) == ["pass"]
    assert texts(text, ir.Call) == lines("other(1)", "a.b \\\n\t    .c(1)", "f(x for x in y)")
    assert texts(text, ir.Attribute) == lines("a.b", "a.b \\\n\t    .c")
    assert texts(text, ir.Subscript) == lines("a.b \\\n\t    .c(1)[2:3, ...]")
    assert texts(text, ir.Collection) == ['("é", a)', "2:3, ...", "i,"]
    assert texts(text, ir.Slice) == ["2:3"]
    assert texts(text, ir.Operator) == ["((a + b)) * c", "a + b"]
    assert texts(text, ir.Comprehension) == ["(x for x in y)", "x for x in y"]
    assert texts(text, ir.Clause) == ["for x in y", "for x in y"]
    assert texts(text, ir.Template) == lines('"""\n  text""" "b" f"{x!r:>{w}}"')
    assert texts(text, ir.Parameter) == ["a: int", "*b", "c=(1)", "**d"]
    assert texts(text, ir.Argument) == ["1", "1", "x for x in y"]


def test_spans_of_smaller_parts() -> None:
    """Places comparisons of a chain, handlers, cases, items and starred values."""
    assert texts("a <b<c\n", ir.Compare) == ["a <b", "b<c"]
    assert texts("try: a\nexcept b as c:\n  d\n", ir.Handler) == ["except b as c:\n  d"]
    assert texts("with a as b, c: d\n", ir.ContextItem) == ["a as b", "c"]
    assert texts("f(*a, k = (b), )\n", ir.Argument) == ["*a", "k = (b)"]
    assert texts("match a:\n  case 1: b\n  case _: c\n", ir.Case) == ["case 1: b", "case _: c"]
    assert texts("a = *b, c\n", ir.Starred) == ["*b"]
    assert texts("(a); (b.c)\n", (ir.Name, ir.Attribute)) == ["a", "b", "b.c"]


def test_positions_after_a_dropped_space() -> None:
    """Is right where the tree drops the space before a colon."""
    text = "try:\n    a\nexcept (A, B)  :\n    b\ntry:\n    c\nexcept* (A) \t:\n    d\nfor x in (y) :\n    pass\n"
    assert texts(text, ir.Loop) == ["for x in (y) :\n    pass"]
    assert texts(text, ir.Evaluate) == ["a", "b", "c", "d"]


def test_form_feeds() -> None:
    """Is right where the tree drops form feeds at the start of a line, and where it keeps them."""
    text = "import a\n\x0cdef f():\n    x\n\x0c    y = '''\n\x0c'''\n\x0c\x0c\nz\n"
    assert texts(text, ir.Function) == ["def f():\n    x\n\x0c    y = '''\n\x0c'''"]
    assert texts(text, ir.Name) == ["x", "y", "z"]
    assert texts(text, ir.Constant) == ["'''\n\x0c'''"]


@pytest.mark.parametrize(
    "text",
    [
        "\\\nx = a\ny\n",
        "if b:\n    b\n    \\\n    x = a\ny\n",
        "if b: b\n\\\nelse: x = a\ny",
        "@b\n\\\ndef b():\n    x = a\ny",
        "if b:\n\tb\n\t\\\n\\\n\tx = a\ny",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_positions_after_a_bare_backslash(text: str, newline: str) -> None:
    """Is right where the tree drops a line that is only continued, which is not to be edited around."""
    text = text.replace("\n", newline)
    assert texts(text, ir.Assign) == ["x = a"]
    assert [name for name in texts(text, ir.Name) if name != "b"] == ["x", "a", "y"]
    assert isinstance(places := lower(text, "a.py").span, Positions)
    assert not places.exact


@pytest.mark.parametrize("text", ["", "\n", "# comment", "\r\n\r\n", "a", "a\r"])
def test_small_texts(text: str) -> None:
    """Reads files with next to nothing in them."""
    assert texts(text, ir.Name) == ["a"] * ("a" in text and "#" not in text)
    assert isinstance(places := lower(text, "a.py").span, Positions)
    assert places.exact


PYTHON: dict[type[ast.AST], type[ir.Node]] = {
    ast.Call: ir.Call,
    ast.Attribute: ir.Attribute,
    ast.Subscript: ir.Subscript,
    ast.Name: ir.Name,
    ast.Lambda: ir.Lambda,
    ast.IfExp: ir.Conditional,
    ast.Assign: ir.Assign,
    ast.AugAssign: ir.Augment,
    ast.Return: ir.Return,
    ast.Raise: ir.Raise,
    ast.For: ir.Loop,
    ast.While: ir.Loop,
    ast.With: ir.With,
    ast.Try: ir.Try,
    ast.If: ir.Branch,
    ast.ImportFrom: ir.Import,
    ast.Import: ir.Import,
    ast.Expr: ir.Evaluate,
    ast.Starred: ir.Starred,
    ast.Yield: ir.Yield,
    ast.YieldFrom: ir.Yield,
    ast.NamedExpr: ir.Walrus,
}
Place = tuple[int, int, int, int]


LEFT_BEHIND = {
    ast.Assert: "msg",
    ast.Raise: "cause",
    ast.MatchClass: "cls",
    ast.FunctionDef: "returns",
    ast.AsyncFunctionDef: "returns",
    ast.JoinedStr: "values",  # their positions were wrong before Python 3.12
}


def lowered(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that the program has, an argument's star as part of the argument."""
    for name, value in ast.iter_fields(node):
        if LEFT_BEHIND.get(type(node)) != name:
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.Starred) and isinstance(node, ast.Call):
                    yield part.value
                elif isinstance(part, ast.AST):
                    yield part


@pytest.mark.parametrize("module", [argparse, dataclasses, ir], ids=lambda module: module.__name__)
def test_spans_agree_with_python(module: ModuleType) -> None:
    """Places every node of real files where Python's own parser does."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    program = lower(text, "a.py")
    lines = text.split("\n")
    expected: dict[type[ir.Node], set[Place]] = {}
    pending: list[ast.AST] = [ast.parse(text)]
    while pending:
        node = pending.pop()
        pending.extend(lowered(node))
        if type(node) in PYTHON and isinstance(node, (ast.expr, ast.stmt)):
            end_line, end_column = node.end_lineno or 0, node.end_col_offset or 0
            start = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
            end = len(lines[end_line - 1].encode()[:end_column].decode())
            expected.setdefault(PYTHON[type(node)], set()).add((node.lineno, start + 1, end_line, end + 1))
    found: dict[type[ir.Node], set[Place]] = {}
    pending_nodes: list[ir.Node] = list(program.body)
    while pending_nodes:
        current = pending_nodes.pop()
        if not isinstance(current, ir.Template):
            pending_nodes.extend(ir.children(current))
        annotated = isinstance(current, ir.Assign) and current.annotation is not None
        if type(current) in expected and not annotated:
            span = program.span(current)
            place = (span.start.line, span.start.column, span.end.line, span.end.column)
            found.setdefault(type(current), set()).add(place)
    assert sum(map(len, expected.values())) > 500
    for kind, places in expected.items():
        assert found[kind] == places, kind.__name__


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("x = 1\nx = = 2\n", "syntax error: invalid syntax", 2, 5),
        ("print 'a'\n", "syntax error: missing parentheses in call to 'print'", 1, 1),
        ("raise a, b\n", "syntax error: invalid syntax", 1, 8),
        ("x = 'abc\n", "syntax error: unterminated string literal", 1, 5),
        ("if a:\nb\n", "syntax error: expected an indented block", 2, 1),
        ("def f():\n\tx\n        y\n", "syntax error: inconsistent use of tabs", 3, 0),
        ("é = (\n", "syntax error: '(' was never closed", 1, 5),
        ("a\0b", "the file contains a NUL character", 1, 2),
        ("x if y else(lambda: z)\n", "the parser does not understand this file", 1, 1),
        ("'\ud800'\n", "the parser does not understand this file", 1, 1),
    ],
)
def test_unreadable(text: str, message: str, line: int, column: int) -> None:
    """Names the place in Python's own words."""
    with pytest.raises(CannotRead) as caught:
        lower(text, "a.py")
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message
    if sys.version_info[:2] == (3, 11) or not message.startswith("syntax error"):
        assert caught.value.line == line
        assert column in (0, caught.value.column)


DEEP = {
    "terms": "x = " + "+".join(["a"] * 10_000),
    "continued": "x = " + " and\\\n".join(["a"] * 10_000),
    "blocks": "".join("  " * depth + "if a:\n" for depth in range(200)) + "  " * 200 + "pass",
    "brackets": "(" * 3_000 + ")" * 3_000,
    "elifs": "if a: b\n" + "elif c: d\n" * 10_000,
    "calls": "x" + ".a()" * 10_000,
    "subscripts": "x" + "[0]" * 10_000,
    "attributes": "(x" + "\n. b" * 10_000 + ")",
    "strings": "x = (" + "'a'\n" * 5_000 + ")",
    "minus": "-" * 5_000 + "a",
    "not": "not " * 5_000 + "a",
    "lambdas": "lambda:" * 5_000 + "a",
    "conditionals": "a if b else " * 5_000 + "c",
    "template": "f'" + "{(" * 3_000 + "}'",
    "quotes": "'''" * 10_001 + "\\",
    "characters": "a\n" * 600_000,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_too_deep(text: str) -> None:
    """Refuses at once what would crash or stall the parser."""
    began = time.perf_counter()
    with pytest.raises(CannotRead) as caught:
        lower(text, "a.py")
    assert time.perf_counter() - began < 1
    assert caught.value.message.startswith("the file ")


FLAT = {
    "terms": "x = " + "+".join(["a"] * 700),
    "blocks": "".join(" " * depth + "if a:\n" for depth in range(95)) + " " * 95 + "pass",
    "brackets": "(" * 99 + "a" + ")" * 99,
    "lists": "[" * 99 + "a" + "]" * 99,
    "calls": "x" + ".a()" * 300,
    "elifs": "if a: b\n" + "elif c: d\n" * 490,
    "numbers": "x = [" + "-1.5,\n" * 2_000 + "]",
    "statements": "a = b + c\n" * 1_500,
}


@pytest.mark.parametrize("name", FLAT)
def test_deep_enough(name: str) -> None:
    """Reads, walks and places what is merely deep, whatever the recursion limit outside."""
    program = lower(FLAT[name], "a.py")
    assert program.span(program.body[0]).start.line == 1
    assert is_deep(FLAT[name]) is (name not in ("numbers", "statements"))


def test_little_room() -> None:
    """Reads a file whatever is left of the caller's stack."""
    usual = sys.getrecursionlimit()
    text = "x = " + "a(" * 12 + ")" * 12
    assert not is_deep(text)
    used = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        used, frame = used + 1, frame.f_back
    try:
        for room in range(25, 225, 5):
            sys.setrecursionlimit(used + room)
            program = lower(text, "a.py")
            sys.setrecursionlimit(usual)
            assert show(program.body[0]).count("Call(") == 12
    finally:
        sys.setrecursionlimit(usual)


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_no_room_at_all(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    """Says of a file that is too deep even for the large stack that it cannot be analysed."""

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(lower_module, "_lower", refuse)
    found = linter.lint(Source("a.py", "import torch\n" + "loss.backward(" * 20 + ")" * 20))
    assert [(item.name, item.span.start.line, item.span.start.column) for item in found] == [
        ("unreadable-source", 1, 1)
    ]
    assert found[0].message == "the file is too deeply nested to be analysed"


def test_guard_reads_strings() -> None:
    """Takes brackets in strings and comments for what they are."""
    many = "(" * 200
    assert not is_deep(f"x = '{many}'  # {many}\ny = '''\n{many}\n'''\nz = r\"\\\"{many}\"\n")
    assert not is_deep("x = {" + "'a': b + c,\n" * 2_000 + "}")


def test_deep_stack() -> None:
    """Returns results, lets exceptions through, restores the limit and does not nest threads."""
    usual = sys.getrecursionlimit()

    def depth(number: int) -> int:
        return number if number == 0 else 1 + depth(number - 1)

    assert in_deep_stack(depth, 5_000) == 5_000
    assert sys.getrecursionlimit() == usual
    with pytest.raises(ZeroDivisionError):
        in_deep_stack(lambda: 1 / 0)

    def nested() -> bool:
        here = threading.current_thread()
        return in_deep_stack(threading.current_thread) is here

    assert in_deep_stack(nested)


def test_many_deep_stacks() -> None:
    """Keeps the limit up as long as any deep thread runs."""
    usual = sys.getrecursionlimit()
    threads = [threading.Thread(target=in_deep_stack, args=(lower, FLAT["lists"], "a.py")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.getrecursionlimit() == usual


def test_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes do with a smaller stack where a large one cannot be had."""
    sizes: list[int] = []
    start: Callable[[threading.Thread], None] = threading.Thread.start
    set_size = threading.stack_size

    def stack_size(size: int = 0) -> int:
        sizes.append(size)
        return set_size(size)

    def refuse(thread: threading.Thread) -> None:
        if sizes[-1] > 2**26:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(guard.threading, "stack_size", stack_size)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert in_deep_stack(lambda: 3) == 3


def test_no_thread_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails on the file, and says why, where no thread can be had."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    usual = threading.stack_size(), sys.getrecursionlimit()
    (found,) = linter.lint(Source("a.py", "import torch\nloss.backward()\n"))
    assert (found.name, found.filename) == (linter.FAILED, "a.py")
    assert "RuntimeError: can't start new thread" in found.message
    assert usual == (threading.stack_size(), sys.getrecursionlimit())
