"""SIREN's scores of detections: neighbours and densities on its sphere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ive

from openset import scorers
from openset.findings import InputError
from openset.scorers.siren import log_scale
from scenes import scorers as scenes


@pytest.mark.parametrize("dimensions", [3, 16, 64, 256])
@pytest.mark.parametrize("close", [0.5, 10.0, 300.0, 20_000.0])
def test_the_scale_of_a_density_is_that_of_bessel_functions(close, dimensions):
    order = dimensions / 2 - 1
    bessel = np.log(ive(order, close)) + close if ive(order, close) > 0 else None
    if bessel is None:
        assert np.isfinite(log_scale(close, dimensions))
        return
    wanted = order * np.log(close) - dimensions / 2 * np.log(2 * np.pi) - bessel
    assert log_scale(close, dimensions) == pytest.approx(wanted, rel=1e-9, abs=1e-8)


def test_densities_are_those_of_the_classes():
    train, test = scenes.scene(400, seed=9), scenes.scene(seed=1)
    found = scenes.fitted("siren_vmf", train).score(test)
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (
        one.attributes["projection"].astype(float) for one in (train, test))]  # fmt: skip
    densities = []
    for klass in range(scenes.K):
        mean = unit[0][train.label == klass].mean(axis=0)
        length = np.linalg.norm(mean)
        width = len(mean)
        close = length * (width - length**2) / (1 - length**2)
        densities.append(close * unit[1] @ (mean / length) + log_scale(close, width))
    assert found == pytest.approx(-np.max(densities, axis=0), rel=1e-5)


def test_neighbours_are_those_of_the_projection():
    train, test = scenes.scene(400, seed=9), scenes.scene(seed=1)
    found = scenes.fitted("siren_knn", train, k=3).score(test)
    moved = [replace(one, embedding=one.attributes["projection"]) for one in (train, test)]
    assert np.array_equal(found, scorers.find("knn").fit(moved[0], k=3).score(moved[1]))


def test_a_length_changes_nothing():
    train, test = scenes.scene(400, seed=9), scenes.scene(seed=1)
    longer = replace(test, attributes={"projection": test.attributes["projection"] * 7})
    for name in ("siren_vmf", "siren_knn"):
        fitted = scenes.fitted(name, train)
        assert fitted.score(longer) == pytest.approx(fitted.score(test), rel=1e-4, abs=1e-5)


def test_classes_of_one_detection_are_left_out_and_equal_ones_are_finite():
    train = scenes.scene(400, seed=9)
    lone = np.r_[np.flatnonzero(train.label != 2), np.flatnonzero(train.label == 2)[:1]]
    without = scenes.fitted("siren_vmf", train.select(np.flatnonzero(train.label != 2)))
    test = scenes.scene(seed=1)
    assert np.array_equal(scenes.fitted("siren_vmf", train.select(lone)).score(test),
                          without.score(test))  # fmt: skip
    same = train.select(np.zeros(50, int))
    assert np.isfinite(scenes.fitted("siren_vmf", same).score(test)).all()
    with pytest.raises(InputError, match=r"OS504.*two training detections"):
        scenes.fitted("siren_vmf", train.select(np.arange(1)))
