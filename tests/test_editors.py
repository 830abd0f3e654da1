"""The language server in real editors, without a screen: what they show, and what they write when a user has chosen.

The editors are set up as `docs/editors.md` says; those that it does not set up are told by hand where the server is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import oracle
import pytest

REQUIRE_EDITORS = "ADLINT_REQUIRE_EDITORS"
ROOT = Path(__file__).resolve().parent.parent
DRIVERS = Path(__file__).resolve().parent / "editors"
SECONDS = 60

TRAINING = '''\
"""Fit a network to two moons, then tune its head under a penalty on the features."""

import torch
from torch import nn

torch.manual_seed(0)


def moons(count):
    angle = torch.rand(count) * torch.pi
    side = (torch.arange(count) % 2).float()
    x = torch.cos(angle) * (1 - 2 * side) + side
    y = torch.sin(angle) * (1 - 2 * side) + side / 2
    return torch.stack([x, y], dim=1) + 0.1 * torch.randn(count, 2), side


encoder = nn.Sequential(nn.Linear(2, 16), nn.Tanh())
head = nn.Linear(16, 1)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.05)
criterion = nn.BCEWithLogitsLoss()
log = []

for epoch in range(12):
    inputs, labels = moons(64)
    loss = criterion(head(encoder(inputs)).squeeze(1), labels)
    note = "🔥 fit 😋"; loss.backward()
    optimizer.step()
    log.append(f"{note} {loss.item():.4f}")

for epoch in range(4):
    inputs, labels = moons(64)
    optimizer.zero_grad()
    features = encoder(inputs)
    fit = criterion(head(features).squeeze(1), labels)
    penalty = 1e-3 * features.square().mean()
    fit.backward()
    note = "🧊 größer 😋"; penalty.backward()
    optimizer.step()
    log.append(f"{note} {fit.item():.4f}")

parameters = [*encoder.parameters(), *head.parameters()]
RESULT = [number for p in parameters for number in (*p.flatten().tolist(), *p.grad.flatten().tolist())]
'''
CLEARED = 'note = "🔥 fit 😋"; optimizer.zero_grad(); loss.backward()'
EXPERT = TRAINING.replace('note = "🔥 fit 😋"; loss.backward()', CLEARED).replace(
    '    fit.backward()\n    note = "🧊 größer 😋"; penalty.backward()\n',
    '    note = "🧊 größer 😋"; (fit + penalty).backward()\n',
)
TEXTBOOK = TRAINING.replace("    loss = criterion", "    optimizer.zero_grad()\n    loss = criterion").replace(
    "fit.backward()", "fit.backward(retain_graph=True)"
)
"""The same repairs as another hand makes them, in other places."""
SILENCED = TRAINING.replace("; loss.backward()\n", "; loss.backward()  # adlint: ignore[missing-zero-grad]\n")
UNCLEARED, SHARED = "26 AD201 loss.backward()", "37 AD102 penalty.backward()"
CLEAR, SUM = ("choose", 26, "AD201: call"), ("choose", 37, "AD102: add")

MARKED = "# 😋 again\n# 😋\n" + EXPERT

Step = tuple[object, ...]
run = cache(oracle.run)


@dataclass(frozen=True)
class Editor:
    """A program, the language of its section in `docs/editors.md`, and the arguments that make it drive itself."""

    name: str
    program: str
    section: str
    arguments: tuple[str, ...]

    def setup(self) -> tuple[str, str]:
        """Return the configurations in the documentation that start the server and that fix on saving."""
        text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
        section = re.search(rf"^## {self.section}$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
        assert section
        texts = re.findall(r"^```\w+\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)
        return texts[0], texts[-1]


NEOVIM = ("--headless", "-u", "NONE", "-i", "NONE", "-n", "+luafile " + str(DRIVERS / "drive.lua"))
EMACS = ("-Q", "--batch", "-l", str(DRIVERS / "drive.el"))
NAMES = ("neovim", "neovim-system", "emacs")


@cache
def version(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, timeout=SECONDS).stdout.split("\n")[0]


def find(name: str) -> Editor | str:
    """Return an editor, or why there is none to be tested."""
    if name == "emacs":
        program = shutil.which("emacs")
        return Editor(name, program, "Emacs", EMACS) if program else "Emacs is not installed"
    beside = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
    first, system = shutil.which("nvim", path=beside), shutil.which("nvim", path="/usr/bin")
    program = first if name == "neovim" else system
    if program is None:
        return "Neovim is not installed"
    if name == "neovim-system" and first and version(first) == version(program):
        return ""
    return Editor(name, program, "Neovim", NEOVIM)


@pytest.fixture(scope="module", params=NAMES)
def editor(request: pytest.FixtureRequest) -> Editor:
    found = find(request.param)
    if isinstance(found, Editor):
        return found
    if found and os.environ.get(REQUIRE_EDITORS) == "1":
        pytest.fail(f"{found}, and {REQUIRE_EDITORS}=1 demands the tests in editors", pytrace=False)
    pytest.skip(found or "the same version as the other one")


@pytest.fixture(scope="module")
def saved(editor: Editor, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What an editor that fixes on saving has written. Emacs saves nothing unless something was typed."""
    file = written(project(tmp_path_factory.mktemp("saved")))
    plan = (
        ("see", UNCLEARED, SHARED),
        ("type", 1, "# 😋"),
        ("save",),
        ("see",),
        ("type", 1, "# 😋 again"),
        ("save",),
        ("see",),
    )
    assert_drives(editor, file, *plan, saving=True)
    return file.read_bytes()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return project(tmp_path)


