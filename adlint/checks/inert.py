"""How a scope without effect is put in force: called, entered, made a decorator, or drawn over more."""

from __future__ import annotations

from dataclasses import replace

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks import placing
from adlint.checks.context import Context, Edit, Fix, attempted, differentiates, trains
from adlint.tape.facts import Fact

SUSPENDING = (p.Yield, p.Await)


def form_of(context: Context, fact: Fact) -> str:
    """Return in which way a scope is inert; a scope that is dropped right above a definition lacks its `@`."""
    form = str(dict(fact.details)["form"])
    if form in ("dropped", "named") and _below(context, fact.event.site) is not None:
        return "missing_at"
    return form


def words(context: Context, fact: Fact) -> dict[str, object]:
    """Return what the messages say of a fact."""
    site = fact.event.site
    function = fact.shared if isinstance(fact.shared, (p.Function, p.Class)) else _below(context, site)
    parent = context.parents.get(site)
    target = parent.targets[0] if isinstance(parent, p.Assign) else None
    return {
        "scope": context.text(site),
        "function": function.name if function is not None else "",
        "name": target.id if isinstance(target, p.Name) else "",
        "op": parent.op if isinstance(parent, p.Boolean) else "",
        "line": context.line(fact.causes[0].site) if fact.causes else 0,
    }


def whole(context: Context, site: p.Node) -> p.Node:
    """Return what a scope can be drawn over: the function if it only evaluates, else the outermost such loop."""
    function, place = context.function(site), site
    if (
        function is not None
        and not differentiates(context, function)
        and not (function.is_async or function.is_generator)
    ):
        return function
    for node in context.above(site):
        if isinstance(node, (p.Function, p.Class)) or (isinstance(node, p.Loop) and differentiates(context, node)):
            break
        place = node if isinstance(node, p.Loop) else place
    return place


@attempted
def mended(context: Context, rule: Rule, fact: Fact, form: str) -> Fix | None:
    """Return the fix of an inert scope, if there is one mending."""
    maker = _MENDING.get(form)
    return maker(context, rule, fact) if maker is not None else None


def _below(context: Context, site: p.Node) -> p.Function | None:
    """Return the function whose definition begins right below a statement, or anywhere next in a class."""
    statement = context.statement(site)
    block = context.block(statement)
    position = block.index(statement) + 1 if statement in block else len(block)
    function = block[position] if position < len(block) else None
    if not isinstance(function, p.Function):
        return None
    first = min(context.row(node) for node in (function, *function.decorators))
    near = first == context.row(statement) + 1
    return function if near or isinstance(context.parents.get(statement), p.Class) else None


