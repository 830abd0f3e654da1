"""The language server: what an editor is told, when, and that nothing an editor sends brings it down."""

from __future__ import annotations

import gc
import io
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import protocol
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from protocol import Client, Message, applied, covered, edits_of, frame, names

from adlint import linter
from adlint.guard import in_deep_stack
from adlint.server import wire
from adlint.server.session import Session
from adlint.source import Source

UNCLEARED = """\
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    loss = model(torch.ones(2, 3)).sum()
    loss.backward()
    optimizer.step()
"""
TWICE = """\
import torch

x = torch.ones(2, requires_grad=True)
loss = (x * x).sum()
loss.backward()
loss.backward()
"""
SEVERAL = """\
import torch


def first(x):
    loss = (x * x).sum()
    loss.backward()
    loss.backward()


def second(x):
    twin = (x * x).sum()
    twin.backward()
    twin.backward()
"""
LONG = "import torch\n\n\n" + "\n\n".join(
    f"def train{number}():\n" + "".join(f"    {line}\n" for line in UNCLEARED.splitlines()[2:]) for number in range(40)
)
"""A text that takes long enough to be interrupted."""

A = "file:///nowhere/a.py"
PULLS = {"textDocument": {"diagnostic": {}}}
RESOLVES = {"textDocument": {"codeAction": {"resolveSupport": {"properties": ["edit"]}}}}
VERSIONED = {"workspace": {"workspaceEdit": {"documentChanges": True}}}
ASKED = {"workspace": {"configuration": True}}
PARSE, REQUEST, METHOD, PARAMS, EARLY = -32700, -32600, -32601, -32602, -32002
INTERNAL = -32603
CANCELLED, MODIFIED, OUTDATED = -32800, -32801, -32802


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    """Let the garbage collector run again, which a session stops; spare it what the tests have loaded."""
    gc.freeze()
    yield
    gc.enable()


@pytest.fixture
def client() -> Iterator[Client]:
    with Client.beside() as found:
        yield found


def uri_of(path: Path) -> str:
    return path.as_uri()


def fixed(text: str, name: str = "", unsafe: bool = False, **options: Any) -> str:
    """Return what the library makes of a text by fixing one rule, or all."""
    wanted = lambda item: name in ("", item.name)  # noqa: E731
    return linter.fix(Source("a.py", text), unsafe=unsafe, wanted=wanted, **options).text


# The conversation begins and ends


def test_exit_after_shutdown() -> None:
    """Answers, says goodbye and exits with 0; speaks nothing but frames."""
    with Client.spawned() as (client, process):
        result = client.begin()
        assert result["serverInfo"]["name"] == "adlint"
        client.open(A, UNCLEARED)
        assert names(client.pushed(A)) == [(6, "AD201")]
        client.leave()
        assert process.wait(10) == 0


@pytest.mark.parametrize("polite", [True, False])
def test_exit_without_shutdown(polite: bool) -> None:
    """Exits with 1 if the editor leaves, or is gone, without a shutdown."""
    with Client.spawned() as (client, process):
        client.begin()
        if polite:
            client.notify("exit")
        else:
            client.hang_up()
        assert process.wait(10) == 1


def test_end_of_input_after_shutdown(client: Client) -> None:
    """Without `exit`, the end of the input is no proper one."""
    client.begin()
    client.ask("shutdown")
    client.hang_up()
    wait_for(lambda: client.exit is not None)
    assert client.exit == 1


def test_end_of_input_while_linting() -> None:
    """Abandons a long analysis when the editor is gone."""
    with Client.spawned() as (client, process):
        client.begin()
        client.open(A, LONG * 8)
        time.sleep(0.5)
        client.hang_up()
        assert process.wait(5) == 1


def test_order_of_the_conversation(client: Client) -> None:
    """Refuses requests before `initialize`, a second one, and everything after `shutdown`."""
    assert client.refused("textDocument/hover", {}) == EARLY
    client.open(A, UNCLEARED)
    client.begin(PULLS)
    assert client.refused("initialize", {"capabilities": {}}) == REQUEST
    assert client.pull(A) == {"kind": "full", "items": []}  # what was sent too early is not open
    assert client.refused("nothing/known") == METHOD
    client.notify("nothing/known")
    client.ask("shutdown")
    assert client.refused("textDocument/diagnostic", {"textDocument": {"uri": A}}) == REQUEST
    client.notify("exit")
    wait_for(lambda: client.exit is not None)
    assert client.exit == 0


def test_nothing_is_sent_after_shutdown(client: Client) -> None:
    """Abandons an analysis at `shutdown` and does not begin another."""
    client.begin()
    client.open(A, LONG)
    time.sleep(0.2)
    client.ask("shutdown")
    time.sleep(0.8)
    assert "method" not in client.log[-1]


