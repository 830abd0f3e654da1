"""Many files: the cache, the workers, and the writing of fixes.

Files that need no analysis are done at once; the others go to worker processes when there are more than a few. Results
come in the order of the files whatever the workers do. Prints nothing.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TypeVar

from adlint import fixes, linter
from adlint.cache import Cache
from adlint.config import Settings
from adlint.diagnostics import Diagnostic, one_line
from adlint.discovery import File, Findings
from adlint.files import write_atomically
from adlint.follow import Follower, Project, Uses, holds
from adlint.source import Source, Unreadable

T = TypeVar("T")
ALONE = 8
_COLLECT_AFTER = 500_000


@dataclass(frozen=True)
class Fixed:
    """One file after fixing: the source as it was, the new text, what was mended and what is left."""

    source: Source
    text: str
    applied: tuple[Diagnostic, ...]
    remaining: tuple[Diagnostic, ...]

    def diff(self) -> str:
        """Return the change in unified format."""
        from difflib import unified_diff

        name = self.source.filename
        if not name.isprintable():
            name = f'"{one_line(name)}"'
        old, new = (_lines(source.content) for source in (self.source, self.source.with_text(self.text)))
        shown = unified_diff(old, new, name, name)
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in shown)


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


@dataclass(frozen=True)
class _Task:
    source: Source
    settings: Settings
    parse: bool = False
    unsafe: bool = False
    top: str = ""
    run: int = 0


def lint(found: Findings, cache: Cache | None = None) -> dict[str, list[Diagnostic]]:
    """Lint files; return what was found, by path, in the order of the files."""
    results: dict[str, list[Diagnostic]] = {file.path: [] for file in found.files}
    top, run = _top(found.files), next(_runs)
    waiting: list[tuple[File, bytes, _Task]] = []
    for file in found.files:
        valid = partial(_valid, _Task(Source(file.path, ""), file.settings, top=top, run=run))
        known = cache.unchanged(file.path, file.explicit, file.settings, valid) if cache else None
        if known is not None:
            results[file.path] = known
            continue
        try:
            with open(file.path, "rb") as stream:
                data = stream.read()
        except OSError as error:
            results[file.path] = [linter.unreadable(file.path, f"cannot be read: {error.strerror}")]
            continue
        known = cache.known(file.path, file.explicit, data, file.settings, valid) if cache else None
        if known is not None:
            results[file.path] = known
            continue
        try:
            source = Source.from_bytes(data, file.path)
        except Unreadable as error:
            results[file.path] = [linter.unreadable(file.path, error.message, error.position)]
            continue
        task = _Task(source, file.settings, parse=file.explicit, top=top, run=run)
        if file.explicit or linter.relevant(source.text, file.settings.profiles.values()):
            waiting.append((file, data, task))
            continue
        results[file.path] = linter.skim(source, file.settings)
        if cache:
            cache.store(file.path, file.explicit, data, file.settings, results[file.path])
    outcomes = _run(_lint, [task for _, _, task in waiting])
    for (file, data, task), outcome in zip(waiting, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            results[file.path] = [linter.failed(task.source.filename, outcome)]
            continue
        results[file.path], uses = outcome
        if cache and not any(item.name == linter.FAILED for item in results[file.path]):
            cache.store(file.path, file.explicit, data, file.settings, results[file.path], uses)
    if cache:
        cache.save()
    problems = {problem.path: [linter.unreadable(problem.path, problem.reason)] for problem in found.problems}
    return {**results, **problems}


def resolver(filename: str, settings: Settings) -> Follower:
    """Return where the imports of a text lead that is linted by itself under a file's name."""
    return Follower(Project(os.path.dirname(os.path.abspath(filename)), settings.profiles.values()), filename)


def _top(files: Iterable[File]) -> str:
    """Return the folder that all files are in."""
    folders = {os.path.dirname(os.path.abspath(file.path)) for file in files}
    return os.path.commonpath(folders) if folders else ""


