"""Losses that nothing backpropagates although a step follows that is for the parameters they went through.

Judged by places, not by paths: what any path of any caller walks, hands on or gives back is no dropped loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from adlint import program as p
from adlint.tape.facts import Event, Fact
from adlint.tape.graph import Node, surely_reached
from adlint.tape.machine import Machine, Stepping
from adlint.tape.retention import behind
from adlint.tape.state import State

COMBINING = frozenset({"+", "-", "*", "/", "neg", "Tensor.mean", "Tensor.sum", "torch.mean", "torch.sum"})


@dataclass(frozen=True, slots=True)
class Loss:
    """A dropped loss: the terms that a criterion made, and the last node they were combined to."""

    top: Node
    terms: frozenset[int]
    nodes: frozenset[int]


def stepped(m: Machine, state: State, owned: frozenset[int], event: Event) -> None:
    """Remember a step in a loop, and which of its slots hold nothing."""
    if event.turn and not state.muted and not state.crashed:
        held = {one: state.slot(one) for one in owned if not state.frozen(one)}
        idle = frozenset(one for one, slot in held.items() if slot.status == "clean" and not (slot.vague or slot.given))
        m.steppings.setdefault((event.site, event.turn, idle), Stepping(event, owned, idle))


def conclude(m: Machine) -> None:
    """Note the losses made in a turn of a training loop that nothing walks, with what tells how sure that is a slip."""
    severed = any(fact.kind == "cut-backward" for fact in m.noted.values())
    if m.unfinished or severed or not m.steppings:
        return
    lost = _lost(m)
    for loss in _losses(m):
        reached = surely_reached(m.nodes, (loss.top.id,))
        leaves = frozenset(n for n in reached if m.nodes[n].kind == "leaf")
        for stepping in m.steppings.values():
            if stepping.event.turn != loss.top.turn or stepping.event.moment < loss.top.id:
                continue
            if not leaves & stepping.owned or loss.top.site is None:
                continue
            idle = {one for one in leaves & stepping.idle if not _used(m, one, loss)}
            if idle and stepping.event.site in lost:
                if not all(_served(m, m.noted[key]) for key in lost[stepping.event.site]):
                    idle = set()
                else:
                    m.noted = {key: fact for key, fact in m.noted.items() if key not in lost[stepping.event.site]}
                    lost[stepping.event.site] = []
            details = (
                ("idle", bool(idle)),
                ("apart", not any(n in m.walked for n in loss.nodes)),
                ("terms", len(loss.terms)),
                ("trained", _trained(m, loss)),
            )
            event = Event("forward", loss.top.site, (), frozenset(), loss.top.site, loss.top.turn)
            m.note(State(), Fact("unwalked-loss", event, (stepping.event,), True, details=details))
            break


def _lost(m: Machine) -> dict[p.Node, list[tuple[object, ...]]]:
    """Return the facts about steps before which gradients were cleared, by the step."""
    found: dict[p.Node, list[tuple[object, ...]]] = {}
    for key, fact in m.noted.items():
        if fact.kind == "wiped":
            found.setdefault(fact.causes[1].site, []).append(key)
    return found


def _served(m: Machine, fact: Fact) -> bool:
    """Tell whether the cleared gradients were those of a loss that another step has been for: what the step lacks is a
    backward of its own, not these."""
    return any(site is fact.causes[0].site and steps for (site, _), steps in m.ledger.applied.items())


def _losses(m: Machine) -> Iterator[Loss]:
    """Yield the losses that no path walks, one for each place where their terms end."""
    terms = [n for n in m.nodes.values() if n.turn and n.requires_grad and m.profile.measures(n.operation)]
    if not terms:
        return
    walked = {m.nodes[n].site for n in m.walked}
    gone = {m.nodes[n].site for n in behind(m, m.escaped | m.handed)}
    terms = [n for n in terms if n.site not in walked and n.site not in gone]
    if not terms:
        return
    children: dict[int, list[Node]] = {}
    for node in m.nodes.values():
        for parent in node.parents:
            children.setdefault(parent, []).append(node)
    tops: dict[int, set[int]] = {}
    for term in terms:
        top = term
        while True:
            above = [n for n in children.get(top.id, ()) if n.operation in COMBINING and n.turn == term.turn]
            if not above or above[0].site in gone:
                break
            top = above[0]
        tops.setdefault(top.id, set()).add(term.id)
    seen: set[p.Node | None] = set()
    for one, held in tops.items():
        top = m.nodes[one]
        if top.site in seen:
            continue
        seen.add(top.site)
        nodes = frozenset(n for n in behind(m, (one,)) if m.nodes[n].kind != "leaf" and m.nodes[n].requires_grad)
        yield Loss(top, frozenset(held), nodes)


def _used(m: Machine, leaf: int, loss: Loss) -> bool:
    """Tell whether a pass went through what the loss makes of a leaf."""
    return any(leaf in m.nodes[n].parents and n in m.walked for n in loss.nodes)


def _trained(m: Machine, loss: Loss) -> bool:
    """Tell whether the criterion of every term also makes losses that are backpropagated."""
    made = {m.nodes[n].operation for n in m.walked}
    return all(m.nodes[n].operation in made for n in loss.terms)
