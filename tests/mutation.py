"""Mutation testing of the tape and the checks: does a test notice when a line of them is wrong?

    PYTHONPATH=tests:. python -m mutation 400 --jobs 2 > mutants.json

Mutants are made with the operators of cosmic-ray (the extra `mutate`), a sample of all. Each lives in a process of its
own and is asked what is found in, and made of, the programs of the tests of tables and fixtures whose analysis runs the
changed line. Standard error shows the survivors.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.abc
import importlib.util
import json
import multiprocessing
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDERS = ("tape", "checks")
TABLES = (
    "test_counting.py",
    "test_fixtures.py",
    "test_gradients.py",
    "test_handed.py",
    "test_mendings.py",
    "test_modes.py",
    "test_porting.py",
    "test_shapes.py",
    "test_training.py",
    "test_values.py",
    "test_wrappers.py",
)
"""The tests whose programs a mutant is asked about."""

MOST = 500
"""How many of the programs that run its line a mutant is asked about."""

SECONDS = 120
"""After this long a mutant counts as noticed: it hangs."""

OPERATORS = (
    "AddNot",
    "NumberReplacer",
    "ReplaceAndWithOr",
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBreakWithContinue",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceContinueWithBreak",
    "ReplaceFalseWithTrue",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ReplaceUnaryOperator_Delete_Not",
    "ZeroIterationForLoop",
)


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the operator, and which of the places where it applies."""

    path: Path
    operator: str
    occurrence: int
    line: int

    @property
    def module(self) -> str:
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts)

    @property
    def text(self) -> str:
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator

        changed: str = mutate_code(self.path.read_text(), get_operator(f"core/{self.operator}")(), self.occurrence)
        return changed


@dataclass(frozen=True)
class Known:
    """A program, what is said of it and made of it, and the lines that run for it."""

    text: str
    answer: tuple[Any, ...]
    lines: frozenset[tuple[str, int]]


def mutants() -> Iterator[Mutant]:
    """Yield every mutant there can be."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator

    for path in sorted(path for folder in FOLDERS for path in (ROOT / "adlint" / folder).glob("*.py")):
        tree = get_ast_from_path(path)
        for name in OPERATORS:
            operator = get_operator(f"core/{name}")()
            places = (place for node in ast_nodes(tree) for place in operator.mutation_positions(node))
            for occurrence, (start, _) in enumerate(places):
                yield Mutant(path, name, occurrence, start[0])


def answer(text: str) -> tuple[Any, ...]:
    """Return what the tests look at: what is reported for certain and as possible, and the text that fixes make."""
    from adlint.config import Settings
    from adlint.linter import fix, lint
    from adlint.source import Source

    source = Source("case.py", text)
    found = [(one.span.start.line, one.name, one.certainty.name) for one in lint(source, Settings(possible=True))]
    return sorted(found), fix(source, Settings(), unsafe=True).text


def texts() -> list[str]:
    """Return the programs that the tests of tables and fixtures have examined: the tests are run to see."""
    import pytest

    from adlint import linter

    seen: dict[str, None] = {}
    examine = linter._examine

    def recording(source: Any, *rest: Any) -> Any:
        seen[source.text] = None
        return examine(source, *rest)

    linter._examine = recording
    try:
        with contextlib.redirect_stdout(sys.stderr):
            pytest.main(["-q", "-p", "no:cacheprovider", *(str(ROOT / "tests" / name) for name in TABLES)])
    finally:
        linter._examine = examine
    return list(seen)


def learn(text: str) -> Known:
    """Run a program through the analysis as it is, and see which lines that takes."""
    import coverage

    wanted = [str(ROOT / "adlint" / folder / "*") for folder in FOLDERS]
    seen = coverage.Coverage(data_file=None, config_file=False, include=wanted)
    with seen.collect():
        found = answer(text)
    data = seen.get_data()
    lines = frozenset((name, line) for name in data.measured_files() for line in data.lines(name) or ())
    return Known(text, found, lines)


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Loads one module from another text."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        return importlib.util.spec_from_loader(name, self) if name == self.mutant.module else None

    def get_source(self, fullname: str) -> str:
        return self.mutant.text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.mutant.text, str(self.mutant.path), "exec")


def survives(mutant: Mutant, known: Sequence[Known]) -> bool:
    """Tell whether nothing notices a mutant."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "adlint"]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Changed(mutant))
    signal.alarm(SECONDS)
    try:
        return all(answer(one.text) == one.answer for one in known)
    except Exception:
        return False


def _attempt(mutant: Mutant) -> bool | None:
    """Tell what became of a mutant, None if no program runs its line."""
    known = [one for one in KNOWN if (str(mutant.path), mutant.line) in one.lines]
    if not known:
        return None
    known = Random(mutant.line).sample(known, min(MOST, len(known)))
    receiver, sender = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=lambda: sender.send(survives(mutant, known)))
    child.start()
    sender.close()
    try:
        return bool(receiver.recv())
    except EOFError:
        return False
    finally:
        child.join()


KNOWN: list[Known] = []


def main() -> None:
    """Try a sample of mutants and print what became of them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mutants", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    every = list(mutants())
    sample = Random(options.seed).sample(every, min(options.mutants, len(every)))
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        KNOWN.extend(pool.map(learn, sorted(texts()), chunksize=8))
    fates: Counter[str] = Counter()
    left = []
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        for mutant, fate in zip(sample, pool.map(_attempt, sample), strict=True):
            fates["not run" if fate is None else "survived" if fate else "noticed"] += 1
            if fate is not False:
                place = f"{mutant.path.relative_to(ROOT)}:{mutant.line}"
                code = mutant.path.read_text().split("\n")[mutant.line - 1].strip()
                left.append({"place": place, "operator": mutant.operator, "code": code, "run": fate is not None})
                print(f"{place} {mutant.operator}{'' if fate else ' (not run)'}: {code}", file=sys.stderr, flush=True)
    print(json.dumps({"possible": len(every), "sample": len(sample), **fates, "left": left}, indent=1))


if __name__ == "__main__":
    main()
