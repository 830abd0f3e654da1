"""Tensors made in inference mode: they may not be saved by an operation that is recorded."""

from __future__ import annotations

from adlint import program as p
from adlint.tape.facts import Fact
from adlint.tape.graph import Node
from adlint.tape.machine import Machine
from adlint.tape.state import State


def entered(m: Machine, state: State, name: str, nodes: tuple[int, ...], site: p.Node) -> None:
    """Look at the operands of an operation that is recorded and saves them."""
    if state.recording != "on" or not m.profile.saves_operands(name):
        return
    if not any(m.nodes[n].requires_grad is True and m.tracks(state, n) for n in nodes):
        return
    made = next((found for n in nodes if (found := origin(m, n)) is not None), None)
    if made is not None:
        _note(m, state, made, site)


def origin(m: Machine, node: int) -> Node | None:
    """Return the operation that made an inference tensor, looking through views of it; None for any other tensor."""
    record = m.nodes[node]
    while record.cut == "derived" or record.cut == "detach":
        if len(record.behind) != 1 or (record.cut == "derived" and m.profile.result(record.operation) != "view"):
            return None
        record = m.nodes[record.behind[0]]
    sure = record.cut == "inference" and record.scope is not None and not record.hidden and record.operation != "call"
    return record if sure else None


def _note(m: Machine, state: State, made: Node, site: p.Node) -> None:
    event = m.event(state, "forward", site, site)
    sure = not state.partial or made.id in m.unconditional
    details = (("where", made.site), ("scope", made.scope))
    m.note(state, Fact("inference-saved", event, (), sure, details=details))
    state.crashed = True
