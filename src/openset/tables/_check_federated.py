"""Checks of federated annotation, as LVIS has it: on an image only some classes were looked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables.annotations import Annotations
from openset.wording import spaced

_ABSENT, _PARTLY = "neg_category_ids", "not_exhaustive_category_ids"


def federated(truth: Annotations) -> Iterator[Finding]:
    """The finding that classes were not looked for on every image, if the file says so."""
    held = truth.images.attributes
    columns = [held[name] for name in (_ABSENT, _PARTLY) if name in held]
    if not columns or not len(truth.images) or not truth.labels:
        return
    absent, partly = (_listed(held.get(name), len(truth.images)) for name in (_ABSENT, _PARTLY))
    pairs = np.unique(truth.image.astype(np.int64) * len(truth.labels) + truth.label)
    present = np.bincount(pairs // len(truth.labels), minlength=len(truth.images))
    whole = absent + present - np.minimum(partly, present)
    some = np.flatnonzero(whole < len(truth.labels))
    if not len(some):
        return
    at = int(some[0])
    share = whole.sum() / (len(truth.images) * len(truth.labels))
    yield Finding(
        "OS460",
        Level.WARNING,
        f"{spaced(len(some))} of {spaced(len(truth.images))} images are annotated for some classes "
        f"alone: {share:.1%} of the pairs of an image and a class are verified, and boxes of the "
        "others count as wrong where their object was not annotated",
        count=len(some),
        example=f"image {truth.images.id[at]}: {spaced(int(whole[at]))} of "
        f"{spaced(len(truth.labels))} classes",
    )


def _listed(column: NDArray[Any] | None, images: int) -> NDArray[np.int64]:
    """How many ids each image lists; columns of lists are JSON text."""
    if column is None:
        return np.zeros(images, np.int64)
    lists = (str(text).strip("[] ") for text in column.tolist())
    return np.array([text.count(",") + 1 if text else 0 for text in lists], np.int64)
