"""Imports of the project's own modules: followed when the tape meets the name, defined once in a frame of their own.

    from engine import train     binds Imported(".../engine.py", ("train",)); looking `train` up loads the file

What a module defines lies in `State.base`, under identities below zero, so that it is older than anything a path makes
and no difference between paths. Cycles, missing names and files that cannot be read leave the library name that the
import spells.
"""

from __future__ import annotations

from adlint import program as p
from adlint.tape import attributes, statements
from adlint.tape.machine import Exhausted, Machine
from adlint.tape.state import State
from adlint.tape.values import Closure, Imported, Library, Tuple, Value

MOST = 24
CHAIN = 12
FUEL = 7_000
SPACE = 10_000_000
_DEFINING = (p.Import, p.Function, p.Class, p.Assign, p.Declare, p.Branch, p.Try, p.With)


def bound(m: Machine, state: State, dotted: str) -> Value:
    """Return what an import binds a name to."""
    found = m.abroad.resolver.find(m.abroad.paths[module(state)], dotted)
    return Library(dotted) if found is None else Imported(*found, dotted)


def add_star(m: Machine, state: State, dotted: str) -> None:
    """Run `from dotted import *`."""
    held = state.get((state.frame, "*"))
    before = held.items if isinstance(held, Tuple) else ()
    state.store[(state.frame, "*")] = Tuple((*before, bound(m, state, dotted)))


def module(state: State, frame: int | None = None) -> int:
    """Return the global frame of a frame, by default that of the running code."""
    frame = state.frame if frame is None else frame
    while (up := state.get(("parent", frame))) is not None:
        frame = up
    return frame


def spelling(m: Machine, state: State, closure: Closure) -> Library:
    """Return a name for a function of another file that is not entered."""
    name = closure.node.name if isinstance(closure.node, p.Function) else "lambda"
    return Library(f"{m.abroad.paths[module(state, closure.frame)]}.{name}")


def value(m: Machine, state: State, imported: Imported, site: p.Node) -> Value:
    """Return what an imported name stands for."""
    top = imported.dotted
    for name in reversed(imported.names):
        top = top.removesuffix(name).rstrip(".") or "."
    current: Value = Imported(imported.path, (), top)
    for name in imported.names:
        if isinstance(current, Imported):
            found = member(m, state, current, name)
            if found is None:
                return Library(imported.dotted)
            current = found
        else:
            current = attributes.read(m, state, current, name, site)
    return current


def member(m: Machine, state: State, package: Imported, name: str) -> Value | None:
    """Return what a module has under a name: what it defines or imports, a submodule, or something of a star import."""
    asked = (package.path, name)
    if asked in m.abroad.following or len(m.abroad.following) >= CHAIN:
        return None
    m.abroad.following.append(asked)
    try:
        frame = _load(m, package.path)
        found: Value | None = None if frame is None else state.get((frame, name))
        if isinstance(found, Imported) and found.names:
            found = value(m, state, found, p.Pass())
        if found is not None:
            return found
        path = m.abroad.resolver.submodule(package.path, name)
        if path is not None:
            return Imported(path, (), f"{package.dotted}.{name}")
        return None if frame is None or name.startswith("_") else of_stars(m, state, frame, name)
    finally:
        m.abroad.following.pop()


def of_stars(m: Machine, state: State, frame: int, name: str) -> Value | None:
    """Return what the star imports of a module give for a name, if they are of the project."""
    stars = state.get((frame, "*"))
    for star in reversed(stars.items if isinstance(stars, Tuple) else ()):
        found: Value | None = star
        if isinstance(star, Imported) and star.names:
            found = value(m, state, star, p.Pass())
        if isinstance(found, Imported) and m.abroad.resolver.names(found.path, name):
            inner = member(m, state, found, name)
            if inner is not None:
                return inner
    return None


def _load(m: Machine, path: str) -> int | None:
    """Return the global frame of a file, after running its definitions once; None if there is nothing to run."""
    if path in m.abroad.frames:
        return m.abroad.frames[path]
    m.abroad.frames[path] = None
    if len(m.abroad.programs) >= MOST:
        return None
    program = m.abroad.resolver.program(path)
    if program is None:
        return None
    m.abroad.programs.append(program)
    m.abroad.frames[path] = frame = -SPACE * len(m.abroad.programs)
    m.abroad.paths[frame] = path
    _define(m, program, frame)
    return frame


def _define(m: Machine, program: p.Program, frame: int) -> None:
    held = m.trail, m.position, m.counter, m.fuel, m.yielding, m.abroad.inside
    m.trail, m.position, m.counter, m.fuel, m.yielding, m.abroad.inside = [], 0, frame + 1, FUEL, [], True
    state = State(frame=frame, muted=1, base=m.abroad.base)
    try:
        for statement in program.body:
            if isinstance(statement, _DEFINING):
                m.trail, m.position = [], 0
                ended = [o.state for o in statements.run(m, state.fork(), statement) if o.kind == "next"]
                state = ended[0] if ended else state
    except Exhausted:
        pass
    finally:
        m.trail, m.position, m.counter, m.fuel, m.yielding, m.abroad.inside = held
    m.abroad.base.update(state.store)
