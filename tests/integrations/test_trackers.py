"""Trackers themselves, where they are installed: what was logged can be read back."""

from __future__ import annotations

import pytest

import openset
from openset.examples import DETECTIONS, TRUTH
from openset.integrations import log_page, table


@pytest.fixture(scope="module")
def result():
    names = ["a_ose", "unknown_recall", "ap_previous", "a_ose_at_recall"]
    return openset.evaluate(TRUTH, DETECTIONS, known="voc20", metrics=names, intervals=False)


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("<!doctype html><title>page</title>")
    return path


def test_tensorboard(result, page, tmp_path):
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    torch = pytest.importorskip(
        "torch.utils.tensorboard", reason="the torch extra is not installed"
    )
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    writer = torch.SummaryWriter(tmp_path / "board")
    table()["tensorboard"].use(result, writer, 7)
    log_page(page, writer)
    writer.close()
    board = EventAccumulator(str(tmp_path / "board"))
    board.Reload()
    tags = board.Tags()
    assert set(tags["images"]) == {"val/oscr", "val/a_ose_at_recall"}
    assert {"val/precision_recall_known", "val/table/text_summary"} <= set(tags["tensors"])
    assert [one.value for one in board.Scalars("val/a_ose")] == [result.values["a_ose"].value]


def test_mlflow(result, page, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        for step in (1, 2):
            table()["mlflow"].use(result, mlflow, step)
        log_page(page, mlflow)
    rows = mlflow.load_table("val/table.json", run_ids=[run.info.run_id])
    assert rows["step"].tolist() == [1] * len(result.values) + [2] * len(result.values)
    assert {"oscr.json", "precision_recall_known.json", "table.json"} <= {
        path.name for path in (tmp_path / "runs").rglob("*.json")
    }
    assert list((tmp_path / "runs").rglob("report.html"))


def test_wandb(result, page, tmp_path):
    wandb = pytest.importorskip("wandb", reason="Weights & Biases is not installed")
    run = wandb.init(mode="offline", dir=tmp_path, project="test", settings={"silent": True})
    table()["wandb"].use(result, run, 7)
    log_page(page, run)
    assert run.summary["val/a_ose"] == result.values["a_ose"].value
    assert {"val/table", "page"} <= set(run.summary.keys())
    run.finish()
    assert list(tmp_path.rglob("media/html/*.html"))
