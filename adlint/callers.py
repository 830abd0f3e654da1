"""Findings in functions that nothing in their file calls, judged as other files call them.

    with torch.no_grad():
        evaluate(net, batches)       in another file: what `evaluate` runs is not recorded there

Reads nothing but what the resolver gives; prints nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from adlint import program as p
from adlint.catalog import load
from adlint.checks import check
from adlint.diagnostics import Diagnostic, Span
from adlint.profiles import Profile
from adlint.source import Source
from adlint.tape.resolver import Place, Resolver
from adlint.tape.run import run

MOST = 6


def judged(
    found: Sequence[Diagnostic], program: p.Program, source: Source, profile: Profile, resolver: Resolver
) -> list[Diagnostic]:
    """Keep findings that depend on a function having no caller only if it has none, or if a caller leads to them too.

    Where the callers are too many to be run, or lead elsewhere, nothing is reported.
    """
    here = resolver.identity(program.filename)
    seen: dict[str, set[tuple[str, Span]]] = {}
    kept = []
    for item in found:
        callers = resolver.callers(here, item.uncalled) if item.uncalled else ()
        if callers is None or len(callers) > MOST:
            continue
        for caller in callers:
            if caller not in seen:
                seen[caller] = _through(caller, here, program, source, profile, resolver)
        if not callers or any((item.name, item.span) in seen[caller] for caller in callers):
            kept.append(replace(item, uncalled=""))
    return kept


@dataclass(frozen=True)
class _Home:
    """A project in which one file is the program that is being linted."""

    resolver: Resolver
    here: str
    own: p.Program

    def identity(self, filename: str) -> str:
        return self.resolver.identity(filename)

    def find(self, importer: str, dotted: str) -> Place | None:
        return self.resolver.find(importer, dotted)

    def submodule(self, path: str, name: str) -> str | None:
        return self.resolver.submodule(path, name)

    def program(self, path: str) -> p.Program | None:
        return self.own if path == self.here else self.resolver.program(path)

    def names(self, path: str, name: str) -> bool:
        return self.resolver.names(path, name)

    def callers(self, path: str, name: str) -> tuple[str, ...] | None:
        return self.resolver.callers(path, name)

    def abandoned(self) -> bool:
        return self.resolver.abandoned()


def _through(
    caller: str, here: str, program: p.Program, source: Source, profile: Profile, resolver: Resolver
) -> set[tuple[str, Span]]:
    """Return what is found in a program when the file of a caller is run, by roots that nobody else calls."""
    main = resolver.program(caller)
    if main is None:
        return set()
    facts = run(main, profile, _Home(resolver, here, program), here)
    facts.others = (main, *(other for other in facts.others if other is not program))
    found = check(facts, program, source, load(), profile)
    return {(item.name, item.span) for item in found if not (item.uncalled and resolver.callers(caller, item.uncalled))}
