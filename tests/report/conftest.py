"""A browser, and the page of what a file `made`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium; tests that need it are skipped, visibly, where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def file(made, tmp_path_factory) -> Path:
    """The page of the run that a file of tests calls `made`."""
    from openset.report import write

    return write(made, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture
def opened(browser, file):
    """That page, open until the test ends."""
    from scenes.report_page import Page

    page = Page(browser, file)
    yield page
    page.context.close()
