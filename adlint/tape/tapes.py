"""Tapes that a program opens itself: each gives gradients once, unless it was told to be persistent.

with tf.GradientTape() as tape:
    loss = ...
gradients = tape.gradient(loss, variables)
others = tape.gradient(loss, variables)      raises
"""

from __future__ import annotations

from adlint import program as p
from adlint.tape import calls, library, passes
from adlint.tape.facts import Event, Fact
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import FALSE, Instance, Ref, Value

PERSISTENT = "persistent"


def made(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Make a tape; `site` is what creates it."""
    tape = m.allocate(state, Instance(name, "tape"))
    state.store[("tape", tape.id)] = site if _once(given) else None
    return tape


def _once(given: calls.Arguments) -> bool:
    return not given.open and given.get(0, PERSISTENT) in (None, FALSE)


def entered(state: State, tape: Value) -> None:
    """Begin to record anew."""
    if isinstance(tape, Ref):
        state.store.pop(("asked", tape.id), None)


def method(m: Machine, state: State, tape: Value, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a method of a tape."""
    job = m.profile.method("tape", name)
    if job != "gradient" or not isinstance(tape, Ref):
        return m.unknown()
    creation = state.store.get(("tape", tape.id))
    subject = site.arguments[0].value if isinstance(site, p.Call) and site.arguments else None
    event = m.event(state, "grad", site, subject, root=0, object=(0,))
    passes.trains(m, state, site)
    first: Event | None = state.store.get(("asked", tape.id))
    if creation is not None and first is not None:
        details = (("covered", False), ("direct", False), ("tape", creation))
        m.note(state, Fact("consumed-again", event, (first,), passes.recurs(first, event), details=details))
        state.crashed = True
    state.store[("asked", tape.id)] = first or event
    library.escape(m, state, given.values)
    return m.unknown()
