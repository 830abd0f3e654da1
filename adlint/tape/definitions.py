"""How functions and classes of the program are defined: their defaults, decorators and bodies."""

from __future__ import annotations

from dataclasses import replace

from adlint import program as p
from adlint.tape import calls, expressions, scopes, statements
from adlint.tape.machine import Machine
from adlint.tape.state import Outcome, State
from adlint.tape.values import Class, Closure, Library, Value


def function(m: Machine, state: State, statement: p.Statement) -> None:
    """Bind a function of the program, under its decorators."""
    assert isinstance(statement, p.Function)
    defaults = tuple(
        None if q.default is None else expressions.evaluate(m, state, q.default) for q in statement.parameters
    )
    value: Value = Closure(statement, state.frame, defaults, state.get(("class", state.frame)))
    for decorator in reversed(statement.decorators):
        value = calls.decorate(m, state, decorator, value)
    state.store[(state.frame, statement.name)] = value


def cls(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
    """Run the body of a class and bind what it makes."""
    assert isinstance(statement, p.Class)

    def define(s: State) -> Value:
        bases = tuple(expressions.evaluate(m, s, b.value) for b in statement.bases if b.keyword is None)
        frame = m.fresh()
        s.store[("parent", frame)] = s.frame
        reference = m.allocate(s, Class(statement, frame, bases))
        s.store[(s.frame, statement.name)] = reference
        s.store[("class", frame)] = reference
        outer, s.frame = s.frame, frame

        def body() -> list[Outcome]:
            return [o for o in statements.block(m, s.fork(), statement.body) if o.kind == "next"][:1]

        outcome = m.branch(lambda: body() or [None])
        if outcome is not None:
            s.become(outcome.state.fork())
        s.frame = outer
        attributes = {key[1]: v for key, v in s.store.items() if type(key) is tuple and key[0] == frame}
        for name, value in attributes.items():
            if isinstance(value, Closure) and value.owner is None:
                attributes[name] = replace(value, owner=reference)
        annotated = tuple(
            target.id
            for st in statement.body
            if isinstance(st, (p.Declare, p.Assign)) and st.annotation is not None
            for target in (st.targets if isinstance(st, p.Assign) else (st.target,))
            if isinstance(target, p.Name)
        )
        dataclass = any("dataclass" in _dotted(d) or _dotted(d).endswith("define") for d in statement.decorators)
        dataclass = dataclass or any(isinstance(b, Library) and b.name.endswith("NamedTuple") for b in bases)
        s.store[reference.id] = Class(statement, frame, bases, attributes, annotated, dataclass)
        scopes.decorating(m, s, statement, reference)
        made: Value = reference
        for decorator in reversed(statement.decorators):
            made = calls.decorate(m, s, decorator, made)
        s.store[(s.frame, statement.name)] = made
        return reference

    return [o.of_statement() for o in m.explore(state, define)]


def _dotted(expression: p.Expression) -> str:
    if isinstance(expression, p.Call):
        return _dotted(expression.function)
    if isinstance(expression, p.Attribute):
        return f"{_dotted(expression.value)}.{expression.attr}"
    return expression.id if isinstance(expression, p.Name) else ""
