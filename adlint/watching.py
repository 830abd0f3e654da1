"""Waits until something changes that a check of some paths depends on: the only user of watchfiles. Prints nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain

from adlint.config import FILES
from adlint.discovery import EXCLUDED, SUFFIXES

_NAMES = (*FILES, ".gitignore")


class CannotWatch(Exception):
    """What watches files is not installed."""


def changes(paths: Iterable[str]) -> Iterator[None]:
    """Return once for every batch of changes under the paths; raises `CannotWatch` at once, `KeyboardInterrupt` later.

    A file is watched through its folder, since editors put a new one in its place.
    """
    try:
        from watchfiles import DefaultFilter, watch
    except ImportError:
        raise CannotWatch("`--watch` needs watchfiles: pip install 'adlint[watch]'") from None

    class Concerned(DefaultFilter):
        ignore_dirs = tuple(EXCLUDED)

        def __call__(self, change: object, path: str) -> bool:
            known = path.endswith((*SUFFIXES, ".toml")) or os.path.basename(path) in _NAMES
            return known and super().__call__(change, path)  # type: ignore[arg-type]

    paths = list(paths)
    folders = {path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path)) for path in paths}
    deep = any(os.path.isdir(path) for path in paths)
    batches = watch(
        *folders,
        watch_filter=Concerned(),
        recursive=deep,
        debounce=200,
        step=50,
        rust_timeout=200,
        yield_on_timeout=True,
    )
    first = next(batches)  # it begins to look only now, and nothing that comes later may be missed
    return (None for batch in chain([first], batches) if batch)
