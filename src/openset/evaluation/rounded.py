"""Rounded: detections that are those of another file but for their digits and their order.

Hashes tell files apart that were rounded or shuffled on the way; their numbers then look like those
of a second training that came out all but equal. Not equality (see `Provenance.detections_hash`),
and not one detector under two scorers, whose scores or unknownness differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, InputError, Level
from openset.tables import Detections

_ROWS = 2_000  # that are looked at
_PIXELS, _SCORE = 0.51, 0.0051  # what whole pixels, and two digits of a score, take away
_NEARLY_ALL = 0.99
_FEWEST = 20  # detections, fewer of which prove nothing


def rounded_copies(
    detections: Mapping[str, Detections], methods: Mapping[str, Sequence[str]], *, force: bool
) -> dict[str, Finding]:
    """A finding for each method that has another's detections but for rounding, or twice its own.

    Args:
        detections: What each training found, by its name.
        methods: The names of the trainings of each method.
        force: Whether a training that is given twice is a warning.

    Raises:
        InputError: When a method has a training twice, unless forced.
    """
    owner = {name: method for method, names in methods.items() for name in names}
    found: dict[str, Finding] = {}
    twice: list[Finding] = []
    for name, before in _pairs(detections):
        message = f"the detections of {name} are those of {before}, but for rounding and order"
        if owner[name] == owner[before]:
            level = Level.WARNING if force else Level.ERROR
            found[owner[name]] = Finding("OS417", level, message, len(detections[name]), before)
            twice.append(found[owner[name]])
        else:
            finding = Finding("OS447", Level.WARNING, message, len(detections[name]), before)
            found.setdefault(owner[name], finding)
    if twice and not force:
        raise InputError(twice)
    return found


def _pairs(detections: Mapping[str, Detections]) -> Iterator[tuple[str, str]]:
    """Each name beside the first before it that has the same detections."""
    names = list(detections)
    for at, name in enumerate(names):
        for before in names[:at]:
            if same_but_rounded(detections[name], detections[before]):
                yield name, before
                break


def same_but_rounded(one: Detections, other: Detections) -> bool:
    """Whether tables have the same detections but for digits and order, and not the very same."""
    if len(one) != len(other) or len(one) < _FEWEST or one.labels != other.labels:
        return False
    if (one.unknownness is None) != (other.unknownness is None):
        return False
    if np.array_equal(one.box, other.box):
        return False
    images, counts = np.unique(one.image, return_counts=True)
    theirs = np.unique(other.image, return_counts=True)
    if not (np.array_equal(images, theirs[0]) and np.array_equal(counts, theirs[1])):
        return False
    some = images[np.cumsum(counts) <= max(_ROWS, counts[0])]
    a, b = (table.select(np.isin(table.image, some)) for table in (one, other))
    near = [_found_again(a, b, image) for image in some]
    return bool(np.concatenate(near).mean() >= _NEARLY_ALL)


def _found_again(one: Detections, other: Detections, image: object) -> NDArray[np.bool_]:
    """Which detections of an image are in the other table, nearly."""
    a, b = one.select(one.image == image), other.select(other.image == image)
    near = a.label[:, None] == b.label
    near &= np.abs(a.box[:, None] - b.box).max(axis=2) <= _PIXELS
    near &= np.abs(a.score[:, None] - b.score) <= _SCORE
    if a.unknownness is not None and b.unknownness is not None:
        near &= np.isclose(a.unknownness[:, None], b.unknownness, rtol=0.01, atol=_SCORE)
    return np.asarray(near.any(axis=1))
