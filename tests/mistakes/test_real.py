"""The same mistakes with real detectors on real photographs, of which each is weak in its own way.

A part of COCO and of VOC, so that it takes seconds; it needs ``OPENSET_DATA``.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from openset.evaluation.settings import Settings
from openset.evaluation.steps import Ground, examine
from openset.findings import Level
from openset.formats import read_annotations, read_detections
from openset.tables import Detections, Images, Role, Vocabulary
from openset.tables.boxes import sizes
from scenes.film import anywhere
from scenes.golden import DATA, file_in

pytestmark = pytest.mark.skipif("OPENSET_DATA" not in os.environ, reason="OPENSET_DATA is not set")
COCO, VOC = "coco/instances_val2017_4697.json", "voc2007/voc2007_test_coco.json"
DETECTORS = {
    "yolox_nano": (COCO, "coco/yolox_nano_bbox.json", "coco80"),
    "yolov4tiny": (COCO, "coco/yolov4tiny_bbox.json", "coco80"),
    "yolov2": (VOC, "voc2007/yolov2_bbox.json", "voc20"),
    "yolov3": (VOC, "voc2007/yolov3_bbox.json", "voc20"),
}
# Every class is known, so that no object is unknown; and what is wrong with the files indeed: boxes
# without a size or far outside, two boxes twice; one file has three negative boxes and stops early.
TRUE = {name: {"OS302", "OS206", "OS207", "OS210"} for name in DETECTORS}
TRUE["yolov3"] |= {"OS205", "OS426"}
EACH = pytest.mark.parametrize("name", DETECTORS)


@cache
def both_files(gt, dt):
    return read_annotations(file_in(DATA, gt)), read_detections(file_in(DATA, dt))


def part_of(whole, images):
    """Some images of a ground truth, and their objects."""
    part, old = whole.select(np.isin(whole.image, images)), whole.images
    some = Images(*(c[images] for c in (old.id, old.file_name, old.width, old.height)))
    return replace(part, images=some, image=np.searchsorted(images, part.image))


@cache
def real(name):
    """Every fourth image of a data set, and what a detector found there."""
    gt, dt, known = DETECTORS[name]
    whole, found = both_files(gt, dt)
    part = part_of(whole, np.arange(0, len(whole.images), 4))
    return part, found.select(np.isin(found.image, part.images.id)), known


def findings(truth, found, known, level=Level.ERROR, **options):
    """Codes of findings of a level, those of forced evaluations included."""
    settings = Settings(known=known, force=True, **options)
    ground = Ground.of(truth, settings.vocabulary(truth), settings)
    return {one.code for one in examine(ground, found, settings).findings if one.level is level}


def rows(truth, found):
    return {i: at for at, i in enumerate(truth.images.id.tolist())}, found.image.tolist()


def size_of(truth, found):
    place, ids = rows(truth, found)
    return sizes(truth, np.array([place[i] for i in ids], np.int32))


def boxes(change):
    return lambda truth, found: replace(found, box=change(found.box, size_of(truth, found)))


def corners(box, size):
    return np.hstack([box[:, :2], box[:, :2] + box[:, 2:]])


def labels(change):
    def spoil(truth, found):
        ids = truth.category_id
        place = np.searchsorted(ids, found.label)
        return replace(found, label=change(ids, place))

    return spoil


def ids(change):
    def spoil(truth, found):
        place, listed = rows(truth, found)
        at = np.array([place[i] for i in listed])
        return replace(found, image=change(truth.images, at))

    return spoil


def centred(box, size):
    return np.hstack([box[:, :2] + box[:, 2:] / 2, box[:, 2:]])


def letterboxed(box, size):
    longest = size.max(axis=1, keepdims=True)
    at = box[:, :2] + (longest - size) / 2
    return np.hstack([at, box[:, 2:]]) * 416 / longest


def half(truth, found):
    return found.select(np.isin(found.image, truth.images.id[: len(truth.images) // 2]))


def second_half(truth, found):
    return found.select(np.isin(found.image, truth.images.id[len(truth.images) // 2 :]))


def smaller(by):
    def box(b, s):
        return np.hstack([b[:, :2] + (1 - by) / 2 * b[:, 2:], by * b[:, 2:]])

    return boxes(box)


def halved(box, size):
    return np.hstack([box[:, :2], box[:, 2:] / 2])


def middle(box, size):
    return np.hstack([box[:, :2] - (size - size.min(axis=1, keepdims=True)) / 2, box[:, 2:]])


WRONG = {
    "corners": (boxes(corners), {"OS204", "OS215"}),
    "centres": (boxes(centred), {"OS215"}),
    "y before x": (boxes(lambda b, s: b[:, [1, 0, 3, 2]]), {"OS215"}),
    "x1 x2 y1 y2": (boxes(lambda b, s: corners(b, s)[:, [0, 2, 1, 3]]), {"OS215"}),
    "fractions": (boxes(lambda b, s: b / np.tile(s, 2)), {"OS203"}),
    "per mille": (boxes(lambda b, s: b / np.tile(s, 2) * 1000), {"OS215"}),
    "letterboxed": (boxes(letterboxed), {"OS215"}),
    "half": (boxes(lambda b, s: b / 2), {"OS215"}),
    "a tenth larger": (boxes(lambda b, s: b * 1.1), {"OS215"}),
    "sizes halved": (boxes(halved), {"OS230"}),
    "too small": (smaller(2 / 3), {"OS230"}),
    "half as wide": (smaller(0.5), {"OS230"}),
    "too large": (smaller(1.4), {"OS230"}),
    "an offset": (boxes(lambda b, s: b - np.array([40, 30, 0, 0])), {"OS230"}),
    "a bar on top": (boxes(lambda b, s: b + np.array([0, 60, 0, 0])), {"OS230"}),
    "the middle": (boxes(middle), {"OS215"}),
    "mirrored": (
        boxes(lambda b, s: np.column_stack([s[:, 0] - b[:, 0] - b[:, 2], b[:, 1:]])),
        {"OS215"},
    ),
    "height and width exchanged": (
        boxes(lambda b, s: b * np.tile(s[:, ::-1] / s, 2)),
        {"OS215"},
    ),
    "width - x": (
        boxes(lambda b, s: np.column_stack([s[:, 0] - b[:, 0], b[:, 1:]])),
        {"OS230"},
    ),
    "places": (ids(lambda images, at: at), {"OS423", "OS403"}),
    "the next image": (ids(lambda images, at: images.id[(at + 1) % len(images.id)]), {"OS448"}),
    "shuffled": (
        ids(lambda images, at: np.random.default_rng(0).permutation(images.id)[at]),
        {"OS448"},
    ),
    "labels one on": (labels(lambda ids, at: ids[(at + 1) % len(ids)]), {"OS316"}),
    "labels backwards": (labels(lambda ids, at: ids[len(ids) - 1 - at]), {"OS316"}),
    "positions from 0": (labels(lambda ids, at: at), {"OS307", "OS316"}),
    "half of the images": (half, {"OS426"}),
    "the other half": (second_half, {"OS426"}),
    "percent": (lambda t, f: replace(f, score=f.score * 100), {"OS208"}),
}


def drawn(seed, found, high):
    return np.random.default_rng(seed).integers(0, high, len(found))


def jittered(share, seed=0):
    def weak(truth, found):
        rng = np.random.default_rng(seed)
        at = found.box[:, :2] + rng.normal(0, share, (len(found), 2)) * found.box[:, 2:]
        return replace(found, box=np.hstack([at, found.box[:, 2:]]))

    return weak


def early(share, seed=0):
    def weak(truth, found):
        rng = np.random.default_rng(seed)
        right = rng.random(len(found)) < share
        box = np.where(right[:, None], found.box, anywhere(size_of(truth, found), rng))
        return replace(found, box=box, score=rng.random(len(found)))

    return weak


def some_of(count):
    return lambda truth, found: found.select(np.arange(0, len(found), max(1, len(found) // count)))


HONEST = {
    "clean": lambda truth, found: found,
    "jittered": jittered(0.1),
    "much jittered": jittered(0.3),
    "early": early(0.3),
    "very early": early(0.08),
    "a little too small": smaller(0.9),
    "a little too large": smaller(1.1),
    "random classes": labels(lambda ids, at: np.random.default_rng(0).permutation(ids[at])),
    "one class": labels(lambda ids, at: np.full(len(at), ids[0])),
    "coarse classes": labels(lambda ids, at: ids[at // 4 * 4]),
    "the best": lambda truth, found: found.select(found.score > 0.5),
    "the worst": lambda truth, found: found.select(found.score < 0.1),
    "thirty": some_of(30),
    "three hundred": some_of(300),
    "large boxes": lambda truth, found: found.select(found.box[:, 2:].min(axis=1) > 100),
    "small boxes": lambda truth, found: found.select(found.box[:, 2:].max(axis=1) < 32),
    "backwards": lambda truth, found: found.select(np.arange(len(found))[::-1]),
    "whole pixels": boxes(lambda b, s: b.round()),
}


def in_part(spoil, share):
    """The mistake in the last images alone."""

    def change(truth, found):
        last = np.isin(found.image, truth.images.id[round((1 - share) * len(truth.images)) :])
        wrong = spoil(truth, found)
        box = np.where(last[:, None], wrong.box, found.box)
        return replace(found, box=box, image=np.where(last, wrong.image, found.image))

    return change


IN_PART = ["corners", "centres", "fractions", "letterboxed", "half", "mirrored", "places"]


@EACH
@pytest.mark.parametrize("mistake", IN_PART)
def test_a_mistake_in_one_half_is_refused(name, mistake):
    truth, found, known = real(name)
    assert "OS433" in findings(truth, in_part(WRONG[mistake][0], 0.5)(truth, found), known)


def moved_on(images, at):
    return images.id[np.minimum(at + 1, len(images.id) - 1)]


@EACH
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_ids_that_are_off_from_some_image_on_are_refused(name, share):
    truth, found, known = real(name)
    assert "OS448" in findings(truth, in_part(ids(moved_on), share)(truth, found), known)


@EACH
def test_a_half_with_shuffled_ids_is_refused(name):
    truth, found, known = real(name)
    half = len(truth.images) // 2
    rest = np.random.default_rng(0).permutation(np.arange(half, len(truth.images)))
    other = ids(lambda images, at: images.id[np.append(np.arange(half), rest)[at]])
    assert "OS448" in findings(truth, other(truth, found), known)


def some_images(name, count, seed):
    """Images drawn at random, and what a detector found there."""
    gt, dt, known = DETECTORS[name]
    whole, found = both_files(gt, dt)
    rng = np.random.default_rng(seed)
    images = np.sort(rng.choice(len(whole.images), count, replace=False))
    truth = part_of(whole, images)
    return truth, found.select(np.isin(found.image, truth.images.id)), known


@EACH
@pytest.mark.parametrize(
    ("count", "seed"), [(50, 0), (50, 1), (50, 2), (200, 0), (200, 1), (1000, 0)]
)
def test_no_alarm_about_a_few_images(name, count, seed):
    truth, found, known = some_images(name, count, seed)
    for level in (Level.ERROR, Level.WARNING):
        assert findings(truth, found, known, level) <= TRUE[name]


@EACH
@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_refused(name, mistake):
    truth, found, known = real(name)
    spoil, codes = WRONG[mistake]
    assert codes & findings(truth, spoil(truth, found), known)


@EACH
@pytest.mark.parametrize(("least", "most"), [(800, 1333), (600, 1000)])
def test_a_longer_side_that_has_a_limit_is_named(name, least, most):
    truth, found, known = real(name)
    size = size_of(truth, found)
    by = np.minimum(least / size.min(axis=1), most / size.max(axis=1))[:, None]
    settings = Settings(known=known, force=True)
    ground = Ground.of(truth, settings.vocabulary(truth), settings)
    said = examine(ground, replace(found, box=found.box * by), settings).findings
    (one,) = (one for one in said if one.code == "OS215")
    convention = f"xywh-shortest-{least}-{most}"
    assert repr(convention) in one.fix
    assert not findings(truth, replace(found, box=found.box * by), known, boxes=convention)


@EACH
@pytest.mark.parametrize("how", HONEST)
def test_an_honest_detector_is_not_refused(name, how):
    truth, found, known = real(name)
    assert findings(truth, HONEST[how](truth, found), known) == set()


LEFT_OUT = {
    "persons": (lambda truth: truth.label != truth.labels.index("person"), "OS335"),
    "small objects": (lambda truth: truth.box[:, 2:].min(axis=1) >= 48, "OS455"),
}


@EACH
@pytest.mark.parametrize("what", LEFT_OUT)
def test_objects_that_the_ground_truth_lacks_are_said(name, what):
    truth, found, known = real(name)
    kept, code = LEFT_OUT[what]
    said = findings(truth.select(kept(truth)), found, known, Level.WARNING)
    assert code in said and not {"OS335", "OS455"} & findings(truth, found, known, Level.WARNING)


@EACH
@pytest.mark.parametrize("klass", ["person", "car", "chair", "bird"])
def test_images_without_a_class_are_no_lost_annotations(name, klass):
    gt, dt, known = DETECTORS[name]
    whole, found = both_files(gt, dt)
    having = whole.image[whole.label == whole.labels.index(klass)]
    without = np.setdiff1d(np.arange(len(whole.images)), having)
    truth = part_of(whole, without[::3])
    found = found.select(np.isin(found.image, truth.images.id))
    assert "OS335" not in findings(truth, found, known, Level.WARNING)


@EACH
def test_single_objects_that_are_marked_as_crowds_are_said(name):
    truth, found, known = real(name)
    crowd = np.random.default_rng(0).random(len(truth)) < 0.3
    assert "OS452" in findings(replace(truth, crowd=crowd), found, known, Level.WARNING)


@pytest.mark.parametrize("name", ["yolov2", "yolov3"])
def test_objects_that_are_hard_to_see_may_be_marked_as_crowds(name):
    """A fifth of VOC's are difficult, and many tools write these as crowds."""
    whole, found = both_files("voc2007/voc2007_test_coco_difficult.json", DETECTORS[name][1])
    assert 0.15 < whole.difficult.mean() < 0.25
    said = findings(replace(whole, crowd=whole.difficult), found, "voc20", Level.WARNING)
    assert "OS452" not in said


