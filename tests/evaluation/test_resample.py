"""Resampling: weights mean what they say, for every metric that claims an interval."""

from __future__ import annotations

import numpy as np
import pytest
from builders import KNOWN, scene

import openset
from openset.diagnosis.resample import draw, interval, p_value, replicates
from openset.examples import DETECTIONS, TRUTH
from openset.matching import Protocol, match
from openset.metrics import table

RESAMPLED = [name for name, metric in table().items() if metric.resampled]
PROTOCOLS = ["default", "coco", "owod", "opendet-2007", "fmiyc", "elephant", "vos", "paper", "tide"]
NEAREST = {"a_ose_at_recall", "unknown_precision_at_recall"}
PAIRS = [(name, protocol) for name in RESAMPLED for protocol in PROTOCOLS]


def stops_at_nearest_recall(name, protocol):
    """Whether a metric may stop between two copies of a detection, where no resample can stop."""
    nearest = Protocol.of(protocol).wilderness in {"ratio-of-sums", "nearest-recall"}
    return name in NEAREST or (name == "wilderness_impact" and nearest)


COPYABLE = [pair for pair in PAIRS if not stops_at_nearest_recall(*pair)]


def matches(shown, protocol):
    return match(*shown.tables(), KNOWN, protocol)


def plain(metric, found):
    """The number, NaN for none."""
    value = metric.compute(found).value
    return np.nan if value is None else value


def close(expected, protocol):
    """Equal up to the order of sums, or of float32 where the protocol averages in it."""
    single = Protocol.of(protocol).interpolation == "11-point-float32"
    return pytest.approx(expected, rel=0, abs=3e-7 if single else 1e-12, nan_ok=True)


def weighted(metric, found, weights):
    """The replicate of one column of weights."""
    columns = np.array(weights, np.uint8)[:, None]
    value = metric.compute(found.resampled(columns)).value
    if value is None:
        return np.nan
    assert np.shape(value) == (1,)
    return value[0]


@pytest.mark.parametrize(("name", "protocol"), PAIRS)
def test_weights_of_one_are_the_plain_value(name, protocol):
    metric = table()[name]
    for seed in range(6):
        found = matches(scene(seed, images=12), protocol)
        expected = plain(metric, found)
        got = weighted(metric, found, np.ones(12))
        assert got == close(expected, protocol), seed


@pytest.mark.parametrize(("name", "protocol"), PAIRS)
def test_a_weight_of_zero_removes_the_image(name, protocol):
    metric = table()[name]
    for seed in range(6):
        shown = scene(seed, images=12)
        times = np.random.default_rng(seed).integers(0, 2, 12)
        kept = [image for image, n in zip(shown.images, times, strict=True) if n]
        got = weighted(metric, matches(shown, protocol), times)
        expected = plain(metric, matches(shown.part(kept), protocol))
        assert got == close(expected, protocol), seed


@pytest.mark.parametrize(("name", "protocol"), COPYABLE)
def test_weights_are_copies_of_images(name, protocol):
    metric = table()[name]
    for seed in range(6):
        # Equal scores within an image would interleave with those of its copies.
        shown = scene(seed, images=12, ties=False)
        found = matches(shown, protocol)
        times = np.random.default_rng(seed).multinomial(12, np.full(12, 1 / 12))
        copies = shown.repeated(dict(zip(shown.images, times.tolist(), strict=True)))
        expected = plain(metric, matches(copies, protocol))
        got = weighted(metric, found, times)
        assert got == close(expected, protocol), seed


def test_every_column_draws_as_many_images_as_there_are():
    drawn = draw(37, seed=3, resamples=50)
    assert drawn.shape == (37, 50)
    assert (drawn.sum(axis=0) == 37).all()
    assert (draw(37, seed=3, resamples=50) == drawn).all()
    assert (draw(37, seed=4, resamples=50) != drawn).any()


def test_draws_do_not_depend_on_the_number_of_resamples():
    assert (draw(10, seed=0, resamples=8)[:, :3] == draw(10, seed=0, resamples=3)).all()


def test_a_block_of_resamples_is_each_of_them_alone():
    found = matches(scene(1, images=12), "default")
    weights = draw(12, seed=0, resamples=300)  # more than one block
    metric = table()["ap_known"]
    together = metric.compute(found.resampled(weights)).value
    for column in (0, 255, 256, 299):
        alone = weighted(metric, found, weights[:, column])
        assert together[column] == pytest.approx(alone, abs=1e-12, nan_ok=True)


@pytest.fixture(scope="module")
def example():
    return openset.evaluate(TRUTH, DETECTIONS, seed=11)


def test_same_seed_same_intervals_other_seed_others(example):
    names = ["udr", "a_ose", "ap_known"]
    again = openset.evaluate(TRUTH, DETECTIONS, seed=11, metrics=names)
    other = openset.evaluate(TRUTH, DETECTIONS, seed=12, metrics=names)
    for name in names:
        assert again.values[name].interval == example.values[name].interval
        assert other.values[name].interval != example.values[name].interval


def test_every_resampled_metric_with_a_value_has_an_interval(example):
    for name in RESAMPLED:
        value = example.values[name]
        assert (value.value is None) == (value.interval is None), name
        if value.interval is not None:
            assert value.interval[0] <= value.interval[1]
            assert len(example.replicates[name]) == 1000


def test_intervals_hold_the_value(example):
    inside = [
        v.interval[0] <= v.value <= v.interval[1]
        for v in example.values.values()
        if v.interval is not None
    ]
    assert np.mean(inside) >= 0.9


def test_intervals_are_quantiles_of_the_replicates(example):
    for name, numbers in example.replicates.items():
        if example.values[name].interval is not None:
            kept = numbers[np.isfinite(numbers)]
            expected = np.quantile(kept, [0.025, 0.975])
            assert example.values[name].interval == pytest.approx(expected, abs=1e-12)


def test_an_interval_needs_half_of_the_resamples():
    numbers = np.array([0.1, 0.2, np.nan, np.nan, np.nan])
    assert interval(numbers) is None
    assert interval(numbers[:4]) == pytest.approx((0.1025, 0.1975))
    assert interval(np.array([])) is None
    assert p_value(numbers) is None


def test_metrics_that_cannot_be_resampled_are_left_out():
    found = matches(scene(0), "default")
    chosen = [table()["unknown_recall"], table()["best_threshold"]]
    assert set(replicates(found, chosen, seed=0, resamples=4)) == {"unknown_recall"}
