"""Values kept from turn to turn of a loop with graphs that a backward has already freed."""

from __future__ import annotations

from collections.abc import Iterable

from adlint import program as p
from adlint.tape import attributes, cuts, expressions, library, retention
from adlint.tape.facts import Event, Fact, apart
from adlint.tape.graph import ancestors
from adlint.tape.machine import LoopRun, Machine
from adlint.tape.state import State
from adlint.tape.values import Instance, Module, Optimizer, Sequence, Table, Tensor, Tuple, Unknown, Value, key_of

CHOOSING = ("torch.min", "torch.max")
"""Python's own, which return one of the values."""


def added(
    m: Machine,
    state: State,
    held: Iterable[Value],
    value: Value,
    site: p.Node,
    subject: p.Node | None,
    slot: int | None = None,
) -> None:
    """Look at a value that a container gets beside what it holds; `slot` is one where it may replace another."""
    if not _looked_at(state) or not state.recording:
        return
    new = [n for n in library.nodes_in(m, state, value, sources=False) if m.nodes[n].requires_grad is True]
    new = [n for n in new if m.nodes[n].kind != "leaf"]
    if not new:
        return
    subject = _element(m, state, value, subject, frozenset(new))
    for old in {n for v in held for n in library.nodes_in(m, state, v, sources=False)}:
        freed = spent(m, state, old) if old not in new else None
        if freed is not None:
            _note(m, state, new[-1], freed, site, subject, (old, *new), slot)
            return
        if old not in new and _is_loss(m, new[-1]):
            _suspect(m, state, old, (old, *new), site, subject)


def _element(m: Machine, state: State, value: Value, subject: p.Node | None, nodes: frozenset[int]) -> p.Node | None:
    """Return the one element of a pair or list, as it is written, that has a graph; else the whole."""
    thing = state.object(value)
    items = value.items if isinstance(value, Tuple) else thing.items if isinstance(thing, Sequence) else ()
    if not isinstance(subject, p.Collection) or len(items) != len(subject.elements):
        return subject
    found = [
        element
        for element, item in zip(subject.elements, items, strict=True)
        if nodes & set(library.nodes_in(m, state, item, sources=False))
    ]
    return found[0] if len(found) == 1 else subject


def assigned(m: Machine, state: State, statement: p.Assign, value: Value) -> None:
    """Look at a value that is made of what its own name held before."""
    thing = state.object(value)
    if not _looked_at(state) or not isinstance(thing, Tensor) or len(statement.targets) != 1:
        return
    if any(isinstance(part, p.Attribute) and part.attr in attributes.GRADIENTS for part in p.walk(statement.value)):
        return
    before = _held(m, state, statement.targets[0])
    if before is not None:
        grown(m, state, before, thing.node, statement, statement.value)


def grown(m: Machine, state: State, before: Value, node: int, site: p.Node, subject: p.Node) -> None:
    """Look at a sum or average that goes on from what it was before."""
    record = m.nodes[node]
    if not _looked_at(state) or record.requires_grad is not True or record.operation in CHOOSING:
        return
    thing = state.object(before)
    if isinstance(thing, Tensor):
        chain = ancestors(m.nodes, node).nodes
        if thing.node not in chain or thing.node == node:
            return
        here = state.turn
        if apart(m.nodes[thing.node].turn, here) is None:
            m.renewed.add(_place(state, site))
        elif not any(thing.node in m.nodes[n].parents for n in chain if m.nodes[n].turn[: len(here)] == here):
            return  # nothing reads it in this turn: something else carries it from one to the next
        freed = spent(m, state, thing.node)
        if freed is not None:
            _note(m, state, node, freed, site, subject, (node,))
        elif record.operation in ("+", "add_") and any(_is_loss(m, n) for n in record.parents):
            _suspect(m, state, thing.node, (node,), site, subject)
    elif isinstance(before, Unknown) and isinstance(site, p.Assign):
        read = cuts.read_from(m, state, before)
        again = any(_same(site.targets[0], part) for part in p.walk(site.value))
        if again and any(apart(m.nodes[n].turn, state.turn) is not None for n in read):
            freed = next((e for n in ancestors(m.nodes, node).nodes if (e := state.freed(n)) is not None), None)
            if freed is not None:
                _note(m, state, node, freed, site, subject, (node,))


def _looked_at(state: State) -> bool:
    return bool(state.turn) and not state.muted and not state.crashed


def spent(m: Machine, state: State, node: int) -> Event | None:
    """Return the backward that freed a part of the graph of a value, both made in an earlier turn of the same loop."""
    level = apart(m.nodes[node].turn, state.turn)
    if level is None:
        return None
    for part in ancestors(m.nodes, node).nodes:
        made, freed = m.nodes[part], state.freed(part)
        if freed is None or made.kind == "leaf" or made.requires_grad is not True:
            continue
        if apart(made.turn, state.turn) == level:
            return freed
    return None


def _place(state: State, site: p.Node) -> tuple[object, ...]:
    return site, state.calls, tuple(number for _, number in state.turn)


def _is_loss(m: Machine, node: int) -> bool:
    """Tell whether a value is a loss, or a multiple of one."""
    record = m.nodes[node]
    while record.operation in ("*", "/") and len(record.parents) == 1:
        record = m.nodes[record.parents[0]]
    return m.profile.measures(record.operation)


