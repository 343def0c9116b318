"""Trainings that go on in a folder, or from data, that is no longer what it was."""

from __future__ import annotations

import json
import shutil

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.findings import OpenSetError  # noqa: E402
from openset.nets.weights import read  # noqa: E402
from scenes.training import make_data, same, trained, weights  # noqa: E402


@pytest.fixture(scope="module")
def origin(tmp_path_factory, one_torch_thread):
    """Data, a training that is done, and one of another seed."""
    home = tmp_path_factory.mktemp("resume")
    (home / "data").mkdir()
    truth = make_data(home / "data")
    trained(truth, home / "run")
    trained(truth, home / "other", seed=1)
    return home


@pytest.fixture
def place(origin, tmp_path):
    """A copy of it, on another disk as it were."""
    shutil.copytree(origin, tmp_path / "moved")
    return tmp_path / "moved"


def document(name, change):
    """Change a JSON file."""

    def spoil(place):
        held = json.loads((place / name).read_text())
        change(held)
        (place / name).write_text(json.dumps(held))

    return spoil


def truth(change):
    return document("data/train.json", change)


def checkpoint(change):
    def spoil(place):
        held = read(place / "run/checkpoint.pt")
        change(held)
        torch.save(held, place / "run/checkpoint.pt")

    return spoil


def written(name, data):
    return lambda place: (place / name).write_bytes(data)


def exchanged(name):
    return lambda place: shutil.copy(place / "other" / name, place / "run" / name)


def moments(held):
    one = next(iter(held["optimizer"]["state"].values()))
    one["exp_avg"] = torch.full_like(one["exp_avg"], float("nan"))


def fewer_images(held):
    gone = held["images"].pop()["id"]
    held["annotations"] = [one for one in held["annotations"] if one["image_id"] != gone]


def another_order(held):
    held["images"].reverse()


def moved_object(held):
    held["annotations"][3]["bbox"][0] += 1


def exchanged_labels(held):
    for one in held["annotations"]:
        one["category_id"] = {1: 2, 2: 1}.get(one["category_id"], one["category_id"])


def other_names(held):
    held["categories"][0]["name"] = "blue"


def another_picture(place):
    shutil.copy(place / "data/4.png", place / "data/5.png")


def resized_picture(place):
    from PIL import Image

    Image.open(place / "data/5.png").resize((32, 32)).save(place / "data/5.png")


def lost_picture(place):
    (place / "data/5.png").unlink()


