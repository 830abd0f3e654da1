"""Facts → Diagnostics: one function a rule, found by the rule's name. Reads no files, runs nothing."""

from __future__ import annotations

from adlint.catalog import Catalog, Profile
from adlint.checks import graph, scope, slots
from adlint.checks.context import Context
from adlint.diagnostics import Diagnostic
from adlint.program import Program
from adlint.rewrite import Rewriter
from adlint.source import Source
from adlint.tape.facts import Facts

FAMILIES = {"graph": graph, "slots": slots, "scope": scope}


def check(facts: Facts, program: Program, source: Source, catalog: Catalog, profile: Profile) -> list[Diagnostic]:
    """Return what all rules report of a program, in the order of the text, possible findings included."""
    if not facts.found:
        return []
    context = Context(program, facts, profile, Rewriter(source.text, program), source)
    found: list[Diagnostic] = []
    for rule in catalog.rules.values():
        if rule.family in FAMILIES:
            found += getattr(FAMILIES[rule.family], rule.name.replace("-", "_"))(context, rule)
    return sorted(found, key=lambda d: (d.span, d.code))
