"""Sentences: what the numbers say, in words: the report's verdict, cut to a terminal's size."""

from __future__ import annotations

from openset.evaluation.comparison import compare
from openset.evaluation.run import Run
from openset.report.absorption import absorption
from openset.report.model import models_of
from openset.report.verdict import verdict


def diagnosis(run: Run) -> list[str]:
    """What unknown objects become under the first model, and how the second differs from it."""
    models = models_of(run)[:2]
    first = run.evaluations[models[0].name]
    against = [None, *(compare(first, run.evaluations[model.name]) for model in models[1:])]
    said = verdict(models, [absorption(model) for model in models], against, ())
    by_section = {sentence.section: sentence.text for sentence in reversed(said)}
    last = "comparison" if len(models) > 1 else "flow"
    return [by_section[name] for name in ("health", "absorption", last) if name in by_section]
