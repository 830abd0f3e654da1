"""One path's state: names, heap, lifetimes, slots, recording scope and the conditions taken.

Everything that paths may differ in stands in one dictionary, `store`, so that forking is a copy and joining compares
entries. Keys: (frame, name) for names, an int for heap objects, ("freed", node), ("slot", leaf), ("frozen", leaf),
("attribute", key, name) for attributes assigned on unknowns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adlint import program as p
from adlint.tape.facts import Event, Guard, Turn
from adlint.tape.slots import Slot
from adlint.tape.values import Const, Key, Linear, Object, Ref, Unknown, Value

if TYPE_CHECKING:
    from adlint.tape.log import Happening

CLEAN = Slot()


class Store(dict[Any, Any]):
    """A dictionary that remembers the order of its writes, so that two copies are compared by what they wrote since."""

    __slots__ = ("journal",)

    def __init__(self, content: Store | None = None) -> None:
        super().__init__(content or {})
        self.journal: tuple[int, Any, Any] = (0, None, None) if content is None else content.journal

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.journal = (self.journal[0] + 1, key, self.journal)

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)
        self.journal = (self.journal[0] + 1, key, self.journal)

    def pop(self, key: Any, default: Any = None) -> Any:
        """Remove an entry, if it is there, and return it."""
        if key in self:
            self.journal = (self.journal[0] + 1, key, self.journal)
        return super().pop(key, default)

    def forget(self, frame: int, since: int) -> None:
        """Remove the names of a frame that was made after so many writes."""
        here, keys = self.journal, set()
        while here[0] > since:
            key = here[1]
            if type(key) is tuple and key[0] == frame:
                keys.add(key)
            here = here[2]
        for key in keys:
            self.pop(key)
        self.pop(("parent", frame))
        self.pop(("function", frame))


def written(left: Store, right: Store) -> Iterator[Any]:
    """Yield the keys that either of two copies wrote since they were one, the latest first."""
    seen: set[Any] = set()
    a, b = left.journal, right.journal
    while a is not b:
        if a[0] >= b[0]:
            key, a = a[1], a[2]
        else:
            key, b = b[1], b[2]
        if key not in seen:
            seen.add(key)
            yield key


@dataclass(slots=True)
class State:
    """The mutable state of one path; `fork` before going two ways. `partial`: a path beside it was dropped; `awaited`:
    exceptions of the program's own that the code around is ready for; `log`: what has happened, if that is kept.

    `base` holds what modules of the project define that were imported: one dictionary for all paths, read where
    `store` has no entry.
    """

    store: Store = field(default_factory=Store)
    decisions: dict[Key, bool] = field(default_factory=dict)
    guards: tuple[Guard, ...] = ()
    recording: str | None = "on"
    scope: p.Node | None = None
    frame: int = 0
    calls: tuple[p.Node, ...] = ()
    functions: tuple[p.Node, ...] = ()
    turn: Turn = ()
    looping: int = 0
    entry: int = 0
    forwards: int = 0
    muted: int = 0
    crashed: bool = False
    partial: bool = False
    statement: p.Statement | None = None
    awaited: tuple[Value, ...] = ()
    base: dict[Any, Any] = field(default_factory=dict)
    log: Happening | None = None

    def fork(self) -> State:
        """Return an independent copy."""
        return State(
            Store(self.store),
            self.decisions.copy(),
            self.guards,
            self.recording,
            self.scope,
            self.frame,
            self.calls,
            self.functions,
            self.turn,
            self.looping,
            self.entry,
            self.forwards,
            self.muted,
            self.crashed,
            self.partial,
            self.statement,
            self.awaited,
            self.base,
            self.log,
        )

    def become(self, other: State) -> None:
        """Take over the content of another state, which must not be used afterwards."""
        self.store, self.decisions, self.guards = other.store, other.decisions, other.guards
        self.recording, self.scope, self.frame, self.calls = other.recording, other.scope, other.frame, other.calls
        self.functions, self.turn, self.looping = other.functions, other.turn, other.looping
        self.forwards, self.muted, self.crashed = other.forwards, other.muted, other.crashed
        self.entry = other.entry
        self.statement, self.partial, self.awaited = other.statement, other.partial, other.awaited
        self.log = other.log

    def get(self, key: Any) -> Any:
        """Return a name, a frame's parent or the like, also from imported modules."""
        found = self.store.get(key)
        return self.base.get(key) if found is None else found

    def object(self, value: Value) -> Object | None:
        """Return the heap object behind a reference, or None for any other value."""
        if not isinstance(value, Ref):
            return None
        found: Object | None = self.store.get(value.id)
        return self.base.get(value.id) if found is None else found

    def slot(self, leaf: int) -> Slot:
        found: Slot = self.store.get(("slot", leaf), CLEAN)
        return found

    def slots(self) -> list[tuple[int, Slot]]:
        """Return the slots that hold something or have a history."""
        return [(key[1], slot) for key, slot in self.store.items() if type(key) is tuple and key[0] == "slot"]

    def frozen(self, leaf: int) -> bool:
        return bool(self.store.get(("frozen", leaf), False))

    def freed(self, node: int) -> Event | None:
        return self.store.get(("freed", node))


