"""Files that another reading fits are refused by its name; weak detectors are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import openset
from openset.findings import InputError, Level, UsageError
from openset.flags import as_flags
from openset.tables import Annotations, Detections, Images
from openset.tables.boxes import CONVENTIONS, Convention, sizes
from openset.tables.check import check, check_detections
from openset.tables.image_ids import READINGS, with_image_ids
from openset.tables.written import Written
from scenes import film

TRUTH = film.truth()
FOUND = film.found(TRUTH)
ROW = np.searchsorted(TRUTH.images.id, FOUND.image)
SIZE = sizes(TRUTH, ROW)
NEW = {"OS215", "OS423", "OS424", "OS430", "OS448"}
PLACES = np.argsort(np.argsort(TRUTH.images.file_name))  # of images sorted by name


def corners(box):
    return np.hstack([box[:, :2], box[:, :2] + box[:, 2:]])


def centres(box):
    return np.hstack([box[:, :2] + box[:, 2:] / 2, box[:, 2:]])


def smaller(box, by):
    return np.hstack([box[:, :2] + (1 - by) / 2 * box[:, 2:], by * box[:, 2:]])


def exchanged(box):
    return box[:, [1, 0, 3, 2]]


def padded(box, side):
    longest = SIZE.max(axis=1, keepdims=True)
    moved = np.hstack([box[:, :2] + (longest - SIZE) / 2, box[:, 2:]])
    return moved * side / longest


x, y, w, h = FOUND.box.T
W, H = SIZE.T
TWICE = np.tile(SIZE, 2)
LIMITED = np.minimum(600 / SIZE.min(axis=1), 800 / SIZE.max(axis=1))
WRITTEN = {
    "xyxy": corners(FOUND.box),
    "cxcywh": centres(FOUND.box),
    "yxyx": exchanged(corners(FOUND.box)),
    "yxhw": exchanged(FOUND.box),
    "yxwh": FOUND.box[:, [1, 0, 2, 3]],
    "cycxhw": exchanged(centres(FOUND.box)),
    "cxcywh-norm": centres(FOUND.box) / TWICE,
    "yxyx-norm": exchanged(corners(FOUND.box) / TWICE),
    "xywh-norm-1000": FOUND.box / TWICE * 1000,
    "xyxy-norm-1000": corners(FOUND.box) / TWICE * 1000,
    "xywh-norm-1920-1080": FOUND.box / TWICE * [1920, 1080, 1920, 1080],
    "xyxy-norm-640": corners(FOUND.box) / TWICE * 640,
    "xywh-scaled-0.5": FOUND.box / 2,
    "xyxy-scaled-0.4": corners(FOUND.box) * 0.4,
    "xywh-scaled-1.37": FOUND.box * 1.37,
    "xywh-longest-416": FOUND.box * 416 / SIZE.max(axis=1, keepdims=True),
    "xywh-shortest-800": FOUND.box * 800 / SIZE.min(axis=1, keepdims=True),
    "xyxy-shortest-600-800": corners(FOUND.box) * LIMITED[:, None],
    "xywh-letterbox-640": padded(FOUND.box, 640),
    "xyxy-letterbox-416": corners(padded(FOUND.box, 416)),
    "xywh-mirrored": np.column_stack([W - x - w, y, w, h]),
    "xywh-flipped": np.column_stack([x, H - y - h, w, h]),
    "xywh-turned-90": np.column_stack([H - y - h, x, h, w]),
    "xywh-turned-180": np.column_stack([W - x - w, H - y - h, w, h]),
    "xywh-turned-270": np.column_stack([y, W - x - w, h, w]),
    "x1x2y1y2": corners(FOUND.box)[:, [0, 2, 1, 3]],
    "xyxy-norm-1333": corners(FOUND.box) / TWICE * 1333,
}
CALLED = {
    "plus-1": FOUND.image - 1,
    "minus-1": FOUND.image + 1,
    "index": ROW,
    "index-1": ROW + 1,
    "index-by-name": PLACES[ROW],
    "index-by-name-1": PLACES[ROW] + 1,
    "number": np.array([int(name[:6]) for name in TRUTH.images.file_name])[ROW],
}


def errors(found, boxes="xywh", image_ids="id", truth=TRUTH):
    written = Written(found, boxes, image_ids)
    read = written.read(truth, film.KNOWN)
    findings = check_detections(truth, film.KNOWN, written, read)
    return [finding for finding in findings if finding.level is Level.ERROR]


@pytest.mark.parametrize("convention", WRITTEN)
def test_the_convention_of_boxes_is_named_and_its_option_reads_them(convention):
    found = replace(FOUND, box=WRITTEN[convention])
    (error,) = errors(found)
    assert error.code in ("OS215", "OS203", "OS204")  # the last two need no objects
    assert f"boxes={convention!r}" in error.fix
    assert f"--boxes {convention} " in as_flags(error.fix)
    read, _ = Written(found, convention).read(TRUTH, film.KNOWN)
    np.testing.assert_allclose(read.box, FOUND.box, atol=1e-9)
    assert errors(found, convention) == []


@pytest.mark.parametrize(("layout", "written"), [("cxcywh", centres), ("xyxy", corners)])
def test_ground_truth_in_another_layout_is_not_blamed_on_the_detector(layout, written):
    gt = replace(TRUTH, box=written(TRUTH.box / 2), area=None)  # within the images even so
    found = replace(FOUND, box=FOUND.box / 2)
    (error,) = errors(found, truth=gt)
    assert (error.code, error.count) == ("OS430", len(gt))
    assert Convention(layout).meaning in error.cause
    assert "annotation id" in error.example


@pytest.mark.parametrize("reading", CALLED)
def test_the_reading_of_image_ids_is_named_and_its_option_reads_them(reading):
    found = replace(FOUND, image=CALLED[reading])
    (error,) = errors(found)
    assert (error.code, error.count) == ("OS423", len(found))
    assert f"image_ids={reading!r}" in error.fix
    assert f"--image-ids {reading} " in as_flags(error.fix)
    assert np.array_equal(with_image_ids(found, TRUTH, reading).image, FOUND.image)
    assert errors(found, image_ids=reading) == []


PATHS = np.array([f"C:\\val\\{name[:6]}.png" for name in TRUTH.images.file_name])[ROW]


def test_paths_of_another_machine_are_read_by_their_stems():
    assert errors(replace(FOUND, image=PATHS)) == []


def test_paths_are_not_read_where_folders_tell_images_apart():
    names = np.array([f"train/{name}" for name in TRUTH.images.file_name])
    gt = replace(TRUTH, images=replace(TRUTH.images, file_name=names))
    (error,) = errors(replace(FOUND, image=PATHS), truth=gt)
    assert error.code == "OS423" and "image_ids='stem'" in error.fix


@pytest.mark.parametrize("padding", [False, True])
def test_ground_truth_of_pictures_that_were_resized_to_a_square_is_told(padding):
    size = sizes(TRUTH, TRUTH.image)
    by = 640 / (size.max(axis=1, keepdims=True) if padding else size)
    moved = (640 - size * by) / 2
    box = np.hstack([TRUTH.box[:, :2] * by + moved, TRUTH.box[:, 2:] * by])
    side = np.full(len(TRUTH.images), 640.0)
    gt = replace(TRUTH, images=replace(TRUTH.images, width=side, height=side), box=box, area=None)
    (error,) = errors(FOUND, truth=gt)
    assert error.code == "OS430" and "are 640 x 640" in error.message
    assert ("padded" if padding else "stretched") in error.cause


def test_boxes_behind_the_confidence_are_told_by_the_objects():
    """A detector that does not clip its boxes: the numbers alone do not tell."""
    share = centres(FOUND.box) / TWICE
    read = np.column_stack([FOUND.score, share[:, :3]]) * TWICE
    box = np.hstack([read[:, :2] - read[:, 2:] / 2, read[:, 2:]])
    (error,) = errors(replace(FOUND, box=box, score=share[:, 3]))
    assert error.code == "OS439" and "behind the confidence" in error.cause


@pytest.mark.parametrize("seed", range(6))
def test_fitted_numbers_make_no_verdict_of_a_weak_detector(seed):
    """Boxes of like sizes around objects, too far right and down, as early in a training."""
    rng = np.random.default_rng(seed)
    sides = rng.uniform(14, 40, (240, 2))
    box = np.hstack([rng.uniform(0, 1, (240, 2)) * (128 - sides), sides])
    images = Images(np.arange(60) + 1, None, np.full(60, 128.0), np.full(60, 128.0))
    gt = Annotations(images, film.LABELS, np.repeat(np.arange(60), 4), rng.integers(0, 3, 240), box,
                     category_id=np.array([1, 2, 3]))  # fmt: skip
    of = rng.integers(0, 240, 1500)
    found = 26 * np.exp(rng.normal(0, 0.25, (1500, 2)))
    centre = box[of, :2] + box[of, 2:] / 2 + rng.normal(0, 7, (1500, 2)) + (10, 9)
    weak = Detections(of // 4 + 1, rng.integers(1, 3, 1500), np.hstack([centre - found / 2, found]),
                      rng.uniform(0, 0.3, 1500))  # fmt: skip
    assert errors(weak, truth=gt) == []


@pytest.mark.parametrize("given", ["xyxy", "cxcywh", "yxhw", "xywh-scaled-2", "xywh-letterbox-640"])
def test_an_option_that_was_given_wrongly_is_taken_back(given):
    (error,) = errors(FOUND, given)
    assert (error.code, "boxes='xywh' reads them" in error.fix) == ("OS215", True)


def test_a_reading_of_ids_that_was_given_wrongly_is_taken_back():
    (error,) = errors(FOUND, image_ids="plus-1")
    assert (error.code, "image_ids='id' reads them" in error.fix) == ("OS423", True)


def test_shuffled_ids_are_refused_under_their_own_code():
    gt = film.truth(400)
    found = film.found(gt)
    ids = np.random.default_rng(0).permutation(gt.images.id)
    (error,) = errors(replace(found, image=ids[np.searchsorted(gt.images.id, found.image)]),
                      truth=gt)  # fmt: skip
    assert error.code == "OS448"
    assert "fit those of another image" in error.message


@pytest.mark.parametrize("images", [20, 60, 120])
def test_shuffled_ids_of_a_small_set_are_refused(images):
    gt = film.truth(images)
    found = film.found(gt)
    ids = np.roll(gt.images.id, 7)
    (error,) = errors(replace(found, image=ids[np.searchsorted(gt.images.id, found.image)]),
                      truth=gt)  # fmt: skip
    assert error.code == "OS448"


def test_shuffled_ids_of_which_some_are_absent_are_refused():
    gt = film.truth(24)
    found = film.found(gt)
    ids = np.append(gt.images.id[5:], [7, 8, 9, 10, 11])  # the last five are nowhere
    found = replace(found, image=ids[np.searchsorted(gt.images.id, found.image)])
    assert "OS448" in [one.code for one in errors(found, truth=gt)]


def test_boxes_without_contact_are_refused_as_well():
    assert [
        one.code for one in errors(replace(FOUND, box=FOUND.box + np.array([5000, 0, 0, 0])))
    ] == ["OS230"]


HONEST = {
    "clean": FOUND,
    "jittered": film.found(TRUTH, jitter=0.15),
    "much jittered": film.found(TRUTH, jitter=0.35),
    "random classes": replace(FOUND, label=np.random.default_rng(0).permutation(FOUND.label)),
    "one class": replace(FOUND, label=np.ones(len(FOUND))),
    "early": film.weak(FOUND, TRUTH, right=0.3, jitter=0.3),
    "very early": film.weak(FOUND, TRUTH, right=0.1, jitter=0.2),
    "scores upside down": replace(FOUND, score=1 - FOUND.score),
    "few": FOUND.select(np.arange(0, len(FOUND), 40)),
    "too small": replace(FOUND, box=smaller(FOUND.box, 2 / 3)),
    "much too small": replace(FOUND, box=smaller(FOUND.box, 0.5)),
    "three": FOUND.select(np.arange(3)),
}


@pytest.mark.parametrize("name", HONEST)
def test_a_weak_but_honest_detector_passes(name):
    assert NEW.isdisjoint(one.code for one in check(TRUTH, HONEST[name], film.KNOWN))


def test_objects_that_the_detector_does_not_look_for_prove_nothing():
    gt = film.truth(400)
    other = film.truth(400, seed=9)  # boxes of other pictures, which fit none of these
    found = film.found(other)
    image = gt.images.id[np.searchsorted(other.images.id, found.image)]
    found = replace(found, image=image, label=found.label % 2 + 1)
    assert [one.code for one in errors(found, truth=gt)] == ["OS424"]
    wild = replace(gt, label=np.full(len(gt), 2))  # all unknown, and it names known ones
    assert errors(found, truth=wild) == []


def test_the_same_box_on_every_image_gets_no_verdict():
    gt = film.truth(400)
    found = film.found(gt)
    box = np.tile([100.0, 90, 200, 150], (len(found), 1))
    assert errors(replace(found, box=box), truth=gt) == []


@pytest.mark.parametrize("jitter", [0.1, 0.2, 0.3])
def test_a_camera_that_stands_gets_no_verdict(jitter):
    """Objects are at the same places in all images: any image's boxes fit all of them."""
    rng = np.random.default_rng(0)
    one = film.truth(1, objects=6)
    images = Images(np.arange(200) + 1, None, *(np.full(200, s) for s in (640.0, 640.0)))
    label, box = np.tile(one.label, 200), film.moved(np.tile(one.box, (200, 1)), 0.01, rng)
    gt = replace(film.truth(200, objects=6), images=images, label=label, box=box, area=None)
    assert errors(film.found(gt, jitter), truth=gt) == []