def wait_for(condition: Any, patience: float = 10.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


# Positions


@pytest.mark.parametrize(
    ("offered", "agreed"),
    [
        (None, "utf-16"),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-32", "utf-8"], "utf-32"),
        (["utf-7", 5], "utf-16"),
        ("utf-8", "utf-16"),
    ],
)
def test_position_encodings(client: Client, offered: Any, agreed: str) -> None:
    """Counts what was agreed on, in findings and in edits, with characters of all widths before them."""
    capabilities = {"general": {"positionEncodings": offered}, **VERSIONED}
    assert client.begin(capabilities)["capabilities"]["positionEncoding"] == agreed
    text = TWICE.replace("loss.backward()\n" * 2, "loss.backward()\nn = '😋é語'; loss.backward(); k = '😋'\n")
    client.open(A, text)
    (found,) = client.pushed(A)
    assert covered(text, found["range"], agreed) == "loss.backward()"
    (fix,) = client.actions(A, 5, ["source.fixAll"])
    assert applied(text, edits_of(fix)[A], agreed) == fixed(text) != text
    silence = next(one for one in client.actions(A, 5) if "silence" in one["title"])
    client.change(A, applied(text, edits_of(silence)[A], agreed), 2)
    assert client.pushed(A, 2) == []


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings(client: Client, ending: str) -> None:
    """Keeps the line endings of a text."""
    text = SEVERAL.replace("\n", ending)
    client.begin(VERSIONED)
    client.open(A, text)
    found = client.pushed(A)
    assert names(found) == [(6, "AD101"), (12, "AD101")]
    assert [covered(text, one["range"]) for one in found] == ["loss.backward()", "twin.backward()"]
    (fix,) = client.actions(A, 0, ["source.fixAll"])
    assert applied(text, edits_of(fix)[A]) == fixed(text) != text


def test_characters_that_end_no_line(client: Client) -> None:
    """A form feed or a line separator ends no line of an editor's."""
    text = TWICE.replace("x = ", "\f\nn = 'a\u2028b\u0085c\x0bd'\nx = ")
    client.begin(VERSIONED)
    client.open(A, text)
    (found,) = client.pushed(A)
    assert found["range"]["start"]["line"] == 7
    assert covered(text, found["range"]) == "loss.backward()"
    (fix,) = client.actions(A, 7, ["source.fixAll"])
    assert applied(text, edits_of(fix)[A]) == fixed(text) != text


def test_a_byte_order_mark_stays(client: Client) -> None:
    """Takes a mark at the beginning for none of the program."""
    client.begin(VERSIONED)
    client.open(A, "\ufeff" + TWICE)
    assert names(client.pushed(A)) == [(5, "AD101")]
    (fix,) = client.actions(A, 5, ["source.fixAll"])
    assert applied("\ufeff" + TWICE, edits_of(fix)[A]) == "\ufeff" + fixed(TWICE)


@pytest.mark.parametrize("text", ["", "\n", "\r", "import torch", UNCLEARED.rstrip("\n")])
def test_positions_past_the_end(client: Client, text: str) -> None:
    """Takes what lies outside of a text for its end."""
    client.begin()
    client.open(A, text)
    client.pushed(A)
    far = {"line": 10**6, "character": 10**6}
    assert client.ask("textDocument/hover", {"textDocument": {"uri": A}, "position": far}) is None
    given = {"textDocument": {"uri": A}, "range": {"start": far, "end": far}, "context": {"diagnostics": []}}
    assert isinstance(client.ask("textDocument/codeAction", given), list)


# Diagnostics


def test_push(client: Client) -> None:
    """Sends what is found, with version, links, and the fix, to an editor that does not ask."""
    answer = client.begin({"textDocument": {"publishDiagnostics": {"relatedInformation": True}}})
    assert "diagnosticProvider" not in answer["capabilities"]
    client.open(A, TWICE, version=7)
    (found,) = client.pushed(A, 7)
    (item,) = linter.lint(Source("/nowhere/a.py", TWICE))
    assert found["severity"] == 1
    assert (found["code"], found["source"]) == ("AD101", "adlint")
    assert found["message"] == f"double-backward: {item.message}"
    assert found["codeDescription"]["href"] == item.url
    assert [r["message"] for r in found["relatedInformation"]] == [r.message for r in item.related]
    assert {r["location"]["uri"] for r in found["relatedInformation"]} == {A}
    assert covered(TWICE, found["relatedInformation"][1]["location"]["range"]) == "x * x"
    data = found["data"]
    assert (data["version"], data["applicability"]) == (7, "safe")
    assert applied(TWICE, data["edits"]) == fixed(TWICE)


def test_related_information_has_to_be_announced(client: Client) -> None:
    client.begin()
    client.open(A, TWICE)
    (found,) = client.pushed(A)
    assert "relatedInformation" not in found


def test_pull(client: Client) -> None:
    """Answers an editor that asks, tells it what has not changed, and sends it nothing."""
    answer = client.begin(PULLS)
    assert answer["capabilities"]["diagnosticProvider"]["identifier"] == "adlint"
    client.open(A, UNCLEARED)
    first = client.pull(A)
    assert first["kind"] == "full"
    assert names(first["items"]) == [(6, "AD201")]
    again = client.pull(A, first["resultId"])
    assert again == {"kind": "unchanged", "resultId": first["resultId"]}
    client.change(A, TWICE, 2)
    other = client.pull(A, first["resultId"])
    assert names(other["items"]) == [(5, "AD101")]
    assert other["resultId"] != first["resultId"]
    client.close(A)
    assert client.pull(A) == {"kind": "full", "items": []}
    assert {params["uri"] for params in client.pushes(A)} <= {A}
    assert all(params["diagnostics"] == [] for params in client.pushes(A))


def test_closing_clears(client: Client) -> None:
    client.begin()
    client.open(A, UNCLEARED)
    assert client.pushed(A)
    client.close(A)
    assert client.pushed(A) == []
    assert client.refused("textDocument/diagnostic", {"textDocument": {}}) == PARAMS


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "vscode-vfs://github/x/a.py", "file://host/share/a.py"])
def test_texts_that_are_no_files(client: Client, uri: str) -> None:
    """Lints what has no place on the disk, too."""
    client.begin(VERSIONED)
    client.open(uri, UNCLEARED)
    assert names(client.pushed(uri)) == [(6, "AD201")]
    (fix,) = client.actions(uri, 6, ["source.fixAll"])
    assert applied(UNCLEARED, edits_of(fix)[uri]) == fixed(UNCLEARED)


def test_other_languages_are_left_alone(client: Client) -> None:
    client.begin()
    client.open(A, UNCLEARED, language="cython")
    client.settle()
    time.sleep(0.1)
    assert not client.pushes(A)


def test_ranged_changes(client: Client) -> None:
    """Applies changes of parts one after the other, as of whole texts."""
    client.begin(PULLS)
    client.open(A, "😋\n" + UNCLEARED)
    at = [(0, 0, 0, 2, "#"), (7, 0, 7, 0, "    optimizer.zero_grad()\n"), (99, 0, 99, 0, "# end")]
    changes = [
        {"range": {"start": {"line": a, "character": b}, "end": {"line": c, "character": d}}, "text": text}
        for a, b, c, d, text in at
    ]
    client.notify("textDocument/didChange", {"textDocument": {"uri": A, "version": 2}, "contentChanges": changes})
    assert client.pull(A)["items"] == []


def test_typed_changes_are_linted_once(client: Client) -> None:
    """Waits until nobody types, and tells of the last version only."""
    client.begin()
    client.open(A, UNCLEARED)
    client.pushed(A)
    for version in range(2, 40):
        client.change(A, UNCLEARED + f"# {version}\n", version)
    client.pushed(A, 39)
    told = [params["version"] for params in client.pushes(A)]
    assert len(told) < 10
    assert told == sorted(told)


def test_outdated_analyses_are_abandoned(client: Client) -> None:
    """Gives up a long analysis when the text changes, and answers meanwhile."""
    client.begin()
    client.open(A, LONG * 8)
    time.sleep(0.4)
    began = time.monotonic()
    assert client.refused("nothing/known") == METHOD
    client.change(A, UNCLEARED, 2)
    assert names(client.pushed(A, 2)) == [(6, "AD201")]
    assert time.monotonic() - began < 1.5
    assert [params["version"] for params in client.pushes(A)] == [2]


