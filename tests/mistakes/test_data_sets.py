"""Detections in the form of a data set, as FiftyOne and label tools export them."""

from __future__ import annotations

import json

import pytest

from openset import evaluate
from openset.findings import InputError
from openset.formats import read_detections
from scenes.mistakes import EVALUATE, KNOWN, good

PLAIN = {"known": [*KNOWN], "intervals": False}


def data_set(world, **more):
    """The detections as annotations with scores, under ids of this file alone."""
    images, classes = world.gt["images"], world.gt["categories"]
    image = {one["id"]: at for at, one in enumerate(images)}
    klass = {one["id"]: at for at, one in enumerate(reversed(classes))}
    records = [
        one
        | {"id": at, "image_id": image[one["image_id"]], "category_id": klass[one["category_id"]]}
        | {"area": one["bbox"][2] * one["bbox"][3], "iscrowd": 0}
        for at, one in enumerate(world.dt)
    ]
    return {
        "images": [one | {"id": image[one["id"]]} for one in images],
        "categories": [{"id": klass[one["id"]], "name": one["name"]} for one in classes],
        "annotations": records,
        **more,
    }


def test_a_data_set_of_detections_is_read_by_names():
    world = good()
    right = evaluate(world.gt, world.dt, **PLAIN).flat()
    assert evaluate(world.gt, data_set(world), **PLAIN).flat() == right


def test_a_file_of_it_is_read_where_detections_are_asked_for(here, openset):
    world = good()
    world.write(here)
    plain = openset(*EVALUATE, "--json").json["models"]["dt"]["values"]
    (here / "set.json").write_text(json.dumps(data_set(world)))
    line = [*EVALUATE[:2], "dt=set.json", *EVALUATE[3:]]
    assert openset(*line, "--json").json["models"]["dt"]["values"] == plain


def test_without_lists_ids_are_those_of_the_ground_truth():
    world = good()
    found = read_detections({"annotations": world.dt, "images": [], "categories": []})
    assert found.image.tolist() == [one["image_id"] for one in world.dt]


@pytest.mark.parametrize(("lost", "code"), [("images", "image"), ("categories", "category")])
def test_records_of_what_is_not_listed_are_refused(lost, code):
    held = data_set(good())
    with pytest.raises(InputError, match=f"OS112.*{code}"):
        read_detections(held | {lost: held[lost][:1]})


def test_a_score_that_some_lack_is_said():
    held = data_set(good())
    del held["annotations"][3]["score"]
    with pytest.raises(InputError, match=r"OS107.*'score'"):
        read_detections(held)


def test_as_ground_truth_its_scores_are_said():
    world = good()
    told = [one.code for one in evaluate(data_set(world), world.dt, **PLAIN, force=True).findings]
    assert "OS466" in told
    sure = data_set(world)
    for one in sure["annotations"]:
        one["score"] = 1.0  # as some tools write for objects
    told = [one.code for one in evaluate(sure, world.dt, **PLAIN, force=True).findings]
    assert "OS466" not in told


def test_a_run_is_not_detections_and_says_so(here, openset):
    good().write(here)
    assert openset(*EVALUATE, "-o", "run").code == 0
    done = openset(*EVALUATE[:2], "run", *EVALUATE[3:])
    assert done.code == 2 and "OS104" in done.err and "the folder of a run" in done.err
    held = " ".join(done.err.split()).partition("its detections ")[2].split()[0]
    assert openset(*EVALUATE[:2], held, *EVALUATE[3:]).code == 0
