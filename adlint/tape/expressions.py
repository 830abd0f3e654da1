"""How expressions are evaluated, stored to and decided."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from adlint import program as p
from adlint.tape import (
    attributes,
    calls,
    collecting,
    comprehensions,
    conditions,
    containers,
    imports,
    keeping,
    leaves,
    library,
    scopes,
    updates,
)
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    FALSE,
    NONE,
    TRUE,
    Absent,
    Builtin,
    Closure,
    Const,
    Generator,
    Gradient,
    Imported,
    Leaves,
    Library,
    Linear,
    Ref,
    Sequence,
    Table,
    Tensor,
    Tuple,
    Unknown,
    Value,
    key_of,
)

BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_")) | {"__import__"}


def evaluate(m: Machine, state: State, expression: p.Expression) -> Value:
    """Return the value of an expression; what it does to the tape happens to `state`."""
    m.burn()
    return _EVALUATE[type(expression)](m, state, expression)


def lookup(m: Machine, state: State, name: str) -> Value:
    """Return what a name stands for, searching the frames outwards."""
    frame: int = state.frame
    get = state.get
    kind = get(("outer", frame, name))
    if kind == "global":
        frame = imports.module(state)
    elif kind == "nonlocal":
        frame = get(("parent", frame))
    while True:
        found: Value | None = get((frame, name))
        if found is not None:
            return found
        function = get(("function", frame))
        if function is not None and name in m.told_of(_locals, function):
            return Unknown(("unbound", name, frame))
        outer = get(("parent", frame))
        while outer is not None and get(("class", outer)):
            outer = get(("parent", outer))
        if outer is None:
            return _unbound(m, state, frame, name)
        frame = outer


def _locals(function: p.Function | p.Lambda) -> frozenset[str]:
    """Return the names that the statements of a function bind: on a path that binds none, they are not the globals."""
    if isinstance(function, p.Lambda):
        return frozenset()
    names: set[str] = set()
    declared: set[str] = set()
    pending: list[p.Node] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, p.Scope):
            declared.update(node.names)
        targets = node.targets if isinstance(node, p.Assign) else ()
        if isinstance(node, (p.Augment, p.Loop, p.ContextItem)) and node.target is not None:
            targets = (node.target,)
        for target in targets:
            names.update(part.id for part in p.bound(target))
        if not isinstance(node, (p.Expression, p.Function, p.Class)):
            pending.extend(p.children(node))
    return frozenset(names - declared)


def _unbound(m: Machine, state: State, module: int, name: str) -> Value:
    """Return what a name stands for that no frame binds, the last of them the global frame of a module."""
    if name == "__name__":
        return Const("__main__" if module == 0 else "")
    stars = state.get((module, "*"))
    if name in BUILTINS:
        return _hidden(m, stars, name) or Builtin(name)
    if name in m.profile.roots:
        return Library(name)
    if isinstance(stars, Tuple):
        found = imports.of_stars(m, state, module, name)
        if found is not None:
            return found
        last = stars.items[-1]
        return Library(f"{last.dotted if isinstance(last, Imported) else last.name}.{name}")  # type: ignore[union-attr]
    return Unknown(("name", name) if module == 0 else ("name", name, module))


def _hidden(m: Machine, stars: object, name: str) -> Library | None:
    """Return what a star import of the framework puts in the place of one of Python's own functions."""
    for star in reversed(stars.items if isinstance(stars, Tuple) else ()):
        root = star.dotted if isinstance(star, Imported) else star.name if isinstance(star, Library) else ""
        if root and m.profile.role(f"{root}.{name}") not in ("", "plain"):
            return Library(f"{root}.{name}")
    return None


def _name(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Name)
    found = lookup(m, state, e.id)
    return imports.value(m, state, found, e) if isinstance(found, Imported) and found.names else found


def _constant(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Constant)
    return Const(e.value, e) if type(e.value) in (int, float) else Const(e.value)


