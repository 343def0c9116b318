"""Dropout sampling: the three published forms, by hand."""

import numpy as np
import pytest

from openset import scorers
from openset.findings import InputError, UsageError
from openset.scorers.dropout import mean_detections, merge_observations, unknown_column_score
from openset.tables import Detections, LogitLayout

LAST = LogitLayout.SOFTMAX_BACKGROUND_LAST
SAMPLES = np.log([[[1, 2, 1], [3, 1, 4]]])  # one region, two passes, two classes and background


def regions(samples, layout=LAST, **attributes):
    n = len(samples)
    held = {"logit_samples": np.asarray(samples, np.float32), **attributes}
    box = [[0, 0, 9, 9]] * n
    return Detections([1] * n, [0] * n, box, [0.5] * n, ("a", "b"), layout=layout, attributes=held)


def passes(box, logits, score, image=None):
    image = [1] * len(box) if image is None else image
    n = len(box)
    return Detections(image, [0] * n, box, score, ("a", "b"), logits=logits, layout=LAST)


def test_mean_of_probabilities():
    mean = (np.array([1, 2, 1]) / 4 + np.array([3, 1, 4]) / 8) / 2
    assert scorers.find("dropout_mean").compute(regions(SAMPLES)) == pytest.approx(1 - mean[0])
    boxes = np.array([[[0.0, 0, 10, 10], [2, 0, 10, 12]]])
    found = mean_detections(regions(SAMPLES, box_samples=boxes))
    assert found.label.tolist() == [0 if mean[0] >= mean[1] else 1]
    assert found.score == pytest.approx(mean[:2].max())
    assert found.box.tolist() == [[1, 0, 10, 11]]


def test_entropy_of_mean_logits():
    mean = SAMPLES.mean(axis=1)[0]
    p = np.exp(mean) / np.exp(mean).sum()
    found = scorers.find("dropout_logits").compute(regions(SAMPLES))
    assert found == pytest.approx(-(p * np.log(p)).sum() / np.log(3))
    flat = scorers.find("dropout_logits").compute(regions(np.zeros((1, 30, 5))))
    assert flat == pytest.approx(1.0)
    m = mean.max()
    assert unknown_column_score(regions(SAMPLES)) == pytest.approx(np.exp(m) / (np.exp(m) + 3))


def test_observations():
    box = [[0, 0, 100, 100], [1, 0, 100, 100], [0, 0, 100, 60], [0, 0, 100, 100], [2, 0, 100, 100]]
    logits = np.log([[1, 2, 1], [3, 1, 4], [1, 1, 2], [1, 9, 10], [8, 1, 1]])
    found = passes(box, logits, [0.9, 0.8, 0.7, 0.6, 0.5], image=[1, 1, 1, 2, 1])
    values = scorers.find("dropout_observations").compute(found, overlap=0.98)

    def entropy(*rows):
        p = np.mean([np.exp(logits[r]) / np.exp(logits[r]).sum() for r in rows], axis=0)
        return -(p * np.log(p)).sum()

    # Boxes 0 and 1 overlap by 99/101; box 4 does so with 1, but not with 0.
    expected = [entropy(0, 1), entropy(0, 1), entropy(2), entropy(3), entropy(4)]
    assert values == pytest.approx(expected)
    merged = merge_observations(found, overlap=0.98)
    assert merged.image.tolist() == [1, 1, 1, 2]
    assert merged.box[0].tolist() == [0.5, 0, 100, 100]
    assert merged.score[0] == pytest.approx(0.85)
    assert len(merge_observations(found, overlap=0.98, minimum=2)) == 1


def test_passes_that_disagree_look_unknown():
    box = [[0, 0, 10, 10]] * 2 + [[50, 0, 10, 10]] * 2
    logits = np.array([[5, 0, 0], [5, 0, 0], [5, 0, 0], [0, 5, 0]], float)
    found = passes(box, logits, [0.9] * 4)
    values = scorers.find("dropout_observations").compute(found)
    assert values[0] < values[2]
    scored = scorers.find("dropout_observations").fit().scored(found)
    assert merge_observations(scored).unknownness.tolist() == [values[0], values[2]]


def test_what_they_refuse():
    with pytest.raises(UsageError, match="overlap"):
        scorers.find("dropout_observations").compute(passes([], np.empty((0, 3)), []), overlap=0)
    with pytest.raises(UsageError, match="activation='softmax'"):
        sigmoids = regions(SAMPLES, LogitLayout.SIGMOID)
        scorers.find("dropout_logits").compute(sigmoids, activation="sigmoid")
    with pytest.raises(InputError, match=r"OS503.*3 dimensions"):
        scorers.find("dropout_mean").compute(regions(SAMPLES[0]))
    with pytest.raises(InputError, match=r"OS503.*layout"):
        scorers.find("dropout_mean").compute(regions(SAMPLES, layout=None))
    with pytest.raises(InputError, match=r"OS503.*two or more columns"):
        scorers.find("dropout_logits").compute(regions(np.zeros((1, 3, 1)), LogitLayout.SOFTMAX))
    with pytest.raises(InputError, match=r"OS503.*2 names for 3"):
        mean_detections(regions(SAMPLES, LogitLayout.SOFTMAX))
