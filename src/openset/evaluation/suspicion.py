"""Suspicion: what only matching can show of a file that is not what it seems.

Where boxes fit but labels do not, labels may be numbered otherwise; where wrong boxes score
highest, scores may be upside down, and so may unknownness that is lowest on unknown objects. Each
is said only where chance is no explanation, since a bad detector is no wrong file: labels that mean
another class stop an evaluation (`openset.tables.misnaming` decides), the others are warnings.

A bounded sample is looked at: the best detections of every class, and as many of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.json_text import compact
from openset.matching import Matches
from openset.matching.near import FITS, TOUCHES, Kind, Near
from openset.ranking import area_under_roc, clearly_below_half, rank
from openset.tables import Annotations, Detections
from openset.tables.category_ids import POSITIONS
from openset.tables.columns import positions
from openset.tables.misnaming import (
    FEWEST,
    MOST_LABELS,
    RATIO,
    SHARE,
    completed,
    misnamed,
    misnamed_in_part,
)
from openset.tables.vocabulary import is_unknown_spelling
from openset.wording import spaced

_Whole = NDArray[np.int32] | NDArray[np.int64]
_Rows = NDArray[np.int64]
_SAMPLE = 5_000
_PER_CLASS = 100  # and, of very many classes, a share of ...
_OF_CLASSES = 20_000
_SHOWN = 3
_ENOUGH = 30  # boxes on objects, to say what one label is put on
_IMAGES, _TELLS = 50, 0.55  # images, and an area up to which scores say nothing
_MOST = 0.8  # of the labels, to speak of all: a rare one may look otherwise


def suspicions(
    matches: Matches,
    truth: Annotations | None = None,
    detections: Detections | None = None,
    called: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Findings about labels and scores that look exchanged.

    Args:
        matches: Everything that was matched.
        truth: The ground truth, to tell how it numbers categories; None for several of them.
        detections: What was matched with it, likewise: its labels that are unknown here.
        called: What its file calls labels that got names by an option.
    """
    if not len(matches) or not len(matches.objects):
        return []
    names = _Names(matches, detections, truth, called or {})
    labels = _labels(names) or _unknown_exchanged(matches)
    found = [labels or _one_label(matches), _scores(matches), _unknownness(matches)]
    return [finding for finding in found if finding is not None]


# ---------------------------------------------------------------------- labels


