"""What calls to the framework, and to code that nobody can see, do: dispatch by the roles that the profile gives."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from adlint import program as p
from adlint.tape import (
    attributes,
    builtins,
    calls,
    clips,
    conditions,
    containers,
    copies,
    cuts,
    functional,
    leaves,
    library,
    methods,
    modes,
    passes,
    scopes,
    shapes,
    tapes,
    unseen,
    updates,
    windows,
)
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    FALSE,
    NONE,
    TRUE,
    Builtin,
    Class,
    Const,
    Counter,
    Gradient,
    Instance,
    Key,
    Leaves,
    Library,
    Linear,
    Module,
    Optimizer,
    Partial,
    Ref,
    Scope,
    Sequence,
    Table,
    Tensor,
    Tuple,
    Unknown,
    Value,
    key_of,
)

METHODS = ("module-base", "optimizer-base", "module", "optimizer")
"""Roles of classes whose methods may be called with the object as an argument."""
SCOPES = {"no_grad": "off", "inference_mode": "inference", "enable_grad": "on", "autocast": "neutral"}


def scope_of(m: Machine, state: State, name: str, given: calls.Arguments) -> str | None:
    """Return the effect of a library function that opens a recording scope, None if it opens none."""
    role = m.profile.role(name)
    if role in ("no_grad", "enable_grad", "autocast"):
        return SCOPES[role]
    if role == "inference_mode":
        mode = given.get(0, "mode")
        return "neutral" if mode == FALSE else "inference"
    if role == "set_grad_enabled":
        mode = given.get(0, "mode")
        if mode is None:
            return "unknown"
        return "on" if conditions.decided(m, state, mode) else "off"
    if name in ("contextlib.nullcontext", "contextlib.suppress", "contextlib.ExitStack"):
        return "neutral"
    if name in ("pytest.raises", "pytest.warns"):
        return "muted"
    return None


def is_foreign(m: Machine, name: str) -> bool:
    """Tell whether a dotted name belongs to Python's own library, which has nothing to do with training."""
    return name.split(".")[0] in sys.stdlib_module_names


def own(m: Machine, leaves: frozenset[int] | None) -> None:
    """Remember that an optimizer owns leaves; None for an optimizer of which that is not known."""
    if leaves is None:
        m.opaque_owner = True
        return
    if leaves not in m.owners:
        m.owners.append(leaves)
    m.owned |= leaves
    for one in leaves:
        key = m.nodes[one].callee
        if key is not None:
            trained(m, key)


def trained(m: Machine, key: Key) -> None:
    """Remember that an unknown is a network, and so is what it is a member of."""
    m.evidence.add(key)
    if isinstance(key, tuple) and len(key) == 3 and key[0] in ("attr", "item") and not _is_self(key[1]):
        m.evidence.add(key[1])


def _is_self(key: Key) -> bool:
    return not isinstance(key, tuple)


def parameters_given(
    m: Machine, state: State, value: Value, inside: frozenset[Value] = frozenset()
) -> frozenset[int] | None:
    """Return the leaves that an optimizer is built with; None if some of them are not known.

    `inside` are the containers around the value, one of which may hold itself.
    """
    if value in inside:
        return None
    inside |= {value}
    thing = state.object(value)
    if isinstance(value, Leaves):
        return value.leaves
    if isinstance(thing, Module):
        return library.module_leaves(m, state, value)
    if isinstance(thing, Tensor):
        return frozenset({thing.node}) if m.nodes[thing.node].kind == "leaf" else None
    if isinstance(thing, (Sequence, Counter)) or isinstance(value, Tuple):
        parts = value.items if isinstance(value, Tuple) else thing.items if isinstance(thing, Sequence) else thing.parts  # type: ignore[union-attr]
        return _all(m, state, parts, inside)
    if isinstance(thing, Table):
        held = [v for k, v in thing.items if k == Const("params")]
        return _all(m, state, tuple(held) if held else tuple(v for _, v in thing.items), inside)
    return None


def _all(m: Machine, state: State, parts: tuple[Value, ...], inside: frozenset[Value]) -> frozenset[int] | None:
    found: frozenset[int] = frozenset()
    for one in parts:
        leaves = parameters_given(m, state, one, inside)
        if leaves is None:
            return None
        found |= leaves
    return found or None


# ---------------------------------------------------------------- functions and classes


