"""Left out: what took no part in a number, said beside it; and what it rests on, counted.

Classes without an object, objects that are ignored, images without a detection, detections beyond a
limit: published code drops them without a word, and two numbers that dropped different things are
compared. Every metric says here what it has dropped, and names its `count`.

Not what an input lost before it was matched (labels, images): findings say that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.matching import Matches
from openset.metrics._spec import Left, Value

Mask = NDArray[np.bool_]
Maybe = Left | None  # what was left out, if anything was


def resting(value: Value, *left: Maybe, **counts: Any) -> Value:
    """A value of the data itself with what it rests on; of resamples, as it is.

    Args:
        value: The value.
        left: What was left out.
        counts: What it rests on. The first is its `count`.
    """
    if value.value is None or np.ndim(value.value):
        return value
    whole = {name: int(number) for name, number in counts.items()}
    count = next(iter(whole.values()))
    return replace(value, count=count, rests_on=whole, left_out=tuple(filter(None, left)))


def also(value: Value, *left: Maybe, **counts: Any) -> Value:
    """A value that says what it rests on, saying more of it."""
    return resting(value, *value.left_out, *left, **{**value.rests_on, **counts})


def few_classes(kept: int, classes: int, why: str, what: str = "known classes") -> Maybe:
    """Of so many classes, some take no part."""
    return Left(classes - kept, what, why, of=classes) if kept < classes else None


def few_detected(matches: Matches) -> Maybe:
    """Known classes without a detection."""
    if matches.weights is not None:
        return None
    detected = int(np.count_nonzero(matches.detected_by_class[:-1]))
    return few_classes(detected, matches.n_known, "have no detection")


def ignored_objects(matches: Matches, *, unknown: bool) -> Maybe:
    """Objects that the protocol ignores, known or unknown ones."""
    klass = matches.objects.klass
    of_role = klass == matches.n_known if unknown else klass < matches.n_known
    return _none_of(
        matches, of_role & matches.objects.ignored, _role(unknown) + " object", "ignored"
    )


def neither(matches: Matches, mask: Mask) -> Maybe:
    """Detections of a mask that are neither right nor wrong."""
    if matches.weights is not None:
        return None
    return _none_of(
        matches, mask & matches.outcome().ignored, "detection", "neither right nor wrong"
    )


def beyond(matches: Matches, *, unknown: bool, limit: int | None = None) -> Maybe:
    """Detections beyond the limit of an image and class: the protocol's, or a lower one."""
    limits = [one for one in (limit, matches.protocol.max_detections) if one is not None]
    if not limits:
        return None
    far = (matches.columns.rank >= min(limits)) & (matches.labelled_unknown == unknown)
    return _none_of(matches, far, "detection", f"beyond the best {min(limits)} of image and class")


def beyond_best(matches: Matches, limit: int) -> Maybe:
    """Detections beyond the best of an image."""
    return _none_of(
        matches, ~matches.top(limit), "detection", f"beyond the best {limit} of the image"
    )


def below(matches: Matches, score: float) -> Maybe:
    """Detections below a score."""
    return _none_of(matches, matches.score < score, "detection", f"below score {score:g}")


def silent_images(matches: Matches, detections: Mask) -> Maybe:
    """Images on which none of some detections lies."""
    silent = np.ones(matches.n_images, np.bool_)
    silent[matches.image[detections]] = False
    return _none_of(matches, silent, "image", "without a detection")


def _role(unknown: bool) -> str:
    return "unknown" if unknown else "known"


def _none_of(matches: Matches, mask: Mask, what: str, why: str) -> Maybe:
    """The members of a mask take no part; nothing of resamples, which nobody reads."""
    number = 0 if matches.weights is not None else int(np.count_nonzero(mask))
    return Left(number, what, why) if number else None
