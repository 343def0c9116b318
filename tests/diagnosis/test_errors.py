"""Error types: the printed definitions' numbers, a scene by hand, and what always holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.errors import ERROR_TYPES, errors
from openset.findings import UsageError
from openset.matching import match
from scenes.diagnosis import (
    KNOWN,
    PAPER,
    by_hand,
    golden,
    golden_matches,
    random_tables,
    shuffled,
)


def test_by_hand():
    found = errors(match(*by_hand(), PAPER), recall=1.0)
    assert found.unreached == ("cat",)
    assert found.threshold[0] == 0.9 and found.threshold[2] == 0.6
    # Dog at 0.9: the zebra at 0.95 and the dog. Car at 0.6: the boat at 0.7 and the car.
    assert found.totals["correct"] == 2 and found.totals["unknown-unknown"] == 2
    assert found.counts.sum() == 4
    assert found.rows()[0]["class"] == "all" and "dog" in str(found)


def test_all_types_by_hand():
    truth, detections, vocabulary = by_hand()
    # A second dog, found at 0.1, draws the threshold below everything else of the class.
    more = replace(
        truth,
        image=[*truth.image, 0],
        label=[*truth.label, 0],
        box=[*truth.box, [80, 80, 10, 10]],
        area=None,
        crowd=None,
        difficult=None,
        id=None,
    )
    late = replace(
        detections,
        image=[*detections.image, 1],
        label=[*detections.label, 0],
        box=[*detections.box, [80, 80, 10, 10]],
        score=[*detections.score, 0.1],
    )
    found = errors(match(more, late, vocabulary, PAPER), recall=1.0)
    dog = dict(zip(ERROR_TYPES, found.counts[0].tolist(), strict=True))
    assert dog == {
        "correct": 2,
        "localisation": 1,
        "similar": 0,
        "other": 1,
        "unknown-unknown": 2,
        "mixed-unknown": 1,
    }


def test_similar_needs_groups():
    scene = golden("small", "wild")
    plain = replace(scene[2], similar=())
    grouped = errors(golden_matches("small"), recall=0.3).totals
    found = errors(match(scene[0], scene[1], plain, PAPER), recall=0.3).totals
    assert found["similar"] == 0
    assert found["other"] == grouped["similar"] + grouped["other"]


@pytest.mark.parametrize("protocol", ["default", "owod", PAPER])
@pytest.mark.parametrize("seed", range(4))
def test_invariants(seed, protocol):
    truth, detections, vocabulary = random_tables(seed)
    matches = match(truth, detections, vocabulary, protocol)
    found = errors(matches, recall=0.2)
    assert sum(found.shares.values()) == pytest.approx(1.0)
    assert found.counts.sum() == np.count_nonzero(found.kind >= 0)
    more = errors(matches, recall=0.4)
    both = ~np.isnan(more.threshold)
    assert (found.counts[both].sum(axis=1) <= more.counts[both].sum(axis=1)).all()


def test_order_of_the_input_does_not_matter():
    truth, detections, vocabulary = by_hand()
    moved = shuffled(truth, detections)
    want = errors(match(truth, detections, vocabulary, PAPER), recall=0.5).counts
    assert (errors(match(*moved, vocabulary, PAPER), recall=0.5).counts == want).all()


def test_wilderness_ratio():
    matches = golden_matches("small")
    closed = errors(matches, recall=0.3, ratio=0)
    assert closed.totals["correct"] == errors(matches, recall=0.3).totals["correct"]
    assert closed.totals["unknown-unknown"] == 0  # unknown objects live in wild images only
    with pytest.raises(UsageError, match="wilderness ratios"):
        errors(matches, ratio=1000)


def test_nothing_kept():
    truth, detections, _ = by_hand()
    found = errors(match(truth, detections.select(np.empty(0, int)), KNOWN, PAPER))
    assert found.shares == {} and len(found.unreached) == 3
