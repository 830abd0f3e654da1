"""Lists, dicts, ranges, comprehensions and Python's own functions on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from adlint import program as p
from adlint.tape import attributes, calls, keeping, leaves, library, scopes, shapes, updates
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    NONE,
    TRUE,
    Const,
    Counter,
    Generator,
    Gradient,
    Instance,
    Leaves,
    Library,
    Linear,
    Module,
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

EXACT = 6


def items(m: Machine, state: State, value: Value) -> list[Value] | None:
    """Return all elements of a value where they are known exactly, else None."""
    scopes.taken(m, state, value, None)
    thing = state.object(value)
    if isinstance(value, Tuple):
        return list(value.items)
    if isinstance(thing, Sequence):
        return None if thing.more else list(thing.items)
    if isinstance(thing, Table):
        return None if thing.more else [key for key, _ in thing.items]
    if isinstance(thing, Module) and thing.children:
        return list(thing.children)
    if isinstance(thing, Instance) and _is_record(state, thing):
        return list(thing.attributes.values())
    if isinstance(value, Const) and isinstance(value.value, (str, tuple)) and len(value.value) <= EXACT:
        return [Const(v) for v in value.value]
    if isinstance(thing, Counter):
        count = length(m, state, value)
        if count is not None:
            plan, _ = turns(m, state, value, None)
            return [plan(state, n) for n in range(count)]
    return None


def _is_record(state: State, thing: Instance) -> bool:
    """Tell whether an object is a named tuple of the program."""
    lineage = attributes.lineage(state, thing.cls) if isinstance(thing.cls, Ref) else ()
    return any(isinstance(b, Library) and b.name == "typing.NamedTuple" for c in lineage for b in c.bases)


def element(m: Machine, state: State, value: Value) -> Value:
    """Return a value standing for any element."""
    plan, _ = turns(m, state, value, None)
    return plan(state, 0)


def length(m: Machine, state: State, value: Value) -> int | None:
    """Return how many turns a loop over a value takes; None where two stand for many."""
    thing = state.object(value)
    if isinstance(value, Leaves):
        return 1
    if isinstance(value, Tuple):
        return _bounded(value.items)
    if isinstance(thing, Sequence):
        return None if thing.more else _bounded(thing.items)
    if isinstance(thing, Table):
        return None if thing.more else _bounded(tuple(v for _, v in thing.items))
    if isinstance(thing, Module):
        return _bounded(thing.children) if thing.children else None
    if isinstance(thing, Counter):
        if thing.kind == "range":
            bounds = [v.value for v in thing.parts if isinstance(v, Const) and type(v.value) is int]
            if len(bounds) == len(thing.parts) and bounds:
                try:
                    count = len(range(*bounds))
                except (TypeError, ValueError):
                    return None
                return count if count <= 3 else None
            return None
        known = [
            n
            for n in (length(m, state, v) for v in thing.parts[: 1 if thing.kind == "enumerate" else None])
            if n is not None
        ]
        return min(known) if known else None
    return None


def _bounded(elements: tuple[Value, ...]) -> int | None:
    if len(elements) <= 2:
        return len(elements)
    if len(elements) <= EXACT or not all(is_plain(v) for v in elements):
        return min(len(elements), EXACT)
    return None


ONCE = frozenset({"enumerate", "generator", "iterator", "zip"})


def spent(m: Machine, state: State, value: Value) -> None:
    """Forget what an iterator gives: somebody has taken it, or as much of it as was wanted."""
    thing = state.object(value)
    once = isinstance(thing, (Sequence, Counter)) and thing.kind in ONCE
    if isinstance(value, Ref) and (isinstance(thing, Generator) or once):
        state.store[value.id] = Sequence("generator", (m.unknown(),), True)


def turns(m: Machine, state: State, value: Value, site: p.Node | None) -> tuple[Callable[[State, int], Value], bool]:
    """Return how to make the element of the n-th turn, and whether a loop over the value is one over data."""
    scopes.taken(m, state, value, site)
    thing = state.object(value)
    if isinstance(value, Leaves):
        return (lambda s, n: replace(value, single=True)), False
    if isinstance(value, Tuple):
        return _listed(m, value.items), len(value.items) > 1
    if isinstance(thing, Sequence):
        return _listed(m, thing.items), thing.more or len(thing.items) > 1
    if isinstance(thing, Table):
        return _listed(m, tuple(key for key, _ in thing.items)), thing.more or len(thing.items) > 1
    if isinstance(thing, Module) and thing.children:
        return _listed(m, thing.children), False
    if isinstance(thing, Counter):
        return _counted(m, state, value, thing)
    if isinstance(thing, Tensor):
        if library.is_open(m, state, value):
            return (lambda s, n: library.part(m, s, value, ("element", n), site or p.Pass())), True
        return (lambda s, n: _row(m, s, value, Linear(("row",), n), site or p.Pass())), True
    if isinstance(value, Unknown):
        mark = m.fresh()
        return (lambda s, n: Unknown(("item", value.key, (mark, n)))), True
    mark = m.fresh()
    return (lambda s, n: Unknown(("element", mark, n))), True


def _listed(m: Machine, elements: tuple[Value, ...]) -> Callable[[State, int], Value]:
    if not elements:
        mark = m.fresh()
        return lambda s, n: Unknown(("element", mark, n))
    last = len(elements) - 1
    return lambda s, n: elements[last if n == EXACT - 1 else min(n, last)]


def _counted(m: Machine, state: State, value: Value, thing: Counter) -> tuple[Callable[[State, int], Value], bool]:
    if thing.kind == "range":
        if length(m, state, value) is not None:
            bounds = range(*(v.value for v in thing.parts if isinstance(v, Const)))
            return (lambda s, n: Const(bounds[n])), len(bounds) > 1
        symbol = m.symbol("count" if _counts_up(thing) else "turn")
        return (lambda s, n: _counter(m, symbol, n)), True
    inner = [turns(m, state, v, None) for v in thing.parts[: 1 if thing.kind == "enumerate" else None]]
    many = any(flag for _, flag in inner) and not any(isinstance(v, Leaves) for v in thing.parts)
    if thing.kind == "enumerate":
        symbol = m.symbol("count")
        plan = inner[0][0]
        start = thing.parts[1] if len(thing.parts) > 1 else Const(0)
        if length(m, state, value) is not None and isinstance(start, Const) and type(start.value) is int:
            first = start.value
            return (lambda s, n: Tuple((Const(first + n), plan(s, n)))), many
        return (lambda s, n: Tuple((_counter(m, symbol, n), plan(s, n)))), many
    return (lambda s, n: Tuple(tuple(each(s, n) for each, _ in inner))), many


def _counter(m: Machine, symbol: Linear, number: int) -> Linear:
    """Return a counter in a turn: the one after the second is a whole round later, where the loop goes by rounds."""
    return Linear(symbol.symbol, m.rounds.get(symbol.symbol, number) if number > 1 else number)


def _counts_up(thing: Counter) -> bool:
    """Tell whether a range starts at zero or above and goes upwards."""
    bounds = thing.parts
    if len(bounds) == 1:
        return True
    sure = all(isinstance(v, Const) and type(v.value) is int and v.value >= 0 for v in bounds[:1])
    return sure and (len(bounds) == 2 or (isinstance(bounds[2], Const) and bounds[2].value == 1))


def contains(m: Machine, state: State, needle: Value, holder: Value) -> Value:
    """Run `needle in holder`."""
    known = items(m, state, holder)
    plain = known is not None and all(isinstance(v, Const) for v in known)
    if known is not None and plain and isinstance(needle, Const) and not isinstance(holder, Const):
        return Const(any(alike(one, needle) for one in known))
    if isinstance(holder, Const) and isinstance(needle, Const) and isinstance(holder.value, str):
        return Const(str(needle.value) in holder.value)
    if known is not None and needle in known:
        return TRUE
    if known is not None and plain:
        return Unknown(("in", key_of(needle), Tuple(tuple(known))))
    if is_plain(needle) and is_plain(holder):
        return Unknown(("in", key_of(needle), key_of(holder)))
    if isinstance(needle, (Const, Unknown, Linear)) and isinstance(holder, (Ref, Tuple)):
        return Unknown(("in", key_of(needle), holder))
    return m.unknown()


def concatenate(m: Machine, state: State, op: str, left: Value, right: Value) -> Value | None:
    """Run `+` on lists and tuples and `*` on a list and a number; None if it is something else."""
    a, b = state.object(left), state.object(right)
    if op == "+" and (isinstance(left, (Tuple, Leaves)) or isinstance(a, Sequence)):
        if isinstance(left, Leaves) and isinstance(right, Leaves):
            return Leaves(left.leaves | right.leaves)
        first, second = items(m, state, left), items(m, state, right)
        if first is not None and second is not None and not isinstance(left, Leaves):
            joined = (*first, *second)
            if isinstance(left, Tuple):
                return Tuple(joined)
            shuffled = any(isinstance(one, Sequence) and one.shuffled for one in (a, b))
            return m.allocate(state, Sequence("list", joined, False, shuffled))
        parts = [left, right]
        leaves = frozenset[int]().union(
            *(library.leaves_behind(m, state, v) for v in parts if not isinstance(v, Unknown))
        )
        if leaves:
            return Leaves(leaves)
        return m.allocate(state, Sequence("list", tuple(element(m, state, v) for v in parts), True))
    for one, thing, other in ((left, a, right), (right, b, left)) if op == "*" else ():
        if isinstance(one, Tuple) or isinstance(thing, Sequence):
            return _repeated(m, state, one, other)
    return None


def _repeated(m: Machine, state: State, value: Value, number: Value) -> Value:
    """Run `value * number` for a list or tuple: exactly where that stays short."""
    thing = state.object(value)
    elements = value.items if isinstance(value, Tuple) else thing.items if isinstance(thing, Sequence) else ()
    known = isinstance(number, Const) and type(number.value) is int and len(elements) * number.value <= EXACT
    if isinstance(value, Tuple) and not known:
        return m.unknown()
    shuffled = isinstance(thing, Sequence) and (thing.shuffled or (len(elements) > 1 and thing.more))
    if not known or (isinstance(thing, Sequence) and thing.more):
        return m.allocate(state, Sequence("list", elements, True, shuffled))
    assert isinstance(number, Const)
    repeated = elements * number.value
    return (
        Tuple(repeated) if isinstance(value, Tuple) else m.allocate(state, Sequence("list", repeated, False, shuffled))
    )


def _row(m: Machine, state: State, value: Value, number: Value, site: p.Node) -> Value:
    """Return a row of a tensor that is iterated or unpacked."""
    return shapes.element(m, state, value, number, library.operation(m, state, "torch.unbind", [value], site))


def index(m: Machine, state: State, value: Value, key: Value, site: p.Node) -> Value:
    """Run `value[key]`."""
    thing = state.object(value)
    if isinstance(value, Gradient):
        return value
    if isinstance(value, Leaves):
        if value.single:
            return library.operation(m, state, "[]", [value], site)
        return replace(value, single=not (isinstance(key, Const) and isinstance(key.value, slice)), part=True)
    if isinstance(thing, Tensor):
        if library.is_open(m, state, value) and isinstance(key, (Const, Unknown, Linear)):
            return library.part(m, state, value, ("item", key_of(key)), site)
        given = [value, key] if library.is_tensorial(m, state, key) else [value]
        picked = library.operation(m, state, _index_operation(m, state, key), given, site)
        return shapes.element(m, state, value, key, picked)
    if isinstance(value, Tuple) or isinstance(thing, (Sequence, Module)):
        return at(m, state, value, key)
    if isinstance(thing, Table):
        if isinstance(value, Ref) and ("lists", value.id) in state.store and all(k != key for k, _ in thing.items):
            assign(m, state, value, key, m.allocate(state, Sequence("list", ())), site)
            return index(m, state, value, key, site)
        return item(m, state, value, thing, key)
    if isinstance(value, Unknown):
        held = state.store.get(("attribute", value.key, ("item", key_of(key))))
        if (owner := attributes.owner(value)) is not None and isinstance(key, Const) and isinstance(key.value, str):
            return attributes.read(m, state, owner, key.value, site)
        if held is not None:
            found: Value = held
            return found
        return Unknown(("item", value.key, key_of(key))) if is_plain(key) else m.unknown()
    if isinstance(thing, Instance) and _is_record(state, thing):
        return at(m, state, Tuple(tuple(thing.attributes.values())), key)
    if isinstance(thing, Instance) and isinstance(thing.cls, Ref):
        getter = attributes.find(state, thing.cls, "__getitem__")
        if getter is not None:
            bound = attributes.bind(m, state, getter, value, site)
            return calls.call(m, state, bound, calls.Arguments((key,)), site)
    return m.unknown()


def _index_operation(m: Machine, state: State, key: Value) -> str:
    thing = state.object(key)
    if isinstance(thing, (Tensor, Sequence)):
        return "[mask]"
    if isinstance(key, Tuple) and any(isinstance(state.object(v), (Tensor, Sequence)) for v in key.items):
        return "[mask]"
    if isinstance(key, Const) or (isinstance(key, Tuple) and all(isinstance(v, (Const, Linear)) for v in key.items)):
        return "[]"
    return "[]" if isinstance(key, Linear) else "[unknown]"


def at(m: Machine, state: State, value: Value, key: Value) -> Value:
    """Return the element of a tuple, list or network that a key means."""
    thing = state.object(value)
    if isinstance(value, Tuple):
        elements: tuple[Value, ...] = value.items
        more = False
    elif isinstance(thing, Module):
        elements, more = thing.children, False
        if isinstance(key, Const) and isinstance(key.value, str) and key.value in thing.attributes:
            return thing.attributes[key.value]
    else:
        assert isinstance(thing, Sequence)
        elements, more = thing.items, thing.more
    shuffled = isinstance(thing, Sequence) and thing.shuffled
    if isinstance(key, Const) and type(key.value) is int and elements and not shuffled:
        if -len(elements) <= key.value < len(elements):
            return elements[key.value]
        return elements[-1]
    library.any_of(m, state, elements)
    if isinstance(key, Const) and isinstance(key.value, slice) and not shuffled:
        chosen = elements[key.value]
        return Tuple(chosen) if isinstance(value, Tuple) else m.allocate(state, Sequence("list", chosen, more))
    if (isinstance(key, Const) and isinstance(key.value, slice)) or _is_slice(key):
        return m.allocate(state, Sequence("list", elements, True, shuffled or len(elements) > 1))
    if not elements:
        return m.unknown()
    if isinstance(value, Ref):
        m.indexed.add(value.id)
    if all(is_plain(v) for v in elements):
        return Unknown(("item", value, key_of(key)))
    return _one_of(m, state, value, elements, key)


def _is_slice(key: Value) -> bool:
    return isinstance(key, Unknown) and isinstance(key.key, tuple) and key.key[:1] == ("slice",)


def _one_of(m: Machine, state: State, value: Value, elements: tuple[Value, ...], key: Value) -> Value:
    """Take a way on which of the elements of a list or dict a key means."""
    chosen = elements[:3]
    for number, one in enumerate(chosen[:-1]):
        if m.decide(state, ("index", value, key_of(key), number)):
            return one
    return chosen[-1]


def item(m: Machine, state: State, value: Value, thing: Table, key: Value) -> Value:
    """Return the value that a dict has for a key."""
    for held, item in reversed(thing.items):
        if alike(held, key):
            return item
    if isinstance(key, Const) and not thing.more and all(isinstance(held, Const) for held, _ in thing.items):
        return Unknown(("item", value, key))
    heavy = [(held, item) for held, item in thing.items if not is_plain(item)]
    if not heavy:
        return Unknown(("item", value, key_of(key)))
    found = tuple(item for _, item in reversed(heavy))
    library.any_of(m, state, found)
    m.guessed.update(n for item in found for n in library.nodes_in(m, state, item, sources=False))
    if _is_written(heavy[-1][0]) or _is_written(key):
        return _one_of(m, state, value, found, key)
    return found[0]


def _is_written(key: Value) -> bool:
    """Tell whether a key is made of nothing but what is written in the program, so that it is always the same."""
    text = isinstance(key, Unknown) and isinstance(key.key, tuple) and key.key[0] == "text"
    parts = key.key[-1] if isinstance(key, Unknown) and text else None
    return isinstance(key, Const) or (isinstance(parts, tuple) and all(isinstance(one, Const) for one in parts))


def alike(one: Value, other: Value) -> bool:
    """Tell whether two keys are the same to a dict, as a number and another of the same value are."""
    return one == other or (isinstance(one, Const) and isinstance(other, Const) and bool(one.value == other.value))


def assign(m: Machine, state: State, holder: Value, key: Value, value: Value, site: p.Node) -> None:
    """Run `holder[key] = value`."""
    leaves.updated(m, state, holder, [value], site, site)
    thing = state.object(holder)
    if isinstance(holder, Gradient):
        updates.overwrite(m, state, holder.leaves, site)
        return
    if isinstance(thing, Table) and isinstance(holder, Ref):
        others = [v for k, v in thing.items if not alike(k, key)]
        keeping.added(m, state, others, value, state.statement or site, _given(state), slot=holder.id)
        state.store[holder.id] = Table(put(thing.items, key, value), thing.more)
    elif isinstance(thing, Sequence) and isinstance(holder, Ref):
        if isinstance(key, Const) and isinstance(key.value, slice):
            known = items(m, state, value)
            elements = list(thing.items)
            try:
                elements[key.value] = known if known is not None else [element(m, state, value)]
            except (TypeError, ValueError):  # PyTorch is not what stops this program
                return
            more = known is None or (thing.more and key != Const(slice(None)))
            state.store[holder.id] = replace(thing, items=tuple(elements), more=more)
        elif isinstance(key, Const) and type(key.value) is int and -len(thing.items) <= key.value < len(thing.items):
            elements = list(thing.items)
            elements[key.value] = value
            state.store[holder.id] = replace(thing, items=tuple(elements))
        else:
            keeping.added(m, state, thing.items, value, state.statement or site, _given(state), slot=holder.id)
            state.store[holder.id] = replace(thing, items=(*thing.items, value)[-64:], more=True)
    elif isinstance(thing, Module) and isinstance(holder, Ref) and isinstance(key, Const) and type(key.value) is int:
        if -len(thing.children) <= key.value < len(thing.children):
            library.exchange(m, state, thing.children[key.value], value, site)
            children = list(thing.children)
            children[key.value] = value
            state.store[holder.id] = replace(thing, children=tuple(children))
    elif isinstance(thing, Tensor) and isinstance(holder, Ref):
        if m.nodes[thing.node].kind == "leaf":
            updates.update_in_place(m, state, holder, [value], site)
            return
        if state.recording in ("off", "inference"):
            return
        result = state.object(library.operation(m, state, "[]=", [holder, value], site))
        assert isinstance(result, Tensor)
        keeping.grown(m, state, holder, result.node, state.statement or site, _given(state) or site)
        state.store[holder.id] = result
    elif (owner := attributes.owner(holder)) is not None:
        if isinstance(key, Const):
            attributes.write(m, state, owner, str(key.value), value, site)
        else:
            attributes.blur(m, state, owner)
    elif isinstance(holder, Unknown):
        state.store[("attribute", holder.key, ("item", key_of(key)))] = value
        attributes.adopt(m, state, holder.key, str(key_of(key)), value, site)
        library.escape(m, state, [value])
    elif isinstance(holder, Leaves):
        updates.update_in_place(m, state, holder, [value], site)
    elif isinstance(thing, Module) and isinstance(holder, Ref):
        _set_member(m, state, holder, thing, key, value)
    elif isinstance(thing, Instance) and isinstance(thing.cls, Ref):
        setter = attributes.find(state, thing.cls, "__setitem__")
        if setter is not None:
            calls.call(m, state, attributes.bind(m, state, setter, holder, site), calls.Arguments((key, value)), site)


def put(pairs: tuple[tuple[Value, Value], ...], key: Value, value: Value) -> tuple[tuple[Value, Value], ...]:
    """Return the items of a dict with one of them set: a key that is there keeps its place."""
    if any(alike(held, key) for held, _ in pairs):
        return tuple((held, value if alike(held, key) else item) for held, item in pairs)
    return (*pairs, (key, value))[-64:]


def _given(state: State) -> p.Node | None:
    """Return the expression that the running statement assigns."""
    return state.statement.value if isinstance(state.statement, p.Assign) else None


def _set_member(m: Machine, state: State, holder: Ref, thing: Module, key: Value, value: Value) -> None:
    """Run `module[key] = value`; where the key is not known, any member may be another one now."""
    name = str(key.value if isinstance(key, Const) else key_of(key))
    children = list(thing.children)
    if name in thing.attributes and thing.attributes[name] in children:
        children[children.index(thing.attributes[name])] = value
    else:
        library.unsettle(m, state, holder)
    state.store[holder.id] = replace(thing, attributes={**thing.attributes, name: value}, children=tuple(children))


def unpack(m: Machine, state: State, value: Value, count: int, star: int | None, site: p.Node) -> list[Value]:
    """Return the values that `count` targets receive; the one at `star` gets a list."""
    known = items(m, state, value)
    listed = state.object(value)
    if isinstance(listed, Sequence) and listed.shuffled:
        return [at(m, state, value, Const(n)) if n != star else value for n in range(count)]
    if known is not None and star is None and len(known) == count:
        return known
    if known is not None and star is not None and len(known) >= count - 1:
        tail = count - 1 - star
        middle = m.allocate(state, Sequence("list", tuple(known[star : len(known) - tail])))
        return [*known[:star], middle, *(known[len(known) - tail :] if tail else [])]
    thing = state.object(value)
    if isinstance(thing, Tensor):
        if library.is_open(m, state, value):
            return [library.part(m, state, value, ("item", Const(n)), site) for n in range(count)]
        return [_row(m, state, value, Const(n), site) for n in range(count)]
    if isinstance(value, Unknown):
        return [Unknown(("item", value.key, Const(n))) for n in range(count)]
    if isinstance(value, Leaves):
        return [value] * count
    if isinstance(thing, Sequence) and thing.items:
        return [thing.items[min(n, len(thing.items) - 1)] for n in range(count)]
    if isinstance(thing, Generator):
        collected: list[Value] = []

        def on_yield(s: State, item: Value) -> Value:
            collected.append(item)
            return NONE

        calls.resume(m, state, value, on_yield, site)
        if collected:
            return [collected[min(n, len(collected) - 1)] for n in range(count)]
    return [m.unknown() for _ in range(count)]


def drop(m: Machine, state: State, holder: Value, key: Value, site: p.Node) -> None:
    """Run `del holder[key]`."""
    thing = state.object(holder)
    if isinstance(thing, Table) and isinstance(holder, Ref):
        state.store[holder.id] = Table(tuple((k, v) for k, v in thing.items if not alike(k, key)), thing.more)
    elif isinstance(thing, Sequence) and isinstance(holder, Ref):
        kept = list(thing.items)
        if isinstance(key, Const) and isinstance(key.value, (int, slice)):
            try:
                del kept[key.value]
            except (IndexError, TypeError):
                kept = []
        else:
            kept = []
        state.store[holder.id] = replace(thing, items=tuple(kept), more=thing.more and bool(kept))
    elif isinstance(thing, Instance) and isinstance(thing.cls, Ref):
        remover = attributes.find(state, thing.cls, "__delitem__")
        if remover is not None:
            calls.call(m, state, attributes.bind(m, state, remover, holder, site), calls.Arguments((key,)), site)
