"""Result → text, one module for each format; each has `render(result) -> str`. Prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from adlint.diagnostics import Diagnostic
from adlint.source import Source

FORMATS = ("text", "concise", "json")


@dataclass(frozen=True)
class Result:
    """What a run found: findings in their order, the sources that hold them, and how many were mended on the way."""

    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, Source] = field(default_factory=dict)
    fixed: int = 0
    color: bool = False
    summary: bool = True


def renderer(name: str) -> Callable[[Result], str]:
    """Return the `render` of a format."""
    render: Callable[[Result], str] = import_module(f"adlint.reports.{name}").render
    return render
