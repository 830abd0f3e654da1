"""Shapes of tensors, as far as they are certain: whether a value is one number or more than one.

`dims` is None where the rank is not known, and has None for a size that is not. `many` tells whether there is more than
one element; `why` is where they were left: a loss that is not reduced, losses that are stacked; `plain`, whether they
were only added since.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from adlint import program as p
from adlint.tape import calls, containers, cuts
from adlint.tape.facts import Fact
from adlint.tape.machine import Machine
from adlint.tape.state import State
from adlint.tape.values import (
    FALSE,
    NONE,
    Const,
    Linear,
    Module,
    Ref,
    Sequence,
    Tensor,
    Tuple,
    Unknown,
    Value,
)

Dims = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Extent:
    dims: Dims | None = None
    many: bool | None = None
    why: p.Node | None = None
    plain: bool = True


UNKNOWN = Extent()
SCALAR = Extent((), False)


def _sized(dims: Dims, why: p.Node | None = None) -> Extent:
    """Return the extent of a tensor with these sizes."""
    if any(d == 0 for d in dims) or len(dims) > 8:
        return UNKNOWN
    many = True if any(d is not None and d > 1 for d in dims) else False if None not in dims else None
    return Extent(dims, many, why)


def of(m: Machine, state: State, value: Value | None) -> Extent:
    """Return what is known of the shape of a value."""
    if isinstance(value, (Const, Linear)):
        return SCALAR
    thing = state.object(value) if value is not None else None
    return m.sizes.get(thing.node, UNKNOWN) if isinstance(thing, Tensor) else UNKNOWN


def measured(m: Machine, state: State, value: Value, name: str, position: Value | None = None) -> Value | None:
    """Return what a tensor's `len`, `dim`, `numel`, `shape` or `size` is, if that is certain."""
    dims = of(m, state, value).dims
    if dims is None:
        return None
    if name in ("dim", "ndim", "ndimension"):
        return Const(len(dims))
    if name == "__len__" or position is not None:
        number = position.value if isinstance(position, Const) else 0 if position is None else None
        size = dims[number] if type(number) is int and -len(dims) <= number < len(dims) else None
        return None if size is None else Const(size)
    if None in dims:
        return None
    if name in ("numel", "nelement"):
        return Const(math.prod(d for d in dims if d is not None))
    return Tuple(tuple(Const(d) for d in dims)) if name in ("shape", "size") else None


def keep(m: Machine, state: State, value: Value, extent: Extent) -> Value:
    """Remember the shape of a new tensor."""
    thing = state.object(value)
    if isinstance(thing, Tensor) and extent is not UNKNOWN:
        m.sizes[thing.node] = extent
    return value


def same(m: Machine, before: int, after: int) -> None:
    """Give a tensor that was changed in place, or told to require grad, the shape that it had."""
    if before in m.sizes:
        m.sizes[after] = m.sizes[before]


# ---------------------------------------------------------------- operations


def operation(
    m: Machine, state: State, name: str, given: calls.Arguments, result: Value, site: p.Node, direct: bool = False
) -> Value:
    """Work out the shape of what an operation gives; `direct` for one of which only the operands are known."""
    kind = m.profile.shape(name)
    rule = _RULES.get(kind) if not direct or kind in ("alike", "together", "product", "turned") else None
    return keep(m, state, result, rule(m, state, given, site)) if rule is not None else result


def _first(m: Machine, state: State, given: calls.Arguments) -> Extent:
    return of(m, state, given.values[0]) if given.values else UNKNOWN