def _template(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Template)
    parts = tuple(evaluate(m, state, v) for v in e.values)
    if all(isinstance(v, (Const, Unknown, Linear)) for v in parts):
        return Unknown(("text", id(e), tuple(key_of(v) for v in parts)))
    return Unknown(("text", m.fresh()))


def _attribute(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Attribute)
    return attributes.read(m, state, evaluate(m, state, e.value), e.attr, e)


def _call(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Call)
    function = evaluate(m, state, e.function)
    arguments = calls.arguments(m, state, e)
    leaves.handed(m, state, function, arguments.values)
    return calls.call(m, state, function, arguments, e)


def _operator(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Operator)
    operands = [evaluate(m, state, o) for o in e.operands]
    return operate(m, state, e.op, operands, e)


def operate(m: Machine, state: State, op: str, operands: list[Value], site: p.Node) -> Value:
    """Apply an arithmetic operator: on constants, counters, containers, or as a node of the graph."""
    for operand in operands:
        if isinstance(operand, Absent):
            leaves.used(m, state, operand, fails=True)
    if op == "+" and any(_is_list(state, v) for v in operands) and any(library.is_open(m, state, v) for v in operands):
        return m.unknown()  # a tensor is not added to a list: what nobody can see gives another list
    if any(library.is_tensorial(m, state, v) or library.is_tracked(state, v) for v in operands):
        if len(operands) == 2 and op in ("&", "|", "^"):
            return library.cut(m, state, site, "untracked", _nodes(m, state, operands))
        return library.operation(m, state, "neg" if len(operands) == 1 and op == "-" else op, operands, site)
    if all(isinstance(v, Const) for v in operands):
        try:
            return Const(_CONSTANT[op, len(operands)](*(v.value for v in operands if isinstance(v, Const))))
        except Exception:
            return m.unknown()
    if len(operands) == 2:
        left, right = operands
        if isinstance(left, Linear) and isinstance(right, Const) and type(right.value) is int and op in "+-":
            return Linear(left.symbol, left.offset + (right.value if op == "+" else -right.value))
        if isinstance(left, Linear) and isinstance(right, Const) and type(right.value) is int and op == "%":
            m.rounds.setdefault(left.symbol, right.value)
        if isinstance(right, Linear) and isinstance(left, Const) and type(left.value) is int and op == "+":
            return Linear(right.symbol, right.offset + left.value)
        joined = containers.concatenate(m, state, op, left, right)
        if joined is not None:
            return joined
    if all(isinstance(v, (Const, Unknown, Linear)) for v in operands):
        return Unknown(("op", op, *(key_of(v) for v in operands)))
    return m.unknown()


def _is_list(state: State, value: Value) -> bool:
    return isinstance(value, Tuple) or isinstance(state.object(value), Sequence)


def _nodes(m: Machine, state: State, operands: list[Value]) -> tuple[int, ...]:
    return tuple(n for v in operands for n in library.nodes_in(m, state, v, sources=False))


_CONSTANT: dict[tuple[str, int], Callable[..., object]] = {
    ("+", 2): lambda a, b: a + b,
    ("-", 2): lambda a, b: a - b,
    ("*", 2): lambda a, b: a * b if not isinstance(a, (str, bytes)) and not isinstance(b, (str, bytes)) else None,
    ("/", 2): lambda a, b: a / b,
    ("//", 2): lambda a, b: a // b,
    ("%", 2): lambda a, b: a % b,
    ("**", 2): lambda a, b: a**b if abs(a) < 1e6 and abs(b) < 64 else None,
    ("-", 1): lambda a: -a,
    ("+", 1): lambda a: +a,
    ("~", 1): lambda a: ~a,
    ("&", 2): lambda a, b: a & b,
    ("|", 2): lambda a, b: a | b,
    ("^", 2): lambda a, b: a ^ b,
    ("<<", 2): lambda a, b: a << b if b < 64 else None,
    (">>", 2): lambda a, b: a >> b,
}


