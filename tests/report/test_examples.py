"""Examples in a real browser: drawn, filtered and counted as the detector speaks at the sliders."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from openset.diagnosis.deployed import deployed
from openset.diagnosis.flow import UNKNOWN, called_unknown
from openset.evaluation.run import evaluate_all
from openset.report import crops, write
from openset.report.crops import Surroundings
from openset.report.gallery import DISAGREE, choose, is_right
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.annotations import Images
from scenes.report_page import Page, settled
from scenes.report_runs import run


@pytest.fixture(scope="module")
def made():
    return run(3, images=60, intervals=False)


def _go(page: Page, **state) -> None:
    text = "&".join(f"{key}={value}" for key, value in state.items())
    page.page.evaluate("text => { location.hash = text; }", text)


def _inside(model, scenes, item) -> np.ndarray:
    """A detector's boxes in an item's region, whatever their score."""
    left, top, width, height = scenes.view(item).region
    x, y, w, h = model.detections.box[model.matches.row].T
    near = (x < left + width) & (x + w > left) & (y < top + height) & (y + h > top)
    return near & (model.matches.image == scenes.view(item).image)


def _said(model, scenes, item, place) -> list[str]:
    """What the boxes in an item's region say at two positions, by Python's count."""
    moved, inside = replace(model, place=place), _inside(model, scenes, item)
    score, klass = model.matches.score, model.matches.klass
    names = np.array(model.classes)[klass]
    texts = [f"{names[r]} {score[r]:.2f}" for r in np.flatnonzero(inside & moved.called.known)]
    texts += [f"unknown {score[r]:.2f}" for r in np.flatnonzero(inside & moved.called.unknown)]
    return sorted(texts)


def _drawn(page: Page) -> list[str]:
    read = "texts => texts.map(text => text.textContent)"
    return sorted(page.page.eval_on_selector_all("#lightbox .box.said text", read))


@pytest.mark.parametrize("unknownness", [True, False])
def test_enlarged_examples_draw_what_is_said_at_the_sliders(browser, tmp_path, unknownness):
    made = run(3, images=30, models=1, unknownness=unknownness, intervals=False)
    (model,) = deployed(made)
    items, scenes = choose((model,), 30), Surroundings(made, (model,))
    page = Page(browser, write(made, tmp_path / "report.html", crops=30), "#item=0")
    last, seen = len(model.sliders.second) - 1, set()
    whole = [at for at, item in enumerate(items) if not scenes.cut(scenes.view(item))[0]]
    for at in (whole[0], whole[-1]):
        page.page.evaluate("document.getElementById('lightbox').close()")
        page.page.locator(f"#cards [data-at='{at}']").click()
        for i, j in (model.position, (0, 0), (0, last), (100, last // 2), (190, 0)):
            _go(page, s=i, u=j, item=at)
            expected = _said(model, scenes, items[at], (i, j))
            assert settled(page, lambda: _drawn(page), expected) == expected
            seen.add(tuple(expected))
        _go(page, item=at)
    assert len(seen) > 4
    assert page.complaints == []
    page.context.close()


def test_cards_drop_boxes_below_the_least_score(opened, made):
    opened.page.locator("#gallery").scroll_into_view_if_needed()
    said = "#cards .box.said"
    before = opened.page.locator(said).count()
    _go(opened, s=200, u=0)
    assert before > 0
    assert settled(opened, lambda: opened.page.locator(said).count(), 0) == 0


def test_an_example_says_what_it_leaves_out(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(crops, "MOST_BOXES", 1)
    made = run(3, images=30, models=1, intervals=False)
    (model,) = deployed(made)
    items, scenes = choose((model,), 30), Surroundings(made, (model,))
    at = next(
        at for at, item in enumerate(items) if item.box >= 0 and scenes.cut(scenes.view(item))[0]
    )
    (best,) = scenes.cut(scenes.view(items[at]))
    page = Page(browser, write(made, tmp_path / "report.html", crops=30))
    for i, left in ((best - 1, True), (best, False)):
        _go(page, item=at, s=i)
        page.page.reload()
        page.page.wait_for_selector("#lightbox[open]")
        assert ("of lower scores" in page.page.text_content("#lightbox dl")) == left
    page.context.close()


def test_an_example_that_does_not_occur_says_so(browser, file):
    page = Page(browser, file, "#item=0&s=200&u=0")
    facts = page.page.text_content("#lightbox dl")
    assert "not where the sliders stand" in facts
    assert "called" not in facts.replace("called known", "")
    page.context.close()


def test_unknown_found_means_only_unknown(made):
    models = deployed(made)
    both = 0
    for model in models:
        also = called_unknown(model.matches, model.called, model.targets)
        both += np.count_nonzero(also & (model.fates != UNKNOWN) & ~model.matches.objects.ignored)
    found = [item for item in choose(models, 240) if item.kind == "unknown-found"]
    assert both  # else this could not fail
    assert found
    assert all(models[item.model].fates[item.object] == UNKNOWN for item in found)


def _shown(page: Page) -> tuple[int, int]:
    """Cards, and how many more are said not to occur."""
    said = page.page.text_content("#gallery-count")
    gone = [int(n) for n, word in pairwise(said.split()) if word == "more"]
    return page.page.locator("#cards .card").count(), sum(gone)


def test_disagreements_follow_the_sliders(opened, made):
    models = deployed(made)
    items = [item for item in choose(models, 240) if item.kind == DISAGREE]
    opened.page.locator("#gallery").scroll_into_view_if_needed()
    seen = set()
    for i, j in ((60, 8), (110, 4), (200, 0)):
        _go(opened, kind=DISAGREE, every=1, s=i, u=f"{j},{j}")
        right = [is_right(replace(model, place=(i, j))) for model in models]
        left = sum(right[o.model][o.object] and not right[1 - o.model][o.object] for o in items)
        expected = (left, len(items) - left)
        assert settled(opened, lambda: _shown(opened), expected) == expected
        seen.add(left)
    assert len(seen) > 1


def test_only_numbers_with_examples_are_buttons(browser, made, tmp_path):
    page = Page(browser, write(made, tmp_path / "report.html", crops=14))
    page.page.locator("#absorption").scroll_into_view_if_needed()
    page.page.wait_for_selector("[data-absorption='1'] tbody tr")
    assert page.page.locator(".heat .plain").count()
    buttons = page.page.locator(".heat td button")
    assert buttons.count()
    for at in range(buttons.count()):
        buttons.nth(at).evaluate("button => button.click()")
        assert page.page.locator("#cards .card").count()
    page.context.close()


def test_the_gallery_prefers_cells_that_have_no_example_yet(made):
    model = deployed(made)[0]
    objects, klass = model.matches.objects, model.matches.klass
    items = [item for item in choose((model,), 12) if item.kind == "unknown-as-known"]
    cells = [(objects.label[item.object], klass[item.box]) for item in items]
    assert len(set(cells)) == len(cells) > 2


def _absorbing(classes: int):
    """One zebra per image, called by one known class or another: the first ones twice."""
    names = [f"class {at:02}" for at in range(classes)]
    called = np.array([*range(classes), *range(9)])
    n = len(called)
    box = np.tile([10.0, 10.0, 50.0, 50.0], (n, 1))
    known = np.full(classes, n), np.arange(classes)
    apart = np.stack([np.arange(classes) * 60.0, np.zeros(classes)], axis=1)
    truth = Annotations(
        images=Images(np.arange(n + 1)),
        labels=(*names, "zebra"),
        image=np.concatenate([np.arange(n), known[0]]),
        label=np.concatenate([np.full(n, classes), known[1]]),
        box=np.vstack([box, np.hstack([apart, np.full((classes, 2), 50.0)])]),
    )
    found = Detections(np.arange(n), called, box, np.full(n, 0.9), tuple(names))
    vocabulary = Vocabulary(tasks=(tuple(names),))
    return evaluate_all(truth, {"one": found}, known=vocabulary, intervals=False, metrics=["a_ose"])


def test_the_other_classes_lead_to_their_examples_only(browser, tmp_path):
    page = Page(browser, write(_absorbing(11), tmp_path / "report.html"))
    page.move("score", 0)
    page.page.locator("#absorption").scroll_into_view_if_needed()
    cell = page.page.locator(".heat td button", has_text="2").last
    assert settled(page, lambda: cell.get_attribute("aria-label"), "2 of 20 zebra: 2 others")
    cell.click()
    read = "cards => cards.map(card => card.getAttribute('aria-label').split(', ')[2])"
    called = page.page.eval_on_selector_all("#cards .card", read)
    assert sorted(called) == ["called class 09", "called class 10"]
    chosen = page.page.eval_on_selector("#gallery-called", "e => e.selectedOptions[0].textContent")
    assert chosen == "class 09, class 10 (2)"
    page.context.close()


NEEDS_SCRIPTS = ["flow", "curves", "absorption", "gallery", "slices"]


def test_without_scripts_nothing_is_dead_or_silent(browser, file):
    context = browser.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    for name in NEEDS_SCRIPTS:
        assert page.locator(f"#{name} noscript").is_visible(), name
    for dead in ("[data-save]", "#flow-table", "[data-hide]", "[data-copy-text]", ".scripted"):
        assert page.locator(dead).count()
        assert not any(one.is_visible() for one in page.locator(dead).all()), dead
    context.close()


def test_with_scripts_everything_is_there(opened):
    for alive in ("[data-save]", "#flow-table", "[data-hide]", "[data-copy-text]", ".scripted"):
        assert opened.page.locator(alive).first.is_visible(), alive
