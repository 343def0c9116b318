"""Scores of several classifiers: the same ones twice, and samples in another order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.recognition.flaws import digits
from openset.recognition.together import in_another_order, repeated_scores

ONE = digits()


def noisy(seed, noise=1.0):
    """A second training: the same samples are hard, more or less."""
    rng, spread = np.random.default_rng(seed), ONE.openness.std() * noise
    known = ONE.openness + rng.normal(0, spread, ONE.n_known)
    return replace(
        ONE,
        openness=known,
        unknown_openness=ONE.unknown_openness + rng.normal(0, spread, ONE.n_unknown),
    )


def test_scores_given_twice_or_rounded():
    rounded = replace(
        ONE, openness=ONE.openness.round(3), unknown_openness=ONE.unknown_openness.round(3)
    )
    assert repeated_scores({"a": ONE, "b": rounded, "c": noisy(0, 0.1)}).keys() == {"b"}


def test_unknown_samples_in_another_order():
    order = np.random.default_rng(1).permutation(ONE.n_unknown)
    moved = replace(noisy(0), unknown_openness=noisy(0).unknown_openness[order])
    found = in_another_order({"a": ONE, "same": noisy(0), "moved": moved})
    assert found.keys() == {"moved"}
    assert found["moved"].code == "OS827"
    assert "not on unknown ones" in found["moved"].message


def test_classifiers_that_have_nothing_in_common_are_not_accused():
    rng = np.random.default_rng(2)
    other = replace(
        ONE, openness=rng.random(ONE.n_known), unknown_openness=1 + rng.random(ONE.n_unknown)
    )
    assert in_another_order({"a": ONE, "b": other}) == {}