RESIZED = {
    "longer side 256": lambda size: 256 / size.max(axis=1, keepdims=True),
    "shorter side 300": lambda size: 300 / size.min(axis=1, keepdims=True),
    "half": lambda size: 0.5,
    "squares of 320": lambda size: 320 / size,
}


@EACH
@pytest.mark.parametrize("how", RESIZED)
def test_a_ground_truth_of_resized_pictures_is_refused_itself(name, how):
    truth, found, known = real(name)
    size = sizes(truth, truth.image)
    by = np.tile(RESIZED[how](size) * np.ones_like(size), 2)
    said = findings(replace(truth, box=truth.box * by, area=None), found, known)
    assert "OS430" in said and "OS215" not in said


ON_COCO = pytest.mark.parametrize("name", ["yolox_nano", "yolov4tiny"])


def of_classes(truth, found, names):
    """What is labelled with some classes."""
    kept = [i for i, name in zip(truth.category_id, truth.labels, strict=True) if name in names]
    return found.select(np.isin(found.label, kept))


def of_voc(truth, found):
    known = Vocabulary.of("voc20")
    return of_classes(truth, found, [one for one in truth.labels if known.role(one) is Role.KNOWN])


@ON_COCO
def test_right_ids_that_are_said_to_be_positions_are_refused(name):
    """The first eleven ids of COCO are positions from 1, too; those of the others are unknown."""
    truth, found, _ = real(name)
    found = of_voc(truth, found)
    assert "OS316" in findings(truth, found, "voc20", category_ids="index1")
    assert "OS316" not in findings(truth, found, "voc20")


