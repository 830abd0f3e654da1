"""Patterns of dotted names, as profiles have them: `*` within a part, `**` over parts, `[...]` one of some characters.

Reads nothing, prints nothing.
"""

from __future__ import annotations

import re
from functools import cache


def matches(pattern: str, name: str) -> bool:
    """Compare without compiling where the text before the first wildcard already differs."""
    literal = pattern.partition("*")[0].partition("[")[0]
    return name.startswith(literal) and bool(_compiled(pattern).fullmatch(name))


def is_pattern(text: str) -> bool:
    """Whether names can be compared with a text; only brackets can be wrong."""
    try:
        return "[" not in text or bool(_compiled(text))
    except re.error:
        return False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*|\[[^\]]+\])", pattern)
    wild = {"**": ".*", "*": "[^.]*"}
    return re.compile("".join(wild.get(part) or (part if part[:1] == "[" else re.escape(part)) for part in parts))
