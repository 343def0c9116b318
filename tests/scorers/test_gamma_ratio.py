"""The gamma ratio: the margin identity, the top-3 score, sigmoids."""

import numpy as np
import pytest

from openset import scorers
from openset.findings import InputError, UsageError
from openset.scorers.gamma_ratio import gamma_ratio, top_scores
from openset.tables import Detections, LogitLayout

LAST, SIGMOID = LogitLayout.SOFTMAX_BACKGROUND_LAST, LogitLayout.SIGMOID
NAMES = ("a", "b", "c")


def regions(logits, box=None, layout=LAST, image=None):
    n = len(logits)
    box = np.array([[50.0 * i, 0, 20, 20] for i in range(n)]) if box is None else box
    image = [1] * n if image is None else image
    names = NAMES[: np.shape(logits)[1] - (layout is LAST)]
    return Detections(image, [0] * n, box, [0.5] * n, names, logits=logits, layout=layout)


def test_ratio_is_a_margin():
    logits = np.random.default_rng(0).normal(size=(200, 4)) * 3
    top = np.sort(logits[:, :3], axis=1)
    for gamma, temperature in ((1.5, 1.0), (15, 2.0), (4, 0.5)):
        ratio = gamma_ratio(regions(logits), temperature=temperature)
        margin = top[:, 2] - top[:, 1] < temperature * np.log(gamma)
        assert np.array_equal(ratio > 1 / gamma, margin)


def test_sigmoids_have_a_ratio_of_their_own():
    found = gamma_ratio(regions([[0.0, np.log(3), -60.0]], layout=SIGMOID))
    assert found == pytest.approx(0.5 / 0.75)
    tiny = gamma_ratio(regions([[-800.0, -801.0, -900.0]], layout=SIGMOID))
    assert tiny == pytest.approx(np.exp(-1))


def test_top_scores():
    logits = np.log([[1, 2, 3, 4]])
    assert top_scores(regions(logits)) == pytest.approx(6 / 10)
    assert top_scores(regions(logits), top=2) == pytest.approx(5 / 10)
    assert top_scores(regions(logits), temperature=0.5) == pytest.approx(14 / 30)
    two = Detections([1], [0], [[0, 0, 9, 9]], [0.5], NAMES[:2], logits=np.log([[1, 3]]),
                     layout=LogitLayout.SOFTMAX)  # fmt: skip
    assert top_scores(two) == pytest.approx(1.0)  # of two classes there are two


def test_what_it_refuses():
    with pytest.raises(InputError, match=r"OS503.*two classes"):
        gamma_ratio(regions([[1.0, 2.0]]))
    with pytest.raises(UsageError, match="temperature"):
        gamma_ratio(regions([[1.0, 2, 3, 4]]), temperature=0)
    assert scorers.find("gamma_ratio").fits_on == "nothing"