def _alike(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    return replace(_first(m, state, given), plain=False)


def _together(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    """Broadcast: no operand makes another one smaller."""
    parts = [of(m, state, v) for v in given.positional]
    spread = next((part for part in parts if part.many), None)
    plain = all(part.plain and part.why is not None for part in parts if part.many)
    why = spread.why if spread is not None else None
    known = [part.dims for part in parts if part.dims is not None]
    if len(known) == len(parts) and known:
        return replace(_sized(_broadcast(known), why), plain=plain)
    return Extent(None, True, why, plain) if spread is not None else UNKNOWN


def _broadcast(shapes: list[Dims]) -> Dims:
    rank = max(len(s) for s in shapes)
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    return tuple(
        next((d for d in sizes if d is not None and d > 1), None if None in sizes else 1)
        for sizes in zip(*padded, strict=True)
    )


def _numbers(m: Machine, state: State, value: Value | None) -> list[int | None] | None:
    """Return the integers in an argument, one or several; None in place of one that is not known."""
    if value is None:
        return None
    if isinstance(value, Const) and type(value.value) is int:
        return [value.value]
    parts = containers.items(m, state, value) if not isinstance(value, (Const, Unknown, Linear)) else None
    if parts is None or isinstance(state.object(value), (Tensor, Module)):
        return None
    return [v.value if isinstance(v, Const) and type(v.value) is int else None for v in parts]


def _reduced(m: Machine, state: State, given: calls.Arguments, site: p.Node, position: int = 1) -> Extent:
    before = _first(m, state, given)
    along = given.get(position, "dim") or given.get(None, "axis")
    if given.open:
        return UNKNOWN
    if along is None or along == NONE:
        return SCALAR
    if isinstance(state.object(along), Tensor):
        return _together(m, state, given, site)
    axes = _numbers(m, state, along)
    kept = given.get(position + 1, "keepdim")
    if axes is None or None in axes or (kept not in (None, FALSE) and not isinstance(kept, Const)):
        return UNKNOWN
    sure = [a for a in axes if a is not None]
    if before.dims is not None:
        rank = len(before.dims)
        gone = {a % rank for a in sure} if rank else set()
        keeps = kept not in (None, FALSE)
        sizes = tuple(1 if i in gone else d for i, d in enumerate(before.dims) if keeps or i not in gone)
        return replace(_sized(sizes, before.why or site), plain=False)
    spread = before.many and before.why is not None and all(a >= 1 for a in sure)
    return Extent(None, True, before.why, False) if spread else UNKNOWN


def _normed(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    return _reduced(m, state, given, site, position=2)


def _one(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    return SCALAR


def _unsqueezed(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    before, at = _first(m, state, given), _numbers(m, state, given.get(1, "dim"))
    if before.dims is not None and at is not None and at[0] is not None:
        place = at[0] % (len(before.dims) + 1)
        return replace(before, dims=(*before.dims[:place], 1, *before.dims[place:]), plain=False)
    return replace(before, dims=None, plain=False)


def _squeezed(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    before, at = _first(m, state, given), _numbers(m, state, given.get(1, "dim"))
    if before.dims is None or None in before.dims or (at is not None and None in at):
        return replace(before, dims=None)
    rank = len(before.dims)
    places = range(rank) if at is None else [a % rank for a in at if a is not None and rank]
    return replace(before, dims=tuple(d for i, d in enumerate(before.dims) if d != 1 or i not in places))


def _flat(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    before = _first(m, state, given)
    bounds = [_numbers(m, state, given.get(place, name)) for place, name in ((1, "start_dim"), (2, "end_dim"))]
    if before.dims is None or any(b is not None and None in b for b in bounds) or not before.dims:
        return replace(before, dims=None)
    rank = len(before.dims)
    start = (bounds[0][0] or 0) % rank if bounds[0] else 0
    end = bounds[1][0] if bounds[1] else None
    last = (end if end is not None else -1) % rank
    inner = before.dims[start : last + 1]
    joined = None if None in inner else math.prod(d for d in inner if d is not None)
    return replace(before, dims=(*before.dims[:start], joined, *before.dims[last + 1 :]))


def _flat_module(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    return _flat(m, state, calls.Arguments((*given.positional[:1], Const(1))), site)


def _rearranged(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    before = _first(m, state, given)
    sizes = _sizes(m, state, given.positional[1:])
    if sizes is None:
        return replace(before, dims=None)
    if -1 in sizes and before.dims is not None and None not in before.dims and None not in sizes:
        total, rest = math.prod(d for d in before.dims if d), math.prod(d for d in sizes if d is not None and d > 0)
        return replace(before, dims=tuple(total // rest if d == -1 else d for d in sizes))
    return replace(before, dims=tuple(None if d == -1 else d for d in sizes))


def _sizes(m: Machine, state: State, values: tuple[Value, ...]) -> Dims | None:
    """Return the sizes given as arguments, one by one or together."""
    if len(values) == 1:
        numbers = _numbers(m, state, values[0])
        return None if numbers is None else tuple(numbers)
    return tuple(v.value if isinstance(v, Const) and type(v.value) is int else None for v in values)


def _turned(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    before = _first(m, state, given)
    axes = _sizes(m, state, given.positional[1:]) if len(given.positional) > 1 else None
    sure = [a for a in axes or () if a is not None]
    if before.dims is not None and len(sure) == len(before.dims) > 2:
        return replace(before, dims=tuple(before.dims[a] for a in sure))
    if before.dims is not None and len(before.dims) == 2:
        return replace(before, dims=before.dims[::-1])
    return replace(before, dims=None if before.dims is None else (None,) * len(before.dims))


def _parts(m: Machine, state: State, given: calls.Arguments) -> tuple[list[Extent], bool]:
    """Return the extents of the elements of the first argument, and whether there may be more of them."""
    value = given.values[0] if given.values else NONE
    parts = containers.items(m, state, value)
    if parts is not None:
        return [of(m, state, v) for v in parts], False
    held = getattr(state.object(value), "items", ())
    return [of(m, state, v) for v in held] if isinstance(held, tuple) else [], True


def _stacked(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    parts, more = _parts(m, state, given)
    spread = next((part.why for part in parts if part.many), None)
    if len(parts) < 2:
        return Extent(None, True, spread) if parts and parts[0].many and not more else UNKNOWN
    dims = parts[0].dims
    if dims is None or more:
        return Extent(None, True, spread or site, False)
    return Extent((len(parts), *dims), True, spread or site, False)


def _joined(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    parts, _ = _parts(m, state, given)
    if not any(part.many for part in parts) and len(parts) < 2:
        return UNKNOWN
    return Extent(None, True, next((part.why for part in parts if part.why is not None), site), False)


def _product(m: Machine, state: State, given: calls.Arguments, site: p.Node) -> Extent:
    left, right = (of(m, state, v) for v in (*given.values[:2], NONE, NONE)[:2])
    if left.dims is not None and len(left.dims) >= 2 and len(left.dims) == 2 and right.dims is not None:
        return _sized((left.dims[0], *right.dims[1:2]))
    if left.dims is not None and len(left.dims) >= 2 and (left.dims[-2] or 0) > 1:
        return Extent(None, True)
    return (
        SCALAR
        if left.dims is not None and right.dims is not None and len(left.dims) == len(right.dims) == 1
        else UNKNOWN
    )


_RULES: dict[str, Callable[[Machine, State, calls.Arguments, p.Node], Extent]] = {
    "alike": _alike,
    "together": _together,
    "reduced": _reduced,
    "normed": _normed,
    "one": _one,
    "unsqueezed": _unsqueezed,
    "squeezed": _squeezed,
    "flat": _flat,
    "rearranged": _rearranged,
    "turned": _turned,
    "stacked": _stacked,
    "joined": _joined,
    "product": _product,
}


# ---------------------------------------------------------------- losses, layers, factories, elements


def loss(
    m: Machine, state: State, name: str, built: calls.Arguments | None, given: calls.Arguments, site: p.Node
) -> Extent:
    """Return the shape of a loss, built or called with a `reduction`."""
    if built is None or built.open or given.open:
        return UNKNOWN
    how = built.get(None, "reduction")
    old = built.get(None, "reduce")
    if old not in (None, NONE) or (how is not None and not isinstance(how, Const)):
        return UNKNOWN
    if how is None or how != Const("none"):
        return SCALAR
    values = (*given.positional, *(v for key, v in given.keywords if key in ("input", "target")))
    if len(values) < 2:
        return UNKNOWN
    if m.profile.shape(name) == "loss":
        whole = _together(m, state, calls.Arguments(values[:2]), site)
    else:
        whole = of(m, state, values[1])
        whole = whole if whole.dims is not None or whole.many is False else _by_sample(of(m, state, values[0]))
    if whole.dims is None and whole.many is None and cuts.in_batch(m, values[1]):
        return Extent(None, True, site)
    if whole.dims is None and whole.many is None:
        return UNKNOWN
    return replace(whole, why=site if whole.many else None, plain=True)


def _by_sample(scores: Extent) -> Extent:
    """Return one value for each row of scores."""
    if scores.dims is not None and len(scores.dims) >= 2:
        return _sized((scores.dims[0], *scores.dims[2:]))
    return UNKNOWN


def layer(m: Machine, state: State, module: Value, given: calls.Arguments, result: Value, site: p.Node) -> Value:
    """Work out the shape of what a module of the framework gives."""
    thing = state.object(module)
    if not isinstance(thing, Module) or not isinstance(thing.cls, str) or not isinstance(module, Ref):
        return result
    kind, built = m.profile.shape(thing.cls), m.built.get(module.id)
    before = _first(m, state, given)
    if kind in ("loss", "sample-loss"):
        return keep(m, state, result, loss(m, state, thing.cls, built, given, site))
    if kind in ("linear", "embedding"):
        sizes = _numbers(m, state, built.positional[1]) if built is not None and len(built.positional) > 1 else None
        if before.dims is None:
            return result
        last = sizes[0] if sizes else None
        return keep(m, state, result, _sized((*(before.dims[:-1] if kind == "linear" else before.dims), last)))
    if kind == "flat":
        return keep(m, state, result, _flat_module(m, state, given, site))
    if kind == "batched" and before.dims is not None and len(before.dims) == 4:
        return keep(m, state, result, _sized((before.dims[0], None, None, None)))
    return operation(m, state, thing.cls, given, result, site)


def made(m: Machine, state: State, name: str, given: calls.Arguments, result: Value) -> Value:
    """Work out the shape of a new tensor."""
    kind, positional = m.profile.shape(name), given.positional
    extent = UNKNOWN
    if given.open:
        return result
    if kind == "like":
        extent = replace(_first(m, state, given), why=None)
    elif kind == "sized":
        size = given.get(None, "size")
        sizes = _sizes(m, state, positional if size is None else (size,))
        extent = _sized(sizes) if sizes is not None else UNKNOWN
    elif kind == "shaped":
        size = given.get(None, "size") or next(
            (v for v in positional if isinstance(v, Tuple) or _listed(state, v)), None
        )
        numbers = _numbers(m, state, size)
        extent = _sized(tuple(numbers)) if numbers is not None else UNKNOWN
    elif kind == "counted" and len(positional) == 1:
        numbers = _numbers(m, state, positional[0])
        extent = _sized((numbers[0],)) if numbers else UNKNOWN
    elif kind == "literal" and positional:
        dims = _literal(m, state, positional[0])
        extent = _sized(dims) if dims is not None else UNKNOWN
    return keep(m, state, result, extent)


def _listed(state: State, value: Value) -> bool:
    return isinstance(state.object(value), Sequence)


def _literal(m: Machine, state: State, value: Value, depth: int = 4) -> Dims | None:
    """Return the sizes of nested lists of numbers."""
    if isinstance(value, (Const, Linear)):
        return ()
    if depth == 0 or not (isinstance(value, Tuple) or _listed(state, value)):
        return of(m, state, value).dims
    parts = containers.items(m, state, value)
    if not parts:
        return None
    inner = _literal(m, state, parts[0], depth - 1)
    return None if inner is None else (len(parts), *inner)


def element(m: Machine, state: State, value: Value, key: Value, result: Value) -> Value:
    """Work out the shape of `value[key]`."""
    before = of(m, state, value)
    keys = key.items if isinstance(key, Tuple) else (key,)
    if before.dims is None:
        return result
    rest, sizes = list(before.dims), list[int | None]()
    for one in keys:
        if one == Const(None):
            sizes.append(1)
        elif not rest:
            return result
        elif isinstance(one, Linear) or (isinstance(one, Const) and type(one.value) is int):
            rest.pop(0)
        elif isinstance(one, Const) and isinstance(one.value, slice):
            size = rest.pop(0)
            try:
                sizes.append(None if size is None else len(range(size)[one.value]))
            except (TypeError, ValueError):
                return result
        elif isinstance(one, Unknown) and isinstance(one.key, tuple) and one.key[0] == "slice":
            rest.pop(0)
            sizes.append(None)
        else:
            return result
    return keep(m, state, result, replace(_sized((*sizes, *rest), before.why), plain=False))


# ---------------------------------------------------------------- backward


def root(m: Machine, state: State, kind: str, values: list[Value], site: p.Node, subject: p.Node | None) -> None:
    """Look at what a pass without a seed begins with: more than one value raises."""
    for value in values:
        thing, extent = state.object(value), of(m, state, value)
        if not isinstance(thing, Tensor) or not extent.many or m.nodes[thing.node].requires_grad is False:
            continue
        event = m.event(state, kind, site, subject)
        details = (("why", extent.why), ("plain", extent.plain))
        m.note(state, Fact("many-rooted", event, (), True, details=details))
        state.crashed = True
        return
