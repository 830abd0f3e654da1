"""How much more than the unavoidable does `adlint check` cost? Prints a Markdown table of medians and ratios.

    python benchmarks/speed.py --make build/tree   a folder of 2,000 files, of which few train anything
    python benchmarks/speed.py build/tree          the measurements, all in one run, interleaved

The floor of a folder is reading its files and scanning them for the words, plus parsing those that need it, one after
the other in a process that has already started.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from adlint import linter
from adlint.config import Settings
from adlint.source import Source, Unreadable

ROOT = Path(__file__).resolve().parent.parent
WORDS = (b"backward", b"autograd", b"_grad", b".eval(", b".train(")
START = (sys.executable, "-c", "pass")
ADLINT = (sys.executable, "-m", "adlint")


def make(folder: Path, count: int, training: int) -> None:
    """Copy files of the standard library, and among them the shipped examples and fixtures."""
    library = Path(sysconfig.get_path("stdlib"))
    skipped = {"site-packages", "__pycache__", "lib2to3"}
    plain = [file for file in sorted(library.rglob("*.py")) if not skipped & set(file.relative_to(library).parts)]
    fixtures = sorted((ROOT / "tests" / "fixtures").rglob("*.py"))
    train = [*sorted((ROOT / "examples").rglob("*.py")), *fixtures[:: max(1, len(fixtures) // training)]][:training]
    plain = [file for file in plain if is_plain(file)]
    files = [
        (
            plain[number % len(plain)],
            Path(f"plain{number // len(plain)}") / plain[number % len(plain)].relative_to(library),
        )
        for number in range(count - len(train))
    ]
    files += [(file, Path("training") / file.relative_to(ROOT)) for file in train]
    for file, name in files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    print(f"{len(files)} files, {len(train)} of them training programs")


def is_plain(file: Path) -> bool:
    """Tell whether a file can be read as Python source."""
    try:
        compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def scan(files: list[str]) -> int:
    """Read files and count those that have one of the words."""
    found = 0
    for file in files:
        with open(file, "rb") as stream:
            data = stream.read()
        found += any(word in data for word in WORDS)
    return found


def needing(files: list[str]) -> list[str]:
    """Return the texts that have to be parsed."""
    profiles = Settings().profiles.values()
    texts = []
    for file in files:
        try:
            text = Source.read(file).text
        except (OSError, Unreadable):
            continue
        if linter.relevant(text, profiles):
            texts.append(text)
    return texts


def parse(texts: list[str]) -> None:
    """Parse, and drop each tree."""
    import libcst

    for text in texts:
        try:
            libcst.parse_module(text)
        except Exception:
            continue


def timed(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes."""
    before = perf_counter()
    action()
    return perf_counter() - before


def command(*words: str, cwd: str | Path = ROOT) -> Callable[[], object]:
    """Return the action of running a command; its exit status does not matter."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    quiet = subprocess.DEVNULL
    return lambda: subprocess.run(words, cwd=cwd, env=environment, stdout=quiet, stderr=quiet, check=False)


def measure(folder: Path, runs: int) -> None:
    """Print the table for a folder."""
    files = [str(file) for file in sorted(folder.resolve().rglob("*.py"))]
    texts = needing(files)
    parse(["x = 1\n"])
    with tempfile.TemporaryDirectory() as away:
        settings = Path(away, "adlint.toml")
        settings.write_text("exclude = []\n")
        check = (*ADLINT, "check", str(folder.resolve()), "-q", "--config", str(settings))
        actions: dict[str, Callable[[], object]] = {
            "read and scan": lambda: scan(files),
            "parse": lambda: parse(texts),
            "cold": command(*check, "--no-cache", cwd=away),
            "warm": command(*check, cwd=away),
            "version": command(*ADLINT, "--version", cwd=away),
            "bare": command(*START, cwd=away),
        }
        for action in actions.values():
            action()
        rounds = [{name: timed(action) for name, action in actions.items()} for _ in range(runs)]
    took = {name: median(one[name] for one in rounds) for name in actions}
    floor = median(one["read and scan"] + one["parse"] for one in rounds)

    def ratio(name: str, base: Callable[[dict[str, float]], float]) -> float:
        return median(one[name] / base(one) for one in rounds)

    cold = ratio("cold", lambda one: one["read and scan"] + one["parse"])
    warm = ratio("warm", lambda one: one["read and scan"])
    version = median(one["version"] - one["bare"] for one in rounds)
    print(f"{len(files)} files, {len(texts)} of them need a parse; medians of {runs} runs\n")
    print("| what | time | against |\n|---|---:|---|")
    print(f"| read and scan | {took['read and scan']:.3f} s | |")
    print(f"| parse of those that need it | {took['parse']:.3f} s | |")
    print(f"| `adlint check --no-cache` | {took['cold']:.3f} s | {cold:.2f} x read, scan and parse ({floor:.3f} s) |")
    print(f"| `adlint check`, cached | {took['warm']:.3f} s | {warm:.2f} x read and scan |")
    print(f"| `adlint --version` | {took['version'] * 1000:.0f} ms | {version * 1000:.0f} ms above bare Python |")


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--make", action="store_true", help="fill the folder instead of measuring it")
    parser.add_argument("--files", type=int, default=2000, help="how many files to make (default: 2000)")
    parser.add_argument("--training", type=int, default=60, help="how many of them train something (default: 60)")
    parser.add_argument("--runs", type=int, default=5, help="how often to measure (default: 5)")
    options = parser.parse_args()
    if options.make:
        make(options.folder, options.files, options.training)
    else:
        measure(options.folder, options.runs)


if __name__ == "__main__":
    main()
