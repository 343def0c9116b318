"""FiftyOne: outcomes go back into a data set, and a run becomes one; really, where there is one.

The real package needs a database, which it starts itself, or finds by FIFTYONE_DATABASE_URI.
"""

from __future__ import annotations

import sys

import pytest
from PIL import Image

import openset
import openset.diagnosis.deployed
from openset.diagnosis.errors import ERROR_TYPES
from openset.evaluation.run import Run, evaluate_all
from openset.integrations.fiftyone import as_fiftyone, to_fiftyone
from scenes import frameworks
from scenes.builders import scene
from scenes.origins import Of, fiftyone

KNOWN = ["dog", "cat", "cow"]


@pytest.fixture
def of():
    made = scene(3, images=12, flags=False, unknownness=False)
    for row, one in enumerate(made.found):
        one["score"] = 0.9 * one["score"] + 1e-4 * row
    return Of(made)


def test_outcomes_go_back_into_fiftyone(of, tmp_path):
    dataset, _, _ = fiftyone(of, tmp_path)
    run = evaluate_all(dataset, {"yolo": dataset}, known=KNOWN, intervals=False)
    to_fiftyone(run, dataset)
    flow = openset.diagnosis.deployed.deployed(run)[0].flow
    held = [one for sample in dataset.samples for one in boxes(sample, "ground_truth")]
    fates = [one.openset for one in held]
    assert fates.count("missed") == flow.known_missed + flow.unknown_missed
    assert fates.count("right") == flow.known_right
    assert fates.count("called unknown") == flow.known_unknown + flow.unknown_unknown
    found = [one.openset for s in dataset.samples for one in boxes(s, "predictions")]
    assert found.count("on nothing") == flow.background_wrong + flow.background_unknown
    assert {"known, right", "unknown, found"} <= set(found)
    for sample in dataset.samples:
        for one in boxes(sample, "predictions"):
            if one.openset == "known, right":
                assert any(overlaps(one, other) for other in boxes(sample, "ground_truth"))
            assert one.openset != "unknown, found" or one.label == "unknown"
    kept = [one for s in dataset.samples for one in boxes(s, "predictions")]
    errors = [getattr(one, "openset_error", None) for one in kept]
    for one, error in zip(kept, errors, strict=True):
        assert error != "correct" or one.openset == "known, right"
        if one.openset == "known, right":  # a second box on an object is one of localisation
            assert error in ("correct", "localisation")
    assert errors.count("correct") == flow.known_right
    assert {None, "correct", "unknown-unknown"} < set(errors) <= {None, *ERROR_TYPES}
    assert all(sample["saved"] and sample["openset_mistakes"] >= 0 for sample in dataset.samples)
    with pytest.raises(openset.UsageError, match="no detector 'detr', but yolo"):
        to_fiftyone(run, dataset, model="detr")
    other = evaluate_all(of.scene.truth, {"yolo": of.scene.found}, known=KNOWN, intervals=False)
    with pytest.raises(openset.UsageError, match=r"not made from a FiftyOne.*as_fiftyone"):
        to_fiftyone(other, dataset)


def pictures(of, folder):
    folder.mkdir()
    for image in of.images:
        Image.new("RGB", (image["width"], image["height"])).save(folder / image["file_name"])
    return folder


def check_dataset(dataset, run, of):
    """Boxes lie where they lay, and what is said of them is what the flow counts."""
    flows = [one.flow for one in openset.diagnosis.deployed.deployed(run)]
    samples = list(dataset)
    assert [sample["filepath"].rpartition("/")[2] for sample in samples] == [
        image["file_name"] for image in of.images
    ]
    held = [one for sample in samples for one in sample["ground_truth"].detections]
    for field, flow in zip(("yolo_11", "shy"), flows, strict=True):
        fates = [getattr(one, f"openset_{field}") for one in held]
        assert fates.count("right") == flow.known_right
        found = [one for sample in samples for one in sample[field].detections]
        assert len(found) == len(run.detections[field.replace("_", "-")])
        said = [one.openset for one in found]
        assert said.count("on nothing") == flow.background_wrong + flow.background_unknown
    same = evaluate_all(of.scene.truth, {"a": of.scene.found}, known=KNOWN, intervals=False)
    first = samples[0]["yolo_11"].detections
    width, height = of.images[0]["width"], of.images[0]["height"]
    wanted = [one["bbox"] for one in of.scene.found if one["image_id"] == of.images[0]["id"]]
    shares = [[x / width, y / height, w / width, h / height] for x, y, w, h in wanted]
    assert [list(one.bounding_box) for one in first] == [pytest.approx(s) for s in shares]
    assert sum(sample["openset_mistakes"] for sample in samples) > 0
    return same


def both(of, folder):
    """Two detectors, kept in a folder and read again."""
    shy = [one for one in of.scene.found if one["score"] > 0.5]
    made = {"yolo-11": of.scene.found, "shy": shy}
    run = evaluate_all(of.scene.truth, made, known=KNOWN, intervals=False)
    return Run.load(run.save(folder / "run"))


def test_a_run_becomes_a_data_set(of, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fiftyone", frameworks.fiftyone())
    run = both(of, tmp_path)
    check_dataset(as_fiftyone(run, pictures(of, tmp_path / "photos"), dataset="mine"), run, of)


def test_real_fiftyone(of, tmp_path):
    package = pytest.importorskip("fiftyone", reason="FiftyOne is not installed")
    run = both(of, tmp_path)
    photos = pictures(of, tmp_path / "photos")
    try:
        dataset = as_fiftyone(run, photos)
    except package.core.config.FiftyOneConfigError as error:
        pytest.skip(f"FiftyOne has no database: {error}")
    try:
        same = check_dataset(dataset, run, of)
        dataset.rename_sample_field("yolo_11", "predictions")
        assert dataset.count_values("predictions.detections.openset_error")["correct"] > 0
        again = evaluate_all(dataset, {"yolo": dataset}, known=KNOWN, intervals=False)
        flat = again.evaluations["yolo"].flat()  # sizes are those of the files
        assert flat == pytest.approx(same.evaluations["a"].flat(), abs=1e-6)
        to_fiftyone(again, dataset, name="twice")
        wrong = dataset.count_values("predictions.detections.twice")
        assert wrong == dataset.count_values("predictions.detections.openset")
    finally:
        dataset.delete()


def boxes(sample, field):
    return [] if sample[field] is None else sample[field].detections


def overlaps(one, other):
    """Whether two boxes of one label overlap by half."""
    (ax, ay, aw, ah), (bx, by, bw, bh) = one.bounding_box, other.bounding_box
    wide, high = min(ax + aw, bx + bw) - max(ax, bx), min(ay + ah, by + bh) - max(ay, by)
    shared = max(wide, 0) * max(high, 0)
    return one.label == other.label and shared >= 0.499 * (aw * ah + bw * bh - shared)
