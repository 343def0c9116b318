"""The three matching rules against loops written from their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openset.matching import Protocol, match
from openset.matching.protocol import COCO_IOU
from scenes import naive
from scenes.builders import KNOWN, scene

SEEDS = st.integers(0, 10_000)
FLAGS = [(), ("crowd",), ("crowd", "difficult")]


def outcomes(found, iou=None):
    """Row of a detection → what became of it, and the row of the object it claimed."""
    outcome = found.outcome(iou)
    rows = np.append(found.objects.row, -1)
    what = np.where(outcome.correct, "correct", np.where(outcome.ignored, "ignored", "wrong"))
    assert not (outcome.correct & outcome.ignored).any()
    assert (outcome.wrong == (what == "wrong")).all()
    return {
        int(row): (str(said), int(rows[claimed]))
        for row, said, claimed in zip(found.row, what, outcome.object, strict=True)
    }


def matched(shown, **fields):
    return match(*shown.tables(), KNOWN, Protocol(name="test", **fields))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=SEEDS,
    flags=st.sampled_from(FLAGS),
    prefer_later=st.booleans(),
    limit=st.sampled_from([None, 1, 2]),
)
def test_coco(seed, flags, prefer_later, limit):
    shown = scene(seed, images=4)
    found = matched(
        shown, ignore=flags, prefer_later=prefer_later, max_detections=limit, iou=COCO_IOU
    )
    for iou in (0.5, 0.75, 0.95):
        expected = naive.coco(shown, iou, flags, limit=limit, prefer_later=prefer_later)
        assert outcomes(found, iou) == expected


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=SEEDS,
    flags=st.sampled_from(FLAGS),
    inclusive=st.booleans(),
    iou=st.sampled_from([0.3, 0.5, 1.0]),
)
def test_voc(seed, flags, inclusive, iou):
    shown = scene(seed, images=4)
    found = matched(
        shown, rule="voc", ignore=flags, regions=False, iou=(iou,), iou_inclusive=inclusive,
        ties="input", max_detections=None,
    )  # fmt: skip
    assert outcomes(found) == naive.voc(shown, iou, flags, inclusive=inclusive)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=SEEDS, iou=st.sampled_from([0.3, 0.5, 0.9]))
def test_elephant(seed, iou):
    shown = scene(seed, images=4)
    found = matched(
        shown, rule="elephant", ignore=(), regions=False, iou=(iou,), ties="input",
        max_detections=None,
    )  # fmt: skip
    assert outcomes(found) == naive.elephant(shown, iou)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=SEEDS, counts=st.booleans(), rule=st.sampled_from(["coco", "voc", "elephant"]))
def test_open_set_errors(seed, counts, rule):
    shown = scene(seed, images=4)
    flags = ("crowd", "difficult")
    found = matched(
        shown, rule=rule, ignore=flags, regions=False, iou=(0.5,), max_detections=None,
        ose_counts_ignored=counts,
    )  # fmt: skip
    expected = naive.open_set_errors(shown, 0.5, flags=flags, counts_ignored=counts)
    assert set(found.row[found.open_set_errors].tolist()) == expected


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=SEEDS)
def test_best_of_any_class(seed):
    shown = scene(seed, images=4, flags=False)
    found = matched(shown)
    iou, best = found.best_any
    objects, _ = naive.by_image(shown)
    truth = shown.truth["annotations"]
    for at, row in enumerate(found.row):
        record = shown.found[row]
        values = {o: naive.overlap(record, truth[o]) for o in objects[record["image_id"]]}
        expected = max(values.values(), default=0.0)
        assert iou[at] == expected
        if expected > 0:  # the first object in the file that reaches it
            assert best[at] == min(o for o, value in values.items() if value == expected)


@pytest.mark.parametrize("rule", ["coco", "voc"])
def test_order_of_rows_does_not_matter_without_ties(rule):
    shown = scene(3, images=8, ties=False)
    turned = type(shown)(shown.truth, shown.found[::-1])
    plain, other = (matched(s, rule=rule, regions=False, iou=(0.5,)) for s in (shown, turned))
    last = len(shown.found) - 1
    assert outcomes(plain) == {last - row: said for row, said in outcomes(other).items()}
