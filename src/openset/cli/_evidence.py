"""Evidence: object against background of every model whose logits tell, for `evaluate`."""

from __future__ import annotations

from typing import Any

from openset.diagnosis.evidence import BACKGROUND, ObjectEvidence, Spread, object_evidence
from openset.evaluation.run import Run
from openset.findings import UsageError


def evidence(run: Run) -> dict[str, ObjectEvidence]:
    """By model; those without logits of a background, or with unnamed columns, have none."""
    found = {}
    for name, detections in run.detections.items():
        matches = run.evaluations[name].matches
        if detections.layout in BACKGROUND and matches is not None:
            try:
                found[name] = object_evidence(matches, detections)
            except UsageError:  # nothing says which column is which class
                continue
    return found


def sentences(run: Run) -> list[str]:
    """How often background is the likelier on known and on unknown objects: of the first model."""
    said = [
        f"{name}: background is likelier than the class in {_part(one.correct)} correct detections"
        f" and in {_part(one.on_unknown)} on unknown objects."
        for name, one in evidence(run).items()
        if one.correct.count and one.on_unknown.count
    ]
    return said[:1]


def document(run: Run) -> dict[str, Any]:
    """The same for programs, per class, with histograms of the difference from -1 to 1."""
    from dataclasses import asdict

    return {name: asdict(one) for name, one in evidence(run).items()}


def _part(spread: Spread) -> str:
    return f"{100 * (spread.negative or 0):.1f} % of {spread.count:,}"
