"""Metrics against their definitions: every pair, every threshold, one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openset.findings import UsageError
from openset.recognition import Scores, oscr_curve
from openset.recognition.metrics import compute, table
from openset.recognition.metrics._threshold import _best
from scenes.recognition import STEADY, answers_of, from_counts, made, pairs, small_scores, value

TIES = {"half": 0.5, "strict": 0.0, "all": 1.0}
AT_A_THRESHOLD = ("f_score_macro", "f_score_micro", "youden_macro", "youden_micro")


@STEADY
@given(small_scores(), st.sampled_from(sorted(TIES)))
def test_openauc_and_auc_count_pairs(scores, ties):
    tie = TIES[ties]
    assert value("openauc", scores, ties=ties) == pytest.approx(pairs(scores, True, tie))
    assert value("auc", scores, ties=ties) == pytest.approx(pairs(scores, False, tie))


def area_up_to(scores, ofpr):
    """Under the curve, point by point, cut where it reaches the limit."""
    curve = oscr_curve(scores)
    inside = curve.ofpr < ofpr
    x = np.append(curve.ofpr[inside], ofpr)
    after = int(inside.sum())
    x0, x1, y0, y1 = *curve.ofpr[after - 1 : after + 1], *curve.cotpr[after - 1 : after + 1]
    y = np.append(curve.cotpr[inside], y0 + (y1 - y0) * (ofpr - x0) / (x1 - x0))
    return np.trapezoid(y, x) / ofpr


@STEADY
@given(small_scores(), st.floats(0.05, 1))
def test_partial_openauc_is_the_area_under_the_curve_up_to_the_limit(scores, ofpr):
    assert value("partial_openauc", scores, ofpr=ofpr) == pytest.approx(area_up_to(scores, ofpr))


@STEADY
@given(small_scores(ties=False), st.floats(0.05, 1))
def test_without_ties_partial_openauc_averages_the_least_unknown_samples(scores, ofpr):
    right = scores.openness[scores.correct]
    left, total = ofpr * scores.n_unknown, 0.0
    for u in np.sort(scores.unknown_openness):
        share = min(1.0, left)
        total += share * (right < u).sum() / scores.n_known
        left -= share
    for ties in TIES:
        found = value("partial_openauc", scores, ofpr=ofpr, ties=ties)
        assert found == pytest.approx(total / (ofpr * scores.n_unknown))


def test_equal_scores_have_half_the_limit_of_the_accuracy():
    label, same = np.zeros(8, int), np.ones(8)
    named = np.array([0] * 6 + [1] * 2)
    one = Scores(named, label, same, np.ones(5), None, ("a", "b"))
    assert value("partial_openauc", one, ofpr=0.1) == pytest.approx(0.75 * 0.05)
    assert value("partial_openauc", one, ofpr=1) == pytest.approx(0.75 / 2)
    bounds = [value("partial_openauc", one, ofpr=0.1, ties=ties) for ties in ("strict", "all")]
    assert bounds == [0, pytest.approx(0.75)]


@STEADY
@given(small_scores())
def test_the_whole_partial_area_is_openauc(scores):
    assert value("partial_openauc", scores, ofpr=1) == pytest.approx(value("openauc", scores))


@STEADY
@given(small_scores(), st.integers(-3, 3))
def test_thresholded_metrics_follow_the_printed_formulas(scores, threshold):
    expected = from_counts(*answers_of(scores, threshold), scores.n_classes)
    for name in AT_A_THRESHOLD:
        assert value(name, scores, threshold=threshold) == pytest.approx(expected[name]), name
    for aus in ("precision", "recall"):
        found = value("normalised_accuracy", scores, threshold=threshold, weight=0.3, aus=aus)
        mean = 0.3 * expected["aks"] + 0.7 * expected[f"aus_{aus}"]
        assert found == pytest.approx(mean), aus


@STEADY
@given(small_scores())
def test_the_best_threshold_is_the_best_of_all(scores):
    thresholds = [-np.inf, *scores.openness, *scores.unknown_openness]
    for name in (*AT_A_THRESHOLD, "normalised_accuracy"):
        best = max(value(name, scores, threshold=t) for t in thresholds)
        assert value(name, scores) == pytest.approx(best), name


@STEADY
@given(small_scores())
def test_a_sweep_in_parts_is_the_sweep(scores):
    parts = list(scores.sweep.parts(size=2))
    assert all(len(part.threshold) <= 2 for part in parts)
    for name in ("threshold", "true", "known", "unknown", "false", "rejected"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        assert np.array_equal(joined, getattr(scores.sweep, name)), name
    if scores.unknown_predicted is not None:
        joined = np.concatenate([part.macro_precision() for part in parts])
        assert np.array_equal(joined, scores.sweep.macro_precision())


@given(st.lists(st.lists(st.integers(0, 3), min_size=1)))
def test_the_best_of_parts_is_the_first_best_of_all(parts):
    whole = [number for part in parts for number in part]
    expected = int(np.argmax(whole)) if whole else 0
    assert _best(map(np.array, parts)) == expected


@STEADY
@given(small_scores())
def test_a_sweep_is_the_confusion_at_every_threshold(scores):
    sweep = scores.sweep
    for at, threshold in enumerate(sweep.threshold):
        expected = from_counts(*answers_of(scores, threshold), scores.n_classes)
        tp, fp, fn = (np.array(x) for x in expected["counts"])
        assert (sweep.true[at], sweep.false[at]) == (tp.sum(), fp.sum())
        assert sweep.rejected[at] == expected["true_unknown"]
        recall = sweep.macro_recall()[at]
        assert recall == pytest.approx(np.mean(tp / np.maximum(tp + fn, 1)))
        precision = sweep.macro_precision()[at]
        assert precision == pytest.approx(np.mean(tp / np.maximum(tp + fp, 1)))
        assert recall + sweep.macro_tnr()[at] - 1 == pytest.approx(expected["youden_macro"])


@STEADY
@given(small_scores())
def test_separation_against_scikit_learn(scores):
    from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

    truth = np.repeat([0, 1], [scores.n_known, scores.n_unknown])
    openness = np.concatenate([scores.openness, scores.unknown_openness])
    fpr, tpr, _ = roc_curve(1 - truth, -openness, drop_intermediate=False)
    assert value("auc", scores) == pytest.approx(roc_auc_score(truth, openness))
    assert value("aupr", scores) == pytest.approx(average_precision_score(truth, openness))
    known = average_precision_score(1 - truth, -openness)
    assert value("aupr", scores, positive="known") == pytest.approx(known)
    assert value("dtacc", scores) == pytest.approx(((tpr + 1 - fpr) / 2).max())
    assert value("tnr_at_95_tpr", scores) == pytest.approx(1 - fpr[tpr >= 0.95 - 1e-12].min())


def test_accuracy_at_95_tpr_rejects_at_least_so_many():
    # 20 unknown samples: 19 are 95 %. The threshold lies at the second lowest.
    unknown = np.arange(20.0)
    known = np.array([-1.0, 0.5, 1.5, 30.0])
    scores = Scores([0] * 4, [0] * 4, known, unknown, None, ("a",))
    assert value("accuracy_at_95_tpr", scores) == (19 + 2) / 24
    assert value("accuracy_at_95_tpr", scores, tpr=1.0) == (20 + 1) / 24


def test_closed_set_accuracy_ignores_rejection_and_has_classes():
    scores = Scores([0, 1, 1], [0, 0, 1], [9.0, 0.0, 0.0], [], None, ("cat", "dog", "cow"))
    found = compute(table()["closed_set_accuracy"], scores)
    assert found.value == pytest.approx(2 / 3)
    assert dict(found.parts) == {"cat": 0.5, "dog": 1.0}


def test_macro_f_is_not_the_mean_of_f():
    from sklearn.metrics import f1_score

    scores = made(3)
    answers, truth = answers_of(scores, 0.8)
    mean = f1_score(truth, answers, labels=range(4), average="macro", zero_division=0)
    assert abs(value("f_score_macro", scores, threshold=0.8) - mean) > 1e-3


def test_a_threshold_comes_from_the_call_the_scores_or_the_samples():
    scores = made()
    fixed = Scores(
        scores.predicted,
        scores.label,
        scores.openness,
        scores.unknown_openness,
        scores.unknown_predicted,
        scores.classes,
        threshold=0.25,
    )
    metric = table()["f_score_micro"]
    asked, own = compute(metric, fixed, threshold=1.0), compute(metric, fixed)
    best = compute(metric, scores)
    assert (asked.params["threshold"], asked.params["chosen"]) == (1.0, "asked for")
    assert (own.params["threshold"], own.params["chosen"]) == (0.25, "of the classifier")
    assert best.params["chosen"] == "best on these samples"
    assert best.value >= max(asked.value, own.value)
    assert 0 <= best.parts["unknown_rejected"] <= 1


def test_readings_of_normalised_accuracy():
    scores = Scores([0, 1], [0, 1], [0.0, 9.0], [5.0, 1.0, 1.0], [0, 0, 1], ("a", "b"))
    at = {"threshold": 2.0}
    assert value("normalised_accuracy", scores, weight=1, aks="accuracy", **at) == 0.5
    assert value("normalised_accuracy", scores, weight=1, **at) == pytest.approx(1 - 3 / 10)
    assert value("normalised_accuracy", scores, weight=0, **at) == 0.5
    assert value("normalised_accuracy", scores, weight=0, aus="recall", **at) == 1 / 3
    everything = {"threshold": 99.0, "weight": 0}
    assert value("normalised_accuracy", scores, **everything) == 0
    assert value("normalised_accuracy", scores, empty=1.0, **everything) == 1


def test_the_oscr_curve_runs_from_nothing_to_everything():
    scores = made(levels=3)
    curve = oscr_curve(scores)
    assert (curve.ofpr[0], curve.cotpr[0], curve.threshold[0]) == (0, 0, -np.inf)
    assert curve.ofpr[-1] == 1
    assert curve.cotpr[-1] == value("closed_set_accuracy", scores)
    assert (np.diff(curve.threshold) > 0).all()
    with pytest.raises(UsageError, match="no unknown sample"):
        oscr_curve(Scores([0], [0], [0.1], [], None, ("a",)))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("openauc", {"ties": "halves"}),
        ("partial_openauc", {"ofpr": 0.0}),
        ("oscr", {"flavour": "apl"}),
        ("aupr", {"flavour": "step"}),
        ("aupr", {"positive": "unknwn"}),
        ("tnr_at_95_tpr", {"tpr": 1.5}),
        ("accuracy_at_95_tpr", {"flavour": "publishd"}),
        ("normalised_accuracy", {"weight": 2}),
        ("normalised_accuracy", {"aus": "recal"}),
    ],
)
def test_impossible_parameters_are_refused(name, params):
    with pytest.raises(UsageError):
        value(name, made(), **params)
