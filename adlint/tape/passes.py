"""Backward passes: what they walk, what they meet freed, what they free and fill."""

from __future__ import annotations

from adlint import program as p
from adlint.tape import cuts, library, modes, retention, slots
from adlint.tape.facts import Event, Fact, Guard, Turn
from adlint.tape.graph import Walk, ancestors, must_require_grad, surely_reached
from adlint.tape.machine import Machine
from adlint.tape.state import State


def backward(
    m: Machine,
    state: State,
    kind: str,
    roots: tuple[int, ...],
    site: p.Node,
    subject: p.Node | None,
    retained: bool,
    inputs: frozenset[int] | None = None,
    asked: bool = False,
    whole: bool = True,
) -> None:
    """Walk the graph from the roots as one pass: look for freed ancestors, then free them and fill the slots."""
    if roots and kind == "backward":
        start = m.event(state, kind, site, subject, root=roots[0], object=roots)
        if cuts.passes_over(m, state, roots, start):
            trains(m, state, site)
            return
    roots = tuple(n for n in roots if m.nodes[n].requires_grad is not False)
    if not roots:
        return
    now = state.store.get(("moment", 0), 0)
    later = trains(m, state, site)
    manner = {"retained": retained, "asked": asked, "whole": whole}
    event = m.event(state, kind, site, subject, root=roots[0], object=roots, moment=later, **manner)
    walks = [ancestors(m.nodes, n, inputs if kind == "grad" else None) for n in roots]
    walk = Walk(tuple(dict.fromkeys(n for w in walks for n in w.nodes)), frozenset().union(*(w.leaves for w in walks)))
    m.walked.update(walk.nodes)
    m.walked.update(roots)
    if _consumed(m, state, event, walk, now):
        return
    m.facts.passes.add(site)
    cuts.alive(m, event)
    _passes(m, state, event)
    retention.walked(m, state, event, walk)
    retention.keep(m, state, event, walk)
    if not retained and m.profile.consume != "never":
        for n in walk.nodes:
            if m.nodes[n].kind != "leaf" and ("freed", n) not in state.store:
                state.store[("freed", n)] = event
    if kind == "grad":
        return
    modes.walked(m, state, event, walk.nodes, walk.leaves)
    for one in walk.leaves:
        if state.frozen(one) or (inputs is not None and not any(library.related(m, one, other) for other in inputs)):
            continue
        slot = state.slot(one)
        if slot.status == "clean" and slot.before is not None:
            m.passed.add((f"slot {one}", slot.before.site, site, apart(slot.before.turn, event.turn)))
        state.store[("slot", one)] = slots.fill(slot, event)


def _passes(m: Machine, state: State, event: Event) -> None:
    """Remember that this backward went well after the earlier ones of the path."""
    earlier: dict[p.Node, Event] = state.store.get(("backwards", 0), {})
    for first in earlier.values():
        m.passed.add(("graph", first.site, event.site, apart(first.turn, event.turn)))
    if not event.retained:
        state.store[("backwards", 0)] = {**earlier, event.site: event}


def trains(m: Machine, state: State, site: p.Node) -> int:
    """Note that a backward or step is run at a place, and start a new moment and a new phase of clears."""
    m.facts.training.update((site, *state.calls))
    m.training_loops.update(mark for mark, _ in state.turn)
    state.store[("phase", 0)] = now = moment(m, state)
    return now


def moment(m: Machine, state: State) -> int:
    """Start a new moment: something has happened to the slots."""
    state.store[("moment", 0)] = moment = m.fresh()
    return moment


