"""How statements run: blocks over several paths at once, branches, loops in two turns, contexts, exceptions.

for x in data:            turn 1 and turn 2 with different elements; what goes wrong between one turn and the next
    ...                   goes wrong between these two
"""

from __future__ import annotations

from collections.abc import Callable

from adlint import program as p
from adlint.tape import (
    calls,
    conditions,
    containers,
    definitions,
    expressions,
    functional,
    imports,
    keeping,
    library,
    raising,
    scopes,
    widening,
)
from adlint.tape.machine import A_STEP, NESTED, ROOM, LoopRun, Machine, Stopped
from adlint.tape.state import Outcome, State, Store, join
from adlint.tape.values import (
    NONE,
    Const,
    Generator,
    Key,
    Linear,
    Scope,
    Tuple,
    Unknown,
    Value,
)


def block(m: Machine, state: State, statements: tuple[p.Statement, ...]) -> list[Outcome]:
    """Run statements in order on a path; give every way it can end."""
    live, done = [Outcome(state)], []
    for statement in statements:
        newest = m.counter
        results: list[Outcome] = []
        for outcome in live:
            results += run(m, outcome.state, statement)
        done += [o for o in results if o.kind != "next"]
        live = join([o for o in results if o.kind == "next"], newest, ROOM)
        if not live:
            break
    return live + join(done, m.counter, 2 * ROOM)


