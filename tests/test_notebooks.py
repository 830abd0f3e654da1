"""Notebooks: the program that they are, where things are in them, and what fixing may touch."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from adlint.config import Settings
from adlint.diagnostics import Diagnostic, Position, Span
from adlint.linter import fix, lint
from adlint.notebook import NotANotebook, Notebook
from adlint.reports import FORMATS, Result, renderer
from adlint.source import Source, Unreadable

if TYPE_CHECKING:
    from conftest import Case

SETUP = """\
%matplotlib inline
!pip install -q torch
import torch
from torch import nn
files = !ls
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = [(torch.randn(8, 4), torch.randn(8, 1))] * 4"""
LOOP = """\
%%time
for inputs, targets in batches:
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()  # é"""
CLEARED = LOOP.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")
STYLES: dict[str, dict[str, Any]] = {
    "jupyter": {"indent": 1, "ensure_ascii": False},
    "wide": {"indent": 4},
    "minified": {"separators": (",", ":")},
}


def notebook(*cells: str, as_list: bool = True, kinds: Sequence[str] = (), **metadata: object) -> dict[str, Any]:
    """Return a notebook; cells that begin with `# title` are text."""
    made: list[dict[str, Any]] = []
    for text in cells:
        source: object = text.splitlines(keepends=True) if as_list else text
        code = not text.startswith("# title")
        more: dict[str, Any] = {"outputs": [], "execution_count": 3} if code else {}
        made.append({"cell_type": "code" if code else "markdown", "metadata": {}, **more, "source": source})
    return {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def written(book: dict[str, Any], style: str = "jupyter") -> bytes:
    return json.dumps(book, **STYLES[style]).encode()


def source(*cells: str) -> Source:
    return Source.from_bytes(written(notebook(*cells)), "a.ipynb")


def sources(data: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(data)["cells"]]


def test_cells_are_one_program() -> None:
    """Puts the code cells below one another, each below its number, and keeps lines and columns."""
    text = source("# title", "import os\nx = 1", "%%bash\nls", "y = x").text
    assert text == "# cell 2\nimport os\nx = 1\n# cell 3\n\n\n# cell 4\ny = x\n"
    assert (4, Position(1, 5)) == source("# title", "x = 1", "", "y = x").place(Position(5, 5))


def test_a_comment_like_the_border_is_none() -> None:
    """Chooses another border where a cell has a line like it."""
    book = notebook("x = 1\n# cell 1\ny = 2")
    assert Notebook.read(json.dumps(book)).place("## cell 1\nx = 1\n# cell 1\ny = 2\n", 4) == (1, 3)


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline", "pass"),
        ("if x:\n    !ls\n    y = 1", "if x:\n    pass\n    y = 1"),
        ("x?", "pass"),
        ("?x", "pass"),
        ("torch.nn??", "pass"),
        ("y = !ls -l", "y = get_ipython()"),
        ("y = %timeit -o f(x)", "y = get_ipython()"),
        ("%time f(x)", "pass; f(x)"),
        ("if x:\n    %time f(x)", "if x:\n    pass; f(x)"),
        ("%timeit -n 10 f(x)", "pass"),
        ("%time for i in x: f(i)", "pass"),
        ("!echo \\\n  'a\nx = 1", "pass\n\nx = 1"),
        ("pip install torch", "pass"),
        ("%%time\nx = 1", "#%time\nx = 1"),
        ("\n%%capture out\nx = 1", "\n#%capture out\nx = 1"),
        ("%%bash\nls", "\n\n"),
        ("%%writefile a.py\nx = 1", "\n\n"),
        ("await f(x)", "await f(x)"),
        ("f(x);", "f(x);"),
        ("x = (a\n  % b)", "x = (a\n  % b)"),
        ('x = """\n%time\n!ls\n"""', 'x = """\n%time\n!ls\n"""'),
        ("x = a \\\n  % b", "x = a \\\n  % b"),
        ("s = 'a'  # it's\n%time f(s)", "s = 'a'  # it's\npass; f(s)"),
        ("ls = 3\ncat = ls", "ls = 3\ncat = ls"),
        ("\n  if x:\n    y\n  !ls", "\n\f\fif x:\n\f\f  y\n\f\fpass"),
        (">>> if x:\n...     y\n...\n>>> !ls\n1", "\f\f\f\fif x:\n\f\f\f\f    y\n\f\f\f\n\f\f\f\fpass\n1"),
        (" >>> x\n ... ls", "\f\f\f\f\fx\n\f\f\f\f\fls"),
        ("In [12]: %time x\n    ...: y", "\f\f\f\f\f\f\f\f\fpass; x\n\f\f\f\f\f\f\f\f\fy"),
        ("x = [\n  1,\n]\n!ls", "x = [\n  1,\n]\npass"),
    ],
)
def test_magics(cell: str, python: str) -> None:
    """Takes out what is no Python, at the beginning of logical lines only."""
    assert source(cell).text == f"# cell 1\n{python}" + "\n" * (not python.endswith("\n"))


