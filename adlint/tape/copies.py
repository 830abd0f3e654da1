"""Copies of values: modules and leaves anew, graphs cut, containers element by element."""

from __future__ import annotations

from dataclasses import replace

from adlint import program as p
from adlint.tape import library
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import Instance, Module, Ref, Sequence, Table, Tensor, Unknown, Value


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
    if isinstance(thing, (Sequence, Table)):
        copied = done[value] = m.allocate(state, thing)
        if isinstance(thing, Sequence):
            items = tuple(duplicate(m, state, v, done, site, deep) for v in thing.items)
            state.store[copied.id] = replace(thing, items=items)
        else:
            pairs = tuple((k, duplicate(m, state, v, done, site, deep)) for k, v in thing.items)
            state.store[copied.id] = replace(thing, items=pairs)
        return copied
    if isinstance(value, Unknown):
        return Unknown(("copy", value.key, m.fresh()))
    return value


def _twin(m: Machine, state: State, leaf: int, site: p.Node) -> int:
    twin = m.node(state, "leaf", m.nodes[leaf].operation, (), False, site, True)
    if state.frozen(leaf):
        state.store[("frozen", twin)] = True
    return twin
