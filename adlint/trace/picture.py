"""A trace as boxes and arrows: the graph, and beside it what happened to it, in order. Knows no format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from adlint.trace import Step, Tensor, Trace, words

WIDEST = 38
CHANGES = {"step": "applies", "clear": "clears", "update": "changes"}
PLAIN, DASHED, WALK, CHANGE, BAD, NEXT = "plain", "dashed", "walk", "change", "bad", "next"


@dataclass(frozen=True, slots=True)
class Box:
    """`kind`: leaf, tensor, cut or event. `group` tells passes that free something apart, and marks what each freed;
    -1 is none. A `bad` box is where it goes wrong."""

    id: str
    kind: str
    lines: tuple[str, ...]
    group: int = -1
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """From box to box. `kind`: plain and dashed for data (with and without a gradient), walk, change (of a slot), bad,
    and next between events."""

    start: str
    end: str
    kind: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def picture(trace: Trace, prefix: str = "") -> Picture:
    """Return a trace as boxes, whose identities begin with a prefix, and arrows."""
    events = [step for step in trace.steps if step.kind != "made"]
    letters = [_letter(number) for number in range(len(events))]
    groups = {index: n for n, index in enumerate(i for i, step in enumerate(events) if step.freed)}
    freed = {number: index for index, step in reversed(list(enumerate(events))) for number in step.freed}
    boxes = []
    for tensor in trace.tensors:
        by = freed.get(tensor.number)
        status = f"freed by {letters[by]}" if by is not None else _slot(tensor, events, letters)
        kind = tensor.kind if tensor.kind in ("leaf", "cut") else "tensor"
        boxes.append(
            Box(f"{prefix}t{tensor.number}", kind, _lines(tensor, status), groups.get(by, -1) if by is not None else -1)
        )
    for index, step in enumerate(events):
        bad = step.refused or bool(step.met)
        lines = tuple(_cut(line) for line in _event(step, letters[index]))
        boxes.append(Box(f"{prefix}e{index + 1}", "event", lines, groups.get(index, -1), bad))
    title = f"{trace.place}: {trace.rule}" if trace.rule else trace.place
    return Picture(title, tuple(boxes), tuple(_arrows(trace, events, prefix)))


def _arrows(trace: Trace, events: list[Step], prefix: str) -> Iterator[Arrow]:
    for tensor in trace.tensors:
        yield from (Arrow(f"{prefix}t{n}", f"{prefix}t{tensor.number}", PLAIN) for n in tensor.parents)
        yield from (Arrow(f"{prefix}t{n}", f"{prefix}t{tensor.number}", DASHED) for n in tensor.behind)
    for index, step in enumerate(events, 1):
        here = f"{prefix}e{index}"
        if step.kind in ("backward", "grad") and step.tensors:
            yield Arrow(here, f"{prefix}t{step.tensors[0]}", WALK, "walks")
        yield from (Arrow(here, f"{prefix}t{n}", BAD, "meets") for n in step.met)
        yield from (Arrow(here, f"{prefix}t{n}", BAD, "needs") for n in step.outdated[1:])
        if step.kind in CHANGES:
            yield from (Arrow(here, f"{prefix}t{slot.tensor}", CHANGE, CHANGES[step.kind]) for slot in step.slots)
        if index > 1:
            yield Arrow(f"{prefix}e{index - 1}", here, NEXT)


def _lines(tensor: Tensor, status: str) -> tuple[str, ...]:
    what = "leaf" if tensor.kind == "leaf" else "not known" if tensor.kind == "source" else words.operation(tensor)
    if tensor.kind == "cut":
        what = f"{what}: {words.cut(tensor)}" if what not in ("", "cut") else words.cut(tensor)
    place = words.where(tensor.line, tensor.turn)
    found = (f"#{tensor.number} {tensor.name or 'something unknown'}", f"{what}, {place}" if place else what, status)
    return (*(_cut(line) for line in found[:2]), *found[2:]) if status else tuple(_cut(line) for line in found[:2])


def _event(step: Step, letter: str) -> Iterator[str]:
    yield f"{letter}  {words.where(step.line, step.turn)}"
    if step.code:
        yield step.code
    if step.kind in ("scope", "mode") or not step.code:
        yield words.happened(step)
    said = ["raises"] if step.refused else ["frees nothing"] if step.word == "kept" else []
    if step.kind in CHANGES:
        numbers = words.listed([slot.tensor for slot in step.slots])
        said.append(f"{CHANGES[step.kind]} {numbers}" if numbers else "finds nothing new")
    yield from said


def _slot(tensor: Tensor, events: list[Step], letters: list[str]) -> str:
    """Return what became of a leaf's slot, by the events that changed it."""
    if tensor.kind != "leaf":
        return ""
    changes = [(letter, slot) for letter, step in zip(letters, events, strict=True) for slot in step.slots]
    found = [f"{letter} {slot.now}" for letter, slot in changes if slot.tensor == tensor.number]
    return f"slot: {', '.join(found[-4:])}" if found else ""


def _letter(number: int) -> str:
    """Return the name of an event: A to Z, then A1, B1 and so on."""
    return chr(ord("A") + number % 26) + (str(number // 26) if number >= 26 else "")


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
