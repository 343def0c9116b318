"""Detections: what a detector said, as columns.

`label` holds the category ids of the ground truth when `labels` is empty (COCO results), or
indexes the names in `labels` (every other format). `unknownness` is larger for boxes that look more
unknown, whatever the sign of the score it came from. `logits` never travel without their layout,
and the `head` that made them from the embeddings travels with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.tables.columns import Attributes, column, ids, take
from openset.tables.head import Head
from openset.tables.logits import LogitLayout


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """One row per detected box.

    Attributes:
        image: Image ids as in the ground truth, integers or strings (ids or file-name stems).
        label: Category ids, or indices into `labels`.
        box: ``x, y, width, height``, 0-based and continuous.
        score: Confidence of the label.
        labels: Names of the labels; empty when `label` holds category ids.
        unknownness: Larger = more unknown; None when the detector gives none.
        logits: One row of raw class scores per box, or None.
        layout: What the columns of `logits` are.
        embedding: One feature vector per box, or None.
        head: The last layer, from embeddings to logits, or None.
        attributes: Any further column, by name.
        provenance: Where the boxes come from: model, thresholds, scorer, what it was fitted on.
    """

    image: NDArray[Any]
    label: NDArray[np.int64]
    box: NDArray[np.float64]
    score: NDArray[np.float64]
    labels: tuple[str, ...] = ()
    unknownness: NDArray[np.float64] | None = None
    logits: NDArray[np.float32] | None = None
    layout: LogitLayout | None = None
    embedding: NDArray[np.float32] | None = None
    head: Head | None = None
    attributes: Attributes = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        n = len(self.image)
        set_(self, "labels", tuple(self.labels))
        set_(self, "image", ids(self.image))
        set_(self, "label", column("label", self.label, np.int64, n))
        set_(self, "box", column("box", self.box, np.float64, n, 4))
        set_(self, "score", column("score", self.score, np.float64, n))
        if self.unknownness is not None:
            set_(self, "unknownness", column("unknownness", self.unknownness, np.float64, n))
        for name in ("logits", "embedding"):
            values = getattr(self, name)
            if values is not None:
                width = np.asarray(values).shape[-1]
                set_(self, name, column(name, values, np.float32, n, width))
        if self.logits is not None and self.layout is None:
            raise UsageError("logits need a layout: which column is the background, if any?")
        if (
            self.labels
            and n
            and not (self.label.min() >= 0 and self.label.max() < len(self.labels))
        ):
            raise UsageError(f"column 'label' must index the {len(self.labels)} names in labels")
        misfit = self.head.misfit(self) if self.head is not None else ""
        if misfit:
            raise UsageError(misfit)

    def __len__(self) -> int:
        return len(self.image)

    def select(self, rows: NDArray[Any]) -> Detections:
        """Only the given detections (a mask or indices)."""
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        changes: dict[str, Any] = {"attributes": take(self.attributes, index)}
        for item in fields(self):
            values = getattr(self, item.name)
            if isinstance(values, np.ndarray):
                changes[item.name] = values[index]
        return replace(self, **changes)
