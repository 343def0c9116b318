"""The first screen: three sentences and a picture, in sight without scrolling."""

from __future__ import annotations

import numpy as np
import pytest

from openset.diagnosis.absorption import absorption
from openset.diagnosis.deployed import deployed
from openset.diagnosis.standing import standing
from openset.diagnosis.verdict import verdict
from openset.report.page import _title
from openset.wording import percent
from scenes.report_page import Page
from scenes.report_runs import run

DESK, PHONE = {"width": 1440, "height": 900}, {"width": 420, "height": 900}


@pytest.fixture(scope="module")
def made():
    return run(3, images=60, models=3)


@pytest.fixture(params=[DESK, PHONE], ids=["desk", "phone"])
def page(browser, file, request):
    page = Page(browser, file, viewport=request.param)
    yield page.page
    page.context.close()


def _texts(page, selector: str) -> list[str]:
    return page.eval_on_selector_all(selector, "es => es.map(e => e.textContent.trim())")


def test_the_answer_needs_no_scrolling(page, made):
    models = deployed(made)
    said = verdict(models, absorption(models[0]), None, []).answers
    shown = _texts(page, ".answers li")
    assert [text.removesuffix(" evidence") for text in shown] == [one.text for one in said]
    last = page.locator(".answers li").last.bounding_box()
    assert last["y"] + last["height"] <= 900
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_the_picture_is_the_flow_of_unknown_objects(page, made):
    flow = deployed(made)[0].flow
    counts = [flow.unknown, flow.unknown_wrong, flow.unknown_unknown, flow.unknown_missed]
    shown = [text.split()[-1] for text in _texts(page, "#unknown-flow .node-count")]
    assert shown == [f"{n:.0f}" for n in counts]


def test_the_ranking_is_that_of_the_standing(page, made):
    found = standing(deployed(made))
    assert _texts(page, ".ranking th[scope=row]") == [one.model.title for one in found.places]
    assert _texts(page, ".ranking .share b") == [percent(one.named) for one in found.places]
    assert _texts(page, ".ranking .rank") == [str(one.group + 1) for one in found.places]


def test_on_a_desk_all_of_it_is_in_sight(browser, file):
    page = Page(browser, file, viewport=DESK)
    box = page.page.locator(".ranking").bounding_box()
    assert box["y"] + box["height"] <= 900
    page.context.close()


def test_on_a_phone_every_difference_says_better_or_worse(browser, file):
    page = Page(browser, file, viewport=PHONE)
    for said in page.page.locator(".deltas td.said").all():
        box = said.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]
    page.context.close()


def test_the_header_of_a_tall_table_stays(browser, file):
    page = Page(browser, file, "#all=1", viewport=DESK)
    table, head = (
        page.page.locator(".scroll:has(#board)"),
        page.page.locator("#board thead th").nth(1),
    )
    before = head.bounding_box()["y"]
    table.evaluate("e => e.scrollTo(0, 400)")
    assert table.evaluate("e => e.scrollTop") > 100
    assert head.bounding_box()["y"] == pytest.approx(before, abs=1)
    page.context.close()


def test_many_detectors_are_counted_in_the_title():
    assert "12 detectors do" in _title([f"d{n}" for n in range(12)], leaked=False)
    assert "a, b, c and d do" in _title(["a", "b", "c", "d"], leaked=False)


def test_strata_have_intervals(browser, file):
    page = Page(browser, file)
    page.page.locator("#slices").scroll_into_view_if_needed()
    cell = page.page.locator("#slices .slices td").first
    parts = (part.split() for part in cell.get_attribute("title").split(", "))
    counts = {name: int(n) for name, n in parts}
    low, high = _wilson(counts["right"], sum(counts.values()))
    assert f" {round(100 * low)}–{round(100 * high)} ·" in cell.locator(".nums").text_content()
    page.context.close()


def _wilson(part: int, whole: int) -> tuple[float, float]:
    """Wilson's interval as the roots of (share - p)² = z² p (1 - p) / n."""
    z2, share = 1.959963984540054**2, part / whole
    low, high = sorted(np.roots([1 + z2 / whole, -(2 * share + z2 / whole), share**2]))
    return low, high
