"""Methods of several trainings on the page: the means above, the first training below."""

from __future__ import annotations

import re

import pytest

from openset.diagnosis.deployed import deployed, first_trainings
from openset.diagnosis.verdict import in_short
from openset.evaluation.run import evaluate_all
from openset.report.page import render
from scenes import builders
from scenes.report_runs import worse


@pytest.fixture(scope="module")
def run():
    truth, found = builders.scene(0, images=24).tables()
    given = {
        "bold": [found, worse(found, 5)],
        "shy<b>": [worse(found, at) for at in range(1, 4)],
        "one": worse(found, 9),
    }
    return evaluate_all(truth, given, known=builders.KNOWN)


@pytest.fixture(scope="module")
def page(run):
    return render(run)


def section(page, name):
    return page[page.index(f'<section id="{name}"') :].partition("</section>")[0]


def test_the_scoreboard_has_methods_with_both_chances(run, page):
    shown = section(page, "scoreboard")
    names = re.findall(r'data-name="([^"]*)"', shown)
    assert names == ["bold", "shy&lt;b&gt;", "one"]
    line = next(line for line in run.board().lines if line.name == "udr")
    for cell in line.cells:
        assert line.deviations(cell.chance, 2) in shown
        assert line.interval(cell.value.interval, 2) in shown
    assert line.deviations(line.cells[2].chance, 2).endswith("± training ?")
    assert run.board().two_chances in shown
    assert "and from the spread of trainings" in shown


def test_other_sections_show_the_first_training(run, page):
    assert [one.name for one in first_trainings(run)] == ["bold.1", "shy<b>.1", "one"]
    assert len(deployed(run)) == 6
    assert "bold.1" in section(page, "errors")
    assert "bold.2" not in section(page, "errors")
    shown = section(page, "comparison")
    assert "the choice of images and training do not explain" in shown
    assert "<h3>shy&lt;b&gt; minus bold</h3>" in shown
    line = next(line for line in run.board().lines if line.name == "ap_known")
    assert line.deviations(line.cells[1].difference, 2) in shown


def test_words_below_the_table_name_the_training(run):
    words = " ".join(in_short(run))
    assert "bold.1" in words


def test_without_trainings_the_page_does_not_speak_of_them():
    truth, found = builders.scene(0, images=24).tables()
    plain = render(evaluate_all(truth, {"bold": found, "shy": worse(found)}, known=builders.KNOWN))
    shown = section(plain, "scoreboard") + section(plain, "comparison")
    assert "training" not in shown
