"""Through time: the figure says what the document says."""

from __future__ import annotations

import json

import pytest

from openset.findings import InputError, UsageError
from openset.learning.figure import PANELS, chart, rows_of, through_time
from openset.learning.learned import Learned, Row


def row(name, task, previous, current, finetune=False):
    numbers = {
        "ap_previous": {"value": previous, "interval": None, "reason": ""},
        "ap_current": {"value": current, "interval": (0.1, 0.9), "reason": ""},
        "a_ose": {"value": 12.0, "interval": None, "reason": ""},
    }
    ap = {"cat": current, "dog": previous}
    drops = {"cat": 0.25} if task > 1 else {}
    called = {"dog": {"cat": 3, "cow": 1}} if task == 1 else {}
    return Row(name, task, finetune, 5, {"dog": 9}, numbers, ap, 0.25, drops, called)


@pytest.fixture
def chain():
    rows = (row("t1", 1, None, 0.8), row("t2", 2, 0.1, 0.7), row("t2-ft", 2, 0.6, 0.65, True))
    return Learned("farm", (("cat",), ("dog",)), {"method": ""}, rows)


def test_points_are_the_numbers_of_the_stages(chain):
    found = rows_of({"a": chain}, "ap_current")
    assert [(one["stage"], one["y"]) for one in found] == [
        ("t1", 0.8), ("t2", 0.7), ("t2-ft", 0.65),
    ]  # fmt: skip
    assert found[0]["low"] == 0.1 and found[0]["high"] == 0.9
    assert [one["stage"] for one in rows_of({"a": chain}, "ap_previous")] == ["t2", "t2-ft"]


def test_a_panel_per_number_and_a_line_per_chain(chain, tmp_path):
    spec = chart({"plain": chain, "pad": chain})
    assert len(spec["concat"]) == len(PANELS)
    path = through_time({"plain": chain, "pad": chain}, tmp_path / "time.svg")
    text = path.read_text()
    assert all(words in text for words in ("t2-ft", "plain", "pad", "AP, earlier tasks"))


def test_nothing_to_draw(chain, tmp_path):
    with pytest.raises(UsageError, match="no stage"):
        through_time({}, tmp_path / "time.svg")


def test_the_document_comes_back(chain, tmp_path):
    chain.save(tmp_path)
    again = Learned.load(tmp_path)
    assert again.table() == chain.table() and again.lines() == chain.lines()
    assert json.loads((tmp_path / "learned.json").read_text())["rows"] == json.loads(
        json.dumps(again.document()["rows"])
    )


def test_it_says_what_was_forgotten_and_what_later_classes_were_called(chain):
    assert chain.lines() == [
        "after t2, cat has lost most: 25.0 points of AP, to 70.0",
        "after t2-ft, cat has lost most: 25.0 points of AP, to 65.0",
        "before task 2, 3 objects of dog were called cat, then taught by 9 objects",
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "openset.run/1"}', '{"a": 1}'])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "learned.json").write_text(text)
    with pytest.raises(InputError) as error:
        Learned.load(tmp_path)
    assert error.value.findings[0].code == "OS114"
