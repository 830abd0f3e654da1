"""What was found in a file, kept by the hash of its bytes, so that an unchanged project costs a look at each file.

A result that looked into other files holds while they are the same and imports lead to them. One JSON file for each set
of settings, in `.adlint_cache`; all of them are dropped when adlint or its rules change. A cache that cannot be read or
written is no error. Prints nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adlint import __version__
from adlint.config import Settings
from adlint.diagnostics import Applicability, Certainty, Diagnostic, Edit, Fix, Position, Related, Severity, Span
from adlint.files import write_atomically
from adlint.follow import Uses

if sys.version_info >= (3, 11):
    from importlib.resources.abc import Traversable
elif TYPE_CHECKING:
    from importlib.abc import Traversable

FOLDER = ".adlint_cache"
Valid = Callable[[Uses], bool]
_FRESH = 2_000_000_000


def digest(data: bytes) -> str:
    """Return the name that a file's content has in the cache."""
    return blake2b(data, digest_size=16).hexdigest()


class Cache:
    """The findings of earlier runs; several settings may be in use at once."""

    def __init__(self, root: Path) -> None:
        self._folder = root / FOLDER
        self._engine = _engine()
        self._tables: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, set[str]] = {}
        self._keys: dict[int, tuple[Settings, str]] = {}
        self._changed: set[str] = set()

    def unchanged(self, path: str, parsed: bool, settings: Settings, valid: Valid) -> list[Diagnostic] | None:
        """Return what was found in a file if, by its size and times, it has not changed since."""
        entry = self._entry(path, parsed, settings)
        try:
            if entry is None or entry["stat"] != _stat(path) or not valid(_uses(entry)):
                return None
        except OSError:
            return None
        return _load(entry["found"], path)

    def known(self, path: str, parsed: bool, data: bytes, settings: Settings, valid: Valid) -> list[Diagnostic] | None:
        """Return what was found in a file if it has the same content."""
        entry = self._entry(path, parsed, settings)
        if entry is None or entry["digest"] != digest(data) or not valid(_uses(entry)):
            return None
        found = _load(entry["found"], path)
        self.store(path, parsed, data, settings, found, _uses(entry))
        return found

    def store(
        self,
        path: str,
        parsed: bool,
        data: bytes,
        settings: Settings,
        found: Sequence[Diagnostic],
        uses: Uses | None = None,
    ) -> None:
        """Keep what was found in a file; one that was changed just now may change again within the clock's tick."""
        key = self._key(settings)
        try:
            stat = _stat(path)
        except OSError:
            return
        if len(data) != stat[0] or time.time_ns() - max(stat[1:]) < _FRESH:
            stat = []
        entry = {"stat": stat, "digest": digest(data), "parsed": parsed, "found": [_dump(item, path) for item in found]}
        if uses:
            entry["found_at"] = [[*asked, led] for asked, led in uses.found.items()]
            entry["read"] = uses.read
            entry["called"] = [[*function, callers] for function, callers in uses.called.items()]
        self._table(key)[os.path.abspath(path)] = entry
        self._changed.add(key)

    def save(self) -> None:
        """Write what is new and forget files that are gone."""
        if not self._changed:
            return
        try:
            self._folder.mkdir(exist_ok=True)
            for name, text in (
                ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"),
                (".gitignore", "*\n"),
            ):
                if not (self._folder / name).exists():
                    (self._folder / name).write_text(text, encoding="utf-8")
            for file in self._folder.glob("*.json"):
                if not file.name.startswith(self._engine):
                    file.unlink(missing_ok=True)
            for key in self._changed:
                seen, table = self._seen[key], self._tables[key]
                kept = {path: entry for path, entry in table.items() if path in seen or os.path.exists(path)}
                write_atomically(self._file(key), json.dumps(kept, separators=(",", ":")).encode())
        except OSError:
            return

    def _entry(self, path: str, parsed: bool, settings: Settings) -> dict[str, Any] | None:
        key = self._key(settings)
        entry = self._table(key).get(os.path.abspath(path))
        self._seen[key].add(os.path.abspath(path))
        return entry if entry and entry["parsed"] >= parsed else None

    def _table(self, key: str) -> dict[str, Any]:
        if key not in self._tables:
            self._seen[key] = set()
            try:
                table = json.loads(self._file(key).read_bytes())
            except (OSError, ValueError):
                table = {}
            self._tables[key] = table if isinstance(table, dict) else {}
        return self._tables[key]

    def _file(self, key: str) -> Path:
        return self._folder / f"{self._engine}-{key}.json"

    def _key(self, settings: Settings) -> str:
        if id(settings) not in self._keys:
            values = [str(settings.root.absolute())]
            values += [repr(getattr(settings, item.name)) for item in fields(settings) if item.name != "root"]
            own = b"".join((settings.root / path).read_bytes() for path in settings.frameworks)
            self._keys[id(settings)] = (settings, digest("\0".join(values).encode() + own))
        return self._keys[id(settings)][1]


