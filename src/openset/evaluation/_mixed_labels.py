"""Labels of other boxes of the same image: boxes and scores were filtered, labels were not.

Where ``labels`` was not indexed like ``boxes``, an image has the right labels at the wrong boxes.
So its labels say what is in it, far better than those of other images, and yet which box has which
of them tells nothing: any order of them within the image would agree with the objects as well.
Even a detector that has hardly learned to tell classes tells them better within an image than so.
"""

from __future__ import annotations

import math

import numpy as np

from openset.evaluation._seen import Seen
from openset.findings import Finding, Level
from openset.matching import Matches
from openset.wording import spaced

_RIGHT = 0.6  # of the boxes on objects: with more, labels are in order
_IMAGES = 30  # with two labels and two classes
_ORDER = 2  # standard deviations that an order of labels may be better than any
_TIMES, _ABOVE = 2, 5  # as right as by chance over all images, and standard deviations


def mixed_labels(matches: Matches, seen: Seen) -> Finding | None:
    """The finding that labels are those of other boxes of their image."""
    if len(seen.said) < 2 * _IMAGES or (seen.said == seen.on).mean() > _RIGHT:
        return None
    order = np.argsort(seen.image, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(seen.image[order])) + 1)
    parts = [rows for rows in parts if _several(seen, rows)]
    if len(parts) < _IMAGES:
        return None
    right, expected, variance = np.sum([_agreement(seen, rows) for rows in parts], axis=0)
    rows = np.concatenate(parts)
    said, on = (np.bincount(one[rows], minlength=seen.size) for one in (seen.said, seen.on))
    anywhere = float(said @ on) / len(rows)
    if right - expected > _ORDER * math.sqrt(variance):
        return None
    if expected < max(_TIMES * anywhere, anywhere + _ABOVE * math.sqrt(anywhere)):
        return None
    return Finding(
        "OS346",
        Level.WARNING,
        f"{spaced(int(right))} of {spaced(len(rows))} boxes on objects of {len(parts)} images have "
        f"the right label, no more than if labels were drawn among those of their image "
        f"({expected:.0f}), though images have the right ones (by chance: {anywhere:.0f})",
        count=len(rows),
        example=f"image {matches.image_ids[seen.image[parts[0][0]]]}",
    )


def _several(seen: Seen, rows: np.ndarray) -> bool:
    return len({*seen.said[rows].tolist()}) > 1 and len({*seen.on[rows].tolist()}) > 1


def _agreement(seen: Seen, rows: np.ndarray) -> tuple[float, float, float]:
    """How many labels of an image are right, and mean and variance of that over all orders."""
    same = (seen.said[rows][:, None] == seen.on[rows]).astype(np.float64)
    centred = same - same.mean(axis=0) - same.mean(axis=1, keepdims=True) + same.mean()
    return float(np.trace(same)), same.sum() / len(rows), (centred**2).sum() / (len(rows) - 1)
