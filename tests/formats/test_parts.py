"""Parts: a folder of part files is one table, goes on where it stopped, and is what it says."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import openset
from openset.findings import InputError, UsageError
from openset.formats import read, read_annotations, read_detections, write
from openset.formats.manifest import MANIFEST, planned
from openset.formats.parts import Parts, is_parts, merged


@pytest.fixture
def folder(tmp_path, truth, found):
    """Nine images, four a part."""
    write(found, tmp_path / "dt.parts", truth=truth, per_part=4)
    return tmp_path / "dt.parts"


def changed(folder, change):
    """The manifest with a change."""
    document = json.loads((folder / MANIFEST).read_text())
    change(document)
    (folder / MANIFEST).write_text(json.dumps(document))


def test_a_part_is_whole_images_in_the_order_of_the_truth(folder, truth, found):
    parts = Parts.open(folder)
    assert [len(images) for images in parts.images] == [4, 4, 1]
    assert np.concatenate(parts.images).tolist() == truth.images.id.tolist()
    for number, images in enumerate(parts.images):
        table = parts.read(number)
        assert len(table) == np.isin(found.image, images).sum()
        assert set(table.image.tolist()) <= set(images.tolist())


def test_objects_keep_their_ids_and_images_their_order(tmp_path, truth):
    write(truth, tmp_path / "gt.parts", per_part=2)
    got = read_annotations(tmp_path / "gt.parts")
    assert got.images.id.tolist() == truth.images.id.tolist()
    assert sorted(got.id.tolist()) == sorted(truth.id.tolist())
    assert got.role == truth.role and got.info == truth.info


def test_parts_of_another_format_are_read(tmp_path, truth, found):
    from openset.files import digest

    write(found, tmp_path / "dt.parts", truth=truth, per_part=9)
    bare = openset.Detections(found.image, found.label, found.box, found.score)
    write(bare, tmp_path / "dt.parts" / "mine.json")
    held = {"file": "mine.json", "sha256": digest(tmp_path / "dt.parts" / "mine.json")}
    changed(tmp_path / "dt.parts", lambda document: document["parts"][0].update(held))
    assert read_detections(tmp_path / "dt.parts").score.tolist() == found.score.tolist()


def test_a_restart_skips_what_is_done(tmp_path, truth, found):
    plan = planned("detections", truth.images.id, {"model": "a"}, 3)
    parts = Parts.plan(tmp_path / "dt.parts", plan)
    assert parts.missing == [0, 1, 2]
    parts.add(1, found.select(np.isin(found.image, parts.images[1])))
    again = Parts.plan(tmp_path / "dt.parts", plan)
    assert again.missing == [0, 2]
    with pytest.raises(InputError, match=r"(?s)OS365.*2 of 3 parts.*part-00000"):
        read(tmp_path / "dt.parts")
    for number in again.missing:
        again.add(number, found.select(np.isin(found.image, again.images[number])))
    assert len(read(tmp_path / "dt.parts")) == len(found)  # receipts will do
    again.close()
    assert not [*(tmp_path / "dt.parts").glob("*.done.json")]
    assert Parts.open(tmp_path / "dt.parts").missing == []
    assert len(read(tmp_path / "dt.parts")) == len(found)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"PAR1")])
def test_a_part_that_was_lost_or_damaged_is_made_again(tmp_path, truth, found, closed, spoil):
    plan = planned("detections", truth.images.id, {"model": "a"}, 3)
    parts = Parts.plan(tmp_path / "dt.parts", plan)
    for number in parts.missing:
        parts.add(number, found.select(np.isin(found.image, parts.images[number])))
    if closed:
        parts.close()
    spoil(tmp_path / "dt.parts" / "part-00001.parquet")
    again = Parts.plan(tmp_path / "dt.parts", plan)
    assert again.missing == [1]
    again.add(1, found.select(np.isin(found.image, again.images[1])))
    assert len(read(tmp_path / "dt.parts")) == len(found)
    assert Parts.plan(tmp_path / "dt.parts", plan).close().missing == []


def flip(path):
    """Change a byte: the size stays."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_while_parts_are_to_be_made_no_byte_is_read(tmp_path, truth, found, monkeypatch):
    plan = planned("detections", truth.images.id, {"model": "a"}, 3)
    parts = Parts.plan(tmp_path / "dt.parts", plan)
    for number in (0, 1):
        parts.add(number, found.select(np.isin(found.image, parts.images[number])))
    with monkeypatch.context() as less:
        less.setattr("openset.formats.parts.digest", None)
        assert Parts.plan(tmp_path / "dt.parts", plan).missing == [2]
    flip(tmp_path / "dt.parts" / "part-00001.parquet")
    parts.add(2, found.select(np.isin(found.image, parts.images[2])))
    parts.close()
    with pytest.raises(InputError, match=r"(?s)OS363.*part-00001"):
        read(tmp_path / "dt.parts")
    again = Parts.plan(tmp_path / "dt.parts", plan)  # as the fix says
    assert again.missing == [1]
    again.add(1, found.select(np.isin(found.image, again.images[1])))
    assert len(read(tmp_path / "dt.parts")) == len(found)


