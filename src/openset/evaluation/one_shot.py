"""evaluate: read, check, match once, measure everything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openset.evaluation.reading import Reading, Source, source_name

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation
    from openset.matching import Protocol
    from openset.matching.matcher import Leaked
    from openset.tables import Vocabulary


def evaluate(
    gt: Source,
    dt: Source,
    *,
    known: Vocabulary | str | Path | Sequence[str] | None = None,
    protocol: Protocol | str = "default",
    metrics: Sequence[str] | None = None,
    intervals: bool = True,
    seed: int = 0,
    force: bool = False,
    boxes: str = "xywh",
    leaked: Leaked = "unknown",
) -> Evaluation:
    """Evaluate detections against ground truth.

    Args:
        gt: Ground truth: a file or folder in any known format, a table, or torchvision targets.
        dt: Detections, likewise.
        known: Which labels are known: a built-in (``voc20``, ``coco80``, ``owod-t1`` ...), labels,
            a vocabulary file, or None if the ground truth says so itself.
        protocol: Name of a preset, or a `Protocol`.
        metrics: Names of metrics; all of them by default.
        intervals: Whether to compute 95 % intervals from 1,000 image resamples.
        seed: Seed of the resamples; results of one seed are paired.
        force: Go on in spite of errors in the inputs, which become warnings.
        boxes: How the detections' boxes are written, if not ``xywh``: ``xyxy``, ``cxcywh``, or one
            of the three with ``-norm``.
        leaked: Detections labelled with a class that is unknown here (the detector was taught it)
            count as ``unknown``, or ``drop`` them.

    Returns:
        The numbers, with protocol, provenance and findings.

    Raises:
        InputError: When an input cannot be used; the findings say why.
    """
    reading = Reading(gt, dt)
    # Imported while the files are being read: it takes as long.
    from openset.evaluation.provenance import ledger_line
    from openset.evaluation.steps import choose, evaluation_of, prepare, settle
    from openset.matching import Protocol
    from openset.resampling.draws import RESAMPLES
    from openset.tables import Vocabulary

    rules, chosen = Protocol.of(protocol), choose(metrics)
    truth, detections = reading.tables()
    names = {"truth": source_name(gt), "detections": source_name(dt)}
    said = ledger_line(detections)
    matches, findings = prepare(
        truth,
        detections,
        Vocabulary.of(known, truth),
        rules,
        force=force,
        boxes=boxes,
        leaked=leaked,
    )
    del reading, truth, detections  # the matches hold all that metrics need
    found = settle(findings, force)
    resamples = RESAMPLES if intervals else 0
    return evaluation_of(matches, chosen, found, names, seed=seed, resamples=resamples, ledger=said)
