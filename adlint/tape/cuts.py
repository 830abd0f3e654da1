"""Values without a graph: where it was cut, what was behind the cut, and backwards that start from such a value.

A value is without a graph for certain only if everything that it was made of is. Data of which nothing is known counts
as such where it comes in batches together with what a network was fed.
"""

from __future__ import annotations

from adlint import program as p
from adlint.tape.facts import Event, Fact
from adlint.tape.graph import Node
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import Const, Key, Leaves, Linear, Sequence, Table, Tensor, Tuple, Unknown, Value

ARITHMETIC = frozenset({"op", "float", "int", "sum"})
Seen = set[int]

# ---------------------------------------------------------------- numbers


def reading(m: Machine, state: State, value: Value, site: p.Node) -> Value:
    """Return the number that a tensor, or values of tensors, are read as; it knows where it comes from."""
    nodes = read_from(m, state, value)
    if not nodes:
        return m.unknown()
    key = ("read", m.fresh())
    m.readings[key] = (nodes, site)
    return Unknown(key)


def read_from(m: Machine, state: State, value: Value, depth: int = 3) -> tuple[int, ...]:
    """Return the tensors whose values went into a value: itself, those in it, or those that numbers were read from."""
    thing = state.object(value)
    if isinstance(thing, Tensor):
        return (thing.node,)
    if isinstance(value, Leaves):
        return tuple(sorted(value.leaves))
    if isinstance(value, Unknown):
        return _read_in(m, value.key)
    if depth and isinstance(value, Tuple):
        return tuple(n for v in value.items[-4:] for n in read_from(m, state, v, depth - 1))
    if depth and isinstance(thing, Sequence):
        return tuple(n for v in thing.items[-4:] for n in read_from(m, state, v, depth - 1))
    if depth and isinstance(thing, Table):
        return tuple(n for _, v in thing.items[-4:] for n in read_from(m, state, v, depth - 1))
    return ()


def _read_in(m: Machine, key: Key) -> tuple[int, ...]:
    if not isinstance(key, tuple) or not key:
        return ()
    if key[0] == "read":
        return m.readings[key][0] if key in m.readings else ()
    return tuple(n for part in key[1:] for n in _read_in(m, part)) if key[0] in ARITHMETIC else ()


def number(m: Machine, key: Key) -> bool:
    """Tell whether an unknown is a Python number for certain, made of what was read from tensors."""
    if isinstance(key, (Const, Linear)):
        return True
    if not isinstance(key, tuple) or not key:
        return False
    if key[0] in ("read", "widened", "turn", "count", "len"):
        return True
    return key[0] in ARITHMETIC and all(number(m, part) for part in key[1:] if not isinstance(part, str))


# ---------------------------------------------------------------- data


def fed(m: Machine, state: State, value: Value) -> None:
    """Remember that a network was fed a value: what came in one batch with it is data."""
    if isinstance(value, Unknown):
        m.batches.add(_batch(value.key))
    elif isinstance(value, Tuple):
        for one in value.items:
            fed(m, state, one)


def _batch(key: Key) -> Key:
    """Return the element of a loop, or the parameter, that a value was taken out of."""
    while isinstance(key, tuple) and len(key) >= 3 and key[0] in ("item", "attr", "method"):
        if key[0] == "item" and isinstance(key[2], tuple):
            return key
        key = key[1]
    return key


def in_batch(m: Machine, value: Value) -> bool:
    """Tell whether a value came out of a loop over data, in one batch with what a network was fed."""
    key = value.key if isinstance(value, Unknown) else None
    whole = isinstance(key, tuple) and len(key) == 3 and key[0] == "item" and isinstance(key[2], Const)
    return whole and _batch(key) is not key and _batch(key) in m.batches


