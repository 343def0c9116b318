"""Photos and films: run and draw without a ground truth; what is broken is named, the rest done."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torchvision")

from PIL import Image

from openset.detectors import Found
from openset.formats import read_detections, write
from openset.tables import Detections, LogitLayout

GREY, ORANGE, BLUE = (153, 153, 153), (213, 94, 0), (0, 114, 178)


class Eye:
    """A detector that boxes the left half of every picture, and keeps its logits."""

    labels, layout = ("dog", "cat"), LogitLayout.SIGMOID

    def __init__(self):
        self.about = {"detector": "faster_rcnn", "options": {}}
        self.seen = []

    def found(self, images, keep):
        self.seen += [pixels.shape for pixels in images]
        return [self._one(pixels.shape[1] / 2, pixels.shape[0]) for pixels in images]

    def _one(self, width, height):
        box = np.array([[0, 0, width, height]], np.float32)
        logits = np.array([[2.0, -1.0]], np.float32)
        return Found(box, np.ones(1, np.float32), np.zeros(1, np.int64), logits)

    def head(self):
        return None


@pytest.fixture
def eye(monkeypatch):
    """`openset run` with that detector, whatever the model's name."""
    from openset.cli._source import Source

    one = Eye()
    monkeypatch.setattr(Source, "__call__", lambda _: one)
    return one


def photo(path, size=(40, 30), **more):
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", size, (250, 250, 250)).save(path, **more)


def three_boxes(path, **more):
    """On photos a and b: a sure dog, a cat that looks unknown, and something faint."""
    table = Detections(
        image=["a", "a", "b"],
        label=[0, 1, 1],
        box=[[2, 2, 10, 10], [20, 4, 15, 20], [1, 1, 30, 20]],
        score=[0.9, 0.6, 0.1],
        labels=("dog", "cat"),
        **{"unknownness": [0.1, 0.8, 0.9], **more},
    )
    write(table, path)


def colours(path):
    with Image.open(path) as picture:
        return {colour for _, colour in picture.convert("RGB").getcolors(1 << 24)}


def test_one_broken_photo_among_many_is_named_and_the_rest_is_done(openset, here, eye):
    for at in range(30):
        photo(here / "photos" / f"{at:02d}.png")
    (here / "photos" / "13.png").write_bytes(b"no picture")
    (here / "photos" / "IMG_7.HEIC").touch()
    done = openset("run", "model.pt", "photos")
    assert done.code == 0 and len(eye.seen) == 29
    assert "OS603" in done.err and "13.png" in done.err
    assert "OS392" in done.err and "IMG_7.HEIC" in done.err
    assert "next: openset draw photos.parquet --images photos" in done.out
    assert len(read_detections(here / "photos.parquet")) == 29
    again = openset("run", "model.pt", "photos")
    assert again.code == 2 and "photos.parquet is there already" in again.err
    strict = openset("run", "model.pt", "photos", "-o", "new.parquet", "--unreadable", "refuse")
    assert strict.code == 2 and not (here / "new.parquet").exists()
    drawn = openset("draw", "photos.parquet", "--images", "photos", "--limit", "40")
    assert drawn.code == 0 and "OS603" in drawn.err
    assert len([*(here / "photos-drawn").iterdir()]) == 29


def test_photos_that_are_all_broken_are_refused(openset, here, eye):
    (here / "a.png").write_bytes(b"no picture")
    done = openset("run", "model.pt", "a.png")
    assert done.code == 2 and "OS603" in done.err and not (here / "a.parquet").exists()


def test_a_ground_truth_without_a_place_to_write(openset, here, eye):
    (here / "gt.json").write_text("{}")
    done = openset("run", "model.pt", "gt.json")
    assert done.code == 2 and "-o FILE.parquet" in done.err


def test_a_photo_is_run_on_and_drawn_upright(openset, here, eye):
    turned = Image.Exif()
    turned[0x0112] = 6  # to be turned by a quarter
    photo(here / "a.jpg", exif=turned)
    assert openset("run", "model.pt", "a.jpg").code == 0
    assert eye.seen == [(40, 30, 3)]
    assert openset("draw", "a.parquet", "--images", "a.jpg").code == 0
    with Image.open(here / "a-drawn.png") as picture:
        assert picture.width < picture.height


