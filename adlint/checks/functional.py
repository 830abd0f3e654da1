"""Mendings of functional gradients: a backward instead, a result kept, an input that has a gradient."""

from __future__ import annotations

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import Applicability, Context, Fix, attempted
from adlint.tape.facts import Fact

KEPT = ("retain_graph", "create_graph")


def callee(context: Context, call: p.Node) -> str:
    """Return the text of what a call goes to."""
    return context.text(call.function) if isinstance(call, p.Call) else context.text(call)


@attempted
def as_backward(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Backpropagate into the slots instead of computing gradients aside."""
    call = fact.event.site
    if not isinstance(call, p.Call) or not call.arguments or call.arguments[0].star:
        return None
    loss = call.arguments[0].value
    if isinstance(loss, (p.Collection, p.Comprehension)) or any(a.keyword == "grad_outputs" for a in call.arguments):
        return None
    if len([a for a in call.arguments if a.keyword is None]) > 2:
        return None
    text = context.rewriter.text_of(loss)
    receiver = text if isinstance(loss, (p.Name, p.Attribute, p.Call, p.Subscript)) else f"({text})"
    options = ", ".join(f"{a.keyword}={context.text(a.value)}" for a in call.arguments if a.keyword in KEPT)
    edits = context.rewriter.replace(context.statement(call), f"{receiver}.backward({options})")
    return context.fix(rule, edits, loss=context.text(loss))


@attempted
def kept(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Go on with the updated parameters under the name that the call was given them by."""
    name, statement = dict(fact.details)["name"], context.statement(fact.event.site)
    if not isinstance(name, str) or not isinstance(statement, p.Evaluate):
        return None
    edits = context.rewriter.replace(statement, f"{name} = {context.rewriter.text_of(statement)}")
    return context.fix(rule, edits, "rebind", Applicability.UNSAFE, name=name)


@attempted
def activated(context: Context, rule: Rule, fact: Fact, made: p.Node) -> Fix | None:
    """Let an untracked input require grad where it is made; let the outputs leave parameters out."""
    call = fact.event.site
    rewriter = context.rewriter
    if fact.kind == "result-input":
        return None
    if fact.kind == "unused-input":
        several = isinstance(call, p.Call) and not _single(call)
        if not isinstance(call, p.Call) or not several:
            return None
        edits = rewriter.add_argument(call, "allow_unused=True")
        return context.fix(rule, edits, "unused", Applicability.UNSAFE)
    statement = context.statement(made)
    target = statement.targets[0] if isinstance(statement, p.Assign) and len(statement.targets) == 1 else None
    if not isinstance(target, p.Name) or not isinstance(statement, p.Assign):
        return None
    if isinstance(statement.value, (p.Collection, p.Mapping, p.Comprehension)):
        return None
    asked = {n.id for n in p.walk(call) if isinstance(n, p.Name)}
    if target.id not in asked or context.function(made) is not context.function(call):
        return None
    return context.fix(rule, rewriter.insert_after(statement, f"{target.id}.requires_grad_()"), name=target.id)


def _single(call: p.Call) -> bool:
    """Tell whether the inputs of a functional gradient are one tensor."""
    given = next((a.value for a in call.arguments if a.keyword == "inputs"), None)
    positional = [a.value for a in call.arguments if a.keyword is None]
    if given is None and len(positional) > 1:
        given = positional[1]
    return isinstance(given, p.Subscript) or (isinstance(given, p.Collection) and len(given.elements) == 1)
