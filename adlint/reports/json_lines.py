"""One object for each finding, each on a line of its own, with the keys that the format `json` has."""

from __future__ import annotations

import json

from adlint.reports import Result
from adlint.reports.json import finding


def render(result: Result) -> str:
    """Return the findings as lines of JSON; nothing if there are none."""
    return "".join(json.dumps(finding(item, result)) + "\n" for item in result.diagnostics)
