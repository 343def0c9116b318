"""Every format gives back what it was given, less what it says it loses."""

import numpy as np
import pytest

import openset
from openset.formats import formats, read, write
from openset.plugins import record_of
from openset.tables.names import stems

RECORDS = {name: record_of(cls) for name, cls in formats().items()}
CASES = [
    (name, suffix) for name, record in RECORDS.items() for suffix in (record.suffixes or ("",))
]
SHAPES = {
    "usual": {},
    "text ids": {"ids": "text"},
    "no objects": {"objects": 0},
    "one": {"objects": 1, "images": 1},
}


def key_of_images(images, loses):
    return np.array(stems(images)) if "image ids" in loses else images.id


def order_of(keys, loses):
    if "order" not in loses:
        return np.arange(len(keys))
    return np.argsort(keys.astype(str), kind="stable")


def assert_attributes(got, want, index_got, index_want):
    assert set(got) == set(want)
    for name, values in want.items():
        assert got[name].dtype.kind == values.dtype.kind, name
        assert got[name][index_got].tolist() == values[index_want].tolist(), name


def assert_images(got, want, loses):
    keys = key_of_images(want, loses)
    held = order_of(keys, loses)
    mine = order_of(got.id, loses)
    assert got.id[mine].tolist() == keys[held].tolist()
    if "file names" not in loses:
        assert got.file_name[mine].tolist() == want.file_name[held].tolist()
    if "sizes" not in loses:
        assert got.width[mine].tolist() == want.width[held].tolist()
        assert got.height[mine].tolist() == want.height[held].tolist()
    if "image attributes" not in loses:
        assert_attributes(got.attributes, want.attributes, mine, held)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "suffix"), CASES)
def test_annotations(name, suffix, shape, tmp_path, make_truth):
    loses, want = RECORDS[name].loses, make_truth(**SHAPES[shape])
    path = tmp_path / f"out{suffix}"
    write(want, path, format=name)
    options = _sizes(name, want, tmp_path)
    got = read(path, format=name, as_="annotations", **options)
    assert_images(got.images, want.images, loses - ({"sizes"} if options else set()))
    mine = order_of(got.images.id[got.image], loses)
    held = order_of(key_of_images(want.images, loses)[want.image], loses)
    names_got = np.array([*got.labels, ""])[got.label]
    names_want = np.array(want.labels)[want.label]
    assert names_got[mine].tolist() == names_want[held].tolist()
    np.testing.assert_allclose(got.box[mine], want.box[held], rtol=0, atol=RECORDS[name].precision)
    for loss, column in [("area", "area"), ("crowd", "crowd"), ("difficult", "difficult")]:
        if loss not in loses:
            assert getattr(got, column)[mine].tolist() == getattr(want, column)[held].tolist()
    if "ids" not in loses:
        assert got.id[mine].tolist() == want.id[held].tolist()
    if "category ids" not in loses:
        mine_id, held_id = got.category_id[got.label], want.category_id[want.label]
        assert mine_id[mine].tolist() == held_id[held].tolist()
    if "labels" not in loses:
        assert got.labels == want.labels
        for loss in ("supercategory", "role"):
            assert loss in loses or getattr(got, loss) == getattr(want, loss)
    if "attributes" not in loses and len(want):
        assert_attributes(got.attributes, want.attributes, mine, held)
    if "info" not in loses:
        assert got.info == want.info


