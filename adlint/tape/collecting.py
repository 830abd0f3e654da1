"""Methods of lists, dicts, sets and iterators: what goes in where, and what comes out."""

from __future__ import annotations

from dataclasses import replace

from adlint import program as p
from adlint.tape import calls, containers, keeping, library
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    Leaves,
    Ref,
    Sequence,
    Table,
    Tuple,
    Unknown,
    Value,
    is_plain,
    key_of,
)


def method(m: Machine, state: State, receiver: Value, name: str, arguments: calls.Arguments, site: p.Node) -> Value:
    """Run a method of a list, dict, tuple, string or iterator."""
    thing = state.object(receiver)
    given = arguments.positional
    if isinstance(thing, Table) and isinstance(receiver, Ref):
        return _table_method(m, state, receiver, thing, name, arguments, site)
    if isinstance(thing, Sequence) and isinstance(receiver, Ref):
        if name in ("append", "add", "appendleft", "put") and given:
            for node in library.nodes_in(m, state, given[0], sources=False):
                m.stored.setdefault(node, set()).add(site)
            keeping.added(m, state, thing.items, given[0], site, _subject(site, 0))
            if name == "add" and given[0] in thing.items:
                return NONE
            grown = (given[0], *thing.items)[:64] if name == "appendleft" else (*thing.items, given[0])[-64:]
            return _grown(m, state, receiver, thing, grown, name != "appendleft")
        if name in ("extend", "update") and given:
            keeping.added(m, state, thing.items, given[0], site, None)
            extend(m, state, receiver, given[0])
            return NONE
        if name == "extendleft" and given:
            known = containers.items(m, state, given[0])
            added = known[::-1] if known is not None else [containers.element(m, state, given[0])]
            return _grown(m, state, receiver, replace(thing, more=known is None), (*added, *thing.items)[:64], False)
        if name == "insert" and len(given) > 1:
            keeping.added(m, state, thing.items, given[1], site, _subject(site, 1))
            elements = list(thing.items)
            place = given[0].value if isinstance(given[0], Const) and type(given[0].value) is int else None
            elements.insert(len(elements) if place is None else place, given[1])
            thing = replace(thing, shuffled=thing.shuffled or place is None)
            return _grown(m, state, receiver, thing, tuple(elements[-64:]))
        if name == "clear":
            state.store[receiver.id] = Sequence(thing.kind, ())
            return NONE
        if name in ("pop", "popleft", "get", "popitem"):
            return _pop(m, state, receiver, thing, given[0] if given else Const(-1 if name == "pop" else 0))
        if name in ("remove", "discard") and given:
            place = next((n for n, v in enumerate(thing.items) if containers.alike(v, given[0])), None)
            rest = thing.items if place is None else (*thing.items[:place], *thing.items[place + 1 :])
            sure = place is not None or name == "discard" or not thing.items
            state.store[receiver.id] = replace(thing, items=rest, shuffled=thing.shuffled or not sure)
            return NONE
        if name == "rotate":
            by = given[0] if given else Const(1)
            if isinstance(by, Const) and type(by.value) is int and thing.items:
                turn = -by.value % len(thing.items)
                state.store[receiver.id] = replace(thing, items=thing.items[turn:] + thing.items[:turn])
            else:
                state.store[receiver.id] = replace(thing, shuffled=True)
            return NONE
        if name == "copy":
            return m.allocate(state, thing)
        if name == "reverse":
            state.store[receiver.id] = replace(thing, items=thing.items[::-1])
            return NONE
        if name == "sort":
            state.store[receiver.id] = ordered(thing, arguments)
            return NONE
        return m.unknown()
    return (
        Unknown(("method", key_of(receiver), name, tuple(key_of(v) for v in given)))
        if is_plain(receiver) and all(is_plain(v) for v in given)
        else m.unknown()
    )


