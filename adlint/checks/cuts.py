"""Mendings of values that were cut off from their graph, and what the code around a cut says about it."""

from __future__ import annotations

from collections.abc import Mapping

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks import leaves
from adlint.checks.context import Applicability, Context, Edit, Event, Fix, always, attempted, given

READS = frozenset({"item", "detach", "data", "cpu", "numpy", "tolist", "clone"})
COUNTS = frozenset({"len", "numel", "size", "shape", "sum", "any", "count_nonzero", "nelement"})
CATCHES = frozenset({"Exception", "BaseException", "RuntimeError", "AttributeError"})


def caught(context: Context, site: p.Node) -> bool:
    """Tell whether the code around a place is ready for it to raise."""
    child: p.Node = site
    for node in context.above(site):
        if isinstance(node, (p.Function, p.Class)):
            return False
        if isinstance(node, p.Try) and child in node.body:
            for handler in node.handlers:
                names = {n.id for n in p.walk(handler.type) if isinstance(n, p.Name)} if handler.type else CATCHES
                if names & CATCHES:
                    return True
        child = node
    return False


# ---------------------------------------------------------------- nothing to learn from


def for_lack_of_data(context: Context, literal: p.Node) -> bool:
    """Tell whether a number is given where a test has found that there are no elements."""
    child: p.Node = literal
    for node in context.above(literal):
        if node is literal:
            continue
        if isinstance(node, (p.Function, p.Class, p.Lambda)):
            return False
        if isinstance(node, p.Conditional) and child is not node.test:
            return _empty(context, node.test, child is node.then)
        if isinstance(node, p.Branch) and child is not node.test and not always(node):
            return _empty(context, node.test, child in node.then)
        if isinstance(node, p.Return):
            before = context.block(node)
            guard = before[before.index(node) - 1] if node in before and before.index(node) else None
            if isinstance(guard, p.Branch) and not guard.orelse and isinstance(guard.then[-1], p.Return):
                return _empty(context, guard.test, False)
        if isinstance(node, (p.Operator, p.Call, p.Augment)):
            return False
        child = node
    return False


def _empty(context: Context, test: p.Expression, positive: bool) -> bool:
    """Tell whether a test that goes one way means that something has no elements."""
    if isinstance(test, p.Boolean):
        if test.op == "not":
            return _empty(context, test.operands[0], not positive)
        return (test.op == "or") is not positive and any(_empty(context, t, positive) for t in test.operands)
    if isinstance(test, p.Compare) and isinstance(test.right, p.Constant) and type(test.right.value) is int:
        number, op = test.right.value, test.op
        none = (op, number) in (("==", 0), ("<", 1), ("<=", 0))
        some = (op, number) in (("!=", 0), (">", 0), (">=", 1))
        return (none if positive else some) and _counts(context, test.left)
    return not positive and _counts(context, test)


def _counts(context: Context, expression: p.Expression, depth: int = 2) -> bool:
    """Tell whether an expression is a count of elements, or a name for one."""
    if isinstance(expression, p.Name):
        values = given(context.body(expression), expression.id)
        return depth > 0 and bool(values) and all(_counts(context, value, depth - 1) for value in values)
    if isinstance(expression, p.Subscript):
        return _counts(context, expression.value, depth)
    if isinstance(expression, p.Attribute):
        return expression.attr == "shape"
    if not isinstance(expression, p.Call):
        return False
    function_ = expression.function
    if isinstance(function_, p.Attribute):
        return function_.attr in COUNTS or (function_.attr == "item" and _counts(context, function_.value, depth))
    if isinstance(function_, p.Name) and function_.id in ("int", "float", "bool"):
        return bool(expression.arguments) and _counts(context, expression.arguments[0].value, depth)
    return isinstance(function_, p.Name) and function_.id in COUNTS


# ---------------------------------------------------------------- mendings


@attempted
def mended(context: Context, rule: Rule, event: Event, details: Mapping[str, object]) -> Fix | None:
    """Keep the graph, where there is one way to."""
    where, scope, how = details["where"], details.get("scope"), details["how"]
    if details["leaf"]:
        return _unwrapped_leaf(context, rule, event, details)
    if how == "off" and isinstance(where, p.Node) and leaves.updates(context, where):
        return leaves.updated(context, rule, where, given=False, recorded=False)
    if how in ("off", "inference") and isinstance(scope, p.Node):
        return _recorded(context, rule, event, scope)
    if how == "number":
        return _unread(context, rule, event, details["reads"])
    if how == "detach" and isinstance(where, p.Expression):
        inner = _inner(where)
        same = context.function(where) is context.function(event.site)
        if inner is None:
            return None
        edits = context.rewriter.replace(where, context.text(inner))
        cut = _name(context, where, inner)
        return context.fix(rule, edits, applicability=None if same else Applicability.UNSAFE, cut=cut)
    if how in ("data", "wrapped") and isinstance(where, p.Call):
        return _unwrapped(context, rule, where, how == "wrapped")
    return None


