"""Strata: slices of objects."""

from __future__ import annotations

import numpy as np
import pytest

from openset.diagnosis.strata import by_object, object_groups
from openset.findings import UsageError
from openset.matching import Protocol, match
from openset.metrics import table
from scenes.diagnosis import PAPER, by_hand, golden, tables

NAMES = ("ap_known", "a_ose", "unknown_recall", "detections_per_image")


def test_one_stratum_is_the_whole():
    truth, detections, vocabulary = golden("small", "mixed")
    groups = np.full(len(truth), "all")
    (found,) = by_object(truth, detections, vocabulary, "default", groups, NAMES).values()
    matches = match(truth, detections, vocabulary, "default")
    for name in NAMES:
        assert found[name].value == table()[name].compute(matches).value


@pytest.mark.parametrize("protocol", ["default", "coco", "owod"])
def test_counts_of_strata_add_up(protocol):
    truth, detections, vocabulary = golden("small", "mixed")
    groups = object_groups(truth, "size")
    assert set(groups.tolist()) <= {"small", "medium", "large"}
    found = by_object(truth, detections, vocabulary, protocol, groups, ["a_ose"])
    rules = Protocol.of(protocol).but(ose_counts_ignored=False)
    whole = table()["a_ose"].compute(match(truth, detections, vocabulary, rules)).value
    assert sum(values["a_ose"].value or 0 for values in found.values()) == whole


def test_objects_of_other_strata_are_ignored():
    truth, detections, vocabulary = by_hand()
    groups = object_groups(truth, {"zebra": "near", "boat": "far"})
    assert groups.tolist() == ["", "", "near", "near", "far"]
    found = by_object(truth, detections, vocabulary, PAPER, groups, ["a_ose", "ap_known"])
    assert found["near"]["a_ose"].value == 2 and found["far"]["a_ose"].value == 1
    assert found["near"]["ap_known"].value is not None  # known objects count in every tier


def test_groups_of_objects():
    truth, _, vocabulary = tables(
        [(1, "dog", 0, 0, 31, 31), (1, "zebra", 0, 0, 32, 32), (1, "boat", 0, 0, 96, 96)],
        [],
        supercategory=["animal", "animal", "vehicle", "animal", "vehicle"],
        attributes={"occluded": np.array([0, 1, 1])},
    )
    assert object_groups(truth, "size").tolist() == ["small", "medium", "large"]
    assert object_groups(truth, "supercategory").tolist() == ["animal", "animal", "vehicle"]
    assert object_groups(truth, "unknown", vocabulary).tolist() == ["", "zebra", "boat"]
    assert object_groups(truth, "occluded").tolist() == [0, 1, 1]
    with pytest.raises(UsageError, match="object attribute"):
        object_groups(truth, "truncated")
    with pytest.raises(UsageError, match="vocabulary"):
        object_groups(truth, "unknown")


def test_lengths_must_agree():
    with pytest.raises(UsageError, match="one group per object"):
        by_object(*by_hand(), PAPER, np.array(["a"]))
