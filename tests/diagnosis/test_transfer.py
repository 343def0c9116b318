"""Transfer: thresholds chosen at a wilderness ratio and judged at another, by brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.transfer import ALL, transfer
from openset.findings import UsageError
from openset.matching import match
from scenes.diagnosis import PAPER, golden_matches, tables


def counted(matches, klass, level, images):
    """Right and kept detections of a class at a threshold, and its objects, on some images."""
    mine = (matches.klass == klass) & (matches.score >= level) & images[matches.image]
    mine &= ~matches.outcome().ignored
    objects = matches.objects
    there = (objects.klass == klass) & ~objects.ignored & images[objects.image]
    return (mine & matches.outcome().correct).sum(), mine.sum(), there.sum()


def f(right, kept, there, beta):
    if not right:
        return 0.0
    p, r = right / kept, right / there
    return (1 + beta**2) * p * r / (r + beta**2 * p)


def images_at(matches, ratio):
    keep = ~matches.wild
    keep[np.flatnonzero(matches.wild)[: round(ratio * keep.sum())]] = True
    return keep


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_second_implementation(beta):
    matches = golden_matches("small")
    found = transfer(matches, chosen_at=(0.0, 0.5), judged_at=(0.0, 0.5), betas=(beta,)).judged
    classes = [one for one in found if one.label != ALL]
    assert {(one.chosen_at, one.judged_at) for one in classes} == {
        (a, b) for a in (0.0, 0.5) for b in (0.0, 0.5)
    }
    for one in classes:
        klass = matches.vocabulary.known.index(one.label)
        levels = np.unique(matches.score[matches.klass == klass])
        chosen, judged = images_at(matches, one.chosen_at), images_at(matches, one.judged_at)
        tried = [f(*counted(matches, klass, level, chosen), beta) for level in levels]
        assert f(*counted(matches, klass, one.threshold, chosen), beta) == pytest.approx(max(tried))
        right, kept, there = counted(matches, klass, one.threshold, judged)
        assert one.f == pytest.approx(f(right, kept, there, beta))
        assert (one.precision, one.recall) == (pytest.approx(right / kept), right / there)
        there_best = max(f(*counted(matches, klass, level, judged), beta) for level in levels)
        assert one.best_f == pytest.approx(there_best)
        assert one.lost >= -1e-12
        if one.chosen_at == one.judged_at:
            assert one.lost == pytest.approx(0)


WILD = [(2, "zebra", 0, 0, 10, 10)]
DOGS = [(1, "dog", 0, 0, 10, 10), (1, "dog", 50, 0, 10, 10)]


def test_what_the_wilderness_costs_by_hand():
    """On the closed set 0.5 is best (two of two); a wild box at 0.6 makes 0.9 better."""
    said = [(*DOGS[0], 0.9), (*DOGS[1], 0.5)] + [(2, "dog", 0, 0, 10, 10, 0.6)] * 3
    matches = match(*tables([*DOGS, *WILD], said, images=2), PAPER)
    found = transfer(matches, judged_at=(0.0, 1.0), recalls=(0.5,))
    judged = [(o.rule, o.judged_at, o.threshold, o.f) for o in found.judged if o.label == "dog"]
    assert judged == [
        ("F1", 0.0, 0.5, 1.0),
        ("F1", 1.0, 0.5, pytest.approx(4 / 7)),
        ("recall 0.5", 0.0, 0.9, None),
        ("recall 0.5", 1.0, 0.9, None),
    ]
    assert max(row["lost"] or 0 for row in found.rows()) == pytest.approx(2 / 3 - 4 / 7)
    assert found.left_out == 2 and "some recall: 2" in found.notes()[1]


def test_means_come_first_and_are_means():
    rows = transfer(golden_matches("small"), judged_at=(0.0, 0.5)).rows()
    assert [row["class"] for row in rows[:2]] == [ALL, ALL]
    one = [row for row in rows[2:] if row["judged_at"] == 0.5]
    assert rows[1]["f"] == pytest.approx(np.mean([row["f"] for row in one]))
    assert rows[1]["precision"] == pytest.approx(np.mean([row["precision"] for row in one]))


def test_without_wild_images_there_is_nothing_to_judge_at():
    matches = golden_matches("small")
    tame = replace(matches, wild=np.zeros_like(matches.wild))
    with pytest.raises(UsageError, match="no image is wild"):
        transfer(tame)
