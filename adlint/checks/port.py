"""What works where the code is now, and fails, grows or means something else in another framework."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import Context, Fix, attempted, called_names, short
from adlint.checks.graph import DISTURBING
from adlint.checks.summing import bare, summed
from adlint.diagnostics import Diagnostic
from adlint.tape.facts import Event, Fact, Facts

CONSUMED = ("consumed-again", "shared-consumed", "carried-graph", "stale-forward")
GROWS, ADDED = "recorded-in-eval", "added-up"


def differences(here: Facts, there: Facts) -> Iterator[Fact]:
    """Yield what goes wrong only by the rules of the other framework, and what adds up by those of the own one."""
    wrong = {(fact.event.site, fact.causes[0].site) for kind in CONSUMED for fact in here.of(kind)}
    for kind in CONSUMED:
        for fact in there.of(kind):
            if (fact.event.site, fact.causes[0].site) not in wrong:
                yield replace(fact, kind="port-consumed", details=(("kind", kind),))
    yield from (replace(fact, kind="port-grows") for fact in there.of(GROWS))
    yield from (replace(fact, kind="port-added") for fact in here.of(ADDED))


def port_second_backward(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a backward through a graph that the other framework has consumed by then."""
    assert context.target is not None
    found, seen = [], set()
    for fact in sorted(context.facts.of("port-consumed"), key=lambda f: not f.definite):
        first = fact.causes[0]
        if fact.event.site in seen:
            continue
        seen.add(fact.event.site)
        message = rule.message.format(
            loss=_loss(context, fact.event), line=context.line(first.site), target=context.target.id
        )
        related = (context.related("the backward that consumes the graph there", first.site),)
        shared = dict(fact.details)["kind"] == "shared-consumed"
        fix = _added(context, rule, first, fact.event) if shared else None
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    return found


def port_accumulation(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report backwards whose gradients add up before a step, where the other framework returns them."""
    assert context.target is not None
    if not context.target.returns:
        return []
    consumed = {fact.event.site for fact in context.facts.of("port-consumed")}
    found, seen = [], set()
    for fact in sorted(context.facts.of("port-added"), key=lambda f: not f.definite):
        first, step = fact.causes
        if fact.event.site in seen or fact.event.site in consumed:
            continue
        seen.add(fact.event.site)
        turns = first.site is fact.event.site
        message = rule.messages["turns" if turns else "default"].format(
            line=context.line(first.site), step=context.line(step.site), target=context.target.id
        )
        related = (context.related("the step that applies the sum", step.site),)
        fix = None if turns else _added(context, rule, first, fact.event)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    return found


def port_evaluation(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report forwards that only a scope keeps from being recorded, where the other framework has none."""
    assert context.target is not None
    found, seen = [], set()
    for fact in context.facts.of("port-grows"):
        if fact.event.site in seen:
            continue
        seen.add(fact.event.site)
        terms = context.target.terms
        message = rule.message.format(target=context.target.id, inference=terms.get("inference", ""))
        found.append(context.diagnostic(rule, fact, fact.event.site, message, (), None))
    return found


def _loss(context: Context, event: Event) -> str:
    return short(context.text(event.subject)) if event.subject is not None else "the loss"


@attempted
def _added(context: Context, rule: Rule, first: Event, second: Event) -> Fix | None:
    """Add the losses, where both passes stand in one block and nothing between them uses the first one's gradients."""
    if first.kind != "backward" or second.kind != "backward" or first.site is second.site:
        return None
    a, b = context.statement(first.site), context.statement(second.site)
    if not (bare(a, first) and bare(b, second)) or b not in context.block(a) or first.turn != second.turn:
        return None
    between = context.between(a, b)
    if DISTURBING & called_names(between) or any(
        isinstance(n, p.Attribute) and n.attr == "grad" for n in p.walk_all(between)
    ):
        return None
    return context.fix(rule, summed(context, [first, second], keep=True))