def test_a_request_goes_before_a_push(client: Client) -> None:
    """Lints the text that is asked about before others."""
    client.begin()
    client.open(A, UNCLEARED)
    client.pushed(A)
    client.open("file:///nowhere/long.py", LONG * 8)
    time.sleep(0.3)
    began = time.monotonic()
    assert client.actions(A, 6)
    assert time.monotonic() - began < 1.5
    client.close("file:///nowhere/long.py")


@pytest.mark.parametrize("method", ["textDocument/diagnostic", "textDocument/codeAction"])
def test_cancelled_requests(client: Client, method: str) -> None:
    """Answers that a request was cancelled, be it under way or waiting."""
    client.begin(PULLS)
    client.open(A, LONG * 8)
    ends = {end: {"line": 0, "character": 0} for end in ("start", "end")}
    asked = {"textDocument": {"uri": A}, "range": ends, "context": {"diagnostics": []}}
    first, second = client.request(method, asked), client.request(method, asked)
    time.sleep(0.2)
    began = time.monotonic()
    client.notify("$/cancelRequest", {"id": second})
    client.notify("$/cancelRequest", {"id": first})
    assert client.answer(first)["error"]["code"] == CANCELLED
    assert client.answer(second)["error"]["code"] == CANCELLED
    assert time.monotonic() - began < 1.5
    client.change(A, UNCLEARED, 2)
    assert names(client.pull(A)["items"]) == [(6, "AD201")]


def test_cancelling_what_is_no_request(client: Client) -> None:
    """Ids that mean nothing cancel nothing."""
    client.begin()
    client.open(A, UNCLEARED)
    client.pushed(A)
    for name in (None, [], {}, 77, "x"):
        client.notify("$/cancelRequest", {"id": name})
    client.notify("$/cancelRequest", {})
    client.change(A, LONG, 2)
    time.sleep(0.2)
    assert client.refused("nothing/known") == METHOD
    before = time.monotonic()
    client.pushed(A, 2)
    assert time.monotonic() - before < 10


def test_outdated_requests(client: Client) -> None:
    """Tells an editor that asked for an old text to ask again."""
    client.begin(PULLS)
    client.open(A, LONG * 8)
    ends = {end: {"line": 0, "character": 0} for end in ("start", "end")}
    pull = client.request("textDocument/diagnostic", {"textDocument": {"uri": A}})
    menu = client.request(
        "textDocument/codeAction", {"textDocument": {"uri": A}, "range": ends, "context": {"diagnostics": []}}
    )
    time.sleep(0.2)
    client.change(A, UNCLEARED, 2)
    error = client.answer(pull)["error"]
    assert (error["code"], error["data"]) == (OUTDATED, {"retriggerRequest": False})
    assert client.answer(menu)["error"]["code"] == MODIFIED


def test_only_on_saving(client: Client) -> None:
    """With `onSave`, findings keep to their lines while somebody types, and are looked up anew on saving."""
    client.begin(PULLS, initializationOptions={"settings": {"run": "onSave"}})
    client.open(A, UNCLEARED)
    assert names(client.pull(A)["items"]) == [(6, "AD201")]
    client.change(A, "# new\n" + UNCLEARED, 2)
    (kept,) = client.pull(A)["items"]
    assert kept["range"]["start"]["line"] == 7
    assert kept["message"].endswith("(as last saved)")
    assert "data" not in kept
    client.change(A, "# new\n" + fixed(UNCLEARED), 3)
    client.save(A)
    assert client.pull(A)["items"] == []


def test_only_on_saving_pushes(client: Client) -> None:
    client.begin(initializationOptions={"settings": {"run": "onSave"}})
    client.open(A, UNCLEARED)
    assert client.pushed(A)
    client.change(A, fixed(UNCLEARED), 2)
    client.settle()
    time.sleep(0.2)
    assert len(client.pushes(A)) == 1
    client.save(A)
    assert client.pushed(A, 2) == []


def test_broken_code_keeps_findings(client: Client) -> None:
    """Findings outlive a text that does not parse, with a note and at their lines; they come back without one."""
    client.begin()
    client.open(A, SEVERAL)
    before = client.pushed(A)
    assert names(before) == [(6, "AD101"), (12, "AD101")]
    client.change(A, SEVERAL.replace("    twin = (", "    y = (\n    twin = ("), 2)
    error, *kept = client.pushed(A, 2)
    assert error["code"] == "AD002"
    assert names(kept) == [(6, "AD101"), (13, "AD101")]
    assert all("unreadable" in one["message"] and "data" not in one for one in kept)
    client.change(A, SEVERAL.replace("    twin = (", "    y = (\n\n    twin = ("), 3)
    _, *kept = client.pushed(A, 3)
    assert names(kept) == [(6, "AD101"), (14, "AD101")]
    assert all(one["message"].count("unreadable") == 1 for one in kept)
    client.change(A, SEVERAL.replace("    twin = (", "    y = 1\n\n    twin = ("), 4)
    after = client.pushed(A, 4)
    assert [one["message"] for one in after][:1] == [one["message"] for one in before][:1]
    assert names(after) == [(6, "AD101"), (14, "AD101")]


@pytest.mark.parametrize(
    "text", ["x = '\0'\n" + TWICE, TWICE + "y = '\ud800'\n", "\ud800", "(" * 5000, "if 1:\n" * 500]
)
def test_texts_that_no_parser_takes(client: Client, text: str) -> None:
    """Says so, and goes on."""
    client.begin()
    client.open(A, "import torch  # backward\n" + text)
    assert {one["code"] for one in client.pushed(A)} <= {"AD001", "AD002", "AD101"}
    client.change(A, TWICE, 2)
    assert names(client.pushed(A, 2)) == [(5, "AD101")]


# Files of one project


HELPERS = "import torch\n\n\ndef prepare(optimizer):\n    optimizer.zero_grad()\n"
CALLS = UNCLEARED.replace("import torch\n", "import torch\nfrom helpers import prepare\n").replace(
    "    loss = ", "    prepare(optimizer)\n    loss = "
)


@pytest.mark.parametrize("pulls", [True, False])
def test_unsaved_modules_are_seen(client: Client, tmp_path: Path, pulls: bool) -> None:
    """What is imported is taken as it is in the editor; when that changes, so does what depends on it."""
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "main.py").write_text(CALLS)
    main, helpers = uri_of(tmp_path / "main.py"), uri_of(tmp_path / "helpers.py")
    client.begin(PULLS if pulls else {}, rootUri=uri_of(tmp_path))
    version = 1

    def now() -> list[tuple[int, str]]:
        return names(client.pull(main)["items"] if pulls else client.pushed(main))

    client.open(main, CALLS)
    assert now() == []
    client.open(helpers, HELPERS)
    if not pulls:
        now()
    for text, wanted in ((HELPERS.replace("optimizer.zero_grad()", "pass"), [(8, "AD201")]), (HELPERS, [])):
        version += 1
        client.change(helpers, text, version)
        assert now() == wanted
    client.change(helpers, HELPERS.replace("optimizer.zero_grad()", "pass"), 9)
    assert now() == [(8, "AD201")]
    client.close(helpers)  # unsaved: the file on the disk counts again
    assert now() == []


