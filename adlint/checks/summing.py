"""What checks on several backward passes share: the losses they start from, and one pass over the sum of these."""

from __future__ import annotations

from collections.abc import Sequence

from adlint import program as p
from adlint.checks.context import CannotRewrite, Context, Edit, Event, short

TOTALS = ("total", "total_loss", "loss_sum", "summed_loss", "sum_of_losses")


def root(site: p.Node, event: Event) -> p.Expression | None:
    """Return the loss itself: the receiver of backward, or what a scaler or accelerator is handed."""
    if not isinstance(site, p.Call) or event.subject is None:
        return None
    inner = event.subject
    if isinstance(inner, p.Call) and scaled(event) and len(inner.arguments) == 1 and not inner.arguments[0].star:
        return inner.arguments[0].value
    return inner if isinstance(inner, p.Expression) else None


def named(context: Context, event: Event) -> str:
    """Return the text of what an event backpropagates, for messages."""
    return short(context.text(event.subject)) if event.subject is not None else "the loss"


def scaled(event: Event) -> bool:
    """Tell whether what was backpropagated is a loss handed to a scaler."""
    inner = event.subject
    return isinstance(inner, p.Call) and isinstance(inner.function, p.Attribute) and inner.function.attr == "scale"


def is_receiver(site: p.Node, loss: p.Expression) -> bool:
    return isinstance(site, p.Call) and isinstance(site.function, p.Attribute) and site.function.value is loss


def bare(statement: p.Statement, event: Event) -> bool:
    """Tell whether a statement is nothing but the backward of an event."""
    return isinstance(statement, p.Evaluate) and statement.value is event.site


def rebinds(expression: p.Expression, between: tuple[p.Statement, ...]) -> bool:
    """Tell whether statements give a name of an expression another value."""
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


def retaining(context: Context, event: Event) -> p.Argument | None:
    """Return the argument of a backward call that says whether to keep the graph, by keyword or by place."""
    site, name = event.site, context.profile.retain_argument
    if not isinstance(site, p.Call) or any(a.star for a in site.arguments):
        return None
    found = next((a for a in site.arguments if a.keyword == name), None)
    if found is None and isinstance(event.subject, p.Expression) and is_receiver(site, event.subject):
        names = context.profile.backward_parameters.get("Tensor.backward", ())
        if name in names:
            found = next(iter(site.arguments[names.index(name) :]), None)
    return found


def is_set(argument: p.Argument | None) -> bool:
    """Tell whether an argument is the constant True."""
    return argument is not None and isinstance(argument.value, p.Constant) and argument.value.value is True


def summed(context: Context, events: Sequence[Event], keep: bool = False) -> tuple[Edit, ...]:
    """Return the edits that put one pass over the sum of all losses where the last one is backpropagated.

    That pass lets go of its graph, unless `keep` is set.
    """
    *earlier, last = events
    statements = [context.statement(event.site) for event in events]
    block = context.block(statements[0])
    roots = [root(event.site, event) for event in events]
    final = roots[-1]
    if final is None or any(s not in block or not bare(s, e) for s, e in zip(statements, events, strict=True)):
        raise CannotRewrite("the passes do not stand in one block")
    if len({_shape(context, event, loss) for event, loss in zip(events, roots, strict=True)}) > 1:
        raise CannotRewrite("the passes are not alike")
    edits: tuple[Edit, ...] = ()
    terms: list[str] = []
    for statement, loss in zip(statements[: len(earlier)], roots, strict=False):
        between = context.between(statement, statements[-1])
        others = tuple(s for s in between if s not in statements)
        if loss is None or rebinds(loss, between) or (others and any(isinstance(n, p.Call) for n in p.walk(loss))):
            raise CannotRewrite("the loss is another one by then")
        terms.append(context.rewriter.parenthesised(loss) if terms else context.text(loss))
        edits += context.rewriter.delete(statement)
    total = " + ".join([*terms, context.rewriter.parenthesised(final)])
    if is_receiver(last.site, final):
        total = f"({total})"
    edits += context.rewriter.replace(final, total)
    argument = retaining(context, last)
    if argument is not None and isinstance(last.site, p.Call) and not keep:
        edits += context.rewriter.remove_argument(argument, last.site)
    return edits


