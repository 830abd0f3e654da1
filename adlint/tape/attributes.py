"""Attributes: reading and writing them on every kind of value, and finding methods along the bases of a class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from adlint import program as p
from adlint.profiles import Base
from adlint.tape import calls, conditions, imports, leaves, library, retention, shapes, updates
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    NONE,
    Absent,
    Bound,
    Builtin,
    Class,
    Closure,
    Const,
    Counter,
    Generator,
    Gradient,
    Imported,
    Instance,
    Key,
    Leaves,
    Library,
    Method,
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

GRADIENTS = ("grad", "_grad")
VIEWS = ("T", "mT", "H", "mH", "real", "imag")


def read(m: Machine, state: State, value: Value, name: str, site: p.Node) -> Value:
    """Return `value.name`."""
    assigned = state.store.get(("attribute", key_of(value), name))
    if assigned is not None:
        found: Value = assigned
        return found
    if isinstance(value, Unknown):
        return _of_unknown(m, state, value, name)
    if isinstance(value, Library):
        return Library(f"{value.name}.{name}")
    if isinstance(value, Imported):
        member = imports.member(m, state, value, name)
        return Library(f"{value.dotted}.{name}") if member is None else member
    if isinstance(value, Leaves):
        return _of_leaves(m, state, value, name, site)
    if isinstance(value, Gradient):
        return value if name == "data" else Method(value, name)
    if isinstance(value, Absent):
        leaves.used(m, state, value, fails=True)
        return m.unknown("attribute")
    if isinstance(value, Super):
        return _of_super(m, state, value, name)
    if isinstance(value, Ref):
        return _of_object(m, state, value, name, site)
    if isinstance(value, (Const, Tuple, Builtin, Closure, Bound, Scope)):
        return Method(value, name)
    return m.unknown("attribute")


def _is_slot(m: Machine, name: str) -> bool:
    """Tell whether an attribute is the gradient slot; in some frameworks a method is asked for it."""
    return name in GRADIENTS and m.profile.method("tensor", "grad") == "grad"


def _of_unknown(m: Machine, state: State, value: Unknown, name: str) -> Value:
    if _is_slot(m, name) and not library.is_alien(m, value.key):
        retention.touched(m, state)
        return Gradient(frozenset({library.leaf_of(m, value.key)}))
    if owner(value) is not None:
        return Method(value, name)
    if name == "training":
        mode = state.store.get(("mode", value.key))
        if mode is not None:
            return Const(mode)
    return Unknown(("attr", value.key, name))


def _of_leaves(m: Machine, state: State, value: Leaves, name: str, site: p.Node) -> Value:
    if _is_slot(m, name):
        return library.gradient(m, state, value.leaves)
    if name == "data":
        return replace(value, data=True)
    if name in m.profile.tracking:
        return told(m, state, name, Const(not all(state.frozen(leaf) for leaf in value.leaves)))
    if name in VIEWS:
        return library.operation(m, state, name, [value], site)
    if m.profile.method("tensor", name) == "" and name not in ("grad_fn",):
        return Unknown(("attr", value, name))
    return Method(value, name)


def _of_object(m: Machine, state: State, value: Ref, name: str, site: p.Node) -> Value:
    thing = state.object(value)
    if isinstance(thing, Tensor):
        return _of_tensor(m, state, value, thing, name, site)
    if isinstance(thing, (Module, Instance, Optimizer)):
        if name in thing.attributes:
            return thing.attributes[name]
        if name == "training" and isinstance(thing, Module):
            return Unknown(("attr", value, name)) if thing.training is None else Const(thing.training)
        if name == "param_groups" and isinstance(thing, Optimizer):
            return library.param_groups(m, state, value, thing)
        if name == "__class__":
            return thing.cls if isinstance(thing.cls, Ref) else Library(thing.cls)
        if name == "__dict__":
            return Unknown(("attr", value, name))
        if isinstance(thing.cls, Ref):
            found = find(state, thing.cls, name)
            if found is not None:
                return bind(m, state, found, value, site)
            getter = find(state, thing.cls, "__getattr__")
            if isinstance(getter, Closure) and not name.startswith("__"):
                return calls.call(m, state, Bound(value, getter), calls.Arguments((Const(name),)), site)
            base = library_base(m, state, thing.cls)
            if base is not None and name in base.attributes:
                made = m.allocate(state, Instance(name, base.attributes[name]))
                state.store[value.id] = replace(thing, attributes={**thing.attributes, name: made})
                return made
            if isinstance(thing, Instance) and not _library_bases(state, thing.cls):
                return Unknown(("attr", value, name))
        if isinstance(thing, Optimizer) and m.profile.method("optimizer", name) == "self":
            return value
        if isinstance(thing, Module):
            if name == "_parameters":
                own = frozenset() if thing.leaf is None else frozenset({thing.leaf})
                return m.allocate(state, Table(((m.unknown("name"), Leaves(own, single=True)),)))
            known = library_base(m, state, thing.cls)
            kind = m.profile.role(thing.cls) if isinstance(thing.cls, str) else ""
            if m.profile.method("module", name) or (kind == "deepspeed" and m.profile.method(kind, name)):
                return Method(value, name)
            if known is not None and name in known.methods:
                return Method(value, name)
            if thing.leaf is not None and name in ("weight", "bias", "in_proj_weight", "weight_ih", "weight_hh"):
                return Leaves(frozenset({thing.leaf}), single=True, part=True)
            return Unknown(("attr", value, name))
        return Method(value, name)
    if isinstance(thing, Class):
        found = find(state, value, name)
        if found is not None:
            if isinstance(found, Closure) and found.kind == "classmethod":
                return Bound(value, found)
            return found
        return Method(value, name)
    if isinstance(thing, (Sequence, Table, Generator, Counter)):
        return Method(value, name)
    return Unknown(("attr", value, name))


def _of_tensor(m: Machine, state: State, value: Ref, thing: Tensor, name: str, site: p.Node) -> Value:
    node = m.nodes[thing.node]
    if _is_slot(m, name):
        if node.kind == "leaf":
            return library.gradient(m, state, frozenset({thing.node}))
        return leaves.gradient_of(m, state, thing.node, site)
    if name == "data":
        if node.kind == "leaf":
            return Leaves(frozenset({thing.node}), single=True, data=True)
        return library.cut(m, state, site, "detach", (thing.node,))
    if name in m.profile.tracking:
        tracked = node.requires_grad if node.kind != "leaf" else not state.frozen(thing.node)
        return told(m, state, name, Const(tracked) if isinstance(tracked, bool) else Unknown(("tracked", thing.node)))
    if name == "is_leaf":
        return Const(node.kind in ("leaf", "cut"))
    if name in ("shape", "ndim") and (known := shapes.measured(m, state, value, name)) is not None:
        return known
    if name in VIEWS:
        return library.operation(m, state, name, [value], site)
    if node.kind in ("call", "part") and m.profile.method("module", name) in ("eval", "train"):
        return Method(value, name)
    if m.profile.method("tensor", name) == "" or name in ("values", "indices", "loss", "logits"):
        if node.kind == "cut":
            return Unknown(("attr", value, name))
        found = library.part(m, state, value, ("attr", name), site)
        state.store[("member", found)] = (value, name)
        return found
    return Method(value, name)


def _of_super(m: Machine, state: State, value: Super, name: str) -> Value:
    thing = state.object(value.receiver)
    cls = value.receiver if isinstance(thing, Class) else getattr(thing, "cls", None)
    found = find(state, cls if isinstance(cls, Ref) else value.owner, name, value.owner)
    return Method(value, name) if found is None else bind(m, state, found, value.receiver, None)


def bind(m: Machine, state: State, found: Value, receiver: Value, site: p.Node | None) -> Value:
    """Return a class attribute as seen from an instance: methods bound, properties computed."""
    if not isinstance(found, Closure) or found.owner is None:
        return found
    if found.kind == "static":
        return found
    if found.kind == "classmethod":
        thing = state.object(receiver)
        cls = receiver if isinstance(thing, Class) else getattr(thing, "cls", None)
        return Bound(cls if isinstance(cls, Ref) else found.owner, found)
    if found.kind == "property" and site is not None:
        return calls.call(m, state, Bound(receiver, found), calls.Arguments(), site)
    return Bound(receiver, found)


def find(state: State, cls: Ref, name: str, after: Ref | None = None) -> Value | None:
    """Return what a class or its bases in the program define under a name; only those behind the class `after`."""
    order = _order(state, cls)
    if after is not None:
        order = order[order.index(after) + 1 :] if after in order else _order(state, after)[1:]
    for one in order:
        thing = state.object(one)
        if isinstance(thing, Class) and name in thing.attributes:
            return thing.attributes[name]
    return None


def lineage(state: State, cls: Value) -> Iterator[Class]:
    """Yield a class and its bases in the program, in the order in which Python looks at them."""
    for one in _order(state, cls):
        thing = state.object(one)
        if isinstance(thing, Class):
            yield thing


def _order(state: State, cls: Value) -> list[Ref]:
    """Return a class and its bases in the program: each before its own bases, and these in their order."""
    thing = state.object(cls)
    if not isinstance(thing, Class) or not isinstance(cls, Ref):
        return []
    if len(thing.bases) == 1:
        return [cls, *_order(state, thing.bases[0])]
    rows = [_order(state, base) for base in thing.bases]
    rows.append([base for base in thing.bases if isinstance(base, Ref)])
    result = [cls]
    while rows := [row for row in rows if row]:
        chosen = next((row[0] for row in rows if not any(row[0] in other[1:] for other in rows)), rows[0][0])
        result.append(chosen)
        rows = [[one for one in row if one != chosen] for row in rows]
    return result


def _library_bases(state: State, cls: Ref) -> list[str]:
    return [b.name for thing in lineage(state, cls) for b in thing.bases if isinstance(b, Library)]


def library_bases(state: State, cls: Ref) -> list[str]:
    """Return the dotted names of the library classes that a class derives from."""
    return _library_bases(state, cls)


def library_base(m: Machine, state: State, cls: Ref | str) -> Base | None:
    """Return the known library class that a class is or derives from, with what its framework does around methods."""
    names = _library_bases(state, cls) if isinstance(cls, Ref) else [cls]
    return next((base for base in map(m.profile.base, names) if base is not None), None)


def told(m: Machine, state: State, name: str, value: Value) -> Value:
    """Translate between what an attribute such as `requires_grad` says and whether a tensor is recorded."""
    return value if m.profile.tracking[name] else conditions.negate(m, state, value)


def unknown_bases(state: State, cls: Ref) -> bool:
    """Tell whether a class has a base of which nothing is known."""
    return any(isinstance(b, Unknown) for thing in lineage(state, cls) for b in thing.bases)


def write(m: Machine, state: State, holder: Value, name: str, value: Value, site: p.Node) -> None:
    """Run `holder.name = value`."""
    if isinstance(holder, Gradient):
        updates.overwrite(m, state, holder.leaves, site)
        return
    if name in GRADIENTS:
        if isinstance(holder, Leaves) and holder.data:
            return  # `w.data` is another tensor each time: its gradient is nobody's
        for one in leaves.absent(state, value):
            leaves.used(m, state, one, fails=False)
        owners = library.leaves_behind(m, state, holder)
        if owners:
            updates.assign_gradient(m, state, owners, value, site)
            return
    if name in m.profile.tracking:
        library.set_requires_grad(m, state, holder, told(m, state, name, value), site)
        return
    thing = state.object(holder)
    if name == "data" and (isinstance(holder, Leaves) or isinstance(thing, Tensor)):
        updates.update_in_place(m, state, holder, [value], site)
        return
    if isinstance(thing, (Module, Instance, Optimizer, Class)) and isinstance(holder, Ref):
        own = (
            find(state, thing.cls, "__setattr__")
            if isinstance(thing, Instance) and isinstance(thing.cls, Ref)
            else None
        )
        if isinstance(own, Closure) and own.node not in state.functions:
            calls.call(m, state, Bound(holder, own), calls.Arguments((Const(name), value)), site)
            return
        setter = find(state, thing.cls, name) if not isinstance(thing, Class) and isinstance(thing.cls, Ref) else None
        if isinstance(setter, Closure) and setter.kind == "property":
            run = state.store.get(("setter", setter.node))
            if isinstance(run, Closure):
                calls.call(m, state, Bound(holder, replace(run, owner=setter.owner)), calls.Arguments((value,)), site)
            return
        if isinstance(thing, Module) and name in thing.attributes:
            library.exchange(m, state, thing.attributes[name], value, site)
        if isinstance(thing, Module) and (isinstance(value, Unknown) or library.is_open(m, state, value)):
            library.unsettle(m, state, holder)
        state.store[holder.id] = replace(thing, attributes={**thing.attributes, name: value})
    elif isinstance(holder, Unknown):
        state.store[("attribute", holder.key, name)] = value
        adopt(m, state, holder.key, name, value, site)
        if value != NONE:
            library.escape(m, state, [value])
    else:
        state.store[("attribute", key_of(holder), name)] = value


def adopt(m: Machine, state: State, part: Key, name: str, value: Value, site: p.Node) -> None:
    """Give a member to a part of a network of which nobody knows the parts: it is a member of the network too."""
    path = [name]
    while isinstance(part, tuple) and len(part) == 3 and part[0] in ("attr", "item"):
        path.append(str(part[2]))
        part = part[1]
    network = state.object(part) if isinstance(part, Ref) else None
    if isinstance(part, Ref) and isinstance(network, Module) and not isinstance(value, Const):
        whole = ".".join(reversed(path))
        if whole in network.attributes:
            library.exchange(m, state, network.attributes[whole], value, site)
        if isinstance(value, Unknown) or library.is_open(m, state, value):
            library.unsettle(m, state, part)
        state.store[part.id] = replace(network, attributes={**network.attributes, whole: value})


def owner(value: Value) -> Ref | None:
    """Return the object whose attributes a dict is: `holder.__dict__`."""
    match value:
        case Unknown(("attr", Ref() as holder, "__dict__")):
            return holder
    return None


def blur(m: Machine, state: State, holder: Value) -> None:
    """Forget which tensors an object holds: one of its attributes was set, and it is not known which."""
    thing = state.object(holder)
    if isinstance(thing, (Instance, Module)) and isinstance(holder, Ref):
        tensors = {k for k, v in thing.attributes.items() if isinstance(state.object(v), Tensor)}
        held = {k: m.unknown() if k in tensors else v for k, v in thing.attributes.items()}
        state.store[holder.id] = replace(thing, attributes=held)


def remove(m: Machine, state: State, holder: Value, name: str, site: p.Node) -> None:
    """Run `del holder.name`."""
    thing = state.object(holder)
    if name in GRADIENTS:
        write(m, state, holder, "grad", NONE, site)
    elif isinstance(thing, (Module, Instance, Optimizer, Class)) and isinstance(holder, Ref):
        kept = {key: value for key, value in thing.attributes.items() if key != name}
        state.store[holder.id] = replace(thing, attributes=kept)
    else:
        state.store.pop(("attribute", key_of(holder), name), None)


def attribute_of(m: Machine, state: State, value: Value, name: Value, default: Value | None, site: p.Node) -> Value:
    """Run `getattr(value, name, default)`."""
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return m.unknown("getattr")
    thing = state.object(value)
    if default is not None and isinstance(thing, (Module, Instance, Optimizer)):
        known = name.value in thing.attributes or (
            isinstance(thing.cls, Ref)
            and any(find(state, thing.cls, one) is not None for one in (name.value, "__getattr__"))
        )
        kind = {Module: "module", Optimizer: "optimizer"}.get(type(thing), "")
        if not known and not (kind and m.profile.method(kind, name.value)):
            return default
    return read(m, state, value, name.value, site)


def has(m: Machine, state: State, value: Value, name: Value) -> Value:
    """Run `hasattr(value, name)`."""
    thing = state.object(value)
    unknown = Unknown(("hasattr", key_of(value), key_of(name)))
    if isinstance(value, Const) and isinstance(name, Const) and type(value.value) in (int, float, type(None)):
        return Const(hasattr(value.value, str(name.value)))
    if not isinstance(name, Const) or not isinstance(thing, (Module, Instance, Optimizer)):
        return unknown
    if name.value in thing.attributes:
        return Const(True)
    if isinstance(thing.cls, Ref):
        if find(state, thing.cls, str(name.value)) is not None:
            return Const(True)
        if unknown_bases(state, thing.cls) or find(state, thing.cls, "__getattr__") is not None:
            return unknown
    kind = {Module: "module", Optimizer: "optimizer"}.get(type(thing), "")
    if kind and m.profile.method(kind, str(name.value)):
        return Const(True)
    return Const(False) if isinstance(thing.cls, Ref) or kind else unknown
