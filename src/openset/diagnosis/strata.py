"""Strata: any metric on a slice of the objects.

Slices are by size, super-class, original label of the unknown, or an attribute such as occlusion.
Objects outside of the slice become ignored and the tables are matched again, so that a detection
on such an object is neither right nor wrong, as COCO does with its size ranges. Unlike COCO, a
detection that is on no object counts as wrong in every slice, whatever its own size: it has no
attribute to tell to which slice it would belong.

Objects whose group is empty count in every slice: tiers of unknown classes leave the known ones
alone. Slices with few objects have wide intervals; nothing here says which differences are real.
Images instead of objects: `openset.evaluation.strata`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._spec import Diagnosis, Row, question
from openset.diagnosis.deployed import Deployed
from openset.findings import UsageError
from openset.matching import Matches, Protocol, match
from openset.matching.sizes import SIZE_RANGES
from openset.metrics import Metric, Value, table
from openset.plugins import lookup
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.join import join

Strata = dict[str, dict[str, Value]]
SHOWN = ("ap_known", "ap_unknown", "unknown_recall", "a_ose")
Labels = NDArray[Any]
EVERY = ""  # the group of objects that count in every stratum


@dataclass(frozen=True)
class Stratified(Diagnosis):
    """Metrics by stratum.

    Attributes:
        by: What is sliced by.
        values: The metrics of each stratum.
    """

    by: str
    values: Strata

    def rows(self) -> list[Row]:
        """One row per stratum."""
        return [
            {self.by: stratum} | {name: value.value for name, value in values.items()}
            for stratum, values in self.values.items()
        ]


@question("strata", title="Metrics by size")
def by_size(one: Deployed) -> Stratified:
    """How metrics differ between small, medium and large objects, the others being ignored."""
    groups, matches = object_groups(one.truth, "size"), one.matches
    found = by_object(
        one.truth, one.judged, matches.vocabulary, matches.protocol, groups, metrics=SHOWN
    )
    return Stratified("size", {size: found[size] for size in SIZE_RANGES if size in found})


def by_object(
    truth: Annotations,
    detections: Detections,
    vocabulary: Vocabulary,
    protocol: Protocol | str,
    groups: Labels,
    metrics: Sequence[str] | None = None,
) -> Strata:
    """Metrics on each group of objects, the other objects ignored: stratum → metric → value.

    Args:
        truth: The ground truth.
        detections: What the detector said.
        vocabulary: Roles of the labels.
        protocol: A preset's name or a protocol.
        groups: A label per object (see `object_groups`); empty: it counts in every stratum.
        metrics: Names of metrics; the headline metrics by default.
    """
    rules = Protocol.of(protocol)
    names = _names(groups, len(truth))
    chosen = _metrics(metrics)
    joined = join(truth, detections, vocabulary) if rules.synonyms else None
    flagged = truth.difficult if "difficult" in rules.ignore else np.zeros(len(truth), np.bool_)
    assert flagged is not None
    # An ignored object must not make an open-set error either, whatever the preset says of its own.
    rules = rules.but(
        ignore=tuple(dict.fromkeys((*rules.ignore, "difficult"))), ose_counts_ignored=False
    )
    found: Strata = {}
    for name in np.unique(names).tolist():
        if name != EVERY:
            outside = (names != name) & (names != EVERY)
            part = replace(truth, difficult=flagged | outside)
            matches = match(part, detections, vocabulary, rules, joined=joined)
            found[name] = _values(matches, chosen)
    return found


def object_groups(
    truth: Annotations, by: str | Mapping[str, str], vocabulary: Vocabulary | None = None
) -> Labels:
    """A stratum per object.

    Args:
        truth: The ground truth.
        by: ``size`` (COCO's small, medium, large), ``supercategory``, ``unknown`` (the original
            label of unknown objects), the name of an object attribute, or a mapping from label to
            stratum, such as the tiers near, far and farther; labels that it lacks count everywhere.
        vocabulary: Roles of the labels, for ``unknown``.
    """
    if isinstance(by, Mapping):
        return _of_labels(truth, [by.get(label, EVERY) for label in truth.labels])
    if by == "size":
        bounds = [SIZE_RANGES["small"][1], SIZE_RANGES["medium"][1]]
        assert truth.area is not None
        return np.array(["small", "medium", "large"])[np.searchsorted(bounds, truth.area, "right")]
    if by == "supercategory":
        return _of_labels(truth, truth.supercategory)
    if by == "unknown":
        if vocabulary is None:
            raise UsageError("strata by unknown label need a vocabulary")
        unknown = vocabulary.classes(truth.labels) == len(vocabulary.known)
        pairs = zip(truth.labels, unknown, strict=True)
        return _of_labels(truth, [label if out else EVERY for label, out in pairs])
    return np.asarray(lookup(truth.attributes, by, "object attribute"))


def _of_labels(truth: Annotations, strata: Sequence[str]) -> Labels:
    return np.array(strata, np.str_)[truth.label] if len(strata) else np.empty(0, np.str_)


def _names(groups: Labels, length: int) -> Labels:
    values = np.asarray(groups)
    if values.shape != (length,):
        raise UsageError(f"expected one group per object ({length}), but got {values.shape}")
    return values.astype(np.str_)


def _metrics(names: Sequence[str] | None) -> list[Metric]:
    known = table()
    if names is None:
        return [metric for metric in known.values() if metric.headline]
    return [lookup(known, name, "metric") for name in names]


def _values(matches: Matches, metrics: Sequence[Metric]) -> dict[str, Value]:
    return {metric.name: metric.compute(matches) for metric in metrics}
