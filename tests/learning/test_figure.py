"""Through time: the figure says what the document says."""

from __future__ import annotations

import pytest

from openset.evaluation.through_time import PANELS, points
from openset.findings import UsageError
from openset.learning.figure import chart, through_time
from scenes.chains import farm


@pytest.fixture
def chain():
    return farm()


def panel(metric):
    return next(one for one in PANELS if one.metric == metric)


def test_points_are_the_numbers_of_the_stages(chain):
    found = points({"a": chain}, panel("ap_current"))
    assert [(one["stage"], one["y"]) for one in found] == [
        ("t1", 0.8), ("t2", 0.7), ("t2-ft", 0.7),
    ]  # fmt: skip
    assert found[0]["low"] == 0.1 and found[0]["high"] == 0.9
    assert [one["stage"] for one in points({"a": chain}, panel("ap_previous"))] == ["t2", "t2-ft"]


def test_a_panel_per_number_and_a_line_per_chain(chain, tmp_path):
    spec = chart({"plain": chain, "pad": chain})
    assert len(spec["concat"]) == len(PANELS)
    path = through_time({"plain": chain, "pad": chain}, tmp_path / "time.svg")
    text = path.read_text()
    assert all(words in text for words in ("t2-ft", "plain", "pad", "AP, earlier tasks"))


def test_nothing_to_draw(chain, tmp_path):
    with pytest.raises(UsageError, match="no stage"):
        through_time({}, tmp_path / "time.svg")
