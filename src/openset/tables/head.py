"""Head: the detector's last layer, for scorers that change its input or its weights.

Not a network: one affine map from an embedding to the logits, and what those columns mean. It
travels with the detections that it made. Where the map is not affine (OWLv2), a surrogate can be
given, such as the normalised text embeddings, to detections without logits, which it would not
reproduce.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.tables.logits import LogitLayout, class_columns, without_unknown
from openset.tables.vocabulary import is_unknown_spelling

if TYPE_CHECKING:
    from openset.tables.detections import Detections

_SHUFFLED = (
    "rows of embeddings are in another order than those of logits",
    "keep logits and embeddings of a box in one row",
)
_LOOKED_AT = 256  # rows whose logits are made again: those of another detector differ in the first
_TOLERANCE = 0.05  # of the largest logit: half precision is rough


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
        with np.errstate(over="ignore"):  # what is beyond float32 is refused below
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

    def of_classes(self) -> Head:
        """Only the rows of classes, without the background."""
        if self.layout.is_sigmoid or self.layout is LogitLayout.SOFTMAX:
            return self.of_known()
        rows = class_columns(self.layout)
        return Head(self.weight[rows], self.bias[rows], LogitLayout.SOFTMAX)

    def of_known(self) -> Head:
        """All rows but that of "unknown", where there is one."""
        weight, layout = without_unknown(self.weight.T, self.layout)
        bias, _ = without_unknown(self.bias, self.layout)
        assert layout is not None
        return Head(weight.T, bias, layout)

    def equals(self, other: Head) -> bool:
        """Whether two heads are the same numbers under the same layout."""
        same = np.array_equal(self.weight, other.weight) and np.array_equal(self.bias, other.bias)
        return same and self.layout is other.layout

    def misfit(self, detections: Detections) -> str:
        """Why, by shapes and classes, these detections cannot carry it; empty if they can."""
        classes = len(self.bias[class_columns(self.layout)])
        named = sum(not is_unknown_spelling(name) for name in detections.labels)
        if classes < named:
            return f"the head makes {len(self.bias)} {self.layout}, but there are {named} classes"
        return self._misshapen(detections)

    def _misshapen(self, detections: Detections) -> str:
        embedding, logits = detections.embedding, detections.logits
        rows, width = self.weight.shape
        if not len(detections):
            return ""
        if embedding is not None and embedding.shape[1] != width:
            return f"the embeddings have {embedding.shape[1]} dimensions, the head {width}"
        if logits is not None and (logits.shape[1], detections.layout) != (rows, self.layout):
            given = f"{logits.shape[1]} {detections.layout}"
            return f"logits are {given}, the head makes {rows} {self.layout}"
        return ""

    def check(self, detections: Detections, *, tolerance: float = _TOLERANCE) -> None:
        """Refuse detections whose logits are not what this head makes of their embeddings.

        Args:
            detections: Detections with embeddings and logits.
            tolerance: Largest difference, relative to the largest logit (half precision is rough).
        """
        cause = "the head belongs to another detector"
        misshapen = self._misshapen(detections)
        if misshapen:
            raise refuse("OS503", misshapen, cause=cause)
        message = self.unmade(detections, tolerance=tolerance)
        if message:
            if self._in_another_order(detections, tolerance):
                cause, fix = _SHUFFLED
                raise refuse("OS503", message, cause=cause, fix=fix)
            raise refuse("OS503", message, cause=cause)

    def unmade(self, detections: Detections, *, tolerance: float = _TOLERANCE) -> str:
        """That this head does not make the logits of the embeddings; empty if so, or unknown."""
        embedding, logits = detections.embedding, detections.logits
        if embedding is None or logits is None or not len(detections):
            return ""
        if self._misshapen(detections):
            return ""
        error = unlike(self.logits(embedding[:_LOOKED_AT]), logits[:_LOOKED_AT], tolerance)
        said = f"the head does not reproduce the logits: they differ by {error:.3g}"
        return said if error else ""

    def _in_another_order(self, detections: Detections, tolerance: float) -> bool:
        """Whether the logits are those of the embeddings in another order of the rows."""
        assert detections.embedding is not None and detections.logits is not None
        made, given = self.logits(detections.embedding).sum(axis=1), detections.logits.sum(axis=1)
        near = tolerance * max(1.0, float(np.abs(given).max()))
        return bool(np.abs(np.sort(made) - np.sort(given)).max() <= near)


def unlike(made: NDArray[Any], given: NDArray[Any], tolerance: float = _TOLERANCE) -> float:
    """The largest difference of what a layer makes to given logits; 0 where precision explains it.

    Args:
        made: What the layer makes of the embeddings.
        given: The logits that stand beside these.
        tolerance: Largest difference, relative to the largest logit (half precision is rough).
    """
    error = float(np.abs(made - given).max())
    return 0.0 if error <= tolerance * max(1.0, float(np.abs(given).max())) else error
