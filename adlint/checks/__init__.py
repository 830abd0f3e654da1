"""Facts → Diagnostics: one function a rule, found by the rule's name. Reads no files, runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from adlint.catalog import Catalog, Rule
from adlint.checks import graph, port, scope, slots
from adlint.checks.context import Context
from adlint.diagnostics import Diagnostic, Span
from adlint.profiles import Profile
from adlint.program import Node, Program, walk_all
from adlint.rewrite import Rewriter, Sealed
from adlint.source import Source
from adlint.tape.facts import Event, Fact, Facts

Behind = dict[tuple[str, Span], Fact]
"""The facts behind findings, by rule and place."""
FAMILIES = {"graph": graph, "slots": slots, "scope": scope, "port": port}


def check(
    facts: Facts,
    program: Program,
    source: Source,
    catalog: Catalog,
    profile: Profile,
    behind: Behind | None = None,
) -> list[Diagnostic]:
    """Return what all rules report of a program, in the order of the text, possible findings included; `behind` takes
    what they come from.

    What happened in another file is reported there. Where a cause lies in another file, the finding has no fix.
    """
    near, far = facts.found, list[Fact]()
    others: tuple[Program, ...] = ()
    if near and facts.others:
        own = set(walk_all(program.body))
        here = [fact for fact in facts.found if _is_in(fact.event, own)]
        near = [fact for fact in here if all(_is_in(event, own) for event in _events(fact))]
        far = [fact for fact in here if fact not in near]
        others = facts.others if far or not all(own.issuperset(_nodes(fact)) for fact in near) else ()
    found: list[Diagnostic] = []
    for some, rewriter in ((near, Rewriter(source.text, program)), (far, Sealed(source.text, program))):
        if some:
            known = {(d.name, d.span) for d in found}
            context = Context(program, replace(facts, found=some), profile, rewriter, source, others)
            reported = [d for d in _report(context, catalog) if d.filename == program.filename]
            found += [d for d in reported if (d.name, d.span) not in known]
            _remember(context, behind)
    return sorted(found, key=lambda d: (d.span, d.code))


def check_port(
    facts: Facts,
    there: Facts,
    unscoped: Facts | None,
    program: Program,
    source: Source,
    catalog: Catalog,
    profile: Profile,
    target: Profile,
    behind: Behind | None = None,
) -> list[Diagnostic]:
    """Return what works in a program's own framework, by `facts`, and not by the rules of another one, by `there`, and
    what is recorded in one without scopes, by `unscoped`."""
    own = set(walk_all(program.body))
    differences = port.differences(facts, there, unscoped)
    here = [fact for fact in differences if all(_is_in(event, own) for event in _events(fact))]
    if not here:
        return []
    rewriter = Rewriter(source.text, program)
    context = Context(program, replace(facts, found=here), profile, rewriter, source, target=target)
    found = sorted(_report(context, catalog), key=lambda d: (d.span, d.code))
    _remember(context, behind)
    return found


def _remember(context: Context, behind: Behind | None) -> None:
    if behind is not None:
        for one, fact in context.reported:
            behind.setdefault((one.name, one.span), fact)


def _report(context: Context, catalog: Catalog) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for rule in catalog.rules.values():
        if _is_asked(context, rule):
            found += getattr(FAMILIES[rule.family], rule.name.replace("-", "_"))(context, rule)
    return found


def _is_asked(context: Context, rule: Rule) -> bool:
    """Tell whether a rule is about what is checked: a port to another framework, or a program in its own one."""
    if context.target is not None:
        return rule.family == "port"
    return rule.family in FAMILIES and rule.family != "port" and context.profile.judges(rule.name)


def _is_in(event: Event, nodes: Set[Node]) -> bool:
    return event.site in nodes and (event.subject is None or event.subject in nodes)


def _events(fact: Fact) -> list[Event]:
    return [fact.event, *fact.causes, *(value for _, value in fact.details if isinstance(value, Event))]


def _nodes(fact: Fact) -> Iterator[Node]:
    """Yield the nodes that a fact refers to beside its events."""
    for event in _events(fact):
        yield from event.calls
    if fact.shared is not None:
        yield fact.shared
    yield from (value for _, value in fact.details if isinstance(value, Node))