def _shape(context: Context, event: Event, loss: p.Expression | None) -> tuple[str, ...]:
    """Return what a backward call is but for its loss and its arguments."""
    site, subject = event.site, event.subject
    if not isinstance(site, p.Call) or loss is None:
        return ("?", str(context.line(site)))
    if loss is not subject and isinstance(subject, p.Call):
        return ("scaled", context.text(subject.function))
    return ("receiver",) if is_receiver(site, loss) else ("argument", context.text(site.function))


def steps_within(context: Context, event: Event) -> bool:
    """Tell whether something else trains in the loop around a pass: a window of turns has its own end."""
    own = {event.site, *event.calls}
    for place in (event.site, *reversed(event.calls)):
        around = next((n for n in context.above(place) if isinstance(n, (p.Loop, p.Function))), None)
        if around is not None and any(n in context.facts.training and n not in own for n in p.walk(around)):
            return True
        if isinstance(around, p.Loop):
            return False
    return False


def after_loop(context: Context, first: Event, second: Event, running: bool) -> tuple[Edit, ...]:
    """Return the edits that add the losses up in a loop, unless it does so itself, and backpropagate once after it."""
    site, statement = first.site, context.statement(first.site)
    loop = context.parents.get(statement)
    loss, argument = root(site, first), retaining(context, first)
    if not isinstance(loop, p.Loop) or statement not in loop.body or loop.orelse or first.turn[:-1] != second.turn[:-1]:
        raise CannotRewrite("the pass is not run in every turn of the loop")
    if loss is None or argument is None or not isinstance(site, p.Call) or not bare(statement, first):
        raise CannotRewrite("the pass is more than a statement")
    if any(isinstance(n, (p.Return, p.Yield)) for n in p.walk(loop)):
        raise CannotRewrite("the loop can be left without what follows it")
    if running:
        if not isinstance(loss, (p.Name, p.Attribute)) or rebinds(loss, loop.body[loop.body.index(statement) + 1 :]):
            raise CannotRewrite("the total is another one by then")
        return (
            *context.rewriter.delete(statement),
            *context.rewriter.insert_after(loop, _with_loss(context, site, loss, argument, context.text(loss))),
        )
    name = unused(context, site, TOTALS)
    term = context.rewriter.parenthesised(loss)
    return (
        *context.rewriter.insert_before(loop, f"{name} = 0.0"),
        *context.rewriter.replace(statement, f"{name} = {name} + {term}"),
        *context.rewriter.insert_after(loop, _with_loss(context, site, loss, argument, name)),
    )


def _with_loss(context: Context, call: p.Call, loss: p.Expression, argument: p.Argument, name: str) -> str:
    """Return a backward call with another loss and without the argument that keeps the graph."""
    others = [context.text(a) for a in call.arguments if a is not argument and a.value is not loss]
    function = call.function
    if is_receiver(call, loss) and isinstance(function, p.Attribute):
        return f"{name}.{function.attr}({', '.join(others)})"
    if isinstance(function, p.Attribute) and isinstance(function.value, p.Call):
        return f"{context.text(function.value.function)}({name}).{function.attr}({', '.join(others)})"
    return f"{context.text(function)}({', '.join([name, *others])})"


def unused(context: Context, site: p.Node, names: Sequence[str]) -> str:
    """Return the first of some names that the function around a place, or the module, does not use."""
    function = context.function(site)
    used = {
        n.id for n in p.walk_all(context.program.body if function is None else (function,)) if isinstance(n, p.Name)
    }
    used |= {q.name for q in function.parameters} if function is not None else set()
    free = next((name for name in names if name not in used), None)
    if free is None:
        raise CannotRewrite("every name for it is taken")
    return free
