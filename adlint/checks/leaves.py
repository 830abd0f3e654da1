"""Mendings around leaves: a result made a leaf, its gradient kept, updates put where a leaf allows them."""

from __future__ import annotations

from collections.abc import Iterator

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import Applicability, Context, Fix, attempted, last_name, target
from adlint.tape.facts import Fact

FLAG = "requires_grad"


def rebinds(context: Context, made: p.Node, read: p.Node) -> bool:
    """Tell whether an operation updates the very name that the gradient is read from: `w = w - lr * w.grad`."""
    update = _update(context, made)
    return update is not None and isinstance(read, p.Attribute) and context.text(read.value) == update[0]


@attempted
def as_leaf(context: Context, rule: Rule, fact: Fact, made: p.Node) -> Fix | None:
    """Return what gives a tensor its gradient."""
    details = dict(fact.details)
    statement = context.statement(made)
    name = target(context, statement)
    subject = fact.event.subject if fact.kind == "absent-gradient" else None
    if not name or (subject is not None and name.rpartition(".")[2] != last_name(subject)):
        return None
    sources = details["leaves"]
    assert isinstance(sources, tuple)
    if rebinds(context, made, fact.event.site):
        return updated(context, rule, made, bool(details["given"]), bool(details["recorded"]))
    if not details["recorded"]:
        return None
    if details["alone"] and len(sources) == 1 and context.function(made) is context.function(sources[0]):
        moved = _moved(context, rule, statement, name, sources[0])
        if moved is not None:
            return moved
    if subject is None:
        return None
    hidden = not sources and not details["given"]
    near = context.function(made) is context.function(fact.event.site)
    how = (Applicability.SAFE if near else Applicability.UNSAFE) if hidden else Applicability.DISPLAY
    edits = context.rewriter.insert_after(statement, f"{name}.retain_grad()")
    return context.fix(rule, edits, "retain", how, tensor=name)


def _update(context: Context, made: p.Node) -> tuple[str, str, str] | None:
    """Return the tensor, the sign and the step of an update that rebinds its tensor."""
    statement = context.statement(made)
    name = target(context, statement)
    if not name or not isinstance(statement, p.Assign) or not isinstance(statement.value, p.Operator):
        return None
    value = statement.value
    if value.op not in "+-" or len(value.operands) != 2 or context.text(value.operands[0]) != name:
        return None
    step = context.rewriter.text_of(value.operands[1])
    read = (n for n in p.walk(value.operands[1]) if isinstance(n, p.Attribute) and n.attr == "grad")
    return (name, value.op, step) if any(context.text(n.value) == name for n in read) else None


def updates(context: Context, made: p.Node) -> bool:
    """Tell whether an operation is an update that rebinds its tensor."""
    return _update(context, made) is not None


def updated(context: Context, rule: Rule, made: p.Node, given: bool, recorded: bool) -> Fix | None:
    """Update in place under no_grad, and clear; what the caller has given is left as it is: a new leaf goes on."""
    update = _update(context, made)
    statement = context.statement(made)
    assert update is not None
    assert isinstance(statement, p.Assign)
    name, sign, step = update
    rewriter = context.rewriter
    cleared = any(_clears(context, node, name) for node in _loop(context, statement))
    scope, imports = rewriter.spelling(context.no_grad, statement)
    if given and not cleared and recorded:
        code = f"{name} = ({rewriter.text_of(statement.value)}).detach().requires_grad_()"
        return context.fix(rule, rewriter.replace(statement, code), tensor=name)
    if "\n" in step or "\r" in step:
        return None
    clear = () if cleared else rewriter.insert_after(statement, f"{name}.grad = None")
    if not recorded:
        edits = (*rewriter.replace(statement, f"{name} {sign}= {step}"), *clear)
        return context.fix(rule, edits, "update", tensor=name, no_grad=f"{scope}()")
    lines = rewriter.insert_before(statement, f"with {scope}():\n    {name} {sign}= {step}")
    edits = (*imports, *lines, *rewriter.delete(statement), *clear)
    return context.fix(rule, edits, "update", tensor=name, no_grad=f"{scope}()")


def _loop(context: Context, statement: p.Statement) -> Iterator[p.Node]:
    """Yield what the innermost loop around a statement holds, or its block."""
    for node in context.above(statement):
        if isinstance(node, p.Loop):
            yield from p.walk_all(node.body)
            return
        if isinstance(node, (p.Function, p.Class)):
            break
    yield from p.walk_all(context.block(statement))


def _clears(context: Context, node: p.Node, name: str) -> bool:
    text = f"{name}.grad"
    if isinstance(node, p.Assign):
        return any(context.text(target) == text for target in node.targets)
    if isinstance(node, p.Delete):
        return any(context.text(target) == text for target in node.targets)
    return isinstance(node, p.Attribute) and node.attr in ("zero_", "fill_") and context.text(node.value) == text


