"""The last layer in a table: it fits the columns beside it, and goes where the rows go."""

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import UsageError
from openset.tables import Head, LogitLayout
from scenes import scorers as scenes


def carrying(**changes):
    return replace(scenes.scene(20), head=scenes.head(), **changes)


def test_it_stays_when_rows_are_chosen():
    found = carrying()
    for rows in (np.arange(3), found.score > 2, np.zeros(20, bool)):
        assert found.select(rows).head is found.head


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (Head(np.ones((5, 3)), np.zeros(5), scenes.LAYOUT), "24 dimensions, the head 3"),
        (Head(np.ones((6, 24)), np.zeros(6), scenes.LAYOUT), "logits are 5 .* the head makes 6"),
        (scenes.head(LogitLayout.SOFTMAX_BACKGROUND_FIRST), "softmax-background-first"),
        (Head(np.ones((4, 24)), np.zeros(4), scenes.LAYOUT), "4 .*, but there are 4 classes"),
    ],
)
def test_a_misfit_is_refused(head, words):
    with pytest.raises(UsageError, match=words):
        replace(scenes.scene(20), head=head)


def test_it_may_stand_without_the_columns_that_it_joins():
    assert carrying(logits=None, layout=None).head is not None
    assert carrying(embedding=None).head is not None


def test_equal_heads_have_the_same_numbers_and_layout():
    own = scenes.head(LogitLayout.SIGMOID)
    assert own.equals(scenes.head(LogitLayout.SIGMOID))
    assert not own.equals(Head(own.weight, own.bias, LogitLayout.SOFTMAX))
    assert not own.equals(Head(own.weight, own.bias + 1, own.layout))
    assert not own.equals(Head(own.weight[:2], own.bias[:2], own.layout))


def test_classes_alone_have_no_background():
    first = scenes.head(LogitLayout.SOFTMAX_BACKGROUND_FIRST)
    assert first.of_classes().equals(scenes.head(LogitLayout.SOFTMAX))
    assert scenes.head(LogitLayout.SIGMOID).of_classes().equals(scenes.head(LogitLayout.SIGMOID))


def test_without_the_row_of_the_unknown():
    layout = LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST
    head = Head(np.arange(10.0).reshape(5, 2), np.arange(5.0), layout)
    known = head.of_known()
    assert known.layout is LogitLayout.SOFTMAX_BACKGROUND_FIRST
    assert known.weight.tolist() == head.weight[:-1].tolist() and len(known.bias) == 4
    assert head.of_classes().bias.tolist() == [1.0, 2.0, 3.0]
    assert known.of_known().equals(known)