def test_other_languages_are_left_out() -> None:
    """Has no program where the kernel speaks another language, or a cell does."""
    for metadata in ({"language_info": {"name": "R"}}, {"kernelspec": {"language": "julia"}}):
        assert Source.from_bytes(written(notebook("x <- 1", **metadata)), "a.ipynb").text == ""
    book = notebook("x = 1", "SELECT 1")
    book["cells"][1]["metadata"]["vscode"] = {"languageId": "sql"}
    assert Source.from_bytes(written(book), "a.ipynb").problems == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not valid JSON"),
        (b"import torch\n", "not valid JSON: expecting value"),
        (b'{"cells": [', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "no notebook"),
        (b'{"nbformat": 3, "worksheets": []}', "format 3"),
        (b'{"nbformat": 4, "cells": {}}', "no list of cells"),
        (b'{"nbformat": 4, "cells": "\xff"}', "not utf-8"),
    ],
)
def test_broken_notebooks(data: bytes, words: str) -> None:
    """Says once, in plain words, why a file is no notebook."""
    with pytest.raises(Unreadable, match=words):
        Source.from_bytes(data, "a.ipynb")


def test_strange_cells_do_no_harm() -> None:
    """Takes what is there, whatever else is not."""
    cells: list[Any] = [None, 3, {}, {"cell_type": "code"}, {"cell_type": "code", "source": [1]}]
    book = Notebook.read(json.dumps({"nbformat": 4, "cells": cells, "metadata": None}))
    assert [cell.number for cell in book.cells] == [4, 5]
    with pytest.raises(NotANotebook):
        Notebook.read("{}")


def test_a_broken_cell_hides_no_other() -> None:
    """Reports the first cell that is no Python, counts the others, and analyses the rest."""
    found = lint(source(SETUP, LOOP, "print(", "x ="))
    assert [item.name for item in found] == ["missing-zero-grad", "unreadable-source"]
    assert "1 more cell " in found[1].message
    assert source(SETUP, LOOP, "print(").place(found[1].span.start) == (3, Position(1, 6))
    assert fix(source(SETUP, LOOP, "print(")).applied == ()
    assert lint(source("x = 1", "print(")) == []
    assert [item.name for item in lint(source("x = 1", "print("), always_parse=True)] == ["unreadable-source"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("x = 1\ry = 2", "a carriage return stands alone"),
        ("x = '\ud800'", "cannot be parsed: 'utf-8' codec can't encode character '\\ud800'"),
        ("x = \0", "source code string cannot contain null bytes"),
    ],
)
def test_characters_that_no_cell_may_have(cell: str, message: str) -> None:
    """Says what is wrong with the cell, analyses the others, and mends nothing."""
    data = written(notebook(SETUP, cell, LOOP), "wide")
    book = Source.from_bytes(data, "a.ipynb")
    found = lint(book)
    assert [item.name for item in found] == ["unreadable-source", "missing-zero-grad"]
    assert message in found[0].message
    assert book.place(found[0].span.start)[0] == 2
    assert book.with_text(fix(book).text).encode() == data