def cut_checkpoint(place):
    data = (place / "run/checkpoint.pt").read_bytes()
    (place / "run/checkpoint.pt").write_bytes(data[: len(data) // 2])


CHANGES = {
    "a checkpoint of another training": (exchanged("checkpoint.pt"), "OS617"),
    "run.json of another training": (exchanged("run.json"), "OS609"),
    "both but the checkpoint": (
        lambda place: [exchanged("run.json")(place), exchanged("log.jsonl")(place)],
        "OS609",
    ),
    "moments that are not numbers": (checkpoint(moments), "OS614"),
    "a checkpoint without a step": (checkpoint(lambda held: held.pop("step")), "OS604"),
    "a step below 0": (checkpoint(lambda held: held.update(step=-3)), "OS604"),
    "a step in words": (checkpoint(lambda held: held.update(step="eight")), "OS604"),
    "half a checkpoint": (cut_checkpoint, "OS604"),
    "an empty checkpoint": (written("run/checkpoint.pt", b""), "OS604"),
    "a model in place of the checkpoint": (
        lambda place: shutil.copy(place / "run/model.pt", place / "run/checkpoint.pt"),
        "OS604",
    ),
    "run.json cut off": (written("run/run.json", b'{"recipe": {'), "OS609"),
    "run.json without a recipe": (
        document("run/run.json", lambda held: held.update(recipe=None)),
        "OS609",
    ),
    "fewer images": (truth(fewer_images), "OS609"),
    "another order": (truth(another_order), "OS609"),
    "a box that moved": (truth(moved_object), "OS609"),
    "labels exchanged": (truth(exchanged_labels), "OS609"),
    "other names": (truth(other_names), "OS609"),
    "another picture under a name": (another_picture, "OS613"),
    "a resized picture": (resized_picture, "OS613"),
    "a lost picture": (lost_picture, "OS"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_noticed(change, place):
    spoil, code = CHANGES[change]
    spoil(place)
    before = (place / "run/model.pt").read_bytes()
    with pytest.raises(OpenSetError, match=code):
        trained(place / "data/train.json", place / "run")
    assert (place / "run/model.pt").read_bytes() == before


@pytest.mark.parametrize(
    "changes",
    [{"lr": 0.01}, {"steps": 9}, {"batch": 4}, {"flip": 0.0}, {"optimizer": "sgd"}],
    ids=str,
)
def test_a_recipe_that_changed_is_noticed(changes, place):
    with pytest.raises(OpenSetError, match="OS609"):
        trained(place / "data/train.json", place / "run", **changes)


@pytest.mark.parametrize(
    "change",
    ["half a checkpoint", "an empty checkpoint", "a checkpoint without a step", "no optimizer"],
)
def test_a_damaged_checkpoint_says_what_to_do_and_that_helps(change, place, origin):
    spoil = CHANGES[change][0] if change in CHANGES else checkpoint(lambda h: h.pop("optimizer"))
    spoil(place)
    with pytest.raises(OpenSetError, match="OS604") as caught:
        trained(place / "data/train.json", place / "run")
    (finding,) = caught.value.findings
    assert "checkpoint of this training is damaged" in finding.cause
    assert "or remove it" in finding.fix and "checkpoint.pt" in finding.fix
    (place / "run/checkpoint.pt").unlink()
    assert trained(place / "data/train.json", place / "run").resumed == 0
    assert same(weights(place / "run"), weights(origin / "run"))


def test_other_weights_to_start_from_are_noticed(origin, tmp_path):
    from openset.training import TrainingData, train
    from scenes.training import recipe

    data = TrainingData.of(origin / "data/train.json")
    first, other = (str(origin / name / "model.pt") for name in ("run", "other"))
    for given in (first, None):
        folder = tmp_path / ("from" if given else "new")
        shutil.copy(first, tmp_path / "copy.pt")
        same_weights = str(tmp_path / "copy.pt") if given else None
        train(recipe(steps=1), data, folder, device="cpu", weights=given)
        train(recipe(steps=1), data, folder, device="cpu", weights=same_weights)
        with pytest.raises(OpenSetError, match=r"OS609.*another weights"):
            train(recipe(steps=1), data, folder, device="cpu", weights=other)
    older = json.loads((tmp_path / "new/run.json").read_text())
    del older["weights"]
    (tmp_path / "new/run.json").write_text(json.dumps(older))
    assert train(recipe(steps=1), data, tmp_path / "new", device="cpu").resumed == 1


HARMLESS = {
    "moved": lambda place: None,
    "a log with strange lines": lambda place: (
        (place / "run/log.jsonl").open("a").write('[1]\n{"loss": 1}\n{"st')
    ),
    "no log": lambda place: (place / "run/log.jsonl").unlink(),
    "no model": lambda place: (place / "run/model.pt").unlink(),
    "a note beside": written("run/note.txt", b"mine"),
}


@pytest.mark.parametrize("change", HARMLESS)
def test_what_is_harmless_is_gone_on_with(change, place, origin):
    HARMLESS[change](place)
    done = trained(place / "data/train.json", place / "run")
    assert done.resumed == 8
    assert same(weights(place / "run"), weights(origin / "run"))


def test_pictures_of_one_name_in_two_folders_are_both_looked_at(tmp_path):
    truth = make_data(tmp_path)
    held = json.loads(truth.read_text())
    for at, image in enumerate(held["images"]):
        folder = tmp_path / "ab"[at % 2]
        folder.mkdir(exist_ok=True)
        name = f"{at // 2}.png"
        (tmp_path / image["file_name"]).rename(folder / name)
        image["file_name"] = f"{folder.name}/{name}"
    truth.write_text(json.dumps(held))
    trained(truth, tmp_path / "run", steps=1)
    shutil.copy(tmp_path / "a/2.png", tmp_path / "a/1.png")
    with pytest.raises(OpenSetError, match=r"OS613[\s\S]*1\.png"):
        trained(truth, tmp_path / "run", steps=1)
