"""The flow at an operating point, and the small integers the page counts it from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.flow import Flow, called, operating_flow, targets, wild_weight
from openset.diagnosis.presets import presets
from openset.diagnosis.sliders import score_levels, sliders
from openset.matching import match
from openset.metrics import table
from openset.scorers.threshold import relabel
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.annotations import Images
from scenes.report_runs import matches

PROTOCOLS = ("default", "owod", "paper", "elephant")


def _hand_made() -> tuple[Annotations, Detections]:
    """Four known and three unknown objects, each with another fate, and two boxes on nothing."""
    places = [[100 * at, 0, 50, 50] for at in range(9)]
    truth = Annotations(
        images=Images([1, 2]),
        labels=("dog", "cat", "zebra"),
        image=[0, 0, 0, 0, 0, 0, 1],
        label=[0, 0, 0, 0, 2, 2, 2],
        box=[*places[:6], places[6]],
    )
    said = [  # place, label, score, unknownness
        (0, 0, 0.9, 0.1),  # dog: right
        (0, 0, 0.8, 0.1),  # dog again: a duplicate
        (1, 1, 0.7, 0.1),  # dog called cat
        (2, 0, 0.6, 0.9),  # dog that looks unknown
        (4, 1, 0.6, 0.2),  # zebra called cat
        (4, 2, 0.6, 0.8),  # the same zebra called unknown as well
        (5, 2, 0.6, 0.8),  # zebra called unknown
        (7, 0, 0.5, 0.1),  # on nothing
        (8, 2, 0.5, 0.9),  # unknown on nothing
    ]
    detections = Detections(
        image=[1] * len(said),
        label=[label for _, label, _, _ in said],
        box=[places[place] for place, *_ in said],
        score=[score for _, _, score, _ in said],
        unknownness=[value for *_, value in said],
        labels=("dog", "cat", "unknown"),
    )
    return truth, detections


VOCABULARY = Vocabulary(tasks=(("dog", "cat"),))


def test_every_fate_by_hand():
    truth, detections = _hand_made()
    found = match(truth, detections, VOCABULARY)
    assert operating_flow(found, 0.0, 0.85) == Flow(
        known_right=1,
        known_wrong=1,
        known_unknown=1,
        known_missed=1,
        unknown_unknown=1,
        unknown_wrong=1,
        unknown_missed=1,
        unknown_both=1,
        background_wrong=1,
        background_unknown=1,
        boxes_known=5,
        boxes_unknown=4,
        images=2,
    )
    assert operating_flow(found, 0.0).known_right == 2  # nothing is relabelled
    assert operating_flow(found, 0.65).unknown_missed == 3
    assert operating_flow(found, 0.95) == Flow(known_missed=4, unknown_missed=3, images=2)


def test_rates_by_hand():
    truth, detections = _hand_made()
    flow = operating_flow(match(truth, detections, VOCABULARY), 0.0, 0.85)
    assert (flow.known, flow.unknown) == (4, 3)
    assert flow.known_precision == 1 / 5
    assert flow.unknown_recall == 2 / 3
    assert flow.unknown_precision == 2 / 4
    assert flow.false_alarms == (4 + 1) / 2  # one is called unknown and lies on nothing
    empty = operating_flow(match(truth, detections, VOCABULARY), 2.0)
    assert empty.known_precision is None


def test_wilderness_ratio_counts_wild_images_more_often():
    truth, detections = _hand_made()
    found = match(truth, detections, VOCABULARY)  # the second image is wild, with one zebra
    assert operating_flow(found, 0.0, ratio=3.0).unknown_missed == 3
    assert operating_flow(found, 0.0, ratio=3.0).images == 4
    assert operating_flow(found, 0.0, ratio=0.0).unknown_missed == 0


@pytest.mark.parametrize("seed", range(6))
def test_without_thresholds_it_is_what_the_metrics_count(seed):
    found = matches(seed)
    flow = operating_flow(found, -np.inf)
    outcome = found.outcome()
    assert flow.known_right == np.count_nonzero(outcome.correct & ~found.labelled_unknown)
    assert flow.unknown_recall == table()["unknown_recall"].compute(found).value
    truth, detections = _random(seed)  # no object is ignored
    found = match(truth, detections, KNOWN)
    flow = operating_flow(found, -np.inf)
    assert flow.unknown_precision == table()["unknown_precision"].compute(found).value


@pytest.mark.parametrize("seed", range(6))
def test_relabelling_is_that_of_the_scorers(seed):
    truth, detections = _random(seed)
    threshold = float(np.median(detections.unknownness))
    again = relabel(detections, detections.unknownness, threshold, names=NAMES)
    flow = operating_flow(match(truth, detections, KNOWN), 0.3, threshold)
    matched_again = operating_flow(match(truth, again, KNOWN), 0.3)
    assert (flow.boxes_known, flow.boxes_unknown) == (
        matched_again.boxes_known,
        matched_again.boxes_unknown,
    )
    assert flow.background_unknown == matched_again.background_unknown
    assert flow.known_right == matched_again.known_right


KNOWN = Vocabulary(tasks=(("dog", "cat", "cow"),))
NAMES = {3: "dog", 7: "cat", 8: "cow", 12: "zebra", 20: "unknown"}


def _random(seed: int):
    from scenes import builders

    return builders.scene(seed, images=12, flags=False, ties=False).tables()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("unknownness", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_sliders_count_what_the_flow_counts(seed, unknownness, protocol):
    found = matches(seed, unknownness=unknownness, protocol=protocol)
    packed = sliders(found, score_levels(found.score))
    rng = np.random.default_rng(seed)
    for _ in range(12):
        i, j = int(rng.integers(len(packed.score))), int(rng.integers(len(packed.second)))
        ratio = rng.choice([None, 0.0, 0.4, 3.0])
        expected = operating_flow(found, packed.score[i], packed.second[j], ratio)
        assert packed.count(i, j, wild_weight(found, ratio)) == expected


def _close_scores(seed: int):
    """Many boxes of two names on each of a few zebras, with scores that differ by little or not."""
    rng = np.random.default_rng(seed)
    n, objects = 120, 6
    box = np.array([[100.0 * at, 0, 50, 50] for at in range(objects)])
    truth = Annotations(
        images=Images([1]),
        labels=("dog", "cat", "zebra"),
        image=np.zeros(objects, int),
        label=np.full(objects, 2),
        box=box,
    )
    score = 0.5 + rng.choice([0.0, 0.0004, 0.0012, 0.004, 0.01], n)
    where = rng.integers(0, objects, n)
    found = Detections(
        image=np.ones(n, int),
        label=rng.integers(0, 2, n),
        box=box[where],
        score=score,
        unknownness=rng.integers(0, 9, n) / 8,
        labels=("dog", "cat"),
    )
    return match(truth, found, VOCABULARY)


@pytest.mark.parametrize("seed", range(6))
def test_the_first_claim_that_holds_names_the_object(seed):
    found = _close_scores(seed)
    packed = sliders(found, score_levels(found.score))
    target = targets(found)
    starts = np.cumsum(packed.wrong.sizes, dtype=int) - packed.wrong.sizes
    for i in (0, 99, 100, 101):
        for j in range(len(packed.second)):
            call = called(found, packed.score[i], packed.second[j])
            for at, (start, size) in enumerate(zip(starts, packed.wrong.sizes, strict=True)):
                rows = np.flatnonzero(call.known & (target.known == at))
                best = rows[np.lexsort((rows, found.score[rows]))[-1:]]
                run = slice(start, start + size)
                holds = (packed.wrong.s[run] > i) & (packed.wrong.u[run] <= j)
                assert packed.wrong.klass[run][holds][:1].tolist() == found.klass[best].tolist()


def test_sliders_reach_both_ends():
    found = matches(3)
    packed = sliders(found, score_levels(found.score))
    assert packed.count(0, 0).boxes_known == 0  # everything is unknown
    assert packed.count(0, packed.rest) == operating_flow(found, 0.0)
    by_score = sliders(matches(3, unknownness=False), packed.score)
    assert by_score.count(0, by_score.rest) == operating_flow(matches(3, unknownness=False), 0.0)


def test_scores_beyond_one_have_a_ladder_too():
    levels = score_levels(np.array([-3.0, 40.0]))
    assert (levels[0], levels[-1]) == (-3.0, 40.0)


def _relabelled():
    """Matches of a detector with an unknownness that labels nothing unknown."""
    from scenes import builders

    truth, found = builders.scene(0, images=40, ties=False).tables()
    named = found.select(np.isin(found.label, [3, 7, 8]))
    values = np.random.default_rng(0).random(len(named))
    return match(truth, replace(named, unknownness=values), builders.KNOWN)


def test_presets_are_true_where_they_stand():
    found = _relabelled()
    packed = sliders(found, score_levels(found.score))
    chosen = {preset.name: preset for preset in presets(packed)}
    best, kept, calm = (chosen[name] for name in ("max-f1", "tpr-95", "one-alarm"))
    assert (best.i, best.j) == (kept.i, kept.j)  # nothing is labelled unknown: 95 % it is
    assert kept.j < packed.rest
    assert calm.j == best.j
    at = packed.count(calm.i, calm.j)
    assert at.false_alarms <= 1 < packed.count(calm.i - 1, calm.j).false_alarms
    assert packed.count(calm.i, packed.rest).false_alarms > 1  # it would not be true at rest
    for weight in (0.0, 5.0):
        again = packed.count(kept.i, kept.j, weight).known_right
        assert again == packed.count(kept.i, kept.j).known_right
    assert [p.own_ratio for p in (best, kept, calm)] == [True, False, True]


@pytest.mark.parametrize("unknownness", [True, False])
def test_presets_are_what_they_say(unknownness):
    found = matches(2, images=40, unknownness=unknownness)
    packed = sliders(found, score_levels(found.score))
    chosen = {preset.name: preset for preset in presets(packed)}

    def f1(p: float | None, r: float | None) -> float:
        return 2 * p * r / (p + r) if p and r else 0.0

    def worth(flow: Flow) -> float:
        known = f1(flow.known_precision, flow.known_recall)
        return known + unknownness * f1(flow.unknown_precision, flow.unknown_recall)

    assert packed.labels_unknown
    best = max(worth(operating_flow(found, level)) for level in packed.score)
    i = chosen["max-f1"].i
    assert worth(packed.count(i, packed.rest)) == best
    calm, second = chosen["one-alarm"].i, chosen["one-alarm"].j
    assert second == chosen["max-f1"].j
    assert packed.count(calm, second).false_alarms <= 1
    assert calm == 0 or packed.count(calm - 1, second).false_alarms > 1
    if unknownness:
        right = packed.count(i, packed.rest).known_right
        assert chosen["tpr-95"].i == i
        j = chosen["tpr-95"].j
        assert packed.count(i, j).known_right >= 0.95 * right > packed.count(i, j - 1).known_right
    else:
        assert "tpr-95" not in chosen


def test_hundred_thousand_boxes_stay_small():
    rng = np.random.default_rng(0)
    n = 100_000
    truth = Annotations(
        images=Images(np.arange(1000)),
        labels=("dog", "zebra"),
        image=np.repeat(np.arange(1000), 5),
        label=np.tile([0, 0, 0, 1, 1], 1000),
        box=np.tile([[0, 0, 50, 50]], (5000, 1)) + rng.integers(0, 400, (5000, 4)) * [1, 1, 0, 0],
    )
    image = rng.integers(0, 1000, n)
    box = truth.box[image * 5 + rng.integers(0, 5, n)] + rng.normal(0, 12, (n, 4)) * [1, 1, 0, 0]
    detections = Detections(
        image, rng.integers(0, 2, n), box, rng.random(n), ("dog", "unknown"), rng.random(n)
    )
    packed = sliders(match(truth, detections, Vocabulary(tasks=(("dog",),))), score_levels(box))
    columns = (packed.right, packed.wrong, packed.alien)
    size = sum(c.sizes.nbytes + c.s.nbytes + c.u.nbytes for c in columns)
    assert size + packed.boxes.nbytes + packed.times.nbytes < 900_000


@pytest.mark.parametrize(("x", "nearer"), [(2, 0), (12, 1)])
def test_a_box_of_a_third_class_speaks_of_the_object_it_overlaps_more(x, nearer):
    truth = Annotations(
        images=Images([1]),
        labels=("dog", "cat", "zebra"),
        image=[0, 0],
        label=[1, 2],
        box=[[0, 0, 50, 50], [14, 0, 50, 50]],  # a box in between overlaps both by a half
    )
    found = Detections([1], [0], [[x, 0, 50, 50]], [0.9], labels=("dog", "cat"))
    assert targets(match(truth, found, VOCABULARY)).known.tolist() == [nearer]
