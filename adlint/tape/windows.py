"""Windows: losses whose gradients are added up before a step applies them, and whether each is a mean of its own.

for number, batch in enumerate(batches):
    mean_loss(batch).backward()              the slots hold the sum of the means
    if (number + 1) % every == 0: step       and `every` times as much is applied as for one large batch
"""

from __future__ import annotations

from adlint.tape import calls, library
from adlint.tape.facts import Event, Fact, apart
from adlint.tape.graph import ancestors
from adlint.tape.ledger import counts
from adlint.tape.machine import Machine
from adlint.tape.slots import Slot
from adlint.tape.state import State
from adlint.tape.values import Const, Module, Optimizer, Ref, Value

MEANS = frozenset({"torch.mean", "Tensor.mean"})
HOW = ("reduction", "reduce", "size_average")


def measured(
    m: Machine, state: State, name: str, built: calls.Arguments, given: calls.Arguments, result: Value
) -> None:
    """Remember a result that is certainly a mean: a loss with its own reduction, or the mean of everything."""
    if built.open or given.open:
        return
    words = dict((*built.keywords, *given.keywords))
    if name in MEANS:
        sure = len(given.values) == 1
    else:
        sure = m.profile.measures(name) and all(words.get(key) in (None, Const("mean")) for key in HOW)
        sure = sure and len(built.positional) <= 1 and len(given.positional) <= 3
    if sure:
        m.means.update(library.nodes_in(m, state, result, sources=False))


def applied(m: Machine, state: State, one: int, slot: Slot, step: Event) -> None:
    """Note a step that waits for a count and applies the sum of means."""
    if slot.status != "filled":
        return
    first, last = slot.fills[0], slot.fills[-1]
    thing = state.object(step.object) if isinstance(step.object, Ref) else None
    if first.site is not last.site or len({event.site for event in slot.fills}) > 1 or slot.read or slot.given:
        return
    if not isinstance(thing, Optimizer) or not isinstance(thing.cls, str) or thing.cls not in m.profile.proportional:
        return
    level = apart(first.turn, last.turn)
    if level is None or step.turn != last.turn or not any(counts(key) for key, _ in step.guards - last.guards):
        return
    if _is_sequence(m, last, level):
        return
    if all(_is_mean(m, root) for event in slot.fills for root in event.object):
        m.note(state, Fact("unscaled", last, (step,), True, details=(("leaf", one), ("step", step))))


def _is_sequence(m: Machine, last: Event, level: int) -> bool:
    """Tell whether a turn goes on from what the one before has made: steps in time, which are one loss together."""
    here = last.turn[: level + 1]
    nodes = [m.nodes[n] for root in last.object for n in ancestors(m.nodes, root).nodes]
    mark = last.turn[level][0]
    return any(
        node.kind != "leaf"
        and len(node.turn) > level
        and node.turn[level][0] == mark
        and node.turn[: level + 1] != here
        for node in nodes
    )


def _is_mean(m: Machine, node: int) -> bool:
    """Tell whether a loss is a mean that nobody has divided, a term of a sum or scaled by a scaler perhaps."""
    record = m.nodes[node]
    if node in m.scaled:
        return all(_is_mean(m, parent) for parent in record.parents)
    if node in m.means:
        return True
    return record.operation == "+" and any(_is_mean(m, parent) for parent in record.parents)


def is_built(m: Machine, state: State, module: Value) -> calls.Arguments | None:
    """Return what a module of the framework was built with, if it is a loss."""
    thing = state.object(module)
    if not isinstance(thing, Module) or not isinstance(thing.cls, str) or not isinstance(module, Ref):
        return None
    return m.built.get(module.id) if m.profile.role(thing.cls) == "loss" else None


def doubted(m: Machine, fact: Fact) -> bool:
    """Tell whether gradients are brought to size somewhere, or read and used in other ways."""
    leaf = dict(fact.details)["leaf"]
    return bool(m.ledger.useful) or leaf in m.reads
