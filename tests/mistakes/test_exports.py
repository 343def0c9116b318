"""Exports of real tools and what happens to them: spreadsheets, scripts, loaders, downloads."""

from __future__ import annotations

import gzip
import io
import json
import zipfile

import numpy as np
import pytest

from scenes.mistakes import (
    EVALUATE,
    IDS,
    KNOWN,
    NAMES,
    UNKNOWN,
    Mistake,
    answered,
    codes,
    each,
    good,
    nothing,
)

CSV = ("evaluate", "gt.json", "dt.csv", "--known", ",".join(KNOWN), "--no-intervals")
LINES = (*CSV[:2], "dt.jsonl", *CSV[3:])
TEXTS = (*CSV[:2], "labels", *CSV[3:])
HEAD = ("image_id", "label", "x", "y", "w", "h", "score")


def cells(world, head=HEAD):
    """The detections as rows of words."""
    rows = [
        [one["image_id"], NAMES[one["category_id"]], *one["bbox"], one["score"]] for one in world.dt
    ]
    return [list(head), *(list(map(str, row)) for row in rows)]


def sheet(change=lambda rows: rows, separator=",", end="\n", encoding="utf-8"):
    """The detections as a table, changed as spreadsheets change it."""

    def spoil(world):
        text = end.join(separator.join(row) for row in change(cells(world))) + end
        world.files["dt.csv"] = text.encode(encoding)

    return spoil


def column(at, change):
    return lambda rows: [
        rows[0],
        *([*row[:at], change(row[at]), *row[at + 1 :]] for row in rows[1:]),
    ]


def headed(*head):
    return lambda rows: [list(head), *rows[1:]]


def in_order_by_itself(at):
    """A column that was sorted without the others."""

    def change(rows):
        values = sorted(row[at] for row in rows[1:])
        return [
            rows[0],
            *([*r[:at], v, *r[at + 1 :]] for r, v in zip(rows[1:], values, strict=True)),
        ]

    return change


def commas(rows):
    return [
        rows[0],
        *([row[0], row[1], *(c.replace(".", ",") for c in row[2:])] for row in rows[1:]),
    ]


def dated(rows):
    return [row if at % 50 != 1 else [*row[:-1], "19-Aug"] for at, row in enumerate(rows)]


def lines(world, more="", at=0):
    """The detections as lines of JSON, with something else among them."""
    held = [json.dumps(one) for one in world.dt]
    return "\n".join([*held[:at], more, *held[at:]] if more else held)


def predictions(change=lambda row: row, **files):
    """Text files of YOLO with confidences, changed, and what lies beside them."""

    def spoil(world):
        number, held = {key: at for at, key in enumerate(NAMES)}, {}
        names = {one["id"]: one["file_name"][:-4] for one in world.gt["images"]}
        for one in world.dt:
            (x, y, w, h), (across, down) = one["bbox"], world.size(one)
            box = [(x + w / 2) / across, (y + h / 2) / down, w / across, h / down]
            row = change([number[one["category_id"]], *box, one["score"]])
            held.setdefault(names[one["image_id"]], []).append(" ".join(map(str, row)))
        world.files |= {f"labels/{name}.txt": "\n".join(rows) for name, rows in held.items()}
        world.files |= {f"labels/{name}.txt": text for name, text in files.items()}

    return spoil


def corners(rows):
    return [
        rows[0],
        *(
            [
                *r[:4],
                *(f"{float(a) + float(b):.2f}" for a, b in zip(r[2:4], r[4:6], strict=True)),
                r[6],
            ]
            for r in rows[1:]
        ),
    ]


def beside(name, content):
    def spoil(world):
        world.files[name] = content(world) if callable(content) else content

    return spoil


def text(change):
    """The file of detections as text, or bytes, changed."""
    return lambda world: setattr(world, "dt", change(json.dumps(world.dt)))


def packed_sheet(world):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return file.getvalue()


