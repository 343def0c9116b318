"""Found: the kept boxes of one image with their evidence, and many of them as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.tables import Detections, LogitLayout
from openset.tables.vocabulary import UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a model found on one image.

    Attributes:
        box: ``x1, y1, x2, y2`` in pixels of the image as it was given.
        score: Confidence of the label.
        label: Index of the class; the next after the last is "unknown", where a method says so.
        logits: Raw class scores of each box, or None.
        embedding: Input of the last layer for each box, or None.
        unknownness: Larger = more unknown, or None.
        attributes: Any further evidence, by the name of its column.
    """

    box: NDArray[np.float32]
    score: NDArray[np.float32]
    label: NDArray[np.int64]
    logits: NDArray[np.float32] | None = None
    embedding: NDArray[np.float32] | None = None
    unknownness: NDArray[np.float32] | None = None
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def scaled(self, by: NDArray[np.float64]) -> Found:
        """The same on an image that is so many times as wide and as high."""
        four = np.tile(by, 2).astype(np.float32)
        samples = self.attributes.get("box_samples")
        more = {} if samples is None else {"box_samples": samples * four}
        return replace(self, box=self.box * four, attributes={**self.attributes, **more})


class Filters(NamedTuple):
    """What stands between the regions of a detector and its detections.

    Attributes:
        score: Pairs of a region and a class with a lower score are dropped.
        nms: Boxes of one class that overlap more are suppressed; None if none ever are.
        most: Detections that stay on an image; None if all do.
    """

    score: float
    nms: float | None
    most: int | None


def tabled(
    found: Sequence[Found],
    images: Sequence[Any],
    labels: tuple[str, ...],
    layout: LogitLayout,
    provenance: Mapping[str, Any],
) -> Detections:
    """One table of what was found on some images, given by their ids."""
    counts = [len(item.score) for item in found]
    corners = _joined([item.box for item in found], (0, 4)).astype(np.float64)
    logits = _maybe([item.logits for item in found])
    return Detections(
        image=np.repeat(np.asarray(images), counts),
        label=_joined([item.label for item in found], (0,)),
        box=np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1),
        score=_joined([item.score for item in found], (0,)),
        labels=(*labels, UNKNOWN) if layout.has_unknown else labels,
        unknownness=_maybe([item.unknownness for item in found]),
        logits=logits,
        layout=None if logits is None else layout,
        embedding=_maybe([item.embedding for item in found]),
        attributes={name: _joined([f.attributes[name] for f in found], (0,))
                    for name in (found[0].attributes if found else ())},
        provenance=provenance,
    )  # fmt: skip


def _joined(parts: Sequence[NDArray[Any]], empty: tuple[int, ...]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(empty)


def _maybe(parts: Sequence[NDArray[Any] | None]) -> NDArray[Any] | None:
    there = [part for part in parts if part is not None]
    return np.concatenate(there) if there else None
