"""Golden numbers of open-set recognition: what published code prints on inputs of our own."""

import re
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from openset.recognition import Scores, oscr_curve, read_scores
from openset.recognition.answers import answers_at
from scenes.golden import EXPECTED, FOLDER, REFERENCE, REFERENCE_NUMBERS
from scenes.recognition import from_counts, value

OURS = re.compile(r"osr/.*|P\d.*|trap/(arpl|osr|openauc)/.*")
RANDOM = re.compile(r"P1/constructive.*|P3_P7/.*|P4/.*|P5/.*|P6/.*|P8/.*")  # see test_propositions
PUBLISHED_GRID = [t / 100 for t in range(1, 100)]


def twin_is_stable(key):
    return "/as_is/" in key and key.replace("as_is", "stable") in EXPECTED


@cache
def scores(name):
    """An input; names that begin with "@" are those of the reference folder."""
    folder = REFERENCE / "recognition" if name.startswith("@") else FOLDER / "inputs" / "osr"
    return read_scores(folder / f"{name.removeprefix('@')}.npz")


@cache
def squashed(name):
    """As OpenAUC's code thresholds: the sigmoid of minus the largest logit."""
    one = scores(name)
    known, unknown = (1 / (1 + np.exp(-r)) for r in (one.openness, one.unknown_openness))
    return replace(one, openness=known, unknown_openness=unknown)


def percent(number):
    return 100 * number


def at(name, threshold):
    """Everything the reference computes at one threshold, scikit-learn's numbers included."""
    from sklearn.metrics import f1_score

    one, fixed = squashed(name), {"threshold": threshold}
    accepted = np.concatenate([one.openness, one.unknown_openness]) <= threshold
    named = np.concatenate([one.predicted, one.unknown_predicted])
    answers = np.where(accepted, named, one.n_classes)
    truth = np.concatenate([one.label, np.full(one.n_unknown, one.n_classes)])
    known = list(range(one.n_classes))
    options = {"average": "macro", "zero_division": 0}
    rates = answers_at(one, threshold)
    nacc = {"aus_recall": {"aus": "recall"}, "printed": {}}
    return {
        "F_macro_eq2": value("f_score_macro", one, **fixed),
        "F_micro_eq3": value("f_score_micro", one, **fixed),
        "F_sklearn_macro_known": f1_score(truth, answers, labels=known, **options),
        "F_sklearn_macro_all": f1_score(truth, answers, **options),
        "J_macro": value("youden_macro", one, **fixed),
        "J_micro": value("youden_micro", one, **fixed),
        "AKS_eq6": value("normalised_accuracy", one, weight=1, **fixed),
        "AUS_eq6_precision": value("normalised_accuracy", one, weight=0, **fixed),
        "AUS_recall": value("normalised_accuracy", one, weight=0, aus="recall", **fixed),
        "NAcc05_eq5": value("normalised_accuracy", one, **fixed, **nacc["printed"]),
        "NAcc05_recall": value("normalised_accuracy", one, **fixed, **nacc["aus_recall"]),
        "TPR_unknown": rates.rejected / rates.n_unknown,
        "FPR_unknown": rates.rejected_known / rates.n_known,
    }


def best_on_grid(metric, name):
    return max(value(metric, squashed(name), threshold=t) for t in PUBLISHED_GRID)


def auc(name, *ties):
    return [value("auc", scores(name), ties=tie) for tie in ties]


def partial(name, ofpr):
    """Ours, but where the limit cuts equal scores of both kinds.

    The reference is no published code. It averages over unknown samples there as if each had the
    whole level to itself, which is not the area under the curve; that number is made by hand.
    """
    one, least = scores(name), np.sort(scores(name).unknown_openness)
    limit = ofpr * one.n_unknown
    ours = value("partial_openauc", one, ofpr=ofpr)
    if ofpr == 1 or not (one.openness[one.correct] == least[int(limit)]).any():
        return ours
    right = one.openness[one.correct]
    each = [((right < u).sum() + (right == u).sum() / 2) / one.n_known for u in least]
    reference = np.minimum(1, np.maximum(0, limit - np.arange(len(least)))) @ each / limit
    assert abs(ours - reference) > 1e-9
    return reference


