"""Where the boxes of a picture go: the graph in layers, from what it is made of down to its results; events beside it.

An arrow over several layers is led through places that it is given in the layers between, so that it crosses no box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from adlint.trace.picture import DASHED, PLAIN, Picture

LINE, CHARACTER, INSET = 15, 6.7, 9
BETWEEN, DEEP, PASSAGE = 22, 40, 14
SWEEPS = 8


@dataclass(frozen=True, slots=True)
class Area:
    """The rectangle of a box."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The areas of the boxes, the points that each data arrow is led through, and the size of the whole."""

    areas: Mapping[str, Area]
    ways: Mapping[tuple[str, str], tuple[tuple[float, float], ...]]
    width: float
    height: float


def laid_out(picture: Picture) -> Layout:
    """Return the layout of a picture, from its upper left corner."""
    sizes = {box.id: _size(box.lines) for box in picture.boxes}
    tensors = [box.id for box in picture.boxes if box.kind != "event"]
    edges = list(dict.fromkeys((a.start, a.end) for a in picture.arrows if a.kind in (PLAIN, DASHED)))
    layer = _layers(tensors, edges)
    chains = {edge: [edge[0], *_passages(edge, layer), edge[1]] for edge in edges}
    for start, *between in ((chain[0], *chain[1:-1]) for chain in chains.values()):
        for step, name in enumerate(between, 1):
            layer[name], sizes[name] = layer[start] + step, (PASSAGE, 0)
    links = [pair for chain in chains.values() for pair in pairwise(chain)]
    rows = _ordered(layer, links)
    middle = _middles(rows, links, sizes)
    areas: dict[str, Area] = {}
    y = 0.0
    for row in rows:
        high = max((sizes[name][1] for name in row), default=0)
        for name in row:
            width, height = sizes[name]
            areas[name] = Area(middle[name] - width / 2, y + (high - height) / 2, width, height)
        y += high + DEEP
    graph = max((area.x + area.width for area in areas.values()), default=0)
    x, down = graph + (2 * DEEP if areas else 0), 0.0
    events = [box.id for box in picture.boxes if box.kind == "event"]
    widest = max((sizes[name][0] for name in events), default=0)
    for name in events:
        areas[name] = Area(x, down, widest, sizes[name][1])
        down += sizes[name][1] + BETWEEN
    ways = {edge: _points(chain, areas) for edge, chain in chains.items()}
    return Layout(areas, ways, x + widest, max(y - DEEP, down - BETWEEN, 0))


def _size(lines: Sequence[str]) -> tuple[float, float]:
    return max(len(line) for line in lines) * CHARACTER + 2 * INSET, len(lines) * LINE + INSET


def _layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return how deep each node lies: below all that it is made of, or, made of nothing, just above its first use."""
    parents: dict[str, list[str]] = {name: [] for name in names}
    children: dict[str, list[str]] = {name: [] for name in names}
    for start, end in edges:
        parents[end].append(start)
        children[start].append(end)
    layer: dict[str, int] = {}
    for name in names:  # a node comes after all that it is made of
        layer[name] = max((layer[one] + 1 for one in parents[name]), default=0)
    for name in names:
        if not parents[name] and children[name]:
            layer[name] = min(layer[one] for one in children[name]) - 1
    return layer


def _passages(edge: tuple[str, str], layer: Mapping[str, int]) -> list[str]:
    return [f"{edge[0]} {edge[1]} {depth}" for depth in range(layer[edge[0]] + 1, layer[edge[1]])]


def _ordered(layer: Mapping[str, int], links: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the layers, each ordered so that links cross little: by the places of what a node is linked with."""
    rows: list[list[str]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name, depth in layer.items():
        rows[depth].append(name)
    for sweep in range(SWEEPS):
        above = sweep % 2 == 0
        near: dict[str, list[str]] = {}
        for start, end in links:
            near.setdefault(end if above else start, []).append(start if above else end)
        place = {name: index for row in rows for index, name in enumerate(row)}
        for row in rows if above else reversed(rows):
            rank = {}
            for name in row:
                known = [place[one] for one in near.get(name, ())]
                rank[name] = sum(known) / len(known) if known else float(place[name])
            row.sort(key=rank.__getitem__)
            place.update({name: index for index, name in enumerate(row)})
    return rows


def _middles(
    rows: Sequence[Sequence[str]], links: Sequence[tuple[str, str]], sizes: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """Return where each node's middle is: as near to what it is linked with as its neighbours allow."""
    near: dict[str, list[str]] = {}
    for start, end in links:
        near.setdefault(start, []).append(end)
        near.setdefault(end, []).append(start)
    middle: dict[str, float] = {}
    for row in rows:
        x = 0.0
        for name in row:
            middle[name] = x + sizes[name][0] / 2
            x += sizes[name][0] + BETWEEN
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wish = {n: sum(middle[o] for o in near[n]) / len(near[n]) if n in near else middle[n] for n in row}
            middle.update(_spread(row, wish, sizes))
    left = min((middle[name] - sizes[name][0] / 2 for name in middle), default=0.0)
    return {name: x - left for name, x in middle.items()}


def _spread(
    row: Sequence[str], wish: Mapping[str, float], sizes: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """Return places that keep order and distance: the mean of those found from the left and from the right."""
    left: dict[str, float] = {}
    right: dict[str, float] = {}
    for found, names, sign in ((left, list(row), 1), (right, list(reversed(row)), -1)):
        before: str | None = None
        for name in names:
            x = wish[name]
            if before is not None:
                gap = (sizes[before][0] + sizes[name][0]) / 2 + BETWEEN
                x = max(x, found[before] + gap) if sign > 0 else min(x, found[before] - gap)
            found[name], before = x, name
    return {name: (left[name] + right[name]) / 2 for name in row}


def _points(chain: Sequence[str], areas: Mapping[str, Area]) -> tuple[tuple[float, float], ...]:
    first, last = areas[chain[0]], areas[chain[-1]]
    between = [(areas[name].x + areas[name].width / 2, areas[name].y) for name in chain[1:-1]]
    return (
        (first.x + first.width / 2, first.y + first.height),
        *between,
        (last.x + last.width / 2, last.y),
    )
