"""Fixes that cut a graph: the state that a loop carries, what one player's network takes in from the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import Applicability, CannotRewrite, Context, Edit, Fix, attempted
from adlint.tape.facts import Event, Fact
from adlint.tape.holders import Holder
from adlint.tape.machine import Entry


def carriers(context: Context, fact: Fact) -> tuple[Holder, ...]:
    """Return the fewest places that hold what a loop carries, first the names that a turn reads before it sets them; a
    name that it does not mention may be a global of a function that it calls."""
    details = dict(fact.details)
    loop, found = details.get("loop"), details.get("holders", ())
    if not isinstance(loop, p.Loop) or not isinstance(found, tuple):
        return ()
    order = {h: _reads_first(loop.body, h.name) for h in found}
    read = [h for h in found if h.path or order[h] is not False]
    chosen: list[Holder] = []
    covered: set[int] = set()
    for holder in sorted(read, key=lambda h: (bool(h.appended), order[h] is None, len(h.path))):
        if not holder.nodes <= covered:
            chosen.append(holder)
            covered |= holder.nodes
    return tuple(chosen)


def spelled(holder: Holder) -> str:
    """Return the expression of a place."""
    text = holder.name
    for kind, key in holder.path:
        text += f".{key}" if kind == "attribute" else f'["{key}"]' if isinstance(key, str) else f"[{key!r}]"
    return text


@attempted
def cut_state(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Detach what the loop carries: where a list takes it in, else at the head of the turn; behind a backward that does
    not run in every turn, and at the end of the turn if the first one begins with something else than a tensor."""
    loop = dict(fact.details).get("loop")
    chosen = carriers(context, fact)
    if not isinstance(loop, p.Loop) or not chosen:
        return None
    edits: list[Edit] = []
    head: list[str] = []
    tail: list[str] = []
    for holder in chosen:
        if holder.appended:
            edits += _at_their_entry(context, holder)
            continue
        code = _cut(context, holder)
        if code is None or (not holder.path and not holder.own):
            return None
        if holder.before == "none":
            head += [f"if {spelled(holder)} is not None:", f"    {code}"]
        elif holder.before == "unknown" or _listed(holder.before) == _listed(holder.shape):
            head.append(code)
        else:
            tail.append(code)
    last = _in_loop(context, loop, fact.event)
    if (head or tail) and last is not None and _sometimes(context, loop, last):
        codes = [_cut(context, h) or "" for h in chosen if not h.appended]
        edits += context.rewriter.insert_after(context.statement(last), "\n".join(codes))
    else:
        if head:
            edits += context.rewriter.insert_first(loop.body, "\n".join(head))
        if tail:
            edits += context.rewriter.insert_last(loop.body, "\n".join(tail))
    edits += unretained(context, fact.event)
    what = " and ".join(f"`{spelled(h)}`" for h in chosen)
    entry = all(h.appended for h in chosen)
    return context.fix(rule, tuple(edits), "entry" if entry else "default", what=what)


def _at_their_entry(context: Context, holder: Holder) -> Iterable[Edit]:
    if not isinstance(holder.shape, tuple) or holder.shape[1] != "tensor":
        raise CannotRewrite("the elements are no tensors")
    for site in holder.appended:
        if not isinstance(site, p.Call) or not site.arguments:
            raise CannotRewrite("there is no argument")
        yield from detached(context, site.arguments[0].value)


def detached(context: Context, expression: p.Expression) -> tuple[Edit, ...]:
    """Detach an expression where it stands."""
    if isinstance(expression, (p.Collection, p.Comprehension, p.Starred, p.Mapping)):
        raise CannotRewrite("the argument is no tensor")
    text = context.rewriter.parenthesised(expression)
    return context.rewriter.replace(expression, f"{text}.{context.profile.terms['detach']}")


def _cut(context: Context, holder: Holder) -> str | None:
    """Return the statement that replaces what a place holds by its values."""
    text, detach = spelled(holder), context.profile.terms["detach"]
    match holder.shape:
        case "tensor":
            return f"{text} = {text}.{detach}"
        case ("tuple", "tensor"):
            return f"{text} = tuple(part.{detach} for part in {text})"
        case ("list", "tensor"):
            return f"{text} = [part.{detach} for part in {text}]"
        case ("tuple", ("tuple" | "list", "tensor")):
            return f"{text} = tuple(tuple(part.{detach} for part in parts) for parts in {text})"
        case ("list", ("tuple" | "list", "tensor")):
            return f"{text} = [tuple(part.{detach} for part in parts) for parts in {text}]"
        case ("dict", "tensor"):
            return f"{text} = {{key: part.{detach} for key, part in {text}.items()}}"
        case ("dict", ("tuple" | "list", "tensor")):
            return f"{text} = {{key: tuple(part.{detach} for part in parts) for key, parts in {text}.items()}}"
    return None


