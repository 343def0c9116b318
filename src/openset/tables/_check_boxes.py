"""Checks of boxes: finite, of positive size, in pixels, in the stated layout, in their image.

Boxes are read once, in pieces that stay in the cache, for their range and for those far outside
their image. Everything else is decided from that range or from an even sample; a mask over all
boxes is built only once something is known to be wrong, to count it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, all_of, any_of, first, image_name, object_at, share
from openset.tables._check_negative import meaning
from openset.tables._check_sides import exchanged, lying, sides
from openset.tables.annotations import Annotations, Images
from openset.tables.smaller_pictures import of_smaller_pictures
from openset.wording import spaced

_PIECE = 1 << 14
_SAMPLE = 5_000
# A box is far outside when it reaches a quarter of the image's side beyond it: detectors that do
# not clip their boxes stay well within that.
_FAR = 1.25
_FEW = 0.02  # share of detected boxes up to which a layout is not in question
_UNIT = 1.05
_SMALLEST_IMAGE = 8.0
_ROUNDED_AWAY = (
    "normalised boxes were cast to whole numbers: nothing is left of them",
    "write them again, as floats, before any int() or astype(int)",
)
_NEGATIVE = (
    "corners in another order, as after mirroring without exchanging them, or width computed as "
    "x1 - x2"
)
_FEWEST_AREAS, _NEARLY_ALL = 20, 0.95
_IN_PART = 0.05  # of the objects
# Boxes that show in what steps numbers are; a side, of which a hundredth is more than a pixel; and
# what rounding to hundredths of a pixel adds, in hundredths of the side.
_SHARES, _COARSE, _HUNDREDTH = 50, 200.0, 0.01
_FILLS, _PICTURES = 0.99, 20  # of its image; images with several such objects
_SHAPE = 0.45  # share of the box that a triangle, a rhombus or an ellipse has at least
_NOT_CLIPPED = ("not clipped to the image", "clip boxes to their image, or nothing: they are few")


class _Boxes(NamedTuple):
    """Boxes of either table, and how to speak of them.

    Attributes:
        noun: What a row is called.
        box: The boxes.
        image: Index of their image, -1 if it is not there.
        limit: Width and height by image, infinite where unknown; the last row is for -1.
        where: Names a row.
        fix: The fix for a given `boxes=` option.
        predicted: Whether a detector made them, which may leave some beyond the image.
    """

    noun: str
    box: NDArray[np.float64]
    image: NDArray[np.int32]
    limit: NDArray[np.float64]
    where: Callable[[int], str]
    fix: Callable[[str], str]
    predicted: bool = False


class _Range(NamedTuple):
    """Smallest and largest value of each column, and the boxes far outside their image."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    far: int
    first_far: int


def truth_boxes(truth: Annotations) -> Iterator[Finding]:
    """Findings about the boxes of the ground truth."""
    limit, turned = _limits(truth.images), [*sides(truth)]
    limit = limit[:, ::-1] if turned else limit  # what is exchanged is said once
    for found, images in () if turned else lying(truth):
        turned.append(found)
        limit = np.where(np.append(images, np.False_)[:, None], limit[:, ::-1], limit)
    boxes = _Boxes(
        noun="ground-truth boxes",
        box=truth.box,
        image=truth.image,
        limit=limit,
        where=lambda row: object_at(truth, row),
        fix=lambda _: "write x, y, width, height in pixels (boxes= converts detections only)",
    )
    yield from _all(boxes, limit, _largest(limit))
    yield from turned
    yield from _whole_images(truth, limit)
    yield from _smaller(truth, limit)
    yield from _areas(truth, limit)
    yield from _image_sizes(truth)