@ON_COCO
@pytest.mark.parametrize("start", [0, 1])
def test_positions_in_the_list_of_known_classes_are_refused(name, start):
    truth, found, _ = real(name)
    found, known = of_voc(truth, found), Vocabulary.of("voc20")
    classes = known.classes(truth.labels)[np.searchsorted(truth.category_id, found.label)]
    listed = replace(found, label=classes.astype(np.int64) + start)
    option = "known1" if start else "known"
    settings = Settings(known="voc20", force=True)
    found = examine(Ground.of(truth, known, settings), listed, settings).findings
    wrong = [one.fix for one in found if one.code in ("OS307", "OS316")]
    assert wrong and all(f"category_ids={option!r}" in fix for fix in wrong)
    assert findings(truth, listed, "voc20", category_ids=option) == set()


@EACH
@pytest.mark.parametrize("named", [["person"], ["person", "car", "chair"]])
def test_classes_that_were_left_out_of_a_file_are_said(name, named):
    truth, found, known = real(name)
    assert "OS308" in findings(truth, of_classes(truth, found, named), known, Level.WARNING)


@EACH
def test_the_first_class_that_is_never_named_is_said(name):
    truth, found, known = real(name)
    rest = of_classes(truth, found, truth.labels[1:])
    assert "OS308" in findings(truth, rest, known, Level.WARNING)


