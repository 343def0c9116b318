"""Alone: pages without a run of detectors, about classifiers or about chains of tasks.

The section on classifiers is the one of the page of a run (`openset.report.recognition`), those on
chains are `openset.report.through_time`. The rules are those of the page: one file, no network, no
script but its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openset.evaluation.learned import Learned, unlike_chains
from openset.evaluation.trainings import Given
from openset.files import replacing
from openset.report import scripts
from openset.report.charts import Figure
from openset.report.page import MOST_NAMES, RECOGNITION, PageSection
from openset.report.payload import figures_payload
from openset.report.recognition import recognised
from openset.report.shell import fill
from openset.report.through_time import MOST_CLASSES, through_time
from openset.version import __version__
from openset.wording import listed

SOURCES = ("core.js", "charts.js", "alone.js")
THROUGH_TIME = (
    PageSection("through-time", "Through time"),
    PageSection("stages", "Stages"),
    PageSection("forgotten", "What was forgotten"),
    PageSection("before", "Before they were taught"),
)


@dataclass(frozen=True)
class Alone:
    """A page: its title, its sections, what these show, their charts, and first sentences."""

    title: str
    sections: Sequence[PageSection]
    shown: Mapping[str, Any]
    figures: Sequence[Figure]
    answers: Sequence[str] = ()


def about_classifiers(results: Mapping[str, Given]) -> Alone:
    """The page of classifiers, by name; the others are compared with the first."""
    shown = recognised(results)
    who, verb = listed(shown.names), "does" if len(shown.names) == 1 else "do"
    title = f"What {who} {verb} with samples of classes never taught"
    return Alone(title, [RECOGNITION], {"recognised": shown}, [shown.figure])


def about_chains(chains: Mapping[str, Learned]) -> Alone:
    """The page of detectors that learned task after task, by name."""
    shown = through_time(chains)
    many = len(shown.names) > MOST_NAMES
    who = f"{len(shown.names)} chains" if many else listed(shown.names)
    verbs = "learns and forgets" if len(shown.names) == 1 else "learn and forget"
    title = f"What {who} {verbs}, task after task"
    context = {"time": shown, "names": shown.names, "most_classes": MOST_CLASSES}
    lost = zip(shown.names, shown.chains, strict=True)
    answers = [one.message for one in unlike_chains(chains)]
    answers += [f"{name}: {said}" for name, one in lost for said in one.learned.losses()[-1:]]
    return Alone(title, THROUGH_TIME, context, shown.figures, answers)


def write_alone(page: Alone, path: Path) -> Path:
    """Write a page; the file appears whole or not at all."""
    with replacing(Path(path), folder=False) as target:
        target.write_text(render_alone(page), "utf-8", newline="\n")
    return Path(path)


def render_alone(page: Alone) -> str:
    """A page, as text."""
    context = {"title": page.title, "version": __version__, "sections": page.sections}
    context |= {"answers": page.answers, "browsing": "", **page.shown}
    payload = {"figures": figures_payload(page.figures)}
    return fill("alone.html.j2", context, payload, [scripts.library(), scripts.own(SOURCES)])
