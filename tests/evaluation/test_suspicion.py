"""Labels and scores that are not what they seem: refused or named; weak detectors are not."""

from __future__ import annotations

import inspect
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import openset
from openset.evaluation import Evaluator, _suspicious_labels, _suspicious_scores, batches, suspicion
from openset.evaluation.settings import Settings
from openset.evaluation.steps import Ground, examine
from openset.findings import InputError, Level
from openset.formats import read_annotations, read_detections
from scenes.golden import DATA, file_in
from scenes.labels import IDS, KNOWN, NAMES, exchanged, found, relabelled, truth

GT = truth()
DT = found(GT)
PLACE = np.searchsorted(IDS, DT.label)
CODES = ("OS315", "OS316", "OS318", "OS319")
REAL = pytest.mark.skipif("OPENSET_DATA" not in os.environ, reason="OPENSET_DATA is not set")


def suspicions(detections, gt=GT, **options):
    """What an evaluation suspects, by code."""
    settings = Settings(**{"known": KNOWN, "force": True} | options)
    ground = Ground.of(gt, settings.vocabulary(gt), settings)
    return {f.code: f for f in examine(ground, detections, settings).findings if f.code in CODES}


def numbers(detections, **options):
    return openset.evaluate(GT, detections, known=KNOWN, intervals=False, **options).flat()


def mapping_in(finding):
    return json.loads(re.search(r"\{.*\}", finding.fix)[0])


SHUFFLED = IDS[[3, 0, 5, 1, 7, 2, 4, 6]]
WRONG = {
    "permuted": SHUFFLED,
    "two exchanged": exchanged("cat", "dog"),
    "known and unknown exchanged": exchanged("cat", "horse"),
    "half of them off": np.r_[IDS[:4], IDS[[5, 6, 7, 4]]],
}


@pytest.mark.parametrize("name", WRONG)
def test_labels_that_mean_other_classes_are_refused_with_the_mapping(name):
    wrong = relabelled(DT, WRONG[name])
    with pytest.raises(InputError) as caught:
        numbers(wrong)
    (finding,) = caught.value.findings
    assert finding.code == "OS316"
    assert numbers(wrong, category_ids=mapping_in(finding)) == numbers(DT)
    assert numbers(wrong, force=True) != numbers(DT)


def test_two_exchanged_are_named():
    finding = suspicions(relabelled(DT, exchanged("cat", "dog")))["OS316"]
    assert finding.count == 2
    assert finding.cause == "two classes are exchanged"
    assert mapping_in(finding) == {"17": 18, "18": 17}
    assert "cat on dog" in finding.message and "dog on cat" in finding.message


@pytest.mark.parametrize("step", [1, -1])
def test_ids_that_are_one_off(step):
    wide = replace(GT, category_id=np.arange(11, 19))
    shifted = replace(DT, label=PLACE + 11 + step)
    finding = suspicions(shifted, wide)["OS316"]
    assert finding.cause == f"the ids are 1 too {'high' if step > 0 else 'low'}"
    meant = mapping_in(finding)
    assert meant == {str(id_): id_ - step for id_ in range(11 + step, 19 + step)}


@pytest.mark.parametrize("often", [8, 5])
def test_later_classes_that_are_one_off_and_look_alike(often):
    """As of a class that was removed from a list; a detector that is right as often is left."""
    off = (PLACE > 1) & (PLACE < 7) & (np.arange(len(PLACE)) % 10 < often)
    listed = replace(GT, category_id=np.arange(8))
    found = suspicions(replace(DT, label=PLACE + off), listed)
    assert ("OS316" in found) is (often == 8)
    if found:
        assert "4 labels that follow each other" in found["OS316"].message


@pytest.mark.parametrize("first", [0, 1])
def test_positions_that_are_ids_of_other_classes(first):
    """No id is absent, so that only the boxes tell."""
    there = replace(GT, category_id=np.roll(np.arange(8), -1) + first)
    positions = replace(DT, label=PLACE + first)
    option = "index1" if first else "index"
    assert f"category_ids='{option}'" in suspicions(positions, there)["OS316"].fix
    got = openset.evaluate(there, positions, known=KNOWN, intervals=False, category_ids=option)
    assert got.flat() == numbers(DT)


def test_names_are_exchanged_too():
    labels = tuple({"cat": "dog", "dog": "cat"}.get(name, name) for name in NAMES)
    finding = suspicions(replace(DT, label=PLACE, labels=labels))["OS316"]
    assert mapping_in(finding) == {"cat": "dog", "dog": "cat"}


def test_batches_are_judged_together():
    wrong = relabelled(DT, SHUFFLED)
    stream = Evaluator(known=KNOWN, intervals=False)
    for low in range(0, 60, 4):
        part = (GT.image >= low) & (GT.image < low + 4)
        images = openset.tables.Images(GT.images.id[low : low + 4])
        gt = replace(GT.select(part), images=images, image=GT.image[part] - low)
        stream.update(gt, wrong.select((wrong.image > low) & (wrong.image <= low + 4)))
    with pytest.raises(InputError) as caught:
        stream.compute()
    (finding,) = caught.value.findings
    assert finding.code == "OS316" and "batches" not in finding.message