def fix(files: Sequence[File], results: dict[str, list[Diagnostic]], *, unsafe: bool) -> Iterator[Fixed]:
    """Mend the files that have a finding with a fix; write nothing."""
    tasks = []
    top, run = _top(files), next(_runs)
    for file in files:
        if any(fixes.applicable(item, unsafe) for item in results[file.path]):
            try:
                tasks.append(_Task(Source.read(file.path), file.settings, unsafe=unsafe, top=top, run=run))
            except (OSError, Unreadable):
                continue
    for task, outcome in zip(tasks, _run(_fix, tasks), strict=True):
        if isinstance(outcome, BaseException):
            failure = linter.failed(task.source.filename, outcome)
            yield Fixed(task.source, task.source.text, (), (*results[task.source.filename], failure))
        else:
            yield Fixed(task.source, outcome.text, outcome.applied, outcome.remaining)


def write(fixed: Fixed) -> None:
    """Put the new text in the file's place; raises `OSError`, also if somebody else has changed it meanwhile."""
    path = fixed.source.filename
    try:
        data = fixed.source.with_text(fixed.text).encode()
    except UnicodeEncodeError as error:
        raise OSError(None, f"the fix has characters that {error.encoding} lacks", path) from None
    write_atomically(path, data, old=fixed.source.encode())


def _lint(task: _Task) -> tuple[list[Diagnostic], Uses]:
    follower = Follower(_project(task), task.source.filename)
    return linter.lint(task.source, task.settings, always_parse=task.parse, resolver=follower), follower.uses


def _fix(task: _Task) -> linter.FixResult:
    follower = Follower(_project(task), task.source.filename)
    return linter.fix(task.source, task.settings, task.unsafe, resolver=follower)


_runs = count(1)
_projects: dict[tuple[int, str, tuple[str, ...]], Project] = {}


def _project(task: _Task) -> Project:
    """Return what this process knows of the project's files, from this run alone."""
    key = (task.run, task.top, task.settings.frameworks)
    if key not in _projects:
        for old in [other for other in _projects if other[0] != task.run]:
            del _projects[old]
        _projects[key] = Project(task.top, task.settings.profiles.values())
    return _projects[key]


def _valid(task: _Task, uses: Uses) -> bool:
    return holds(_project(task), uses)


def _run(function: Callable[[_Task], T], tasks: Sequence[_Task]) -> list[T | BaseException]:
    """Apply a function to all tasks, in workers if they are many; what fails yields its exception."""
    workers = min(_processors(), len(tasks))
    if len(tasks) <= ALONE or workers < 2:
        return [_attempt(partial(function, task)) for task in tasks]
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    import adlint.lower  # noqa: F401  # forked workers share what is loaded before

    context = get_context("fork" if sys.platform == "linux" else None)
    with ProcessPoolExecutor(workers, context, initializer=_start) as pool:
        longest_first = sorted(range(len(tasks)), key=lambda number: -len(tasks[number].source.text))
        futures = {number: pool.submit(_work, function, tasks[number]) for number in longest_first}
        outcomes = [_attempt(futures[number].result) for number in range(len(tasks))]
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, BrokenExecutor):  # some file took its worker down: find out which
            with ProcessPoolExecutor(1, context, initializer=_start) as pool:
                outcomes[number] = _attempt(pool.submit(_work, function, tasks[number]).result)
    return outcomes


def _attempt(call: Callable[[], T]) -> T | BaseException:
    try:
        return call()
    except Exception as error:
        return error


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_done = 0


def _start() -> None:
    """Begin a worker: what is loaded stays, nobody looks for cycles meanwhile, a killed parent is its end."""
    gc.freeze()
    gc.disable()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    if parent := parent_process():
        wait([parent.sentinel])
        os._exit(1)


def _work(function: Callable[[_Task], T], task: _Task) -> T:
    """Do a task in a worker; collect cycles only after a good deal of text."""
    global _done
    result = function(task)
    _done += len(task.source.text)
    if _done > _COLLECT_AFTER:
        _done = 0
        gc.collect()
    return result
