"""Learned: a chain as a document, and what it says of every class."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from openset.evaluation.learned import Kept, Learned, Taught, unlike_chains
from openset.findings import InputError
from scenes.chains import farm


@pytest.fixture
def chain():
    return farm()


def test_the_document_comes_back(chain, tmp_path):
    chain.save(tmp_path)
    again = Learned.load(tmp_path)
    assert again.table() == chain.table() and again.lines() == chain.lines()
    assert json.loads((tmp_path / "learned.json").read_text())["rows"] == json.loads(
        json.dumps(again.document()["rows"])
    )


def test_a_class_that_gained_has_lost_nothing():
    said = farm((0.5, 0.6, 0.4)).losses()
    assert said == [
        "after t2, no earlier class has lost AP",
        "after t2-ft, cat has lost most: 10.0 points of AP, to 40.0",
    ]


def test_it_says_what_was_forgotten_and_what_later_classes_were_called(chain):
    assert chain.lines() == [
        "after t2, cat has lost most: 70.0 points of AP, to 10.0",
        "after t2-ft, cat has lost most: 20.0 points of AP, to 60.0",
        "before task 2, 3 objects of dog were called cat, then taught by 9 objects on 4 images",
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "openset.run/1"}', '{"a": 1}'])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "learned.json").write_text(text)
    with pytest.raises(InputError) as error:
        Learned.load(tmp_path)
    assert error.value.findings[0].code == "OS114"


def test_half_a_file_says_how_to_have_it_whole(tmp_path, chain):
    text = json.dumps(chain.document())
    (tmp_path / "learned.json").write_text(text[: len(text) // 2])
    with pytest.raises(InputError, match=r"OS114.*is damaged") as error:
        Learned.load(tmp_path)
    assert "openset learn command of the folder again" in error.value.findings[0].fix


@pytest.mark.parametrize(
    ("place", "value"), [(("rows", 0, "ap"), 5), (("tasks",), "cat"), (("rows", 1, "called"), [])]
)
def test_values_that_cannot_be_are_refused_when_read(tmp_path, chain, place, value):
    held = inner = json.loads(json.dumps(chain.document()))
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (tmp_path / "learned.json").write_text(json.dumps(held))
    with pytest.raises(InputError, match="OS114"):
        Learned.load(tmp_path)


def test_every_class_through_time_and_before_it_was_taught(chain):
    cat, dog = chain.kept()
    assert cat == Kept("cat", 1, (0.8, 0.1, 0.6), (None, pytest.approx(0.7), pytest.approx(0.2)))
    assert dog == Kept("dog", 2, (None, 0.7, 0.7), (None, None, None))
    assert chain.taught() == [Taught("dog", 2, {"cat": 3, "cow": 1}, 4, 9, 0.7)]
    assert [*chain.taught()[0].called] == ["cat", "cow"]  # the most frequent first


def judged_on(chain, test):
    return replace(chain, rows=tuple(replace(row, test=test) for row in chain.rows))


def test_chains_that_do_not_answer_one_question_are_told():
    (said,) = unlike_chains({"a": farm(), "b": farm(name="horse")})
    assert said.code == "OS682" and "b and a teach other classes in task 2" in said.message
    one, other = (judged_on(farm(), test) for test in ("x", "y"))
    (said,) = unlike_chains({"a": one, "b": other})
    assert "other test files in 3 stages" in said.message


def test_chains_of_one_benchmark_are_compared_without_a_word():
    longer = replace(farm(), tasks=(*farm().tasks, ("cow",)))
    assert not unlike_chains({"a": farm(), "b": farm((0.9, 0.5, 0.6)), "c": longer})
    assert not unlike_chains({"a": judged_on(farm(), "x"), "b": farm()})  # an older file
    assert not unlike_chains({"a": farm()})
