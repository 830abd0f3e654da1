"""Comprehensions: their clauses run in a frame of their own, each in at most a few turns."""

from __future__ import annotations

from adlint import program as p
from adlint.tape import calls, conditions, containers, expressions, keeping, scopes, widening
from adlint.tape.machine import Machine
from adlint.tape.state import State, Store
from adlint.tape.values import NONE, Generator, Leaves, Sequence, Table, Value


def comprehend(m: Machine, state: State, e: p.Comprehension) -> Value:
    """Evaluate a comprehension in a frame of its own, each clause in at most a few turns."""
    frame = m.fresh()
    outer, turn, looping, guards = state.frame, state.turn, state.looping, state.guards
    since = state.store.journal[0]
    entry, state.entry = state.entry, -1 if any(clause.tests for clause in e.clauses) else len(guards)
    state.store[("parent", frame)] = outer
    results: list[tuple[Value, Value]] = []
    more = _clauses(m, state, e, 0, frame, outer, results)
    state.frame, state.turn, state.looping, state.guards = outer, turn, looping, guards
    state.entry = entry
    if not m.told_of(_holds_lambda, e):
        state.store.forget(frame, since)
    if e.kind == "dict":
        return m.allocate(state, Table(tuple(results), more))
    values = tuple(v for _, v in results)
    if values and all(isinstance(v, Leaves) for v in values):
        return Leaves(frozenset().union(*(v.leaves for v in values if isinstance(v, Leaves))))
    made = m.allocate(state, Sequence("list" if e.kind == "list" else e.kind, values, more))
    if e.kind == "generator":
        scopes.lazily(m, state, made, e)
    return made


def _holds_lambda(e: p.Comprehension) -> bool:
    """Tell whether a comprehension makes functions that outlive it."""
    return any(isinstance(part, p.Lambda) for part in p.walk(e))


def _clauses(
    m: Machine,
    state: State,
    e: p.Comprehension,
    depth: int,
    frame: int,
    outer: int,
    results: list[tuple[Value, Value]],
) -> bool:
    if depth == len(e.clauses):
        key = NONE if e.key is None else expressions.evaluate(m, state, e.key)
        value = expressions.evaluate(m, state, e.element)
        if e.kind != "generator":
            keeping.added(m, state, [v for _, v in results], value, e.element, e.element)
        results.append((key, value))
        return False
    clause = e.clauses[depth]
    state.frame = outer if depth == 0 else frame
    value = expressions.evaluate(m, state, clause.iterable)
    state.frame = frame
    more = False

    def turn(s: State, item: Value) -> Value:
        nonlocal more
        inner, s.frame = s.frame, frame
        expressions.store(m, s, clause.target, item)
        for test in clause.tests:
            found = conditions.condition(m, s, expressions.evaluate(m, s, test))
            if found is False:
                s.frame = inner
                return NONE
            if found is not True:
                more = True
        more = _clauses(m, s, e, depth + 1, frame, outer, results) or more
        s.frame = inner
        return NONE

    if isinstance(state.object(value), Generator):
        state.looping += 1
        calls.resume(m, state, value, turn, e)
        state.looping -= 1
        return True
    plan, many = containers.turns(m, state, value, e)
    count = containers.length(m, state, value)
    containers.spent(m, state, value)
    before, looping, mark = state.turn, state.looping, m.fresh()
    start = Store(state.store)
    if many:
        state.looping += 1
    for number in range(2 if count is None else count):
        m.burn()
        state.turn = (*before, (mark, number))
        if number == 1:
            widening.changed(m, state, start)
        turn(state, plan(state, number))
    state.turn, state.looping = before, looping
    return more or count is None
