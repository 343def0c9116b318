"""report: where its page is written. What is on it is tested with the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenes.cli import write_pictures

K = ("--known", "known.txt")


@pytest.fixture
def run(scene, openset):
    assert openset("evaluate", "gt.json", "base.json", *K, "-o", "run", "-q").code == 0
    return scene / "run"


def test_report(run, openset, snapshot, monkeypatch):
    import webbrowser

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    done = openset("report", "run", "--open")
    assert done.code == 0
    snapshot("report/page", done)
    page = run / "report.html"
    assert page.read_text("utf-8").startswith("<!doctype html")
    assert opened == [page.as_uri()]
    # A run with its page is still a run, and can be written again.
    assert openset("evaluate", "gt.json", "base.json", *K, "-o", "run", "-q").code == 0
    assert not page.exists()


def test_report_elsewhere_with_images_and_figures(run, openset):
    write_pictures(run.parent / "images")
    done = openset(
        "report", "run", "-o", "page.html", "--images", "images", "--figures", "svg", "--json"
    )
    assert done.code == 0
    assert Path(done.json["page"]).stat().st_size == done.json["bytes"]
    assert done.json["figures"] and all(Path(path).is_file() for path in done.json["figures"])
    assert not (run / "report.html").exists()
