"""Backward passes: what they walk, what they meet freed, what they free and fill."""

from __future__ import annotations

from adlint import program as p
from adlint.tape import clips, cuts, holders, keeping, library, modes, players, retention, slots, terms, updates
from adlint.tape.facts import Event, Fact, Guard, apart
from adlint.tape.graph import Walk, ancestors, must_require_grad, surely_reached
from adlint.tape.machine import Machine
from adlint.tape.overwrites import goes_over, outdated, place, updated_since
from adlint.tape.state import State
from adlint.tape.values import named


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
    if not roots:
        return
    start = m.event(state, kind, site, subject, root=roots[0], object=roots)
    if cuts.passes_over(m, state, roots, start):
        m.log(state, kind, site, roots)
        m.log(state, "refused", site, roots)
        trains(m, state, site)
        return
    if any(m.nodes[n].requires_grad is False for n in roots):
        m.log(state, kind, site, roots)
        m.log(state, "refused", site, roots)
        state.crashed = True
        return
    now = state.store.get(("moment", 0), 0)
    later = trains(m, state, site)
    manner = {"retained": retained, "asked": asked, "whole": whole}
    event = m.event(state, kind, site, subject, root=roots[0], object=roots, moment=later, **manner)
    walks = [ancestors(m.nodes, n, inputs if kind == "grad" else None) for n in roots]
    walk = Walk(tuple(dict.fromkeys(n for w in walks for n in w.nodes)), frozenset().union(*(w.leaves for w in walks)))
    m.burn(len(walk.nodes))
    m.walked.update(walk.nodes)
    m.walked.update(roots)
    m.log(state, kind, site, walk.nodes)
    keeping.rewalked(m, state, walk.nodes)
    terms.backpropagated(m, state, roots)
    if _refused(m, state, event, walk, now):
        m.log(state, "refused", site, walk.nodes)
        retention.walked(m, state, event, walk)
        return
    _counted_again(m, state, event, walk)
    _unchanged(m, state, event, walk)
    m.facts.passes.add(site)
    cuts.alive(m, event)
    _passes(m, state, event, walk)
    retention.walked(m, state, event, walk)
    retention.keep(m, state, event, walk)
    if retained:
        for n in roots:
            state.store[("walked", n)] = event
    elif m.profile.consume != "never":
        freed = tuple(n for n in walk.nodes if m.nodes[n].kind != "leaf" and ("freed", n) not in state.store)
        m.log(state, "freed", site, freed)
        for n in freed:
            state.store[("freed", n)] = event
    if kind == "grad":
        return
    modes.walked(m, state, event, walk.nodes, walk.leaves)
    updates.walked(m, state, walk, roots)
    scaler = next((m.scaled[n] for n in roots if n in m.scaled), None)
    for one in walk.leaves:
        if state.frozen(one) or (inputs is not None and not any(library.related(m, one, other) for other in inputs)):
            continue
        slot = state.slot(one)
        if slot.status == "clean" and slot.before is not None:
            m.passed.add((f"slot {one}", slot.before.site, site, apart(slot.before.turn, event.turn)))
        m.ledger.met(event, slot)
        updates.filled(m, state, one, slot, event)
        clips.filled(m, state, one, slot, event)
        filled = slots.fill(slot, event, scaler)
        m.log(state, "slot", site, (one,), slot.status, filled.status)
        state.store[("slot", one)] = filled


def _passes(m: Machine, state: State, event: Event, walk: Walk) -> None:
    """Remember that this backward went well after the earlier ones, and after the updates, of the path."""
    earlier: dict[p.Node, Event] = state.store.get(("backwards", 0), {})
    for first in earlier.values():
        m.passed.add(("graph", first.site, event.site, apart(first.turn, event.turn)))
    for one in walk.leaves:
        if ("written", one) in state.store:
            update: Event = state.store[("written", one)][1]
            m.passed.add((f"update {one}", update.site, event.site, apart(update.turn, event.turn)))
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


