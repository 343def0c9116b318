"""Streaming in any batches, and merging shards, give the numbers of one shot: exactly."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import openset
from openset.findings import InputError, UsageError
from openset.matching import match
from openset.matching.merge import merge
from openset.metrics import table
from openset.tables import Vocabulary
from scenes.builders import KNOWN, scene, torchvision

ANYWAY = {"intervals": False, "force": True}
PROTOCOLS = ["default", "owod", "elephant", "vos", "fmiyc"]


def numbers(result):
    """Everything a metric said, comparable with ==."""
    return {n: (v.value, v.reason, v.count, v.parts, v.params) for n, v in result.values.items()}


def evaluator(protocol="default", **options):
    return openset.Evaluator(known=KNOWN, protocol=protocol, intervals=False, **options)


def in_batches(shown, images, sizes):
    """Consecutive batches of the given sizes."""
    at = np.cumsum([0, *sizes])
    return [shown.part(images[a:b]) for a, b in pairwise(at) if images[a:b]]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 5),
    ids=st.sampled_from(["int", "str"]),
    sizes=st.lists(st.integers(1, 4), min_size=9, max_size=9),
    shuffle=st.randoms(use_true_random=False),
)
def test_any_split_is_one_shot(protocol, seed, ids, sizes, shuffle):
    shown = scene(seed, images=9, ids=ids)
    images = list(shown.images)
    shuffle.shuffle(images)
    batches = in_batches(shown, images, sizes)
    streamed = evaluator(protocol)
    for batch in batches:
        streamed.update(*batch.tables())
    # One shot sees the records in the order in which the batches brought them.
    objects = [a for batch in batches for a in batch.truth["annotations"]]
    truth = shown.part(images).truth | {"annotations": objects}
    found = [d for batch in batches for d in batch.found]
    whole = openset.evaluate(truth, found, known=KNOWN, protocol=protocol, **ANYWAY)
    assert numbers(streamed.compute()) == numbers(whole)


def test_order_of_batches_does_not_matter_when_ties_go_by_image():
    shown = scene(2, images=9)
    forward, backward = evaluator(), evaluator()
    parts = in_batches(shown, shown.images, [2, 3, 4])
    for part in parts:
        forward.update(*part.tables())
    for part in reversed(parts):
        backward.update(*part.tables())
    a, b = forward.compute(), backward.compute()
    # The wilderness curve takes wild images in the order of the file, so it may differ.
    names = [n for n in table() if "curve" not in n and n != "average_wilderness_impact"]
    assert {n: a.values[n].value for n in names} == {n: b.values[n].value for n in names}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_merging_evaluators_is_one_shot(protocol):
    shown = scene(3, images=9)
    first, second, third = (
        evaluator(protocol).update(*part.tables())
        for part in in_batches(shown, shown.images, [4, 1, 4])
    )
    merged = first.merge(second).merge(third).compute()
    whole = openset.evaluate(*shown.tables(), known=KNOWN, protocol=protocol, intervals=False)
    assert numbers(merged) == numbers(whole)


def test_an_empty_evaluator_merges_into_the_other():
    shown = scene(3)
    full = evaluator().update(*shown.tables())
    assert numbers(evaluator().merge(full).compute()) == numbers(full.compute())


def test_intervals_of_a_stream_are_those_of_one_shot():
    shown = scene(4, images=9)
    names = ["unknown_recall", "a_ose", "detections_per_image"]
    streamed = openset.Evaluator(known=KNOWN, metrics=names, seed=5)
    for part in in_batches(shown, shown.images, [3, 3, 3]):
        streamed.update(*part.tables())
    whole = openset.evaluate(*shown.tables(), known=KNOWN, metrics=names, seed=5)
    result = streamed.compute()
    assert {n: v.interval for n, v in result.values.items()} == {
        n: v.interval for n, v in whole.values.items()
    }
    assert all(v.interval is not None for v in result.values.values())


def test_batches_of_torchvision_dictionaries():
    shown = scene(5, images=6)
    targets, predictions = torchvision(shown)
    # Integer labels have no names there: known classes are the category ids as text.
    known = Vocabulary(tasks=(("3",), ("7", "8")))
    renamed = openset.Evaluator(known=known, intervals=False)
    for at in range(0, 6, 2):
        renamed.update(targets[at : at + 2], predictions[at : at + 2])
    whole = openset.evaluate(*shown.tables(), known=KNOWN, intervals=False)
    assert renamed.compute().flat() == whole.flat()


@pytest.mark.parametrize("empty", [[], "table"])
def test_a_batch_without_detections(empty):
    shown = scene(6, images=6)
    silent = [i for i in shown.images if not shown.part([i]).found][:1] or shown.images[:1]
    rest = [i for i in shown.images if i not in silent]
    truth, nothing = shown.part(silent).tables()[0], empty
    if empty == "table":
        nothing = shown.tables()[1].select(np.zeros(len(shown.found), bool))
    streamed = evaluator().update(truth, nothing).update(*shown.part(rest).tables())
    kept = [d for d in shown.found if d["image_id"] in rest]
    whole = openset.evaluate(shown.part(silent + rest).truth, kept, known=KNOWN, **ANYWAY)
    assert streamed.compute().flat() == whole.flat()


def codes(result):
    return {finding.code: finding for finding in result.findings}


def test_findings_of_batches_travel_with_the_result():
    shown = scene(7, images=8)
    batches = in_batches(shown, [i for i in shown.images if shown.part([i]).found], [2, 2, 2, 2])
    streamed = evaluator()
    for batch in batches:
        batch.found[0]["bbox"][2] = 0.0
        streamed.update(*batch.tables())
    assert codes(streamed.compute())["OS206"].count == len(batches) > 1


def test_what_one_batch_lacks_is_not_said_of_the_data():
    shown = scene(7, images=8)
    streamed = evaluator()
    for image in shown.images:
        streamed.update(*shown.part([image]).tables())
    lacking = {"OS302", "OS303", "OS401", "OS402", "OS410"}
    assert not lacking & codes(streamed.compute()).keys()


def test_what_every_batch_lacks_is_said_of_the_data():
    shown = scene(7, images=8)
    for record in shown.found:
        record["category_id"] = 3
    streamed = evaluator()
    for image in shown.images:  # some of them without detections, or without objects
        streamed.update(*shown.part([image]).tables())
    whole = openset.evaluate(*shown.tables(), known=KNOWN, intervals=False)
    assert "OS309" in codes(whole)
    assert "OS309" in codes(streamed.compute())


def test_hashes_of_a_stream():
    shown = scene(7, images=8)
    whole = openset.evaluate(*shown.tables(), known=KNOWN, intervals=False).provenance
    once = evaluator().update(*shown.tables()).compute().provenance
    assert (once.truth_hash, once.detections_hash) == (whole.truth_hash, whole.detections_hash)
    parts = evaluator()
    for batch in in_batches(shown, shown.images, [4, 4]):
        parts.update(*batch.tables())
    assert len(parts.compute().provenance.truth_hash) == len(whole.truth_hash)


def apart(shown):
    """The same scene with every detection far from every object."""
    found = [d | {"bbox": [180.0, 140.0, 4.0, 4.0]} for d in shown.found]
    return type(shown)(shown.truth, found)


def test_no_overlap_in_any_batch_is_an_error():
    shown = apart(scene(7, images=8))
    batches = in_batches(shown, shown.images, [3, 4, 1])
    assert not batches[-1].truth["annotations"]  # an empty batch does not hide it
    batches[-1].found.clear()
    streamed, forced = evaluator(), evaluator(force=True)
    for batch in batches:
        streamed.update(*batch.tables())
        forced.update(*batch.tables())
    with pytest.raises(InputError, match="OS410"):
        streamed.compute()
    result = forced.compute()
    assert codes(result)["OS410"].level == "warning"
    assert result.values["udr"].value == 0


def test_a_box_that_is_not_finite_is_an_error_in_one_batch_too():
    shown = scene(7, images=8)
    next(d for d in shown.found)["bbox"][0] = float("nan")
    batches = in_batches(shown, shown.images, [4, 4])
    streamed = evaluator()
    for batch in batches:
        streamed.update(*batch.tables())
    with pytest.raises(InputError, match="OS201"):
        streamed.compute()


def test_a_score_that_is_not_a_number_is_all_that_is_wrong_with_a_batch_without_objects():
    shown = scene(7, images=8)
    for d in shown.found:
        d["score"] = float("nan")
    shown.truth["annotations"].clear()
    with pytest.raises(InputError) as caught:
        evaluator(force=True).update(*shown.tables())
    assert [finding.code for finding in caught.value.findings] == ["OS202"]


def normalised(shown):
    """The same scene with boxes in units of about the image."""
    found = [d | {"bbox": [x / 256 for x in d["bbox"]]} for d in shown.found]
    return type(shown)(shown.truth, found)


def test_normalised_boxes_are_an_error_if_every_batch_has_them():
    shown = scene(7, images=8)
    images = [i for i in shown.images if shown.part([i]).found]
    first, second = in_batches(shown, images, [3, 5])
    both, one = evaluator(), evaluator()
    both.update(*normalised(first).tables()).update(*normalised(second).tables())
    with pytest.raises(InputError, match="OS203"):
        both.compute()
    # In one batch of several it is a warning: a few tiny boxes prove nothing.
    one.update(*normalised(first).tables()).update(*second.tables())
    assert codes(one.compute())["OS203"].level == "warning"


def test_nothing_to_compute():
    with pytest.raises(UsageError, match="update"):
        evaluator().compute()


def test_an_image_in_two_shards_is_refused():
    shown = scene(8)
    twice = evaluator().update(*shown.tables()).update(*shown.part(shown.images[:1]).tables())
    with pytest.raises(UsageError, match="two shards"):
        twice.compute()


def test_unknownness_in_some_shards_only_is_refused():
    a, b = (scene(8).part(scene(8).images[at : at + 4]) for at in (0, 4))
    plain = [{k: v for k, v in d.items() if k != "unknownness"} for d in b.found]
    with pytest.raises(UsageError, match="unknownness"):
        evaluator().update(*a.tables()).update(b.truth, plain).compute()


def test_different_protocols_and_vocabularies_are_refused():
    shown = scene(8)
    first, second = (part.tables() for part in in_batches(shown, shown.images, [4, 4]))
    with pytest.raises(UsageError, match="protocols"):
        merge([match(*first, KNOWN, "owod"), match(*second, KNOWN, "vos")])
    with pytest.raises(UsageError, match="vocabularies"):
        merge([match(*first, KNOWN), match(*second, Vocabulary.of(["dog"]))])
    with pytest.raises(UsageError, match="protocols"):
        evaluator("owod").update(*first).merge(evaluator("vos").update(*second)).compute()


def test_misspelt_names_are_refused_before_the_first_batch():
    with pytest.raises(UsageError, match="'owod'"):
        openset.Evaluator(protocol="owodd")
    with pytest.raises(UsageError, match="'unknown_recall'"):
        openset.Evaluator(metrics=["unknown_recal"])


def photos(name="{:03}.jpg"):
    """Forty images of one dog each, which is found."""
    boxes = np.random.default_rng(0).uniform(5, 40, (40, 4))
    truth = [
        {"image_id": i, "boxes": [[*b[:2], *(b[:2] + b[2:])]], "labels": [1]}
        for i, b in enumerate(boxes)
    ]
    found = [one | {"scores": [0.9 - 0.01 * i]} for i, one in enumerate(truth)]
    return [one | {"file_name": name.format(i)} for i, one in enumerate(truth)], found


@pytest.mark.parametrize("lost", [range(24, 40), range(16)])
def test_whole_batches_without_a_detection_are_a_detector_that_stopped(lost):
    truth, found = photos()
    stopped = openset.Evaluator(known=["dog"], names={1: "dog"}, intervals=False)
    for i in range(0, 40, 8):
        stopped.update(truth[i : i + 8], [one for one in found[i : i + 8] if i not in lost])
    with pytest.raises(InputError) as refused:
        stopped.compute()
    said = [one for one in refused.value.findings if one.code == "OS426"]
    assert [one.count for one in said] == [len(lost)]


def test_silent_batches_are_counted_together_and_a_few_are_no_mistake():
    truth, found = photos()
    some = openset.Evaluator(known=["dog"], names={1: "dog"}, intervals=False)
    for i in range(0, 40, 2):  # frames of an empty street, in the middle
        some.update(truth[i : i + 2], [one for one in found[i : i + 2] if i not in (8, 20)])
    said = {one.code: one for one in some.compute().findings}
    assert "OS426" not in said
    assert said["OS404"].message == "4 of 40 images (10.0%) have no detection"
