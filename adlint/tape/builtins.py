"""Python's own functions."""

from __future__ import annotations

from dataclasses import replace

from adlint import program as p
from adlint.tape import attributes, calls, collecting, conditions, containers, cuts, library, scopes, shapes
from adlint.tape.machine import Machine, Stopped
from adlint.tape.state import State
from adlint.tape.values import (
    FALSE,
    NONE,
    TRUE,
    Builtin,
    Const,
    Counter,
    Generator,
    Instance,
    Leaves,
    Library,
    Linear,
    Module,
    Optimizer,
    Ref,
    Sequence,
    Table,
    Tensor,
    Tuple,
    Unknown,
    Value,
    is_plain,
    key_of,
)


def builtin(m: Machine, state: State, name: str, arguments: calls.Arguments, site: p.Node) -> Value:
    """Run one of Python's own functions."""
    given = arguments.positional
    if name == "range":
        return m.allocate(state, Counter("range", given))
    if name in ("enumerate", "zip") and given and not arguments.open:
        start = arguments.get(1, "start") if name == "enumerate" else None
        return m.allocate(state, Counter(name, given if start is None else (given[0], start)))
    if name in ("list", "tuple", "set", "sorted", "reversed", "iter", "frozenset"):
        return _listing(m, state, name, arguments, site)
    if name == "dict":
        return _dict(m, state, given, arguments)
    if name == "next" and given:
        return _next(m, state, given)
    if name == "len" and given:
        known = containers.items(m, state, given[0])
        if known is not None and not isinstance(given[0], Const) and not isinstance(state.object(given[0]), Counter):
            return Const(len(known))
        return shapes.measured(m, state, given[0], "__len__") or Unknown(("len", key_of(given[0])))
    if name == "sum" and given:
        return _sum(m, state, given, site)
    if name in ("min", "max", "abs", "pow", "round", "divmod") and any(
        library.is_tensorial(m, state, v) for v in given
    ):
        return library.operation(m, state, "torch." + name, given, site)
    if name in ("float", "int", "bool", "str", "repr", "print", "format", "hash", "id", "bytes", "open", "input"):
        if name == "bool" and given:
            found = conditions.condition(m, state, given[0])
            if isinstance(found, bool):
                return Const(found)
        if name in ("float", "int", "str") and given and isinstance(given[0], Const):
            try:
                return Const({"float": float, "int": int, "str": str}[name](given[0].value))
            except (TypeError, ValueError):
                return m.unknown()
        if name == "int" and given and isinstance(given[0], (Linear, Unknown)):
            return given[0]
        if given and isinstance(given[0], Unknown) and name in ("float", "int", "str", "bool"):
            return Unknown((name, given[0].key))
        if name in ("float", "int") and given and library.is_tensorial(m, state, given[0]):
            return cuts.reading(m, state, given[0], site)
        return m.unknown()
    if name == "getattr" and len(given) >= 2:
        return attributes.attribute_of(m, state, given[0], given[1], given[2] if len(given) > 2 else None, site)
    if name == "setattr" and len(given) == 3:
        if isinstance(given[1], Const) and isinstance(given[1].value, str):
            attributes.write(m, state, given[0], given[1].value, given[2], site)
        else:
            attributes.blur(m, state, given[0])
        return NONE
    if name == "delattr" and len(given) == 2:
        if isinstance(given[1], Const) and isinstance(given[1].value, str):
            attributes.remove(m, state, given[0], given[1].value, site)
        return NONE
    if name == "hasattr" and len(given) == 2:
        return attributes.has(m, state, given[0], given[1])
    if name == "isinstance" and len(given) == 2:
        return _isinstance(m, state, given[0], given[1])
    if name == "callable":
        return Unknown(("callable", key_of(given[0]))) if given and isinstance(given[0], Unknown) else TRUE
    if name == "super":
        return calls.super_of(m, state, given)
    if name in ("map", "filter") and len(given) > 1:
        return _mapped(m, state, name, given, site)
    if name in ("any", "all") and given:
        known = containers.items(m, state, given[0])
        if known is not None:
            sure = [f for v in known if isinstance(f := conditions.condition(m, state, v), bool)]
            if len(sure) == len(known):
                return Const(any(sure) if name == "any" else all(sure))
        return Unknown((name, key_of(given[0]))) if is_plain(given[0]) else m.unknown()
    if name == "type" and len(given) == 1:
        thing = state.object(given[0])
        if isinstance(thing, (Instance, Module, Optimizer)) and isinstance(thing.cls, Ref):
            return thing.cls
        return Unknown(("type", key_of(given[0])))
    if name in ("exit",):
        raise Stopped
    if name in ("property", "staticmethod", "classmethod") and given:
        return calls.mark(given[0], name)
    if name == "vars" and given:
        thing = state.object(given[0])
        plain = not isinstance(thing, (Module, Instance, Optimizer))
        return Unknown(("vars", key_of(given[0]))) if plain else attributes.read(m, state, given[0], "__dict__", site)
    return m.unknown()