def test_related_places_in_other_files(client: Client, tmp_path: Path) -> None:
    """Points into the other file, by its own lines."""
    for file in (Path(__file__).parent / "projects" / "separate_losses").glob("*.py"):
        shutil.copy(file, tmp_path)
    client.begin({"textDocument": {"publishDiagnostics": {"relatedInformation": True}}}, rootUri=uri_of(tmp_path))
    for file in tmp_path.glob("*.py"):
        client.open(uri_of(file), file.read_text())
    for file in tmp_path.glob("*.py"):
        for found in client.pushed(uri_of(file)):
            for related in found.get("relatedInformation", ()):
                place = related["location"]
                text = (tmp_path / place["uri"].rpartition("/")[2]).read_text()
                assert covered(text, place["range"])


# Code actions


def action(client: Client, line: int, title: str, uri: str = A) -> Message:
    return next(one for one in client.actions(uri, line) if title in one["title"])


def test_quick_fix(client: Client) -> None:
    """Offers the fix of a finding as the library makes it, preferred, bound to the version."""
    client.begin(VERSIONED)
    client.open(A, SEVERAL, version=3)
    client.pushed(A)
    fix = action(client, 6, "drop the repeated")
    assert (fix["kind"], fix["isPreferred"]) == ("quickfix", True)
    assert names(fix["diagnostics"]) == [(6, "AD101")]
    assert fix["edit"]["documentChanges"][0]["textDocument"] == {"uri": A, "version": 3}
    one = linter.fix(Source("a.py", SEVERAL), wanted=lambda d: d.span.start.line == 7, rounds=1).text
    assert applied(SEVERAL, edits_of(fix)[A]) == one != fixed(SEVERAL)
    every = action(client, 6, "fix all double-backward")
    assert applied(SEVERAL, edits_of(every)[A]) == fixed(SEVERAL)
    assert "isPreferred" not in every


def test_fix_all_of_one_rule(client: Client) -> None:
    """Mends the findings of one rule and leaves the others."""
    text = SEVERAL + UNCLEARED.removeprefix("import torch\n")
    client.begin()
    client.open(A, text)
    assert {code for _, code in names(client.pushed(A))} == {"AD101", "AD201"}
    fix = action(client, 6, "fix all double-backward")
    assert applied(text, edits_of(fix)[A]) == fixed(text, "double-backward") != fixed(text)
    (whole,) = client.actions(A, 0, ["source.fixAll"])
    assert (whole["kind"], whole["title"]) == ("source.fixAll.adlint", "adlint: fix all")
    assert applied(text, edits_of(whole)[A]) == fixed(text)


@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        (None, {"quickfix", "source.fixAll.adlint"}),
        ([], set()),
        (["quickfix"], {"quickfix"}),
        (["source"], {"source.fixAll.adlint"}),
        (["source.fixAll.adlint"], {"source.fixAll.adlint"}),
        (["source.fixAll.other"], set()),
        (["refactor", 7], set()),
        ([""], {"quickfix", "source.fixAll.adlint"}),
    ],
)
def test_only_some_kinds(client: Client, only: Any, kinds: set[str]) -> None:
    client.begin()
    client.open(A, SEVERAL)
    ends = {end: {"line": 6, "character": 0} for end in ("start", "end")}
    context = {"diagnostics": [], "only": only}
    found = client.ask("textDocument/codeAction", {"textDocument": {"uri": A}, "range": ends, "context": context})
    assert {one["kind"] for one in found} == kinds


def test_unsafe_fixes_are_marked() -> None:
    """Offers an unsafe fix with a warning and not as preferred; all of them only to whom wants that."""
    unsafe = next(text for text in fixtures() if fixed(text) == text != fixed(text, unsafe=True))
    for wanted in (False, True):
        with Client.beside() as client:
            client.begin(initializationOptions={"settings": {"unsafeFixes": wanted}})
            client.open(A, unsafe)
            line = client.pushed(A)[0]["range"]["start"]["line"]
            offered = client.actions(A, line)
            assert not any(one.get("isPreferred") for one in offered)
            assert any(one["title"].endswith("(unsafe: needs a look)") for one in offered if "edit" in one)
            whole = [one for one in offered if one["kind"] == "source.fixAll.adlint"]
            assert len(whole) == wanted
            if wanted:
                assert applied(unsafe, edits_of(whole[0])[A]) == fixed(unsafe, unsafe=True)


def fixtures() -> Iterator[str]:
    """Yield programs that are wrong in various ways."""
    for file in sorted((Path(__file__).parent / "fixtures").glob("s*/*/*.py")):
        text = file.read_text()
        if "# want" in text and ".fixed" not in file.name and len(text) < 1500:
            yield text


SILENCED = [
    ("loss.backward()\n", "loss.backward()  # adlint: ignore[double-backward]\n"),
    ("loss.backward()  # why\n", "loss.backward()  # why  # adlint: ignore[double-backward]\n"),
    ("loss.backward()  # adlint: ignore[AD201]\n", "loss.backward()  # adlint: ignore[AD201, double-backward]\n"),
    ("loss.backward(\n)\n", "loss.backward(\n)  # adlint: ignore[double-backward]\n"),
    ("loss.backward()   ", "loss.backward()  # adlint: ignore[double-backward]"),
]


@pytest.mark.parametrize(("last", "silenced"), SILENCED)
def test_silencing(client: Client, last: str, silenced: str) -> None:
    """Writes a comment where it works, or one more name into the one that is there; then the finding is gone."""
    text = TWICE.removesuffix("loss.backward()\n") + last
    client.begin()
    client.open(A, text)
    assert "AD101" in dict(map(reversed, names(client.pushed(A))))  # type: ignore[arg-type]
    after = applied(text, edits_of(action(client, 5, "silence double-backward"))[A])
    assert after == TWICE.removesuffix("loss.backward()\n") + silenced
    client.change(A, after, 2)
    assert "AD101" not in {code for _, code in names(client.pushed(A, 2))}


