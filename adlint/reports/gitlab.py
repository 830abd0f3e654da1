"""A Code Quality report of GitLab: an array of objects, of which GitLab reads the keys that are here.

A fingerprint stays when lines come or go above its finding, so that a merge request shows what is new in it.
"""

from __future__ import annotations

import json
from hashlib import blake2b

from adlint.diagnostics import Severity
from adlint.fingerprints import fingerprints
from adlint.reports import Result
from adlint.reports.places import Places, whole

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(result: Result) -> str:
    """Return the report; no two findings in it have the same fingerprint."""
    places = Places(result)
    listed = []
    taken: set[str] = set()
    for item, mark in zip(result.diagnostics, fingerprints(result.diagnostics, result.sources), strict=True):
        span = places.span(item.filename, item.span)
        path = places.path(item.filename)
        while (mark := _hashed(path, mark)) in taken:  # the same file under two names
            pass
        taken.add(mark)
        listed.append(
            {
                "description": f"{item.code}: {places.message(item)}",
                "check_name": whole(item.name),
                "fingerprint": mark,
                "severity": _SEVERITIES[item.severity],
                "location": {"path": path, "lines": {"begin": span.start.line, "end": span.end.line}},
            }
        )
    return json.dumps(listed, indent=2) + "\n"


def _hashed(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
