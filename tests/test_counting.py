"""What is known of a counter is true of every number that the path's decisions allow."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adlint.tape.counting import answer, begun, question
from adlint.tape.state import State
from adlint.tape.values import Const, Key, Linear

SYMBOL = ("count", 1)
Asked = tuple[str, int, int, int]

asked = st.tuples(
    st.sampled_from(["less", "greater", "equal", "rest", "divides"]),
    st.integers(-2, 5),
    st.integers(-3, 9),
    st.integers(2, 5),
)


def key_of(one: Asked) -> Key:
    kind, offset, number, by = one
    counter = Linear(SYMBOL, offset)
    rest = ("op", "%", counter, Const(by))
    return {
        "less": ("lt", counter, Const(number)),
        "greater": ("lt", Const(number), counter),
        "equal": ("eq", counter, Const(number)),
        "rest": ("eq", rest, Const(number)),
        "divides": ("truth", rest),
    }[kind]


def truth_of(one: Asked, symbol: int) -> bool:
    kind, offset, number, by = one
    value = symbol + offset
    return {
        "less": value < number,
        "greater": number < value,
        "equal": value == number,
        "rest": value % by == number,
        "divides": value % by != 0,
    }[kind]


def say(state: State, one: Asked) -> bool | None:
    """Return what a path knows of a question."""
    found = question(key_of(one))
    if isinstance(found, bool) or found is None:
        return found
    known = answer(state, found[0])
    return None if known is None else known is found[1]


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 40), st.lists(asked, min_size=1, max_size=8))
def test_answers(symbol: int, questions: list[Asked]) -> None:
    """No answer contradicts the number that the decisions were made for."""
    state = State()
    for one in questions:
        said = say(state, one)
        assert said is None or said is truth_of(one, symbol)
        found = question(key_of(one))
        if isinstance(found, tuple):
            state.decisions[found[0]] = truth_of(one, symbol) is found[1]
        assert not (begun(state, SYMBOL) and symbol == 0)


def decided(*questions: tuple[Asked, bool]) -> State:
    state = State()
    for one, arm in questions:
        found = question(key_of(one))
        assert isinstance(found, tuple)
        state.decisions[found[0]] = arm is found[1]
    return state


ODD: Asked = ("divides", 0, 0, 2)
LATER: Asked = ("greater", 0, 0, 2)


def test_what_follows() -> None:
    """Bounds, exclusions and remainders are taken together."""
    assert say(decided((ODD, True)), LATER) is True
    assert say(decided((LATER, False)), ODD) is False
    assert say(decided((("less", 0, 3, 2), True), (ODD, False), (LATER, True)), ("equal", 0, 2, 2)) is True
    assert say(decided((("equal", 0, 0, 2), False), (("less", 0, 2, 2), True)), ("equal", 0, 1, 2)) is True
    assert say(decided((("rest", 1, 0, 4), True)), ("rest", 1, 1, 4)) is False
    assert say(decided((("rest", 0, 0, 2), False)), ("rest", 0, 1, 2)) is True
    assert say(State(), LATER) is None
    assert say(State(), ("less", 0, 0, 2)) is False


def test_begun() -> None:
    """Only what excludes zero says that a path does not start in the first turn."""
    assert begun(decided((ODD, True)), SYMBOL)
    assert begun(decided((LATER, True)), SYMBOL)
    assert not begun(decided((ODD, False)), SYMBOL)
    assert not begun(State(), SYMBOL)
    assert not begun(State(), ("turn", 1))
