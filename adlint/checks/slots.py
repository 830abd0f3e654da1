"""Are the gradient slots clean when it matters? Checks on facts about steps that apply what was applied before."""

from __future__ import annotations

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import CannotRewrite, Context, Event, Fix, visible
from adlint.diagnostics import Diagnostic


def missing_zero_grad(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a backward that adds to gradients which a step has applied and the next step will apply again."""
    found, seen = [], set()
    for fact in sorted(context.facts.of("applied-again"), key=lambda f: not f.definite):
        step = fact.causes[0]
        uncalled = next((c for c in fact.causes if c.uncalled), None)
        site = uncalled.site if uncalled is not None else fact.event.site
        if site in seen:
            continue
        seen.add(site)
        owner = _owner(context, step)
        message = rule.message.format(owner=owner, line=context.line(step.site))
        related = [context.related("the step that applies them, again and again", step.site)]
        fix = _called(context, rule, uncalled) if uncalled is not None else _cleared(context, rule, step, fact.event)
        if dict(fact.details)["aliased"]:
            fix = None
        found.append(context.diagnostic(rule, fact, site, message, tuple(related), fix))
    return found


def foreign_grad(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a backward whose optimizer is about to apply what another optimizer's loss has left in its parameters."""
    found, seen = [], set()
    for fact in sorted(context.facts.of("foreign-applied"), key=lambda f: not f.definite):
        if fact.event.site in seen:
            continue
        seen.add(fact.event.site)
        foreign, other = fact.causes[0], fact.causes[1]
        step = dict(fact.details)["step"]
        assert isinstance(step, Event)
        message = rule.message.format(owner=_owner(context, step).strip("`"), line=context.line(foreign.site))
        related = (
            context.related("this backward also reached its parameters", foreign.site),
            context.related("and was meant for this step", other.site),
        )
        fix = None
        if context.in_block_of(fact.event.site, context.statement(step.site)) is not None:
            fix = _cleared(context, rule, step, fact.event)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    return found


def _owner(context: Context, step: Event) -> str:
    subject = _optimizer(step)
    return f"`{context.text(subject)}`" if subject is not None else "the parameters"


def _optimizer(step: Event) -> p.Expression | None:
    """Return the expression of the optimizer in a step: its receiver, or what a scaler is handed."""
    site = step.site
    if isinstance(site, p.Augment):
        return site.target
    if step.kind == "update" and isinstance(site, p.Call) and isinstance(site.function, p.Attribute):
        receiver = site.function.value
        return receiver.value if isinstance(receiver, p.Attribute) and receiver.attr == "data" else receiver
    return step.subject if isinstance(step.subject, p.Expression) else None


def _called(context: Context, rule: Rule, event: Event) -> Fix | None:
    if event.subject is None:
        return None
    try:
        edits = context.rewriter.replace(event.subject, context.text(event.subject) + "()")
    except CannotRewrite:
        return None
    return context.fix(rule, edits, "uncalled")


def _cleared(context: Context, rule: Rule, step: Event, backward: Event) -> Fix | None:
    """Insert the clear: before the backward or its accumulation window, else right after the step or update."""
    owner = _optimizer(step)
    if owner is None:
        return None
    stepping = context.statement(step.site)
    text = context.text(owner)
    rewriter = context.rewriter
    try:
        if step.kind == "update":
            code = f"{text}.{context.profile.terms['clear_leaf']}"
            return context.fix(rule, rewriter.insert_after(stepping, code), "leaf", owner=text)
        code = f"{text}.{context.profile.terms['clear']}"
        if step.site in backward.calls and visible(context, owner, step.site, backward.site):
            closure = context.statement(backward.site)
            return context.fix(rule, rewriter.insert_before(closure, code), owner=text)
        same = context.function(step.site) is context.function(backward.site)
        if same:
            place = context.in_block_of(backward.site, stepping)
            if place is not None:
                return context.fix(rule, rewriter.insert_before(place, code), owner=text)
            return context.fix(rule, rewriter.insert_after(stepping, code), "after", owner=text)
        if visible(context, owner, step.site, backward.site) and step.calls != backward.calls:
            inner = context.function(backward.site)
            outer = context.function(step.site)
            if inner is not None and (outer in tuple(context.above(inner)) or isinstance(owner, p.Attribute)):
                place = context.statement(backward.site)
                return context.fix(rule, rewriter.insert_before(place, code), owner=text)
        return context.fix(rule, rewriter.insert_after(stepping, code), "after", owner=text)
    except CannotRewrite:
        return None
