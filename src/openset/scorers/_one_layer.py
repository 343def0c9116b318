"""Whether one last layer makes the logits of two files, where neither file carries it.

A linear layer is told by twice as many rows as it has columns: it is solved from half of the rows,
and makes the logits of the other half, or the logits are not made so. Two files of one model have
one layer, which both together give; those of two models have one each, and none together. That
holds whatever directions the embeddings of a file leave out, since both are solved at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.tables import Detections
from openset.tables.head import unlike

_ROWS = 4  # for each column: half to solve with, half to try it on; and half of that is the least
_RIDGE = 1e-9  # of the mean square of the embeddings: directions that no row has

Array = NDArray[np.float64]
Rows = tuple[Array, Array]  # embeddings, with a column of ones, and logits


def of_two_layers(one: Detections, other: Detections) -> bool:
    """Whether each file has a last layer, and both together have none."""
    parts = [_halves(found) for found in (one, other)]
    if parts[0] is None or parts[1] is None:
        return False
    (here, here_too), (there, there_too) = parts[0], parts[1]
    shapes = [tuple(values.shape[1] for values in rows) for rows in (here, there)]
    if shapes[0] != shapes[1] or one.layout is not other.layout:
        return False
    layer = _layer([here])
    if not _makes(layer, [here_too]) or not _makes(_layer([there]), [there_too]):
        return False
    if _on_another_scale(layer, there_too):
        return False
    return not _makes(_layer([here, there]), [here_too, there_too])


def _halves(found: Detections) -> tuple[Rows, Rows] | None:
    """Rows to solve a layer with, and to try it on; None where they are too few, or not there."""
    embedding, logits = found.embedding, found.logits
    if embedding is None or logits is None or "logit_samples" in found.attributes:
        return None  # means over passes with dropout are made by no layer
    width = embedding.shape[1] + 1
    if len(found) < _ROWS // 2 * width:
        return None
    at = np.linspace(0, len(found) - 1, min(len(found), _ROWS * width)).astype(np.int64)
    columns = np.column_stack([embedding[at].astype(np.float64), np.ones(len(at))])
    values = logits[at].astype(np.float64)
    if not (np.isfinite(columns).all() and np.isfinite(values).all()):
        return None
    return (columns[::2], values[::2]), (columns[1::2], values[1::2])


def _layer(rows: list[Rows]) -> Array:
    """The layer that makes the logits of some rows of their embeddings, as nearly as one can."""
    columns, logits = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    square = columns.T @ columns
    ridge = _RIDGE * max(float(np.trace(square)) / len(square), float(np.finfo(np.float64).tiny))
    layer: Array = np.linalg.solve(square + ridge * np.eye(len(square)), columns.T @ logits)
    return layer


def _makes(layer: Array, tried: list[Rows]) -> bool:
    return not any(unlike(columns @ layer, logits) for columns, logits in tried)


def _on_another_scale(layer: Array, tried: Rows) -> bool:
    """Whether logits are those of the layer but for a factor: of another temperature (OS514)."""
    made, logits = tried[0] @ layer, tried[1]
    factor = float((made * logits).sum()) / max(float((made * made).sum()), 1e-300)
    return not unlike(factor * made, logits)
