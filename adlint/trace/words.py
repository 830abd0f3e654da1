"""How what happened is put into words, the same ones in every format."""

from __future__ import annotations

from collections.abc import Sequence

from adlint.trace import Slot, Step, Tensor

_CUT = {
    "off": "recording was off",
    "inference": "recording was off, in inference mode",
    "detach": "detached",
    "untracked": "by an operation without a gradient",
    "wrapped": "wrapped anew",
    "data": "made of plain data",
    "derived": "made of values without a graph",
}
_NOW = {"clean": "cleared", "filled": "filled", "applied": "applied", "stale": "added to what was applied before"}
_PASS = {"backward": "a backward pass", "grad": "a pass that returns gradients"}


def where(line: str, turn: str) -> str:
    """Return a place in the program, with the turns of its loops if one is not the first."""
    return f"line {line}" + (f", turn {turn}" if turn else "") if line else ""


def listed(numbers: Sequence[int]) -> str:
    """Return tensors by their numbers."""
    return " ".join(f"#{number}" for number in numbers)


def nature(tensor: Tensor) -> str:
    """Return what kind of node a tensor is."""
    if tensor.kind == "leaf":
        return "leaf with a gradient slot" if tensor.requires_grad is not False else "parameters"
    if tensor.kind == "source":
        return "not known"
    if tensor.kind == "cut":
        made = f"{operation(tensor)}, " if tensor.operation not in ("", "cut") else ""
        return f"{made}no graph" + (f": {cut(tensor)}" if tensor.cut in _CUT else "")
    saves = {True: "saves tensors", False: "saves nothing", None: "may save tensors"}[tensor.saves]
    doubt = "" if tensor.requires_grad else ", may require grad"
    return f"{operation(tensor)}, {saves}{doubt}"


def cut(tensor: Tensor) -> str:
    """Return why a tensor has no graph."""
    return _CUT.get(tensor.cut, "no graph")


def operation(tensor: Tensor) -> str:
    """Return the name of what made a tensor, without the package that it comes from."""
    return tensor.operation.rpartition(".")[2] if tensor.operation[-1:].isidentifier() else tensor.operation


def happened(step: Step) -> str:
    """Return what a step is."""
    if step.kind in _PASS:
        return _PASS[step.kind]
    if step.kind == "scope":
        return f"recording is {step.word}"
    if step.kind == "mode":
        return f"{step.word} mode" if step.word != "unknown" else "a mode that is not known"
    return {"clear": "clears gradients", "update": "changes values in place", "here": "the finding"}.get(
        step.kind, "a step"
    )


def effects(step: Step) -> list[str]:
    """Return what a step does, or fails to do, to nodes and slots."""
    found = []
    if step.kind in _PASS and step.tensors:
        found.append(f"walks {listed(step.tensors)}" + (f" and {step.others} more" if step.others else ""))
    if step.met:
        found.append(f"meets {listed(step.met)}, freed on {step.by}")
    if len(step.outdated) == 2:
        node, leaf = step.outdated
        found.append(f"needs #{leaf} as it was when #{node} was made")
    if step.refused:
        found.append("raises")
    if step.word == "kept":
        found.append("frees nothing")
    if step.freed:
        found.append(f"frees {listed(step.freed)}")
    found += [f"slot of {listed(numbers)}: {change}" for change, numbers in _together(step.slots).items()]
    if step.kind in ("step", "clear") and not step.slots:
        found.append("finds nothing new in these slots")
    return found


def _together(slots: Sequence[Slot]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for slot in slots:
        change = "filled again" if slot.was == slot.now == "filled" else _NOW[slot.now]
        found.setdefault(change, []).append(slot.tensor)
    return found