def _moved(context: Context, rule: Rule, statement: p.Statement, name: str, source: p.Node) -> Fix | None:
    """Ask for the gradient of what the operation returns instead of what goes into it."""
    rewriter = context.rewriter
    after = rewriter.insert_after(statement, f"{name}.requires_grad_()")
    inside = source in tuple(p.walk(statement))
    if not isinstance(source, p.Call) or not (inside or _feeds(context, source, statement, name)):
        return None
    flag = next((a for a in source.arguments if a.keyword == FLAG), None)
    if flag is not None:
        return context.fix(rule, (*rewriter.remove_argument(flag, source), *after), tensor=name)
    if not inside or not isinstance(statement, p.Assign):
        return None
    if isinstance(source.function, p.Attribute) and source.function.attr == "requires_grad_":
        return context.fix(rule, (*rewriter.replace(source, context.text(source.function.value)), *after), tensor=name)
    if len(source.arguments) == 1 and source.arguments[0].keyword is None and source is not statement.value:
        head = rewriter.text_of(source.function)
        inner, whole = rewriter.parenthesised(source.arguments[0].value), rewriter.text_of(statement.value)
        code = whole.replace(rewriter.text_of(source), inner, 1)
        if whole.count(rewriter.text_of(source)) == 1:
            return context.fix(rule, rewriter.replace(statement.value, f"{head}({code})"), "parameter")
    return None


def _feeds(context: Context, source: p.Node, statement: p.Statement, name: str) -> bool:
    """Tell whether a leaf is made under the same name right before the statement that makes a result of it."""
    first = context.statement(source)
    if not isinstance(first, p.Assign) or first.value is not source or target(context, first) != name:
        return False
    if statement not in context.block(first):
        return False
    between = context.between(first, statement)
    return not any(isinstance(n, p.Name) and n.id == name for n in p.walk_all(between))


@attempted
def unrecorded(context: Context, rule: Rule, fact: Fact, statements: tuple[p.Statement, ...]) -> Fix | None:
    """Put updates under no_grad; a sum that carries a graph is a new value instead."""
    rewriter = context.rewriter
    site = fact.event.site
    if dict(fact.details)["carries"]:
        if not isinstance(site, p.Augment) or not isinstance(site.target, (p.Name, p.Attribute)):
            return None
        name, value = rewriter.text_of(site.target), rewriter.text_of(site.value)
        value = value if site.op == "+" else f"({value})"
        return context.fix(rule, rewriter.replace(site, f"{name} = {name} {site.op} {value}"), "value", tensor=name)
    name, imports = rewriter.spelling(context.no_grad, statements[0])
    edits = (*imports, *rewriter.wrap(statements, f"with {name}():"))
    return context.fix(rule, edits, scope=f"{name}()")


def runs(context: Context, sites: list[p.Node]) -> Iterator[tuple[p.Node, tuple[p.Statement, ...]]]:
    """Group updates: yield the first of those that stand together, and the statements that one scope has to hold."""
    found = {_whole(context, site, sites): site for site in reversed(sites)}
    done: set[p.Statement] = set()
    ordered = sorted(found, key=context.program.span)
    for statement in ordered:
        if statement in done:
            continue
        block = context.block(statement)
        start = end = block.index(statement) if statement in block else 0
        for number in range(start + 1, len(block)):
            if block[number] in found:
                end = number
            elif not _bookkeeping(block[number]):
                break
        together = block[start : end + 1] if statement in block else (statement,)
        done.update(together)
        yield found[statement], together


def _whole(context: Context, site: p.Node, sites: list[p.Node]) -> p.Statement:
    """Return the statement of an update, or the loop over parameters that does nothing but update them."""
    statement = context.statement(site)
    loop = context.parents.get(statement)
    updates = {context.statement(one) for one in sites}
    if isinstance(loop, p.Loop) and all(one in updates or _bookkeeping(one) for one in loop.body):
        return loop
    return statement


def _bookkeeping(statement: p.Statement) -> bool:
    """Tell whether a statement only clears gradients, or does nothing."""
    if isinstance(statement, p.Pass):
        return True
    if isinstance(statement, p.Assign):
        return all(isinstance(t, p.Attribute) and t.attr == "grad" for t in statement.targets)
    value = statement.value if isinstance(statement, p.Evaluate) else None
    function = value.function if isinstance(value, p.Call) else None
    if not isinstance(function, p.Attribute) or not isinstance(function.value, p.Attribute):
        return False
    return function.attr == "zero_" and function.value.attr == "grad"
