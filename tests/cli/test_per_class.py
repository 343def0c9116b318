"""evaluate --per-class: every class in terminal, JSON and page."""

from __future__ import annotations

import html
import re

import pytest

from openset.diagnosis.deployed import deployed
from openset.diagnosis.per_class import per_class
from openset.evaluation.run import Run

EVALUATE = ("evaluate", "gt.json", "base.json", "--known", "known.txt", "--no-intervals")


@pytest.fixture
def run(scene, openset):
    assert openset(*EVALUATE, "-o", "run", "-q").code == 0
    return Run.load(scene / "run")


def test_terminal(scene, openset, snapshot):
    snapshot("evaluate/per_class", openset(*EVALUATE, "--per-class", "-q"))


def test_programs(run, openset):
    done = openset(*EVALUATE, "--per-class", "--json")
    assert done.json["per_class"] == {"base": per_class(deployed(run)[0]).rows()}
    assert "per_class" not in openset(*EVALUATE, "--json").json


def test_page(run, scene, openset):
    assert openset("report", "run", "-o", "page.html", "-q").code == 0
    page = (scene / "page.html").read_text("utf-8")
    body = page[page.index('<section id="classes">') :]
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", body[: body.index("</section>")])
    table = per_class(deployed(run)[0]).table()
    shown = [*table.header, *(cell for row in table.rows for cell in row)]
    assert list(map(html.unescape, cells)) == shown


def test_calibration_on_the_page(run, scene, openset):
    assert openset("report", "run", "-o", "page.html", "-q").code == 0
    page = (scene / "page.html").read_text("utf-8")
    assert "What scores are worth (calibration)" in page and 'data-figure="reliability"' in page


def test_reliability_as_a_figure(run, scene, openset):
    done = openset("diagnose", "run", "--question", "calibration", "--figures", "svg")
    assert done.code == 0
    assert "share of its boxes" in (scene / "run/diagnosis/1-calibration.svg").read_text()