def test_a_cell_whose_strings_are_no_lines() -> None:
    """Finds what is in it, and offers no fix, since the strings would have to be put together anew."""
    book = notebook(SETUP, LOOP)
    book["cells"][1]["source"] = [LOOP[:40], LOOP[40:]]
    read = Source.from_bytes(written(book), "a.ipynb")
    assert [(item.name, item.fix) for item in lint(read)] == [("missing-zero-grad", None)]
    with pytest.raises(ValueError, match="the lines of cell 2 are not strings of their own"):
        read.with_text(read.text.replace("loss.backward()", "pass")).encode()


def test_an_indented_cell() -> None:
    """Analyses a cell that is indented as a whole, at its own columns, and mends nothing in it."""
    book = source(SETUP, "\n".join(f"  {line}" for line in LOOP.splitlines()))
    (found,) = lint(book)
    assert (found.name, found.fix, book.place(found.span.start)) == ("missing-zero-grad", None, (2, Position(4, 7)))


def test_an_empty_cell_is_filled() -> None:
    """Writes a list of lines where there was an empty one, and takes a comment for no border."""
    book = source("x = 1", "", "y = 2")
    data = book.with_text(book.text.replace("# cell 2\n", "# cell 2\n# cell phones\nz = 3\n")).encode()
    assert json.loads(data)["cells"][1]["source"] == ["# cell phones\n", "z = 3\n"]
    assert sources(data)[::2] == ["x = 1", "y = 2"]


def test_reports_count_lines_in_cells() -> None:
    """Names the cell and the line in it: in the place, the message, the frame and the fix."""
    book = source("# title", SETUP, LOOP)
    found = tuple(lint(book))
    texts = {form: renderer(form)(Result(found, {"a.ipynb": book})) for form in FORMATS}
    assert texts["concise"].startswith("a.ipynb:cell 3:4:5: error")
    assert "the step on line 5 of cell 3" in texts["concise"]
    assert texts["text"].startswith("a.ipynb:cell 3:4:5: error")
    assert "\n4 |     loss.backward()\n" in texts["text"]
    assert "\n4 +     optimizer.zero_grad()\n" in texts["text"]
    (item,) = json.loads(texts["json"])
    assert item["location"] == {"cell": 3, "row": 4, "column": 5, "file_row": 35}
    assert item["related"][0]["location"] == {"cell": 3, "row": 5, "column": 5, "file_row": 36}
    assert item["fix"]["edits"][0]["location"] == {"cell": 3, "row": 4, "column": 1, "file_row": 35}