@dataclass(frozen=True)
class _Names:
    """One list for labels of detections and of objects: known classes, then unknown labels."""

    matches: Matches
    detections: Detections | None
    truth: Annotations | None
    called: Mapping[str, str]

    @cached_property
    def all(self) -> tuple[str, ...]:
        """The names."""
        vocabulary = self.matches.vocabulary
        taught = set(map(vocabulary.key, vocabulary.known))
        rest = {vocabulary.key(label): label for label in reversed(self.matches.labels)}
        return vocabulary.known + tuple(
            label
            for key, label in sorted(rest.items())
            if key not in taught and not is_unknown_spelling(label)
        )

    @cached_property
    def ids(self) -> list[int]:
        """Category ids, in the order of the ground truth, if the detections are said by them."""
        if self.truth is None or self.detections is None or self.detections.labels:
            return []
        assert self.truth.category_id is not None
        return self.truth.category_id.tolist()

    @property
    def numbered(self) -> dict[int, int]:
        """Where names are in `ids`."""
        held = self.places(self.truth.labels)[:-1].tolist() if self.truth and self.ids else []
        return {name: at for at, name in enumerate(held)}

    def places(self, labels: tuple[str, ...]) -> NDArray[np.int64]:
        """Where labels are in the list, -1 for none; a last entry for the index -1."""
        key = self.matches.vocabulary.key
        place = {key(name): at for at, name in enumerate(self.all)}
        return np.array([*(place.get(key(label), -1) for label in labels), -1], np.int64)

    def of_detections(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Names of detections; one of an unknown class has one only if the file is at hand."""
        klass = self.matches.class_at(rows)
        unknown = klass == self.matches.n_known
        klass[unknown] = -1
        if self.detections is None or self.truth is None:
            return klass
        held = self.detections.label[self.matches.row[rows[unknown]]]
        if not self.detections.labels:
            assert self.truth.category_id is not None
            held = positions(self.truth.category_id, held)
        klass[unknown] = self.places(self.detections.labels or self.truth.labels)[held]
        return klass


def _labels(names: _Names) -> Finding | None:
    """Labels that mean other classes, in how many images they do."""
    matches = names.matches
    if len(names.all) > MOST_LABELS:
        return None
    seen = _together(matches, names)
    counts = seen.counts()
    found = misnamed(counts)
    if not found:
        return _labels_in_part(matches, names, seen)
    said = [
        f"{names.all[d]} on {names.all[o]} (in {counts[d, o]} of {counts[d].sum()} images)"
        for d, o in found.items()
    ]
    more = f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    labels = int(np.count_nonzero(counts.sum(axis=1)))
    cause, fix = _explained(names, found, counts)
    return Finding(
        "OS316",
        Level.ERROR,
        f"{len(found)} of {labels} labels are put on objects of one other class: "
        + ", ".join(said[:_SHOWN])
        + more,
        count=len(found),
        example=said[0],
        cause=cause,
        fix=f"{fix}; force=True evaluates as it is",
    )


def _labels_in_part(matches: Matches, names: _Names, seen: _Seen) -> Finding | None:
    """Labels that mean other classes in some images, and what they say in the others."""
    found, images = misnamed_in_part(seen.image, seen.said, seen.on, seen.size)
    if not found:
        return None
    said = [f"{names.all[d]} on {names.all[o]}" for d, o in found.items()]
    more = f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    return Finding(
        "OS330",
        Level.ERROR,
        f"in {len(images)} images every label is put on objects of another class, and the same: "
        + ", ".join(said[:_SHOWN])
        + more,
        count=len(images),
        example=f"image {matches.image_ids[images[0]]}: {said[0]}",
    )


def _one_label(matches: Matches) -> Finding | None:
    """One known label for all boxes, most of the best of which are on objects of other classes.

    A detector of one class finds that class; proposals that were given a class find anything. So
    does a detector that has learned hardly anything, if the class is a frequent one: a note.
    """
    used = np.flatnonzero(np.diff(matches.class_start))
    if len(used) != 1 or used[0] == matches.n_known:
        return None
    rows = _best_of_each(matches, 1)
    iou, best = _under(matches, rows)
    on = matches.objects.klass[best[(iou >= FITS) & ~matches.objects.ignored[best]]]
    own, other = int(np.count_nonzero(on == used[0])), np.unique(on[on != used[0]])
    if len(on) < _ENOUGH or SHARE * own >= len(on) or len(other) < 2:
        return None
    name = matches.vocabulary.known[used[0]]
    objects = np.bincount(matches.objects.klass + 1, minlength=matches.n_known + 1)[1:-1]
    return Finding(
        "OS331",
        Level.NOTE if 2 * objects[used[0]] >= objects.max() else Level.WARNING,
        f"all {spaced(len(matches))} boxes are labelled {name}, and {len(on) - own} of the "
        f"{len(on)} surest on an object are on objects of {len(other)} other classes",
        count=len(matches),
        example=f"image {matches.image_ids[matches.image[rows[0]]]}",
    )


def _unknown_exchanged(matches: Matches) -> Finding | None:
    """A known label that is on unknown objects, and "unknown" on the objects of that class."""
    k = matches.n_known
    if k >= MOST_LABELS:
        return None
    rows = _best_of_each(matches, 1)
    unknown = rows[rows >= matches.known_end]
    seen = _Seen.of(matches, unknown, matches.class_at(unknown), matches.objects.klass, k + 1)
    on = seen.counts()[k]
    if on[:k].max(initial=0) < max(FEWEST, RATIO * on[k]):
        return None  # "unknown" means what it says: no need to look at the other labels
    counts = _Seen.of(matches, rows, matches.class_at(rows), matches.objects.klass, k + 1).counts()
    found = misnamed(counts)
    klass = found.get(k, -1)
    if found.get(klass) != k:
        return None
    name = matches.vocabulary.known[klass]
    return Finding(
        "OS316",
        Level.ERROR,
        f"boxes labelled unknown are on {name} in {counts[k, klass]} of {counts[k].sum()} images, "
        f"and boxes labelled {name} on unknown objects in {counts[klass, k]} of "
        f"{counts[klass].sum()}",
        count=2,
        example=f"unknown on {name}",
        cause=f"the labels of unknown and of {name} are exchanged",
        fix="exchange them in a JSON or CSV file, if that is so: category_ids='FILE'; "
        "force=True evaluates as it is",
    )


@dataclass(frozen=True, eq=False)
class _Seen:
    """Detections on objects: their images, what they say, what they are on, of so many names."""

    image: NDArray[np.int64]
    said: NDArray[np.int64]
    on: NDArray[np.int64]
    size: int

    @classmethod
    def of(
        cls, matches: Matches, rows: NDArray[np.intp], said: _Whole, klass: _Whole, size: int
    ) -> Self:
        """Those of `rows`, which say `said`, on objects of classes `klass`; -1 is none."""
        iou, best = _under(matches, rows)
        on = np.where(best >= 0, klass[best], -1)
        keep = (iou >= FITS) & ~matches.objects.ignored[best] & (said >= 0) & (on >= 0)
        columns = (matches.image[rows], said, on)
        image, said, on = (column[keep].astype(np.int64) for column in columns)
        return cls(image, said, on, size)

    def counts(self) -> NDArray[np.int64]:
        """In how many images each label, a row, is on each class."""
        n_images = int(self.image.max(initial=0)) + 1
        pairs = np.sort((self.said * self.size + self.on) * n_images + self.image)
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        counts = np.bincount(pairs // n_images, minlength=self.size * self.size)
        return counts.reshape(self.size, self.size)


def _together(matches: Matches, names: _Names) -> _Seen:
    """Labels on classes, of the classes that some label says.

    What no label says cannot be meant: a zebra is called a horse by whoever was not taught zebras.
    """
    rows = _best_of_each(matches, len(names.all) - matches.n_known)
    said = names.of_detections(rows)
    heard = np.zeros(len(names.all) + 1, np.bool_)  # the last place is that of no name
    heard[said] = True
    place = names.places(matches.labels)
    klass = np.where(heard[place], place, -1)[matches.objects.label]
    return _Seen.of(matches, rows, said, klass, len(names.all))


def _best_of_each(matches: Matches, unknown: int) -> NDArray[np.intp]:
    """Detections of the highest scores of every class, those of unknown classes together."""
    start, end = matches.class_start[:-1], matches.class_start[1:]
    most = min(_PER_CLASS, _OF_CLASSES // len(start))
    limit = np.append(np.full(len(start) - 1, most), min(most * unknown, _SAMPLE))
    sizes = np.minimum(end - start, limit)
    return np.repeat(start - np.append(0, sizes.cumsum()[:-1]), sizes) + np.arange(sizes.sum())


def _under(
    matches: Matches, rows: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The object that each detection is on and their overlap; one of its class, if that fits.

    What neither fits nor is apart from all objects may have any overlap in between.
    """
    iou, best = _overlap(matches, "same", rows)
    wrong = iou < FITS
    others: tuple[Kind, ...] = ("known", "unknown")
    for kind in others:
        other, index = _overlap(matches, kind, rows)
        wins = wrong & (other > iou)
        iou[wins], best[wins] = other[wins], index[wins]
    if matches.lean is not None:
        iou[~matches.apart[rows] & (iou < TOUCHES)] = TOUCHES
    matches.forget()
    return iou, best


def _overlap(
    matches: Matches, kind: Kind, rows: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Overlap of some detections with objects of a kind, and the object."""
    if matches.lean is not None:
        near: Near = getattr(matches.lean, kind)
        return near.at(rows)
    matches.forget()  # of a column in a file, rows here and there take much of it along
    iou, best = matches.overlapped(kind)
    return iou[rows], best[rows]


def _explained(names: _Names, found: dict[int, int], counts: NDArray[np.int64]) -> tuple[str, str]:
    """What it looks like, and the option that reads it."""
    own = np.diag(counts)
    right = np.count_nonzero((own == counts.max(axis=1)) & (own >= FEWEST))
    whole = _of_all(names, found) if right < (1 - _MOST) * len(found) else None
    if whole is not None:
        return whole
    cause = "another list, or another order, of classes than that of the ground truth"
    if len(found) == 2:
        cause = "two classes are exchanged"
    means, place, ids = completed(found, counts), names.numbered, names.ids
    said = [names.called.get(name, name) for name in names.all]
    mapping: dict[str, int | str] = {said[d]: names.all[o] for d, o in means.items()}
    if ids:
        pairs = [(ids[place[d]], ids[place[o]]) for d, o in means.items() if {d, o} <= place.keys()]
        mapping = {str(d): o for d, o in sorted(pairs)}
    return cause, _with_file(mapping)


def _of_all(names: _Names, found: dict[int, int]) -> tuple[str, str] | None:
    """The same where hardly a label is right: positions in place of ids, or ids that are off."""
    place, ids = names.numbered, names.ids
    pairs = [(place[d], place[o]) for d, o in found.items() if {d, o} <= place.keys()]
    if not pairs or names.detections is None:
        return None
    most = _MOST * len(pairs)
    for option, first in POSITIONS.items():
        if sum(ids[d] == o + first for d, o in pairs) >= most:
            counted = f"positions in the list of categories, counted from {first}"
            return f"the ids are {counted}", f"category_ids='{option}' reads them"
    step, times = Counter(ids[o] - ids[d] for d, o in pairs).most_common(1)[0]
    if times < most:
        return None
    said = np.unique(names.detections.label).tolist()
    certain = {ids[d]: ids[o] for d, o in pairs}
    means = {id_: certain.get(id_, id_ + step) for id_ in said}
    mapping: dict[str, int | str] = {str(d): o for d, o in means.items() if o in ids}
    return f"the ids are {abs(step)} too {'low' if step > 0 else 'high'}", _with_file(mapping)


def _with_file(mapping: dict[str, int | str]) -> str:
    return f"write {compact(mapping)} to a JSON file, if that is so: category_ids='FILE'"


# ---------------------------------------------------------------------- scores


def _scores(matches: Matches) -> Finding | None:
    """Boxes with known labels on background that score higher than those that are right.

    Those on other objects play no part: to be sure of an unknown object is what is measured.
    """
    rows = _some(matches.known_end)
    overlap = _overlap(matches, "same", rows)[0]
    right, wrong = rows[overlap >= FITS], rows[_under(matches, rows)[0] < TOUCHES]
    said = "a box on background scores higher than one on an object of its class"
    upside_down = _upside_down("OS318", matches, "score", (wrong, right), said)
    return upside_down or _unrelated(matches, wrong, right)


def _unrelated(matches: Matches, wrong: _Rows, right: _Rows) -> Finding | None:
    """The finding that scores do not tell right boxes from background, of many images.

    A detector may be that bad; but a file that is in order of such scores was sorted in part.
    """
    score = matches.score
    if min(len(np.unique(matches.image[rows])) for rows in (wrong, right)) < _IMAGES:
        return None
    area = float(area_under_roc(rank(score[wrong], score[right])))
    if area > _TELLS or score[right].min() == score[right].max():  # of equal ones OS209 speaks
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


def _unknownness(matches: Matches) -> Finding | None:
    """Boxes on unknown objects that look less unknown than those that are right."""
    if matches.unknownness is None:
        return None
    rows = _some(len(matches))
    iou, best = _under(matches, rows)
    near = (iou >= FITS) & ~matches.objects.ignored[best]
    unknown = near & (matches.objects.klass[best] == matches.n_known)
    right = near & ~unknown & (matches.objects.klass[best] == matches.class_at(rows))
    said = "a box on an unknown object looks less unknown than one on a known object of its class"
    return _upside_down("OS319", matches, "unknownness", (rows[right], rows[unknown]), said)


def _upside_down(
    code: str, matches: Matches, name: str, low_high: tuple[_Rows, _Rows], said: str
) -> Finding | None:
    """The finding that the second population is below the first, if chance is no explanation.

    Boxes of one image resemble each other, so the images are what counts.
    """
    low, high = low_high
    values: NDArray[np.float64] = getattr(matches, name)
    if not len(low) or not len(high):
        return None
    area = float(area_under_roc(rank(values[low], values[high])))
    if area >= 0.5:  # nearly always: no need to count
        return None
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


def _some(end: int) -> _Rows:
    """Detections from all classes and scores: evenly spaced among the first ones."""
    return np.linspace(0, end - 1, min(end, _SAMPLE)).astype(np.int64)
