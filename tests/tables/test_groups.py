"""Which file names look like frames of sequences, and which are merely numbered."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from openset.evaluation.grouping import as_grouped
from openset.examples import TRUTH
from openset.formats import read_annotations
from openset.tables import Annotations, Images, Vocabulary
from openset.tables.check import check
from openset.tables.groups import groups_of, units
from openset.worlds.digits import DigitsWorld

REAL = pytest.mark.skipif("OPENSET_DATA" not in os.environ, reason="OPENSET_DATA is not set")


def named(names, ids=None):
    images = Images(np.arange(len(names)) if ids is None else ids, names)
    return Annotations(images, ("dog",), [0], [0], [[0, 0, 9, 9]])


def note(truth):
    found = [f for f in check(truth, None, Vocabulary.of(["dog"])) if f.code == "OS412"]
    return found[0] if found else None


FRAMES = {
    "folders": [f"seq{v:02d}/{i:06d}.jpg" for v in range(3) for i in range(1, 9)],
    "deep folders": [f"a/run{v}/{i:06d}.jpg" for v in range(3) for i in range(1, 9)],
    "one folder": [f"video_{v}_frame_{i:04d}.png" for v in range(3) for i in range(8)],
    "every fifth": [f"clip{v}-{i:04d}.jp2" for v in range(3) for i in range(0, 40, 5)],
    "folders of both depths": [f"{'x/' * v}v{v}/{i}.jpg" for v in range(3) for i in range(8)],
    "some frames lost": [f"v{v}/{i:04d}" for v in range(3) for i in range(20) if i != 7],
    "some photographs": [
        *(f"v{v}/{i:04d}.jpg" for v in range(3) for i in range(8)),
        *(f"{i}.jpg" for i in range(10)),
    ],
}


@pytest.mark.parametrize("what", FRAMES)
def test_frames_are_noticed_and_the_fix_fits(what):
    names = FRAMES[what]
    found = note(named(names))
    assert found.count == 3
    assert "of 3 sequences" in found.message
    assert repr(names[0].rstrip("0123456789.jpgn")[:2])[1:-1] in found.example
    pattern = found.fix.split("'")[1]
    grouped = as_grouped(named(names), pattern)
    frames = np.array([group != "" for group in groups_of(grouped.images)])
    assert frames.sum() >= 24
    together = units(grouped.images.id, groups_of(grouped.images))[frames]
    assert len(np.unique(together)) == 3
    assert note(grouped) is None


def test_ids_are_names_where_there_are_none():
    ids = np.array(FRAMES["folders"])
    assert note(named(None, ids)).count == 3


def test_a_column_that_nobody_named_is_noticed():
    def filmed(column, name="video_id"):
        images = Images(np.arange(12), attributes={name: np.array(column)})
        return Annotations(images, ("dog",), [0], [0], [[0, 0, 9, 9]])

    found = note(filmed([4] * 6 + [9] * 6))
    assert found.count == 2
    assert "12 images are of 2 sequences by their 'video_id'" in found.message
    assert found.fix.startswith("groups='video_id' ")
    assert note(filmed([4] * 12)) is None  # one: nothing to draw
    assert note(filmed(range(12))) is None  # photographs
    assert note(filmed([4] * 6 + [9] * 6, "license")) is None
    assert note(as_grouped(filmed([4] * 6 + [9] * 6), "video_id")) is None


rng = np.random.default_rng(0)
PLAIN = {
    "COCO": [f"{i:012d}.jpg" for i in np.sort(rng.choice(600_000, 400, replace=False))],
    "COCO with a folder": [f"val2017/{i:012d}.jpg" for i in range(400)],
    "COCO of two splits": [f"COCO_{s}2014_{i:012d}.jpg" for s in ("val", "test") for i in range(9)],
    "VOC 2007": [f"{i:06d}.jpg" for i in range(1, 400)],
    "VOC 2012": [
        f"{year}_{i:06d}.jpg"
        for year in range(2007, 2012)
        for i in np.sort(rng.choice(800, 400, replace=False))
    ],
    "Open Images": [f"{i:016x}.jpg" for i in rng.integers(1 << 60, size=400)],
    "one sequence, or a data set": [f"img_{i:04d}.jpg" for i in range(400)],
    "our own worlds": [f"images/{s}/{i:08d}.png" for s in ("val", "test") for i in range(9)],
    "no numbers": [f"{a}{b}.jpg" for a in "abcdefgh" for b in "abcdefgh"],
    "few frames": [f"v{v}/{i}.jpg" for v in range(30) for i in range(4)],
    "one number again and again": [f"v{v}/{'x' * i}7.jpg" for v in range(9) for i in range(9)],
    "nothing": [],
}  # fmt: skip


@pytest.mark.parametrize("what", PLAIN)
def test_numbered_photographs_are_not(what):
    names = PLAIN[what]
    table = named(names) if names else named(["a"]).select(np.zeros(1, bool))
    assert note(table) is None


def test_our_own_data_are_not(tmp_path):
    assert note(read_annotations(TRUTH)) is None
    DigitsWorld(images=10).write(tmp_path)
    for path in sorted(tmp_path.glob("*.json")):
        if path.stem != "world":
            assert note(read_annotations(path)) is None


@REAL
@pytest.mark.parametrize("folder", ["coco", "voc2007", "cub200"])
def test_real_photographs_are_not(folder):
    files = sorted(Path(os.environ["OPENSET_DATA"], folder).glob("*.json.gz"))
    truths = [path for path in files if "bbox" not in path.name]
    assert truths
    for path in truths:
        assert note(read_annotations(path)) is None, path


def test_of_very_many_names_the_first_are_read(monkeypatch):
    from openset.tables import _check_groups

    monkeypatch.setattr(_check_groups, "_EXAMINED", 16)
    found = note(named(FRAMES["folders"]))
    assert found.count == 2
    assert "16 of 16 images examined" in found.message
