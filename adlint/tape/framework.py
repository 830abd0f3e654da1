"""What calls to the framework, and to code that nobody can see, do: dispatch by the roles that the profile gives."""

from __future__ import annotations

import sys
from dataclasses import replace

from adlint import program as p
from adlint.tape import attributes, calls, containers, expressions, library
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    FALSE,
    NONE,
    Bound,
    Builtin,
    Closure,
    Const,
    Counter,
    Generator,
    Gradient,
    Instance,
    Key,
    Leaves,
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
    Tensor,
    Tuple,
    Unknown,
    Value,
    key_of,
)

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
        return "on" if expressions.decided(m, state, mode) else "off"
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


def parameters_given(m: Machine, state: State, value: Value) -> frozenset[int] | None:
    """Return the leaves that an optimizer is built with; None if some of them are not known."""
    thing = state.object(value)
    if isinstance(value, Leaves):
        return value.leaves
    if isinstance(thing, Module):
        return library.module_leaves(m, state, value)
    if isinstance(thing, Tensor):
        return frozenset({thing.node}) if m.nodes[thing.node].kind == "leaf" else None
    if isinstance(thing, (Sequence, Counter)) or isinstance(value, Tuple):
        parts = value.items if isinstance(value, Tuple) else thing.items if isinstance(thing, Sequence) else thing.parts  # type: ignore[union-attr]
        return _all(m, state, parts)
    if isinstance(thing, Table):
        held = [v for k, v in thing.items if k == Const("params")]
        return _all(m, state, tuple(held) if held else tuple(v for _, v in thing.items))
    return None


def _all(m: Machine, state: State, parts: tuple[Value, ...]) -> frozenset[int] | None:
    found: frozenset[int] = frozenset()
    for one in parts:
        leaves = parameters_given(m, state, one)
        if leaves is None:
            return None
        found |= leaves
    return found or None


# ---------------------------------------------------------------- functions and classes


