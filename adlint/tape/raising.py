"""Exceptions of the program's own classes: what raises them, and which handlers of a `try` they reach."""

from __future__ import annotations

from adlint import program as p
from adlint.tape import attributes, expressions
from adlint.tape.machine import Machine
from adlint.tape.state import Outcome, State
from adlint.tape.values import Class, Ref, Value


def raised(m: Machine, state: State, statement: p.Raise) -> Value | None:
    """Return the class of the program that a statement raises, if it is one."""
    named = statement.value.function if isinstance(statement.value, p.Call) else statement.value
    return _own(m, state, named) if isinstance(named, (p.Name, p.Attribute)) else None


def caught(m: Machine, state: State, handler: p.Handler) -> tuple[Value, ...] | None:
    """Return the classes of the program that a handler is for; None if it is for others too."""
    kinds = handler.type.elements if isinstance(handler.type, p.Collection) else (handler.type,)
    own = [_own(m, state, kind) if isinstance(kind, (p.Name, p.Attribute)) else None for kind in kinds]
    known = tuple(one for one in own if one is not None)
    return known if len(known) == len(own) else None


def reaches(raised: Outcome, own: tuple[Value, ...] | None) -> bool:
    """Tell whether what was raised may reach a handler that is for these classes, or for others too."""
    return own is None or raised.value is None or _is_one(raised.state, raised.value, own)


def awaited(raised: Outcome) -> bool:
    """Tell whether the code around is ready for an exception of the program's own."""
    return raised.value is not None and _is_one(raised.state, raised.value, raised.state.awaited)


def _is_one(state: State, exception: Value, classes: tuple[Value, ...]) -> bool:
    lineage = list(attributes.lineage(state, exception))
    return any(state.object(one) is thing for one in classes for thing in lineage)


def _own(m: Machine, state: State, named: p.Expression) -> Value | None:
    value = expressions.evaluate(m, state, named)
    return value if isinstance(value, Ref) and isinstance(state.object(value), Class) else None