def by_image(world):
    """Arrays by image, as evaluation libraries take them."""
    held = {}
    for one in world.dt:
        held.setdefault(one["image_id"], []).append(one)
    return [
        {
            "image_id": key,
            "boxes": [one["bbox"] for one in some],
            "scores": [one["score"] for one in some],
            "labels": [one["category_id"] for one in some],
        }
        for key, some in held.items()
    ]


def dense(world):
    new = {one["id"]: at + 1 for at, one in enumerate(world.gt["images"])}
    for one in world.gt["images"]:
        one["id"] = new[one["id"]]
    for one in (*world.gt["annotations"], *world.dt):
        one["image_id"] = new[one["image_id"]]


def other_split(world):
    """Detections of the validation images on the ground truth of the test images."""
    other = good(seed=1)
    dense(other)
    dense(world)
    world.dt = other.dt


def truth_as_detections(scored):
    def spoil(world):
        rng = np.random.default_rng(0)
        world.dt = [
            {
                "image_id": one["image_id"],
                "category_id": one["category_id"] if one["category_id"] in IDS[:5] else UNKNOWN,
                "bbox": one["bbox"],
                "score": round(float(rng.uniform(0.2, 1)), 3) if scored else 1.0,
            }
            for one in world.gt["annotations"]
        ]

    return spoil


def relabelled(order):
    """Ids by the places of names in another order."""

    def spoil(world):
        names = sorted(NAMES.values(), key=order)
        new = {key: [*NAMES][names.index(name)] for key, name in NAMES.items()}
        for one in world.dt:
            one["category_id"] = new[one["category_id"]]

    return spoil


def category(name, **more):
    return lambda world: world.gt["categories"].append({"name": name, "id": 60} | more)


def capitals(world):
    """Half of the cats are of a category of another case."""
    category("Cat")(world)
    for one in world.gt["annotations"][::2]:
        if one["category_id"] == 17:
            one["category_id"] = 60


def stretched(b, s):
    return [b[0] * 1333 / s[0], b[1] * 800 / s[1], b[2] * 1333 / s[0], b[3] * 800 / s[1]]


def sizes_exchanged(b, s):
    return [b[0] / s[1], b[1] / s[0], b[2] / s[1], b[3] / s[0]]


def turned_portraits(b, s):
    """The picture lies on its side where it is higher than wide."""
    return [b[1], s[0] - b[0] - b[2], b[3], b[2]] if s[1] > s[0] else b


def one_image(world):
    for one in world.dt:
        one["image_id"] = world.gt["images"][-1]["id"]


def batches_backwards(size):
    def spoil(world):
        ids = [one["id"] for one in world.gt["images"]]
        new = {}
        for at in range(0, len(ids), size):
            part = ids[at : at + size]
            new |= dict(zip(part, part[::-1], strict=True))
        for one in world.dt:
            one["image_id"] = new[one["image_id"]]

    return spoil


def of_images(rows):
    """Detections of some images only."""

    def spoil(world):
        kept = {one["id"] for one in world.gt["images"][rows]}
        world.dt = [one for one in world.dt if one["image_id"] in kept]

    return spoil


def of_names(step):
    """Detections of every so-manieth image in the order of file names."""

    def spoil(world):
        images = sorted(world.gt["images"], key=lambda one: one["file_name"])
        kept = {one["id"] for one in images[::step]}
        world.dt = [one for one in world.dt if one["image_id"] in kept]

    return spoil


def first_images_again(world):
    kept = {one["id"] for one in world.gt["images"][:6]}
    world.dt += [dict(one) for one in world.dt if one["image_id"] in kept]


def first_images_again_in_half_precision(world):
    kept = {one["id"] for one in world.gt["images"][:6]}
    for one in [one for one in world.dt if one["image_id"] in kept]:
        box = np.array(one["bbox"], np.float16).tolist()
        world.dt.append(one | {"bbox": box, "score": float(np.float16(one["score"]))})


