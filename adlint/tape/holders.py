"""Which names held a tensor when a turn of a loop began: what a fix has to cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from adlint import program as p
from adlint.tape.facts import Event
from adlint.tape.graph import Walk
from adlint.tape.machine import LoopRun, Machine
from adlint.tape.values import Const, Instance, Key, Module, Ref, Sequence, Table, Tensor, Tuple, Unknown, Value

DEEP = 4


@dataclass(frozen=True, slots=True)
class Holder:
    """A place that holds tensors: a name with attributes and constant keys.

    `shape` is "tensor", or nested pairs of a container's kind and the shape of its elements; `before` the same for what
    it held when the loop began: "none", "unknown", "other", or "" if nothing. `nodes` are the nodes asked for that it
    holds, `appended` the places where they came into it one by one and are of use besides, `own` whether the name
    belongs to the function of the loop.
    """

    name: str
    path: tuple[tuple[str, object], ...]
    shape: object
    before: object
    nodes: frozenset[int]
    appended: tuple[p.Node, ...]
    own: bool


def carried(
    m: Machine, earlier: Event, event: Event, level: int, walk: Walk
) -> tuple[tuple[Holder, ...], LoopRun | None]:
    """Return what held, when the turn of an earlier event was over, the nodes of it that a backward walks into."""
    mark, number = earlier.turn[level]
    run = m.loops.get(mark)
    edge = crossing(m, (mark, number), level, walk)
    if run is None:
        return (), None
    for store in run.heads.get(number + 1, ()):
        found = []
        for name, path, shape, nodes, grown in _places(m, store, run.frame, edge):
            sites = {site for n in nodes for site in m.stored.get(n, ())} if grown else set()
            appended = tuple(sites) if sites and _used_besides(m, walk, edge, sites) else ()
            own = (run.frame, name) in store
            found.append(Holder(name, path, shape, _then(run, name, path), nodes, appended, own))
        if found:
            return tuple(found), run
    return (), run


def untouched(run: LoopRun | None, found: tuple[Holder, ...], event: Event) -> bool:
    """Tell whether no branch of a loop but the one of an event has to do with what the loop carries: what happens in
    turns between two that are alike is not run."""
    if run is None or run.statement is None or not found:
        return False
    names = {holder.name for holder in found}
    places = {event.site, *event.calls}
    for part in p.walk(run.statement):
        if not isinstance(part, (p.Branch, p.Match, p.Try)):
            continue
        inside = set(p.walk(part))
        if not inside & places and any(isinstance(n, p.Name) and n.id in names for n in inside):
            return False
    return True


def crossing(m: Machine, last: tuple[int, int], level: int, walk: Walk) -> frozenset[int]:
    """Return the nodes made up to a turn of a loop that nodes of its later turns were made of."""
    nodes = m.nodes

    def later(n: int) -> bool | None:
        made = nodes[n].turn[level : level + 1]
        return made[0][1] > last[1] if made and made[0][0] == last[0] else None

    inside = [n for n in walk.nodes if later(n) is True]
    return frozenset(parent for n in inside for parent in nodes[n].parents if later(parent) is False)


def _used_besides(m: Machine, walk: Walk, edge: frozenset[int], sites: set[p.Node]) -> bool:
    """Tell whether what this turn has put in at some places is of use without what the earlier turns have."""
    together = {n for n in walk.nodes if edge.intersection(m.nodes[n].parents)}
    return any(
        parent not in edge and sites.intersection(m.stored.get(parent, ()))
        for n in walk.nodes
        if n not in together
        for parent in m.nodes[n].parents
    )


Place = tuple[str, tuple[tuple[str, object], ...], object, frozenset[int], bool]


def _places(m: Machine, store: dict[Any, Any], frame: int, edge: frozenset[int]) -> Iterator[Place]:
    for name, value in _names(store, frame):
        yield from _inside(m, store, name, (), value, edge, DEEP, set())


def _names(store: dict[Any, Any], frame: int) -> list[tuple[str, Value]]:
    found: dict[str, Value] = {}
    current: int | None = frame
    while current is not None:
        for key, value in store.items():
            if type(key) is tuple and len(key) == 2 and key[0] == current and type(key[0]) is int:
                found.setdefault(key[1], value)
        current = store.get(("parent", current))
    return list(found.items())


def _inside(
    m: Machine,
    store: dict[Any, Any],
    name: str,
    path: tuple[tuple[str, object], ...],
    value: Value,
    edge: frozenset[int],
    depth: int,
    seen: set[Key],
) -> Iterator[Place]:
    thing = store.get(value.id) if isinstance(value, Ref) else None
    shape = _shape(store, value)
    if shape is not None and (held := _nodes(store, value) & edge):
        yield name, path, shape, held, isinstance(thing, Sequence)
        return
    if depth == 0 or (isinstance(value, Ref) and value.id in seen):
        return
    if isinstance(value, Ref):
        seen.add(value.id)
    parts: list[tuple[tuple[str, object], Value]] = []
    if isinstance(thing, (Instance, Module)):
        parts = [(("attribute", k), v) for k, v in thing.attributes.items()]
    elif isinstance(thing, Table):
        parts = [(("key", k.value), v) for k, v in thing.items if isinstance(k, Const)]
    elif isinstance(value, Unknown):
        parts = [
            (("attribute", k[2]), v)
            for k, v in store.items()
            if type(k) is tuple and k[0] == "attribute" and k[1] == value.key and isinstance(k[2], str)
        ]
    for step, part in parts:
        yield from _inside(m, store, name, (*path, step), part, edge, depth - 1, seen)


def _nodes(store: dict[Any, Any], value: Value) -> frozenset[int]:
    thing = store.get(value.id) if isinstance(value, Ref) else None
    if isinstance(thing, Tensor):
        return frozenset({thing.node})
    return frozenset().union(*(_nodes(store, v) for v in _elements(value, thing)))


def _elements(value: Value, thing: object) -> tuple[Value, ...]:
    if isinstance(value, Tuple):
        return value.items
    if isinstance(thing, Sequence):
        return thing.items
    return tuple(v for _, v in thing.items) if isinstance(thing, Table) else ()


def _shape(store: dict[Any, Any], value: Value) -> object:
    """Return the shape of a value made of tensors alone, else None."""
    thing = store.get(value.id) if isinstance(value, Ref) else None
    if isinstance(thing, Tensor):
        return "tensor"
    kind = "tuple" if isinstance(value, Tuple) else thing.kind if isinstance(thing, Sequence) else ""
    kind = "dict" if isinstance(thing, Table) else {"generator": "list"}.get(kind, kind)
    if not kind:
        return None
    shapes = {_shape(store, v) for v in _elements(value, thing)}
    return (kind, shapes.pop()) if len(shapes) == 1 and None not in shapes else None


def _then(run: LoopRun, name: str, path: tuple[tuple[str, object], ...]) -> object:
    """Return what a place held when the loop began."""
    store = run.start
    value = dict(_names(store, run.frame)).get(name)
    for kind, key in path:
        thing = store.get(value.id) if isinstance(value, Ref) else None
        if kind == "attribute" and isinstance(thing, (Instance, Module)):
            value = thing.attributes.get(str(key))
        elif kind == "key" and isinstance(thing, Table):
            value = next((v for k, v in thing.items if k == Const(key)), None)
        elif isinstance(value, Unknown):
            value = store.get(("attribute", value.key, key), value)
        else:
            return ""
    if value is None:
        return ""
    if value == Const(None):
        return "none"
    if isinstance(value, Unknown):
        return "unknown"
    return _shape(store, value) or "other"
