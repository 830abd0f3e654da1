"""The machine that a program runs on: identities, nodes, facts, and the exploration of paths.

Evaluation is written in direct style on one state. Where it has to go several ways it asks `Machine.branch`, and
`explore` runs the piece again for every other way; what was allocated or computed before the fork is replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from adlint import program as p
from adlint.profiles import Profile
from adlint.tape import counting
from adlint.tape.abroad import A_CALL, Abroad
from adlint.tape.facts import Event, Fact, Facts
from adlint.tape.graph import Node
from adlint.tape.ledger import Ledger
from adlint.tape.log import Happening
from adlint.tape.resolver import Abandoned
from adlint.tape.state import Outcome, State, Store
from adlint.tape.values import Closure, Key, Linear, Object, Ref, Unknown, Value

N = TypeVar("N", bound=p.Node)
T = TypeVar("T")

FUEL, IN_FILE = 40_000, 2_000_000
A_NODE = 4
A_STEP = 100
"""How many entries of a store, kept for later, cost a step."""
ROOM = 4
WAYS = 24
DEPTH = 24
NESTED = 6


class Exhausted(Exception):
    """The budget of a root is used up."""


class Stopped(Exception):
    """The path ends inside an expression: `kind` is raise or break, and `value` is as in an Outcome."""

    def __init__(self, kind: str = "raise", value: Value | None = None) -> None:
        super().__init__(kind)
        self.kind, self.value = kind, value


@dataclass(slots=True)
class Choice:
    options: list[Any]
    index: int


@dataclass(frozen=True, slots=True)
class Pile:
    """A kept node that two passes walk to add their gradients up; `running` if the second loss holds the first."""

    node: int
    running: bool


@dataclass(frozen=True, slots=True)
class Stepping:
    """A step in a loop: the leaves it is for, and those whose slots held nothing."""

    event: Event
    owned: frozenset[int]
    idle: frozenset[int]


@dataclass(frozen=True, slots=True)
class Entry:
    """A forward that the program itself asks for: what the network owns, what it was handed, what it gave; `shared`
    if the same place serves another backward too."""

    site: p.Node
    calls: tuple[p.Node, ...]
    leaves: frozenset[int]
    handed: tuple[tuple[int | str, tuple[int, ...]], ...]
    results: frozenset[int]
    shared: bool = False


@dataclass(slots=True)
class LoopRun:
    """One run of a loop, None for one that a framework makes: what was there when it began and when a later turn began,
    what it loops over, the symbols of its counters, and values that may be kept from turn to turn. `whole`: all of its
    turns are run, none stands for others."""

    statement: p.Loop | None
    start: dict[Any, Any]
    frame: int
    heads: dict[int, list[Store]] = field(default_factory=dict)
    elements: set[int] = field(default_factory=set)
    counters: set[Key] = field(default_factory=set)
    keeps: set[int] = field(default_factory=set)
    whole: bool = False

    def begin(self, number: int, store: Store) -> None:
        """Remember what is there when a turn begins."""
        if number:
            self.heads.setdefault(number, []).append(Store(store))

    def midway(self, state: State) -> bool:
        """Tell whether a path enters the loop after its first turn."""
        return any(counting.begun(state, symbol) for symbol in self.counters)


@dataclass(slots=True)
class Machine:
    """What is shared by all paths of a program."""

    program: p.Program
    profile: Profile
    facts: Facts = field(default_factory=Facts)
    nodes: dict[int, Node] = field(default_factory=dict)
    fuel: int = FUEL
    granted: int = FUEL
    spent: int = 0
    counter: int = 1
    trail: list[Any] = field(default_factory=list)
    position: int = 0
    entered: set[p.Node] = field(default_factory=set)
    walked: set[int] = field(default_factory=set)
    escaped: set[int] = field(default_factory=set)
    wraps: set[int] = field(default_factory=set)
    """Results of unknown calls that were handed a network or optimizer, and may give it back in another coat."""
    recorded: dict[int, tuple[Event, frozenset[int]]] = field(default_factory=dict)
    forwards: list[tuple[p.Node, frozenset[int]]] = field(default_factory=list)
    runs: dict[int, Any] = field(default_factory=dict)
    plain_runs: set[p.Node] = field(default_factory=set)
    trials: dict[int, Any] = field(default_factory=dict)
    taint: dict[Any, frozenset[int]] = field(default_factory=dict)
    fed: frozenset[int] = frozenset()
    moded: set[Key] = field(default_factory=set)
    modal: dict[p.Node, bool] = field(default_factory=dict)
    undone: dict[p.Node, int] = field(default_factory=dict)
    resumed: set[p.Node] = field(default_factory=set)
    owners: list[frozenset[int]] = field(default_factory=list)
    joint: set[frozenset[int]] = field(default_factory=set)
    training_turns: set[tuple[int, ...]] = field(default_factory=set)
    holds: bool = False
    outside: dict[int, tuple[Event, Event, frozenset[int]]] = field(default_factory=dict)
    evidence: set[Key] = field(default_factory=set)
    clears_seen: set[Key] = field(default_factory=set)
    owned: set[int] = field(default_factory=set)
    opaque_owner: bool = False
    training_loops: set[int] = field(default_factory=set)
    reads: set[int] = field(default_factory=set)
    passed: set[tuple[str, p.Node, p.Node, int | None]] = field(default_factory=set)
    noted: dict[tuple[Any, ...], Fact] = field(default_factory=dict)
    leaves_of: dict[Key, int] = field(default_factory=dict)
    values_of: dict[Key, int] = field(default_factory=dict)
    yielding: list[Callable[[State, Value], Value]] = field(default_factory=list)
    told: dict[tuple[Callable[[Any], Any], p.Node], Any] = field(default_factory=dict)
    alive: set[tuple[Any, ...]] = field(default_factory=set)
    pending: list[tuple[Event, frozenset[int]]] = field(default_factory=list)
    renewed: set[tuple[Any, ...]] = field(default_factory=set)
    indexed: set[int] = field(default_factory=set)
    detached: set[int] = field(default_factory=set)
    """The nodes whose values went on without their graph, or may have, in code that nobody can see."""
    brought: dict[p.Argument, frozenset[int]] = field(default_factory=dict)
    rewalked: set[int] = field(default_factory=set)
    carriers: dict[int, p.Node] = field(default_factory=dict)
    lasting: set[int] = field(default_factory=set)
    """Values that are there at the end of a turn of the loop that may keep them."""
    terms: dict[int, tuple[Event, Node]] = field(default_factory=dict)
    sound: set[p.Node] = field(default_factory=set)
    unconditional: set[int] = field(default_factory=set)
    batches: set[Key] = field(default_factory=set)
    readings: dict[Key, tuple[tuple[int, ...], p.Node]] = field(default_factory=dict)
    complete: bool = True
    unfinished: bool = False
    began: int = 0
    steppings: dict[Any, Stepping] = field(default_factory=dict)
    handed: set[int] = field(default_factory=set)
    hooked: bool = False
    aliens: bool = False
    kept: dict[Event, frozenset[int]] = field(default_factory=dict)
    keeping: set[p.Node] = field(default_factory=set)
    passing: set[p.Node] = field(default_factory=set)
    uses: dict[p.Node, set[str]] = field(default_factory=dict)
    piles: dict[tuple[Event, Event], Pile] = field(default_factory=dict)
    twins: dict[int, tuple[int, ...]] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)
    changes: int = 0
    sizes: dict[int, Any] = field(default_factory=dict)
    built: dict[int, Any] = field(default_factory=dict)
    guessed: set[int] = field(default_factory=set)
    loops: dict[int, LoopRun] = field(default_factory=dict)
    rounds: dict[Key, int] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    stored: dict[int, set[p.Node]] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    scaled: dict[int, Key] = field(default_factory=dict)
    means: set[int] = field(default_factory=set)
    abroad: Abroad = field(default_factory=Abroad)
    logged: bool = False
    """Whether paths keep a log of what happens on them."""

    def fresh(self) -> int:
        """Return a new identity, the same one when a path is replayed."""
        if self.position < len(self.trail):
            identity: int = self.trail[self.position]
        else:
            identity = self.counter
            self.counter += 1
            self.trail.append(identity)
        self.position += 1
        return identity

    def branch(self, compute: Callable[[], list[Any]]) -> Any:
        """Return one of the options that `compute` gives; `explore` comes back for the others."""
        if self.position < len(self.trail):
            choice = self.trail[self.position]
        else:
            trail, position = self.trail, self.position
            self.trail, self.position = [], 0
            try:
                options = compute()
            finally:
                self.trail, self.position = trail, position
            choice = Choice(options, 0)
            self.trail.append(choice)
        self.position += 1
        return choice.options[choice.index]

    def explore(self, state: State, action: Callable[[State], Value]) -> list[Outcome]:
        """Run `action` on copies of a state, once for every combination of ways."""
        if self.abroad.resolver.abandoned():
            raise Abandoned
        outer, position = self.trail, self.position
        outcomes: list[Outcome] = []
        pending: list[list[Any]] = [[]]
        try:
            while pending:
                prefix = pending.pop()
                self.trail, self.position = list(prefix), 0
                current = state.fork()
                try:
                    outcomes.append(Outcome(current, "next", action(current)))
                except Stopped as stop:
                    outcomes.append(Outcome(current, stop.kind, stop.value))
                if len(outcomes) >= WAYS:
                    for outcome in outcomes:
                        outcome.state.partial = True
                    break
                for place in range(len(self.trail) - 1, len(prefix) - 1, -1):
                    entry = self.trail[place]
                    if isinstance(entry, Choice):
                        for index in range(len(entry.options) - 1, 0, -1):
                            pending.append([*self.trail[:place], Choice(entry.options, index)])
        finally:
            self.trail, self.position = outer, position
        return outcomes

    def refuel(self) -> None:
        """Begin a root."""
        self.spent += self.granted - max(self.fuel, 0)
        self.granted = self.fuel = min(FUEL, IN_FILE - self.spent)
        self.complete = True
        self.abroad.begin()

    def travel(self, node: p.Node, compute: Callable[[], list[Any]]) -> list[Any]:
        """Compute options in another file, on its own budget; the only one is None where that does not suffice."""
        if self.abroad.inside:
            return compute()
        if not self.abroad.admits(node):
            return [None]
        fuel, given = self.fuel, min(self.abroad.left, A_CALL)
        self.fuel, self.abroad.inside = given, True
        try:
            return compute()
        except Exhausted:
            self.abroad.lost.add(node)
            return [None]
        finally:
            used = given - max(self.fuel, 0)
            self.abroad.costs[node] = max(used, self.abroad.costs.get(node, 0))
            self.abroad.left -= used
            self.abroad.total -= used
            self.fuel, self.abroad.inside = fuel, False

    def burn(self, units: int = 1) -> None:
        """Use up units of the budget."""
        self.fuel -= units
        if self.fuel <= 0:
            raise Exhausted

    def allocate(self, state: State, thing: Object) -> Ref:
        """Put an object on the heap."""
        reference = Ref(self.fresh())
        state.store[reference.id] = thing
        return reference

    def unknown(self, label: str = "fresh") -> Unknown:
        return Unknown((label, self.fresh()))

    def symbol(self, kind: str = "turn") -> Linear:
        """Return a new counter; one of kind count is never negative."""
        return Linear((kind, self.fresh()), 0)

    def node(
        self,
        state: State,
        kind: str,
        operation: str,
        parents: tuple[int, ...],
        saves: bool | None,
        site: p.Node | None,
        requires_grad: bool | None = None,
        callee: Key = None,
        cut: str = "",
        behind: tuple[int, ...] = (),
        hidden: bool = False,
        joint: bool = False,
    ) -> int:
        """Make a node; its requires_grad follows from the parents unless it is a leaf, a call or a cut."""
        self.burn(A_NODE)
        identity = self.fresh()
        scope: p.Node | None = None
        if kind in ("operation", "part", "call"):
            tracked = tuple(dict.fromkeys(n for n in parents if self.tracks(state, n)))
            if self.taint and (origins := frozenset(o for n in parents for o in self._origins(n))):
                self.taint[identity] = origins
            if state.recording in ("off", "inference"):
                kind, parents, requires_grad, behind = "cut", (), False, parents
                cut, scope = str(state.recording), state.scope
            else:
                behind = tuple(n for n in dict.fromkeys(parents) if n not in tracked)
                parents = tracked
                sure = state.recording == "on" or not self.profile.dormant
                if kind != "call" and sure and any(self.nodes[n].requires_grad is True for n in tracked):
                    requires_grad = True
                elif kind != "call" and not tracked:
                    kind, requires_grad, cut = "cut", False, "derived"
        if cut and not state.guards:
            self.unconditional.add(identity)
        self.nodes[identity] = Node(
            identity,
            kind,
            operation,
            parents,
            saves,
            requires_grad,
            site,
            state.turn,
            callee,
            cut,
            behind,
            hidden,
            scope,
            joint,
        )
        if self.logged:
            self.log(state, "made", site, (identity,))
        return identity

    def _origins(self, node: int) -> frozenset[int]:
        """Return the unrecorded forwards that a node's value comes from, a part of an unknown one from all of it."""
        found = self.taint.get(node, frozenset[int]())
        pending = [self.nodes[node].callee] if self.nodes[node].kind == "source" else []
        while pending:
            key = pending.pop()
            found |= self.taint.get(Unknown(key), frozenset())
            pending += [part for part in key if isinstance(part, tuple)] if isinstance(key, tuple) else []
        return found

    def tracks(self, state: State, node: int) -> bool:
        """Tell whether a gradient may flow into a node on this path."""
        record = self.nodes[node]
        if record.kind == "leaf":
            return not state.frozen(node)
        return record.requires_grad is not False

    def event(self, state: State, kind: str, site: p.Node, subject: p.Node | None = None, **more: Any) -> Event:
        return Event(kind, site, state.calls, frozenset(state.guards), subject, state.turn, path=state.log, **more)

    def log(
        self, state: State, kind: str, site: p.Node | None, nodes: tuple[int, ...] = (), was: str = "", now: str = ""
    ) -> None:
        """Add to the log of a path, if one is kept; what is only tried out is no part of it."""
        if self.logged and not state.muted:
            last = state.log
            number = 0 if last is None else last.number + 1
            here, scope = state.recording, state.scope
            state.log = Happening(
                kind, site, nodes, was, now, state.turn, state.calls, here, scope, self.nodes, number, last
            )

    def note(self, state: State, fact: Fact) -> None:
        """Keep a fact, the definite one where it is noted on several paths."""
        if state.muted or (state.crashed and fact.kind not in ("recorded-in-eval", "leaf-updated")):
            return
        first = fact.causes[0].site if fact.causes else fact.event.calls
        key = (fact.kind, fact.event.site, first, fact.details[:1])
        held = self.noted.get(key)
        midway = frozenset(mark for mark, _ in state.turn if mark in self.loops and self.loops[mark].midway(state))
        if held is None or (fact.definite and not held.definite):
            self.noted[key] = replace(fact, midway=midway, path=state.log)
        elif fact.definite is held.definite and not midway >= held.midway:
            self.noted[key] = replace(held, midway=held.midway & midway)

    def forget(self, mark: int) -> None:
        """Take back what was noted on paths that enter a loop after its first turn: nothing gets that far."""
        self.noted = {key: fact for key, fact in self.noted.items() if mark not in fact.midway}

    def decide(self, state: State, key: Key) -> bool:
        """Take a way on an undecided condition; the same condition goes the same way for the rest of the path."""
        known = counting.answer(state, key)
        if known is None:
            known = bool(self.branch(lambda: [True, False]))
        state.decisions[key] = known
        state.guards = (*state.guards, (key, known))
        return known

    def told_of(self, question: Callable[[N], T], node: N) -> T:
        """Answer a question about a piece of program, asking once."""
        if (question, node) not in self.told:
            self.told[question, node] = question(node)
        answer: T = self.told[question, node]
        return answer


def in_depth(state: State, closure: Closure) -> bool:
    """Tell whether a call may still be entered: bounded depth, recursion cut at the second turn."""
    return len(state.functions) < DEPTH and state.functions.count(closure.node) < 2