def _consumed(m: Machine, state: State, event: Event, walk: Walk, now: int) -> bool | None:
    """Note a backward through freed nodes; tell whether PyTorch raises for certain, None if nothing was noted."""
    freed = [(n, e) for n in walk.nodes if (e := state.freed(n)) is not None]
    if not freed:
        return None
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
        raises = definite = recurs(first, event)
        opposed = None if same else players.intruder(m, state, node, first, event)
        if opposed is not None:
            found, gates = opposed
            other = event if found is first else first
            more: tuple[tuple[str, object], ...] = (("gates", gates), ("other", other))
            m.note(state, Fact("undetached", found, (other,), definite, m.nodes[node].site, details=more))
        else:
            stepped = state.store.get(("stepped", 0), 0) > first.moment
            stepped = stepped or updated_since(state, walk.leaves, first.moment)
            kind = _consumption(m, node, first, event, same, stepped)
            if kind in ("carried-graph", "stale-forward") and m.nodes[node].kind == "source":
                continue
            more = (("covered", _covered(m, first, event)), ("direct", first.moment == now))
            if kind == "shared-consumed":
                more = (*more, ("several", players.several(m, state, first, event)))
            more = (*more, *_surroundings(m, kind, first, event, walk))
            if definite and not _sure_to_recur(m, kind, first, event, more):
                if kind == "carried-graph":
                    continue
                definite = False
            raises = definite or kind in ("consumed-again", "shared-consumed")
            m.note(state, Fact(kind, event, (first,), definite, m.nodes[node].site, details=more))
        state.crashed = state.crashed or (raises and not m.profile.tolerant)
        return raises
    again = [e for n, e in freed if n in e.object]
    if again and all(m.nodes[n].saves is False for n in walk.nodes if m.nodes[n].kind != "leaf"):
        first = again[0]
        if state.turn == first.turn:
            details = (("covered", True), ("direct", first.moment == now))
            m.note(state, Fact("doubled", event, (first,), chained(first.guards, event.guards), details=details))
    return None


def _refused(m: Machine, state: State, event: Event, walk: Walk, now: int) -> bool:
    """Note what a backward raises for, the first that it comes to: the newest nodes are walked first, and of one node
    PyTorch looks whether it is freed before it looks whether it is outdated."""
    late = outdated(m, state, event, walk)
    if late is None:
        return bool(_consumed(m, state, event, walk, now))
    freed = max((n for n in walk.nodes if state.freed(n) is not None), default=0)
    if late[0] > freed:
        return _outdated(m, state, event, walk, *late) or bool(_consumed(m, state, event, walk, now))
    raises = _consumed(m, state, event, walk, now)
    return _outdated(m, state, event, walk, *late) if raises is None else raises


def _outdated(m: Machine, state: State, event: Event, walk: Walk, node: int, leaf: int, update: Event) -> bool:
    """Note a backward through a node that needs a leaf updated since; tell whether it raises for certain."""
    kind = {"here": "step-between", "carried": "carried-graph", "stale": "stale-forward"}[place(m, node, update, event)]
    definite = chained(update.guards, event.guards)
    details = (("outdated", leaf), *_surroundings(m, kind, update, event, walk))
    m.log(state, "outdated", event.site, (node, leaf))
    if kind == "carried-graph" and not (definite and dict(details).get("holders")):
        return False
    m.note(state, Fact(kind, event, (update,), definite, m.nodes[node].site, details=details))
    state.crashed = True
    return True


def _counted_again(m: Machine, state: State, event: Event, walk: Walk) -> None:
    """Note a backward that adds, without any error, to gradients which an earlier turn's backward gave already: nothing
    on the way from the earlier turn kept a tensor."""
    if event.kind != "backward":
        return
    sure = surely_reached(m.nodes, event.object)
    for level in range(len(event.turn)):
        mark, number = event.turn[level]
        edge = holders.crossing(m, (mark, number - 1), level, walk) & sure
        for node in sorted(edge):
            first = state.freed(node)
            if first is None or m.nodes[node].requires_grad is not True or apart(first.turn, event.turn) != level:
                continue
            behind = ancestors(m.nodes, node)
            if not behind.leaves or any(m.nodes[n].saves is not False for n in behind.nodes if n not in behind.leaves):
                continue
            if not updated_since(state, behind.leaves, first.moment):
                continue
            details = (("silent", True), *_surroundings(m, "carried-graph", first, event, walk))
            definite = recurs(first, event)
            if definite and not _sure_to_recur(m, "carried-graph", first, event, details):
                return
            m.note(state, Fact("carried-graph", event, (first,), definite, m.nodes[node].site, details=details))
            return


