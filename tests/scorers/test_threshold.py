"""Thresholds: which share of knowns they keep; relabelling and the score of what is unknown."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openset import scorers
from openset.findings import InputError, UsageError
from openset.tables import Detections
from openset.tables.logits import LogitLayout

LAST, FIRST = LogitLayout.SOFTMAX_BACKGROUND_LAST, LogitLayout.SOFTMAX_BACKGROUND_FIRST
NAMES = ("dog", "cat")


def boxes(logits, layout=LAST, label=None, labels=NAMES):
    n = len(logits)
    label = [0] * n if label is None else label
    box, score = [[0, 0, 9, 9]] * n, [0.5] * n
    return Detections(["a"] * n, label, box, score, labels, logits=logits, layout=layout)


def named(detections):
    return [detections.labels[i] for i in detections.label]


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
    with pytest.raises(UsageError, match="softmax, but their layout is sigmoid"):
        sigmoids = boxes([[1, 2]], LogitLayout.SIGMOID)
        scorers.relabel(sigmoids, [0], 1, label="logits", names=NAMES)


# ---------------------------------------------------------------------- ranking


def test_scores_of_what_becomes_unknown():
    found = replace(boxes(np.log([[1, 2, 5], [4, 2, 2]])), score=np.array([0.5, 0.4]))

    def scores(ranking, values=(0, 3)):
        return scorers.relabel(found, values, 1, ranking=ranking).score.tolist()

    assert scores("confidence") == [0.5, 0.4]
    assert scores("constant") == [0.5, 1.0]
    assert scores("top3") == pytest.approx([0.5, 6 / 8])  # of two classes there are two
    bounded = 0.5 + np.arctan(2) / np.pi
    assert scores("unknownness") == pytest.approx([0.5, bounded])
    assert scores("product") == pytest.approx([0.5, 0.4 * bounded])
    low, high = scores("unknownness", (1e6, 1e6 + 1))
    assert 0 <= low < high <= 1
    with pytest.raises(UsageError, match="ranking must be one of"):
        scores("alphabetical")
    with pytest.raises(InputError, match="logits"):
        scorers.relabel(replace(found, logits=None), [0, 3], 1, ranking="top3")


def test_three_sigmoids_may_sum_to_more_than_one():
    found = boxes([[9, 9, 9, 9]], LogitLayout.SIGMOID)
    new = scorers.relabel(found, [2], 1, ranking="top3")
    assert new.score[0] == pytest.approx(1 / (1 + np.exp(-9)))


# ---------------------------------------------------------------------- calibration


def scored(values, split="val", label=0, labels=NAMES):
    n = len(values)
    found = boxes([[0, 0, 0]] * n, label=[label] * n, labels=labels)
    return scorers.of_split(replace(found, unknownness=np.array(values, float)), split)


def test_calibration_keeps_its_share():
    known = scored(np.arange(200))
    quantile, zscore = scorers.calibrate(known), scorers.calibrate(known, flavour="zscore")
    assert (quantile.threshold, quantile.kept) == (189, 0.95)
    assert zscore.threshold == scorers.gaussian_threshold(np.arange(200))
    assert scorers.calibrate(scored([0.0] * 50 + [0.5] * 50), flavour="zscore").kept == 1.0
    new = quantile.relabel(scored([100, 195], split="test"), ranking="constant")
    assert named(new) == ["dog", "unknown"]
    assert new.score.tolist() == [0.5, 1.0]


def test_calibration_round_trip(tmp_path):
    found = scorers.calibrate(scored(np.arange(200)))
    found.save(tmp_path / "c.npz")
    again = scorers.Calibration.load(tmp_path / "c.npz")
    assert vars(again) | {"images": None} == vars(found) | {"images": None}
    assert again.images.tolist() == ["a"]
    with pytest.raises(InputError, match=r"OS507.*holds calibration"):
        scorers.load(tmp_path / "c.npz")


def test_what_calibration_refuses():
    with pytest.raises(InputError, match=r"OS505.*'voc test'"):
        scorers.calibrate(scored([1, 2], split="voc test"))
    with pytest.raises(InputError, match=r"OS506.*2 detections"):
        scorers.calibrate(scored([1, 2], label=2, labels=(*NAMES, "unknown")))
    with pytest.raises(InputError, match=r"OS501.*unknownness"):
        scorers.calibrate(boxes([[0, 0, 0]]))
    with pytest.raises(UsageError, match="flavour"):
        scorers.calibrate(scored([1, 2]), flavour="magic")
    with pytest.raises(UsageError, match=r"keep=0\.95"):
        scorers.calibrate(scored([1, 2]), flavour="zscore", keep=0.9)
    forced = scorers.calibrate(scored([1, 2], split="voc test"), force=True)
    assert forced.leaks == ("fitted on test data",)
