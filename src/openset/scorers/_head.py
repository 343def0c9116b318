"""Head: the detector's last layer, for scorers that change its input or its weights.

Not a network: one affine map from an embedding to the logits, and what those columns mean. Where
the map is not affine (OWLv2), a surrogate can be given, such as the normalised text embeddings, to
detections without logits, which it would not reproduce.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.scorers import _archive
from openset.scorers._logits import Background, check_background
from openset.tables import Detections
from openset.tables.detections import LogitLayout
from openset.tables.logits import class_columns


@dataclass(frozen=True, eq=False)
class Head:
    """Weight and bias of the last layer: ``logits = embedding @ weight.T + bias``.

    Attributes:
        weight: One row per column of the logits.
        bias: One number per column of the logits.
        layout: What the columns of the logits are.

    >>> head = Head([[1, 0], [0, 2], [0, 0]], [0, 0, 1], "softmax-background-last")
    >>> head.logits(np.array([[3.0, 4.0]])).tolist()
    [[3.0, 8.0, 1.0]]
    """

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    layout: LogitLayout

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "weight", np.ascontiguousarray(self.weight, np.float32))
        set_(self, "bias", np.ascontiguousarray(self.bias, np.float32))
        set_(self, "layout", LogitLayout(self.layout))
        if self.weight.ndim != 2 or self.bias.shape != self.weight.shape[:1]:
            shapes = f"weight {self.weight.shape} and bias {self.bias.shape}"
            raise UsageError(f"a head needs one weight row and one bias per logit, not {shapes}")
        if not (np.isfinite(self.weight).all() and np.isfinite(self.bias).all()):
            raise UsageError("the head has weights that are NaN or infinite")

    def logits(self, embedding: NDArray[Any]) -> NDArray[Any]:
        """The logits of some embeddings, in their precision."""
        weight, bias = (v.astype(embedding.dtype, copy=False) for v in (self.weight, self.bias))
        return np.asarray(embedding @ weight.T + bias)

    def kept(self, background: Background) -> Head:
        """With ``drop``, only the rows of classes."""
        check_background(background)
        if background == "keep" or self.layout in (LogitLayout.SIGMOID, LogitLayout.SOFTMAX):
            return self
        rows = class_columns(self.layout)
        return Head(self.weight[rows], self.bias[rows], LogitLayout.SOFTMAX)

    def check_width(self, width: int) -> None:
        """Refuse embeddings that this head cannot take."""
        if width != self.weight.shape[1]:
            message = f"the embeddings have {width} dimensions, the head {self.weight.shape[1]}"
            raise refuse("OS503", message, cause="the head belongs to another detector")

    def check(self, detections: Detections, *, tolerance: float = 0.05) -> None:
        """Refuse detections whose logits are not what this head makes of their embeddings.

        Args:
            detections: Detections with embeddings and logits.
            tolerance: Largest difference, relative to the largest logit (half precision is rough).
        """
        if detections.embedding is None:
            return
        self.check_width(detections.embedding.shape[1])
        if detections.logits is None or not len(detections):
            return
        given = detections.logits[:256]
        if given.shape[1] != len(self.bias) or detections.layout != self.layout:
            ours = f"{len(self.bias)} {self.layout}"
            message = f"logits are {given.shape[1]} {detections.layout}, the head makes {ours}"
            raise refuse("OS503", message)
        error = np.abs(self.logits(detections.embedding[:256]) - given).max()
        if error > tolerance * max(1.0, float(np.abs(given).max())):
            message = f"the head does not reproduce the logits: they differ by {error:.3g}"
            raise refuse("OS503", message, cause="the head belongs to another detector")

    def save(self, path: str | Path) -> None:
        """Write the head as ``.npz``."""
        _archive.save(Path(path), "head", self)

    @classmethod
    def load(cls, path: str | Path) -> Head:
        """Read a head that `save` has written."""
        return _archive.load(Path(path), "head", cls)
