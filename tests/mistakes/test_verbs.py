"""Mistakes with the other verbs: what is read, written, compared, built and drawn."""

from __future__ import annotations

import gzip
import io
import json
import zipfile

import numpy as np
import pytest

from scenes.mistakes import (
    KNOWN,
    Mistake,
    answered,
    nothing,
    with_file,
)

TOML = """
summary = "mine"
[classes]
known = ["person", "cat"]
[sources.all]
path = ["gt.json"]
[splits.test]
kind = "test"
source = "all"
select = [{ annotated = true }]
"""


def toml(old="", new=""):
    assert old in TOML
    return with_file("mine.toml", TOML.replace(old, new) if old else TOML)


BUILD = ("build", "mine.toml", "--source", ".", "-o", "built")
CHECK = ("check", "gt.json", "dt.json", "--known", ",".join(KNOWN))


def raw(gt=None, dt=None):
    def spoil(world):
        world.gt = world.gt if gt is None else gt
        world.dt = world.dt if dt is None else dt

    return spoil


def text(change, of="dt"):
    """The file as text, changed."""

    def spoil(world):
        setattr(world, of, change(json.dumps(getattr(world, of))))

    return spoil


def bomb(size=1 << 31):
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as file:
        for _ in range(64):
            file.write(b"[" + b" " * (1 << 22))
    return buffer.getvalue()


