"""What is known of a counter on a path: how it compares to a number, and what remains of it in a division.

Every question is asked of the counter's symbol, so that those of several turns are answered together:

    turn 1: i = s        if i > 0         not ("below", s, 1)
    turn 2: i = s + 1    if i > 0         not ("below", s, 0), which is known: s counts up from zero
                         if i % 2 == 0    ("eq", ("rest", s, 2), 1), which excludes that it is 0
"""

from __future__ import annotations

from adlint.tape.state import State
from adlint.tape.values import Const, Key, Linear

WIDEST = 64
FURTHEST = 2 * WIDEST


def question(key: Key) -> tuple[Key, bool] | bool | None:
    """Return a condition as one about a counter's symbol, and which of its ways means true; None if it is not one."""
    if not isinstance(key, tuple) or len(key) < 2:
        return None
    if key[0] == "lt":
        _, left, right = key
        if _counts(left) and _whole(right):
            return _below(left.symbol, right.value - left.offset, True)
        if _counts(right) and _whole(left):
            return _below(right.symbol, left.value + 1 - right.offset, False)
    if key[0] == "eq" and _whole(key[2]):
        _, left, right = key
        if _counts(left):
            value = right.value - left.offset
            return not (left.symbol[0] == "count" and value < 0) and (("eq", left.symbol, Const(value)), True)
        if (divided := _rest(left)) is not None:
            symbol, offset, by = divided
            return 0 <= right.value < by and (("eq", ("rest", symbol, by), Const((right.value - offset) % by)), True)
    if key[0] == "truth" and (divided := _rest(key[1])) is not None:
        symbol, offset, by = divided
        return ("eq", ("rest", symbol, by), Const(-offset % by)), False
    return None


def answer(state: State, key: Key) -> bool | None:
    """Return what the path has decided about a condition, directly or by what follows from the others."""
    if key in state.decisions or not (isinstance(key, tuple) and len(key) == 3):
        return state.decisions.get(key)
    if key[0] == "below":
        least, most = _bounds(state, key[1])
        if most is not None and most < key[2]:
            return True
        return False if least is not None and least >= key[2] else None
    _, subject, value = key
    if key[0] != "eq" or not isinstance(subject, tuple) or not _whole(value):
        return None
    if subject[:1] == ("rest",):
        return _remains(state, subject, value.value)
    if subject[:1] in (("count",), ("turn",)):
        least, most = _bounds(state, subject)
        if (least is not None and value.value < least) or (most is not None and value.value > most):
            return False
        return True if least == most == value.value else None
    return None


def _remains(state: State, subject: Key, rest: int) -> bool | None:
    """Answer whether a remainder is what it is asked to be."""
    _, symbol, by = subject
    least, most = _bounds(state, symbol)
    if least is not None and least == most:
        return bool(least % by == rest)
    arms = [state.decisions.get(("eq", subject, Const(other))) for other in range(by) if other != rest]
    if True in arms:
        return False
    return True if None not in arms else None


def _below(symbol: Key, bound: int, arm: bool) -> tuple[Key, bool] | bool:
    return (not arm) if symbol[0] == "count" and bound <= 0 else (("below", symbol, bound), arm)


def _counts(value: object) -> bool:
    return isinstance(value, Linear) and value.symbol[0] != "factor"


def _whole(value: object) -> bool:
    return isinstance(value, Const) and type(value.value) is int


def _rest(key: Key) -> tuple[Key, int, int] | None:
    """Return the symbol, the offset and the divisor of a remainder."""
    if not (isinstance(key, tuple) and len(key) == 4 and key[:2] == ("op", "%") and _counts(key[2]) and _whole(key[3])):
        return None
    by = key[3].value
    return (key[2].symbol, key[2].offset, by) if 1 < by <= WIDEST else None


def _bounds(state: State, symbol: Key) -> tuple[int | None, int | None]:
    """Return the least and the greatest value that a symbol may have on a path."""
    least: int | None = 0 if symbol[0] == "count" else None
    most: int | None = None
    other: set[int] = set()
    rests: list[tuple[int, int, bool]] = []
    for key, arm in state.decisions.items():
        if not isinstance(key, tuple) or len(key) != 3:
            continue
        if key[0] == "eq" and isinstance(key[1], tuple) and key[1][:2] == ("rest", symbol) and _whole(key[2]):
            rests.append((key[1][2], key[2].value, arm))
        elif key[1] != symbol:
            continue
        elif key[0] == "below":
            if arm:
                most = key[2] - 1 if most is None else min(most, key[2] - 1)
            else:
                least = key[2] if least is None else max(least, key[2])
        elif key[0] == "eq" and _whole(key[2]):
            if arm:
                return key[2].value, key[2].value
            other.add(key[2].value)

    def possible(value: int) -> bool:
        return value not in other and all((value % by == rest) is arm for by, rest, arm in rests)

    if least is not None:
        least = next((value for value in range(least, least + FURTHEST) if possible(value)), least)
    if most is not None:
        most = next((value for value in range(most, most - FURTHEST, -1) if possible(value)), most)
    return least, most


def begun(state: State, symbol: Key) -> bool:
    """Tell whether a path surely does not start in the first turn of the loop that counts with a symbol."""
    return symbol[0] == "count" and answer(state, ("below", symbol, 1)) is False