def test_parts_of_an_older_version_have_no_size(tmp_path, truth, found):
    plan = planned("detections", truth.images.id, {"model": "a"}, 3)
    parts = Parts.plan(tmp_path / "dt.parts", plan)
    for number in (0, 1):
        parts.add(number, found.select(np.isin(found.image, parts.images[number])))
    for path in (tmp_path / "dt.parts").glob("*.done.json"):
        held = json.loads(path.read_text())
        path.write_text(json.dumps({key: value for key, value in held.items() if key != "size"}))
    assert Parts.plan(tmp_path / "dt.parts", plan).missing == [2]
    flip(tmp_path / "dt.parts" / "part-00001.parquet")
    assert Parts.plan(tmp_path / "dt.parts", plan).missing == [1, 2]


def test_clocks_do_not_count(tmp_path, truth, found):
    """Machines of a cluster disagree on the time: what is done is what has a receipt."""
    plan = planned("detections", truth.images.id, {"model": "a"}, 3)
    parts = Parts.plan(tmp_path / "dt.parts", plan)
    for number, when in ((0, 0), (2, 4_000_000_000)):  # 1970, and 2096
        parts.add(number, found.select(np.isin(found.image, parts.images[number])))
        for path in (tmp_path / "dt.parts").iterdir():
            os.utime(path, (when, when))
    assert Parts.plan(tmp_path / "dt.parts", plan).missing == [1]
    parts.add(1, found.select(np.isin(found.image, parts.images[1])))
    assert len(read(tmp_path / "dt.parts")) == len(found)
    assert Parts.plan(tmp_path / "dt.parts", plan).close().missing == []


def test_parts_of_something_else_are_not_gone_on_with(tmp_path, truth):
    plan = planned("detections", truth.images.id, {"model": "a"}, 3)
    Parts.plan(tmp_path / "x", plan)
    for other, what in (
        (planned("detections", truth.images.id, {"model": "b"}, 3), "model differs"),
        (planned("detections", truth.images.id, {"model": "a"}, 4), "the images"),
        (planned("detections", truth.images.id[::-1], {"model": "a"}, 3), "the images"),
    ):
        with pytest.raises(InputError, match=f"(?s)OS361.*{what}"):
            Parts.plan(tmp_path / "x", other)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(UsageError, match="not empty"):
        Parts.plan(tmp_path / "mine", plan)
    with pytest.raises(UsageError, match="at least 1 image"):
        planned("detections", truth.images.id, {}, 0)


def two_manifests(folder):
    shutil.copy(folder / MANIFEST, folder / "manifest (1).json")


def damaged(folder):
    data = bytearray((folder / "part-00001.parquet").read_bytes())
    data[40] ^= 1
    (folder / "part-00001.parquet").write_bytes(data)


def exchanged(folder):
    shutil.copy(folder / "part-00000.parquet", folder / "part-00001.parquet")


def gone(folder):
    (folder / "part-00002.parquet").unlink()


def twice(folder):
    changed(folder, lambda document: document["parts"].append(document["parts"][0]))


def image_twice(folder):
    changed(folder, lambda d: d["parts"][1]["images"].append(d["parts"][0]["images"][0]))


def other_rows(folder):
    changed(folder, lambda document: document["parts"][1].update(rows=1))


