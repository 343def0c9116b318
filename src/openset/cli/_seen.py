"""Seen: what a detector says of photos, whose objects nobody has labelled.

At an operating point every box is one of three: background, where its score is too low; unknown,
where it is called so or its unknownness is high enough; else known. Each comes with the evidence
that the file holds: the likeliest classes, the unknownness, objectness.

Nothing says whether it is right; where objects are known, `_judged` does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.cli._picture import Album, Drawing, Look, Mark, four
from openset.cli._sizes import MOST, picture_size, spread
from openset.findings import Finding, InputError, Level, UsageError
from openset.nets.pictures import ImageFiles
from openset.tables import Annotations, Detections
from openset.tables.annotations import without_objects
from openset.tables.evidence import chances
from openset.tables.vocabulary import is_unknown_spelling

KINDS = KNOWN, UNKNOWN, BACKGROUND = "known", "unknown", "background"
LOOKS = {
    BACKGROUND: Look("#999999", "#000000", 2, "background"),
    KNOWN: Look("#0072B2", "#FFFFFF", 0, "known"),
    UNKNOWN: Look("#D55E00", "#000000", 8, "unknown", always=True),
}
MINIMUM_SCORE = 0.3  # below it boxes are mostly background, as in `openset score`
_FAINT = 8  # boxes of the background on an image, those of the highest scores
_LIKELY = 3  # classes that a box is said to be like


@dataclass(frozen=True, slots=True)
class Place:
    """An operating point.

    Attributes:
        score: The least score of what is not background.
        unknown_from: The least unknownness of what is unknown, None to go by labels alone.
    """

    score: float
    unknown_from: float | None

    @classmethod
    def of(cls, found: Detections, score: float, unknown_from: str | None) -> Place:
        """The operating point of a number, or of a share of the boxes that are not background."""
        if unknown_from is None:
            return cls(score, None)
        if found.unknownness is None:
            raise UsageError(
                "--unknown-from is a threshold of unknownness, and the file has none: "
                "--unknownness names a scorer"
            )
        share = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", unknown_from.strip())
        if share is None:
            return cls(score, _number(unknown_from))
        part = float(share[1]) / 100
        ranked = np.sort(found.unknownness[found.score >= score])[::-1]
        count = round(min(part, 1.0) * len(ranked))
        return cls(score, float(ranked[count - 1]) if count else math.inf)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"--unknown-from is a number or a share, 10%, not {text!r}") from error


class Seen:
    """Detections on photos at an operating point."""

    def __init__(self, found: Detections, files: ImageFiles, place: Place) -> None:
        self.found, self.files, self.place = found, files, place

    @cached_property
    def kinds(self) -> NDArray[np.str_]:
        """What every box is called."""
        found, from_ = self.found, self.place.unknown_from
        unknown = _called_unknown(found)
        if from_ is not None and found.unknownness is not None:
            unknown = unknown | (found.unknownness >= from_)
        kinds = np.where(unknown, UNKNOWN, KNOWN)
        return np.where(found.score >= self.place.score, kinds, BACKGROUND)

    @cached_property
    def rows(self) -> Mapping[int, NDArray[np.int64]]:
        """The boxes of each photo that has any, by its place among the files."""
        places = _places(self.files, self.found.image.dtype.kind == "i")
        held, at = np.unique(self.found.image, return_inverse=True)
        order = np.argsort(at, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(at, minlength=len(held)))[:-1])
        pairs = zip(held.tolist(), parts, strict=True)
        return {places[one]: rows for one, rows in pairs if one in places}

    def photos(self, *, all_of: bool) -> Annotations:
        """The images that boxes are on, with the sizes of some photos, or of all."""
        held, at = np.unique(self.found.image), list(self.rows)
        some = at if all_of else spread(at)[:MOST]
        size = np.full((len(held), 2), np.nan)
        for place in some:
            row = np.searchsorted(held, self.found.image[self.rows[place][0]])
            size[row] = picture_size(self.files.path[place]) or np.nan
        return without_objects(held, *size.T)

    def with_boxes(self, box: NDArray[np.float64]) -> Seen:
        """The same with other boxes."""
        return Seen(replace(self.found, box=box), self.files, self.place)

    def order(self) -> list[int]:
        """Places of the photos, those with the most unknown boxes first."""
        count = [int((self.kinds[self._of(at)] == UNKNOWN).sum()) for at in range(len(self.files))]
        return sorted(range(len(self.files)), key=lambda at: -count[at])

    def album(self, places: Iterable[int]) -> Album:
        """Some of the photos."""
        pages = ((self.files.path[at], self.drawing(at)) for at in places)
        return Album(pages, self.place.score, LOOKS, self.note, upright=True)

    @property
    def note(self) -> str:
        """The operating point, in words."""
        said = f"score {self.place.score:g} or more"
        if self.found.unknownness is None:
            return said
        from_ = self.place.unknown_from
        if from_ == math.inf:
            return f"{said}; u: unknownness; too few boxes for a share of them to be unknown"
        return f"{said}; u: unknownness" + ("" if from_ is None else f", unknown from {from_:.3g}")

    def findings(self) -> list[Finding]:
        """That nothing here tells unknown from known, if so."""
        if self.place.unknown_from is not None or _called_unknown(self.found).any():
            return []
        values = self.found.unknownness
        if values is None:
            why = "no box is called unknown, and there is no unknownness"
            return [Finding("OS387", Level.NOTE, why, fix=_FIX)]
        shown = values[self.found.score >= self.place.score]
        tenth = f"; a tenth of the boxes have {np.quantile(shown, 0.9):.3g} or more" * bool(
            len(shown)
        )
        why = f"no box is called unknown, and nothing says from which unknownness{tenth}"
        return [Finding("OS387", Level.NOTE, why)]

    def boxes(self, at: int) -> list[dict[str, Any]]:
        """All boxes of a photo with their evidence, the best first."""
        rows = self._of(at)
        rows = rows[np.argsort(-self.found.score[rows], kind="stable")]
        return [
            self._box(row, likely) for row, likely in zip(rows, self._likely(rows), strict=True)
        ]

    def _of(self, at: int) -> NDArray[np.int64]:
        return self.rows.get(at, np.empty(0, np.int64))

    def drawing(self, at: int) -> Drawing:
        """One photo."""
        boxes = self.boxes(at)
        faint = [box for box in boxes if box["kind"] == BACKGROUND][:_FAINT]
        shown = [
            *faint,
            *(box for kind in (KNOWN, UNKNOWN) for box in boxes if box["kind"] == kind),
        ]
        marks = tuple(Mark(box["kind"], box["box"], _words(box)) for box in shown)
        return Drawing(self.files.path[at].name, (math.nan, math.nan), marks)

    def _box(self, row: int, likely: Mapping[str, float]) -> dict[str, Any]:
        found = self.found
        number = int(found.label[row])
        box: dict[str, Any] = {
            "kind": str(self.kinds[row]),
            "label": found.labels[number] if found.labels else f"class {number}",
            "score": round(float(found.score[row]), 4),
            "box": four(found.box[row]),
        }
        if found.unknownness is not None:
            box["unknownness"] = float(found.unknownness[row])
        if likely:
            box["like"] = likely
        for name, values in found.attributes.items():
            if values.ndim == 1 and values.dtype.kind == "f":
                box[name] = float(values[row])
        return box

    def _likely(self, rows: NDArray[np.int64]) -> list[dict[str, float]]:
        """The likeliest classes of boxes, where logits say."""
        if self.found.logits is None or not len(rows):
            return [{} for _ in rows]
        try:
            names, share = chances(self.found.select(rows))
        except InputError:  # nothing says which column is which class
            return [{} for _ in rows]
        best = np.argsort(-share, axis=1, kind="stable")[:, :_LIKELY]
        return [
            {names[at]: round(float(share[row, at]), 4) for at in columns}
            for row, columns in enumerate(best.tolist())
        ]


_FIX = "openset score with --calibrate, or --unknownness energy --unknown-from 10%"


def _called_unknown(found: Detections) -> NDArray[np.bool_]:
    strange = [at for at, name in enumerate(found.labels) if is_unknown_spelling(name)]
    return np.isin(found.label, strange)


def _places(files: ImageFiles, numbered: bool) -> dict[Any, int]:
    """Where each id is among the files; results of COCO number their images without zeros."""
    stems = [str(one) for one in files.id.tolist()]
    if not numbered:
        names = {path.name: at for at, path in enumerate(files.path)}
        return names | {stem: at for at, stem in enumerate(stems)}
    return {int(stem): at for at, stem in enumerate(stems) if re.fullmatch(r"[0-9]{1,18}", stem)}


def _words(box: Mapping[str, Any]) -> str:
    """What a box says on the picture: the label and its score, then why."""
    said = f"{box['label']} {box['score']:.2f}"
    if box["kind"] == UNKNOWN:
        like = next(iter(box.get("like", {})), "")
        like = like or ("" if is_unknown_spelling(box["label"]) else box["label"])
        said = f"unknown {box['score']:.2f}" + (f", like {like}" if like else "")
    shown = "unknownness" in box and box["kind"] != BACKGROUND
    return said + (f", u {box['unknownness']:.3g}" if shown else "")
