"""Checks of scores: finite, in 0..1, not all the same, not cut; of unknownness, that it ranks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, first, share
from openset.wording import spaced

_MANY = 0.1
_LOGARITHMS = 10.0  # percentages of a detector that is ever sure are larger
_SCALES = (255, 1000)  # of bytes, and per mille
_DIVIDE = "divide the scores"
_OTHERWISE = "; force=True ranks by the scores as they are"
_SEVERAL, _PART = 5, 0.2  # detections of an image, and the share of images, that tell a part
# A lowest score from which a cut is noted, and warned of: up to 0.1 little is lost.
_NOTED, _WARNED = 0.12, 0.25
_FEWEST, _NEAR, _EDGE = 100, 0.1, 0.05  # detections; of the range above the lowest, and their share


def scores(case: Case) -> Iterator[Finding]:
    """Findings about scores."""
    values = case.detections.score
    if len(values) == 0:
        return
    low, high = float(values.min()), float(values.max())
    yield from _finite(case, "score", values, low, high)
    unknownness = case.detections.unknownness
    if unknownness is not None:
        extremes = float(unknownness.min()), float(unknownness.max())
        yield from _finite(case, "unknownness", unknownness, *extremes)
        yield from _score_again(case, unknownness)
        yield from _no_ranking(case, unknownness, *extremes)
    if not (low >= 0 and high <= 1):
        yield from _outside(case, values)
    if low == high and len(values) > 1:
        yield Finding(
            "OS209",
            Level.WARNING,
            f"all {spaced(len(values))} scores are {low:g}",
            count=len(values),
            example=case.where(0),
        )
    elif low >= _NOTED and high <= 1:
        yield from _cut(case, low, high)


def _cut(case: Case, low: float, high: float) -> Iterator[Finding]:
    """Scores that begin as if cut off: many just above the lowest.

    Scores that are high by nature thin out towards their lowest.
    """
    values = case.detections.score
    near = int(np.count_nonzero(values <= low + _NEAR * (high - low)))
    if len(values) < _FEWEST or near < _EDGE * len(values):
        return
    cut = np.floor(100 * low + 1e-6) / 100
    yield Finding(
        "OS218",
        Level.WARNING if low >= _WARNED else Level.NOTE,
        f"no score is below {cut:.2f}: the file was cut there; AP, recall, A-OSE and unknown "
        "recall are of that cut",
        count=len(values),
        example=f"{case.where(int(values.argmin()))}, score {low:g}",
        fix=f"export from a score of 0.001 to 0.05; minimum_score={cut:g} says that it is meant",
    )


def _score_again(case: Case, unknownness: NDArray[np.float64]) -> Iterator[Finding]:
    """Unknownness that is the score: what a detector is surest of would look most unknown."""
    values = case.detections.score
    if values.min() < values.max() and np.array_equal(values, unknownness):
        yield Finding(
            "OS319",
            Level.WARNING,
            f"the unknownness of all {spaced(len(values))} detections is their score",
            count=len(values),
            example=f"{case.where(0)}, {values[0]:g}",
        )


def _no_ranking(
    case: Case, values: NDArray[np.float64], low: float, high: float
) -> Iterator[Finding]:
    """Unknownness of one value, which tells nothing, or of two, which is a decision."""
    if len(values) < 2 or not np.isfinite([low, high]).all():
        return
    n, example = spaced(len(values)), f"{case.where(0)}, {values[0]:g}"
    if low == high:
        said = f"the unknownness of all {n} detections is {low:g}: AUROC is 0.5 by ties alone"
        yield Finding("OS339", Level.WARNING, said, len(values), example)
    elif len(values) >= _FEWEST and ((values == low) | (values == high)).all():
        said = f"the unknownness of all {n} detections is {low:g} or {high:g}: there is one "
        said += "threshold, and AUROC and FPR are of its two ends"
        yield Finding("OS339", Level.NOTE, said, len(values), example)


def _finite(
    case: Case, name: str, values: NDArray[np.float64], low: float, high: float
) -> Iterator[Finding]:
    if np.isfinite([low, high]).all():
        return
    bad = ~np.isfinite(values)
    count = int(np.count_nonzero(bad))
    yield Finding(
        "OS202",
        Level.ERROR,
        f"{share(count, len(values), 'detections')} have a NaN or infinite {name}",
        count=count,
        example=f"{case.where(first(bad))}, {name} {values[first(bad)]}",
    )


def few_outside(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Scores outside 0..1 where nearly all are inside; none where the scale is another."""
    outside = _is_outside(values)
    return outside & bool(outside.mean() <= _MANY) if len(values) else outside


