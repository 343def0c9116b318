"""Ledger: what was fitted on which data, carried by the detections that it changed.

Published open-set numbers leak: thresholds calibrated on the test set, hyper-parameters picked by
the AUROC on it, fitting on objects that are said to be unknown. Every fit, score and threshold
writes an entry into ``provenance["ledger"]``, which survives in Parquet, so that it can be printed
beside every number. Where detections come from is ``provenance["split"]``, stated by `of_split`.

Not a proof: it knows what it was told. A split that nobody stated is called "not stated".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, InputError, Level, UsageError, refuse
from openset.render import Table
from openset.tables import Detections
from openset.tables.vocabulary import is_unknown_spelling

NOT_STATED = "not stated"
BY_HAND = "given by hand"
TOLD = "FITTED ON THE LABELS OF UNKNOWN OBJECTS"
_TEST = re.compile(r"(^|[^a-z])(test|testing|eval|evaluation|wild|wilderness|ood)\d*($|[^a-z0-9])")

_TRAINING = re.compile(r"(^|[^a-z])(train|training|trainval)\d*($|[^a-z0-9])")


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One thing that was done with data.

    Attributes:
        step: What the detector was ``taught`` before it was run, ``fit`` a scorer, ``score``
            detections, or set a ``threshold``.
        name: The detector, the scorer or the flavour of the threshold.
        split: What the data is called; `BY_HAND` for what no data decided.
        images: Number of images.
        detections: Number of detections.
        uses_unknown: Whether unknown objects took part by design.
        options: Everything that was chosen.
        leaks: What makes the numbers optimistic; empty is good.
    """

    step: Literal["taught", "fit", "score", "threshold"]
    name: str
    split: str
    images: int
    detections: int
    uses_unknown: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    leaks: tuple[str, ...] = ()

    @classmethod
    def of(cls, held: Any) -> LedgerEntry:
        """The entry that a file holds."""
        try:
            return cls(**{**held, "leaks": tuple(held.get("leaks", ()))})
        except (TypeError, AttributeError) as error:
            raise refuse("OS507", f"the ledger of the detections is damaged: {error}") from error

    def __str__(self) -> str:
        if self.step == "taught":
            many = f" ({self.images:,} images)" if self.images else ""
            return f"{self.name} taught by {self.split}{many}"
        if self.split == BY_HAND:
            return f"{self.name} {BY_HAND}"
        verb = {"fit": "fitted on", "score": "scored", "threshold": "threshold from"}[self.step]
        return f"{self.name} {verb} {self.split} ({self.images:,} images)"


def of_split(detections: Detections, split: str) -> Detections:
    """State which images the detections are from, such as ``digits train``.

    >>> found = Detections([1], [0], [[0, 0, 9, 9]], [0.9], ("dog",))
    >>> split_of(found), split_of(of_split(found, "digits val"))
    ('not stated', 'digits val')
    """
    if not isinstance(split, str) or not split.strip():
        raise UsageError(f"a split is a name such as 'train', not {split!r}")
    return replace(detections, provenance={**detections.provenance, "split": split})


def split_of(detections: Detections) -> str:
    """What the images are called that the detections are from."""
    return str(detections.provenance.get("split") or NOT_STATED)


def is_test(split: str) -> bool:
    """Whether a name says that the data is for testing.

    >>> is_test("VOC2007 test"), is_test("coco/train2017"), is_test("latest")
    (True, False, False)
    """
    return _TEST.search(split.lower()) is not None


def on_training(held_out: Detections, where: str) -> Finding | None:
    """OS515, if a threshold would be set on images whose name says that the detector saw them.

    >>> boxes = Detections([1], [0], [[0, 0, 9, 9]], [0.9], ("dog",))
    >>> on_training(of_split(boxes, "VOC2007 trainval"), "a.parquet").message
    'a threshold would be set on VOC2007 trainval, in a.parquet'
    >>> on_training(of_split(boxes, "VOC2007 val"), "a.parquet")
    """
    split = split_of(held_out)
    if not _TRAINING.search(split.lower()):
        return None
    said = f"a threshold would be set on {split}, in {where}"
    return Finding("OS515", Level.WARNING, said, len(held_out), where)


def entries(detections: Detections) -> tuple[LedgerEntry, ...]:
    """What was done to make the unknownness and the labels of these detections."""
    held = detections.provenance.get("ledger", ())
    if not isinstance(held, (list, tuple)):
        raise refuse("OS507", f"the ledger of the detections is damaged: {held!r:.80}")
    return tuple(map(LedgerEntry.of, held))


