"""Files: a written world, whole, resumable, and read by the evaluator with its roles."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import openset
from openset.findings import InputError
from openset.formats import read_annotations
from openset.tables import Detections, Vocabulary
from openset.tables.check import check
from openset.worlds import _png
from openset.worlds.digits import SPLITS, DigitsWorld

WORLD = DigitsWorld(seed=3, images=50, hidden=0.2)
SOURCE = str(Path(openset.__file__).parents[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return WORLD.write(tmp_path_factory.mktemp("world") / "digits")


def contents(folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_what_is_written(folder):
    names = set(contents(folder))
    assert len([name for name in names if name.endswith(".png")]) == 50
    rest = {name for name in names if not name.endswith(".png")}
    truth = {f"{split}{part}.json" for split in SPLITS for part in ("", "-complete")}
    assert rest == truth | {"world.json", "vocabularies/task1.toml", "vocabularies/digit.toml"}


def test_images_are_the_scenes(folder):
    for split in SPLITS:
        truth = read_annotations(folder / f"{split}.json")
        assert len(truth.images) == WORLD.count(split)
        for index, name in enumerate(truth.images.file_name.tolist()):
            with Image.open(folder / name) as image:
                assert image.mode == "RGB"
                assert (np.asarray(image) == WORLD.scene(index, split).image).all()


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("complete", [False, True])
def test_files_hold_the_annotations(folder, split, complete):
    read = read_annotations(folder / f"{split}{'-complete' if complete else ''}.json")
    made = WORLD.annotations(split, complete=complete)
    for name in ("labels", "role", "supercategory"):
        assert getattr(read, name) == getattr(made, name)
    for name in ("image", "label", "box", "crowd", "category_id", "area"):
        assert np.array_equal(getattr(read, name), getattr(made, name))
    assert np.array_equal(read.images.id, made.images.id)
    assert np.array_equal(read.images.attributes["wild"], made.images.attributes["wild"])
    assert set(read.attributes) == set(made.attributes)
    tiers = np.array(["" if tier is None else tier for tier in read.attributes["tier"].tolist()])
    assert np.array_equal(tiers, made.attributes["tier"])


def test_hidden_labels_are_in_the_complete_file(folder):
    given = read_annotations(folder / "train.json")
    whole = read_annotations(folder / "train-complete.json")
    labelled = whole.attributes["labelled"] == 1
    assert 0 < (~labelled).sum() < 0.4 * len(whole)
    assert np.array_equal(whole.box[labelled], given.box)


def test_training_files_do_not_name_the_unknown(folder):
    for split in ("train", "val"):
        truth = read_annotations(folder / f"{split}.json")
        assert set(truth.labels) == set(WORLD.known_labels)
    assert "unknown" in read_annotations(folder / "test.json").labels


def test_wild_images_are_marked(folder):
    truth = read_annotations(folder / "test-complete.json")
    known = WORLD.vocabulary.classes(truth.labels)[truth.label] < len(WORLD.known_labels)
    holds_known = np.bincount(truth.image[known], minlength=len(truth.images)) > 0
    assert np.array_equal(truth.images.attributes["wild"] == 1, ~holds_known)


def test_roles_are_read_by_the_evaluator(folder):
    truth = read_annotations(folder / "test.json")
    assert Vocabulary.of(None, truth).hash == WORLD.vocabulary.hash
    perfect = Detections(
        image=truth.images.id[truth.image],
        label=truth.category_id[truth.label],
        box=truth.box,
        score=np.full(len(truth), 0.9) - np.arange(len(truth)) * 1e-4,
    )
    perfect = Detections(
        image=perfect.image,
        label=np.where(truth.attributes["tier"] == "", perfect.label, truth.category_id[-1]),
        box=perfect.box,
        score=perfect.score,
    )
    assert truth.labels[-1] == "unknown"
    result = openset.evaluate(folder / "test.json", perfect)
    assert result.values["ap_known"].value == pytest.approx(1.0)
    assert result.values["unknown_recall"].value == pytest.approx(1.0)
    assert result.values["a_ose"].value == 0


def test_nothing_is_wrong_with_the_ground_truth(folder):
    truth = read_annotations(folder / "test.json")
    none = Detections(
        image=np.array([], np.int64), label=np.array([], np.int64), box=np.empty((0, 4)), score=[]
    )
    codes = {finding.code for finding in check(truth, none, WORLD.vocabulary)}
    assert not {code for code in codes if code.startswith("OS2")}
    assert not codes & {"OS301", "OS302", "OS303", "OS310", "OS311"}


def test_vocabularies_of_tasks(tmp_path):
    world = DigitsWorld(images=10, tasks=3, task=2)
    folder = world.write(tmp_path / "w") / "vocabularies"
    for task in (1, 2, 3):
        assert Vocabulary.of(folder / f"task{task}.toml").hash == world.vocabulary_at(task).hash
    assert Vocabulary.of(folder / "digit.toml").hash == world.superclass_vocabulary.hash
    truth = read_annotations(tmp_path / "w" / "test.json")
    assert Vocabulary.of(None, truth).hash == world.vocabulary.hash
    assert Vocabulary.of(None, truth).current == ("two", "three")


def test_the_same_bytes_with_more_workers_and_after_a_stop(folder, tmp_path):
    class Stop(Exception):
        pass

    def stop(done, total):
        assert total == 50
        raise Stop

    with pytest.raises(Stop):
        WORLD.write(tmp_path / "again", progress=stop)
    assert not (tmp_path / "again" / "train.json").exists()
    (tmp_path / "again" / "images" / "train" / "00000003.png").unlink()
    code = f"""
