"""Nodes → Edits: each primitive on plain and on awkward text, with every line ending."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from adlint import program as ir
from adlint.diagnostics import Edit
from adlint.lower import lower
from adlint.rewrite import CannotRewrite, Rewriter, Sealed
from adlint.source import Source


class Program:
    """A text, its tree and its rewriter."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.program = lower(text, "a.py")
        self.rewriter = Rewriter(text, self.program)

    def find(self, code: str, kind: type[ir.Node] = ir.Statement) -> ir.Node:
        """Return the first node of a kind with exactly this source."""
        for statement in self.program.body:
            for node in ir.walk(statement):
                if isinstance(node, kind) and self.rewriter.text_of(node) == code:
                    return node
        raise LookupError(code)

    def starting(self, code: str) -> ir.Statement:
        """Return the first statement whose source starts so."""
        for statement in self.program.body:
            for node in ir.walk(statement):
                if isinstance(node, ir.Statement) and self.rewriter.text_of(node).startswith(code):
                    return node
        raise LookupError(code)

    def apply(self, edits: tuple[Edit, ...]) -> str:
        """Return the edited text, which must parse."""
        source = Source("a.py", self.text)
        places = sorted(
            ((source.offset(e.span.start), source.offset(e.span.end), e.content) for e in edits), reverse=True
        )
        text = self.text
        last = len(text) + 1
        for start, end, content in places:
            assert end <= last, "edits overlap"
            last = start
            text = text[:start] + content + text[end:]
        ast.parse(text)
        return text


NEWLINES = pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])


def check(
    newline: str, before: str, after: str, edit: Callable[[Program], tuple[Edit, ...]], unit: str = "    "
) -> None:
    """Compare with the expected text after turning line endings and indentation of both into others."""

    def turned(text: str) -> str:
        return text.replace("\n", newline).replace("    ", unit)

    program = Program(turned(before))
    assert program.apply(edit(program)) == turned(after)


@NEWLINES
@pytest.mark.parametrize("unit", ["    ", "\t", "  "], ids=["4", "tab", "2"])
@pytest.mark.parametrize(
    ("before", "at", "after"),
    [
        ("a\nx\n", "x", "a\nn\nx\n"),
        ("# about x\nx\n", "x", "# about x\nn\nx\n"),
        ("if a:\n    b\n    x  # c\n", "x", "if a:\n    b\n    n\n    x  # c\n"),
        ("if a:\n\n    # c\n    x\n", "x", "if a:\n\n    # c\n    n\n    x\n"),
        ("if a: x\n", "x", "if a: n; x\n"),
        ("a; x\n", "x", "a; n; x\n"),
        ("x; a\n", "x", "n\nx; a\n"),
        ("@d\n# c\ndef f(): pass\n", "@d\n# c\ndef f(): pass", "n\n@d\n# c\ndef f(): pass\n"),
        ("s = '''\na'''; x\n", "x", "s = '''\na'''; n; x\n"),
        ("a = (\n    1,\n)\nx", "x", "a = (\n    1,\n)\nn\nx"),
        ("\x0cx\n", "x", "\x0cn\nx\n"),
    ],
)
def test_insert_before(newline: str, unit: str, before: str, at: str, after: str) -> None:
    """Inserts directly above the statement, or beside it where it shares its line."""
    at = at.replace("\n", newline)
    check(newline, before, after, lambda p: p.rewriter.insert_before(p.find(at), "n"), unit)


