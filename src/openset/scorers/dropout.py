"""Dropout sampling: three published methods that share a name.

All keep dropout on at test time and run the head many times; they differ in what is averaged, and
in what becomes unknown:

- Miller et al. (ICRA 2018) let each pass detect, group boxes that overlap into observations, and
  take the entropy of an observation's mean scores.
- Dhamija et al. (WACV 2020) run the head 30 times on the same regions and average probabilities and
  boxes; nothing is rejected.
- opendet2 (Han et al., CVPR 2022) averages the logits of 30 passes; what has a normalised entropy
  above 0.25 is unknown. Its head was never trained with dropout.

Running the passes is the detector's part; here is what follows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.scorers._evidence import Evidence, gather
from openset.scorers._fitted import Unknownness
from openset.scorers._logits import activation_of
from openset.scorers._spec import scorer
from openset.scorers.entropy import surprise
from openset.tables import Detections
from openset.tables.logits import Activation, class_columns, probabilities
from openset.tables.overlap import best_first, by_image, iou

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


@scorer(
    "dropout_mean",
    title="Dropout sampling (mean probability)",
    paper="Dhamija et al., The Overlooked Elephant of Object Detection: Open Set, WACV 2020",
    requires=("logit_samples",),
)
def dropout_mean(evidence: Evidence, *, activation: Activation | None = None) -> Unknownness:
    """One minus the largest class probability, averaged over dropout passes on the same region.

    The paper rejects nothing: this is its averaged score, read as an unknownness.

    Args:
        evidence: Logits of each pass.
        activation: For sigmoid logits: ``sigmoid`` or ``softmax``.
    """
    return 1.0 - _mean_probability(evidence, activation).max(axis=1)


@scorer(
    "dropout_logits",
    title="Dropout sampling (entropy of mean logits)",
    paper="Han et al., Expanding Low-Density Latent Regions for Open-Set Object Detection, CVPR "
    "2022 (opendet2's baseline)",
    requires=("logit_samples",),
)
def dropout_logits(evidence: Evidence, *, activation: Activation | None = None) -> Unknownness:
    """Entropy of the softmax of mean logits, over the logarithm of the number of columns: 0 to 1.

    opendet2 calls a box unknown above 0.25. Its head has 81 columns whatever the number of known
    classes, and untrained columns change entropies: that threshold does not carry over.

    Args:
        evidence: Logits of each pass.
        activation: For sigmoid logits only ``softmax`` has a meaning here.
    """
    if activation_of(evidence.layout, activation) == "sigmoid":
        raise UsageError("the entropy of mean logits is that of a softmax: activation='softmax'")
    mean = evidence["logit_samples"].mean(axis=1, dtype=np.float64)
    if mean.shape[1] < 2:
        raise refuse("OS503", "an entropy needs two or more columns of logits")
    return surprise(probabilities(mean, "softmax")) / np.log(mean.shape[1])


@scorer(
    "dropout_observations",
    title="Dropout sampling (observations)",
    paper="Miller et al., Dropout Sampling for Robust Object Detection in Open-Set Conditions, "
    "ICRA 2018",
    requires=("image", "box", "score", "logits"),
    rowwise=False,
)
def dropout_observations(
    evidence: Evidence, *, overlap: float = 0.95, activation: Activation | None = None
) -> Unknownness:
    """Entropy of the mean probabilities of an observation: boxes of all passes that overlap.

    Every detection of every pass gets the entropy of its observation; `merge_observations` makes
    one detection of each.

    Args:
        evidence: Detections of all passes together, with logits.
        overlap: Least intersection over union of any two boxes of an observation.
        activation: For sigmoid logits: ``sigmoid`` or ``softmax``.
    """
    group = _observations(evidence, overlap)
    share = probabilities(
        evidence["logits"].astype(np.float64), activation_of(evidence.layout, activation)
    )
    return surprise(_group_means(share, group))[group]


def merge_observations(
    detections: Detections, *, overlap: float = 0.95, minimum: int = 1
) -> Detections:
    """One detection per observation: the mean box and score, the label of its best detection.

    Args:
        detections: Detections of all passes together.
        overlap: Least intersection over union of any two boxes of an observation.
        minimum: Least number of detections of an observation that stays.
    """
    evidence = gather("dropout_observations", detections, ("image", "box", "score"))
    group = _observations(evidence, overlap)
    count = np.bincount(group)
    order = best_first(detections.score)
    _, first = np.unique(group[order], return_index=True)
    best = detections.select(order[first])
    box, score = _group_means(detections.box, group), _group_means(detections.score[:, None], group)
    merged = replace(best, box=box, score=score[:, 0])
    if detections.unknownness is not None:
        mean = _group_means(detections.unknownness[:, None], group)
        merged = replace(merged, unknownness=mean[:, 0])
    return merged.select(count >= minimum)


def mean_detections(detections: Detections, *, activation: Activation | None = None) -> Detections:
    """Dhamija's detections: label and score from the mean probabilities, boxes from the mean box.

    Args:
        detections: One row per region, with attributes ``logit_samples`` (regions, passes, columns)
            and, if boxes were sampled, ``box_samples`` (regions, passes, 4).
        activation: For sigmoid logits: ``sigmoid`` or ``softmax``.
    """
    evidence = gather("dropout_mean", detections, ("logit_samples",))
    mean = _mean_probability(evidence, activation)
    if detections.labels and len(detections.labels) < mean.shape[1]:
        raise refuse("OS503", f"{len(detections.labels)} names for {mean.shape[1]} class columns")
    boxes = detections.attributes.get("box_samples")
    box = detections.box if boxes is None else boxes.mean(axis=1)
    return replace(detections, label=mean.argmax(axis=1), score=mean.max(axis=1), box=box)


def unknown_column_score(detections: Detections) -> Array:
    """How opendet2 ranks unknowns: ``e^m / (e^m + columns)``, m being the largest mean logit.

    It puts m in the unknown column and zero in all others before the softmax.
    """
    evidence = gather("dropout_logits", detections, ("logit_samples",))
    mean = evidence["logit_samples"].mean(axis=1, dtype=np.float64)
    return np.exp(-np.logaddexp(0.0, np.log(mean.shape[1]) - mean.max(axis=1)))


def _mean_probability(evidence: Evidence, activation: Activation | None) -> Array:
    chosen = activation_of(evidence.layout, activation)
    share = probabilities(evidence["logit_samples"].astype(np.float64), chosen)
    classes = share.mean(axis=1)[:, class_columns(evidence.layout)]
    if classes.shape[1] == 0:
        raise refuse("OS503", "no column is left: the logits have a background and no class")
    return np.asarray(classes)


def _observations(evidence: Evidence, overlap: float) -> Rows:
    """Which observation each detection belongs to, numbered from 0.

    Best first, a detection joins the first observation all of whose boxes overlap it enough; else
    it starts one.
    """
    if not 0 < overlap <= 1:
        raise UsageError(f"overlap must be in (0, 1], not {overlap}")
    group, total = np.zeros(evidence.size, np.int64), 0
    for rows in by_image(evidence["image"]):
        ordered = rows[best_first(evidence["score"][rows])]
        local = _cliques(iou(evidence["box"][ordered], evidence["box"][ordered]) >= overlap)
        group[ordered] = total + local
        total += int(local.max()) + 1
    return group


def _cliques(near: NDArray[np.bool_]) -> Rows:
    """Number the groups that rows form one by one, all members of a group being near each other."""
    home, count = np.zeros(len(near), np.int64), 0
    admits = np.ones_like(near)  # by group: which rows are near all its members
    for row in range(len(near)):
        found = int(np.append(admits[:count, row], True).argmax())
        count = max(count, found + 1)
        admits[found] &= near[row]
        home[row] = found
    return home


def _group_means(values: Array, group: Rows) -> Array:
    count = np.bincount(group)
    sums = np.zeros((len(count), values.shape[1]))
    np.add.at(sums, group, values)
    return np.asarray(sums / count[:, None])
