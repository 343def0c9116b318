"""Misnaming: certain where labels are exchanged, silent where a detector is weak."""

from __future__ import annotations

import numpy as np
import pytest

from openset.tables.misnaming import exchanged, mended, misnamed


def drawn(rng, accuracy, times=30, classes=20):
    """What an honest detector of some accuracy says, `times` times of each label."""
    share = np.full((classes, classes), (1 - accuracy) / (classes - 1))
    np.fill_diagonal(share, accuracy)
    return np.stack([rng.multinomial(times, row) for row in share])


@pytest.mark.parametrize("accuracy", [0.05, 0.1, 0.3, 0.6, 0.95])
def test_an_honest_detector_is_believed_however_weak(accuracy):
    rng = np.random.default_rng(0)
    assert not any(
        misnamed(drawn(rng, accuracy, times)) for times in (5, 20, 90) for _ in range(20)
    )


@pytest.mark.parametrize("accuracy", [0.4, 0.6, 0.95])
def test_any_permutation_is_found(accuracy):
    rng = np.random.default_rng(1)
    for _ in range(20):
        order = rng.permutation(20)
        found = misnamed(drawn(rng, accuracy)[:, order])
        assert len(found) > 10
        # Column j holds what was counted for class order[j]: that class is now called j.
        assert all(order[means] == label for label, means in found.items())


def test_a_shift_has_no_circle_and_is_found():
    counts = np.roll(drawn(np.random.default_rng(2), 0.8), 1, axis=1)
    counts[-1] = 0  # the last label says nothing
    found = misnamed(counts)
    assert {means - label for label, means in found.items()} == {1}


def test_two_exchanged_in_few_cases():
    counts = drawn(np.random.default_rng(3), 0.8, times=8)
    counts[[4, 9]] = counts[[9, 4]]
    assert exchanged(counts) == {4: 9, 9: 4}


@pytest.mark.parametrize("accuracy", [0.05, 0.3, 0.6, 0.95])
def test_no_two_are_exchanged_by_an_honest_detector(accuracy):
    rng = np.random.default_rng(0)
    assert not any(exchanged(drawn(rng, accuracy, 15)) for _ in range(200))


def test_two_classes_that_cannot_be_told_are_not_exchanged():
    counts = drawn(np.random.default_rng(3), 0.9, times=15)
    counts[[4, 9]] = (counts[[4, 9]] + counts[[9, 4]]) // 2
    assert exchanged(counts) == {}


def test_two_exchanged_among_many_that_are_right():
    counts = drawn(np.random.default_rng(3), 0.8)
    counts[[4, 9]] = counts[[9, 4]]
    assert misnamed(counts) == {4: 9, 9: 4}


@pytest.mark.parametrize(
    "pair",
    [
        [[30, 30], [30, 30]],  # a coin
        [[15, 40], [40, 15]],  # worse than a coin, but it knows some
        [[0, 3], [3, 0]],  # too few to tell
        [[0, 40], [30, 30]],  # one goes wrong, the other does not
    ],
)
def test_two_classes_that_are_confused_are_not_exchanged(pair):
    counts = np.diag([30, 30, 30, 30])
    counts[:2, :2] = pair
    assert misnamed(counts) == {}


def test_one_label_for_everything_means_nothing():
    shares = np.random.default_rng(4).multinomial(900, [0.02, 0.7, 0.1, 0.18])
    counts = np.zeros((4, 4), int)
    counts[0] = shares
    assert misnamed(counts) == {}
    counts[2] = shares // 20
    assert misnamed(counts) == {}


def test_random_labels_where_one_class_prevails():
    rng = np.random.default_rng(5)
    share = [0.8, *np.full(10, 0.02)]
    assert not any(misnamed(rng.multinomial(40, share, size=11)) for _ in range(200))


def test_the_last_that_is_too_rare_to_judge_gets_what_is_left():
    counts = np.roll(10 * np.eye(5, dtype=int), 1, axis=1)
    counts[3] = [0, 0, 0, 0, 2]
    found = misnamed(counts)
    assert 3 not in found
    assert mended(found, counts) == ({0: 1, 1: 2, 2: 3, 3: 4, 4: 0}, [])


def test_of_two_that_are_too_rare_nothing_is_said():
    """What they were seen on once or twice may be a mistake of the detector."""
    counts = np.roll(20 * np.eye(8, dtype=int), 1, axis=1)
    counts[[3, 5]] = 0
    counts[3, 6], counts[5, 6] = 2, 1
    found = misnamed(counts)
    means, left = mended(found, counts)
    assert (means, left) == ({0: 1, 1: 2, 2: 3, 4: 5, 6: 7, 7: 0}, [3, 5])


def test_what_is_right_stays_and_what_is_rare_stays_with_it():
    counts = np.diag([30, 30, 30, 30, 2])
    counts[:2] = counts[[1, 0]]
    assert mended(misnamed(counts), counts) == ({0: 1, 1: 0}, [])


def test_single_classes_that_are_hard_to_tell_are_no_mistake():
    """Three labels of a weak detector, each mostly on another class, among many that are right."""
    counts = np.diag([*[0] * 6, *[20] * 30])
    counts[[0, 2, 4], [1, 3, 5]] = 8
    assert misnamed(counts) == {}
    counts[[1, 3], [2, 4]] = 8  # a chain: each means what the one before says
    assert misnamed(counts) == {0: 1, 1: 2, 2: 3, 3: 4, 4: 5}


def test_a_few_cases_are_chance():
    assert misnamed(np.array([[1, 4], [4, 1]])) == {}
    assert misnamed(np.array([[1, 14], [14, 1]])) == {0: 1, 1: 0}
    rng = np.random.default_rng(6)
    assert not any(misnamed(rng.multinomial(6, [0.4, 0.3, 0.3], size=3)) for _ in range(500))


def test_a_class_goes_to_the_label_that_is_on_it_most():
    counts = np.zeros((4, 4), int)
    counts[[1, 2, 3], [2, 3, 1]] = 40
    counts[0, 2] = 10
    assert misnamed(counts) == {1: 2, 2: 3, 3: 1}
