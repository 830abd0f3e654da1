"""Configuration files and flags → Settings.

The closest `adlint.toml`, or `pyproject.toml` with a table `[tool.adlint]`, above a file holds for it; files are never
merged. Reads configuration files; prints nothing: whatever is wrong is one `ConfigError` that names file, line and key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from adlint.catalog import FAMILIES, Catalog, load
from adlint.diagnostics import Severity, one_line
from adlint.profiles import Profile, side_by_side
from adlint.tables import decode

FILES = ("adlint.toml", "pyproject.toml")
OFF = "off"
_LONGEST = 2_000
_PREFIX = re.compile(r"AD\d{0,2}")


class ConfigError(Exception):
    """A setting that cannot be used; its text, one line, names the place."""

    def __init__(self, text: str) -> None:
        super().__init__(one_line(text if len(text) <= _LONGEST else text[:_LONGEST] + "..."))


@dataclass(frozen=True)
class Flags:
    """What the command line says about rules."""

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    possible: bool = False
    port_to: str = ""


@dataclass(frozen=True)
class Options:
    """The flags of `adlint check`, as they were given."""

    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    possible: bool
    port_to: str
    fix: bool
    unsafe_fixes: bool
    diff: bool
    watch: bool
    output_format: str
    output_file: str | None
    statistics: bool
    show_files: bool
    show_settings: bool
    config: str | None
    stdin_filename: str | None
    force_exclude: bool
    no_cache: bool
    exit_zero: bool
    color: str
    quiet: bool
    verbose: bool


@dataclass(frozen=True)
class Settings:
    """What to report, where to look. All values are checked; patterns are relative to `root`.

    `possible` asks for findings that hold only if two guards that may be related are not, `port_to` for what works now
    and not in the framework of that name.
    """

    root: Path = Path()
    origin: Path | None = None
    select: tuple[str, ...] = ("all",)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    frameworks: tuple[str, ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    possible: bool = False
    port_to: str = ""

    def __getstate__(self) -> dict[str, object]:
        """Leave behind what was worked out from the values when they go to another process."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @cached_property
    def rules(self) -> Mapping[str, Severity]:
        """The enabled rules by name, each with the severity it is reported at."""
        catalog = load()
        overrides = {name: level for key, level in self.severity for name in resolve(key, catalog)}
        wanted = [(item, True) for item in (*self.select, *self.extend_select)]
        choices = [
            (_weight(item, catalog), not yes, item) for item, yes in (*wanted, *((i, False) for i in self.ignore))
        ]
        enabled: dict[str, bool] = {}
        for _, refused, selector in sorted(choices):
            enabled.update(dict.fromkeys(resolve(selector, catalog), not refused))
        return {
            name: Severity(overrides.get(name, rule.severity.value))
            for name, rule in catalog.rules.items()
            if enabled.get(name) and overrides.get(name) != OFF
        }

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        """The frameworks that come with the package and those that the project describes."""
        own = [_profile(self.root / path, self) for path in self.frameworks]
        return side_by_side([*load().profiles.values(), *own]) if own else load().profiles

    @property
    def target(self) -> Profile | None:
        """The framework that the code is to be ported to."""
        return self.profiles[self.port_to] if self.port_to else None

    @cached_property
    def _file_ignores(self) -> list[tuple[Callable[[str], bool], frozenset[str]]]:
        if not self.per_file_ignores:
            return []
        from pathspec import GitIgnoreSpec

        catalog = load()
        return [
            (GitIgnoreSpec.from_lines([pattern]).match_file, frozenset(n for s in names for n in resolve(s, catalog)))
            for pattern, names in self.per_file_ignores
        ]

    def ignored_in(self, filename: str) -> frozenset[str]:
        """Return the rules that `per-file-ignores` turns off in a file."""
        if not self._file_ignores:
            return frozenset()
        inside = self.relative(filename)
        return frozenset(name for match, names in self._file_ignores if match(inside) for name in names)

    def relative(self, filename: str) -> str:
        """Return a path as the patterns see it: from `root`, with slashes."""
        path = Path.cwd() / filename
        try:
            return path.relative_to(self.root.absolute()).as_posix()
        except ValueError:
            return path.as_posix().lstrip("/")

    def changed_by(self, flags: Flags) -> Settings:
        """Return these settings as the command line changes them; raises `ConfigError`.

        `--select` begins anew: what the file selects and ignores no longer counts.
        """
        for flag, names in (
            ("--select", flags.select),
            ("--extend-select", flags.extend_select),
            ("--ignore", flags.ignore),
        ):
            for name in names:
                if problem := _unknown_rule(name, load()):
                    raise ConfigError(f"`{flag}`: {problem}")
        if flags.port_to and flags.port_to not in self.profiles:
            raise ConfigError(
                f"`--port-to`: unknown framework `{flags.port_to}`{suggest(flags.port_to, self.profiles)}; "
                f"known are {', '.join(self.profiles)}"
            )
        base = replace(self, select=flags.select, extend_select=(), ignore=()) if flags.select else self
        return replace(
            base,
            extend_select=base.extend_select + flags.extend_select,
            ignore=base.ignore + flags.ignore,
            possible=flags.possible,
            port_to=flags.port_to,
        )


