"""What an editor says that it can do, and what it is told that the server can."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adlint.server.actions import EXPLAIN, FIX_ALL, FIX_ALL_CELLS, QUICK_FIX
from adlint.server.texts import PYTHON
from adlint.server.units import Json, Units


@dataclass(frozen=True)
class Editor:
    """The capabilities that an editor has announced; what is missing it cannot do."""

    announced: dict[str, Any] = field(default_factory=dict)
    explains: bool = False

    @classmethod
    def of(cls, params: dict[str, Any]) -> Editor:
        """Take the parameters of `initialize`. An editor that shows explanations itself says so in its options."""
        options = params.get("initializationOptions")
        explains = isinstance(options, dict) and options.get("showsExplanations") is True
        capabilities = params.get("capabilities")
        return cls(capabilities if isinstance(capabilities, dict) else {}, explains)

    def says(self, *path: str) -> Any:
        """Return what an editor says under some names, None if it says nothing."""
        found: Any = self.announced
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    @property
    def units(self) -> Units:
        return Units.agreed(self.says("general", "positionEncodings"))

    @property
    def pulls(self) -> bool:
        """Whether it asks for diagnostics; what is found is then not sent unasked, or it would be shown twice."""
        return isinstance(self.says("textDocument", "diagnostic"), dict)

    @property
    def resolves(self) -> bool:
        """Whether it asks for the edit of an action when somebody has chosen it."""
        properties = self.says("textDocument", "codeAction", "resolveSupport", "properties")
        return isinstance(properties, list) and "edit" in properties

    def answer(self) -> Json:
        """Return what the server can do."""
        cells = [{"notebook": "jupyter-notebook", "cells": [{"language": PYTHON}]}]
        pull = {"identifier": "adlint", "interFileDependencies": True, "workspaceDiagnostics": False}
        return {
            "positionEncoding": self.units.encoding,
            "textDocumentSync": {"openClose": True, "change": 1, "save": {"includeText": False}},
            "notebookDocumentSync": {"notebookSelector": cells, "save": True},
            "codeActionProvider": {"codeActionKinds": [QUICK_FIX, FIX_ALL, FIX_ALL_CELLS], "resolveProvider": True},
            "hoverProvider": True,
            "executeCommandProvider": {"commands": [EXPLAIN]},
            "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
            **({"diagnosticProvider": pull} if self.pulls else {}),
        }
