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
        bits = (flags[begin:end, None] >> np.arange(n_flags, dtype=np.uint8)) & np.uint8(1)
        for columns in blocks(end - begin, n_resamples):
            table = weights[image[begin:end], columns].astype(np.int64)
            found = (
                _nearest(table, bits, n_positive[klass, columns], recall[columns])
                if score is None
                else _threshold(
                    table, bits, n_positive[klass, columns], recall[columns], score[begin:end]
                )
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
    recall: NDArray[np.float64],
    score: NDArray[np.float64],
) -> tuple[Counts, NDArray[np.bool_]]:
    last = np.append(np.flatnonzero(score[1:] != score[:-1]), len(score) - 1)
    total = [np.cumsum(table * bit[:, None], axis=0)[last] for bit in bits.T]
    enough = _recall(total[0], n_positive) >= recall
    enough &= total[0] > 0  # a level of 0 is reached with the first hit, not before
    reached = np.asarray(enough.any(axis=0))
    at, columns = enough.argmax(axis=0), np.arange(table.shape[1])
    return np.stack([np.where(reached, one[at, columns], 0) for one in total]), reached


def _nearest(
    table: Counts, bits: NDArray[np.uint8], n_positive: Counts, recall: NDArray[np.float64]
) -> tuple[Counts, NDArray[np.bool_]]:
    """The first detection, one copy of it, unless more hits come nearer."""
    columns = np.arange(table.shape[1])
    reached = np.asarray(table.any(axis=0))
    kept = bits[(table > 0).argmax(axis=0)].T.astype(np.int64) * reached
    hits = np.flatnonzero(bits[:, 0])
    if not len(hits):
        return kept, reached
    total = [np.cumsum(table * bit[:, None], axis=0)[hits] for bit in bits.T]
    target = _nearest_hits(kept[0], total[0][-1], n_positive, recall)
    at = (total[0] >= target).argmax(axis=0)
    further = (target > kept[0]) & (n_positive > 0)
    copies = target - (total[0] - table[hits])[at, columns]
    for f, count in enumerate(total):
        before = count[at, columns] - table[hits][at, columns] * bits[hits, f][at]
        kept[f] = np.where(further, before + copies * bits[hits, f][at], kept[f])
    return kept, reached


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