def function(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a library function or class."""
    effect = scope_of(m, state, name, given)
    if effect is not None:
        if m.profile.role(name) == "set_grad_enabled":
            calls.enter_scope(state, Scope(effect, site))
        return Scope(effect, site)
    role = m.profile.role(name)
    handler = _FUNCTIONS.get(role)
    if handler is not None:
        return handler(m, state, name, given, site)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(m, state, given, site)
    if role == "plain" or (role == "" and is_foreign(m, name)):
        return foreign_call(m, state, name, given, site)
    return unknown_call(m, state, Library(name), given, site)


def _operation(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    out = given.get(None, "out")
    result = library.operation(m, state, name, given.values, site)
    short = name.rsplit(".", 1)[-1]
    if short in ("max", "min", "sort", "topk", "median", "mode", "cummax", "cummin", "kthvalue") and len(given.values) > 1:
        return Tuple((result, library.cut(m, state, site)))
    if short in ("split", "chunk", "unbind", "tensor_split", "hsplit", "vsplit", "meshgrid", "broadcast_tensors"):
        return m.allocate(state, Sequence("tuple", (result, _again(m, state, result, site)), True))
    return out if out is not None else result


def _again(m: Machine, state: State, result: Value, site: p.Node) -> Value:
    """Return a second element of what an operation gives several of."""
    thing = state.object(result)
    if isinstance(thing, Tensor):
        node = m.nodes[thing.node]
        return library.tensor(m, state, m.node(state, node.kind, node.operation, node.parents, node.saves, site, node.requires_grad))
    return m.unknown()


def _untracked(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    return library.cut(m, state, site)


def _factory(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    flag = given.get(None, "requires_grad")
    if isinstance(flag, Const) and flag.value:
        return library.leaf(m, state, site)
    if isinstance(flag, Unknown) and m.decide(state, ("truth", flag.key)):
        return library.leaf(m, state, site)
    return library.cut(m, state, site)


def _parameter(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    flag = given.get(1, "requires_grad")
    return library.cut(m, state, site) if flag == FALSE else library.leaf(m, state, site)


def _variable(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    flag = given.get(1, "requires_grad")
    if isinstance(flag, Const) and flag.value:
        return library.leaf(m, state, site)
    return given.positional[0] if given.positional else library.cut(m, state, site)


def _module(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    leaf = None if m.profile.parameterless(name) else m.node(state, "leaf", "parameters", (), False, site, True)
    return m.allocate(state, Module(name, leaf))


def _container(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
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


def _copy(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    if not given.positional:
        return m.unknown()
    return duplicate(m, state, given.positional[0], {}, site, deep=not name.endswith("copy.copy"))


def duplicate(m: Machine, state: State, value: Value, done: dict[Value, Value], site: p.Node, deep: bool) -> Value:
    """Return a deep copy: modules and leaves anew, graphs cut."""
    if value in done:
        return done[value]
    thing = state.object(value)
    if isinstance(thing, Module) and isinstance(value, Ref):
        leaf = None if thing.leaf is None else _twin(m, state, thing.leaf, site)
        result = m.allocate(state, thing)
        done[value] = result
        members = {k: duplicate(m, state, v, done, site, deep) for k, v in thing.attributes.items()}
        children = tuple(duplicate(m, state, v, done, site, deep) for v in thing.children)
        state.store[result.id] = replace(thing, leaf=leaf, attributes=members, children=children)
        return result
    if isinstance(thing, Tensor):
        if m.nodes[thing.node].kind == "leaf":
            result = library.tensor(m, state, _twin(m, state, thing.node, site))
        else:
            result = library.cut(m, state, site)
        done[value] = result
        return result
    if isinstance(thing, (Instance,)) and isinstance(value, Ref) and deep:
        result = m.allocate(state, thing)
        done[value] = result
        members = {k: duplicate(m, state, v, done, site, deep) for k, v in thing.attributes.items()}
        state.store[result.id] = replace(thing, attributes=members)
        return result
    if isinstance(thing, Sequence):
        return m.allocate(state, replace(thing, items=tuple(duplicate(m, state, v, done, site, deep) for v in thing.items)))
    if isinstance(thing, Table):
        return m.allocate(state, replace(thing, items=tuple((k, duplicate(m, state, v, done, site, deep)) for k, v in thing.items)))
    if isinstance(value, Unknown):
        return Unknown(("copy", value.key, m.fresh()))
    return value


def _twin(m: Machine, state: State, leaf: int, site: p.Node) -> int:
    twin = m.node(state, "leaf", m.nodes[leaf].operation, (), False, site, True)
    if state.frozen(leaf):
        state.store[("frozen", twin)] = True
    return twin


def _optimizer(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    first = given.get(0, "params")
    leaves = parameters_given(m, state, first) if first is not None else None
    own(m, leaves)
    return m.allocate(state, Optimizer(name, leaves))


def _made(role: str):  # type: ignore[no-untyped-def]
    def maker(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
        held = {str(n): v for n, v in enumerate(given.values)}
        return m.allocate(state, Instance(name, role, held))

    return maker


def _backward(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    root = given.get(0, "tensors")
    if root is not None:
        _walk(m, state, "backward", name, root, given, site)
    return NONE


def _grad(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    root, inputs = given.get(0, "outputs"), given.get(1, "inputs")
    if root is None:
        return m.unknown()
    _walk(m, state, "grad", name, root, given, site)
    create = given.get(None, "create_graph")
    kept = isinstance(create, Const) and bool(create.value)
    if create is not None and not isinstance(create, Const):
        kept = True
    node = m.node(state, "operation", "torch.autograd.grad", library.nodes_in(m, state, root), True, site) if kept else None
    result = library.tensor(m, state, node) if node is not None else library.cut(m, state, site)
    count = None if inputs is None else containers.items(m, state, inputs)
    if count is not None and len(count) <= 8 and not isinstance(inputs, Leaves):
        return Tuple((result,) * len(count))
    if inputs is not None and library.is_tensorial(m, state, inputs):
        return Tuple((result,))
    return m.allocate(state, Sequence("tuple", (result,), True))


def _walk(m: Machine, state: State, kind: str, name: str, root: Value, given: calls.Arguments, site: p.Node) -> None:
    """Run one backward or grad with the arguments of its call."""
    names = m.profile.backward_parameters.get(name, ())
    position = {n: i for i, n in enumerate(names)}

    def argument(key: str) -> Value | None:
        return given.get(position.get(key), key)

    retained = _keeps(argument(m.profile.retain_argument))
    if argument(m.profile.retain_argument) is None:
        retained = any(_keeps(argument(other)) for other in m.profile.implied_retain) or given.open
    inputs = argument("inputs")
    limit = None
    if inputs is not None and (kind == "grad" or inputs != NONE):
        limit = frozenset(library.nodes_in(m, state, inputs)) | library.leaves_behind(m, state, inputs)
    subject = site.arguments[0].value if isinstance(site, p.Call) and site.arguments else None
    if isinstance(site, p.Call) and isinstance(site.function, p.Attribute) and name.endswith("Tensor.backward"):
        subject = site.function.value
    roots = tuple(dict.fromkeys(library.nodes_in(m, state, root)))
    library.backward(m, state, kind, roots, site, subject, retained, limit)


def _keeps(value: Value | None) -> bool:
    """Tell whether a retain flag may be true; a flag that is not known is taken to be."""
    return value is not None and not (isinstance(value, Const) and not value.value)


def _clip(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    return library.cut(m, state, site)


def _init(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    return given.positional[0] if given.positional else NONE


def _checkpoint(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    if not given.positional:
        return m.unknown()
    keywords = tuple((k, v) for k, v in given.keywords if k not in ("use_reentrant", "preserve_rng_state", "context_fn"))
    return calls.call(m, state, given.positional[0], calls.Arguments(given.positional[1:], keywords, given.open), site)


def _detach(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    return library.cut(m, state, site)


def _read(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    return m.unknown()


def _iterate(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    if name.endswith("chain.from_iterable") and given.positional:
        leaves = library.leaves_behind(m, state, given.positional[0])
        return Leaves(leaves) if leaves else m.unknown()
    if name.endswith("chain"):
        if given.positional and all(isinstance(v, Leaves) for v in given.positional):
            return Leaves(frozenset().union(*(v.leaves for v in given.positional if isinstance(v, Leaves))))
        known = [containers.items(m, state, v) for v in given.positional]
        if all(k is not None for k in known):
            return m.allocate(state, Sequence("list", tuple(v for k in known for v in k or ())))
        return m.unknown()
    return given.positional[0] if given.positional else m.unknown()


def _parts(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    return unknown_call(m, state, Library(name), given, site)


_FUNCTIONS = {
    "operation": _operation,
    "in_place": _operation,
    "untracked": _untracked,
    "factory": _factory,
    "parameter": _parameter,
    "variable": _variable,
    "module": _module,
    "module-base": _module,
    "loss": _module,
    "container": _container,
    "parallel": _parallel,
    "copy": _copy,
    "optimizer": _optimizer,
    "lbfgs": _optimizer,
    "scaler": _made("scaler"),
    "scheduler": _made("scheduler"),
    "distribution": _made("distribution"),
    "accelerator": _made("accelerator"),
    "fabric": _made("fabric"),
    "metric": _made("metric"),
    "backward": _backward,
    "grad": _grad,
    "clip": _clip,
    "init": _init,
    "checkpoint": _checkpoint,
    "detach": _detach,
    "read": _read,
    "iterate": _iterate,
    "model-parts": _parts,
}


def _partial(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    if not given.positional:
        return m.unknown()
    return Partial(given.positional[0], given.positional[1:], given.keywords)


def _wraps(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    return Library("functools.cache")


def _ordered(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    return containers.builtin(m, state, "dict", given, site)


def _defaults(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    return m.allocate(state, Table((), more=True))


def _deque(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    return containers.builtin(m, state, "list", given, site)


def _thread(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Value:
    target, passed = given.get(1, "target"), given.get(3, "args")
    held: dict[str, Value] = {} if target is None else {"target": target}
    if passed is not None:
        held["args"] = passed
    return m.allocate(state, Instance("threading.Thread", "thread", held))


_SPECIAL = {
    "functools.partial": _partial,
    "functools.wraps": _wraps,
    "collections.OrderedDict": _ordered,
    "collections.defaultdict": _defaults,
    "collections.deque": _deque,
    "queue.Queue": _deque,
    "threading.Thread": _thread,
    "dataclasses.field": lambda m, state, given, site: m.unknown("field"),
}


# ---------------------------------------------------------------- methods


def method(m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a method that the program does not define."""
    thing = state.object(receiver)
    if isinstance(receiver, Super):
        return _super_method(m, state, receiver, name, given, site)
    if isinstance(receiver, Gradient):
        return _gradient_method(m, state, receiver, name, given, site)
    if isinstance(receiver, Leaves) or isinstance(thing, Tensor):
        return _tensor_method(m, state, receiver, name, given, site)
    if isinstance(thing, Module):
        return _module_method(m, state, receiver, name, given, site)
    if isinstance(thing, Optimizer):
        return _optimizer_method(m, state, receiver, name, given, site)
    if isinstance(thing, Instance):
        return _instance_method(m, state, receiver, thing, name, given, site)
    if isinstance(receiver, (Closure, Bound)):
        if name == "apply" or name == "__call__":
            return calls.call(m, state, receiver, given, site)
        return m.unknown()
    if isinstance(receiver, Ref) and isinstance(thing, type(None)) is False and not isinstance(thing, (Sequence, Table, Generator, Counter)):
        return _class_method(m, state, receiver, name, given, site)
    return containers.method(m, state, receiver, name, given, site)


def _class_method(m: Machine, state: State, receiver: Ref, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call what a class inherits from the framework: `MyFunction.apply`, `MyModel.from_pretrained`."""
    roles = [m.profile.role(base) for base in attributes.library_bases(state, receiver)]
    if name == "apply" and "autograd-function" in roles:
        return library.operation(m, state, "autograd-function", given.values, site)
    if name in ("load_from_checkpoint", "from_pretrained"):
        return calls.instantiate(m, state, receiver, calls.Arguments((), (), True), site)
    return m.unknown()


def _super_method(m: Machine, state: State, receiver: Super, name: str, given: calls.Arguments, site: p.Node) -> Value:
    thing = state.object(receiver.receiver)
    if name == "__init__":
        first = given.get(0, "params")
        if isinstance(thing, Optimizer) and first is not None and isinstance(receiver.receiver, Ref):
            leaves = parameters_given(m, state, first)
            own(m, leaves)
            state.store[receiver.receiver.id] = replace(thing, leaves=leaves)
        elif isinstance(thing, Module) and isinstance(receiver.receiver, Ref) and given.positional:
            made = _container(m, state, "torch.nn.Sequential", given, site)
            inner = state.object(made)
            if isinstance(inner, Module) and inner.children:
                state.store[receiver.receiver.id] = replace(thing, children=inner.children)
        return NONE
    if name == "__setattr__" and len(given.positional) == 2 and isinstance(given.positional[0], Const):
        attributes.write(m, state, receiver.receiver, str(given.positional[0].value), given.positional[1], site)
        return NONE
    if name == "__call__" or name == "forward":
        return library.operation(m, state, "super", [receiver.receiver, *given.values], site)
    return method(m, state, receiver.receiver, name, given, site)


def _gradient_method(m: Machine, state: State, receiver: Gradient, name: str, given: calls.Arguments, site: p.Node) -> Value:
    zero = name == "zero_" or (name in ("fill_", "mul_") and given.get(0, "value") in (Const(0), Const(0.0)))
    if zero:
        library.clear(m, state, receiver.leaves, site)
        return receiver
    if name.endswith("_"):
        return receiver
    return library.cut(m, state, site) if m.profile.method("tensor", name) != "read" else m.unknown()


def _tensor_method(m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    role = m.profile.method("tensor", name)
    if role == "backward":
        _walk(m, state, "backward", "Tensor.backward", receiver, given, site)
        return NONE
    if library.is_open(m, state, receiver) and m.profile.method("module", name) == "self":
        return receiver
    if role == "detach":
        return library.cut(m, state, site)
    if role == "detach_in_place":
        if isinstance(receiver, Ref):
            state.store[receiver.id] = Tensor(m.node(state, "cut", "", (), False, site, False))
        return receiver
    if role == "requires_grad_":
        library.set_requires_grad(m, state, receiver, given.get(0, "requires_grad") or Const(True), site)
        return receiver
    if role in ("retain_grad", "plain"):
        if name in ("size", "dim", "numel", "ndim", "__len__"):
            return Unknown(("method", receiver, name, tuple(key_of(v) for v in given.positional)))
        return m.unknown() if name != "retain_grad" else NONE
    if role == "register_hook":
        return m.unknown()
    if role in ("untracked", "factory"):
        if role == "factory" and given.get(None, "requires_grad") not in (None, FALSE):
            return library.leaf(m, state, site)
        return library.cut(m, state, site)
    if role == "read":
        return m.unknown()
    if role == "in_place":
        return _in_place(m, state, receiver, name, given, site)
    if role in ("operation", "clone", "grad"):
        return _operation(m, state, "Tensor." + name, replace(given, positional=(receiver, *given.positional)), site)
    if library.is_open(m, state, receiver):
        return unknown_call(m, state, Unknown(("attr", result_key(receiver), name)), given, site)
    return m.unknown()


def _in_place(m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    thing = state.object(receiver)
    if isinstance(receiver, Leaves) or (isinstance(thing, Tensor) and m.nodes[thing.node].kind == "leaf"):
        library.update_in_place(m, state, receiver, given.values, site)
        return receiver
    if isinstance(receiver, Ref) and isinstance(thing, Tensor):
        if state.recording in ("off", "inference"):
            return receiver
        saves = m.profile.saves("Tensor." + name)
        parents = tuple(n for v in (receiver, *given.values) for n in library.nodes_in(m, state, v))
        state.store[receiver.id] = Tensor(m.node(state, "operation", name, parents, saves, site))
    return receiver


def _module_method(m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    role = m.profile.method("module", name)
    thing = state.object(receiver)
    assert isinstance(thing, Module) and isinstance(receiver, Ref)
    if role == "call":
        return forward(m, state, receiver, given, site)
    if role in ("eval", "train"):
        mode = role == "train"
        flag = given.get(0, "mode")
        own_train = attributes.find(state, thing.cls, "train") if isinstance(thing.cls, Ref) else None
        if role == "eval" and own_train is not None:
            bound = attributes.bind(m, state, own_train, receiver, site)
            calls.call(m, state, bound, calls.Arguments((FALSE,)), site)
            return receiver
        if role == "train" and flag is not None:
            mode = expressions.decided(m, state, flag)
        set_mode(m, state, receiver, mode, site)
        return receiver
    if role == "clear":
        library.clear(m, state, library.module_leaves(m, state, receiver), site)
        return NONE
    if role == "parameters":
        return Leaves(library.module_leaves(m, state, receiver))
    if role == "named_parameters":
        leaves = Leaves(library.module_leaves(m, state, receiver), single=True)
        return m.allocate(state, Sequence("list", (Tuple((m.unknown("name"), leaves)),)))
    if role == "requires_grad_":
        flag = given.get(0, "requires_grad") or Const(True)
        library.set_requires_grad(m, state, Leaves(library.module_leaves(m, state, receiver)), flag, site)
        return receiver
    if role == "self":
        return receiver
    if role == "modules":
        found = sorted(library.members(state, receiver), key=lambda v: v.id if isinstance(v, Ref) else 0)
        if name in ("children", "named_children"):
            found = [v for v in [*thing.children, *thing.attributes.values()] if isinstance(state.object(v), Module)]
        if name.startswith("named"):
            found = [Tuple((m.unknown("name"), v)) for v in found]
        return m.allocate(state, Sequence("list", tuple(found[:6]), len(found) > 6))
    if name in ("register_buffer", "register_parameter", "add_module", "register_module") and len(given.positional) > 1:
        key = given.positional[0]
        if isinstance(key, Const):
            attributes.write(m, state, receiver, str(key.value), given.positional[1], site)
        elif isinstance(state.object(given.positional[1]), Module):
            attributes.write(m, state, receiver, f"member{m.fresh()}", given.positional[1], site)
        if name in ("add_module", "register_module") and not thing.attributes.get(str(key_of(key))):
            inner = state.object(receiver)
            assert isinstance(inner, Module)
            state.store[receiver.id] = replace(inner, children=(*inner.children, given.positional[1]))
        return NONE
    if name == "append" and given.positional:
        state.store[receiver.id] = replace(thing, children=(*thing.children, given.positional[0]))
        return receiver
    if name in ("items", "values", "keys"):
        pairs = tuple((Const(k), v) for k, v in thing.attributes.items())
        return containers.method(m, state, m.allocate(state, Table(pairs)), name, given, site)
    if "hook" in name:
        state.store[receiver.id] = replace(thing, hooked=True)
        return m.unknown()
    if role in ("plain", "state", "load"):
        return m.unknown()
    base = _base(m, state, thing.cls)
    if base is not None and base.methods.get(name) == "backward" and given.positional:
        _walk(m, state, "backward", "manual_backward", given.positional[0], given, site)
        return NONE
    if base is not None and name in base.methods:
        return m.unknown()
    return unknown_call(m, state, Unknown(("attr", receiver, name)), replace(given, positional=(receiver, *given.positional)), site)


def _base(m: Machine, state: State, cls: Ref | str):  # type: ignore[no-untyped-def]
    names = attributes.library_bases(state, cls) if isinstance(cls, Ref) else [cls]
    return next((b for b in (m.profile.base(n) for n in names) if b is not None), None)


def set_mode(m: Machine, state: State, module: Ref, training: bool, site: p.Node) -> None:
    """Put a module and everything in it into a mode; members with a `train` of their own run it."""
    thing = state.object(module)
    assert isinstance(thing, Module)
    state.store[module.id] = replace(thing, training=training)
    for member in dict.fromkeys([*thing.children, *thing.attributes.values()]):
        inner = state.object(member)
        if not isinstance(inner, Module) or not isinstance(member, Ref) or inner.training is training:
            continue
        own = attributes.find(state, inner.cls, "train") if isinstance(inner.cls, Ref) else None
        if own is not None:
            bound = attributes.bind(m, state, own, member, site)
            calls.call(m, state, bound, calls.Arguments((Const(training),)), site)
        else:
            set_mode(m, state, member, training, site)


def _optimizer_method(m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    role = m.profile.method("optimizer", name)
    thing = state.object(receiver)
    assert isinstance(thing, Optimizer) and isinstance(receiver, Ref)
    if role == "clear":
        library.clear(m, state, thing.leaves, site)
        return NONE
    if role == "step":
        return _step(m, state, receiver, given, site)
    if role == "add_param_group" and given.positional:
        added = parameters_given(m, state, given.positional[0])
        leaves = None if added is None or thing.leaves is None else thing.leaves | added
        own(m, leaves)
        state.store[receiver.id] = replace(thing, leaves=leaves)
        return NONE
    if role:
        return m.unknown()
    return unknown_call(m, state, Unknown(("attr", receiver, name)), replace(given, positional=(receiver, *given.positional)), site)


def _step(
    m: Machine, state: State, optimizer: Value, given: calls.Arguments, site: p.Node, handed: bool = False
) -> Value:
    thing = state.object(optimizer)
    subject: p.Node | None = None
    if isinstance(site, p.Call) and isinstance(site.function, p.Attribute):
        subject = site.arguments[0].value if handed else site.function.value
    closure = given.get(0, "closure")
    result: Value = NONE
    if closure is not None and closure != NONE:
        many = isinstance(thing, Optimizer) and isinstance(thing.cls, str) and m.profile.role(thing.cls) == "lbfgs"
        before, mark = state.turn, m.fresh()
        for number in range(2 if many else 1):
            state.turn = (*before, (mark, number)) if many else before
            scope, state.recording = state.recording, "on"
            result = calls.call(m, state, closure, calls.Arguments(), site)
            state.recording = scope
            library.step(m, state, optimizer, site, subject)
        state.turn = before
        return result
    library.step(m, state, optimizer, site, subject)
    return result


def _instance_method(m: Machine, state: State, receiver: Value, thing: Instance, name: str, given: calls.Arguments, site: p.Node) -> Value:
    role = thing.role
    first = given.positional[0] if given.positional else None
    if role == "scaler":
        job = m.profile.method("scaler", name)
        if job == "scale" and first is not None:
            return library.operation(m, state, "*", [first], site)
        if job == "step" and first is not None:
            return step_of(m, state, first, replace(given, positional=given.positional[1:]), site)
        return m.unknown()
    if role == "distribution":
        job = m.profile.method("distribution", name)
        if job == "operation":
            return library.operation(m, state, "distribution." + name, [*thing.attributes.values(), *given.values], site)
        return library.cut(m, state, site) if job in ("untracked", "detach") else m.unknown()
    if role in ("accelerator", "fabric"):
        return _assistant(m, state, receiver, role, name, given, site)
    if role in ("scheduler", "metric"):
        return m.unknown()
    if role == "thread":
        if name == "start" and "target" in thing.attributes:
            passed = thing.attributes.get("args")
            values = containers.items(m, state, passed) if passed is not None else []
            scope, state.recording = state.recording, "on"
            calls.call(m, state, thing.attributes["target"], calls.Arguments(tuple(values or ())), site)
            state.recording = scope
        return NONE
    if isinstance(thing.cls, Ref):
        base = _base(m, state, thing.cls)
        if base is None and not attributes.unknown_bases(state, thing.cls) and not attributes.library_bases(state, thing.cls):
            return m.unknown()
    return unknown_call(m, state, Unknown(("attr", receiver, name)), replace(given, positional=(receiver, *given.positional)), site)


def _assistant(m: Machine, state: State, receiver: Value, role: str, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a method of an Accelerator or Fabric object."""
    job = m.profile.method(role, name)
    first = given.positional[0] if given.positional else None
    if job == "backward" and first is not None:
        scaled = library.operation(m, state, "*", [first], site)
        _walk(m, state, "backward", role + ".backward", scaled, given, site)
        return NONE
    if job in ("prepare", "setup", "unwrap", "module", "gather") and first is not None:
        return first if len(given.positional) == 1 else Tuple(given.positional)
    if job in ("accumulate", "no_backward_sync"):
        return Scope("accumulate", site)
    if job == "autocast":
        return Scope("neutral", site)
    return m.unknown()


def step_of(m: Machine, state: State, optimizer: Value, given: calls.Arguments, site: p.Node) -> Value:
    """Step an optimizer that a scaler or trainer was handed."""
    thing = state.object(optimizer)
    if isinstance(thing, (Optimizer, Instance)) and isinstance(thing.cls, Ref):
        found = attributes.find(state, thing.cls, "step")
        if found is not None:
            return calls.call(m, state, attributes.bind(m, state, found, optimizer, site), given, site)
    return _step(m, state, optimizer, given, site, handed=True)


# ---------------------------------------------------------------- forwards


def forward(m: Machine, state: State, module: Value, given: calls.Arguments, site: p.Node) -> Value:
    """Call a network."""
    thing = state.object(module)
    assert isinstance(thing, Module)
    outermost = state.forwards == 0
    state.forwards += 1
    found = attributes.find(state, thing.cls, "forward") if isinstance(thing.cls, Ref) else None
    if found is not None:
        result = calls.call(m, state, attributes.bind(m, state, found, module, site), given, site)
    elif thing.children and isinstance(thing.cls, str) and not thing.cls.endswith(("List", "Dict")):
        result = given.positional[0] if given.positional else m.unknown()
        for child in thing.children:
            result = calls.call(m, state, child, calls.Arguments((result,)), site)
    else:
        leaves = library.module_leaves(m, state, module)
        name = thing.cls if isinstance(thing.cls, str) else "module"
        values = [*given.values, Leaves(leaves, single=True)]
        result = library.operation(m, state, name, values, site)
        if name.rsplit(".", 1)[-1] in ("LSTM", "GRU", "RNN", "MultiheadAttention"):
            result = Tuple((result, _again(m, state, result, site)))
    state.forwards -= 1
    if outermost:
        m.forwards.append((site, frozenset(library.nodes_in(m, state, result, sources=False))))
    if outermost and thing.training is False and not thing.hooked:
        record(m, state, library.module_leaves(m, state, module), given, result, site)
    return result


def record(m: Machine, state: State, leaves: frozenset[int], given: calls.Arguments, result: Value, site: p.Node) -> None:
    """Remember a recorded forward of a network in eval mode, in a loop."""
    if state.recording != "on" or not state.looping or state.muted:
        return
    nodes = frozenset(
        n for n in library.nodes_in(m, state, result, sources=False) if m.nodes[n].requires_grad is not False
    )
    live = frozenset(one for one in leaves if not state.frozen(one))
    if not nodes or not live:
        return
    if any(m.nodes[n].requires_grad for v in given.values for n in library.nodes_in(m, state, v)):
        return
    event = m.event(state, "forward", site, site, object=live)
    m.recorded[min(nodes)] = (event, nodes)


# ---------------------------------------------------------------- unknown code


def opaque(m: Machine, state: State, callee: Value, given: calls.Arguments, site: p.Node) -> Value:
    """Return the result of code that is not followed."""
    parents = tuple(n for v in given.values for n in library.nodes_in(m, state, v))
    return library.tensor(m, state, m.node(state, "call", "call", parents, None, site, None, key_of(callee)))


def foreign_call(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a library that has nothing to do with training: it reads what it is given, and may keep it."""
    heavy = tuple(v for v in given.values if not isinstance(v, (Const, Unknown)))
    iterates = name.startswith("tqdm") and given.positional
    if iterates:
        return given.positional[0]
    result = m.unknown("foreign")
    if any(isinstance(state.object(v), (Module, Optimizer)) or isinstance(v, (Closure, Bound)) for v in library.reachable(m, state, heavy)):
        state.store[("held", result.key)] = heavy
        library.havoc(m, state, [v for v in heavy if not library.is_tensorial(m, state, v)])
    return result


def result_key(value: Value) -> Key:
    """Return the key under which the result of an unknown call is known as a network or optimizer."""
    return ("result", value)


def unknown_call(m: Machine, state: State, callee: Value, given: calls.Arguments, site: p.Node) -> Value:
    """Call something of which nothing is known; it may do anything to what it is handed."""
    if library.is_open(m, state, callee):
        member = state.store.get(("member", callee))
        callee = Unknown(result_key(callee) if member is None else ("attr", result_key(member[0]), member[1]))
    key = key_of(callee)
    if isinstance(callee, Unknown) and isinstance(key, tuple) and len(key) == 3 and key[0] == "attr":
        result = _named_method(m, state, key[1], str(key[2]), given, site)
        if result is not None:
            return result
    values = given.values
    held = tuple(v for part in _bases(key) for v in state.store.get(("held", part), ()))
    library.havoc(m, state, [*(v for v in values if not library.is_tensorial(m, state, v)), *held])
    parents = [n for v in values for n in library.nodes_in(m, state, v)]
    for value in values:
        if isinstance(state.object(value), Module):
            parents += library.module_leaves(m, state, value)
        elif isinstance(value, Unknown) and value.key in m.evidence:
            parents.append(library.leaf_of(m, value.key))
    network = _network(m, key)
    leaf = library.leaf_of(m, network if network is not None else key)
    if isinstance(callee, (Unknown, Library)) and state.recording in ("on", None):
        parents.append(leaf)
    outermost = state.forwards == 0
    sure = True if network is not None and not state.frozen(leaf) else None
    node = m.node(state, "call", "call", tuple(parents), None, site, sure, network if network is not None else key)
    result = library.tensor(m, state, node)
    m.forwards.append((site, frozenset({node})))
    if outermost and network is not None and network == key and state.store.get(("mode", network)) is False:
        record(m, state, frozenset({leaf}), given, result, site)
    return result


def _bases(key: Key) -> list[Key]:
    found = [key]
    while isinstance(key, tuple) and len(key) == 3 and key[0] in ("attr", "item"):
        key = key[1]
        found.append(key)
    return found


def _network(m: Machine, key: Key) -> Key | None:
    """Return the key of the network that a call goes to: the callee, or what it is a member or method of."""
    return next((part for part in _bases(key) if part in m.evidence), None)


def _named_method(m: Machine, state: State, base: Key, name: str, given: calls.Arguments, site: p.Node) -> Value | None:
    """Call a method on an unknown receiver: known by its name where its arguments or its use leave no doubt."""
    receiver = Unknown(base) if not isinstance(base, (Ref, Leaves)) else base
    tensors = [v for v in given.positional if library.is_tensorial(m, state, v)]
    if m.profile.method("tensor", name) == "backward":
        if not (isinstance(state.statement, p.Evaluate) and state.statement.value is site):
            return None
        if tensors:
            _walk(m, state, "backward", "engine.backward", tensors[0], given, site)
        elif isinstance(receiver, Unknown) and not given.positional:
            _walk(m, state, "backward", "Tensor.backward", receiver, given, site)
        return NONE
    if not isinstance(receiver, Unknown):
        return None
    if name == "manual_backward" and given.positional:
        _walk(m, state, "backward", "manual_backward", given.positional[0], given, site)
        return NONE
    if m.profile.method("optimizer", name) == "clear":
        m.clears_seen.add(base)
        library.clear(m, state, None, site)
        library.clear(m, state, frozenset({library.leaf_of(m, base)}), site)
        return NONE
    if m.profile.method("optimizer", name) == "step":
        stepped = next((v for v in given.positional if isinstance(state.object(v), Optimizer)), None)
        if stepped is not None:
            return step_of(m, state, stepped, calls.Arguments(), site)
        if given.positional and not isinstance(given.positional[0], (Const, Unknown)):
            return None
        if base in m.clears_seen:
            library.step(m, state, receiver, site, None)
        held = [v for part in _bases(base) for v in state.store.get(("held", part), ())]
        library.havoc(m, state, held)
        return m.unknown()
    if name in ("eval", "train"):
        flag = given.get(0, "mode")
        m.evidence.add(base)
        if name == "train" and flag is not None and not isinstance(flag, Const):
            state.store[("mode", base)] = expressions.decided(m, state, flag)
        else:
            state.store[("mode", base)] = name == "train" and not (isinstance(flag, Const) and not flag.value)
        return receiver
    if name in ("parameters", "named_parameters"):
        trained(m, base)
        leaves = Leaves(frozenset({library.leaf_of(m, base)}))
        if name == "parameters":
            return leaves
        pair = Tuple((m.unknown("name"), replace(leaves, single=True)))
        return m.allocate(state, Sequence("list", (pair,)))
    if name == "requires_grad_":
        library.set_requires_grad(m, state, receiver, given.get(0, "requires_grad") or Const(True), site)
        return receiver
    if name == "scale" and tensors:
        return library.operation(m, state, "*", tensors, site)
    if name in ("update", "unscale_", "get_scale", "state_dict", "load_state_dict", "info", "debug", "warning", "log", "write", "close", "add_scalar", "set_postfix", "set_description", "append"):
        if name == "append":
            library.escape(m, state, given.values)
        return m.unknown()
    role = m.profile.method("tensor", name)
    module_role = m.profile.method("module", name)
    if module_role == "self" or name in ("to", "cuda", "cpu", "float", "half"):
        return receiver
    if role and not tensors and base not in m.evidence:
        if role in ("operation", "clone", "in_place"):
            return Unknown(("method", base, name, tuple(key_of(v) for v in given.positional)))
        if role in ("detach", "untracked"):
            return library.cut(m, state, site)
        if role in ("plain", "read"):
            return Unknown(("method", base, name, tuple(key_of(v) for v in given.positional)))
    if role and tensors and base not in m.evidence:
        return library.operation(m, state, "Tensor." + name, [receiver, *given.positional], site)
    if name in ("items", "values", "keys", "get", "split", "strip", "format", "join", "lower", "startswith", "endswith"):
        return Unknown(("method", base, name, tuple(key_of(v) for v in given.positional)))
    return None


__all__ = ["Gradient", "function", "method"]
