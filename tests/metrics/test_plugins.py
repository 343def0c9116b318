"""A new metric is a new file, in the package or behind an entry point; no list is edited."""

import importlib.metadata
import sys
from types import SimpleNamespace

import pytest

import openset.metrics
from openset.plugins import DuplicateNameError, discover

SOURCE = '''
from openset.metrics import Value, metric

@metric("{name}", better=None, unit="count", range=(0, None))
def anything(matches):
    """Number of detections."""
    return Value(float(len(matches)))
'''


@pytest.fixture
def fresh(monkeypatch):
    """Discovery starts afresh, and forgets afterwards what it found."""
    before = set(sys.modules)
    discover.cache_clear()
    yield
    for name in set(sys.modules) - before:
        if "zz_extra" in name:
            del sys.modules[name]
            vars(openset.metrics).pop(name.rpartition(".")[2], None)
    monkeypatch.undo()
    discover.cache_clear()


def drop(folder, name):
    (folder / "zz_extra.py").write_text(SOURCE.format(name=name))
    importlib.invalidate_caches()


def behind_an_entry_point(monkeypatch, folder):
    monkeypatch.syspath_prepend(folder)
    entry = SimpleNamespace(module="zz_extra", name="extra", group="openset.metrics")

    def entry_points(*, group):
        return [entry] if group == "openset.metrics" else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


@pytest.mark.usefixtures("fresh")
def test_a_file_in_the_package(tmp_path, monkeypatch):
    drop(tmp_path, "number_of_boxes")
    path = [*openset.metrics.__path__, str(tmp_path)]
    monkeypatch.setattr(openset.metrics, "__path__", path)
    found = openset.metrics.table()
    assert found["number_of_boxes"].summary == "Number of detections."
    assert "a_ose" in found


@pytest.mark.usefixtures("fresh")
def test_an_entry_point(tmp_path, monkeypatch):
    drop(tmp_path, "number_of_boxes")
    behind_an_entry_point(monkeypatch, tmp_path)
    assert openset.metrics.table()["number_of_boxes"].unit == "count"


@pytest.mark.usefixtures("fresh")
def test_two_of_one_name(tmp_path, monkeypatch):
    drop(tmp_path, "a_ose")
    behind_an_entry_point(monkeypatch, tmp_path)
    with pytest.raises(DuplicateNameError, match=r"'a_ose'.*open_set_error.*zz_extra"):
        openset.metrics.table()


def test_nothing_is_left_behind():
    assert "number_of_boxes" not in openset.metrics.table()
    assert not any("zz_extra" in name for name in sys.modules)
