"""Layouts of logits: which columns are classes, and what is left without "unknown"."""

from __future__ import annotations

import numpy as np
import pytest

from openset.tables import Head, LogitLayout
from openset.tables.logits import class_columns, without_unknown

PAIRS = [
    (LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST, LogitLayout.SOFTMAX_BACKGROUND_FIRST),
    (LogitLayout.SIGMOID_UNKNOWN_LAST, LogitLayout.SIGMOID),
]


@pytest.mark.parametrize(("layout", "left"), PAIRS)
def test_the_last_column_is_no_class_and_can_be_left_out(layout, left):
    row = np.arange(5.0)[None]
    kept, other = without_unknown(row, layout)
    assert kept.tolist() == [[0, 1, 2, 3]] and other is left
    assert layout.has_unknown and not left.has_unknown
    assert layout.is_sigmoid == left.is_sigmoid == (left is LogitLayout.SIGMOID)
    assert np.array_equal(row[:, class_columns(layout)], kept[:, class_columns(left)])


@pytest.mark.parametrize(("layout", "left"), PAIRS)
def test_a_head_of_classes_has_no_row_of_the_unknown(layout, left):
    head = Head(np.arange(15.0).reshape(5, 3), np.arange(5.0), layout)
    assert head.of_known().layout is left and len(head.of_known().bias) == 4
    classes = head.of_classes()
    assert classes.bias.tolist() == np.arange(5.0)[class_columns(layout)].tolist()
    assert classes.layout.is_sigmoid == left.is_sigmoid