@NEWLINES
@pytest.mark.parametrize("unit", ["    ", "\t", "  "], ids=["4", "tab", "2"])
@pytest.mark.parametrize(
    ("before", "at", "after"),
    [
        ("x\nb\n", "x", "x\nn\nb\n"),
        ("x  # c\n", "x", "x  # c\nn\n"),
        ("a\nx", "x", "a\nx\nn"),
        ("a\nx  # c", "x", "a\nx  # c\nn"),
        ("if a:\n    x\n\n# c\nb\n", "x", "if a:\n    x\n    n\n\n# c\nb\n"),
        ("if a: x\nb\n", "x", "if a: x; n\nb\n"),
        ("if a: x; b\n", "x", "if a: x; n; b\n"),
        ("x; b\n", "x", "x; n; b\n"),
        ("a; x;  # c\n", "x", "a; x;  # c\nn\n"),
        ("if a:\n    if b:\n        c\n        # in b\n\n    # in a\nd\n", "if b",
         "if a:\n    if b:\n        c\n        # in b\n    n\n\n    # in a\nd\n"),
        ("for a in b:\n    c\nelse: d\n\nx\n", "for", "for a in b:\n    c\nelse: d\nn\n\nx\n"),
        ("if a:\n    f('''\nx\n  # no comment\n''')\n", "f(", "if a:\n    f('''\nx\n  # no comment\n''')\n    n\n"),
        ("def f():\n    a\n\n\nb\n", "def", "def f():\n    a\nn\n\n\nb\n"),
    ],
)  # fmt: skip
def test_insert_after(newline: str, unit: str, before: str, at: str, after: str) -> None:
    """Inserts below the statement and the comments that belong to its block."""
    check(newline, before, after, lambda p: p.rewriter.insert_after(p.starting(at), "n"), unit)


def test_insert_lines() -> None:
    """Indents compound code with the file's own unit, and refuses it where lines are shared."""
    code = "if g:\n    n"
    check("\n", "if a:\n\tx\n", "if a:\n\tif g:\n\t\tn\n\tx\n", lambda p: p.rewriter.insert_before(p.find("x"), code))
    program = Program("if a: x; y\nb; c\n")
    for at in ("x", "y", "b"):
        with pytest.raises(CannotRewrite):
            program.rewriter.insert_after(program.find(at), code)
    with pytest.raises(CannotRewrite):
        program.rewriter.insert_before(program.find("c"), "n  # c")


def test_insert_at_ends_of_blocks() -> None:
    """Inserts below a docstring and at the end."""
    text = 'def f():\n    """Doc."""\n    a\n    # c\nfor x in y:\n    a\n'
    program = Program(text)
    function, loop = program.program.body
    assert isinstance(function, ir.Function)
    assert isinstance(loop, ir.Loop)
    rewriter = program.rewriter
    assert program.apply(rewriter.insert_first(function.body, "n")) == text.replace("    a\n", "    n\n    a\n", 1)
    assert program.apply(rewriter.insert_last(function.body, "n")) == text.replace("    a\n", "    a\n    n\n", 1)
    assert program.apply(rewriter.insert_first(loop.body, "n")) == text[: text.rindex("    a")] + "    n\n    a\n"
    for insert in (rewriter.insert_first, rewriter.insert_last):
        with pytest.raises(CannotRewrite):
            insert((), "n")


def test_elif() -> None:
    """Refuses to put statements where only an `elif` can be."""
    program = Program("if a: b\nelif c: d\n")
    branch = program.starting("elif")
    for change in (
        lambda: program.rewriter.insert_before(branch, "n"),
        lambda: program.rewriter.insert_after(branch, "n"),
        lambda: program.rewriter.delete(branch),
        lambda: program.rewriter.wrap((branch,), "with n:"),
    ):
        with pytest.raises(CannotRewrite):
            change()


@NEWLINES
@pytest.mark.parametrize(
    ("before", "at", "after"),
    [
        ("a\n# about x\nx  # c\nb\n", "x", "a\n# about x\nb\n"),
        ("a\nx", "x", "a\n"),
        ("x\n", "x", ""),
        ("if a:\n    x  # c\n", "x", "if a:\n    pass  # c\n"),
        ("if a:\n    x\n    b: int\n", "x", "if a:\n    b: int\n"),
        ("if a: x\n", "x", "if a: pass\n"),
        ("if a: x; b\n", "x", "if a: b\n"),
        ("a; x; b  # c\n", "x", "a; b  # c\n"),
        ("a; x;  # c\n", "x", "a;  # c\n"),
        ("x(\n  1,  # c\n)\nb\n", "x(", "b\n"),
        ("for a in x:\n    b\n    # in a\n# out\nc\n", "for", "# out\nc\n"),
        ("@d\ndef f():\n    b\n\nc\n", "@d", "\nc\n"),
        ("a\n\x0cx\nb\n", "x", "a\nb\n"),
        ("try:\n    a\nexcept b:\n    x\nelse:\n    c\n", "x", "try:\n    a\nexcept b:\n    pass\nelse:\n    c\n"),
        ("match a:\n    case 1:\n        x\n", "x", "match a:\n    case 1:\n        pass\n"),
    ],
)
def test_delete(newline: str, before: str, at: str, after: str) -> None:
    """Deletes whole lines, keeps comments above and never leaves a block empty."""
    check(newline, before, after, lambda p: p.rewriter.delete(p.starting(at)))


