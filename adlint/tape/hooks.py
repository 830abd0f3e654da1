"""Classes that a training framework runs: what their inherited methods do, and the hooks that it repeats per batch."""

from __future__ import annotations

from dataclasses import replace

from adlint import program as p
from adlint.profiles import Base
from adlint.tape import attributes, calls, containers, framework, library, statements
from adlint.tape.machine import Machine, Stopped
from adlint.tape.state import Outcome, State
from adlint.tape.values import (
    FALSE,
    NONE,
    Bound,
    Closure,
    Const,
    Instance,
    Library,
    Method,
    Optimizer,
    Partial,
    Ref,
    Sequence,
    Table,
    Tensor,
    Tuple,
    Unknown,
    Value,
    key_of,
)


def inherited(
    m: Machine, state: State, receiver: Ref, base: Base, name: str, given: calls.Arguments, site: p.Node
) -> Value:
    """Call a method that a class of the program inherits from its framework."""
    role = base.methods[name]
    first = given.positional[0] if given.positional else None
    if role == "backward" and first is not None:
        framework.walk(m, state, "backward", "manual_backward", first, given, site)
        return NONE
    if role == "optimizers":
        made = _optimizers(m, state, receiver, base, site)
        if made is None:
            return Unknown(("optimizers", key_of(receiver)))
        return made[0] if len(made) == 1 else m.allocate(state, Sequence("list", made))
    if role in ("toggle", "untoggle"):
        _toggle(m, state, receiver, base, first, role == "toggle", site)
        return NONE
    return m.unknown()


def _optimizers(m: Machine, state: State, receiver: Ref, base: Base, site: p.Node) -> tuple[Value, ...] | None:
    """Return the optimizers that the program's own hook makes, the same ones every time; None if they are not known."""
    key = ("optimizers", receiver.id)
    held: tuple[Value, ...] | None = state.store.get(key)
    thing = state.object(receiver)
    cls = getattr(thing, "cls", None)
    maker = attributes.find(state, cls, base.configures) if base.configures and isinstance(cls, Ref) else None
    if held is None and isinstance(maker, Closure):
        bound = attributes.bind(m, state, maker, receiver, site)
        held = _among(m, state, calls.call(m, state, bound, calls.Arguments(), site))
        if held is not None:
            state.store[key] = held
    return held


def _among(m: Machine, state: State, value: Value) -> tuple[Value, ...] | None:
    """Return the optimizers in what the hook gave: one, several, several with their schedulers, or dicts of them."""
    thing = state.object(value)
    if isinstance(thing, Optimizer):
        return (value,)
    if isinstance(thing, Table):
        return next((_among(m, state, v) for k, v in thing.items if k == Const("optimizer")), None)
    parts = containers.items(m, state, value) if isinstance(value, Tuple) or isinstance(thing, Sequence) else None
    if not parts:
        return None
    if isinstance(state.object(parts[0]), Sequence) or isinstance(parts[0], Tuple):
        return _among(m, state, parts[0])
    found = [_among(m, state, part) for part in parts]
    return tuple(one for some in found for one in some or ()) if all(found) else None


def _toggle(
    m: Machine, state: State, receiver: Ref, base: Base, optimizer: Value | None, on: bool, site: p.Node
) -> None:
    """Freeze the parameters that only other optimizers own, or thaw them again."""
    chosen = state.object(optimizer) if optimizer is not None else None
    own = chosen.leaves if isinstance(chosen, Optimizer) and chosen.leaves is not None else frozenset()
    for one in _optimizers(m, state, receiver, base, site) or ():
        thing = state.object(one)
        if one != optimizer and isinstance(thing, Optimizer):
            for leaf in sorted(library.expand(m, state, thing.leaves or frozenset()) - own):
                if on and not state.frozen(leaf):
                    state.store[("frozen", leaf)] = state.store[("toggled", leaf)] = True
                elif not on and state.store.pop(("toggled", leaf), False):
                    state.store[("frozen", leaf)] = False


def returned(m: Machine, outcome: Outcome, receiver: Ref, function: Closure) -> Outcome:
    """Backpropagate what a hook has returned, where its framework does so: a loss, one before others, or one in a dict.

    A framework whose own method for it is overridden leaves it to the class, and so does one that is told to.
    """
    state, node = outcome.state, function.node
    cls = getattr(state.object(receiver), "cls", None)
    base = attributes.library_base(m, state, cls) if isinstance(cls, Ref) else None
    if base is None or not isinstance(cls, Ref) or not isinstance(node, p.Function) or "backward" not in base.calls:
        return outcome
    if attributes.unknown_bases(state, cls) or _may_be_manual(state, receiver, cls, base):
        return outcome
    if node.name not in base.returns_loss or any(attributes.find(state, cls, one) for one in base.backpropagates_in):
        return outcome
    loss = _loss(state, outcome.value)
    sites = [one.value for one in p.walk_all(node.body) if isinstance(one, p.Return) and one.value is not None]
    if loss is None or len(sites) != 1:
        return outcome
    site, name = sites[0], "Tensor.backward"

    def backward(s: State) -> Value:
        framework.walk(m, s, "backward", name, loss, calls.Arguments(), site)
        return loss

    done = m.explore(state.fork(), backward)
    return next((replace(outcome, state=one.state) for one in done if one.kind == "next"), outcome)


