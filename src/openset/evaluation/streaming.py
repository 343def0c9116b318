"""Evaluator: evaluate as batches arrive, or shards are done, with the numbers of one shot.

Every update is matched at once and only its matches are kept; `compute` merges them. Two
evaluators of disjoint images merge likewise, whatever process they ran in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from openset.diagnosis.resample import RESAMPLES
from openset.evaluation.one_shot import (
    Source,
    choose,
    detections_hash,
    measure,
    prepare,
    truth_hash,
)
from openset.evaluation.result import Evaluation
from openset.findings import Finding, UsageError
from openset.formats import read_annotations, read_detections
from openset.matching import Matches, Protocol
from openset.matching.merge import merge
from openset.tables import Vocabulary


class Evaluator:
    """Streaming evaluation: `update` with batches of whole images, then `compute`.

    Args:
        known: As in `evaluate`; with None the first batch must state the roles.
        protocol: As in `evaluate`.
        metrics: As in `evaluate`.
        intervals: As in `evaluate`.
        seed: As in `evaluate`.
    """

    def __init__(
        self,
        *,
        known: Vocabulary | str | Path | Sequence[str] | None = None,
        protocol: Protocol | str = "default",
        metrics: Sequence[str] | None = None,
        intervals: bool = True,
        seed: int = 0,
    ) -> None:
        self._known = known
        self._vocabulary: Vocabulary | None = None
        self._protocol = Protocol.of(protocol)
        self._metrics = choose(metrics)
        self._resamples = RESAMPLES if intervals else 0
        self._seed = seed
        self._parts: list[Matches] = []
        self._findings: dict[str, Finding] = {}
        self._hashes: list[tuple[str, str]] = []

    def update(self, gt: Source, dt: Source) -> Self:
        """Add a batch: the ground truth of some images, and all detections on them."""
        truth, detections = read_annotations(gt), read_detections(dt)
        if self._vocabulary is None:
            self._vocabulary = Vocabulary.of(self._known, truth)
        # A batch may lack a class, an unknown object or even any contact; a data set may not.
        matches, findings = prepare(truth, detections, self._vocabulary, self._protocol, force=True)
        self._parts.append(matches)
        self._findings |= {finding.code: finding for finding in findings}
        self._hashes.append((truth_hash(truth), detections_hash(detections)))
        return self

    def merge(self, other: Evaluator) -> Self:
        """Add what another evaluator has seen: other images, same protocol and vocabulary."""
        self._vocabulary = self._vocabulary or other._vocabulary
        self._parts += other._parts
        self._findings |= other._findings
        self._hashes += other._hashes
        return self

    def compute(self) -> Evaluation:
        """All metrics over everything seen so far."""
        if not self._parts:
            raise UsageError("nothing to compute: call update() first")
        truth, detections = ("+".join(pair) for pair in zip(*self._hashes, strict=True))
        return measure(
            merge(self._parts),
            self._metrics,
            list(self._findings.values()),
            (truth, detections),
            {"truth": f"{len(self._parts)} batches", "detections": f"{len(self._parts)} batches"},
            seed=self._seed,
            resamples=self._resamples,
        )