@NEWLINES
@pytest.mark.parametrize("unit", ["    ", "\t", "  "], ids=["4", "tab", "2"])
@pytest.mark.parametrize(
    ("before", "first", "last", "after"),
    [
        ("if a:\n    b\n# c\nx\nb\n", "x", "x", "if a:\n    b\n# c\nwith n:\n    x\nb\n"),
        ("if a:\n    b\nx  # c", "x", "x", "if a:\n    b\nwith n:\n    x  # c"),
        (
            "if a:\n    x\n\n    # c\n# odd\n    y; z;  # d\n    b\n",
            "x",
            "z",
            "if a:\n    with n:\n        x\n\n        # c\n    # odd\n        y; z;  # d\n    b\n",
        ),
        (
            "if a:\n    for x in y:\n        b\n        # in\n    # out\n",
            "for",
            "for",
            "if a:\n    with n:\n        for x in y:\n            b\n            # in\n    # out\n",
        ),
        (
            "if a:\n    x = f'''\n  {b}\n    c\n''' + g(\n        d,\n    )\n",
            "x",
            "x",
            "if a:\n    with n:\n        x = f'''\n  {b}\n    c\n''' + g(\n            d,\n        )\n",
        ),
        (
            "if a:\n    @d\n    def f():\n        '''Doc\n\n    doc.\n    '''\n",
            "@d",
            "@d",
            "if a:\n    with n:\n        @d\n        def f():\n            '''Doc\n\n    doc.\n    '''\n",
        ),
        ("if a:\n    x = 'b\\\nc'\n    y\n", "x", "y", "if a:\n    with n:\n        x = 'b\\\nc'\n        y\n"),
        ("if a:\n    b\n\x0c    x\n", "x", "x", "if a:\n    b\n\x0c    with n:\n        x\n"),
        (
            "if a:\n    assert x, '''\nb'''\n    y: '''\nc'''\n    z\n",
            "assert",
            "z",
            "if a:\n    with n:\n        assert x, '''\nb'''\n        y: '''\nc'''\n        z\n",
        ),
    ],
)
def test_wrap(newline: str, unit: str, before: str, first: str, last: str, after: str) -> None:
    """Indents every line of the statements but those inside strings."""

    def wrap(program: Program) -> tuple[Edit, ...]:
        start, end = program.starting(first), program.starting(last)
        for node in ir.walk(program.program.body[0]):
            body = getattr(node, "then", getattr(node, "body", ()))
            if isinstance(body, tuple) and start in body and end in body:
                return program.rewriter.wrap(body[body.index(start) : body.index(end) + 1], "with n:")
        return program.rewriter.wrap((start,), "with n:")

    check(newline, before, after, wrap, unit)


def test_cannot_wrap() -> None:
    """Refuses shared lines, header lines and statements with others in between."""
    program = Program("if a: x\nb; c\nd\ne; f\ng\n")
    found = program.find
    for statements in (("x",), ("c",), ("c", "d"), ("d", "e"), ("d", "g"), ()):
        with pytest.raises(CannotRewrite):
            program.rewriter.wrap(tuple(found(code) for code in statements), "with n:")