def project(home: Path) -> Path:
    """Make a project with nothing in it but its settings, and beside it a program `adlint` that is this one."""
    (home / "bin").mkdir()
    (home / "bin" / "adlint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m adlint "$@"\n')
    (home / "bin" / "adlint").chmod(0o755)
    place = home / "two moons"
    place.mkdir()
    (place / "adlint.toml").touch()
    return place


def drive(editor: Editor, file: Path, *plan: Step, saving: bool = False) -> list[list[str]]:
    """Carry out a plan with a file; return what each step that looks saw."""
    home = file.parent.parent
    setup, fixing = editor.setup()
    given = {
        "file": str(file),
        "setup": setup,
        "saving": fixing if saving else "",
        "out": str(home / "out.json"),
        "plan": plan,
    }
    (home / "drive.json").write_text(json.dumps(given), encoding="utf-8")
    environment = {
        **os.environ,
        "ADLINT_DRIVE": str(home / "drive.json"),
        "PATH": os.pathsep.join((str(home / "bin"), os.environ.get("PATH", os.defpath))),
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "XDG_STATE_HOME": str(home),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        [editor.program, *editor.arguments],
        cwd=file.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    assert (home / "out.json").exists(), said
    result = json.loads((home / "out.json").read_text(encoding="utf-8"))
    assert "error" not in result, f"{result['error']}\n{said}"
    return [list(one) for one in result.get("seen", ())]


def written(place: Path, text: str = TRAINING, ending: str = "\n") -> Path:
    file = place / "train.py"
    file.write_bytes(text.replace("\n", ending).encode())
    return file


def looks(plan: tuple[Step, ...]) -> Iterator[list[object]]:
    return (list(step[1:]) for step in plan if step[0] == "see")


def assert_drives(editor: Editor, file: Path, *plan: Step, saving: bool = False) -> None:
    """Carry out a plan; all that it looks for is seen."""
    assert drive(editor, file, *plan, saving=saving) == list(looks(plan))


def test_quick_fixes(editor: Editor, place: Path) -> None:
    """Shows both findings at their places, mends one after the other from the menu, and saves the expert's text."""
    file = written(place)
    plan = (("see", UNCLEARED, SHARED), CLEAR, ("see", SHARED), SUM, ("see",), ("save",))
    assert_drives(editor, file, *plan)
    assert file.read_bytes() == EXPERT.encode()


def test_fixes_on_saving(saved: bytes) -> None:
    """Saving alone writes the expert's text, and saving again leaves it alone."""
    assert saved == MARKED.encode()


def test_silences_a_line(editor: Editor, place: Path) -> None:
    """The comment that the menu offers silences the finding at once."""
    file = written(place)
    plan = (("see", UNCLEARED, SHARED), ("choose", 26, "AD201: silence"), ("see", SHARED), ("save",))
    assert_drives(editor, file, *plan)
    assert file.read_bytes() == SILENCED.encode()


def test_follows_what_is_typed(editor: Editor, place: Path) -> None:
    """Findings follow a text that is not saved, and so do their fixes."""
    file = written(place)
    plan = (
        ("see", UNCLEARED, SHARED),
        ("type", 24, "    torch.set_num_threads(1)  # 😋 größer"),
        ("see", "27 AD201 loss.backward()", "38 AD102 penalty.backward()"),
        ("type", 25, "    optimizer.zero_grad()"),
        ("see", "39 AD102 penalty.backward()"),
        ("erase", 25),
        ("see", "27 AD201 loss.backward()", "38 AD102 penalty.backward()"),
        ("choose", 27, "AD201: call"),
        ("see", "38 AD102 penalty.backward()"),
        ("choose", 38, "AD102: add"),
        ("see",),
        ("erase", 24),
        ("save",),
    )
    assert_drives(editor, file, *plan)
    assert file.read_bytes() == EXPERT.encode()


def test_keeps_the_line_ends(editor: Editor, place: Path) -> None:
    """A file with CR LF has the same findings, and keeps its line ends when it is mended."""
    file = written(place, ending="\r\n")
    assert_drives(editor, file, ("see", UNCLEARED, SHARED), CLEAR, ("see", SHARED), SUM, ("see",), ("save",))
    assert file.read_bytes() == EXPERT.replace("\n", "\r\n").encode()


def test_survives_broken_code(editor: Editor, place: Path) -> None:
    """What cannot be read is a finding of its own beside the ones before; when it is gone all is as it was."""
    file = written(place)
    plan = (
        ("see", UNCLEARED, SHARED),
        ("type", 24, '    note = ("🔥'),
        ("see", "24 AD002 ", "27 AD201 loss.backward()", "38 AD102 penalty.backward()"),
        ("erase", 24),
        ("see", UNCLEARED, SHARED),
        CLEAR,
        ("see", SHARED),
        SUM,
        ("save",),
    )
    assert_drives(editor, file, *plan)
    assert file.read_bytes() == EXPERT.encode()


@pytest.mark.runtime
def test_what_is_saved_trains_as_it_should(saved: bytes) -> None:
    """Parameters and gradients after the saved program are those of another hand's repair; the one before fails."""
    before, ours, theirs = map(run, (TRAINING, saved.decode(), TEXTBOOK))
    assert before.error is not None
    assert "backward through the graph a second time" in before.error
    assert (ours.error, theirs.error) == (None, None)
    assert not oracle.differ(ours.result, theirs.result)
