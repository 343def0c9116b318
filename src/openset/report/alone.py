"""Alone: a page about classifiers only, for results of recognition without a run of detectors.

The section is the one that the page of a run has (`openset.report.recognition`), and so are the
rules of the page: one file, no network, no script but its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from openset.evaluation.trainings import Given
from openset.files import replacing
from openset.report import scripts
from openset.report.page import RECOGNITION
from openset.report.payload import figures_payload
from openset.report.recognition import recognised
from openset.report.shell import fill
from openset.version import __version__
from openset.wording import listed

SOURCES = ("core.js", "charts.js", "alone.js")


def write_alone(results: Mapping[str, Given], path: Path) -> Path:
    """Write a page about classifiers.

    Args:
        results: Their results, by name; the others are compared with the first.
        path: Where to write; the file appears whole or not at all.

    Returns:
        The path.
    """
    text = render_alone(results)
    with replacing(Path(path), folder=False) as target:
        target.write_text(text, "utf-8", newline="\n")
    return Path(path)


def render_alone(results: Mapping[str, Given]) -> str:
    """A page about classifiers, as text."""
    shown = recognised(results)
    who, verb = listed(shown.names), "does" if len(shown.names) == 1 else "do"
    context = {
        "title": f"What {who} {verb} with samples of classes never taught",
        "version": __version__,
        "sections": [RECOGNITION],
        "recognised": shown,
        "browsing": "",
    }
    payload = {"figures": figures_payload([shown.figure])}
    return fill("alone.html.j2", context, payload, [scripts.library(), scripts.own(SOURCES)])
