"""Settings as the TOML that would give them: `--show-settings`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields

from adlint.catalog import load
from adlint.config import Settings
from adlint.diagnostics import one_line

_ELSEWHERE = ("root", "origin", "possible", "port_to")


def render(settings: Settings) -> str:
    """Return a table for `adlint.toml`, with comments on where it is from, on flags, and on the rules it enables."""
    origin = settings.origin.absolute() if settings.origin else None
    lines = [f"# from {one_line(str(origin))}" if origin else "# from no file: the defaults hold"]
    lines += ["# --possible"] if settings.possible else []
    lines += [f"# --port-to {one_line(settings.port_to)}"] if settings.port_to else []
    values = {item.name: getattr(settings, item.name) for item in fields(settings) if item.name not in _ELSEWHERE}
    tables = {item.name for item in fields(settings) if "tuple[tuple[" in str(item.type)}
    for name, value in values.items():
        if value is None:
            lines.append(f"# {_key(name)}: what is usual")
        elif name not in tables:
            lines.append(f"{_key(name)} = {_value(value)}")
    for name in values:
        if name in tables and values[name]:
            lines += ["", f"[{_key(name)}]", *(f"{_text(key)} = {_value(value)}" for key, value in values[name])]
    lines += ["", f"# enabled rules ({len(settings.rules)}):"]
    known: Mapping[str, str] = {rule.name: rule.id for rule in load().rules.values()}
    lines += [f"#   {known[name]} {name}: {severity.value}" for name, severity in settings.rules.items()]
    return "".join(line + "\n" for line in lines)


def _key(name: str) -> str:
    return name.replace("_", "-")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return _text(value) if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    """Return a basic string; JSON writes one as TOML does, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
