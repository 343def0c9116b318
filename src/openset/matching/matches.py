"""Matches: what every metric reads, and the only thing it reads.

One row per detection in *class order* (class, falling score, then the protocol's order of ties),
one row per object. Per detection: its best overlap with objects of its own class, of other known
classes, and with unknown objects; per overlap threshold: whether it is correct, ignored, and which
object it claimed. Immutable; expensive views are computed on first use and kept.

`weights` counts how often each image appears, per resample. With weights, `count` and its kin
return one number per resample, so that a metric written once gives its bootstrap replicates too.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset import kernels
from openset.findings import UsageError
from openset.kernels import MatchColumns, PrecisionRecall, accumulate
from openset.matching.blocks import class_blocks
from openset.matching.counting import Weights, count_classes, weighted_count, widened
from openset.matching.digest import digest
from openset.matching.near import KINDS, TOUCHES, Kind, Near
from openset.matching.objects import Objects
from openset.matching.outcome import Outcome, outcome_at
from openset.matching.populations import TPR, Drawn, Populations
from openset.matching.protocol import Protocol
from openset.matching.sizes import SIZE_RANGES, coded_areas
from openset.matching.spilling import forget
from openset.matching.trend import Trend
from openset.tables.groups import units
from openset.tables.vocabulary import Vocabulary

if TYPE_CHECKING:
    from openset.matching.lean import Lean

RECALL_GRID = np.linspace(0.0, 1.0, 101)
DETECTION_LIMITS = (1, 10, 100)
# What is computed on first use and does not depend on weights: resamples take it from the data.
_WEIGHTLESS = (
    "units",
    "klass",
    "labelled_unknown",
    "on_empty_image",
    "best_any",
    "open_set_errors",
    "detection_limits",
    "populations",
    "place",
    "apart",
    "digest",
    "trend",
)

Mask = NDArray[np.bool_]
Count = Any  # int, or an array with one count per resample


@dataclass(frozen=True, eq=False)
class Matches:
    """Detections and objects, matched under a protocol.

    Attributes:
        protocol: How they were matched.
        vocabulary: Which labels are known.
        labels: Label names that `Objects.label` indexes.
        image_ids: Ids of the images, in the order of the file.
        wild: Per image: part of the wilderness, by the protocol's definition.
        objects: The objects.
        excusing: Objects whose label is ignored: a detection on one takes no part.
        image: Per detection (as all below): index of its image.
        score: Score, as the protocol sees it.
        row: Row in the `Detections`.
        tie: Order among equal scores.
        class_start: Where each class begins; K known classes, then unknown, then the end.
        columns: Overlaps and greedy candidates, from the matching kernel.
        unknownness: Larger = more unknown, or None.
        ood: Per image: of the out-of-distribution set; None where there are not two sets.
        groups: Name of each image's group, whose images are drawn together; None without groups.
        weights: Per image and resample, how often the image was drawn; None for the data itself.
        object_weights: The same for objects, where they count otherwise than detections.
        excused: How many detections took no part because they lie on one of `excusing`.
        lean: What stands for overlaps, areas and rows where these were left out, since nobody but
            metrics reads the matches; None where all is there.
    """

    protocol: Protocol
    vocabulary: Vocabulary
    labels: tuple[str, ...]
    image_ids: NDArray[Any]
    wild: Mask
    objects: Objects
    excusing: Objects
    image: NDArray[np.int32]
    score: NDArray[np.float64]
    row: NDArray[np.int32]
    tie: NDArray[np.int32] | None
    class_start: NDArray[np.int64]
    columns: MatchColumns
    unknownness: NDArray[np.float64] | None = None
    ood: Mask | None = None
    groups: NDArray[Any] | None = None
    weights: NDArray[np.uint8] | None = None
    object_weights: NDArray[np.uint8] | None = None
    excused: int = 0
    lean: Lean | None = None
    _outcomes: dict[float, Outcome] = field(default_factory=dict, repr=False, compare=False)
    _parts: dict[str, Matches] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.image)

    @property
    def n_images(self) -> int:
        """Number of evaluated images, with or without objects."""
        return len(self.wild)

    @property
    def n_known(self) -> int:
        """Number of known classes, which is also the class index of unknown."""
        return len(self.class_start) - 2

    @property
    def known_end(self) -> int:
        """Position where known-labelled detections end and unknown-labelled ones begin."""
        return int(self.class_start[-2])

    @property
    def area(self) -> NDArray[np.float64]:
        """Area of each detection."""
        return self.columns.area

    def _areas(self, rows: slice) -> NDArray[np.float64]:
        """Areas of some detections, or others in the same size ranges."""
        return self.area[rows] if self.lean is None else coded_areas(self.lean.size[rows])

    @cached_property
    def digest(self) -> int:
        """What changes when detections change (`openset.matching.digest`)."""
        return digest(self) if self.lean is None else self.lean.digest

    @cached_property
    def trend(self) -> Trend:
        """Whether scores are in order in the input."""
        if self.lean is not None:
            return self.lean.trend
        given = np.full(int(self.row.max(initial=-1)) + 1, np.nan)
        given[self.row] = self.score
        return Trend.of(given[~np.isnan(given)])

    @cached_property
    def units(self) -> NDArray[np.int32]:
        """What resamples draw as one, a number per image: groups, or else the images."""
        return units(self.image_ids, self.groups)

    @property
    def n_units(self) -> int:
        """How many things resamples are drawn from."""
        return int(self.units.max(initial=-1)) + 1

    @property
    def grouped(self) -> bool:
        """Whether some images are drawn together."""
        return self.n_units < self.n_images

    @cached_property
    def klass(self) -> NDArray[np.int32]:
        """Class of each detection."""
        return self.classes_in(slice(0, len(self)))

    def classes_in(self, rows: slice) -> NDArray[np.int32]:
        """Classes of some detections in a row."""
        sizes = np.diff(self.class_start.clip(rows.start, rows.stop))
        return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)

    def class_at(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """Classes of a few detections, without those of all others."""
        return np.searchsorted(self.class_start, rows, side="right") - 1

    @property
    def blocks(self) -> list[slice]:
        """All detections, a few whole classes at a time: what a step need hold at once."""
        edges = self.class_start.tolist()
        return [slice(edges[first], edges[last]) for first, last in class_blocks(self.class_start)]

    def candidates(self, rows: slice) -> slice:
        """Which of the candidates stand among some detections in a row."""
        return slice(*np.searchsorted(self.columns.position, (rows.start, rows.stop)).tolist())

    @cached_property
    def labelled_unknown(self) -> Mask:
        """Detections labelled unknown."""
        mask = np.zeros(len(self), np.bool_)
        mask[self.known_end :] = True
        return mask

    # ------------------------------------------------------------------ outcomes

    def outcome(self, iou: float | None = None) -> Outcome:
        """Correct, ignored and claimed objects at an overlap threshold (the protocol's first)."""
        threshold = self.protocol.iou[0] if iou is None else iou
        if threshold not in self._outcomes:
            self._outcomes[threshold] = outcome_at(self, threshold)
        return self._outcomes[threshold]

    @cached_property
    def on_empty_image(self) -> Mask:
        """Detections on images without any object."""
        annotated = np.zeros(self.n_images, np.bool_)
        annotated[self.objects.image] = True
        return np.asarray(~annotated[self.image])

    def threshold_index(self, iou: float) -> int:
        """Position of a threshold among the protocol's, which greedy matching was done for."""
        for index, value in enumerate(self.protocol.iou):
            if abs(value - iou) < 1e-9:
                return index
        listed = ", ".join(f"{value:.2f}" for value in self.protocol.iou)
        raise UsageError(f"no matching was done at IoU {iou}; the protocol has {listed}")

    def overlaps(self, iou: NDArray[np.float64], threshold: float | None = None) -> Mask:
        """Whether overlaps reach a threshold, by the protocol's comparison."""
        limit = self.protocol.iou[0] if threshold is None else threshold
        return iou >= limit if self.protocol.iou_inclusive else iou > limit

    def overlapped(self, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """By detection, its best overlap with objects of a kind, and the object."""
        return getattr(self.columns, f"iou_{kind}"), getattr(self.columns, f"object_{kind}")

    def near(self, kind: Kind, threshold: float | None = None) -> Near:
        """The detections that overlap an object of a kind, by a threshold as in `overlaps`."""
        limit = self.protocol.iou[0] if threshold is None else threshold
        if self.lean is None:
            iou, best = self.overlapped(kind)
            return Near.of(iou, best, self.overlaps(iou, limit))
        if limit < self.lean.least:
            raise UsageError(f"overlaps below {self.lean.least:g} were left out: lean=False")
        near: Near = getattr(self.lean, kind)
        return near.only(self.overlaps(near.iou, limit))

    @cached_property
    def apart(self) -> Mask:
        """Detections that touch no object at all."""
        if self.lean is not None:
            return self.lean.apart
        apart = np.ones(len(self), np.bool_)
        for kind in KINDS:
            apart &= self.overlapped(kind)[0] < TOUCHES
        return apart

    @cached_property
    def best_any(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Best overlap with any object, and the first object in the file that reaches it."""
        c = self.columns
        iou, best = c.iou_same, c.object_same
        for other, index in ((c.iou_known, c.object_known), (c.iou_unknown, c.object_unknown)):
            wins = (other > iou) | ((other == iou) & (index >= 0) & ((index < best) | (best < 0)))
            iou, best = np.where(wins, other, iou), np.where(wins, index, best)
        return iou, best

    @cached_property
    def open_set_errors(self) -> Mask:
        """Known-labelled detections that overlap an unknown object: what A-OSE counts.

        Many detections may name one object, and a correct detection may be among them: published
        code asks nothing else. The protocol says whether ignored unknown objects count.
        """
        near = self.near("unknown")
        some = near.position < self.known_end
        if not self.protocol.ose_counts_ignored:
            some &= ~self.objects.ignored[near.object]
        if self.protocol.max_detections is not None:
            some &= self.columns.rank[near.position] < self.protocol.max_detections
        mask = np.zeros(len(self), np.bool_)
        mask[near.position[some]] = True
        return mask

    @cached_property
    def populations(self) -> Populations | None:
        """Detections on closed-set and on wild images by unknownness; None if they have none."""
        if self.unknownness is None:
            return None
        keep = self.score >= self.protocol.minimum_score
        return Populations.of(self.unknownness, self.image, self.wild, keep)

    # ------------------------------------------------------------------ counting

    def count(self, mask: Mask) -> Count:
        """Number of detections in a mask, per resample if there are weights."""
        return self._count(self.image, mask, self._wide_weights)

    def count_objects(self, mask: Mask) -> Count:
        """Number of objects in a mask, per resample if there are weights."""
        return self._count(self.objects.image, mask, self._wide_object_weights)

    def count_images(self, mask: Mask) -> Count:
        """Number of images in a mask, per resample if there are weights."""
        return self._count(np.arange(self.n_images), mask, self._wide_weights)

    def _count(self, image: NDArray[Any], mask: Mask, weights: Weights | None) -> Count:
        if weights is None:
            return int(np.count_nonzero(mask))
        return weighted_count(image[mask], weights)

    @cached_property
    def positives(self) -> NDArray[np.int64]:
        """Objects that count, per class [K + 1], and per resample if there are weights."""
        return self.count_objects_by_class(~self.objects.ignored)

    @cached_property
    def closed_positives(self) -> NDArray[np.int64]:
        """The same for the objects on images that are not wild."""
        return self.count_objects_by_class(~self.objects.ignored & ~self.wild[self.objects.image])

    @cached_property
    def detected_by_class(self) -> NDArray[np.int64]:
        """Detections, likewise."""
        return self.count_by_class(np.ones(len(self), np.bool_))

    @cached_property
    def hits_by_class(self) -> NDArray[np.int64]:
        """Correct detections at the protocol's first overlap, likewise."""
        return self.count_by_class(self.outcome().correct)

    def positives_of_size(self, size: str) -> NDArray[np.int64]:
        """Objects of one of `SIZE_RANGES` that count, likewise."""
        low, high = SIZE_RANGES[size]
        keep, area = ~self.objects.ignored, self.objects.area
        in_range = keep & (area >= low) & (area <= high)
        # The range of all sizes nearly always holds all objects, which are counted already.
        every = np.array_equal(in_range, keep)
        return self.positives if every else self.count_objects_by_class(in_range)

    def count_objects_by_class(self, mask: Mask) -> NDArray[np.int64]:
        """Objects in a mask, per class [K + 1], and per resample if there are weights."""
        klass, image, weights = self.objects.klass, self.objects.image, self._wide_object_weights
        return count_classes(klass[mask], image[mask], self.n_known + 1, weights=weights)

    def count_by_class(
        self, mask: Mask, times: NDArray[np.integer] | None = None
    ) -> NDArray[np.int64]:
        """Detections in a mask, per class [K + 1], and per resample if there are weights.

        Args:
            mask: Which detections.
            times: How often each of those in the mask counts.
        """
        weights = self._wide_weights
        if weights is None and times is None:  # each class is a slice
            edges = itertools.pairwise(self.class_start.tolist())
            counts = [np.count_nonzero(mask[start:end]) for start, end in edges]
            return np.array(counts, np.int64)
        klass, image = self.klass[mask], self.image[mask]
        return count_classes(klass, image, self.n_known + 1, times=times, weights=weights)

    @cached_property
    def _wide_weights(self) -> Weights | None:
        return None if self.weights is None else widened(self.weights)

    @cached_property
    def _wide_object_weights(self) -> Weights | None:
        return self._wide_weights if self.object_weights is None else widened(self.object_weights)

    @cached_property
    def detection_limits(self) -> tuple[int, ...]:
        """Limits for which there is a recall: COCO's up to the protocol's, and the protocol's."""
        limit = self.protocol.max_detections
        last = max(len(self), DETECTION_LIMITS[-1]) if limit is None else limit
        return tuple(sorted({min(each, last) for each in (*DETECTION_LIMITS, last)}))

    @cached_property
    def precision_recall(self) -> PrecisionRecall:
        """The COCO arrays: 101-point precision and recall, all thresholds and size ranges."""
        if self.protocol.rule != "coco":
            raise UsageError("101-point precision needs a protocol with COCO matching")
        positives = np.stack([self.positives_of_size(size) for size in SIZE_RANGES], axis=1)
        blocks = class_blocks(self.class_start)
        each = [self._precision_recall(block, positives) for block in blocks]
        # Classes are the last axis but one of precision and scores, and the second of recall.
        precision, scores, recall = zip(*each, strict=True)
        return PrecisionRecall(
            np.concatenate(precision, 2), np.concatenate(scores, 2), np.concatenate(recall, 1)
        )

    def _precision_recall(
        self, classes: tuple[int, int], positives: NDArray[np.int64]
    ) -> PrecisionRecall:
        """The COCO arrays of some classes, first and last; with their objects of each size."""
        first, last = classes
        edges = self.class_start[first : last + 1]
        rows = slice(int(edges[0]), int(edges[-1]))
        near = self.candidates(rows)
        found = accumulate(
            self.score[rows],
            self._areas(rows),
            self.columns.rank[rows],
            edges - rows.start,
            self.columns.position[near] - np.int32(rows.start),
            self.columns.matched[near],
            self.columns.ignored[near],
            positives[first:last],
            size_ranges=np.array(list(SIZE_RANGES.values())),
            recall_grid=RECALL_GRID,
            max_detections=self.detection_limits,
            n_thresholds=len(self.protocol.iou),
        )
        self.forget()
        return found

    def on(self, images: Mask) -> Matches:
        """Only the detections on some images; every object stays, and with it recall's base."""
        return self.only(images[self.image])

    def top(self, limit: int, rows: slice = slice(None)) -> Mask:
        """The `limit` detections of the highest scores in every image, whatever their label.

        What they match does not depend on the others, which come after them.

        Args:
            limit: How many.
            rows: The detections to ask about, all by default.
        """
        if limit < 1:
            raise UsageError(f"a limit of detections is 1 or more, not {limit}")
        return self.place[rows] < limit

    @cached_property
    def place(self) -> NDArray[np.integer]:
        """Place of each detection in its image by falling score, ties in the order of the input."""
        if self.lean is not None:
            return self.lean.place
        order, start = kernels.class_order(self.image, self.score, self.row, self.n_images)
        place = np.empty(len(self), np.int32)
        place[order] = np.arange(len(self)) - np.repeat(start[:-1], np.diff(start))
        return place

    def forget(self) -> None:
        """Hand back the memory of columns that are in files, until somebody looks at them."""
        tables = [vars(self), self.columns._asdict(), vars(self.objects), vars(self.excusing)]
        if self.lean is not None:
            near = (self.lean.same, self.lean.known, self.lean.unknown)
            tables += [self.lean._asdict(), *(one._asdict() for one in near)]
        held = [one for table in tables for one in tuple(table.values())]  # others may add to it
        forget(one for one in held if isinstance(one, np.ndarray))

    def only(self, keep: Mask) -> Matches:
        """Only some detections; every object stays."""
        if self.lean is not None:
            raise UsageError("of matches for metrics alone there are no others: lean=False")
        before = np.concatenate([[0], np.cumsum(keep)])
        taken = {name: getattr(self, name)[keep] for name in ("image", "score", "row")}
        return replace(
            self,
            tie=None if self.tie is None else self.tie[keep],
            class_start=before[self.class_start].astype(np.int64),
            columns=_take_columns(self.columns, keep, before),
            unknownness=None if self.unknownness is None else self.unknownness[keep],
            _outcomes={},
            _parts={},
            **taken,
        )

    @cached_property
    def resampled_precision(self) -> NDArray[np.float64]:
        """101-point average precision per class, threshold and resample [K + 1, T, B]."""
        assert self.weights is not None
        limit = self.protocol.max_detections
        return kernels.weighted_average_precision(
            self.class_start,
            self.image,
            self.columns.position,
            self.columns.matched[:, 0],
            self.columns.ignored[:, 0],
            self.weights,
            self.positives,
            n_thresholds=len(self.protocol.iou),
            recall_grid=RECALL_GRID,
            counted=None if limit is None else self.columns.rank < limit,
        )

    @cached_property
    def resampled_populations(self) -> Drawn | None:
        """What AUROC, AUPR and FPR95 are made from in every resample; None if nothing is ranked."""
        both = self.populations
        if both is None or both.levels is None:
            return None
        assert self.weights is not None
        closed, wild = self.count(both.closed), self.count(both.wild)
        rate: kernels.Asked = "nearest" if self.protocol.fpr == "nearest" else "accepted"
        asked: tuple[kernels.Asked, ...] = ("pairs", self.protocol.aupr, rate)
        sums = kernels.ranked(both.levels, self.weights, closed, asked, share=TPR)
        return Drawn(closed, wild, sums)

    def resampled(
        self, weights: NDArray[np.uint8], object_weights: NDArray[np.uint8] | None = None
    ) -> Matches:
        """The same matches, counted with image weights (one column per resample).

        Args:
            weights: How often each image counts.
            object_weights: How often its objects count, if not as often as its detections.
        """
        # Outcomes do not depend on weights and are shared; counts do and are not.
        drawn = replace(self, weights=weights, object_weights=object_weights, _parts={})
        held = vars(self)
        vars(drawn).update({name: held[name] for name in _WEIGHTLESS if name in held})
        return drawn


def _take_columns(columns: MatchColumns, keep: Mask, before: NDArray[np.intp]) -> MatchColumns:
    """The columns of the detections kept; `before` counts those kept before each position."""
    candidate = keep[columns.position]
    at_candidates = {
        name: getattr(columns, name)[candidate] for name in ("matched", "ignored", "object")
    }
    position = before[columns.position[candidate]].astype(np.int32)
    names = (name for name in columns._fields if name not in at_candidates)
    rest = {name: getattr(columns, name) for name in names if name != "position"}
    taken: dict[str, Any] = {k: None if v is None else v[keep] for k, v in rest.items()}
    return MatchColumns(position=position, **at_candidates, **taken)