def _whole_images(truth: Annotations, limit: NDArray[np.float64]) -> Iterator[Finding]:
    """Objects that all fill their image, several of them one: labels of images, not boxes."""
    if len(truth) < _PICTURES:
        return
    fills = _sample(truth.box[:, 2:]) >= _FILLS * limit.take(_sample(truth.image), axis=0)
    if all_of(fills).mean() < _NEARLY_ALL:
        return
    per_image = np.bincount(truth.image)
    several = int(np.count_nonzero(per_image > 1))
    if several < _PICTURES:
        return  # an object of each image, which was cropped to it
    yield Finding(
        "OS246",
        Level.ERROR,
        f"objects have the box of their whole image, also on {spaced(several)} images with several",
        count=len(truth),
        example=object_at(truth, first(per_image[truth.image] > 1)),
    )


def _smaller(truth: Annotations, limit: NDArray[np.float64]) -> Iterator[Finding]:
    found = of_smaller_pictures(truth.box, limit.take(truth.image, axis=0))
    if found is not None:
        yield found


def detected_boxes(case: Case) -> Iterator[Finding]:
    """Findings about the boxes of the detections."""
    limit = _limits(case.truth.images)
    boxes = _Boxes(
        noun="detected boxes",
        box=case.detections.box,
        image=case.joined.image,
        limit=limit,
        where=case.where,
        fix=lambda option: f"{option} converts them",
        predicted=True,
    )
    size = _largest(limit)
    if not size.all() and len(case.truth):
        # No size is known: the objects of the ground truth show how far images reach at least.
        size = (case.truth.box[:, :2] + case.truth.box[:, 2:]).max(axis=0)
        limit = np.full_like(limit, size)
    for finding in _all(boxes, limit, size):
        if finding.code != "OS207" or not exchanged(case.truth):  # of which the truth has a finding
            yield finding


def _all(boxes: _Boxes, limit: NDArray[np.float64], size: NDArray[np.float64]) -> Iterator[Finding]:
    if len(boxes.box) == 0:
        return
    extremes = _range(boxes)
    yield from _finite(boxes, extremes)
    yield from _sizes(boxes, extremes)
    layout = [*_normalised(boxes, extremes, size)] or [*_corners(boxes, limit)]
    # Boxes in another layout are far outside as well: one finding says it.
    yield from layout or [*_far(boxes, extremes), *_coarse(boxes)]


def _limits(images: Images) -> NDArray[np.float64]:
    assert images.width is not None
    assert images.height is not None
    limit = np.full((len(images) + 1, 2), np.inf)
    limit[:-1, 0], limit[:-1, 1] = images.width, images.height
    limit[~(limit > 0)] = np.inf
    return limit


def _largest(limit: NDArray[np.float64]) -> NDArray[np.float64]:
    largest: NDArray[np.float64] = np.where(np.isfinite(limit), limit, 0.0).max(axis=0)
    return largest


def _range(boxes: _Boxes) -> _Range:
    low, high = np.full(4, np.inf), np.full(4, -np.inf)
    buffer = np.empty((4, _PIECE))
    far, first_far = 0, -1
    reach = np.ascontiguousarray(_FAR * boxes.limit.T) if np.isfinite(boxes.limit).any() else None
    for start in range(0, len(boxes.box), _PIECE):
        rows = boxes.box[start : start + _PIECE]
        piece = buffer[:, : len(rows)]
        np.copyto(piece, rows.T)
        lowest = piece.min(axis=1)
        np.minimum(low, lowest, out=low)
        np.maximum(high, piece.max(axis=1), out=high)
        if reach is None:
            continue
        outside = _outside(piece, lowest, boxes.image[start : start + _PIECE], reach)
        count = int(np.count_nonzero(outside))
        if count and far == 0:
            first_far = start + first(outside)
        far += count
    return _Range(low, high, far, first_far)


def _outside(
    piece: NDArray[np.float64],
    lowest: NDArray[np.float64],
    image: NDArray[np.int32],
    reach: NDArray[np.float64],
) -> NDArray[np.bool_]:
    at = image.astype(np.intp)  # converted once, not by each look-up
    width, height = reach[0].take(at), reach[1].take(at)
    outside: NDArray[np.bool_] = (piece[0] + piece[2] > width) | (piece[1] + piece[3] > height)
    margin = (1 - _FAR) / _FAR
    if not (lowest[:2] >= margin * reach.min(axis=1)).all():
        outside |= (piece[0] < margin * width) | (piece[1] < margin * height)
    return outside


