"""Mendings of a loss with more than one value: reduced where it is computed, or where it is backpropagated."""

from __future__ import annotations

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import Context, Fix, attempted, given, last_name
from adlint.checks.summing import root
from adlint.tape.facts import Fact

REDUCTION = "reduction"


@attempted
def reduced(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Let the loss reduce itself where nothing else keeps it from being one value; else reduce what is passed on."""
    details = dict(fact.details)
    why, rewriter = details["why"], context.rewriter
    if details["plain"] and isinstance(why, p.Call) and fact.event.kind == "backward":
        setting = _setting(context, why)
        if setting is not None:
            return context.fix(rule, rewriter.replace(setting, _quoted(context, setting, "mean")), "source")
    loss = _root(fact)
    if loss is None:
        return None
    how = "sum" if fact.event.kind == "grad" else "mean"
    if how not in context.profile.terms:
        return None
    text = rewriter.text_of(loss)
    whole = isinstance(loss, (p.Name, p.Attribute, p.Call, p.Subscript))
    edits = rewriter.replace(loss, f"{text}.{how}()" if whole else f"({text}).{how}()")
    return context.fix(rule, edits, "sum" if how == "sum" else "default", loss=context.text(loss))


def _root(fact: Fact) -> p.Expression | None:
    """Return the loss itself, if it is one value."""
    loss = root(fact.event.site, fact.event)
    return None if isinstance(loss, (p.Collection, p.Starred, p.Comprehension)) else loss


def _setting(context: Context, loss: p.Call) -> p.Constant | None:
    """Return the text that keeps a loss from being reduced: at the call, or where the one criterion was built."""
    own = next((a.value for a in loss.arguments if a.keyword == REDUCTION), None)
    if own is not None:
        return _constant(context, own)
    name = last_name(loss.function)
    built = [
        n.value
        for n in p.walk_all(context.program.body)
        if isinstance(n, p.Assign) and any(last_name(t) == name for t in n.targets)
    ]
    found: set[p.Constant] = set()
    for value in built:
        asked = [a.value for a in value.arguments if a.keyword == REDUCTION] if isinstance(value, p.Call) else []
        constant = _constant(context, asked[0]) if asked else None
        if constant is None:
            return None
        found.add(constant)
    used = [
        n for n in p.walk_all(context.program.body) if isinstance(n, (p.Name, p.Attribute)) and last_name(n) == name
    ]
    return found.pop() if len(found) == 1 and used else None


def _constant(context: Context, value: p.Expression) -> p.Constant | None:
    """Return the text that an expression stands for: itself, or what its name is assigned once in the same function."""
    if isinstance(value, p.Constant) and value.value == "none":
        return value
    if not isinstance(value, p.Name):
        return None
    assigned = given(context.body(value), value.id)
    only = assigned[0] if len(assigned) == 1 else None
    return only if isinstance(only, p.Constant) and only.value == "none" else None


def _quoted(context: Context, constant: p.Constant, text: str) -> str:
    quote = context.rewriter.text_of(constant)[:1]
    return f"{quote}{text}{quote}" if quote in "'\"" else f'"{text}"'