def undone(folder):
    changed(folder, lambda document: document["parts"][1].update(done=False))


def foreign_receipt(folder):
    undone(folder)
    held = {"plan": "another", "rows": 1, "sha256": "0"}
    (folder / "part-00001.parquet.done.json").write_text(json.dumps(held))


def escapes(folder):
    changed(folder, lambda document: document["parts"][1].update(file="../dt.parquet"))


def later_version(folder):
    changed(folder, lambda document: document.update(schema="openset.parts/9"))


def no_list(folder):
    changed(folder, lambda document: document.update(parts=7))


def no_part(folder):
    changed(folder, lambda document: document.update(parts=[]))


BAD = {
    two_manifests: ("OS360", r"manifest \(1\)"),
    twice: ("OS362", "part-00000"),
    damaged: ("OS363", "part-00001"),
    exchanged: ("OS363", "part-00001"),
    other_rows: ("OS363", "1 in the manifest"),
    image_twice: ("OS364", "1 images are in a part twice"),
    gone: ("OS365", "part-00002"),
    undone: ("OS365", "1 of 3 parts"),
    foreign_receipt: ("OS361", "part-00001"),
    escapes: ("OS113", "leaves|inside"),
    later_version: ("OS102", "openset.parts/9"),
    no_list: ("OS102", "parts"),
    no_part: ("OS365", "lists no part"),
}


@pytest.mark.parametrize("spoil", BAD, ids=lambda spoil: spoil.__name__)
def test_bad_folders_are_refused(spoil, folder):
    spoil(folder)
    code, words = BAD[spoil]
    with pytest.raises(InputError, match=f"(?s){code}.*{words}"):
        read(folder)


def test_parts_of_other_labels_are_refused(folder, found):
    other = openset.Detections(
        found.image[:1], [0], found.box[:1], found.score[:1], labels=("alien",)
    )
    write(other, folder / "part-00001.parquet")
    undone(folder)
    parts = Parts.open(folder)
    parts.add(1, other)
    with pytest.raises(InputError, match=r"(?s)OS361.*1 of 3 parts"):
        read(folder)


def test_detections_need_their_truth_and_its_images(tmp_path, truth, found):
    with pytest.raises(UsageError, match="truth="):
        write(found, tmp_path / "dt.parts")
    stranger = openset.Detections([*found.image[:3], -5], *(
        [*column[:4]] for column in (found.label, found.box, found.score)
    ))  # fmt: skip
    with pytest.raises(InputError, match=r"(?s)OS364.*1 detections.*image -5"):
        write(stranger, tmp_path / "dt.parts", truth=truth)
    assert [*tmp_path.iterdir()] == []
    assert not is_parts(tmp_path)


def test_lists_of_provenance_are_of_all_parts(tmp_path, truth, found):
    from dataclasses import replace

    parts = Parts.plan(tmp_path / "x", planned("detections", truth.images.id, {}, 5))
    for number, lost in enumerate((["a.jpg"], ["b.jpg", "a.jpg"])):
        here = found.select(np.isin(found.image, parts.images[number]))
        parts.add(number, replace(here, provenance={"images": 9, "skipped_images": lost}))
    said = read_detections(tmp_path / "x").provenance
    assert said == {"images": 9, "skipped_images": ["a.jpg", "b.jpg"]}
    for there in (
        Parts.open(tmp_path / "x"),
        parts.close(),
        merged([tmp_path / "x"], tmp_path / "y"),
    ):
        assert [part.skipped for part in there.manifest.parts] == [["a.jpg"], ["b.jpg", "a.jpg"]]
        assert there.skipped == ["a.jpg", "b.jpg"]


def test_records_of_provenance_are_counted_together(tmp_path, truth, found):
    from dataclasses import replace

    parts = Parts.plan(tmp_path / "x", planned("detections", truth.images.id, {}, 5))
    taught = {"step": "train", "images": 70}
    for number, count in enumerate((3, 4)):
        here = found.select(np.isin(found.image, parts.images[number]))
        held = {"ledger": [taught, {"step": "score", "detections": count}]}
        parts.add(number, replace(here, provenance=held))
    said = read_detections(tmp_path / "x").provenance["ledger"]
    assert said == [taught, {"step": "score", "detections": 7}]
