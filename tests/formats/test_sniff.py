"""Formats are recognised by content, whatever the file is called; plug-ins take part."""

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

import openset
from openset import plugins
from openset.formats import formats, read, read_annotations, read_detections, write
from openset.formats._spec import FileFormat, Format, file_format


@pytest.mark.parametrize("name", formats())
@pytest.mark.parametrize("kind", ["annotations", "detections"])
def test_wrong_suffix(name, kind, tmp_path, truth, found):
    path = tmp_path / "data.wrong"
    write(truth if kind == "annotations" else found, path, format=name, truth=truth)
    table = read(path)
    assert type(table).__name__.lower() == kind
    assert len(table) == len(truth if kind == "annotations" else found)


@pytest.mark.parametrize("name", formats())
def test_swapped(name, tmp_path, truth, found):
    write(truth, tmp_path / "gt", format=name)
    write(found, tmp_path / "dt", format=name, truth=truth)
    with pytest.raises(openset.InputError, match="OS106"):
        read_detections(tmp_path / "gt")
    with pytest.raises(openset.InputError, match="OS105"):
        read_annotations(str(tmp_path / "dt"))
    with pytest.raises(openset.InputError, match="OS105"):
        read(tmp_path / "dt", format=name, as_="annotations")


def test_swapped_tables(truth, found):
    assert read_annotations(truth) is truth
    assert read_detections(found) is found
    with pytest.raises(openset.InputError, match="OS105"):
        read_annotations(found)
    with pytest.raises(openset.InputError, match="OS106"):
        read_detections(truth)


def test_options_are_checked(tmp_path, truth):
    write(truth, tmp_path / "gt.json")
    with pytest.raises(openset.UsageError, match="Did you mean 'everything'"):
        read(tmp_path / "gt.json", everythin=True)
    with pytest.raises(openset.UsageError, match="as_ must be"):
        read(tmp_path / "gt.json", as_="boxes")


def test_coco_imports_nothing_else(tmp_path, truth):
    write(truth, tmp_path / "gt.json")
    code = f"""
import sys, numpy, openset.tables
import openset.formats
heavy = {{"msgspec", "polars", "yaml", "defusedxml"}}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
openset.formats.read({str(tmp_path / "gt.json")!r})
heavy.discard("msgspec")
others = {{"openset.formats." + name for name in ("voc", "yolo", "table", "parquet", "memory")}}
assert not (heavy | others) & set(sys.modules), (heavy | others) & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@file_format(
    FileFormat("kitti", frozenset({"annotations"}), (".kitti",), "KITTI, for the test only")
)
class Kitti(Format):
    def sniff(self, path, head):
        return "annotations" if head.startswith(b"KITTI") else None

    def read_annotations(self, path, **options):
        return openset.Annotations(openset.tables.Images([1]), ("car",), [0], [0], [[0, 0, 1, 1]])


@pytest.fixture
def plugin(monkeypatch):
    module = ModuleType("openset_kitti")
    module.Kitti = Kitti
    monkeypatch.setitem(sys.modules, "openset_kitti", module)
    entry = SimpleNamespace(name="mine", module="openset_kitti")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    plugins.discover.cache_clear()
    yield
    plugins.discover.cache_clear()


def test_plugin(plugin, tmp_path, truth):
    assert "kitti" in formats()
    (tmp_path / "a.txt").write_text("KITTI car 1 2 3")
    assert read(tmp_path / "a.txt").labels == ("car",)
    with pytest.raises(openset.UsageError, match="format 'kitti' cannot write annotations"):
        write(truth, tmp_path / "b.kitti")


def test_loses_has_a_vocabulary():
    with pytest.raises(openset.UsageError, match="loses"):
        file_format(FileFormat("x", frozenset(), (), "", loses=frozenset({"sense"})))
