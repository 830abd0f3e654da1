"""What only the end of a program can tell: facts weighed against what other paths did, and gradients nobody applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from adlint import program as p
from adlint.tape import cuts, keeping, modes, terms, windows
from adlint.tape.facts import Event, Fact, apart
from adlint.tape.graph import ancestors
from adlint.tape.ledger import Ledger
from adlint.tape.machine import Machine

EXCUSES = (cuts.wanted, keeping.of_use, terms.meant)
"""What the whole program may say of a fact that makes it none."""


def settled(m: Machine, facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yield facts, as possible only, or not at all, if other paths speak against them."""
    facts = list(facts)
    wiped = {dict(fact.details)["leaf"]: fact.causes[1].site for fact in facts if fact.kind == "wiped"}
    for fact in facts:
        if fact.kind == "idle-step" and fact.event.site is wiped.get(dict(fact.details)["leaf"]):
            continue
        if fact.kind in ("wiped", "idle-step"):
            if not _fed(m, fact):
                yield fact
        elif fact.kind == "idle-clip":
            if fact.event.site not in m.ledger.useful:
                yield fact
        elif fact.kind == "unscaled":
            if not windows.doubted(m, fact):
                yield fact
        elif fact.kind == "scaled-clip":
            yield fact
        elif not any(excused(m, fact) for excused in EXCUSES):
            yield _weighed(m, fact)


UNSETTLED = {
    "added-up": "",
    "applied-again": "slot {leaf}",
    "foreign-applied": "",
    "doubled": "",
    "piled-up": "",
    "kept-in-vain": "",
    "unwalked-loss": "",
    "kept-graph": "",
    "gradless": "",
}
"""What other paths tell of a fact of these kinds; of all others, whether the graph was freed there."""


def _weighed(m: Machine, fact: Fact) -> Fact:
    """Return a fact as possible only, if other paths went from its cause to its event without it.

    Something between the two, under a condition of its own, prevents it there; nobody knows how the conditions relate.
    """
    details = dict(fact.details)
    if fact.kind == "cut-backward":
        sure = details["how"] == "literal" or not cuts.was_alive(m, fact.event)
        return replace(fact, definite=fact.definite and sure)
    if fact.kind == "applied-again":
        backward, step = fact.event.site, fact.causes[0]
        later = ((place, level) for place in (backward, step.site) for level in range(len(step.turn)))
        waiting = not m.ledger.waiting.isdisjoint([(backward, None), *later])
        fact = replace(fact, details=(*fact.details, ("waiting", waiting)))
    family = UNSETTLED.get(fact.kind, "graph").format(leaf=details.get("leaf"))
    if "outdated" in details:
        family = f"update {details['outdated']}"
    elif "silent" in details:
        family = ""
    if not fact.causes or not family:
        return fact
    first = fact.causes[0]
    if fact.kind == "trained-in-eval":
        return replace(fact, definite=m.undone.get(first.site, -1) < modes.nearness(first, fact.event))
    if fact.kind == "undetached" and (family, fact.event.site, first.site, _turns(fact.event, first)) in m.passed:
        return replace(fact, definite=False)
    if (family, first.site, fact.event.site, _turns(first, fact.event)) in m.passed:
        return replace(fact, definite=False)
    return fact


def _turns(first: Event, second: Event) -> int | None:
    return apart(first.turn, second.turn)


def _fed(m: Machine, fact: Fact) -> bool:
    """Tell whether the step of a fact, which was found to apply nothing, applies something elsewhere; or its backward
    is applied by another step."""
    details = dict(fact.details)
    leaf, step, lost = details["leaf"], details["step"], fact.causes[0]
    assert isinstance(leaf, int)
    assert isinstance(step, Event)
    fed = m.ledger.fed.get((step.site, leaf), set())
    if fact.kind == "idle-step":
        others = m.ledger.applied.get((lost.site, leaf), set()) - {step.site}
        return bool(others) or any(site is not lost.site or level is None for site, level in fed)
    return lost.site in m.ledger.everywhen if details["window"] else bool(fed)


def unapplied(m: Machine) -> list[Fact]:
    """Return what was filled in a loop of training and never applied, though an optimizer of the program owns it."""
    ledger = m.ledger
    found = []
    for (_, leaf), (event, name) in ledger.filled.items():
        if ledger.blind or m.hooked or leaf in ledger.handed or leaf in ledger.served:
            continue
        if reached(m, event) & m.reads:
            continue
        details = (("leaf", leaf), ("name", name))
        if leaf in m.owned and leaf in ledger.built:
            idle = tuple(one for one in ledger.steps.values() if one is not None and one.calls == event.calls)
            causes = (ledger.uncalled[leaf],) if leaf in ledger.uncalled else idle
            found.append(Fact("never-applied", event, causes, True, details=details))
        elif leaf in ledger.replaced and leaf not in m.owned:
            found.append(Fact("never-owned", event, ledger.replaced[leaf], True, details=details))
    return [*found, *_strangers(m)]


def _strangers(m: Machine) -> list[Fact]:
    """Return the backwards in training loops that fill only what no optimizer owns, while the optimizer that is stepped
    there owns nothing that any backward of the program reaches."""
    ledger, found = m.ledger, []
    if ledger.blind or m.hooked or m.opaque_owner:
        return []
    owners: dict[p.Node, set[int]] = {}
    for leaf, (_, build) in ledger.built.items():
        owners.setdefault(build, set()).add(leaf)
    for build, leaves in owners.items():
        if leaves & (ledger.ever | ledger.handed) or any(m.nodes[one].callee is not None for one in leaves):
            continue
        steps = [one for one in ledger.steps.values() if one is not None and one.turn and _owns(ledger, one, leaves)]
        for (_, leaf), (event, _) in ledger.filled.items():
            known = m.nodes[leaf].operation in ("parameters", "layer") and m.nodes[leaf].callee is None
            if not known or reached(m, event) & (m.owned | m.reads | ledger.handed):
                continue
            step = next((one for one in steps if one.turn == event.turn), None)
            if step is not None:
                causes = (step, replace(step, site=build, subject=None, kind="build"))
                found.append(Fact("strangers", event, causes, True, details=(("leaf", leaf),)))
    return found


def _owns(ledger: Ledger, step: Event, leaves: set[int]) -> bool:
    return any(ledger.built[one][0] == step.object for one in leaves)


def reached(m: Machine, event: Event) -> frozenset[int]:
    """Return the leaves that a backward reaches."""
    return frozenset().union(*(ancestors(m.nodes, root).leaves for root in event.object))
