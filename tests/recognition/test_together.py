"""Scores of several classifiers: the same ones twice, and samples in another order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.recognition.flaws import digits
from openset.recognition.together import in_another_order, kept_apart, repeated_scores
from scenes.recognition import made

ONE = digits()


def noisy(seed, noise=1.0):
    """A second training: the same samples are hard, more or less."""
    rng, spread = np.random.default_rng(seed), ONE.openness.std() * noise
    known = ONE.openness + rng.normal(0, spread, ONE.n_known)
    return replace(
        ONE,
        openness=known,
        unknown_openness=ONE.unknown_openness + rng.normal(0, spread, ONE.n_unknown),
    )


def test_scores_given_twice_or_rounded():
    rounded = replace(
        ONE, openness=ONE.openness.round(3), unknown_openness=ONE.unknown_openness.round(3)
    )
    assert repeated_scores({"a": ONE, "b": rounded, "c": noisy(0, 0.1)}).keys() == {"b"}


def test_unknown_samples_in_another_order():
    order = np.random.default_rng(1).permutation(2000)
    one, other = large(1, 0.6), large(2, 0.6)
    moved = replace(other, unknown_openness=other.unknown_openness[order])
    found = in_another_order({"a": one, "same": other, "moved": moved})
    assert found.keys() == {"moved"}
    assert found["moved"].code == "OS827"
    assert "not on unknown ones" in found["moved"].message


def test_of_few_samples_nobody_can_say_that_nothing_goes_together():
    """Real pairs of detectors have correlations of 0.1 on unknown objects."""
    order = np.random.default_rng(1).permutation(ONE.n_unknown)
    moved = replace(noisy(0), unknown_openness=noisy(0).unknown_openness[order])
    assert in_another_order({"a": ONE, "moved": moved}) == {}


def moved(scores, known, unknown):
    """The same samples in another order: rows are moved whole."""
    ids = None if scores.ids is None else (scores.ids[0][known], scores.ids[1][unknown])
    named = scores.unknown_predicted
    return replace(
        scores,
        predicted=scores.predicted[known],
        label=scores.label[known],
        openness=scores.openness[known],
        unknown_openness=scores.unknown_openness[unknown],
        unknown_predicted=None if named is None else named[unknown],
        ids=ids,
    )


def test_rows_in_another_order_are_told_by_labels_and_by_ids():
    rng = np.random.default_rng(3)
    known, unknown = rng.permutation(ONE.n_known), rng.permutation(ONE.n_unknown)
    assert kept_apart("a", ONE, noisy(0)) is None
    by_label = kept_apart("a", ONE, moved(noisy(0), known, unknown))
    assert by_label.code == "OS830" and "another label than in a" in by_label.message
    ids = np.arange(ONE.n_known), np.arange(ONE.n_unknown) + ONE.n_known
    named, other = replace(ONE, ids=ids), replace(noisy(0), ids=ids)
    assert kept_apart("a", named, other) is None
    rows = kept_apart("a", named, moved(other, known, unknown))
    assert "another id than in a" in rows.message and "sort the rows" in rows.fix
    apart = replace(other, ids=(ids[0][known], ids[1]))
    said = kept_apart("a", named, apart)
    assert said.cause == "ids were written in another order than labels and scores"
    assert "sort" not in said.fix


def test_classes_that_another_file_spells_otherwise_are_named():
    loud = replace(noisy(0), classes=tuple(name.upper() + " x" for name in ONE.classes))
    plain = replace(ONE, classes=tuple(f"{name}_x" for name in ONE.classes))
    said = kept_apart("a", plain, loud)
    assert (said.code, said.level) == ("OS821", "error")
    assert f"{len(ONE.classes)} of {len(ONE.classes)} classes are spelt otherwise" in said.message
    assert kept_apart("a", plain, replace(noisy(0), classes=plain.classes)) is None
    letters = tuple("aAbBcCdDeEfF"[: len(ONE.classes)])
    assert (
        kept_apart("a", replace(ONE, classes=letters), replace(noisy(0), classes=letters)) is None
    )


def test_other_samples_of_other_numbers_are_not_called_another_order():
    fewer = kept_apart("a", made(), made(n_known=59))
    assert fewer.code == "OS834" and "59 known" in fewer.message
    other = replace(made(), label=np.where(made().label == 1, 0, made().label))
    assert kept_apart("a", made(), other) is None


def large(seed, shared):
    """A classifier of many samples, of which it finds some hard by a cause that others share."""
    rng, cause = np.random.default_rng(seed), np.random.default_rng(99)
    one = made(7, n_known=2000, n_unknown=2000)
    for name in ("openness", "unknown_openness"):
        own, hard = rng.normal(0, 1, 2000), cause.normal(0, 1, 2000)
        value = shared * hard + np.sqrt(1 - shared**2) * own + (name != "openness")
        one = replace(one, **{name: value})
    return one


def test_many_samples_on_which_nothing_goes_together_are_a_note():
    found = in_another_order({"a": large(1, 0.6), "same": large(2, 0.6), "apart": large(3, 0.0)})
    assert found.keys() == {"apart"}
    assert (found["apart"].code, found["apart"].level) == ("OS827", "note")
    assert "nothing to do with that of a" in found["apart"].message
    blind = replace(large(3, 0.0), predicted=(large(3, 0.0).label + 1) % 4)
    assert in_another_order({"a": large(1, 0.6), "blind": blind}) == {}


def test_classifiers_that_have_nothing_in_common_are_not_accused():
    rng = np.random.default_rng(2)
    other = replace(
        ONE, openness=rng.random(ONE.n_known), unknown_openness=1 + rng.random(ONE.n_unknown)
    )
    assert in_another_order({"a": ONE, "b": other}) == {}
