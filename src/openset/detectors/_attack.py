"""Attack: what a detector's first layers say of training images that were changed to deceive it.

Goodfellow et al., Explaining and Harnessing Adversarial Examples, ICLR 2015: every value of an
image moves one step by the sign of the gradient of the detector's training loss, all its parts
summed. SAFE (`openset.scorers.safe`) learns to tell the features of such images from those of the
images as they are, at the same boxes. Weights and statistics of the detector stay as they are.

Not a measure of robustness: nothing is detected on the changed images.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset.detectors._run import run
from openset.findings import UsageError, refuse
from openset.nets.pictures import ImageFiles
from openset.tables import Annotations, Detections

if TYPE_CHECKING:
    from openset.detectors._torch import TorchModel

STEP = 8 / 255
MOST = 100
ATTACKED = "shortcut_attacked"


def attack(
    model: TorchModel,
    images: ImageFiles,
    truth: Annotations,
    *,
    step: float = STEP,
    most: int = MOST,
    split: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Detections:
    """Detections on training images, with the shortcuts of the images and of changed ones.

    Images go one by one, as published: the loss of a batch mixes them. Features are large (thirty
    kilobytes a box of a ResNet-50, twice): `most` bounds them.

    Args:
        model: A two-stage detector, trained.
        images: Its training images.
        truth: Their objects; those of classes that the detector was not taught are left out.
        step: By how much values from 0 to 1 change: 8 of 255.
        most: Boxes that are kept of an image, those with the highest scores.
        split: What the images are called, for the ledger of scorers.
        progress: Called with the number of images done and of all.

    Raises:
        InputError: An image cannot be decoded, or no object is of a class of the detector.
    """
    if not 0 <= step <= 1:
        raise UsageError(f"step must be from 0 to the whole range of a value, not {step:.3g} of it")
    if most < 1:
        raise UsageError(f"most must be at least 1, not {most}")
    targets = _targets(truth, model.labels)
    _refuse_without_shortcuts(str(model.about["detector"]))
    found = run(model, images, keep=("logits", "shortcut"), batch=1, split=split)
    found = found.select(_best(found, most))
    rows = np.empty_like(found.attributes["shortcut"])
    for at, id_ in enumerate(images.id.tolist()):
        mine = np.flatnonzero(found.image == id_)
        if len(mine):
            rows[mine] = _changed(model, images.pixels(at), targets.get(id_), found.box[mine], step)
        if progress is not None:
            progress(at + 1, len(images))
    about = {**found.provenance, "attack": {"step": step, "most": most}}
    columns = {**found.attributes, ATTACKED: rows}
    return replace(found, attributes=columns, provenance=about)


def _refuse_without_shortcuts(detector: str) -> None:
    from openset.detectors import find, table

    if "shortcut" not in find(detector).keeps:
        able = ", ".join(name for name, one in table().items() if "shortcut" in one.keeps)
        raise UsageError(
            f"SAFE learns from the shortcut convolutions of a backbone, pooled over boxes, and "
            f"detector {detector!r} does not keep them. Those that do: {able}"
        )


def _best(found: Detections, most: int) -> NDArray[np.bool_]:
    """Which detections are among the best of their image."""
    order = np.lexsort((-found.score, found.image))
    _, first, count = np.unique(found.image[order], return_index=True, return_counts=True)
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found)) - np.repeat(first, count)
    return rank < most


Objects = tuple[NDArray[np.float32], NDArray[np.int64]]


def _targets(truth: Annotations, labels: tuple[str, ...]) -> dict[Any, Objects]:
    """Boxes and classes of the objects of each image, by its id."""
    column = np.array([labels.index(name) if name in labels else -1 for name in truth.labels])
    klass = column[truth.label] if len(truth.labels) else np.empty(0, np.int64)
    assert truth.crowd is not None
    fit = (klass >= 0) & ~truth.crowd & (truth.box[:, 2:] > 0).all(axis=1)
    if not fit.any():
        message = "no object of the ground truth is of a class that the detector was taught"
        raise refuse("OS656", message, count=len(truth.box), example=", ".join(labels[:5]))
    rows = np.flatnonzero(fit)
    corners = np.concatenate([truth.box[:, :2], truth.box[:, :2] + truth.box[:, 2:]], axis=1)
    ids = truth.images.id.tolist()
    order = rows[np.argsort(truth.image[rows], kind="stable")]
    owner, first = np.unique(truth.image[order], return_index=True)
    return {
        ids[image]: (corners[part].astype(np.float32), klass[part])
        for image, part in zip(owner.tolist(), np.split(order, first[1:]), strict=True)
    }


def _changed(
    model: TorchModel,
    pixels: NDArray[np.uint8],
    objects: Objects | None,
    box: NDArray[np.float64],
    step: float,
) -> NDArray[np.float32]:
    """Shortcuts of the changed image, pooled over boxes; which regions a loss draws is fixed."""
    import torch

    from openset.detectors._torch import tensor_of

    boxes, labels = objects or (np.empty((0, 4), np.float32), np.empty(0, np.int64))
    place = model.device
    target = {"boxes": torch.tensor(boxes), "labels": torch.tensor(labels)}
    corners = np.concatenate([box[:, :2], box[:, :2] + box[:, 2:]], axis=1)
    devices = [place] if place.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(0)
        rows = model.attacked(
            tensor_of(pixels, place),
            {name: value.to(place) for name, value in target.items()},
            torch.tensor(corners, dtype=torch.float32, device=place),
            step,
        )
    return np.asarray(rows.cpu().float().numpy())