from openset.engines import find
from openset.worlds.digits import DigitsWorld
if __name__ == "__main__":
    world = DigitsWorld(seed=3, images=50, hidden=0.2)
    world.write({str(tmp_path / "again")!r}, engine=find("processes", 2))
"""
    script = tmp_path / "script.py"
    script.write_text(code)
    subprocess.run([sys.executable, str(script)], check=True, timeout=120)
    assert contents(tmp_path / "again") == contents(folder)


def test_finished_parts_are_left_alone(folder):
    before = {name: (folder / name).stat().st_mtime_ns for name in contents(folder)}
    seen = []
    WORLD.write(folder, progress=lambda done, total: seen.append((done, total)))
    same = {name for name in before if not name.startswith("vocab")}
    assert all((folder / name).stat().st_mtime_ns == before[name] for name in same)
    assert seen == [(30, 50), (35, 50), (50, 50)]


def test_a_folder_of_something_else(folder, tmp_path):
    with pytest.raises(InputError, match="seed is 3 there, 4 here") as caught:
        DigitsWorld(seed=4, images=50, hidden=0.2).write(folder)
    assert caught.value.findings[0].code == "OS702"
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(InputError, match="OS702"):
        WORLD.write(tmp_path)
    with pytest.raises(InputError, match="OS702"):
        WORLD.write(tmp_path / "note.txt")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "world.json").write_text("[1")
    with pytest.raises(InputError, match="not the file of a world"):
        WORLD.write(tmp_path / "odd")
    (tmp_path / "flat").write_text("")
    with pytest.raises(InputError, match="OS10"):
        WORLD.write(tmp_path / "flat" / "below")


BEYOND_NUMPY = ("msgspec", "polars", "PIL", "yaml", "defusedxml", "torch", "sklearn", "scipy")


def test_numpy_is_enough(tmp_path):
    code = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BEYOND_NUMPY!r}:
            raise ImportError(name)
sys.meta_path.insert(0, Blocker())
from openset.worlds.digits import DigitsWorld
DigitsWorld(images=10).write({str(tmp_path / "w")!r})
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert json.loads((tmp_path / "w" / "test.json").read_text())["images"]


def test_png(tmp_path):
    rng = np.random.default_rng(0)
    for shape in ((1, 1, 3), (5, 3, 3), (64, 48, 3)):
        image = rng.integers(0, 256, shape, np.uint8)
        (tmp_path / "a.png").write_bytes(_png.encode(image))
        with Image.open(tmp_path / "a.png") as read:
            assert (np.asarray(read) == image).all()


def test_golden_hash():
    # Pixels and boxes, not compressed bytes: those belong to zlib. If this changes on purpose,
    # raise VERSION in worlds/_compose.py and say so in the changelog.
    world = DigitsWorld(seed=11, images=20, crowds=0.5, hidden=0.1, occlusion=0.5)
    data = hashlib.sha256()
    for split in SPLITS:
        for scene in world.scenes(split):
            data.update(scene.image.tobytes() + repr(scene.objects).encode())
    assert data.hexdigest()[:16] == "96aec46985870b79"


def test_first_images_of_a_split_are_those_of_the_world(tmp_path):
    world = DigitsWorld(seed=3, images=20)
    whole, some = world.write(tmp_path / "whole"), world.write_images(tmp_path / "some", "test", 2)
    names = sorted(path.name for path in (some / "images" / "test").iterdir())
    assert len(names) == 2
    for name in names:
        path = Path("images") / "test" / name
        assert (some / path).read_bytes() == (whole / path).read_bytes()
