"""A static linter for autograd misuse.

    from adlint import Source, lint
    for diagnostic in lint(Source.read("train.py")):
        ...

The public names are loaded when first used, so that `import adlint` costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from adlint.catalog import Rule
    from adlint.diagnostics import Diagnostic, Edit, Fix
    from adlint.linter import fix, lint
    from adlint.source import Source

__version__ = "0.1.0"

__all__ = ["Diagnostic", "Edit", "Fix", "Rule", "Source", "__version__", "fix", "lint"]

_HOMES = {
    "Diagnostic": "adlint.diagnostics",
    "Edit": "adlint.diagnostics",
    "Fix": "adlint.diagnostics",
    "Rule": "adlint.catalog",
    "Source": "adlint.source",
    "fix": "adlint.linter",
    "lint": "adlint.linter",
}


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
