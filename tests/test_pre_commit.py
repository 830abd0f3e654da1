"""The hooks, with a real pre-commit on a real repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from programs import BAD, GOOD

pytest.importorskip("pre_commit")
if shutil.which("git") is None:
    pytest.skip("needs git", allow_module_level=True)

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ("adlint", "rules", "pyproject.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT", ".pre-commit-hooks.yaml")


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def hooks(tmp_path: Path) -> tuple[Path, str]:
    """Return a repository with the hooks, made from the working tree, and its commit."""
    repository = tmp_path / "hooks"
    repository.mkdir()
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, repository / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, repository / name)
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "hooks")
    return repository, git(repository, "rev-parse", "HEAD")


def test_the_hooks(tmp_path: Path, hooks: tuple[Path, str]) -> None:
    """Install from the repository, refuse a commit with a finding, mend it, and obey the excludes."""
    user = tmp_path / "user"
    (user / "old").mkdir(parents=True)
    git(user, "init", "-q")
    repository, commit = hooks
    (user / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {repository}\n  rev: {commit}\n  hooks:\n"
        "  - id: adlint\n  - id: adlint-fix\n    stages: [manual]\n"
    )
    (user / "adlint.toml").write_text('extend-exclude = ["old/"]\n')
    (user / "train.py").write_text(BAD)
    (user / "old" / "train.py").write_text(BAD)
    git(user, "add", "-A")

    def pre_commit(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", *arguments],
            cwd=user,
            capture_output=True,
            text=True,
            env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home"), "PRE_COMMIT_COLOR": "never"},
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    status, out = pre_commit("run", "--all-files")
    assert (1, True, True) == (status, "AD101 double-backward" in out, "Found 1 error" in out), out
    status, out = pre_commit("run", "--all-files", "--hook-stage", "manual", "adlint-fix")
    assert (1, True) == (status, "files were modified by this hook" in out), out
    assert GOOD == (user / "train.py").read_text()
    assert BAD == (user / "old" / "train.py").read_text()
    git(user, "add", "-A")
    assert 0 == pre_commit("run", "--all-files")[0]
