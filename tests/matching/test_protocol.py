"""Protocol: frozen, comparable, and strict about what it is given."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from openset.findings import UsageError
from openset.matching.protocol import COCO_IOU, PRESETS, Protocol


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_bears_its_name_and_does_not_deviate(name):
    preset = Protocol.of(name)
    assert preset.name == name
    assert preset.deviations() == {}
    assert preset.diff(name) == {}
    assert Protocol.of(preset) is preset


def test_frozen_and_hashable():
    preset = Protocol.of("owod")
    with pytest.raises(FrozenInstanceError):
        preset.recall = 0.5
    assert hash(preset) == hash(preset.but())
    assert len({preset, preset.but(), preset.but(recall=0.1)}) == 2


def test_but_changes_a_copy():
    preset = Protocol.of("owod")
    changed = preset.but(recall=0.5, iou=(0.75,))
    assert changed.deviations() == {"recall": (0.8, 0.5), "iou": ((0.5,), (0.75,))}
    assert preset.recall == 0.8
    assert changed.but(recall=0.8, iou=(0.5,)) == preset


def test_diff_is_about_every_field_but_the_name():
    default, owod = Protocol.of("default"), Protocol.of("owod")
    found = default.diff(owod)
    assert {name: pair[::-1] for name, pair in found.items()} == owod.diff(default)
    for item in fields(default):
        same = getattr(default, item.name) == getattr(owod, item.name)
        assert (item.name in found) == (not same and item.name != "name")


def test_a_protocol_of_no_preset_has_nothing_to_deviate_from():
    assert Protocol(name="mine", recall=0.1).deviations() == {}


@pytest.mark.parametrize(("field", "hint"), [("recal", "'recall'"), ("ious", "'iou'")])
def test_a_misspelt_field_gets_a_suggestion(field, hint):
    with pytest.raises(UsageError, match=hint):
        Protocol.of("owod").but(**{field: 0.5})


def test_a_misspelt_preset_gets_a_suggestion():
    with pytest.raises(UsageError, match="'opendet'"):
        Protocol.of("opendett")


@pytest.mark.parametrize(
    "iou",
    [(), (0.0,), (-0.5,), (1.1,), (0.7, 0.5), (float("nan"),), tuple(i / 20 for i in range(1, 18))],
)
def test_impossible_thresholds_are_refused(iou):
    with pytest.raises(UsageError, match="IoU"):
        Protocol(name="test", iou=iou)
    with pytest.raises(UsageError, match="IoU"):
        Protocol.of("coco").but(iou=iou)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rule", "vocc"), ("geometry", "pixel"), ("ties", "random"), ("interpolation", "12-point"),
        ("empty_class", "none"), ("wilderness", "poled"), ("wild", "all"), ("nose", "boxes"),
        ("fpr", "exact"), ("aupr", "sum"), ("empty_images", "drop"), ("ignore", ("crowds",)),
    ],
)  # fmt: skip
def test_a_value_that_no_field_has_is_refused(field, value):
    with pytest.raises(UsageError):
        Protocol.of("default").but(**{field: value})


def test_the_thresholds_of_coco_are_the_bits_that_pycocotools_has():
    assert len(COCO_IOU) == 10
    assert COCO_IOU[0] == 0.5
    assert COCO_IOU[-1] == 0.95
    assert Protocol.of("coco").iou == COCO_IOU


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_leaves_no_detection_is_refused(limit):
    with pytest.raises(UsageError, match=f"max_detections must be at least 1, not {limit}"):
        Protocol.of("coco").but(max_detections=limit)