def _mapped(m: Machine, state: State, name: str, given: tuple[Value, ...], site: p.Node) -> Value:
    """Run `map` or `filter`, each call in turn."""
    plans = [containers.turns(m, state, v, site)[0] for v in given[1:]]
    counts = [n for n in (containers.length(m, state, v) for v in given[1:]) if n is not None]
    mapped, more = [], not counts
    for n in range(min(counts) if counts else 2):
        parts = tuple(plan(state, n) for plan in plans)
        item = parts[0]
        called = calls.call(m, state, given[0], calls.Arguments(parts), site) if given[0] != NONE else item
        if name == "map":
            mapped.append(called)
            continue
        found = conditions.condition(m, state, called)
        more = more or not isinstance(found, bool)
        if found is not False:
            mapped.append(replace(item, part=True) if isinstance(item, Leaves) else item)
    lazy = m.allocate(state, Sequence("iterator", tuple(mapped), more))
    scopes.lazily(m, state, lazy, site)
    return lazy


def _next(m: Machine, state: State, given: tuple[Value, ...]) -> Value:
    """Run `next`: what an iterator gives is no longer in it."""
    value, thing = given[0], state.object(given[0])
    if isinstance(thing, Generator):
        return m.unknown()
    if not isinstance(thing, Sequence) or not isinstance(value, Ref):
        return containers.element(m, state, value)
    scopes.taken(m, state, value, None)
    thing = state.object(value)
    assert isinstance(thing, Sequence)
    if not thing.items:
        return given[1] if len(given) > 1 and not thing.more else m.unknown()
    rest = thing.items[1:] if thing.kind != "cycle" else (*thing.items[1:], thing.items[0])
    found = containers.index(m, state, value, Const(0), p.Pass())
    state.store[value.id] = replace(thing, items=rest)
    return found


def _listing(m: Machine, state: State, name: str, arguments: calls.Arguments, site: p.Node) -> Value:
    given = arguments.positional
    if not given:
        return Tuple(()) if name == "tuple" else m.allocate(state, Sequence("list", ()))
    value = given[0]
    if isinstance(value, Leaves) or isinstance(state.object(value), Module):
        return value
    if isinstance(state.object(value), Generator):
        collected: list[Value] = []

        def on_yield(s: State, item: Value) -> Value:
            collected.append(item)
            return NONE

        calls.resume(m, state, value, on_yield, site)
        return m.allocate(state, Sequence("list", tuple(collected), True))
    if isinstance(value, Unknown):
        return Unknown(("list", value.key))
    known = containers.items(m, state, value)
    thing = state.object(value)
    shuffled = isinstance(thing, Sequence) and thing.shuffled
    kind = "iterator" if name in ("iter", "reversed") else "list"
    if name != "iter":
        containers.spent(m, state, value)
    if known is not None:
        if name == "reversed":
            known.reverse()
        if name in ("set", "frozenset"):
            known = list(dict.fromkeys(known))
        made = Sequence(kind, tuple(known), False, shuffled)
        if name == "tuple" and not shuffled:
            return Tuple(made.items)
    elif isinstance(thing, Sequence):
        made = replace(thing, kind=kind, more=True)
    else:
        plan, _ = containers.turns(m, state, value, site)
        made = Sequence(kind, (plan(state, 0), plan(state, 1)), True)
    if name == "sorted":
        made = collecting.ordered(made, arguments)
    elif name in ("set", "frozenset"):
        made = replace(made, shuffled=len(made.items) > 1)
    return m.allocate(state, made)


