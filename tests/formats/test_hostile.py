"""Files that claim more than they are, or something else: a finding, in little memory."""

import contextlib
import gzip
import io
import json
import os
import zipfile

import numpy as np
import polars as pl
import pytest

import openset
from openset.benchmarks.rules.embeddings import read_embeddings
from openset.evaluation.learned import Learned
from openset.files import load, load_arrays, parse_yaml, safe_path, toml
from openset.formats import read, write
from openset.formats.class_names import load_yaml
from openset.recognition.reading import read_scores
from openset.scorers import load_head
from openset.tables import Vocabulary
from openset.tables.evidence import read_evidence
from openset.training.recipe import Recipe
from scenes.limits import limited


def bomb(size):
    """Gzip of so many blanks."""
    return gzip.compress(b" " * size, 9, mtime=0)


def test_a_gzip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("openset.files.loading._UNPACKED", 1 << 20)
    path = tmp_path / "dt.json.gz"
    path.write_bytes(bomb(4 << 20))
    for reading in (load, lambda p: read(p, format="coco", as_="detections")):
        with pytest.raises(openset.InputError, match=r"OS116.*1,0") as refused:
            reading(path)
        assert str(refused.value).count("OS") == 1  # no message within another
    path.write_bytes(bomb(1000) + bomb(1000) + b"\0\0")  # two members, and padding
    assert load(path) == b" " * 2000
    path.write_bytes(bomb(1000)[:-9])
    with pytest.raises(openset.InputError, match=r"OS102.*end marker"):
        load(path)


def test_memory_is_bounded(tmp_path):
    (tmp_path / "dt.json.gz").write_bytes(bomb(64 << 20) * 48)  # three gigabytes
    code = "import openset, sys; openset.read(sys.argv[1], format='coco', as_='detections')"
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = limited("RLIMIT_DATA", 1 << 30, ["-c", code, tmp_path / "dt.json.gz"], env)
    assert "OS116" in done.stderr and "MemoryError" not in done.stderr


NESTED = {
    "evidence": lambda path: read_evidence(path),
    "scores": lambda path: read_scores(path),
    "head": lambda path: load_head(path),
    "embeddings": lambda path: read_embeddings(path),
}


@pytest.mark.parametrize("case", NESTED)
def test_a_bomb_of_arrays_is_said_once(case, tmp_path, monkeypatch):
    monkeypatch.setattr("openset.files.loading._UNPACKED", 1 << 20)
    archive(tmp_path / "bomb.npz", **{"logits.npy": b"\0" * (4 << 20)})
    with pytest.raises(openset.InputError) as refused:
        NESTED[case](tmp_path / "bomb.npz")
    assert [one.code for one in refused.value.findings] == ["OS116"]
    assert str(refused.value).count("OS1") == 1


def test_a_missing_file_is_said_once(tmp_path):
    for reading in (Learned.load, Recipe.of, load_yaml):
        with pytest.raises(openset.InputError) as refused:
            reading(tmp_path / "none.toml")
        assert str(refused.value).count("OS101") == 1, reading


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    for reading in (read, load, read_evidence, read_scores):
        with pytest.raises(openset.InputError, match=r"OS102.*no regular file"):
            reading(tmp_path / "pipe.json")


