"""What works where the code is now, and fails, grows or means something else in another framework."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import Context, Fix, attempted, called_names
from adlint.checks.graph import DISTURBING
from adlint.checks.summing import named, summed
from adlint.diagnostics import Diagnostic
from adlint.tape.facts import Event, Fact, Facts

CONSUMED = ("consumed-again", "shared-consumed", "carried-graph", "stale-forward")
ADDED = "added-up"


def differences(here: Facts, there: Facts, unscoped: Facts | None) -> Iterator[Fact]:
    """Yield what goes wrong only by the rules of the other framework, and what adds up by those of the own one.

    `unscoped` is a run by the rules of a framework that has no scope which stops recording.
    """
    wrong = {(fact.event.site, fact.causes[0].site) for kind in CONSUMED for fact in here.of(kind)}
    for kind in CONSUMED:
        for fact in there.of(kind):
            if (fact.event.site, fact.causes[0].site) not in wrong:
                yield replace(fact, kind="port-consumed", details=(("kind", kind),))
    if unscoped is not None:
        yield from (replace(fact, kind="port-grows") for fact in unscoped.of("recorded-in-eval"))
    yield from (replace(fact, kind="port-added") for fact in here.of(ADDED))
    yield from (Fact("port-passed", Event("backward", site, (), frozenset()), (), True) for site in here.passes)


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
            loss=named(context, fact.event), line=context.line(first.site), target=context.target.id
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


METHOD = "Tensor.backward"
PLACES = ("first", "second", "third", "fourth")


def port_argument(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report flags of a backward that the other framework takes in another place, or not at all."""
    assert context.target is not None
    here, there = (one.backward_parameters.get(METHOD, ()) for one in (context.profile, context.target))
    retain = context.profile.retain_argument
    if retain not in here:
        return []
    own, other = here.index(retain), there.index(retain) if retain in there else None
    told = {one.site for fact in context.facts.of("port-consumed") for one in (fact.event, fact.causes[0])}
    found = []
    for fact in context.facts.of("port-passed"):
        site = fact.event.site
        argument = _flag(site, retain, own)
        if argument is None or other == own or (argument.keyword and other is not None):
            continue
        if other is None and site in told:  # that the graph is consumed says it
            continue
        words = {"argument": retain, "place": PLACES[own], "target": context.target.id}
        message = rule.messages["default" if other is not None else "unknown"].format(**words)
        fix = None if other is None else _by_keyword(context, rule, argument, retain)
        found.append(context.diagnostic(rule, fact, argument.value, message, (), fix))
    return found


def _flag(site: p.Node, name: str, place: int) -> p.Argument | None:
    """Return the argument of a method call that goes by a name or stands in a place."""
    if not isinstance(site, p.Call) or not isinstance(site.function, p.Attribute):
        return None
    if any(argument.star for argument in site.arguments):
        return None
    given = next((argument for argument in site.arguments if argument.keyword == name), None)
    positional = [argument for argument in site.arguments if argument.keyword is None]
    return given or next(iter(positional[place:]), None)


@attempted
def _by_keyword(context: Context, rule: Rule, argument: p.Argument, name: str) -> Fix | None:
    text = context.rewriter.text_of(argument.value)
    return context.fix(rule, context.rewriter.replace(argument.value, f"{name}={text}"), argument=name)


@attempted
def _added(context: Context, rule: Rule, first: Event, second: Event) -> Fix | None:
    """Add the losses, where both passes stand in one block and nothing between them uses the first one's gradients."""
    if first.kind != "backward" or second.kind != "backward" or first.site is second.site:
        return None
    if first.turn != second.turn:
        return None
    edits = summed(context, [first, second], keep=True)
    between = context.between(context.statement(first.site), context.statement(second.site))
    if DISTURBING & called_names(between) or any(
        isinstance(n, p.Attribute) and n.attr == "grad" for n in p.walk_all(between)
    ):
        return None
    return context.fix(rule, edits)
