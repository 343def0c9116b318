"""Two ground truths as one: labels, ids and roles; and what cannot be joined."""

from __future__ import annotations

import pytest

from openset.findings import InputError
from openset.formats import read_annotations, read_detections
from openset.tables import Vocabulary
from openset.tables.check import check_truth
from openset.tables.sets import SET, Pair, found_together, together
from scenes.sets import sets


def document(labels, images=(1, 2), first=1, **roles):
    """Ground truth with an object of every label on the first image."""
    categories = [
        {"id": first + at, "name": name} | ({"role": roles[name]} if name in roles else {})
        for at, name in enumerate(labels)
    ]
    objects = [
        {"id": at, "image_id": images[0], "category_id": one["id"], "bbox": [9 * at, 0, 9, 9]}
        for at, one in enumerate(categories, 1)
    ]
    records = [{"id": i, "width": 99, "height": 99} for i in images]
    return {"images": records, "annotations": objects, "categories": categories}


def pair(one, other):
    return Pair(read_annotations(one), read_annotations(other))


def found(*ids, image=1):
    records = [
        {"image_id": image, "category_id": i, "bbox": [0, 0, 9, 9], "score": 0.5} for i in ids
    ]
    return read_detections(records)


def test_labels_are_united_by_name_and_ids_are_those_of_the_id_set():
    joint = together(pair(document(["dog", "tvmonitor"]), document(["tv", "zebra"], (3, 4), 2)))
    assert joint.labels == ("dog", "tvmonitor", "zebra")
    assert joint.category_id.tolist() == [1, 2, 3]
    assert [joint.labels[at] for at in joint.label] == ["dog", "tvmonitor", "tvmonitor", "zebra"]
    assert joint.images.id.tolist() == [1, 2, 3, 4]
    assert joint.images.attributes[SET].tolist() == ["id", "id", "ood", "ood"]


def test_a_taken_id_becomes_another():
    joint = together(pair(document(["dog"]), document(["zebra"], (3, 4))))
    assert joint.category_id.tolist() == [1, 2]


def test_images_of_one_id_are_told_apart():
    truth = pair(document(["dog"]), document(["zebra"], first=2))
    assert together(truth).images.id.tolist() == ["id/1", "id/2", "ood/1", "ood/2"]
    joint = found_together(Pair(found(1), found(1, 2, image=2)), truth)
    assert joint.image.tolist() == ["id/1", "ood/2", "ood/2"]
    strange = found_together(Pair(found(1), found(1, image=7)), truth)
    assert strange.image.tolist() == ["id/1", "ood 7"]
    with pytest.raises(InputError, match="OS440"):
        found_together(found(1), truth)


def test_images_are_called_as_it_is_said():
    truth = pair(document(["dog"], (10, 20)), document(["zebra"], (30, 40), 2))
    joint = found_together(Pair(found(1, image=1), found(1, image=0)), truth, image_ids="index")
    assert joint.image.tolist() == [20, 30]


def test_columns_of_text_survive_where_one_set_has_them():
    here = sets()
    joint = together(Pair(read_annotations(here.id.truth), read_annotations(here.ood.truth)))
    tier = joint.images.attributes["tier"].tolist()
    assert set(tier[: len(here.id.images)]) == {""}
    assert set(tier[len(here.id.images) :]) == {"near", "far"}


def test_roles_come_from_either_file():
    one = document(["dog", "zebra"], dog="known")
    other = document(["zebra"], (3, 4), 2, zebra="unknown")
    assert together(pair(one, other)).role == ("known", "unknown")
    with pytest.raises(InputError, match=r"OS441(.|\n)*'zebra' is known"):
        together(pair(document(["dog", "zebra"], dog="known", zebra="known"), other))


def test_an_image_of_both_sets_is_refused():
    one, other = document(["dog"]), document(["zebra"], first=2)
    for name, record in enumerate((*one["images"], *other["images"])):
        record["file_name"] = f"{name % 2}.jpg"
    with pytest.raises(InputError, match=r"OS443  2 images(.|\n)*0\.jpg"):
        together(pair(one, other))


def test_an_id_of_two_meanings_is_refused():
    truth = pair(document(["dog"]), document(["zebra"], (3, 4)))
    with pytest.raises(InputError, match=r"OS442(.|\n)*1 is 'dog'(.|\n)*'zebra'"):
        found_together(found(1), truth)
    assert len(found_together(found(1), truth, mapped=True)) == 1
    named = Pair(found(5), read_detections([]))
    assert len(found_together(named, truth)) == 1


def test_known_objects_in_the_ood_set_are_named():
    truth = together(pair(document(["dog", "cat"]), document(["dog", "zebra"], (3, 4), 5)))
    (finding,) = [f for f in check_truth(truth, Vocabulary.of(["dog", "cat"])) if f.code == "OS444"]
    assert (finding.count, finding.level) == (1, "warning")
    assert "image 3" in finding.example
    truth = together(pair(document(["dog", "cat"]), document(["zebra"], (3, 4), 5)))
    assert "OS444" not in {f.code for f in check_truth(truth, Vocabulary.of(["dog", "cat"]))}


def test_sets_that_are_exchanged_are_said_to_be():
    known = Vocabulary.of(["dog", "cat"])
    truth = together(pair(document(["zebra"]), document(["dog", "cat"], (3, 4), 5)))
    (finding,) = [f for f in check_truth(truth, known) if f.code == "OS444"]
    assert (finding.level, finding.cause) == ("error", "the two sets are exchanged")
    assert "--id" in finding.fix and "0 of 1 of the ID set" in finding.message