def claims_gigabytes():
    """An archive whose one array has a header of gigabytes, and no data."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 30, 6)}
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("logits_k.npy", header.getvalue())
        archive.writestr("logits_u.npy", header.getvalue())
        archive.writestr("labels_k.npy", header.getvalue())
    return file.getvalue()


def pickled():
    file = io.BytesIO()
    np.savez(file, logits_k=np.array([{}], object), labels_k=[0], logits_u=[[1.0]])
    return file.getvalue()


def on(key, value, of="dt", at=3):
    def spoil(world):
        (world.dt if of == "dt" else world.gt[of])[at][key] = value

    return spoil


def box(at, value, of="dt", row=3):
    def spoil(world):
        (world.dt if of == "dt" else world.gt[of])[row]["bbox"][at] = value

    return spoil


def many_broken(world):
    for one in world.dt[: len(world.dt) * 2 // 3]:
        one["bbox"][2] = -5.0


YOLO = {"y/data.yaml": "names: [cat, dog]\nval: images\n", "y/labels/a.txt": "0 0.5 0.5 0.2 0.2\n"}


def yolo(**changes):
    def spoil(world):
        world.files |= YOLO | {
            "y/" + key.replace("__", "/").replace("_", "."): value for key, value in changes.items()
        }

    return spoil


def sized(what, answer, **changes):
    """A case of YOLO files that say the sizes of their images."""
    spoil = yolo(sizes_csv="image,width,height\na,100,80\n", **changes)
    argv = ("convert", "y/data.yaml", "-o", "o.json", "--sizes", "y/sizes.csv")
    return Mistake(f"convert YOLO of {what}", spoil, answer, argv)


VOC = """<annotation><filename>a.jpg</filename><size><width>100</width><height>80</height></size>
<object><name>cat</name><bndbox><xmin>{}</xmin><ymin>2</ymin><xmax>30</xmax><ymax>40</ymax></bndbox>
</object></annotation>"""


FILES = [
    Mistake(
        "detections are a web page",
        raw(dt="<!doctype html><html><body>404</body></html>"),
        "refused OS104",
    ),
    Mistake(
        "detections are a pointer to large files",
        raw(dt="version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12345\n"),
        "refused OS104",
    ),
    Mistake(  # with their scores: read as what they are
        "detections under a key", lambda w: setattr(w, "dt", {"annotations": w.dt}), "accepted"
    ),
    Mistake(
        "detections by image",
        lambda w: setattr(w, "dt", {str(one["image_id"]): one for one in w.dt}),
        "refused",
    ),
    Mistake(
        "detections a record per line",
        lambda w: setattr(w, "dt", "\n".join(map(json.dumps, w.dt))),
        "accepted",
    ),
    Mistake(
        "the same file twice",
        nothing,
        "refused OS106",
        ("evaluate", "gt.json", "gt.json", "--known", "cat,dog"),
    ),
    Mistake("a comma too many", text(lambda t: t[:-1] + ",]"), "refused OS102"),
    Mistake(
        "two lists in one file",
        text(lambda t: t + t),
        "refused OS102",
        says="a second JSON document begins",
    ),
    Mistake("a byte order mark", text(lambda t: "\ufeff" + t), "accepted"),
    Mistake("UTF-16", text(lambda t: t.encode("utf-16")), "refused"),
    Mistake(
        "packed without saying so", text(lambda t: gzip.compress(t.encode(), mtime=0)), "accepted"
    ),
    Mistake(
        "packed twice",
        text(lambda t: gzip.compress(gzip.compress(t.encode(), mtime=0), mtime=0)),
        "refused",
    ),
    Mistake("packs to nothing", text(lambda t: bomb()), "refused"),
    Mistake("an id beyond 64 bits", on("image_id", 1 << 70), "refused OS108"),
    Mistake("a label beyond 64 bits", on("category_id", -(1 << 64)), "refused OS108"),
    Mistake(
        "a score of 400 digits",
        text(lambda t: t.replace('"score": 0.', '"score": 1e400, "x": 0.', 1)),
        "refused",
    ),
    Mistake("keys with quotes", on('a"b\\', 1), "accepted"),
    Mistake(
        "a key twice",
        text(lambda t: t.replace('"score":', '"score": 0.1, "score":', 1)),
        "accepted",
    ),
    Mistake(
        "deep as a well", text(lambda t: t[:-1] + "," + "[" * 5000 + "]" * 5000 + "]"), "refused"
    ),
    Mistake("a box of five numbers", on("bbox", [1, 2, 3, 4, 5]), "refused OS108"),
    Mistake("a box of words", on("bbox", ["1", "2", "3", "4"]), "refused OS108"),
    Mistake("a box in a box", on("bbox", [[1, 2, 3, 4]]), "refused OS108"),
    Mistake("no box", lambda w: w.dt[3].pop("bbox"), "refused OS107"),
    Mistake("no image id", lambda w: w.dt[3].pop("image_id"), "refused OS107"),
    Mistake("an image without an id", lambda w: w.gt["images"][3].pop("id"), "refused OS107"),
    Mistake("an object of no image", on("image_id", 5, "annotations"), "refused OS112"),
    Mistake(
        "an image id twice",
        lambda w: w.gt["images"].append(dict(w.gt["images"][0])),
        "refused OS111",
    ),
    Mistake(
        "a category id twice",
        lambda w: w.gt["categories"].append({"id": 1, "name": "spoon"}),
        "refused OS111",
    ),
    Mistake(
        "images of no width",
        lambda w: [one.update(width=0) for one in w.gt["images"]],
        "warned OS213",
    ),
    Mistake("negative area", on("area", -1, "annotations"), "refused OS212"),
    Mistake("a broken box", box(2, float("nan")), "refused OS201"),
    Mistake("a broken box, dropped", box(2, float("nan")), "warned OS428", ("--drop-invalid",)),
    Mistake(
        "a negative box, dropped", box(3, -7.0), "warned OS428", ("--drop-invalid",), "1 of 519"
    ),
    Mistake(
        "a broken object, dropped",
        box(2, float("inf"), "annotations"),
        "warned OS428",
        ("--drop-invalid",),
        "1 of 400",
    ),
    Mistake("a score of 7, dropped", on("score", 7.0), "warned OS428", ("--drop-invalid",)),
    Mistake("two thirds broken", many_broken, "refused OS429", ("--drop-invalid",)),
    Mistake("nothing broken, dropped", nothing, "accepted", ("--drop-invalid",)),
]

VERBS = [
    Mistake("check of good files", nothing, "accepted", CHECK),
    Mistake(
        "check of corners",
        lambda w: [
            o.update(
                bbox=[
                    o["bbox"][0],
                    o["bbox"][1],
                    o["bbox"][0] + o["bbox"][2],
                    o["bbox"][1] + o["bbox"][3],
                ]
            )
            for o in w.dt
        ],
        "refused OS204|OS215",
        CHECK,
    ),
    Mistake("check without known", lambda w: w.gt["categories"].pop(), "refused", CHECK[:3]),
    Mistake("build", toml(), "accepted", BUILD),
    Mistake("build without a source", toml("gt.json", "other.json"), "refused OS902", BUILD),
    Mistake("build with a misspelt class", toml('"cat"', '"kat"'), "refused OS904", BUILD),
    Mistake("build with a class twice", toml('"cat"', '"person"'), "accepted", BUILD),
    Mistake("build with a misspelt key", toml("kind =", "knd ="), "refused OS901", BUILD),
    Mistake(
        "build that leaves its folder", toml('"gt.json"', '"../../etc/passwd"'), "refused", BUILD
    ),
    Mistake(
        "build of a split that is empty",
        toml("{ annotated = true }", "{ first = 0 }"),
        "refused",
        BUILD,
    ),
    Mistake("build into its source", toml(), "refused", (*BUILD[:4], "-o", ".")),
    Mistake(
        "build of deep TOML",
        with_file("mine.toml", "a = " + "[" * 4000 + "]" * 4000),
        "refused",
        BUILD,
    ),
    Mistake("build of a folder", nothing, "usage", ("build", ".", "-o", "built")),
    Mistake(
        "fetch that leaves its folder",
        toml('path = ["gt.json"]', 'path = ["../x.json"]\nurl = "file:///etc/passwd"'),
        "refused",
        ("fetch", "mine.toml", "-o", "got"),
    ),
    Mistake(
        "convert to YOLO", nothing, "accepted", ("convert", "gt.json", "-o", "y", "--to", "yolo")
    ),
    Mistake(
        "convert without sizes to YOLO",
        lambda w: [o.pop("width") for o in w.gt["images"]],
        "refused OS110",
        ("convert", "gt.json", "-o", "y", "--to", "yolo"),
    ),
    Mistake(
        "convert names that leave the folder",
        lambda w: w.gt["images"][0].update(file_name="../../evil.jpg"),
        "accepted",
        ("convert", "gt.json", "-o", "v", "--to", "voc"),
    ),
    Mistake(
        "convert detections to VOC",
        nothing,
        "refused",
        ("convert", "dt.json", "-o", "v", "--to", "voc"),
    ),
    Mistake(
        "convert onto the ground truth",
        nothing,
        "usage",
        ("convert", "gt.json", "-o", "gt.json", "--to", "coco"),
    ),
    sized("class 7", "refused", labels__a_txt="7 0.5 0.5 0.2 0.2\n"),
    sized("class 10^12", "refused", data_yaml="names: {1000000000000: cat}\nval: images\n"),
    sized("four numbers", "refused", labels__a_txt="0 0.5 0.5 0.2\n"),
    sized("pixels", "refused OS431", labels__a_txt="0 50 40 20 20\n"),
    Mistake(
        "convert YOLO without sizes",
        yolo(),
        "refused OS110",
        ("convert", "y/data.yaml", "-o", "o.json"),
    ),
    Mistake(
        "convert VOC",
        with_file("v/a.xml", VOC.format(3)),
        "accepted",
        ("convert", "v", "-o", "o.json"),
    ),
    Mistake(
        "convert VOC that is a web page",
        with_file("v/a.xml", "<html><body>404</body></html>"),
        "refused OS118",
        ("convert", "v", "-o", "o.json"),
    ),
    Mistake(
        "convert VOC of words",
        with_file("v/a.xml", VOC.format("three")),
        "refused",
        ("convert", "v", "-o", "o.json"),
    ),
    Mistake(
        "VOC of corners exchanged",
        with_file("v/a.xml", VOC.format(50)),
        "refused OS205",
        ("check", "v", "--known", "cat,dog"),
    ),
    Mistake(
        "convert VOC with an entity bomb",
        with_file("v/a.xml", '<!DOCTYPE a [<!ENTITY x "y">]><annotation>&x;</annotation>'),
        "refused",
        ("convert", "v", "-o", "o.json"),
    ),
    Mistake(
        "recognise an archive of gigabytes",
        with_file("s.npz", claims_gigabytes()),
        "refused",
        ("recognise", "s.npz"),
    ),
    Mistake(
        "recognise pickled objects",
        with_file("s.npz", pickled()),
        "refused",
        ("recognise", "s.npz"),
    ),
    Mistake(
        "score without logits",
        nothing,
        "refused OS501",
        ("score", "dt.json", "--scorers", "energy", "-o", "e.parquet"),
    ),
    Mistake(
        "score by a scorer that is none",
        nothing,
        "usage",
        ("score", "dt.json", "--scorers", "enrgy", "-o", "e.parquet"),
    ),
    Mistake(
        "audit of a test that is the training",
        nothing,
        "refused",
        ("audit", "--train", "gt.json", "--test", "gt.json", "--known", ",".join(KNOWN)),
    ),
    Mistake(
        "audit without known",
        lambda w: w.gt["categories"].pop(),
        "refused",
        ("audit", "--test", "gt.json"),
    ),
    Mistake("compare of detections", nothing, "refused OS114", ("compare", "dt.json", "gt.json")),
    Mistake("forget of detections", nothing, "refused OS114", ("forget", "dt.json", "gt.json")),
    Mistake("diagnose of a file", nothing, "refused", ("diagnose", "gt.json")),
    Mistake("report of the ground truth", nothing, "refused", ("report", "gt.json")),
    Mistake("explain of a code that is none", nothing, "usage", ("explain", "OS999")),
    Mistake(
        "train on nothing known",
        nothing,
        "refused",
        ("train", "digits-small", "gt.json", "-o", "t", "--known", "spoon,fork"),
    ),
    Mistake(
        "train without pictures",
        nothing,
        "refused",
        ("train", "digits-small", "gt.json", "-o", "t", "--known", "cat,person"),
    ),
    Mistake(
        "run of a model that is a text",
        with_file("m.pt", "weights"),
        "refused",
        ("run", "m.pt", "gt.json", "-o", "d.parquet"),
    ),
    Mistake(
        "run of an onnx that is a text",
        with_file("m.onnx", "weights"),
        "refused",
        ("run", "m.onnx", "gt.json", "-o", "d.parquet", "--known", "cat,dog"),
    ),
    Mistake("a protocol that needs a list", nothing, "refused", ("--image-list", "nowhere.txt")),
    Mistake("a recall in percent", nothing, "refused OS420", ("--recall", "50")),
    Mistake(
        "settings that are misspelt",
        with_file("openset.toml", "[evaluate]\nknwon = 'x'\n"),
        "usage",
    ),
    Mistake(
        "settings of a verb that is none",
        with_file("openset.toml", "[evalute]\nknown = 'x'\n"),
        "usage",
    ),
    Mistake("settings that are no TOML", with_file("openset.toml", "[evaluate\n"), "usage"),
    Mistake(
        "settings are named",
        with_file("openset.toml", "[evaluate]\nmetrics = 'a_ose'\n"),
        "accepted",
        says="openset.toml",
    ),
]


@pytest.mark.parametrize("case", FILES, ids=str)
def test_a_mistake_in_files(case, here, openset):
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize("case", VERBS, ids=str)
def test_a_mistake_with_a_verb(case, here, openset):
    assert answered(case, here, openset) == ""
