"""From the files that tools write to a table, in one command; and the same thing is said once."""

from __future__ import annotations

import json

import numpy as np
import pytest

from openset.formats import read_detections
from scenes.builders import Scene
from scenes.origins import Of, label_studio, roboflow, save_json, version, write_save_txt


@pytest.fixture
def of(scene):
    read = (json.loads((scene / name).read_text()) for name in ("gt.json", "base.json"))
    return Of(Scene(*read))


def ap(done):
    assert done.code == 0, done.err
    return {name: one["values"]["ap_known"]["value"] for name, one in done.json["models"].items()}


def evaluated(openset, gt, dt, *flags):
    return openset("evaluate", gt, dt, "--known", "dog,cat", "--no-intervals", "--json", *flags)


def test_a_folder_of_ultralytics_in_one_command(of, scene, openset):
    write_save_txt(of, scene / "predict")
    wanted = ap(evaluated(openset, "gt.json", "base.json"))["base"]
    assert ap(evaluated(openset, "gt.json", "predict")) == {"predict": pytest.approx(wanted)}
    (scene / "data.yaml").write_text(f"names: {of.names}\n")
    done = evaluated(openset, "gt.json", "predict", "--names", "data.yaml")
    assert ap(done) == {"predict": pytest.approx(wanted)}
    assert "OS340" not in done.err


def test_predictions_json_of_ultralytics(of, scene, openset):
    save_json(of, scene)
    wanted = ap(evaluated(openset, "gt.json", "base.json"))["base"]
    done = evaluated(openset, "gt.json", "predictions.json", "--category-ids", "index1")
    assert ap(done) == {"predictions": pytest.approx(wanted)}
    assert "index" in openset("check", "gt.json", "predictions.json", "--known", "dog,cat").out


def test_an_export_of_label_studio(of, scene, openset):
    label_studio(of, scene)
    flags = ("--image-ids", "upload")
    wanted = ap(evaluated(openset, "gt.json", "base.json"))["base"]
    assert ap(evaluated(openset, "result.json", "predict", *flags)) == {
        "predict": pytest.approx(wanted)
    }
    told = openset("check", "result.json", "predict", "--known", "dog,cat")
    assert told.code == 1 and "upload" in told.out


@pytest.mark.parametrize("both", [False, True], ids=["one side", "two exports"])
def test_an_export_of_roboflow(both, of, scene, openset):
    roboflow(of, scene)
    if both:
        for at, texts in enumerate(sorted((scene / "predict" / "labels").iterdir())):
            texts.rename(texts.with_name(version(f"{texts.stem}.jpg", at + 99)).with_suffix(".txt"))
    told = openset("check", "_annotations.coco.json", "predict", "--known", "dog,cat")
    assert told.code == 1 and "--image-ids roboflow" in told.out
    wanted = ap(evaluated(openset, "gt.json", "base.json"))["base"]
    found = evaluated(openset, "_annotations.coco.json", "predict", "--image-ids", "roboflow")
    assert ap(found) == {"predict": pytest.approx(wanted)}


def test_convert_takes_names_and_sizes_from_the_ground_truth(of, scene, openset):
    write_save_txt(of, scene / "predict")
    refused = openset("convert", "predict", "-o", "dt.json")
    assert refused.code == 2 and "OS110" in refused.err
    done = openset("convert", "predict", "-o", "dt.json", "--truth", "gt.json")
    assert done.code == 0 and "OS340" in done.err
    wanted = ap(evaluated(openset, "gt.json", "base.json"))["base"]
    assert ap(evaluated(openset, "gt.json", "dt.json"))["dt"] == pytest.approx(wanted)


def test_check_says_a_thing_once(scene, openset):
    found = json.loads((scene / "shy.json").read_text())
    for name in "abc":
        (scene / f"{name}.json").write_text(json.dumps(found + found[: ord(name) - 96]))
    done = openset(
        "check", "gt.json", "shy.json", "a.json", "b.json", "c.json", "--known", "dog,cat"
    )
    codes = [
        line.split()[1] for line in done.out.splitlines() if line[:4] in ("erro", "warn", "note")
    ]
    assert len(codes) == len(set(codes)) and codes
    twice = next(block for block in done.out.split("\nwarning") if "a:" in block)
    assert "also  b (2), c (3)" in twice
    assert set(openset("check", "gt.json", "a.json", "b.json", "--json").json["findings"]) >= {
        "a",
        "b",
    }


@pytest.fixture
def runs(scene, openset):
    for name, files in {
        "one": ["base.json"],
        "two": ["shy.json"],
        "both": ["base.json", "shy.json"],
    }.items():
        assert openset("evaluate", "gt.json", *files, "--known", "dog,cat", "-o", name).code == 0
    return scene


def test_compare_takes_run_folders(runs, openset):
    by_file = openset("compare", "one/base.result.json", "two/shy.result.json", "--json").json
    by_run = openset("compare", "one", "two", "--json").json
    assert by_run["differences"] == by_file["differences"]
    assert list(by_run["methods"]) == ["one", "two"]
    by_name = openset("compare", "both/base", "both/shy", "--json").json
    assert by_name["differences"] == by_file["differences"]


def test_compare_does_not_choose_among_models(runs, openset):
    done = openset("compare", "one", "both")
    assert done.code == 2
    assert "OS103" in done.err and "both/base" in done.err
    (runs / "empty").mkdir()
    assert "OS103" in openset("compare", "one", "empty").err


def test_logits_from_an_archive_in_two_commands(scene, openset):
    found = json.loads((scene / "base.json").read_text())
    logits = np.random.default_rng(0).normal(size=(len(found), 4))
    classes = np.array(["dog", "cat", "cow", "horse"])
    np.savez(scene / "logits.npz", logits=logits, layout="sigmoid", classes=classes)
    told = ("convert", "base.json", "--evidence", "logits.npz", "-o", "dt.parquet")
    assert openset(*told).code == 0
    how = ("score", "dt.parquet", "--scorers", "max_logit", "--known", "dog,cat", "-o", "e.parquet")
    done = openset(*how)
    assert done.code == 0, done.err
    table = read_detections(scene / "e.parquet")
    assert table.unknownness == pytest.approx(-logits[:, :2].max(axis=1), abs=1e-5)
    assert table.labels == ("dog", "cat")
    np.savez(scene / "short.npz", logits=logits[1:], layout="sigmoid")
    refused = openset("convert", "base.json", "--evidence", "short.npz", "-o", "x.parquet")
    assert refused.code == 2 and "OS343" in refused.err
    truth = openset("convert", "gt.json", "--evidence", "logits.npz", "-o", "x.parquet")
    assert truth.code == 2 and "ground truth" in truth.err
