"""Bad input is an InputError with a code, a count and an example: never a traceback or a hang."""

import contextlib
import gzip
import json
import time

import numpy as np
import pytest

import openset
from openset.formats import formats, read, write
from openset.plugins import record_of

RESULT = {"image_id": 1, "category_id": 2, "bbox": [0, 0, 4, 4], "score": 0.5}
TRUTH = {
    "images": [{"id": 1}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 2, "bbox": [0, 0, 4, 4]}],
    "categories": [{"id": 2, "name": "dog"}],
}


def results(*changes):
    return json.dumps([{**RESULT, **change} for change in changes]).encode()


def without(key):
    return json.dumps([RESULT, {k: v for k, v in RESULT.items() if k != key}]).encode()


def truth_with(**changes):
    return json.dumps({**TRUTH, **changes}).encode()


def annotation(**changes):
    return truth_with(annotations=[{**TRUTH["annotations"][0], **changes}])


HEADER = "image_id,label,x,y,w,h,score\n"
OPEN_IMAGES = "ImageID,LabelName,XMin,XMax,YMin,YMax\n"
COCO = {
    "truncated": (results({}, {})[:-9], "OS102", "byte"),
    "truncated truth": (truth_with()[:-30], "OS102", "byte"),
    "trailing": (results({}) + b"]", "OS102", "byte"),
    "not utf-8": (results({"note": "xx"}).replace(b"xx", b"\xff\xfe"), "OS102", "UTF-8"),
    "deep": (b'[{"image_id":' + b"[" * 100_000, "OS102", "nested"),
    "deep list": (b"[" * 1_000_000, "OS102", "nested"),
    "deep object": (b'{"images":' * 100_000, "OS102", "nested"),
    "huge number": (results({}).replace(b"0.5", b"9" * 5000), "OS102", ""),
    "no score": (without("score"), "OS107", "1 of 2 records .* have no 'score'"),
    "no bbox": (without("bbox"), "OS107", "bbox"),
    "no image": (without("image_id"), "OS107", "image_id"),
    "record is a number": (results({})[:-1] + b", 7]", "OS108", "record 1: 7"),
    "score is text": (results({"score": "0.5"}), "OS108", "score"),
    "score is null": (results({}, {"score": None}), "OS108", "record 1: None"),
    "score is true": (results({"score": True}), "OS108", "score"),
    "category is text": (results({"category_id": "dog"}), "OS108", "category_id"),
    "image is a list": (results({"image_id": [1]}), "OS108", "image_id"),
    "image is half": (results({"image_id": 1.5}), "OS108", "image_id"),
    "image too large": (results({"image_id": 1 << 70}), "OS108", "image_id"),
    "bbox of three": (results({}, {"bbox": [1, 2, 3]}), "OS108", "lists of 4"),
    "bbox of text": (results({"bbox": [1, 2, 3, "4"]}), "OS108", "bbox"),
    "bbox is a number": (results({"bbox": 4}), "OS108", "bbox"),
    "logits without layout": (results({"logits": [1, 2]}), "OS107", "layout"),
    "ragged logits": (
        results({"logits": [1], "layout": "softmax"}, {"logits": [1, 2], "layout": "softmax"}),
        "OS108",
        "logits",
    ),
    "some logits": (results({"logits": [1], "layout": "softmax"}, {}), "OS107", "logits"),
    "odd layout": (results({"logits": [1], "layout": "soft"}), "OS108", "layout"),
    "no images": (b'{"annotations": [], "categories": []}', "OS107", "images"),
    "no categories": (b'{"annotations": [], "images": []}', "OS107", "categories"),
    "images is an object": (truth_with(images={}), "OS108", "images"),
    "image without id": (truth_with(images=[{"file_name": "a"}]), "OS107", "'id'"),
    "category without name": (truth_with(categories=[{"id": 2}]), "OS107", "name"),
    "name is a number": (truth_with(categories=[{"id": 2, "name": 5}]), "OS108", "name"),
    "images twice": (truth_with(images=[{"id": 1}] * 2), "OS111", "image ids"),
    "category twice": (truth_with(categories=TRUTH["categories"] * 2), "OS111", "category ids"),
    "no such image": (annotation(image_id=5), "OS112", "image 5"),
    "no such category": (annotation(category_id=5), "OS112", "category 5"),
    "odd crowd": (annotation(iscrowd="yes"), "OS108", "iscrowd"),
    "annotations of numbers": (truth_with(annotations=[1]), "OS108", "record 0"),
    "another list": (b"[1, 2, 3]", "OS104", "no known format"),
    "another object": (b'{"a": 1}', "OS104", "tried .*coco"),
}
OTHERS = {
    "empty": (b"", "OS102", "empty"),
    "blank": (b"  \n ", "OS104", "no known format"),
    "binary": (bytes(range(256)), "OS104", "starts with"),
    "damaged gzip": (gzip.compress(results({}))[:-12], "OS102", "gzip"),
    "not gzip": (b"\x1f\x8bnothing", "OS102", "gzip"),
    "damaged parquet": (b"PAR1" + b"\0" * 50, "OS102", "damaged"),
    "csv ragged": (f"{HEADER}1,a,0,0,1,1,1,1,1,1\n".encode(), "OS102", "cannot read"),
    "csv not utf-8": (HEADER.encode() + b"1,\xff,0,0,1,1,1\n", "OS102", "cannot read"),
    "csv bad number": (f"{HEADER}1,a,0,0,one,1,1\n".encode(), "OS108", "record 0: 'one'"),
    "csv gap": (f"{HEADER}1,a,0,0,1,1,1\n1,a,0,0,,1,1\n".encode(), "OS107", "record 1"),
    "csv no label": (b"image,x,y,w,h\n1,0,0,1,1\n", "OS107", "label"),
    "csv bad bbox": (b'image,label,bbox\n1,a,"[1,2,3]"\n', "OS108", "lists of 4"),
    "csv column twice": (b"image,label,x,y,w,h,x\n1,a,0,0,1,1,5\n", "OS432", "'x' twice"),
    "csv odd flag": (b"image,label,x,y,w,h,crowd\n1,a,0,0,1,1,maybe\n", "OS108", "crowd"),
    "json lines": (b'{"image":1,"label":"a","bbox":[0,0,1,1]}\n{"image":', "OS102", ""),
    "open images": (f"{OPEN_IMAGES}a,/m/1,0,zero,0,1\n".encode(), "OS108", "XMax"),
    "open images gap": (f"{OPEN_IMAGES}a,,0,1,0,1\n".encode(), "OS107", "LabelName"),
}


