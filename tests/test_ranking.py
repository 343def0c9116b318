"""Ranking: the order is that of a stable sort, ties and infinities included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openset import ranking
from openset.ranking import _order, rank
from openset.recognition.ranking import rank_answers
from scenes.recognition import STEADY

VALUES = st.lists(st.one_of(st.floats(allow_nan=False), st.sampled_from([0.0, -0.0, 1.0, 1e-300])))


@STEADY
@given(VALUES)
def test_the_order_is_that_of_a_stable_sort(values):
    column = np.array(values, float)
    order, found = _order(column)
    assert np.array_equal(order, np.argsort(column, kind="stable"))
    assert np.array_equal(found, np.sort(column))


@pytest.mark.parametrize("n", [2, 3, 1000, 70_000])
def test_values_that_differ_in_their_last_bits(n):
    rng = np.random.default_rng(n)
    column = 1 + rng.integers(0, 50, n) * np.finfo(float).eps
    column[::3] *= -1
    order, found = _order(column)
    assert np.array_equal(order, np.argsort(column, kind="stable"))
    assert np.array_equal(found, np.sort(column))


@pytest.mark.parametrize("decimals", [1, 9])
def test_populations_sorted_at_the_same_time_rank_alike(decimals, monkeypatch):
    known, unknown = np.random.default_rng(0).normal(size=(2, 500)).round(decimals)
    one = rank(known, unknown)
    monkeypatch.setattr(ranking, "LARGE", 1)
    assert np.array_equal(rank(known, unknown).order, one.order)


@pytest.mark.parametrize("decimals", [1, 9])
def test_a_weight_counts_as_often_as_members_that_are_there_as_often(decimals):
    rng = np.random.default_rng(1)
    values, times = rng.normal(size=60).round(decimals), rng.integers(0, 4, (60, 3))
    is_known = np.arange(60) < 35
    found = rank(values[:35], values[35:])
    drawn = found.weighted(times.astype(np.uint8)[found.order])
    for column, often in enumerate(times.T):
        rows = np.repeat(np.arange(60), often)
        again = rank(values[rows][is_known[rows]], values[rows][~is_known[rows]])
        for area in (ranking.area_under_roc, lambda r: ranking.false_positive_rate(r, 0.95)):
            assert area(drawn)[column] == area(again)
        parts = ((r.known, r.known_up_to[1:], r.unknown_up_to[1:]) for r in (drawn, again))
        weighted, repeated = (ranking.average_precision(*part) for part in parts)
        assert weighted[column] == pytest.approx(repeated, abs=1e-12)


def test_levels_and_who_leads_them():
    known, unknown = np.array([0.5, 0.1, 0.5]), np.array([0.5, 0.9, -1.0])
    found = rank_answers(known, np.array([False, True, True]), unknown)
    assert found.order.tolist() == [5, 1, 0, 2, 3, 4]
    assert found.known.tolist() == [0, 1, 2, 0]
    assert found.correct.tolist() == [0, 1, 1, 0]
    assert found.unknown.tolist() == [1, 0, 1, 1]
    assert found.leading_correct().tolist() == [False, True, False, False]
    assert found.unknown_up_to.tolist() == [0, 1, 1, 2, 3]
    assert found.unknown_from().tolist() == [1, 2, 2, 3]
    assert found.known_from().tolist() == [0, 2, 3, 3]
    assert (found.n_known, found.n_unknown) == (3, 3)
