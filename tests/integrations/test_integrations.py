"""Integrations: what is logged, in how many calls, without any of the packages."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import openset
from openset.examples import DETECTIONS, TRUTH
from openset.integrations import integration, log_page, numbers, table
from openset.integrations._shown import curves
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


def test_tensorboard_gets_the_table_and_the_curves(result):
    class Writer(Recorder):
        def __init__(self):
            super().__init__()
            self.pictures, self.curves = {}, {}

        def add_text(self, tag, text, step=None):
            self.text = (tag, text, step)

        def add_image(self, tag, pixels, step=None, *, dataformats):
            assert dataformats == "HWC" and step == 7
            self.pictures[tag] = pixels

        def add_pr_curve_raw(self, tag, *, precision, recall, num_thresholds, **counts):
            assert counts.pop("global_step") == 7
            assert {len(column) for column in counts.values()} == {num_thresholds}
            self.curves[tag] = (precision, recall, counts)

    writer = Writer()
    table()["tensorboard"].use(result, writer, 7, prefix="test/")
    assert writer.text == ("test/table", result.to_markdown(), 7)
    assert set(writer.pictures) == {"test/oscr"}
    drawn = writer.pictures["test/oscr"]
    assert drawn.dtype == np.uint8 and drawn.shape[2] == 3 and len(np.unique(drawn)) > 10
    ((tag, (precision, recall, counts)),) = writer.curves.items()
    assert tag == "test/precision_recall_known"
    objects = result.provenance.counts["known_objects"]
    both = counts["true_positive_counts"] + counts["false_negative_counts"]
    assert set(both.tolist()) == {objects}
    assert recall == pytest.approx(counts["true_positive_counts"] / objects)
    assert recall[0] == max(recall) > 0 and precision.max() <= 1


def stand_in() -> ModuleType:
    """A package with tables, plots and pages like those of Weights & Biases, and its run."""
    package = ModuleType("stand_in_wandb")
    package.Table = lambda columns, data: ("table", columns, data)
    package.Html = lambda path: ("page", path)
    package.plot = SimpleNamespace(line=lambda points, x, y, title: ("line", points, x, y, title))
    package.Run = type("Run", (Recorder,), {"__module__": "stand_in_wandb.sdk"})
    package.Run.log_artifact = lambda self, path: self.calls.append(path)
    return package


@pytest.fixture
def wandb(monkeypatch):
    package = stand_in()
    monkeypatch.setitem(sys.modules, package.__name__, package)
    return package


def test_wandb_gets_the_table_and_the_curves_in_the_same_call(result, wandb):
    run = wandb.Run()
    table()["wandb"].use(result, run, 7, prefix="test/")
    ((data, step),) = run.calls
    assert step == 7
    kind, columns, rows = data["test/table"]
    assert (kind, columns[0]) == ("table", "metric")
    assert [row[0] for row in rows] == list(result.values)
    assert dict(zip(columns, rows[0], strict=True))["value"] == result.values[rows[0][0]].value
    kind, (_, axes, points), x, y, title = data["test/oscr_plot"]
    assert (kind, title, axes) == ("line", "oscr", [x, y])
    assert len(points) > 10 and all(0 <= value <= 1 for point in points for value in point)
    numbers_alone = {name: one for name, one in data.items() if isinstance(one, float)}
    assert numbers_alone == result.flat("test/")


def test_mlflow_gets_tables_whose_rows_have_their_step(result):
    class Module(Recorder):
        def log_table(self, data, artifact_file):
            assert len({len(column) for column in data.values()}) == 1
            self.tables = getattr(self, "tables", {}) | {artifact_file: data}

    module = Module()
    table()["mlflow"].use(result, module, 7, prefix="test/")
    assert set(module.tables) == {
        "test/table.json",
        "test/precision_recall_known.json",
        "test/oscr.json",
    }
    assert module.tables["test/table.json"]["metric"] == list(result.values)
    assert {step for data in module.tables.values() for step in data["step"]} == {7}


def test_curves_of_metrics_are_there_without_matches():
    names = ["wilderness_curve", "a_ose_at_recall"]
    found = openset.evaluate(TRUTH, DETECTIONS, known="voc20", metrics=names, intervals=False)
    assert set(curves(found)) == {"precision_recall_known", "oscr", *names}
    read = replace(found, matches=None)
    assert set(curves(read)) == set(names)
    x, y = curves(read)["a_ose_at_recall"].columns.values()
    parts = found.values["a_ose_at_recall"].parts
    assert dict(zip(x, y, strict=True)) == {
        float(level): value for level, value in parts.items() if value is not None
    }


def test_the_page_is_kept_and_shown_as_trackers_can(tmp_path, wandb):
    page, calls = tmp_path / "report.html", []
    keeper = SimpleNamespace(log_artifact=calls.append)
    with pytest.raises(openset.InputError, match="OS101"):
        log_page(page, keeper)
    page.write_text("<html></html>")
    log_page(page, keeper)
    assert calls == [str(page)]
    run = wandb.Run()
    log_page(page, run)
    assert run.calls == [str(page), ({"page": ("page", str(page))}, None)]
    log_page(page, SimpleNamespace(add_text=lambda tag, text: calls.append((tag, text))))
    assert calls[1] == ("page", f"`{page.resolve()}`")
    with pytest.raises(openset.UsageError, match="neither"):
        log_page(page, object())