@pytest.mark.parametrize("named", [False, True], ids=["ids", "names"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("name", "suffix"), CASES)
def test_detections(name, suffix, shape, named, tmp_path, make_truth, make_found):
    loses = RECORDS[name].loses
    options = dict(SHAPES[shape])
    count = options.pop("objects", 50)
    truth = make_truth(**options)
    want = make_found(truth, count=count, named=named)
    path = tmp_path / f"out{suffix}"
    if suffix in (".jsonl", ".ndjson") and not count:
        with pytest.raises(openset.UsageError, match="empty"):
            write(want, path)
        return
    write(want, path, format=name, truth=truth)
    got = read(path, format=name, as_="detections", **_sizes(name, truth, tmp_path))
    by_id = dict(zip(truth.images.id.tolist(), stems(truth.images), strict=True))
    keys = np.array([by_id[v] for v in want.image.tolist()]) if "image ids" in loses else want.image
    # Formats by class or by image keep the order within a class of an image only.
    mine, held = _sorted(got.image, got), _sorted(keys, want)
    if "order" not in loses:
        mine = held = np.arange(len(want))
    assert got.image[mine].tolist() == keys[held].tolist()
    assert got.score[mine].tolist() == want.score[held].tolist()
    np.testing.assert_allclose(got.box[mine], want.box[held], rtol=0, atol=RECORDS[name].precision)
    assert _labels(got, truth)[mine].tolist() == _labels(want, truth)[held].tolist()
    if "names" not in loses and "labels" not in loses and "category ids" not in loses:
        assert got.labels == want.labels
    for column in ("unknownness", "logits", "embedding"):
        if column not in loses and len(want):
            assert getattr(got, column)[mine].tolist() == getattr(want, column)[held].tolist()
    if "logits" not in loses and len(want):
        assert got.layout == want.layout
    assert got.head is None if "head" in loses else got.head.equals(want.head)
    if "provenance" not in loses:
        assert got.provenance == want.provenance
    if "attributes" not in loses and len(want):
        assert_attributes(got.attributes, want.attributes, mine, held)


def _sorted(keys, table):
    return np.lexsort([table.score, keys.astype(str)]) if len(keys) else np.arange(0)


def _labels(table, truth):
    if table.labels:
        return np.array(table.labels)[table.label]
    names = dict(zip(truth.category_id.tolist(), truth.labels, strict=True))
    return np.array([names[value] for value in table.label.tolist()], np.str_)


def _sizes(name, truth, folder):
    if name != "openimages":
        return {}
    lines = zip(stems(truth.images), truth.images.width, truth.images.height, strict=True)
    path = folder / "sizes.csv"
    path.write_text("".join(f"{stem},{w},{h}\n" for stem, w, h in lines), "utf-8")
    return {"sizes": path}


def test_parquet_keeps_every_type(tmp_path, found):
    attributes = {
        "i8": np.arange(50, dtype=np.int8),
        "u16": np.arange(50, dtype=np.uint16),
        "f32": np.linspace(0, 1, 50, dtype=np.float32),
        "f64": np.where(np.arange(50) % 2, np.nan, np.inf),
        "matrix": np.arange(100.0).reshape(50, 2),
        "text": np.array(["", "é"] * 25),
        "variable": np.array(["long " * 9, ""] * 25, np.dtypes.StringDType()),
    }
    want = openset.Detections(
        found.image, found.label, found.box, found.score, attributes=attributes
    )
    write(want, tmp_path / "a.parquet")
    got = read(tmp_path / "a.parquet")
    for name, values in attributes.items():
        assert got.attributes[name].dtype == values.dtype
        np.testing.assert_array_equal(got.attributes[name], values)


def test_write_is_atomic_and_refuses_to_overwrite_folders(tmp_path, truth, monkeypatch):
    path = tmp_path / "gt.json"
    path.write_text("before")
    cls = formats()["coco"]

    def fail(self, table, target):
        target.write_text("half")
        raise RuntimeError("disk")

    monkeypatch.setattr(cls, "write_annotations", fail)
    with pytest.raises(RuntimeError):
        write(truth, path)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["gt.json"]
    (tmp_path / "voc").mkdir()
    (tmp_path / "voc" / "mine.txt").write_text("keep")
    with pytest.raises(openset.UsageError, match="not empty"):
        write(truth, tmp_path / "voc", format="voc")
    with pytest.raises(openset.UsageError, match=r"cannot tell a format"):
        write(truth, tmp_path / "gt.xyz")
    with pytest.raises(openset.UsageError, match="Did you mean 'coco'"):
        write(truth, tmp_path / "gt.xyz", format="cocoo")