def _stat(path: str) -> list[int]:
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _engine() -> str:
    """Hash the linter itself: its version, its modules and its rules."""
    package = resources.files("adlint")
    rules = package / "rules"
    sum_of_all = blake2b(__version__.encode(), digest_size=16)
    for file in _files([package, *([] if rules.is_dir() else [Path(__file__).resolve().parent.parent / "rules"])]):
        sum_of_all.update(file.name.encode() + b"\0" + file.read_bytes())
    return sum_of_all.hexdigest()


def _files(folders: Iterable[Traversable]) -> Iterable[Traversable]:
    for folder in folders:
        inside = sorted(folder.iterdir(), key=lambda item: item.name)
        yield from (item for item in inside if item.name.endswith((".py", ".toml")))
        yield from _files(item for item in inside if item.is_dir() and item.name != "__pycache__")


def _dump(item: Diagnostic, path: str) -> list[Any]:
    fix = item.fix
    return [
        item.code,
        item.name,
        item.message,
        item.severity.value,
        item.certainty.value,
        None if item.filename == path else item.filename,
        _flat(item.span),
        [[r.message, None if r.filename == path else os.path.abspath(r.filename), _flat(r.span)] for r in item.related],
        fix and [fix.title, fix.applicability.value, [[_flat(e.span), e.content] for e in fix.edits]],
    ]


def _load(found: Iterable[list[Any]], path: str) -> list[Diagnostic]:
    return [
        Diagnostic(
            code=code,
            name=name,
            message=message,
            severity=Severity(severity),
            certainty=Certainty(certainty),
            filename=filename or path,
            span=_span(span),
            related=tuple(Related(text, _shown(other, path), _span(place)) for text, other, place in related),
            fix=fix and _fix(*fix),
        )
        for code, name, message, severity, certainty, filename, span, related, fix in found
    ]


def _shown(other: str | None, path: str) -> str:
    """Return the name of another file as it is written beside a path."""
    if other is None:
        return path
    return other if os.path.isabs(path) else os.path.relpath(other)


def _uses(entry: dict[str, Any]) -> Uses:
    return Uses(
        {(path, name): led for path, name, led in entry.get("found_at", ())},
        entry.get("read", {}),
        {(path, name): None if got is None else tuple(got) for path, name, got in entry.get("called", ())},
    )


def _fix(title: str, applicability: str, edits: Iterable[list[Any]]) -> Fix:
    return Fix(title, Applicability(applicability), tuple(Edit(_span(span), content) for span, content in edits))


def _flat(span: Span) -> list[int]:
    return [span.start.line, span.start.column, span.end.line, span.end.column]


def _span(flat: list[int]) -> Span:
    return Span(Position(flat[0], flat[1]), Position(flat[2], flat[3]))
