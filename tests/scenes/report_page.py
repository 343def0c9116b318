"""A page in a browser, as the tests of the report open it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs


class Page:
    """A page opened from disk, offline; everything it complains about or asks for is kept."""

    def __init__(self, browser, path: Path, hash_: str = "", **options) -> None:
        options = {"viewport": {"width": 1200, "height": 900}} | options
        self.context = browser.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        self.page.on("console", self._heard)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri() + hash_)
        self.page.wait_for_selector("html[data-ready=true]")

    def _heard(self, message) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def move(self, slider: str, value: int) -> None:
        self.page.eval_on_selector(
            f"#{slider}",
            "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }",
            value,
        )

    def cells(self) -> dict[str, float]:
        read = "es => es.map(e => [e.dataset.cell, Number(e.dataset.value)])"
        return dict(self.page.eval_on_selector_all("#flow-table [data-cell]", read))

    def state(self) -> dict[str, str]:
        self.page.wait_for_timeout(400)
        text = self.page.evaluate("location.hash.slice(1)")
        return {key: values[0] for key, values in parse_qs(text).items()}


def settled(page, read, expected):
    """What is read once it is as expected, or after ten seconds: a page draws when it has time."""
    for _ in range(200):
        if (found := read()) == expected:
            break
        page.page.wait_for_timeout(50)
    return found