def _counted(
    boxes: _Boxes, mask: NDArray[np.bool_], code: str, level: Level, what: str, cause: str = ""
) -> Iterator[Finding]:
    count = int(np.count_nonzero(mask))
    if count:
        message = f"{share(count, len(mask), boxes.noun)} {what}"
        example = boxes.where(first(mask))
        yield Finding(code, level, message, count=count, example=example, cause=cause)


def _finite(boxes: _Boxes, extremes: _Range) -> Iterator[Finding]:
    if not np.isfinite([extremes.low, extremes.high]).all():
        mask = ~all_of(np.isfinite(boxes.box))
        yield from _counted(boxes, mask, "OS201", Level.ERROR, "have NaN or infinite coordinates")


def _sizes(boxes: _Boxes, extremes: _Range) -> Iterator[Finding]:
    if (extremes.low[2:] > 0).all():
        return
    size = boxes.box[:, 2:]
    negative = any_of(size < 0)
    cause, fix = meaning(boxes.box, boxes.limit[boxes.image]) if negative.any() else ("", "")
    if not cause and negative.mean() > 0.5:
        cause = _NEGATIVE
    what = "have a negative width or height"
    for finding in _counted(boxes, negative, "OS205", Level.ERROR, what, cause):
        yield replace(finding, fix=fix) if fix else finding
    empty = any_of(size == 0) & ~negative
    yield from _counted(boxes, empty, "OS206", Level.WARNING, "have no width or no height")


def _normalised(boxes: _Boxes, extremes: _Range, size: NDArray[np.float64]) -> Iterator[Finding]:
    if not size.max() >= _SMALLEST_IMAGE or (extremes.high[2:] < 0).any():
        return
    sample = _sample(boxes.box)
    if all_of(np.abs(sample) <= _UNIT).mean() < 0.95:
        return
    mask = all_of(np.abs(boxes.box) <= _UNIT)
    count = int(np.count_nonzero(mask))
    inside = share(count, len(mask), boxes.noun)
    whole = bool((sample == np.round(sample)).all())
    cause, fix = _ROUNDED_AWAY if whole else ("", boxes.fix(_normal_layouts(sample)))
    yield Finding(
        "OS203",
        Level.ERROR,
        f"{inside} lie inside the unit square, but images reach {size[0]:g} x {size[1]:g}",
        count=count,
        example=boxes.where(first(mask)),
        cause=cause,
        fix=fix,
    )


def _normal_layouts(box: NDArray[np.float64]) -> str:
    at, size = box[:, :2], box[:, 2:]
    fits = {
        "cxcywh-norm": (at - size / 2 > -0.01) & (at + size / 2 < 1.01),
        "xywh-norm": at + size < 1.01,
        "xyxy-norm": size > at,
    }
    names = [name for name, ok in fits.items() if all_of(ok).mean() > 0.99] or list(fits)
    return " or ".join(f"boxes={name!r}" for name in names)


def _corners(boxes: _Boxes, limit: NDArray[np.float64]) -> Iterator[Finding]:
    beyond, fits = _readings(_sample(boxes.box), limit.take(_sample(boxes.image), axis=0))
    if len(beyond) < 3 or beyond.mean() <= 0.5 or fits.mean() < 0.95:
        yield from [] if boxes.predicted else _corners_in_part(boxes, beyond, fits)
        return
    beyond, fits = _readings(boxes.box, limit[boxes.image])
    count = int(np.count_nonzero(beyond))
    yield Finding(
        "OS204",
        Level.ERROR,
        f"{share(count, len(beyond), boxes.noun)} leave their image when read as x, y, width, "
        f"height, and {share(int(np.count_nonzero(fits)), len(fits), 'fit')} when read as corners",
        count=count,
        example=boxes.where(0),
        cause="the boxes are x1, y1, x2, y2",
        fix=boxes.fix("boxes='xyxy'"),
    )