def _listed(shape: object) -> object:
    """Return a shape with lists taken for tuples."""
    if isinstance(shape, tuple):
        return ("tuple" if shape[0] == "list" else shape[0], _listed(shape[1]))
    return shape


def unretained(context: Context, event: Event) -> tuple[Edit, ...]:
    """Drop the argument that keeps the graph of a backward, where it is written out."""
    call = event.site
    if not event.retained or not isinstance(call, p.Call):
        return ()
    given = [a for a in call.arguments if a.keyword == context.profile.retain_argument]
    return context.rewriter.remove_argument(given[0], call) if given else ()


def _in_loop(context: Context, loop: p.Loop, event: Event) -> p.Node | None:
    """Return the call in the text of a loop that led to an event, or the event's own place."""
    return next((n for n in (*event.calls, event.site) if loop in context.above(n)), None)


def _sometimes(context: Context, loop: p.Loop, node: p.Node) -> bool:
    """Tell whether a place in a loop is under a condition."""
    for outer in context.above(node):
        if outer is loop:
            return False
        if isinstance(outer, (p.Branch, p.Match, p.Try)):
            return True
    return False


def _reads_first(statements: Sequence[p.Statement], name: str) -> bool | None:
    """Tell whether a name is read before it is set; None if it is not mentioned."""
    for statement in statements:
        for part in _in_order(statement):
            if isinstance(part, tuple):
                if part[0] == name:
                    return False
            elif part.id == name:
                return True
    return None


def _in_order(node: p.Node) -> Iterable[p.Name | tuple[str]]:
    """Yield the names that a statement reads, and in tuples those that it sets, in the order in which it does."""
    if isinstance(node, p.Assign):
        yield from _names(node.value)
        for target in node.targets:
            yield from _targets(target)
        return
    if isinstance(node, p.Augment):
        yield from (*_names(node.target), *_names(node.value))
        return
    if isinstance(node, p.Loop) and node.iterable is not None and node.target is not None:
        yield from _names(node.iterable)
        yield from _targets(node.target)
        for inner in (*node.body, *node.orelse):
            yield from _in_order(inner)
        return
    for child in p.children(node):
        if isinstance(child, p.Statement):
            yield from _in_order(child)
        else:
            yield from _names(child)


def _names(node: p.Node) -> Iterable[p.Name]:
    return (part for part in p.walk(node) if isinstance(part, p.Name))


def _targets(target: p.Expression) -> Iterable[p.Name | tuple[str]]:
    if isinstance(target, p.Name):
        yield (target.id,)
    elif isinstance(target, p.Collection):
        for part in target.elements:
            yield from _targets(part)
    elif isinstance(target, p.Starred):
        yield from _targets(target.value)
    else:
        yield from _names(target)


# ---------------------------------------------------------------- players


def taken_in(context: Context, fact: Fact) -> tuple[p.Expression, ...]:
    """Return the expressions through which a player's network takes in what leads to the other player's.

    A forward that serves the other loss too, in a function that both call, is left alone: what its caller hands over is
    meant.
    """
    details = dict(fact.details)
    gates, other = details.get("gates"), details.get("other")
    assert isinstance(gates, tuple)
    found: list[p.Expression] = []
    for gate in gates:
        assert isinstance(gate, Entry)
        shared = isinstance(other, Event) and other.kind != "step" and gate.shared
        for key, _ in gate.handed:
            expression = _argument(gate.site, key)
            if shared and expression is not None:
                expression = _callers(context, gate, expression)
            if expression is None:
                return ()
            found.append(expression)
    return tuple(dict.fromkeys(found))


@attempted
def cut_input(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Detach what the network takes in from the other player."""
    expressions = taken_in(context, fact)
    if not expressions:
        return None
    edits = [edit for one in expressions for edit in detached(context, one)]
    edits += unretained(context, fact.event)
    what = " and ".join(f"`{context.text(one)}`" for one in expressions)
    return context.fix(rule, tuple(edits), "default", Applicability.SAFE, what=what)


def _argument(site: p.Node, key: int | str) -> p.Expression | None:
    if not isinstance(site, p.Call):
        return None
    if isinstance(key, str):
        return next((a.value for a in site.arguments if a.keyword == key), None)
    plain = [a for a in site.arguments if a.keyword is None]
    return plain[key].value if key < len(plain) and not any(a.star for a in plain[: key + 1]) else None


def _callers(context: Context, gate: Entry, expression: p.Expression) -> p.Expression | None:
    """Return what the caller hands over for the parameter that an expression is."""
    function = context.function(gate.site)
    call = gate.calls[-1] if gate.calls else None
    if function is None or not isinstance(call, p.Call) or not isinstance(expression, p.Name):
        return None
    names = [q.name for q in function.parameters]
    if expression.id not in names:
        return None
    position = names.index(expression.id)
    if isinstance(call.function, p.Attribute) and names and names[0] == "self":
        position -= 1
    return _argument(call, expression.id) or _argument(call, position)