def _may_be_manual(state: State, receiver: Ref, cls: Ref, base: Base) -> bool:
    """Tell whether a class may have told its framework to leave the backward to it."""
    held = getattr(state.object(receiver), "attributes", {})
    said = held.get(base.manual_attribute) or attributes.find(state, cls, base.manual_attribute)
    return bool(base.manual_attribute) and said not in (None, Const(True))


def _loss(state: State, value: Value | None) -> Value | None:
    """Return the loss in what a hook has returned; None if it is not certain."""
    thing = state.object(value) if value is not None else None
    if isinstance(thing, Tensor):
        return value
    if isinstance(value, Tuple) and value.items:
        return value.items[0] if isinstance(state.object(value.items[0]), Tensor) else None
    if isinstance(thing, Table):
        found = next((v for k, v in thing.items if k == Const("loss")), NONE)
        return found if isinstance(state.object(found), Tensor) else None
    return None


def repeated(m: Machine, state: State, receiver: Ref) -> tuple[Closure, ...]:
    """Return the hooks of an instance that its framework runs for every batch, if clearing and stepping are left to
    them."""
    cls = getattr(state.object(receiver), "cls", None)
    base = attributes.library_base(m, state, cls) if isinstance(cls, Ref) else None
    if base is None or not base.manual_attribute or not isinstance(cls, Ref):
        return ()
    if attributes.read(m, state, receiver, base.manual_attribute, p.Pass()) != FALSE:
        return ()
    found = [attributes.find(state, cls, name) for name in base.repeats]
    return tuple(one for one in found if isinstance(one, Closure))


def run(m: Machine, state: State, receiver: Ref, hooks: tuple[Closure, ...]) -> list[Outcome]:
    """Run hooks one after the other for two batches, as their framework does for all of them."""

    def batch(begun: State) -> list[Outcome]:
        live, done = [Outcome(begun)], []
        for hook in hooks:
            results = [o for outcome in live for o in _hook(m, outcome.state, receiver, hook)]
            done += [o for o in results if o.kind != "next"]
            live = [Outcome(o.state) for o in results if o.kind == "next"]
        return live + done

    return statements.repeat(m, state, batch)


EACH = {"ITERATION_STARTED": 0, "ITERATION_COMPLETED": 1}
"""Events that come before and after every batch; of the others `OFTEN` tells those that come outside of them."""
OFTEN = frozenset({"STARTED", "COMPLETED", "EPOCH_STARTED", "EPOCH_COMPLETED"})


def engine(
    m: Machine, state: State, receiver: Ref, thing: Instance, name: str, given: calls.Arguments, site: p.Node
) -> Value:
    """Call a method of an event loop: it runs a process function for every batch, and handlers around it."""
    job, key = m.profile.method("engine", name), ("handlers", receiver.id)
    held: tuple[tuple[str, Value, tuple[Value, ...]], ...] = state.store.get(key, ())
    first = given.positional[0] if given.positional else m.unknown()
    event = first.name.rpartition(".")[2] if isinstance(first, Library) else ""
    if job == "on":
        return Partial(Method(receiver, "add_event_handler"), given.positional, given.keywords)
    if job == "attach" and len(given.positional) > 1:
        state.store[key] = (*held, (event, given.positional[1], given.positional[2:]))
        return given.positional[1]
    process = thing.attributes.get("0") or thing.attributes.get("process_function")
    if job != "run" or not isinstance(process, (Closure, Bound)):
        return m.unknown()
    known = {*EACH, *OFTEN}
    if any(when not in known or not isinstance(handler, (Closure, Bound)) for when, handler, _ in held):
        library.havoc(m, state, [process, *(handler for _, handler, _ in held)])
        return m.unknown()

    def handle(s: State, place: int | None) -> None:
        for when, handler, rest in held:
            if EACH.get(when) == place:
                calls.call(m, s, handler, _handed(handler, (receiver, *rest)), site)

    looping, turn = state.looping, state.turn

    def batch(begun: State) -> list[Outcome]:
        def turned(s: State) -> Value:
            handle(s, 0)
            calls.call(m, s, process, calls.Arguments((receiver, m.unknown())), site)
            handle(s, 1)
            return NONE

        return m.explore(begun, turned)

    outcome: Outcome = m.branch(lambda: statements.repeat(m, state.fork(), batch))
    state.become(outcome.state.fork())
    state.looping, state.turn = looping, turn
    if outcome.kind != "next":
        raise Stopped(outcome.kind, outcome.value)
    handle(state, None)
    return m.unknown()


def _handed(handler: Value, values: tuple[Value, ...]) -> calls.Arguments:
    """Return what an event loop hands a handler: nothing, if it takes nothing."""
    node = getattr(handler.function if isinstance(handler, Bound) else handler, "node", None)
    takes = len(getattr(node, "parameters", ())) - isinstance(handler, Bound)
    return calls.Arguments(values if takes > 0 else ())


def _hook(m: Machine, state: State, receiver: Ref, hook: Closure) -> list[Outcome]:
    given = calls.Arguments((receiver,), (), True)
    return m.explore(state, lambda s: calls.call(m, s, hook, given, hook.node))
