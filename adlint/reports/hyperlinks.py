"""Links that a terminal follows, and which terminals are known to: the escape sequence OSC 8."""

from __future__ import annotations

from collections.abc import Mapping

_PROGRAMS = {"Hyper", "WezTerm", "ghostty", "iTerm.app", "rio", "vscode"}
_TERMINALS = ("alacritty", "contour", "foot", "xterm-ghostty", "xterm-kitty")
_MULTIPLEXERS = ("screen", "tmux")


def supported(environment: Mapping[str, str]) -> bool:
    """Tell whether the terminal that an environment describes follows links; `FORCE_HYPERLINK` has the last word.

    Inside `screen` and `tmux` the variables of the terminal around them say nothing, so that the answer is no.
    """
    if wish := environment.get("FORCE_HYPERLINK", ""):
        return wish not in ("0", "false")
    term = environment.get("TERM", "")
    if term.startswith(_MULTIPLEXERS) or environment.get("TMUX") or environment.get("STY"):
        return False
    version = environment.get("VTE_VERSION", "")
    return (
        environment.get("TERM_PROGRAM", "") in _PROGRAMS
        or term.startswith(_TERMINALS)
        or (version.isdecimal() and int(version) >= 5000)
        or bool(environment.get("KONSOLE_VERSION") or environment.get("WT_SESSION"))
    )


def linked(text: str, url: str) -> str:
    """Return a text that leads to a URL; the text alone if the URL has characters that none has."""
    if not url or not (url.isascii() and url.isprintable()) or " " in url:
        return text
    return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\"
