"""SAFE: what is unknown moves the first layers as a picture does that was changed to deceive.

Wilson et al., SAFE: Sensitivity-Aware Features for Out-of-Distribution Object Detection, ICCV 2023.
Features are the outputs of the backbone's shortcut convolutions, pooled over each box. A classifier
learns to tell those of training detections from those of the same boxes on the same pictures,
changed by the sign of the loss's gradient; `openset attack` makes these. Nothing unknown is seen.

As in its code the classifier has no activation between its layers: it is one weighting of the
features, and that is all that is kept. One repair: the code means to keep the epoch with the least
loss on held-out images, but compares with the loss in training, which keeps the last one;
`checkpoint` says which.

Not an attack on the detector at test time: there it only reads features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._spec import TRAINING, scorer
from openset.tables.logits import sigmoid

Array = NDArray[np.float64]
Rows = NDArray[np.float32]
Checkpoint = Literal["best", "published"]
_TRUTH = np.array([1, 0], np.float32)
_DROPPED, _MOMENTUM = 0.5, 0.9


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the classifier is trained.

    Attributes:
        epochs: Times that every image is seen.
        lr: Learning rate.
        images: Images of a batch, with all their boxes.
        seed: Decides weights, held-out images, order and dropout.
        checkpoint: Which epoch is kept.
    """

    epochs: int
    lr: float
    images: int
    seed: int
    checkpoint: Checkpoint


