"""Operating points in NumPy, a class and a block of resamples at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.kernels.numpy_twins.resample import blocks, drawn

Counts = NDArray[np.int64]


def operating_points(
    class_start: NDArray[np.int64],
    image: NDArray[np.int32],
    flags: NDArray[np.uint8],
    weights: NDArray[np.uint8],
    n_positive: NDArray[np.int64],
    recall: NDArray[np.float64],
    n_flags: int,
    score: NDArray[np.float64] | None,
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """See ``openset.kernels.operating_points``."""
    n_classes, n_resamples = n_positive.shape
    counts = np.zeros((n_classes, n_flags, n_resamples), np.int32)
    reached = np.zeros((n_classes, n_resamples), np.bool_)
    for klass in range(n_classes):
        begin, end = (int(bound) for bound in class_start[klass : klass + 2])
        if begin == end:
            continue
        bits = flags[begin:end] >> np.arange(n_flags, dtype=np.uint8)[:, None] & np.uint8(1)
        for columns in blocks(end - begin, n_resamples):
            table = drawn(weights, image[begin:end], columns)
            given = (table, bits, n_positive[klass, columns], recall[columns])
            found = _nearest(*given) if score is None else _threshold(*given, score[begin:end])
            counts[klass, :, columns], reached[klass, columns] = found
    return counts, reached


def _threshold(
    table: NDArray[np.uint8],
    bits: NDArray[np.uint8],
    n_positive: Counts,
    recall: NDArray[np.float64],
    score: NDArray[np.float64],
) -> tuple[Counts, NDArray[np.bool_]]:
    """All detections that score at least as high as the hit that reaches the level."""
    hits = np.flatnonzero(bits[0])
    total = np.cumsum(table[hits], axis=0, dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        enough = (total / n_positive >= recall) & (n_positive > 0)
    enough &= total > 0  # a level of 0 is reached with the first hit, not before
    reached = np.asarray(enough.any(axis=0))
    if not reached.any():
        return np.zeros((len(bits), len(recall)), np.int64), reached
    ends = np.append(np.flatnonzero(score[1:] != score[:-1]) + 1, len(score))  # of equal scores
    end = ends[np.searchsorted(ends, hits[enough.argmax(axis=0)], side="right")]
    return _count(table, bits, np.where(reached, end, 0)), reached


def _count(table: NDArray[np.uint8], bits: NDArray[np.uint8], end: NDArray[np.intp]) -> Counts:
    """Count the detections before an end, by flag and column."""
    table = table * (np.arange(len(table))[:, None] < end)
    # Sums of products of small integers are exact in float64, and fast.
    return (bits.astype(np.float64) @ table.astype(np.float64)).astype(np.int64)


def _nearest(
    table: NDArray[np.uint8],
    bits: NDArray[np.uint8],
    n_positive: Counts,
    recall: NDArray[np.float64],
) -> tuple[Counts, NDArray[np.bool_]]:
    """The first detection, one copy of it, unless more hits come nearer."""
    columns = np.arange(table.shape[1])
    drawn_at_all = table > 0
    reached = np.asarray(drawn_at_all.any(axis=0))
    kept = bits[:, drawn_at_all.argmax(axis=0)].astype(np.int64) * reached
    hits = np.flatnonzero(bits[0])
    if not len(hits):
        return kept, reached
    total = np.cumsum(table[hits], axis=0, dtype=np.int64)
    target = _nearest_hits(kept[0], total[-1], n_positive, recall)
    at = (total >= target).argmax(axis=0)
    row = hits[at]
    copies = target - (total[at, columns] - table[row, columns])  # of the last hit
    further = _count(table, bits, row) + copies * bits[:, row]
    return np.where((target > kept[0]) & (n_positive > 0), further, kept), reached


def _nearest_hits(
    fewest: Counts, most: Counts, n_positive: Counts, recall: NDArray[np.float64]
) -> Counts:
    """The number of hits whose recall is nearest, the fewer on ties."""
    guess = recall * n_positive
    tries = [
        np.minimum(np.maximum(np.floor(guess + offset), fewest), most) for offset in (-1, 0, 1, 2)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.stack([np.abs(one / n_positive - recall) for one in tries])
    best = np.nan_to_num(gaps, nan=np.inf).argmin(axis=0)
    return np.stack(tries)[best, np.arange(len(best))].astype(np.int64)