def _name(context: Context, whole: p.Expression, inner: p.Expression) -> str:
    text, kept = context.text(whole), context.text(inner)
    return text[len(kept) :].lstrip(".") if text.startswith(kept) else text


def _inner(expression: p.Expression) -> p.Expression | None:
    """Return the tensor that an expression reads or detaches."""
    if isinstance(expression, p.Attribute) and expression.attr == "data":
        return expression.value
    if isinstance(expression, p.Call):
        function = expression.function
        if isinstance(function, p.Attribute) and function.attr in ("detach", "item") and not expression.arguments:
            return function.value
        if isinstance(function, p.Name) and function.id == "float" and len(expression.arguments) == 1:
            return expression.arguments[0].value
    return None


def _stripped(expression: p.Expression) -> p.Expression:
    """Return the tensor under reads and copies of it."""
    while True:
        inner = _inner(expression)
        call = expression if isinstance(expression, p.Call) and not expression.arguments else None
        if inner is None and call is not None and isinstance(call.function, p.Attribute):
            inner = call.function.value if call.function.attr in READS else None
        if inner is None:
            return expression
        expression = inner


def _unread(context: Context, rule: Rule, event: Event, sites: object) -> Fix | None:
    """Take the tensors themselves instead of numbers that are read from them."""
    edits: tuple[Edit, ...] = ()
    cut = ""
    for site in sites if isinstance(sites, tuple) else ():
        inner = _inner(site)
        if inner is None or context.function(site) is not context.function(event.site):
            return None
        cut = cut or _name(context, site, inner)
        edits += context.rewriter.replace(site, context.text(inner))
    return context.fix(rule, edits, cut=cut) if edits else None


def _unwrapped(context: Context, rule: Rule, call: p.Call, direct: bool) -> Fix | None:
    """Take the tensor itself instead of a new one that is made of its value."""
    if not call.arguments or call.arguments[0].keyword not in (None, "data") or call.arguments[0].star:
        return None
    first = call.arguments[0].value
    if isinstance(first, p.Collection):
        if not all(isinstance(e, p.Name) for e in first.elements) or len(first.elements) < 2:
            return None
        name, imports = context.rewriter.spelling(context.profile.terms["stack"], context.statement(call))
        edits = (*imports, *context.rewriter.replace(call, f"{name}({context.text(first)})"))
        return context.fix(rule, edits, cut=context.text(call.function))
    kept = _stripped(first)
    if not isinstance(kept, (p.Name, p.Attribute)) or (kept is first and not direct):
        return None
    edits = context.rewriter.replace(call, context.text(kept))
    statement = context.statement(call)
    if isinstance(statement, p.Assign) and statement.value is call:
        names = [context.text(target) for target in statement.targets]
        edits = context.rewriter.delete(statement) if names == [context.text(kept)] else edits
    return context.fix(rule, edits, cut=context.text(call.function))


def _unwrapped_leaf(context: Context, rule: Rule, event: Event, details: Mapping[str, object]) -> Fix | None:
    """Drop the leaf that a loss was made into, together with the cut behind it."""
    made, where = details.get("made"), details["where"]
    if not isinstance(made, p.Node) or context.function(made) is not context.function(event.site):
        return None
    if isinstance(made, p.Call) and made is where:
        return _unwrapped(context, rule, made, details["how"] == "wrapped")
    if details["how"] != "detach" or not isinstance(where, p.Expression) or not isinstance(made, p.Node):
        return None
    inner, statement = _inner(where), context.statement(made)
    if inner is None or context.function(where) is not context.function(made):
        return None
    cut = _name(context, where, inner)
    if any(node is where for node in p.walk(made)):
        if (
            not isinstance(made, p.Call)
            or not isinstance(made.function, p.Attribute)
            or made.function.value is not where
        ):
            return _unwrapped(context, rule, made, True) if isinstance(made, p.Call) else None
        return context.fix(rule, context.rewriter.replace(made, context.text(inner)), cut=cut)
    edits: tuple[Edit, ...] = (*context.rewriter.replace(where, context.text(inner)),)
    if isinstance(statement, (p.Evaluate, p.Assign)) and made in (statement, getattr(statement, "value", None)):
        return context.fix(rule, (*edits, *context.rewriter.delete(statement)), cut=cut)
    return None


