import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from openset import kernels

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)


def expected(klass, score, tie):
    tie = np.zeros(len(klass)) if tie is None else tie
    return sorted(range(len(klass)), key=lambda i: (klass[i], -score[i], tie[i], i))


@pytest.fixture
def order(backend):
    def run(klass, score, tie=None, n_classes=4):
        tie = None if tie is None else np.array(tie, np.int32)
        return kernels.class_order(np.array(klass, np.int32), np.array(score), tie, n_classes)

    return run


def test_equals_sorted_tuples(order):
    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def check(data):
        n = data.draw(st.integers(0, 40))
        levels = st.sampled_from([0.0, -0.0, 0.5, 0.5 + 2**-40, -1.0])
        score = data.draw(hnp.arrays(np.float64, n, elements=st.one_of(FINITE, levels)))
        klass = data.draw(hnp.arrays(np.int32, n, elements=st.integers(0, 3)))
        tie = data.draw(st.one_of(st.none(), hnp.arrays(np.int32, n, elements=st.integers(-2, 2))))
        got, start = order(klass, score, tie)
        assert got.tolist() == expected(klass, score, tie)
        assert start.tolist() == [int((klass < k).sum()) for k in range(5)]

    check()


@pytest.mark.parametrize("levels", [3, 1000, 2**53])
@pytest.mark.parametrize("ties", [None, 50, 2**31])
def test_large_classes_with_ties(order, levels, ties):
    random = np.random.default_rng(levels)
    n = 5000
    score = random.integers(-levels, levels, n) / levels
    klass = random.integers(0, 4, n)
    tie = None if ties is None else random.integers(-ties, ties, n)
    got, _ = order(klass, score, tie)
    assert got.tolist() == expected(klass, score, tie)


def test_scores_that_only_float64_tells_apart(order):
    score = 0.5 + np.arange(600) * 2.0**-52
    got, _ = order(np.zeros(600), score)
    assert got.tolist() == list(range(599, -1, -1))


def test_many_classes(order):
    klass = np.arange(70_000)[::-1]
    got, start = order(klass, np.ones(70_000), n_classes=70_001)
    assert (got == klass).all()
    assert start[-2:].tolist() == [70_000, 70_000]


def test_nothing(order):
    got, start = order([], [])
    assert got.tolist() == []
    assert start.tolist() == [0] * 5


def test_class_out_of_range_is_refused(order):
    with pytest.raises(ValueError, match="classes must lie in"):
        order([4], [0.5])
