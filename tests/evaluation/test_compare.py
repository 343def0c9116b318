"""compare: paired differences, and no comparison of things that cannot be compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import openset
from openset.evaluation.comparison import CONSTANT, UNPAIRED, few
from openset.findings import UsageError
from openset.metrics import table
from openset.tables import Vocabulary
from scenes.builders import KNOWN, scene

HALF = openset.Protocol.of("default").but(recall=0.5)


def better_than(shown):
    """The same detections with every known-labelled one on an unknown object removed."""
    unknown = {a["image_id"] for a in shown.truth["annotations"] if a["category_id"] in (12, 20)}
    return [d for d in shown.found if d["category_id"] == 20 or d["image_id"] not in unknown]


@pytest.fixture(scope="module")
def results():
    shown = scene(1, images=24)
    first = openset.evaluate(*shown.tables(), known=KNOWN)
    second = openset.evaluate(shown.truth, better_than(shown), known=KNOWN)
    return first, second


def test_a_result_does_not_differ_from_itself(results):
    same = openset.compare(results[0], results[0])
    assert list(same.differences) == list(table())
    compared = 0
    for difference in same.differences.values():
        if difference.interval is not None:
            compared += 1
            assert difference.difference == 0
            assert difference.interval == (0, 0)
            assert difference.p == 1
            assert difference.better is None
            assert not difference.significant
    assert compared > 10


def test_direction_of_better(results):
    first, second = results
    found, reverse = openset.compare(first, second), openset.compare(second, first)
    error = found["a_ose"]  # less is better
    assert error.difference == error.second - error.first < 0
    assert error.better is True
    assert reverse["a_ose"].better is False
    assert error.significant
    assert error.p < 0.05
    assert error.interval[0] <= error.difference <= error.interval[1] < 0
    assert reverse["a_ose"].interval == pytest.approx([-x for x in error.interval[::-1]])
    recall = found["recall_known"]  # more is better
    assert recall.difference <= 0
    assert recall.better is not True
    assert found["detections_per_image"].better is None  # neither is better


def test_a_number_that_is_missing_has_no_difference(results):
    first, _ = results
    shown = scene(1, images=24, unknownness=False)
    other = openset.evaluate(*shown.tables(), known=KNOWN, intervals=False)
    difference = openset.compare(first, other)["auroc"]
    assert difference.first is not None
    assert difference.second is None
    assert (difference.difference, difference.interval, difference.better) == (None, None, None)


def test_the_order_of_images_does_not_unpair():
    shown = scene(1, images=24)
    options = {"known": KNOWN, "protocol": HALF}
    first = openset.evaluate(*shown.tables(), **options)
    backwards = openset.evaluate(*shown.part(shown.images[::-1]).tables(), **options)
    parts = openset.Evaluator(**options)
    for some in (shown.images[12:], shown.images[:12]):
        parts.update(*shown.part(some).tables())
    for other in (backwards, parts.compute()):
        found = openset.compare(first, other).differences
        compared = {name for name, difference in found.items() if difference.interval}
        assert "average_wilderness_impact" in compared
        for name in compared:
            assert (found[name].difference, found[name].interval) == (0, (0, 0)), name


def test_rounding_is_no_difference(results):
    first, _ = results
    value, drawn = first.values["ap_known"], first.replicates["ap_known"]

    def shifted(by):
        changed = {"ap_known": replace(value, value=value.value + by)}
        return replace(first, values=changed, replicates={"ap_known": drawn + by})

    off = openset.compare(first, shifted(1e-15))["ap_known"]
    assert (off.interval, off.p, off.better, off.significant) == ((0, 0), 1, None, False)
    single = openset.compare(first, shifted(1e-8))["ap_known"]  # as float32 rounds
    assert (single.interval, single.p, single.significant) == ((0, 0), 1, False)
    # Replicates that agree with the difference but for rounding do not pull the interval away.
    for noise in (1e-15, -1e-15):
        noisy = replace(shifted(0.1), replicates={"ap_known": drawn + 0.1 + noise})
        ends = openset.compare(first, noisy)["ap_known"].interval
        assert ends == pytest.approx((0.1, 0.1))
        some = np.where(np.arange(len(drawn)) % 4, 0.1 + noise, 0.2)
        noisy = replace(shifted(0.1), replicates={"ap_known": drawn + some})
        assert openset.compare(first, noisy)["ap_known"].interval == pytest.approx((0.1, 0.2))


def test_objects_that_are_ignored_make_another_truth():
    one, flagged = scene(1, flags=False), scene(1, flags=False)
    flagged.truth["annotations"][0]["iscrowd"] = 1
    with pytest.raises(UsageError, match="different ground truths"):
        openset.compare(evaluated(one), evaluated(flagged))


def test_only_common_metrics(results):
    shown = scene(1, images=24)
    few = openset.evaluate(*shown.tables(), known=KNOWN, metrics=["udr", "a_ose"])
    assert set(openset.compare(results[0], few).differences) == {"udr", "a_ose"}


def test_other_seeds_are_not_paired_and_have_wider_intervals(results):
    shown = scene(1, images=24)
    other = openset.evaluate(*shown.tables(), known=KNOWN, seed=1, metrics=["udr"])
    difference = openset.compare(results[0], other)["udr"]
    assert difference.difference == 0
    assert difference.interval[0] < 0 < difference.interval[1]
    assert difference.p > 0.5
    assert difference.remark == UNPAIRED


def test_few_images_have_intervals_but_no_p(results):
    for images in (2, 19):
        shown = scene(1, images=images)
        one = evaluated(shown, intervals=True, force=True)
        other = evaluated(replace_found(shown), intervals=True, force=True)
        found = openset.compare(one, other, force=True).differences.values()
        assert not any(d.significant or d.p is not None for d in found)
        assert any(d.interval is not None for d in found)
        assert all(d.remark == few("images") for d in found if d.interval is not None)


def replace_found(shown):
    """The same scene with every second detection."""
    return replace(shown, found=shown.found[::2])


def test_identical_images_are_never_a_star():
    box = [10.0, 10.0, 40.0, 40.0]
    truth = {
        "images": [{"id": i} for i in range(30)],
        "categories": [{"id": 1, "name": "dog"}, {"id": 2, "name": "yak"}],
        "annotations": [
            {"id": 2 * i + k, "image_id": i, "category_id": k, "bbox": [x + 90 * k for x in box]}
            for i in range(30)
            for k in (1, 2)
        ],
    }
    found = [
        {"image_id": i, "category_id": 1, "bbox": [x + 90 * k for x in box], "score": 0.9 - k / 9}
        for i in range(30)
        for k in (1, 2)
    ]
    one, other = (
        openset.evaluate(truth, some, known=["dog"], force=True) for some in (found, found[::2])
    )
    difference = openset.compare(one, other)["a_ose"]
    assert (difference.difference, difference.interval) == (-30, (-30, -30))
    assert (difference.p, difference.significant, difference.remark) == (None, False, CONSTANT)


def evaluated(shown, **options):
    return openset.evaluate(*shown.tables(), **({"known": KNOWN, "intervals": False} | options))


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("vocabularies", lambda: evaluated(scene(1), known=Vocabulary.of(["dog", "cat"]))),
        ("ground truths", lambda: evaluated(scene(2))),
        ("protocols", lambda: evaluated(scene(1), protocol="owod")),
        ("protocols", lambda: evaluated(scene(1), protocol=HALF)),
    ],
)
def test_unlike_results_are_refused(what, other):
    first, second = evaluated(scene(1)), other()
    with pytest.raises(UsageError, match=f"different {what}.*force=True"):
        openset.compare(first, second)
    assert openset.compare(first, second, force=True).differences


def test_a_comparison_survives_json(results):
    first, second = results
    stored = [openset.Evaluation.from_json(r.to_json(replicates=True)) for r in results]
    assert openset.compare(*stored)["a_ose"] == openset.compare(first, second)["a_ose"]
    bare = [openset.Evaluation.from_json(r.to_json()) for r in results]
    assert openset.compare(*bare)["a_ose"].interval is None


def test_shown_as_a_table(results):
    found = openset.compare(*results)
    lines = repr(found).splitlines()
    assert lines[0].split()[3:] == ["first", "second", "difference", "95", "%", "interval", "p"]
    row = next(line for line in lines if line.startswith("nOSE"))
    assert row.endswith("better")
    assert "–" in repr(openset.compare(*results)) or all(
        d.first is not None for d in found.differences.values()
    )
    assert any(line.startswith("p is corrected for the ") for line in lines)
    assert lines[-1].startswith("no interval: ")