def _recorded(context: Context, rule: Rule, event: Event, scope: p.Node) -> Fix | None:
    """Take what the loss is made of out of the scope that keeps it from being recorded."""
    name = context.text(scope)
    for node in context.above(scope):
        if isinstance(node, p.Function) and any(scope is d for d in node.decorators):
            whole = any(part is event.site for part in p.walk(node))
            if not whole and node.name not in ("forward", "__call__"):
                return None
            edits = context.rewriter.undecorate(node, next(d for d in node.decorators if d is scope))
            certainty = None if whole else Applicability.UNSAFE
            return context.fix(rule, edits, "undecorate", certainty, scope=name)
        if isinstance(node, p.With) and any(scope is item.context for item in node.items):
            if any(isinstance(part, p.Yield) for part in p.walk(node)):
                return None
            same = context.function(node) is context.function(event.site)
            certainty = None if same and len(node.body) <= 2 else Applicability.UNSAFE
            return context.fix(rule, context.rewriter.unwrap(node), "unwrap", certainty, scope=name)
        if isinstance(node, p.Statement):
            return None
    return None


@attempted
def softened(context: Context, rule: Rule, scope: p.Expression) -> Fix | None:
    """Switch recording off without making tensors that no graph may use."""
    name, imports = context.rewriter.spelling(context.no_grad, context.statement(scope))
    text = f"{name}()" if isinstance(scope, p.Call) else name
    edits = (*imports, *context.rewriter.replace(scope, text))
    return context.fix(rule, edits, scope=text)


@attempted
def recorded(context: Context, rule: Rule, where: p.Node, scope: p.Expression) -> Fix | None:
    """Take a term out of the scope that keeps it from being recorded."""
    function = context.function(where)
    if function is not None and any(scope is d for d in function.decorators):
        edits = context.rewriter.undecorate(function, scope)
        return context.fix(rule, edits, "undecorate", scope=context.text(scope))
    block = next((n for n in context.above(where) if isinstance(n, p.With)), None)
    if block is None or not any(scope is item.context for item in block.items):
        return None
    return context.fix(rule, context.rewriter.unwrap(block), scope=context.text(scope))


@attempted
def valued(context: Context, rule: Rule, site: p.Node, subject: p.Node | None) -> Fix | None:
    """Keep a value without its graph: detach what it is made of where that is one tensor, else the whole."""
    if not isinstance(subject, p.Expression) or isinstance(subject, (p.Collection, p.Mapping, p.Comprehension)):
        return None
    own = {context.text(target) for target in site.targets} if isinstance(site, p.Assign) else set()
    roots = [part for part in _tensors(subject) if part is None or context.text(part) not in own]
    edits: tuple[Edit, ...] = ()
    if roots and None not in roots and len({context.text(part) for part in roots}) == 1:
        for part in roots:
            assert part is not None
            edits += context.rewriter.replace(part, f"{context.text(part)}.detach()")
    else:
        text = context.rewriter.text_of(subject)
        text = text if isinstance(subject, (p.Name, p.Attribute, p.Call, p.Subscript)) else f"({text})"
        edits = context.rewriter.replace(subject, f"{text}.detach()")
    return context.fix(rule, edits)


def _tensors(expression: p.Expression) -> list[p.Expression | None]:
    """Return the names that an expression is computed from; None for what may be anything."""
    if isinstance(expression, p.Operator):
        return [part for operand in expression.operands for part in _tensors(operand)]
    if isinstance(expression, p.Conditional):
        return [part for arm in (expression.then, expression.orelse) for part in _tensors(arm)]
    if isinstance(expression, p.Constant):
        return []
    if isinstance(expression, p.Name):
        return [expression]
    if isinstance(expression, p.Attribute) and isinstance(expression.value, p.Name):
        return [expression]
    if isinstance(expression, p.Call):
        function = expression.function
        if isinstance(function, p.Name) and function.id in COUNTS:
            return []
        if isinstance(function, p.Attribute) and all(isinstance(a.value, p.Constant) for a in expression.arguments):
            sized = isinstance(function.value, p.Name) and function.attr in ("size", "numel", "dim")
            return [] if sized else _tensors(function.value)
    return [None]