def _is_data(m: Machine, state: State, key: Key) -> bool:
    """Tell whether an unknown is data for certain: a number, or something out of a batch."""
    if number(m, key):
        return True
    if isinstance(key, tuple) and key and key[0] in ARITHMETIC:
        return all(_is_data(m, state, part) for part in key[1:] if not isinstance(part, str))
    inner = key
    while isinstance(inner, tuple) and len(inner) >= 3 and inner[0] in ("item", "attr", "method"):
        if inner in m.evidence or ("tracked", inner) in state.store:
            return False
        inner = inner[1]
    if inner in m.evidence or ("tracked", inner) in state.store:
        return False
    return ((isinstance(key, tuple) and key[:1] == ("item",)) or key in m.batches) and _batch(key) in m.batches


# ---------------------------------------------------------------- graphs


def would_track(m: Machine, state: State, node: int, seen: Seen | None = None) -> bool:
    """Tell whether a value carried a graph, or would have without the cuts behind it."""
    seen = set() if seen is None else seen
    if node in seen or len(seen) > 400:
        return False
    seen.add(node)
    record = m.nodes[node]
    if record.kind == "leaf":
        trained = record.requires_grad is True or record.callee in m.evidence
        if not trained or _frozen_at(state, node) is not None:
            return False
        return not record.cut or _any(m, state, record.behind, seen)
    if record.kind == "source":
        return record.callee in m.evidence
    if record.requires_grad is True:
        return True
    return _any(m, state, (*record.parents, *record.behind), seen)


def _frozen_at(state: State, leaf: int) -> p.Node | None:
    """Return where all parameters that a leaf stands for were frozen."""
    site = state.store.get(("frozen", leaf))
    return site if isinstance(site, p.Node) else None


def _any(m: Machine, state: State, nodes: tuple[int, ...], seen: Seen) -> bool:
    return any(would_track(m, state, n, seen) for n in nodes)


def graphless(m: Machine, state: State, node: int, seen: Seen | None = None) -> tuple[bool, Node | None]:
    """Tell whether a value has no graph to a parameter for certain, and which node cut it off from one."""
    seen = set() if seen is None else seen
    if node in seen:
        return True, None
    if len(seen) > 400:
        return False, None
    seen.add(node)
    record = m.nodes[node]
    if record.kind == "leaf":
        if record.cut:
            cut = _any(m, state, record.behind, set()) or _deepest(m, state, record) is not record
            return cut, record if cut else None
        whole = _frozen_at(state, node) is not None
        return whole, record if whole else None
    if record.kind == "source":
        return _is_data(m, state, record.callee), None
    if record.kind == "call" or record.hidden:
        return False, None
    if record.cut in ("off", "inference", "detach", "untracked", "data", "wrapped"):
        return True, record if _any(m, state, record.behind, set()) else None
    if record.kind == "cut" and record.cut != "derived":
        return False, None
    found: Node | None = None
    for part in (*record.parents, *record.behind):
        sure, cause = graphless(m, state, part, seen)
        if not sure:
            return False, None
        if cause is not None and (found is None or _weight(cause) > _weight(found)):
            found = cause
    return True, found


def _weight(cause: Node) -> int:
    """Rank causes: a cut tells more than a leaf that was made of a cut value, and that more than frozen parameters."""
    return 2 if cause.kind != "leaf" else 1 if cause.cut else 0


def passes_over(m: Machine, state: State, roots: tuple[int, ...], event: Event) -> bool:
    """Note a backward from values that were cut off from every parameter, or of which one is and does not require grad;
    tell whether it is one."""
    asked = [(root, *graphless(m, state, root)) for root in roots]
    dead = tuple(root for root, sure, _ in asked if sure)
    if not dead:
        return False
    whole, roots = len(dead) == len(roots), dead
    cause = next((found for _, sure, found in asked if sure and found is not None), None)
    if not whole and (cause is None or any(m.nodes[n].cut for n in _leaves(m, roots))):
        return False
    if cause is None:
        return _bare_number(m, state, roots, event)
    if cause.scope is None and cause.cut in ("off", "inference"):
        return False
    leaves = frozenset(_leaves(m, roots))
    leaf = any(m.nodes[n].cut and not state.frozen(n) for n in leaves)
    if leaf and (event.kind == "grad" or not (m.owned or m.opaque_owner)):
        return False
    first = _deepest(m, state, cause) if leaf else cause
    where: object = first.site
    if first.kind == "leaf" and not first.cut:
        where = _frozen_at(state, first.id)
    how = "frozen" if first.kind == "leaf" and not first.cut else first.cut
    details = (
        ("how", how),
        ("where", where),
        ("scope", first.scope),
        ("leaf", leaf),
        ("made", cause.site if leaf else None),
        ("leaves", leaves),
    )
    sure = not state.partial or first.id in m.unconditional
    m.note(state, Fact("cut-backward", event, (), sure, None, details=details))
    if not leaf:
        state.crashed = True
    return True


