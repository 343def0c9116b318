"""Files: what is replaced and what is not, odd line ends, and text that cannot be written."""

import gzip
import json
import lzma
import os
import stat

import numpy as np
import pytest

import openset
from openset.files import keeping
from openset.formats import read, write

ROWS = "image_id,category_id,x,y,w,h,score\n1,2,1,2,3,4,0.5\n2,2,1,2,3,4,0.5\n"
LINE = '{"image_id": 1, "category_id": 2, "bbox": [1, 2, 3, 4], "score": 0.5}\n'
TRUTH = {
    "images": [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 2, "bbox": [0, 0, 4, 4]}],
    "categories": [{"id": 2, "name": "dog"}],
}
DOG = openset.Vocabulary.of(["dog"])


def test_a_link_stays_and_its_target_is_written(tmp_path, found):
    (tmp_path / "far").mkdir()
    link, target = tmp_path / "dt.json", tmp_path / "far" / "target"
    link.symlink_to(target)
    for _ in range(2):  # first it leads nowhere
        write(found, link)
        assert link.is_symlink() and len(read(target)) == len(found)
        target.chmod(0o640)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["dt.json", "far", "target"]


def test_only_a_file_or_a_folder_is_replaced(tmp_path, truth):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "round.json").symlink_to("round.json")
    (tmp_path / "file").touch()
    for name, format in (("pipe.json", "coco"), ("round.json", "coco"), ("file", "voc")):
        with pytest.raises(openset.InputError, match=r"OS102  cannot write .*") as caught:
            write(truth, tmp_path / name, format=format)
        assert "download" not in str(caught.value)
    assert stat.S_ISFIFO((tmp_path / "pipe.json").stat().st_mode)


def test_a_folder_is_filled_with_its_mode(tmp_path, truth, monkeypatch):
    (tmp_path / "voc").mkdir(mode=0o750)
    write(truth, tmp_path / "voc", format="voc")
    assert stat.S_IMODE((tmp_path / "voc").stat().st_mode) == 0o750
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in (".", "../here", "../there/.."):
        with pytest.raises(openset.UsageError, match=r"working folder|not empty"):
            write(truth, name, format="voc")


def test_kept_files(tmp_path, found):
    path, link = tmp_path / "dt.json", tmp_path / "link.json"
    write(found, path)
    link.symlink_to(path)
    with keeping([str(path)]):
        for name in (path, link):
            with pytest.raises(openset.UsageError, match="is an input"):
                write(found, name)
        write(found, tmp_path / "other.json")
    write(found, path)