def _consumed(m: Machine, state: State, event: Event, walk: Walk, now: int) -> bool:
    """Note a backward through freed nodes; tell whether PyTorch raises for certain."""
    freed = [(n, e) for n in walk.nodes if (e := state.freed(n)) is not None]
    if not freed:
        return False
    sure = surely_reached(m.nodes, event.object)
    for node, first in freed:
        assert first.root is not None
        same = _same_loss(m, first, event, walk)
        if not any(must_require_grad(m.nodes, node, root, m.evidence) for root in first.object):
            continue
        if node not in sure or node not in surely_reached(m.nodes, first.object):
            continue
        if not _stale_tensors(m, node, first, walk):
            continue
        kind = _consumption(m, node, first, event, same, state.store.get(("stepped", 0), 0) > first.moment)
        definite = chained(first.guards, event.guards)
        details = (("covered", _covered(m, first, event)), ("direct", first.moment == now))
        m.note(state, Fact(kind, event, (first,), definite, m.nodes[node].site, details=details))
        state.crashed = state.crashed or definite
        return definite
    again = [e for n, e in freed if n in e.object]
    if again and all(m.nodes[n].saves is False for n in walk.nodes if m.nodes[n].kind != "leaf"):
        first = again[0]
        if state.turn == first.turn:
            details = (("covered", True), ("direct", first.moment == now))
            m.note(state, Fact("doubled", event, (first,), chained(first.guards, event.guards), details=details))
    return False


SCALING = frozenset({"*", "/", "+", "-", "neg", "Tensor.clone", "Tensor.mul", "Tensor.div", "[]"})


def _same_loss(m: Machine, first: Event, second: Event, walk: Walk) -> bool:
    """Tell whether two backwards start from one loss: itself, an alias or clone, a function of it, or scaled anew."""
    if set(first.object) & set(second.object):
        return True
    if first.kind == "grad":
        return False
    if any(root in walk.nodes for root in first.object):
        return True
    if any(root in ancestors(m.nodes, other).nodes for root in second.object for other in first.object):
        return True
    return bool({_unscaled(m, n) for n in first.object} & {_unscaled(m, n) for n in second.object})


def _covered(m: Machine, first: Event, second: Event) -> bool:
    """Tell whether the first backward gave all gradients of the second loss already."""
    reached = {n for root in first.object for n in ancestors(m.nodes, root).nodes}
    whole = {_unscaled(m, n) for n in first.object}
    return all(root in reached or _unscaled(m, root) in whole for root in second.object)


def _unscaled(m: Machine, node: int) -> int:
    """Return the node that a root is a multiple of."""
    while len(m.nodes[node].parents) == 1 and m.nodes[node].operation in SCALING:
        node = m.nodes[node].parents[0]
    return node


def _consumption(m: Machine, node: int, first: Event, event: Event, same: bool, stepped: bool) -> str:
    """Name what happened, from the loop turns in which the node was made, freed and met again.

    A loop that only backpropagates, without a step, is one update spelled as a loop.
    """
    level = apart(first.turn, event.turn)
    straight = "consumed-again" if same else "shared-consumed"
    if level is None:
        return straight
    here = event.turn[level]
    made = m.nodes[node].turn[level : level + 1]
    if made and made[0][0] == here[0]:
        return "carried-graph"
    before = all(m.nodes[root].turn[level : level + 1] != (here,) for root in event.object)
    return straight if not stepped or (before and not same) else "stale-forward"


def apart(first: Turn, second: Turn) -> int | None:
    """Return the depth of the loop that turned between two events; None if none did."""
    for depth, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return depth if a[0] == b[0] else None
    return None


def _stale_tensors(m: Machine, node: int, first: Event, walk: Walk) -> bool:
    """Tell whether a freed node held tensors that the second walk needs for certain."""
    record = m.nodes[node]
    if record.saves is not None:
        return record.saves
    if record.kind == "source":
        return node in first.object
    if record.kind in ("call", "part"):
        if node in first.object and node == walk.nodes[0]:
            return True
        if (
            record.kind == "call"
            and record.callee not in m.evidence
            and not any(library.inside(record.callee, e) for e in m.evidence)
        ):
            return False
        earlier = {n for root in first.object for n in ancestors(m.nodes, root).nodes}
        return any(_direct(m, n, node) for n in earlier) and any(_direct(m, n, node) for n in walk.nodes)
    return False


def _direct(m: Machine, child: int, node: int) -> bool:
    return node in m.nodes[child].parents and m.nodes[child].kind != "part"


def chained(first: frozenset[Guard], second: frozenset[Guard]) -> bool:
    """Tell whether two events surely happen together: the guards of one are among those of the other."""
    return first <= second or second <= first
