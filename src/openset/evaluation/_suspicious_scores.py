"""Scores that look upside down, or mean nothing: warnings, since a detector can be that bad."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.evaluation._seen import Rows, evenly, overlap, under
from openset.evaluation._within_images import within_images
from openset.findings import Finding, Level
from openset.matching import Matches
from openset.matching.near import FITS, TOUCHES
from openset.ranking import area_under_roc, clearly_below_half, rank
from openset.wording import spaced

# Boxes of each kind; the share of pairs that the order of a file decides; and a step of scores: of
# two digits, or 8 bits, hardly one pair in ten is tied.
_BOXES, _TIED, _STEP = 20, 0.1, 0.015
_IMAGES, _TELLS = 50, 0.55  # images, and an area up to which scores say nothing
_ALONG = 0.03  # correlation of ranks: two standard deviations of 5 000 boxes


def suspicious_scores(matches: Matches) -> list[Finding]:
    """Boxes with known labels on background that score as high as those that are right, or higher.

    Those on other objects play no part: to be sure of an unknown object is what is measured.
    """
    right, wrong = _right_and_wrong(matches, evenly(matches.known_end))
    if not len(wrong) or not len(right):
        return []
    area = float(area_under_roc(rank(matches.score[wrong], matches.score[right])))
    said = "a box on background scores higher than one on an object of its class"
    order = _upside_down("OS318", matches, "score", (wrong, right), area, said)
    order = order or _unrelated(matches, wrong, right, area) or within_images(matches, area)
    return [one for one in (order, _coarse(matches, wrong, right)) if one is not None]


def _right_and_wrong(matches: Matches, rows: Rows) -> tuple[Rows, Rows]:
    """Boxes on an object of their class, and boxes on background."""
    same, _ = overlap(matches, "same", rows)
    return rows[same >= FITS], rows[under(matches, rows)[0] < TOUCHES]


def _coarse(matches: Matches, wrong: Rows, right: Rows) -> Finding | None:
    """The finding that many boxes have one score, so that the order of the file ranks them."""
    if min(len(wrong), len(right)) < _BOXES:
        return None
    values, at = np.unique(matches.score[np.append(right, wrong)], return_inverse=True)
    counts = [np.bincount(part, minlength=len(values)) for part in np.split(at, [len(right)])]
    pairs = counts[0] * counts[1]
    share = float(pairs.sum()) / (len(right) * len(wrong))
    step = float(np.diff(values).min(initial=np.inf))
    # Of a single score OS209 speaks; many equal ones among fine ones were clipped.
    if share < _TIED or len(values) == 1 or step < _STEP * max(1.0, float(np.ptp(values))):
        return None
    most = float(values[pairs.argmax()])
    cast = len(values) == 2 and values[0] == 0  # what is decided against is not written by itself
    same = int(np.count_nonzero(matches.score == most))
    matches.forget()
    return Finding(
        "OS220",
        Level.NOTE if len(values) == 2 and not cast else Level.WARNING,  # a decision is no slip
        f"a box on an object of its class and one on background have the same score in {share:.0%} "
        f"of pairs: {spaced(len(right) + len(wrong))} boxes examined have {len(values)} scores, in "
        f"steps of {step:.3g}",
        count=len(matches),
        example=f"{spaced(same)} of {spaced(len(matches))} boxes score {most:g}",
        cause="scores were cast to whole numbers, or put through a threshold" if cast else "",
    )


def _unrelated(matches: Matches, wrong: Rows, right: Rows, area: float) -> Finding | None:
    """The finding that scores do not tell right boxes from background, of many images.

    A detector may be that bad; but a file that is in order of such scores was sorted in part. A
    note shows its message alone, which says the likely cause.
    """
    score = matches.score
    if area > _TELLS or score[right].min() == score[right].max():  # of equal ones OS209 speaks
        return None
    if min(len(np.unique(matches.image[rows])) for rows in (wrong, right)) < _IMAGES:
        return None
    row = int(right[score[right].argmin()])
    in_order = matches.trend.falls or matches.trend.rises
    apart = "" if in_order else ": they are random, or were written apart from their boxes"
    return Finding(
        "OS332",
        Level.WARNING if in_order else Level.NOTE,
        f"a box on an object of its class scores higher than one on background in {area:.0%} of "
        f"pairs, as if by chance{apart}",
        count=len(wrong) + len(right),
        example=f"image {matches.image_ids[matches.image[row]]}, score {score[row]:g}",
    )


def suspicious_unknownness(matches: Matches) -> Finding | None:
    """Boxes on unknown objects that look less unknown than those that are right."""
    if matches.unknownness is None:
        return None
    rows = evenly(len(matches))
    iou, best = under(matches, rows)
    near = (iou >= FITS) & ~matches.objects.ignored[best]
    unknown = near & (matches.objects.klass[best] == matches.n_known)
    right = near & ~unknown & (matches.objects.klass[best] == matches.class_at(rows))
    said = "a box on an unknown object looks less unknown than one on a known object of its class"
    low, high = rows[right], rows[unknown]
    if not len(low) or not len(high):
        return None
    area = float(area_under_roc(rank(matches.unknownness[low], matches.unknownness[high])))
    upside_down = _upside_down("OS319", matches, "unknownness", (low, high), area, said)
    return upside_down or _tells_nothing(matches, rows, (low, high), area)


def _tells_nothing(
    matches: Matches, rows: Rows, low_high: tuple[Rows, Rows], area: float
) -> Finding | None:
    """The note that unknownness has to do neither with unknown objects nor with scores.

    A scorer may be as bad as chance; but one that looks at boxes at all goes along with scores.
    """
    assert matches.unknownness is not None
    values, score = matches.unknownness[rows], matches.score[rows]
    if not 1 - _TELLS <= area <= _TELLS or min(np.ptp(values), np.ptp(score)) == 0:
        return None
    if min(len(np.unique(matches.image[some])) for some in low_high) < _IMAGES:
        return None
    along = np.corrcoef(values.argsort().argsort(), score.argsort().argsort())[0, 1]
    if abs(along) > _ALONG:
        return None
    return Finding(
        "OS373",
        Level.NOTE,
        f"a box on an unknown object looks more unknown than a right one in {area:.0%} of pairs, "
        f"as if by chance, and unknownness does not go along with scores (correlation {along:.2f})",
        count=sum(map(len, low_high)),
        example=f"image {matches.image_ids[matches.image[rows[0]]]}, unknownness {values[0]:g}",
    )


def _upside_down(
    code: str,
    matches: Matches,
    name: str,
    low_high: tuple[Rows, Rows],
    area: float,
    said: str,
) -> Finding | None:
    """The finding that the second population is below the first, if chance is no explanation.

    Boxes of one image resemble each other, so the images are what counts.
    """
    if area >= 0.5:  # nearly always: no need to count
        return None
    low, high = low_high
    values: NDArray[np.float64] = getattr(matches, name)
    images = [len(np.unique(matches.image[rows])) for rows in low_high]
    if min(images) < 2 or not clearly_below_half(area, *images):
        return None
    row = int(high[values[high].argmin()])
    return Finding(
        code,
        Level.WARNING,
        f"{said} in {1 - area:.0%} of pairs",
        count=len(low) + len(high),
        example=f"image {matches.image_ids[matches.image[row]]}, {name} {values[row]:g}",
    )
