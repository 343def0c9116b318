"""Resampling: weights mean what they say, for every metric that claims an interval."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import openset
from openset.examples import DETECTIONS, TRUTH
from openset.matching import Protocol, match
from openset.metrics import table
from openset.metrics._classes import _means_of_resamples
from openset.resampling.draws import draw
from openset.resampling.images import replicates
from openset.resampling.intervals import (
    at_the_edge,
    bias,
    false_discovery,
    holm,
    interval,
    p_value,
    percentiles,
    undefined,
)
from openset.tables.columns import ranks
from scenes.builders import KNOWN, scene

RESAMPLED = [name for name, metric in table().items() if metric.resampled]
PROTOCOLS = ["default", "coco", "owod", "opendet-2007", "fmiyc", "elephant", "vos", "paper", "tide"]
SEEDS = 6
NEAREST = {"a_ose_at_recall", "unknown_precision_at_recall"}
AWI = "average_wilderness_impact"  # only its pooled reading is resampled
PAIRS = [
    (name, protocol)
    for name in RESAMPLED
    for protocol in PROTOCOLS
    if name != AWI or Protocol.of(protocol).wilderness == "pooled"
]
# The wilderness ratios of AWI are those of the data in every resample.
SUBSETS = [pair for pair in PAIRS if pair[0] != AWI]


def stops_at_nearest_recall(name, protocol):
    """Whether a metric may stop between two copies of a detection, where no resample can stop."""
    nearest = Protocol.of(protocol).wilderness in {"ratio-of-sums", "nearest-recall"}
    return name in NEAREST or (name == "wilderness_impact" and nearest)


COPYABLE = [pair for pair in SUBSETS if not stops_at_nearest_recall(*pair)]


def matches(shown, protocol):
    return match(*shown.tables(), KNOWN, protocol)


@cache
def whole(seed, protocol, ties=True):
    """A scene and its matches; matching is the expensive part, and immutable."""
    shown = scene(seed, images=12, ties=ties)
    return shown, matches(shown, protocol)


@cache
def half(seed, protocol):
    """Matches of about half of the images of a scene, and which these are."""
    shown, _ = whole(seed, protocol)
    times = np.random.default_rng(seed).integers(0, 2, 12)
    kept = [image for image, n in zip(shown.images, times, strict=True) if n]
    return matches(shown.part(kept), protocol), times


@cache
def copies(seed, protocol):
    """Matches of a scene with images drawn with replacement, and how often each was drawn."""
    # Equal scores within an image would interleave with those of its copies.
    shown, _ = whole(seed, protocol, ties=False)
    times = np.random.default_rng(seed).multinomial(12, np.full(12, 1 / 12))
    drawn = shown.repeated(dict(zip(shown.images, times.tolist(), strict=True)))
    return matches(drawn, protocol), times


def plain(metric, found):
    """The number, NaN for none."""
    value = metric.compute(found).value
    return np.nan if value is None else value


def close(expected, protocol):
    """Equal up to the order of sums, or of float32 where the protocol averages in it."""
    single = Protocol.of(protocol).interpolation == "11-point-float32"
    return pytest.approx(expected, rel=0, abs=3e-7 if single else 1e-12, nan_ok=True)


def weighted(metric, found, weights):
    """The replicate of one column of weights, beside another column."""
    columns = np.array([np.ones(len(weights)), weights], np.uint8).T
    value = metric.compute(found.resampled(columns)).value
    if value is None:
        return np.nan
    assert np.shape(value) == (2,)
    return value[1]


@pytest.mark.parametrize(("name", "protocol"), PAIRS)
def test_weights_of_one_are_the_plain_value(name, protocol):
    metric = table()[name]
    for seed in range(SEEDS):
        _, found = whole(seed, protocol)
        got = weighted(metric, found, np.ones(12))
        assert got == close(plain(metric, found), protocol), seed


@pytest.mark.parametrize(("name", "protocol"), SUBSETS)
def test_a_weight_of_zero_removes_the_image(name, protocol):
    metric = table()[name]
    for seed in range(SEEDS):
        alone, times = half(seed, protocol)
        got = weighted(metric, whole(seed, protocol)[1], times)
        assert got == close(plain(metric, alone), protocol), seed


@pytest.mark.parametrize(("name", "protocol"), COPYABLE)
def test_weights_are_copies_of_images(name, protocol):
    metric = table()[name]
    for seed in range(SEEDS):
        drawn, times = copies(seed, protocol)
        got = weighted(metric, whole(seed, protocol, ties=False)[1], times)
        assert got == close(plain(metric, drawn), protocol), seed


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("keep", ["wild", "closed", "no unknown object", "no unknown label"])
def test_a_resample_may_lack_half_of_the_data(keep, protocol):
    shown = scene(2, images=12)
    found = matches(shown, protocol)
    kept = found.wild.copy() if keep == "wild" else ~found.wild
    if keep.startswith("no"):
        kept[:] = True
        unknown = found.objects.klass == found.n_known
        objects, labels = found.objects.image[unknown], found.image[found.known_end :]
        kept[objects if keep == "no unknown object" else labels] = False
        assert 0 < kept.sum() < 12
    alone = matches(shown.part([i for i, k in zip(shown.images, kept, strict=True) if k]), protocol)
    differing = {}
    for name in sorted({name for name, p in SUBSETS if p == protocol}):
        got, expected = weighted(table()[name], found, kept), plain(table()[name], alone)
        if got != close(expected, protocol):
            differing[name] = (float(got), expected)
    assert differing == {}


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


def test_intervals_are_those_of_the_replicates_within_what_is_possible(example):
    for name, numbers in example.replicates.items():
        value, metric = example.values[name], table()[name]
        if value.interval is not None and value.value != 0:
            assert value.interval == interval(numbers, value.value, metric.scale, metric.range)
            assert value.bias == bias(numbers, value.value)
            low, high = metric.range
            assert low is None or low <= value.interval[0]
            assert high is None or high >= value.interval[1]


def test_an_interval_without_bias_is_that_of_a_normal_law():
    numbers = np.random.default_rng(0).normal(5, 1, 100_000)
    numbers += 5 - numbers.mean()
    assert interval(numbers, 5.0) == pytest.approx((5 - 1.96, 5 + 1.96), abs=0.02)
    low, high = interval(numbers, 5.0, "log")
    assert (np.log(5 / low), np.log(high / 5)) == pytest.approx((1.96 / 5, 1.96 / 5), abs=0.01)
    assert interval(numbers, 5.0, within=(4, 6)) == (4, 6)


def test_an_interval_moves_against_the_bias_of_the_resamples():
    numbers = np.arange(1001.0)
    low, high = interval(numbers, 400)  # most resamples lie above the value
    assert (low + high) / 2 == pytest.approx(400 - 100)
    assert bias(numbers, 400) == pytest.approx(100)
    assert high - low > np.subtract(*interval(numbers, 500)[::-1])  # a bias is not known well
    mirrored = interval(1000 - numbers, 600)
    assert mirrored == pytest.approx((1000 - high, 1000 - low))


def test_nothing_found_has_an_interval_with_width():
    assert at_the_edge(0.0, 1 / 30, (0, 1)) == (0, pytest.approx(0.123, abs=0.001))
    assert at_the_edge(1.0, 1 / 30, (0, 1)) == (pytest.approx(0.877, abs=0.001), 1)
    assert at_the_edge(0.0, 1.0, (0, None)) == (0, pytest.approx(3.69, abs=0.01))
    assert at_the_edge(0.0, 1.0, (0, 1)) == (0, 1)
    assert at_the_edge(0.5, 1 / 30, (0, 1)) is None
    assert at_the_edge(0.0, 0.0, (0, 1)) is None


def test_the_share_of_resamples_without_a_value():
    assert undefined(np.array([0.1, np.nan, np.nan, 0.3])) == 0.5
    assert undefined(np.array([])) == 0


def test_an_interval_of_a_constant():
    assert interval(np.full(100, 0.5), 0.5) == (0.5, 0.5)


def test_resamples_that_equal_the_value_but_for_rounding_are_ties():
    exact = np.repeat([0.2, 0.3, 0.4], [200, 500, 300])
    for off in (1e-16, -1e-16, 3e-8, -3e-8):  # the last two as float32 rounds
        assert interval(exact + off, 0.3) == pytest.approx(interval(exact, 0.3), abs=1e-6)
    assert interval(np.full(9, 0.3 + 3e-8), 0.3) == (0.3, 0.3)


@pytest.mark.parametrize(("objects", "hits"), [(3, 2), (5, 4), (10, 5), (10, 9), (20, 19)])
def test_average_precision_of_right_detections_is_their_recall_intervals_too(objects, hits):
    truth = {
        "images": [{"id": i} for i in range(objects)],
        "categories": [{"id": 3, "name": "dog"}],
        "annotations": [
            {"id": i + 1, "image_id": i, "category_id": 3, "bbox": [0, 0, 9, 9]}
            for i in range(objects)
        ],
    }
    found = [
        {"image_id": i, "category_id": 3, "bbox": [0, 0, 9, 9], "score": 0.9 - i / 1000}
        for i in range(hits)
    ]
    names = ["ap_known", "recall_known"]
    options = {"known": ["dog"], "metrics": names, "force": True}
    area, recall = openset.evaluate(truth, found, protocol="owod", **options).values.values()
    assert area.interval == pytest.approx(recall.interval)
    grid, recall = openset.evaluate(truth, found, **options).values.values()
    # One of 101 points, in the bias and again in how well it is known.
    assert grid.interval == pytest.approx(recall.interval, abs=0.025)


def test_an_interval_needs_half_of_the_resamples():
    numbers = np.array([0.1, 0.2, np.nan, np.nan, np.nan])
    assert interval(numbers, 0.15) is None
    assert interval(numbers[:4], 0.15) is not None
    assert interval(np.array([]), 0.15) is None
    assert p_value(numbers) is None


def test_p_values():
    assert p_value(np.zeros(1000)) == 1
    assert p_value(np.ones(1000)) is None  # nothing varies, so nothing is known about chance
    assert p_value(-np.ones(1000)) is None
    assert p_value(np.linspace(-1, 1, 1000)) == pytest.approx(1, abs=0.01)


def test_p_is_below_five_percent_exactly_where_the_interval_leaves_out_0():
    generator = np.random.default_rng(3)
    both = set()
    for _ in range(300):
        numbers = generator.gamma(2, size=199) - generator.uniform(0, 3)
        if generator.random() < 0.3:
            numbers = np.round(numbers)  # counts: many are equal, some are 0
        low, high = percentiles(numbers)
        p = p_value(numbers)
        if p is not None:
            assert (p < 0.05) == (not low <= 0 <= high)
            both.add(p < 0.05)
    assert both == {True, False}


def test_p_is_smooth_and_falls_beyond_the_resolution_of_the_resamples():
    numbers = np.random.default_rng(1).normal(0, 1, 1000)
    found = [p_value(numbers + shift) for shift in np.linspace(0, 8, 400)]
    assert all(a >= b for a, b in pairwise(found) if a < 0.9)
    assert max(a - b for a, b in pairwise(found)) < 0.05
    assert p_value(numbers + 5) == pytest.approx(5.7e-7, rel=1)  # that of a normal law
    assert p_value(-numbers - 5) == pytest.approx(p_value(numbers + 5))


def test_false_discovery_by_hand():
    assert false_discovery([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert false_discovery([None, 0.5, 0.9]) == [None, 0.9, 0.9]
    assert false_discovery([]) == []
    mixed = [0.001, 0.02, 0.03, 0.2, 0.9]
    assert all(p <= q for p, q in zip(false_discovery(mixed), holm(mixed), strict=True))


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([None, 0.5, 0.9]) == [None, 1.0, 1.0]
    assert holm([]) == []
    many = [1e-5] * 72  # six models, twelve metrics
    assert max(holm(many)) < 0.05


def test_a_draw_takes_half_of_the_images_and_then_the_other_half():
    for n in (1, 2, 7, 24):
        weights = draw(n, seed=5, resamples=10)
        assert (weights.sum(axis=0) == n).all()
        assert (weights[:, ::2] + weights[:, 1::2] == 2).all()
        assert np.count_nonzero(weights == 1) == 10 * (n % 2)
    assert (draw(24, 5, 10) == draw(24, 5, 11)[:, :10]).all()
    assert (draw(24, 5, 10) != draw(24, 6, 10)).any()


def test_a_single_resample_is_enough_for_every_metric():
    found = matches(scene(1, images=12), "default")
    one, many = (replicates(found, table().values(), 0, resamples=n) for n in (1, 5))
    assert one.keys() == many.keys()
    drawn = found.resampled(draw(found.n_images, 0, 5)[ranks(found.image_ids)])
    for name, only in one.items():
        hidden = table()[name].compute(drawn).bias  # which needs several resamples to be seen
        assert only.value == pytest.approx(many[name].value[:1] - hidden, nan_ok=True), name


def test_a_rare_class_shows_in_the_bias_although_most_resamples_lack_it():
    values = np.array([[0.5, 0.5, 0.5, 0.5], [np.nan, 0.9, np.nan, np.nan]])
    found = _means_of_resamples(values, drop=True)
    assert found.value.tolist() == pytest.approx([0.5, 0.7, 0.5, 0.5])
    assert np.mean(found.value + found.bias) == pytest.approx((0.5 + 0.9) / 2)
    assert _means_of_resamples(values[:1], drop=True).bias == 0


def test_metrics_that_cannot_be_resampled_are_left_out():
    found = matches(scene(0), "default")
    chosen = [table()["unknown_recall"], table()["best_threshold"]]
    assert set(replicates(found, chosen, seed=0, resamples=4)) == {"unknown_recall"}


def test_draws_belong_to_image_ids():
    shown = scene(1, images=12)
    orders = (sorted(shown.images), shown.images, sorted(shown.images, reverse=True))
    chosen = [table()[name] for name in ("detections_per_image", "a_ose", "ap_known")]
    each = [replicates(matches(shown.part(o), "default"), chosen, 0, 50) for o in orders]
    for metric in chosen:
        for drawn in each:
            assert drawn[metric.name].value == pytest.approx(each[0][metric.name].value)
    # In sorted order, the first id has the first draws.
    sizes = np.array([sum(d["image_id"] == i for d in shown.found) for i in orders[0]])
    assert each[0]["detections_per_image"].value == pytest.approx(sizes @ draw(12, 0, 50) / 12)