# Pattern of keys → our number. "ma" and "mi" are swapped in the published code.
RULES = {
    "ARPL/TNR": lambda n: percent(value("tnr_at_95_tpr", scores(n), flavour="arpl")),
    "ARPL/AUROC": lambda n: percent(value("auc", scores(n), ties="strict")),
    "ARPL/DTACC": lambda n: percent(value("dtacc", scores(n))),
    "ARPL/AUIN": lambda n: percent(value("aupr", scores(n), positive="known", flavour="arpl")),
    "ARPL/AUOUT": lambda n: percent(value("aupr", scores(n), flavour="arpl")),
    "(ARPL|osr_closed_set)/OSCR": lambda n: value("oscr", scores(n), flavour="arpl"),
    "OpenAUC/OpenAUC": lambda n: value("openauc", scores(n)),
    "OpenAUC/OpenAUC_sigmoid_scores": lambda n: value("openauc", squashed(n)),
    "osr_closed_set/acc": lambda n: value("closed_set_accuracy", scores(n)),
    "osr_closed_set/acc_at_95_tpr": lambda n: value(
        "accuracy_at_95_tpr", scores(n), flavour="published"
    ),
    "osr_closed_set/AUROC": lambda n: value("auc", scores(n)),
    "osr_closed_set/AUPR": lambda n: value("aupr", scores(n)),
    "OpenAUC/AUPR_normalised": lambda n: value("aupr", scores(n), flavour="normalised"),
    r"OpenAUC/ma_f_score\(max.*": lambda n: best_on_grid("f_score_micro", n),
    r"OpenAUC/mi_f_score\(max.*": lambda n: best_on_grid("f_score_macro", n),
    "OpenAUC/ma_f_score@t=(?P<t>.*)": lambda n, t: at(n, float(t))["F_micro_eq3"],
    "OpenAUC/mi_f_score@t=(?P<t>.*)": lambda n, t: at(n, float(t))["F_macro_eq2"],
    "paper/OpenAUC_strict": lambda n: value("openauc", scores(n), ties="strict"),
    "paper/OpenAUC_half_ties": lambda n: value("openauc", scores(n), ties="half"),
    "paper/OpenAUC_all_ties": lambda n: value("openauc", scores(n), ties="all"),
    "paper/AUC_strict,half,all": lambda n: auc(n, "strict", "half", "all"),
    "paper/t=(?P<t>.*)": lambda n, t: at(n, float(t)),
    "paper/partial_OpenAUC@OFPR<=(?P<a>.*)": lambda n, a: partial(n, float(a)),
}
NUMBERS = [k for k in EXPECTED if k.startswith("osr/") and not twin_is_stable(k)]


def ours(key, place=""):
    _, name, rest = key.split("/", 2)
    rest = rest.removeprefix("as_is/").removeprefix("stable/")
    found = [(f, re.fullmatch(pattern, rest)) for pattern, f in RULES.items()]
    [(function, groups)] = [(f, hit.groupdict()) for f, hit in found if hit]
    return function(place + name, **groups)


@pytest.mark.parametrize("key", NUMBERS)
def test_number(key):
    assert ours(key) == pytest.approx(EXPECTED[key]["value"], rel=1e-9, abs=1e-9)


@pytest.mark.skipif(not REFERENCE_NUMBERS, reason="there is no reference folder")
@pytest.mark.parametrize("key", NUMBERS)
def test_reference_number(key):
    want = REFERENCE_NUMBERS[key]["value"]
    assert ours(key, "@") == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_no_key_is_forgotten():
    here = {key for key in EXPECTED if OURS.fullmatch(key)}
    tested = set(NUMBERS) | set(BEHAVIOURS) | {k for k in here if RANDOM.fullmatch(k)}
    assert sorted(here - tested - {k for k in here if twin_is_stable(k)}) == []
    assert len(NUMBERS) > 120


@pytest.mark.parametrize("name", ["tiny", "small", "medium", "ties", "tiny_ties"])
def test_oscr_has_a_closed_form(name):
    """ARPL's loop over all samples, as specified, against the formula."""
    one = scores(name)
    order = np.argsort(np.concatenate([-one.openness, -one.unknown_openness]), kind="stable")
    right = np.concatenate([one.correct, np.zeros(one.n_unknown, bool)])[order]
    unknown = (np.arange(len(order)) >= one.n_known)[order]
    ccr, fpr = [0.0, 0.0], [0.0, 0.0]
    for k in range(len(order) - 1):
        ccr.append(right[k + 1 :].sum() / one.n_known)
        fpr.append(unknown[k:].sum() / one.n_unknown)
    points = sorted(zip([*fpr, 1.0], [*ccr, 1.0], strict=True), reverse=True)
    x, y = np.array(points).T
    area = float(((x[:-1] - x[1:]) * (y[:-1] + y[1:]) / 2).sum())
    followed = int((unknown[:-1] & right[1:]).sum())
    product_ = 2 * one.n_known * one.n_unknown
    assert value("oscr", one, flavour="arpl") == pytest.approx(area, abs=1e-9)
    strict = value("openauc", one, ties="strict")
    assert area == pytest.approx(strict - followed / product_, abs=1e-9)


@pytest.mark.parametrize("name", ["small", "ties"])
def test_the_exact_area_of_the_oscr_curve_is_openauc(name):
    curve = oscr_curve(scores(name))
    area = np.trapezoid(curve.cotpr, curve.ofpr)
    assert value("oscr", scores(name)) == pytest.approx(area, abs=1e-12)
    assert value("openauc", scores(name)) == pytest.approx(area, abs=1e-12)


