"""The page as a file: complete, alone, safe, and the same every time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from openset.evaluation.run import Run, evaluate_all
from openset.findings import InputError, UsageError
from openset.report import figures, write
from openset.report.charts import curve_figures
from openset.report.page import SECTIONS, render
from openset.report.payload import embedded
from scenes import builders
from scenes.report_runs import hostile, run

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{7*7}}&../../etc/passwd"


class _Tags(HTMLParser):
    """All start tags with their attributes, and the text of the payload."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside = ""
        self.payload = ""
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id", "") or tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "data":
            self.payload += data
        elif self.inside not in ("script", "style"):
            self.text += data

    def ids(self) -> set[str]:
        return {attributes["id"] for _, attributes in self.tags if attributes.get("id")}


@pytest.fixture(scope="module")
def page() -> str:
    return render(run())


def test_all_sections_are_there_and_named_in_the_navigation(page):
    ids = _Tags(page).ids()
    assert {section.key for section in SECTIONS} <= ids
    links = re.findall(r'href="#([^"]+)"', page)
    assert {name for name in links if name not in ids} == set()


def test_the_page_has_the_stars_of_the_terminal(page):
    row = r'<tr data-metric="([^"]+)"(.*?)</tr>'
    stars = {
        name: re.findall(r'data-mark="(\*?)"', cells) for name, cells in re.findall(row, page, re.S)
    }
    board = run().board(headline=True)
    assert {line.name: stars[line.name] for line in board.lines} == {
        line.name: ["*" * cell.star for cell in line.cells] for line in board.lines
    }
    assert any("*" in stars[line.name] for line in board.lines)
    assert len(stars) > len(board.lines)
    assert f"the {board.families['headline metrics']} comparisons of headline metrics" in page


