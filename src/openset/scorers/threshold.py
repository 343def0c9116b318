"""Threshold: where unknown begins, and what detections are called then.

The threshold is fitted on detections of *known* objects that are held out: neither the training
data nor the data that is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from openset.findings import UsageError
from openset.scorers.ranking import RankBy, unknown_score
from openset.tables import Detections
from openset.tables.logits import class_columns, max_softmax, without_unknown
from openset.tables.vocabulary import UNKNOWN, is_unknown_spelling

Names = Mapping[int, str] | Sequence[str] | None
Labels = tuple[NDArray[np.int64], tuple[str, ...]]
Z95 = 1.645  # the constant in published code, not norm.ppf(0.95)


def quantile_threshold(
    unknownness: ArrayLike, *, keep: float = 0.95, method: str = "inverted_cdf"
) -> float:
    """The unknownness that a share of held-out knowns does not exceed.

    By default the empirical quantile: the least observed value such that at least `keep` of the
    knowns lie at or below it. It assumes nothing about the shape of the scores.

    Args:
        unknownness: Unknownness of held-out detections of known objects.
        keep: Share of knowns that stay known.
        method: As in `numpy.quantile`; ``linear`` interpolates between two observed values.

    >>> quantile_threshold(np.arange(1, 101), keep=0.95)
    95.0
    """
    if not 0 < keep <= 1:
        raise UsageError(f"keep= must be in (0, 1], not {keep}")
    return float(np.quantile(_fitted(unknownness), keep, method=method))  # type: ignore[call-overload]


def gaussian_threshold(unknownness: ArrayLike, *, z: float = Z95) -> float:
    """Mean plus `z` standard deviations of held-out knowns: FMIYC's "95 %" threshold.

    A quantile only of normal scores. Bounded or skewed scores may have none beyond it, and then
    nothing is ever called unknown; prefer `quantile_threshold`.

    >>> gaussian_threshold([0.0, 1.0])
    1.3225
    """
    values = _fitted(unknownness)
    return float(values.mean() + z * values.std())


def relabel(
    detections: Detections,
    unknownness: ArrayLike,
    threshold: float,
    *,
    inclusive: bool = False,
    label: Literal["detector", "logits"] = "detector",
    names: Names = None,
    score: Literal["detector", "softmax"] = "detector",
    ranking: RankBy = "confidence",
) -> Detections:
    """Call detections unknown whose unknownness exceeds a threshold.

    Boxes stay; labels become names, the last of which is ``unknown``. With ``label="logits"`` and
    ``score="softmax"`` this is what FMIYC's code does before it evaluates.

    Args:
        detections: What the detector said.
        unknownness: One number per detection, larger = more unknown.
        threshold: Where unknown begins.
        inclusive: Whether unknownness equal to the threshold is unknown.
        label: Whence the label of the others: what the ``detector`` said, or the largest of all
            ``logits``. Where that is the background, the detection becomes unknown as well.
        names: What labels are called: the names of the logits' class columns, in their order, for
            ``label="logits"``; the names of category ids where detections hold ids.
        score: Keep the ``detector``'s score, or rank by the largest ``softmax`` probability over
            all logits, background included, in float32.
        ranking: The score of what becomes unknown, by which AP_U ranks it
            (`openset.scorers.ranking`).

    >>> boxes = Detections([1, 1], [0, 0], [[0, 0, 9, 9]] * 2, [0.9, 0.8], ("dog",))
    >>> new = relabel(boxes, [0.2, 0.7], threshold=0.5)
    >>> [new.labels[i] for i in new.label]
    ['dog', 'unknown']
    """
    values = np.asarray(unknownness, np.float64)
    if values.shape != (len(detections),):
        raise UsageError(f"expected {len(detections)} unknownness values, but got {values.shape}")
    if np.isnan(values).any():
        raise UsageError("unknownness is NaN for some detections")
    above = values >= threshold if inclusive else values > threshold
    kept, known = _labels(detections, label, names)
    scores = detections.score if score == "detector" else _softmax_scores(detections)
    stated = {"threshold": threshold, "inclusive": inclusive, "label": label, "score": score}
    index = np.where(above, len(known), kept)
    ranked = unknown_score(detections, scores, values, threshold, ranking)
    return replace(
        detections,
        label=index,
        labels=(*known, UNKNOWN),
        score=np.where(index == len(known), ranked, scores),
        unknownness=values,
        provenance={**detections.provenance, "relabel": {**stated, "ranking": ranking}},
    )


def _fitted(unknownness: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(unknownness, np.float64).ravel()
    if not len(values):
        raise UsageError("a threshold needs held-out detections of known objects; there are none")
    if not np.isfinite(values).all():
        raise UsageError("a threshold needs finite unknownness")
    return values


def _labels(detections: Detections, label: str, names: Names) -> Labels:
    """Each detection's index among the known names, and these; their number stands for unknown."""
    if label == "logits":
        return _from_logits(detections, names)
    if label != "detector":
        raise UsageError(f"label must be 'detector' or 'logits', not {label!r}")
    index, all_names = _named(detections, names)
    known = tuple(name for name in all_names if not is_unknown_spelling(name))
    new = np.array([known.index(n) if n in known else len(known) for n in all_names], np.int64)
    return new[index], known


def _named(detections: Detections, names: Names) -> Labels:
    if detections.labels:
        return detections.label, detections.labels
    if not isinstance(names, Mapping):
        raise UsageError(
            "the detections hold category ids: say what they mean, names={1: 'dog'}; on the "
            "command line openset convert --evidence with --truth names them, or here --known"
        )
    ids, index = np.unique(detections.label, return_inverse=True)
    if missing := [i for i in ids.tolist() if i not in names]:
        raise UsageError(f"names has no entry for category id {missing[0]}")
    found = tuple(names[i] for i in ids.tolist())
    unique = tuple(dict.fromkeys(found))
    new = np.array([unique.index(name) for name in found], np.int64)
    return new[index] if len(index) else detections.label, unique


def _from_logits(detections: Detections, names: Names) -> Labels:
    """The largest logit decides, and background counts as unknown, whose index it shares."""
    if detections.logits is None:
        raise UsageError("label='logits' needs detections with logits")
    columns = _softmax_columns(detections)
    places = np.arange(detections.logits.shape[1])[columns]
    if names is None or isinstance(names, Mapping) or len(names) != len(places):
        raise UsageError(f"names must name the {len(places)} class columns of the logits, in order")
    index = np.full(detections.logits.shape[1], len(places), np.int64)
    index[places] = np.arange(len(places))
    return index[detections.logits.argmax(axis=1)], tuple(names)


def _softmax_scores(detections: Detections) -> NDArray[np.float64]:
    if detections.logits is None:
        raise UsageError("score='softmax' needs detections with logits")
    _softmax_columns(detections)
    logits, _ = without_unknown(detections.logits, detections.layout)
    return max_softmax(logits.astype(np.float32)).astype(np.float64)


def _softmax_columns(detections: Detections) -> slice:
    if detections.layout is not None and detections.layout.is_sigmoid:
        raise UsageError("this needs logits of a softmax, but their layout is sigmoid")
    return class_columns(detections.layout)
