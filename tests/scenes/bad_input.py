"""Everyday mistakes: good files, and every way to spoil them, with what should be said of it."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import openset
from openset.findings import InputError, Level

WARNING, NOTE = Level.WARNING, Level.NOTE
NAN, INFINITE = float("nan"), float("inf")
KNOWN = ["dog", "cat", "cow"]
BOXES = [[10, 20, 200, 150], [300, 40, 120, 260], [420, 200, 180, 240], [40, 220, 300, 200]]
CLASSES = [2, 5, 9, 14]  # dog, cat, zebra, unknown


def good():
    """Three images with four objects each, all of them found."""
    images = [
        {"id": 100 + i, "width": 640, "height": 480, "file_name": f"{i}.jpg"} for i in range(3)
    ]
    names = {2: "dog", 5: "cat", 7: "cow", 9: "zebra", 14: "unknown"}
    objects, found = [], []
    for image in images:
        for label, box in zip(CLASSES, BOXES, strict=True):
            here = {"image_id": image["id"], "category_id": label, "bbox": box}
            objects.append(here | {"id": len(objects) + 1, "area": box[2] * box[3], "iscrowd": 0})
            score = round(0.95 - 0.07 * len(found), 2)
            label = 14 if label == 9 else label
            found.append(
                here | {"category_id": label, "bbox": [x + 3 for x in box], "score": score}
            )
    categories = [{"id": key, "name": name} for key, name in names.items()]
    return {"images": images, "annotations": objects, "categories": categories}, found


@dataclass(frozen=True)
class Row:
    """One mistake.

    Attributes:
        what: The mistake in words.
        spoil: Changes (truth, found) in place, or returns replacements: documents, text or bytes.
        code: The code that must be among the findings.
        level: Its level.
        count: Its count.
        example: Part of its example.
        fix: Part of its fix.
        forced: Whether `force=True` gives a result.
        options: Further options of `evaluate`.
    """

    what: str
    spoil: Callable[[dict[str, Any], list[Any]], Any]
    code: str
    level: Level = Level.ERROR
    count: int = 1
    example: str = ""
    fix: str = ""
    forced: bool = True
    options: tuple[tuple[str, Any], ...] = ()


def every(key, value):
    """Change a key of every detection."""

    def spoil(truth, found):
        for record in found:
            record[key] = value(record[key]) if callable(value) else value

    return spoil


def one(key, value, at=4, of="found"):
    """Change a key of one record."""

    def spoil(truth, found):
        (found if of == "found" else truth[of])[at][key] = value

    return spoil


def box(at, value, of="found", row=4):
    """Change one coordinate of one record."""

    def spoil(truth, found):
        records = found if of == "found" else truth[of]
        records[row]["bbox"] = list(records[row]["bbox"])
        records[row]["bbox"][at] = value

    return spoil


def without(key, rows):
    """Remove a key from some detections."""

    def spoil(truth, found):
        for record in found[:rows]:
            del record[key]

    return spoil


def only(*labels):
    """Keep objects of some classes only."""

    def spoil(truth, found):
        kept = [a for a in truth["annotations"] if a["category_id"] in labels]
        truth["annotations"] = kept

    return spoil


def as_fractions(x):
    return [x[0] / 640, x[1] / 480, x[2] / 640, x[3] / 480]


def as_corners(x):
    return [x[0], x[1], x[0] + x[2], x[1] + x[3]]


def spellings(truth, found):
    truth["categories"].append({"id": 15, "name": "Unk"})
    truth["annotations"][3]["category_id"] = 15


def numbered(truth, found):
    places = {2: 0, 5: 1, 7: 2, 9: 3, 14: 4}
    for record in found:
        record["category_id"] = places[record["category_id"]]


def elsewhere(truth, found):
    for at, record in enumerate(found):
        record["bbox"] = [600.0, 2.0 + at, 30.0, 10.0]


def file(which, content):
    """Replace a whole file."""
    return lambda truth, found: {which: content}


def cut(which, keep=0.6):
    def spoil(truth, found):
        text = json.dumps(truth if which == "gt" else found)
        return {which: text[: int(keep * len(text))]}

    return spoil


def damaged_gzip(which):
    def spoil(truth, found):
        data = gzip.compress(json.dumps(truth if which == "gt" else found).encode(), mtime=0)
        return {which: data[: len(data) // 2]}

    return spoil


def latin(which):
    def spoil(truth, found):
        truth["categories"][0]["name"] = "chien d'été"
        found[0]["note"] = "été"
        text = json.dumps(truth if which == "gt" else found, ensure_ascii=False)
        return {which: text.encode("latin-1")}

    return spoil


def filmed(*videos):
    """Say which video each image is of; None for an image that does not say."""

    def spoil(truth, found):
        for image, video in zip(truth["images"], videos, strict=True):
            image |= {} if video is None else {"video": video}

    return spoil


def swapped(truth, found):
    return {"gt": found, "dt": truth}


BY_VIDEO = (("groups", "video"),)
ROWS = [
    # The seven everyday mistakes.
    Row("image ids of another data set", every("image_id", lambda i: i + 900), "OS403", count=12,
        example="image 1000, detection 0", fix="image ids or the file names"),
    Row("one image id not in the ground truth", one("image_id", 999), "OS403", WARNING,
        example="image 999, detection 4"),
    Row("category id not in the ground truth", every("category_id", 77), "OS306", count=12,
        example="category id 77", fix="category ids"),
    Row("one category id not in the ground truth", one("category_id", 77), "OS306", WARNING,
        example="detection 4"),
    Row("no score", without("score", 12), "OS107", count=12, example="record 0", forced=False),
    Row("no score in some", without("score", 3), "OS107", count=3, example="record 0",
        forced=False),
    Row("an empty list", file("dt", []), "OS402", count=0, fix="low score threshold"),
    Row("boxes normalised", every("bbox", as_fractions), "OS203",
        count=12, example="detection 0, box [0.0", fix="'xywh-norm'"),
    Row("corners given as sizes", every("bbox", as_corners), "OS204", count=9,
        example="detection 0", fix="boxes='xyxy'"),
    Row("truncated detections", cut("dt"), "OS102", forced=False),
    Row("truncated ground truth", cut("gt"), "OS102", forced=False),
    # Boxes and scores.
    Row("NaN box", box(1, NAN), "OS201", example="detection 4, box ["),
    Row("infinite box", box(2, INFINITE), "OS201", example="detection 4"),
    Row("NaN box in the ground truth", box(0, NAN, "annotations"), "OS201",
        example="annotation id 5"),
    Row("NaN score", one("score", NAN), "OS202", example="detection 4", forced=False),
    Row("infinite score", one("score", INFINITE), "OS202", example="score inf", forced=False),
    Row("negative width", box(2, -20.0), "OS205", example="detection 4", fix="boxes="),
    Row("negative height in the ground truth", box(3, -20.0, "annotations"), "OS205",
        example="annotation id 5"),
    Row("no width", box(2, 0.0), "OS206", WARNING, example="detection 4"),
    Row("scores in percent", every("score", lambda s: 100 * s), "OS208", count=12,
        example="score 95", fix="divide the scores by 100"),
    Row("logits", every("score", lambda s: 8 * s - 4), "OS208", count=10,
        fix="sigmoid or softmax"),
    Row("all scores equal", every("score", 1.0), "OS209", WARNING, count=12),
    Row("score as text", one("score", "0.9"), "OS108", example="record 4", forced=False),
    Row("three numbers in a box", one("bbox", [1, 2, 3]), "OS108", example="record 4",
        forced=False),
    Row("a box is null", one("bbox", None), "OS1", forced=False),
    Row("resized boxes", elsewhere, "OS410", count=12, fix="boxes="),
    # Ground truth.
    Row("duplicate annotation ids", one("id", 1, of="annotations"), "OS406", WARNING,
        example="annotation id 1"),
    Row("annotation id 0", one("id", 0, of="annotations"), "OS407", NOTE,
        example="annotation id 0"),
    Row("no objects", lambda t, f: t.update(annotations=[]), "OS401", count=3,
        example="image 0.jpg"),
    Row("no images", lambda t, f: t.update(annotations=[], images=[]), "OS401", count=0,
        example="no images"),
    Row("an annotation of an absent image", one("image_id", 55, of="annotations"), "OS112",
        example="55", forced=False),
    Row("an annotation of an absent category", one("category_id", 55, of="annotations"), "OS112",
        example="55", forced=False),
    Row("an image twice", one("id", 100, at=1, of="images"), "OS111", example="100",
        forced=False),
    Row("no unknown object", only(2, 5), "OS302", WARNING, count=6, fix="known="),
    Row("no known object", only(9, 14), "OS303", WARNING, count=6, fix="known="),
    Row("a known class without objects", only(2, 9, 14), "OS304", NOTE, count=2, example="cat"),
    Row("several spellings of unknown", spellings, "OS311", WARNING, count=2,
        example="'Unk', 'unknown'", fix="one spelling"),
    Row("roles not stated", lambda t, f: t["categories"].__setitem__(4, {"id": 14, "name": "x"}),
        "OS301", example="dog, cat", fix="known=", forced=False, options=(("known", None),)),
    Row("known labels of another data set", lambda t, f: None, "OS310", count=2,
        example="'lion'", fix="known=", options=(("known", ["lion", "tiger"]),)),
    # Labels of the detections.
    Row("leaked classes", one("category_id", 9), "OS305", WARNING, example="detection 4",
        fix="leaked='unknown'"),
    Row("leaked classes, dropped", one("category_id", 9), "OS305", WARNING,
        example="detection 4", options=(("leaked", "drop"),)),
    Row("categories numbered from 0", numbered, "OS307", count=12, example="category id 0",
        fix="category_ids='index'"),
    Row("nothing labelled unknown", every("category_id", 2), "OS309", NOTE, count=12),
    # Groups of images.
    Row("an image without a group", filmed(1, 1, None), "OS413", example="image 2.jpg",
        fix="force=True", options=BY_VIDEO),
    Row("a pattern that fits no name", lambda t, f: None, "OS413", count=3,
        example="image 0.jpg", options=(("groups", r"take(\d)"),)),
    Row("one group only", filmed("a", "a", "a"), "OS414", WARNING, count=3,
        example="image 100, group 'a'", fix="leave out groups=", options=BY_VIDEO),
    Row("every image is a group", filmed(1, 2, 3), "OS416", NOTE, count=3,
        example="image 100, group '1'", options=BY_VIDEO),
    Row("a group column that is not there", filmed(1, 1, 2), "OS415", count=3, forced=False,
        example="columns: video", options=(("groups", "vidoe"),)),
    Row("a group column that says nothing of images", one("take", 7, at=1, of="annotations"),
        "OS415", forced=False, example="image 100", options=(("groups", "take"),)),
    # Files.
    Row("detections given as ground truth", lambda t, f: {"gt": f}, "OS105", forced=False,
        fix="ground truth first"),
    Row("ground truth given as detections", lambda t, f: {"dt": t}, "OS106", forced=False,
        fix="ground truth first"),
    Row("both swapped", swapped, "OS105", forced=False, fix="ground truth first"),
    Row("not UTF-8 (detections)", latin("dt"), "OS102", forced=False),
    Row("not UTF-8 (ground truth)", latin("gt"), "OS102", forced=False),
    Row("deep nesting (detections)", file("dt", "[" * 100_000), "OS1", forced=False),
    Row("deep nesting (ground truth)", file("gt", "[" * 100_000), "OS1", forced=False),
    Row("deep nesting (object)", file("gt", '{"images":' * 100_000), "OS1", forced=False),
    Row("deep nesting in a known key",
        file("dt", '[{"image_id": 100, "x": ' + "[" * 100_000), "OS1", forced=False),
    Row("binary garbage", file("dt", bytes(range(256)) * 8), "OS104", forced=False, fix="format"),
    Row("binary garbage (ground truth)", file("gt", b"\x00\x01\x02\x03" * 9), "OS104",
        forced=False, fix="format"),
    Row("an empty file", file("dt", b""), "OS102", forced=False),
    Row("an empty ground truth file", file("gt", b""), "OS102", forced=False),
    Row("damaged gzip", damaged_gzip("dt"), "OS102", forced=False),
    Row("damaged gzip (ground truth)", damaged_gzip("gt"), "OS102", forced=False),
    Row("a number", file("dt", "3"), "OS104", forced=False),
    Row("null", file("gt", "null"), "OS104", forced=False),
    Row("a list of numbers", file("dt", "[1, 2, 3]"), "OS104", forced=False),
    Row("a list of lists", file("dt", "[[1, 2, 3]]"), "OS104", forced=False),
    Row("images is not a list", lambda t, f: t.update(images={"id": 1}), "OS108", forced=False),
    Row("no images key", lambda t, f: t.pop("images") and None, "OS107", forced=False),
]  # fmt: skip


def write(path, content):
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def files(row, folder):
    truth, found = copy.deepcopy(good())
    returned = row.spoil(truth, found)
    changed = returned if isinstance(returned, dict) else {}
    gt, dt = changed.get("gt", truth), changed.get("dt", found)
    return write(folder / "gt.json", gt), write(folder / "dt.json", dt)


def run(row, folder, **more):
    options = {"known": KNOWN, "intervals": False} | dict(row.options) | more
    try:
        return openset.evaluate(*files(row, folder), **options), ()
    except InputError as error:
        assert str(error)
        return None, error.findings


def chosen(row, findings):
    matching = [f for f in findings if f.code.startswith(row.code)]
    assert matching, f"{row.code} is not among {[str(f) for f in findings]}"
    return matching[0]
