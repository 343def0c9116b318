"""Results of several class splits of one benchmark: means, paired differences, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import openset
from openset.evaluation.trainings import Trainings, population
from openset.findings import InputError, UsageError
from openset.resampling.intervals import deviation
from scenes.class_splits import SPLITS, results


@pytest.fixture(scope="module")
def methods():
    return results(0.5), results(0.1, seed=9)


def test_without_the_word_other_vocabularies_are_no_trainings(methods):
    with pytest.raises(InputError, match=r"OS418.*vocabularies"):
        Trainings.of(methods[0])
    with pytest.raises(InputError, match="OS418"):
        openset.compare(*methods)


def test_the_value_is_the_mean_over_splits(methods):
    method = Trainings.of(methods[0], splits=True)
    runs = [one.value("ap_known").value for one in methods[0]]
    assert method.values["ap_known"].value == pytest.approx(np.mean(runs))
    mean, apart = population(method.runs("ap_known"))
    assert (mean, apart) == pytest.approx((np.mean(runs), np.std(runs, ddof=1)))
    drawn = np.mean([one.replicates["ap_known"] for one in methods[0]], axis=0)
    assert np.array_equal(method.replicates["ap_known"], drawn)
    assert population([0.1, None]) is None


def test_differences_are_paired_by_split_and_by_image(methods):
    found = openset.compare(*methods, splits=True)
    d = found["ap_known"]
    each = [openset.compare(x, y)["ap_known"].difference for x, y in zip(*methods, strict=True)]
    assert d.difference == pytest.approx(np.mean(each))
    assert d.sd_training == pytest.approx(np.std(each, ddof=1) / np.sqrt(3))
    assert d.better and d.significant and d.runs == (3, 3)
    drawn = [np.mean([one.replicates["ap_known"] for one in side], axis=0) for side in methods]
    assert d.sd_images == pytest.approx(deviation(drawn[1] - drawn[0], d.difference))


def test_what_is_refused(methods):
    a, b = methods
    with pytest.raises(UsageError, match="different vocabularies"):
        openset.compare(a, b[::-1], splits=True)  # in another order
    with pytest.raises(UsageError, match="3 and 2"):
        openset.compare(a, b[:2], splits=True)
    with pytest.raises(UsageError, match="at least two"):
        openset.compare(a[0], b[0], splits=True)
    again = results(0.3, seed=20, splits=SPLITS[:1] * 2)
    with pytest.raises(InputError, match=r"OS653.*one split"):
        Trainings.of(again, splits=True)
    other = results(0.5, splits=SPLITS[1:2], protocol="coco")
    with pytest.raises(InputError, match=r"OS653.*protocols"):
        Trainings.of([a[0], *other], splits=True)
    seeded = results(0.5, seed=3, splits=SPLITS[1:2])[0]
    with pytest.raises(InputError, match="OS417"):
        Trainings.of([a[0], seeded, seeded], splits=True)