@pytest.mark.parametrize("convention", ["cxcywh", "xyxy", "xywh-letterbox-640"])
def test_films_are_read_otherwise_as_well(convention):
    """Frames next to each other are no other images to compare with."""
    rows = np.repeat(np.arange(12), 10)
    gt = TRUTH.select(np.isin(TRUTH.image, np.arange(12)))
    objects = (np.arange(12)[:, None] * 4 + np.arange(4))[rows].ravel()
    images = Images(np.arange(120) + 1, None, *sizes(TRUTH, rows).T)
    moving = np.repeat(np.arange(120) % 10, 4)[:, None] * [1.0, 1.0, 0, 0]
    frames = Annotations(images, film.LABELS, np.repeat(np.arange(120), 4), gt.label[objects],
                         gt.box[objects] + moving, category_id=np.array([1, 2, 3]))  # fmt: skip
    found = film.found(frames)
    size = sizes(frames, found.image.astype(np.int32) - 1)
    written = {"cxcywh": centres(found.box), "xyxy": corners(found.box)}
    longest = size.max(axis=1, keepdims=True)
    at = found.box[:, :2] + (longest - size) / 2
    written["xywh-letterbox-640"] = np.hstack([at, found.box[:, 2:]]) * 640 / longest
    (error,) = errors(replace(found, box=written[convention]), truth=frames)
    assert f"boxes={convention!r}" in error.fix


