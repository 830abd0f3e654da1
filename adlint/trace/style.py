"""Colours of pictures: legible on paper and on screens, told apart also without seeing red and green."""

from __future__ import annotations

GROUPS = (("#dbe9f6", "#2b6ca3"), ("#fdebc8", "#b07408"), ("#e4dcf1", "#6b4c9a"), ("#d8efe6", "#23795a"))
"""Fill and line of what a pass has freed, and of the pass."""
WRONG = "#c0271d"
INK, PALE, PAPER, FRAME = "#222222", "#666666", "#ffffff", "#8a8a8a"
EVENT = "#f4f4f4"
