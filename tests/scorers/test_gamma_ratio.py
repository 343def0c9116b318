"""The gamma-ratio rule: the margin identity, the top-3 score, and the procedure before NMS."""

import numpy as np
import pytest

from openset import scorers
from openset.findings import InputError, UsageError
from openset.scorers.gamma_ratio import apply_rule, gamma_ratio, top_scores
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


def reference(logits, box, gamma, temperature):
    """The published steps as loops, for one image."""
    share = np.exp(logits / temperature)
    share = (share / share.sum(axis=1, keepdims=True))[:, :-1]
    candidates = []
    for i, row in enumerate(share):
        best = np.sort(row)[::-1]
        for label, value in enumerate(row):
            if value > 0.05:
                unknown = best[0] / best[1] < gamma
                candidates.append((3, best[:3].sum(), i) if unknown else (label, value, i))
    kept = []
    for label, value, i in sorted(candidates, key=lambda c: -c[1]):
        if all(c[0] != label or overlap(box[c[2]], box[i]) <= 0.5 for c in kept):
            kept.append((label, value, i))
    return sorted((label, round(value, 9), tuple(box[i])) for label, value, i in kept)


def overlap(a, b):
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


@pytest.mark.parametrize(("gamma", "temperature"), [(3.0, 1.0), (15.0, 2.0)])
def test_procedure_equals_the_published_loop(gamma, temperature):
    rng = np.random.default_rng(3)
    logits, box = rng.normal(size=(40, 4)) * 2, rng.integers(1, 30, (40, 4)).astype(float)
    found = apply_rule(regions(logits, box), NAMES, gamma=gamma, temperature=temperature)
    logits = logits.astype(np.float32).astype(float)
    rows = zip(found.label.tolist(), found.score.tolist(), found.box.tolist(), strict=True)
    got = sorted((label, round(value, 9), tuple(b)) for label, value, b in rows)
    assert got == reference(logits, box, gamma, temperature)
    assert found.labels == (*NAMES, "unknown")
    assert {3} < set(found.label.tolist())
    assert np.array_equal(found.label == 3, found.unknownness > 1 / gamma)


def test_limit_counts_unknowns_first():
    sure, torn = [9.0, 0, 0, 0], [5.0, 5, 0, 5]
    found = apply_rule(regions([sure, torn], image=[1, 1]), NAMES, gamma=2, limit=1)
    assert found.label.tolist() == [0]
    each = apply_rule(regions([sure, torn, sure], image=[1, 2, 2]), NAMES, gamma=2, limit=1)
    assert each.image.tolist() == [1, 2]
    nothing = apply_rule(regions(np.empty((0, 4))), NAMES, gamma=2)
    assert len(nothing) == 0


def test_what_it_refuses():
    with pytest.raises(InputError, match=r"OS503.*two classes"):
        gamma_ratio(regions([[1.0, 2.0]]))
    with pytest.raises(UsageError, match="gamma"):
        apply_rule(regions([[1.0, 2, 3, 4]]), NAMES, gamma=0.5)
    with pytest.raises(InputError, match=r"OS503.*2 names for 3"):
        apply_rule(regions([[1.0, 2, 3, 4]]), NAMES[:2], gamma=2)
    assert scorers.find("gamma_ratio").fits_on == "nothing"