def test_explaining(client: Client) -> None:
    """Offers a command; running it shows a message and answers with Markdown."""
    client.begin()
    client.open(A, TWICE)
    command = action(client, 5, "explain")["command"]
    assert (command["command"], command["arguments"]) == ("adlint.explainRule", ["double-backward"])
    result = client.ask("workspace/executeCommand", command)
    assert "double-backward" in result
    assert "AD101" in client.notified("window/showMessage")["message"]
    assert client.ask("workspace/executeCommand", {"command": "adlint.explainRule", "arguments": ["AD101"]}) == result
    for wrong in ([], ["nothing"], None, [5]):
        assert client.refused("workspace/executeCommand", {**command, "arguments": wrong}) == PARAMS
    assert client.refused("workspace/executeCommand", {"command": "rm", "arguments": ["double-backward"]}) == PARAMS


def test_an_editor_that_shows_explanations(client: Client) -> None:
    client.begin(initializationOptions={"showsExplanations": True})
    client.ask("workspace/executeCommand", {"command": "adlint.explainRule", "arguments": ["AD101"]})
    assert not [m for m in client.log if m.get("method") == "window/showMessage"]


def test_resolving(client: Client) -> None:
    """Makes the edit when an action is chosen, for an editor that can ask then; for an old text it refuses."""
    client.begin({**RESOLVES, **VERSIONED})
    client.open(A, SEVERAL)
    client.pushed(A)
    offered = [one for one in client.actions(A, 6) if "data" in one]
    assert len(offered) == 3
    assert not any("edit" in one for one in offered)
    with Client.beside() as eager:
        eager.begin(VERSIONED)
        eager.open(A, SEVERAL)
        eager.pushed(A)
        edits = {one["title"]: one["edit"] for one in eager.actions(A, 6) if "edit" in one}
    for one in offered:
        resolved = client.ask("codeAction/resolve", one)
        assert resolved == {**one, "edit": edits[one["title"]]}
    client.change(A, SEVERAL + "\n", 2)
    assert client.refused("codeAction/resolve", offered[0]) == MODIFIED
    client.close(A)
    assert client.refused("codeAction/resolve", offered[0]) == MODIFIED
    assert client.ask("codeAction/resolve", {"title": "another's"}) == {"title": "another's"}
    for wrong in ({"uri": A}, {"uri": 5}, {**offered[0]["data"], "span": ["x"]}, {**offered[0]["data"], "span": 7}):
        assert client.refused("codeAction/resolve", {**offered[0], "data": wrong}) == PARAMS


def test_editors_without_document_changes(client: Client) -> None:
    client.begin()
    client.open(A, TWICE)
    assert set(action(client, 5, "drop the repeated")["edit"]) == {"changes"}


def test_actions_for_what_is_not_open(client: Client) -> None:
    client.begin()
    assert client.actions(A, 5) == []


def test_hover(client: Client) -> None:
    """Explains what a suppression comment silences, and nothing else."""
    text = TWICE.removesuffix("\n") + "  # adlint: ignore[double-backward, nothing]\nx = 1  # adlint: ignore\n"
    client.begin()
    client.open(A, text)

    def hover(line: int, column: int) -> Any:
        place = {"line": line, "character": column}
        return client.ask("textDocument/hover", {"textDocument": {"uri": A}, "position": place})

    line = text.splitlines()[5]
    shown = hover(5, line.index("double"))
    assert covered(text, shown["range"]) == "double-backward"
    assert "AD101" in shown["contents"]["value"]
    assert "no rule `nothing`" in hover(5, line.index("nothing"))["contents"]["value"]
    assert "AD101" in hover(5, line.index("ignore"))["contents"]["value"]
    assert "every rule" in hover(6, 10)["contents"]["value"]
    assert hover(5, 2) is None
    assert hover(0, 0) is None


# Settings and files


