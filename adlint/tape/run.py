"""Runs a program: the module as a script, then what nothing in it has called, and sums up what the tape saw."""

from __future__ import annotations

from collections.abc import Iterable

from adlint import program as p
from adlint.profiles import Profile
from adlint.tape import (
    attributes,
    calls,
    dropped,
    hooks,
    keeping,
    leaves,
    library,
    modes,
    retention,
    scopes,
    statements,
    verdicts,
)
from adlint.tape.abroad import Abroad
from adlint.tape.facts import Event, Fact, Facts
from adlint.tape.graph import ancestors
from adlint.tape.machine import Exhausted, Machine, Stopped
from adlint.tape.resolver import NOTHING, Resolver
from adlint.tape.state import Outcome, State
from adlint.tape.values import Class, Closure, Ref, Value


def run(
    program: p.Program, profile: Profile, resolver: Resolver = NOTHING, focus: str = "", *, logged: bool = False
) -> Facts:
    """Return the facts of a program under a framework; imports lead where the resolver says.

    With a `focus`, it is the facts in that other file that matter. If `logged`, they come with what led to them.
    """
    m = Machine(program, profile, abroad=Abroad(resolver, focus=focus), logged=logged)
    here = resolver.identity(program.filename)
    m.abroad.frames[here], m.abroad.paths[0] = 0, here
    state = _module(m)
    m.began = m.counter
    for function in _uncalled(m, state):
        _root(m, state, function)
    retention.conclude(m)
    dropped.conclude(m)
    m.facts.found = [*verdicts.settled(m, m.noted.values()), *verdicts.unapplied(m)]
    m.facts.others = tuple(m.abroad.programs)
    return m.facts


def _module(m: Machine) -> State:
    state = State(base=m.abroad.base, recording="off" if m.profile.dormant else "on")
    m.counter = 1
    try:
        outcomes = statements.block(m, state.fork(), m.program.body)
        ended = [o.state for o in outcomes if o.kind == "next"]
    except Exhausted:
        m.complete = False
        m.ledger.blind = True
        outcomes, ended = [], []
    retention.left(m, outcomes)
    _close(m, "")
    _dropped(m, ended)
    _ended(m, outcomes)
    if ended:
        return ended[0]
    m.refuel()
    definitions = tuple(s for s in m.program.body if isinstance(s, (p.Import, p.Function, p.Class, p.Assign)))
    try:
        return statements.block(m, state.fork(), definitions)[0].state
    except (Exhausted, IndexError):
        return state


def _uncalled(m: Machine, state: State) -> list[Value]:
    """Return the functions and classes of the module that nothing entered, those that nobody names first."""
    named: dict[str, int] = {}
    for part in p.walk_all(m.program.body):
        if isinstance(part, p.Name):
            named[part.id] = named.get(part.id, 0) + 1
        elif isinstance(part, p.Attribute):
            named[part.attr] = named.get(part.attr, 0) + 1
    m.named = named
    found: list[tuple[int, Value]] = []
    for statement in m.program.body:
        if isinstance(statement, (p.Function, p.Class)):
            value = state.store.get((0, statement.name))
            if isinstance(value, (Closure, Ref)):
                found.append((named.get(statement.name, 0), value))
    return [value for _, value in sorted(found, key=lambda pair: pair[0] > 0)]


def _root(m: Machine, state: State, value: Value) -> None:
    if isinstance(value, Closure) and isinstance(value.node, p.Function):
        if value.node not in m.entered:
            _call(m, state.fork(), value, value.node)
        return
    thing = state.object(value)
    if not isinstance(thing, Class) or not isinstance(value, Ref):
        return
    members: dict[str, Value] = {}
    for cls in attributes.lineage(state, value):
        members = {**cls.attributes, **members}
    methods = [v for v in members.values() if isinstance(v, Closure)]
    pending = [v for v in methods if v.node not in m.entered and isinstance(v.node, p.Function)]
    if not pending:
        return
    m.refuel()
    if _left_out(m, [v.node for v in pending]):
        return
    made = _construct(m, state.fork(), value, thing)
    if made is None:
        return
    base, instance = made
    if isinstance(instance, Ref):
        _repeat(m, base.fork(), instance)
    pending.sort(key=lambda v: m.named.get(v.node.name, 0) > 0 if isinstance(v.node, p.Function) else True)
    for method in pending:
        if method.node in m.entered or method.kind not in ("function", "classmethod", "static"):
            continue
        if isinstance(method.node, p.Function) and method.node.name != "__init__":
            receiver = {"function": instance, "classmethod": value}.get(method.kind)
            _call(m, base.fork(), method, method.node, receiver, thing)


def _construct(m: Machine, state: State, cls: Ref, thing: Class) -> tuple[State, Value] | None:
    try:
        outcomes = m.explore(state, lambda s: calls.instantiate(m, s, cls, calls.Arguments((), (), True), thing.node))
    except Exhausted:
        return None
    for outcome in outcomes:
        if outcome.kind == "next" and outcome.value is not None:
            outcome.state.guards = ()
            return outcome.state, outcome.value
    return None


