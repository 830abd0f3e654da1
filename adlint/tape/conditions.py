"""What is true on a path: conditions that are known, those that were decided, and the taking of a way on the others."""

from __future__ import annotations

from adlint import program as p
from adlint.tape import attributes, counting, expressions
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    FALSE,
    TRUE,
    Absent,
    Const,
    Gradient,
    Instance,
    Key,
    Linear,
    Ref,
    Sequence,
    Table,
    Tensor,
    Tuple,
    Unknown,
    Value,
)


def condition(m: Machine, state: State, value: Value) -> bool | tuple[Key, bool]:
    """Return the truth of a value where it is known, else the key of the condition and which of its ways means true."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Absent):
        return False
    if isinstance(value, Tuple):
        return bool(value.items)
    if isinstance(value, Unknown):
        return _undecided(state, value.key)
    if isinstance(value, Linear):
        found = _undecided(state, ("eq", value, Const(0)))
        return not found if isinstance(found, bool) else (found[0], not found[1])
    thing = state.object(value)
    if isinstance(thing, (Sequence, Table)):
        if thing.items:
            return True
        return (("truth", value), True) if thing.more else False
    if isinstance(thing, Tensor) or isinstance(value, Gradient):
        return ("truth", value), True
    if isinstance(thing, Instance) and isinstance(thing.cls, Ref):
        told = any(attributes.find(state, thing.cls, name) is not None for name in ("__bool__", "__len__"))
        return (("truth", value), True) if told else True
    return True


def _undecided(state: State, key: Key) -> bool | tuple[Key, bool]:
    if isinstance(key, tuple) and key and key[0] == "not":
        found = _undecided(state, key[1])
        return not found if isinstance(found, bool) else (found[0], not found[1])
    if (asked := counting.question(key)) is not None:
        return asked
    if isinstance(key, tuple) and key and key[0] == "eq":
        return _equal(state, key)
    if not (isinstance(key, tuple) and key and key[0] in ("none", "lt", "in", "isinstance", "is")):
        if state.decisions.get(("none", key)) is True:
            return False
        key = ("truth", key)
        if (asked := counting.question(key)) is not None:
            return asked
    else:
        excluding = {"none": ("truth", *key[1:]), "lt": ("lt", *key[:0:-1])}.get(key[0])
        if excluding is not None and state.decisions.get(excluding) is True:
            return False
    return key, True


def _equal(state: State, key: Key) -> bool | tuple[Key, bool]:
    """Decide equality with a constant from what the same unknown was found equal to before."""
    _, left, right = key
    if isinstance(right, Const):
        for other, arm in state.decisions.items():
            if not (arm and isinstance(other, tuple) and len(other) == 3 and other[:2] == ("eq", left)):
                continue
            if isinstance(other[2], Const) and other[2] != right:
                return False
    return key, True


def truth(m: Machine, state: State, expression: p.Expression) -> Const:
    """Evaluate a test and take a way."""
    if isinstance(expression, p.Boolean):
        if expression.op == "not":
            return FALSE if truth(m, state, expression.operands[0]) == TRUE else TRUE
        stop = expression.op == "or"
        for operand in expression.operands:
            if (truth(m, state, operand) == TRUE) is stop:
                return Const(stop)
        return Const(not stop)
    return Const(decided(m, state, expressions.evaluate(m, state, expression)))


def known(m: Machine, state: State, value: Value) -> bool | None:
    """Return the truth of a value where it is known or was decided on this path."""
    found = condition(m, state, value)
    if isinstance(found, bool):
        return found
    taken = counting.answer(state, found[0])
    return None if taken is None else taken is found[1]


def decided(m: Machine, state: State, value: Value) -> bool:
    """Take a way on the truth of a value."""
    found = condition(m, state, value)
    if isinstance(found, bool):
        return found
    key, polarity = found
    return m.decide(state, key) is polarity


def negate(m: Machine, state: State, value: Value) -> Value:
    found = condition(m, state, value)
    if isinstance(found, bool):
        return Const(not found)
    if isinstance(value, Unknown):
        key = value.key
        if isinstance(key, tuple) and key and key[0] == "not":
            return Unknown(key[1])
        return Unknown(("not", key))
    return Unknown(("not", found[0] if found[1] else ("not", found[0])))
