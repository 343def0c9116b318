"""The scoreboard: one value of models against metrics, and what every rendering makes of it."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import openset
from openset.evaluation.scoreboard import Scoreboard
from openset.metrics import table
from scenes.builders import KNOWN, scene


@pytest.fixture(scope="module")
def results():
    shown = scene(1, images=24)
    unknown = {a["image_id"] for a in shown.truth["annotations"] if a["category_id"] in (12, 20)}
    shy = [d for d in shown.found if d["category_id"] == 20 or d["image_id"] not in unknown]
    bare = scene(1, images=24, unknownness=False)
    return {
        "base": openset.evaluate(*shown.tables(), known=KNOWN),
        "shy": openset.evaluate(shown.truth, shy, known=KNOWN),
        "mute": openset.evaluate(*bare.tables(), known=KNOWN),
    }


def test_a_cell_per_model_and_metric(results):
    board = Scoreboard.of(results)
    assert board.models == tuple(results)
    assert [line.name for line in board.lines] == list(table())
    for line in board.lines:
        for cell, one in zip(line.cells, results.values(), strict=True):
            assert cell.value == one.values[line.name]
    headlines = [line.name for line in Scoreboard.of(results, headline=True).lines]
    assert headlines == [name for name, metric in table().items() if metric.headline]
    assert [line.name for line in board.headline_first()][: len(headlines)] == headlines


def test_stars_are_those_of_the_comparison(results):
    board = Scoreboard.of(results)
    for at, name in enumerate(results):
        found = openset.compare(results["base"], results[name])
        for line in board.lines:
            cell = line.cells[at]
            assert (cell.difference is None) == (at == 0)
            assert cell.star == (at > 0 and found[line.name].significant)
    errors = next(line for line in board.lines if line.name == "a_ose")
    assert (errors.cells[1].star, errors.cells[1].verdict) == (True, "better")
    assert errors.cells[0].verdict == ""


def test_the_best_is_the_best_in_its_direction(results):
    for line in Scoreboard.of(results).lines:
        values = [cell.value.value for cell in line.cells]
        best = [cell.value.value for cell in line.cells if cell.best]
        if line.metric.better is None or len({v for v in values if v is not None}) < 2:
            assert not best
        else:
            pick = np.max if line.metric.better == "higher" else np.min
            assert set(best) == {pick([v for v in values if v is not None])}
    tied = Scoreboard.of({"one": results["base"], "two": results["base"]})
    assert not any(cell.best or cell.star for line in tied.lines for cell in line.cells)


def test_a_reason_is_a_footnote_once(results):
    board = Scoreboard.of(results)
    assert len(set(board.reasons)) == len(board.reasons) > 0
    for line in board.lines:
        for cell in line.cells:
            note = board.note(cell)
            assert (note > 0) == (cell.value.value is None)
            assert not note or board.reasons[note - 1] == cell.value.reason


def test_every_rendering_has_every_number(results):
    board = Scoreboard.of(results, headline=True)
    text, markdown, latex = board.text(), board.table().markdown(), board.table().latex()
    for line in board.lines:
        for cell in line.cells:
            for part in (line.number(cell.value.value, 2), line.interval(cell.value.interval, 2)):
                assert part in text
                assert part in markdown
                assert part.replace("–", "--") in latex
    assert text.count("* differs from base") == markdown.count("* differs from base") == 1


def test_text_fits_its_width(results):
    board = Scoreboard.of({name * 9: one for name, one in results.items()}, headline=True)
    for width in (60, 80, 140):
        lines = board.text(width, decimals=1).splitlines()
        assert max(map(len, lines)) <= width
    assert board.text(60).count("↑ ↓ better") == 3
    assert board.text(300).count("↑ ↓ better") == 1


def test_differences_are_of_one_model(results):
    board = Scoreboard.of(results, headline=True)
    shown = board.differences(1)
    assert shown.header[1:4] == ("base", "shy", "difference")
    row = next(row for row in shown.rows if row[0].startswith("A-OSE"))
    d = openset.compare(results["base"], results["shy"])["a_ose"]
    assert row[1:4] == tuple(f"{x:.0f}" for x in (d.first, d.second, d.difference))
    assert row[-1] == "better"
    assert board.differences(2).header[2] == "mute"


def test_a_comparison_is_a_scoreboard_of_two(results):
    found = openset.compare(results["base"], results["shy"])
    board = Scoreboard.between(found, ("base", "shy"), ["a_ose", "udr"])
    whole = Scoreboard.of({name: results[name] for name in ("base", "shy")})
    rows = {row[0]: row for row in whole.differences().rows}
    assert [row[0] for row in board.differences().rows] == ["A-OSE ↓", "UDR, % ↑"]
    assert all(row == rows[row[0]] for row in board.differences().rows)


def test_csv_names_the_model_where_there_are_several(results):
    rows = list(csv.DictReader(io.StringIO(Scoreboard.of(results).csv())))
    assert len(rows) == 3 * len(table())
    for row in rows:
        value = results[row["model"]].values[row["metric"]]
        assert row["value"] == ("" if value.value is None else str(value.value))
    assert "model" not in Scoreboard.of({"base": results["base"]}).csv().splitlines()[0].split(",")


def test_unlike_results_need_force(results):
    other = scene(2)
    mixed = results | {"other": openset.evaluate(*other.tables(), known=KNOWN, intervals=False)}
    with pytest.raises(openset.UsageError, match="different ground truths"):
        Scoreboard.of(mixed)
    assert Scoreboard.of(mixed, force=True).models[-1] == "other"
