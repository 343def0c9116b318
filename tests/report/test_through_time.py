"""The page of chains of tasks: the numbers of the document, in a browser, offline."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from openset.evaluation.through_time import PANELS
from openset.findings import UsageError
from openset.report.alone import about_chains, render_alone, write_alone
from openset.report.through_time import MOST_CLASSES, through_time
from scenes.chains import farm
from scenes.report_page import Page

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def chains():
    return {"plain": farm((0.8, 0.0, 0.3)), "pad": farm((0.8, 0.1, 0.6))}


def test_a_chart_per_number_with_the_points_of_every_chain(chains):
    page = render_alone(about_chains(chains))
    payload = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    drawn = re.findall(r'data-figure="([^"]+)"', page.partition('id="data"')[0])
    assert len(drawn) == 4 == len(payload["figures"])  # of two metrics there is no number
    assert page.count("no stage has this number") == len(PANELS) - 4
    (line,) = payload["figures"]["time-ap-previous"]["spec"]["layer"]
    rows = line["data"]["values"]
    found = [(row["model"], row["stage"], row["y"]) for row in rows]
    assert found == [
        ("plain", "t2", 0.0), ("plain", "t2-ft", 0.3), ("pad", "t2", 0.1), ("pad", "t2-ft", 0.6),
    ]  # fmt: skip


def test_the_more_a_class_has_lost_the_darker_it_is(chains):
    plain, pad = through_time(chains).chains
    (label, task, cells), other = plain.classes
    assert (label, task, [cell.ap for cell in cells]) == ("cat", 1, ["80.0", "0.0", "30.0"])
    assert [cell.shade for cell in cells] == [0, 5, 4]
    assert [cell.shade for cell in pad.classes[0][2]] == [0, 5, 2]
    assert other[0] == "dog" and [cell.ap for cell in other[2]] == ["", "70.0", "70.0"]
    assert not any(cell.shade for cell in other[2])


def test_it_says_what_was_forgotten_and_what_it_took(chains):
    page = render_alone(about_chains(chains))
    assert "pad: after t2-ft, cat has lost most: 20.0 points of AP, to 60.0" in page
    taught = r"dog</th><td>2</td><td>cat 3, cow 1</td><td>4</td><td>9</td><td>70.0</td>"
    assert len(re.findall(taught, page)) == 2
    assert "farm in 2 tasks · recipe x · method pad · seed 0 · exemplars: splits · CEC" in page


def test_a_chain_of_one_stage_so_far(chains):
    begun = replace(chains["pad"], rows=chains["pad"].rows[:1])
    page = render_alone(about_chains({"begun": begun}))
    assert "No second task is done yet" in page and "What begun learns and forgets" in page
    with pytest.raises(UsageError, match="no stage to draw"):
        about_chains({"begun": replace(begun, rows=())})


def test_many_classes_are_cut():
    many = tuple(f"kind {at}" for at in range(MOST_CLASSES + 5))
    wide = replace(farm(), tasks=(("cat",), many))
    page = render_alone(about_chains({"wide": wide}))
    assert "and 6 others, which have lost less" in page
    assert "and 5 others</p>" in page and f"kind {MOST_CLASSES + 4}" not in page


def test_hostile_names_stay_text():
    page = render_alone(about_chains({HOSTILE: farm(name=HOSTILE)}))
    assert "<img src=x" not in page
    assert page.count("&lt;img src=x") >= 4


@pytest.mark.parametrize("width", [1440, 420])
def test_in_a_browser(browser, chains, tmp_path, width):
    path = write_alone(
        about_chains({**chains, HOSTILE: farm(name=HOSTILE)}), tmp_path / "page.html"
    )
    opened = Page(browser, path, viewport={"width": width, "height": 900})
    for figure in opened.page.query_selector_all("[data-figure]"):
        figure.scroll_into_view_if_needed()
        figure.wait_for_selector("svg")
    assert opened.complaints == []
    assert {url.split("#")[0] for url in opened.requests if not url.startswith("data:")} == {
        path.as_uri()
    }
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    stages = opened.page.locator("[data-figure=time-a-ose] .role-axis-label text")
    assert [*map(str.strip, stages.all_text_contents())][:3] == ["t1", "t2", "t2-ft"]
    opened.context.close()


def test_from_the_command_line(openset, chains, tmp_path):
    for name, chain in chains.items():
        (tmp_path / name).mkdir()
        chain.save(tmp_path / name)
    code, out, _ = openset("report", "pad")
    assert (code, "report pad/report.html" in out) == (0, True)
    code, out, _ = openset("report", "plain", "pad", "-o", "both.html")
    assert (
        code == 0 and "What plain and pad learn and forget" in (tmp_path / "both.html").read_text()
    )


def test_mistakes_on_the_command_line(openset, chains, tmp_path):
    for name, chain in chains.items():
        (tmp_path / name).mkdir()
        chain.save(tmp_path / name)
    (tmp_path / "other").mkdir()
    for command, words in {
        ("plain", "pad"): "-o report.html",
        ("plain", "other", "-o", "x.html"): "which other is not",
        ("plain", "--figures", "svg"): "need a run of detectors",
        ("plain", "plain", "-o", "x.html"): "given twice",
    }.items():
        code, out, err = openset("report", *command)
        assert (code, out) == (2, "") and words in " ".join(err.split()), command
    assert not list(tmp_path.glob("**/*.html"))
