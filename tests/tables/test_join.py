"""Images join by id, path, file name or stem; labels by category id or by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openset.findings import UsageError
from openset.tables import Annotations, Detections, Images, Vocabulary
from openset.tables.columns import positions
from openset.tables.join import ABSENT, IGNORED, join, join_images

NAMES = ["val/000139.jpg", "val/000285.jpg", "val/000632.jpg"]


def truth(ids, names=None, labels=("dog", "cat", "zebra", "crowd", "unknown"), **columns):
    images = Images(ids, names)
    return Annotations(images, labels, [], [], np.empty((0, 4)), **columns)


def detections(image, label=None, labels=()):
    n = len(image)
    label = np.zeros(n) if label is None else label
    return Detections(image, label, np.ones((n, 4)), np.ones(n), labels=labels)


@pytest.mark.parametrize(
    ("ids", "names", "given", "expected"),
    [
        ([139, 285, 632], None, [632, 139, 7], [2, 0, -1]),
        ([139, 285, 632], None, ["632", "139", "x"], [2, 0, -1]),
        (["139", "285", "632"], None, [632, 139, 7], [2, 0, -1]),
        ([139, 285, 632], None, ["632.0", "139.0", "7.0"], [2, 0, -1]),  # a data frame with gaps
        ([139, 285, 632], None, ["632.0", "139.5"], [-1, -1]),
        (["a", "b", "c"], None, ["c", "a", "ab"], [2, 0, -1]),
        ([1, 2, 3], NAMES, ["val/000632.jpg", "val/000139.jpg"], [2, 0]),
        ([1, 2, 3], NAMES, ["000632.jpg", "000139.jpg"], [2, 0]),
        ([1, 2, 3], NAMES, ["000632", "000139", "000140"], [2, 0, -1]),
        ([1, 2, 3], NAMES, [3, 1], [2, 0]),
        ([1, 2, 3], NAMES, [8, 9], [-1, -1]),
        ([1, 2], ["a/1.jpg", "b/1.jpg"], ["1.jpg"], [-1]),
        ([10**15, 5], None, [5, 10**15, -(10**15)], [1, 0, -1]),
        ([], None, [1, 2], [-1, -1]),
        ([1, 2], None, [], []),
    ],
)
def test_images(ids, names, given, expected):
    table = detections(given)
    found = join_images(truth(ids, names), table.image)
    assert found.tolist() == expected
    assert found.dtype == np.int32


def test_ids_win_over_names():
    gt = truth(["000285", "x"], ["000139.jpg", "000285.jpg"])
    assert join_images(gt, detections(["000285"]).image).tolist() == [0]


def test_labels_by_category_id():
    gt = truth([1], category_id=[7, 9, 90, 3, 91])
    vocabulary = Vocabulary(tasks=(("cat", "dog"),), ignored=frozenset({"crowd"}))
    joined = join(gt, detections([1] * 6, [7, 9, 90, 3, 91, 0]), vocabulary)
    assert joined.klass.tolist() == [1, 0, 2, IGNORED, 2, ABSENT]
    assert joined.leaked.tolist() == [False, False, True, False, False, False]


def test_labels_by_name_and_synonym():
    vocabulary = Vocabulary(tasks=(("tv", "dog"),), ignored=frozenset({"crowd"}))
    labels = ("Unk", "tvmonitor", "giraffe", "crowd", "DOG")
    joined = join(truth([1]), detections([1] * 5, np.arange(5), labels), vocabulary)
    assert joined.klass.tolist() == [2, 0, 2, IGNORED, 1]
    assert joined.leaked.tolist() == [False, False, True, False, False]


def test_no_detections():
    joined = join(truth([1]), detections([]), Vocabulary.of(["dog"]))
    assert len(joined.image) == len(joined.klass) == len(joined.leaked) == 0


def test_no_categories():
    joined = join(truth([1], labels=()), detections([1], [4]), Vocabulary.of(["dog"]))
    assert joined.klass.tolist() == [ABSENT]


def test_file_names_must_be_as_many_as_images():
    with pytest.raises(UsageError, match="file_name"):
        Images([1, 2], ["a.jpg"])


integers = st.one_of(st.integers(-5, 20), st.integers(-(2**62), 2**62))


@given(st.lists(integers, unique=True, max_size=8), st.lists(integers, max_size=8), st.booleans())
def test_positions(table, values, as_text):
    kind = str if as_text else np.int64
    found = positions(np.array(table, kind), np.array([*values, *table[:2]], kind))
    naive = [table.index(v) if v in table else -1 for v in [*values, *table[:2]]]
    assert found.tolist() == naive
