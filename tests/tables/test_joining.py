"""Several files as one: labels by name, images by id, and refused where ids mean two images."""

from __future__ import annotations

import numpy as np
import pytest

from openset.findings import InputError, UsageError
from openset.tables import Annotations, Detections, Images
from openset.tables.joining import joined_detections, joined_truths


def truth(ids, labels, category_id, names=None, role=()):
    """A ground truth with an object of every label on every image."""
    n, k = len(ids), len(labels)
    return Annotations(
        Images(np.array(ids), names),
        labels,
        image=np.repeat(np.arange(n), k),
        label=np.tile(np.arange(k), n),
        box=np.ones((n * k, 4)),
        category_id=category_id,
        role=role,
    )


FIRST = truth([1, 2], ("dog", "cat"), [18, 17], role=("known", "known"))


def test_one_is_itself():
    assert joined_truths([FIRST]) == (FIRST, [])


def test_labels_are_united_by_name():
    second = truth([3], ("Cat", "zebra"), [1, 18], role=("known", "unknown"))
    table, findings = joined_truths([FIRST, second])
    assert table.labels == ("dog", "cat", "zebra") and not findings
    assert table.category_id.tolist() == [18, 17, 19]  # 18 is taken by the dog
    assert table.role == ("known", "known", "unknown")
    assert table.images.id.tolist() == [1, 2, 3]
    assert table.label[table.image == 2].tolist() == [1, 2]


def test_shared_images_are_there_once():
    second = truth([2, 3], ("zebra",), [5])
    table, (note,) = joined_truths([FIRST, second])
    assert table.images.id.tolist() == [1, 2, 3] and (note.code, note.count) == ("OS384", 1)
    assert sorted(table.label[table.image == 1].tolist()) == [0, 1, 2]


def test_one_id_for_two_images_is_refused():
    tables = [truth([1, 2], ("dog",), [1], [f"{side}1.jpg", "same.jpg"]) for side in "ab"]
    with pytest.raises(InputError, match=r"OS381.*1 image ids") as refused:
        joined_truths(tables)
    assert refused.value.findings[0].example == "image 1 is a1.jpg and b1.jpg"


def test_one_image_under_the_ids_of_two_files_is_said():
    tables = [truth(ids, ("dog",), [1], ["a.jpg", "b.jpg"]) for ids in ([1, 2], [11, 12])]
    table, (warning,) = joined_truths(tables)
    assert len(table.images) == 4
    assert (warning.code, warning.count) == ("OS425", 2)
    assert warning.example == "image a.jpg, id 11"


def test_other_roles_are_said():
    second = truth([3], ("dog",), [18], role=("unknown",))
    table, (warning,) = joined_truths([FIRST, second])
    assert (warning.code, warning.example) == ("OS385", "dog") and table.role[0] == "known"


def test_detections_with_ids_and_with_names():
    numbered = Detections([1], [17], np.ones((1, 4)), [0.5])
    named = Detections([2], [0], np.ones((1, 4)), [0.5], labels=("dog",))
    table, findings = joined_detections([numbered, named], FIRST)
    assert not findings
    assert [table.labels[at] for at in table.label] == ["cat", "dog"]
    assert table.image.tolist() == [1, 2]
    with pytest.raises(UsageError, match="pass truth="):
        joined_detections([numbered, named], None)