def _table_method(
    m: Machine, state: State, receiver: Ref, thing: Table, name: str, arguments: calls.Arguments, site: p.Node
) -> Value:
    given = arguments.positional
    if name == "items":
        return m.allocate(state, Sequence("list", tuple(Tuple((k, v)) for k, v in thing.items), thing.more))
    if name == "values":
        return m.allocate(state, Sequence("list", tuple(v for _, v in thing.items), thing.more))
    if name == "keys":
        return m.allocate(state, Sequence("list", tuple(k for k, _ in thing.items), thing.more))
    if name in ("get", "pop", "setdefault") and given:
        held = next((v for k, v in thing.items if containers.alike(k, given[0])), None)
        if name == "pop":
            containers.drop(m, state, receiver, given[0], site)
        if held is not None:
            return held
        default = given[1] if len(given) > 1 else NONE
        if name == "setdefault":
            containers.assign(m, state, receiver, given[0], default, site)
            return default
        exact = not thing.more and isinstance(given[0], Const) and all(isinstance(k, Const) for k, _ in thing.items)
        return default if exact else containers.item(m, state, receiver, thing, given[0])
    if name == "update":
        merged, more = thing.items, thing.more
        added = [pairs(m, state, value) for value in given]
        words: list[tuple[Value, Value]] = [(Const(k), v) for k, v in arguments.keywords]
        for found, partly in [*added, (words, False)]:
            more = more or partly
            for key, value in found:
                merged = containers.put(merged, key, value)
        state.store[receiver.id] = Table(merged, more)
        return NONE
    if name == "copy":
        return m.allocate(state, thing)
    if name == "clear":
        state.store[receiver.id] = Table(())
        return NONE
    return m.unknown()


def pairs(m: Machine, state: State, value: Value) -> tuple[list[tuple[Value, Value]], bool]:
    """Return the keys and values that a dict is made of or updated with, and whether there may be others."""
    thing = state.object(value)
    if isinstance(thing, Table):
        return list(thing.items), thing.more
    known = containers.items(m, state, value)
    listed = known if known is not None else [containers.element(m, state, value)]
    found = [(v.items[0], v.items[1]) for v in listed if isinstance(v, Tuple) and len(v.items) == 2]
    return found, known is None or len(found) < len(listed)


def extend(m: Machine, state: State, holder: Value, value: Value) -> None:
    """Run `holder.extend(value)` on a list."""
    thing = state.object(holder)
    assert isinstance(thing, Sequence)
    assert isinstance(holder, Ref)
    known = [value] if isinstance(value, Leaves) else containers.items(m, state, value)
    added = known if known is not None else [containers.element(m, state, value)]
    _grown(m, state, holder, replace(thing, more=thing.more or known is None), (*thing.items, *added)[-64:])


def _grown(
    m: Machine, state: State, holder: Ref, thing: Sequence, grown: tuple[Value, ...], at_end: bool = True
) -> Value:
    """Put a list that has got longer into its place; a deque with a greatest length loses elements at the other end."""
    most = state.store.get(("most", holder.id))
    if most is not None:
        grown = grown[max(len(grown) - most, 0) :] if at_end else grown[:most]
    state.store[holder.id] = replace(thing, items=grown, more=thing.more or _grows(m, state, holder))
    return NONE


def _grows(m: Machine, state: State, holder: Ref) -> bool:
    """Tell whether a list is older than a loop that is being run and of which two turns stand for many, so that it gets
    more elements than are seen."""
    return any(holder.id < mark and not (mark in m.loops and m.loops[mark].whole) for mark, _ in state.turn)


def _pop(m: Machine, state: State, holder: Ref, thing: Sequence, key: Value) -> Value:
    """Run `holder.pop(key)`."""
    if not thing.items:
        return m.unknown()
    taken = containers.at(m, state, holder, key)
    if not thing.more:
        here = [n for n, one in enumerate(thing.items) if one == taken]
        exact = isinstance(key, Const) and type(key.value) is int and -len(thing.items) <= key.value < len(thing.items)
        if exact and not thing.shuffled:
            here = [range(len(thing.items))[key.value]]  # type: ignore[union-attr]
        rest = tuple(one for n, one in enumerate(thing.items) if n not in here[:1])
        state.store[holder.id] = replace(thing, items=rest, shuffled=len(rest) > 1 and (thing.shuffled or not exact))
    return taken


def ordered(thing: Sequence, arguments: calls.Arguments) -> Sequence:
    """Return a sorted list: of numbers or texts it is known how, of anything else it is not."""
    flag = dict(arguments.keywords).get("reverse", FALSE)
    known = [v.value for v in thing.items if isinstance(v, Const)]
    if len(known) == len(thing.items) and "key" not in dict(arguments.keywords) and flag in (TRUE, FALSE):
        try:
            return replace(thing, items=tuple(Const(v) for v in sorted(known, reverse=flag == TRUE)), shuffled=False)
        except TypeError:
            pass
    return replace(thing, shuffled=len(thing.items) > 1 or thing.more)


def _subject(site: p.Node, position: int) -> p.Node | None:
    """Return the expression of an argument."""
    known = isinstance(site, p.Call) and len(site.arguments) > position
    return site.arguments[position].value if known and isinstance(site, p.Call) else None
