"""What only a leaf has and what no leaf allows: gradients read from other tensors, updates of leaves in place.

w = torch.randn(3, requires_grad=True) * 0.1     w is no leaf: no slot, `w.grad` stays None
w -= 0.1 * w.grad                                w is a leaf: raises while recording is on
"""

from __future__ import annotations

from collections.abc import Iterable

from adlint import program as p
from adlint.tape import library
from adlint.tape.facts import Event, Fact
from adlint.tape.graph import ancestors
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    Absent,
    Bound,
    Builtin,
    Closure,
    Leaves,
    Library,
    Method,
    Partial,
    Sequence,
    Table,
    Tensor,
    Tuple,
    Unknown,
    Value,
)

# ---------------------------------------------------------------- tensors that are no leaves


def is_result(m: Machine, state: State, node: int) -> bool:
    """Tell whether a node is certainly the result of an operation: the tensor is no leaf and no argument of its own."""
    pending, seen = [node], set()
    while pending:
        current = pending.pop()
        record = m.nodes[current]
        if record.kind != "operation" or ("retained", current) in state.store:
            return False
        if record.operation == "[]=" and any(("retained", one) in state.store for one in record.parents):
            return False
        result = m.profile.result(record.operation)
        if current in seen or result in ("new", "view"):
            continue
        if result != "same":
            return False
        seen.add(current)
        pending += record.parents
    return True


def is_node(m: Machine, thing: object) -> bool:
    """Tell whether a tensor is what an operation that was recorded gave."""
    return isinstance(thing, Tensor) and m.nodes[thing.node].kind == "operation"


def requires_grad(m: Machine, state: State, node: int) -> bool:
    """Tell whether a node certainly requires grad: a leaf behind it was made to on this path."""
    if m.nodes[node].requires_grad is not None:
        return m.nodes[node].requires_grad is True
    pending, seen = [node], set()
    while pending:
        current = pending.pop()
        record = m.nodes[current]
        if current in seen or record.kind not in ("operation", "leaf"):
            continue
        seen.add(current)
        if record.kind == "leaf" and _tracked(state, current, record.callee):
            return True
        pending += record.parents
    return False


def _tracked(state: State, leaf: int, key: object) -> bool:
    return key is not None and ("tracked", key) in state.store and not state.frozen(leaf)


def gradient_of(m: Machine, state: State, node: int, site: p.Node) -> Value:
    """Return what stands in the slot of a tensor that is no parameter."""
    if (is_result(m, state, node) and requires_grad(m, state, node)) or _of_leaf(m, state, node):
        return Absent(node, site)
    return Unknown(("grad", node))


def _of_leaf(m: Machine, state: State, node: int) -> bool:
    """Tell whether a tensor was computed from a leaf without recording, and was not told to require grad since."""
    record = m.nodes[node]
    if record.kind != "cut" or record.cut not in ("off", "inference", "detach") or ("retained", node) in state.store:
        return False
    if record.cut != "detach" and m.profile.result(record.operation) not in ("new", "view"):
        return False
    return any(
        (m.nodes[one].kind == "leaf" and m.nodes[one].operation == "tensor" and m.nodes[one].requires_grad is True)
        or (record.cut == "detach" and is_result(m, state, one) and requires_grad(m, state, one))
        for one in record.behind
    )


def retain(m: Machine, state: State, value: Value) -> None:
    """Remember that a tensor keeps its gradient though it may be no leaf."""
    for node in library.nodes_in(m, state, value, sources=False):
        if m.nodes[node].kind != "leaf":
            state.store[("retained", node)] = True


def moved(state: State, before: int, after: int) -> None:
    """Let a tensor that was changed in place keep what it was told to keep."""
    if ("retained", before) in state.store:
        state.store[("retained", after)] = True


QUIET = frozenset({"print", "isinstance", "type", "repr", "str", "id", "bool", "format", "callable", "hasattr"})
LOGS = frozenset({"info", "debug", "warning", "warn", "error", "log", "write", "print"})


def handed(m: Machine, state: State, function: Value, values: Iterable[Value]) -> None:
    """Look at what a call is handed: an absent gradient is of use only to those who look whether it is there."""
    if isinstance(function, (Closure, Bound, Partial)) or (isinstance(function, Builtin) and function.name in QUIET):
        return
    if isinstance(function, Method) and isinstance(state.object(function.receiver), (Sequence, Table)):
        return
    if isinstance(function, Library) and function.name.startswith("logging."):
        return
    if isinstance(function, Unknown) and isinstance(function.key, tuple) and function.key[-1] in LOGS:
        return
    if isinstance(function, Unknown) and function.key == ("name", "print"):
        return
    for value in values:
        for one in absent(state, value):
            used(m, state, one, fails=isinstance(function, (Builtin, Method)))