ODD = 'text = "é\\t" + \'\U0001f600\'  # \\ "quoted" /\u2028'


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("style", STYLES)
def test_positions_in_the_file(style: str, as_list: bool, ending: str) -> None:
    """Finds each word where a plain search of the file does, whatever is written as an escape in front of it."""
    cells = ["# title", SETUP, f"if 1:  # {ODD} mark1\n\tmark2\n", "", f"{ODD}\nmark3 = 4"]
    marks = "\n".join(f"{ODD} mark{n}" for n in range(4, 9))
    book = notebook(*cells, marks, as_list=as_list, deep={"a": [[{"source": ["x", "]}"]}]]})
    book["cells"][2]["outputs"] = [{"text": ["x\n", "[{"]}]
    text = json.dumps(book, **STYLES[style]).replace("\n", ending)
    read = Source.from_bytes(text.encode(), "a.ipynb")
    for n in range(1, 9):
        at = text.index(f"mark{n}")
        wanted = Position(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
        assert read.in_file(read.position(read.text.index(f"mark{n}"))) == wanted, n


def test_positions_at_borders_in_the_file() -> None:
    """Moves what is past a line to its end, and knows the places of a program that was changed."""
    book = notebook("x = 1\ny = 22", "!ls -a", "", "z = 3")
    book["cells"].append({"cell_type": "code", "source": ["a = ", "1\nb", "", " = 2"]})
    book["cells"] += [{"cell_type": "code"}, {"cell_type": "code", "source": [1]}]
    read = Source.from_bytes(written(book, "minified"), "a.ipynb")
    places = [
        (1, 1, '{"c'),
        (2, 3, "= 1"),
        (2, 99, '\\n"'),
        (3, 7, '"]}'),
        (4, 1, '"]}'),
        (5, 1, "!ls"),
        (5, 99, '"]}'),
    ]
    places += [(7, 1, "[]}"), (8, 1, "z ="), (10, 5, "1\\n"), (11, 2, " = "), (13, 1, '{"c'), (14, 1, "[1]")]
    found = [(line, column, read.in_file(Position(line, column))) for line, column, _ in places]
    assert [(line, n, read.content[at.column - 1 :][:3]) for line, n, at in found] == places
    changed = read.with_text(read.text.replace("y = 22", "yy = 4\nw = 5"))
    assert changed.content[changed.in_file(Position(4, 1)).column - 1 :].startswith('w = 5"]')
    plain = Source("a.py", "x = 1\n")
    assert plain.in_file(Position(1, 3)) == Position(1, 3)
    assert Notebook.of([(1, "x")]).index(1, 1, 1) == 0


def test_deep_and_wide_notebooks_are_read() -> None:
    """Walks over what is no source without descending into it."""
    book = notebook(SETUP, LOOP)
    text = json.dumps(book)
    data = f'{{"x": {"[" * 800}{"]" * 800}, {text[1:]}'.encode()
    read = Source.from_bytes(data, "a.ipynb")
    assert sources(read.with_text(fix(read).text).encode()) == [SETUP, CLEARED]


def test_frames_over_several_cells() -> None:
    """Says in the frame where a cell begins."""
    book = source(
        SETUP, "def step(loss):\n    loss.backward()\n    loss.backward()", "step(model(batches[0][0]).sum() ** 2)"
    )
    text = renderer("text")(Result(tuple(lint(book)), {"a.ipynb": book}))
    assert "\n  : cell 2\n" in text
    assert "\n  : cell 3\n" in text


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("style", STYLES)
def test_fixing_touches_the_changed_lines_only(style: str, as_list: bool, ending: str) -> None:
    """Writes the new line in the file's own style, and every other character as it was."""
    before, after = (
        written(notebook("# title", SETUP, cell, "x = 3", as_list=as_list, zeta={"z": 1, "a": 2.50}), style)
        for cell in (LOOP, CLEARED)
    )
    if ending != "\n":
        before, after = (data.replace(b"\n", ending.encode()) for data in (before, after))
    book = Source.from_bytes(before, "a.ipynb")
    assert book.encode() == before
    result = fix(book)
    assert len(result.applied) == 1
    assert book.with_text(result.text).encode() == after


def test_one_line_grows() -> None:
    """Writes several lines in the place of a cell's only one."""
    book = source(SETUP, "print(1)")
    text = book.with_text(book.text.replace("print(1)", "import os\nprint(1)")).encode()
    assert sources(text)[1] == "import os\nprint(1)"
    assert json.loads(text)["cells"][1]["source"] == ["import os\n", "print(1)"]


def test_what_cannot_be_written_back_is_not_offered() -> None:
    """Has no fix that crosses the border of a cell or changes a magic."""
    loop = "for inputs, targets in batches:\n    loss = model(inputs).sum()\n    loss.backward()\n    optimizer.step()"
    timed = loop.replace("loss.backward", "%time loss.backward")
    assert [item.fix is None for cell in (loop, timed) for item in lint(source(SETUP, cell))] == [False, True]
    book = source("model.eval()", "for x in data:\n    %time y = model(x)", "import torch")
    edits = [
        ([(3, 1, 3, 1, "x\n")], True),
        ([(1, 1, 1, 1, "x\n")], False),
        ([(3, 1, 3, 1, "x")], False),
        ([(2, 1, 3, 1, "")], True),
        ([(2, 1, 4, 1, "")], False),
        ([(4, 1, 4, 1, "with x:\n"), (4, 1, 4, 1, "    ")], True),
        ([(5, 1, 5, 1, "    ")], False),
        ([(2, 1, 2, 1, "x\n"), (4, 1, 4, 1, "x\n")], False),
        ([(8, 1, 8, 1, "x\n")], True),
    ]
    assert book.notebook is not None
    assert [(given, wanted) for given, wanted in edits if book.notebook.admits(given) is not wanted] == []
    with pytest.raises(ValueError, match="no Python"):
        book.with_text(book.text.replace("y = model", "y = net")).encode()
    with pytest.raises(ValueError, match="borders"):
        book.with_text(book.text.replace("# cell 2\n", "")).encode()


def test_every_mended_fixture_as_a_notebook(mended: Case) -> None:
    """Finds the same in one cell, and makes the same of it."""
    book = Source.from_bytes(written(notebook("x = 1", mended.text)), "case.ipynb")
    plain = lint(Source("case.py", mended.text))
    assert [(book.place(d.span.start), d.name) for d in lint(book)] == [((2, d.span.start), d.name) for d in plain]
    result = fix(book, Settings(), unsafe=True)
    assert sources(book.with_text(result.text).encode())[1] == mended.golden


def test_the_command_line(tmp_path: Path) -> None:
    """Finds notebooks in folders, shows what would change in the file, and writes them."""
    file = tmp_path / "a.ipynb"
    file.write_bytes(written(notebook(SETUP, LOOP)))

    def adlint(*words: str) -> str:
        command = [sys.executable, "-m", "adlint", "check", "--no-cache", "-q", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    assert adlint("--output-format", "concise").startswith("a.ipynb:cell 2:4:5: error AD201")
    assert '+    "    optimizer.zero_grad()\\n",\n' in adlint("--diff")
    adlint("--fix")
    assert sources(file.read_bytes()) == [SETUP, CLEARED]
    assert adlint() == ""


def test_positions_outside_notebooks_stay() -> None:
    """Leaves a Python file's places and lines alone."""
    plain = Source("a.py", "x = 1\n# cell 1\ny = 2\n")
    assert plain.place(Position(3, 1)) == (None, Position(3, 1))
    assert plain.admits(())
    unknown = Span(Position(1, 1), Position(1, 2))
    item = Diagnostic("AD201", "n", "m", *_levels(), "b.py", unknown)
    assert renderer("concise")(Result((item,), {}, summary=False)) == "b.py:1:1: error AD201 n: m\n"


def _levels() -> tuple[Any, Any]:
    from adlint.diagnostics import Certainty, Severity

    return Severity.ERROR, Certainty.DEFINITE


MAGICS = [
    "%matplotlib inline",
    "!ls -l | head",
    "%%bash\nfor x in *; do echo $x; done",
    "%time",
    "?print",
    "a = !ls",
    "",
]
WRONG = [
    LOOP,
    "%%time\nmodel.eval()\nfor inputs, _ in batches:\n    print(model(inputs).argmax(1))",
    "loss = model(batches[0][0]).sum()\nloss.backward()\nloss.backward()",
]
POOL = [
    *MAGICS,
    *WRONG,
    SETUP,
    CLEARED,
    ODD,
    "def f(x):\n    %time x\n    return x",
    "print(",
    "  x = 1",
    "\n  %%time\n  x = 1\n y",
    ">>> x = 1\n...",
    "x = 1\r\ny = 2\r\n",
    "x = 1\ry = 2",
    "x = '\ud800'",
    "# cell 1\n# cell 2",
    "x = 1\n\n\n",
]
SOURCES = st.one_of(
    st.sampled_from(POOL).map(lambda text: text.splitlines(keepends=True)),
    st.sampled_from(POOL),
    st.sampled_from(POOL).map(lambda text: [text[:5], "", text[5:]]),
    st.sampled_from([None, 3, [1], [[]], {}, [""], [], {"source": "x"}]),
)
CELLS = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["code", "code", "code", "markdown", "raw", "x", None])},
    optional={
        "source": SOURCES,
        "metadata": st.sampled_from([{}, None, {"vscode": {"languageId": "sql"}}, {"source": ["x"]}]),
        "outputs": st.sampled_from([[], [{"text": ["]}", '\\\\"\u00e9[']}], [[[{"source": [{}]}]]]]),
    },
)
LAYOUTS = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 4, "\t"]),
        "ensure_ascii": st.booleans(),
        "sort_keys": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : "), (",\t", ":\r\n")]),
    }
)


