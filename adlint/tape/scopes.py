"""Scopes that do not do what they say: built and dropped, not called, or around nothing that records.

    torch.no_grad()                     never entered
    with torch.no_grad:                 not called
    with torch.no_grad() and other():   only the last one is entered
    @torch.no_grad() / async def f      switched back before the body runs

What is recorded because of one of these is its fault: the forward is not noted a second time.
"""

from __future__ import annotations

from adlint import program as p
from adlint.tape import expressions, library
from adlint.tape.facts import Fact
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import Library, Scope, Value

SUPPRESSING = ("off", "inference")
CONTEXTS = ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "autocast")


def inert(m: Machine, state: State, site: p.Node, form: str, function: p.Node | None = None) -> None:
    """Note a scope without effect at a place where something could be recorded."""
    if state.recording in SUPPRESSING:
        return
    m.note(state, Fact("inert-scope", m.event(state, "scope", site), (), True, function, details=(("form", form),)))
    excuse(state)


def excuse(state: State) -> None:
    """From here on, what the running function and those it calls record is put down to a scope already noted."""
    state.store[("inert", len(state.functions))] = True


def forgive(state: State) -> None:
    """End what `excuse` began, with the function."""
    state.store.pop(("inert", len(state.functions) + 1), None)


def excused(state: State) -> bool:
    return any(("inert", depth) in state.store for depth in range(len(state.functions) + 1))


def suppresses(m: Machine, value: Value) -> bool:
    """Tell whether a value is a scope that stops recording, entered or not, called or not."""
    if isinstance(value, Scope):
        return value.effect in SUPPRESSING and value.call is not None
    return isinstance(value, Library) and m.profile.role(value.name) in ("no_grad", "inference_mode")


def dropped(m: Machine, state: State, statement: p.Evaluate, value: Value) -> None:
    """Look at an expression statement: a scope that is built or named and never entered."""
    here = statement.value
    if isinstance(value, Scope) and value.call is here and suppresses(m, value):
        inert(m, state, here, "dropped")
    elif isinstance(value, Library) and suppresses(m, value):
        inert(m, state, here, "named")


def uncalled(m: Machine, state: State, value: Value, item: p.ContextItem) -> Value:
    """Return what a context means: a scope that is named but not called is noted, and taken as it was meant."""
    if not isinstance(value, Library):
        return value
    role = m.profile.role(value.name)
    if role in ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled"):
        inert(m, state, item.context, "uncalled" if role != "set_grad_enabled" else "unset")
        effect = {"no_grad": "off", "inference_mode": "inference", "enable_grad": "on"}.get(role, "unknown")
        return Scope(effect, item.context)
    return value


def operated(m: Machine, state: State, op: str, value: Value, operand: p.Expression, rest: p.Expression) -> None:
    """Look at `value and rest` or `value or rest`: one of two scopes is not entered."""
    if not isinstance(value, (Scope, Library)) or not isinstance(rest, p.Call):
        return
    other = expressions.evaluate(m, state, rest.function)
    if op == "and" and isinstance(value, Scope) and suppresses(m, value):
        known = isinstance(other, Library) and m.profile.role(other.name) in CONTEXTS
        inert(m, state, operand, "operand" if known else "other")
    elif op == "or" and isinstance(value, Scope) and suppresses(m, other):
        inert(m, state, rest, "operand")


# ---------------------------------------------------------------- scopes around nothing


def passes_on(m: Machine, body: tuple[p.Statement, ...]) -> bool:
    """Tell whether statements only give values other names, or convert them: nothing in them could be recorded."""
    return bool(body) and all(isinstance(one, p.Assign) and _converts(m, one.value) for one in body)


def _converts(m: Machine, e: p.Expression) -> bool:
    if isinstance(e, (p.Name, p.Constant)):
        return True
    if isinstance(e, p.Attribute):
        return _converts(m, e.value)
    if isinstance(e, p.Subscript):
        return _converts(m, e.value) and isinstance(e.index, (p.Name, p.Constant))
    if isinstance(e, p.Collection):
        return all(_converts(m, part) for part in e.elements)
    if not isinstance(e, p.Call):
        return False
    function = e.function
    if isinstance(function, p.Attribute) and m.profile.method("module", function.attr) == "self":
        return _converts(m, function.value)
    name = function.attr if isinstance(function, p.Attribute) else function.id if isinstance(function, p.Name) else ""
    return name in m.profile.names("variable") and len(e.arguments) > 0 and _converts(m, e.arguments[0].value)


def passed_on(m: Machine, state: State, item: p.ContextItem, body: tuple[p.Statement, ...]) -> None:
    """Remember the values that a scope around nothing gave names to."""
    values = set()
    for statement in body:
        assert isinstance(statement, p.Assign)
        for target in statement.targets:
            for part in target.elements if isinstance(target, p.Collection) else (target,):
                if isinstance(part, p.Name):
                    values.add(expressions.lookup(m, state, part.id))
    state.store[("passed-on", 0)] = (item, frozenset(values))


def fed(state: State, values: tuple[Value, ...]) -> p.ContextItem | None:
    """Return the scope around nothing that a value comes out of."""
    held = state.store.get(("passed-on", 0))
    return held[0] if held is not None and not held[1].isdisjoint(values) else None


def outside(
    m: Machine, state: State, values: tuple[Value, ...], leaves: frozenset[int], result: Value, site: p.Node
) -> bool:
    """Remember a recorded forward of what came out of a scope around nothing; tell whether it is one."""
    item = fed(state, values)
    if item is None or state.recording != "on" or not state.looping or state.muted:
        return item is not None
    nodes = frozenset(
        n for n in library.nodes_in(m, state, result, sources=False) if m.nodes[n].requires_grad is not False
    )
    if nodes and any(not state.frozen(one) for one in leaves):
        m.outside[min(nodes)] = (m.event(state, "scope", item.context), m.event(state, "forward", site, site), nodes)
    return True


def close(m: Machine, escaped: set[int], backpropagated: set[p.Node]) -> None:
    """Note the scopes around nothing whose forwards nobody backpropagated."""
    for scope, forward, nodes in m.outside.values():
        if not (nodes & escaped or nodes & m.walked or forward.site in backpropagated):
            m.note(State(), Fact("inert-scope", scope, (forward,), True, forward.site, details=(("form", "around"),)))
