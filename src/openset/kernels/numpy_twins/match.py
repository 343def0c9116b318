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

from openset.kernels.match import MatchColumns, Problem, output_columns
from openset.kernels.numpy_twins import greedy
from openset.kernels.numpy_twins.sorting import counting_argsort, place_in_run, run_starts

PAIRS_PER_BLOCK = 1 << 18

Columns = dict[str, NDArray[Any] | None]


@dataclass(frozen=True, slots=True)
class Groups:
    """Detections and objects, image by image.

    Attributes:
        position: Positions in class order: by image, then class, then falling score.
        object: Indices of the objects, by image.
        object_start: Where each image starts in ``object``.
        cell: Image and class of each detection, as one number.
        klass: Class of each detection.
        rank: Place of each detection in its cell.
    """

    position: NDArray[np.int32]
    object: NDArray[np.int32]
    object_start: NDArray[np.int64]
    cell: NDArray[np.int64]
    klass: NDArray[np.int32]
    rank: NDArray[np.int32]


def match(problem: Problem) -> MatchColumns:
    """See ``openset.kernels.match``."""
    problem = problem._replace(boxes=problem.columns)  # made once
    groups = _group(problem)
    columns = _no_overlap(problem)
    _column(columns, "area")[:] = problem.columns.area[problem.order]
    _column(columns, "rank")[groups.position] = groups.rank
    found = [greedy.no_pairs(problem)]
    for rows in _blocks(problem, groups):
        pairs = _overlapping_pairs(problem, groups, rows)
        _store_best(problem, groups, pairs, columns)
        found.append(_close_pairs(problem, groups, pairs))
    candidates = greedy.match(problem, groups.cell, greedy.concatenate(found))
    return _sorted_columns(groups, columns, candidates)


def _no_overlap(problem: Problem) -> Columns:
    columns = output_columns(len(problem.image), similar=problem.similar is not None)
    for name, column in columns.items():
        if column is not None:
            column.fill(-1 if name.startswith("object") else 0)
    return columns


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
        klass=problem.klass[index],
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
    row, obj = np.repeat(np.arange(len(index)), counts), groups.object[entry]
    width, row, obj = _touching(problem, "x1", "x2", index, row, obj)
    height, row, obj, width = _touching(problem, "y1", "y2", index, row, obj, width)
    iou = _iou(problem, index[row], obj, width * height)
    positive = np.flatnonzero(iou > 0)
    return greedy.Pairs(row[positive] + rows.start, obj[positive], iou[positive])


def _touching(
    problem: Problem,
    low: str,
    high: str,
    index: NDArray[np.int32],
    row: NDArray[np.intp],
    obj: NDArray[np.int32],
    *more: NDArray[Any],
) -> tuple[NDArray[Any], ...]:
    """Width or height of the intersections, and the pairs for which it is positive."""
    boxes, others = problem.columns, problem.objects.boxes
    end = getattr(boxes, high)[index][row]
    np.minimum(end, getattr(others, high)[obj], out=end)
    begin = getattr(boxes, low)[index][row]
    np.maximum(begin, getattr(others, low)[obj], out=begin)
    end -= begin
    end += end.dtype.type(problem.offset)
    touch = np.flatnonzero(end > 0)
    return tuple(column[touch] for column in (end, row, obj, *more))


def _iou(
    problem: Problem, index: NDArray[np.int32], obj: NDArray[np.int32], shared: NDArray[Any]
) -> NDArray[Any]:
    own = problem.columns.area[index]
    union = own + problem.objects.boxes.area[obj] - shared
    whole = np.where(problem.objects.region[obj], own, union)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(shared / whole)


def _store_best(problem: Problem, groups: Groups, pairs: greedy.Pairs, columns: Columns) -> None:
    """Write the best overlap of each detection with each role of object."""
    klass, other = groups.klass[pairs.row], problem.objects.klass[pairs.object]
    same, unknown = klass == other, other == problem.unknown_class
    countable = ~problem.objects.region[pairs.object]
    roles = {"same": same, "known": ~(same | unknown), "unknown": unknown}
    for name, role in roles.items():
        row, best, first = _best(pairs, role & countable)
        _column(columns, f"iou_{name}")[groups.position[row]] = best
        _column(columns, f"object_{name}")[groups.position[row]] = first
    if problem.similar is not None:
        alike = roles["known"] & problem.similar[klass, other]
        row, best, _ = _best(pairs, alike & countable)
        _column(columns, "iou_similar")[groups.position[row]] = best


def _best(
    pairs: greedy.Pairs, chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.int32]]:
    """Best overlap of each row among the chosen pairs, and the first object that has it."""
    index = np.flatnonzero(chosen)
    row, iou = pairs.row[index], pairs.iou[index]
    start = np.flatnonzero(run_starts(row))
    best = np.maximum.reduceat(iou, start) if len(start) else iou
    is_best = iou == np.repeat(best, np.diff(start, append=len(row)))
    index, row = index[is_best], row[is_best]
    first = run_starts(row)
    return row[first], best, pairs.object[index[first]]


def _close_pairs(problem: Problem, groups: Groups, pairs: greedy.Pairs) -> greedy.Pairs:
    """Keep the pairs of one class that reach the lowest threshold."""
    if not problem.greedy:
        return greedy.no_pairs(problem)
    close = np.flatnonzero(pairs.iou >= greedy.real_thresholds(problem)[0])
    row, obj = pairs.row[close], pairs.object[close]
    same = groups.klass[row] == problem.objects.klass[obj]
    keep = np.flatnonzero(same & (groups.rank[row] < problem.max_detections))
    return greedy.Pairs(row[keep], obj[keep], pairs.iou[close[keep]])
