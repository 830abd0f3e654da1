"""What stands for any turn of a loop: numbers that a turn changes become symbols."""

from __future__ import annotations

from dataclasses import replace

from adlint.tape.machine import Machine
from adlint.tape.state import State, Store, written
from adlint.tape.values import Const, Instance, Module, Optimizer


def changed(m: Machine, state: State, before: Store) -> None:
    """Make numbers symbolic that the first turn has changed."""
    for key in tuple(written(before, state.store)):
        old, new = before.get(key), state.store.get(key)
        if new is old or new is None:
            continue
        if _counts(old) and _counts(new) and old != new:
            state.store[key] = m.symbol()
        elif isinstance(old, (Instance, Module, Optimizer)) and type(new) is type(old):
            symbols = {
                name: m.symbol()
                for name, value in new.attributes.items()
                if _counts(value) and _counts(old.attributes.get(name)) and value != old.attributes[name]
            }
            if symbols:
                state.store[key] = replace(new, attributes={**new.attributes, **symbols})


def _counts(value: object) -> bool:
    return isinstance(value, Const) and type(value.value) in (int, float)