def absent(state: State, value: Value) -> list[Absent]:
    """Return the absent gradients in a value."""
    thing = state.object(value)
    if isinstance(value, Absent):
        return [value]
    parts: tuple[Value, ...] = ()
    if isinstance(value, Tuple):
        parts = value.items
    elif isinstance(thing, Sequence):
        parts = thing.items
    return [part for part in parts if isinstance(part, Absent)]


def used(m: Machine, state: State, value: Absent, fails: bool) -> None:
    """Note that the gradient of a tensor that has none is used; where that raises, nothing after it happens."""
    subject = value.site.value if isinstance(value.site, p.Attribute) else None
    event = m.event(state, "read", value.site, subject)
    made, details = m.nodes[value.node].site, _origin(m, value.node)
    m.note(state, Fact("absent-gradient", event, (), True, made, details=details))
    state.crashed = state.crashed or fails


def _origin(m: Machine, node: int) -> tuple[tuple[str, object], ...]:
    """Say where the result of operations comes from: the tensors that were made to require grad, and whether there are
    no other leaves."""
    recorded = m.nodes[node].kind != "cut"
    leaves = [m.nodes[one] for one in sorted(ancestors(m.nodes, node).leaves)]
    own = [leaf for leaf in leaves if leaf.operation == "tensor"]
    given = any(leaf.callee is not None for leaf in leaves)
    made = m.nodes[node].site
    sites = tuple(leaf.site for leaf in own)
    return ("made", made), ("leaves", sites), ("given", given), ("alone", own == leaves), ("recorded", recorded)


def optimized(m: Machine, state: State, value: Value, site: p.Node) -> None:
    """Look at what an optimizer is built with: a tensor that is the result of an operation is refused."""
    for node in library.nodes_in(m, state, value, sources=False):
        if m.nodes[node].requires_grad is True and is_result(m, state, node):
            event, made = m.event(state, "optimizer", site, site), m.nodes[node].site
            m.note(state, Fact("optimized-result", event, (), True, made, details=_origin(m, node)))
            state.crashed = True
            return


# ---------------------------------------------------------------- updates of leaves in place


def updated(
    m: Machine, state: State, target: Value, values: Iterable[Value], site: p.Node, subject: p.Node | None
) -> None:
    """Look at an in-place update while recording: of a leaf that requires grad, or a view of one, it raises."""
    m.changes += 1
    if state.recording != "on" or not recorded_for_sure(m, state):
        return
    if state.crashed and ("raised", "update") not in state.store:
        return
    held = _leaves_in(m, state, target)
    if not held or any(state.frozen(one) for one in held):
        return
    if not all(_tracks(m, state, one) for one in held):
        return
    subject = subject.value if isinstance(subject, p.Subscript) else subject
    made = next((m.nodes[one].site for one in held if m.nodes[one].operation == "tensor"), None)
    given = [m.nodes[n] for value in values for n in library.nodes_in(m, state, value, sources=False)]
    carries = any(node.kind != "leaf" and node.requires_grad is not False for node in given)
    details = (("made", made), ("carries", carries))
    m.note(state, Fact("leaf-updated", m.event(state, "update", site, subject), (), True, details=details))
    state.store[("raised", "update")] = True
    state.crashed = True


def _leaves_in(m: Machine, state: State, target: Value) -> tuple[int, ...]:
    """Return the leaves that an in-place update of a value changes."""
    thing = state.object(target)
    if isinstance(target, Leaves):
        return tuple(sorted(target.leaves)) if target.single and not target.data else ()
    if isinstance(target, Unknown):
        return (library.leaf_of(m, target.key),) if ("tracked", target.key) in state.store else ()
    if not isinstance(thing, Tensor):
        return ()
    node = m.nodes[thing.node]
    while node.kind == "operation" and len(node.parents) == 1 and m.profile.result(node.operation) == "view":
        node = m.nodes[node.parents[0]]
    return (node.id,) if node.kind == "leaf" else ()


def _tracks(m: Machine, state: State, leaf: int) -> bool:
    """Tell whether a leaf certainly requires grad: it was made so, or its gradient was there to be read."""
    record, slot = m.nodes[leaf], state.slot(leaf)
    if record.requires_grad is True or _tracked(state, leaf, record.callee):
        return True
    return slot.read and bool(slot.fills)


def recorded_for_sure(m: Machine, state: State) -> bool:
    """Tell whether recording is on for certain: in the script itself, or where a backward went through what the running
    root has recorded; the unseen caller of a function may have switched it off."""
    if not state.calls or not isinstance(state.calls[0], p.Function):
        return True
    earlier: dict[p.Node, Event] = state.store.get(("backwards", 0), {})
    return any(
        e.calls[:1] == state.calls[:1] and e.root is not None and m.nodes[e.root].kind in ("operation", "call", "part")
        for e in earlier.values()
    )
