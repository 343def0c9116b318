"""Worked examples are computed: the printed numbers follow from the printed sketches."""

import pytest

from openset.explain import Result, Sketch, entries
from openset.findings import UsageError

WITH_EXAMPLE = [entry for entry in entries() if entry.example is not None]


@pytest.mark.parametrize("entry", WITH_EXAMPLE, ids=lambda entry: entry.name)
def test_numbers_follow_from_the_sketch(entry):
    shown = [result.value for result in entry.example.results]
    assert shown
    for result, number in zip(entry.example.results, entry.example.compute(), strict=True):
        assert result.value == pytest.approx(number, abs=5.1e-5), str(result)


def test_the_first_number_is_of_the_metric_itself():
    for entry in WITH_EXAMPLE:
        first = entry.example.results[0]
        if entry.kind == "metric":
            assert (first.function, first.protocol) == (entry.name, "default")
        if entry.kind == "protocol":
            assert first.protocol == entry.name
        if entry.kind == "error":
            assert first.part == entry.name


def test_a_wrong_number_would_be_noticed():
    example = next(entry.example for entry in WITH_EXAMPLE if entry.name == "a_ose")
    assert example.compute() == [3.0, 2.0, pytest.approx(2 / 3)]


def sketch(*images, tasks=(("dog",),)):
    return Sketch("test", "A test.", tasks, images)


def test_sketch_boxes_overlap_as_they_say():
    found = sketch("dog, dog | dog .9 on 2 at .3, dog .8 on 1, dog .7 on nothing").matches()
    assert found.columns.iou_same.round(6).tolist() == [0.3, 1.0, 0.0]


def test_sketch_roles_flags_and_unknownness():
    truth, found, vocabulary = sketch(
        "dog, bear crowd, cat difficult | unknown .5 u .25 on 2", "|"
    ).tables()
    assert [truth.labels[i] for i in truth.label] == ["dog", "bear", "cat"]
    assert truth.crowd.tolist() == [False, True, False]
    assert truth.difficult.tolist() == [False, False, True]
    assert len(truth.images) == 2
    assert found.unknownness.tolist() == [0.25]
    assert vocabulary.known == ("dog",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("dog | dog on 1", "'dog on 1'"),
        ("dog | dog .9 on 2", "object 2 of 1"),
        ("dog cat | dog .9 on 1", "'dog cat'"),
    ],
)
def test_a_sketch_that_cannot_be_read(line, message):
    with pytest.raises(UsageError, match=message):
        sketch(line).tables()


def test_how_a_result_is_written():
    assert str(Result(0.25, "wilderness_impact")) == "wilderness_impact = 0.25"
    full = Result(None, "nose", protocol="fmiyc", options={"recall": 0.5})
    assert str(full) == "nose(recall=0.5) under fmiyc = no value"
    assert str(Result(1, "tide", "Loc")) == "tide[Loc] = 1"