@EACH
@pytest.mark.parametrize("how", ["clean", "random classes", "one class", "very early", "thirty"])
def test_an_honest_detector_is_not_told_to_name_more_classes(name, how):
    truth, found, known = real(name)
    assert "OS308" not in findings(truth, HONEST[how](truth, found), known, Level.WARNING)


@pytest.mark.parametrize("pair", [("yolox_nano", "yolov4tiny"), ("yolov2", "yolov3")])
@pytest.mark.parametrize("order", ["score", "image"])
def test_two_detectors_that_were_sorted_together_are_said(pair, order):
    (truth, one, known), (_, other, _) = map(real, pair)
    box, score = np.vstack([one.box, other.box]), np.append(one.score, other.score)
    image, label = np.append(one.image, other.image), np.append(one.label, other.label)
    rows = np.lexsort((-score, image)) if order == "image" else np.argsort(-score)
    both = Detections(image[rows], label[rows], box[rows], score[rows])
    assert "OS232" in findings(truth, both, known, Level.WARNING)


def without_objects(truth, images):
    return truth.select(~np.isin(truth.image, np.flatnonzero(images)))


@EACH
def test_images_whose_objects_were_lost_are_said(name):
    truth, found, known = real(name)
    every_second = np.arange(len(truth.images)) % 2 == 0
    lost = without_objects(truth, every_second)
    assert "OS405" in findings(lost, found, known, Level.WARNING)


@ON_COCO
def test_images_of_unknown_objects_that_nobody_labelled_are_honest(name):
    truth, found, _ = real(name)
    classes = Vocabulary.of("voc20").classes(truth.labels)[truth.label]
    wild = truth.select(classes < 20)
    assert "OS405" not in findings(wild, of_voc(truth, found), "voc20", Level.WARNING)
