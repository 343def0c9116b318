"""evaluate_recognition: every recognition metric of some scores, with intervals and provenance.

The result is an `Evaluation` like that of a detector: the same tables, files and comparisons. What
differs is what it is computed from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.provenance import Provenance, digest
from openset.evaluation.result import Evaluation
from openset.evaluation.steps import measure, settle
from openset.findings import UsageError
from openset.options import check_options
from openset.plugins import lookup
from openset.recognition.check import check
from openset.recognition.metrics import Metric, compute, table
from openset.recognition.reading import read_scores
from openset.recognition.resample import replicates
from openset.recognition.scores import Scores
from openset.resampling.draws import RESAMPLES
from openset.version import __version__


@dataclass(frozen=True, eq=False, repr=False)
class Recognition(Evaluation):
    """All numbers of one classifier on known and unknown samples.

    Attributes:
        scores: What they were computed from; None for a result read from a file.
    """

    schema: ClassVar[str] = "openset.recognition/1"
    scores: Scores | None = field(default=None, repr=False)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What is known about every recognition metric, by name."""
        return table()

    @property
    def source(self) -> Any:
        """The scores; None for a result read from a file."""
        return self.scores

    @property
    def size(self) -> int:
        """How many things resamples are drawn from: known and unknown samples."""
        counts = self.provenance.counts
        return int(counts["known_samples"] + counts["unknown_samples"])

    @property
    def drawn(self) -> str:
        """What these things are called."""
        return "samples"

    def headline(self) -> str:
        """One line: what was evaluated."""
        n = self.provenance.counts
        parts = [f"{n['known_samples']} known samples of {n['known_classes']} classes"]
        parts.append(f"{n['unknown_samples']} unknown samples")
        if self.scores is not None and self.scores.threshold is not None:
            parts.append(f"threshold {self.scores.threshold:g}")
        if self.provenance.resamples:
            parts.append(f"{self.provenance.resamples} resamples")
        return " · ".join(parts)


def evaluate_recognition(
    scores: Scores | str | Path,
    *,
    metrics: Sequence[str] | None = None,
    intervals: bool = True,
    seed: int = 0,
    resamples: int = RESAMPLES,
    force: bool = False,
) -> Recognition:
    """Measure open-set recognition.

    Args:
        scores: What a classifier said of known and unknown samples, or the file that holds it.
        metrics: Names of metrics; all of them by default.
        intervals: Whether to compute 95 % intervals.
        seed: Seed of the resamples; results of one seed on the same samples are paired.
        resamples: How many; their time grows with the number of samples, too.
        force: Go on in spite of errors in the scores, which become warnings.

    Returns:
        The numbers, with findings about the scores.

    Raises:
        InputError: When the scores cannot be used; the findings say why.

    >>> made = Scores([0, 1, 1], [0, 1, 0], [0.1, 0.2, 0.6], [0.9, 0.3], [1, 1], ("cat", "dog"))
    >>> evaluate_recognition(made, intervals=False).value("openauc")
    Value(0.6667)
    """
    check_options("an evaluation", {"seed": seed, "resamples": resamples}, evaluate_recognition)
    if resamples < 1 or seed < 0:
        raise UsageError(f"resamples={resamples} must be at least 1 and seed={seed} not negative")
    name = "" if isinstance(scores, Scores) else Path(scores).name
    given = scores if isinstance(scores, Scores) else read_scores(scores)
    chosen, findings = _choose(metrics), settle(check(given), force)
    values = {metric: compute(metric, given) for metric in chosen}
    exist = [metric for metric, value in values.items() if value.value is not None]
    return measure(
        values,
        partial(replicates, given, exist, seed, resamples) if intervals else dict,
        partial(_describe, given, name, seed, resamples if intervals else 0),
        findings,
        partial(Recognition, scores=given),
    )


def _choose(names: Sequence[str] | None) -> list[Metric]:
    metrics = table()
    if names is None:
        return list(metrics.values())
    return [lookup(metrics, name, "recognition metric") for name in names]


def _describe(scores: Scores, name: str, seed: int, resamples: int) -> Provenance:
    # Files may list classes in any order; what they are is told by their names.
    names = np.array(sorted(scores.classes))
    truth = np.searchsorted(names, scores.label_names).astype(np.int32)
    size = np.array([scores.n_unknown])
    columns: list[NDArray[Any]] = [scores.predicted, scores.openness, scores.unknown_openness]
    counts = {
        "known_samples": scores.n_known,
        "unknown_samples": scores.n_unknown,
        "known_classes": scores.n_classes,
    }
    return Provenance(
        version=__version__,
        protocol="recognition",
        deviations={},
        vocabulary=", ".join(scores.classes),
        vocabulary_hash=digest([names]),
        truth_hash=digest([truth, size]),
        detections_hash=digest(columns),
        counts=counts,
        seed=seed,
        resamples=resamples,
        inputs={"scores": name},
        samples_hash="" if scores.ids is None else digest([ids.astype(str) for ids in scores.ids]),
        roles={"tasks": [list(scores.classes)], "unknown": [], "ignored": [], "rest": "unknown"},
    )