def test_nothing_is_loaded_from_anywhere(page):
    parsed = _Tags(page)
    for tag, attributes in parsed.tags:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
        assert not [name for name in attributes if name.startswith("on")]
    policy = next(a["content"] for t, a in parsed.tags if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    script = next(part for part in policy.split(";") if "script-src" in part)
    assert "unsafe" not in script
    assert "http" not in policy


def test_identical_runs_give_identical_bytes(tmp_path):
    first = write(run(), tmp_path / "a.html").read_bytes()
    assert first == write(run(), tmp_path / "b.html").read_bytes()
    assert b"\r\n" not in first


def test_a_stored_run_gives_the_same_page(page, tmp_path):
    again = Run.load(run().save(tmp_path / "run"))
    assert render(again) == page


def test_page_without_images_is_small(page):
    assert len(page.encode()) < 2_500_000


def test_numbers_on_the_page_are_those_of_the_result(page):
    made = run()
    text = " ".join(_Tags(page).text.split())
    value = made.evaluations["first"].value("ap_known").value
    assert f"{100 * value:.2f} %" in text
    assert made.evaluations["first"].provenance.truth_hash in text
    assert made.command in text


def test_hostile_names_stay_text():
    page = render(hostile(HOSTILE))
    parsed = _Tags(page)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert [t for t, _ in parsed.tags].count("script") == 3  # payload, library, own
    payload = json.loads(parsed.payload)
    assert any(HOSTILE in item["label"] for item in payload["gallery"]["items"])
    assert "{{7*7}}" in parsed.text


def test_long_names_are_cut():
    page = render(hostile("x" * 10_000))
    assert len(page) < 2_500_000
    longest = max(len(word) for word in _Tags(page).text.split())
    assert longest < 5000


def test_payload_cannot_end_its_element():
    text = embedded({"a": "</script><!--", "b": float("nan"), "c": np.float64(1.5)})
    assert "<" not in text
    assert json.loads(text) == {"a": "</script><!--", "b": None, "c": 1.5}


@pytest.mark.parametrize("models", [1, 3])
def test_one_detector_and_three(models):
    page = render(run(models=models))
    assert ("Comparison" in _Tags(page).text) == (models > 1)


@pytest.mark.parametrize("protocol", ["owod", "elephant", "fmiyc", "paper"])
def test_every_rule_of_matching_has_a_page(protocol):
    assert 'id="glossary"' in render(run(protocol=protocol, intervals=False))


def test_no_unknownness_and_no_intervals():
    text = _Tags(render(run(unknownness=False, intervals=False))).text
    assert "no detector gives an unknownness" in text
    assert "without resamples" in text


def _only(keep_images: int, *, detections: bool = True, unknown: bool = True):
    scene = builders.scene(1, images=max(keep_images, 1))
    truth = dict(scene.truth)
    if not unknown:
        known = [a for a in truth["annotations"] if a["category_id"] not in builders.UNKNOWN_IDS]
        truth["annotations"] = known
    found = scene.found if detections else []
    tables = builders.Scene(truth, found).tables()
    return evaluate_all(
        tables[0], {"one": tables[1]}, known=builders.KNOWN, intervals=False, force=True
    )


def test_detectors_that_name_unknown_classes_were_taught_them():
    truth, found = builders.scene(3, images=12).tables()
    made = evaluate_all(truth, {"one": found}, known=["dog"], intervals=False)
    page = render(made)
    text = _Tags(page).text
    assert text.index("Not an open-set result: what one does") < text.index("protocol default")
    first = text[text.index("This is not an open-set result: one was taught") :]
    assert re.match(r".*?; \d+ of \d+ detections are labelled with 2 classes", first, re.DOTALL)
    assert text.index("At its operating point") < text.index("This is not an")
    assert text.index("This is not an") < text.index("Provenance", text.index("protocol default"))
    assert "LEAK: the detector was taught" in text and "no leak known" not in text
    assert text.count("the detector was trained on them") == 1  # in the list of findings alone
    assert "--leaked drop removes them; or add them to --known" in text
    assert "leaked='" not in text
    assert "never taught" in _Tags(render(run())).text


def test_no_unknown_object():
    text = _Tags(render(_only(12, unknown=False))).text
    assert "There is no unknown object" in text


def test_no_detection_at_all():
    text = _Tags(render(_only(6, detections=False))).text
    assert "0 examples" in text or "examples" in text


def test_single_image():
    assert 'id="flow"' in render(_only(1))


def test_result_without_matches_is_refused(tmp_path):
    made = run()
    bare = {name: replace(one, matches=None) for name, one in made.evaluations.items()}
    with pytest.raises(UsageError, match="without its matches"):
        write(replace(made, evaluations=bare), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------- images


def _images(folder: Path, made, *, scale: float = 1.0) -> Path:
    from PIL import Image

    folder.mkdir()
    for at, name in enumerate(made.truth.images.file_name):
        size = (round(200 * scale), round(160 * scale))
        Image.new("RGB", size, (at * 9 % 256, 90, 160)).save(folder / str(name))
    return folder


def test_crops_come_from_the_folder(tmp_path):
    made = run()
    page = render(made, images=_images(tmp_path / "images", made))
    items = json.loads(_Tags(page).payload)["gallery"]["items"]
    assert all(item["crop"] for item in items)
    assert len(items) <= 240


def test_crops_of_thumbnails_are_scaled(tmp_path):
    import base64
    import io

    from PIL import Image

    made = run()
    page = render(made, images=_images(tmp_path / "images", made, scale=0.5))
    item = json.loads(_Tags(page).payload)["gallery"]["items"][0]
    crop = Image.open(io.BytesIO(base64.b64decode(item["crop"])))
    assert abs(crop.width - item["region"][2] / 2) <= 1


def test_missing_images_are_counted_and_drawn(tmp_path):
    (tmp_path / "empty").mkdir()
    page = render(run(), images=tmp_path / "empty")
    items = json.loads(_Tags(page).payload)["gallery"]["items"]
    assert not any(item["crop"] for item in items)
    assert "none of their images is in the folder" in page


def test_broken_images_are_no_crash(tmp_path):
    made = run()
    folder = _images(tmp_path / "images", made)
    for path in folder.iterdir():
        path.write_bytes(b"\xff\xd8\xff\xe0 not an image")
    assert "none of their images is in the folder" in render(made, images=folder)


def test_names_cannot_leave_the_folder(tmp_path):
    from PIL import Image

    from openset.report.crops import Pixels

    Image.new("RGB", (10, 10)).save(tmp_path / "secret.png")
    (tmp_path / "images").mkdir()
    pixels = Pixels(tmp_path / "images")
    for name in (
        "../secret.png",
        str(tmp_path / "secret.png"),
        "..\\secret.png",
        "a\0b",
        "x" * 9999,
    ):
        assert pixels.find(name) is None
    (tmp_path / "images" / "here").symlink_to(".")
    for name in ("here/../../secret.png", "here/../secret.png", "/../secret.png"):
        assert pixels.find(name) is None


def test_links_in_the_folder_are_its_owners(tmp_path):
    """Pictures are often links to a data disk; only names come from elsewhere."""
    from PIL import Image

    from openset.report.crops import Pixels

    (tmp_path / "disk").mkdir()
    Image.new("RGB", (10, 10)).save(tmp_path / "disk" / "a.png")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").symlink_to(tmp_path / "disk" / "a.png")
    (tmp_path / "images" / "val").symlink_to(tmp_path / "disk")
    (tmp_path / "all").symlink_to(tmp_path / "disk")
    for folder, name in (("images", "a.png"), ("images", "val/a.png"), ("all", "a.png")):
        assert Pixels(tmp_path / folder).crop(name, (0, 0, 10, 10), (10, 10))


def test_a_header_of_too_many_pixels_is_no_crop(tmp_path):
    from struct import pack
    from zlib import crc32

    from openset.report.crops import Pixels

    body = b"IHDR" + pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + pack(">I", 13) + body + pack(">I", crc32(body))
    (tmp_path / "bomb.png").write_bytes(png + pack(">I", 0) + b"IDAT" + pack(">I", crc32(b"IDAT")))
    pixels = Pixels(tmp_path)
    assert pixels.crop("bomb.png", (0, 0, 10, 10), (10, 10)) is None and pixels.missing == 1


def test_no_such_folder_of_images(tmp_path):
    with pytest.raises(InputError, match="OS101"):
        render(run(), images=tmp_path / "nowhere")


def test_file_names_may_start_outside_of_the_folder(tmp_path):
    from openset.report.crops import Pixels

    (tmp_path / "val").mkdir()
    file = tmp_path / "val" / "7.jpg"
    file.write_bytes(b"")
    for folder, name in ((tmp_path, "images/val/7.jpg"), (tmp_path / "val", "images/val/7.jpg")):
        assert Pixels(folder).find(name) == file.resolve()
    assert Pixels(tmp_path).find("7.jpg") is None


def test_fewer_crops_if_asked():
    page = render(run(), crops=10)
    assert len(json.loads(_Tags(page).payload)["gallery"]["items"]) <= 10


# ---------------------------------------------------------------------- figures


def test_figures(tmp_path):
    written = figures(run(intervals=False), tmp_path / "figures", formats=("svg",))
    names = {path.name for path in written}
    assert {
        "precision-recall-known.svg",
        "precision-wilderness.svg",
        "oscr.svg",
        "roc.svg",
    } <= names
    assert any(name.startswith("slices-") for name in names)
    assert all(path.read_bytes().startswith(b"<svg") for path in written)


@pytest.mark.parametrize(("name", "head"), [("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_figures_for_print(tmp_path, monkeypatch, name, head):
    from openset.report import paper

    monkeypatch.setattr(paper, "slice_figures", lambda slices: [])
    monkeypatch.setattr(paper, "curve_figures", lambda models: curve_figures(models)[:1])
    (path,) = figures(run(intervals=False), tmp_path, formats=(name,))
    assert path.read_bytes().startswith(head)


def test_figures_of_an_unknown_format(tmp_path):
    with pytest.raises(UsageError, match="Did you mean 'svg'"):
        figures(run(), tmp_path, formats=("svgz",))