def _is_outside(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    # Rounding in single precision is no mistake.
    return np.isfinite(values) & ((values < 0) | (values > 1 + 1e-6))


def _outside(case: Case, values: NDArray[np.float64]) -> Iterator[Finding]:
    outside = _is_outside(values)
    count = int(np.count_nonzero(outside))
    if count == 0:
        return
    kind, fix = _scale(values[np.isfinite(values)], count)
    if kind:
        kind, fix = _ranks(case, values) or (kind, fix)
    if _DIVIDE in fix:
        kind, fix = _of_some_images(case, outside) or (kind, fix)
    yield Finding(
        "OS208",
        Level.ERROR if kind else Level.WARNING,
        f"{share(count, len(values), 'scores')} are outside 0..1" + (f": {kind}" if kind else ""),
        count=count,
        example=f"{case.where(first(outside))}, score {values[first(outside)]:g}",
        cause=kind,
        fix=fix,
    )


def _ranks(case: Case, values: NDArray[np.float64]) -> tuple[str, str] | None:
    """Cause and fix where scores are 1, 2, 3 ... on every image."""
    _, image, count = np.unique(case.detections.image, return_inverse=True, return_counts=True)
    order = np.lexsort((values, image))
    starts = np.concatenate([[0], np.cumsum(count)[:-1]])
    place = np.arange(len(values)) - np.repeat(starts, count) + 1
    if count.max() < 3 or not (values[order] == place).all():
        return None
    kind = "these are ranks: 1, 2, 3 on every image"
    return kind, "write the confidence itself: ranks of two images cannot be compared" + _OTHERWISE


def _of_some_images(case: Case, outside: NDArray[np.bool_]) -> tuple[str, str] | None:
    """Cause and fix where the scores of a part of the images alone are of another scale."""
    names, image, count = np.unique(case.detections.image, return_inverse=True, return_counts=True)
    some = np.bincount(image, outside) > 0
    asked = count >= _SEVERAL  # fewer may all be low
    inside = int(np.count_nonzero(asked & ~some))
    if inside < _PART * np.count_nonzero(asked) or inside < _SEVERAL:
        return None
    which = f"{np.count_nonzero(some)} of {len(names)} images"
    kind = f"the scores of {which} are of another scale than the others, which reach 1"
    return kind, f"divide the scores of these images alone, or write all by one program{_OTHERWISE}"


def _scale(values: NDArray[np.float64], outside: int) -> tuple[str, str]:
    if outside <= _MANY * len(values):
        return "", ""
    otherwise = _OTHERWISE
    if values.min() < 0:
        return "these look like logits", "apply the sigmoid or softmax" + otherwise
    if values.max() <= _LOGARITHMS:
        kind = "these look like logits, or like negative logarithms"
        return kind, "write a confidence from 0 to 1: larger = more certain" + otherwise
    if values.max() <= 100:
        return "these look like percentages", f"{_DIVIDE} by 100" + otherwise
    scale = next((most for most in _SCALES if values.max() <= most), 0)
    if scale:
        return f"these look like 0 to {scale}", f"{_DIVIDE} by {scale}" + otherwise
    return "these are of another scale", f"{_DIVIDE} by the largest possible one" + otherwise