@NEWLINES
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(): pass\n", "@n\ndef f(): pass\n"),
        (
            "class A:\n    @staticmethod\n    # c\n    async  def f(): pass\n",
            "class A:\n    @staticmethod\n    # c\n    @n\n    async  def f(): pass\n",
        ),
        ("# c\n@d(\n    1)\ndef f():\n    pass\n", "# c\n@d(\n    1)\n@n\ndef f():\n    pass\n"),
    ],
)
def test_decorate(newline: str, before: str, after: str) -> None:
    """Decorates nearest to the definition."""

    def decorate(program: Program) -> tuple[Edit, ...]:
        function = next(n for s in program.program.body for n in ir.walk(s) if isinstance(n, ir.Function))
        return program.rewriter.decorate(function, "@n")

    check(newline, before, after, decorate)


@NEWLINES
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()\n", "f(k=1)\n"),
        ("f( )\n", "f( k=1)\n"),
        ("f(  # c\n)\n", "f(  # c\nk=1)\n"),
        ("(f(a))\n", "(f(a, k=1))\n"),
        ("f(a,)\n", "f(a, k=1,)\n"),
        ("f((a))\n", "f((a), k=1)\n"),
        ("f(*a, **b)\n", "f(*a, **b, k=1)\n"),
        ("f(\n    a,\n    b,  # c\n)\n", "f(\n    a,\n    b,  # c\n    k=1,\n)\n"),
        ("f(\n    a,\n    b  # c\n)\n", "f(\n    a,\n    b, k=1  # c\n)\n"),
        ("f(x for x in y)\n", "f((x for x in y), k=1)\n"),
        ("f((x for x in y))\n", "f((x for x in y), k=1)\n"),
    ],
)
def test_add_argument(newline: str, before: str, after: str) -> None:
    """Appends an argument in the call's own layout."""

    def add(program: Program) -> tuple[Edit, ...]:
        call = next(n for n in ir.walk(program.program.body[0]) if isinstance(n, ir.Call))
        return program.rewriter.add_argument(call, "k=1")

    check(newline, before, after, add)


def test_add_argument_twice() -> None:
    """Refuses an argument that is there."""
    program = Program("f(k=2)\n")
    with pytest.raises(CannotRewrite):
        program.rewriter.add_argument(program.find("f(k=2)", ir.Call), "k=1")  # type: ignore[arg-type]


@NEWLINES
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(k=1)\n", "f()\n"),
        ("f(k=1, )\n", "f()\n"),
        ("f(a, k=1)\n", "f(a)\n"),
        ("f(a, k=1,)\n", "f(a,)\n"),
        ("f(k=1, b=2)\n", "f(b=2)\n"),
        ("f(a, k = (1), b=2)\n", "f(a, b=2)\n"),
        ("f(\n    a,\n    k=1,  # c\n    b=2,  # d\n)\n", "f(\n    a,\n    b=2,  # d\n)\n"),
        ("f(\n    a,  # c\n    k=1\n)\n", "f(\n    a,  # c\n)\n"),
        ("f(a,  # c\n  k=1)\n", "f(a,  # c\n  )\n"),
        ("f(k=1,  # c\n  b=2)\n", "f(# c\n  b=2)\n"),
        ("f(\n    k=[\n        1,\n    ],\n    b=2,\n)\n", "f(\n    b=2,\n)\n"),
    ],
)
def test_remove_argument(newline: str, before: str, after: str) -> None:
    """Removes an argument with its comma, and its line where it has one."""

    def remove(program: Program) -> tuple[Edit, ...]:
        call = next(n for n in ir.walk(program.program.body[0]) if isinstance(n, ir.Call))
        return program.rewriter.remove_argument(next(a for a in call.arguments if a.keyword == "k"), call)

    check(newline, before, after, remove)


MOVED = [
    ("a\nif b:\n    x  # c\n", "x  # c\n", "if b:\n    pass\n"),
    ("a\nif b:\n    x(\n        1,\n\n        2,\n    )  # c\n", "x(\n    1,\n\n    2,\n)  # c\n", "if b:\n    pass\n"),
    ("a\nif b:\n    c\n    x = '''d'''.f(\n        1)\n", "x = '''d'''.f(\n    1)\n", "if b:\n    c\n"),
    ("a\nif b:\n    for x in c:\n        d\n", "for x in c:\n    d\n", "if b:\n    pass\n"),
]


