"""What a ground truth holds, counted by hand and by loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from openset.diagnosis.statistics import statistics
from openset.tables import Annotations, Images
from scenes.diagnosis import KNOWN, LABELS, by_hand, random_tables


def test_by_hand():
    found = statistics(by_hand()[0], KNOWN)
    assert found.images == {
        "all": 3,
        "empty": 1,
        "known only": 1,
        "known and unknown": 0,
        "unknown only": 1,
        "wild": 2,
    }
    assert found.objects["known"]["objects"] == 2 and found.objects["known"]["labels"] == 2
    assert found.objects["unknown"] == {
        "labels": 2,
        "objects": 3,
        "small": 3,
        "medium": 0,
        "large": 0,
    }
    assert found.per_image == {"mean": 5 / 3, "median": 2.0, "most": 3.0}
    first = found.labels[0]
    assert (first.label, first.role, first.objects, first.images) == ("zebra", "unknown", 2, 1)
    assert found.pairs == ()


def test_without_roles():
    found = statistics(by_hand()[0])
    assert found.images == {"all": 3, "empty": 1} and list(found.objects) == ["all"]
    pairs = {(one.known, one.unknown) for one in found.pairs}
    assert pairs == {("dog", "car"), ("zebra", "boat")}
    assert {one.lift for one in found.pairs} == {3.0}  # each is on one of three images


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_a_loop(seed):
    truth = random_tables(seed)[0]
    found, n = statistics(truth, KNOWN), len(truth.images)
    on = [set() for _ in range(n)]
    counts = dict.fromkeys(LABELS, 0)
    for at in np.flatnonzero(~truth.crowd & ~truth.difficult).tolist():
        on[truth.image[at]].add(truth.labels[truth.label[at]])
        counts[truth.labels[truth.label[at]]] += 1
    assert {one.label: one.objects for one in found.labels} == counts
    assert sum(one.objects + one.left_out for one in found.labels) == len(truth)
    for one in found.labels:
        assert one.images == sum(one.label in labels for labels in on)
        assert one.small + one.medium + one.large == one.objects
    known = set(KNOWN.known)
    assert found.images["wild"] == sum(not labels & known for labels in on)
    both = {
        (a, b): sum({a, b} <= labels for labels in on) for a, b in product(known, {"zebra", "boat"})
    }
    assert {(p.known, p.unknown): p.images for p in found.pairs} == {
        pair: count for pair, count in both.items() if count
    }
    for pair in found.pairs:
        alone = [sum(name in labels for labels in on) for name in (pair.known, pair.unknown)]
        assert pair.lift == pytest.approx(pair.images * n / (alone[0] * alone[1]))


def test_sizes_are_those_of_coco():
    sides = np.array([31, 32, 95, 96.0])
    box = np.stack([0 * sides, 0 * sides, sides, sides], axis=1)
    truth = Annotations(Images([1]), ("dog",), [0] * 4, [0] * 4, box)
    (dog,) = statistics(truth).labels
    assert (dog.small, dog.medium, dog.large) == (1, 2, 1)


def test_nothing_at_all():
    empty = Annotations(Images(np.empty(0, int)), (), [], [], np.empty((0, 4)))
    found = statistics(empty)
    assert found.images == {"all": 0, "empty": 0} and found.labels == ()


def test_further_pairs_are_counted():
    labels = tuple(f"label {at}" for at in range(12))
    truth = Annotations(Images([1]), labels, [0] * 12, range(12), np.ones((12, 4)))
    found = statistics(truth)
    assert len(found.pairs) == 50 and found.more_pairs == 12 * 11 // 2 - 50
