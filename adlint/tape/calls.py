"""What a call does: functions, classes and generators of the program are entered; the rest goes to the profile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from adlint import program as p
from adlint.tape import (
    attributes,
    builtins,
    containers,
    expressions,
    framework,
    imports,
    keeping,
    library,
    methods,
    modes,
    raising,
    scopes,
    statements,
    tapes,
    unseen,
    updates,
)
from adlint.tape.abroad import WAYS
from adlint.tape.machine import Machine, Stopped, in_depth
from adlint.tape.state import Outcome, State, join
from adlint.tape.values import (
    NONE,
    Bound,
    Builtin,
    Class,
    Closure,
    Const,
    Generator,
    Instance,
    Library,
    Method,
    Module,
    Optimizer,
    Partial,
    Ref,
    Scope,
    Sequence,
    Super,
    Table,
    Tuple,
    Unknown,
    Value,
)


@dataclass(frozen=True, slots=True)
class Arguments:
    """Evaluated arguments; `open` where a star argument of unknown length was among them."""

    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    open: bool = False

    def get(self, position: int | None, name: str) -> Value | None:
        """Return the argument at a position or under a keyword."""
        for key, value in self.keywords:
            if key == name:
                return value
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    @property
    def values(self) -> tuple[Value, ...]:
        return (*self.positional, *(v for _, v in self.keywords))


def arguments(m: Machine, state: State, call: p.Call) -> Arguments:
    """Evaluate the arguments of a call."""
    positional: list[Value] = []
    keywords: list[tuple[str, Value]] = []
    is_open = False
    for argument in call.arguments:
        value = expressions.evaluate(m, state, argument.value)
        if isinstance(value, (Ref, Tuple)) and state.turn:
            keeping.handed(m, state, argument, value)
        if argument.star == "*":
            known = containers.items(m, state, value)
            if known is None:
                is_open = True
                positional.append(containers.element(m, state, value))
            else:
                positional += known
        elif argument.star == "**":
            thing = state.object(value)
            if isinstance(thing, Table) and not thing.more:
                keywords += [(k.value, v) for k, v in thing.items if isinstance(k, Const) and isinstance(k.value, str)]
            else:
                is_open = True
        elif argument.keyword is not None:
            keywords.append((argument.keyword, value))
        else:
            positional.append(value)
    return Arguments(tuple(positional), tuple(keywords), is_open)


def call(m: Machine, state: State, function: Value, given: Arguments, site: p.Node) -> Value:
    """Call a value."""
    m.burn()
    if isinstance(function, Closure):
        return enter(m, state, function, given, site)
    if isinstance(function, Bound):
        if not state.forwards and _is_forward(m, state, function):
            return unseen.forward(m, state, function.receiver, given, site)
        return enter(
            m, state, function.function, replace(given, positional=(function.receiver, *given.positional)), site
        )
    if isinstance(function, Partial):
        both = Arguments(
            (*function.arguments, *given.positional),
            (*(kv for kv in function.keywords if kv[0] not in dict(given.keywords)), *given.keywords),
            given.open,
        )
        return call(m, state, function.function, both, site)
    if isinstance(function, Scope):
        return _under_scope(m, state, function, given.positional[0] if given.positional else NONE, site)
    if isinstance(function, (Builtin, Library, Method)):
        result = _not_ours(m, state, function, given, site)
        if m.taint:
            modes.pass_on(m, state, function, given.values, result)
        return result
    thing = state.object(function)
    if isinstance(thing, Class) and isinstance(function, Ref):
        return instantiate(m, state, function, given, site)
    if isinstance(thing, Module):
        return unseen.forward(m, state, function, given, site)
    if isinstance(thing, (Instance, Optimizer)) and isinstance(thing.cls, Ref):
        found = attributes.find(state, thing.cls, "__call__")
        if found is not None:
            return call(m, state, attributes.bind(m, state, found, function, site), given, site)
        if attributes.find(state, thing.cls, "forward") is not None:
            return call(m, state, attributes.read(m, state, function, "forward", site), given, site)
    if isinstance(thing, Instance) and isinstance(thing.cls, str):
        return methods.method(m, state, function, "__call__", given, site)
    result = unseen.unknown_call(m, state, function, given, site)
    if m.taint:
        modes.pass_on(m, state, function, given.values, result)
    return result


def _not_ours(m: Machine, state: State, function: Builtin | Library | Method, given: Arguments, site: p.Node) -> Value:
    if isinstance(function, Builtin):
        return builtins.builtin(m, state, function.name, given, site)
    if isinstance(function, Library):
        return framework.function(m, state, function.name, given, site)
    return methods.method(m, state, function.receiver, function.name, given, site)


def _is_forward(m: Machine, state: State, function: Bound) -> bool:
    """Tell whether a method is what calling its network runs, as in `self.forward(x)`."""
    thing, node = state.object(function.receiver), function.function.node
    if not isinstance(thing, Module) or not isinstance(thing.cls, Ref) or not isinstance(node, p.Function):
        return False
    called = m.profile.method("module", node.name) == "call"
    return called and attributes.find(state, thing.cls, node.name) == function.function


def enter(m: Machine, state: State, closure: Closure, given: Arguments, site: p.Node) -> Value:
    """Run a function of the program and return what it returns, on every path through it."""
    node = closure.node
    m.entered.add(node)
    if not in_depth(state, closure):
        library.havoc(m, state, given.values)
        return unseen.opaque(m, state, closure, given, site)
    since = state.store.journal[0]
    frame = _bind(m, state, closure, given)
    if isinstance(node, p.Function) and node.is_generator:
        return m.allocate(state, Generator(closure, frame))

    def run() -> list[Outcome]:
        return _run(m, state.fork(), closure, frame, since, site)

    near = closure.frame >= 0 or m.abroad.frames.get(m.abroad.focus) == imports.module(state, closure.frame)
    outcome: Outcome | None = m.branch(run if near else lambda: m.travel(node, run))
    if outcome is None:
        return unseen.unentered(m, state, closure, given, site)
    state.become(outcome.state.fork())
    if outcome.kind == "raise" or outcome.value is None:
        raise Stopped("raise", outcome.value)
    return outcome.value


def _captures(node: p.Function | p.Lambda) -> bool:
    """Tell whether a function defines functions itself, so that its frame may outlive it."""
    inner = (p.Function, p.Lambda, p.Class, p.Comprehension, p.Yield)
    body = node.body if isinstance(node.body, tuple) else (node.body,)
    return any(isinstance(part, inner) for part in p.walk_all(body))


def _run(m: Machine, state: State, closure: Closure, frame: int, since: int, site: p.Node) -> list[Outcome]:
    node = closure.node
    caller, callers, functions = state.frame, state.calls, state.functions
    guards, recording, statement, forwards = state.guards, state.recording, state.statement, state.forwards
    state.frame, state.calls, state.functions = frame, (*callers, site), (*functions, node)
    opened = state.scope
    for scope in closure.scopes:
        enter_scope(state, scope)
    yielding, m.yielding = m.yielding, []
    try:
        if isinstance(node, p.Lambda):
            body = node.body
            outcomes = m.explore(state, lambda s: expressions.evaluate(m, s, body))
            outcomes = [Outcome(o.state, "return" if o.kind == "next" else o.kind, o.value) for o in outcomes]
        else:
            outcomes = statements.block(m, state, node.body)
    finally:
        m.yielding = yielding
    results: list[Outcome] = []
    for outcome in outcomes:
        s = outcome.state
        s.frame, s.calls, s.functions, s.guards = caller, callers, functions, guards
        s.statement, s.forwards = statement, forwards
        scopes.forgive(s)
        if closure.scopes:
            s.recording, s.scope = recording, opened
        if not m.told_of(_captures, node):
            s.store.forget(frame, since)
        if outcome.kind == "raise":
            results.append(Outcome(s, "raise", outcome.value))
        else:
            results.append(Outcome(s, "return", NONE if outcome.kind == "next" else outcome.value))
    room = 6 if closure.frame >= 0 else WAYS
    going, raised = (join([o for o in results if o.kind == kind], frame, room) for kind in ("return", "raise"))
    return [*going, *(o for o in raised if raising.awaited(o))] or raised or [Outcome(state, "raise")]


def _bind(m: Machine, state: State, closure: Closure, given: Arguments) -> int:
    """Make a frame with the parameters of a function bound."""
    frame = m.fresh()
    state.store[("parent", frame)] = closure.frame
    state.store[("function", frame)] = closure.node
    parameters = closure.node.parameters
    keywords = dict(given.keywords)
    positional = list(given.positional)
    for number, q in enumerate(parameters):
        value: Value
        if q.kind == "positional":
            if positional and q.name not in keywords:
                value = positional.pop(0)
            elif q.name in keywords:
                value = keywords.pop(q.name)
            elif given.open:
                value = m.unknown(q.name)
            else:
                default = closure.defaults[number] if number < len(closure.defaults) else None
                value = default if default is not None else m.unknown(q.name)
        elif q.kind == "*":
            rest = tuple(positional)
            positional = []
            value = m.allocate(state, Sequence("list", rest, True)) if given.open else Tuple(rest)
        elif q.kind == "**":
            table = tuple((Const(k), v) for k, v in keywords.items())
            keywords = {}
            value = m.allocate(state, Table(table, given.open))
        else:
            default = closure.defaults[number] if number < len(closure.defaults) else None
            value = keywords.pop(q.name, None) or (default if default is not None else m.unknown(q.name))
        state.store[(frame, q.name)] = value
    if closure.owner is not None:
        state.store[(frame, "__class__")] = closure.owner
    return frame


def resume(m: Machine, state: State, value: Value, on_yield: Callable[[State, Value], Value], site: p.Node) -> None:
    """Run a generator to its end, handing each value it yields to `on_yield` while it is suspended."""
    thing = state.object(value)
    assert isinstance(thing, Generator)
    containers.spent(m, state, value)
    node = thing.function.node
    assert isinstance(node, p.Function)
    caller, callers, functions = state.frame, state.calls, state.functions
    recording, guards, statement = state.recording, state.guards, state.statement
    opened = state.scope

    def compute() -> list[Outcome]:
        s = state.fork()
        s.frame, s.calls, s.functions = thing.frame, (*callers, site), (*functions, node)
        for scope in thing.function.scopes:
            enter_scope(s, scope)
        m.yielding.append(on_yield)
        try:
            outcomes = statements.block(m, s, node.body)
        finally:
            m.yielding.pop()
        return outcomes or [Outcome(s, "raise")]

    if not in_depth(state, thing.function):
        on_yield(state, m.unknown())
        return
    outcome: Outcome = m.branch(compute)
    state.become(outcome.state.fork())
    if outcome.kind == "abandoned":
        raise Stopped(outcome.kind)
    state.frame, state.calls, state.functions = caller, callers, functions
    if outcome.kind == "raise":
        raise Stopped("raise", outcome.value)
    state.guards, state.statement = guards, statement
    if thing.function.scopes:
        state.recording, state.scope = recording, opened


def instantiate(m: Machine, state: State, cls: Ref, given: Arguments, site: p.Node) -> Value:
    """Make an instance of a class of the program and run its initialiser."""
    thing = state.object(cls)
    assert isinstance(thing, Class)
    if any(m.profile.is_alien(name) for name in attributes.library_bases(state, cls)):
        return unseen.alien_call(m, state, given)
    maker = attributes.find(state, cls, "__new__")
    if isinstance(maker, Closure):
        reference = call(m, state, Bound(cls, maker), given, site)
        made = state.object(reference)
        if not isinstance(reference, Ref) or getattr(made, "cls", None) != cls:
            return reference
    else:
        reference = blank(m, state, cls, given, site)
    initialiser = attributes.find(state, cls, "__init__")
    if initialiser is not None:
        call(m, state, attributes.bind(m, state, initialiser, reference, site), given, site)
    elif thing.dataclass or any(isinstance(t, Class) and t.dataclass for t in attributes.lineage(state, cls)):
        _fields(m, state, reference, given, site)
    return reference


def blank(m: Machine, state: State, cls: Ref, given: Arguments, site: p.Node) -> Ref:
    """Make an instance of a class of the program without running its initialiser."""
    roles = [m.profile.role(name) for name in attributes.library_bases(state, cls)]
    made: Module | Optimizer | Instance
    if any(role in ("module-base", "module", "container", "loss", "parallel") for role in roles):
        made = Module(cls, m.node(state, "leaf", "parameters", (), False, site, True))
    elif any(role in ("optimizer-base", "optimizer", "lbfgs") for role in roles):
        made = Optimizer(cls, framework.owned(m, state, given))
        framework.own(m, made.leaves)
    else:
        made = Instance(cls)
    return m.allocate(state, made)


def _fields(m: Machine, state: State, reference: Ref, given: Arguments, site: p.Node) -> None:
    """Set the fields of a dataclass."""
    thing = state.object(reference)
    assert isinstance(thing, (Instance, Module, Optimizer))
    assert isinstance(thing.cls, Ref)
    names = [n for c in reversed(list(attributes.lineage(state, thing.cls))) for n in c.annotated]
    values = dict(thing.attributes)
    for position, name in enumerate(dict.fromkeys(names)):
        value = given.get(position, name)
        if value is not None:
            values[name] = value
    state.store[reference.id] = replace(thing, attributes=values)
    after = attributes.find(state, thing.cls, "__post_init__")
    if after is not None:
        call(m, state, attributes.bind(m, state, after, reference, site), Arguments(), site)


def super_of(m: Machine, state: State, given: tuple[Value, ...]) -> Value:
    """Return `super()` as seen from the running method."""
    owner: Value | None = given[0] if len(given) == 2 else None
    receiver: Value | None = given[1] if len(given) == 2 else None
    frame: int | None = state.frame
    while frame is not None and (owner is None or receiver is None):
        owner = owner or state.get((frame, "__class__"))
        if receiver is None and owner is not None and state.functions:
            node = next((f for f in reversed(state.functions) if isinstance(f, p.Function) and f.parameters), None)
            if node is not None:
                receiver = state.store.get((frame, node.parameters[0].name))
        frame = state.get(("parent", frame))
    if isinstance(owner, Ref) and receiver is not None:
        return Super(receiver, owner)
    return m.unknown("super")


# ---------------------------------------------------------------- decorators and scopes


def mark(function: Value, kind: str) -> Value:
    """Return a function marked static, classmethod, property or manager."""
    if isinstance(function, Closure):
        return replace(function, kind={"staticmethod": "static"}.get(kind, kind))
    return function


def decorate(m: Machine, state: State, decorator: p.Expression, value: Value) -> Value:
    """Return a function under one of its decorators."""
    found = expressions.evaluate(m, state, decorator)
    if isinstance(found, Builtin) and found.name in ("property", "staticmethod", "classmethod"):
        return mark(value, found.name)
    if isinstance(found, Library):
        if found.name in ("contextlib.contextmanager", "contextlib.asynccontextmanager"):
            return mark(value, "manager")
        if found.name in ("functools.cached_property", "abc.abstractproperty"):
            return mark(value, "property")
        effect = framework.scope_of(m, state, found.name, Arguments())
        if effect is not None and isinstance(value, Closure):
            return _under_scope(m, state, Scope(effect, decorator), value, decorator)
        if framework.is_foreign(m, found.name) or m.profile.role(found.name) in ("plain", "autocast", "parallel"):
            return value
    if isinstance(found, Scope) and isinstance(value, Closure):
        return _under_scope(m, state, found, value, decorator)
    if isinstance(found, (Closure, Bound, Partial)):
        result = call(m, state, found, Arguments((value,)), decorator)
        return result if isinstance(result, (Closure, Bound, Partial, Ref)) else value
    if isinstance(found, Method) and found.name in ("setter", "getter", "deleter"):
        if found.name == "setter" and isinstance(found.receiver, Closure):
            state.store[("setter", found.receiver.node)] = value
        return mark(found.receiver, "property")
    thing = state.object(found)
    if isinstance(thing, (Instance, Class)):
        result = call(m, state, found, Arguments((value,)), decorator)
        return result if isinstance(result, (Closure, Bound, Partial, Ref)) else value
    if isinstance(found, Unknown) and isinstance(value, Closure):
        return replace(value, scopes=(*value.scopes, Scope("unknown"))) if not _known_decorator(found) else value
    return value


def _known_decorator(found: Unknown) -> bool:
    """Tell whether an unknown decorator surely leaves recording alone (registration, caching, command line)."""
    text = str(found.key)
    return any(word in text for word in ("fixture", "register", "command", "option", "parametrize", "setter", "cache"))


def _under_scope(m: Machine, state: State, scope: Scope, function: Value, site: p.Node) -> Value:
    """Return a function decorated with a scope; an async one gives it back before its body runs."""
    if isinstance(function, Bound):
        inner = _under_scope(m, state, scope, function.function, site)
        return replace(function, function=inner) if isinstance(inner, Closure) else function
    if not isinstance(function, Closure) or scope.effect == "neutral":
        return function
    if isinstance(function.node, p.Function) and function.node.is_async:
        if scope.effect not in scopes.SUPPRESSING:
            return function
        scopes.inert(m, state, site, "async", function.node)
        return replace(function, scopes=(*function.scopes, Scope("inert")))
    return replace(function, scopes=(*function.scopes, scope))


def enter_scope(state: State, scope: Scope) -> None:
    """Put a recording scope in force."""
    if scope.effect == "unknown":
        state.recording = None if state.recording == "on" else state.recording
    elif scope.effect == "inert":
        scopes.excuse(state)
    elif scope.effect == "muted":
        state.muted += 1
    elif scope.effect == "on":
        state.recording = state.recording if state.recording == "inference" else "on"
    elif scope.effect != "neutral":
        state.recording, state.scope = scope.effect, scope.call


def is_neutral(m: Machine, state: State, value: Value) -> bool:
    """Tell whether a context surely leaves recording alone: one of Python's own, or an object of a known kind."""
    if isinstance(value, Unknown):
        return library.is_alien(m, value.key) or (isinstance(value.key, tuple) and value.key[0] == "foreign")
    thing = state.object(value)
    if isinstance(thing, Instance):
        return isinstance(thing.cls, Ref) or thing.role in ("manager", "tape")
    return not library.is_open(m, state, value)


