"""Operating points against a walk over literally repeated detections."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openset import kernels
from scenes.kernels import needs_native

RECALLS = [0.0, 0.1, 0.3, 0.5, 0.8, 1.0]


def draw_case(seed, n_resamples=5):
    random = np.random.default_rng(seed)
    n_classes, n, n_images = random.integers(1, 4), random.integers(0, 40), random.integers(1, 8)
    klass = np.sort(random.integers(0, n_classes, n))
    start = np.searchsorted(klass, np.arange(n_classes + 1))
    score = random.integers(0, 6, n) / 5
    for begin, end in pairwise(start):
        score[begin:end] = np.sort(score[begin:end])[::-1]
    return {
        "class_start": start,
        "image": random.integers(0, n_images, n).astype(np.int32),
        "flags": random.integers(0, 8, n).astype(np.uint8),
        "weights": random.integers(0, 4, (n_images, n_resamples)).astype(np.uint8),
        "n_positive": random.integers(0, 9, (n_classes, n_resamples)),
    }, score


def repeat(case, score, klass, column):
    """Flags and scores of one class, each detection as often as its image was drawn."""
    section = slice(*case["class_start"][klass : klass + 2])
    times = case["weights"][case["image"][section], column]
    bits = (np.repeat(case["flags"][section], times)[:, None] >> np.arange(3)) & 1
    return np.cumsum(bits, axis=0), np.repeat(score[section], times)


def walk_to_nearest(total, positives, recall):
    if not len(total):
        return None
    if positives == 0:
        return total[0]
    return total[np.abs(total[:, 0] / positives - recall).argmin()]


def walk_to_threshold(total, score, positives, recall):
    if positives == 0 or not len(total):
        return None
    reached = np.flatnonzero((total[:, 0] / positives >= recall) & (total[:, 0] > 0))
    if not len(reached):
        return None
    return total[np.flatnonzero(score >= score[reached[0]])[-1]]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("threshold", [False, True])
def test_equals_repeating(backend, seed, threshold):
    case, score = draw_case(seed)
    recall = RECALLS[1 + seed % 5]
    counts, reached = kernels.operating_points(
        **case, recall=recall, n_flags=3, score=score if threshold else None
    )
    for klass, column in np.ndindex(reached.shape):
        total, scores = repeat(case, score, klass, column)
        positives = case["n_positive"][klass, column]
        expected = (
            walk_to_threshold(total, scores, positives, recall)
            if threshold
            else walk_to_nearest(total, positives, recall)
        )
        assert reached[klass, column] == (expected is not None)
        if expected is not None:
            assert counts[klass, :, column].tolist() == expected.tolist()


@needs_native
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_resamples=st.sampled_from([1, 63, 64, 130]),
    recall=st.sampled_from(RECALLS),
    threshold=st.booleans(),
)
def test_backends_agree(seed, n_resamples, recall, threshold):
    case, score = draw_case(seed, n_resamples)
    found = []
    for backend in ("native", "numpy"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENSET_KERNELS", backend)
            found.append(
                kernels.operating_points(
                    **case, recall=recall, n_flags=3, score=score if threshold else None
                )
            )
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_wrong_shapes_are_refused(backend):
    case, _ = draw_case(3)
    with pytest.raises(ValueError, match="n_positive must have"):
        kernels.operating_points(
            **(case | {"n_positive": np.ones((1, 1), np.int64)}), recall=0.5, n_flags=3
        )
    with pytest.raises(ValueError, match="flags must have"):
        kernels.operating_points(**case, recall=0.5, n_flags=9)