def trained(folder: Path, name: str = "a.py") -> str:
    """Write a program with a finding and return its URI."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(UNCLEARED)
    return uri_of(path)


IGNORES = {"ignore": ["missing-zero-grad"]}


def test_initialization_options(client: Client, tmp_path: Path) -> None:
    """Settings hold for everything, and what is wrong with them is told."""
    uri = trained(tmp_path)
    client.begin(rootUri=uri_of(tmp_path), initializationOptions={"settings": {**IGNORES, "run": "never", "enable": 5}})
    told = {client.notified("window/showMessage")["message"] for _ in range(2)}
    assert any("adlint.run" in text for text in told)
    assert any("adlint.enable" in text for text in told)
    client.open(uri, UNCLEARED)
    assert client.pushed(uri) == []


def test_configuration_of_folders(client: Client, tmp_path: Path) -> None:
    """Asks for the settings of each folder, and again when they change."""
    one, two = trained(tmp_path / "one"), trained(tmp_path / "two")
    wishes: dict[str, object] = {"two": IGNORES}
    client.settings = lambda item: wishes.get(item.get("scopeUri", "").rpartition("/")[2])
    folders = [{"uri": uri_of(tmp_path / name), "name": name} for name in ("one", "two")]
    client.begin(ASKED, workspaceFolders=folders)
    client.wait(lambda m: m.get("method") == "workspace/configuration")
    client.settle()
    client.open(one, UNCLEARED)
    client.open(two, UNCLEARED)
    assert names(client.pushed(one)) == [(6, "AD201")]
    assert client.pushed(two) == []
    wishes |= {"one": {"enable": False}, "two": {}}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    assert client.pushed(one) == []
    assert names(client.pushed(two)) == [(6, "AD201")]
    event = {"added": [], "removed": folders[:1]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert names(client.pushed(one)) == [(6, "AD201")]
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": folders[:1], "removed": []}})
    wait_for(lambda: client.pushes(one)[-1]["diagnostics"] == [])


@pytest.mark.parametrize("wrap", [True, False])
def test_configuration_that_is_sent(client: Client, wrap: bool) -> None:
    """Takes the settings that an editor sends with the change if it cannot be asked."""
    client.begin()
    client.open(A, UNCLEARED)
    assert client.pushed(A)
    client.notify("workspace/didChangeConfiguration", {"settings": {"adlint": IGNORES} if wrap else IGNORES})
    assert client.pushed(A) == []
    client.notify("workspace/didChangeConfiguration", {"settings": {"adlint": {}}})
    assert client.pushed(A)


def test_registrations(client: Client) -> None:
    """Asks to be told of files and settings where an editor can do that."""
    dynamic = {"dynamicRegistration": True}
    client.begin({"workspace": {"didChangeWatchedFiles": dynamic, "didChangeConfiguration": dynamic}})
    asked = [client.wait(lambda m: m.get("method") == "client/registerCapability") for _ in range(2)]
    methods = [one["params"]["registrations"][0]["method"] for one in asked]
    assert methods == ["workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration"]


@pytest.mark.parametrize("event", [True, False])
def test_settings_files(client: Client, tmp_path: Path, event: bool) -> None:
    """A changed settings file holds at once if the editor tells of it, else from the next change of the text on."""
    uri, version = trained(tmp_path), 1
    client.begin(rootUri=uri_of(tmp_path))
    client.open(uri, UNCLEARED)
    assert client.pushed(uri)
    for text, wanted in (('ignore = ["AD201"]', 0), ("", 1), ('ignore = ["AD201"] # again', 0), ("# nothing", 1)) * 2:
        (tmp_path / "adlint.toml").write_text(text)
        if event:
            changes = [{"uri": uri_of(tmp_path / "adlint.toml"), "type": 2}]
            client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        else:
            version += 1
            client.change(uri, UNCLEARED + "\n" * version, version)
        assert len(client.pushed(uri, version)) == wanted


def test_exclusions_that_change(client: Client, tmp_path: Path) -> None:
    """Excludes by the settings that hold now, however often they change."""
    uri = trained(tmp_path)
    client.begin(rootUri=uri_of(tmp_path))
    client.open(uri, UNCLEARED)
    assert client.pushed(uri)
    for version in range(2, 30):
        excluded = version % 2
        (tmp_path / "adlint.toml").write_text(f"exclude = {['a.py'] * excluded} # {version}\n")
        client.change(uri, UNCLEARED + "\n" * version, version)
        assert bool(client.pushed(uri, version)) is not bool(excluded)


def test_a_broken_settings_file(client: Client, tmp_path: Path) -> None:
    """Is told once; until it is mended, the last right settings hold."""
    uri = trained(tmp_path)
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.adlint]\nignore = ["AD201"]\n')
    client.begin(rootUri=uri_of(tmp_path))
    client.open(uri, UNCLEARED)
    assert client.pushed(uri) == []
    file.write_text("[tool.adlint]\nignore = [\n")
    for version in range(2, 5):
        client.change(uri, UNCLEARED + "\n" * version, version)
        assert client.pushed(uri, version) == []
    assert len([m for m in client.log if m.get("method") == "window/showMessage"]) == 1
    file.write_text("[tool.adlint]\n# mended\n")
    client.change(uri, UNCLEARED, 6)
    assert client.pushed(uri, 6)


def test_files_that_are_left_out(client: Client, tmp_path: Path) -> None:
    """Says nothing about excluded and git-ignored files."""
    (tmp_path / "adlint.toml").write_text('exclude = ["made"]\n')
    (tmp_path / ".gitignore").write_text("scratch*.py\n")
    (tmp_path / ".git").mkdir()
    client.begin(rootUri=uri_of(tmp_path))
    for name, wanted in (("made/a.py", 0), ("scratch1.py", 0), ("sub/a.py", 1)):
        uri = trained(tmp_path, name)
        client.open(uri, UNCLEARED)
        assert len(client.pushed(uri)) == wanted
        if not wanted:
            assert client.actions(uri, 6) == []


def test_refreshes(client: Client, tmp_path: Path) -> None:
    """Makes an editor that asks by itself ask again when settings change."""
    client.begin({**PULLS, "workspace": {"diagnostics": {"refreshSupport": True}}})
    client.open(A, UNCLEARED)
    first = client.pull(A)
    client.notify("workspace/didChangeConfiguration", {"settings": IGNORES})
    client.wait(lambda m: m.get("method") == "workspace/diagnostic/refresh")
    assert client.pull(A, first["resultId"])["items"] == []


# Notebooks

BOOK = "file:///nowhere/n.ipynb"
CELLS = [
    "import torch\n\nx = torch.ones(2, requires_grad=True)",
    "# *Text*",
    "%time 1\nloss = (x * x).sum()\nloss.backward()",
]
AGAIN = "# once more\nloss.backward()"


def cell(name: str) -> str:
    return f"vscode-notebook-cell:/nowhere/n.ipynb#{name}"


def document(name: str, text: str, language: str = "python") -> Message:
    return {"uri": cell(name), "languageId": language, "version": 1, "text": text}


def open_book(client: Client, texts: dict[str, str]) -> None:
    """Open a notebook; cells whose names begin with `m` are Markdown."""
    listed = [{"kind": 1 if name[0] == "m" else 2, "document": cell(name)} for name in texts]
    documents = [document(name, text, "markdown" if name[0] == "m" else "python") for name, text in texts.items()]
    book = {"uri": BOOK, "notebookType": "jupyter-notebook", "version": 1, "cells": listed}
    client.notify("notebookDocument/didOpen", {"notebookDocument": book, "cellTextDocuments": documents})


def change_book(client: Client, version: int, **cells: object) -> None:
    given = {"notebookDocument": {"uri": BOOK, "version": version}, "change": {"cells": cells}}
    client.notify("notebookDocument/didChange", given)


def restructure(client: Client, version: int, start: int, gone: list[str], come: dict[str, str]) -> None:
    structure = {
        "array": {
            "start": start,
            "deleteCount": len(gone),
            "cells": [{"kind": 2, "document": cell(name)} for name in come],
        },
        "didOpen": [document(name, text) for name, text in come.items() if text],
        "didClose": [{"uri": cell(name)} for name in gone if name not in come],
    }
    change_book(client, version, structure=structure)


@pytest.mark.parametrize("pulls", [True, False])
def test_notebooks(client: Client, pulls: bool) -> None:
    """Lints the cells as one program, through changes of their texts and their order."""
    client.begin({**VERSIONED, **(PULLS if pulls else {})})
    texts = dict(zip(["a", "m", "b"], CELLS, strict=True)) | {"c": AGAIN}
    open_book(client, texts)
    (found,) = client.pushed(cell("c"))
    assert covered(AGAIN, found["range"]) == "loss.backward()"
    assert client.pushed(cell("a")) == client.pushed(cell("b")) == []
    assert not client.pushes(cell("m"))
    assert [edit["uri"] for edit in found["data"]["edits"]] == [cell("c")]

    # a part of a text changes
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    item = {"document": {"uri": cell("c"), "version": 2}, "changes": [{"range": place, "text": ""}]}
    change_book(client, 2, textContent=[item])
    assert names(client.pushed(cell("c"), 2)) == [(0, "AD101")]

    # a cell comes in between, another goes
    restructure(client, 3, 3, [], {"d": "loss = (x + x).sum()"})
    assert client.pushed(cell("c")) == []
    restructure(client, 4, 3, ["d"], {})
    assert names(client.pushed(cell("c"))) == [(0, "AD101")]
    assert client.pushed(cell("d")) == [] or client.pushed(cell("d")) == []

    # it moves: it goes and comes in one event
    restructure(client, 5, 2, ["b", "c"], {"c": "", "b": ""})
    moved = client.pushed(cell("c"))
    assert all(code != "AD101" for _, code in names(moved))

    # it becomes Markdown
    change_book(client, 6, data=[{"kind": 1, "document": cell("c")}])
    client.pushed(cell("b"))
    assert client.pushes(cell("b"))[-1]["diagnostics"] == []

    client.notify("notebookDocument/didClose", {"notebookDocument": {"uri": BOOK}, "cellTextDocuments": []})
    assert client.pushed(cell("a")) is not None
    wait_for(lambda: all(client.pushes(cell(name))[-1]["diagnostics"] == [] for name in "abcd"))


def test_fixing_notebooks(client: Client) -> None:
    """Mends all cells at once, one finding alone, or silences it, each in its own cell."""
    texts = dict(zip(["a", "m", "b"], CELLS, strict=True)) | {
        "c": "loss.backward()\n",
        "d": UNCLEARED.removeprefix("import torch\n\n"),
    }
    texts["c"] = "twin = (x + x).sum(); twin.backward()\ntwin.backward()\n"
    client.begin(VERSIONED)
    open_book(client, texts)
    places = {name: names(client.pushed(cell(name))) for name in "abcd"}
    assert places["c"] == [(1, "AD101")]
    (fix,) = client.actions(cell("a"), 0, ["notebook.source.fixAll"])
    assert fix["kind"] == "notebook.source.fixAll.adlint"
    edits = edits_of(fix)
    after = {name: applied(texts[name], edits[cell(name)]) for name in "abcd" if cell(name) in edits}
    assert after["c"] == "twin = (x + x).sum(); twin.backward()\n"
    assert client.actions(cell("a"), 0, ["source.fixAll"]) == []
    quick = action(client, 1, "drop the repeated", cell("c"))
    assert applied(texts["c"], edits_of(quick)[cell("c")]) == after["c"]
    silenced = applied(texts["c"], edits_of(action(client, 1, "silence", cell("c")))[cell("c")])
    assert silenced.splitlines()[1] == "twin.backward()  # adlint: ignore[double-backward]"
    item = {"document": {"uri": cell("c"), "version": 2}, "changes": [{"text": silenced}]}
    change_book(client, 2, textContent=[item])
    assert client.pushed(cell("c"), 2) == []
    hover = {"textDocument": {"uri": cell("c")}, "position": {"line": 1, "character": 40}}
    assert client.ask("textDocument/hover", hover)["range"]["start"]["line"] == 1


def test_notebooks_of_text_alone(client: Client) -> None:
    """A notebook may have no code at all, or lose it."""
    client.begin()
    open_book(client, {"m": "text"})
    restructure(client, 2, 0, [], {"a": SEVERAL})
    assert names(client.pushed(cell("a"))) == [(6, "AD101"), (12, "AD101")]
    restructure(client, 3, 0, ["a"], {})
    assert client.pushed(cell("a")) == []
    assert client.actions(cell("m"), 0) == []
    client.settle()


def test_a_broken_cell(client: Client) -> None:
    """Says so in the cell, and the others are linted on."""
    client.begin()
    open_book(client, {"a": CELLS[0], "b": "y = (", "c": "loss = (x * x).sum()\nloss.backward()\nloss.backward()"})
    assert [code for _, code in names(client.pushed(cell("b")))] == ["AD002"]
    assert names(client.pushed(cell("c"))) == [(2, "AD101")]


# What no editor ought to send

HOSTILE = [
    b"Content-Length: 3\r\n\r\n{]}",
    b"Content-Length: 2\r\n\r\n\xff\xfe",
    b"Content-Length: 2\r\n\r\n[]",
    b"Content-Length: 0\r\n\r\n",
    b"content-length:2\nX: y\n\n12",
    frame([{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}]),
    frame("text"),
    frame(None),
    b"Content-Length: 9000\r\n\r\n" + b"1" * 9000,
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_frames_that_are_no_messages(client: Client, data: bytes) -> None:
    """Answers with an error and reads on behind them."""
    client.raw(data)
    assert client.answer(None)["error"]["code"] in (PARSE, REQUEST)
    client.begin()
    client.leave()


def test_deep_messages() -> None:
    """Refuses or takes what is nested without end, and does not end itself."""
    with Client.spawned() as (client, process):
        client.begin()
        for depth in (900, 5_000, 15_000, 100_000, 1_000_000):
            for opened, closed in ((b"[", b"]"), (b'{"a":', b"}")):
                body = b'{"id":"deep","method":"nothing/known","params":{"x":'
                body += opened * depth + b"1" + closed * depth + b"}}"
                client.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                client.wait(lambda m: m.get("id", 0) in ("deep", None))
        client.leave()
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 99999999999\r\n\r\n{}",
        b"Content-Length: -5\r\n\r\n{}",
        b"Content-Length: x\r\n\r\n{}",
        b"GET / HTTP/1.1\r\n\r\n",
        b"x" * 10_000,
        b"\r\n\r\n",
    ],
)
def test_streams_that_are_lost(client: Client, data: bytes) -> None:
    """Where nobody can tell what comes next, says so and ends."""
    client.begin()
    client.raw(data)
    assert client.answer(None)["error"]["code"] == PARSE
    wait_for(lambda: client.exit is not None)
    assert client.exit == 1


def test_a_message_that_ends_early(client: Client) -> None:
    client.begin()
    client.raw(b"Content-Length: 100\r\n\r\n{}")
    client.hang_up()
    wait_for(lambda: client.exit is not None)
    assert client.exit == 1


URIS = ["file:///a%00b.py", "file://[", "file:", "", "://", "file:///nowhere/%ff.py", "\ud800", "file:///" + "a" * 5000]


@pytest.mark.parametrize("uri", URIS)
@pytest.mark.parametrize("pulls", [True, False])
def test_uris_that_are_none(client: Client, uri: str, pulls: bool) -> None:
    """Lints what has a strange name, or says why not, and other texts as before."""
    client.begin(PULLS if pulls else {}, rootUri=uri)
    client.open(uri, UNCLEARED)
    client.change(uri, UNCLEARED + "\n", 2)
    assert "result" in client.answer(
        client.request("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": WHOLE})
    )
    client.open(A, TWICE)
    found = client.pull(A)["items"] if pulls else client.pushed(A)
    assert names(found) == [(5, "AD101")]
    client.close(uri)
    client.leave()


WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}


@pytest.mark.parametrize("value", ["a\0b", "~nobody/x.toml", "missing.toml", "/", "\ud800", "x" * 5000])
def test_strange_settings(client: Client, tmp_path: Path, value: str) -> None:
    """Tells what is wrong and lints with the defaults."""
    uri = trained(tmp_path)
    client.begin(rootUri=uri_of(tmp_path), initializationOptions={"settings": {"configuration": value}})
    client.open(uri, UNCLEARED)
    assert names(client.pushed(uri)) == [(6, "AD201")]
    assert client.notified("window/showMessage")
    client.leave()


def test_failures_of_its_own(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs what goes wrong in the server itself, and goes on."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    client.begin(ASKED)
    with monkeypatch.context() as patch:
        patch.setattr("adlint.server.session.Wishes.read", fail)
        client.settings = lambda item: {}
        client.notify("workspace/didChangeConfiguration", {})
        assert "ZeroDivisionError" in client.notified("window/logMessage")["message"]
        patch.setattr("adlint.server.answers.Wording.diagnostics", fail)
        client.open(A, TWICE)
        assert "ZeroDivisionError" in client.notified("window/logMessage")["message"]
        patch.setattr("adlint.server.actions.offers", fail)
        assert client.refused("textDocument/codeAction", {"textDocument": {"uri": A}, "range": WHOLE}) == INTERNAL
    client.change(A, TWICE + "\n", 2)
    assert names(client.pushed(A, 2)) == [(5, "AD101")]


def session_answers(data: bytes, answers: int = 0) -> list[Message]:
    """Return all that a session sends when it reads these bytes; the input ends when there are so many answers."""
    out = io.BytesIO()

    class Input(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            if not (line := super().readline(size)):
                end = time.monotonic() + 3
                while out.getvalue().count(b'"id":') < answers and time.monotonic() < end:
                    time.sleep(0.001)
            return line

    session = Session(Input(data), out)
    in_deep_stack(session.run)
    return protocol.frames(out.getvalue())


TOKENS = st.sampled_from(
    ["", A, "untitled:x", "python", "jupyter-notebook", UNCLEARED, "utf-8", "start", "\0", "\ud800"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TOKENS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["uri", "text", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def templates() -> dict[str, Any]:
    """Return right parameters for each method."""
    text = {"uri": A, "languageId": "python", "version": 1, "text": TWICE}
    one = {"textDocument": {"uri": A}}
    place = {"line": 5, "character": 3}
    book = {"uri": BOOK, "version": 1, "cells": [{"kind": 2, "document": cell("a")}]}
    array = {"start": 0, "deleteCount": 1, "cells": [{"kind": 2, "document": cell("b")}]}
    return {
        "initialize": {
            "capabilities": {"general": {"positionEncodings": ["utf-8"]}, **RESOLVES},
            "rootUri": "file:///n",
        },
        "initialized": {},
        "textDocument/didOpen": {"textDocument": text},
        "textDocument/didChange": {**one, "contentChanges": [{"range": WHOLE, "text": UNCLEARED}]},
        "textDocument/didSave": one,
        "textDocument/didClose": one,
        "notebookDocument/didOpen": {"notebookDocument": book, "cellTextDocuments": [document("a", TWICE)]},
        "notebookDocument/didChange": {
            "notebookDocument": {"uri": BOOK, "version": 2},
            "change": {
                "cells": {
                    "structure": {"array": array, "didOpen": [document("b", TWICE)], "didClose": [{"uri": cell("a")}]},
                    "textContent": [{"document": {"uri": cell("b"), "version": 2}, "changes": [{"text": UNCLEARED}]}],
                    "data": [{"kind": 1, "document": cell("b")}],
                }
            },
        },
        "notebookDocument/didSave": {"notebookDocument": {"uri": BOOK}},
        "notebookDocument/didClose": {"notebookDocument": {"uri": BOOK}},
        "textDocument/hover": {**one, "position": place},
        "textDocument/diagnostic": {**one, "previousResultId": "1"},
        "textDocument/codeAction": {**one, "range": WHOLE, "context": {"only": ["quickfix"]}},
        "codeAction/resolve": {"title": "t", "data": {"uri": A, "stamp": 1, "rule": "", "span": [], "unsafe": False}},
        "workspace/executeCommand": {"command": "adlint.explainRule", "arguments": ["AD101"]},
        "workspace/didChangeConfiguration": {"settings": {"adlint": {"select": ["AD101"], "run": "onSave"}}},
        "workspace/didChangeWatchedFiles": {"changes": [{"uri": A, "type": 2}]},
        "workspace/didChangeWorkspaceFolders": {"event": {"added": [{"uri": "file:///f"}], "removed": []}},
        "$/cancelRequest": {"id": "r3"},
        "nothing/known": {},
    }


def spots(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each part of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from spots(inner, (*path, key))


def with_other(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """Return a JSON value with another one at a path."""
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_other(copy[path[0]], path[1:], other)
    return copy


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Draw messages that are right but for some part."""
    known = templates()
    methods = draw(st.lists(st.sampled_from(sorted(known)), max_size=8))
    if draw(st.integers(0, 9)):
        methods = ["initialize", "initialized", *methods]
    messages = []
    for number, method in enumerate(methods, 1):
        params = known[method]
        if number > 2 and draw(st.booleans()):
            params = with_other(params, draw(st.sampled_from(sorted(spots(params), key=repr))), draw(JSON))
        name = {} if method.split("/")[-1].startswith("did") and draw(st.integers(0, 4)) else {"id": f"r{number}"}
        if method in ("initialized", "$/cancelRequest"):
            name = {}
        messages.append({"jsonrpc": "2.0", **name, "method": method, "params": params})
        if draw(st.integers(0, 9)) == 0:
            messages.append(draw(st.dictionaries(st.sampled_from(["id", "method", "params", "result", "error"]), JSON)))
    return messages


