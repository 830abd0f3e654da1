"""Where a clear, a step or a clip belongs: edits that move one, or write the one that is missing."""

from __future__ import annotations

from adlint import program as p
from adlint.checks.context import Context, Edit, last_name
from adlint.checks.summing import scaled
from adlint.tape.facts import Event


def bare(context: Context, site: p.Node) -> p.Statement | None:
    """Return the statement that is nothing but a call or an assignment; None for a part of something larger."""
    statement = context.statement(site)
    alone = isinstance(statement, p.Evaluate) and statement.value is site
    assigns = isinstance(statement, p.Assign) and statement.targets == (site,)
    return statement if alone or assigns or statement is site else None


def whole(context: Context, site: p.Node) -> p.Statement | None:
    """Return the statement that is a call, or that names its result."""
    statement = context.statement(site)
    named = isinstance(statement, p.Assign) and statement.value is site
    return statement if named else bare(context, site)


def moved_before(context: Context, site: p.Node, later: p.Node) -> tuple[Edit, ...] | None:
    """Move a statement above what holds an event of its block."""
    statement = whole(context, site)
    place = context.in_block_of(later, statement) if statement is not None else None
    if statement is None or place is None or place is statement:
        return None
    return context.rewriter.move_before(statement, place)


def moved_after(context: Context, site: p.Node, earlier: p.Node) -> tuple[Edit, ...] | None:
    """Move a statement below another one of its function."""
    statement = bare(context, site)
    if statement is None or context.function(site) is not context.function(earlier):
        return None
    place = context.statement(earlier)
    bound = {t.id for n in left(context, site, earlier) for t in targets(n) if isinstance(t, p.Name)}
    if place is statement or bound & {n.id for n in p.walk(statement) if isinstance(n, p.Name)}:
        return None
    return context.rewriter.move_after(statement, place)


def left(context: Context, site: p.Node, other: p.Node) -> list[p.Loop]:
    """Return the loops around a place that are not around another one."""
    around = tuple(context.above(other))
    return [n for n in context.above(site) if isinstance(n, p.Loop) and n not in around]


def bound_by(context: Context, site: p.Node, earlier: p.Node) -> set[str]:
    """Return the names that are given on the way from one place to a later one: they may mean nothing there yet."""
    statement = context.statement(earlier)
    place = context.in_block_of(site, statement)
    if place is None:
        return set()
    return {t.id for one in (*context.between(statement, place), place) for t in targets(one) if isinstance(t, p.Name)}


def moved_behind(context: Context, site: p.Node, backward: Event) -> tuple[Edit, ...] | None:
    """Move a step or clip behind a backward of its block and what unscales or clips there; a step takes the end of its
    scaler's turn along."""
    statement = bare(context, site)
    place = context.in_block_of(backward.site, statement) if statement is not None else None
    if statement is None or place is None or place is statement:
        return None
    after = follows(context, place)
    while after and after[0] is not statement and attribute(called(after[0])).startswith(("clip", "unscale")):
        place, after = after[0], after[1:]
    moving = [statement]
    by = scaler(context, backward)
    following = follows(context, statement)[:1]
    if by and following and context.text(following[0]).startswith(f"{by}.update("):
        moving.append(following[0])
    code = "\n".join(context.rewriter.moved(one) for one in moving)
    deleted = tuple(edit for one in moving for edit in context.rewriter.delete(one))
    return (*deleted, *context.rewriter.insert_after(place, code))


def follows(context: Context, statement: p.Statement) -> tuple[p.Statement, ...]:
    """Return the statements of a block behind one of them."""
    block = context.block(statement)
    return block[block.index(statement) + 1 :] if statement in block else ()


def called(statement: p.Node) -> p.Call | None:
    """Return the call that a statement is, or whose result it assigns."""
    value = statement.value if isinstance(statement, (p.Evaluate, p.Assign)) else None
    return value if isinstance(value, p.Call) else None


def attribute(call: p.Call | None) -> str:
    """Return the last part of the name that is called."""
    return "" if call is None else last_name(call.function)


def targets(statement: p.Statement) -> list[p.Node]:
    """Return the parts of what a statement, or one inside it, assigns to."""
    found: list[p.Expression] = []
    for node in p.walk(statement):
        if isinstance(node, (p.Assign, p.Delete)):
            found += node.targets
        elif isinstance(node, (p.Augment, p.Loop)) and node.target is not None:
            found.append(node.target)
    return [part for one in found for part in p.walk(one)]


def scaler(context: Context, backward: Event) -> str:
    """Return how the scaler of a backward's loss is written; empty if there is none."""
    inner = backward.subject
    if scaled(backward) and isinstance(inner, p.Call) and isinstance(inner.function, p.Attribute):
        return context.text(inner.function.value)
    return ""


def inserted_step(context: Context, backward: Event, optimizer: str) -> tuple[Edit, ...] | None:
    """Write the step below a backward, below what clips its gradients and above what ends the scaler's turn."""
    statement = bare(context, backward.site)
    if statement is None:
        return None
    by = scaler(context, backward)
    code = f"{by}.step({optimizer})" if by else f"{optimizer}.step()"
    place = statement
    for one in follows(context, statement):
        name = attribute(called(one))
        if by and name == "update" and context.text(one).startswith(by):
            return context.rewriter.insert_before(one, code)
        if not name.startswith(("clip", "unscale")):
            if not by:
                break
            continue
        place = one
    return context.rewriter.insert_after(place, code)
