"""Methods whose trainings differ by chance: an unknown object per image is found, or is not.

An image is easy or hard for all detectors alike, a training is able or less so, and the mean over
both is known: a share of `FOUND` of all objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.provenance import Provenance
from openset.evaluation.result import Evaluation
from openset.evaluation.steps import measure
from openset.metrics import Value, table
from openset.resampling.draws import draw

FOUND = 0.5
IMAGES, RESAMPLES = 200, 200
METRIC = table()["udr"]
ORIGIN = Provenance(
    version="0",
    protocol="default",
    deviations={},
    vocabulary="",
    vocabulary_hash="roles",
    truth_hash="objects",
    detections_hash="",
    counts={"images": IMAGES},
    seed=0,
    resamples=RESAMPLES,
    inputs={},
)
_WEIGHTS = draw(IMAGES, 0, RESAMPLES).astype(float)


@dataclass
class Laboratory:
    """A test set, on which methods are trained.

    Attributes:
        seed: Of everything.
        noise: Deviation of trainings, as a share of objects found.
    """

    seed: int
    noise: float = 0.05

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.ease = self.rng.uniform(FOUND - 0.3, FOUND + 0.3, IMAGES)

    def method(self, trainings: int, ability: float = 0.0) -> list[Evaluation]:
        """Results of some trainings of a method."""
        able = self.rng.normal(ability, self.noise, trainings)
        return [self.result(self.rng.random(IMAGES) < self.ease + one) for one in able]

    def result(self, found: NDArray[np.bool_], **about: object) -> Evaluation:
        """A result, from whether each object was found."""
        origin = replace(ORIGIN, detections_hash=found.tobytes().hex())
        numbers = found @ _WEIGHTS / _WEIGHTS.sum(axis=0)
        return measure(
            {METRIC: Value.ratio(int(found.sum()), len(found))},
            partial(dict, {METRIC.name: Value(numbers)}),
            partial(replace, origin, **about),
            (),
            Evaluation,
        )
