"""Traces as one SVG picture: the graph, what happened to it on its right, and what the marks mean below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from adlint.trace import Trace
from adlint.trace.layout import INSET, LINE, Area, Layout, laid_out
from adlint.trace.picture import BAD, CHANGE, DASHED, Arrow, Box, Picture, picture
from adlint.trace.style import EVENT, FRAME, GROUPS, INK, PALE, PAPER, WRONG

MARGIN, HEAD = 16, 30
LEGEND = (
    "arrows down: what a tensor is made of, dashed without a gradient; on the right: what happened, in order",
    "black: where a pass begins; red: what it cannot walk; tinted alike: a pass and what it freed",
)
_FONT = "ui-monospace, Menlo, Consolas, monospace"
_CONTROL = dict.fromkeys(range(32), "\ufffd") | {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


def render(traces: Sequence[Trace]) -> str:
    """Return the pictures of all traces, one below the other, as one document."""
    parts: list[str] = []
    width, y = max(len(line) for line in LEGEND) * 6.0, float(MARGIN)
    for number, trace in enumerate(traces, 1):
        one = picture(trace, f"p{number}")
        layout = laid_out(one)
        title = _text(MARGIN, y + 12, one.title, f'font-weight="bold" fill="{INK}"')
        parts += [title, f'<g transform="translate({MARGIN} {y + HEAD:.1f})">', *_drawn(one, layout), "</g>"]
        width = max(width, layout.width, len(one.title) * 7.4)
        y += HEAD + layout.height + 2 * MARGIN
    for line in LEGEND:
        parts.append(_text(MARGIN, y + 6, line, f'fill="{PALE}" font-size="10"'))
        y += LINE
    across, down = width + 2 * MARGIN, y + MARGIN / 2
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{down:.0f}"'
    head += f' viewBox="0 0 {across:.0f} {down:.0f}" font-family="{_FONT}" font-size="11" role="img">'
    name = "<title>" + _safe("; ".join(f"{trace.place} {trace.headline}".strip() for trace in traces)) + "</title>"
    paper = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
    return "\n".join([head, name, _heads(), paper, *parts, "</svg>"]) + "\n"


def _heads() -> str:
    colours = {"ink": FRAME, "bad": WRONG, "walk": INK}
    marker = (
        '<marker id="{}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="{}"/></marker>'
    )
    return f"<defs>{''.join(marker.format(name, colour) for name, colour in colours.items())}</defs>"


def _drawn(one: Picture, layout: Layout) -> Iterator[str]:
    kinds = {box.id: box.kind for box in one.boxes}
    data = [arrow for arrow in one.arrows if (arrow.start, arrow.end) in layout.ways]
    for arrow in one.arrows:
        if arrow not in data and arrow.kind != CHANGE:
            yield _event_arrow(arrow, layout, downward=kinds[arrow.end] == "event")
    for arrow in data:
        dashes = ' stroke-dasharray="4 3"' if arrow.kind == DASHED else ""
        path = _curve(layout.ways[arrow.start, arrow.end])
        yield f'<path d="{path}" fill="none" stroke="{FRAME}"{dashes} marker-end="url(#ink)"/>'
    for box in one.boxes:
        yield from _box(box, layout.areas[box.id])


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Return a line that leaves and reaches each point straight from above."""
    x, y = points[0]
    found = f"M{x:.1f} {y:.1f}"
    for left, down in points[1:]:
        half = (y + down) / 2
        found += f"C{x:.1f} {half:.1f} {left:.1f} {half:.1f} {left:.1f} {down:.1f}"
        x, y = left, down
    return found


def _event_arrow(arrow: Arrow, layout: Layout, downward: bool) -> str:
    start, end = layout.areas[arrow.start], layout.areas[arrow.end]
    if downward:
        x = start.x + 14
        return f'<path d="M{x:.1f} {start.y + start.height:.1f}V{end.y:.1f}" stroke="{FRAME}" marker-end="url(#ink)"/>'
    colour, mark = (WRONG, "bad") if arrow.kind == BAD else (INK, "walk")
    x, y = start.x, start.y + start.height / 2
    left, down = end.x + end.width, end.y + end.height / 2
    reach = max(30.0, (x - left) / 2)
    path = f"M{x:.1f} {y:.1f}C{x - reach:.1f} {y:.1f} {left + reach:.1f} {down:.1f} {left + 1:.1f} {down:.1f}"
    heavy = ' stroke-width="2"' if arrow.kind == BAD else ' stroke-width="1.4"'
    return f'<path d="{path}" fill="none" stroke="{colour}"{heavy} marker-end="url(#{mark})"/>'


def _box(box: Box, area: Area) -> Iterator[str]:
    fill, stroke = GROUPS[box.group % len(GROUPS)] if box.group >= 0 else (PAPER, FRAME)
    if box.kind == "event" and box.group < 0:
        fill = EVENT
    if box.bad:
        stroke = WRONG
    style = f'fill="{fill}" stroke="{stroke}" stroke-width="{2 if box.bad else 1}"'
    if box.kind == "cut":
        style += ' stroke-dasharray="4 3"'
    round_ = area.height / 2.6 if box.kind == "leaf" else 0 if box.kind == "event" else 4
    shape = f'x="{area.x:.1f}" y="{area.y:.1f}" width="{area.width:.1f}" height="{area.height:.1f}" rx="{round_:.1f}"'
    yield f"<rect {shape} {style}/>"
    for number, line in enumerate(box.lines):
        colour = WRONG if line == "raises" else INK if number == 0 or box.kind == "event" else PALE
        weight = ' font-weight="bold"' if number == 0 else ""
        yield _text(area.x + INSET, area.y + INSET / 2 + LINE * (number + 0.75), line, f'fill="{colour}"{weight}')


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" xml:space="preserve" {style}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    return escape(text.translate(_CONTROL))
