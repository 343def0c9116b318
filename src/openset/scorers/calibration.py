"""Calibration: a threshold with its data, and the labels that follow from it.

The threshold comes from held-out detections of *known* objects that have been scored. It is kept
with what it was fitted on, refuses test data, and writes the ledger when it relabels.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError, refuse
from openset.scorers import _archive, ledger
from openset.scorers.threshold import gaussian_threshold, quantile_threshold, relabel
from openset.tables import Detections

Flavour = Literal["quantile", "zscore"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """Where unknown begins, and on what that was decided.

    Attributes:
        threshold: What exceeds it is unknown.
        flavour: How it was found.
        keep: Share of held-out knowns that should stay known.
        kept: Share of them that does.
        split: What the held-out data is called.
        count: Number of held-out detections.
        leaks: What makes it optimistic.
        images: The held-out images.
    """

    threshold: float
    flavour: str
    keep: float
    kept: float
    split: str
    count: int
    leaks: tuple[str, ...]
    images: NDArray[Any]

    def relabel(self, detections: Detections, **options: Any) -> Detections:
        """Call scored detections unknown whose unknownness exceeds the threshold.

        Args:
            detections: Scored detections.
            **options: As in `openset.scorers.relabel`: ``ranking``, ``label``, ``score``, …
        """
        values = _unknownness(detections)
        shared = ledger.overlap(self.split, self.images, detections)
        on_itself = (f"threshold from {shared:,} images it is applied to",) if shared else ()
        entry = ledger.LedgerEntry(
            "threshold",
            self.flavour,
            self.split,
            len(self.images),
            self.count,
            options={"keep": self.keep, "threshold": self.threshold},
            leaks=(*self.leaks, *on_itself),
        )
        return ledger.recorded(relabel(detections, values, self.threshold, **options), entry)

    def save(self, path: str | Path) -> None:
        """Write the calibration as ``.npz``."""
        _archive.save(Path(path), "calibration", self)

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read a calibration that `save` has written."""
        return _archive.load(Path(path), "calibration", cls)

    def __post_init__(self) -> None:
        object.__setattr__(self, "leaks", tuple(self.leaks))


def calibrate(
    held_out: Detections, *, keep: float = 0.95, flavour: Flavour = "quantile", force: bool = False
) -> Calibration:
    """Choose where unknown begins, so that a share of held-out knowns stays known.

    Args:
        held_out: Scored detections of known objects, from neither the training nor the test set.
        keep: That share.
        flavour: ``quantile`` assumes nothing. ``zscore`` is the mean plus 1.645 standard
            deviations, what FMIYC's code does for "95 %" (so `keep` must be 0.95); on saturated
            scores it keeps another share, which `Calibration.kept` tells.
        force: Accept test data and detections labelled unknown; the ledger says so.

    >>> scored = Detections([1] * 100, [0] * 100, [[0, 0, 9, 9]] * 100, [0.9] * 100, ("dog",),
    ...     unknownness=range(100))
    >>> calibrate(scored).threshold, calibrate(scored).kept
    (94.0, 0.95)
    """
    values = _unknownness(held_out)
    leaks = ledger.check_fit("a threshold", held_out, force=force)
    if any(entry.step == "score" and entry.leaks for entry in ledger.entries(held_out)):
        leaks = (*leaks, "threshold from images the scorer was fitted on")
    if flavour not in ("quantile", "zscore"):
        raise UsageError(f"flavour must be 'quantile' or 'zscore', not {flavour!r}")
    if flavour == "zscore" and keep != 0.95:
        raise UsageError(f"the z-score threshold is published for keep=0.95, not {keep}")
    found = quantile_threshold(values, keep=keep) if flavour == "quantile" else None
    threshold = gaussian_threshold(values) if found is None else found
    return Calibration(
        threshold,
        flavour,
        keep,
        float(np.mean(values <= threshold)),
        ledger.split_of(held_out),
        len(held_out),
        leaks,
        np.unique(held_out.image),
    )


def _unknownness(detections: Detections) -> NDArray[np.float64]:
    if detections.unknownness is None:
        raise refuse("OS501", "the detections have no unknownness", fix="score them first")
    return detections.unknownness
