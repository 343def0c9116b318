"""Presence: images by what is annotated in them.

``with = "known"``: a group, or a list of labels. Crowd regions count as annotations. Whether an
image *shows* what nobody annotated is more than a rule can know.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.pool import Pool
from openset.benchmarks.rules import image_rule

Labels = str | list[str]


@image_rule("with", Labels)
def with_(pool: Pool, labels: str | Sequence[str]) -> NDArray[np.intp]:
    """Images with at least one box of these labels."""
    return pool.where(pool.holding(pool.labels(labels)))


@image_rule("without", Labels)
def without(pool: Pool, labels: str | Sequence[str]) -> NDArray[np.intp]:
    """Images with no box of these labels; images without any box pass."""
    return pool.where(~pool.holding(pool.labels(labels)))


@image_rule("only", Labels)
def only(pool: Pool, labels: str | Sequence[str]) -> NDArray[np.intp]:
    """Images whose every box has one of these labels; images without any box pass."""
    return pool.where(~pool.holding(~pool.labels(labels)))


@image_rule("annotated", bool)
def annotated(pool: Pool, wanted: bool) -> NDArray[np.intp]:
    """Images with (``true``) or without (``false``) any box."""
    return pool.where(pool.holding(np.ones(len(pool.table.labels), np.bool_)) == wanted)
