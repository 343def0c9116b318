"""The gamma rule: OSOD-III's simple baseline, from regions before suppression to detections.

Hosoya et al., Rectifying Open-Set Object Detection. What it reads is what ``openset run --regions``
writes: a row for each pair of a region and a class above the detector's least score, with all
logits. A region whose two largest class scores have a ratio below gamma is unknown, with the sum of
its three largest scores; the pairs of all others stay. Suppression per class follows, unknown being
one, and the best of each image, where these sums can push knowns out.

As the published code, but for three things. Of an unknown region one candidate is left, that of its
best class, where the code has equal ones that suppress each other: boxes per class, as torchvision
has them, would differ. A detector's own factors (centerness, objectness) stay in the scores, so
that nothing changes where nothing is unknown; the ratio is one of class scores alone. And sums of
sigmoids, which reach three, are written as means; they are ranked as sums.

Not a scorer: `gamma_ratio` is the same ratio for detections that stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level, UsageError, refuse
from openset.scorers import ledger
from openset.scorers.duplicates import Survivor, suppress_duplicates
from openset.scorers.gamma_ratio import class_scores, gamma_ratio
from openset.scorers.rule import best_of_region, check_regions, decided, filters_of, suppressed
from openset.tables import Detections, LogitLayout

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
GAMMAS = (1.5, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 50.0)
"""Those of Tables 15 and 16: what one is chosen from."""
_ROOT, _PRODUCT = 0.5, 1.0  # scores of FCOS, as torchvision and as mmdetection have them
_NEAR = 1e-2  # of scores in half precision


@dataclass(frozen=True, slots=True, kw_only=True)
class GammaRule:
    """The rule and its options.

    Attributes:
        gamma: Regions whose two largest class scores have a smaller ratio are unknown; with 1 none
            is. The paper has 15 and 3 for Faster R-CNN, 4 and 1.5 for FCOS, and does not say how
            they were chosen.
        temperature: Divides the logits. Under a softmax it does to the decision what another gamma
            does; it also changes the scores.
        top: How many of the largest class scores make that of an unknown.
        minimum_score: Least score of a candidate; by default the detector's.
        nms: Overlap from which a candidate is suppressed; by default the detector's.
        limit: Detections that stay on an image; by default the detector's.
        duplicates: Whether of a known and an unknown detection of one place only the ``better``
            stays, or ``neither``; both by default, as published.
    """

    kind: ClassVar[str] = "gamma"

    gamma: float
    temperature: float = 1.0
    top: int = 3
    minimum_score: float | None = None
    nms: float | None = None
    limit: int | None = None
    duplicates: Survivor | None = None

    def __post_init__(self) -> None:
        if not self.gamma >= 1:
            raise UsageError(f"gamma must be at least 1, not {self.gamma}")
        if not self.temperature > 0:
            raise UsageError(f"temperature must be positive, not {self.temperature}")
        if self.top < 1:
            raise UsageError(f"top must be at least 1, not {self.top}")

    def __str__(self) -> str:
        return f"gamma {self.gamma:g}, temperature {self.temperature:g}"

    @property
    def file_name(self) -> str:
        """What its file among those of a sweep is called."""
        return f"gamma{self.gamma:g}-t{self.temperature:g}"

    @property
    def swept(self) -> Mapping[str, float]:
        """What it is chosen by."""
        return {"gamma": self.gamma, "temperature": self.temperature}

    @property
    def options(self) -> Mapping[str, Any]:
        """All of it."""
        return asdict(self)

    @property
    def margin(self) -> float:
        """Regions whose two largest logits differ by less are unknown, under a softmax."""
        return self.temperature * log(self.gamma)

    def idle(self) -> GammaRule:
        """The same with nothing unknown."""
        return replace(self, gamma=1.0, temperature=1.0)

    def apply(self, regions: Detections, chosen_on: Detections | None = None) -> Detections:
        """Detections of regions, with the ratio as their unknownness and gamma in their ledger.

        Args:
            regions: Pairs of a region and a class before suppression.
            chosen_on: What gamma and temperature were chosen on; by default they are the user's.
        """
        check_regions(regions)
        scores = every_score(regions, self.temperature)
        own = np.arange(len(regions)), regions.label
        pair = regions.score if self.temperature == 1 else scores[own]
        ratio = gamma_ratio(regions, temperature=self.temperature)
        count = min(self.top, scores.shape[1])
        sums = np.partition(scores, -count, axis=1)[:, -count:].sum(axis=1)
        unknown = ratio > 1 / self.gamma
        least, overlap, limit = self._filters(regions)
        rows = np.flatnonzero(pair > least)
        rows = rows[~unknown[rows] | best_of_region(regions, pair, rows)]
        label = np.where(unknown, len(regions.labels), regions.label)
        most = count if regions.layout is LogitLayout.SIGMOID else 1
        columns = {
            "label": label,
            "score": np.where(unknown, np.minimum(sums / most, 1), pair),
            "unknownness": ratio,
        }
        found = suppressed(regions, rows, columns, np.where(unknown, sums, pair), (overlap, limit))
        if self.duplicates is not None:
            found = suppress_duplicates(found, survivor=self.duplicates)
        return self._recorded(found, regions, chosen_on)

    def findings(self, regions: Detections) -> list[Finding]:
        """What is worth knowing before the rule is applied."""
        held = filters_of(regions)["score"]
        least = self._filters(regions)[0]
        needed = _raw(least, self.temperature, regions)
        if held <= needed * (1 + 1e-9):
            return []
        message = (
            f"pairs below a score of {held:g} were not kept, and at temperature "
            f"{self.temperature:g} some down to {needed:.2g} could pass {least:g}"
        )
        fix = f"openset run --regions --minimum-score {0.99 * needed:.2g}"
        return [Finding("OS650", Level.WARNING, message, fix=fix)]

    def _filters(self, regions: Detections) -> tuple[float, float | None, int | None]:
        """Least score, overlap and limit: those that were given, or else the detector's."""
        own = filters_of(regions)
        least = own["score"] if self.minimum_score is None else self.minimum_score
        overlap = own["nms"] if self.nms is None else self.nms
        limit = own["most"] if self.limit is None else self.limit
        return least, overlap, limit

    def _recorded(
        self, found: Detections, regions: Detections, chosen_on: Detections | None
    ) -> Detections:
        split, images = ledger.split_of(regions), len(np.unique(regions.image))
        done = ledger.LedgerEntry("score", "gamma_ratio", split, images, len(regions))
        return ledger.recorded(found, done, decided(self, chosen_on, regions))


