"""The scoreboard: one value of models against metrics, and what every rendering makes of it."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

import openset
from openset.evaluation.scoreboard import HEADLINES, OTHERS, Scoreboard
from openset.metrics import table
from openset.resampling.intervals import false_discovery, holm
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


def test_stars_are_corrected_for_all_comparisons_of_the_headline(results):
    board = Scoreboard.of(results, headline=True)
    raw = {}
    for at, name in enumerate(results):
        found = openset.compare(results["base"], results[name])
        for line in board.lines:
            cell = line.cells[at]
            assert (cell.difference is None) == (at == 0)
            assert cell.star == (cell.p is not None and cell.p < 0.05)
            if at and found[line.name].p is not None:
                raw[line.name, at] = found[line.name].p
                assert cell.p >= raw[line.name, at] == cell.difference.p
    assert board.families[HEADLINES] == len(raw)
    least = min(raw, key=raw.get)
    assert board.cell(*least).p == pytest.approx(min(1, len(raw) * raw[least]))
    assert (
        f"corrected for the {len(raw)} comparisons of headline metrics (Benjamini-Hochberg)"
        in board.text()
    )
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


def test_a_remark_is_a_footnote_once(results):
    board = Scoreboard.of(results)
    assert len(set(board.remarks)) == len(board.remarks) > 0
    for line in board.lines:
        for cell in line.cells:
            marks = board.marks(line, cell)
            assert [board.remarks[mark - 1] for mark in marks] == list(line.remarks(cell))
            if cell.value.value is None:
                assert line.remarks(cell) == (cell.value.reason,)


def test_a_bias_and_resamples_without_a_value_are_pointed_out(results):
    base = results["base"]
    value = replace(base.values["ap_known"], value=0.4, interval=(0.3, 0.5))

    def said(**changes):
        values = {"ap_known": replace(value, bias=0, undefined=0) if not changes else value}
        values["ap_known"] = replace(values["ap_known"], **{"bias": 0, "undefined": 0, **changes})
        return Scoreboard.of({"it": replace(base, values=values)}).text()

    assert "too high" not in said(bias=0.02)
    assert "AP known comes out too high in a set of this size, by about 3.00 pt" in said(bias=0.03)
    assert "too low" in said(bias=-0.03)
    assert "resamples without a value: AP known 4.0" in said(undefined=0.04)
    assert "1) AP known has no value in up to 6.0" in said(undefined=0.06)


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
    board = Scoreboard.between(found, ("base", "shy"))
    whole = Scoreboard.of({name: results[name] for name in ("base", "shy")})
    assert board.differences() == whole.differences()
    some = board.only(["a_ose", "udr"])
    assert [row[0] for row in some.differences().rows] == ["A-OSE ↓", "UDR, % ↑"]
    assert set(some.differences().rows) <= set(whole.differences().rows)


def test_headline_and_other_metrics_are_two_families_whatever_is_shown(results):
    whole, short = Scoreboard.of(results), Scoreboard.of(results, headline=True)
    assert whole.families == short.families
    assert set(whole.families) == {HEADLINES, OTHERS}
    for family in (HEADLINES, OTHERS):
        lines = [line for line in whole.lines if line.family == family]
        raw = [cell.difference.p for line in lines for cell in line.cells[1:]]
        cells = [cell for line in lines for cell in line.cells[1:]]
        assert [cell.p for cell in cells] == false_discovery(raw)
        assert [cell.p_holm for cell in cells] == holm(raw)
        assert whole.families[family] == len(raw) - raw.count(None) > 1
    assert {line.name: line.cells for line in short.lines} == {
        line.name: line.cells for line in whole.lines if line.headline
    }
    assert "other metrics" in whole.star_means
    assert "other metrics" not in short.star_means
    assert whole.document(1)["a_ose"]["corrected_for"] == whole.families[HEADLINES]
    assert whole.document(1)["aupr"]["corrected_for"] == whole.families[OTHERS]


def test_gates_are_a_family_of_their_own(results):
    board = Scoreboard.of({name: results[name] for name in ("base", "shy")})
    gates = board.gates(["a_ose", "aupr"])
    raw = [line.cells[1].difference.p for line in gates.lines]
    assert [line.cells[1].p for line in gates.lines] == holm(raw)
    assert gates.families == {"gates": 2}


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
