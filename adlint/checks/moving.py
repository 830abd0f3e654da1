"""Fixes that move statements: a forward into the loop that backpropagates it, a step behind the last backward."""

from __future__ import annotations

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import Applicability, CannotRewrite, Context, Fix, attempted
from adlint.checks.cutting import unretained
from adlint.tape.facts import Fact


@attempted
def into_the_loop(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Move the forward into the loop, if the statements that make it up stand before the loop.

    Where the loss reaches the same parameters through a forward of the turn too, the outdated part may as well be meant
    as a constant.
    """
    details = dict(fact.details)
    loop, sites = details.get("loop"), details.get("sites")
    if not isinstance(loop, p.Loop) or not isinstance(sites, frozenset):
        return None
    block = context.block(loop)
    if loop not in block:
        return None
    before = block[: block.index(loop)]
    stale = [s for s in before if any(part in sites for part in p.walk(s))]
    if not stale:
        return None
    moved = _closure(before[before.index(stale[0]) :], stale)
    lines = [context.rewriter.whole_line(s) for s in moved]
    edits = [edit for s in moved for edit in context.rewriter.delete(s)]
    edits += context.rewriter.insert_first(loop.body, "\n".join(lines))
    edits += unretained(context, fact.event)
    safety = Applicability.UNSAFE if details.get("silent") else Applicability.SAFE
    return context.fix(rule, tuple(edits), "default", Applicability.DISPLAY if details["fresh"] else safety)


def _closure(statements: tuple[p.Statement, ...], stale: list[p.Statement]) -> list[p.Statement]:
    """Return the statements to move: the forward and what follows from it; what stays must not depend on them, nor they
    on what it changes."""
    moved: list[p.Statement] = []
    names: set[str] = set()
    needed: set[str] = set()
    for statement in statements:
        reads = {n.id for n in p.walk(statement) if isinstance(n, p.Name)}
        sets = _sets(statement)
        if statement in stale or reads & names:
            if not isinstance(statement, p.Assign) or sets is None:
                raise CannotRewrite("more than assignments depend on the forward")
            moved.append(statement)
            names |= sets
            needed |= reads
        elif sets is None or sets & (needed | names):
            raise CannotRewrite("what the forward needs is changed before the loop")
    return moved


def _sets(statement: p.Statement) -> set[str] | None:
    """Return the names that a statement binds; None if it may change more than these."""
    if isinstance(statement, (p.Import, p.Pass)):
        return set()
    if isinstance(statement, (p.Function, p.Class)):
        return {statement.name}
    if isinstance(statement, p.Assign):
        found: set[str] = set()
        for target in statement.targets:
            parts = target.elements if isinstance(target, p.Collection) else (target,)
            if not all(isinstance(part, p.Name) for part in parts):
                return None
            found |= {part.id for part in parts if isinstance(part, p.Name)}
        return found
    if isinstance(statement, p.Evaluate):
        names = {n.id for n in p.walk(statement) if isinstance(n, p.Name)}
        return names if isinstance(statement.value, p.Call) else set()
    return None


@attempted
def behind_the_backward(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Move the step behind the backward that still needs the old parameters; whether that is meant, or a forward of its
    own, needs a choice."""
    step, backward = fact.causes[0], fact.event
    a, b = context.statement(step.site), context.in_block_of(backward.site, context.statement(step.site))
    if step.kind != "step" or b is None or a is b or context.block(a).index(a) > context.block(a).index(b):
        return None
    if not (isinstance(a, p.Evaluate) and a.value is step.site):
        return None
    edits = (*context.rewriter.delete(a), *context.rewriter.insert_after(b, context.text(a)))
    return context.fix(rule, edits, line=context.line(backward.site))
