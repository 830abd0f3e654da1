"""A rule as a page of Markdown: for `adlint rule`, and for the reports that carry the help of their rules."""

from __future__ import annotations

import re
from collections.abc import Mapping

from adlint.catalog import Rule


def explanation(rule: Rule, terms: Mapping[str, str]) -> str:
    """Return why a rule is one, an example, and how safe its fix is; titles are made with `terms`."""
    title = re.sub(r"\{(\w+)\}", lambda found: terms.get(found[1], "..."), rule.fix_title or "")
    fix = f"{rule.applicability.value}: {title}" if rule.applicability else "none"
    bad = rule.bad.replace("# want: ", "# ")
    parts = [
        f"# {rule.name} ({rule.id})",
        f"{rule.summary[:1].upper()}{rule.summary[1:]}.".replace("..", "."),
        f"- family: {rule.family}\n- severity: {rule.severity.value}\n- fix: {fix}",
        "## Why\n\n" + rule.why,
        "## Example\n\n```python\n" + bad.strip("\n") + "\n```",
        "Instead:\n\n```python\n" + rule.good.strip("\n") + "\n```",
    ]
    if rule.fix_why:
        parts.append("## Fix safety\n\n" + rule.fix_why)
    parts.append(f"Silence it on a line with `# adlint: ignore[{rule.name}]`.")
    return "\n\n".join(parts)
