"""Scores that are not what they seem: named or refused; weak classifiers are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import InputError, Level
from openset.recognition import Scores, evaluate_recognition, read_scores
from openset.recognition.check import check
from openset.recognition.flaws import digits, rejecting, rejecting_nothing
from scenes.golden import DATA

SCORES = digits()
C = SCORES.n_classes
CODES = {"OS812", "OS813", "OS814", *(f"OS{code}" for code in range(817, 834)), "OS835"}


def suspicions(scores):
    return {finding.code: finding for finding in check(scores) if finding.code in CODES}


def with_label(new):
    return replace(SCORES, label=np.asarray(new, np.int32)[SCORES.label])


@pytest.mark.parametrize(
    ("new", "cause"),
    [
        ([1, 2, 3, 4, 5, 0], "labels are 1 too high"),
        ([5, 0, 1, 2, 3, 4], "labels are 1 too low"),
        ([3, 0, 5, 1, 2, 4], "different lists, or orders"),
        ([0, 1, 3, 2, 4, 5], "different lists, or orders"),
    ],
)
def test_labels_that_mean_other_classes(new, cause):
    wrong = with_label(new)
    with pytest.raises(InputError) as caught:
        evaluate_recognition(wrong, intervals=False)
    (finding,) = caught.value.findings
    assert finding.code == "OS814"
    assert cause in finding.cause
    fit = {f"{SCORES.classes[a]} = {SCORES.classes[b]}" for a, b in enumerate(new) if a != b}
    assert all(pair in finding.fix for pair in fit)
    forced = evaluate_recognition(wrong, intervals=False, force=True)
    assert [f.level for f in forced.findings if f.code == "OS814"] == [Level.WARNING]


def test_openness_upside_down():
    flipped = replace(SCORES, openness=-SCORES.openness, unknown_openness=-SCORES.unknown_openness)
    assert suspicions(flipped).keys() == {"OS812"}
    assert suspicions(flipped)["OS812"].level is Level.WARNING


def test_known_and_unknown_exchanged():
    rng, n = np.random.default_rng(0), SCORES.n_unknown
    wrong = replace(
        SCORES,
        openness=SCORES.unknown_openness,
        predicted=SCORES.unknown_predicted,
        label=rng.permutation(SCORES.label)[:n],
        unknown_openness=SCORES.openness,
        unknown_predicted=SCORES.predicted,
    )
    assert suspicions(wrong).keys() == {"OS813"}


def test_labels_of_other_samples():
    rng = np.random.default_rng(0)
    (finding,) = suspicions(replace(SCORES, label=rng.permutation(SCORES.label))).values()
    assert (finding.code, finding.level) == ("OS819", Level.WARNING)
    moved = suspicions(replace(SCORES, label=np.roll(SCORES.label, 2)))
    assert moved["OS819"].level is Level.ERROR
    assert "2 rows up" in moved["OS819"].fix


@pytest.mark.parametrize("decimals", [1, 2, 3, 4])
def test_rounding_makes_no_copies_and_hides_none(decimals):
    rounded = replace(
        SCORES,
        openness=SCORES.openness.round(decimals),
        unknown_openness=SCORES.unknown_openness.round(decimals),
    )
    assert suspicions(rounded) == {}
    twice = np.random.default_rng(0).permutation(np.tile(np.arange(SCORES.n_known), 2))
    columns = {name: getattr(rounded, name)[twice] for name in ("openness", "label", "predicted")}
    found = suspicions(replace(rounded, **columns))
    assert found.keys() == {"OS820"}
    assert found["OS820"].count >= SCORES.n_known


def untaught(seed):
    """A network with random weights on the embedded digits; those that are unknown are darker."""
    rng = np.random.default_rng(seed)
    centre = rng.random((C, 32))
    pixels = np.maximum(centre[SCORES.label] + rng.normal(0, 0.2, (SCORES.n_known, 32)), 0)
    dark = 0.1 * rng.random((SCORES.n_unknown, 32))
    weights = rng.normal(0, 1, (32, C))
    return Scores.from_logits(pixels @ weights, SCORES.label, dark @ weights, openness="energy")


def test_networks_that_were_never_taught_are_not_accused():
    found = [suspicions(untaught(seed)).keys() for seed in range(60)]
    assert not any(codes - {"OS812", "OS813"} for codes in found)


def letters(said):
    """Classes that differ in case alone, of which a classifier says some."""
    label = np.arange(120, dtype=np.int32) % 4
    rng = np.random.default_rng(0)
    names = ("a", "A", "b", "B")
    predicted = np.where(np.isin(label, said), label, said[0]).astype(np.int32)
    return Scores(predicted, label, rng.normal(0, 1, 120), rng.normal(1, 1, 60), None, names)


def test_letters_of_both_cases_are_classes():
    assert "OS821" not in suspicions(letters([0, 1, 2, 3]))
    assert "OS821" not in suspicions(letters([0, 1, 2]))
    assert suspicions(letters([0, 2]))["OS821"].level is Level.ERROR


def guesses(seed):
    rng = np.random.default_rng(seed)
    return replace(SCORES, predicted=rng.integers(0, C, SCORES.n_known, dtype=np.int32))


RNG = np.random.default_rng(1)
HONEST = {
    "clean": SCORES,
    "guesses": replace(
        guesses(0),
        openness=RNG.random(SCORES.n_known),
        unknown_openness=RNG.random(SCORES.n_unknown),
    ),
    "one known class": replace(
        SCORES,
        label=np.zeros(SCORES.n_known, np.int32),
        predicted=(RNG.random(SCORES.n_known) < 0.1).astype(np.int32),
    ),
    "few samples": Scores.from_logits(RNG.normal(0, 1, (8, 3)), [0] * 8, RNG.normal(0, 1, (4, 3))),
    "one class": replace(SCORES, predicted=np.full(SCORES.n_known, 2, np.int32)),
    "half guesses": replace(
        SCORES,
        predicted=np.where(
            RNG.random(SCORES.n_known) < 0.5, guesses(1).predicted, SCORES.predicted
        ),
    ),
    "openness by chance": replace(
        SCORES,
        openness=RNG.random(SCORES.n_known),
        unknown_openness=RNG.random(SCORES.n_unknown),
    ),
    "a little below one half": replace(
        SCORES,
        openness=RNG.normal(0.2, 1, SCORES.n_known),
        unknown_openness=RNG.normal(0, 1, SCORES.n_unknown),
    ),
    "rejecting": rejecting(),
    "rejecting nothing": rejecting_nothing(rejecting()),
}


@pytest.mark.parametrize("name", HONEST)
def test_a_weak_classifier_is_no_wrong_file(name):
    assert suspicions(HONEST[name]) == {}


def test_real_scores_raise_no_alarm():
    files = sorted((DATA.parent / "reference" / "recognition").glob("*.npz"))
    if not files:
        pytest.skip("there is no reference folder beside OPENSET_DATA")
    said = {file.stem: set(suspicions(read_scores(file))) for file in files}
    assert {name: codes for name, codes in said.items() if codes} == {"ties": {"OS831"}}  # rounded


def in_order_of_openness(*, alone, ids=None, label_sorted=False):
    """The digits, sorted by openness: whole rows, or that column alone."""
    rng = np.random.default_rng(0)
    rows = (
        np.argsort(SCORES.label, kind="stable") if label_sorted else rng.permutation(SCORES.n_known)
    )
    if not alone:
        rows = rows[np.argsort(SCORES.openness[rows], kind="stable")]
    return replace(
        SCORES,
        predicted=SCORES.predicted[rows],
        label=SCORES.label[rows],
        openness=np.sort(SCORES.openness),
        unknown_openness=np.sort(SCORES.unknown_openness),
        ids=ids,
    )


def numbered():
    names = (
        [f"{kind}{i}" for i in range(n)]
        for kind, n in (("k", SCORES.n_known), ("u", SCORES.n_unknown))
    )
    return tuple(map(np.array, names))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({}, "named rightly"),
        ({"ids": numbered()}, "so do the ids"),
        ({"label_sorted": True}, "labels are in the order"),
    ],
)
def test_openness_that_was_sorted_by_itself(wrong, why):
    said = suspicions(in_order_of_openness(alone=True, **wrong))
    assert said.keys() == {"OS828"} and why in said["OS828"].message
    assert said["OS828"].level is Level.WARNING


def test_a_file_in_order_of_openness_is_right():
    mixed = tuple(np.random.default_rng(1).permutation(ids) for ids in numbered())
    assert not suspicions(in_order_of_openness(alone=False))
    assert not suspicions(in_order_of_openness(alone=False, ids=mixed))


@pytest.mark.parametrize(("at", "said"), [(1e6, "none is rejected"), (-1e6, "all are rejected")])
def test_a_threshold_outside_all_openness(at, said):
    one = suspicions(replace(SCORES, threshold=at))["OS829"]
    assert said in one.message and "openness goes from" in one.message
    inside = float(one.fix.partition("such as ")[2].partition(",")[0])
    assert not suspicions(replace(SCORES, threshold=inside))
    assert not suspicions(replace(SCORES, threshold=np.inf))  # which is meant so


def logits(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(1, 4, (60, 5)), np.arange(60) % 5, rng.normal(0, 2, (40, 5))


def softmax(rows):
    shares = np.exp(rows - rows.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("of", ["known", "unknown"])
@pytest.mark.parametrize("to", [softmax, lambda rows: np.log(softmax(rows))], ids=["p", "log p"])
def test_one_kind_of_samples_through_a_softmax(of, to):
    known, label, unknown = logits()
    wrong = (to(known), label, unknown) if of == "known" else (known, label, to(unknown))
    with pytest.raises(InputError, match=f"OS510  of {of} samples alone") as caught:
        Scores.from_logits(*wrong)
    assert "both" in caught.value.findings[0].fix
    Scores.from_logits(np.log(softmax(known)), label, np.log(softmax(unknown)))  # as it says


def test_what_log_probabilities_are_right_for():
    known, label, unknown = (np.log(softmax(x)) if x.ndim == 2 else x for x in logits())
    with pytest.raises(InputError, match="whose energy is 0") as caught:
        Scores.from_logits(known, label, unknown, openness="energy")
    assert "--openness msp and max_logit" in caught.value.findings[0].fix
    for openness in ("msp", "max_logit"):
        Scores.from_logits(known, label, unknown, openness=openness)


def sure(scale=1.0, n=600):
    """A classifier whose largest probability is nearly 1, as that of most networks is."""
    rng = np.random.default_rng(3)
    known, unknown = rng.normal(6, 3, n), rng.normal(3, 3, n // 2)
    label = (np.arange(n) % 4).astype(np.int32)
    named = np.where(rng.random(n) < 0.05, (label + 1) % 4, label).astype(np.int32)
    openness = [1 / (1 + np.exp(scale * x)) for x in (known, unknown)]
    return Scores(named, label, *openness, None, tuple("abcd"))


def with_openness(scores, change):
    columns = ("openness", "unknown_openness")
    return replace(scores, **{name: change(getattr(scores, name)) for name in columns})


def test_rounding_that_ties_samples_is_said_with_what_it_leaves_open():
    exact, rounded = sure(), with_openness(sure(), lambda x: x.round(2))
    assert "OS831" not in suspicions(exact)
    said = suspicions(rounded)["OS831"]
    assert said.level is Level.WARNING and "%.2f" in said.cause and "all its digits" in said.fix
    low, high = (float(x) for x in said.message.split("from ")[1].split(" %")[0].split(" to "))
    true, shown = (
        100 * evaluate_recognition(one, intervals=False).value("auc").value
        for one in (exact, rounded)
    )
    assert low < shown < high and low <= true <= high and true - shown > 1


def test_rounding_that_leaves_less_open_than_chance_is_not_said():
    assert "OS831" not in suspicions(with_openness(sure(), lambda x: x.round(4)))
    assert "OS831" not in suspicions(with_openness(sure(n=60), lambda x: x.round(2)))


def test_ties_of_honest_scores_are_notes():
    single = with_openness(sure(8.0), lambda x: 1 - (1 - x).astype(np.float32))
    said = suspicions(single)["OS831"]
    assert said.level is Level.NOTE and "single" in said.cause and "largest logit" in said.fix
    votes = with_openness(sure(), lambda x: np.round(10 * x))
    assert suspicions(votes)["OS831"].level is Level.NOTE


def classified(spread, n=400, classes=5):
    """Logits of a classifier that is the surer the smaller the spread, and the true classes."""
    rng, label = np.random.default_rng(5), np.arange(n) % classes
    return np.eye(classes)[label] + rng.normal(0, spread, (n, classes)), label


@pytest.mark.parametrize("spread", [0.5, 1.0, 3.0])
def test_test_sets_without_what_was_misnamed(spread):
    logits, label = classified(spread)
    unknown = np.random.default_rng(6).normal(0, 0.3, (200, 5))
    right = logits.argmax(axis=1) == label
    assert not right.all() and "OS832" not in suspicions(Scores.from_logits(logits, label, unknown))
    found = suspicions(Scores.from_logits(logits[right], label[right], unknown))
    assert found["OS832"].level is Level.WARNING and found["OS832"].count == right.sum()


@pytest.mark.parametrize("scale", [0.01, 1.0, 1000.0])
def test_a_classifier_that_is_always_right_is_not_accused_however_unsure(scale):
    logits, label = classified(0.2)
    unknown = np.random.default_rng(6).normal(0, 0.3, (200, 5))
    found = Scores.from_logits(scale * logits, label, scale * unknown)
    assert found.correct.all() and "OS832" not in suspicions(found)
