"""Evidence: object against background of every model whose logits tell, for `evaluate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openset.diagnosis.evidence import BACKGROUND, ObjectEvidence, Spread, object_evidence
from openset.evaluation.run import Run
from openset.findings import UsageError


def evidence(run: Run) -> Iterator[tuple[str, ObjectEvidence]]:
    """By model; those without logits of a background, or with unnamed columns, have none."""
    for name, detections in run.detections.items():
        matches = run.evaluations[name].matches
        if detections.layout in BACKGROUND and matches is not None:
            try:
                yield name, object_evidence(matches, detections)
            except UsageError:  # nothing says which column is which class
                continue


def sentences(run: Run) -> list[str]:
    """How often background is the likelier on known and on unknown objects: of the first model."""
    for name, one in evidence(run):
        if one.correct.count and one.on_unknown.count:
            known, unknown = _part(one.correct), _part(one.on_unknown)
            return [
                f"{name}: background is likelier than the class in {known} correct detections"
                f" and in {unknown} on unknown objects."
            ]
    return []


def document(run: Run) -> dict[str, Any]:
    """The same for programs, per class, with histograms of the difference from -1 to 1."""
    from dataclasses import asdict

    return {name: asdict(one) for name, one in evidence(run)}


def _part(spread: Spread) -> str:
    return f"{100 * (spread.negative or 0):.1f} % of {spread.count:,}"
