"""The section on classifiers, in the page of a run and on a page of its own."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from openset.recognition import Recognition, Scores, evaluate_recognition
from openset.recognition.folder import save
from openset.recognition.metrics.oscr import oscr_curve
from openset.report.alone import about_classifiers, render_alone
from openset.report.page import Beside, render
from openset.report.recognition import recognised
from scenes.report_runs import run

HOSTILE = "<img src=x onerror=alert(1)>"


def scores(seed: int = 0, shift: float = 1.5) -> Scores:
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(4), 30)
    predicted = np.where(rng.random(120) < 0.9, label, (label + 1) % 4)
    return Scores(
        label,
        predicted,
        rng.normal(0, 1, 120),
        rng.normal(shift, 1, 80),
        rng.integers(0, 4, 80),
        ("a", "b", "c", "d"),
    )


@pytest.fixture(scope="module")
def results():
    found = {
        "one": evaluate_recognition(scores(), resamples=50),
        "two": evaluate_recognition(scores(shift=0.3), resamples=50),
    }
    texts = {name: one.to_json(replicates=True) for name, one in found.items()}
    return {name: Recognition.from_json(text) for name, text in texts.items()}


def test_numbers_are_those_of_the_file(results):
    shown = recognised(results)
    assert shown.names == ("one", "two")
    line = next(line for line in shown.board.lines if line.name == "openauc")
    expected = [f"{100 * results[name].values['openauc'].value:.2f} %" for name in shown.names]
    page = render_alone(about_classifiers(results))
    assert all(f">{text}</span>" in page for text in expected)
    assert all(line.interval(cell.value.interval, 2) in page for cell in line.cells)
    assert '<abbr class="mark" title="worse than one">*</abbr>' in page
    assert (line.cells[1].star, line.cells[1].verdict) == (True, "worse")


def test_the_curve_is_that_of_the_scores(results):
    rows = recognised(results).figure.spec["layer"][0]["data"]["values"]
    curve = oscr_curve(scores())
    mine = [row for row in rows if row["model"] == "one"]
    assert len(mine) == 104
    for row in mine:
        allowed = curve.ofpr <= row["x"] + 1e-9
        assert row["y"] == pytest.approx(curve.cotpr[allowed].max(), abs=1e-5)


def test_no_curve_without_its_metric():
    bare = {"one": evaluate_recognition(scores(), metrics=["auc"], intervals=False)}
    figure = recognised(bare).figure
    assert figure.spec is None
    assert "oscr" in figure.missing
    closed = Scores([0, 1], [0, 1], [0.1, 0.2], [], None, ("a", "b"))
    none = recognised({"one": evaluate_recognition(closed, intervals=False)})
    assert none.figure.missing == "there is no unknown sample"
    assert any("there is no unknown sample" in note for note in none.board.notes)
    assert "there is no unknown sample" in render_alone(
        about_classifiers({"one": evaluate_recognition(closed)})
    )


def test_it_stands_on_the_page_of_a_run(results):
    page = render(run(intervals=False, images=8), beside=Beside(recognition=results))
    assert '<a href="#recognition">Recognition</a>' in page
    payload = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert "recognition-oscr" in json.loads(payload)["figures"]
    drawn = re.findall(r'data-figure="([^"]+)"', page)
    assert len(drawn) == len(set(drawn))
    assert "120 known samples of 4 classes · 80 unknown samples" in page
    assert 'id="recognition"' not in render(run(intervals=False, images=8))


def test_hostile_names_stay_text(results):
    page = render_alone(about_classifiers({HOSTILE: results["one"]}))
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page


def test_a_page_of_its_own(browser, results, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(render_alone(about_classifiers(results)))
    context = browser.new_context(offline=True, viewport={"width": 360, "height": 700})
    opened, complaints = context.new_page(), []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(path.as_uri())
    opened.wait_for_selector("[data-figure=recognition-oscr] svg")
    assert complaints == []
    assert opened.evaluate("document.documentElement.scrollWidth") == 360
    context.close()


def test_from_the_command_line(openset, results, tmp_path):
    save({name: [one] for name, one in results.items()}, tmp_path / "kept")
    code, out, _ = openset("report", "kept")
    assert (code, "report kept/report.html" in out) == (0, True)
    run(intervals=False, images=8).save(tmp_path / "run")
    code, _, _ = openset("report", "run", "--recognition", "kept")
    assert code == 0
    assert 'id="recognition"' in (tmp_path / "run" / "report.html").read_text()


def test_mistakes_on_the_command_line(openset, results, tmp_path):
    save({name: [one] for name, one in results.items()}, tmp_path / "kept")
    code, out, err = openset("report", "kept", "--figures", "svg")
    assert (code, out, "need a run" in err) == (2, "", True)
    (tmp_path / "kept" / "recognition.json").write_text("{}")
    code, out, err = openset("report", "kept")
    assert (code, out, "OS114" in err) == (2, "", True)
    assert not list(tmp_path.glob("**/*.html"))