def test_three_kinds_at_an_operating_point(openset, here):
    for name in "ab":
        photo(here / "photos" / f"{name}.png")
    three_boxes(here / "found.parquet")
    place = ("--unknown-from", "0.5", "--minimum-score", "0.2")
    told = openset(
        "draw", "found.parquet", "--images", "photos", *place, "-o", "out", "--json"
    ).json
    kinds = {name: [box["kind"] for box in boxes] for name, boxes in told["boxes"].items()}
    assert kinds == {"a.png": ["known", "unknown"], "b.png": ["background"]}
    assert told["boxes"]["a.png"][1]["unknownness"] == 0.8
    assert told["unknown_from"] == 0.5 and told["minimum_score"] == 0.2
    assert {ORANGE, BLUE} <= colours(here / "out" / "a.png")
    lower = openset(
        "draw", "found.parquet", "--images", "photos", "--minimum-score", "0.05",
        "--unknown-from", "33%", "-o", "sheet.png", "--json",
    ).json  # fmt: skip
    assert [box["kind"] for box in lower["boxes"]["b.png"]] == ["unknown"]
    assert lower["images"] == ["sheet.png"] and lower["unknown_from"] == 0.9
    few = openset("draw", "found.parquet", "--images", "photos", "--unknown-from", "10%")
    assert "too few boxes for a share of them to be unknown" in few.out


def test_a_contact_sheet_holds_all_photos(openset, here):
    for at in range(5):
        photo(here / "photos" / f"{at}.png", size=(40, 30 + at))
    write(Detections([0, 1], [0, 0], [[0, 0, 9, 9]] * 2, [0.9, 0.8], ("dog",)), here / "f.parquet")
    done = openset("draw", "f.parquet", "--images", "photos", "-o", "sheet.png")
    assert done.code == 0 and "wrote 5 images to sheet.png: 2 known" in done.out
    with Image.open(here / "sheet.png") as sheet:
        assert sheet.width > 3 * 480 and sheet.height > 2 * 360
    assert (
        openset("draw", "f.parquet", "--images", "photos", "-o", "s.png", "--limit", "999").code
        == 2
    )


def test_a_photo_of_its_own_with_its_evidence(openset, here):
    photo(here / "a.png")
    logits = {"logits": [[3.0, 0.0], [0.2, 0.1], [0.0, 0.1]], "layout": LogitLayout.SIGMOID}
    three_boxes(here / "found.parquet", unknownness=None, **logits)
    place = ("--unknownness", "max_logit", "--unknown-from", "-1")
    done = openset("draw", "found.parquet", "--images", "a.png", *place)
    assert done.code == 0 and (here / "found-drawn.png").is_file()
    known, unknown = done.out.splitlines()[-2:]
    assert known.split()[:3] == ["known", "dog", "0.90"] and "dog 0.95, cat 0.50" in known
    assert unknown.split()[0] == "unknown"
    energy = ("--unknownness", "energy", "--unknown-from", "50%")  # of sigmoids, its analogue
    assert openset("draw", "found.parquet", "--images", "a.png", *energy, "-o", "e.png").code == 0


def test_nothing_tells_unknown_from_known(openset, here):
    photo(here / "a.png")
    three_boxes(here / "found.parquet")
    done = openset("draw", "found.parquet", "--images", "a.png")
    assert (
        "OS387" in done.err and "0.73 or more" in done.err and ORANGE not in colours_of_boxes(here)
    )
    three_boxes(here / "called.parquet", unknownness=None)
    assert "OS387" in openset("draw", "called.parquet", "--images", "a.png").err


def colours_of_boxes(here):
    """Colours above the legend."""
    with Image.open(here / "found-drawn.png") as picture:
        part = picture.crop((0, 0, picture.width, 700))
        return {colour for _, colour in part.getcolors(1 << 24)}