def _corners_in_part(
    boxes: _Boxes, beyond: NDArray[np.bool_], fits: NDArray[np.bool_]
) -> Iterator[Finding]:
    """Corners in a part of the objects: those that leave their image fit as such, nearly all.

    An object that was annotated beyond the border begins near it, and is no corner of anything.
    """
    count = int(np.count_nonzero(beyond))
    if count < max(_FEWEST_AREAS, _IN_PART * len(beyond)) or fits[beyond].mean() < 0.95:
        return
    end = boxes.box[:, :2] + boxes.box[:, 2:]
    yield Finding(
        "OS204",
        Level.ERROR,
        f"{share(count, len(beyond), boxes.noun + ' examined')} leave their image when read as x, "
        f"y, width, height, and {share(int(fits[beyond].sum()), count, 'of these')} fit when read "
        "as corners",
        count=count,
        example=boxes.where(first(any_of(end > 1.02 * boxes.limit[boxes.image] + 1))),
        cause="the boxes of a part of the file are x1, y1, x2, y2, as where files were merged",
        fix="write x, y, width, height in that part, too",
    )


def _readings(
    box: NDArray[np.float64], limit: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which boxes leave their image as ``x, y, width, height``, and which fit as corners."""
    known = all_of(np.isfinite(limit))
    box, limit = box[known], 1.02 * limit[known] + 1
    at, size = box[:, :2], box[:, 2:]
    return any_of(at + size > limit), all_of((size > at) & (size <= limit))


def _far(boxes: _Boxes, extremes: _Range) -> Iterator[Finding]:
    if extremes.far == 0:
        return
    total = len(boxes.box)
    centres = extremes.far > 0.01 * total and _fit_as_centres(boxes)
    few = boxes.predicted and not centres and extremes.far <= _FEW * total
    cause, fix = _NOT_CLIPPED if few else ("", "")
    if centres:
        cause = "the boxes are centre x, centre y, width, height"
        fix = boxes.fix("boxes='cxcywh'")
    yield Finding(
        "OS207",
        Level.NOTE if few else Level.WARNING,
        f"{share(extremes.far, total, boxes.noun)} reach more than a quarter of the side of their "
        "image beyond it",
        count=extremes.far,
        example=boxes.where(extremes.first_far),
        cause=cause,
        fix=fix,
    )


def _coarse(boxes: _Boxes) -> Iterator[Finding]:
    """Boxes all of whose numbers are hundredths of their image: shares with two digits."""
    box, limit = _sample(boxes.box), boxes.limit.take(_sample(boxes.image), axis=0)
    sized = all_of(np.isfinite(limit) & (limit >= _COARSE)) & all_of(np.isfinite(box))
    if np.count_nonzero(sized) < _SHARES:
        return
    at, size = (100 * part[sized] / limit[sized] for part in (box[:, :2], box[:, 2:]))
    for some, others in ((size, at + size / 2), (at, at + size)):
        if _whole(some).mean() < _NEARLY_ALL:  # as nearly always
            continue
        numbers = np.hstack([others, some])
        whole = _whole(numbers)
        if whole.mean() < _NEARLY_ALL:
            continue
        different = len(np.unique(np.round(numbers[whole]), axis=0))  # all may be whole images
        if different >= _SHARES // 2:
            row = first(boxes.limit[boxes.image, 0] >= _COARSE)
            yield Finding(
                "OS245",
                Level.WARNING,
                f"{boxes.noun} are whole hundredths of the width and height of their image: "
                f"{limit[sized].max() / 100:.1f} pixels at most are one step",
                count=len(boxes.box),
                example=boxes.where(row),
            )
            return


def _whole(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Rows of nearly whole numbers."""
    return all_of(np.abs(numbers - np.round(numbers)) <= _HUNDREDTH)


def _fit_as_centres(boxes: _Boxes) -> bool:
    box, limit = boxes.box, boxes.limit[boxes.image]
    at, half = box[:, :2], box[:, 2:] / 2
    slack = 0.02 * limit + 1
    fits = all_of((at - half >= -slack) & (at + half <= limit + slack))
    return bool(fits.mean() > 0.99)


def _sample(rows: NDArray[Any]) -> NDArray[Any]:
    return rows[:: -(-len(rows) // _SAMPLE)]


def _areas(truth: Annotations, limit: NDArray[np.float64]) -> Iterator[Finding]:
    assert truth.area is not None
    larger = truth.area > 1.01 * (limit[:, 0] * limit[:, 1])[truth.image]
    yield from _odd_areas(
        truth, larger, "OS211", Level.WARNING, "have an area larger than their image"
    )
    if len(truth) and not truth.area.min() >= 0:
        # The area of a box that is wrong itself is not worth a second finding.
        wrong = ~(truth.area >= 0) & all_of(truth.box[:, 2:] >= 0)
        yield from _odd_areas(
            truth, wrong, "OS212", Level.ERROR, "have an area that is negative or not a number"
        )
    if len(truth) and truth.area.min() == 0:
        nothing = (truth.area == 0) & all_of(truth.box[:, 2:] > 0)
        what = "have the area 0, although their boxes have one"
        yield from _odd_areas(truth, nothing, "OS212", Level.WARNING, what)
    yield from _area_scale(truth)


def _area_scale(truth: Annotations) -> Iterator[Finding]:
    """Areas that are no pixels of the image that boxes are in.

    A mask may be a thin part of its box, but has a pixel, and is no larger than the box; one share
    for all objects, such as that of ellipses, is large.
    """
    assert truth.area is not None
    if len(truth) < _FEWEST_AREAS:
        return
    size, area = _sample(truth.box[:, 2:]), _sample(truth.area)
    use = (area > 0) & all_of(np.isfinite(size) & (size >= _SMALLEST_IMAGE))
    if np.count_nonzero(use) < _FEWEST_AREAS:
        return
    inside, area = size[use].prod(axis=1), area[use]
    low, middle, high = np.quantile(area / inside, (0.05, 0.5, 0.95))
    around = (1 + 2 / size[use]).prod(axis=1)  # of a box with its border: some count pixels so
    larger = np.mean(area > 1.05 * around * inside) > _NEARLY_ALL
    if np.mean(area < 1) > _NEARLY_ALL:
        cause = "areas are shares of the image"
    elif larger or (high < 1.02 * low and middle < _SHAPE):
        cause = f"areas are of images {np.sqrt(middle):.2g} times as large as those of the boxes"
    else:
        return
    yield Finding(
        "OS240",
        Level.WARNING,
        f"areas do not fit boxes: {middle:.2g} times width x height in the middle",
        count=len(truth),
        example=f"{object_at(truth, 0)}, area {truth.area[0]:g}",
        cause=cause,
    )


def _odd_areas(
    truth: Annotations, mask: NDArray[np.bool_], code: str, level: Level, what: str
) -> Iterator[Finding]:
    assert truth.area is not None
    count = int(np.count_nonzero(mask))
    if count:
        yield Finding(
            code,
            level,
            f"{share(count, len(truth), 'objects')} {what}",
            count=count,
            example=f"{object_at(truth, first(mask))}, area {truth.area[first(mask)]:g}",
        )


def _image_sizes(truth: Annotations) -> Iterator[Finding]:
    assert truth.images.width is not None
    assert truth.images.height is not None
    wrong = (truth.images.width <= 0) | (truth.images.height <= 0)
    count = int(np.count_nonzero(wrong))
    if count:
        row = first(wrong)
        size = f"{truth.images.width[row]:g} x {truth.images.height[row]:g}"
        yield Finding(
            "OS213",
            Level.WARNING,
            f"{share(count, len(wrong), 'images')} have no positive width and height",
            count=count,
            example=f"image {image_name(truth, row)}, {size}",
        )
