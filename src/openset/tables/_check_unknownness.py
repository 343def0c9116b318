"""Checks of unknownness: a score of boxes, not of images, no number of a row, none filled in.

A scorer that saturates gives one value to many boxes, but then there are others close to it. A
value that was filled in where none was known is apart from all others, or that of whole images.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, first, share
from openset.wording import spaced

_IMAGES = 20  # with several detections, at least
_VALUES = 10  # that differ, at least: decisions repeat by themselves
_ROWS = 100
_DIGITS = 1e-4  # in which a number of a box that was written again may differ
_SAMPLE = 4_000  # rows, by which a value is known that many have
_FILLED, _WITHIN = 0.05, 0.1  # of the rows, that have one value; if it is among the others
_SIDE = 0.01  # of the others, that are below and above it then
_WHOLE, _WHOLE_IMAGES, _TIMES = 0.9, 8, 3  # of these rows, on images without another; and by chance
# From the next value: a share of the spread of the others, and steps between these, also the next.
_GAP, _STEPS, _BESIDE = 0.05, 5, 20
# Where a bell is cut so that a tenth is at its end, a twentieth of the others is this close to it.
_CLOSE, _FEW = 0.1, 0.02
_ALONG = 0.95  # of boxes with known labels: then the value is what the detector decided


def unknownness(case: Case) -> Iterator[Finding]:
    """The finding that unknownness is one value for each image, or counts rows."""
    values = case.detections.unknownness
    if values is None or len(values) < _IMAGES or values.min() == values.max():
        return  # of one value for all, or none, others speak
    yield from (
        [*_of_images(case, values)]
        or [*_of_rows(case, values)]
        or [*_of_boxes(case, values)]
        or _filled_in(case, values)
    )


def _of_images(case: Case, values: NDArray[np.float64]) -> Iterator[Finding]:
    image = case.joined.image
    if (image < 0).any():
        image = image.copy()
        image[image < 0] = len(case.truth.images)
    order = np.argsort(image, kind="stable") if (image[1:] < image[:-1]).any() else slice(None)
    image, held = image[order], values[order]
    within = image[1:] == image[:-1]
    if not (held[1:] == held[:-1])[within].all():
        return
    several = len(np.unique(image[1:][within]))
    if several < _IMAGES or len(np.unique(values)) < _VALUES:
        return
    yield Finding(
        "OS371",
        Level.WARNING,
        f"all detections of an image have the same unknownness, on each of {spaced(several)} "
        "images with several: it is a score of images, not of boxes",
        count=len(values),
        example=f"{case.where(0)}, unknownness {values[0]:g}",
    )


def _of_rows(case: Case, values: NDArray[np.float64]) -> Iterator[Finding]:
    """A number that rises through the file, or counts the detections of each image.

    Ranks are an honest unknownness, and rise where a file is in their order; but then its images
    are not together.
    """
    image, start, _ = case.runs
    together = len(image) == np.count_nonzero(np.bincount(image + 1))
    if not together or len(values) < _ROWS or len(values) - len(start) < _IMAGES:
        return
    step = np.diff(values)
    rises = bool(len(start) > 1 and ((step > 0).all() or (step < 0).all()))
    if not rises and not _counts(values, start):
        return
    how = "rises or falls from row to row of the file" if rises else "counts those of each image"
    yield Finding(
        "OS372",
        Level.WARNING,
        f"the unknownness of {spaced(len(values))} detections {how}: "
        f"{', '.join(f'{value:g}' for value in values[:3])} ...",
        count=len(values),
        example=f"{case.where(0)}, unknownness {values[0]:g}",
    )


def _of_boxes(case: Case, values: NDArray[np.float64]) -> Iterator[Finding]:
    """A number of the box or of its label, which stands beside it in many files."""
    rows = slice(None, None, -(-len(values) // _SAMPLE))
    box, held = case.detections.box[rows], values[rows]
    if len(held) < _ROWS or len(np.unique(held)) < _VALUES:
        return
    columns = {
        "area": box[:, 2] * box[:, 3],
        "left edge": box[:, 0],
        "upper edge": box[:, 1],
        "width": box[:, 2],
        "height": box[:, 3],
        "number of the label": case.detections.label[rows].astype(np.float64),
    }
    same = [name for name, column in columns.items() if np.allclose(held, column, _DIGITS, 0)]
    if same:
        yield Finding(
            "OS372",
            Level.WARNING,
            f"the unknownness of {spaced(len(values))} detections is the {same[0]} of their boxes",
            count=len(values),
            example=f"{case.where(0)}, unknownness {values[0]:g}",
        )


def _counts(values: NDArray[np.float64], start: NDArray[np.intp]) -> bool:
    """Whether values are one number on the first row of each image, and one more on each next."""
    length = np.diff(start, append=len(values))
    within = np.arange(len(values)) - np.repeat(start, length)
    return len(start) >= _IMAGES and bool((values == values[0] + within).all())


def _filled_in(case: Case, values: NDArray[np.float64]) -> Iterator[Finding]:
    """One value that many boxes have, and that no scorer gave them."""
    if len(values) < _ROWS or not np.isfinite([values.min(), values.max()]).all():
        return
    some = values[:: -(-len(values) // _SAMPLE)]
    held, times = np.unique(some, return_counts=True)
    if len(held) <= _VALUES:
        return
    for at in times.argsort()[::-1]:
        if times[at] < _FILLED / 2 * len(some):
            return
        same = values == held[at]
        count = int(np.count_nonzero(same))
        how = _how_filled(case, same, (held, times), int(at)) if count < len(values) else ""
        if count >= _FILLED * len(values) and how:
            yield Finding(
                "OS375",
                Level.WARNING,
                f"the unknownness of {share(count, len(values), 'detections')} is {held[at]:g}, "
                f"{how}",
                count=count,
                example=f"{case.where(first(same))}, unknownness {held[at]:g}",
            )
            return


def _how_filled(
    case: Case,
    same: NDArray[np.bool_],
    some: tuple[NDArray[np.float64], NDArray[np.int64]],
    at: int,
) -> str:
    """What shows that a value was filled in, in words; nothing if a scorer may have given it.

    Args:
        case: The case.
        same: Which detections have it.
        some: Values of some detections, in order, and how often each occurs.
        at: Which of them it is.
    """
    if _decided(case, same):
        return ""
    images = _whole_images(case, same)
    if images:
        return f"that of all boxes of {spaced(images)} images, and hardly elsewhere"
    others, times = (np.delete(column, at) for column in some)
    value, sides = some[0][at], times[:at].sum() / times.sum()
    if 0 < sides < 1:
        often = some[1][at] >= _WITHIN * some[1].sum() and _SIDE <= sides <= 1 - _SIDE
        alone = len(others) >= (1 - _WITHIN) * times.sum()
        return "in the middle of others that hardly repeat" if often and alone else ""
    nearest = others[::-1] if sides else others
    gap, step = abs(nearest[0] - value), float(np.median(np.diff(others)))
    beside = float(np.abs(np.diff(nearest[: _BESIDE + 1])).mean())
    low, high = np.repeat(others, times.astype(np.intp))[[times.sum() // 10, -times.sum() // 10]]
    spread = float(high - low)
    if gap < max(_GAP * spread, _STEPS * max(step, beside)):
        close = times[np.abs(others - value) <= _CLOSE * spread].sum()
        often = some[1][at] >= max(_WITHIN * some[1].sum(), close / _WITHIN)
        alone = often and close <= _FEW * times.sum() and _fine(step, spread)
        return "and hardly any other is near it" if alone else ""
    return f"apart from all others ({others[0]:.3g} to {others[-1]:.3g})"


def _fine(step: float, spread: float) -> bool:
    """Whether values are written finely enough for several of them to be close to one."""
    return step <= _CLOSE * spread / _VALUES


def _whole_images(case: Case, same: NDArray[np.bool_]) -> int:
    """How many images have one value for all their boxes, if nearly all that have it are there."""
    image, total = case.joined.image, case.per_image[:-1]
    of_image = np.bincount(image[same & (image >= 0)], minlength=len(total))
    several = total > 1
    whole = (of_image == total) & several
    chance = float((total[several] * same.mean() ** total[several]).sum())
    least = max(_WHOLE * of_image.sum(), _TIMES * chance)
    images = int(np.count_nonzero(whole))
    return images if images >= _WHOLE_IMAGES and total[whole].sum() >= least else 0


def _decided(case: Case, same: NDArray[np.bool_]) -> bool:
    """Whether boxes of known labels have the value and others do not, or the reverse."""
    klass, k = case.joined.klass, len(case.vocabulary.known)
    known, unknown = (klass >= 0) & (klass < k), klass == k
    if not known.any() or not unknown.any():
        return False
    shares = same[known].mean(), same[unknown].mean()
    return bool(max(shares) >= _ALONG and min(shares) <= 1 - _ALONG)
