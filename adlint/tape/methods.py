"""Methods that the program does not define: of tensors, networks, optimizers, scalers and other objects with a role."""

from __future__ import annotations

from dataclasses import replace

from adlint import program as p
from adlint.tape import (
    attributes,
    calls,
    clips,
    collecting,
    containers,
    copies,
    cuts,
    framework,
    functional,
    hooks,
    leaves,
    library,
    modes,
    shapes,
    tapes,
    unseen,
    updates,
)
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    FALSE,
    NONE,
    Bound,
    Builtin,
    Class,
    Closure,
    Const,
    Counter,
    Generator,
    Gradient,
    Instance,
    Leaves,
    Module,
    Optimizer,
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


def method(m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a method that the program does not define."""
    thing = state.object(receiver)
    if isinstance(receiver, Const) and m.profile.method("tensor", name) == "backward":
        cuts.backward_of_number(m, state, receiver, m.event(state, "backward", site, _receiver(site)))
        return NONE
    if isinstance(receiver, Super):
        return _super_method(m, state, receiver, name, given, site)
    if name == "__setattr__" and len(given.positional) == 2 and isinstance(given.positional[0], Const):
        attributes.write(m, state, receiver, str(given.positional[0].value), given.positional[1], site)
        return NONE
    if receiver == Builtin("object") and given.positional:
        return _object_method(m, state, name, given, site)
    if (holder := attributes.owner(receiver)) is not None:
        return _dict_method(m, state, holder, name, given, site)
    if isinstance(receiver, Scope):
        return _scope_method(m, state, receiver, name, given, site)
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
    if (
        isinstance(receiver, Ref)
        and isinstance(thing, type(None)) is False
        and not isinstance(thing, (Sequence, Table, Generator, Counter))
    ):
        return _class_method(m, state, receiver, name, given, site)
    return collecting.method(m, state, receiver, name, given, site)


def _object_method(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a method of `object` itself, as in `object.__setattr__(self, name, value)`."""
    first, rest = given.positional[0], replace(given, positional=given.positional[1:])
    if name == "__new__" and isinstance(state.object(first), Class):
        assert isinstance(first, Ref)
        return calls.blank(m, state, first, rest, site)
    return method(m, state, first, name, rest, site) if name == "__setattr__" else m.unknown()


def _dict_method(m: Machine, state: State, holder: Ref, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a method of the dict of an object's attributes."""
    thing = state.object(holder)
    assert isinstance(thing, (Module, Optimizer, Instance))
    table = m.allocate(state, Table(tuple((Const(k), v) for k, v in thing.attributes.items()), True))
    result = collecting.method(m, state, table, name, given, site)
    after = state.object(table)
    if name in ("update", "setdefault", "pop", "clear") and isinstance(after, Table):
        known = {str(k.value): v for k, v in after.items if isinstance(k, Const)}
        state.store[holder.id] = replace(thing, attributes=known)
        if any(collecting.pairs(m, state, one)[1] for one in given.positional if name == "update"):
            attributes.blur(m, state, holder)
    return result


def _receiver(site: p.Node) -> p.Node | None:
    return site.function.value if isinstance(site, p.Call) and isinstance(site.function, p.Attribute) else None


def _scope_method(m: Machine, state: State, receiver: Scope, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a method of a context: an ExitStack enters other contexts, which last as long as it does."""
    first = given.positional[0] if given.positional else NONE
    if name == "__enter__":
        state.store[("outer", receiver)] = (state.recording, state.scope)
        calls.enter_scope(state, receiver)
        return receiver
    if name in ("__exit__", "close"):
        state.recording, state.scope = state.store.pop(("outer", receiver), (state.recording, state.scope))
        return NONE
    if name == "callback":
        calls.call(m, state, first, replace(given, positional=given.positional[1:]), site)
    if name == "enter_context":
        manager = state.object(first)
        if isinstance(first, Scope):
            calls.enter_scope(state, first)
        elif isinstance(manager, Generator):
            held = [v for key, v in state.store.items() if type(key) is tuple and key[0] == manager.frame]
            library.havoc(m, state, held)
            modes.forget(m, state, [], held)
        elif not calls.is_neutral(m, state, first) and state.recording == "on":
            state.recording = None
    return first


def _unfollowed(m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a method of which nothing is known; it may do anything to its receiver too."""
    both = replace(given, positional=(receiver, *given.positional))
    return unseen.unknown_call(m, state, Unknown(("attr", receiver, name)), both, site)


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
        if isinstance(thing, Optimizer) and given.values and isinstance(receiver.receiver, Ref):
            leaves = framework.owned(m, state, given)
            framework.own(m, leaves)
            state.store[receiver.receiver.id] = replace(thing, leaves=leaves)
        elif isinstance(thing, Module) and isinstance(receiver.receiver, Ref) and given.positional:
            made = framework.container(m, state, "torch.nn.Sequential", given, site)
            inner = state.object(made)
            if isinstance(inner, Module) and inner.children:
                state.store[receiver.receiver.id] = replace(thing, children=inner.children)
        return NONE
    if name == "__new__" and given.positional:
        return _object_method(m, state, name, given, site)
    if name == "__call__" or name == "forward":
        return library.operation(m, state, "super", [receiver.receiver, *given.values], site)
    return method(m, state, receiver.receiver, name, given, site)


RESCALING = frozenset({"add_", "sub_", "mul_", "div_", "clamp_", "detach_", "nan_to_num_", "requires_grad_"})
"""What is done to gradients in place without forgetting them; anything else overwrites them."""


def _gradient_method(
    m: Machine, state: State, receiver: Gradient, name: str, given: calls.Arguments, site: p.Node
) -> Value:
    if name.endswith("_"):
        nothing = any(v in (Const(0), Const(0.0)) or isinstance(v, Gradient) for v in given.values)
        if name == "zero_" or (nothing and name in ("mul_", "fill_")):
            updates.clear(m, state, receiver.leaves, site)
        elif name not in RESCALING or (nothing and name != "add_"):
            updates.overwrite(m, state, receiver.leaves, site)
        return receiver
    return library.cut(m, state, site) if m.profile.method("tensor", name) != "read" else m.unknown()


def _tensor_method(m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    role = m.profile.method("tensor", name)
    if role == "backward":
        if library.is_open(m, state, receiver) and given.positional:
            library.escape(m, state, [receiver, *given.values])
            return m.unknown()
        called = f"Tensor.{name}" if f"Tensor.{name}" in m.profile.backward_parameters else "Tensor.backward"
        framework.walk(m, state, "backward", called, receiver, given, site)
        return receiver if "backward" in m.profile.fluent else NONE
    if library.is_open(m, state, receiver) and m.profile.method("module", name) == "self":
        return receiver
    if role == "clear":
        updates.clear(m, state, library.leaves_behind(m, state, receiver), site)
        return NONE
    behind = library.nodes_in(m, state, receiver)
    if role == "detach":
        return shapes.keep(m, state, library.cut(m, state, site, "detach", behind), shapes.of(m, state, receiver))
    if role == "sever" and library.leaves_behind(m, state, receiver):
        return receiver
    if role in ("detach_in_place", "sever"):
        if isinstance(receiver, Ref):
            made = m.node(state, "cut", "", (), False, site, False, cut="detach", behind=behind)
            state.store[receiver.id] = Tensor(made)
        elif isinstance(receiver, Leaves) and not receiver.data:
            library.set_requires_grad(m, state, receiver, FALSE, site)
        return receiver
    if role == "leaf":
        return library.leaf(m, state, site)
    if role == "take":
        return updates.taken(m, state, receiver, site)
    if role == "requires_grad_":
        library.set_requires_grad(m, state, receiver, given.get(0, "requires_grad") or Const(True), site)
        return receiver
    if name in MEASURES:
        known = shapes.measured(m, state, receiver, name, given.get(0, "dim"))
        return known or Unknown(("method", receiver, name, tuple(key_of(v) for v in given.positional)))
    if role == "retain_grad":
        leaves.retain(m, state, receiver)
        return NONE
    if role == "plain":
        return m.unknown()
    if role == "register_hook":
        m.hooked = True
        return m.unknown()
    if role in ("untracked", "factory"):
        if role == "factory" and given.get(None, "requires_grad") not in (None, FALSE):
            why, nodes = framework.rewrapped(m, state, name, given)
            return library.leaf(m, state, site, why if nodes else "", nodes)
        if role == "untracked":
            return library.cut(m, state, site, "untracked", behind)
        return library.cut(m, state, site, *framework.rewrapped(m, state, name, given))
    if role == "read":
        return cuts.reading(m, state, receiver, site)
    if role == "in_place":
        return _in_place(m, state, receiver, name, given, site)
    if role in ("operation", "clone", "grad"):
        return framework.operation(
            m, state, "Tensor." + name, replace(given, positional=(receiver, *given.positional)), site
        )
    if library.is_open(m, state, receiver):
        return unseen.unknown_call(m, state, Unknown(("attr", unseen.result_key(receiver), name)), given, site)
    return m.unknown()


MEASURES = frozenset({"__len__", "dim", "ndim", "ndimension", "nelement", "numel", "size"})

UNRECORDED = frozenset({"logical_and_", "logical_not_", "logical_or_", "logical_xor_"})
"""What changes a tensor in place without being recorded, so that a leaf allows it."""


def _in_place(m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    thing = state.object(receiver)
    if name not in UNRECORDED:
        subject = site.function.value if isinstance(site, p.Call) and isinstance(site.function, p.Attribute) else None
        leaves.updated(m, state, receiver, given.values, site, subject)
    if isinstance(receiver, Leaves) or (isinstance(thing, Tensor) and m.nodes[thing.node].kind == "leaf"):
        updates.update_in_place(m, state, receiver, given.values, site)
        return receiver
    if isinstance(receiver, Ref) and isinstance(thing, Tensor):
        if state.recording in ("off", "inference"):
            return receiver
        saves = m.profile.saves("Tensor." + name)
        parents = tuple(n for v in (receiver, *given.values) for n in library.nodes_in(m, state, v))
        changed = m.node(state, "operation", name, parents, saves, site)
        leaves.moved(state, thing.node, changed)
        shapes.same(m, thing.node, changed)
        state.store[receiver.id] = Tensor(changed)
    return receiver


def _module_method(m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    role = m.profile.method("module", name)
    thing = state.object(receiver)
    assert isinstance(thing, Module)
    assert isinstance(receiver, Ref)
    if isinstance(thing.cls, str) and m.profile.role(thing.cls) == "deepspeed":
        job, first = m.profile.method("deepspeed", name), given.get(0, "loss")
        if job == "backward" and first is not None:
            framework.walk(m, state, "backward", "manual_backward", first, given, site)
            return NONE
        if job == "step-and-clear":
            _step(m, state, thing.attributes["optimizer"], calls.Arguments(), site)
            updates.clear(m, state, library.module_leaves(m, state, receiver), site, receiver)
            return NONE
    if role == "call":
        return unseen.forward(m, state, receiver, given, site)
    if role in ("eval", "train"):
        modes.of_module(m, state, receiver, given, role == "train", site)
        return receiver
    if role == "clear":
        updates.clear(m, state, library.module_leaves(m, state, receiver), site, receiver)
        return NONE
    if role == "inference":
        copy = copies.duplicate(m, state, receiver, {}, site, deep=True)
        library.set_requires_grad(m, state, Leaves(library.module_leaves(m, state, copy)), FALSE, site)
        return copy
    if role == "parameters":
        return Leaves(library.module_leaves(m, state, receiver))
    if role == "named_parameters":
        leaves = Leaves(library.module_leaves(m, state, receiver), single=True)
        return m.allocate(state, Sequence("list", (Tuple((m.unknown("name"), leaves)),)))
    if role == "requires_grad_":
        flag = given.get(0, "requires_grad") or Const(True)
        library.set_requires_grad(m, state, Leaves(library.module_leaves(m, state, receiver)), flag, site)
        return receiver
    if name == "apply" and given.positional:
        for one in sorted(library.members(state, receiver), key=lambda v: v.id if isinstance(v, Ref) else 0)[:8]:
            calls.call(m, state, given.positional[0], calls.Arguments((one,)), site)
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
        plain = all(k.isidentifier() for k in thing.attributes)
        pairs = tuple((Const(k) if plain else m.unknown("name"), v) for k, v in thing.attributes.items())
        return collecting.method(m, state, m.allocate(state, Table(pairs, not plain)), name, given, site)
    if "hook" in name:
        state.store[receiver.id] = replace(thing, hooked=True)
        m.hooked = m.hooked or "backward" in name
        if name in ("register_forward_pre_hook", "register_forward_hook") and given.positional:
            state.store[(name, receiver.id)] = (*state.store.get((name, receiver.id), ()), given.positional[0])
        return m.unknown()
    if role in ("plain", "state", "load"):
        return m.unknown()
    base = attributes.library_base(m, state, thing.cls)
    if base is not None and name in base.methods:
        return hooks.inherited(m, state, receiver, base, name, given, site)
    return _unfollowed(m, state, receiver, name, given, site)


def _optimizer_method(
    m: Machine, state: State, receiver: Value, name: str, given: calls.Arguments, site: p.Node
) -> Value:
    role = m.profile.method("optimizer", name)
    thing = state.object(receiver)
    assert isinstance(thing, Optimizer)
    assert isinstance(receiver, Ref)
    first = given.positional[0] if given.positional else None
    if role == "clear":
        updates.clear(m, state, thing.leaves, site, receiver)
        return NONE
    if role == "step":
        return _step(m, state, receiver, given, site)
    if role == "minimize":
        return _step(m, state, receiver, calls.Arguments(), site)
    if role in ("backward", "descend") and first is not None:
        _backward_scaled(m, state, "manual_backward", first, given, site)
        if role == "descend":
            _step(m, state, receiver, calls.Arguments(), site)
            updates.clear(m, state, thing.leaves, site, receiver)
        return NONE
    if role == "autocast":
        return Scope("neutral", site)
    if role == "apply":
        return applied(m, state, receiver, given, site)
    if role == "built":
        return receiver
    if role == "setup" and first is not None:
        owned = framework.parameters_given(m, state, first)
        framework.own(m, owned)
        state.store[receiver.id] = replace(thing, leaves=owned, attributes={**thing.attributes, "target": first})
        return receiver
    if role == "update":
        if first is None:
            return _step(m, state, receiver, given, site)
        updates.clear(m, state, thing.leaves, site, receiver)
        library.havoc(m, state, given.values)
        return NONE
    if role == "add_param_group" and given.positional:
        added = framework.parameters_given(m, state, given.positional[0])
        leaves = None if added is None or thing.leaves is None else thing.leaves | added
        framework.own(m, leaves)
        state.store[receiver.id] = replace(thing, leaves=leaves)
        return NONE
    if name.startswith("register_step") and given.positional:
        state.store[("hooks", receiver.id)] = (*state.store.get(("hooks", receiver.id), ()), given.positional[0])
        return m.unknown()
    if role:
        return m.unknown()
    return _unfollowed(m, state, receiver, name, given, site)


def _backward_scaled(m: Machine, state: State, called: str, loss: Value, given: calls.Arguments, site: p.Node) -> None:
    """Backpropagate a loss through an object that scales it first."""
    scaled = library.operation(m, state, "*", [loss], site)
    framework.walk(m, state, "backward", called, scaled, given, site)


def applied(m: Machine, state: State, optimizer: Value, given: calls.Arguments, site: p.Node) -> Value:
    """Step an optimizer that hands the network back that it was given beside the gradients."""
    _step(m, state, optimizer, calls.Arguments(), site)
    return given.get(1, "module") or m.unknown()


def _step(
    m: Machine, state: State, optimizer: Value, given: calls.Arguments, site: p.Node, handed: bool = False
) -> Value:
    thing = state.object(optimizer)
    subject: p.Node | None = None
    if isinstance(site, p.Call) and isinstance(site.function, p.Attribute):
        subject = site.arguments[0].value if handed else site.function.value
    closure = given.get(0, "closure")
    result: Value = optimizer if "step" in m.profile.fluent else NONE
    if closure is not None and closure != NONE:
        many = isinstance(thing, Optimizer) and isinstance(thing.cls, str) and m.profile.role(thing.cls) == "lbfgs"
        before, mark = state.turn, m.fresh()
        for number in range(2 if many else 1):
            state.turn = (*before, (mark, number)) if many else before
            scope, state.recording = state.recording, "on"
            result = calls.call(m, state, closure, calls.Arguments(), site)
            state.recording = scope
            updates.step(m, state, optimizer, site, subject)
        state.turn = before
        return result
    updates.step(m, state, optimizer, site, subject)
    hooks = state.store.get(("hooks", optimizer.id), ()) if isinstance(optimizer, Ref) else ()
    for hook in hooks:
        calls.call(m, state, hook, calls.Arguments((optimizer, m.unknown(), m.unknown())), site)
    return result


def _instance_method(
    m: Machine, state: State, receiver: Value, thing: Instance, name: str, given: calls.Arguments, site: p.Node
) -> Value:
    role = thing.role
    first = given.positional[0] if given.positional else None
    if role == "scaler":
        job = m.profile.method("scaler", name)
        if job == "scale" and first is not None:
            return clips.scale(m, state, receiver, [first], site)
        if job == "minimize" and first is not None:
            return step_of(m, state, first, calls.Arguments(), site)
        if job == "unscale":
            clips.unscale(m, state, first, site)
        if job == "step" and first is not None:
            return step_of(m, state, first, replace(given, positional=given.positional[1:]), site)
        return m.unknown()
    if role == "runtime":
        return _runtime_method(m, state, name, given, site)
    if role == "manager":
        job = m.profile.method("manager", name)
        if job == "backward" and first is not None:
            framework.walk(m, state, "backward", "manager.backward", first, given, site)
            return NONE
        return receiver if job == "self" else m.unknown()
    if role == "tape":
        return tapes.method(m, state, receiver, name, given, site)
    if role == "distribution":
        job = m.profile.method("distribution", name)
        if job == "operation":
            return library.operation(
                m, state, "distribution." + name, [*thing.attributes.values(), *given.values], site
            )
        if job not in ("untracked", "detach"):
            return m.unknown()
        behind = tuple(n for v in thing.attributes.values() for n in library.nodes_in(m, state, v))
        return library.cut(m, state, site, str(job), behind)
    if role == "engine" and isinstance(receiver, Ref):
        return hooks.engine(m, state, receiver, thing, name, given, site)
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
        base = attributes.library_base(m, state, thing.cls)
        if (
            base is None
            and not attributes.unknown_bases(state, thing.cls)
            and not attributes.library_bases(state, thing.cls)
        ):
            return m.unknown()
    return _unfollowed(m, state, receiver, name, given, site)


HANDED_BACK = ("module", "optimizer", "criterion", "data_loader")
"""What is given by keyword to a method that hands it back, in this order."""


def _assistant(
    m: Machine, state: State, receiver: Value, role: str, name: str, given: calls.Arguments, site: p.Node
) -> Value:
    """Call a method of an Accelerator or Fabric object."""
    job = m.profile.method(role, name)
    first = given.positional[0] if given.positional else None
    if job == "backward" and first is not None:
        _backward_scaled(m, state, role + ".backward", first, given, site)
        return NONE
    words = dict(given.keywords)
    parts = (*given.positional, *(words[key] for key in HANDED_BACK if key in words))
    if job in ("prepare", "setup", "unwrap", "module", "gather") and parts:
        return parts[0] if len(parts) == 1 else Tuple(parts)
    if job == "clip":
        clips.clip(m, state, first, given.get(1, "max_norm"), site)
    if job in ("accumulate", "no_backward_sync"):
        return Scope("accumulate", site)
    if job == "autocast":
        return Scope("neutral", site)
    return m.unknown()


def _runtime_method(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a method of an object that makes tensors and differentiates."""
    job = m.profile.method("runtime", name)
    if job in ("leaf", "factory"):
        made = library.leaf(m, state, site) if job == "leaf" else library.cut(m, state, site, "made")
        return shapes.made(m, state, name, given, made)
    if job == "grad":
        names = m.profile.backward_parameters.get(f"runtime.{name}", ())
        first, second = ((names.index(key), key) if key in names else (None, key) for key in ("outputs", "inputs"))
        asked = (given.get(*first), given.get(*second))
        shifted = replace(given, positional=tuple(v for v in asked if v is not None), keywords=())
        return functional.grad(m, state, f"runtime.{name}", shifted, site)
    if job == "clear":
        updates.clear(m, state, None, site)
        return NONE
    if job == "operation":
        return framework.operation(m, state, "Tensor." + name, given, site)
    return m.unknown()


def step_of(m: Machine, state: State, optimizer: Value, given: calls.Arguments, site: p.Node) -> Value:
    """Step an optimizer that a scaler or trainer was handed."""
    thing = state.object(optimizer)
    if isinstance(thing, (Optimizer, Instance)) and isinstance(thing.cls, Ref):
        found = attributes.find(state, thing.cls, "step")
        if found is not None:
            return calls.call(m, state, attributes.bind(m, state, found, optimizer, site), given, site)
    return _step(m, state, optimizer, given, site, handed=True)
