"""Is the graph still alive? Checks on facts about backward passes through freed nodes."""

from __future__ import annotations

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import Applicability, CannotRewrite, Context, Edit, Event, Fix, called_names
from adlint.diagnostics import Diagnostic, Related
from adlint.tape.facts import Fact

DISTURBING = {"step", "zero_grad", "grad", "clip_grad_norm_", "clip_grad_value_", "unscale_", "item_"}


def double_backward(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a loss that is backpropagated again after its graph was freed, or whose gradient doubles."""
    found = []
    for fact in [*context.facts.of("consumed-again"), *context.facts.of("doubled")]:
        first = fact.causes[0]
        key = "doubles" if fact.kind == "doubled" else "default"
        message = rule.messages[key].format(loss=_loss(context, fact.event), line=context.line(first.site))
        related = _related(context, first, fact.shared)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, _repeat(context, rule, fact)))
    return found


def shared_backward(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a loss whose backward meets what another loss's backward has freed."""
    found = []
    for fact in context.facts.of("shared-consumed"):
        first = fact.causes[0]
        shared = f"`{_short(context.text(fact.shared))}`" if fact.shared is not None else "a part of its graph"
        message = rule.message.format(
            loss=_loss(context, fact.event),
            shared=shared,
            other=_loss(context, first),
            line=context.line(first.site),
        )
        fix = _combined(context, rule, fact)
        found.append(
            context.diagnostic(rule, fact, fact.event.site, message, _related(context, first, fact.shared), fix)
        )
    return found


def _loss(context: Context, event: Event) -> str:
    return _short(context.text(event.subject)) if event.subject is not None else "the loss"


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _related(context: Context, first: Event, shared: p.Node | None) -> tuple[Related, ...]:
    related = [context.related("this backward freed the graph", first.site)]
    if shared is not None and isinstance(shared, p.Node) and not isinstance(shared, p.Pass):
        related.append(context.related("the shared part is computed here", shared))
    return tuple(related)


def _repeat(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Drop the repeat, if it never went through, brings no gradient of its own, and nothing happened in between."""
    first, second, details = fact.causes[0], fact.event, dict(fact.details)
    a, b = context.statement(first.site), context.statement(second.site)
    if second.kind == "grad" and first.kind == "backward" and a is not b:
        return _keep(context, rule, first, "retain_graph=True", "retain")
    if a is b or first.kind != "backward" or second.kind != "backward" or not _bare(b, second):
        return None
    if not details["covered"] or not details["direct"] or _scaled(first) != _scaled(second):
        return None
    if fact.kind == "consumed-again" and second.site in context.facts.passes:
        return None
    if b in context.block(a) and DISTURBING & called_names(context.between(a, b)):
        return None
    try:
        return context.fix(rule, context.rewriter.delete(b))
    except CannotRewrite:
        return None


def _bare(statement: p.Statement, event: Event) -> bool:
    return isinstance(statement, p.Evaluate) and statement.value is event.site


def _combined(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Add the losses and backpropagate once, at the place of the second backward."""
    first, second = fact.causes[0], fact.event
    if first.site is second.site:
        if dict(fact.details)["direct"]:
            return None
        return _keep(context, rule, second, "retain_graph=True", "retain")
    if first.kind == "grad" and second.kind == "grad":
        return None
    if first.kind == "grad":
        return _keep(context, rule, first, "create_graph=True", "create")
    a, b = context.statement(first.site), context.statement(second.site)
    if not (_bare(a, first) and _bare(b, second)) or b not in context.block(a):
        return None
    if DISTURBING & called_names(context.between(a, b)) or not _alike(context, first.site, second.site):
        return None
    left, right = _root(first.site, first), _root(second.site, second)
    if left is None or right is None or _rebinds(context, left, context.between(a, b)):
        return None
    try:
        total = f"{context.text(left)} + {context.rewriter.parenthesised(right)}"
        if _is_receiver(second.site, right):
            total = f"({total})"
        edits: tuple[Edit, ...] = (*context.rewriter.delete(a), *context.rewriter.replace(right, total))
    except CannotRewrite:
        return None
    return context.fix(rule, edits)


def _keep(context: Context, rule: Rule, event: Event, argument: str, title: str) -> Fix | None:
    if not isinstance(event.site, p.Call):
        return None
    try:
        edits = context.rewriter.add_argument(event.site, argument)
        return context.fix(rule, edits, title, Applicability.UNSAFE)
    except CannotRewrite:
        return None


def _root(site: p.Node, event: Event) -> p.Expression | None:
    """Return the loss itself: the receiver of backward, or what a scaler or accelerator is handed."""
    if not isinstance(site, p.Call) or event.subject is None:
        return None
    inner = event.subject
    if isinstance(inner, p.Call) and _scaled(event) and len(inner.arguments) == 1 and not inner.arguments[0].star:
        return inner.arguments[0].value
    return inner if isinstance(inner, p.Expression) else None


def _scaled(event: Event) -> bool:
    """Tell whether what was backpropagated is a loss handed to a scaler."""
    inner = event.subject
    return isinstance(inner, p.Call) and isinstance(inner.function, p.Attribute) and inner.function.attr == "scale"


def _is_receiver(site: p.Node, root: p.Expression) -> bool:
    return isinstance(site, p.Call) and isinstance(site.function, p.Attribute) and site.function.value is root


def _alike(context: Context, first: p.Node, second: p.Node) -> bool:
    """Tell whether two backward calls differ in nothing but the loss."""
    if not isinstance(first, p.Call) or not isinstance(second, p.Call):
        return False
    f, g = first.function, second.function
    if (
        isinstance(f, p.Attribute)
        and isinstance(g, p.Attribute)
        and isinstance(f.value, p.Call) != isinstance(g.value, p.Call)
    ):
        return False
    extra = [[a for a in c.arguments if a.keyword] for c in (first, second)]
    return not extra[0] and not extra[1] and len(first.arguments) == len(second.arguments) <= 1


def _rebinds(context: Context, expression: p.Expression, between: tuple[p.Statement, ...]) -> bool:
    names = {n.id for n in p.walk(expression) if isinstance(n, p.Name)}
    for node in p.walk_all(between):
        targets: tuple[p.Expression, ...] = ()
        if isinstance(node, p.Assign):
            targets = node.targets
        elif isinstance(node, p.Augment):
            targets = (node.target,)
        if any(isinstance(t, p.Name) and t.id in names for target in targets for t in p.walk(target)):
            return True
    return False
