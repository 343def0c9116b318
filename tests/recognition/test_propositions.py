"""The propositions of the OpenAUC paper as properties, with the conditions that they really need.

Proposition 1 asks for as many false positives as rejected unknown samples; that is not enough (see
test_golden): they must stem from known samples. Proposition 2 depends on the weight, and on what
0 / 0 is. Proposition 5 says "less" where "not more" is true.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from openset.recognition import oscr_curve
from openset.recognition.answers import answers_at
from scenes.recognition import STEADY, answers_of, from_counts, small_scores, value

KEPT = ("f_score_macro", "f_score_micro", "youden_macro", "youden_micro")


def swapped(scores, known, unknown):
    """The same scores with the answers for one known and one unknown sample exchanged."""
    k = scores.openness.copy(), scores.predicted.copy()
    u = scores.unknown_openness.copy(), scores.unknown_predicted.copy()
    for a, b in zip(k, u, strict=True):
        a[known], b[unknown] = b[unknown], a[known]
    return replace(
        scores, openness=k[0], predicted=k[1], unknown_openness=u[0], unknown_predicted=u[1]
    )


def misnamed_and_rejected(scores, threshold):
    """Known samples accepted with a wrong name, and unknown samples rejected."""
    misnamed = np.flatnonzero((scores.openness <= threshold) & ~scores.correct)
    return misnamed, np.flatnonzero(scores.unknown_openness > threshold)


@STEADY
@given(small_scores(), st.integers(-2, 2))
def test_p1_f_score_and_youden_ignore_what_is_rejected_rightly(scores, threshold):
    misnamed, rejected = misnamed_and_rejected(scores, threshold)
    assume(len(misnamed) >= len(rejected) > 0)  # the paper's condition, made sufficient
    other = scores
    for known, unknown in zip(misnamed, rejected, strict=False):
        other = swapped(other, known, unknown)
    assert answers_at(other, threshold).rejected == 0  # every unknown sample is accepted now
    for name in KEPT:
        before, after = (value(name, s, threshold=threshold) for s in (scores, other))
        assert after == pytest.approx(before), name


@STEADY
@given(small_scores(), st.integers(-2, 2), st.floats(0.01, 0.99), st.sampled_from([0.0, 1.0]))
def test_p2_normalised_accuracy_may_reward_rejecting_nothing(scores, threshold, weight, empty):
    """It does exactly if what AKS can gain outweighs what AUS loses."""
    _, rejected = misnamed_and_rejected(scores, threshold)
    assume(len(rejected))
    here = from_counts(*answers_of(scores, threshold), scores.n_classes)
    options = {"weight": weight, "empty": empty}
    before = value("normalised_accuracy", scores, threshold=threshold, **options)
    perfect = replace(scores, predicted=scores.label)  # every known sample named correctly ...
    after = value("normalised_accuracy", perfect, threshold=99, **options)  # ... none rejected
    gain = 1 - scores.n_unknown / (scores.n_classes * (scores.n_known + scores.n_unknown))
    pays = weight * (gain - here["aks"]) > (1 - weight) * (here["aus_precision"] - empty)
    if abs(after - before) > 1e-9:
        assert (after > before) == pays


def triples(scores):
    """A correct known, an unknown and a wrong known sample, in this order of openness."""
    return [
        (a, b)
        for a in np.flatnonzero(scores.correct)
        for b in np.flatnonzero(~scores.correct)
        if (
            (scores.openness[a] < scores.unknown_openness)
            & (scores.unknown_openness < scores.openness[b])
        ).any()
    ]


@STEADY
@given(small_scores(), st.data())
def test_p3_and_p7_openauc_sees_what_accuracy_and_auc_together_do_not(scores, data):
    found = triples(scores)
    assume(found)
    a, b = data.draw(st.sampled_from(found))
    openness = scores.openness.copy()
    openness[[a, b]] = openness[[b, a]]
    other = replace(scores, openness=openness)
    for name in ("closed_set_accuracy", "auc"):
        assert value(name, other) == pytest.approx(value(name, scores))
    assert value("openauc", other) < value("openauc", scores)


@STEADY
@given(small_scores(ties=False))
def test_p4_the_area_under_the_curve_is_the_share_of_pairs(scores):
    curve = oscr_curve(scores)
    steps = (np.diff(curve.ofpr) * curve.cotpr[1:]).sum()
    assert value("openauc", scores, ties="strict") == pytest.approx(steps)


@STEADY
@given(small_scores(ties=False), st.data())
def test_p5_the_exchange_of_p1_never_raises_openauc(scores, data):
    """And lowers it exactly if a correct known sample lies between the two."""
    threshold = data.draw(st.integers(0, scores.n_known + scores.n_unknown))
    misnamed, rejected = misnamed_and_rejected(scores, threshold)
    assume(len(misnamed) and len(rejected))
    known, unknown = data.draw(st.sampled_from(misnamed)), data.draw(st.sampled_from(rejected))
    low, high = scores.openness[known], scores.unknown_openness[unknown]
    # The two exchange openness; the misnamed sample stays misnamed.
    openness, unknown_openness = scores.openness.copy(), scores.unknown_openness.copy()
    openness[known], unknown_openness[unknown] = high, low
    other = replace(scores, openness=openness, unknown_openness=unknown_openness)
    between = scores.correct & (low < scores.openness) & (scores.openness < high)
    before, after = value("openauc", scores), value("openauc", other)
    if between.any():
        assert after < before
    else:
        assert after == pytest.approx(before)


@STEADY
@given(small_scores())
def test_p6_openauc_bounds_the_rejection_of_unknown_samples(scores):
    openauc = value("openauc", scores, ties="strict")
    for threshold in scores.thresholds():
        counts = answers_at(scores, threshold)
        fpr = counts.rejected_known / counts.n_known
        if fpr > 0:
            tpr = counts.rejected / counts.n_unknown
            assert tpr >= 1 - (1 - openauc) / fpr - 1e-12


@STEADY
@given(small_scores())
def test_p8_one_minus_openauc_is_a_sum_of_two_errors(scores):
    worse = scores.unknown_openness[None, :] <= scores.openness[:, None]
    wrong = ~scores.correct[:, None]
    risk = (wrong + scores.correct[:, None] * worse).mean()
    assert 1 - value("openauc", scores, ties="strict") == pytest.approx(risk)


@STEADY
@given(small_scores())
def test_openauc_is_at_most_the_accuracy_and_the_auc(scores):
    openauc = value("openauc", scores)
    assert openauc <= value("closed_set_accuracy", scores) + 1e-12
    assert openauc <= value("auc", scores) + 1e-12
