"""How the pages become a site: `python -m sphinx -b dirhtml -W docs build/docs`, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import rule_pages  # noqa: E402

project = "adlint"
author = "The adlint authors"
html_title = "adlint"
html_theme = "furo"
html_copy_source = False
html_show_copyright = False
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def write_rule_pages(app: Sphinx) -> None:
    """Write the pages that come out of the catalog before Sphinx looks which pages there are."""
    rule_pages.write(Path(app.srcdir) / "rules")


def setup(app: Sphinx) -> None:
    """Connect the hook."""
    app.connect("builder-inited", write_rule_pages)