def _boolean(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Boolean)
    if e.op == "not":
        return conditions.negate(m, state, evaluate(m, state, e.operands[0]))
    value = evaluate(m, state, e.operands[0])
    for before, operand in pairwise(e.operands):
        scopes.operated(m, state, e.op, value, before, operand)
        found = conditions.condition(m, state, value)
        if not isinstance(found, bool):
            other = evaluate(m, state, operand) if m.told_of(_harmless, operand) else None
            if isinstance(other, (Const, Unknown, Linear)) and isinstance(value, (Unknown, Linear)):
                if isinstance(other, Const) and isinstance(other.value, bool) and other.value is (e.op == "and"):
                    continue
                value = Unknown((e.op, key_of(value), key_of(other)))
                continue
            found = m.decide(state, found[0]) is found[1]
        if found is (e.op == "or"):
            return value
        value = evaluate(m, state, operand)
    return value


def _harmless(e: p.Expression) -> bool:
    return not any(isinstance(part, (p.Call, p.Walrus, p.Yield, p.Await)) for part in p.walk(e))


def _compare(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Compare)
    left, right = evaluate(m, state, e.left), evaluate(m, state, e.right)
    op = e.op
    if op in ("is not", "!=", "not in"):
        positive = {"is not": "is", "!=": "==", "not in": "in"}[op]
        value = _relation(m, state, left, positive, right, e)
        return value if library.is_tensorial(m, state, value) else conditions.negate(m, state, value)
    return _relation(m, state, left, op, right, e)


def _relation(m: Machine, state: State, left: Value, op: str, right: Value, site: p.Node) -> Value:
    if op == "is":
        return _identical(m, state, left, right)
    if op == "in":
        return containers.contains(m, state, left, right)
    if library.is_tensorial(m, state, left) or library.is_tensorial(m, state, right):
        return library.cut(m, state, site, "untracked", _nodes(m, state, [left, right]))
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return Const(bool(_COMPARE[op](left.value, right.value)))
        except Exception:
            return m.unknown()
    if isinstance(left, Linear) and isinstance(right, Linear) and left.symbol == right.symbol:
        return Const(bool(_COMPARE[op](left.offset, right.offset)))
    if op == "==":
        if isinstance(left, Const):
            left, right = right, left
        if isinstance(left, (Const, Unknown, Linear)) and isinstance(right, (Const, Unknown, Linear)):
            first = left if isinstance(left, Linear) else key_of(left)
            return (
                TRUE if left == right else Unknown(("eq", first, right if isinstance(right, Const) else key_of(right)))
            )
        if right == NONE:
            return _identical(m, state, left, right)
        return TRUE if left == right and not isinstance(left, Ref) else Unknown(("eq", key_of(left), key_of(right)))
    for operand in (left, right):
        if isinstance(operand, Absent) and op != "==":
            leaves.used(m, state, operand, fails=True)
    if op in (">", "<="):
        left, right = right, left
        op = {">": "<", "<=": ">="}[op]
    a = left if isinstance(left, Linear) else key_of(left)
    b = right if isinstance(right, Linear) else key_of(right)
    less = Unknown(("lt", a, b))
    return less if op == "<" else conditions.negate(m, state, less)


_COMPARE: dict[str, Callable[..., object]] = {
    "==": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _identical(m: Machine, state: State, left: Value, right: Value) -> Value:
    if left == NONE:
        left, right = right, left
    if right == NONE:
        if isinstance(left, Absent):
            return TRUE
        if isinstance(left, Gradient):
            return Const(all(state.slot(leaf).status == "clean" for leaf in left.leaves) and bool(left.leaves))
        if isinstance(left, Unknown):
            return Unknown(("none", left.key))
        if isinstance(left, Const):
            return Const(left.value is None)
        if isinstance(left, Ref) and isinstance(state.object(left), Tensor):
            if library.is_open(m, state, left):
                return Unknown(("none", left))
            return FALSE
        return FALSE
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left == right)
    if left == right and not isinstance(left, Unknown):
        return TRUE
    if isinstance(left, (Ref, Closure, Library)) and isinstance(right, (Ref, Closure, Library)):
        return FALSE
    return Unknown(("is", key_of(left), key_of(right)))


