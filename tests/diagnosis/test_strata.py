"""Strata: slices of images and of objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.strata import (
    by_image,
    by_object,
    image_groups,
    object_groups,
    restrict_images,
)
from openset.findings import UsageError
from openset.matching import Protocol, match
from openset.metrics import table
from openset.tables import Images
from scenes.diagnosis import PAPER, by_hand, golden, golden_matches, random_tables, tables

NAMES = ("ap_known", "a_ose", "unknown_recall", "detections_per_image")


def part_of(truth, detections, mask):
    """Only some images, as a file of its own would have them."""
    images = replace(
        truth.images, id=truth.images.id[mask], file_name=None, width=None, height=None
    )
    chosen = truth.select(mask[truth.image])
    chosen = replace(chosen, images=images, image=(np.cumsum(mask) - 1)[chosen.image])
    return chosen, detections.select(np.isin(detections.image, truth.images.id[mask]))


@pytest.mark.parametrize("protocol", ["default", "owod", "paper", "elephant"])
@pytest.mark.parametrize("seed", range(3))
def test_restricted_matches_are_those_of_the_part(seed, protocol):
    truth, detections, vocabulary = random_tables(seed)
    mask = np.arange(len(truth.images)) % 3 != 1
    found = restrict_images(match(truth, detections, vocabulary, protocol), mask)
    want = match(*part_of(truth, detections, mask), vocabulary, protocol)
    assert (found.image_ids == want.image_ids).all() and (found.wild == want.wild).all()
    assert (found.score == want.score).all() and (found.class_start == want.class_start).all()
    assert (found.objects.label == want.objects.label).all()
    for name in ("iou_same", "object_same", "object_unknown", "position", "matched", "object"):
        assert (getattr(found.columns, name) == getattr(want.columns, name)).all(), name
    for name in ("correct", "ignored", "object"):
        assert (getattr(found.outcome(), name) == getattr(want.outcome(), name)).all(), name
    for metric in table().values():
        assert metric.compute(found).value == pytest.approx(
            metric.compute(want).value, nan_ok=True
        ), metric.name


def test_all_images_change_nothing():
    matches = golden_matches("tiny")
    found = restrict_images(matches, np.ones(matches.n_images, bool))
    assert (found.columns.object_same == matches.columns.object_same).all()
    with pytest.raises(UsageError, match="mask"):
        restrict_images(matches, np.ones(3, bool))


def test_weights_follow():
    matches = golden_matches("tiny")
    weights = np.arange(matches.n_images * 2, dtype=np.uint8).reshape(-1, 2)
    mask = np.arange(matches.n_images) < 4
    found = restrict_images(matches.resampled(weights), mask)
    assert (found.weights == weights[:4]).all()


def test_by_image():
    truth, detections, vocabulary = by_hand()
    matches = match(truth, detections, vocabulary, PAPER)
    found = by_image(matches, np.array(["day", "night", ""]), NAMES)
    assert list(found) == ["day", "night"]
    assert found["day"]["detections_per_image"].value == 6
    assert found["night"]["a_ose"].value == 3
    assert found["day"]["a_ose"].value is None  # no unknown object by day
    assert set(by_image(matches, np.array(["a", "a", "a"]))["a"]) == {
        name for name, metric in table().items() if metric.headline
    }


def test_image_attributes():
    truth, detections, vocabulary = by_hand()
    images = Images(truth.images.id, attributes={"hour": np.array([1, 2, 2])})
    truth = replace(truth, images=images)
    groups = image_groups(truth, "hour")
    found = by_image(match(truth, detections, vocabulary, PAPER), groups, ["a_ose"])
    assert list(found) == ["1", "2"]
    with pytest.raises(UsageError, match="image attribute"):
        image_groups(truth, "weather")


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
    scene = by_hand()
    with pytest.raises(UsageError, match="one group per object"):
        by_object(*scene, PAPER, np.array(["a"]))
    with pytest.raises(UsageError, match="one group per image"):
        by_image(match(*scene, PAPER), np.array(["a"]))
