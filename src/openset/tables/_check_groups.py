"""Checks of groups of images: what is said about them, and what file names say unasked.

Images may say themselves which video they are of, in a column of a usual name that nobody named.
Names look like sequences where many share their beginning and count up by a constant step: frames
that were taken from videos. Photographs that are merely numbered have gaps of all sizes, since they
were chosen one by one (COCO, VOC), or a single beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import image_name, images_that, share
from openset.tables.annotations import Annotations
from openset.tables.groups import ALONE, group_names, groups_of, names_to_read, units
from openset.wording import spaced

_DIGITS = 18  # of a number, at most
_NUMBERS = re.compile(rf"(?:[0-9]{{1,{_DIGITS}}}+(?:\.[0-9A-Za-z]++)?+\n)*+")
_FRAME = re.compile(rf"(.*?)(\d{{1,{_DIGITS}}})(?:\.\w+)?$", re.DOTALL)
_COLUMNS = ("video_id", "video", "sequence_id", "sequence", "seq_id", "clip_id", "scene_token")
_EXAMINED = 50_000  # images
_FRAMES = 5  # of a sequence, at least
_STEADY = 0.8  # of the steps from frame to frame are the most common one
# Numbered files of a split are no video: COCO_val2014_000000000042.jpg, images/test/00000007.png.
_SPLIT = re.compile(r"(?:.*[\W_])?(?:train|val|trainval|test)\d*[\W_]", re.IGNORECASE | re.DOTALL)


def truth_groups(truth: Annotations) -> Iterator[Finding]:
    """Findings about the groups of the images, or about none where there should be some."""
    groups = groups_of(truth.images)
    if groups is None:
        yield from groups_unsaid(truth)
        return
    yield from images_that(truth, groups == ALONE, "OS413", Level.ERROR, "have no group")
    yield from group_sizes(truth.images.id, groups)


def groups_unsaid(truth: Annotations) -> list[Finding]:
    """The note that images look like frames of sequences, and nobody has said of which."""
    return _stated(truth) or _named(truth)


def group_sizes(ids: NDArray[Any], groups: NDArray[Any] | None) -> Iterator[Finding]:
    """Findings about how many groups all images together make, which no batch can tell."""
    if groups is None or len(ids) == 0:
        return
    number, total = int(units(ids, groups).max()) + 1, len(ids)
    where = f"image {ids[0]}, group {str(groups[0])[:80]!r}"
    if number == 1:
        message = f"all images ({spaced(total)}) are one group: nothing can be resampled"
        yield Finding("OS414", Level.WARNING, message, count=total, example=where)
    elif number == total and not (groups == ALONE).any():
        message = f"each of {spaced(total)} images is a group of its own"
        yield Finding("OS416", Level.NOTE, message, count=total, example=where)


def _stated(truth: Annotations) -> list[Finding]:
    """The note that a column says which sequence images are of."""
    columns, total = truth.images.attributes, len(truth.images)
    for name in _COLUMNS:
        if name in columns and np.ndim(columns[name]) == 1:
            groups = group_names(np.asarray(columns[name]))
            number = len(np.unique(groups[groups != ALONE]))
            if number > 1 and _FRAMES * number <= total:
                said = f"{spaced(total)} images are of {spaced(number)} sequences by their {name!r}"
                return [_frames(said, number, f"image {image_name(truth, 0)}", name)]
    return []


def _named(truth: Annotations) -> list[Finding]:
    """The note that images look like frames of sequences by their names."""
    names = names_to_read(truth.images, _EXAMINED)
    found = _beginnings(names)
    frames = sum(found.values())
    if len(found) < 2 or 2 * frames < len(names):
        return []
    stem = next(iter(found))
    of = f"look like frames of {spaced(len(found))} sequences"
    first_of_all = f"{stem!r:.80}, {spaced(found[stem])} frames"
    noun = "images" if len(names) == len(truth.images) else "images examined"
    message = f"{share(frames, len(names), noun)} {of}"
    return [_frames(message, len(found), first_of_all, _pattern(list(found)))]


def film_groups(truth: Annotations) -> str | None:
    """The groups= that takes frames of films together, of one film at least; None if none is."""
    found = _beginnings(names_to_read(truth.images, _EXAMINED))
    if 2 * sum(found.values()) < min(len(truth.images), _EXAMINED):
        return None
    return _pattern(list(found))


def _frames(message: str, sequences: int, example: str, groups: str) -> Finding:
    fix = f"groups='{groups}' draws the frames of a sequence together"
    return Finding("OS412", Level.NOTE, message, count=sequences, example=example, fix=fix)


def _beginnings(names: Sequence[str]) -> dict[str, int]:
    """What names of a sequence begin with, and how many frames it has, in the order of the file."""
    numbers: dict[str, list[int]] = {}
    if _NUMBERS.fullmatch("\n".join([*names, ""])):  # as in COCO, looked at together
        return {}
    for name in names:
        if _is_number(name):  # begins with nothing, and is common
            continue
        match = _FRAME.match(name)
        if match and match[1] and not _SPLIT.fullmatch(match[1]):
            numbers.setdefault(match[1], []).append(int(match[2]))
    return {stem: len(some) for stem, some in numbers.items() if _counts_up(some)}


def _is_number(name: str) -> bool:
    stem, _, suffix = name.rpartition(".")
    stem = stem if suffix.isalnum() and stem else name
    return stem.isdecimal() and len(stem) <= _DIGITS


def _counts_up(numbers: Sequence[int]) -> bool:
    """Whether numbers are those of frames: enough, different, and nearly always one step apart."""
    if len(numbers) < _FRAMES:
        return False
    steps = np.diff(np.sort(np.array(numbers, np.int64)))
    _, times = np.unique(steps[steps > 0], return_counts=True)
    return int(times.max(initial=0)) >= _STEADY * len(steps)


def _pattern(stems: Sequence[str]) -> str:
    """The groups= that fits all stems: their folders, else all before the last number."""
    depth = {stem.count("/") if stem.endswith("/") else 0 for stem in stems}
    if len(depth) == 1 and 0 not in depth:
        return "*/" * depth.pop()
    return r"^(.*?)\d+(?:\.\w+)?$"