def function(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a library function or class."""
    if m.profile.is_alien(name):
        return unseen.alien_call(m, state, given)
    effect = scope_of(m, state, name, given)
    if effect is not None:
        if m.profile.role(name) == "set_grad_enabled":
            calls.enter_scope(state, Scope(effect, site))
            return Scope(effect)
        return Scope(effect, site)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(m, state, given, site)
    owner, _, member = name.rpartition(".")
    if given.positional and (owner == "torch.Tensor" or m.profile.role(owner) in METHODS):
        rest = replace(given, positional=given.positional[1:])
        if isinstance(given.positional[0], Unknown):
            return unseen.unknown_call(m, state, Unknown(("attr", given.positional[0].key, member)), rest, site)
        return methods.method(m, state, given.positional[0], member, rest, site)
    role = m.profile.role(name)
    handler = _FUNCTIONS.get(role)
    if handler is not None:
        return handler(m, state, name, given, site)
    if role == "plain" or (role == "" and is_foreign(m, name)):
        return unseen.foreign_call(m, state, name, given, site)
    return unseen.unknown_call(m, state, Library(name), given, site)


def operation(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    out = given.get(None, "out")
    result = library.operation(m, state, name, given.values, site)
    windows.measured(m, state, name, calls.Arguments(), given, result)
    if m.profile.shape(name) in ("loss", "sample-loss"):
        shapes.keep(m, state, result, shapes.loss(m, state, name, given, given, site))
    shapes.operation(m, state, name, given, result, site)
    short = name.rsplit(".", 1)[-1]
    if (
        short in ("max", "min", "sort", "topk", "median", "mode", "cummax", "cummin", "kthvalue")
        and len(given.values) > 1
        and not library.is_tensorial(m, state, given.values[1])
    ):
        return Tuple((result, library.cut(m, state, site, "untracked", library.nodes_in(m, state, result))))
    if short in ("split", "chunk", "unbind", "tensor_split", "hsplit", "vsplit", "meshgrid", "broadcast_tensors"):
        return m.allocate(state, Sequence("tuple", (result, again(m, state, result, site)), True))
    return out if out is not None else result


def _in_place(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Overwrite tensors: gradient slots become clean, parameters are updated."""
    rest = replace(given, positional=given.positional[1:])
    for value in given.values:
        for one in containers.items(m, state, value) or [value]:
            if isinstance(one, Gradient):
                methods.method(m, state, one, name.rsplit(".", 1)[-1].replace("_foreach_", ""), rest, site)
    first = given.values[:1]
    if first:
        target = replace(first[0], single=True) if isinstance(first[0], Leaves) else first[0]
        leaves.updated(m, state, target, given.values[1:], site, None)
    if first and isinstance(first[0], Leaves):
        updates.update_in_place(m, state, first[0], given.values[1:], site)
        return first[0]
    return operation(m, state, name, given, site)


def again(m: Machine, state: State, result: Value, site: p.Node) -> Value:
    """Return a second element of what an operation gives several of."""
    thing = state.object(result)
    if isinstance(thing, Tensor):
        twin = m.fresh()
        m.nodes[twin] = replace(m.nodes[thing.node], id=twin, site=site, turn=state.turn)
        m.twins[twin], m.twins[thing.node] = (thing.node,), (*m.twins.get(thing.node, ()), twin)
        return library.tensor(m, state, twin)
    return m.unknown()


def _untracked(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    return library.cut(m, state, site, "untracked", _nodes(m, state, given))


def _nodes(m: Machine, state: State, given: calls.Arguments) -> tuple[int, ...]:
    return tuple(n for v in given.values for n in library.nodes_in(m, state, v, sources=False))


def rewrapped(m: Machine, state: State, name: str, given: calls.Arguments) -> tuple[str, tuple[int, ...]]:
    """Return how a new tensor is cut off, and from which tensors; none for one that takes only their shape."""
    if not m.profile.rewraps(name):
        return "data", ()
    one = given.get(0, "data")
    first = () if one is None else (one,)
    direct = any(library.is_tensorial(m, state, v) for v in first)
    return "wrapped" if direct else "data", tuple(dict.fromkeys(n for v in first for n in cuts.read_from(m, state, v)))


def _factory(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    flag = _recorded(m, state, given)
    why, behind = rewrapped(m, state, name, given)
    if isinstance(flag, (Const, Unknown, Linear)) and conditions.decided(m, state, flag):
        result = library.leaf(m, state, site, why if behind else "", behind)
    else:
        result = library.cut(m, state, site, why, behind)
    return shapes.made(m, state, name, given, result)


def _recorded(m: Machine, state: State, given: calls.Arguments) -> Value | None:
    """Return what a keyword says about whether the result is to be recorded; None if no keyword does."""
    for name in m.profile.tracking:
        flag = given.get(None, name)
        if flag is not None:
            return attributes.told(m, state, name, flag)
    return None


def _parameter(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    flag = given.get(1, "requires_grad")
    result = library.cut(m, state, site) if flag == FALSE else library.leaf(m, state, site)
    return shapes.keep(m, state, result, shapes.of(m, state, given.get(0, "data")))


def _variable(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    if given.get(None, "volatile") == TRUE:
        scopes.inert(m, state, site, "volatile")
    flag = given.get(1, "requires_grad")
    why, behind = rewrapped(m, state, name, given)
    if isinstance(flag, Const) and flag.value:
        return library.leaf(m, state, site, why if behind else "", behind)
    first = given.positional[0] if given.positional else None
    if first is None or (behind and (not library.is_tensorial(m, state, first) or m.profile.result(name) != "same")):
        return library.cut(m, state, site, why, behind)
    return first


def _module(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    leaf = None if m.profile.parameterless(name) else m.node(state, "leaf", "layer", (), False, site, True)
    reference = m.allocate(state, Module(name, leaf, modal=modes.cares(m, state, name, given)))
    m.built[reference.id] = given
    return reference


def container(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    children: list[Value] = []
    named: dict[str, Value] = {}
    for value in given.positional:
        thing = state.object(value)
        if isinstance(thing, Table):
            named.update({str(key_of(k) if not isinstance(k, Const) else k.value): v for k, v in thing.items})
        elif isinstance(thing, Module) or isinstance(value, (Leaves,)):
            children.append(value)
        else:
            known = containers.items(m, state, value)
            children += known if known is not None else [containers.element(m, state, value)]
    opaque = any(isinstance(v, Unknown) for v in children)
    leaf = m.node(state, "leaf", "parameters", (), False, site, True) if opaque or given.open else None
    return m.allocate(state, Module(name, leaf, named, tuple(children) or tuple(named.values())))


def _parallel(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    if not given.values:
        return Builtin("identity")
    value = given.values[0]
    if name.endswith(("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel")):
        thing = state.object(value)
        if isinstance(thing, Module):
            return m.allocate(state, Module(name, None, {"module": value}, (value,), thing.training))
    return value


def _deepspeed(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Return an engine around a network, its optimizer and two more; the engine backpropagates and steps."""
    network, optimizer = given.get(1, "model"), given.get(2, "optimizer")
    inner = None if network is None else state.object(network)
    if network is None or not isinstance(inner, Module):
        return unseen.unknown_call(m, state, Library(name), given, site)
    if optimizer is None or not isinstance(state.object(optimizer), Optimizer):
        mine = library.module_leaves(m, state, network)
        own(m, mine)
        optimizer = m.allocate(state, Optimizer(name, mine))
        m.ledger.built.update(dict.fromkeys(mine, (optimizer, site)))
    parts: dict[str, Value] = {"module": network, "optimizer": optimizer}
    engine = m.allocate(state, Module(name, None, parts, (network,), inner.training))
    return Tuple((engine, optimizer, m.unknown(), m.unknown()))


def _prepared(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    return given.positional[0] if len(given.positional) == 1 else Tuple(given.positional)


def _copy(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    if not given.positional:
        return m.unknown()
    return copies.duplicate(m, state, given.positional[0], {}, site, deep=not name.endswith("copy.copy"))


def owned(m: Machine, state: State, given: calls.Arguments) -> frozenset[int] | None:
    """Return the leaves that an optimizer made with these arguments owns; None if they are not known."""
    held = given.get(0 if m.profile.owned_first else None, m.profile.owned_argument)
    return None if held is None else parameters_given(m, state, held)


def _optimizer(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    held = given.get(0 if m.profile.owned_first else None, m.profile.owned_argument)
    if held is not None:
        leaves.optimized(m, state, held, site)
    mine = owned(m, state, given)
    own(m, mine)
    made = m.allocate(state, Optimizer(name, mine))
    m.ledger.built.update(dict.fromkeys(mine or (), (made, site)))
    return made


def _made(role: str) -> Callable[[Machine, State, str, calls.Arguments, p.Node], Value]:
    def maker(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
        held = {str(n): v for n, v in enumerate(given.positional)} | dict(given.keywords)
        return m.allocate(state, Instance(name, role, held))

    return maker


def _backward(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    root = given.get(0, "tensors")
    if root is not None:
        walk(m, state, "backward", name, root, given, site)
    return NONE


def walk(m: Machine, state: State, kind: str, name: str, root: Value, given: calls.Arguments, site: p.Node) -> None:
    """Run one backward or grad with the arguments of its call."""
    names = m.profile.backward_parameters.get(name, ())
    position = {n: i for i, n in enumerate(names)}

    def argument(key: str) -> Value | None:
        return given.get(position.get(key), key)

    retained = _keeps(m, state, argument(m.profile.retain_argument))
    if argument(m.profile.retain_argument) is None:
        retained = any(_keeps(m, state, argument(other)) for other in m.profile.implied_retain) or given.open
    retained = retained or name in m.profile.repeatable
    inputs = argument("inputs")
    limit = None
    if kind == "backward" and inputs is not None:
        leaves.retain(m, state, inputs)
    if inputs is not None and (kind == "grad" or inputs != NONE):
        limit = frozenset(library.nodes_in(m, state, inputs)) | library.leaves_behind(m, state, inputs)
    subject = site.arguments[0].value if isinstance(site, p.Call) and site.arguments else None
    if isinstance(site, p.Call) and isinstance(site.function, p.Attribute) and name.startswith("Tensor."):
        subject = site.function.value
    roots = tuple(dict.fromkeys(library.nodes_in(m, state, root)))
    rooted = 0 if name.startswith("Tensor.") else 1
    asked = kind == "backward" and retained and _keeps(m, state, argument(m.profile.retain_argument)) and not given.open
    asked = asked and not any(_keeps(m, state, argument(other)) for other in m.profile.implied_retain)
    whole = not _others(given, names, rooted, m.profile.retain_argument)
    seeds = [argument(key) for key in m.profile.seeds]
    if m.profile.seeds and all(seed in (None, NONE) for seed in seeds) and not given.open:
        several = containers.items(m, state, root) if not isinstance(state.object(root), Tensor) else [root]
        shapes.root(m, state, kind, several or [], site, subject)
    passes.backward(m, state, kind, roots, site, subject, retained, limit, asked, whole)


def _others(given: calls.Arguments, names: tuple[str, ...], rooted: int, retain: str) -> bool:
    """Tell whether a backward is given more than its root and whether to retain the graph."""
    own = {retain, *names[:rooted]}
    positional = [v for i, v in enumerate(given.positional) if i >= rooted and names[i : i + 1] != (retain,)]
    keywords = [v for key, v in given.keywords if key not in own]
    return any(v not in (NONE, FALSE) for v in (*positional, *keywords))


def _keeps(m: Machine, state: State, value: Value | None) -> bool:
    """Tell whether a retain flag may be true; a flag that is not known on this path is taken to be."""
    return value is not None and conditions.known(m, state, value) is not False


def _clip(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    limit = given.get(1, "max_norm") or given.get(None, "clip_value")
    clips.clip(m, state, given.get(0, "parameters"), limit, site)
    return library.cut(m, state, site)


def _init(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    if given.positional and isinstance(given.positional[0], Gradient):
        change = updates.clear if name.endswith("zeros_") else updates.overwrite
        change(m, state, given.positional[0].leaves, site)
    return given.positional[0] if given.positional else NONE


def _checkpoint(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    if not given.positional:
        return m.unknown()
    keywords = tuple(
        (k, v) for k, v in given.keywords if k not in ("use_reentrant", "preserve_rng_state", "context_fn")
    )
    return calls.call(m, state, given.positional[0], calls.Arguments(given.positional[1:], keywords, given.open), site)


def _detach(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    result = library.cut(m, state, site, "detach", _nodes(m, state, given))
    return shapes.keep(m, state, result, shapes.of(m, state, given.get(0, "input")))


def _read(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    return cuts.reading(m, state, Tuple(given.positional), site)


def _iterate(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    if name.endswith("chain.from_iterable") and given.positional:
        leaves = library.leaves_behind(m, state, given.positional[0])
        return Leaves(leaves) if leaves else m.unknown()
    if name.endswith("chain"):
        if given.positional and all(isinstance(v, Leaves) for v in given.positional):
            return Leaves(frozenset().union(*(v.leaves for v in given.positional if isinstance(v, Leaves))))
        known = [containers.items(m, state, v) for v in given.positional]
        if all(k is not None for k in known):
            return m.allocate(state, Sequence("iterator", tuple(v for k in known for v in k or ())))
        return m.unknown()
    thing = state.object(given.positional[0]) if given.positional else None
    if name == "itertools.cycle" and isinstance(thing, Sequence):
        return m.allocate(state, replace(thing, kind="cycle"))
    if name == "itertools.islice" and isinstance(thing, Sequence):
        bounds = [v.value for v in given.positional[1:] if isinstance(v, Const)]
        if thing.more or len(bounds) != len(given.positional) - 1 or not bounds:
            return m.allocate(state, replace(thing, kind="iterator", more=True, shuffled=True))
        return m.allocate(state, replace(thing, kind="iterator", items=thing.items[slice(*bounds)]))
    return given.positional[0] if given.positional else m.unknown()


def _parameters(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Return the parameters of an object of any kind."""
    found = library.leaves_behind(m, state, given.positional[0]) if given.positional else frozenset()
    return Leaves(found) if found else m.unknown()


def _parts(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    return unseen.unknown_call(m, state, Library(name), given, site)


_FUNCTIONS: dict[str, Callable[[Machine, State, str, calls.Arguments, p.Node], Value]] = {
    "operation": operation,
    "in_place": _in_place,
    "untracked": _untracked,
    "factory": _factory,
    "parameter": _parameter,
    "variable": _variable,
    "module": _module,
    "module-base": _module,
    "loss": _module,
    "container": container,
    "parallel": _parallel,
    "copy": _copy,
    "optimizer": _optimizer,
    "lbfgs": _optimizer,
    "scaler": _made("scaler"),
    "scheduler": _made("scheduler"),
    "distribution": _made("distribution"),
    "accelerator": _made("accelerator"),
    "prepared": _prepared,
    "engine": _made("engine"),
    "deepspeed": _deepspeed,
    "fabric": _made("fabric"),
    "manager": _made("manager"),
    "runtime": _made("runtime"),
    "tape": lambda m, state, name, given, site: tapes.made(m, state, name, given, site),
    "metric": _made("metric"),
    "backward": _backward,
    "grad": lambda m, state, name, given, site: functional.grad(m, state, name, given, site),
    "clip": _clip,
    "init": _init,
    "checkpoint": _checkpoint,
    "detach": _detach,
    "read": _read,
    "iterate": _iterate,
    "model-parts": _parts,
    "parameters": _parameters,
}


def _partial(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    if not given.positional:
        return m.unknown()
    return Partial(given.positional[0], given.positional[1:], given.keywords)


def _wraps(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    return Library("functools.cache")


def _ordered(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    return builtins.builtin(m, state, "dict", given, site)


def _defaults(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    made = m.allocate(state, Table((), more=True))
    if given.positional[:1] == (Builtin("list"),):
        state.store[("lists", made.id)] = True
    return made


def _recording(state: State) -> Value:
    return Unknown(("recording",)) if state.recording is None else Const(state.recording == "on")


def _deque(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    made = builtins.builtin(m, state, "list", given, site)
    thing = state.object(made)
    if isinstance(made, Ref) and isinstance(thing, Sequence):
        most = given.get(1, "maxlen")
        if isinstance(most, Const) and type(most.value) is int:
            state.store[("most", made.id)] = most.value
            thing = replace(thing, items=thing.items[max(len(thing.items) - most.value, 0) :])
        state.store[made.id] = replace(thing, kind="deque")
    return made


def _namedtuple(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    fields = given.get(1, "field_names")
    if fields is None:
        return m.unknown()
    if isinstance(fields, Const) and isinstance(fields.value, str):
        names = tuple(fields.value.replace(",", " ").split())
    else:
        names = tuple(str(v.value) for v in containers.items(m, state, fields) or () if isinstance(v, Const))
    bases = (Library("typing.NamedTuple"),)
    return m.allocate(state, Class(p.Class("namedtuple", (), (), ()), 0, bases, annotated=names, dataclass=True))


def _thread(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    target, passed = given.get(1, "target"), given.get(3, "args")
    held: dict[str, Value] = {} if target is None else {"target": target}
    if passed is not None:
        held["args"] = passed
    return m.allocate(state, Instance("threading.Thread", "thread", held))


_SPECIAL: dict[str, Callable[[Machine, State, calls.Arguments, p.Node], Value]] = {
    "functools.partial": _partial,
    "functools.wraps": _wraps,
    "collections.OrderedDict": _ordered,
    "collections.defaultdict": _defaults,
    "collections.deque": _deque,
    "queue.Queue": _deque,
    "collections.namedtuple": _namedtuple,
    "threading.Thread": _thread,
    "torch.is_tensor": lambda m, state, given, site: builtins.builtin(
        m, state, "isinstance", replace(given, positional=(*given.values, Library("torch.Tensor"))), site
    ),
    "torch.is_grad_enabled": lambda m, state, given, site: _recording(state),
    "dataclasses.field": lambda m, state, given, site: m.unknown("field"),
}
