"""The length of an accumulation window as the program writes it, and whether anything is divided by it."""

from __future__ import annotations

from adlint import program as p
from adlint.checks.context import Context, given, last_name
from adlint.checks.summing import is_receiver, root
from adlint.tape.facts import Event

SIZING = ("/", "*")


def length(context: Context, step: Event) -> p.Expression | None:
    """Return the divisor of the remainder that a step waits for; None if it is not written where the step is."""
    body = context.body(step.site)
    for node in context.above(step.site):
        if isinstance(node, p.Function):
            break
        if isinstance(node, p.Branch):
            found = _divisor(node.test, body)
            if found is not None:
                return found
    return None


def _divisor(test: p.Expression, body: tuple[p.Statement, ...]) -> p.Expression | None:
    """Return the divisor in a test, or in what the one name in it was assigned from."""
    places = [test, *(given(body, test.id) if isinstance(test, p.Name) else ())]
    found = [n.operands[1] for one in places for n in p.walk(one) if isinstance(n, p.Operator) and n.op == "%"]
    return found[0] if len(found) == 1 and isinstance(found[0], (p.Name, p.Attribute, p.Constant)) else None


def sized(context: Context, divisor: p.Expression) -> bool:
    """Tell whether something in the program may be divided or multiplied by the length of the window."""
    for node in p.walk_all(context.program.body):
        parts: tuple[p.Node, ...] = ()
        if isinstance(node, p.Operator) and node.op in SIZING:
            parts = node.operands
        elif isinstance(node, p.Augment) and node.op in SIZING:
            parts = (node.value,)
        elif isinstance(node, p.Call) and last_name(node.function) in (
            "div",
            "div_",
            "mul",
            "mul_",
            "divide",
            "true_divide",
        ):
            parts = tuple(a.value for a in node.arguments)
        if any(_same(part, divisor) for one in parts for part in p.walk(one)):
            return True
    return False


def _same(part: p.Node, divisor: p.Expression) -> bool:
    if isinstance(divisor, p.Constant):
        return isinstance(part, p.Constant) and part.value == divisor.value
    return last_name(part) == last_name(divisor)


def divided(context: Context, backward: Event, divisor: p.Expression) -> tuple[p.Node, str] | None:
    """Return the loss of a backward, and the code that divides it."""
    inner = root(backward.site, backward)
    if inner is None:
        return None
    text = context.text(inner)
    plain = isinstance(inner, (p.Name, p.Attribute, p.Call, p.Subscript))
    code = f"{text if plain else f'({text})'} / {context.text(divisor)}"
    return inner, f"({code})" if plain and is_receiver(backward.site, inner) else code
