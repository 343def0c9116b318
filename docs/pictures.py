"""Take the pictures of the report anew: ``python docs/pictures.py``, with playwright and chromium.

They show the report of `openset demo` in ``build/demo``, which ``make docs`` writes. What a picture
shows is a section of the page, from its head on, on a screen of 1200 pixels; the first as it opens.
"""

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent
REPORT = FOLDER.parent / "build/demo/run/report.html"
# File, section and height of the screen.
SHOWN = (
    ("report-first.png", "", 720),
    ("report-flow.png", "flow", 900),
    ("report-gallery.jpg", "gallery", 900),
)


def main() -> None:
    browser_file = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
        for name, section, height in SHOWN:
            page = browser.new_page(viewport={"width": 1200, "height": height})
            page.goto(REPORT.as_uri() + (f"#{section}" if section else ""))
            page.wait_for_timeout(2000)  # charts are drawn, pictures decoded
            page.screenshot(path=FOLDER / name)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
