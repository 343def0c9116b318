"""The gamma-ratio rule: unknown is what has two classes of nearly the same score.

The simple baseline of OSOD-III. As a scorer it is the ratio of the second-largest class score to
the largest, so that "top-1 / top-2 < gamma" reads "unknownness > 1 / gamma". The published rule
works on regions *before* non-maximum suppression; `apply_rule` is that procedure.

Gamma is no free lunch: the paper does not say how its values (15 and 3 for Faster R-CNN, 4 and 1.5
for FCOS) were chosen. Choose it on held-out knowns (`openset.scorers.calibrate`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.scorers._evidence import Evidence, gather
from openset.scorers._fitted import Unknownness
from openset.scorers._spec import scorer
from openset.tables import Detections
from openset.tables.logits import Activation, LogitLayout, class_columns, probabilities
from openset.tables.overlap import class_wise_nms

PAPER = (
    "Hosoya et al., Rectifying Open-Set Object Detection: Proper Evaluation and a Simple Baseline"
)


@scorer("gamma_ratio", title="γ-ratio", paper=PAPER)
def gamma_ratio(evidence: Evidence, *, temperature: float = 1.0) -> Unknownness:
    """Second-largest class score over the largest: 1 when two classes tie, 0 when one has it all.

    Scores are a softmax over all logits, background dropped after it, or sigmoids. Under a softmax
    the ratio is ``exp(-(l1 - l2) / T)``: a temperature changes no order, and gamma and temperature
    are one parameter. For FCOS compute it from the logits, as here: torchvision's scores are square
    roots, which would turn a ratio r into the root of r.

    Args:
        evidence: Logits of two or more classes.
        temperature: T, which divides the logits.
    """
    _check_temperature(temperature)
    logits = _two_or_more(evidence["logits"][:, class_columns(evidence.layout)])
    top = np.partition(logits.astype(np.float64), -2, axis=1)[:, -2:] / temperature
    if evidence.layout is LogitLayout.SIGMOID:
        # The ratio of two sigmoids, through logarithms: both may be too small for a float.
        top = -np.logaddexp(0.0, -top)
    return np.exp(top[:, 0] - top[:, 1])


def class_scores(detections: Detections, *, temperature: float = 1.0) -> NDArray[np.float64]:
    """The score of each class: background takes part in the softmax and is dropped after it."""
    _check_temperature(temperature)
    evidence = gather("gamma_ratio", detections, ("logits",))
    logits = evidence["logits"].astype(np.float64) / temperature
    activation: Activation = "sigmoid" if evidence.layout is LogitLayout.SIGMOID else "softmax"
    return probabilities(logits, activation)[:, class_columns(evidence.layout)]


def top_scores(
    detections: Detections, *, temperature: float = 1.0, top: int = 3
) -> NDArray[np.float64]:
    """The sum of the largest class scores: how OSOD-III ranks unknowns (above 1 for sigmoids)."""
    scores = class_scores(detections, temperature=temperature)
    count = min(top, scores.shape[1])
    return np.asarray(np.partition(scores, -count, axis=1)[:, -count:].sum(axis=1))


def apply_rule(
    regions: Detections,
    names: tuple[str, ...],
    *,
    gamma: float,
    temperature: float = 1.0,
    minimum_score: float = 0.05,
    nms: float = 0.5,
    limit: int = 100,
) -> Detections:
    """The published procedure, from regions before non-maximum suppression to final detections.

    Each class of a region above the minimum score is a candidate. All candidates of an ambiguous
    region become unknown, with the sum of its three largest scores. Then suppression per class,
    unknown being one, and the best `limit` per image, where these sums can push knowns out.

    Args:
        regions: One row per region, with logits; its box serves every class.
        names: The class columns of the logits, in their order.
        gamma: Ambiguous are regions whose two largest scores have a smaller ratio than this.
        temperature: Divides the logits; changes scores and the decision.
        minimum_score: Least score of a candidate.
        nms: Overlap from which a candidate is suppressed.
        limit: Detections kept per image.
    """
    if not gamma >= 1:
        raise UsageError(f"gamma must be at least 1, not {gamma}")
    scores = class_scores(regions, temperature=temperature)
    if len(names) != scores.shape[1]:
        raise refuse("OS503", f"{len(names)} names for {scores.shape[1]} class columns")
    ratio = gamma_ratio(regions, temperature=temperature)
    region, label = np.nonzero(scores > minimum_score)
    unknown = ratio[region] > 1 / gamma
    tops = top_scores(regions, temperature=temperature)
    score = np.where(unknown, tops[region], scores[region, label])
    found = regions.select(region)
    label = np.where(unknown, len(names), label)
    keep = class_wise_nms(found.image, found.box, label, score, overlap=nms, limit=limit)
    kept = found.select(keep)
    columns = {"unknownness": ratio[region][keep], "score": score[keep], "label": label[keep]}
    return _named(kept, names, columns, gamma=gamma, temperature=temperature)


def _named(
    kept: Detections,
    names: tuple[str, ...],
    columns: dict[str, NDArray[np.float64]],
    **stated: float,
) -> Detections:
    from dataclasses import replace

    provenance = {**kept.provenance, "gamma_ratio": stated}
    return replace(kept, labels=(*names, "unknown"), provenance=provenance, **columns)  # type: ignore[arg-type]


def _two_or_more(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    if logits.shape[1] < 2:
        raise refuse("OS503", "a ratio of class scores needs two classes; the logits have one")
    return logits


def _check_temperature(temperature: float) -> None:
    if not temperature > 0:
        raise UsageError(f"temperature must be positive, not {temperature}")
