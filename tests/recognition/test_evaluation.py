"""evaluate_recognition: the result is shown, stored and compared like a detector's."""

import json
from dataclasses import replace

import numpy as np
import pytest

from openset.evaluation import Evaluation, compare
from openset.findings import InputError, UsageError
from openset.recognition import Recognition, evaluate_recognition, table
from openset.recognition.resample import _weights, replicates
from scenes.recognition import made


@pytest.fixture(scope="module")
def result():
    return evaluate_recognition(made(1, 200, 150), seed=3, resamples=200)


def test_every_metric_has_a_value_within_its_interval(result):
    assert list(result.values) == list(table())
    for name, found in result.values.items():
        low, high = found.interval
        assert low <= found.value <= high, name
        assert high - low < 0.4, name


def test_it_is_shown_with_titles_and_counts(result):
    text = repr(result)
    assert "200 known samples of 4 classes · 150 unknown samples · 200 resamples" in text
    assert "OpenAUC" in text
    assert "Youden" in result.to_markdown()
    assert "OSCR" in result.to_latex(headline=False)
    assert result.to_csv().count("\n") == len(table()) + 1
    assert set(result.flat()) == set(table())


def test_other_parameters(result):
    assert result.value("openauc", ties="strict").params["ties"] == "strict"
    with pytest.raises(UsageError, match="openauc"):
        result.value("openauk")
    with pytest.raises(UsageError, match="keyword"):
        result.value("openauc", tie="half")


def test_round_trip(result, tmp_path):
    result.to_json(tmp_path / "r.json", replicates=True)
    back = Recognition.from_json(tmp_path / "r.json")
    assert repr(back) == repr(result)
    assert back.provenance == result.provenance
    assert np.array_equal(back.replicates["auc"], result.replicates["auc"])
    with pytest.raises(InputError, match="OS114"):
        Evaluation.from_json(tmp_path / "r.json")
    with pytest.raises(UsageError, match="read from a file"):
        back.value("openauc", ties="strict")


def test_the_same_seed_gives_the_same_numbers(result):
    again = evaluate_recognition(made(1, 200, 150), seed=3, resamples=200)
    other = evaluate_recognition(made(1, 200, 150), seed=4, resamples=200)
    assert json.loads(again.to_json()) == json.loads(result.to_json())
    assert other.value("openauc").value == result.value("openauc").value
    assert other.value("openauc").interval != result.value("openauc").interval


def test_two_models_are_compared_sample_by_sample(result):
    one = result.scores
    better = replace(one, unknown_openness=one.unknown_openness + 1.5)
    found = compare(result, evaluate_recognition(better, seed=3, resamples=200))
    assert found["auc"].significant
    assert found["auc"].better
    assert found["closed_set_accuracy"].difference == 0
    assert "OpenAUC" in repr(found)
    with pytest.raises(UsageError, match="ground truths"):
        compare(result, evaluate_recognition(made(2, 200, 150), intervals=False))


def test_blocks_do_not_lose_resamples(monkeypatch):
    monkeypatch.setattr("openset.recognition.resample.BLOCK", 700)
    drawn = replicates(made(), [table()["auc"]], seed=0, resamples=23)
    assert drawn["auc"].value.shape == (23,)
    assert len(np.unique(drawn["auc"].value)) > 15


def test_known_and_unknown_samples_are_drawn_apart():
    known, unknown = _weights(made(0, 50, 50), seed=0, block=0, columns=4)
    again, _ = _weights(made(0, 50, 50), seed=0, block=1, columns=4)
    assert (known.sum(axis=0) == 50).all()
    assert (unknown.sum(axis=0) == 50).all()
    assert not np.array_equal(known, unknown)
    assert not np.array_equal(known, again)


def test_the_interval_covers():
    """A classifier whose AUC is known: 95 % intervals hold it most of the time."""
    from scipy.stats import norm

    truth, held = norm.cdf(1 / np.sqrt(2)), 0
    for seed in range(40):
        one = made(100 + seed, 80, 80)
        found = evaluate_recognition(one, metrics=["auc"], seed=seed, resamples=200)
        low, high = found.value("auc").interval
        held += low <= truth <= high
    assert 34 <= held <= 40


def test_empty_sets_have_values_where_they_exist():
    one = made(n_unknown=1)
    none = replace(one, unknown_openness=[], unknown_predicted=None)
    found = evaluate_recognition(none, resamples=50)
    assert found.value("closed_set_accuracy").interval is not None
    assert found.value("openauc").value is None
    assert "no unknown sample" in repr(found)
    assert {finding.code for finding in found.findings} == {"OS804"}


@pytest.mark.parametrize("wrong", [{"resamples": 0}, {"seed": -1}, {"metrics": ["openauk"]}])
def test_wrong_arguments(wrong):
    with pytest.raises(UsageError):
        evaluate_recognition(made(), **wrong)
