"""Claims of the OpenAUC paper: its Table 1, and what its propositions take, on all small models."""

from fractions import Fraction

import numpy as np
import pytest

from openset.recognition import Scores, claims
from openset.recognition.answers import answers_at
from openset.recognition.flaws import rejecting
from scenes.recognition import made, value

PAPER = {  # Table 1: P1 (close), P2 (open), P3 (threshold), P4 (numeric)
    "open-set F-score (macro)": "yes no no yes",
    "open-set F-score (micro)": "yes no no yes",
    "Youden's index (macro)": "yes no no yes",
    "Youden's index (micro)": "yes no no yes",
    "normalised accuracy": "yes yes no yes",
    "AUC": "no yes yes yes",
    "OSCR curve": "yes yes yes no",
    "OpenAUC": "yes yes yes yes",
}


def test_the_properties_are_those_of_the_papers_table():
    assert {row[0]: " ".join(row[1:]) for row in claims.properties().rows} == PAPER


@pytest.mark.parametrize("name", claims.PRINTED)
def test_a_claim_fails_as_printed_and_holds_exactly_under_our_condition(name):
    cases, _ = claims.PRINTED[name]
    found = claims.counted(list(cases()))
    assert 0 < found.failed < found.cases
    assert found.exact


@pytest.mark.parametrize("wrong", ["printed", True, False])
def test_another_condition_is_not_exact(wrong):
    for cases, _ in claims.PRINTED.values():
        changed = [c._replace(enough=c.printed if wrong == "printed" else wrong) for c in cases()]
        assert not claims.counted(changed).exact


@pytest.mark.parametrize("name", claims.PRINTED)
def test_a_claim_fails_for_the_value_of_any_one_metric_too(name):
    cases, _ = claims.PRINTED[name]
    found = claims.counted(list(cases()))
    assert 0 < found.by_value < found.failed


def test_a_model_of_the_same_value_may_have_other_counts():
    half, third = Fraction(1, 2), Fraction(1, 3)
    cases = [
        claims.Case((2,), (1, 0), (half, half), 1, 0, printed=True, enough=False),
        claims.Case((2,), (0, 1), (half, third), 0, 0, printed=False, enough=False),
        claims.Case((3,), (1, 0), (half, half), 0, 0, printed=False, enough=False),  # other data
    ]
    assert claims.counted(cases)[:3] == (1, 1, 0)


def test_values_are_those_of_the_metrics():
    # Of two samples of class 0 one is named so and one rejected, the sample of class 1 is called 0;
    # of two unknown ones one is called 1, and one rejected.
    one = Scores([0, 1, 0], [0, 0, 1], [0.1, 0.9, 0.2], [0.3, 0.8], [1, 0], ("cat", "dog"))
    names = ("f_score_macro", "f_score_micro", "youden_macro", "youden_micro")
    said = [value(name, one, threshold=0.5) for name in names]
    found = claims._corollary_1((2, 1, 2), (1, 0), (1, 1))
    assert [float(each) for each in found] == pytest.approx(said)


def test_misnaming_changes_names_alone():
    one = rejecting()
    other = claims.misnaming(one)
    assert np.array_equal(one.openness, other.openness)
    assert other.correct.mean() < one.correct.mean()


def test_figure_1_holds_for_normalised_accuracy_and_not_for_f():
    rejected = {row[0]: float(row[3].rstrip(" %")) for row in claims.figure_1().rows}
    assert rejected["normalised accuracy"] < 5
    assert min(rejected["open-set F-score (macro)"], rejected["open-set F-score (micro)"]) > 80


def test_the_bound_of_proposition_6_is_below_what_is_measured():
    for row in claims.bound().rows:
        share, least, measured = (float(cell.rstrip(" %")) for cell in row)
        assert 0 < share <= 100
        assert least <= measured


def test_the_share_of_unknown_samples_does_not_make_normalised_accuracy_the_closed_set_one():
    one = made(n_known=60, n_unknown=20)
    known, named = 60 / 80, {"aks": "accuracy", "aus": "recall"}
    counts = answers_at(one, 0.5)
    right = (counts.true + counts.rejected) / 80
    at = {"threshold": 0.5, **named}
    assert value("normalised_accuracy", one, weight=known, **at) == pytest.approx(right)
    for options in ({}, named):
        found = value("normalised_accuracy", one, weight=1 - known, threshold=0.5, **options)
        assert found != pytest.approx(value("closed_set_accuracy", one), abs=0.01)