def run(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
    """Run one statement."""
    m.burn()
    outer, guards = state.statement, state.guards
    state.statement = statement
    outcomes = _RUN[type(statement)](m, state, statement)
    for outcome in outcomes:
        outcome.state.statement = outer
        if not isinstance(statement, (p.Branch, p.Match)) and outcome.kind == "next":
            outcome.state.guards = guards
    return outcomes


def _simple(action: Callable[[Machine, State, p.Statement], None]) -> Callable[..., list[Outcome]]:
    def runner(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
        def step(s: State) -> Value:
            action(m, s, statement)
            return NONE

        return [o.of_statement() for o in m.explore(state, step)]

    return runner


def _assign(m: Machine, state: State, statement: p.Statement) -> None:
    assert isinstance(statement, p.Assign)
    value = expressions.evaluate(m, state, statement.value)
    keeping.assigned(m, state, statement, value)
    scopes.kept(m, state, statement, value)
    for target in statement.targets:
        expressions.store(m, state, target, value)


def _augment(m: Machine, state: State, statement: p.Statement) -> None:
    assert isinstance(statement, p.Augment)
    expressions.augment(m, state, statement)


def _evaluate(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
    assert isinstance(statement, p.Evaluate)
    return functional.evaluated(m, state, statement)


def _delete(m: Machine, state: State, statement: p.Statement) -> None:
    assert isinstance(statement, p.Delete)
    for target in statement.targets:
        expressions.remove(m, state, target)


def _import(m: Machine, state: State, statement: p.Statement) -> None:
    assert isinstance(statement, p.Import)
    for name, dotted in statement.bindings:
        if name != "*":
            state.store[(state.frame, name)] = imports.bound(m, state, dotted)
        else:
            imports.add_star(m, state, dotted)


def _scope(m: Machine, state: State, statement: p.Statement) -> None:
    assert isinstance(statement, p.Scope)
    for name in statement.names:
        state.store[("outer", state.frame, name)] = statement.kind


def _assert(m: Machine, state: State, statement: p.Statement) -> None:
    assert isinstance(statement, p.Assert)
    value = expressions.evaluate(m, state, statement.test)
    found = conditions.condition(m, state, value)
    if found is False:
        raise Stopped
    if isinstance(found, tuple) and found[0] not in state.decisions:
        state.decisions[found[0]] = found[1]


def _nothing(m: Machine, state: State, statement: p.Statement) -> None:
    pass


def _leave(kind: str) -> Callable[..., list[Outcome]]:
    def runner(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
        return [Outcome(state, kind)]

    return runner


def _return(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
    assert isinstance(statement, p.Return)
    expression = statement.value
    if expression is None:
        return [Outcome(state, "return", NONE)]
    outcomes = m.explore(state, lambda s: expressions.evaluate(m, s, expression))
    return [Outcome(o.state, "return" if o.kind == "next" else o.kind, o.value) for o in outcomes]


def _raise(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
    assert isinstance(statement, p.Raise)
    return [Outcome(state, "raise", raising.raised(m, state, statement))]


def _branch(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
    assert isinstance(statement, p.Branch)
    newest, guards = m.counter, state.guards
    tested = m.explore(state, lambda s: conditions.truth(m, s, statement.test))
    results: list[Outcome] = []
    for outcome in tested:
        if outcome.kind != "next":
            results.append(outcome)
            continue
        arm = statement.then if outcome.value == Const(True) else statement.orelse
        results += block(m, outcome.state, arm)
    return _rejoin(results, len(tested), guards, newest)


def _rejoin(results: list[Outcome], ways: int, guards: tuple[object, ...], newest: int) -> list[Outcome]:
    """Forget the guard of a branch, unless its other arms have left: then the rest of the block depends on it."""
    going = [o for o in results if o.kind == "next"]
    if len(going) == len(results) or ways == 1:
        for outcome in going:
            outcome.state.guards = guards  # type: ignore[assignment]
    return join(results, newest, ROOM)


def _match(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
    assert isinstance(statement, p.Match)
    newest, guards = m.counter, state.guards

    def pick(s: State) -> Value:
        subject = expressions.evaluate(m, s, statement.subject)
        for number, case in enumerate(statement.cases):
            for name in case.names:
                s.store[(s.frame, name)] = Unknown(("bound", number, name, subject))
            if case.irrefutable and case.guard is None:
                return Const(number)
            if m.decide(s, ("case", subject, number)) and (
                case.guard is None or conditions.truth(m, s, case.guard) == Const(True)
            ):
                return Const(number)
        return Const(-1)

    tested = m.explore(state, pick)
    results: list[Outcome] = []
    for outcome in tested:
        number = outcome.value.value if isinstance(outcome.value, Const) else -1
        if outcome.kind != "next" or number < 0:
            results.append(outcome)
        else:
            results += block(m, outcome.state, statement.cases[number].body)
    return _rejoin(results, len(tested), guards, newest)


def _loop(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
    assert isinstance(statement, p.Loop)
    turn, looping, guards = state.turn, state.looping, state.guards
    if statement.iterable is None:
        outcomes = _while(m, state, statement)
    else:
        iterable = statement.iterable
        outcomes = []
        for begun in m.explore(state, lambda s: expressions.evaluate(m, s, iterable)):
            if begun.kind != "next" or begun.value is None:
                outcomes.append(begun)
            else:
                outcomes += _for(m, begun.state, statement, begun.value)
    for outcome in outcomes:
        outcome.state.turn, outcome.state.looping = turn, looping
        if outcome.kind == "next":
            outcome.state.guards = guards
    return outcomes


def _for(m: Machine, state: State, statement: p.Loop, value: Value) -> list[Outcome]:
    target = statement.target
    assert target is not None
    thing = state.object(value)
    if isinstance(thing, Generator):
        return _from_generator(m, state, statement, value)
    plan, many = containers.turns(m, state, value, statement)
    if many:
        state.looping += 1
        _widen(m, state, statement)
    before = Store(state.store)

    def bind(number: int) -> Callable[[State], Value]:
        def action(s: State) -> Value:
            value = plan(s, number)
            run = m.loops[s.turn[-1][0]]
            run.elements.update(library.nodes_in(m, s, value, sources=False))
            parts = value.items if isinstance(value, Tuple) else (value,)
            run.counters.update(one.symbol for one in parts if isinstance(one, Linear))
            expressions.store(m, s, target, value)
            return NONE

        return action

    body, count = _body(m, statement), containers.length(m, state, value)
    containers.spent(m, state, value)
    return _turns(m, state, 2 if count is None else count, bind, body, before, statement, rounds=count is None)


def _body(m: Machine, statement: p.Loop) -> Callable[[State], list[Outcome]]:
    return lambda s: block(m, s, statement.body)


def repeat(m: Machine, state: State, body: Callable[[State], list[Outcome]]) -> list[Outcome]:
    """Run what a framework repeats, as a loop without a target runs its body."""
    state.looping += 1
    return _turns(m, state, 2, lambda number: lambda s: NONE, body, Store(state.store), None)


def _turns(
    m: Machine,
    state: State,
    count: int,
    bind: Callable[[int], Callable[[State], Value]],
    body: Callable[[State], list[Outcome]],
    before: Store,
    statement: p.Loop | None,
    rounds: bool = True,
) -> list[Outcome]:
    """Run a number of turns; with `rounds`, one more, a round later, where a counter is divided by a number."""
    outer, guards = state.turn, state.guards
    live, left, broken = [state], [], []
    mark = m.fresh()
    m.burn(len(before) // A_STEP)  # what is kept until the root ends has to be paid for
    m.loops[mark] = LoopRun(
        statement, before, state.frame, whole=not rounds and len(outer) < NESTED and count < containers.EXACT
    )
    if statement is not None:
        m.facts.loops[mark] = statement
    run = m.loops[mark]
    run.counters.update(one.symbol for _, one in _counted(m, state, statement))
    for number in range(count + 1 if len(outer) < NESTED else min(count, 1)):
        if number == count and not (rounds and run.counters & m.rounds.keys()):
            break
        newest = m.counter
        results: list[Outcome] = []
        for s in live:
            s.turn = (*outer, (mark, number))
            s.guards, s.entry = guards, len(guards)
            if number == 1:
                widening.changed(m, s, before)
            if number == count:
                _pass_round(m, s, statement)
            run.begin(number, s.store)
            for begun in m.explore(s, bind(number)):
                if begun.kind == "next":
                    begun.state.guards = guards
                    results += body(begun.state)
                else:
                    results.append(begun)
        keeping.turned(m, run, [o.state for o in results])
        left += [o for o in results if o.kind in ("return", "raise")]
        broken += [o for o in results if o.kind == "break"]
        going = [Outcome(o.state) for o in results if o.kind in ("next", "continue")]
        for outcome in going:
            outcome.state.guards = guards
        live = [o.state for o in join(going, newest, ROOM)]
        if number < 2 and _stuck(run, results):
            m.forget(mark)
            live = [s for s in live if not run.midway(s)]
        if not live:
            break
    ended = [Outcome(s) for s in live]
    if statement is not None and statement.orelse:
        ended = [o for s in live for o in block(m, s, statement.orelse)]
    done = [Outcome(o.state) for o in broken] + ended
    for outcome in done:
        outcome.state.guards = guards
    return join(done, m.counter, ROOM) + join(left, m.counter, ROOM)


def _stuck(run: LoopRun, results: list[Outcome]) -> bool:
    """Tell whether a loop never gets past a turn at its beginning: all paths that enter it there have raised."""
    at_first = [o.state.crashed for o in results if not run.midway(o.state)]
    return bool(at_first) and all(at_first)


def _while(m: Machine, state: State, statement: p.Loop) -> list[Outcome]:
    test = statement.test
    assert test is not None
    state.looping += 1
    _widen(m, state, statement)
    before = Store(state.store)

    def bind(number: int) -> Callable[[State], Value]:
        def action(s: State) -> Value:
            value = expressions.evaluate(m, s, test)
            if conditions.known(m, s, value) is False:
                raise Stopped("break")
            return NONE

        return action

    return _turns(m, state, 2, bind, _body(m, statement), before, statement)


def _widen(m: Machine, state: State, statement: p.Loop) -> None:
    """Make counters of the loop symbolic: the turn that is run stands for any turn."""
    for name in m.told_of(_counters, statement):
        key = (state.frame, name)
        held = state.store.get(key)
        if isinstance(held, Const) and type(held.value) is int:
            state.store[key] = m.symbol()
        elif isinstance(held, Const) and type(held.value) is float:
            state.store[key] = Unknown(("widened", held.value, m.fresh()))


def _pass_round(m: Machine, state: State, statement: p.Loop | None) -> None:
    """Put counters of the loop's own that are divided by a number a whole round after the first turn."""
    for key, held in _counted(m, state, statement):
        if held.symbol in m.rounds:
            state.store[key] = Linear(held.symbol, m.rounds[held.symbol])


def _counted(m: Machine, state: State, statement: p.Loop | None) -> list[tuple[Key, Linear]]:
    """Return the variables that a loop adds to and that are counters."""
    if statement is None:
        return []
    held = ((key, state.store.get(key)) for key in ((state.frame, name) for name in m.told_of(_counters, statement)))
    return [(key, value) for key, value in held if isinstance(value, Linear)]


def _counters(statement: p.Loop) -> tuple[str, ...]:
    """Return the names that a loop adds to."""
    found = (part.target for part in p.walk(statement) if isinstance(part, p.Augment))
    return tuple(dict.fromkeys(target.id for target in found if isinstance(target, p.Name)))


def _from_generator(m: Machine, state: State, statement: p.Loop, value: Value) -> list[Outcome]:
    """Run the generator and, at each of its yields, the body of the loop: what it holds while suspended is in force."""
    target = statement.target
    assert target is not None
    outer, frame, callers, functions = state.turn, state.frame, state.calls, state.functions
    left: list[Outcome] = []
    before = dict(state.store)

    def on_yield(s: State, element: Value) -> Value:
        inner = (s.frame, s.calls, s.functions, s.statement)
        s.frame, s.calls, s.functions = frame, callers, functions
        s.looping += 1
        if len(s.turn) > len(outer):
            mark, number = s.turn[len(outer)]
            if m.loops[mark].statement is not statement:
                m.loops[mark] = LoopRun(statement, before, frame)
            m.loops[mark].elements.update(library.nodes_in(m, s, element, sources=False))
            m.loops[mark].begin(number, s.store)

        def body() -> list[Outcome]:
            results = []
            base = s.fork()

            def bind(t: State) -> Value:
                expressions.store(m, t, target, element)
                return NONE

            for begun in m.explore(base, bind):
                results += block(m, begun.state, statement.body) if begun.kind == "next" else [begun]
            return results

        outcome = m.branch(lambda: body() or [Outcome(s.fork(), "raise")])
        s.become(outcome.state.fork())
        if outcome.kind in ("next", "continue"):
            s.frame, s.calls, s.functions, s.statement = inner
            s.looping -= 1
            return NONE
        left.append(Outcome(s.fork(), "next" if outcome.kind == "break" else outcome.kind, outcome.value))
        raise Stopped("abandoned")

    def action(s: State) -> Value:
        calls.resume(m, s, value, on_yield, statement)
        return NONE

    outcomes = [o for o in m.explore(state, action) if o.kind != "abandoned"]
    for outcome in outcomes + left:
        outcome.state.turn, outcome.state.frame = outer, frame
        outcome.state.calls, outcome.state.functions = callers, functions
    return join(outcomes + left, m.counter, ROOM)


def _with(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
    assert isinstance(statement, p.With)
    return _enter(m, state, statement, statement.items)


def _enter(m: Machine, state: State, statement: p.With, items: tuple[p.ContextItem, ...]) -> list[Outcome]:
    if not items:
        return block(m, state, statement.body)
    item, rest = items[0], items[1:]
    recording, opened, muted, around = state.recording, state.scope, state.muted, False
    results: list[Outcome] = []
    for begun in m.explore(state, lambda s: expressions.evaluate(m, s, item.context)):
        if begun.kind != "next" or begun.value is None:
            results.append(begun)
            continue
        s, value = begun.state, begun.value
        s.guards = state.guards
        value = scopes.uncalled(m, s, value, item)
        thing = s.object(value)
        if isinstance(thing, Generator):
            results += _managed(m, s, statement, item, rest, value)
            continue
        if isinstance(value, Scope):
            value = scopes.placed(value, item)
            s.recording, s.scope = recording, opened
            scopes.defining(m, s, value, item, statement)
            calls.enter_scope(s, value)
            around = scopes.suppresses(m, value) and not rest and scopes.passes_on(m, statement.body)
        elif not calls.is_neutral(m, s, value) and s.recording == "on":
            s.recording = None
        bound = calls.entered(m, s, value, item)
        for o in m.explore(s, lambda t, b=bound: _bind(m, t, item, b)):  # type: ignore[misc]
            results += _enter(m, o.state, statement, rest) if o.kind == "next" else [o]
    for outcome in results:
        outcome.state.recording, outcome.state.scope, outcome.state.muted = recording, opened, muted
        if around and outcome.kind == "next" and recording == "on":
            scopes.passed_on(m, outcome.state, item, statement.body)
    return results


def _bind(m: Machine, state: State, item: p.ContextItem, value: Value) -> Value:
    if item.target is not None:
        expressions.store(m, state, item.target, value)
    return NONE


def _managed(
    m: Machine, state: State, statement: p.With, item: p.ContextItem, rest: tuple[p.ContextItem, ...], value: Value
) -> list[Outcome]:
    """Run a context manager of the program's own: its generator, with the body of the `with` at its yield."""
    frame, callers, functions = state.frame, state.calls, state.functions

    def on_yield(s: State, element: Value) -> Value:
        inner = (s.frame, s.calls, s.functions, s.statement)
        s.frame, s.calls, s.functions = frame, callers, functions

        def body() -> list[Outcome]:
            results = []
            for o in m.explore(s.fork(), lambda t: _bind(m, t, item, element)):
                results += _enter(m, o.state, statement, rest) if o.kind == "next" else [o]
            return results

        outcome = m.branch(lambda: body() or [Outcome(s.fork(), "raise")])
        s.become(outcome.state.fork())
        s.frame, s.calls, s.functions, s.statement = inner
        s.store[("ended", frame)] = outcome
        return NONE

    def action(s: State) -> Value:
        calls.resume(m, s, value, on_yield, statement)
        return NONE

    results = []
    for o in m.explore(state, action):
        outcome = o.state.store.pop(("ended", frame), None)
        o.state.frame, o.state.calls, o.state.functions = frame, callers, functions
        if o.kind == "next" and isinstance(outcome, Outcome):
            results.append(Outcome(o.state, outcome.kind, outcome.value))
        else:
            results.append(o)
    return results


def _try(m: Machine, state: State, statement: p.Statement) -> list[Outcome]:
    assert isinstance(statement, p.Try)
    before, around = state.fork(), state.awaited
    caught = [raising.caught(m, state, handler) for handler in statement.handlers]
    state.awaited = (*around, *(one for own in caught for one in own or ()))
    outcomes = block(m, state, statement.body)
    results: list[Outcome] = []
    raised = [o for o in outcomes if o.kind == "raise"]
    for outcome in outcomes:
        outcome.state.awaited = around
        if outcome.kind == "next" and statement.orelse:
            results += block(m, outcome.state, statement.orelse)
        elif outcome.kind != "raise":
            results.append(outcome)
    for handler, own in zip(statement.handlers, caught, strict=True):
        met = [o for o in raised if raising.reaches(o, own)]
        sure = [o for o in met if own is not None and o.value is not None]
        raised = [o for o in raised if not any(o is one for one in sure)]
        # what raises an exception of the program's own is seen
        for start in [*([] if sure else [before.fork()]), *[o.state.fork() for o in met]]:
            if not sure:
                key = ("raised", m.counter)
                start.decisions[key] = True
                start.guards = (*start.guards, (key, True))
            if handler.name:
                start.store[(start.frame, handler.name)] = Unknown(("exception", m.counter))
            results += block(m, start, handler.body)
    results += [o for o in raised if not any(raising.reaches(o, own) for own in caught)]
    if statement.final:
        finished: list[Outcome] = []
        for outcome in results:
            for last in block(m, outcome.state, statement.final):
                if last.kind == "next":
                    finished.append(Outcome(last.state, outcome.kind, outcome.value))
                else:
                    finished.append(last)
        results = finished
    return results


_RUN: dict[type, Callable[..., list[Outcome]]] = {
    p.Assign: _simple(_assign),
    p.Augment: _simple(_augment),
    p.Evaluate: _evaluate,
    p.Delete: _simple(_delete),
    p.Import: _simple(_import),
    p.Scope: _simple(_scope),
    p.Assert: _simple(_assert),
    p.Pass: _simple(_nothing),
    p.Declare: _simple(_nothing),
    p.Function: _simple(definitions.function),
    p.Class: definitions.cls,
    p.Return: _return,
    p.Raise: _raise,
    p.Break: _leave("break"),
    p.Continue: _leave("continue"),
    p.Branch: _branch,
    p.Match: _match,
    p.Loop: _loop,
    p.With: _with,
    p.Try: _try,
}
