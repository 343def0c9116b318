"""Evaluator: evaluate as batches arrive, or shards are done, with the numbers of one shot.

Every update is matched at once and only its matches are kept; `compute` merges them. Two
evaluators of disjoint images merge likewise, whatever process they ran in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from openset.evaluation.grouping import as_grouped
from openset.evaluation.leaks import together
from openset.evaluation.reading import Input, in_step, truth_of
from openset.evaluation.result import Evaluation
from openset.evaluation.settings import Settings, takes_settings
from openset.evaluation.steps import (
    Ground,
    Matched,
    contact,
    errors,
    evaluation_of,
    examine,
    settle,
)
from openset.evaluation.suspicion import suspicions
from openset.findings import Finding, InputError, Level, UsageError
from openset.formats import read_detections
from openset.matching import Matches
from openset.matching.merge import merge
from openset.tables import Vocabulary
from openset.tables.check import group_sizes, in_order

# What a batch may lack without the data lacking it: said only if every batch lacks it.
_OF_TRUTH = frozenset({"OS302", "OS303", "OS304"})
_OF_DETECTIONS = frozenset({"OS209", "OS308", "OS309", "OS314"})
_LACKING = _OF_TRUTH | _OF_DETECTIONS | {"OS310", "OS401", "OS402"}
# What all matches together decide.
_OF_ALL = ("OS316", "OS318", "OS319", "OS410", "OS414", "OS416")
# Errors that look at how many records they concern: of a batch, too few to tell.
_BY_SHARE = frozenset({"OS203", "OS204", "OS208", "OS215", "OS216", "OS327", "OS429", "OS306"})
_BY_SHARE |= {"OS307", "OS403", "OS423", "OS424"}


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
        # A batch may lack a class, an unknown object or even any contact; `compute` judges all.
        self._anyway = replace(self._settings, force=True)
        self.reset()

    def reset(self) -> None:
        """Forget all batches, as before an epoch; the options stay."""
        self._vocabulary: Vocabulary | None = None
        self._parts: list[Matches] = []
        self._findings: list[list[Finding]] = []
        self._ledgers: list[str] = []
        self._images = 0

    def update(self, gt: Input, dt: Input) -> Self:
        """Add a batch: the ground truth of some images, and all detections on them."""
        gt, dt = in_step(gt, dt, self._images)
        truth, detections = truth_of(gt, self._settings.class_names), read_detections(dt)
        if self._settings.image_list is not None:
            raise UsageError("an image list needs all images at once; batches state `listed` each")
        if self._settings.minimum_score == "best":
            raise UsageError("the best score needs all images at once: give a number")
        if self._settings.groups is not None:
            truth = as_grouped(truth, self._settings.groups)
        if self._vocabulary is None:
            self._vocabulary = self._settings.vocabulary(truth)
        ground = Ground.of(truth, self._vocabulary, self._settings)
        one = examine(ground, detections, self._anyway)
        findings = in_order([*ground.findings, *one.findings])
        if one.matches is None:
            raise InputError(errors(one.findings))  # a batch may lack what its truth lacks
        self._images += len(truth.images)
        self._parts.append(one.matches)
        self._findings.append(findings)
        self._ledgers.append(one.ledger)
        return self

    def merge(self, other: Evaluator) -> Self:
        """Add what another evaluator has seen: other images, same protocol and vocabulary."""
        self._vocabulary = self._vocabulary or other._vocabulary
        self._parts += other._parts
        self._findings += other._findings
        self._ledgers += other._ledgers
        return self

    def compute(self) -> Evaluation:
        """All metrics over everything seen so far."""
        if not self._parts:
            raise UsageError("nothing to compute: call update() first")
        merged, batches = merge(self._parts), f"{len(self._parts)} batches"
        of_all = contact(merged) or suspicions(merged)
        of_all += group_sizes(merged.image_ids, merged.groups)
        findings = [*_together(self._findings), *of_all]
        matched = Matched(
            merged,
            settle(findings, self._settings.force),
            {"truth": batches, "detections": batches},
            together(self._ledgers),
        )
        return evaluation_of(matched, self._settings)


def _together(batches: Sequence[Sequence[Finding]]) -> list[Finding]:
    """The findings of all batches, one per code; the first of a code speaks for the others."""
    by_code: dict[str, list[Finding]] = {}
    for finding in (finding for batch in batches for finding in batch):
        by_code.setdefault(finding.code, []).append(finding)
    for code in _OF_ALL:
        by_code.pop(code, None)
    having = {code: sum(any(f.code == code for f in b) for b in batches) for code in by_code}
    merged = []
    for code, found in by_code.items():
        # A batch without objects, or without detections, says nothing about theirs.
        mute = having.get("OS401" if code in _OF_TRUTH else "OS402", 0)
        could = len(batches) - (mute if code in _OF_TRUTH | _OF_DETECTIONS | _BY_SHARE else 0)
        everywhere = having[code] >= could
        if code in _LACKING and not everywhere:
            continue
        level = found[0].level
        if code in _BY_SHARE and not (everywhere and all(f.level is level for f in found)):
            level = Level.WARNING if level is Level.ERROR else level
        count = sum(finding.count for finding in found)
        of = f" (first of {len(found)} such batches)" if len(found) > 1 else ""
        merged.append(replace(found[0], level=level, count=count, message=found[0].message + of))
    return merged
