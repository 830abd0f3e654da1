"""Functional gradients: what they are taken with respect to, and what becomes of their results.

torch.autograd.grad(loss, parameters)      the gradients are the result; slots stay as they were
optimizer.step()                           and so this applies nothing
"""

from __future__ import annotations

from adlint import program as p
from adlint.tape import calls, containers, cuts, expressions, framework, library
from adlint.tape.facts import Event, Fact
from adlint.tape.graph import Node, ancestors
from adlint.tape.machine import Machine
from adlint.tape.state import Outcome, State, written
from adlint.tape.values import (
    Const,
    Leaves,
    Linear,
    Sequence,
    Table,
    Tensor,
    Tuple,
    Unknown,
    Value,
)

GRADIENT = "functional gradient"
PENDING = ("functional", 0)


def grad(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Run a functional gradient and return the gradients, one for each input."""
    root, inputs = given.get(0, "outputs"), given.get(1, "inputs")
    if root is None:
        return m.unknown()
    if inputs is not None:
        _without_gradient(m, state, name, given, root, inputs, site)
    framework.walk(m, state, "grad", name, root, given, site)
    create = given.get(None, "create_graph")
    kept = create is not None and not (isinstance(create, Const) and not create.value)
    if kept:
        node = m.node(state, "operation", GRADIENT, library.nodes_in(m, state, root), True, site)
    else:
        node = m.node(state, "cut", GRADIENT, (), False, site, False)
    if inputs is not None and _dropped_at_once(m, state, site):
        owners = library.leaves_behind(m, state, inputs)
        subject = site.arguments[0].value if isinstance(site, p.Call) and site.arguments else None
        state.store[PENDING] = (m.event(state, "grad", site, subject), owners)
    result = library.tensor(m, state, node)
    count = None if inputs is None else containers.items(m, state, inputs)
    if count is not None and len(count) <= 8 and not isinstance(inputs, Leaves):
        return Tuple((result,) * len(count))
    if inputs is not None and library.is_tensorial(m, state, inputs):
        return Tuple((result,))
    return m.allocate(state, Sequence("tuple", (result,), True))


# ---------------------------------------------------------------- results that nobody uses


def _dropped_at_once(m: Machine, state: State, site: p.Node) -> bool:
    """Tell whether the result of a call is not kept, or kept under names that nothing reads."""
    statement = state.statement
    if isinstance(statement, p.Evaluate):
        return statement.value is site
    if isinstance(statement, p.Assign) and _core(statement.value) is site:
        return _unread(m, state, statement)
    return False


def _core(expression: p.Expression) -> p.Expression:
    while isinstance(expression, p.Subscript):
        expression = expression.value
    return expression


def _unread(m: Machine, state: State, statement: p.Assign) -> bool:
    """Tell whether names of a function are assigned that nothing in it reads."""
    function = next((f for f in reversed(state.functions) if isinstance(f, p.Function)), None)
    names: set[str] = set()
    for target in statement.targets:
        for part in p.walk(target):
            if isinstance(part, p.Name):
                names.add(part.id)
            elif not isinstance(part, (p.Collection, p.Starred)):
                return False
    body = m.program.body if function is None else function.body
    if function is None and names != {"_"}:
        return False
    targets = {id(part) for target in statement.targets for part in p.walk(target)}
    return not any(isinstance(n, p.Name) and n.id in names and id(n) not in targets for n in p.walk_all(body))


def stepped(m: Machine, state: State, event: Event, owned: frozenset[int]) -> None:
    """Look at a step that found nothing to apply: were its gradients computed, and not stored?"""
    pending: tuple[Event, frozenset[int]] | None = state.store.get(PENDING)
    if pending is not None and pending[1] & owned:
        m.note(state, Fact("gradient-dropped", pending[0], (event,), True))


def evaluated(m: Machine, state: State, statement: p.Evaluate) -> list[Outcome]:
    """Run an expression whose value nobody keeps."""
    newest, changes = m.counter, m.changes

    def step(s: State) -> Value:
        value = expressions.evaluate(m, s, statement.value)
        calls.discarded(m, s, statement, value)
        return value

    outcomes = m.explore(state, step)
    if m.changes == changes and isinstance(statement.value, p.Call):
        _dropped(m, state, outcomes, statement.value, newest)
    return [o.of_statement() for o in outcomes]


UPDATES = frozenset({"-", "+", "Tensor.sub", "Tensor.add", "torch.sub", "torch.add", "torch.subtract"})


def _dropped(m: Machine, before: State, outcomes: list[Outcome], call: p.Call, newest: int) -> None:
    """Look at a call whose result is not kept: did it compute updated parameters, and change nothing?"""
    for outcome in outcomes:
        value, after = outcome.value, outcome.state
        if outcome.kind != "next" or value is None or after.crashed:
            continue
        if not any(_is_update(m, n, newest) for n in _tensors(m, after, value) if n >= newest):
            continue
        if all(_means_nothing(after, key, newest) for key in written(before.store, after.store)):
            details = (("name", _adapted(m, after, call, value)),)
            m.note(after, Fact("update-dropped", m.event(after, "call", call, call), (), True, details=details))


def _tensors(m: Machine, state: State, value: Value) -> tuple[int, ...]:
    if isinstance(value, (Const, Unknown, Linear, Leaves)):
        return ()
    return library.nodes_in(m, state, value, sources=False)


def _is_update(m: Machine, node: int, newest: int) -> bool:
    """Tell whether a node is a leaf or earlier weight plus a multiple of a gradient computed since `newest`."""
    record = m.nodes[node]
    if record.kind != "operation" or record.operation not in UPDATES or len(record.parents) + len(record.behind) < 2:
        return False
    parts = (*record.parents, *record.behind)
    return any(_of_gradient(m, n, newest) for n in parts) and any(not _of_gradient(m, n, newest) for n in parts)


def _of_gradient(m: Machine, node: int, newest: int) -> bool:
    """Tell whether a node is a functional gradient, or one scaled or clipped."""
    for _ in range(6):
        record = m.nodes[node]
        if record.operation == GRADIENT:
            return node >= newest
        parts = [n for n in (*record.parents, *record.behind) if m.nodes[n].kind != "leaf"]
        if record.kind == "call" or len(parts) != 1:
            return False
        node = parts[0]
    return False


HISTORY = frozenset(
    {"moment", "freed", "backwards", "phase", "part", "member", "parent", "function", "tracked", "functional", "walked"}
)


def _means_nothing(state: State, key: object, newest: int) -> bool:
    """Tell whether what a call has written is of no consequence: its own, the tape's history, or numbers."""
    if type(key) is int:
        return key >= newest or _numbers(state.store.get(key))
    assert isinstance(key, tuple)
    if key[0] in HISTORY or (type(key[0]) is int and key[0] >= newest):
        return True
    return _numbers(state.store.get(key))


def _numbers(thing: object) -> bool:
    if isinstance(thing, Sequence):
        return all(_numbers(item) for item in thing.items)
    if isinstance(thing, Table):
        return all(_numbers(item) for _, item in thing.items)
    return thing is None or isinstance(thing, (Const, Unknown, Linear))


def _adapted(m: Machine, state: State, call: p.Call, result: Value) -> str | None:
    """Return the one name among the arguments of a call that holds what its result looks like."""
    shape = _kind(state, result)
    found = []
    for argument in call.arguments:
        if isinstance(argument.value, p.Name):
            value = expressions.lookup(m, state, argument.value.id)
            nodes = [m.nodes[n] for n in library.nodes_in(m, state, value, sources=False)]
            if _kind(state, value) == shape and any(n.requires_grad is True for n in nodes):
                found.append(argument.value.id)
    return found[0] if len(found) == 1 and shape else None


def _kind(state: State, value: Value) -> str:
    thing = state.object(value)
    if isinstance(thing, Table):
        return "table"
    if isinstance(thing, Sequence) or isinstance(value, Tuple) or (isinstance(value, Leaves) and not value.single):
        return "sequence"
    return "tensor" if isinstance(thing, Tensor) else ""


# ---------------------------------------------------------------- inputs that have no gradient


def _without_gradient(
    m: Machine, state: State, name: str, given: calls.Arguments, root: Value, inputs: Value, site: p.Node
) -> None:
    """Look for inputs that certainly get no gradient: they do not require one, or the outputs are not made of them."""
    if given.open or any(given.get(None, flag) not in (None, Const(False)) for flag in m.profile.lenient):
        return
    roots = library.nodes_in(m, state, root)
    if not roots or any(cuts.graphless(m, state, n)[0] for n in roots):
        return
    known = containers.items(m, state, inputs)
    if known is None and isinstance(state.object(inputs), Sequence):
        known = [v for v in library.reachable(m, state, [inputs]) if isinstance(v, Leaves)]
    for value in [inputs] if known is None or isinstance(inputs, Leaves) else known:
        for one in _nodes(m, state, value):
            record = m.nodes[one]
            kind = _why(m, state, roots, one, record)
            if kind:
                event = m.event(state, "grad", site, site)
                m.note(state, Fact(kind, event, (), True, details=(("made", record.site),)))
                state.crashed = True
                return


def _nodes(m: Machine, state: State, value: Value) -> tuple[int, ...]:
    thing = state.object(value)
    if isinstance(thing, Tensor):
        return (thing.node,)
    if isinstance(value, Leaves) and not value.data:
        return tuple(sorted(one for one in value.leaves if not state.frozen(one)))
    return ()


def _why(m: Machine, state: State, roots: tuple[int, ...], node: int, record: Node) -> str:
    """Say why an input has no gradient for certain; an empty text if it may have one."""
    if record.kind == "cut":
        sure, _ = cuts.graphless(m, state, node)
        return "untracked-input" if sure or record.cut == "made" else ""
    if m.profile.inactive_results and record.kind == "operation":
        return "result-input"
    owned = record.kind == "leaf" and record.requires_grad is True and record.operation in ("tensor", "layer")
    if not owned and not (record.kind == "operation" and record.requires_grad is True):
        return ""
    if any(m.nodes[n].requires_grad is False for n in roots):
        return ""  # it is the outputs that PyTorch refuses
    if node > max(roots):
        return "unused-input"
    if not owned or any(m.nodes[n].turn != state.turn for n in roots):
        return ""
    reached = [m.nodes[n] for one in roots for n in ancestors(m.nodes, one).nodes]
    if any(
        part.id == node or part.id in m.guessed or part.hidden or part.kind not in ("operation", "leaf")
        for part in reached
    ):
        return ""
    if any(part.callee is not None or (part.kind == "operation" and part.turn != state.turn) for part in reached):
        return ""
    return "unused-input"
