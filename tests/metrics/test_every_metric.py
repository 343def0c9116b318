"""What holds of every metric, whatever it measures, under every protocol."""

from dataclasses import replace

import numpy as np
import pytest

from openset.matching import Protocol
from openset.metrics import Value, table
from openset.tables import Images, Vocabulary
from scenes.metrics import (
    LABELS,
    PROTOCOLS,
    doubled,
    perfect,
    random_scene,
    with_images_in_order,
)

METRICS = sorted(table())
EVERY = pytest.mark.parametrize("name", METRICS)
EACH_PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS)


def pairs(holds):
    """Every metric under every protocol for which something holds."""
    chosen = [
        (name, protocol) for name in METRICS for protocol in PROTOCOLS if holds(name, protocol)
    ]
    return pytest.mark.parametrize(("name", "protocol"), chosen)


# Wild images join the curve in the order of the file.
BY_ORDER = {"wilderness_curve", "average_wilderness_impact", "ap_known_curve"}
# A copy puts a new point between two recalls or scores, and these go to the nearest.
BY_NEAREST = {"unknown_precision_at_recall", "a_ose_at_recall", "wilderness_profile"}


def nearest(name, protocol):
    formula = Protocol.of(protocol).wilderness
    return name in BY_NEAREST or (name == "wilderness_impact" and formula == "ratio-of-sums")


def same(a: Value, b: Value, factor=1.0):
    assert (a.value is None) == (b.value is None)
    if a.value is not None:
        assert b.value == pytest.approx(factor * a.value, rel=1e-6, abs=1e-9)


# ---------------------------------------------------------------------- invariance


@pairs(lambda name, _: name not in BY_ORDER)
def test_order_of_images(name, protocol):
    scene = random_scene(1)
    order = np.random.default_rng(0).permutation(len(scene.truth.images))
    moved = with_images_in_order(scene, order)
    same(scene.value(name, protocol), moved.value(name, protocol))


@pairs(lambda _, protocol: protocol != "elephant")  # where detections claim objects as given
def test_order_of_detections(name, protocol):
    scene = random_scene(2)
    order = np.random.default_rng(0).permutation(len(scene.found))
    moved = scene.but(found=scene.found.select(order))
    same(scene.value(name, protocol), moved.value(name, protocol))


@EVERY
@EACH_PROTOCOL
def test_names_and_order_of_known_classes(name, protocol):
    scene = random_scene(3)
    labels = ("wolf", "lynx", "gnu", *LABELS[3:])
    renamed = scene.but(
        truth=replace(scene.truth, labels=labels),
        found=replace(scene.found, labels=labels),
        vocabulary=Vocabulary(tasks=(("wolf",), ("gnu", "lynx"))),
    )
    same(scene.value(name, protocol), renamed.value(name, protocol))


@pairs(lambda name, protocol: name not in BY_ORDER and not nearest(name, protocol))
def test_every_image_twice(name, protocol):
    scene = random_scene(4)
    factor = 2 if table()[name].unit == "count" else 1
    same(scene.value(name, protocol), doubled(scene).value(name, protocol), factor)


# ---------------------------------------------------------------------- what a value is


def cases():
    scene = random_scene(5)
    truth, found = scene.truth, scene.found
    none = np.zeros(len(found), np.bool_)
    return {
        "ordinary": scene,
        "no detections": scene.but(found=found.select(none)),
        "no unknown objects": scene.but(truth=truth.select(truth.label < 3)),
        "no known objects": scene.but(truth=truth.select(truth.label >= 3)),
        "no objects": scene.but(truth=truth.select(truth.label < 0)),
        "nothing labelled unknown": scene.but(found=found.select(found.label < 3)),
        "nothing labelled known": scene.but(found=found.select(found.label >= 3)),
        "no unknownness": scene.but(found=replace(found, unknownness=None)),
        "one known class": scene.but(vocabulary=Vocabulary.of(["dog"])),
        "nothing ignored counts": scene.but(truth=replace(truth, difficult=truth.label >= 0)),
        "all crowds": scene.but(truth=replace(truth, crowd=truth.label >= 0)),
        "nothing at all": scene.but(
            truth=replace(truth.select(truth.label < 0), images=Images([])),
            found=found.select(none),
        ),
    }


CASES = cases()


@pytest.mark.parametrize("case", CASES)
@EACH_PROTOCOL
def test_a_number_in_range_or_a_reason(case, protocol):
    for name, value in CASES[case].values(protocol).items():
        assert (value.value is None) == bool(value.reason), name
        if value.value is None:
            assert len(value.reason) > 10, name
            continue
        low, high = table()[name].range
        assert np.isfinite(value.value), name
        assert low is None or value.value >= low, name
        assert high is None or value.value <= high + 1e-12, name


@pytest.mark.parametrize(
    "name", ["ap_unknown", "ar_unknown", "a_ose", "a_ose_objects", "nose", "unknown_recall", "udr"]
)
def test_without_unknown_objects_nothing_is_said_about_them(name):
    assert CASES["no unknown objects"].value(name, "default").value is None


@pairs(lambda name, _: table()[name].better is not None)
def test_a_perfect_detector_is_best(name, protocol):
    metric = table()[name]
    scene = random_scene(6, mixed=False)
    best, other = perfect(scene).value(name, protocol), scene.value(name, protocol)
    if best.value is None or other.value is None:
        assert best.reason or other.reason
        return
    if metric.better == "higher":
        assert best.value >= other.value - 1e-9
        assert best.value == pytest.approx(metric.range[1], abs=1e-6)
    else:
        assert best.value <= other.value + 1e-9
        assert best.value == pytest.approx(0, abs=1e-9)


# ---------------------------------------------------------------------- what is known of it


@EVERY
def test_it_says_what_it_is(name):
    metric = table()[name]
    assert metric.name == name
    assert metric.summary.endswith((".", "..."))
    assert len(metric.summary) < 100
    assert metric.title
    assert metric.unit in {"fraction", "count", "score"}
    assert metric.better in {"higher", "lower", None}


@EVERY
def test_it_is_pure(name):
    scene = random_scene(7)
    matches = scene.match("default")
    before = [matches.score.copy(), matches.image.copy(), matches.columns.iou_same.copy()]
    first, second = table()[name].compute(matches), table()[name].compute(matches)
    assert first == second
    after = [matches.score, matches.image, matches.columns.iou_same]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
