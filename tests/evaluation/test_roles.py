"""Vocabularies of two results that differ: which classes, how many, and what to do."""

from __future__ import annotations

import pytest

import openset
from openset.evaluation.result import Evaluation
from openset.evaluation.roles import differ, stated
from openset.findings import InputError, UsageError
from openset.tables import Role, Vocabulary
from scenes.builders import scene

SIX = [f"class {i}" for i in range(6)]


def words(first, second):
    return differ(stated(first), stated(second))


def of(*known, **others):
    return Vocabulary((known,), **others)


CASES = {
    "fewer": (
        of("dog", *SIX),
        of("dog"),
        "6 classes are known in the first and not listed, so unknown, in the second "
        "(class 0, class 1, class 2, class 3, class 4 and 1 more)",
    ),
    "more": (
        of("dog"),
        of("dog", "cat"),
        "1 class is not listed, so unknown, in the first and known in the second (cat)",
    ),
    "stated to be unknown": (
        of("dog", "cat"),
        of("dog", unknown=frozenset({"cat"})),
        "1 class is known in the first and unknown in the second (cat)",
    ),
    "ignored": (
        of("dog", unknown=frozenset({"cat"})),
        of("dog", ignored=frozenset({"cat"})),
        "1 class is unknown in the first and ignored in the second (cat)",
    ),
    "exchanged": (
        of("dog"),
        of("cat"),
        "1 class is known in the first and not listed, so unknown, in the second (dog); "
        "1 class is not listed, so unknown, in the first and known in the second (cat)",
    ),
    "tasks": (
        Vocabulary((("dog",), ("cat",))),
        of("dog", "cat"),
        "1 class is of task 2 in the first and of task 1 in the second (cat)",
    ),
    "rest": (
        of("dog"),
        of("dog", rest=Role.IGNORED),
        "what is not listed is unknown in the first and ignored in the second",
    ),
    "synonyms": (
        of("dog"),
        of("dog", synonyms=(("hound", "dog"),)),
        "other names count as one class",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_differs_is_named(case):
    first, second, said = CASES[case]
    assert words(first, second) == said


def test_spellings_of_one_class_do_not_differ():
    assert of("TV_Monitor").hash == of("tv").hash
    assert "tv" not in words(of("TV_Monitor", "dog"), of("tv")).lower().replace("dog", "")


@pytest.fixture(scope="module")
def results():
    tables = scene(1, images=24).tables()
    return [openset.evaluate(*tables, known=known) for known in (["dog", "cat"], ["dog"])]


def test_compare_names_the_classes_and_the_fix(results):
    said = "1 class is known in the first and not listed, so unknown, in the second (cat)"
    for pair in (results, [Evaluation.from_json(one.to_json()) for one in results]):
        with pytest.raises(UsageError) as caught:
            openset.compare(*pair)
        assert said in str(caught.value)
        assert "evaluate both with the same known=" in str(caught.value)
        assert pair[0].provenance.vocabulary_hash not in str(caught.value)


def test_trainings_name_the_classes(results):
    with pytest.raises(InputError) as caught:
        openset.compare(results, results)
    (finding,) = (one for one in caught.value.findings if one.code == "OS418")
    assert "1 class is known in training 1 and not listed" in finding.example
    assert "known=" in finding.fix


def test_results_without_roles_fall_back_on_hashes():
    assert differ({}, stated(of("dog"))) == ""
