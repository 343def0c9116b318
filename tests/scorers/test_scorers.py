"""Scorers: numbers by hand, signs, layouts; thresholds and what is relabelled."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openset import scorers
from openset.findings import UsageError
from openset.tables import Detections
from openset.tables.detections import LogitLayout

LAST, FIRST = LogitLayout.SOFTMAX_BACKGROUND_LAST, LogitLayout.SOFTMAX_BACKGROUND_FIRST
NAMES = ("dog", "cat")


def boxes(logits, layout=LAST, label=None, labels=NAMES):
    n = len(logits)
    label = [0] * n if label is None else label
    box, score = [[0, 0, 9, 9]] * n, [0.5] * n
    return Detections(["a"] * n, label, box, score, labels, logits=logits, layout=layout)


def named(detections):
    return [detections.labels[i] for i in detections.label]


# ---------------------------------------------------------------------- scorers


@pytest.mark.parametrize("name", scorers.table())
def test_every_scorer(name):
    scorer = scorers.table()[name]
    sure, unsure = scorer.compute(boxes([[9, 0, 0], [0.2, 0.1, 0]]))
    assert sure < unsure  # larger = more unknown
    assert scorer.compute(boxes(np.empty((0, 3)))).shape == (0,)
    assert scorer.summary.endswith(".")
    assert scorer.paper
    bare = Detections(["a"], [0], [[0, 0, 9, 9]], [0.5], NAMES)
    with pytest.raises(UsageError, match=f"{name}.*reads logits"):
        scorer.compute(bare)


@pytest.mark.parametrize("name", ["msp", "energy"])
def test_layout_says_which_column_is_the_background(name):
    compute = scorers.table()[name].compute
    last, first = boxes([[2, 1, 5]]), boxes([[5, 2, 1]], FIRST)
    without = boxes([[2, 1]], LogitLayout.SOFTMAX)
    for background in ("keep", "drop"):
        assert compute(last, background=background) == compute(first, background=background)
    assert compute(last, background="drop") == compute(without)
    assert compute(last) != compute(without)


@pytest.mark.parametrize("name", ["msp", "energy"])
def test_what_they_refuse(name):
    compute = scorers.table()[name].compute
    with pytest.raises(UsageError, match="layout is sigmoid"):
        compute(boxes([[1, 2]], LogitLayout.SIGMOID))
    with pytest.raises(UsageError, match="'keep' or 'drop'"):
        compute(boxes([[1, 2, 3]]), background="maybe")
    with pytest.raises(UsageError, match="no class"):
        compute(boxes([[1]]), background="drop")


def test_by_hand():
    table = scorers.table()
    logits = boxes(np.log([[1, 2, 5]]))
    assert table["msp"].compute(logits) == pytest.approx(1 - 5 / 8)
    assert table["msp"].compute(logits, background="drop") == pytest.approx(1 - 2 / 3)
    assert table["energy"].compute(logits) == pytest.approx(-np.log(8))
    assert table["energy"].compute(logits, background="drop") == pytest.approx(-np.log(3))
    cold = table["energy"].compute(logits, temperature=0.5)
    assert cold == pytest.approx(-0.5 * np.log(1 + 4 + 25))
    with pytest.raises(UsageError, match="temperature"):
        table["energy"].compute(logits, temperature=0.0)


@pytest.mark.parametrize("size", [1e4, -1e4, 1e30])
def test_large_logits_do_not_overflow(size):
    table = scorers.table()
    logits = boxes([[size, size, size]])
    assert table["msp"].compute(logits) == pytest.approx(2 / 3)
    assert table["energy"].compute(logits) == pytest.approx(-size - np.log(3))


# ---------------------------------------------------------------------- thresholds


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0.01, 1))
def test_quantile_keeps_its_share(values, keep):
    limit = scorers.quantile_threshold(values, keep=keep)
    assert limit in values
    assert np.mean(np.array(values) <= limit) >= keep - 1e-12
    below = [value for value in values if value < limit]
    assert len(below) / len(values) < keep + 1e-12  # the least such value


def test_thresholds_refuse_nothing_to_fit_on():
    for fit in (scorers.quantile_threshold, scorers.gaussian_threshold):
        with pytest.raises(UsageError, match="there are none"):
            fit([])
        with pytest.raises(UsageError, match="finite"):
            fit([0.1, np.nan])
    with pytest.raises(UsageError, match="keep"):
        scorers.quantile_threshold([1.0], keep=0)


def test_gaussian_may_lie_beyond_every_score():
    values = [0.0] * 50 + [0.5] * 50  # bounded scores: mean + 1.645 sigma is above their maximum
    assert scorers.gaussian_threshold(values) > max(values)
    assert scorers.quantile_threshold(values) == 0.5


# ---------------------------------------------------------------------- relabelling


def test_strictly_above_or_not():
    found = boxes([[0, 0, 0]] * 3, label=[0, 1, 1])
    assert named(scorers.relabel(found, [1, 2, 3], 2)) == ["dog", "cat", "unknown"]
    inclusive = scorers.relabel(found, [1, 2, 3], 2, inclusive=True)
    assert named(inclusive) == ["dog", "unknown", "unknown"]
    assert inclusive.unknownness.tolist() == [1, 2, 3]
    assert inclusive.provenance["relabel"]["threshold"] == 2


def test_unknown_stays_unknown():
    found = boxes([[0, 0, 0]] * 2, label=[1, 2], labels=("Unknown", "dog", "cat"))
    found = replace(found, label=np.array([0, 2]))
    assert named(scorers.relabel(found, [0, 0], 1)) == ["unknown", "cat"]


def test_category_ids_get_names():
    found = replace(boxes([[0, 0, 0]] * 3, label=[7, 3, 7], labels=()))
    names = {3: "dog", 7: "cat", 9: "cow"}
    assert named(scorers.relabel(found, [0, 0, 9], 1, names=names)) == ["cat", "dog", "unknown"]
    with pytest.raises(UsageError, match="category ids"):
        scorers.relabel(found, [0, 0, 9], 1)
    with pytest.raises(UsageError, match="category id 7"):
        scorers.relabel(found, [0, 0, 9], 1, names={3: "dog"})


@pytest.mark.parametrize(("layout", "order"), [(LAST, [0, 1, 2]), (FIRST, [2, 0, 1])])
def test_labels_and_scores_from_logits(layout, order):
    logits = np.log(np.array([[1, 2, 1], [4, 2, 2], [1, 1, 6]], float))[:, order]
    new = scorers.relabel(
        boxes(logits, layout), [0, 0, 0], 1, label="logits", names=NAMES, score="softmax"
    )
    assert named(new) == ["cat", "dog", "unknown"]  # the largest logit of the third is background
    assert new.score.tolist() == pytest.approx([0.5, 0.5, 0.75])
    with pytest.raises(UsageError, match="2 class columns"):
        scorers.relabel(boxes(logits, layout), [0] * 3, 1, label="logits", names=("dog",))


def test_what_relabel_refuses():
    found = boxes([[0, 0, 0]])
    bare = replace(found, logits=None)
    with pytest.raises(UsageError, match="expected 1"):
        scorers.relabel(found, [0, 1], 1)
    with pytest.raises(UsageError, match="NaN"):
        scorers.relabel(found, [np.nan], 1)
    with pytest.raises(UsageError, match="logits"):
        scorers.relabel(bare, [0], 1, label="logits", names=NAMES)
    with pytest.raises(UsageError, match="logits"):
        scorers.relabel(bare, [0], 1, score="softmax")
    with pytest.raises(UsageError, match="'detector' or 'logits'"):
        scorers.relabel(found, [0], 1, label="oracle")
