"""Objects that the ground truth lacks, by class or by size, and a detector finds."""

from __future__ import annotations

import numpy as np
import pytest

from scenes.film import anywhere
from scenes.mistakes import IDS, KNOWN, Mistake, answered, both, each, kept

LARGE = 110.0  # pixels of a side


def without(test):
    """Leave objects out."""

    def spoil(world):
        world.gt["annotations"] = [one for one in world.gt["annotations"] if not test(one)]

    return spoil


def lost(klass):
    return without(lambda one: one["category_id"] == klass)


def smaller(one, than=LARGE, side=lambda w, h: (w * h) ** 0.5):
    return side(*one["bbox"][2:]) < than


def at_random(world):
    rng = np.random.default_rng(0)
    each("category_id", lambda c: int(rng.choice(IDS[:5])))(world)


def early(world):
    """Hardly a box is anywhere, and scores mean nothing."""
    rng = np.random.default_rng(0)
    for one in world.dt:
        if rng.random() < 0.7:
            size = np.array([world.size(one)])
            one["bbox"] = anywhere(size, rng)[0].round(2).tolist()
        one["score"] = round(float(rng.random()), 4)


def seldom(klass):
    return kept(lambda one: one["category_id"] != klass or one["image_id"] % 3 == 0)


CASES = [
    Mistake("class 0 dropped", lost(1), "warned OS335", says=f"{KNOWN[0]} ("),
    Mistake("another class dropped", lost(17), "warned OS335"),
    Mistake("a class that is not there, and seldom named", both(lost(1), seldom(1)), "accepted"),
    Mistake("a class that is not there, early in training", both(lost(1), early), "accepted"),
    Mistake("a class that is not there, classes at random", both(lost(1), at_random), "accepted"),
    Mistake("small objects dropped", without(smaller), "warned OS455", says="an area of 110 x 110"),
    Mistake(
        "low objects dropped",
        without(lambda one: smaller(one, side=lambda w, h: h)),
        "warned OS455",
        says="a height of 110",
    ),
    Mistake(
        "large objects alone", both(without(smaller), kept(lambda o: not smaller(o))), "accepted"
    ),
    Mistake(
        "small objects dropped, classes at random", both(without(smaller), at_random), "accepted"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_objects_that_the_ground_truth_lacks(case, here, openset):
    assert answered(case, here, openset) == ""