def _dict(m: Machine, state: State, given: tuple[Value, ...], arguments: calls.Arguments) -> Value:
    table: list[tuple[Value, Value]] = []
    more = False
    for value in given:
        found, partly = collecting.pairs(m, state, value)
        table += found
        more = more or partly
    table += [(Const(k), v) for k, v in arguments.keywords]
    return m.allocate(state, Table(tuple(table), more))


def _sum(m: Machine, state: State, given: tuple[Value, ...], site: p.Node) -> Value:
    value = given[0]
    scopes.taken(m, state, value, site)
    thing = state.object(value)
    parts: list[Value]
    if isinstance(thing, Sequence):
        parts = list(thing.items)
    elif isinstance(value, Tuple):
        parts = list(value.items)
    elif isinstance(thing, Tensor):
        return library.operation(m, state, "torch.sum", [value], site)
    elif isinstance(value, Unknown):
        return Unknown(("sum", value.key))
    else:
        parts = [containers.element(m, state, value)]
    tensors = [v for v in parts if library.is_tensorial(m, state, v)]
    if tensors:
        return library.operation(m, state, "+", [*parts, *given[1:]], site)
    if parts and all(cuts.number(m, key_of(v)) for v in parts):
        return Unknown(("op", "+", *(key_of(v) for v in parts[-4:])))
    return m.unknown()


_TENSORS = ("torch.Tensor", "torch.FloatTensor", "torch.autograd.Variable")


def _is_layer(m: Machine, state: State, thing: Module, name: str) -> Value:
    """Tell whether a network is of a class of the framework; a class without documentation may be a base of it."""
    names = [thing.cls] if isinstance(thing.cls, str) else attributes.library_bases(state, thing.cls)
    unknown = isinstance(thing.cls, Ref) and attributes.unknown_bases(state, thing.cls)
    last = {one.rpartition(".")[2].removeprefix("Lazy") for one in names}
    short = name.rpartition(".")[2]
    if short in last:
        return TRUE
    if unknown or not all(m.profile.modeless(one) for one in names) or short.endswith("Base") or short == "Module":
        return Unknown(("isinstance", thing.leaf, name, tuple(names)))
    if short.startswith("_"):
        related = any(short.strip("_").removesuffix("Nd") in one for one in last)
        return Unknown(("isinstance", name, tuple(names))) if not related else TRUE
    return FALSE


def _trains(m: Machine, state: State, value: Unknown) -> bool:
    """Tell whether an unknown is a network: an optimizer owns it, or it was told to train or to evaluate."""
    return value.key in m.evidence or ("mode", value.key) in state.store


def _isinstance(m: Machine, state: State, value: Value, cls: Value) -> Value:
    name = getattr(cls, "name", "")
    thing = state.object(value)
    if isinstance(cls, Tuple):
        found = [_isinstance(m, state, value, one) for one in cls.items]
        if TRUE in found:
            return TRUE
        if all(f == FALSE for f in found):
            return FALSE
    elif isinstance(value, Unknown) and m.profile.role(name) == "module-base" and _trains(m, state, value):
        return TRUE
    elif isinstance(value, Unknown) or (isinstance(thing, Tensor) and library.is_open(m, state, value)):
        return Unknown(("isinstance", key_of(value), key_of(cls)))
    elif name in _TENSORS:
        return Const(isinstance(thing, Tensor) or isinstance(value, Leaves))
    elif isinstance(cls, Builtin) and isinstance(value, (Const, Linear)):
        kinds = {"float": float, "int": int, "str": str, "bool": bool, "dict": dict, "list": list, "tuple": tuple}
        if cls.name in kinds:
            return Const(isinstance(value.value if isinstance(value, Const) else 0, kinds[cls.name]))
    elif isinstance(cls, Builtin):
        return Const(
            (cls.name == "dict" and isinstance(thing, Table))
            or (cls.name == "tuple" and isinstance(value, Tuple))
            or (cls.name == "list" and isinstance(thing, Sequence) and thing.kind == "list")
        )
    elif name == "torch.nn.Module":
        return Const(isinstance(thing, Module))
    elif isinstance(thing, (Instance, Module, Optimizer)) and isinstance(thing.cls, Ref) and isinstance(cls, Ref):
        return Const(any(c is state.object(cls) for c in attributes.lineage(state, thing.cls)))
    elif isinstance(thing, Module) and isinstance(cls, Library) and m.profile.modeless(name):
        return _is_layer(m, state, thing, name)
    return Unknown(("isinstance", key_of(value), key_of(cls)))
