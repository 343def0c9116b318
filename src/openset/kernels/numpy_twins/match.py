"""Best overlaps in NumPy; `greedy` does the greedy part.

All pairs of a detection and an object of its image are laid out as columns, a block of whole
detections at a time so that memory stays bounded. Few pairs overlap; only these are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.kernels.match import MatchColumns, Problem, empty_columns
from openset.kernels.numpy_twins import greedy
from openset.kernels.numpy_twins.sorting import counting_argsort, place_in_run, run_starts

PAIRS_PER_BLOCK = 1 << 18
SAME, KNOWN, UNKNOWN = range(3)  # what an object is to a detection

Columns = dict[str, NDArray[Any] | None]


@dataclass(frozen=True, slots=True)
class Groups:
    """Detections and objects, image by image.

    Attributes:
        position: Positions in class order: by image, then class, then falling score.
        object: Indices of the objects, by image.
        object_start: Where each image starts in ``object``.
        cell: Image and class of each detection, as one number.
        rank: Place of each detection in its cell.
    """

    position: NDArray[np.int32]
    object: NDArray[np.int32]
    object_start: NDArray[np.int64]
    cell: NDArray[np.int64]
    rank: NDArray[np.int32]


def match(problem: Problem) -> MatchColumns:
    """See ``openset.kernels.match``."""
    groups = _group(problem)
    columns = empty_columns(len(problem.image), similar=problem.similar is not None)
    _column(columns, "rank")[groups.position] = groups.rank
    found = [greedy.no_pairs(problem)]
    for rows in _blocks(problem, groups):
        pairs = _overlapping_pairs(problem, groups, rows)
        _store_best(problem, groups, rows, pairs, columns)
        found.append(_close_pairs(problem, groups, pairs))
    candidates = greedy.match(problem, groups.cell, greedy.concatenate(found))
    return _sorted_columns(groups, columns, candidates)


def _sorted_columns(
    groups: Groups, columns: Columns, candidates: greedy.Candidates
) -> MatchColumns:
    position = groups.position[candidates.row]
    by_position = np.argsort(position)
    return MatchColumns(
        **columns,  # type: ignore[arg-type]
        position=position[by_position],
        matched=candidates.matched[by_position],
        ignored=candidates.ignored[by_position],
        object=candidates.object[by_position],
    )


def _column(columns: Columns, name: str) -> NDArray[Any]:
    column = columns[name]
    assert column is not None
    return column


def _group(problem: Problem) -> Groups:
    position = counting_argsort(problem.image[problem.order], problem.n_images).astype(np.int32)
    index = problem.order[position]
    cell = problem.image[index].astype(np.int64) * problem.n_classes + problem.klass[index]
    start = np.zeros(problem.n_images + 1, np.int64)
    np.cumsum(np.bincount(problem.objects.image, minlength=problem.n_images), out=start[1:])
    return Groups(
        position=position,
        object=counting_argsort(problem.objects.image, problem.n_images).astype(np.int32),
        object_start=start,
        cell=cell,
        rank=place_in_run(run_starts(cell)).astype(np.int32),
    )


def _blocks(problem: Problem, groups: Groups) -> Iterator[slice]:
    """Cut the detections, grouped by image, into blocks of a bounded number of pairs."""
    per_image = np.diff(groups.object_start)
    n_pairs = np.cumsum(per_image[problem.image[problem.order[groups.position]]])
    begin, n = 0, len(n_pairs)
    while begin < n:
        before = n_pairs[begin - 1] if begin else 0
        end = int(np.searchsorted(n_pairs, before + PAIRS_PER_BLOCK, side="right"))
        end = max(end, begin + 1)
        yield slice(begin, end)
        begin = end


def _overlapping_pairs(problem: Problem, groups: Groups, rows: slice) -> greedy.Pairs:
    index = problem.order[groups.position[rows]]
    image = problem.image[index]
    counts = groups.object_start[image + 1] - groups.object_start[image]
    before = np.cumsum(counts) - counts
    entry = np.repeat(groups.object_start[image] - before, counts)
    entry += np.arange(len(entry))
    obj = groups.object[entry]
    width = _extent(problem, "x1", "x2", index, counts, obj)
    height = _extent(problem, "y1", "y2", index, counts, obj)
    touch = np.flatnonzero((width > 0) & (height > 0))
    row = np.repeat(np.arange(len(index)), counts)[touch]
    obj = obj[touch]
    iou = _iou(problem, index[row], obj, width[touch] * height[touch])
    positive = np.flatnonzero(iou > 0)
    return greedy.Pairs(row[positive] + rows.start, obj[positive], iou[positive])


def _extent(
    problem: Problem,
    low: str,
    high: str,
    index: NDArray[np.int32],
    counts: NDArray[np.int64],
    obj: NDArray[np.int32],
) -> NDArray[Any]:
    """Width or height of the intersection of every pair."""
    boxes, others = problem.boxes, problem.objects.boxes
    end = np.repeat(getattr(boxes, high)[index], counts)
    np.minimum(end, getattr(others, high)[obj], out=end)
    begin = np.repeat(getattr(boxes, low)[index], counts)
    np.maximum(begin, getattr(others, low)[obj], out=begin)
    end -= begin
    end += end.dtype.type(problem.offset)
    return end


def _iou(
    problem: Problem, index: NDArray[np.int32], obj: NDArray[np.int32], shared: NDArray[Any]
) -> NDArray[Any]:
    own = problem.boxes.area[index]
    union = own + problem.objects.boxes.area[obj] - shared
    whole = np.where(problem.objects.region[obj], own, union)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(shared / whole)


def _store_best(
    problem: Problem, groups: Groups, rows: slice, pairs: greedy.Pairs, columns: Columns
) -> None:
    """Write the best overlap of each detection with each role of object."""
    countable = np.flatnonzero(~problem.objects.region[pairs.object])
    row, obj, iou = pairs.row[countable], pairs.object[countable], pairs.iou[countable]
    position = groups.position[rows]
    klass, other = groups.cell[row] % problem.n_classes, problem.objects.klass[obj]
    role = np.where(other == problem.unknown_class, UNKNOWN, KNOWN)
    role[klass == other] = SAME
    slot = (row - rows.start) * 3 + role
    best = np.zeros((len(position), 3), iou.dtype)
    np.maximum.at(best.reshape(-1), slot, iou)
    winner = np.flatnonzero(iou == best.reshape(-1)[slot])[::-1]  # reversed: the first stays
    first = np.full((len(position), 3), -1, np.int32)
    first.reshape(-1)[slot[winner]] = obj[winner]
    says_unknown = groups.cell[rows] % problem.n_classes == problem.unknown_class
    best[says_unknown, UNKNOWN] = best[says_unknown, SAME]
    first[says_unknown, UNKNOWN] = first[says_unknown, SAME]
    for number, name in ((SAME, "same"), (KNOWN, "known"), (UNKNOWN, "unknown")):
        _column(columns, f"iou_{name}")[position] = best[:, number]
        _column(columns, f"object_{name}")[position] = first[:, number]
    if problem.similar is not None:
        alike = np.flatnonzero((role == KNOWN) & problem.similar[klass, other])
        closest = np.zeros(len(position), iou.dtype)
        np.maximum.at(closest, row[alike] - rows.start, iou[alike])
        _column(columns, "iou_similar")[position] = closest


def _close_pairs(problem: Problem, groups: Groups, pairs: greedy.Pairs) -> greedy.Pairs:
    """Keep the pairs of one class that reach the lowest threshold."""
    if not problem.greedy:
        return greedy.no_pairs(problem)
    close = np.flatnonzero(pairs.iou >= greedy.real_thresholds(problem)[0])
    row, obj = pairs.row[close], pairs.object[close]
    same = groups.cell[row] % problem.n_classes == problem.objects.klass[obj]
    keep = np.flatnonzero(same & (groups.rank[row] < problem.max_detections))
    return greedy.Pairs(row[keep], obj[keep], pairs.iou[close[keep]])