def first_images_with_other_boxes(world):
    """Such as those of a second head, which finds other things there."""
    kept = {one["id"] for one in world.gt["images"][:6]}
    for one in [one for one in world.dt if one["image_id"] in kept]:
        x, y, w, h = one["bbox"]
        world.dt.append(one | {"bbox": [x + w, y, w, h]})


def not_suppressed_at_all(world):
    """So many boxes around each that some are within a pixel of another."""
    rng = np.random.default_rng(3)
    for one in list(world.dt):
        x, y, w, h = one["bbox"]
        for _ in range(8):
            by = rng.normal(0, 0.015, 4) * [w, h, w, h]
            score = one["score"] * rng.uniform(0.9, 1)
            box = (np.array([x, y, w, h]) + by).round(2).tolist()
            world.dt.append(one | {"bbox": box, "score": round(score, 4)})


def not_suppressed(world):
    rng = np.random.default_rng(3)
    for one in list(world.dt):
        for _ in range(4):
            box = np.array(one["bbox"]) * (1 + rng.normal(0, 0.01, 4))
            score = one["score"] * rng.uniform(0.7, 1)
            world.dt.append(one | {"bbox": box.round(2).tolist(), "score": round(score, 4)})


def suppressed_softly(world):
    """The same boxes, with scores that fall by the overlap."""
    rng = np.random.default_rng(3)
    for one in list(world.dt):
        for _ in range(2):
            box = np.array(one["bbox"]) * (1 + rng.normal(0, 0.01, 4))
            score = one["score"] * rng.uniform(0.02, 0.2)
            world.dt.append(one | {"bbox": box.round(2).tolist(), "score": round(score, 4)})


def tiles(world):
    """Pictures were cut into a left and a right half, and boxes are those of the halves."""
    for one in world.dt:
        half, (x, y, w, h) = world.size(one)[0] / 2, one["bbox"]
        x -= half if x > half else 0
        one["bbox"] = [round(x, 2), y, round(min(w, half - x), 2), h]


def wide_tiles(world, side=470):
    """Pictures were cut into tiles of most of their width, with many boxes on each."""
    rng = np.random.default_rng(0)
    for one in world.dt:
        x, y, w, h = one["bbox"]
        x -= side if x + w / 2 > side else 0
        x, end = max(x, 0), min(x + w, side)
        one["bbox"] = [round(x, 2), y, round(max(end - x, 1), 2), h]
    world.dt += [
        one | {"bbox": box, "score": 0.01}
        for one in {one["image_id"]: one for one in world.dt}.values()
        for box in rng.uniform(0, 80, (30, 4)).round(2).tolist()
    ]


def names(change):
    def spoil(world):
        name = {one["id"]: change(one["file_name"]) for one in world.gt["images"]}
        for one in world.dt:
            one["image_id"] = name[one["image_id"]]

    return spoil


def every_second_text(world):
    for one in world.dt[::2]:
        one["image_id"] = str(one["image_id"])