def entered(m: Machine, state: State, value: Value, item: p.ContextItem) -> Value:
    """Return what `with value as x` binds."""
    thing = state.object(value)
    if isinstance(thing, Instance) and thing.role == "tape":
        tapes.entered(state, value)
    if isinstance(thing, Instance) and isinstance(thing.cls, Ref):
        found = attributes.find(state, thing.cls, "__enter__")
        if found is not None:
            outcomes = m.explore(
                state, lambda s: call(m, s, attributes.bind(m, s, found, value, item), Arguments(), item)
            )
            for outcome in outcomes[:1]:
                if outcome.value is not None:
                    state.become(outcome.state)
                    return outcome.value
    return value


def discarded(m: Machine, state: State, statement: p.Evaluate, value: Value) -> None:
    """Look at an expression statement: a clear that is named but not called, a scope that nobody enters."""
    scopes.dropped(m, state, statement, value)
    if isinstance(statement.value, p.Attribute):
        receiver, name = (None, "")
        if isinstance(value, Method):
            receiver, name = value.receiver, value.name
        elif isinstance(value, Unknown) and isinstance(value.key, tuple) and value.key[0] == "attr":
            receiver, name = Unknown(value.key[1]), value.key[2]
        if receiver is not None:
            modes.named(m, state, receiver, name, statement.value)
        if receiver is not None and m.profile.method("optimizer", name) == "clear":
            leaves = library.leaves_behind(m, state, receiver)
            updates.uncalled_clear(m, state, library.expand(m, state, leaves), statement, statement.value)
        elif receiver is not None and m.profile.method("optimizer", name) == "step":
            leaves = library.leaves_behind(m, state, receiver)
            updates.uncalled_step(m, state, library.expand(m, state, leaves), statement, statement.value)