def _collection(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Collection)
    items: list[Value] = []
    more = False
    for element in e.elements:
        if isinstance(element, p.Starred):
            value = evaluate(m, state, element.value)
            found = containers.items(m, state, value)
            if found is None:
                more = True
                items.append(containers.element(m, state, value))
            else:
                items += found
        else:
            items.append(evaluate(m, state, element))
    if e.kind == "tuple" and not more:
        return Tuple(tuple(items))
    if e.kind == "set":
        items = list(dict.fromkeys(items))
    shuffled = e.kind == "set" and len(items) > 1
    return m.allocate(state, Sequence("list" if e.kind == "tuple" else e.kind, tuple(items), more, shuffled))


def _mapping(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Mapping)
    items: list[tuple[Value, Value]] = []
    more = False
    for key, value in e.items:
        if key is None:
            thing = state.object(evaluate(m, state, value))
            if isinstance(thing, Table):
                items += thing.items
                more = more or thing.more
            else:
                more = True
        else:
            items.append((evaluate(m, state, key), evaluate(m, state, value)))
    return m.allocate(state, Table(tuple(items), more))


def _comprehension(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Comprehension)
    return comprehensions.comprehend(m, state, e)


def _lambda(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Lambda)
    defaults = tuple(None if q.default is None else evaluate(m, state, q.default) for q in e.parameters)
    return Closure(e, state.frame, defaults)


def _slice(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Slice)
    parts = [None if part is None else evaluate(m, state, part) for part in (e.lower, e.upper, e.step)]
    if all(v is None or isinstance(v, Const) for v in parts):
        return Const(slice(*(v.value if isinstance(v, Const) else None for v in parts)))
    return Unknown(("slice", id(e)))


def _subscript(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Subscript)
    value = evaluate(m, state, e.value)
    if isinstance(value, Absent):
        leaves.used(m, state, value, fails=True)
    return containers.index(m, state, value, evaluate(m, state, e.index), e)


def _conditional(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Conditional)
    if _is_factor(e.then) and _is_factor(e.orelse):
        evaluate(m, state, e.test)
        return m.symbol("factor")
    chosen = e.then if conditions.truth(m, state, e.test) == TRUE else e.orelse
    return evaluate(m, state, chosen)


def _is_factor(e: p.Expression) -> bool:
    """Tell whether it is a fraction other than zero: which one it is decides nothing, so no way is taken for it."""
    return isinstance(e, p.Constant) and type(e.value) is float and bool(e.value)


def _walrus(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Walrus)
    value = evaluate(m, state, e.value)
    store(m, state, e.target, value)
    return value


def _yield(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Yield)
    value = NONE if e.value is None else evaluate(m, state, e.value)
    if not m.yielding:
        return m.unknown()
    receiver = m.yielding.pop()
    try:
        if e.delegates:
            thing = state.object(value)
            if isinstance(thing, Generator):
                calls.resume(m, state, value, receiver, e)
            else:
                for element in containers.items(m, state, value) or [containers.element(m, state, value)]:
                    receiver(state, element)
        else:
            receiver(state, value)
    finally:
        m.yielding.append(receiver)
    return NONE


def _await(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Await)
    return evaluate(m, state, e.value)


def _opaque(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Opaque)
    for part in e.parts:
        evaluate(m, state, part)
    return m.unknown()


def _starred(m: Machine, state: State, e: p.Expression) -> Value:
    assert isinstance(e, p.Starred)
    return evaluate(m, state, e.value)


