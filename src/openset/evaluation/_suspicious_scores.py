"""Scores that look upside down, or mean nothing: warnings, since a detector can be that bad."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from openset.evaluation._seen import Rows, evenly, overlap, under
from openset.findings import Finding, Level
from openset.matching import Matches
from openset.matching.near import FITS, TOUCHES
from openset.ranking import area_under_roc, clearly_below_half, rank

_IMAGES, _TELLS = 50, 0.55  # images, and an area up to which scores say nothing
_ALONG = 0.03  # correlation of ranks: two standard deviations of 5 000 boxes


def suspicious_scores(matches: Matches) -> Finding | None:
    """Boxes with known labels on background that score higher than those that are right.

    Those on other objects play no part: to be sure of an unknown object is what is measured.
    """
    rows = evenly(matches.known_end)
    same, _ = overlap(matches, "same", rows)
    right, wrong = rows[same >= FITS], rows[under(matches, rows)[0] < TOUCHES]
    if not len(wrong) or not len(right):
        return None
    area = float(area_under_roc(rank(matches.score[wrong], matches.score[right])))
    said = "a box on background scores higher than one on an object of its class"
    upside_down = _upside_down("OS318", matches, "score", (wrong, right), area, said)
    return upside_down or _unrelated(matches, wrong, right, area)


def _unrelated(matches: Matches, wrong: Rows, right: Rows, area: float) -> Finding | None:
    """The finding that scores do not tell right boxes from background, of many images.

    A detector may be that bad; but a file that is in order of such scores was sorted in part.
    """
    score = matches.score
    if area > _TELLS or score[right].min() == score[right].max():  # of equal ones OS209 speaks
        return None
    if min(len(np.unique(matches.image[rows])) for rows in (wrong, right)) < _IMAGES:
        return None
    row = int(right[score[right].argmin()])
    in_order = matches.trend.falls or matches.trend.rises
    return Finding(
        "OS332",
        Level.WARNING if in_order else Level.NOTE,
        f"a box on an object of its class scores higher than one on background in {area:.0%} of "
        "pairs, as if by chance",
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
