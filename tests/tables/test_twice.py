"""What occurs twice, or ends half way, is said plainly; what only looks alike is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import Level
from openset.tables import Annotations, Detections, Images
from openset.tables.check import check
from scenes import film

TRUTH = film.truth()
FOUND = film.found(TRUTH)
IDS = TRUTH.images.id


def finding(code, truth=TRUTH, found=FOUND):
    hits = [one for one in check(truth, found, film.KNOWN) if one.code == code]
    assert len(hits) <= 1
    return hits[0] if hits else None


def joined(*tables):
    """Detections one after the other, as if files were concatenated."""
    columns = {
        name: np.concatenate([getattr(table, name) for table in tables])
        for name in ("image", "label", "box", "score")
    }
    return Detections(**columns)


def test_clean_input_has_none_of_it():
    for code in ("OS210", "OS216", "OS217", "OS425", "OS426"):
        assert finding(code) is None


@pytest.mark.parametrize(("share", "level"), [(1.0, Level.ERROR), (0.1, Level.WARNING)])
def test_the_same_object_under_two_ids(share, level):
    rng = np.random.default_rng(0)
    again = np.flatnonzero(rng.random(len(TRUTH)) < share)
    rows = np.append(np.arange(len(TRUTH)), again)
    for jitter in (0.0, 0.005):
        box = film.moved(TRUTH.box[rows], jitter, rng)
        doubled = replace(TRUTH.select(rows), box=box, id=np.arange(len(rows)) + 1)
        found = finding("OS216", doubled)
        assert found.level is level
        assert abs(found.count - len(again)) <= 2


def test_a_few_objects_twice_are_found_in_every_data_set():
    rows = np.append(np.arange(len(TRUTH)), [5, 50, 300, 400])
    assert finding("OS216", replace(TRUTH.select(rows), id=np.arange(len(rows)) + 1)) is None


def test_two_classes_around_one_thing_are_two_objects():
    label = np.append(TRUTH.label, (TRUTH.label + 1) % 3)
    rows = np.tile(np.arange(len(TRUTH)), 2)
    both = replace(TRUTH.select(rows), label=label, id=np.arange(len(rows)) + 1)
    assert finding("OS216", both) is None


def images_again(truth, count, names):
    """The first images again under new ids, with their objects."""
    size = np.column_stack([truth.images.width, truth.images.height])
    rows = np.append(np.arange(len(truth.images)), np.arange(count))
    objects = np.flatnonzero(truth.image < count)
    taken = np.append(np.arange(len(truth)), objects)
    images = Images(
        np.append(truth.images.id, 90_000 + np.arange(count)), names(rows), *size[rows].T
    )
    image = np.append(truth.image, truth.image[objects] + len(truth.images))
    return Annotations(images, truth.labels, image, truth.label[taken], truth.box[taken])


@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_the_same_file_name_under_two_ids(suffix):
    def names(rows):
        stems = [TRUTH.images.file_name[row].removesuffix(".jpg") for row in rows]
        return [stem + (".jpg" if at < 120 else suffix) for at, stem in enumerate(stems)]

    one = Annotations(TRUTH.images, film.LABELS, TRUTH.image, TRUTH.label, TRUTH.box)
    found = finding("OS425", images_again(one, 2, names))
    assert (found.level, found.count) == (Level.WARNING, 2)
    assert "file name" in found.message and "id 90000" in found.example


def test_a_detector_did_not_stop_before_images_that_are_there_twice():
    merged = images_again(TRUTH, 60, lambda rows: TRUTH.images.file_name[rows])
    assert finding("OS425", merged).count == 60
    assert finding("OS426", merged) is None
    stopped = FOUND.select(np.isin(FOUND.image, IDS[:50]))
    assert finding("OS426", merged, stopped).level is Level.ERROR


def test_the_same_objects_under_two_ids():
    found = finding(
        "OS425",
        images_again(
            TRUTH, 10, lambda rows: [f"{at}.jpg" for at in rows * 0 + np.arange(len(rows))]
        ),
    )
    assert (found.count, "exactly the objects of another" in found.message) == (10, True)


def test_images_with_one_object_may_be_alike():
    single = film.truth(objects=1)
    same = replace(
        single, box=np.tile([0.0, 0, 400, 300], (len(single), 1)), label=single.label * 0
    )
    assert finding("OS425", same, film.found(same)) is None


@pytest.mark.parametrize("digits", [0, 1, 3])
def test_detections_concatenated_in_another_precision(digits):
    rounded = replace(FOUND, box=FOUND.box.round(digits), score=FOUND.score.round(2))
    found = finding("OS217", found=joined(FOUND, rounded))
    assert found.level is Level.WARNING
    assert found.count > 0.9 * len(FOUND)
    assert finding("OS210", found=joined(FOUND, rounded)) is None


def test_boxes_that_overlap_much_are_not_copies():
    near = replace(FOUND, box=FOUND.box + np.array([3, 3, 0, 0]), score=FOUND.score * 0.9)
    assert finding("OS217", found=joined(FOUND, near)) is None


def test_copies_with_their_scores_are_two_files():
    found = finding("OS210", found=joined(FOUND, FOUND))
    assert "concatenated" in found.cause


def test_one_region_under_several_classes_that_became_unknown_is_not_accused():
    again = replace(FOUND, score=FOUND.score * 0.5)
    relabelled = replace(joined(FOUND, again), label=np.full(2 * len(FOUND), 3))
    found = finding("OS210", found=relabelled)
    assert "relabelled 'unknown'" in found.cause
    assert "concatenated" not in found.cause
    named = replace(relabelled, label=np.zeros(len(relabelled)), labels=("dog",))
    assert "given one label afterwards" in finding("OS210", found=named).cause


@pytest.mark.parametrize(("kept", "level"), [(60, Level.ERROR), (112, Level.WARNING)])
def test_a_detector_that_stopped(kept, level):
    cut = FOUND.select(np.isin(FOUND.image, IDS[:kept]))
    found = finding("OS426", found=cut)
    assert (found.level, found.count) == (level, 120 - kept)
    assert TRUTH.images.file_name[kept - 1] in found.message
    assert TRUTH.images.file_name[kept] in found.example


def test_a_detector_that_went_through_sorted_names():
    seen = np.argsort(TRUTH.images.file_name)[:60]
    found = finding("OS426", found=FOUND.select(np.isin(FOUND.image, IDS[seen])))
    assert (found.count, "in the order of file names" in found.message) == (60, True)


HONEST = {
    "sparse": FOUND.select(np.arange(0, len(FOUND), 17)),
    "images left out": FOUND.select(
        ~np.isin(FOUND.image, np.random.default_rng(0).permutation(IDS)[:40])
    ),
    "three": FOUND.select(np.arange(3)),
    "a short end": FOUND.select(np.isin(FOUND.image, IDS[:117])),
}


@pytest.mark.parametrize("name", HONEST)
def test_images_without_detections_are_no_end(name):
    assert finding("OS426", found=HONEST[name]) is None


def test_a_quarter_of_the_images_may_be_a_split():
    kept = np.random.default_rng(1).permutation(IDS)[:30]
    part = FOUND.select(np.isin(FOUND.image, kept))
    assert finding("OS426", found=part) is None
    found = finding("OS404", found=part)
    assert (found.level, found.count) == (Level.NOTE, 90)
    assert "further splits" in found.message
    sparse = finding("OS404", found=FOUND.select(np.arange(0, len(FOUND), 17)))
    assert "further splits" not in sparse.message


@pytest.mark.parametrize(("first", "lost", "said"), [(0, 40, "1 of every 3"), (1, 80, "2 of")])
def test_images_that_other_machines_had(first, lost, said):
    ours = np.isin(FOUND.image, IDS[::3])
    found = finding("OS426", found=FOUND.select(ours if first else ~ours))
    assert (found.level, found.count) == (Level.WARNING, lost)
    assert said in found.message


@pytest.mark.parametrize("dark", [slice(0, 20), slice(100, 120)])
def test_a_film_in_the_dark_is_no_end(dark):
    names = [f"film{at // 20}/{at:04d}.jpg" for at in range(120)]
    size = (TRUTH.images.width, TRUTH.images.height)
    gt = replace(TRUTH, images=Images(IDS, names, *size))
    found = FOUND.select(~np.isin(FOUND.image, IDS[dark]))
    assert finding("OS426", gt, found) is None
    gt = replace(TRUTH, images=Images(IDS, [name[6:] for name in names], *size))
    assert finding("OS426", gt, found).level is Level.ERROR


def test_images_without_objects_that_it_looks_for_are_no_end():
    label = np.where(TRUTH.image < 60, TRUTH.label % 2, 2)
    gt = replace(TRUTH, label=label)  # unknown objects only, from there on
    cut = FOUND.select(np.isin(FOUND.image, IDS[:60]) & (FOUND.label < 3))
    assert finding("OS426", gt, cut) is None
