"""A trace as lines of text: what was made, walked, freed, filled and applied, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adlint.diagnostics import one_line
from adlint.trace import Step, Tensor, Trace, words


def render(traces: Sequence[Trace]) -> str:
    """Return all traces, one below the other."""
    return "\n".join("".join(f"{line.rstrip()}\n" for line in _lines(trace)) for trace in traces)


def _lines(trace: Trace) -> Iterator[str]:
    yield one_line(f"{trace.place}: {trace.headline}" if trace.rule else f"{trace.place}: no finding")
    if trace.note:
        yield f"  not reported: {trace.note}"
    by_number = {tensor.number: tensor for tensor in trace.tensors}
    made = {number for step in trace.steps if step.kind == "made" for number in step.tensors}
    rows = [("", _tensor(tensor)) for tensor in trace.tensors if tensor.number not in made]
    for step in trace.steps:
        rows += _rows(step, by_number)
    width = max((len(place) for place, _ in rows), default=0)
    for place, said in rows:
        yield f"  {place:<{width}}  {one_line(said)}"
    if trace.left_out:
        yield f"  and {trace.left_out} tensors that lie farther away"


def _rows(step: Step, tensors: dict[int, Tensor]) -> Iterator[tuple[str, str]]:
    place = words.where(step.line, step.turn)
    if step.kind == "made":
        for number in step.tensors:
            yield place, _tensor(tensors[number])
        return
    code = f"{step.code}: " if step.code else ""
    yield place, f"{code}{words.happened(step)}"
    for effect in words.effects(step):
        yield "", f"    {effect}"


def _tensor(tensor: Tensor) -> str:
    parts = [words.nature(tensor)]
    if tensor.parents or tensor.kind == "cut":
        made = tensor.parents or tensor.behind
        parts += [f"made of {words.listed(made)}"] if made else []
    if tensor.behind and tensor.kind != "cut":
        parts.append(f"with no gradient into {words.listed(tensor.behind)}")
    return f"#{tensor.number} {tensor.name or 'something unknown'}: {', '.join(parts)}"