def _bare_number(m: Machine, state: State, roots: tuple[int, ...], event: Event) -> bool:
    """Note a backward of a new tensor that holds nothing but a number."""
    made = next((m.nodes[n] for n in _behind(m, roots) if m.nodes[n].cut == "data"), None)
    if made is None or made.behind or made.site is None or made.kind != "cut":
        return False
    details = (("how", "literal"), ("where", made.site), ("leaf", False))
    m.note(state, Fact("cut-backward", event, (), not state.partial, None, details=details))
    return False


def _behind(m: Machine, roots: tuple[int, ...]) -> list[int]:
    """Return what values without a graph were made of, as long as that is one thing each."""
    found = list(roots)
    for node in found:
        if m.nodes[node].cut == "derived" and len(m.nodes[node].behind) == 1:
            found.append(m.nodes[node].behind[0])
    return found


def _deepest(m: Machine, state: State, cause: Node) -> Node:
    """Return the cut behind a leaf that was made of a value without a graph."""
    for part in cause.behind:
        sure, found = graphless(m, state, part)
        if sure and found is not None and found is not cause:
            return found
    return cause


def _leaves(m: Machine, roots: tuple[int, ...]) -> list[int]:
    seen: Seen = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(m.nodes[node].parents)
    return [n for n in seen if m.nodes[n].kind == "leaf"]


def backward_of_number(m: Machine, state: State, value: Value, event: Event) -> None:
    """Note a backward that is asked of a Python number."""
    if isinstance(value, Const) and type(value.value) in (int, float) and value.site is not None:
        details: tuple[tuple[str, object], ...] = (("how", "literal"), ("where", value.site), ("leaf", False))
    elif isinstance(value, Unknown) and number(m, value.key) and (nodes := _read_in(m, value.key)):
        if all(m.nodes[n].kind in ("call", "part") and not would_track(m, state, n) for n in nodes):
            return
        details = (("how", "number"), ("where", (sites := _reads(m, value.key))[0]), ("leaf", False), ("reads", sites))
    else:
        return
    m.note(state, Fact("cut-backward", event, (), not state.partial, None, details=details))
    state.crashed = True


def _reads(m: Machine, key: Key) -> tuple[p.Node, ...]:
    """Return where the tensors in a number were read."""
    if not isinstance(key, tuple) or not key:
        return ()
    if key[0] == "read":
        return (m.readings[key][1],)
    return tuple(dict.fromkeys(site for part in key[1:] for site in _reads(m, part)))


def wanted(m: Machine, fact: Fact) -> bool:
    """Tell whether a backward that reaches no parameter was for a leaf that is optimised, or whose gradient is read."""
    details = dict(fact.details)
    leaves = details.get("leaves") if fact.kind == "cut-backward" and details["leaf"] else None
    return isinstance(leaves, frozenset) and bool(leaves & (m.owned | m.reads))


def alive(m: Machine, event: Event) -> None:
    """Remember that a backward of this place, calls and turns went through."""
    m.alive.add(_place(event))


def was_alive(m: Machine, event: Event) -> bool:
    """Tell whether on another path the same backward went through."""
    return _place(event) in m.alive


def _place(event: Event) -> tuple[object, ...]:
    return event.site, event.calls, tuple(number for _, number in event.turn)


__all__ = [
    "alive",
    "backward_of_number",
    "fed",
    "graphless",
    "number",
    "passes_over",
    "read_from",
    "reading",
    "wanted",
    "was_alive",
    "would_track",
]