def drawn(seed, size=8):
    return np.random.default_rng(seed).integers(0, size, len(DT))


HONEST = {
    "clean": DT,
    "right in two of five": found(GT, right=0.4),
    "random classes": replace(DT, label=IDS[drawn(0)]),
    "one class": replace(DT, label=np.full(len(DT), 10)),
    "one class of many, and a few others": replace(
        DT, label=np.where(drawn(1, 20) == 0, IDS[drawn(2)], 3)
    ),
    "cat or dog, by a coin": replace(
        DT,
        label=np.where(np.isin(DT.label, [17, 18]) & (drawn(3, 2) == 0), 35 - DT.label, DT.label),
    ),
    "all dogs are cats": replace(DT, label=np.where(DT.label == 18, 17, DT.label)),
    "taught the known classes only": found(GT, classes=6),
    "taught three classes": found(GT, classes=3),
    "random scores": replace(DT, score=np.random.default_rng(5).random(len(DT))),
    "random unknownness": replace(DT, unknownness=np.random.default_rng(6).random(len(DT))),
    "three detections": DT.select(np.arange(3)),
    "few images, permuted": relabelled(DT, SHUFFLED).select(DT.image < 4),
}


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("protocol", ["default", "owod", "elephant"])
def test_a_weak_detector_is_no_wrong_file(name, protocol):
    assert suspicions(HONEST[name], protocol=protocol) == {}


def test_a_closed_set_detector_among_unknown_objects_alone():
    """It calls zebras horses, throughout: that is what is to be measured, not a wrong file."""
    strange = replace(GT, labels=tuple(f"{name}-like" for name in NAMES))
    named = replace(DT, labels=NAMES, label=PLACE)
    assert suspicions(named, strange, known=list(NAMES)) == {}


def test_scores_upside_down():
    finding = suspicions(replace(DT, score=1 - DT.score))["OS318"]
    assert finding.level is Level.WARNING
    assert "a box on background scores higher" in finding.message


def test_unknownness_upside_down():
    unknown = np.isin(np.resize(GT.label, len(DT)), [6, 7])
    sure = np.random.default_rng(9).normal(0, 1, len(DT)) - 1.5 * unknown
    assert "OS319" not in suspicions(replace(DT, unknownness=-sure))
    finding = suspicions(replace(DT, unknownness=sure))["OS319"]
    assert finding.level is Level.WARNING
    assert "less unknown than one on a known object of its class" in finding.message


REAL_FILES = [
    ("coco/instances_val2017_4697.json", "coco/yolox_nano_bbox.json", "coco80"),
    ("coco/instances_val2017_4697.json", "coco/yolox_nano_bbox.json", "voc20"),
    ("coco/instances_val2017_4697.json", "coco/yolov4tiny_bbox.json", "coco80"),
    ("coco/instances_val2017_4697.json", "coco/yolov4tiny_bbox.json", "owod-t2"),
    ("voc2007/voc2007_test_coco.json", "voc2007/yolov2_bbox.json", "voc20"),
    ("voc2007/voc2007_test_coco.json", "voc2007/yolov2_bbox.json", "cat,dog,person,car,bird"),
    ("voc2007/voc2007_test_coco_difficult.json", "voc2007/yolov3_bbox.json", "voc20"),
    *(
        (f"../reference/detection/{size}/gt.json", f"../reference/detection/{size}/dt.json", None)
        for size in ("tiny/mixed", "tiny/wild", "small/mixed", "small/wild", "edge/mixed")
    ),
]


@REAL
@pytest.mark.parametrize("gt, dt, known", REAL_FILES)
def test_real_detections_raise_no_alarm(gt, dt, known):
    files = [file_in(DATA, name) for name in (gt, dt)]
    if not all(file.exists() for file in files):
        pytest.skip("there is no such file")
    real = read_annotations(files[0])
    assert suspicions(read_detections(files[1]), real, known=known) == {}


@REAL
def test_real_detections_of_exchanged_classes():
    gt = read_annotations(file_in(DATA, "coco/instances_val2017_4697.json"))
    dt = read_detections(file_in(DATA, "coco/yolox_nano_bbox.json"))
    for a, b in ((17, 18), (3, 8), (25, 90)):  # cats and dogs, cars and lorries, giraffes and ...
        swapped = np.where(dt.label == a, b, np.where(dt.label == b, a, dt.label))
        finding = suspicions(replace(dt, label=swapped), gt, known="coco80")["OS316"]
        assert mapping_in(finding) == {str(a): b, str(b): a}
    rolled = gt.category_id[(np.searchsorted(gt.category_id, dt.label) + 1) % 80]
    finding = suspicions(replace(dt, label=rolled), gt, known="coco80")["OS316"]
    assert finding.count > 70
    assert "OS318" in suspicions(replace(dt, score=1 - dt.score), gt, known="coco80")


def test_parts_leave_to_the_whole_what_the_whole_is_asked():
    """A code that `suspicions` says of all matches is not said of a part as well."""
    rooms = [
        Path(inspect.getfile(one)) for one in (suspicion, _suspicious_labels, _suspicious_scores)
    ]
    said = {code for path in rooms for code in re.findall(r'"(OS\d{3})"', path.read_text("utf-8"))}
    assert said and said <= set(batches._OF_ALL)
