"""Scopes that do not do what they say: built and dropped, not called, or around nothing that records.

    torch.no_grad()                     never entered
    with torch.no_grad:                 not called
    with torch.no_grad() and other():   only the last one is entered
    @torch.no_grad() / async def f      switched back before the body runs
    @torch.no_grad() / class Net        the constructor alone is covered
    scope = torch.no_grad()             and nothing reads the name
    with torch.no_grad(): def f(): ...  what f does, it does later
    with torch.no_grad(): lazy = (net(x) for x in data)

What is recorded because of one of these is its fault: the forward is not noted a second time.
"""

from __future__ import annotations

from dataclasses import replace

from adlint import program as p
from adlint.tape import attributes, cuts, expressions, library
from adlint.tape.facts import Fact
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import Library, Ref, Scope, Sequence, Value

SUPPRESSING = ("off", "inference")
DEFINED = ("inert functions", 0)
CONTEXTS = ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "autocast")


def inert(m: Machine, state: State, site: p.Node, form: str, function: p.Node | None = None) -> None:
    """Note a scope without effect at a place where something could be recorded."""
    if state.recording in SUPPRESSING:
        return
    m.note(state, _fact(m, state, site, form, function))
    excuse(state)


def _fact(m: Machine, state: State, site: p.Node, form: str, function: p.Node | None = None) -> Fact:
    return Fact("inert-scope", m.event(state, "scope", site), (), True, function, details=(("form", form),))


def excuse(state: State) -> None:
    """From here on, what the running function and those it calls record is put down to a scope already noted."""
    state.store[("inert", len(state.functions))] = True


def forgive(state: State) -> None:
    """End what `excuse` began, with the function."""
    state.store.pop(("inert", len(state.functions) + 1), None)


def excused(state: State) -> bool:
    """Tell whether what is recorded here is put down to a scope already noted."""
    if any(("inert", depth) in state.store for depth in range(len(state.functions) + 1)):
        return True
    return not state.store.get(DEFINED, frozenset()).isdisjoint(state.functions)


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


def placed(scope: Scope, item: p.ContextItem) -> Scope:
    """Return the scope that a block enters; one that is written as off for certain is known by its place."""
    call = item.context
    if scope.call is not None or scope.effect != "off" or not isinstance(call, p.Call):
        return scope
    certain = any(isinstance(a.value, p.Constant) and a.value.value is False for a in call.arguments)
    return replace(scope, call=call) if certain else scope


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


def kept(m: Machine, state: State, statement: p.Assign, value: Value) -> None:
    """Look at an assignment: a scope that is built, and nothing in the function reads its name."""
    if not isinstance(value, Scope) or value.call is not statement.value or not suppresses(m, value):
        return
    target, home = statement.targets[0], state.functions[-1] if state.functions else None
    if len(statement.targets) != 1 or not isinstance(target, p.Name) or not isinstance(home, p.Function):
        return
    outer = ("outer", state.frame, target.id) in state.store
    if not outer and [n for n in p.walk_all(home.body) if isinstance(n, p.Name) and n.id == target.id] == [target]:
        inert(m, state, statement.value, "kept")


def decorating(m: Machine, state: State, cls: p.Class, made: Ref) -> None:
    """Look at the decorators of a class that is a network: a scope covers its constructor alone."""
    for decorator in cls.decorators:
        function = decorator.function if isinstance(decorator, p.Call) else decorator
        if not isinstance(function, (p.Name, p.Attribute)):
            continue
        if suppresses(m, expressions.evaluate(m, state, function)) and _is_network(m, state, made):
            inert(m, state, decorator, "class", cls)


def _is_network(m: Machine, state: State, cls: Ref) -> bool:
    """Tell whether the instances of a class are networks that do something besides being made."""
    based = any(m.profile.role(name) == "module-base" for name in attributes.library_bases(state, cls))
    return based and attributes.find(state, cls, "forward") is not None


# ---------------------------------------------------------------- what runs later than it is written


def lazily(m: Machine, state: State, made: Value, site: p.Node) -> None:
    """Remember the scope in which values were asked for that are computed only when somebody takes them."""
    if state.recording not in SUPPRESSING or state.scope is None or not isinstance(made, Ref):
        return
    nodes = library.nodes_in(m, state, made, sources=False)
    if any(cuts.would_track(m, state, n) for n in nodes):
        state.store[("lazy", made.id)] = (state.scope, site)


def taken(m: Machine, state: State, value: Value, site: p.Node | None) -> None:
    """Look at what is taken out of lazy values: outside the scope in which they were asked for, they are recorded."""
    held = state.store.pop(("lazy", value.id), None) if isinstance(value, Ref) else None
    if held is None or not isinstance(value, Ref) or state.recording in SUPPRESSING:
        return
    state.store[value.id] = Sequence("generator", (m.unknown(),), True)
    place = site or state.statement
    if state.recording == "on" and place is not None:
        event, cause = m.event(state, "scope", held[0]), m.event(state, "forward", place)
        m.note(state, Fact("inert-scope", event, (cause,), True, held[1], details=(("form", "lazy"),)))
        excuse(state)


# ---------------------------------------------------------------- scopes around nothing


def defining(m: Machine, state: State, scope: Scope, item: p.ContextItem, statement: p.With) -> None:
    """Look at a block to be entered: one that only defines functions is left again before they run."""
    functions = [one for one in statement.body if isinstance(one, p.Function)]
    defined = [one.name for one in functions]
    rest = [one for one in statement.body if not isinstance(one, (p.Function, p.Pass))]
    handed = all(
        isinstance(one, p.Return) and isinstance(one.value, p.Name) and one.value.id in defined for one in rest
    )
    if defined and handed and suppresses(m, scope) and state.recording not in SUPPRESSING:
        m.note(state, _fact(m, state, item.context, "defines"))
        state.store[DEFINED] = state.store.get(DEFINED, frozenset()) | frozenset(functions)


def passes_on(m: Machine, body: tuple[p.Statement, ...]) -> bool:
    """Tell whether statements only give values other names, or convert them: nothing in them could be recorded."""
    said = [one for one in body if not isinstance(one, p.Pass)]
    return bool(said) and all(isinstance(one, p.Assign) and _converts(m, one.value) for one in said)


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
        for target in statement.targets if isinstance(statement, p.Assign) else ():
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
