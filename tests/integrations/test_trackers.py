"""Trackers: what is logged, in how many calls, without any of the packages."""

from __future__ import annotations

import pytest

import openset
from openset.examples import DETECTIONS, TRUTH
from openset.integrations import trackers


class Recorder:
    """Takes what a tracker would."""

    def __init__(self):
        self.calls = []

    def add_scalar(self, tag, scalar_value, global_step=None):
        self.calls.append(({tag: scalar_value}, global_step))

    def log(self, data, step=None):
        self.calls.append((data, step))

    log_metrics = log


@pytest.fixture(scope="module")
def result():
    names = ["a_ose", "unknown_recall", "wilderness_impact", "ap_previous"]
    return openset.evaluate(TRUTH, DETECTIONS, known="voc20", metrics=names)


def test_the_three_log_the_same(result):
    logged = []
    for log in (trackers.to_tensorboard, trackers.to_wandb, trackers.to_mlflow):
        recorder = Recorder()
        log(result, recorder, 7, prefix="test/")
        assert {step for _, step in recorder.calls} == {7}
        logged.append({name: value for data, _ in recorder.calls for name, value in data.items()})
    assert logged[0] == logged[1] == logged[2] == result.flat("test/")
    assert all(type(value) is float for value in logged[0].values())


def test_what_has_no_number_is_left_out(result):
    assert result.values["ap_previous"].value is None
    assert "val/ap_previous" not in trackers.numbers(result)
    assert "val/a_ose" in trackers.numbers(result)


def test_intervals_on_request(result):
    numbers = trackers.numbers(result, "v/", intervals=True)
    low, high = result.values["a_ose"].interval
    assert (numbers["v/a_ose/low"], numbers["v/a_ose/high"]) == (low, high)
    assert not any(name.endswith("/low") for name in trackers.numbers(result))