def every_score(regions: Detections, temperature: float = 1.0) -> Array:
    """The detector's own score of every class of each pair's region.

    With class scores p, a detector's score of a class is p, p times a factor of the region, or the
    root of that; so that of another class k follows from the pair's: ``score (p_k / p) ** power``.
    """
    plain = class_scores(regions)
    if plain.shape[1] != len(regions.labels):
        message = f"{len(regions.labels)} labels for {plain.shape[1]} class columns"
        raise refuse("OS503", message)
    own = np.maximum(plain[np.arange(len(regions)), regions.label], 1e-30)
    power = _power(regions, own)
    told = plain if temperature == 1 else class_scores(regions, temperature=temperature)
    return np.asarray(regions.score[:, None] * (told / own[:, None]) ** power)


def _power(regions: Detections, own: Array) -> float:
    """Whether scores are roots: by the centerness, where there is one."""
    centre = regions.attributes.get("centerness")
    if centre is not None:
        for power in (_ROOT, _PRODUCT):
            if np.allclose((own * centre) ** power, regions.score, atol=_NEAR):
                return power
    bad = np.flatnonzero((regions.score > own + _NEAR) | (centre is not None))
    if len(bad):
        message = f"{len(bad)} of {len(own)} scores are not those of their logits"
        first = f"score {regions.score[bad[0]]:.4g} of a class score of {own[bad[0]]:.4g}"
        raise refuse("OS649", message, count=len(bad), example=first)
    return _PRODUCT


def _raw(least: float, temperature: float, regions: Detections) -> float:
    """The smallest score at temperature 1 that may exceed the least one at another.

    Of a softmax over n columns p becomes at most ``p ** (1 / T)``, or that times ``n ** (1 / T -
    1)`` below a temperature of 1.
    """
    if temperature == 1 or not 0 < least < 1:
        return least
    if regions.layout is LogitLayout.SIGMOID:
        odds = (least / (1 - least)) ** temperature
        return float(min(least, odds / (1 + odds)))
    columns = 1 if regions.logits is None else regions.logits.shape[1]
    return float(least**temperature * min(1.0, columns ** (temperature - 1)))