SHEETS = [
    Mistake("a table that is right", sheet(), "accepted", CSV),
    Mistake(
        "byte order mark and line ends of Windows",
        sheet(end="\r\n", encoding="utf-8-sig"),
        "accepted",
        CSV,
    ),
    Mistake("line ends of old Macs", sheet(end="\r"), "accepted", CSV),
    Mistake(
        "semicolons and decimal commas",
        sheet(lambda rows: [[c.replace(".", ",") for c in r] for r in rows], ";"),
        "refused",
        CSV,
    ),
    Mistake("semicolons", sheet(separator=";"), "accepted", CSV),
    Mistake("tabs, and still called CSV", sheet(separator="\t"), "accepted", CSV),
    Mistake(
        "a first column of row numbers",
        sheet(lambda rows: [["", *rows[0]], *([str(at), *r] for at, r in enumerate(rows[1:]))]),
        "accepted",
        CSV,
    ),
    Mistake(
        "a line that names the separator", sheet(lambda rows: [["sep="], *rows]), "refused", CSV
    ),
    Mistake("empty lines at the end", sheet(lambda rows: [*rows, [], []]), "accepted", CSV),
    Mistake(
        "empty rows at the end", sheet(lambda rows: [*rows, [""] * 7, [""] * 7]), "accepted", CSV
    ),
    Mistake(
        "a row of sums at the end",
        sheet(lambda rows: [*rows, ["total", "", "", "", "", "", "200.5"]]),
        "refused",
        CSV,
    ),
    Mistake("thousands apart in ids", sheet(column(0, lambda c: f'"{int(c):,}"')), "refused", CSV),
    Mistake("ids as powers of ten", sheet(column(0, lambda c: f"{int(c):.1E}")), "refused", CSV),
    Mistake("a head in capitals", sheet(headed(*(h.upper() for h in HEAD))), "accepted", CSV),
    Mistake(
        "names apart by single quotes", sheet(column(1, lambda c: f"'{c}'")), "refused OS306", CSV
    ),
    Mistake("blanks around names", sheet(column(1, lambda c: f" {c} ")), "accepted", CSV),
    Mistake(
        "scores with a percent sign",
        sheet(column(6, lambda c: f"{100 * float(c):.0f}%")),
        "refused",
        CSV,
    ),
    Mistake("corners under x, y, w, h", sheet(corners), "refused OS204|OS215", CSV, says="xyxy"),
    Mistake(
        "corners under their names",
        sheet(
            lambda rows: headed("image_id", "label", "xmin", "ymin", "xmax", "ymax", "score")(
                corners(rows)
            )
        ),
        "accepted",
        CSV,
    ),
    Mistake(
        "sizes under names of corners",
        sheet(headed("image_id", "label", "xmin", "ymin", "xmax", "ymax", "score")),
        "refused",
        CSV,
    ),
    Mistake("ids sorted by themselves", sheet(in_order_by_itself(0)), "accepted", CSV),
    Mistake("names sorted by themselves", sheet(in_order_by_itself(1)), "accepted", CSV),
    Mistake(
        "a workbook under another name",
        beside("dt.csv", packed_sheet),
        "refused OS104",
        CSV,
        says="save the sheet as CSV",
    ),
    Mistake("decimal commas", sheet(commas, ";"), "refused OS108", CSV, says="decimal comma"),
    Mistake("numbers as dates", sheet(dated), "refused OS108", CSV, says="into dates"),
    Mistake("no header", sheet(lambda rows: rows[1:]), "refused OS104", CSV, says="first line"),
    Mistake(
        "a pointer of Git LFS",
        beside("dt.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n"),
        "refused OS104",
        CSV,
        says="git lfs pull",
    ),
    Mistake(
        "a progress bar in lines of JSON",
        beside("dt.jsonl", lambda w: lines(w, "12%|##   | 5/40 [00:12<01:42]", 30)),
        "refused OS102",
        LINES,
        says="line 31",
    ),
    Mistake(
        "lines of JSON that end within one",
        beside("dt.jsonl", lambda w: lines(w)[:-9]),
        "refused OS102",
        LINES,
        says="is no JSON object",
    ),
    Mistake(
        "a web page under another name",
        beside("dt.csv", "<html><table><tr><td>1</td></tr></table></html>"),
        "refused",
        CSV,
    ),
    Mistake("a table of UTF-16", sheet(separator="\t", encoding="utf-16"), "refused", CSV),
    Mistake(
        "a table cut in a row",
        lambda w: [sheet()(w), w.files.update({"dt.csv": w.files["dt.csv"][:-9]})],
        "refused",
        CSV,
    ),
    Mistake(
        "supercategories for names",
        sheet(
            column(1, lambda c: "animal" if c in ("cat", "dog", "horse", "sheep") else "vehicle")
        ),
        "refused OS306",
        CSV,
    ),
]
DOCUMENTS = [
    Mistake("names for category ids", each("category_id", lambda c: NAMES[c]), "refused OS108"),
    Mistake("ids as numbers and as text", every_second_text, "accepted"),
    Mistake("half a download", text(lambda t: t[: len(t) // 2]), "refused OS102"),
    Mistake(
        "half of a packed file",
        text(lambda t: gzip.compress(t.encode(), mtime=0)[:2000]),
        "refused",
    ),
    Mistake(
        "a packed file with a tail",
        text(lambda t: gzip.compress(t.encode(), mtime=0) + b"tail"),
        "refused OS102",
    ),
    Mistake("points removed", text(lambda t: t.replace(".", "")), "refused"),
    Mistake("commas for points", text(lambda t: t.replace("0.", "0,")), "refused"),
    Mistake("single quotes", text(lambda t: t.replace('"', "'")), "refused OS102"),
    Mistake("coded twice", text(json.dumps), "refused"),
    Mistake(
        "numbers of NumPy",
        text(lambda t: t.replace('"score": ', '"score": np.float64(').replace("}", ")}")),
        "refused OS102",
    ),
    Mistake("comments", text(lambda t: "// detections\n" + t), "refused"),
    Mistake("an answer of a server", text(lambda t: '{"detail": "Not found"}'), "refused"),
    Mistake("an empty file", text(lambda t: ""), "refused"),
    Mistake("blanks", text(lambda t: " \n\n"), "refused"),
    Mistake("null", text(lambda t: "null"), "refused"),
    Mistake("an empty list", text(lambda t: "[]"), "refused OS402"),
    Mistake("arrays by image", lambda w: setattr(w, "dt", by_image(w)), "refused OS107"),
    Mistake(
        "masks without boxes",
        lambda w: [
            o.update(segmentation={"size": [1, 1], "counts": "0"}) or o.pop("bbox") for o in w.dt
        ],
        "refused OS107",
    ),
    Mistake("a pickle", text(lambda t: b"\x80\x04\x95\x00\x00\x00\x00]\x94."), "refused"),
    Mistake("a box as text", each("bbox", lambda b: ",".join(map(str, b))), "refused OS108"),
    Mistake(
        "a box as an object",
        each("bbox", lambda b: dict(zip("xywh", b, strict=True))),
        "refused OS108",
    ),
    Mistake("null in boxes", lambda w: w.dt[5]["bbox"].__setitem__(2, None), "refused"),
    Mistake(
        "truth and detections exchanged",
        nothing,
        "refused",
        ("evaluate", "dt.json", "gt.json", "--known", "cat,dog"),
    ),
    Mistake("ids with a point, as text", each("image_id", lambda i: f"{i}.0"), "accepted"),
    Mistake("suffixes in capitals", names(lambda n: n.replace(".jpg", ".JPG")), "accepted"),
    Mistake(
        "suffixes of another format",
        names(lambda n: n.replace(".jpg", ".png")),
        "accepted",
    ),
    Mistake("names below a dot", names(lambda n: "./" + n), "accepted"),
    Mistake("names of tiles", names(lambda n: n[:-4] + "_0_1.jpg"), "refused"),
    Mistake("names of augmented pictures", names(lambda n: n[:-4] + "_flip"), "refused"),
]
DETECTORS = [
    Mistake("another split", other_split, "refused OS424"),
    Mistake("the ground truth as detections", truth_as_detections(False), "warned OS436"),
    Mistake("the ground truth with scores", truth_as_detections(True), "warned OS436"),
    Mistake("classes by the alphabet", relabelled(None), "refused OS316"),
    Mistake("classes by their length", relabelled(len), "warned OS305"),
    Mistake("classes of two cases", capitals, "warned OS313"),
    Mistake("stretched to 1333 x 800", each("bbox", stretched), "refused OS215|OS424"),
    Mistake("shares of exchanged sizes", each("bbox", sizes_exchanged), "refused"),
    Mistake(
        "height before width", each("bbox", lambda b: [b[0], b[1], b[3], b[2]]), "refused OS215"
    ),
    Mistake("portraits on their side", each("bbox", turned_portraits), "refused", says="turned"),
    Mistake(
        "cells of a feature map",
        each("bbox", lambda b: [x / 32 for x in b]),
        "refused OS215",
        says="scaled",
    ),
    Mistake(
        "coordinates of eight bits",
        each("bbox", lambda b: [round(x) % 256 for x in b]),
        "refused OS438",
    ),
    Mistake(
        "x2, y2 before x1, y1",
        each("bbox", lambda b: [b[0] + b[2], b[1] + b[3], b[0], b[1]]),
        "refused",
    ),
    Mistake("all boxes on the last image", one_image, "refused OS435"),
    Mistake("batches backwards", batches_backwards(4), "refused OS448"),
    Mistake("every fourth image", of_images(slice(None, None, 4)), "warned OS426"),
    Mistake("every third image in the order of names", of_names(3), "warned OS426"),
    Mistake("without the last batch", of_images(slice(0, 92)), "warned OS426"),
    Mistake("the first images again", first_images_again, "warned OS210"),
    Mistake(
        "the first images again in half precision",
        first_images_again_in_half_precision,
        "warned OS217",
        says="distributed sampler",
    ),
    Mistake("other boxes on the first images", first_images_with_other_boxes, "accepted"),
    Mistake("not suppressed", not_suppressed, "warned OS437", says="two epochs"),
    Mistake("not suppressed at all", not_suppressed_at_all, "warned OS437", says="suppression"),
    Mistake("suppressed softly", suppressed_softly, "accepted"),
    Mistake(
        "scores from one half",
        lambda w: setattr(w, "dt", [o for o in w.dt if o["score"] >= 0.5]),
        "warned OS218",
        says="no score is below 0.50",
    ),
    Mistake(
        "scores from one half, as asked for",
        lambda w: setattr(w, "dt", [o for o in w.dt if o["score"] >= 0.5]),
        "accepted",
        ("--minimum-score", "0.5"),
    ),
    Mistake(
        "scores are ranks",
        lambda w: [o.update(score=at) for at, o in enumerate(w.dt)],
        "refused OS208",
    ),
    Mistake("boxes of tiles", tiles, "refused OS438"),
]


TEXT_FILES = [
    Mistake("predictions of YOLO", predictions(), "warned OS340", TEXTS),
    Mistake(
        "predictions with the classes beside them",
        predictions(classes="\n".join(NAMES.values())),
        "accepted",
        TEXTS,
    ),
    Mistake(
        "predictions with the confidence first",
        predictions(lambda row: [row[0], row[5], *row[1:5]]),
        "refused OS439",
        TEXTS,
        says="confidence",
    ),
    Mistake(
        "predictions with corners",
        predictions(
            lambda r: [
                r[0],
                r[1] - r[3] / 2,
                r[2] - r[4] / 2,
                r[1] + r[3] / 2,
                r[2] + r[4] / 2,
                r[5],
            ]
        ),
        "refused OS204",
        TEXTS,
        says="x1 y1 x2 y2",
    ),
]


@pytest.mark.parametrize("case", TEXT_FILES, ids=str)
def test_text_files(case, here, openset):
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize("case", SHEETS, ids=str)
def test_a_table(case, here, openset):
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize("case", DOCUMENTS, ids=str)
def test_a_document(case, here, openset):
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize("case", DETECTORS, ids=str)
def test_a_detector(case, here, openset):
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize(("side", "refused"), [(470, True), (2000, False)])
def test_boxes_of_tiles_are_told_where_few_objects_end_beyond_them(
    side, refused, tmp_path, openset
):
    """Some images alone would not tell: they are few, since each has many boxes."""
    world = good(400)
    wide_tiles(world, side)
    world.write(tmp_path)
    assert ("OS438" in codes(openset(*EVALUATE, "--json").json)) == refused