def recorded(detections: Detections, *new: LedgerEntry) -> Detections:
    """The detections with further entries.

    A new score replaces the last, and with it what that was fitted on, unless the labels depend on
    it: what led to a threshold stays, and so does what the detector was taught.
    """
    held = entries(detections)
    if new and new[0].step != "threshold":
        decided = [at for at, entry in enumerate(held) if entry.step == "threshold"]
        end = decided[-1] + 1 if decided else 0
        held = (*held[:end], *(entry for entry in held[end:] if entry.step == "taught"))
    ledger = [{**asdict(entry), "leaks": list(entry.leaks)} for entry in (*held, *new)]
    return replace(detections, provenance={**detections.provenance, "ledger": ledger})


def unscored(detections: Detections) -> Detections:
    """The detections without what led to their unknownness, unless their labels depend on it."""
    held = entries(detections)
    if any(entry.step == "threshold" for entry in held):
        return detections
    kept = {key: value for key, value in detections.provenance.items() if key != "ledger"}
    bare = replace(detections, provenance=kept)
    taught = [entry for entry in held if entry.step == "taught"]
    return recorded(bare, *taught) if taught else bare


def summary(detections: Detections, *more_leaks: str) -> str:
    """One line to print beside a number: what was fitted on what, and what leaked.

    Args:
        detections: Detections with a ledger.
        more_leaks: What is known to leak beside what the ledger says.

    >>> found = Detections([1], [0], [[0, 0, 9, 9]], [0.9], ("dog",))
    >>> summary(recorded(found, LedgerEntry("fit", "knn", "digits train", 900, 5000)))
    'knn fitted on digits train (900 images); no leak known'
    """
    held = entries(detections)
    done = [str(entry) for entry in held if entry.step != "score"]
    fitted = {entry.name for entry in held if entry.step == "fit"}
    if done and held[-1].step == "score" and held[-1].name not in fitted:
        done.append(f"unknownness of {held[-1].name}, which fits nothing")
    leaks = list(dict.fromkeys([*(leak for entry in held for leak in entry.leaks), *more_leaks]))
    verdict = f"LEAK: {', '.join(leaks)}" if leaks else "no leak known"
    return "; ".join([*(done or ["nothing was fitted"]), verdict])


def table(detections: Detections) -> Table:
    """The ledger as a table."""
    header = ("step", "name", "split", "images", "detections", "uses unknown", "leaks")
    rows = tuple(
        (e.step, e.name, e.split, f"{e.images:,}", f"{e.detections:,}",
         "yes" if e.uses_unknown else "no", ", ".join(e.leaks) or "–")
        for e in entries(detections)
    )  # fmt: skip
    return Table(header, rows)


def check_fit(
    what: str, detections: Detections, *, uses_unknown: bool = False, force: bool = False
) -> tuple[str, ...]:
    """Refuse to fit on test data or on unknown objects; with `force`, say what leaks."""
    findings = [(text, error) for text, error in _leaks(what, detections, uses_unknown) if error]
    if findings and not force:
        raise findings[0][1]
    return tuple(text for text, _ in findings)


def _leaks(
    what: str, detections: Detections, uses_unknown: bool
) -> list[tuple[str, InputError | None]]:
    split, unknown = split_of(detections), unknown_rows(detections)
    test = refuse("OS505", f"{what} would be fitted on {split!r}") if is_test(split) else None
    seen = None
    if len(unknown) and not uses_unknown:
        message = f"{what} is fitted on knowns, but {len(unknown)} detections are labelled unknown"
        first = f"detection {unknown[0]} on image {detections.image[unknown[0]]}"
        seen = refuse("OS506", message, count=len(unknown), example=first)
    return [("fitted on test data", test), ("fitted on unknown objects", seen)]


def unknown_rows(detections: Detections) -> NDArray[np.int64]:
    """The detections whose label is a spelling of unknown."""
    flags = np.array([is_unknown_spelling(name) for name in detections.labels], bool)
    return np.flatnonzero(flags[detections.label]) if flags.any() else np.empty(0, np.int64)


def overlap(split: str, images: NDArray[Any], detections: Detections) -> int:
    """How many images of some fit are also those of the detections.

    Image ids repeat between splits, so two splits of different stated names share none.
    """
    other = split_of(detections)
    if split != other and NOT_STATED not in (split, other):
        return 0
    ids = np.unique(detections.image)
    same_kind = ids.dtype.kind == images.dtype.kind
    return int(np.isin(ids, images).sum()) if same_kind else 0
