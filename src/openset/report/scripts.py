"""Scripts: the page's own sources and the chart library, ready to stand inside of a page.

The library (Vega, Vega-Lite, Vega-Embed) is bundled by vl-convert-python, whose versions also draw
the figures for papers. Scripts are allowed by their hashes, so that nothing else ever runs.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).with_name("assets")
SOURCES = (
    "core.js",
    "counting.js",
    "flow.js",
    "board.js",
    "charts.js",
    "absorption.js",
    "strata.js",
    "gallery.js",
    "images.js",
    "main.js",
)


def own(sources: Sequence[str] = SOURCES) -> str:
    """The page's sources as one script with a scope of its own."""
    texts = "\n".join((ASSETS / name).read_text("utf-8") for name in sources)
    return _inline(f'(() => {{\n"use strict";\n{texts}}})();\n')


@cache
def library() -> str:
    """The chart library."""
    import vl_convert

    return _inline(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def style() -> str:
    """The style sheet."""
    return (ASSETS / "style.css").read_text("utf-8").replace("</", "<\\/")


def allowed(scripts: list[str]) -> str:
    """The hashes of scripts, as a content security policy names them."""
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def _inline(script: str) -> str:
    """A script that no part of itself can end early."""
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")
