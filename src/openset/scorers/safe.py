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
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.plugins import check_installed
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Unknownness
from openset.scorers._spec import TRAINING, scorer
from openset.tables.logits import sigmoid

if TYPE_CHECKING:
    from torch import nn

Array = NDArray[np.float64]
Rows = NDArray[np.float32]
Checkpoint = Literal["best", "published"]
_TRUTH = np.array([1, 0], np.float32)


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
        check_installed("scorer 'safe'", ("torch",))
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

    def batches(
        self, parts: list[NDArray[np.int64]], size: int
    ) -> Iterator[tuple[Rows, NDArray[np.float32]]]:
        """Both kinds of rows of some images at a time; 1 is a picture as it is."""
        for start in range(0, len(parts), size):
            rows = np.concatenate(parts[start : start + size])
            both = np.concatenate([self.clean[rows], self.changed[rows]]) - self.mean
            yield both.astype(np.float32), np.repeat(_TRUTH, len(rows))


def _learned(evidence: Evidence, schedule: Schedule) -> Safe:
    import torch

    chance = np.random.default_rng(schedule.seed)
    pairs = _Pairs.of(evidence, chance)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(schedule.seed)
        weight, bias = _trained(classifier(len(pairs.mean)), pairs, schedule, chance)
    tests = pairs.batches(pairs.held, schedule.images)
    told = [(rows @ weight + bias > 0) == (truth > 0) for rows, truth in tests]
    return Safe(pairs.mean, weight, bias, float(np.concatenate(told).mean()))


def classifier(width: int) -> nn.Sequential:
    """Three layers without an activation between them, dropout before the last."""
    from torch import nn

    narrow, last = max(1, width // 2), max(1, width // 4)
    network = nn.Sequential(
        nn.Linear(width, narrow), nn.Linear(narrow, last), nn.Dropout(0.5), nn.Linear(last, 1)
    )
    for layer in network:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.constant_(layer.bias, 0.01)
    return network


def collapsed(network: nn.Sequential) -> tuple[Array, float]:
    """The one weighting and bias that the layers are, without dropout."""
    weight, bias = None, None
    layers: list[Any] = [network[0], network[1], network[3]]
    for layer in layers:
        w, b = (part.detach().double().numpy() for part in (layer.weight, layer.bias))
        weight, bias = (w, b) if weight is None else (w @ weight, w @ bias + b)
    assert weight is not None and bias is not None
    return weight[0], float(bias[0])


def _trained(
    network: nn.Sequential, pairs: _Pairs, schedule: Schedule, chance: np.random.Generator
) -> tuple[Array, float]:
    """Weighting and bias of the epoch that is kept."""
    import torch

    optimizer = torch.optim.SGD(network.parameters(), lr=schedule.lr, momentum=0.9)
    kept, least = None, np.inf
    for _ in range(schedule.epochs):
        order = [pairs.taught[i] for i in chance.permutation(len(pairs.taught))]
        losses = []
        for batch in pairs.batches(order, schedule.images):
            optimizer.zero_grad()
            loss = _loss(network.train(), *batch)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            tests = pairs.batches(pairs.held, schedule.images)
            held = float(np.mean([_loss(network.eval(), *batch).item() for batch in tests]))
        compared = float(np.mean(losses)) if schedule.checkpoint == "published" else held
        if compared < least:
            kept, least = collapsed(network), held
    if kept is None:
        raise refuse(
            "OS657", f"no epoch of {schedule.epochs} had a finite loss", example=f"lr={schedule.lr}"
        )
    return kept


def _loss(network: nn.Module, rows: Rows, truth: NDArray[np.float32]) -> Any:
    import torch
    from torch.nn import functional

    answers = network(torch.from_numpy(rows))[:, 0]
    return functional.binary_cross_entropy_with_logits(answers, torch.from_numpy(truth))