# ---------------------------------------------------------------------- behaviours


def scores_of(known, right, unknown):
    predicted = np.where(right, 0, 1)
    return Scores(predicted, np.zeros(len(known), int), known, unknown, None, ("a", "b"))


def inputs_are_left_alone(expected):
    known, unknown = np.array([3.0, 1.0, 2.0]), np.array([0.5, 0.1])
    value("tnr_at_95_tpr", scores_of(known, [True] * 3, unknown), flavour="arpl")
    assert known.tolist() == [3.0, 1.0, 2.0] != expected


def all_tied(expected):
    one = scores_of(np.ones(3), [True] * 3, np.ones(2))
    assert value("auc", one, ties="strict") == abs(expected)
    assert value("auc", one) == 0.5


def thresholds_above_one(expected):
    one = scores_of(np.array([1.0, 2.0]), [True] * 2, np.array([3.0]))
    counts = answers_at(one, 2.0)
    right = counts.rejected + counts.n_known - counts.rejected_known
    assert right / 3 == 1.0 != expected


def open_labels_are_not_needed(expected):
    assert expected.startswith("IndexError")
    one = Scores([0], [0], [0.1], [0.9], [1], ("a", "b"))
    assert value("f_score_macro", one, threshold=0.5) == 0.5  # the other class is never named


def huge_openness(expected):
    one = scores_of(np.array([0.0, 0.0]), [True, False], np.array([1e12, 1e12]))
    assert value("openauc", one) == 0.5 != expected


def half_ties(expected):
    one = scores_of(np.array([1.0]), [True], np.array([1.0]))
    assert value("openauc", one) == expected
    assert value("openauc", one, ties="strict") == 0


def printed_condition_is_not_sufficient(expected):
    """Three closed samples named correctly, one open sample rejected and two accepted."""
    truth = np.array([0, 1, 2, -1, -1, -1])
    original = from_counts(np.array([0, 1, 2, -1, 0, 1]), truth, 3)
    assert sum(original["counts"][1]) == expected["sum_FP"] >= expected["TP_unk"]
    assert original["true_unknown"] == expected["TP_unk"]
    keys = {"counts": "assignments_with_same_counts", "f_score_macro": "same_Fmacro"}
    keys |= {"f_score_micro": "same_Fmicro", "youden_macro": "same_Jmacro"}
    keys |= {"youden_micro": "same_Jmicro"}
    seen = dict.fromkeys(keys.values(), 0)
    for answers in product(range(-1, 3), repeat=6):
        if -1 in answers[3:]:
            continue  # only those that accept every open sample
        other = from_counts(np.array(answers), truth, 3)
        for mine, theirs in keys.items():
            same = other[mine] == original[mine]
            seen[theirs] += same if mine == "counts" else abs(other[mine] - original[mine]) < 1e-12
    assert seen == {name: expected[name] for name in seen}


def normalised_accuracy_depends_on_its_weight(expected):
    """Six closed samples (one rejected, two misnamed), three open ones (two rejected)."""
    truth = np.array([0, 0, 1, 1, 2, 2, -1, -1, -1])
    original = from_counts(np.array([0, 0, 1, -1, 0, 1, -1, -1, 0]), truth, 3)
    accepting = from_counts(np.array([0, 0, 1, 1, 2, 2, 0, 0, 0]), truth, 3)  # the best of these
    for case, text in expected.items():
        reading, _, weight = case.partition("|lam=")
        w, aus = float(weight), "aus_recall" if reading == "recall" else "aus_precision"
        empty = float(reading.endswith("0/0=1"))
        first = w * original["aks"] + (1 - w) * original[aus]
        best = w * accepting["aks"] + (1 - w) * empty
        assert text == f"orig {first:.4f} best_with_TPu0 {best:.4f} claim {best > first}", case


BEHAVIOURS = {
    "trap/arpl/metric_ood_sorts_inputs_in_place": inputs_are_left_alone,
    "trap/arpl/AUROC_ties_count_zero": all_tied,
    "trap/osr/acc_at_t_bug_t>=1": thresholds_above_one,
    "trap/openauc/open_labels_must_index_tp": open_labels_are_not_needed,
    "trap/openauc/eps_1e-5_absorbed_for_huge_scores": huge_openness,
    "trap/openauc/half_ties": half_ties,
    "P1/condition_as_printed_is_not_sufficient": printed_condition_is_not_sufficient,
    "P2/max_NAcc_with_TP_unk=0_beats_original?": normalised_accuracy_depends_on_its_weight,
}


@pytest.mark.parametrize("key", BEHAVIOURS)
def test_behaviour(key):
    BEHAVIOURS[key](EXPECTED[key]["value"])
