"""Two ranked populations in resamples against the ranking of literally repeated members."""

import numpy as np
import pytest

from openset import kernels
from openset.kernels import Levels
from openset.ranking import area_under_roc, average_precision, false_positive_rate, rank
from scenes.kernels import needs_native

ASKED = ["pairs", "steps", "trapezoid", "accepted", "nearest"]
SHARES = [0.0, 0.5, 0.95, 1.0]


def draw_case(seed, n_resamples=70):
    random = np.random.default_rng(seed)
    n, n_images = int(random.integers(1, 60)), int(random.integers(1, 9))
    values = random.integers(0, random.integers(1, 30), n) / 7
    known = random.random(n) < random.random()
    image = random.integers(0, n_images, n).astype(np.int32)
    weights = random.integers(0, 4, (n_images, n_resamples)).astype(np.uint8)
    found = rank(values[known], values[~known])
    order = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])[found.order]
    levels = Levels.of(image[order], found.start, found.is_known)
    n_known = np.bincount(image[known], minlength=n_images) @ weights
    return (values, known, image), levels, (weights, n_known)


def repeated(members, weights):
    values, known, image = members
    times = weights[image]
    return rank(np.repeat(values[known], times[known]), np.repeat(values[~known], times[~known]))


def both(found):
    return len(found) and found.n_known and found.n_unknown


@pytest.mark.parametrize("seed", range(40))
def test_equals_repeating(backend, seed):
    members, levels, drawn = draw_case(seed)
    weights, n_known = drawn
    found = kernels.ranked(levels, *drawn, ASKED, share=0.6)
    compared = 0
    for column in range(0, weights.shape[1], 7):
        one = repeated(members, weights[:, column])
        if not both(one):
            continue
        compared += 1
        n, m = one.n_known, one.n_unknown
        assert n_known[column] == n
        area = average_precision(one.known, one.known_up_to[1:], one.unknown_up_to[1:])
        assert found["pairs"][column] / (2 * n * m) == area_under_roc(one)
        assert found["steps"][column] / n == pytest.approx(area, abs=1e-14)
        assert found["accepted"][column] / m == false_positive_rate(one, 0.6)
        assert found["trapezoid"][column] == pytest.approx(trapezoid(one), abs=1e-12)
        assert found["nearest"][column] == nearest(one, 0.6)
    assert compared or not (0 < members[1].mean() < 1)


def trapezoid(one):
    precision, total = [1.0], 0.0
    for k, up, out in zip(one.known, one.known_up_to[1:], one.unknown_up_to[1:], strict=True):
        precision.append(up / (up + out))
        total += int(k) * (precision[-1] + precision[-2]) / 2
    return total


def nearest(one, share):
    rates = one.known_up_to[1:] / one.n_known
    rates = rates[: 1 + int(np.argmax(rates >= 1))]
    off = np.abs(rates - share)
    return one.unknown_up_to[1:][np.flatnonzero(off == off.min())[-1]]


@needs_native
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("share", SHARES)
def test_twins_agree_to_the_bit(monkeypatch, seed, share):
    _, levels, drawn = draw_case(seed)
    found = {}
    for name in ("native", "numpy"):
        monkeypatch.setenv("OPENSET_KERNELS", name)
        found[name] = kernels.ranked(levels, *drawn, ASKED, share=share)
    some = drawn[1] > 0  # of none, there is no recall to be near to
    for asked in ASKED:
        one, other = found["native"][asked], found["numpy"][asked]
        assert one[some].tobytes() == other[some].tobytes(), asked


def test_what_is_not_asked_for_changes_nothing(backend):
    _, levels, drawn = draw_case(3)
    together = kernels.ranked(levels, *drawn, ASKED, share=0.6)
    for asked in ASKED:
        alone = kernels.ranked(levels, *drawn, [asked], share=0.6)
        assert list(alone) == [asked]
        assert np.array_equal(alone[asked], together[asked], equal_nan=True)


def test_images_beyond_the_weights_are_refused(backend):
    levels = Levels.of(np.array([3], np.int32), np.array([0]), np.array([True]))
    with pytest.raises(ValueError, match="a row for each"):
        kernels.ranked(levels, np.ones((2, 5), np.uint8), np.ones(5), ["pairs"])
    with pytest.raises(ValueError, match="one entry per resample"):
        kernels.ranked(levels, np.ones((4, 5), np.uint8), np.ones(4), ["pairs"])