@NEWLINES
@pytest.mark.parametrize("unit", ["    ", "\t"], ids=["4", "tab"])
@pytest.mark.parametrize(("before", "moved", "rest"), MOVED)
def test_move(newline: str, unit: str, before: str, moved: str, rest: str) -> None:
    """Moves a statement with its comment and all its lines, at the indentation of its new place."""

    def start(program: Program) -> ir.Statement:
        return program.starting("for x" if "for x" in before else "x")

    rest = rest.replace("pass\n", "pass  # c\n") if "# c" in before else rest
    check(newline, before, f"{moved}a\n{rest}", lambda p: p.rewriter.move_before(start(p), p.starting("a")), unit)
    check(newline, before, f"a\n{moved}{rest}", lambda p: p.rewriter.move_after(start(p), p.starting("a")), unit)


@NEWLINES
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\nif b:\n    x = '''c\nd'''\n", "goes over several lines"),
        ("a\nif b:\n    x = f('c\\\n    d')\n", "goes over several lines"),
        ("a\nif b:\n    x = f'''{\n    c}'''\n", "goes over several lines"),
        ("a\nif b:\n    c; x(\n        1)\n", "goes over several lines"),
        ("a\nif b:\n    x(\n  1)\n", "not indented evenly"),
        ("if b: a\nif b:\n    x(\n        1)\n", "cannot share a line"),
        ("a; c\nx(\n    1)\n", "cannot share a line"),
    ],
)  # fmt: skip
def test_cannot_move(newline: str, text: str, words: str) -> None:
    """Refuses where a string would change, where lines are shared, and where nobody knows how far to indent."""
    program = Program(text.replace("\n", newline))
    with pytest.raises(CannotRewrite, match=words):
        program.rewriter.move_after(program.starting("x"), program.starting("a"))


@NEWLINES
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@d\ndef f(): pass\n", "def f(): pass\n"),
        ("@c\n# about d\n@d  # c\nclass A: pass\n", "@c\n# about d\nclass A: pass\n"),
        ("if a:\n    @ d\n    def f(): pass\n", "if a:\n    def f(): pass\n"),
        ("@d(\n    1)\n@c\ndef f(): pass\n", "@c\ndef f(): pass\n"),
    ],
)
def test_undecorate(newline: str, before: str, after: str) -> None:
    """Takes the line of a decorator away, and no other."""

    def undecorate(program: Program) -> tuple[Edit, ...]:
        node = next(n for s in program.program.body for n in ir.walk(s) if isinstance(n, (ir.Function, ir.Class)))
        name = next(d for d in node.decorators if program.rewriter.text_of(d).startswith("d"))
        return program.rewriter.undecorate(node, name)

    check(newline, before, after, undecorate)


@NEWLINES
@pytest.mark.parametrize("unit", ["    ", "\t"], ids=["4", "tab"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("with a:\n    b\n", "b\n"),
        ("with a as x :  # c\n    b\n\n    # d\n    c\ne\n", "b\n\n# d\nc\ne\n"),
        ("if x:\n    with a:\n        b\n        if c:\n            d\n", "if x:\n    b\n    if c:\n        d\n"),
        ("with a:\n    x = '''\n    b\n    '''\n", "x = '''\n    b\n    '''\n"),
        ("with a:\n    f(\n  b)\n", "f(\n  b)\n"),
    ],
)
def test_unwrap(newline: str, unit: str, before: str, after: str) -> None:
    """Drops the header and moves the block out; comments and strings stay."""

    def unwrap(program: Program) -> tuple[Edit, ...]:
        block = next(n for s in program.program.body for n in ir.walk(s) if isinstance(n, ir.With))
        return program.rewriter.unwrap(block)

    check(newline, before, after, unwrap, unit)


def test_absorb() -> None:
    """Moves what follows a block into it."""

    def absorb(program: Program) -> tuple[Edit, ...]:
        block, *following = program.program.body
        assert isinstance(block, ir.With)
        return program.rewriter.absorb(block.body, tuple(following))

    before = "with a:\n    b\n    # c\n# d\ne\nif f:\n    g\n"
    check("\n", before, "with a:\n    b\n    # c\n# d\n    e\n    if f:\n        g\n", absorb)
    with pytest.raises(CannotRewrite, match="its header's line"):
        absorb(Program("with a: b\nc\n"))