@pytest.mark.parametrize("case", COCO | OTHERS)
def test_file(case, tmp_path):
    data, code, words = (COCO | OTHERS)[case]
    path = tmp_path / "data.json"
    path.write_bytes(data)
    with pytest.raises(openset.InputError, match=f"(?s){code}.*{words}"):
        read(path)


@pytest.mark.parametrize("case", COCO)
def test_explicit_format(case, tmp_path):
    data, code, _ = COCO[case]
    path = tmp_path / "data.json"
    path.write_bytes(data)
    kind = "annotations" if data[:1] == b"{" else "detections"
    with pytest.raises(openset.InputError, match=code if code != "OS104" else "OS10[47]|OS108"):
        read(path, format="coco", as_=kind)


XML = "<annotation><object><name>dog</name>{}</object></annotation>"
BOX = "<bndbox><xmin>{}</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
BOMB = '<!DOCTYPE a [<!ENTITY b "c">]><annotation>&b;</annotation>'
FOLDERS = {
    "xml": ({"a.xml": "<annotation>"}, "OS109", "line 1"),
    "entity": ({"a.xml": BOMB}, "OS109", "entities are refused"),
    "xml encoding": ({"a.xml": '<?xml version="1.0" encoding="no-such"?><a/>'}, "OS109", ""),
    "no box": ({"a.xml": XML.format("")}, "OS107", "bndbox"),
    "no corner": ({"a.xml": XML.format("<bndbox/>")}, "OS107", "xmin"),
    "odd corner": ({"a.xml": XML.format(BOX.format("left"))}, "OS108", "left"),
    "odd result": ({"comp4_det_test_dog.txt": "a 0.5 1 2 3\n"}, "OS108", "record 0"),
    "text result": ({"comp4_det_test_dog.txt": "a 0.5 1 2 3 x\n"}, "OS108", "record 0"),
    "no sizes": ({"data.yaml": "names: [a]", "labels/i.txt": "0 .5 .5 .1 .1"}, "OS110", "'i'"),
    "no names": ({"labels/i.txt": "0 .5 .5 .1 .1", "sizes.csv": "i,4,4"}, "OS107", "names"),
    "odd yaml": ({"data.yaml": "names: [", "labels/i.txt": "0 .5 .5 .1 .1"}, "OS102", "data.yaml"),
    "yaml list": ({"data.yaml": "[1]", "labels/i.txt": "0 .5 .5 .1 .1"}, "OS108", "mapping"),
    "odd class": (
        {"data.yaml": "names: [a]", "labels/i.txt": "3 .5 .5 .1 .1", "sizes.csv": "i,4,4"},
        "OS112",
        "class index 3\n",
    ),
    "odd line": (
        {"data.yaml": "names: [a]", "labels/i.txt": "0 .5 .5 .1 .1\n0 1", "sizes.csv": "i,4,4"},
        "OS108",
        "record 1",
    ),
    "stranger": ({"readme.md": "hello"}, "OS104", "a folder with"),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_folder(case, tmp_path):
    files, code, words = FOLDERS[case]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(openset.InputError, match=f"(?s){code}.*{words}"):
        read(tmp_path)


def test_paths(tmp_path):
    (tmp_path / "truth.json").write_text("[]")
    with pytest.raises(openset.InputError, match=r"(?s)OS101.*did you mean truth.json"):
        read(tmp_path / "truht.json")
    with pytest.raises(openset.InputError, match="OS101"):
        read(tmp_path / "no" / "such" / "folder.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(openset.InputError, match="OS103"):
        read(tmp_path / "empty")
    with pytest.raises(openset.InputError, match="OS103"):
        read(tmp_path, format="coco", as_="annotations")
    with pytest.raises(openset.InputError, match="OS102"):
        read("a\0b")


@pytest.mark.parametrize("name", [n for n, c in formats().items() if not record_of(c).folder])
@pytest.mark.parametrize("cut", [0.02, 0.3, 0.7, 0.99])
def test_truncated_anywhere(name, cut, tmp_path, truth, found):
    """A cut file is refused, or (where rows are lines) read up to a line: never a crash."""
    for kind, table in (("annotations", truth), ("detections", found)):
        write(table, tmp_path / kind, format=name, truth=truth)
        data = (tmp_path / kind).read_bytes()
        (tmp_path / "cut").write_bytes(data[: int(len(data) * cut)])
        try:
            read(tmp_path / "cut", format=name, as_=kind)
        except openset.InputError as error:
            assert error.findings[0].code.startswith("OS1")
        else:
            assert name in ("csv", "openimages")


def test_fifty_megabytes_of_brackets(tmp_path):
    path = tmp_path / "deep.json"
    path.write_bytes(b"[" * 50_000_000)
    start = time.process_time()
    with pytest.raises(openset.InputError, match="OS102"):
        read(path)
    with pytest.raises(openset.InputError, match="OS102"):
        read(path, format="coco", as_="detections")
    assert time.process_time() - start < 30  # a second; quadratic, it would not end


@pytest.mark.parametrize("name", ["voc", "yolo"])
def test_names_stay_inside_the_folder(name, tmp_path, truth):
    from dataclasses import replace

    for bad in ("../../escape", "a/b", "..", "a\\b", "nu\0l", "x" * 300):
        ids = ["fine", *(f"i{k}" for k in range(len(truth.images) - 2)), bad]
        images = replace(truth.images, id=ids, file_name=None)
        with pytest.raises(openset.InputError, match="OS113"):
            write(replace(truth, images=images), tmp_path / "out", format=name)
        assert list(tmp_path.iterdir()) == []
    # A stem of a file name is inside the folder, wherever the image is.
    names = [f"../{k}/image{k}.jpg" for k in range(len(truth.images))]
    write(
        replace(truth, images=replace(truth.images, file_name=names)), tmp_path / "v", format=name
    )
    assert len(read(tmp_path / "v").images) == len(truth.images)


@pytest.mark.parametrize("name", ["voc", "yolo", "openimages"])
def test_writing_needs_the_truth(name, tmp_path, found):
    with pytest.raises(openset.OpenSetError, match="truth="):
        write(found, tmp_path / "out", format=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", formats())
@pytest.mark.parametrize("seed", range(12))
def test_damaged_bytes(name, seed, tmp_path, truth, found):
    """Whatever bytes change, the answer is a table or an error of ours."""
    rng = np.random.default_rng(seed)
    kind, table = [("annotations", truth), ("detections", found)][seed % 2]
    write(table, tmp_path / "data", format=name, truth=truth)
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    for path in files or [tmp_path / "data"]:
        data = bytearray(path.read_bytes())
        for at in rng.integers(0, max(len(data), 1), 4):
            data[at : at + 1] = rng.choice(
                [b"", b"0", b"-", b'"', b"{", b"]", b"\xff", b",", b"\n"]
            )
        path.write_bytes(data)
    for options in ({}, {"format": name, "as_": kind}):
        with contextlib.suppress(openset.OpenSetError):
            assert len(read(tmp_path / "data", **options)) >= 0


def test_two_lists_of_annotations_are_refused(tmp_path):
    """Two files joined as text: readers of JSON keep the last list, and half of the objects go."""
    image, box = '{"id": 1, "width": 9, "height": 9}', '"bbox": [0, 0, 5, 5], "category_id": 1'
    one = '"annotations": [{"id": %d, "image_id": 1, ' + box + "}]"
    names = '"categories": [{"id": 1, "name": "dog"}]'
    path = tmp_path / "gt.json"
    path.write_text(f'{{"images": [{image}], {one % 1}, {one % 2}, {names}}}')
    for target in (path, tmp_path / "gt.json.gz"):
        if target != path:
            target.write_bytes(gzip.compress(path.read_bytes()))
        with pytest.raises(
            openset.InputError, match=r"(?s)OS102.*two lists of annotations.*select"
        ):
            read(target)
    said = '"info": {"description": "\\"annotations\\" of dogs", "annotations": 3}'
    path.write_text(f'{{{said}, "images": [{image}], {one % 1}, {names}}}')  # of other objects
    assert len(read(path)) == 1


def test_the_second_list_is_found_wherever_it_is(tmp_path, monkeypatch):
    path = tmp_path / "gt.json"
    names = '"images": [], "categories": [], "annotations": []'
    path.write_text(f'{{{names}, "annotations": []}}')
    for size in range(13, 40):  # the key may lie across two pieces
        monkeypatch.setattr("openset.formats._two_lists._PIECE", size)
        with pytest.raises(openset.InputError, match="two lists"):
            read(path, as_="annotations")
