"""Sums of losses with a term that was computed without recording, although trained parameters went into it."""

from __future__ import annotations

from adlint import program as p
from adlint.tape.facts import Event, Fact
from adlint.tape.graph import Node
from adlint.tape.machine import Machine
from adlint.tape.state import State

SCALING = frozenset({"*", "/", "+", "-", "neg"})
REDUCING = ("mean", "sum", "norm", "cross_entropy", "kl_div", "_loss", "Loss", "with_logits")


def summed(m: Machine, state: State, name: str, nodes: tuple[int, ...], result: int, site: p.Node) -> None:
    """Look at the terms of a sum that is recorded."""
    if name != "+" or state.recording != "on" or len(nodes) < 2 or state.muted or state.crashed:
        return
    tracked = [n for n in nodes if m.nodes[n].requires_grad is True]
    if len(tracked) == len(nodes):
        m.sound.add(site)
    elif tracked:
        for n in nodes:
            made = _unrecorded(m, n)
            if made is not None:
                m.terms[result] = (m.event(state, "sum", site, site), made)


def _unrecorded(m: Machine, node: int) -> Node | None:
    """Return the loss that was computed without recording and, scaled or not, is this term."""
    record: Node | None = m.nodes[node]
    while record is not None:
        if record.cut == "off" and record.scope is not None and record.operation.endswith(REDUCING):
            return record
        scaled = record.operation in SCALING and record.requires_grad is not True
        record = m.nodes[record.behind[0]] if scaled and len(record.behind) == 1 else None
    return None


def backpropagated(m: Machine, state: State, roots: tuple[int, ...]) -> None:
    """Note the sums that a backward starts from, directly or scaled, and that have such a term."""
    if not m.terms:
        return
    stack, seen = list(roots), set(roots)
    while stack:
        node = stack.pop()
        if node in m.terms:
            event, made = m.terms[node]
            _note(m, state, event, made)
        if m.nodes[node].operation in SCALING:
            fresh = [n for n in m.nodes[node].parents if n not in seen]
            seen.update(fresh)
            stack += fresh


def _note(m: Machine, state: State, event: Event, made: Node) -> None:
    leaves = frozenset(n for n in _leaves(m, made.behind) if not state.frozen(n))
    if leaves:
        details = (("where", made.site), ("scope", made.scope), ("leaves", leaves))
        sure = not state.partial or made.id in m.unconditional
        m.note(state, Fact("gradless", event, (), sure, details=details))


def _leaves(m: Machine, nodes: tuple[int, ...]) -> list[int]:
    """Return the parameters that went into values, looking behind what was not recorded, but not behind other cuts."""
    seen: set[int] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node not in seen and m.nodes[node].cut in ("", "off", "derived"):
            seen.add(node)
            stack += (*m.nodes[node].parents, *m.nodes[node].behind)
    return [n for n in seen if m.nodes[n].kind == "leaf"]


def meant(m: Machine, fact: Fact) -> bool:
    """Tell whether a term may do without a graph: nothing behind it is trained, or elsewhere it is recorded."""
    if fact.kind != "gradless":
        return False
    leaves = dict(fact.details)["leaves"]
    return fact.event.site in m.sound or not (isinstance(leaves, frozenset) and leaves & m.owned)