def test_an_unwritable_folder_is_no_damaged_file(tmp_path, found, monkeypatch):
    def denied(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", denied)
    with pytest.raises(openset.InputError, match=r"cannot write .*Permission denied") as caught:
        write(found, tmp_path / "dt.json")
    assert "download" not in str(caught.value)


ODD = {
    "carriage returns": ROWS.replace("\n", "\r").encode(),
    "mark and carriage returns": ("\ufeff" + ROWS.replace("\n", "\r")).encode(),
    "blank lines at the end": (ROWS + "\n\n").encode(),
    "blank lines everywhere": ("\n" + ROWS.replace("\n", "\n\n")).encode(),
    "json lines with a mark": ("\ufeff" + LINE + LINE).encode(),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("format", [None, "csv"])
def test_odd_lines(case, format, tmp_path):
    (tmp_path / "dt.csv").write_bytes(ODD[case])
    table = read(tmp_path / "dt.csv", format=format)
    assert table.box.tolist() == [[1, 2, 3, 4]] * 2
    assert table.label.tolist() == [2, 2]


def test_open_images_with_carriage_returns(tmp_path):
    text = "ImageID,LabelName,XMin,XMax,YMin,YMax\rx,dog,0,0.5,0,1\r"
    (tmp_path / "a.csv").write_bytes(text.encode())
    assert read(tmp_path / "a.csv").box.tolist() == [[0, 0, 0.5, 1]]


GARBAGE = {
    "xz": lzma.compress(ROWS.encode() * 50),
    "noise": np.random.default_rng(1).bytes(5000),
    "zeros": b"a,b\0,c\r\0\r",
}


@pytest.mark.parametrize("case", GARBAGE)
def test_garbage_named_csv(case, tmp_path):
    (tmp_path / "dt.csv").write_bytes(GARBAGE[case])
    with pytest.raises(openset.InputError, match="OS104"):
        read(tmp_path / "dt.csv")


def test_gzip_in_gzip_is_named(tmp_path):
    (tmp_path / "dt.csv").write_bytes(gzip.compress(gzip.compress(ROWS.encode())))
    with pytest.raises(openset.InputError, match=r"OS102.*gzip within gzip"):
        read(tmp_path / "dt.csv")


@pytest.mark.parametrize(
    ("part", "key", "value", "place"),
    [
        ("categories", "name", "a\ud800", r"\.categories\[0\]\.name"),
        ("images", "file_name", "\udc00.jpg", r"\.images\[0\]\.file_name"),
        ("annotations", "notes", ["fine", "\ud800"], r"\.annotations\[0\]\.notes\[1\]"),
        ("annotations", "k\ud800", 1, r"\.annotations\[0\]\.k"),
    ],
)
def test_half_a_character(part, key, value, place, tmp_path):
    document = json.loads(json.dumps(TRUTH))
    document[part][0][key] = value
    (tmp_path / "gt.json").write_text(json.dumps(document))
    with pytest.raises(openset.InputError, match=f"OS108.*{place}"):
        read(tmp_path / "gt.json")


def test_a_whole_character_in_two_halves(tmp_path):
    document = {**TRUTH, "categories": [{"id": 2, "name": "\U0001f600"}]}
    (tmp_path / "gt.json").write_text(json.dumps(document))
    assert read(tmp_path / "gt.json").labels == ("\U0001f600",)


@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.parquet", "a.jsonl"])
def test_half_a_character_from_memory(name, tmp_path):
    found = openset.Detections(["\udc80"], [0], [[0, 0, 1, 1]], [0.5], labels=("dog",))
    truth = openset.Annotations(openset.tables.Images([1]), ("\udc80",), [0], [0], [[0, 0, 1, 1]])
    for table in (truth, found) if name != "a.json" else (truth,):
        with pytest.raises(openset.InputError, match="OS108"):
            write(table, tmp_path / name)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("label", ["zebra\x1b[2J", "a\0b", "a\rb"])
def test_xml_without_control_characters(label, tmp_path):
    document = {**TRUTH, "categories": [{"id": 2, "name": label}]}
    (tmp_path / "gt.json").write_text(json.dumps(document))
    table = read(tmp_path / "gt.json")
    with pytest.raises(openset.InputError, match="OS109  XML cannot hold"):
        write(table, tmp_path / "voc", format="voc")
    assert not (tmp_path / "voc").exists()


def with_annotation(tmp_path, **changes):
    annotation = {**TRUTH["annotations"][0], **changes}
    (tmp_path / "gt.json").write_text(json.dumps({**TRUTH, "annotations": [annotation]}))
    return read(tmp_path / "gt.json")


@pytest.mark.parametrize("area", [-5, float("nan")])
def test_an_area_that_is_none(area, tmp_path):
    table = with_annotation(tmp_path, area=area)
    found = openset.check(table, None, DOG)
    assert [one.code for one in found if one.level == "error"] == ["OS212"]
    assert with_annotation(tmp_path).area.tolist() == [16]
    assert with_annotation(tmp_path, area=None).area.tolist() == [16]


@pytest.mark.parametrize("flag", [2, -1])
def test_a_crowd_flag_is_0_or_1(flag, tmp_path):
    with pytest.raises(openset.InputError, match=r"OS108.*'iscrowd'"):
        with_annotation(tmp_path, iscrowd=flag)
    assert with_annotation(tmp_path, iscrowd=1).crowd.tolist() == [True]


@pytest.mark.parametrize("size", [0, -4])
def test_an_image_has_a_size(size, tmp_path):
    document = {**TRUTH, "images": [{"id": 1, "width": 9, "height": size}]}
    (tmp_path / "gt.json").write_text(json.dumps(document))
    found = openset.check(read(tmp_path / "gt.json"), None, DOG)
    assert "OS213" in [one.code for one in found if one.level == "warning"]


def test_sizes_may_be_a_mapping(tmp_path):
    text = "ImageID,LabelName,XMin,XMax,YMin,YMax,Score\nx,dog,0,0.5,0,1,1\n"
    (tmp_path / "a.csv").write_text(text)
    assert read(tmp_path / "a.csv", sizes={"x": (20, 10)}).box.tolist() == [[0, 0, 10, 10]]
    with pytest.raises(openset.InputError, match="OS110"):
        read(tmp_path / "a.csv", sizes={})
