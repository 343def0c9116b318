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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level, UsageError, refuse
from openset.scorers import ledger
from openset.scorers.duplicates import Survivor, suppress_duplicates
from openset.scorers.gamma_ratio import class_scores, gamma_ratio
from openset.tables import Detections, LogitLayout
from openset.tables.overlap import class_wise_nms
from openset.tables.vocabulary import UNKNOWN

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
_PUBLISHED: Mapping[str, Any] = {"score": 0.05, "nms": 0.5, "most": 100}
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

    def apply(self, regions: Detections, chosen_on: Detections | None = None) -> Detections:
        """Detections of regions, with the ratio as their unknownness and gamma in their ledger.

        Args:
            regions: Pairs of a region and a class before suppression.
            chosen_on: What gamma and temperature were chosen on; by default they are the user's.
        """
        check_regions(regions)
        scores = _scores(regions, self.temperature)
        own = np.arange(len(regions)), regions.label
        pair = regions.score if self.temperature == 1 else scores[own]
        ratio = gamma_ratio(regions, temperature=self.temperature)
        count = min(self.top, scores.shape[1])
        sums = np.partition(scores, -count, axis=1)[:, -count:].sum(axis=1)
        unknown = ratio > 1 / self.gamma
        least, overlap, limit = self._filters(regions)
        rows = np.flatnonzero(pair > least)
        rows = rows[~unknown[rows] | _best_of_region(regions, pair, rows)]
        label = np.where(unknown, len(regions.labels), regions.label)
        keep = class_wise_nms(
            regions.image[rows],
            regions.box[rows],
            label[rows],
            np.where(unknown, sums, pair)[rows],
            overlap=overlap,
            limit=limit,
        )
        most = count if regions.layout is LogitLayout.SIGMOID else 1
        columns = {
            "label": label,
            "score": np.where(unknown, np.minimum(sums / most, 1), pair),
            "unknownness": ratio,
        }
        found = _called(regions, rows[keep], columns)
        if self.duplicates is not None:
            found = suppress_duplicates(found, survivor=self.duplicates)
        return self._recorded(found, regions, chosen_on)

    def findings(self, regions: Detections) -> list[Finding]:
        """What is worth knowing before the rule is applied."""
        held = _filters_of(regions)["score"]
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

    def _filters(self, regions: Detections) -> tuple[float, float, int]:
        """Least score, overlap and limit: those that were given, or else the detector's."""
        own = _filters_of(regions)
        least = own["score"] if self.minimum_score is None else self.minimum_score
        overlap = own["nms"] if self.nms is None else self.nms
        limit = own["most"] if self.limit is None else self.limit
        return least, np.inf if overlap is None else overlap, limit or max(len(regions), 1)

    def _recorded(
        self, found: Detections, regions: Detections, chosen_on: Detections | None
    ) -> Detections:
        split, images = ledger.split_of(regions), len(np.unique(regions.image))
        done = ledger.LedgerEntry("score", "gamma_ratio", split, images, len(regions))
        name, options = f"gamma rule ({self})", asdict(self)
        entry = ledger.LedgerEntry("threshold", name, ledger.BY_HAND, 0, 0, options=options)
        if chosen_on is not None:
            entry = replace(entry, **_chosen_on(chosen_on, regions))
        return ledger.recorded(found, done, entry)


def _chosen_on(held_out: Detections, regions: Detections) -> dict[str, Any]:
    """What the ledger says of the data that gamma was chosen on."""
    ids, split = np.unique(held_out.image), ledger.split_of(held_out)
    shared = ledger.overlap(split, ids, regions)
    on_itself = (f"gamma from {shared:,} images it is applied to",) if shared else ()
    leaks = (*ledger.check_fit("gamma", held_out, force=True), *on_itself)
    return {"split": split, "images": len(ids), "detections": len(held_out), "leaks": leaks}


def check_regions(regions: Detections) -> None:
    """Refuse detections that are not regions before suppression, of a detector of knowns."""
    if "region" not in regions.attributes:
        raise refuse("OS648", "the detections do not say which region each is of")
    if "model" in regions.provenance and "regions" not in regions.provenance:
        raise refuse("OS648", "the detections are what suppression and a limit have left")
    if regions.layout is not None and regions.layout.has_unknown:
        raise refuse("OS651", 'the logits have a column of their own for "unknown"')
    if len(ledger.unknown_rows(regions)):
        raise refuse("OS651", "some regions are labelled unknown already")


def _scores(regions: Detections, temperature: float) -> Array:
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


def _best_of_region(regions: Detections, score: Array, rows: Rows) -> NDArray[np.bool_]:
    """Which of some rows is the best of its region."""
    keys = [np.unique(c[rows], return_inverse=True)[1]
            for c in (regions.image, regions.attributes["region"])]  # fmt: skip
    order = np.lexsort((-score[rows], *keys[::-1]))
    first = np.ones(len(rows), bool)
    first[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    best = np.zeros(len(rows), bool)
    best[order[first]] = True
    return best


def _called(regions: Detections, rows: Rows, columns: Mapping[str, Any]) -> Detections:
    """Some of the regions, as detections with other columns."""
    about = {key: value for key, value in regions.provenance.items() if key != "regions"}
    return replace(
        regions.select(rows),
        labels=(*regions.labels, UNKNOWN),
        provenance=about,
        **{name: values[rows] for name, values in columns.items()},
    )


def _filters_of(regions: Detections) -> Mapping[str, Any]:
    """The filters that the detector has, or the published ones."""
    return {**_PUBLISHED, **regions.provenance.get("regions", {})}


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