def test_images_without_objects_prove_nothing():
    empty = TRUTH.select(np.zeros(len(TRUTH), bool))
    assert NEW.isdisjoint(one.code for one in check(empty, FOUND, film.KNOWN))


def test_small_sets_get_no_verdict():
    small = film.truth(16)
    found = film.found(small)
    ids = np.random.default_rng(0).permutation(found.image)  # of boxes, not of images
    findings = check(small, replace(found, image=ids), film.KNOWN)
    assert NEW.isdisjoint(one.code for one in findings)


def test_images_without_sizes_can_still_be_scaled():
    gt = replace(TRUTH, images=Images(TRUTH.images.id))
    (error,) = errors(replace(FOUND, box=FOUND.box * 0.5), truth=gt)
    assert "boxes='xywh-scaled-0.5'" in error.fix


def test_force_evaluates_and_the_option_gives_the_numbers():
    options = {"known": ["dog", "cat"], "intervals": False}
    expected = openset.evaluate(TRUTH, FOUND, **options)
    wrong = replace(FOUND, box=padded(FOUND.box, 640), image=ROW)
    with pytest.raises(InputError):
        openset.evaluate(TRUTH, replace(FOUND, image=ROW), **options)
    right = openset.evaluate(TRUTH, wrong, boxes="xywh-letterbox-640", image_ids="index", **options)
    assert right.flat() == pytest.approx(expected.flat(), nan_ok=True)
    forced = openset.evaluate(TRUTH, replace(FOUND, image=ROW), force=True, **options)
    assert {"OS423": Level.WARNING}.items() <= {f.code: f.level for f in forced.findings}.items()


