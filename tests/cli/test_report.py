"""report: where its page is written. What is on it is tested with the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from openset.formats import read_annotations, read_detections, write
from openset.nets.pictures import prints
from openset.tables.names import file_names
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


def test_report_with_every_image_beside_it(run, openset):
    pictures = write_pictures(run.parent / "images")
    first = min(pictures.iterdir())
    first.write_bytes(b"no picture")
    done = openset("report", "run", "--images", "images", "--browse", "--json")
    assert done.code == 0
    assert done.json["images"] == ["run/report-images"] and done.json["figures"] == []
    assert len(list((run / "report-images").glob("*.jpg"))) == len(list(pictures.iterdir())) - 1
    assert "OS393" in done.err and first.name in done.err
    assert 'id="images"' in (run / "report.html").read_text("utf-8")
    # The folder goes with its run, as the page does.
    assert openset("evaluate", "gt.json", "base.json", *K, "-o", "run", "-q").code == 0
    assert not (run / "report-images").exists()


def test_a_folder_of_other_images_is_told(run, openset):
    write_pictures(run.parent / "images")
    right = openset("report", "run", "--images", "images")
    assert right.code == 0 and "OS393" not in right.err
    (run.parent / "other").mkdir()
    (run.parent / "other" / "x.webp").touch()
    done = openset("report", "run", "--images", "other")
    said = " ".join(done.err.split())
    assert done.code == 0 and "warning OS393 none of the run's 24 images is in other" in said
    assert "the folder has x.webp" in said


@pytest.mark.parametrize("verb", [("report", "run"), ("draw", "run", "-o", "drawn")])
def test_pictures_of_another_shape_are_told(verb, run, openset):
    from PIL import Image

    pictures = write_pictures(run.parent / "images")
    for path in pictures.iterdir():  # a small copy has the same shape
        with Image.open(path) as image:
            small = image.resize((image.width // 2, image.height // 2))
        small.save(path)
    right = openset(*verb, "--images", "images")
    assert right.code == 0 and "OS342" not in right.err
    for path in pictures.iterdir():
        Image.new("RGB", (90, 300)).save(path)
    done = openset(*verb[:2], *(("-o", "again") if verb[2:] else ()), "--images", "images")
    assert done.code == 0 and "warning OS342" in done.err
    assert "24 also have another shape" in " ".join(done.err.split())


@pytest.mark.parametrize("verb", [("report", "run"), ("draw", "run", "-o", "drawn")])
def test_other_pictures_of_the_same_names_are_told(verb, run, openset):
    from PIL import Image

    pictures = write_pictures(run.parent / "images")
    truth, found = read_annotations(run.parent / "gt.json"), read_detections("base.json")
    noted = []
    for id_, name in list(zip(truth.images.id.tolist(), file_names(truth.images), strict=True))[:4]:
        with Image.open(pictures / name) as image:
            noted.append([str(id_), *prints([pictures / name]).tolist(), *image.size])
    write(replace(found, provenance={"pictures": noted}), run.parent / "base.parquet")
    assert openset("evaluate", "gt.json", "base.parquet", *K, "-o", "run", "-q").code == 0
    right = openset(*verb, "--images", "images")
    assert right.code == 0 and "OS394" not in right.err
    for path in pictures.iterdir():
        with Image.open(path) as image:
            size = image.size
        Image.new("RGB", size, "navy").save(path)
    done = openset(*verb[:2], *(("-o", "again") if verb[2:] else ()), "--images", "images")
    said = " ".join(done.err.split())
    assert done.code == 0 and "warning OS394 4 of 4 pictures that were looked at are other" in said
    for path in pictures.iterdir():  # small copies are of other bytes, and welcome
        with Image.open(path) as image:
            small = image.resize((image.width // 2, image.height // 2))
        small.save(path)
    last = openset(*verb[:2], *(("-o", "small") if verb[2:] else ()), "--images", "images")
    assert last.code == 0 and "OS394" not in last.err


def test_links_that_lead_nowhere_are_the_cause(run, openset):
    write_pictures(run.parent / "images")
    links = run.parent / "links"
    links.mkdir()
    for file in (run.parent / "images").iterdir():
        (links / file.name).symlink_to(file)
    assert "OS393" not in openset("report", "run", "--images", "links").err
    assert openset("draw", "run", "--images", "links").code == 0
    (run.parent / "images").rename(run.parent / "elsewhere")
    for line in (("report", "run"), ("draw", "run", "-o", "again")):
        done = openset(*line, "--images", "links")
        said = " ".join(done.err.split())
        assert "24 links in the folder lead nowhere, such as image 000.png to" in said