def _unchanged(m: Machine, state: State, event: Event, walk: Walk) -> None:
    """Note that a loop backpropagates one loss in every turn, though parameters behind it were updated."""
    for root in event.object:
        first: Event | None = state.store.get(("walked", root)) or state.freed(root)
        if first is None or first.kind != "backward" or event.kind != "backward" or m.nodes[root].kind == "source":
            continue
        level = apart(first.turn, event.turn)
        if level is None or m.nodes[root].turn[level : level + 1] == (event.turn[level],):
            continue
        if updated_since(state, walk.leaves, first.moment) and not goes_over(m, event.turn[level][0], event):
            details = (("silent", True), *_surroundings(m, "stale-forward", first, event, walk))
            definite = recurs(first, event)
            m.note(state, Fact("stale-forward", event, (first,), definite, m.nodes[root].site, details=details))


def _surroundings(m: Machine, kind: str, earlier: Event, event: Event, walk: Walk) -> tuple[tuple[str, object], ...]:
    """Return what a fix needs to know of the loop that turned between two events."""
    level = apart(earlier.turn, event.turn)
    if level is None:
        return ()
    if kind == "carried-graph":
        found, run = holders.carried(m, earlier, event, level, walk)
        return (("holders", found), ("loop", None if run is None else run.statement))
    run = m.loops.get(event.turn[level][0])
    here = [n for n in walk.nodes if m.nodes[n].turn[level : level + 1] == (event.turn[level],)]
    fresh = walk.leaves.intersection(q for n in here for q in m.nodes[n].parents)
    behind = {q for n in walk.nodes if n not in here for q in m.nodes[n].parents if q in walk.leaves}
    old = {n for n in walk.nodes if m.nodes[n].kind != "leaf" and len(m.nodes[n].turn) <= level}
    stale = {m.nodes[n].site for n in old}
    stale.update(site for entry in m.entries if entry.results & old for site in (entry.site, *entry.calls))
    return (("loop", None if run is None else run.statement), ("fresh", behind <= fresh), ("sites", frozenset(stale)))


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
    where = place(m, node, first, event)
    if where == "carried":
        return "carried-graph"
    here = event.turn[level]
    before = all(m.nodes[root].turn[level : level + 1] != (here,) for root in event.object)
    return straight if where == "here" or not stepped or (before and not same) else "stale-forward"


def _stale_tensors(m: Machine, node: int, first: Event, walk: Walk) -> bool:
    """Tell whether a freed node held tensors that the second walk needs for certain."""
    record = m.nodes[node]
    if record.saves is not None:
        return record.saves
    if record.kind == "source":
        return node in first.object
    if record.kind == "call" and record.callee in m.evidence and m.profile.is_recurrent(named(record.callee)):
        return True
    if record.kind in ("call", "part"):
        if node in first.object and node == walk.nodes[0]:
            return True
        if record.kind == "part" and _origin(m, node) in m.wraps:
            return False
        if (
            record.kind == "call"
            and record.callee not in m.evidence
            and not any(library.inside(record.callee, e) for e in m.evidence)
        ):
            return False
        earlier = {n for root in first.object for n in ancestors(m.nodes, root).nodes}
        return any(_direct(m, n, node) for n in earlier) and any(_direct(m, n, node) for n in walk.nodes)
    return False


def _origin(m: Machine, node: int) -> int:
    """Return the call that gave what a node is a part of."""
    while m.nodes[node].kind == "part" and m.nodes[node].parents:
        node = m.nodes[node].parents[0]
    return node


def _direct(m: Machine, child: int, node: int) -> bool:
    return node in m.nodes[child].parents and m.nodes[child].kind != "part"


def recurs(first: Event, event: Event) -> bool:
    """Tell whether an event surely follows another one: they happen together, or are two turns of one place."""
    if chained(first.guards, event.guards):
        return True
    return first.site is event.site and first.calls == event.calls and apart(first.turn, event.turn) is not None


def _sure_to_recur(m: Machine, kind: str, first: Event, event: Event, details: tuple[tuple[str, object], ...]) -> bool:
    """Tell whether it is known what carries the graph, and nothing cuts it between two turns that may lie apart."""
    level, together = apart(first.turn, event.turn), chained(first.guards, event.guards)
    if level is None or kind != "carried-graph":
        return together or kind == "stale-forward"
    found = dict(details).get("holders")
    if not found or not isinstance(found, tuple):
        return False
    return together or holders.untouched(m.loops.get(event.turn[level][0]), found, event)


def chained(first: frozenset[Guard], second: frozenset[Guard]) -> bool:
    """Tell whether two events surely happen together: the guards of one are among those of the other."""
    return first <= second or second <= first
