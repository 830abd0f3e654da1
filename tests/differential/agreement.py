"""Holds what adlint says of a program, and what its fixes make of it, against what happens when it runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

import oracle

from adlint.config import Settings
from adlint.diagnostics import Certainty, Diagnostic
from adlint.linter import FixResult, fix, lint
from adlint.source import Source
from differential.monitor import Event, watch

RUNS = 4
"""How often a program runs: with every choice made one way, the other way, and at random."""

PATIENCE = 40
"""How often it runs with other choices before a finding counts as not borne out."""

CONFIRMED_BY = {
    "double-backward": {"freed", "repeated", "overwritten"},
    "shared-backward": {"freed", "repeated", "overwritten"},
    "carried-graph": {"freed", "repeated", "overwritten"},
    "stale-forward": {"freed", "repeated", "overwritten"},
    "retain-to-accumulate": {"kept"},
    "step-between": {"overwritten"},
    "useless-retain": {"retained"},
    "missing-zero-grad": {"accumulated"},
    "misplaced-zero-grad": {"discarded", "accumulated"},
    "misplaced-step": {"accumulated", "discarded", "empty"},
    "discarded-grad": {"discarded"},
    "missing-step": {"unapplied", "discarded"},
    "backward-without-graph": {"no-graph"},
    "non-scalar-backward": {"non-scalar"},
    "eval-without-no-grad": {"unwalked"},
    "dropped-loss": {"unwalked"},
    "accumulated-graph": {"grows"},
    "unscaled-accumulation": {"summed"},
    "undetached-adversary": {"freed", "repeated", "overwritten"},
}
"""The rules that are judged, and the events that make a finding of theirs true."""

COVERED_BY = {
    "freed": {"double-backward", "shared-backward", "carried-graph", "stale-forward", "undetached-adversary"},
    "overwritten": {"step-between", "stale-forward", "carried-graph", "shared-backward", "double-backward"},
    "accumulated": {"missing-zero-grad", "misplaced-step", "misplaced-zero-grad"},
    "no-graph": {"backward-without-graph"},
    "repeated": {"double-backward", "shared-backward", "carried-graph", "stale-forward"},
}
"""The events that are misuse wherever they happen, and the rules that may report them."""


AS_MEANT = {"missing-zero-grad", "shared-backward", "retain-to-accumulate", "useless-retain", "missing-step"}
"""The rules whose safe fixes give what the program means where PyTorch refuses or adds up."""

TOLERANCE = 1e-4
"""How far two results may lie apart, relative to their size, where sums are taken in another order."""


@dataclass(frozen=True)
class Agreement:
    """The findings that a run bore out, those that none did, those that no run tells of; what went wrong without a
    finding, and the kinds of what went wrong with one; and, if safe fixes were applied, what is wrong with them."""

    confirmed: tuple[tuple[int, str], ...]
    unconfirmed: tuple[tuple[int, str], ...]
    unjudged: tuple[tuple[int, str], ...]
    missed: tuple[tuple[str, tuple[int, ...]], ...]
    reported: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def agree(text: str, seed: int = 0) -> Agreement:
    """Lint, run, mend and run a program."""
    source = Source("program.py", text)
    shown = lint(source, Settings(possible=True))
    findings = sorted({(d.span.start.line, d.name) for d in shown if d.certainty is Certainty.DEFINITE})
    choices = list(islice(_choices(seed), RUNS))
    seen = {event for one in choices for event in _observe(text, one)}
    judged = {(line, name) for line, name in findings if name in CONFIRMED_BY}
    confirmed = {one for one in judged if _borne_out(text, one, seen)}
    for one in islice(_choices(seed), RUNS, PATIENCE if confirmed < judged else RUNS):
        events = _observe(text, one)
        confirmed |= {one for one in judged - confirmed if _borne_out(text, one, events)}
    told = {(d.span.start.line, d.name) for d in shown}
    wrong = {event for event in seen if event.plain and event.kind in COVERED_BY}
    missed = {(event.kind, tuple(sorted(event.lines))) for event in wrong if not _covered(event, told)}
    mended = fix(source, Settings())
    return Agreement(
        tuple(sorted(confirmed)),
        tuple(sorted(judged - confirmed)),
        tuple(one for one in findings if one not in judged),
        tuple(sorted(missed)),
        tuple(event.kind for event in wrong if _covered(event, told)),
        tuple(sorted(d.name for d in mended.applied)),
        tuple(_faults(text, shown, mended, choices)) if mended.applied else (),
    )


def _choices(seed: int) -> Iterator[list[bool]]:
    source = Random(seed)
    yield from ([True], [False])
    while True:
        yield [source.random() < 0.5 for _ in range(64)]


def _borne_out(text: str, finding: tuple[int, str], seen: Iterable[Event]) -> bool:
    line, name = finding
    lines = {line, _made(text.split("\n"), line)} if name == "accumulated-graph" else {line}
    return any(event.kind in CONFIRMED_BY[name] and not lines.isdisjoint(event.lines) for event in seen)


def _made(rows: list[str], line: int) -> int:
    """Return the line that made what a line gives another name."""
    alias = re.fullmatch(r"\s*\w+ = (\w+)", rows[line - 1])
    if alias is None:
        return line
    made = (number for number in range(line - 1, 0, -1) if rows[number - 1].strip().startswith(f"{alias[1]} = "))
    return next(made, line)


def _observe(text: str, choices: Sequence[bool]) -> set[Event]:
    """Run a program; where PyTorch refuses something, also as it is meant, for what would come after."""
    plain, _ = watch(text, choices)
    seen = set(plain.events)
    if not plain.plain:
        meant, _ = watch(text, choices, meant=True)
        seen |= {Event(event.kind, event.lines, False) for event in meant.events}
    return seen


def _covered(event: Event, told: set[tuple[int, str]]) -> bool:
    return any(line in event.lines and name in COVERED_BY[event.kind] for line, name in told)


def _faults(text: str, shown: Sequence[Diagnostic], mended: FixResult, choices: Sequence[Sequence[bool]]) -> list[str]:
    """Return what is wrong with a text that safe fixes have made."""
    source = Source("program.py", mended.text)
    found = []
    if fix(source, Settings()).text != mended.text:
        found.append("does not converge")
    before = Counter(d.name for d in shown if d.certainty is Certainty.DEFINITE)
    left = lint(source)
    after, told = Counter(d.name for d in left), {(d.span.start.line, d.name) for d in left}
    found += [f"adds {name}" for name in sorted(after) if after[name] > before[name]]
    names = {d.name for d in mended.applied}
    for one in choices:
        ours, result = watch(mended.text, one)
        if ours.error is not None:
            found.append(f"raises {ours.error}")
            continue
        was, _ = watch(text, one)
        kinds = {event.kind for event in ours.events if event.kind in COVERED_BY and not _covered(event, told)}
        if was.plain:
            found += [f"brings {kind}" for kind in sorted(kinds - {event.kind for event in was.events})]
        clear = all(event.kind != "reapplied" for event in (*was.events, *ours.events))
        if names <= AS_MEANT and not after and not kinds and clear:
            _, meant = watch(text, one, meant=True)
            if oracle.differ(result, meant, TOLERANCE):
                found.append("another result than meant")
    return sorted(set(found))