def test_batches_are_judged_together():
    evaluator = openset.Evaluator(known=["dog", "cat"], intervals=False)
    wrong = replace(FOUND, box=FOUND.box / 2)
    for images in np.split(np.arange(len(TRUTH.images)), 2):
        gt = TRUTH.select(np.isin(TRUTH.image, images))
        gt = replace(gt, images=Images(TRUTH.images.id[images]), image=gt.image - images[0])
        evaluator.update(gt, wrong.select(np.isin(ROW, images)))
    with pytest.raises(InputError, match="OS215"):
        evaluator.compute()


NO_NAMES = ["xywh-letterbox", "xyxy-scaled-0", "norm", "xywh-norm-", "xywh-x"]


@pytest.mark.parametrize("name", CONVENTIONS)
def test_names_of_conventions(name):
    assert str(Convention.of(name)) == name


@pytest.mark.parametrize("name", NO_NAMES)
def test_names_of_no_convention(name):
    with pytest.raises(UsageError, match="box convention"):
        Convention.of(name)


@pytest.mark.parametrize("reading", READINGS)
def test_ids_that_have_no_image_never_join(reading):
    found = Detections(np.array(["x", "-3", "99999"]), np.ones(3), np.ones((3, 4)), np.ones(3))
    read, joined = Written(found, image_ids=reading).read(TRUTH, film.KNOWN)
    assert (joined.image == -1).all() and len(read) == 3
