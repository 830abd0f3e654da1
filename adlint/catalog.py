"""The catalog: rules/ → Rule, and the profiles beside them. A rule is there because its TOML is.

    rules/<family>/<name>.toml        one Rule: identity, texts, examples

Knows no source, no tree and no tape. Prints nothing, writes nothing; the only files read are the package's own data,
through `Traversable`, so it works from a wheel, a zip and a checkout alike.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from adlint.diagnostics import Applicability, Severity, page
from adlint.profiles import Profile, built_in, side_by_side
from adlint.tables import CatalogError, Table, package_data, parse, tables_in

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

FAMILIES = ("graph", "slots", "scope", "port", "meta")


@dataclass(frozen=True, slots=True)
class Rule:
    """One promise: when it is broken, what is said and what a mending looks like.

    The values of `messages` and `fix_titles` are templates with `{placeholders}` for the check to fill. `messages` has
    the key "default", and `fix_titles` too if there is a fix; a rule without one has no titles and no applicability.
    """

    id: str
    name: str
    family: str
    severity: Severity
    summary: str
    messages: Mapping[str, str]
    why: str
    fix_titles: Mapping[str, str]
    applicability: Applicability | None
    fix_why: str
    bad: str
    good: str

    @property
    def message(self) -> str:
        """The usual message's template."""
        return self.messages["default"]

    @property
    def url(self) -> str:
        """The page that explains the rule."""
        return page(self.name)

    @property
    def fix_title(self) -> str | None:
        """The usual fix's title, a template; None if the rule has no fix."""
        return self.fix_titles.get("default")


@dataclass(frozen=True, slots=True)
class Catalog:
    """All rules by name and all profiles by id."""

    rules: Mapping[str, Rule]
    profiles: Mapping[str, Profile]

    def rule(self, name_or_id: str) -> Rule:
        """The rule of that name or id; raises KeyError."""
        if name_or_id in self.rules:
            return self.rules[name_or_id]
        for rule in self.rules.values():
            if rule.id == name_or_id:
                return rule
        raise KeyError(name_or_id)


@lru_cache(maxsize=1)
def load() -> Catalog:
    """Read the rules and profiles that come with the package."""
    root = package_data()
    rules: dict[str, Rule] = {}
    ids: dict[str, str] = {}
    for family in FAMILIES:
        for file in tables_in(root / family):
            rule = read_rule(file, family)
            if rule.id in ids:
                raise CatalogError(f"{family}/{file.name}", "id", f"{rule.id} is taken by {ids[rule.id]}")
            if rule.name in rules:
                raise CatalogError(f"{family}/{file.name}", "name", f"{rule.name} exists in another family")
            ids[rule.id] = rule.name
            rules[rule.name] = rule
    ordered = sorted(rules.values(), key=lambda rule: rule.id)
    return Catalog(MappingProxyType({rule.name: rule for rule in ordered}), side_by_side(built_in(rules)))


def read_rule(file: Traversable, family: str) -> Rule:
    """Read one rule; its name is the file's."""
    name = file.name[:-5]
    table = Table(f"{family}/{file.name}", parse(file))
    messages = table.texts("messages", required=True)
    if "default" not in messages:
        raise CatalogError(table.file, "messages", "has no default")
    fix = table.child("fix")
    rule = Rule(
        id=table.text("id"),
        name=table.text("name"),
        family=family,
        severity=Severity(table.choice("severity", _values(Severity))),
        summary=table.text("summary"),
        messages=MappingProxyType(messages),
        why=table.text("why").strip(),
        fix_titles=MappingProxyType({"default": fix.text("title"), **fix.texts("titles")} if fix else {}),
        applicability=Applicability(fix.choice("applicability", _values(Applicability))) if fix else None,
        fix_why=fix.text("why").strip() if fix else "",
        bad=table.text("bad").lstrip("\n"),
        good=table.text("good").lstrip("\n"),
    )
    if rule.name != name:
        raise CatalogError(table.file, "name", f"is {rule.name!r}, the file says {name!r}")
    if not re.fullmatch(r"AD\d{3}", rule.id):
        raise CatalogError(table.file, "id", f"{rule.id!r} is not of the form AD123")
    if fix:
        fix.finish()
    table.finish()
    return rule


def _values(choices: type[Enum]) -> list[str]:
    return [choice.value for choice in choices]
