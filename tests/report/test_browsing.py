"""Every image in a real browser: loaded from the folder when looked at, drawn as the gallery is."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from PIL import Image

from openset.diagnosis.deployed import deployed
from openset.findings import InputError, UsageError
from openset.report import write
from openset.report.browsing import browsing_folder, write_images
from openset.report.gallery import KINDS, per_image
from openset.report.page import Beside, render
from openset.report.payload import image_names
from scenes.report_page import Page, settled
from scenes.report_runs import hostile, run

HOSTILE = "../../<img src=x onerror=alert(1)>\"'`) }"


@pytest.fixture(scope="module")
def made():
    return run(3, images=60, intervals=False)


@pytest.fixture(scope="module")
def file(made, tmp_path_factory):
    """A page with every image beside it; the pixels of all but two are there."""
    folder = tmp_path_factory.mktemp("browsed")
    (folder / "pictures").mkdir()
    for name in image_names(made)[2:]:
        Image.new("RGB", (200, 160), "#808080").save(folder / "pictures" / f"{name}.png")
        (folder / "pictures" / f"{name}.png").rename(folder / "pictures" / name)
    page = folder / "report.html"
    without = write_images(made, browsing_folder(page), folder / "pictures")
    assert without == image_names(made)[:2]
    return write(made, page, beside=Beside(browsing=browsing_folder(page).name))


def loaded(page: Page) -> set[str]:
    asked = (url for url in page.requests if "report-images/" in url)
    return {url.partition("report-images/")[2] for url in asked}


def shown(page: Page) -> list[int]:
    read = "cards => cards.map(card => Number(card.dataset.image))"
    return page.page.eval_on_selector_all("#image-cards .card", read)


def scrolled(page: Page) -> None:
    page.page.locator("#images").scroll_into_view_if_needed()
    page.page.wait_for_selector("#image-cards .card")


def test_nothing_is_loaded_before_it_is_looked_at(opened):
    opened.page.wait_for_timeout(300)
    assert loaded(opened) == set()
    scrolled(opened)
    assert settled(opened, lambda: shown(opened), list(range(48))) == list(range(48))
    pieces = {f"{at}.css" for at in range(48)}
    assert pieces | {"index.css"} <= loaded(opened)
    assert not {"0.jpg", "1.jpg", "48.css", "48.jpg"} & loaded(opened)
    assert "2.jpg" in loaded(opened)
    opened.page.click("#images-more")
    assert len(settled(opened, lambda: shown(opened), list(range(60)))) == 60
    assert opened.complaints == []


def test_pictures_are_there_and_boxes_follow_the_sliders(opened):
    scrolled(opened)
    width = "() => document.querySelector(`[data-image='5'] img`)?.naturalWidth"
    assert settled(opened, lambda: opened.page.evaluate(width), 200) == 200
    said = "#image-cards .box.said"
    before = opened.page.locator(said).count()
    opened.move("score", 199)
    assert settled(opened, lambda: opened.page.locator(said).count(), 0) < before


def test_images_with_most_errors_come_first(opened, made):
    scrolled(opened)
    opened.page.select_option("#images-order", "unknown-as-known")
    counts = per_image(deployed(made)[0], KINDS[0])
    expected = [at for at in np.argsort(-counts, kind="stable").tolist() if counts[at]][:48]
    assert 1 < len(expected) < 60
    assert settled(opened, lambda: shown(opened), expected) == expected
    opened.page.fill("#images-find", image_names(made)[expected[1]])
    assert expected[1] in settled(opened, lambda: shown(opened), [expected[1]])
    assert opened.state()["order"] == "unknown-as-known"


def test_an_image_is_enlarged_stepped_through_and_in_the_address(opened, made):
    scrolled(opened)
    opened.page.click("[data-image='5']")
    assert image_names(made)[5] in opened.page.text_content("#lightbox dl")
    opened.page.keyboard.press("ArrowRight")
    name = "() => document.querySelector('#lightbox dl')?.textContent.includes(%r)"
    six = name % image_names(made)[6]
    assert settled(opened, lambda: opened.page.evaluate(six), True)
    assert settled(opened, lambda: opened.state().get("image"), "6")
    opened.page.reload()
    opened.page.wait_for_selector("#lightbox[open]")
    assert opened.page.evaluate(six)
    opened.page.keyboard.press("Escape")
    assert settled(opened, lambda: "image" not in opened.state(), True)


def test_the_page_works_without_the_folder(browser, file, tmp_path):
    page = Page(browser, shutil.copy(file, tmp_path / "alone.html"))
    page.page.locator("#images").scroll_into_view_if_needed()
    said = lambda: "not beside this page" in (page.page.text_content("#images-count") or "")  # noqa: E731
    assert settled(page, said, True)
    assert sum(page.cells().values()) > 0
    assert page.page.query_selector_all("#cards .card")
    page.context.close()


def test_a_page_without_a_folder_allows_and_asks_for_nothing_more(made):
    alone, beside = render(made), render(made, beside=Beside(browsing="report-images"))
    assert "img-src data:;" in alone and 'id="images"' not in alone
    assert "img-src data: 'self' file:;" in beside
    assert len(beside) - len(alone) < 3000


def test_hostile_names_become_neither_paths_nor_markup(browser, tmp_path):
    found = hostile(HOSTILE)
    page = tmp_path / "here" / "report.html"
    assert len(write_images(found, browsing_folder(page))) == 12
    kept = {path.name for path in browsing_folder(page).iterdir()}
    assert kept == {"index.css", *(f"{at}.css" for at in range(12))}
    assert {path.name for path in tmp_path.rglob("*")} == {"here", "report-images", *kept}
    assert all(HOSTILE.encode() not in one.read_bytes() for one in browsing_folder(page).iterdir())
    opened = Page(browser, write(found, page, beside=Beside(browsing="report-images")))
    scrolled(opened)
    assert HOSTILE[:20] in opened.page.text_content("#image-cards .card")
    assert opened.page.query_selector("#image-cards img") is None
    assert opened.complaints == []
    opened.context.close()


def test_a_folder_of_other_things_stays(made, tmp_path):
    (tmp_path / "report-images").mkdir()
    (tmp_path / "report-images" / "mine.txt").write_text("mine")
    with pytest.raises((InputError, UsageError)):
        write_images(made, tmp_path / "report-images")
    assert (tmp_path / "report-images" / "mine.txt").read_text() == "mine"


def test_an_earlier_folder_is_replaced(made, tmp_path):
    for _ in range(2):
        write_images(made, tmp_path / "report-images")
        (tmp_path / "report-images" / "99.css").touch()
    write_images(made, tmp_path / "report-images")
    assert not (tmp_path / "report-images" / "99.css").exists()
