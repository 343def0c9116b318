"""Rule: what makes detections that say unknown of those of a detector that knows none.

A scorer says how unknown a detection looks; a rule decides, and may change labels and scores. What
rules share is here: how they are chosen among (`Rule`), what they write into the ledger, and, for
those that decide on regions before suppression, the suppression after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, refuse
from openset.scorers import ledger
from openset.tables import Detections
from openset.tables.overlap import class_wise_nms
from openset.tables.vocabulary import UNKNOWN, is_unknown_spelling

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
_PUBLISHED: Mapping[str, Any] = {"score": 0.05, "nms": 0.5, "most": 100}


class Rule(Protocol):
    """A rule with its options.

    Attributes:
        kind: How it is asked for.
    """

    kind: ClassVar[str]

    @property
    def file_name(self) -> str:
        """What its file among those of a sweep is called."""
        ...

    @property
    def swept(self) -> Mapping[str, float]:
        """What it is chosen by; the first is what is said to be chosen."""
        ...

    @property
    def options(self) -> Mapping[str, Any]:
        """Everything that was chosen."""
        ...

    @property
    def margin(self) -> float:
        """How much it makes unknown: of two rules that one does more whose margin is larger."""
        ...

    def idle(self) -> Self:
        """The same with nothing unknown."""
        ...

    def findings(self, detections: Detections) -> list[Finding]:
        """What is worth knowing before it is applied."""
        ...

    def apply(self, detections: Detections, chosen_on: Detections | None = None) -> Detections:
        """Detections, some of them unknown, with the rule in their ledger."""
        ...


def decided(rule: Rule, chosen_on: Detections | None, applied_to: Detections) -> ledger.LedgerEntry:
    """What the ledger says of a rule: given by hand, or chosen on some detections."""
    name, by = f"{rule.kind} rule ({rule})", next(iter(rule.swept))
    entry = ledger.LedgerEntry("threshold", name, ledger.BY_HAND, 0, 0, options=rule.options)
    if chosen_on is None:
        return entry
    ids, split = np.unique(chosen_on.image), ledger.split_of(chosen_on)
    shared = ledger.overlap(split, ids, applied_to)
    on_itself = (f"{by} from {shared:,} images it is applied to",) if shared else ()
    leaks = (*ledger.check_fit(by, of_knowns(chosen_on), force=True), *on_itself)
    return replace(entry, split=split, images=len(ids), detections=len(chosen_on), leaks=leaks)


def check_regions(regions: Detections) -> None:
    """Refuse detections that are not regions before suppression, of a detector of knowns."""
    if "region" not in regions.attributes:
        raise refuse("OS648", "the detections do not say which region each is of")
    if not are_regions(regions):
        raise refuse("OS648", "the detections are what suppression and a limit have left")
    check_knowns(regions)


def check_knowns(detections: Detections) -> None:
    """Refuse detections of a detector that names unknowns itself."""
    if detections.layout is not None and detections.layout.has_unknown:
        raise refuse("OS651", 'the logits have a column of their own for "unknown"')
    if len(ledger.unknown_rows(detections)):
        raise refuse("OS651", "some detections are labelled unknown already")


def known_names(detections: Detections) -> tuple[str, ...]:
    """The classes of a detector, without one that it has for the unknown."""
    return tuple(name for name in detections.labels if not is_unknown_spelling(name))


def of_knowns(detections: Detections) -> Detections:
    """Those that a detector with a name for the unknown does not call so, or all.

    What such a detector says is no label of an unknown object, and nothing leaks.
    """
    if detections.layout is None or not detections.layout.has_unknown:
        return detections
    return detections.select(detections.label < len(known_names(detections)))


def are_regions(detections: Detections) -> bool:
    """Whether these are pairs of a region and a class, before any was suppressed."""
    suppressed = "model" in detections.provenance and "regions" not in detections.provenance
    return "region" in detections.attributes and not suppressed


def best_of_region(regions: Detections, score: Array, rows: Rows) -> NDArray[np.bool_]:
    """Which of some rows is the best of its region."""
    keys = [np.unique(c[rows], return_inverse=True)[1]
            for c in (regions.image, regions.attributes["region"])]  # fmt: skip
    order = np.lexsort((-score[rows], *keys[::-1]))
    first = np.ones(len(rows), bool)
    first[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    best = np.zeros(len(rows), bool)
    best[order[first]] = True
    return best


def filters_of(regions: Detections) -> Mapping[str, Any]:
    """The filters that the detector has, or the published ones."""
    return {**_PUBLISHED, **regions.provenance.get("regions", {})}


def suppressed(
    regions: Detections,
    rows: Rows,
    columns: Mapping[str, Any],
    rank: Array,
    filters: tuple[float | None, int | None],
) -> Detections:
    """What suppression leaves of some rows, unknown being one more class.

    Args:
        regions: Pairs of a region and a class.
        rows: The candidates.
        columns: What the rule has made of label, score and unknownness, of all rows.
        rank: What wins over what.
        filters: Overlap from which a candidate is suppressed, and how many stay on an image.
    """
    overlap, limit = filters
    keep = class_wise_nms(
        regions.image[rows],
        regions.box[rows],
        columns["label"][rows],
        rank[rows],
        overlap=np.inf if overlap is None else overlap,
        limit=limit or max(len(regions), 1),
    )
    return called(regions, rows[keep], columns)


def called(detections: Detections, rows: Rows, columns: Mapping[str, Any]) -> Detections:
    """Some rows with other columns; the label after the last known one is unknown."""
    about = {key: value for key, value in detections.provenance.items() if key != "regions"}
    return replace(
        detections.select(rows),
        labels=(*known_names(detections), UNKNOWN),
        provenance=about,
        **{name: values[rows] for name, values in columns.items()},
    )
