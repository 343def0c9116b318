"""Scorers: how unknown a detection looks, computed after the fact from what the detector kept.

A scorer is a pure function from `Detections` to one number per detection, *larger = more unknown*
whatever the sign in its paper. `table()` lists all of them, built in or from third parties (entry
points in the group ``openset.scorers``). Adding a scorer is adding a file.

A score alone labels nothing: `threshold` chooses where unknown begins, and relabels.
"""

from __future__ import annotations

from collections.abc import Mapping

from openset.plugins import discover, record_of
from openset.scorers._spec import Scorer, scorer
from openset.scorers.threshold import gaussian_threshold, quantile_threshold, relabel

__all__ = ["Scorer", "gaussian_threshold", "quantile_threshold", "relabel", "scorer", "table"]


def table() -> Mapping[str, Scorer]:
    """Every scorer, by name, in the order of the files they live in."""
    return {name: record_of(target) for name, target in discover(__name__, "scorer").items()}
