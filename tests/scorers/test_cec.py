"""CEC: what the paper's equations say, by hand, and what must hold for any detections."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from openset.evaluation.choosing import choose
from openset.evaluation.one_shot import evaluate
from openset.evaluation.settings import Settings
from openset.findings import InputError, UsageError
from openset.matching import right_detections
from openset.scorers import find, ledger, of_split
from openset.scorers.cec import CecRule
from openset.scorers.gamma_rule import GammaRule
from openset.tables import Detections, LogitLayout
from scenes import scorers as scenes
from scenes.regions import NAMES, regions_and_truth

ALPHAS = (0.0, 0.2, 0.5, 0.8, 1.0, 1.5)


def detections(shares, label, *, overlap=None, score=None, split="farm train", image=None):
    """Detections of sigmoids with these probabilities."""
    shares = np.asarray(shares, float)
    count, rows = len(shares), np.arange(len(shares))
    found = Detections(
        rows if image is None else image,
        np.asarray(label),
        np.tile([0.0, 0, 10, 10], (count, 1)),
        shares[rows, label] if score is None else score,
        ("dog", "cat"),
        logits=np.log(shares / (1 - shares)),
        layout=LogitLayout.SIGMOID,
        attributes={} if overlap is None else {"overlap": np.asarray(overlap, float)},
    )
    return of_split(found, split)


def by_hand(phi=0.9):
    """The mean of dog is 0.8, that of cat 0.4."""
    shares = [[0.9, 0.1], [0.7, 0.3], [0.2, 0.4], [0.01, 0.01]]
    train = detections(shares, [0, 0, 1, 1], overlap=[0.95, 0.92, 0.91, 0.6])
    return find("cec").fit(train, phi=phi)


def rule(alpha, fitted=None, **more):
    return CecRule(fitted=by_hand() if fitted is None else fitted, alpha=alpha, **more)


def scene(split="farm val", seed=0):
    """Detections after suppression, and their truth."""
    regions, truth = regions_and_truth(seed=seed, split=split)
    found = GammaRule(gamma=1).apply(regions)
    bare = replace(found, labels=found.labels[:-1], attributes={}, provenance={})
    return of_split(bare, split), truth


def fitted_on_scene(phi=0.5):
    found, truth = scene("farm train", seed=5)
    right = right_detections(truth, found)
    return find("cec").fit(right, phi=phi), right


def test_means_are_of_right_detections_that_overlap_by_more_than_phi():
    assert by_hand().state.mean == pytest.approx([0.8, 0.4], rel=1e-6)
    assert by_hand(phi=0.5).state.mean == pytest.approx([0.8, 0.205], rel=1e-6)
    assert by_hand(phi=0.91).state.mean == pytest.approx([0.8, 0.0])  # more than, not as much


def test_equations_6_and_7_by_hand():
    shares = [[0.5, 0.1], [0.39, 0.19], [0.39, 0.3], [0.3, 0.25]]
    test = detections(shares, [0, 0, 0, 1], split="farm other")
    found = rule(0.5).apply(test)  # dog expels up to 0.4, cat up to 0.2
    assert [found.labels[at] for at in found.label] == ["dog", "unknown", "cat", "cat"]
    assert found.score[[0, 2, 3]] == pytest.approx([0.5, 0.3, 0.25], rel=1e-5)
    assert np.array_equal(found.box, test.box)
    limit = 1 / (1 + 0.5)
    assert (found.unknownness >= limit).tolist() == [False, True, False, False]


def test_a_detectors_own_factor_stays_in_the_score():
    test = detections([[0.39, 0.3]], [0], score=[0.195], split="farm other")  # objectness 0.5
    found = rule(0.5).apply(test)
    assert found.labels[found.label[0]] == "cat"
    assert found.score == pytest.approx([0.15], rel=1e-5)


def test_alpha_0_changes_nothing():
    found, _ = scene()
    fitted, _ = fitted_on_scene()
    same = rule(0.0, fitted).apply(found)
    assert np.array_equal(same.label, found.label)
    assert np.array_equal(same.score, found.score)
    tiny = detections([[1e-30, 1e-30]], [0], split="farm other")
    assert (rule(0.0).apply(tiny).label != 2).all()  # expels nothing above 0


def test_alpha_1_expels_about_half_of_the_right_detections_of_a_class():
    fitted, right = fitted_on_scene()
    keeps = rule(1.0, fitted).keeps(right)[np.arange(len(right)), right.label]
    for label in range(4):
        assert 0.25 < 1 - keeps[right.label == label].mean() < 0.75


def test_what_is_expelled_grows_with_alpha():
    found, _ = scene()
    fitted, _ = fitted_on_scene()
    unknown = [rule(alpha, fitted).apply(found).label == 4 for alpha in ALPHAS]
    for less, more in pairwise(unknown):
        assert not (less & ~more).any()
    assert unknown[0].sum() == 0 < unknown[2].sum() < unknown[-1].sum()


def test_known_ap_falls_with_alpha_and_confusion_does():
    found, truth = scene()
    fitted, _ = fitted_on_scene()
    asked = Settings(known=list(found.labels), metrics=["ap_known", "a_ose", "udp"])
    told = [
        evaluate(truth, rule(alpha, fitted).apply(found), settings=replace(asked, intervals=False))
        for alpha in ALPHAS
    ]
    known, errors, precision = (
        [one.value(name).value for one in told] for name in ("ap_known", "a_ose", "udp")
    )
    assert known == sorted(known, reverse=True) and known[-1] < known[0]
    assert errors == sorted(errors, reverse=True) and errors[2] < errors[0]
    assert precision == sorted(precision) and precision[0] == 0 < precision[2]


def test_the_papers_rule_for_alpha():
    found, truth = scene()
    fitted, _ = fitted_on_scene()
    rules = [rule(alpha, fitted) for alpha in ALPHAS]
    choice = choose(rules, found, truth, share=0.99)
    allowed = [one.alpha for one, known in choice.tried if known >= 0.99 * choice.unchanged]
    assert choice.rule.alpha == max(allowed)
    assert choose(rules, found, truth, share=0.5).rule.alpha > choice.rule.alpha
    with pytest.raises(InputError, match=r"OS652.*no alpha leaves 99%"):
        choose(rules[-1:], found, truth, share=0.99)


def test_scores_of_unknowns():
    test = detections([[0.3, 0.1], [0.1, 0.1]], [0, 0], split="farm other")
    assert rule(0.5, ranking="constant").apply(test).score.tolist() == [1, 1]  # the paper's
    low, high = rule(0.5).apply(test).score  # ties are broken: the less sure is more unknown
    assert low < high
    assert rule(0.5, ranking="confidence").apply(test).score == pytest.approx([0.3, 0.1])


def test_a_class_without_a_right_detection_expels_none_of_its_own_and_is_named():
    lonely = rule(0.5, by_hand(phi=0.91))  # no cat
    test = detections([[0.01, 0.01], [0.01, 0.01], [0.5, 0.9]], [0, 1, 1], split="farm other")
    found = lonely.apply(test)
    assert [found.labels[at] for at in found.label] == ["unknown", "cat", "cat"]
    assert found.unknownness[1:].tolist() == [0, 0] and found.unknownness[0] > 1 / 1.5
    (finding,) = lonely.findings(test)
    assert finding.code == "OS670" and finding.count == 1 and finding.example == "cat"
    assert not rule(0.5).findings(test)
    with pytest.raises(InputError, match=r"OS671.*none of 4"):
        by_hand(phi=0.96)


def test_regions_are_suppressed_afterwards():
    regions, _ = regions_and_truth()
    fitted, _ = fitted_on_scene()
    same, plain = rule(0.0, fitted).apply(regions), GammaRule(gamma=1).apply(regions)
    assert np.array_equal(same.label, plain.label) and np.array_equal(same.box, plain.box)
    found = rule(0.5, fitted).apply(regions)
    unknown = found.select(found.label == 4)
    places = np.column_stack([unknown.image, unknown.box[:, 0] // 100])
    assert 0 < len(unknown) == len(np.unique(places, axis=0))  # one of an object, not two
    assert len(found) <= len(regions) and "regions" not in found.provenance


def test_of_an_unknown_region_one_box_is_left_that_of_its_best_class():
    pairs = detections([[0.3, 0.1]] * 2, [0, 1], image=np.zeros(2, int), split="farm other")
    box = np.array([[0.0, 0, 10, 10], [50, 0, 10, 10]])  # boxes per class may lie apart
    found = rule(0.5).apply(replace(pairs, box=box, attributes={"region": np.zeros(2, int)}))
    assert found.label.tolist() == [2] and found.box.tolist() == [[0, 0, 10, 10]]


def test_ledger():
    test = detections([[0.3, 0.1]], [0], split="farm test")
    said = ledger.summary(rule(0.5).apply(test))
    assert "cec fitted on farm train (4 images)" in said
    assert "cec rule (alpha 0.5, phi 0.9) given by hand; no leak known" in said
    on_test = ledger.summary(rule(0.5).apply(test, test))
    assert "LEAK" in on_test and "alpha from 1 images it is applied to" in on_test


def test_what_it_refuses():
    named = rule(0.5).apply(detections([[0.3, 0.1]], [0], split="farm other"))
    with pytest.raises(InputError, match="OS651"):
        rule(0.5).apply(named)
    with pytest.raises(UsageError, match="alpha"):
        rule(-0.1)
    with pytest.raises(UsageError, match="ranking"):
        rule(0.5, ranking="loud")
    with pytest.raises(UsageError, match="phi"):
        by_hand(phi=1.0)
    with pytest.raises(InputError, match=r"OS501[\s\S]*--fit-truth"):
        find("cec").fit(replace(scenes.scene(), attributes={}))


def named_by_the_detector(shares, label, split="farm other", **more):
    """Of a detector with a column "unknown": columns background, dog, cat, unknown."""
    shares, rows = np.asarray(shares, float), np.arange(len(shares))
    found = Detections(
        rows,
        np.asarray(label),
        np.tile([0.0, 0, 10, 10], (len(rows), 1)),
        shares[rows, np.asarray(label) + 1],
        ("dog", "cat", "unknown"),
        logits=np.log(shares),
        layout=LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST,
        attributes=more,
    )
    return of_split(found, split)


def test_a_detector_that_names_unknowns_keeps_them_and_their_share():
    train = named_by_the_detector(
        [[0.1, 0.8, 0.05, 0.05], [0.1, 0.05, 0.4, 0.45]], [0, 1], "farm train",
        overlap=np.array([0.95, 0.95]),
    )  # fmt: skip
    fitted = find("cec").fit(train)
    assert fitted.state.mean == pytest.approx([0.8, 0.4], rel=1e-5)  # in which unknown has a share
    shares = [[0.3, 0.6, 0.05, 0.05], [0.1, 0.3, 0.1, 0.5], [0.1, 0.3, 0.1, 0.5]]
    test = named_by_the_detector(shares, [0, 0, 2])
    found = rule(0.5, fitted).apply(test)
    assert found.labels == ("dog", "cat", "unknown")
    assert found.label.tolist() == [0, 2, 2]
    assert found.score[[0, 2]] == pytest.approx([0.6, 0.5], rel=1e-5)
    same = rule(0.0, fitted).apply(test)
    assert same.label.tolist() == test.label.tolist()
    assert same.score == pytest.approx(test.score)


def test_alpha_is_chosen_for_a_detector_that_names_unknowns():
    found, truth = scene()
    right = fitted_on_scene()[1]
    layout = LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST

    def naming(one):  # the same, with a column that says unknown of every ninth
        rare = np.full((len(one), 1), -50.0)
        logits = np.hstack([one.logits[:, -1:], one.logits[:, :-1], rare])
        label = np.where(np.arange(len(one)) % 9, one.label, 4)
        return replace(one, logits=logits, layout=layout, label=label, labels=(*NAMES, "unknown"))

    named = find("cec").fit(naming(right).select(np.arange(len(right)) % 9 > 0), phi=0.5)
    rules = [rule(alpha, named) for alpha in ALPHAS]
    choice = choose(rules, naming(found), truth, share=0.9)
    assert choice.rule.alpha > 0
    said = ledger.summary(choice.rule.apply(naming(found), naming(scene(seed=3)[0])))
    assert "on unknown objects" not in said