@dataclass(slots=True)
class Outcome:
    """How a piece of program ended on one path: kind is next, return, break, continue or raise. `value` is what it
    returned, or the class of the program that it raised."""

    state: State
    kind: str = "next"
    value: Value | None = None

    def of_statement(self) -> Outcome:
        """Return the outcome of a statement that ran only an expression with this one."""
        return Outcome(self.state) if self.kind == "next" else self


def _weightless(value: object, other: object) -> bool:
    """Tell whether a difference between two paths means nothing to the tape."""
    kinds = (Const, Unknown, Linear)
    return (value is _ABSENT or isinstance(value, kinds)) and (other is _ABSENT or isinstance(other, kinds))


_ABSENT = object()


def differences(left: State, right: State, newest: int, crowded: bool, apart: list[Any]) -> list[Any] | None:
    """Return the keys in which two states differ, looking only at what is older than `newest`; None if they may not be
    merged: for any difference, or if `crowded` for one that the tape cares about.

    Younger heap objects and frames can only matter through an older entry that refers to them. `apart` collects the
    keys that have kept states apart; they are looked at first.
    """
    result: list[Any] = []
    a, b = left.store, right.store
    for key in apart:
        x, y = a.get(key, _ABSENT), b.get(key, _ABSENT)
        if x is not y and not (crowded and _weightless(x, y)) and x != y:
            return None
    for key in written(a, b):
        x, y = a.get(key, _ABSENT), b.get(key, _ABSENT)
        if x is y or _young(key, newest) or x == y:
            continue
        if not crowded or not _weightless(x, y):
            apart[:] = [key, *apart[:2]]
            return None
        result.append(key)
    return result


def _young(key: Any, newest: int) -> bool:
    if type(key) is int:
        return key >= newest
    if type(key[0]) is int:
        return bool(key[0] >= newest)
    about = key[1]
    while type(about) is tuple and len(about) > 1:
        about = about[1]
    if type(about) is Ref:
        about = about.id
    return type(about) is int and about >= newest


def join(outcomes: list[Outcome], newest: int, room: int) -> list[Outcome]:
    """Merge outcomes that do not differ; where there are more than `room`, also those that differ in nothing the tape
    cares about; past that, keep the first ones.

    Dropping a path is a known limit: what would have been found on it alone stays unreported.
    """
    if len(outcomes) < 2:
        return outcomes
    merged: list[Outcome] = []
    apart: list[Any] = []
    for outcome in outcomes:
        for kept in merged:
            if kept.kind == outcome.kind and _absorb(kept, outcome, newest, len(outcomes) > room, apart):
                break
        else:
            merged.append(outcome)
    if len(merged) > 2 * room:
        for outcome in merged:
            outcome.state.partial = True
    return merged[: 2 * room]


def _absorb(kept: Outcome, other: Outcome, newest: int, crowded: bool, apart: list[Any]) -> bool:
    if kept.value != other.value and not _alike(kept, other, newest):
        return False
    a, b = kept.state, other.state
    if (a.recording, a.frame, a.turn, a.muted, a.crashed) != (b.recording, b.frame, b.turn, b.muted, b.crashed):
        return False
    found = differences(a, b, newest, crowded, apart)
    if found is None:
        return False
    for key in found:
        if type(key) is tuple and type(key[0]) is int:
            a.store[key] = Unknown(("joined", key, id(kept)))
        else:
            a.store.pop(key, None)
    a.decisions = {key: arm for key, arm in a.decisions.items() if b.decisions.get(key) == arm}
    a.guards = _common(a.guards, b.guards)
    a.partial = a.partial or b.partial
    if kept.value != other.value:
        kept.value = Unknown(("joined", id(kept)))
    return True


def _alike(kept: Outcome, other: Outcome, newest: int) -> bool:
    plain = (Const, Unknown, Linear)
    return (
        isinstance(kept.value, plain)
        and isinstance(other.value, plain)
        and not any(
            isinstance(v, Const) and (v.value is None or isinstance(v.value, bool)) for v in (kept.value, other.value)
        )
    )


def _common(left: tuple[Guard, ...], right: tuple[Guard, ...]) -> tuple[Guard, ...]:
    size = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        size += 1
    return left[:size]


__all__ = ["CLEAN", "Outcome", "State", "Store", "differences", "join", "written"]