def _called(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    text = context.text(fact.event.site)
    return context.fix(rule, context.rewriter.replace(fact.event.site, f"{text}()"), "call", scope=text)


def _decorator(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    function = _below(context, fact.event.site)
    if function is None or trains(context, function) or function.is_async:
        return None
    text = context.text(fact.event.site)
    return context.fix(rule, context.rewriter.replace(fact.event.site, f"@{text}"), "at", scope=text)


def _entered(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Draw the scope over the function, or over what follows in its block up to the first statement that trains."""
    statement = context.statement(fact.event.site)
    block = context.block(statement)
    scope = _call_text(context, fact)
    rest = block[block.index(statement) + 1 :]
    covered = rest[: next((n for n, one in enumerate(rest) if differentiates(context, one)), len(rest))]
    made = {t.id for one in covered for t in placing.targets(one) if isinstance(t, p.Name)}
    trained = rest[len(covered) : len(covered) + 1]
    if not covered or any(isinstance(n, p.Name) and n.id in made for n in p.walk_all(trained)):
        return None
    function = context.parents.get(statement)
    if function is None:
        if context.facts.training:
            return _wrapped(context, rule, statement, covered, scope)
        dotted, _, arguments = context.profile.terms["recording_off"].partition("(")
        name, imports = context.rewriter.spelling(dotted, statement)
        code = f"{name}({arguments}"
        edits = (*imports, *context.rewriter.replace(fact.event.site, code))
        return context.fix(rule, edits, "set", scope=code)
    plain = isinstance(function, p.Function) and not (function.is_async or function.is_generator)
    if isinstance(function, p.Function) and plain and covered == rest and _is_head(block, statement):
        edits = (*context.rewriter.delete(statement), *context.rewriter.decorate(function, f"@{scope}"))
        return context.fix(rule, edits, "decorate", function=function.name, scope=scope)
    return _wrapped(context, rule, statement, covered, scope)


def _wrapped(
    context: Context, rule: Rule, statement: p.Statement, covered: tuple[p.Statement, ...], scope: str
) -> Fix | None:
    parts = tuple(p.walk_all(covered))
    if any(isinstance(part, SUSPENDING) for part in parts):
        return None
    if context.parents.get(statement) is None and any(isinstance(one, (p.Function, p.Class)) for one in covered):
        return None
    edits = (*context.rewriter.delete(statement), *context.rewriter.wrap(covered, f"with {scope}:"))
    return context.fix(rule, edits, "wrap", scope=scope)


def _is_head(block: tuple[p.Statement, ...], statement: p.Statement) -> bool:
    before = block[: block.index(statement)]
    return all(isinstance(one, p.Evaluate) and isinstance(one.value, p.Constant) for one in before)


def _call_text(context: Context, fact: Fact) -> str:
    text = context.text(fact.event.site)
    return text if isinstance(fact.event.site, p.Call) else f"{text}()"


def _both(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    boolean = context.parents.get(fact.event.site)
    if not isinstance(boolean, p.Boolean) or not isinstance(context.parents.get(boolean), p.ContextItem):
        return None
    texts = [context.text(operand) for operand in boolean.operands]
    return context.fix(rule, context.rewriter.replace(boolean, ", ".join(texts)), "both")


def _body(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Move the decorator of an async function that never waits into its body."""
    function = fact.shared
    if not isinstance(function, p.Function) or fact.event.site not in function.decorators:
        return None
    if any(isinstance(part, SUSPENDING) for part in p.walk_all(function.body)):
        return None
    body = function.body
    first = body[0] if body else None
    documented = isinstance(first, p.Evaluate) and isinstance(first.value, p.Constant)
    scope = _call_text(context, fact)
    edits = (
        *context.rewriter.undecorate(function, fact.event.site),
        *context.rewriter.wrap(body[1:] if documented else body, f"with {scope}:"),
    )
    return context.fix(rule, edits, "body", function=function.name, scope=scope)


def _methods(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Move the decorator of a network that nothing trains to its forward."""
    cls = fact.shared
    if not isinstance(cls, p.Class) or fact.event.site not in cls.decorators or context.facts.training:
        return None
    forward = next((one for one in cls.body if isinstance(one, p.Function) and one.name == "forward"), None)
    if forward is None or forward.is_async or forward.is_generator:
        return None
    scope = _call_text(context, fact)
    edits = (
        *context.rewriter.undecorate(cls, fact.event.site),
        *context.rewriter.decorate(forward, f"@{scope}"),
    )
    return context.fix(rule, edits, "decorate", function=forward.name, scope=scope)


def _functions(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Decorate the functions that a block defines, and drop the block."""
    statement = context.statement(fact.event.site)
    if not isinstance(statement, p.With):
        return None
    functions = [one for one in statement.body if isinstance(one, p.Function)]
    if any(one.is_async or differentiates(context, one) for one in functions):
        return None
    scope, column = _call_text(context, fact), context.program.span(statement).start.column - 1
    edits = context.rewriter.unwrap(statement)
    for one in functions:
        for edit in context.rewriter.decorate(one, f"@{scope}"):
            code = edit.content
            edits = (*edits, replace(edit, content=code[:column] + code.lstrip(" \t")))
    return context.fix(rule, edits, "decorate", function=functions[0].name, scope=scope)


def _listed(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Compute in the block what a generator expression would compute later."""
    lazy = fact.shared
    text = context.text(lazy) if isinstance(lazy, p.Comprehension) else ""
    if not (text.startswith("(") and text.endswith(")")) or lazy is None:
        return None
    return context.fix(rule, context.rewriter.replace(lazy, f"[{text[1:-1]}]"), "listed")


def _cover(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Move what follows the block, down to the forward, into it."""
    statement = context.statement(fact.event.site)
    last = context.in_block_of(fact.causes[0].site, statement)
    if last is None or not isinstance(statement, p.With):
        return None
    block = context.block(statement)
    moved = block[block.index(statement) + 1 : block.index(last) + 1]
    if not moved or any(differentiates(context, one) for one in moved):
        return None
    return context.fix(rule, context.rewriter.absorb(statement.body, moved), "cover")


def _volatile(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Take the arguments out and draw a scope over the function that only evaluates, or its outermost such loop."""
    rewriter = context.rewriter
    place = whole(context, fact.event.site)
    if place is fact.event.site or (isinstance(place, p.Function) and place.name in ("__init__", "forward")):
        return None
    name, imports = rewriter.spelling(context.no_grad, place)
    edits: tuple[Edit, ...] = imports
    for call in p.walk(place):
        for argument in call.arguments if isinstance(call, p.Call) else ():
            if argument.keyword == "volatile" and isinstance(call, p.Call):
                edits = (*edits, *rewriter.remove_argument(argument, call))
    if isinstance(place, p.Function):
        edits = (*edits, *rewriter.decorate(place, f"@{name}()"))
    elif isinstance(place, p.Statement):
        edits = (*edits, *rewriter.wrap((place,), f"with {name}():"))
    return context.fix(rule, edits, "volatile", scope=f"{name}()")


_MENDING = {
    "dropped": _entered,
    "named": _entered,
    "uncalled": _called,
    "missing_at": _decorator,
    "operand": _both,
    "async": _body,
    "kept": _entered,
    "class": _methods,
    "defines": _functions,
    "lazy": _listed,
    "around": _cover,
    "volatile": _volatile,
}