def store(m: Machine, state: State, target: p.Expression, value: Value) -> None:
    """Assign a value to a name, attribute, item or pattern of these."""
    if isinstance(target, p.Name):
        kind = state.store.get(("outer", state.frame, target.id))
        frame: int | None = imports.module(state) if kind == "global" else state.frame
        if kind == "nonlocal":
            frame = state.get(("parent", state.frame))
            while frame is not None and (frame, target.id) not in state.store:
                frame = state.get(("parent", frame))
        state.store[(frame or 0 if kind else state.frame, target.id)] = value
    elif isinstance(target, p.Attribute):
        attributes.write(m, state, evaluate(m, state, target.value), target.attr, value, target)
    elif isinstance(target, p.Subscript):
        holder = evaluate(m, state, target.value)
        containers.assign(m, state, holder, evaluate(m, state, target.index), value, target)
    else:
        assert isinstance(target, p.Collection)
        parts = target.elements
        star = next((i for i, part in enumerate(parts) if isinstance(part, p.Starred)), None)
        values = containers.unpack(m, state, value, len(parts), star, target)
        for part, item in zip(parts, values, strict=False):
            store(m, state, part.value if isinstance(part, p.Starred) else part, item)


def augment(m: Machine, state: State, statement: p.Augment) -> None:
    """Run `target op= value`: in place on a tensor or list, else a new value."""
    target = statement.target
    held = evaluate(m, state, target)
    value = evaluate(m, state, statement.value)
    thing = state.object(held)
    owned = isinstance(thing, Tensor) and m.nodes[thing.node].kind == "leaf" and m.profile.augments
    if isinstance(held, Leaves) or owned:
        leaves.updated(m, state, held, [value], statement, target)
        updates.update_in_place(m, state, held, [value], statement)
        if isinstance(held, Leaves) or state.recording != "on":
            return
    if isinstance(held, Unknown) and m.profile.augments:
        leaves.updated(m, state, held, [value], statement, target)
    if isinstance(held, Gradient):
        if statement.op == "*" and value in (Const(0), Const(0.0)):
            updates.clear(m, state, held.leaves, statement)
        return
    if isinstance(thing, Sequence) and statement.op == "+":
        keeping.added(m, state, thing.items, value, statement, None)
        collecting.extend(m, state, held, value)
        return
    unrecorded = isinstance(thing, Tensor) and state.recording in ("off", "inference")
    if unrecorded and (not isinstance(value, Unknown) or leaves.is_node(m, thing)):
        return
    result = operate(m, state, statement.op, [held, value], statement)
    fresh = state.object(result)
    if isinstance(thing, Tensor) and isinstance(fresh, Tensor):
        keeping.grown(m, state, held, fresh.node, statement, statement.value)
        assert isinstance(held, Ref)
        if m.profile.augments:
            leaves.moved(state, thing.node, fresh.node)
            state.store[held.id] = replace(thing, node=fresh.node)
            result = held
    store(m, state, target, result)


def remove(m: Machine, state: State, target: p.Expression) -> None:
    """Run `del target`."""
    if isinstance(target, p.Name):
        state.store.pop((state.frame, target.id), None)
    elif isinstance(target, p.Attribute):
        attributes.remove(m, state, evaluate(m, state, target.value), target.attr, target)
    elif isinstance(target, p.Subscript):
        containers.drop(m, state, evaluate(m, state, target.value), evaluate(m, state, target.index), target)
    elif isinstance(target, p.Collection):
        for part in target.elements:
            remove(m, state, part)


_EVALUATE: dict[type, Callable[[Machine, State, p.Expression], Value]] = {
    p.Name: _name,
    p.Attribute: _attribute,
    p.Call: _call,
    p.Operator: _operator,
    p.Boolean: _boolean,
    p.Compare: _compare,
    p.Constant: _constant,
    p.Template: _template,
    p.Collection: _collection,
    p.Mapping: _mapping,
    p.Starred: _starred,
    p.Comprehension: _comprehension,
    p.Lambda: _lambda,
    p.Slice: _slice,
    p.Subscript: _subscript,
    p.Conditional: _conditional,
    p.Walrus: _walrus,
    p.Yield: _yield,
    p.Await: _await,
    p.Opaque: _opaque,
}
