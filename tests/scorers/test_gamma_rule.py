"""The gamma rule: the published loop, a detector's own factors, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import InputError, UsageError
from openset.scorers import ledger
from openset.scorers.gamma_rule import GammaRule
from openset.tables import Detections, LogitLayout
from openset.tables.logits import sigmoid, softmax

LAST, SIGMOID = LogitLayout.SOFTMAX_BACKGROUND_LAST, LogitLayout.SIGMOID
NAMES = ("a", "b", "c")


def pairs(logits, *, box=None, layout=LAST, image=None, factor=None, power=1.0, least=0.05):
    """What `openset run --regions` keeps of some regions: pairs above the least score."""
    logits = np.asarray(logits, np.float32)
    count = len(logits)
    box = np.array([[50.0 * i, 0, 20, 20] for i in range(count)]) if box is None else box
    image = np.ones(count, int) if image is None else np.asarray(image)
    plain = logits.astype(float)
    share = sigmoid(plain) if layout is SIGMOID else softmax(plain)[:, :-1]
    factor = np.ones(count) if factor is None else np.asarray(factor)
    score = (share * factor[:, None]) ** power
    region, label = np.nonzero(score > least)
    extra = {"region": region}
    if power != 1:
        extra["centerness"] = factor[region]
    return Detections(
        image[region],
        label,
        box[region],
        score[region, label],
        NAMES,
        logits=logits[region],
        layout=layout,
        attributes=extra,
    )


def reference(logits, box, gamma, temperature):
    """The published steps as loops, for one image."""
    share = np.exp(logits / temperature)
    share = (share / share.sum(axis=1, keepdims=True))[:, :-1]
    candidates = []
    for i, row in enumerate(share):
        best = np.sort(row)[::-1]
        for label, value in enumerate(row):
            if value > 0.05:
                unknown = best[0] / best[1] < gamma
                candidates.append((3, best[:3].sum(), i) if unknown else (label, value, i))
    kept = []
    for label, value, i in sorted(candidates, key=lambda c: -c[1]):
        if all(c[0] != label or overlap(box[c[2]], box[i]) <= 0.5 for c in kept):
            kept.append((label, value, i))
    return sorted((label, round(value, 6), tuple(box[i])) for label, value, i in kept)


def overlap(a, b):
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


@pytest.mark.parametrize(("gamma", "temperature"), [(3.0, 1.0), (15.0, 2.0), (4.0, 0.5)])
def test_it_is_the_published_loop(gamma, temperature):
    rng = np.random.default_rng(3)
    logits, box = rng.normal(size=(40, 4)) * 2, rng.integers(1, 30, (40, 4)).astype(float)
    regions = pairs(logits, box=box, least=0.001)
    rule = GammaRule(gamma=gamma, temperature=temperature)
    found = rule.apply(regions)
    rows = zip(found.label.tolist(), found.score.tolist(), found.box.tolist(), strict=True)
    got = sorted((label, round(value, 6), tuple(b)) for label, value, b in rows)
    assert got == reference(logits.astype(np.float32).astype(float), box, gamma, temperature)
    assert found.labels == (*NAMES, "unknown")
    assert {3} < set(found.label.tolist())
    assert np.array_equal(found.label == 3, found.unknownness > 1 / gamma)


@pytest.mark.parametrize(
    ("layout", "factor", "power"),
    [(LAST, None, 1.0), (SIGMOID, None, 1.0), (SIGMOID, 0.3, 1.0), (SIGMOID, 0.3, 0.5)],
)
def test_nothing_changes_where_nothing_is_unknown(layout, factor, power):
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(30, 4 if layout is LAST else 3)) * 2
    factor = None if factor is None else rng.uniform(factor, 1, 30)
    regions = pairs(logits, layout=layout, factor=factor, power=power)
    found = GammaRule(gamma=1).apply(regions)  # no two boxes overlap
    order = np.argsort(-regions.score, kind="stable")
    assert np.array_equal(found.score, regions.score[order])
    assert np.array_equal(found.label, regions.label[order])


def test_a_factor_of_the_region_stays_in_the_score_of_an_unknown():
    logits, centre = np.array([[0.1, 0.0, -1.0]]), [0.4]
    share = sigmoid(logits.astype(np.float32).astype(float))[0]
    for power in (1.0, 0.5):
        regions = pairs(logits, layout=SIGMOID, factor=centre, power=power)
        found = GammaRule(gamma=2).apply(regions)
        assert found.label.tolist() == [3]
        assert found.score[0] == pytest.approx(((share * 0.4) ** power).sum() / 3)
        assert found.unknownness[0] == pytest.approx(share[1] / share[0])  # of class scores alone


def test_sums_of_sigmoids_are_scores_and_still_rank_as_sums():
    torn, sure = [3.0, 3.0, 3.0], [4.0, -9.0, -9.0]
    regions = pairs([torn, sure], layout=SIGMOID)
    both = GammaRule(gamma=2).apply(regions)
    assert both.score.max() <= 1
    one = GammaRule(gamma=2, limit=1).apply(regions)
    assert one.label.tolist() == [3]  # 2.86 before 0.98
    two = GammaRule(gamma=2, top=2).apply(regions)
    assert two.score[two.label == 3] == pytest.approx(sigmoid(np.array([3.0])))


def test_an_unknown_region_has_one_box_that_of_its_best_class():
    regions = pairs([[2.0, 2.2, 0, 0]])
    moved = replace(regions, box=regions.box + 30.0 * np.arange(len(regions))[:, None])
    found = GammaRule(gamma=3).apply(moved)
    assert len(found) == 1
    assert found.box.tolist() == moved.box[moved.label == 1].tolist()


def test_filters_are_the_detectors_unless_given():
    stated = {"model": {}, "regions": {"score": 0.05, "nms": None, "most": 2}}
    same_place = np.tile([0.0, 0, 20, 20], (3, 1))
    regions = replace(pairs([[5.0, 0, 0, 0]] * 3, box=same_place), provenance=stated)
    assert len(GammaRule(gamma=1).apply(regions)) == 2
    assert len(GammaRule(gamma=1, nms=0.5).apply(regions)) == 1
    assert len(GammaRule(gamma=1, limit=5).apply(regions)) == 3
    assert len(GammaRule(gamma=1, minimum_score=0.99).apply(regions)) == 0
    assert "regions" not in GammaRule(gamma=1).apply(regions).provenance
    each = pairs([[5.0, 0, 0, 0]] * 3, image=[1, 2, 2])
    assert GammaRule(gamma=1, limit=1).apply(each).image.tolist() == [1, 2]
    assert len(GammaRule(gamma=2).apply(pairs(np.empty((0, 4))))) == 0


def test_duplicates_of_known_and_unknown():
    place = np.tile([0.0, 0, 20, 20], (2, 1))
    regions = pairs([[9.0, 0, 0, 0], [5.0, 5, 0, 5]], box=place)
    rule = GammaRule(gamma=2)
    assert rule.apply(regions).label.tolist() == [0, 3]
    assert replace(rule, duplicates="better").apply(regions).label.tolist() == [0]
    assert len(replace(rule, duplicates="neither").apply(regions)) == 0


def test_gamma_is_in_the_ledger():
    regions = ledger.of_split(pairs([[9.0, 0, 0, 0]], image=[4]), "birds test")
    by_hand = GammaRule(gamma=15).apply(regions)
    said = "gamma rule (gamma 15, temperature 1) given by hand; no leak known"
    assert ledger.summary(by_hand) == said
    assert ledger.entries(by_hand)[-1].options["gamma"] == 15
    chosen = GammaRule(gamma=3).apply(regions, ledger.of_split(regions, "birds val"))
    assert "gamma 3, temperature 1) threshold from birds val (1 images)" in ledger.summary(chosen)
    leaks = ledger.entries(GammaRule(gamma=3).apply(regions, regions))[-1].leaks
    assert leaks == ("fitted on test data", "gamma from 1 images it is applied to")


def refused(code, regions, **options):
    with pytest.raises(InputError, match=code):
        GammaRule(gamma=2, **options).apply(regions)


def test_what_it_refuses():
    good = pairs([[1.0, 2, 3, 4]], layout=LAST)
    refused("OS648.*which region", replace(good, attributes={}))
    refused("OS648.*have left", replace(good, provenance={"model": {"detector": "fcos"}}))
    refused("OS651", replace(good, labels=("a", "b", "unknown")))
    refused("OS501", replace(good, logits=None, layout=None))
    refused("OS503", replace(good, labels=("a", "b", "c", "d")))
    refused("OS503.*3 labels for 4", replace(good, layout=SIGMOID))
    roots = pairs([[0.5, -1.0, -2.0]], layout=SIGMOID, factor=[0.9], power=0.5)
    refused("OS649", replace(roots, attributes={"region": roots.attributes["region"]}))
    refused("OS649", replace(roots, score=roots.score / 2))
    for options in ({"gamma": 0.5}, {"gamma": 2, "temperature": 0}, {"gamma": 2, "top": 0}):
        with pytest.raises(UsageError):
            GammaRule(**options)


def test_another_temperature_wants_pairs_of_lower_scores():
    logits = np.random.default_rng(1).normal(size=(500, 4)) * 3
    for temperature in (2.0, 3.0):
        rule = GammaRule(gamma=2, temperature=temperature)
        (finding,) = rule.findings(pairs(logits))
        assert finding.code == "OS650"
        low = float(finding.fix.split()[-1])
        stated = {"model": {}, "regions": {"score": low, "nms": 0.5, "most": 100}}
        enough = replace(pairs(logits, least=low), provenance=stated)
        rule = replace(rule, minimum_score=0.05)
        assert rule.findings(enough) == []
        every = replace(pairs(logits, least=0.0), provenance=stated)
        assert len(rule.apply(enough)) == len(rule.apply(every))
    for temperature in (0.5, 1.0):  # of four columns, none below 0.11 rises above 0.05 at 0.5
        rule = GammaRule(gamma=2, temperature=temperature)
        assert rule.findings(pairs(logits)) == []
        assert len(rule.apply(pairs(logits))) == len(rule.apply(pairs(logits, least=0.0)))
