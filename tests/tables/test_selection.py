"""Fewer classes and images of a table, and the rest as another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import InputError, UsageError
from openset.tables import Annotations, Detections, Images, Vocabulary
from openset.tables.selection import Selection, part_detections, part_truth

NAMES = np.array([f"val/{at:03d}.jpg" for at in range(20)])
TRUTH = Annotations(
    Images(np.arange(100, 120), NAMES),
    ("dog", "dining table", "zebra"),
    image=np.repeat(np.arange(20), 3),
    label=np.tile([0, 1, 2], 20),
    box=np.ones((60, 4)),
    category_id=[7, 3, 90],
    supercategory=("animal", "furniture", "animal"),
    role=("known", "known", "unknown"),
    attributes={"at": np.arange(60)},
)
FOUND = Detections(
    np.repeat(TRUTH.images.id, 2), np.tile([7, 90], 20), np.ones((40, 4)), np.ones(40)
)


def test_all_by_default():
    made = part_truth(TRUTH, Selection())
    assert len(made.kept) == 60 and not len(made.rest.images) and not made.findings


def test_classes_keep_what_is_known_of_them():
    made = part_truth(TRUTH, Selection(classes=["Dining_Table", "zebra"]))
    kept = made.kept
    assert kept.labels == ("dining table", "zebra") and kept.category_id.tolist() == [3, 90]
    assert kept.role == ("known", "unknown") and kept.supercategory == ("furniture", "animal")
    assert kept.attributes["at"].tolist() == [at for at in range(60) if at % 3]
    assert len(kept.images) == 20 and not made.findings


def test_roles():
    vocabulary = Vocabulary.of(None, TRUTH)
    made = part_truth(TRUTH, Selection(roles=["unknown"], vocabulary=vocabulary))
    assert made.kept.labels == ("zebra",) and len(made.kept) == 20
    with pytest.raises(UsageError, match="roles must be stated"):
        part_truth(TRUTH, Selection(roles=["unknown"]))


@pytest.mark.parametrize("asked", [["103", "117"], ["val/003.jpg", "017"]])
def test_images_by_id_name_or_stem(asked):
    made = part_truth(TRUTH, Selection(images=asked))
    assert made.kept.images.id.tolist() == [103, 117] and not made.findings
    assert made.kept.attributes["at"].tolist() == [9, 10, 11, 51, 52, 53]
    assert made.kept.image.tolist() == [0, 0, 0, 1, 1, 1]
    assert len(made.rest.images) == 18 and len(made.rest) == 54


def test_what_is_not_there_is_said():
    made = part_truth(TRUTH, Selection(classes=["dog", "hrse"], images=["100", "9", "8"]))
    classes, images = made.findings
    assert (classes.code, classes.count, classes.example) == ("OS382", 1, "hrse")
    assert (images.code, images.count, images.example) == ("OS382", 2, "9")


def test_nothing_left_is_refused_with_the_reason():
    with pytest.raises(InputError) as refused:
        part_truth(TRUTH, Selection(classes=["hrse"], drop_empty=True))
    assert [finding.code for finding in refused.value.findings] == ["OS383", "OS382"]
    with pytest.raises(InputError, match="OS383"):
        part_detections(FOUND, Selection(images=["1"]))


def test_empty_images_stay_unless_they_are_to_go():
    dogs = TRUTH.select((TRUTH.label != 0) | (TRUTH.image < 5))
    assert len(part_truth(dogs, Selection(classes=["dog"])).kept.images) == 20
    made = part_truth(dogs, Selection(classes=["dog"], drop_empty=True))
    assert made.kept.images.id.tolist() == [100, 101, 102, 103, 104] and len(made.kept) == 5


@pytest.mark.parametrize("share", [0.1, 0.25, 0.8])
def test_a_share_and_the_rest_are_all(share):
    made = part_truth(TRUTH, Selection(share=share, seed=3))
    kept, rest = set(made.kept.images.id.tolist()), set(made.rest.images.id.tolist())
    assert len(kept) == round(share * 20) and not kept & rest
    assert kept | rest == set(TRUTH.images.id.tolist())
    again = part_truth(TRUTH, Selection(share=share, seed=3))
    assert again.kept.images.id.tolist() == made.kept.images.id.tolist()
    other = part_truth(TRUTH, Selection(share=share, seed=4))
    assert other.kept.images.id.tolist() != made.kept.images.id.tolist()


def test_a_share_is_of_the_images_listed():
    asked = [str(id_) for id_ in range(100, 110)]
    made = part_truth(TRUTH, Selection(images=asked, share=0.5))
    assert len(made.kept.images) == 5 and made.kept.images.id.max() < 110
    assert len(made.rest.images) == 15


@pytest.mark.parametrize("seed", range(5))
def test_a_share_parts_no_group(seed):
    groups = np.array([f"video {at // 4}" for at in range(20)])
    made = part_truth(TRUTH, Selection(share=0.5, seed=seed, groups=groups))
    sides = [{(id_ - 100) // 4 for id_ in one.images.id} for one in (made.kept, made.rest)]
    assert not sides[0] & sides[1] and all(sides)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_shares_lie_between(share):
    with pytest.raises(UsageError, match="between 0 and 1"):
        part_truth(TRUTH, Selection(share=share))


def test_detections_by_class_and_image():
    made = part_detections(FOUND, Selection(classes=["zebra"], images=["017"]), TRUTH)
    assert made.kept.image.tolist() == [117] and made.kept.label.tolist() == [90]
    assert len(made.rest) == 19
    with pytest.raises(UsageError, match="pass truth="):
        part_detections(FOUND, Selection(classes=["zebra"]))


def test_an_image_without_a_detection_is_nothing_amiss():
    some = FOUND.select(FOUND.image < 105)
    assert not part_detections(some, Selection(images=["104", "119"])).findings


def test_shares_are_not_drawn_of_detections():
    for wanted in (Selection(share=0.5), Selection(drop_empty=True)):
        with pytest.raises(UsageError, match="of a ground truth"):
            part_detections(FOUND, wanted)


def test_columns_of_detections_stay():
    rich = replace(FOUND, unknownness=np.arange(40.0), attributes={"at": np.arange(40)})
    made = part_detections(rich, Selection(images=["100", "101"]))
    assert made.kept.unknownness.tolist() == [0, 1, 2, 3]
    assert made.rest.attributes["at"].tolist() == list(range(4, 40))