def test_whole_line() -> None:
    """Gives a line with its comment, and refuses one that holds more than the statement."""
    program = Program("if a:\n    b  # c\nd; e\nf(\n    g)\nif h: i\nj;\nk;  # c\nl\n")
    assert program.rewriter.whole_line(program.find("b")) == "b  # c"
    assert program.rewriter.whole_line(program.find("l")) == "l"
    for code in ("d", "e", "f(\n    g)", "i", "j", "k", "if h: i"):
        with pytest.raises(CannotRewrite, match="a line to itself"):
            program.rewriter.whole_line(program.find(code))


CANNOT: dict[str, tuple[str, Callable[[Program], object]]] = {
    "definition on another line": (
        "def \\\n  f(): pass\n",
        lambda p: p.rewriter.decorate(p.starting("def"), "@n"),  # type: ignore[arg-type]
    ),
    "async on another line": (
        "async \\\n  def f(): pass\n",
        lambda p: p.rewriter.decorate(p.starting("async"), "@n"),  # type: ignore[arg-type]
    ),
    "decorator over lines": (
        "@(\n  a\n)\ndef f(): pass\n",
        lambda p: p.rewriter.undecorate(p.starting("@"), p.find("a", ir.Expression)),  # type: ignore[arg-type]
    ),
    "two contexts": ("with a, b:\n    c\n", lambda p: p.rewriter.unwrap(p.starting("with"))),  # type: ignore[arg-type]
    "context in parentheses": (
        "with (a\n  ):\n    c\n",
        lambda p: p.rewriter.unwrap(p.starting("with")),  # type: ignore[arg-type]
    ),
    "block on the header's line": (
        "with a: c\n",
        lambda p: p.rewriter.unwrap(p.starting("with")),  # type: ignore[arg-type]
    ),
    "code that cannot be parsed": ("if a: b\n", lambda p: p.rewriter.insert_before(p.find("b"), "with")),
    "a statement that goes on": ("a \\\n\nb\n", lambda p: p.rewriter.insert_after(p.find("a"), "n")),
    "a tree that is not what the text says": (
        "if a:\n    b\n\\\nc = d\n",  # the tree has the last line in the block
        lambda p: p.rewriter.replace(p.find("a", ir.Name), "n"),
    ),
    "a line that is continued": ("a\n\\\nb\n", lambda p: p.rewriter.insert_after(p.find("a"), "n")),
}


@pytest.mark.parametrize(("text", "change"), CANNOT.values(), ids=CANNOT)
def test_cannot_rewrite(text: str, change: Callable[[Program], object]) -> None:
    """Refuses what would need more than its edit, and leaves no half of it."""
    with pytest.raises(CannotRewrite):
        change(Program(text))


def test_nodes_of_other_files() -> None:
    """Refuses to edit, or to name anything at, what stands in another file."""
    program, other = Program("import torch\na\n"), Program("b\n").program.body[0]
    sealed = Sealed(program.text, program.program)
    for rewriter, node in ((program.rewriter, other), (sealed, program.find("a"))):
        for change in (
            lambda rewriter=rewriter, node=node: rewriter.replace(node, "n"),
            lambda rewriter=rewriter, node=node: rewriter.spelling("torch.no_grad", node),
        ):
            with pytest.raises(CannotRewrite, match="another file"):
                change()
    with pytest.raises(CannotRewrite, match="another file"):
        sealed.text_of(program.find("a"))


def test_comma_on_another_line() -> None:
    """Refuses to remove an argument whose comma is out of reach."""
    program = Program("f(k=1\n  , b=2)\n")
    call = program.find("f(k=1\n  , b=2)", ir.Call)
    assert isinstance(call, ir.Call)
    with pytest.raises(CannotRewrite):
        program.rewriter.remove_argument(call.arguments[0], call)