def resolve(selector: str, catalog: Catalog) -> tuple[str, ...]:
    """Return the names of the rules that a name, id, id prefix, family or "all" stands for; none if it is unknown."""
    if selector == "all":
        return tuple(catalog.rules)
    return tuple(
        rule.name
        for rule in catalog.rules.values()
        if selector in (rule.name, rule.id, rule.family)
        or (_PREFIX.fullmatch(selector) and rule.id.startswith(selector))
    )


def is_pattern(line: str) -> bool:
    """Whether a line can stand in a `.gitignore`."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def suggest(word: str, words: Iterable[str]) -> str:
    """Return "; did you mean `x`?" for the closest of the words, or nothing."""
    from difflib import get_close_matches

    known = {item.lower(): item for item in words}
    close = get_close_matches(word.lower().replace("_", "-"), known, n=1)
    return f"; did you mean `{known[close[0]]}`?" if close else ""


def rule_words(catalog: Catalog) -> list[str]:
    """Return every word that selects rules, for suggestions."""
    return [*catalog.rules, *(rule.id for rule in catalog.rules.values()), *FAMILIES, "all"]


def _unknown_rule(selector: str, catalog: Catalog) -> str:
    if resolve(selector, catalog):
        return ""
    return f"unknown rule `{selector}`{suggest(selector, rule_words(catalog))}"


def _weight(selector: str, catalog: Catalog) -> int:
    """How specific a selector is: a rule beats its family, a family beats everything."""
    if selector == "all":
        return 0
    if selector in FAMILIES:
        return 1
    return len(selector) if _PREFIX.fullmatch(selector) else 9


def _profile(path: Path, settings: Settings) -> Profile:
    from adlint.profiles import read_profile
    from adlint.tables import CatalogError

    try:
        return read_profile(path, load().rules)
    except (CatalogError, OSError) as error:
        raise ConfigError(f"{settings.origin or path}: `frameworks`: {error}") from None


class Finder:
    """Finds the settings that hold for a file; every folder is looked at once."""

    def __init__(self, config: Path | None = None, flags: Flags = Flags()) -> None:
        """With `config`, that file holds everywhere; the flags change whatever is found."""
        self._flags = flags
        self._fixed = read(config).changed_by(flags) if config else None
        self._known: dict[Path, Settings] = {}

    def of(self, folder: Path) -> Settings:
        """Return the settings for the files of a folder; raises `ConfigError`."""
        return self._fixed or self._closest(folder.absolute())

    def _closest(self, folder: Path) -> Settings:
        if folder in self._known:
            return self._known[folder]
        found = self._here(folder)
        if found is None:
            top = folder.parent == folder
            found = Settings(root=Path.cwd()).changed_by(self._flags) if top else self._closest(folder.parent)
        self._known[folder] = found
        return found

    def _here(self, folder: Path) -> Settings | None:
        for name in FILES:
            file = folder / name
            if file.is_file() and (name == "adlint.toml" or _has_table(file)):
                return read(file).changed_by(self._flags)
        return None


def _has_table(file: Path) -> bool:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(r"""^[ \t]*\[\s*tool\s*\.\s*["']?adlint["']?\s*[\].]""", text, re.M) is not None


def read(file: Path) -> Settings:
    """Read one configuration file; raises `ConfigError`."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{file}: cannot be read: {reason}") from None
    try:
        data: dict[str, Any] = decode(text)
    except ValueError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        ends = f":{text.count(chr(10)) + 1}" if "at end of document" in str(error) else ""
        place = f"{file}:{found[1]}:{found[2]}" if found else f"{file}{ends}"
        raise ConfigError(f"{place}: {re.sub(r' [(]at .*[)]$', '', str(error))}") from None
    section = ""
    if file.name == "pyproject.toml":
        tools = data.get("tool", {})
        data = tools.get("adlint", {}) if isinstance(tools, dict) else {}
        section = "tool.adlint"
    return _Reader(file, text, section).settings(data)


@dataclass(frozen=True)
class _Reader:
    """One file's table, checked key by key."""

    file: Path
    text: str
    section: str

    def settings(self, data: object) -> Settings:
        if not isinstance(data, dict):
            raise self._error("adlint", "must be a table")
        readers: dict[str, Callable[[str, Any], object]] = {
            "select": self._selectors,
            "extend-select": self._selectors,
            "ignore": self._selectors,
            "per-file-ignores": self._file_ignores,
            "exclude": self._patterns,
            "extend-exclude": self._patterns,
            "respect-gitignore": self._boolean,
            "frameworks": self._strings,
            "severity": self._severities,
        }
        values: dict[str, Any] = {}
        for key, value in data.items():
            if key not in readers:
                raise self._error(key, f"unknown key{suggest(key, readers) or '; known are ' + ', '.join(readers)}")
            values[key.replace("-", "_")] = readers[key](key, value)
        settings = Settings(root=self.file.absolute().parent, origin=self.file, **values)
        _ = settings.profiles if settings.frameworks else None
        return settings

    def _strings(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._error(key, f"must be a list of strings, not {_kind(value)}")
        return tuple(value)

    def _patterns(self, key: str, value: Any) -> tuple[str, ...]:
        patterns = self._strings(key, value)
        for pattern in patterns:
            if not is_pattern(pattern):
                raise self._error(key, f"{pattern!r} is no pattern of paths", pattern)
        return patterns

    def _selectors(self, key: str, value: Any) -> tuple[str, ...]:
        names = self._strings(key, value)
        for name in names:
            if problem := _unknown_rule(name, load()):
                raise self._error(key, problem, name)
        return names

    def _boolean(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._error(key, f"must be true or false, not {_kind(value)}")
        return value

    def _table(self, key: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._error(key, f"must be a table, not {_kind(value)}")
        return value

    def _file_ignores(self, key: str, value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
        table = self._table(key, value)
        self._patterns(key, list(table))
        return tuple((pattern, self._selectors(f"{key}.{pattern}", names)) for pattern, names in table.items())

    def _severities(self, key: str, value: Any) -> tuple[tuple[str, str], ...]:
        levels = [*(item.value for item in Severity), OFF]
        for name, level in self._table(key, value).items():
            if problem := _unknown_rule(name, load()):
                raise self._error(f"{key}.{name}", problem, name)
            if level not in levels:
                shown = f"`{level}`" if isinstance(level, str) else _kind(level)
                raise self._error(f"{key}.{name}", f"must be one of {', '.join(levels)}, not {shown}", name)
        return tuple(sorted(value.items(), key=lambda item: _weight(item[0], load())))

    def _error(self, key: str, problem: str, word: str = "") -> ConfigError:
        line = self._line(word, key) if word else self._line(key.partition(".")[2] or key, key)
        return ConfigError(f"{self.file}{f':{line}' if line else ''}: `{key}`: {problem}")

    def _line(self, word: str, key: str) -> int:
        """Find the line that a key or value stands in, below the header of its section."""
        header = rf"^[ \t]*\[\s*{re.escape(self.section)}\b" if self.section else ""
        below = re.search(header, self.text, re.M)
        start = below.start() if below else 0
        first = key.partition(".")[0]
        for wanted in (
            rf"""["']{re.escape(word)}["']""",
            rf"^[ \t]*{re.escape(word)}\s*[=.]",
            rf"\b{re.escape(first)}\b",
        ):
            if found := re.search(wanted, self.text[start:], re.M):
                return self.text.count("\n", 0, start + found.start() + len(found[0]) - 1) + 1
        return 0


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "a table"}
    return names.get(type(value), "a date or time")
