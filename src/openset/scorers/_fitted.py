"""Fitted: a scorer that is ready to score, with what it learned and from what.

A plain record of arrays. It is saved as ``.npz`` (nothing is pickled), and it carries the ledger's
entry of its fit, which it hands to every detection that it scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, refuse
from openset.scorers import _archive, ledger
from openset.scorers._evidence import Evidence, gather
from openset.tables import Detections, Head

if TYPE_CHECKING:
    from openset.scorers._spec import Scorer

Unknownness = NDArray[np.float64]


class Learned(Protocol):
    """What a scorer that fits has learned: a frozen dataclass of arrays and numbers."""

    @classmethod
    def fit(cls, evidence: Evidence, **options: Any) -> Self:
        """Learn from known detections."""
        ...

    def score(self, evidence: Evidence) -> Unknownness:
        """Unknownness of detections."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A scorer that is ready to score.

    Attributes:
        scorer: What is known about the scorer.
        options: Every option, defaults included.
        widths: The width of each column that it was fitted on.
        entry: What it was fitted on.
        images: The images it was fitted on.
        state: What it learned, or None where there is nothing to learn.
        head: The detector's last layer, where the scorer reads it; None if each file of detections
            brings its own, for a scorer that learns nothing from it.
        findings: What is worth knowing about the fit.
    """

    scorer: Scorer
    options: Mapping[str, Any]
    widths: Mapping[str, int]
    entry: ledger.LedgerEntry
    images: NDArray[Any]
    state: Learned | None = None
    head: Head | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def name(self) -> str:
        """How the scorer is asked for."""
        return self.scorer.name

    @property
    def about(self) -> Mapping[str, Any]:
        """What folders of parts say of it."""
        return {"scorer": self.name, "options": self.options, "fitted": asdict(self.entry)}

    def score(self, detections: Detections) -> Unknownness:
        """Unknownness of each detection: larger = more unknown, always finite."""
        evidence = gather(self.scorer.name, detections, self.scorer.requires, self.head)
        self._check_widths(evidence)
        blocks = evidence.blocks() if self.scorer.rowwise else iter([evidence])
        parts = [self._score(block) for block in blocks] or [self._score(evidence)]
        values = np.concatenate(parts).astype(np.float64, copy=False)
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            message = (
                f"scorer {self.scorer.name!r} gives no finite number for {len(bad)} detections"
            )
            raise refuse("OS502", message, count=len(bad), example=f"detection {bad[0]}")
        return values

    def scored(self, detections: Detections) -> Detections:
        """The detections with unknownness, and with the ledger of how it came about."""
        values = self.score(detections)
        shared = ledger.overlap(self.entry.split, self.images, detections)
        fits = self.scorer.fits_on != "nothing"
        leaks = (f"scored {shared:,} images it was fitted on",) if fits and shared else ()
        done = replace(
            self.entry,
            step="score",
            split=ledger.split_of(detections),
            images=len(np.unique(detections.image)),
            detections=len(detections),
            leaks=leaks,
        )
        new = (self.entry, done) if fits else (done,)
        return ledger.recorded(replace(detections, unknownness=values), *new)

    def save(self, path: str | Path) -> None:
        """Write what was learned as ``.npz``."""
        arrays: dict[str, NDArray[Any]] = {"images": self.images}
        plain: dict[str, Any] = {}
        for name, part in (("state.", self.state), ("head.", self.head)):
            if part is not None:
                more_arrays, more_plain = _archive.flatten(part, name)
                arrays |= more_arrays
                plain |= more_plain
        meta = {
            "scorer": self.scorer.name,
            "options": dict(self.options),
            "widths": dict(self.widths),
            "entry": asdict(self.entry),
            "fields": plain,
        }
        _archive.write(Path(path), "fitted scorer", arrays, meta)

    def _score(self, evidence: Evidence) -> Unknownness:
        if self.state is not None:
            return self.state.score(evidence)
        return self.scorer.function(evidence, **self.options)

    def _check_widths(self, evidence: Evidence) -> None:
        for column, width in widths_of(evidence).items():
            fitted = self.widths.get(column, width)
            if width != fitted:
                message = f"{column} have {width} columns, but the fit was on {fitted}"
                raise refuse("OS503", message, cause="they come from another detector")


def widths_of(evidence: Evidence) -> dict[str, int]:
    """How many numbers a row of each column has."""
    return {c: int(v.shape[-1]) for c, v in evidence.columns.items() if v.ndim > 1}


def load(path: str | Path) -> Fitted:
    """Read a fitted scorer that `Fitted.save` has written."""
    from openset.scorers import find

    arrays, meta = _archive.read(Path(path), "fitted scorer")
    scorer = find(meta.get("scorer", ""))
    try:
        plain = meta["fields"]
        state = (
            None if scorer.state is None else _archive.build(scorer.state, arrays, plain, "state.")
        )
        own = "head" in scorer.requires and (state is not None or "head.layout" in plain)
        head = _archive.build(Head, arrays, plain, "head.") if own else None
        entry = ledger.LedgerEntry.of(meta["entry"])
        images = arrays["images"]
        return Fitted(scorer, meta["options"], meta["widths"], entry, images, state, head)
    except (KeyError, TypeError, ValueError) as error:
        raise refuse("OS507", f"{path} cannot be read: {error}") from error