def _repeat(m: Machine, state: State, instance: Ref) -> None:
    """Run the hooks of an instance that its framework repeats for every batch."""
    repeated = hooks.repeated(m, state, instance)
    if not repeated:
        return
    m.refuel()
    try:
        for outcome in hooks.run(m, state, instance, repeated):
            library.escape(m, outcome.state, [instance])
    except (Exhausted, Stopped):
        m.complete = False
    _close(m, "")


def _call(
    m: Machine,
    state: State,
    function: Closure,
    node: p.Function,
    receiver: Value | None = None,
    owner: Class | None = None,
) -> None:
    """Run a function that nobody in the program calls, with arguments of which nothing is known."""
    m.refuel()
    if _left_out(m, [node]):
        return
    name, start = node.name, m.counter
    if m.profile.dormant:
        state.recording = None
    if owner is not None and isinstance(receiver, Ref):
        bases = [m.profile.base(b) for b in attributes.library_bases(state, receiver_class(state, receiver))]
        if any(b is not None and b.runs_without_recording(name) for b in bases):
            state.recording = "off"
    positional = () if receiver is None else (receiver,)
    try:
        outcomes = m.explore(state, lambda s: calls.call(m, s, function, calls.Arguments(positional, (), True), node))
    except (Exhausted, Stopped) as error:
        m.complete = False
        m.ledger.blind = m.ledger.blind or isinstance(error, Exhausted)
        outcomes = []
    retention.left(m, outcomes)
    _dropped(m, [o.state for o in outcomes])
    _ended(m, outcomes)
    for outcome in outcomes:
        retention.outlives(m, outcome.state, start, receiver)
        if outcome.value is not None:
            if isinstance(receiver, Ref):
                outcome = hooks.returned(m, outcome, receiver, function)
            assert outcome.value is not None
            for one in leaves.absent(outcome.state, outcome.value):
                leaves.used(m, outcome.state, one, fails=False)
            library.escape(m, outcome.state, [outcome.value])
        if receiver is not None:
            library.escape(m, outcome.state, [receiver])
    _close(m, name, named=m.named.get(name, 0) > 0)


def _left_out(m: Machine, nodes: Iterable[p.Node]) -> bool:
    """Whether the file's budget is used up; functions that are not run may do what others seem to miss."""
    if m.fuel > 0:
        return False
    m.ledger.blind = True
    m.facts.left_out += [node for node in nodes if isinstance(node, p.Function)]
    return True


def _dropped(m: Machine, states: list[State]) -> None:
    """Remember that paths were dropped, on which a step may have been taken."""
    m.ledger.blind = m.ledger.blind or any(state.partial for state in states)


def _ended(m: Machine, outcomes: Iterable[Outcome]) -> None:
    m.facts.ends += [o.state.log for o in outcomes if o.state.log is not None]


def receiver_class(state: State, receiver: Ref) -> Ref:
    """Return the class of an instance."""
    thing = state.object(receiver)
    cls = getattr(thing, "cls", receiver)
    return cls if isinstance(cls, Ref) else receiver


def _grown(m: Machine, event: Event, nodes: frozenset[int]) -> bool:
    """Tell whether a forward in a loop that does not train is of a network that is trained elsewhere."""
    return event.turn[-1][0] not in m.training_loops and not nodes & m.walked and bool(event.object & m.walked)


def _close(m: Machine, uncalled: str, named: bool = False) -> None:
    """Note what only the end of a root can tell: forwards in evaluation that nothing backpropagated."""
    backpropagated = {site for site, nodes in m.forwards if nodes & m.walked}
    escaped = m.escaped | {n for one in m.escaped if one in m.nodes for n in ancestors(m.nodes, one).nodes}
    if m.complete and not named:
        for event, nodes in m.recorded.values():
            if nodes & escaped:
                continue
            bystander = bool(m.owned) and not (m.opaque_owner or event.object & (m.owned | m.reads))
            if not nodes & m.walked and any(m.nodes[one].callee is not None for one in event.object):
                bystander = False
            if m.profile.grows and not _grown(m, event, nodes):
                continue
            evaluating = any(mark not in m.training_loops for mark, _ in event.turn)
            if not bystander and (nodes & m.walked or not evaluating):
                continue
            mixed = event.site in backpropagated and not nodes & m.walked
            details = (("mixed", mixed), ("walked", bool(nodes & m.walked)), ("uncalled", uncalled))
            m.note(State(), Fact("recorded-in-eval", event, (), True, details=details))
        scopes.close(m, escaped, backpropagated)
        keeping.close(m, escaped)
        modes.close(m, escaped)
    m.recorded, m.outside, m.trials = {}, {}, {}
    m.loops, m.entries, m.stored = {}, [], {}