MISTAKES = {
    "other photos": (("--images", "others"), "OS101"),
    "no unknownness": (
        ("--images", "a.png", "--unknown-from", "1"),
        "--unknownness names a scorer",
    ),
    "no number": (("--images", "a.png", "--unknown-from", "ten"), "a number or a share"),
    "a model": (("--images", "a.png", "--model", "yolo"), "--model names a detector of a run"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_said(case, openset, here):
    options, said = MISTAKES[case]
    photo(here / "a.png")
    photo(here / "others" / "z.png")
    held = {"unknownness": None} if case == "no unknownness" else {}
    three_boxes(here / "found.parquet", **held)
    done = openset("draw", "found.parquet", *options)
    assert done.code == 2 and said in " ".join(done.err.split())


def test_numbers_of_coco_are_names_of_files(openset, here):
    photo(here / "photos" / "000000000139.png")
    write(Detections([139], [0], [[0, 0, 9, 9]], [0.9], ("dog",)), here / "f.parquet")
    done = openset("draw", "f.parquet", "--images", "photos")
    assert done.code == 0 and "1 known" in done.out


class Film:
    """What OpenCV says of a film of so many frames, at ten a second."""

    there, stated = 25, 25

    def __init__(self, path):
        self.at = 0

    def get(self, what):
        return {"rate": 10.0, "count": float(self.stated)}[what]

    def grab(self):
        self.at += 1
        return self.at <= self.there

    def retrieve(self):
        return True, np.full((20, 30, 3), self.at, np.uint8)

    def release(self):
        pass


@pytest.fixture
def cv2(monkeypatch):
    """OpenCV as films use it, whose films are `Film`."""

    class Reader(Film):
        pass

    names = {"CAP_PROP_FPS": "rate", "CAP_PROP_FRAME_COUNT": "count", "VideoCapture": Reader}
    monkeypatch.setitem(sys.modules, "cv2", SimpleNamespace(**names))
    return Reader


def test_a_film_is_run_on_frame_by_frame(openset, here, eye, cv2):
    (here / "street.mp4").touch()
    done = openset("run", "model.pt", "street.mp4", "--every", "0.5")
    assert done.code == 0 and "OS391" not in done.err and len(eye.seen) == 5
    names = [f"street-{at:06d}" for at in (0, 5, 10, 15, 20)]
    assert sorted(path.stem for path in (here / "street-frames").glob("*.jpg")) == names
    assert read_detections(here / "street.parquet").image.tolist() == names
    assert openset("draw", "street.parquet", "--images", "street-frames", "-o", "s.jpg").code == 0


def test_a_film_that_ends(openset, here, eye, cv2):
    (here / "street.mp4").touch()
    cv2.there = 12
    done = openset("run", "model.pt", "street.mp4")
    assert done.code == 0 and "OS391" in done.err and "12 of 25 frames" in done.err
    assert len(eye.seen) == 2


def test_a_film_that_is_given_again_is_not_read_again(openset, here, eye, cv2):
    (here / "street.mp4").write_bytes(b"a film")
    cv2.there = 12
    command = ("run", "model.pt", "street.mp4", "-o", "street.parts", "--every", "0.3")
    assert "wrote 4 of 12 frames to street-frames" in openset(*command).err
    cv2.there = 0
    again = openset(*command)
    assert again.code == 0 and "made 0 of 1 parts" in again.out and "OS391" in again.err
    assert "street-frames has 4 of 12 frames already" in again.err
    other = openset(*command[:-1], "0.5")
    assert other.code == 2 and "street-frames holds something else" in other.err
    frame = here / "street-frames" / "street-000000.jpg"
    kept = frame.read_bytes()
    frame.unlink()
    assert "street-frames holds something else" in openset(*command).err
    photo(frame)
    assert "OS613" in openset(*command).err
    frame.write_bytes(kept)
    assert openset(*command).code == 0
    (here / "street-frames" / "film.json").write_text("[]")
    assert "street-frames holds something else" in openset(*command).err


def test_another_film_of_the_same_name(openset, here, eye, cv2):
    (here / "street.mp4").write_bytes(b"a film")
    command = ("run", "model.pt", "street.mp4", "-o", "found.parquet")
    assert openset(*command).code == 0
    (here / "street.mp4").write_bytes(b"another")
    assert "found-frames holds something else" in openset(*command).err
    assert openset(*command[:-1], "new.parquet").code == 0


def test_a_film_without_frames_and_without_opencv(openset, here, eye, cv2, monkeypatch):
    (here / "street.mp4").touch()
    cv2.there = 0
    done = openset("run", "model.pt", "street.mp4")
    assert done.code == 2 and "OS390" in done.err and not (here / "street-frames").exists()
    assert "OS602" in openset("run", "model.pt", "none.mp4").err
    monkeypatch.setitem(sys.modules, "cv2", None)
    assert "OS601" in openset("run", "model.pt", "street.mp4").err


def test_a_folder_of_photos_that_is_not_there_is_said_to_be_so(openset, here):
    done = openset("draw", "found.parquet", "--images", "PICTURES")
    assert done.code == 2 and "OS101" in done.err and "no such folder of images" in done.err
