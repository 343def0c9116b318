"""Integrations: what is logged, in how many calls, without any of the packages."""

from __future__ import annotations

import pytest

import openset
from openset.examples import DETECTIONS, TRUTH
from openset.integrations import integration, log_page, numbers, table
from openset.plugins import record_of


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


def test_the_trackers_log_the_same(result):
    logged = []
    for name in ("tensorboard", "wandb", "mlflow"):
        recorder = Recorder()
        table()[name].use(result, recorder, 7, prefix="test/")
        assert {step for _, step in recorder.calls} == {7}
        logged.append({name: value for data, _ in recorder.calls for name, value in data.items()})
    assert logged[0] == logged[1] == logged[2] == result.flat("test/")
    assert all(type(value) is float for value in logged[0].values())


def test_what_has_no_number_is_left_out(result):
    assert result.values["ap_previous"].value is None
    assert "val/ap_previous" not in numbers(result)
    assert "val/a_ose" in numbers(result)


def test_intervals_on_request(result):
    logged = numbers(result, "v/", intervals=True)
    low, high = result.values["a_ose"].interval
    assert (logged["v/a_ose/low"], logged["v/a_ose/high"]) == (low, high)
    assert not any(name.endswith("/low") for name in numbers(result))


def test_they_say_what_they_need_and_whether_it_is_there():
    for name, record in table().items():
        assert record.name == name and record.requires and record.summary.endswith(".")

    @integration("both", requires=("json", "nowhere_to_be_found"), summary="Nothing.")
    def both():
        pass

    @integration("one", requires=("json",), summary="Nothing.")
    def one():
        pass

    assert not record_of(both).installed
    assert record_of(one).installed


def test_tensorboard_also_gets_the_table(result):
    class Writer(Recorder):
        def add_text(self, tag, text, step=None):
            self.text = (tag, text, step)

    writer = Writer()
    table()["tensorboard"].use(result, writer, 7, prefix="test/")
    assert writer.text == ("test/table", result.to_markdown(), 7)


def test_the_page_is_kept_by_whoever_keeps_files(tmp_path):
    kept = []

    class Keeper:
        def log_artifact(self, path):
            kept.append(path)

    page = tmp_path / "report.html"
    with pytest.raises(openset.InputError, match="OS101"):
        log_page(page, Keeper())
    page.write_text("<html></html>")
    log_page(page, Keeper())
    assert kept == [str(page)]
