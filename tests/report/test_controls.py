"""The page's controls in a real browser: sliders and presets, keys and focus, links and saving."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from openset.diagnosis.deployed import deployed
from openset.evaluation.run import evaluate_all
from openset.report import write
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.annotations import Images
from scenes import builders
from scenes.report_page import Page, settled
from scenes.report_runs import worse

NARROW = {"width": 400, "height": 800}
WIDE = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def made():
    """Two detectors with an unknownness of other scales, which label nothing unknown."""
    truth, found = builders.scene(3, images=60, ties=False).tables()
    named = found.select(np.isin(found.label, [3, 7, 8]))
    values = np.random.default_rng(0).random((2, len(named))) * [[1], [100]]
    values[:, 0] = 0
    first = replace(named, unknownness=values[0])
    tables = {"first": first, "second": worse(replace(named, unknownness=values[1]))}
    return evaluate_all(truth, tables, known=builders.KNOWN, intervals=False)


def _stands(page) -> tuple[int, int]:
    return int(page.page.input_value("#score")), int(page.page.input_value("#second"))


def _pressed(page) -> set[str]:
    read = "all => all.filter(b => b.ariaPressed === 'true').map(b => b.dataset.preset)"
    return set(page.page.eval_on_selector_all("#presets button", read))


def _focus(page) -> str:
    return page.page.evaluate("(document.activeElement.id || document.activeElement.tagName)")


def _in_link(page, key, value):
    return settled(page, lambda: page.state().get(key), value) == value


# ---------------------------------------------------------------------- thresholds


def test_the_operating_point_is_every_detectors_own(opened, made):
    first, second = deployed(made)
    assert first.position != second.position
    opened.page.click("[data-preset='max-f1']")
    assert settled(opened, opened.state, {}) == {}
    opened.move("score", 3)
    opened.move("second", 5)
    opened.page.keyboard.press("m")
    assert _stands(opened) == (3, second.position[1])  # the score is shared, the second is not
    opened.move("second", 2)
    wanted = {"m": "1", "s": "3", "u": "5,2"}
    assert settled(opened, opened.state, wanted) == wanted
    opened.page.keyboard.press("m")
    assert _stands(opened) == (3, 5)
    opened.page.click("[data-preset='max-f1']")
    assert _stands(opened) == first.position
    opened.page.keyboard.press("m")
    assert _stands(opened) == second.position


def test_presets_are_pressed_where_they_are_true(opened, made):
    model = deployed(made)[0]
    presets = {preset.name: preset for preset in model.presets}
    assert {"max-f1", "tpr-95", "one-alarm"} == set(presets)
    opened.move("score", 0)
    opened.move("second", 0)
    opened.move("ratio", 40)
    assert _pressed(opened) == set()
    for name, preset in presets.items():
        opened.page.click(f"[data-preset='{name}']")
        assert _stands(opened) == (preset.i, preset.j)
        assert {name, "data-ratio"} <= _pressed(opened)
    assert "one-alarm" in _pressed(opened)
    opened.move("ratio", 40)
    assert "one-alarm" not in _pressed(opened)
    opened.page.click("[data-preset='one-alarm']")
    opened.move("second", presets["one-alarm"].j - 1)
    assert "one-alarm" not in _pressed(opened)


def test_95_percent_is_true_in_any_world(opened):
    opened.move("ratio", 40)
    opened.page.click("[data-preset='tpr-95']")
    assert _pressed(opened) == {"tpr-95"}
    assert _in_link(opened, "r", "4.0")


def test_the_second_threshold_below_all_values(opened):
    opened.move("second", 0)
    assert opened.page.text_content("#second-out") == "all boxes"
    opened.page.locator("#absorption").scroll_into_view_if_needed()
    where = "[data-absorption='0'] [data-where]"
    opened.page.wait_for_selector(f"{where}:has-text('unknown: all boxes')")
    opened.move("second", 1)
    assert opened.page.text_content("#second-out").startswith("> 0")


def test_the_ratio_reaches_the_datas(browser, tmp_path):
    box = [[0, 0, 50, 50]] * 2
    labels = ("dog", "zebra")
    truth = Annotations(Images(range(41)), labels=labels, image=[0, 1], label=[0, 1], box=box)
    found = Detections([0, 1], [0, 0], box, [0.9, 0.8], labels)
    made = evaluate_all(truth, {"one": found}, known=Vocabulary((("dog",),)), intervals=False)
    page = Page(browser, write(made, tmp_path / "report.html"))
    assert page.page.input_value("#ratio") == "400"
    page.move("ratio", 399)
    assert _in_link(page, "r", "39.9")
    page.context.close()


# ---------------------------------------------------------------------- diagram


def _labels(page) -> list[list[float]]:
    """Labels of the diagram by column, from top to bottom: left, top, bottom."""
    read = """texts => texts.map(text => { const b = text.getBoundingClientRect();
        return [text.getAttribute('text-anchor') === 'end' ? 0 : 1, b.top, b.bottom]; })"""
    return sorted(page.page.eval_on_selector_all("#sankey text", read))


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize("score", [0, 100, 200])
def test_labels_of_the_diagram_keep_apart(browser, file, viewport, score):
    page = Page(browser, file, f"#s={score}", viewport=viewport)
    labels = _labels(page)
    assert len(labels) == 7
    for above, below in pairwise(labels):
        assert above[0] != below[0] or above[2] <= below[1] + 1
    frame = page.page.locator("#sankey").bounding_box()
    assert frame["y"] <= min(top for _, top, _ in labels) + 2
    assert max(bottom for *_, bottom in labels) <= frame["y"] + frame["height"]
    page.context.close()


# ---------------------------------------------------------------------- keys, focus and links


def test_links_move_the_focus(opened):
    opened.page.focus("header nav a[href='#gallery']")
    opened.page.keyboard.press("Enter")
    assert _focus(opened) == "gallery"
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.closest('section').id") == "gallery"
    assert opened.page.get_attribute("#gallery", "tabindex") is None
    opened.page.focus(".skip")
    opened.page.keyboard.press("Enter")
    assert _focus(opened) == opened.page.get_attribute(".skip", "href")[1:]
    opened.page.click("header nav a[href='#flow']")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert (_focus(opened), opened.page.evaluate(outline)) == ("flow", "none")


def test_another_detector_keeps_the_focus_in_the_gallery(opened):
    opened.page.focus("#cards .card")
    opened.page.keyboard.press("m")
    assert opened.page.evaluate("document.activeElement.className") == "card"
    opened.page.keyboard.press("Enter")
    opened.page.keyboard.press("m")
    inside = "document.activeElement.closest('#lightbox') !== null"
    assert opened.page.evaluate(inside)
    opened.page.keyboard.press("Escape")
    focused = "document.activeElement.className"
    assert settled(opened, lambda: opened.page.evaluate(focused), "card") == "card"


@pytest.mark.parametrize("field", ["select", "textarea", "input", "div"])
def test_keys_are_text_where_one_types(opened, field):
    opened.page.evaluate(
        """tag => { const made = document.createElement(tag); made.id = 'made';
        if (tag === 'div') made.contentEditable = true;
        document.getElementById('flow').prepend(made); made.focus(); }""",
        field,
    )
    opened.page.keyboard.press("m")
    assert settled(opened, opened.state, {}) == {}
    opened.page.focus("#score")
    opened.page.keyboard.press("Control+m")
    assert settled(opened, opened.state, {}) == {}
    opened.page.keyboard.press("m")
    assert settled(opened, opened.state, {"m": "1"}) == {"m": "1"}


def test_an_open_page_follows_its_address(opened):
    opened.page.evaluate("location.hash = '#item=3&s=50'")
    opened.page.wait_for_selector("#lightbox[open]")
    assert opened.page.input_value("#score") == "50"
    opened.page.evaluate("location.hash = '#s=60'")
    opened.page.wait_for_selector("#lightbox:not([open])", state="attached")
    assert opened.page.input_value("#score") == "60"
    opened.page.go_back()
    opened.page.wait_for_selector("#lightbox[open]")
    assert opened.page.input_value("#score") == "50"


def test_links_leave_a_way_back(opened):
    opened.page.click("header nav a[href='#health']")
    assert _in_link(opened, "at", "health")
    opened.page.click("header nav a[href='#flow']")
    assert _in_link(opened, "at", "flow")
    opened.page.go_back()
    assert _in_link(opened, "at", "health")
    top = "document.getElementById('health').getBoundingClientRect().top < innerHeight"
    assert settled(opened, lambda: opened.page.evaluate(top), True) is True


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_the_current_section_is_in_sight_in_the_navigation(browser, file, viewport):
    page = Page(browser, file, viewport=viewport)
    page.page.add_style_tag(content="header nav a { padding: 0 2rem !important }")
    link = page.page.locator("header nav a[href='#health']")

    def inside() -> bool:
        # Charts above are drawn when they come near, and push the section away.
        page.page.evaluate("name => document.getElementById(name).scrollIntoView()", "health")
        box = link.bounding_box()
        current = link.get_attribute("aria-current") is not None
        return current and box["x"] >= 0 and box["x"] + box["width"] <= viewport["width"]

    assert settled(page, inside, True)
    bar = page.page.eval_on_selector("header nav", "nav => getComputedStyle(nav).scrollbarWidth")
    assert bar != "none"
    page.context.close()


# ---------------------------------------------------------------------- saving


def test_saved_charts_are_light(browser, file):
    page = Page(browser, file, "#s=20", color_scheme="dark")
    page.page.locator("[data-figure=oscr]").scroll_into_view_if_needed()
    page.page.wait_for_selector("[data-figure=oscr] svg")
    with page.page.expect_download() as download:
        page.page.click("[data-save=oscr]")
    text = unquote(Path(download.value.path()).read_text("utf-8"))
    assert 'fill="white"' in text
    assert "#0072B2" in text
    assert "#e8e6e1" not in text  # the dark theme's ink
    assert "#1c2126" in text
    assert 'aria-label="x: ' in text  # with the marks of the detectors
    page.context.close()