@pytest.mark.parametrize(
    "start", [b"BZh91AY&SY", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c"]
)
def test_other_archives_are_named(start, tmp_path):
    (tmp_path / "dt.json").write_bytes(start + bytes(range(64)))
    with pytest.raises(openset.InputError, match=r"(?s)OS104.*packed by.*gzip"):
        read(tmp_path / "dt.json")


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as held:
        for name, data in members.items():
            held.writestr(f"{name}.npy", data)
    return path


def array(values, shape=None):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue() if shape is None else stream.getvalue().replace(b"(4,)", shape)


HEADERS = {
    "gigabytes": array(np.ones(4), b"(4" + b"0" * 12 + b",)"),
    "negative": array(np.ones(4), b"(-4,)"),
    "objects": array(np.array([{}], object)),
    "no array": b"nothing",
    "cut": array(np.ones(4))[:-8],
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers_of_arrays(case, tmp_path):
    path = archive(tmp_path / "s.npz", logits_k=HEADERS[case])
    claims = case in ("gigabytes", "negative")
    with pytest.raises(ValueError, match="which it does not fill" if claims else r".+"):
        load_arrays(path)
    with pytest.raises(openset.InputError, match=r"OS102  .*s\.npz"):
        read_scores(path)


def test_an_archive_that_unpacks_to_gigabytes(tmp_path, monkeypatch):
    monkeypatch.setattr("openset.files.loading._UNPACKED", 1 << 20)
    path = archive(tmp_path / "s.npz", logits_k=array(np.zeros(1 << 20)))
    with pytest.raises(openset.InputError, match="OS116"):
        load_arrays(path)
    assert archive(path, a=array(np.arange(4))) and load_arrays(path)["a"].tolist() == [0, 1, 2, 3]


def test_class_numbers_without_names(tmp_path):
    columns = {"openness_k": [0.5], "predicted_k": [10**12], "labels_k": [0], "openness_u": [0.1]}
    np.savez(tmp_path / "s.npz", **columns)
    with pytest.raises(openset.InputError, match="OS117"):
        read_scores(tmp_path / "s.npz")


NAMES = {
    "far": ("names: {0: a, 1000000000000: b}", "OS117"),
    "negative": ("names: {-1: a, 0: b}", "OS117"),
    "one word": ("names: dog", "OS108"),
    "nested": ("names: [[a, b], c]", "OS108"),
    "aliases": ("a: &a [x, x]\nb: &b [*a, *a]\nnames: [*b, *b]", "OS108"),
    "count": ("nc: 1000000000\nnames: [a, b]", "OS121"),
}


@pytest.mark.parametrize("case", NAMES)
def test_yaml_names(case, tmp_path):
    text, code = NAMES[case]
    (tmp_path / "data.yaml").write_text(text)
    (tmp_path / "sizes.csv").write_text("i,4,4")
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "i.txt").write_text("0 .5 .5 .1 .1")
    if not code:
        assert read(tmp_path).labels == ("a", "b")
        return
    with pytest.raises(openset.InputError, match=code):
        read(tmp_path)


LAUGHS = {
    "lists": ("[x]", "[{}]", "*a{}"),
    "merged keys": ("{{x: 1}}", "{{<<: [{}]}}", "*a{}"),
    "long texts": ("x" * 9000, "[{}]", "*a{}"),
}


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("case", LAUGHS)
def test_aliases_of_aliases(case, as_text, tmp_path):
    """Ten times ten times ten: polite parsers make billions of it."""
    first, later, alias = LAUGHS[case]
    lines = [f"a0: &a0 {first.format()}"]
    for at in range(1, 12):
        held = ", ".join([alias.format(at - 1)] * 10)
        lines.append(f"a{at}: &a{at} {later.format(held)}")
    text = "\n".join([*lines, "names: *a11", "val: images"])
    with pytest.raises(ValueError, match="aliases stand for far more"):
        parse_yaml(text, as_text=as_text)
    (tmp_path / "data.yaml").write_text(text)
    with pytest.raises(openset.InputError, match="OS102"):
        read(tmp_path)


def test_honest_aliases():
    held = parse_yaml("names: &n [dog, cat]\ntest: {<<: {a: 1}, names: *n}\nself: &s [*s]")
    assert held["test"] == {"a": 1, "names": ["dog", "cat"]}
    assert held["self"][0] is held["self"]
    assert parse_yaml("a: 010", as_text=True) == {"a": "010"}
    assert parse_yaml("") is None


@pytest.mark.parametrize("text", ["[" * 5000, "a: \0", "a: [", "*a", "a: 2020-99-99"])
def test_yaml_that_is_none(text):
    with pytest.raises(ValueError):
        parse_yaml(text)


@pytest.mark.parametrize("key", ["path", "val"])
def test_yaml_that_names_no_folder(key, tmp_path):
    for name in ("x" * 300, "a\\0b", "/no/such/place"):
        held = {"path": ".", "val": "images", "names": ["a"], key: name}
        (tmp_path / "data.yaml").write_text(json.dumps(held).replace("\\\\0", "\\0"))
        (tmp_path / "labels").mkdir(exist_ok=True)
        with contextlib.suppress(openset.InputError):
            assert len(read(tmp_path)) == 0


def test_a_web_page_is_no_image_without_objects(tmp_path):
    (tmp_path / "a.xml").write_text("<html><body>404 Not Found</body></html>")
    with pytest.raises(openset.InputError, match=r"OS118.*<html>"):
        read(tmp_path)


def test_toml_that_nests(tmp_path):
    with pytest.raises(ValueError, match="nested too deeply"):
        toml("a = " + "[" * 100_000)
    (tmp_path / "v.toml").write_text("known = " + "[" * 100_000)
    with pytest.raises(openset.InputError, match="nested too deeply"):
        Vocabulary.of(str(tmp_path / "v.toml"))


@pytest.mark.parametrize("name", ["../x.json", "/etc/passwd", "a/../../x", "..\\x", "a\0b"])
def test_sources_stay_below_their_folder(name, tmp_path):
    from openset.benchmarks import definition

    with pytest.raises(openset.InputError, match="OS113"):
        safe_path(name)
    for key in ("path", "images", "options"):
        value = {"hierarchy": name} if key == "options" else [name]
        source = {"path": ["a.json"], key: value}
        inline = json.dumps(source).replace('": ', '" = ')
        (tmp_path / "b.toml").write_text(
            f'summary = "x"\nsources.all = {inline}\nclasses.known = ["dog"]\n'
            'splits.test = {source = "all", kind = "test"}\n'
        )
        with pytest.raises(openset.InputError, match="OS113"):
            definition.load(tmp_path / "b.toml")


def test_keys_with_quotes_are_kept(tmp_path):
    record = {"image_id": 1, "category_id": 2, "bbox": [0, 0, 4, 4], "score": 0.5}
    keys = ['a"b', "line\nend", "back\\slash", "tab\t"]
    (tmp_path / "dt.json").write_text(json.dumps([{**record, key: 7} for key in keys]))
    assert sorted(read(tmp_path / "dt.json").attributes) == sorted(keys)
    truth = {"images": [{"id": 1, keys[0]: 1}], "categories": [{"id": 2, "name": "x"}]}
    objects = [{"image_id": 1, "category_id": 2, "bbox": [0, 0, 4, 4], keys[1]: 3}]
    (tmp_path / "gt.json").write_text(json.dumps({**truth, "annotations": objects}))
    table = read(tmp_path / "gt.json")
    assert [*table.images.attributes, *table.attributes] == keys[:2]


def rewritten(path, columns=(), leave_out=(), **changes):
    """A Parquet file of ours with other columns, or with another statement about them."""
    meta = json.loads(pl.read_parquet_metadata(path)["openset"])
    frame = pl.read_parquet(path).with_columns(*columns).drop(*leave_out)
    meta["dtypes"] |= changes.pop("dtypes", {})
    frame.write_parquet(path, metadata={"openset": json.dumps(meta | changes)})


COLUMNS = {
    "null label": ({"columns": [pl.lit(None, pl.Int64).alias("label")]}, "OS107.*'label'"),
    "fractions": (
        {"columns": [pl.lit(1.5).alias("label")], "dtypes": {"label": "f8"}},
        "OS108.*'label'.*integers",
    ),
    "text": (
        {"columns": [pl.lit("x").alias("score")], "dtypes": {"score": "U1"}},
        "OS108.*'score'.*numbers",
    ),
    "beyond int64": (
        {"columns": [pl.lit((1 << 63) + 1, pl.UInt64).alias("label")], "dtypes": {"label": "u8"}},
        "OS108.*64 bits",
    ),
    "no column": ({"leave_out": ["score"]}, "OS102"),
    "no box": ({"leave_out": ["x"]}, "OS102"),
    "lists of two lengths": (
        {"columns": [pl.Series("logits", [[1.0]] * 49 + [[1.0, 2.0]])]},
        "OS102",
    ),
    "other labels": ({"labels": ["one"]}, "OS102.*index the 1 names"),
    "no layout": ({"layout": None}, "OS102.*layout"),
    "odd layout": ({"layout": "nonsense"}, "OS102"),
    "no types": ({"dtypes": {"score": "O"}}, "OS102"),
    "no provenance": ({"provenance": 3}, "OS102"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_parquet_of_others(case, tmp_path, make_truth, make_found):
    from dataclasses import replace

    changes, words = COLUMNS[case]
    path = tmp_path / "dt.parquet"
    found = make_found(make_truth(), named=True)
    write(replace(found, head=None), path)
    assert len(read(path)) == 50
    rewritten(path, **changes)
    with pytest.raises(openset.InputError, match=f"(?s){words}"):
        read(path)


def test_parquet_that_rounds_its_own_numbers(tmp_path, truth):
    for key, value in (("category_id", [1.5] * 6), ("id", {"dtype": "i8", "values": [0.5] * 9})):
        path = tmp_path / "gt.parquet"
        write(truth, path)
        meta = json.loads(pl.read_parquet_metadata(path)["openset"])
        (meta["images"]["columns"] if key == "id" else meta)[key] = value
        rewritten(path, images=meta["images"], category_id=meta["category_id"])
        with pytest.raises(openset.InputError, match=r"OS10[28]"):
            read(path)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.parquet"])
def test_attributes_of_many_numbers_are_written(name, tmp_path, truth, found):
    from dataclasses import replace

    grid = np.arange(100.0).reshape(50, 2)
    write(
        replace(found, attributes={"pair": grid, "cube": grid.reshape(50, 1, 2)}), tmp_path / name
    )
    back = read(tmp_path / name).attributes
    if name != "a.parquet":
        assert [json.loads(cell) for cell in back["pair"].tolist()] == grid.tolist()
    objects = replace(truth, attributes={"pair": np.arange(60).reshape(30, 2)})
    write(objects, tmp_path / f"gt-{name}")
    assert len(read(tmp_path / f"gt-{name}")) == 30


def test_one_name_with_two_endings(tmp_path):
    from PIL import Image

    from openset.nets.pictures import ImageFiles

    for name in ("a.jpg", "a.png", "b.png"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    with pytest.raises(openset.InputError, match=r"(?s)OS615.*a\.jpg and a\.png"):
        ImageFiles.of_folder(tmp_path)
    (tmp_path / "a.png").unlink()
    assert ImageFiles.of_folder(tmp_path).id.tolist() == ["a", "b"]


def test_a_picture_that_claims_gigabytes(tmp_path):
    from openset.nets.pictures import decode

    size = (100_000).to_bytes(4, "big") * 2
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\x08\x02\0\0\0"
    (tmp_path / "a.png").write_bytes(head + b"\0" * 40)
    with pytest.raises(openset.InputError, match="OS603"):
        decode(tmp_path / "a.png")