@pytest.mark.parametrize(
    ("code", "operand"),
    [
        ("a", "a"),
        ("a.b(c)[0]", "a.b(c)[0]"),
        ("a * b", "a * b"),
        ("a if b else c", "(a if b else c)"),
        ("a or b", "(a or b)"),
        ("not a", "(not a)"),
        ("a < b", "(a < b)"),
        ("a | b", "(a | b)"),
        ("lambda: a", "(lambda: a)"),
        ("(a := b)", "(a := b)"),
        ("a, b", "(a, b)"),
        ("(a, b)", "(a, b)"),
        ("(a\n * b)", "(a\n * b)"),
        ("f(a,\n  b)", "f(a,\n  b)"),
        ("(x for x in y)", "(x for x in y)"),
    ],
)
def test_parenthesised(code: str, operand: str) -> None:
    """Adds parentheses only where an operand of `+` needs them."""
    program = Program(f"x = {code}\n")
    statement = program.program.body[0]
    assert isinstance(statement, ir.Assign)
    assert program.rewriter.parenthesised(statement.value) == operand


def test_replace() -> None:
    """Replaces the text of a node and nothing around it."""
    text = "x = f((a),  # c\n  'é\U0001f600', b.c)\n"
    program = Program(text)
    assert program.apply(program.rewriter.replace(program.find("b.c", ir.Attribute), "d")) == text.replace("b.c", "d")
    assert program.apply(program.rewriter.replace(program.find("a", ir.Name), "d")) == text.replace("a", "d")


IMPORT = "import torch\n"


@pytest.mark.parametrize(
    ("head", "spelled", "after"),
    [
        ("import torch\n", "torch.no_grad", None),
        ("import torch as th\n", "th.no_grad", None),
        ("import torch.nn\n", "torch.no_grad", None),
        ("from torch import no_grad as ng\n", "ng", None),
        ("import torch\nfrom torch import no_grad\n", "no_grad", None),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\n", "torch.no_grad", None),
        ("import torch.nn as nn\n", "torch.no_grad", "import torch.nn as nn\nimport torch\n"),
        ("from .torch import no_grad\n", "torch.no_grad", "from .torch import no_grad\nimport torch\n"),
        ("", "torch.no_grad", "import torch\n\n"),
        ("# licence\n\n", "torch.no_grad", "# licence\n\nimport torch\n\n"),
        ('"""Doc."""\n', "torch.no_grad", '"""Doc."""\n\nimport torch\n'),
        (
            '"""Doc."""\nfrom __future__ import annotations\n\nx = 1\n',
            "torch.no_grad",
            '"""Doc."""\nfrom __future__ import annotations\nimport torch\n\nx = 1\n',
        ),
        ("import a\nimport b  # c\n\nx = 1\n", "torch.no_grad", "import a\nimport b  # c\nimport torch\n\nx = 1\n"),
        ("import a; x = 1\n", "torch.no_grad", "import a; import torch; x = 1\n"),
        ("import torch\ntorch = fake(torch)\n", "_torch.no_grad",
         "import torch\nimport torch as _torch\ntorch = fake(torch)\n"),
        ("if a:\n    import torch\n", "torch.no_grad", "import torch\n\nif a:\n    import torch\n"),
        *(
            (f"import torch as th\n{change}\n", "torch.no_grad", f"import torch as th\nimport torch\n{change}\n")
            for change in (
                "for th in a: pass",
                "while a:\n    th = b",
                "if a:\n    b\nelse:\n    th: int = b",
                "match a:\n    case [th]: pass",
                "match a:\n    case 1:\n        th += b",
                "with a as (b, *th): pass",
                "with a:\n    def th(): pass",
                "try: a\nexcept b as th: pass",
                "try: a\nfinally:\n    class th: pass",
                "if (th := a): pass",
                "f([b for b in c if (th := b)])",
                "del th",
            )
        ),
        *(
            (f"import torch as th\n{change}\n", "th.no_grad", None)
            for change in ("f(lambda: (th := a))", "for b.th in a: pass", "with a: pass", "try: a\nexcept b: pass",
                           "match a:\n    case b.th: pass", "[th for th in a]", "def f(th): pass", "a[th] = b", "th: b")
        ),
    ],
)  # fmt: skip
def test_spelling(head: str, spelled: str, after: str | None) -> None:
    """Follows the imports of the module, and adds one that is missing."""
    program = Program(head + "here\n")
    name, edits = program.rewriter.spelling("torch.no_grad", program.find("here"))
    assert name == spelled
    assert program.apply(edits) == (head if after is None else after) + "here\n"


