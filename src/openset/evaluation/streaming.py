"""Evaluator: evaluate as batches arrive, or shards are done, with the numbers of one shot.

Every update is matched at once and only its matches are kept; `compute` merges them. Two
evaluators of disjoint images merge likewise, whatever process they ran in.
"""

from __future__ import annotations

from typing import Any, Self

from openset.evaluation.batches import Batch, batch_of, refuse_whole, together
from openset.evaluation.grouping import as_grouped
from openset.evaluation.reading import Input, in_step, truth_of
from openset.evaluation.result import Evaluation
from openset.evaluation.settings import Settings, takes_settings
from openset.evaluation.steps import Ground, Matched, evaluation_of, settle
from openset.findings import UsageError
from openset.formats import read_detections
from openset.tables import Vocabulary


@takes_settings
class Evaluator:
    """Streaming evaluation: `update` with batches of whole images, then `compute`.

    Errors are raised by `compute`, which sees all batches. Without `known` the first batch must
    state the roles. Lists of targets and predictions need no ``image_id``: images are counted.

    Args:
        settings: Options made before, which those given by name change.
        **options: What `Settings` holds, by name.
    """

    def __init__(self, *, settings: Settings | None = None, **options: Any) -> None:
        self._settings = Settings.of(settings, options).resolve()
        self.reset()

    def reset(self) -> None:
        """Forget all batches, as before an epoch; the options stay."""
        self._vocabulary: Vocabulary | None = None
        self._batches: list[Batch] = []
        self._images = 0

    def update(self, gt: Input, dt: Input) -> Self:
        """Add a batch: the ground truth of some images, and all detections on them."""
        gt, dt = in_step(gt, dt, self._images)
        truth, detections = truth_of(gt, self._settings.class_names), read_detections(dt)
        refuse_whole(self._settings)
        if self._settings.groups is not None:
            truth = as_grouped(truth, self._settings.groups)
        if self._vocabulary is None:
            self._vocabulary = self._settings.vocabulary(truth)
        ground = Ground.of(truth, self._vocabulary, self._settings)
        self._batches.append(batch_of(ground, detections, self._settings))
        self._images += len(truth.images)
        return self

    def merge(self, other: Evaluator) -> Self:
        """Add what another evaluator has seen: other images, same protocol and vocabulary."""
        self._vocabulary = self._vocabulary or other._vocabulary
        self._batches += other._batches
        return self

    def compute(self) -> Evaluation:
        """All metrics over everything seen so far."""
        if not self._batches:
            raise UsageError("nothing to compute: call update() first")
        batches = f"{len(self._batches)} batches"
        all_ = together(self._batches)
        findings = settle([*all_.of_truth, *all_.findings], self._settings.force)
        inputs = {"truth": batches, "detections": batches}
        least = self._settings.least_score
        matched = Matched(all_.matches, findings, inputs, all_.ledger, least)
        return evaluation_of(matched, self._settings)