FUZZ = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@FUZZ
@given(conversations())
def test_any_conversation(messages: list[Message]) -> None:
    """Whatever is sent, each request is answered exactly once, and the session ends as it ought to."""
    messages += [{"id": "end", "method": "shutdown"}]
    before = Counter(m["id"] for m in messages if ours(m))
    sent = session_answers(b"".join(map(frame, messages)), sum(before.values()))
    answered = Counter(m["id"] for m in sent if "method" not in m and m["id"] is not None)
    assert {name: answered[name] for name in before} == dict(before)
    assert set(answered) <= set(before) | {m["id"] for m in messages if isinstance(m.get("id"), (int, str))}


def ours(message: Message) -> bool:
    """Whether a message is a request with an id of its own, which those that are made up do not have."""
    return str(message.get("id")).startswith(("r", "end"))


@FUZZ
@given(
    st.binary(max_size=200) | st.binary(max_size=60).map(lambda body: b"Content-Length: %d\r\n\r\n" % len(body) + body)
)
def test_any_bytes(data: bytes) -> None:
    """Whatever is read is a message, no message, or the end; and a session survives it."""
    stream = io.BytesIO(data)
    try:
        while wire.read(stream) is not None:
            pass
    except (wire.Malformed, wire.Broken):
        pass
    session_answers(data)
