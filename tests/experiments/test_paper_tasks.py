"""RE-OWOD's Tables 3 and 4 say what the page of the open world says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")

import re_owod
import tasks
from record import Recorder

from openset.papers import Estimate, read_run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    tasks.tables(Recorder(tmp_path, tmp_path, tmp_path))
    return {path.stem: read_run(path) for path in tmp_path.glob("*.json")}


def test_differences_are_those_of_the_open_world(runs):
    held = json.loads((ROOT / tasks.WORLDS["photographs"]).read_text("utf-8"))
    (pad,) = held["differences"]["t1"]
    cell = runs["between-tasks"].cell("photographs / after task 1 / PAD less Faster R-CNN", "UDR")
    wanted = pad["values"]["udr"]
    assert cell == Estimate(wanted["difference"], *wanted["interval"])
    restored = held["restored"]["t2"]["base"]["ap_previous"]["difference"]
    assert (
        runs["restored"].cell("photographs / task 2 / Faster R-CNN", "previous").value == restored
    )


def test_table_4_is_after_the_first_task_alone(runs):
    assert {row[1] for row in runs["table-4"].rows} == {"after task 1"}
    assert {row[2] for row in runs["table-4"].rows if row[0] == "digits"} == {
        "Faster R-CNN",
        "Faster R-CNN + CEC",
        "PAD",
        "PAD + CEC",
    }
    assert len(runs["table-3"].rows) > len(runs["table-4"].rows)


def test_a_change_is_a_share_paired_over_pictures():
    from openset import evaluate

    digits = ROOT / re_owod.EXAMPLE
    one = evaluate(digits / "truth.json.gz", digits / "faster_rcnn.parquet", metrics=["a_ose"])
    same = re_owod.change(one, one, "a_ose")
    assert same == Estimate(0.0, 0.0, 0.0)


def test_what_the_lists_cannot_tell_is_told_by_boxes():
    def said(verdict):
        return {"verdict": verdict, "checks": [{"verdict": verdict, "said": "why"}]}

    assert re_owod._decided(said("UNKNOWN"), said("PASS")) == "PASS, by boxes"
    assert re_owod._decided(said("FAIL"), said("PASS")) == "FAIL: why"
    assert re_owod._decided(said("UNKNOWN"), said("UNKNOWN")) == "UNKNOWN: why"
