"""Traces in the notation of other drawing tools: Mermaid and Graphviz."""

from __future__ import annotations

from collections.abc import Sequence

from adlint.trace import Trace
from adlint.trace.picture import BAD, CHANGE, DASHED, NEXT, PLAIN, WALK, Arrow, Box, Picture, picture
from adlint.trace.style import GROUPS, WRONG

_LINES = {PLAIN: "-->", DASHED: "-.->", WALK: "==>", CHANGE: "-->", BAD: "==>", NEXT: "~~~"}
_STYLES = {
    PLAIN: "",
    DASHED: "style=dashed",
    WALK: "style=bold, constraint=false",
    CHANGE: "style=dotted, constraint=false",
    BAD: f'style=bold, color="{WRONG}", fontcolor="{WRONG}", constraint=false',
    NEXT: "style=invis",
}
_ENTITIES = {**{c: f"#{ord(c)};" for c in '"#<>&`'}, "\\": "#92;"}


def mermaid(traces: Sequence[Trace]) -> str:
    """Return one flowchart, with a part for each trace."""
    lines = ["flowchart TB"]
    for number, one in enumerate(_pictures(traces), 1):
        lines.append(f'  subgraph p{number}["{_entities(one.title)}"]')
        lines += [f"    {_mermaid_box(box)}" for box in one.boxes]
        lines += [f"    {_mermaid_arrow(arrow)}" for arrow in one.arrows]
        lines.append("  end")
    for group, (fill, stroke) in enumerate(GROUPS):
        lines.append(f"  classDef g{group} fill:{fill},stroke:{stroke},color:#222")
    lines.append(f"  classDef bad stroke:{WRONG},stroke-width:3px")
    return "\n".join(lines) + "\n"


def _mermaid_box(box: Box) -> str:
    text = "<br/>".join(_entities(line) for line in box.lines)
    opened, closed = {"leaf": ("([", "])"), "event": ("[[", "]]"), "cut": ("{{", "}}")}.get(box.kind, ("[", "]"))
    style = ":::bad" if box.bad else f":::g{box.group % len(GROUPS)}" if box.group >= 0 else ""
    return f'{box.id}{opened}"{text}"{closed}{style}'


def _mermaid_arrow(arrow: Arrow) -> str:
    label = f"|{arrow.label}|" if arrow.label else ""
    return f"{arrow.start} {_LINES[arrow.kind]}{label} {arrow.end}"


def _entities(text: str) -> str:
    return "".join(_ENTITIES.get(character, character) for character in text)


def dot(traces: Sequence[Trace]) -> str:
    """Return one directed graph, with a cluster for each trace."""
    lines = ["digraph tape {", '  node [shape=box, fontname="monospace", fontsize=10];', "  edge [fontsize=9];"]
    for number, one in enumerate(_pictures(traces), 1):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(one.title)};"]
        lines += [f"    {_dot_box(box)}" for box in one.boxes]
        lines += [f"    {_dot_arrow(arrow)}" for arrow in one.arrows]
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_box(box: Box) -> str:
    shape = {"leaf": "ellipse", "event": "component", "cut": "note"}.get(box.kind, "box")
    given = [f"label={_quoted(chr(10).join(box.lines))}", f"shape={shape}"]
    if box.group >= 0:
        fill, stroke = GROUPS[box.group % len(GROUPS)]
        given += ["style=filled", f'fillcolor="{fill}"', f'color="{stroke}"']
    if box.bad:
        given += ["penwidth=2", f'color="{WRONG}"'] if box.group < 0 else ["penwidth=2"]
    return f"{box.id} [{', '.join(given)}];"


def _dot_arrow(arrow: Arrow) -> str:
    parts = ([f"label={_quoted(arrow.label)}"] if arrow.label else []) + [
        part for part in [_STYLES[arrow.kind]] if part
    ]
    return f"{arrow.start} -> {arrow.end}" + (f" [{', '.join(parts)}]" if parts else "") + ";"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _pictures(traces: Sequence[Trace]) -> list[Picture]:
    return [picture(trace, f"p{number}") for number, trace in enumerate(traces, 1)]
