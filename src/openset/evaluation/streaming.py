"""Evaluator: evaluate as batches arrive, or shards are done, with the numbers of one shot.

Every update is matched at once and only its matches are kept; `compute` merges them. Two
evaluators of disjoint images merge likewise, whatever process they ran in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from openset.evaluation.provenance import ledger_line
from openset.evaluation.reading import Source
from openset.evaluation.result import Evaluation
from openset.evaluation.steps import choose, contact, evaluation_of, prepare, settle
from openset.findings import Finding, Level, UsageError
from openset.formats import read_annotations, read_detections
from openset.matching import Matches, Protocol
from openset.matching.matcher import Leaked
from openset.matching.merge import merge
from openset.resampling.draws import RESAMPLES
from openset.tables import Vocabulary

# What a batch may lack without the data lacking it: said only if every batch lacks it.
_OF_TRUTH = frozenset({"OS302", "OS303", "OS304"})
_OF_DETECTIONS = frozenset({"OS209", "OS308", "OS309"})
_LACKING = _OF_TRUTH | _OF_DETECTIONS | {"OS310", "OS401", "OS402"}
# Errors that look at how many records they concern: of a batch, too few to tell.
_BY_SHARE = frozenset({"OS203", "OS204", "OS208", "OS306", "OS307", "OS403"})


class Evaluator:
    """Streaming evaluation: `update` with batches of whole images, then `compute`.

    Args:
        known: As in `evaluate`; with None the first batch must state the roles.
        protocol: As in `evaluate`.
        metrics: As in `evaluate`.
        intervals: As in `evaluate`.
        seed: As in `evaluate`.
        force: As in `evaluate`; errors are raised by `compute`, which sees all batches.
        boxes: As in `evaluate`.
        leaked: As in `evaluate`.
    """

    def __init__(
        self,
        *,
        known: Vocabulary | str | Path | Sequence[str] | None = None,
        protocol: Protocol | str = "default",
        metrics: Sequence[str] | None = None,
        intervals: bool = True,
        seed: int = 0,
        force: bool = False,
        boxes: str = "xywh",
        leaked: Leaked = "unknown",
    ) -> None:
        self._known = known
        self._vocabulary: Vocabulary | None = None
        self._protocol = Protocol.of(protocol)
        self._metrics = choose(metrics)
        self._resamples = RESAMPLES if intervals else 0
        self._seed = seed
        self._parts: list[Matches] = []
        self._force = force
        self._options: dict[str, Any] = {"boxes": boxes, "leaked": leaked}
        self._findings: list[list[Finding]] = []
        self._ledgers: list[str] = []

    def update(self, gt: Source, dt: Source) -> Self:
        """Add a batch: the ground truth of some images, and all detections on them."""
        truth, detections = read_annotations(gt), read_detections(dt)
        if self._vocabulary is None:
            self._vocabulary = Vocabulary.of(self._known, truth)
        # A batch may lack a class, an unknown object or even any contact; `compute` judges all.
        matches, findings = prepare(
            truth, detections, self._vocabulary, self._protocol, force=True, **self._options
        )
        self._parts.append(matches)
        self._findings.append(findings)
        self._ledgers.append(ledger_line(detections))
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
        merged = merge(self._parts)
        findings = settle([*_together(self._findings), *contact(merged)], self._force)
        return evaluation_of(
            merged,
            self._metrics,
            findings,
            {"truth": f"{len(self._parts)} batches", "detections": f"{len(self._parts)} batches"},
            seed=self._seed,
            resamples=self._resamples,
            ledger="; ".join(dict.fromkeys(filter(None, self._ledgers))),
        )


def _together(batches: Sequence[Sequence[Finding]]) -> list[Finding]:
    """The findings of all batches, one per code; the first of a code speaks for the others."""
    by_code: dict[str, list[Finding]] = {}
    for finding in (finding for batch in batches for finding in batch):
        by_code.setdefault(finding.code, []).append(finding)
    by_code.pop("OS410", None)  # decided by all matches together
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
