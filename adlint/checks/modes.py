"""Where a switch of mode is inserted: at the head of what trains, before what evaluates, after what undid it."""

from __future__ import annotations

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import (
    Applicability,
    Context,
    Fix,
    attempted,
    binds,
    last_name,
    trains,
    visible,
)
from adlint.tape.facts import Event, Fact


def network(event: Event) -> p.Expression | None:
    """Return the expression of the network in a forward."""
    site = event.site
    if not isinstance(site, p.Call):
        return None
    function = site.function
    return function.value if isinstance(function, p.Attribute) and function.attr == "forward" else function


@attempted
def called(context: Context, rule: Rule, site: p.Node) -> Fix | None:
    """Call what is only named."""
    code = f"{context.text(site)}()"
    return context.fix(rule, context.rewriter.replace(site, code), "named", Applicability.SAFE, code=code)


@attempted
def trained(context: Context, rule: Rule, fact: Fact, loop: p.Node | None) -> Fix | None:
    """Insert `train()` at the head of the loop between the switch and the forward, or of the forward's function."""
    net, site = network(fact.event), fact.event.site
    if net is None or not _is_path(net):
        return None
    code = f"{context.text(net)}.{context.profile.terms['train']}"
    function = context.function(site)
    rewriter = context.rewriter
    if isinstance(loop, p.Loop) and loop in tuple(context.above(site)) and context.function(loop) is function:
        if not _bound_in(loop, net):
            return context.fix(rule, rewriter.insert_first(loop.body, code), "loop", code=code)
    elif function is not None and not _bound_by(function, net):
        if _shared(context, function):
            return None
        return context.fix(rule, rewriter.insert_first(function.body, code), code=code, place=function.name)
    return context.fix(rule, rewriter.insert_before(context.statement(site), code), "before", code=code)


@attempted
def evaluated(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Insert `eval()` before the evaluation, and `train()` after it where training goes on without."""
    net, site = network(fact.event), fact.event.site
    if net is None or not _is_path(net):
        return None
    place = evaluation(context, site, net)
    text, terms = context.text(net), context.profile.terms
    code, back = f"{text}.{terms['eval']}", f"{text}.{terms['train']}"
    edits = context.rewriter.insert_before(place, code)
    if not dict(fact.details)["resumed"]:
        return context.fix(rule, edits, code=code)
    if any(isinstance(part, p.Return) for part in p.walk(place)):
        return None
    edits = (*edits, *context.rewriter.insert_after(place, back))
    return context.fix(rule, edits, "around", code=code, back=back)


def evaluation(context: Context, site: p.Node, net: p.Expression | None) -> p.Statement:
    """Return the outermost statement around a forward that evaluates and nothing else, and sees the network."""
    place = context.statement(site)
    for node in context.above(site):
        if isinstance(node, (p.Function, p.Class)):
            break
        if isinstance(node, p.Loop):
            if trains(context, node) or (net is not None and _bound_in(node, net)):
                break
            place = node
        elif isinstance(node, p.With) and node.body[0] is place:
            place = node
    return place


@attempted
def again(context: Context, rule: Rule, site: p.Node, switches: list[p.Node]) -> Fix | None:
    """Repeat the switches of frozen parts after the one that undid them."""
    for held in switches:
        if not isinstance(held, p.Call) or not isinstance(held.function, p.Attribute):
            return None
        part = held.function.value
        if not _is_path(part) or not visible(context, part, held, site):
            return None
        if any(isinstance(node, p.Loop) and _bound_in(node, part) for node in context.above(held)):
            return None
    codes = [context.text(held) for held in switches]
    edits = context.rewriter.insert_after(context.statement(site), "\n".join(codes))
    return context.fix(rule, edits, "again", code="; ".join(codes))


def _shared(context: Context, function: p.Function) -> bool:
    """Tell whether a function is named in more than one place: some of these may evaluate with it."""
    return sum(last_name(n) == function.name for n in p.walk_all(context.program.body)) > 1


def _is_path(e: p.Expression) -> bool:
    while isinstance(e, p.Attribute):
        e = e.value
    return isinstance(e, p.Name)


def _root(e: p.Expression) -> str:
    return next(part.id for part in p.walk(e) if isinstance(part, p.Name))


def _bound_in(loop: p.Loop, net: p.Expression) -> bool:
    """Tell whether a loop gives a network its name, by its target or in its body."""
    name = _root(net)
    target = () if loop.target is None else tuple(p.walk(loop.target))
    return any(isinstance(part, p.Name) and part.id == name for part in target) or binds(loop.body, name)


def _bound_by(function: p.Function, net: p.Expression) -> bool:
    return binds(function.body, _root(net))