@scorer(
    "safe",
    title="SAFE",
    paper="Wilson et al., SAFE: Sensitivity-Aware Features for Out-of-Distribution Object "
    "Detection, ICCV 2023",
    requires=("shortcut",),
    fit_requires=("shortcut_attacked", "image"),
    fits_on=TRAINING,
)
@dataclass(frozen=True, eq=False)
class Safe:
    """How much the features of a box look like those of a picture that was changed to deceive.

    Published for all kept detections of the training images: fit it with ``minimum_score=0.05``.

    Args:
        epochs: Times that every image is seen.
        lr: Learning rate.
        images: Images of a batch, with all their boxes.
        seed: Decides weights, held-out images, order and dropout.
        checkpoint: ``best`` keeps the epoch with the least loss on held-out images, ``published``
            the last whose loss in training is below that.
    """

    mean: Array
    weight: Array
    bias: float
    accuracy: float

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        *,
        epochs: int = 5,
        lr: float = 1e-3,
        images: int = 32,
        seed: int = 0,
        checkpoint: Checkpoint = "best",
    ) -> Safe:
        """Learn to tell pictures from those that were changed; `accuracy` is on held-out ones."""
        if min(epochs, images) < 1 or not lr > 0:
            raise UsageError("epochs and images are at least 1, and lr is above 0")
        return _learned(evidence, Schedule(epochs, lr, images, seed, checkpoint))

    def logit(self, rows: NDArray[np.floating]) -> Array:
        """How much features look like those of pictures as they are."""
        return np.asarray((rows.astype(np.float64) - self.mean) @ self.weight + self.bias)

    def score(self, evidence: Evidence) -> Unknownness:
        """One minus the classifier's answer."""
        return sigmoid(-self.logit(evidence["shortcut"]))


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Features of the same boxes, on pictures as they are and as they were changed.

    Attributes:
        clean: Features of pictures as they are.
        changed: Those of the same boxes on the changed ones.
        taught: Rows of each image to learn from.
        held: Rows of each image that is held out: a fifth of them, at least one.
        mean: Of the clean features to learn from; all are taken relative to it.
    """

    clean: Rows
    changed: Rows
    taught: list[NDArray[np.int64]]
    held: list[NDArray[np.int64]]
    mean: Array

    @classmethod
    def of(cls, evidence: Evidence, chance: np.random.Generator) -> _Pairs:
        clean, changed = evidence["shortcut"], evidence["shortcut_attacked"]
        if clean.shape != changed.shape:
            message = f"features of {clean.shape[1]} columns, attacked ones of {changed.shape[1]}"
            raise refuse("OS503", message, cause="they come from two detectors")
        order = np.argsort(evidence["image"], kind="stable")
        _, first = np.unique(evidence["image"][order], return_index=True)
        parts = np.split(order, first[1:])
        if len(parts) < 2:
            raise refuse("OS504", f"SAFE holds images out; there are detections on {len(parts)}")
        mixed, count = chance.permutation(len(parts)), max(1, len(parts) // 5)
        held, taught = ([parts[i] for i in some] for some in (mixed[:count], mixed[count:]))
        mean = clean[np.concatenate(taught)].mean(axis=0, dtype=np.float64)
        return cls(clean, changed, taught, held, mean)

    def batches(self, parts: list[NDArray[np.int64]], size: int) -> Iterator[tuple[Rows, Rows]]:
        """Both kinds of rows of some images at a time; 1 is a picture as it is."""
        for start in range(0, len(parts), size):
            rows = np.concatenate(parts[start : start + size])
            both = np.concatenate([self.clean[rows], self.changed[rows]]) - self.mean
            yield both.astype(np.float32), np.repeat(_TRUTH, len(rows))


def _learned(evidence: Evidence, schedule: Schedule) -> Safe:
    chance = np.random.default_rng(schedule.seed)
    pairs = _Pairs.of(evidence, chance)
    network = Classifier.drawn(len(pairs.mean), chance)
    weight, bias = _trained(network, pairs, schedule, chance)
    tests = pairs.batches(pairs.held, schedule.images)
    told = [(rows @ weight + bias > 0) == (truth > 0) for rows, truth in tests]
    return Safe(pairs.mean, weight, bias, float(np.concatenate(told).mean()))


@dataclass(slots=True, eq=False)
class Classifier:
    """Three layers without an activation between them, dropout before the last, as published.

    Attributes:
        layers: Weights and biases of each, first to last.
        speed: What each is moved by: momentum.
    """

    layers: list[Rows]
    speed: list[Rows]

    @classmethod
    def drawn(cls, width: int, chance: np.random.Generator) -> Classifier:
        """Before the first step: Xavier's uniform weights, and biases of 0.01."""
        sizes, layers = (width, max(1, width // 2), max(1, width // 4), 1), []
        for wide, narrow in pairwise(sizes):
            most = np.sqrt(6 / (wide + narrow))
            layers.append(chance.uniform(-most, most, (narrow, wide)).astype(np.float32))
            layers.append(np.full(narrow, 0.01, np.float32))
        return cls(layers, [np.zeros_like(part) for part in layers])

    def collapsed(self) -> tuple[Array, float]:
        """The one weighting and bias that the layers are, without dropout."""
        w1, b1, w2, b2, w3, b3 = (part.astype(np.float64) for part in self.layers)
        return (w3 @ w2 @ w1)[0], float((w3 @ (w2 @ b1 + b2) + b3)[0])

    def slopes(self, rows: Rows, truth: Rows, kept: Rows) -> tuple[float, list[Rows]]:
        """The mean cross-entropy, and its slope in every layer.

        Args:
            rows: Features.
            truth: 1 for a picture as it is.
            kept: What dropout multiplies the input of the last layer by.
        """
        w1, b1, w2, b2, w3, b3 = self.layers
        first = rows @ w1.T + b1
        second = (first @ w2.T + b2) * kept
        logit = (second @ w3.T + b3)[:, 0]
        loss = cross_entropy(logit, truth)
        out = ((sigmoid(logit.astype(np.float64)) - truth) / len(rows)).astype(np.float32)[:, None]
        back = (out @ w3) * kept
        inner = back @ w2
        found = [inner.T @ rows, inner.sum(0), back.T @ first, back.sum(0), out.T @ second]
        return loss, [*found, out.sum(0)]

    def step(self, slopes: list[Rows], lr: float) -> None:
        """One step of gradient descent with momentum."""
        for part, speed, slope in zip(self.layers, self.speed, slopes, strict=True):
            speed *= _MOMENTUM
            speed += slope
            part -= lr * speed


def cross_entropy(logit: NDArray[np.floating], truth: Rows) -> float:
    """The mean over rows, in double precision."""
    values = logit.astype(np.float64)
    return float((np.logaddexp(0.0, values) - truth * values).mean())


def _trained(
    network: Classifier, pairs: _Pairs, schedule: Schedule, chance: np.random.Generator
) -> tuple[Array, float]:
    """Weighting and bias of the epoch that is kept."""
    kept, least = None, np.inf
    for _ in range(schedule.epochs):
        order = [pairs.taught[i] for i in chance.permutation(len(pairs.taught))]
        with np.errstate(over="ignore", invalid="ignore"):  # what diverges is refused below
            taught = _epoch(network, pairs.batches(order, schedule.images), schedule.lr, chance)
            weight, bias = network.collapsed()
            tests = pairs.batches(pairs.held, schedule.images)
            held = [cross_entropy(rows @ weight + bias, truth) for rows, truth in tests]
        compared = taught if schedule.checkpoint == "published" else float(np.mean(held))
        if compared < least:
            kept, least = (weight, bias), float(np.mean(held))
    if kept is None:
        message = f"no epoch of {schedule.epochs} had a finite loss"
        raise refuse("OS657", message, example=f"lr={schedule.lr}")
    return kept


def _epoch(
    network: Classifier,
    batches: Iterator[tuple[Rows, Rows]],
    lr: float,
    chance: np.random.Generator,
) -> float:
    """One pass over the images; the mean of its losses."""
    losses = []
    for rows, truth in batches:
        mask = chance.random((len(rows), len(network.layers[3])), np.float32) >= _DROPPED
        kept = (mask / (1 - _DROPPED)).astype(np.float32)
        loss, slopes = network.slopes(rows, truth, kept)
        network.step(slopes, lr)
        losses.append(loss)
    return float(np.mean(losses))