@pytest.mark.parametrize(
    ("text", "spelled", "imported"),
    [
        (IMPORT + "def f():\n    here\n", "torch.no_grad", None),
        ("def f():\n    here\nimport torch\n", "torch.no_grad", None),
        ("def f():\n    import torch as t\n    here\n", "t.no_grad", None),
        ("def f():\n    import torch\n    def g(): here\n", "torch.no_grad", None),
        (IMPORT + "class A:\n    torch = 1\n    def f(self): here\n", "torch.no_grad", None),
        (IMPORT + "def f(torch): here\n", "_torch.no_grad", "import torch as _torch"),
        (IMPORT + "def f(torch):\n    def g(): here\n", "_torch.no_grad", "import torch as _torch"),
        (IMPORT + "def f():\n    here\n    import torch\n", "_torch.no_grad", "import torch as _torch"),
        (IMPORT + "class A:\n    torch = 1\n    here\n", "_torch.no_grad", "import torch as _torch"),
        (IMPORT + "def f():\n    with a as torch: pass\n    here\n", "_torch.no_grad", "import torch as _torch"),
        (IMPORT + "_torch = 1\ndef f(torch): here\n", "__torch.no_grad", "import torch as __torch"),
        (IMPORT + "def g(torch): pass\ndef f(): here\n", "torch.no_grad", None),
        (
            IMPORT + "def f():\n    global torch\n    torch = torch\n    here\n",
            "torch.no_grad",
            None,
        ),
        (IMPORT + "def f():\n    if a:\n        with b:\n            here\n", "torch.no_grad", None),
        (IMPORT + "class A:\n    import torch as t\n    here\n", "t.no_grad", None),
        ("here\nimport torch\n", "torch.no_grad", "import torch"),
        ("import a\nhere\nimport torch\n", "torch.no_grad", "import torch"),
        ("def f():\n    import torch\ndef g():\n    here\n", "torch.no_grad", "import torch"),
    ],
)
def test_spelling_in_scopes(text: str, spelled: str, imported: str | None) -> None:
    """Sees what parameters, locals and classes hide."""
    program = Program(text)
    name, edits = program.rewriter.spelling("torch.no_grad", program.find("here"))
    assert name == spelled
    if imported is None:
        assert not edits
    else:
        assert "".join(edit.content for edit in edits).strip() == imported
        assert program.apply(edits).index(imported) < program.apply(edits).index("here")


def test_spelling_of_a_decorator() -> None:
    """Does not let a function's own locals hide what its decorator sees."""
    program = Program(IMPORT + "def f(torch): pass\n")
    assert program.rewriter.spelling("torch.no_grad", program.starting("def")) == ("torch.no_grad", ())


@NEWLINES
def test_several_changes_together(newline: str) -> None:
    """Makes edits that can be applied at once."""
    before = "import a\n\ndef f():\n    for x in y:\n        b\n    c\n"
    after = "import a\nimport torch\n\ndef f():\n    with torch.no_grad():\n        for x in y:\n            d\n    n\n"
    after += "    c\n"

    def change(program: Program) -> tuple[Edit, ...]:
        rewriter, loop = program.rewriter, program.starting("for")
        name, edits = rewriter.spelling("torch.no_grad", loop)
        inner = rewriter.replace(program.find("b", ir.Name), "d")
        return (*edits, *rewriter.wrap((loop,), f"with {name}():"), *inner, *rewriter.insert_after(loop, "n"))

    check(newline, before, after, change)


def test_foreign_program() -> None:
    """Refuses programs of another front end."""
    with pytest.raises(TypeError):
        Rewriter("", ir.Program("a.py", (), lambda node: None))  # type: ignore[arg-type,return-value]
