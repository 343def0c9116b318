"""Operating points in NumPy, a class and a block of resamples at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.kernels.numpy_twins.resample import blocks

Counts = NDArray[np.int64]


def operating_points(
    class_start: NDArray[np.int64],
    image: NDArray[np.int32],
    flags: NDArray[np.uint8],
    weights: NDArray[np.uint8],
    n_positive: NDArray[np.int64],
    recall: float,
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
        bits = (flags[begin:end, None] >> np.arange(n_flags, dtype=np.uint8)) & np.uint8(1)
        for columns in blocks(end - begin, n_resamples):
            table = weights[image[begin:end], columns].astype(np.int64)
            found = (
                _nearest(table, bits, n_positive[klass, columns], recall)
                if score is None
                else _threshold(table, bits, n_positive[klass, columns], recall, score[begin:end])
            )
            counts[klass, :, columns], reached[klass, columns] = found
    return counts, reached


def _recall(hits: Counts, n_positive: Counts) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n_positive > 0, hits / n_positive, np.nan)


def _threshold(
    table: Counts,
    bits: NDArray[np.uint8],
    n_positive: Counts,
    recall: float,
    score: NDArray[np.float64],
) -> tuple[Counts, NDArray[np.bool_]]:
    last = np.append(np.flatnonzero(score[1:] != score[:-1]), len(score) - 1)
    total = [np.cumsum(table * bit[:, None], axis=0)[last] for bit in bits.T]
    enough = _recall(total[0], n_positive) >= recall
    # A level of 0 is reached at the first score that has a hit, not before.
    enough &= np.cumsum(bits[:, 0])[last][:, None] > 0
    reached = np.asarray(enough.any(axis=0))
    at, columns = enough.argmax(axis=0), np.arange(table.shape[1])
    return np.stack([np.where(reached, one[at, columns], 0) for one in total]), reached


def _nearest(
    table: Counts, bits: NDArray[np.uint8], n_positive: Counts, recall: float
) -> tuple[Counts, NDArray[np.bool_]]:
    """The first detection stands by itself; after that only hits can come nearer."""
    columns = np.arange(table.shape[1])
    reached = np.asarray(table.any(axis=0))
    first = (table > 0).argmax(axis=0)
    kept = bits[first].T.astype(np.int64) * reached
    gap = np.abs(_recall(kept[0], n_positive) - recall)
    hits = np.flatnonzero(bits[:, 0])
    if len(hits):
        before = [
            np.cumsum(table * bit[:, None], axis=0)[hits] - table[hits] * bit[hits, None]
            for bit in bits.T
        ]
        copies = _nearest_copy(before[0], table[hits], n_positive, recall)
        gaps = np.abs(_recall(before[0] + copies, n_positive) - recall)
        gaps = np.where((table[hits] > 0) & ~np.isnan(gaps), gaps, np.inf)
        at = gaps.argmin(axis=0)
        best = gaps[at, columns]
        better = best < gap  # False where recall is NaN: the first detection stays
        for f, count in enumerate(before):
            there = count[at, columns] + copies[at, columns] * bits[hits, f][at]
            kept[f] = np.where(better, there, kept[f])
    return kept, reached


def _nearest_copy(before: Counts, weights: Counts, n_positive: Counts, recall: float) -> Counts:
    """Which copy of a hit comes nearest to the level, the earlier one on ties."""
    short_of = recall * n_positive - before
    return np.clip(np.ceil(short_of - 0.5), 1, np.maximum(weights, 1)).astype(np.int64)