def _suspect(m: Machine, state: State, old: int, kept: tuple[int, ...], site: p.Node, subject: p.Node | None) -> None:
    """Remember losses that pile up with graphs which nothing has backpropagated so far."""
    whole = all(isinstance(call, p.Call) for call in state.calls)
    if whole and state.recording == "on" and not state.partial and apart(m.nodes[old].turn, state.turn) is not None:
        m.pending.append((m.event(state, "keep", site, subject, object=kept), frozenset(kept)))


def close(m: Machine, escaped: frozenset[int] | set[int]) -> None:
    """Note the losses that were read as numbers and, in the whole root, neither backpropagated nor handed on."""
    pending, m.pending = m.pending, []
    if not pending or not m.complete:
        return
    read = {n for nodes, _ in m.readings.values() for one in nodes for n in ancestors(m.nodes, one).nodes}
    evaluated = {n for _, nodes in m.recorded.values() for n in nodes}
    for event, kept in pending:
        chain = {n for one in kept for n in ancestors(m.nodes, one).nodes}
        if kept & m.walked or kept & escaped or chain & evaluated or not kept & read:
            continue
        if any(ancestors(m.nodes, one).leaves & m.owned for one in kept):
            m.note(State(), Fact("kept-graph", event, (), True))


def _same(target: p.Node, part: p.Node) -> bool:
    if isinstance(target, p.Name) and isinstance(part, p.Name):
        return target.id == part.id
    if isinstance(target, p.Attribute) and isinstance(part, p.Attribute):
        return target.attr == part.attr and _same(target.value, part.value)
    return False


def _held(m: Machine, state: State, target: p.Expression) -> Value | None:
    """Return what a name, an attribute or an item with a known key holds."""
    if isinstance(target, p.Name):
        found = expressions.lookup(m, state, target.id)
        return None if isinstance(found, Unknown) and found.key == ("name", target.id) else found
    if isinstance(target, p.Attribute) and isinstance(target.value, p.Name):
        holder = expressions.lookup(m, state, target.value.id)
        thing = state.object(holder)
        if isinstance(thing, (Instance, Module, Optimizer)):
            return thing.attributes.get(target.attr)
        value: Value | None = state.store.get(("attribute", key_of(holder), target.attr))
        return value
    if isinstance(target, p.Subscript) and isinstance(target.value, p.Name) and isinstance(target.index, p.Constant):
        thing = state.object(expressions.lookup(m, state, target.value.id))
        if isinstance(thing, Table):
            return next((v for k, v in thing.items if getattr(k, "value", None) == target.index.value), None)
    return None


def handed(m: Machine, state: State, argument: p.Argument, value: Value) -> None:
    """Remember which graphs an argument brought into a call."""
    nodes = frozenset(library.nodes_in(m, state, value, 2, sources=False))
    if nodes:
        m.brought[argument] = nodes


def _note(
    m: Machine,
    state: State,
    node: int,
    freed: Event,
    site: p.Node,
    subject: p.Node | None,
    kept: tuple[int, ...],
    slot: int | None = None,
) -> None:
    chain = frozenset(ancestors(m.nodes, node).nodes) | {node}
    place, wrapped = site, subject
    for call in state.calls:
        if call in freed.calls or not isinstance(call, p.Call):
            continue
        found = [a for a in call.arguments if m.brought.get(a, frozenset()) & chain]
        if found and not found[0].star:
            place, wrapped = call, found[0].value
            break
    for mark, _ in state.turn:
        if (run := m.loops.get(mark)) is not None:
            run.keeps.add(node)
        else:
            m.lasting.add(node)  # the list of a comprehension is there when all of it is
    event = m.event(state, "keep", place, wrapped, object=kept)
    details = (("place", _place(state, site)), ("slot", slot))
    m.carriers[node] = place
    m.note(state, Fact("kept-graph", event, (freed,), True, details=details))


def turned(m: Machine, run: LoopRun, states: Iterable[State]) -> None:
    """Look which values are still there when a turn ends: only those are kept."""
    for state in states if run.keeps else ():
        m.lasting |= run.keeps & retention.behind(m, retention.held(state, m.counter))


def rewalked(m: Machine, state: State, nodes: Iterable[int]) -> None:
    """Remember freed nodes that a backward meets again: whoever kept them wanted their graph."""
    m.rewalked.update(n for n in nodes if ("freed", n) in state.store)


def of_use(m: Machine, fact: Fact) -> bool:
    """Tell whether what was kept is backpropagated after all, is made anew on other paths of the same turn, is gone
    when the turn ends, or goes on under another name that was given it later."""
    if fact.kind != "kept-graph":
        return False
    details = dict(fact.details)
    if details.get("place") in m.renewed:
        return True
    slot = details.get("slot")
    if slot is not None and (slot in m.indexed or (m.detached | m.escaped).intersection(fact.event.object)):
        return True
    kept = fact.event.object
    if fact.causes and not m.lasting.intersection(kept):
        return True
    single = len(kept) == 1
    if single and m.carriers.get(kept[0], fact.event.site) is not fact.event.site:
        return True
    return any(n in m.rewalked or (single and n in m.walked) for n in kept)
