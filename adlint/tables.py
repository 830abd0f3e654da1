"""Reading TOML tables key by key: what is missing, of another type or unknown is an error that names file and key.

Knows nothing of rules or frameworks; reads only what it is handed. Prints nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    from importlib.resources.abc import Traversable

    import tomllib
else:
    import tomli as tomllib

    if TYPE_CHECKING:
        from importlib.abc import Traversable

LARGEST = 1_000_000
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){100}""")


class CatalogError(Exception):
    """Data that cannot be used; names the file and the key."""

    def __init__(self, file: str, key: str, problem: str) -> None:
        super().__init__(f"{file}: {key}: {problem}" if key else f"{file}: {problem}")
        self.file = file
        self.key = key
        self.problem = problem


@dataclass(slots=True)
class Table:
    """A TOML table that is read key by key; what nobody asked for is an error."""

    file: str
    data: dict[str, Any]
    path: str = ""
    read: set[str] = field(default_factory=set)

    def take(self, key: str, kind: type, required: bool) -> Any:
        self.read.add(key)
        value = self.data.get(key)
        if value is None:
            if required:
                raise CatalogError(self.file, self.path + key, "is missing")
            return None
        if not isinstance(value, kind):
            raise CatalogError(self.file, self.path + key, f"is not a {kind.__name__}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value: str | None = self.take(key, str, default is None)
        if value is None:
            return default or ""
        if not value.strip():
            raise CatalogError(self.file, self.path + key, "is empty")
        return value

    def choice(self, key: str, choices: Iterable[str]) -> str:
        value = self.text(key)
        if value not in choices:
            raise CatalogError(self.file, self.path + key, f"{value!r} is not one of {', '.join(choices)}")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        value = self.take(key, list, False) or []
        if not all(isinstance(item, str) for item in value):
            raise CatalogError(self.file, self.path + key, "is not a list of strings")
        return tuple(value)

    def kinds(self, key: str) -> Mapping[str, str]:
        """Read lists of names under kinds as a table from names to kinds."""
        child = self.child(key)
        found = {name: kind for kind in list(child.data) for name in child.strings(kind)} if child else {}
        return MappingProxyType(found)

    def texts(self, key: str, required: bool = False) -> dict[str, str]:
        value = self.take(key, dict, required) or {}
        for name, text in value.items():
            if not isinstance(text, str):
                raise CatalogError(self.file, f"{self.path}{key}.{name}", "is not a string")
        return dict(value)

    def flag(self, key: str) -> bool:
        return bool(self.take(key, bool, False))

    def flags(self, key: str) -> dict[str, bool]:
        value = self.take(key, dict, False) or {}
        if not all(isinstance(item, bool) for item in value.values()):
            raise CatalogError(self.file, self.path + key, "is not a table of true and false")
        return dict(value)

    def pairs(self, key: str) -> Iterator[tuple[str, str]]:
        for value in self.take(key, list, False) or []:
            match value:
                case [str(first), str(second)]:
                    yield first, second
                case _:
                    raise CatalogError(self.file, self.path + key, "is not a list of pairs of strings")

    def child(self, key: str) -> Table | None:
        value = self.take(key, dict, False)
        return None if value is None else Table(self.file, value, f"{self.path}{key}.")

    def children(self, key: str) -> Iterator[Table]:
        for index, value in enumerate(self.take(key, list, False) or []):
            if not isinstance(value, dict):
                raise CatalogError(self.file, f"{self.path}{key}[{index}]", "is not a table")
            yield Table(self.file, value, f"{self.path}{key}[{index}].")

    def finish(self) -> None:
        for key in self.data:
            if key not in self.read:
                raise CatalogError(self.file, self.path + key, "is not a known key")


def merged(into: dict[str, Any], other: dict[str, Any], file: str, path: str = "") -> dict[str, Any]:
    """Join two trees of tables: tables key by key, lists end to end; a value given twice is an error."""
    result = dict(into)
    for key, value in other.items():
        if key not in result:
            result[key] = value
        elif isinstance(value, dict) and isinstance(result[key], dict):
            result[key] = merged(result[key], value, file, f"{path}{key}.")
        elif isinstance(value, list) and isinstance(result[key], list):
            result[key] = [*result[key], *value]
        else:
            raise CatalogError(file, path + key, "is already given")
    return result


def overlaid(base: dict[str, Any], own: dict[str, Any], file: str, path: str = "") -> dict[str, Any]:
    """Return `base` with what `own` says: single values in the place of its own, lists before its own. A name that a
    table of lists in `own` gives is taken out of all lists of that table in `base`. Raises CatalogError where `own` has
    another kind of value."""
    result = dict(base)
    moved = {name for value in own.values() if isinstance(value, list) for name in value if isinstance(name, str)}
    if all(isinstance(value, list) for value in base.values()):
        result = {
            key: [one for one in value if not (isinstance(one, str) and one in moved)] for key, value in base.items()
        }
    for key, value in own.items():
        before = result.get(key)
        if before is not None and type(before) is not type(value):
            raise CatalogError(file, path + key, f"is no {type(before).__name__}")
        if isinstance(value, dict) and isinstance(before, dict):
            result[key] = overlaid(before, value, file, f"{path}{key}.")
        elif isinstance(value, list) and isinstance(before, list):
            result[key] = [*value, *(one for one in before if one not in value)]
        else:
            result[key] = value
    return result


def tables_in(folder: Traversable) -> list[Traversable]:
    """Return the TOML files of a folder, in the order of their names; none where there is no folder."""
    if not folder.is_dir():
        return []
    return sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)


def package_data() -> Traversable:
    """Return the folder `rules` of the package, or of the checkout."""
    installed = resources.files("adlint") / "rules"
    return installed if installed.is_dir() else Path(__file__).resolve().parent.parent / "rules"


def decode(text: str) -> dict[str, Any]:
    """Return the data of a TOML text; raises `ValueError`, whatever is wrong with it."""
    if len(text) > LARGEST:
        raise ValueError(f"the file has more than {LARGEST:,} characters")
    if _LONG_KEY.search(text):  # the parser takes quadratic time for one
        raise ValueError("a key has too many parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("the file is too deeply nested") from None
    except ValueError:
        raise ValueError("a number has too many digits") from None


def parse(file: Traversable) -> dict[str, Any]:
    try:
        return decode(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CatalogError(file.name, "", str(error)) from error