@st.composite
def books(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a notebook in some layout, most often a sound one."""
    cells = draw(st.lists(CELLS | st.sampled_from([None, 3, {}]), max_size=6))
    if draw(st.booleans()):
        as_list = draw(st.booleans())
        cells[:0] = notebook("# title", SETUP, draw(st.sampled_from(MAGICS)), as_list=as_list)["cells"]
        cells += notebook(draw(st.sampled_from(WRONG)), as_list=as_list)["cells"]
    book = {
        "nbformat": draw(st.sampled_from([4, 4, 4, 4, 3])),
        "cells": cells,
        "metadata": {"cells": [{"source": "x"}]},
    }
    text = json.dumps(book, **draw(LAYOUTS))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text.encode("utf-8", "surrogatepass")


def survives(data: bytes) -> None:
    """Read, find and mend: nothing is lost, and nothing but sources of code cells changes."""
    try:
        book = Source.from_bytes(data, "a.ipynb")
    except Unreadable:
        return
    assert book.encode() == data
    for item in lint(book):
        assert item.code != "AD003", item.message
        for place in (item.span.start, item.span.end):
            book.in_file(place)
    mended = book.with_text(fix(book, unsafe=True).text).encode()
    old, new = json.loads(data.decode("utf-8-sig")), json.loads(mended.decode("utf-8-sig"))
    for was, now in zip(old["cells"], new["cells"], strict=True):
        if was != now:
            assert was["cell_type"] == "code"
            assert type(was.pop("source")) is type(now.pop("source"))
    assert old == new


@examples(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=books())
def test_any_notebook(data: bytes) -> None:
    """Reads whatever JSON has cells, in every layout."""
    survives(data)


@examples(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=books(), at=st.integers(0, 10_000), cut=st.integers(0, 8), put=st.binary(max_size=4))
def test_any_bytes(data: bytes, at: int, cut: int, put: bytes) -> None:
    """Reads a damaged file, or says that it cannot."""
    at %= len(data) + 1
    survives(data[:at] + put + data[at + cut :])


@examples(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(choice=st.data())
def test_borders_of_cells_mean_nothing(wrong_texts: list[str], choice: st.DataObject) -> None:
    """Finds the same wherever a program is cut into cells, and whatever cells stand between that are no Python."""
    text = choice.draw(st.sampled_from(wrong_texts))
    lines = text.split("\n")
    tree = ast.parse(text).body
    tops = [min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", []))]) for n in tree[1:]]
    borders = sorted(choice.draw(st.sets(st.sampled_from(tops), max_size=5))) if tops else []
    cells: list[str] = []
    firsts: dict[int, int] = {}
    for first, end in zip([1, *borders], [*borders, len(lines) + 1], strict=True):
        cells += choice.draw(st.lists(st.sampled_from([*MAGICS, "# title"]), max_size=2))
        cells.append("\n".join(lines[first - 1 : end - 1]))
        firsts[len(cells)] = first
    book = source(*cells)
    found = []
    for item in lint(book):
        number, place = book.place(item.span.start)
        found.append((firsts[number or 0] + place.line - 1, place.column, item.name))
    plain = lint(Source("case.py", text))
    assert sorted(found) == sorted((item.span.start.line, item.span.start.column, item.name) for item in plain)


@pytest.fixture(scope="module")
def wrong_texts() -> list[str]:
    """The wrong fixtures that say nothing to adlint in comments and are cut at the same lines by everyone."""
    from conftest import cases

    texts = [case.text for case in cases() if case.wrong and "adlint:" not in case.text]
    return [text for text in texts if ";" not in text and "\f" not in text]
