"""Scorers: how unknown a detection looks, computed after the fact from what the detector kept.

``find("knn").fit(train).scored(test)`` gives detections with unknownness, *larger = more unknown*
whatever the sign in the paper. `table()` lists all scorers, built in or from third parties (entry
points in the group ``openset.scorers``), with what they read and fit on. Adding one is adding a
file. What was fitted on which data travels with the detections (`ledger`).

A score alone labels nothing: `calibrate` chooses where unknown begins, and relabels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openset.plugins import lookup, records
from openset.render import Table
from openset.scorers import _listing, ledger
from openset.scorers._evidence import Evidence, other_lengths, other_model, own_head
from openset.scorers._fitted import Fitted, load
from openset.scorers._head_file import load_head, save_head
from openset.scorers._of_other_logits import of_other_logits
from openset.scorers._own import Own
from openset.scorers._shown_again import shown_again
from openset.scorers._spec import Scorer, has_negative, scorer
from openset.scorers._temperature import other_temperature
from openset.scorers.calibration import Calibration, calibrate
from openset.scorers.duplicates import suppress_duplicates
from openset.scorers.ledger import of_split
from openset.scorers.threshold import gaussian_threshold, quantile_threshold, relabel
from openset.tables import Detections, Head

__all__ = [
    "Calibration",
    "Evidence",
    "Fitted",
    "Own",
    "Scorer",
    "calibrate",
    "find",
    "gaussian_threshold",
    "ledger",
    "listing",
    "load",
    "load_head",
    "markdown",
    "of_other_logits",
    "of_split",
    "other_lengths",
    "other_model",
    "other_temperature",
    "own_head",
    "quantile_threshold",
    "relabel",
    "save_head",
    "scorer",
    "shown_again",
    "suited",
    "suppress_duplicates",
    "table",
]


def table() -> Mapping[str, Scorer]:
    """Every scorer, by name, in the order of the files they live in."""
    return records(__name__, "scorer")


def find(name: str) -> Scorer:
    """The scorer of a name, or an error that suggests one."""
    return lookup(table(), name, "scorer")


def listing() -> Table:
    """Every scorer with what it reads, what it fits on, and its paper."""
    return _listing.listing(table().values())


def markdown() -> str:
    """Definitions and options of every scorer (the body of ``docs/scorers.md``)."""
    return _listing.markdown(table().values())


def suited(detections: Detections, head: Head | None = None) -> dict[str, dict[str, Any]]:
    """The scorers that these detections have the evidence for, and the options they call for.

    Where a scorer was published for a softmax and the detector has sigmoids, its sigmoid analogue
    is chosen. Scorers that were published for activations after a ReLU are left out where some are
    negative; asked for by name they run, with a warning.
    """
    held = {name for name in ("logits", "embedding") if getattr(detections, name) is not None}
    held |= {"image", "label", "box", "score", *detections.attributes}
    last = detections.head if head is None else head
    held |= {"head"} if last is not None else set()
    layout = detections.layout if last is None else last.layout
    stated = {"activation": "sigmoid"} if layout is not None and layout.is_sigmoid else {}
    negative = has_negative(detections)
    return {
        name: {key: value for key, value in stated.items() if key in record.options}
        for name, record in table().items()
        if held.issuperset((*record.requires, *record.fit_requires))
        and not (record.rectified and negative)
    }
