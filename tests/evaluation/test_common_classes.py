"""Differences where two values rest on different classes: on the classes of both, and said so."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import openset
from openset.evaluation.comparison import NO_CLASS, UNPAIRED, UNSPLIT
from openset.evaluation.run import evaluate_all
from openset.evaluation.scoreboard import Scoreboard
from openset.findings import InputError
from openset.metrics import ByClass, _by_class
from openset.tables import Annotations, Detections, Images, Vocabulary

CLOSED, WILD = 40, 40
LABELS = ("dog", "cat", "zebra")
LEFT, RIGHT = (0, 0, 50, 50), (100, 0, 50, 50)
OF_CLASSES = ("wilderness_impact", "average_wilderness_impact", "score_at_recall")


def truth():
    """A dog and a cat on each closed-set image, a zebra on each wild one."""
    image = [*range(CLOSED), *range(CLOSED), *range(CLOSED, CLOSED + WILD)]
    label = np.repeat([0, 1, 2], [CLOSED, CLOSED, WILD])
    return Annotations(
        Images(np.arange(1, CLOSED + WILD + 1)),
        LABELS,
        image,
        label,
        np.array([LEFT, RIGHT, LEFT])[label],
    )


def detector(cats, dogs_on_zebras):
    """Every dog, some cats, and so many zebras that are called dogs."""
    rows = [(image, 0, LEFT, 0.9) for image in range(1, CLOSED + 1)]
    rows += [(image, 1, RIGHT, 0.8) for image in range(1, cats + 1)]
    rows += [
        (CLOSED + 1 + 2 * at % WILD + (2 * at >= WILD), 0, LEFT, 0.95)
        for at in range(dogs_on_zebras)
    ]
    image, label, box, score = zip(*rows, strict=True)
    return Detections(image, label, box, score, LABELS)


def result(found, **options):
    known = Vocabulary.of(["dog", "cat"])
    return openset.evaluate(truth(), found, known=known, protocol="paper", **options)


@pytest.fixture(scope="module")
def results():
    """The second reaches the recall on cats, too, which no wild detection is called."""
    return result(detector(cats=4, dogs_on_zebras=10)), result(detector(cats=40, dogs_on_zebras=18))


def test_the_order_turns_round_on_the_classes_of_both(results):
    first, second = results
    d = openset.compare(first, second)["wilderness_impact"]
    assert (d.first, d.second) == (10 / 40, 18 / 80)  # the second looks better
    assert d.common == (10 / 40, 18 / 40)
    assert d.difference == pytest.approx(8 / 40)
    assert d.better is False
    assert d.interval[0] > 0
    assert d.significant
    assert d.basis == "on the one class that both rest on; the values beside it rest on 1 and 2"
    back = openset.compare(second, first)["wilderness_impact"]
    assert (back.better, back.p) == (True, pytest.approx(d.p, rel=0.2))


@pytest.mark.parametrize("name", OF_CLASSES)
def test_each_metric_of_classes_that_reach_a_recall(results, name):
    d = openset.compare(*results)[name]
    assert d.common is not None
    assert d.difference == d.common[1] - d.common[0]
    assert d.first == d.common[0]  # which rests on dogs alone
    assert d.second != pytest.approx(d.common[1])
    assert (d.interval is None) == (name == "score_at_recall")


def test_it_is_said_wherever_the_difference_is_shown(results):
    board = Scoreboard.of(dict(zip("ab", results, strict=True)), headline=True)
    words = "Wilderness Impact is on the one class that both rest on"
    for text in (board.text(), board.table().markdown(), board.differences().text()):
        assert words in text
        assert "there they are 25.00 % and 45.00 %" in text
    held = board.document(1)["wilderness_impact"]
    assert held["common"] == (10 / 40, 18 / 40)
    assert "both rest on" in held["basis"]


def test_stored_results_say_the_same(results):
    stored = [openset.Evaluation.from_json(one.to_json(replicates=True)) for one in results]
    live, kept = openset.compare(*results), openset.compare(*stored)
    assert all(kept[name] == live[name] for name in live.differences)


def test_without_resamples_the_difference_is_on_common_classes_too(results):
    stored = [openset.Evaluation.from_json(one.to_json()) for one in results]
    d = openset.compare(*stored)["wilderness_impact"]
    assert d.difference == pytest.approx(8 / 40)
    assert (d.interval, d.p, d.remark) == (None, None, UNSPLIT)


def test_equal_classes_change_nothing(results):
    first, second = results[1], result(detector(cats=40, dogs_on_zebras=10))
    d = openset.compare(first, second)["wilderness_impact"]
    assert (d.common, d.basis) == (None, "")
    assert d.difference == d.second - d.first
    bare = [
        replace(one, values={n: replace(v, by_class=None) for n, v in one.values.items()})
        for one in (first, second)
    ]
    assert openset.compare(*bare)["wilderness_impact"] == d


def test_no_class_in_common(results):
    first, second = results
    values = dict(second.values)
    cats = values["wilderness_impact"].by_class.over(["cat"])
    values["wilderness_impact"] = replace(values["wilderness_impact"], by_class=cats)
    d = openset.compare(first, replace(second, values=values))["wilderness_impact"]
    assert (d.difference, d.interval, d.better, d.remark) == (None, None, None, NO_CLASS)


def test_other_seeds_are_not_paired(results):
    other = result(detector(cats=40, dogs_on_zebras=18), seed=1)
    d, paired = (openset.compare(results[0], x)["wilderness_impact"] for x in (other, results[1]))
    assert (d.common, d.remark) == (paired.common, UNPAIRED)
    assert d.interval[1] - d.interval[0] > paired.interval[1] - paired.interval[0]


def test_a_class_counts_in_a_resample_where_it_counts_for_both():
    def made(*rows):
        drawn = np.array([rows], np.float32)
        return ByClass("mean", ("dog", "cat"), np.ones((1, 2, 1)), drawn)

    nan = np.nan
    a, b = _by_class.on_all([made([1, 2, nan], [3, nan, nan]), made([5, nan, 1], [7, 1, 1])])
    assert a.numbers_drawn() == pytest.approx([2, nan, nan], nan_ok=True)
    assert b.numbers_drawn() == pytest.approx([6, nan, nan], nan_ok=True)


def test_precision_is_compared_on_the_classes_that_both_detect():
    known = Vocabulary.of(["dog", "cat"])
    both = detector(cats=40, dogs_on_zebras=18)
    dogs = both.select(both.label == 0)
    one, other = (openset.evaluate(truth(), x, known=known) for x in (dogs, both))
    d = openset.compare(one, other)["precision_known"]
    assert d.second != d.first
    assert (d.difference, d.interval, d.p) == (0, (0, 0), 1)
    assert "precision known is on the one class" in Scoreboard.of({"a": one, "b": other}).text()


def test_what_is_kept_is_bounded(results, monkeypatch):
    first = results[0]
    size, bare = (len(first.to_json(replicates=keep)) for keep in (True, False))
    packed = sum(
        len(json.dumps(value.by_class.document(resamples=True)))
        for value in first.values.values()
        if value.by_class
    )
    assert packed < (size - bare) / 10
    monkeypatch.setattr(_by_class, "CELLS", 100)
    many = result(detector(cats=4, dogs_on_zebras=10))
    assert many.values["wilderness_impact"].by_class.drawn is None
    d = openset.compare(many, results[1])["wilderness_impact"]
    assert (d.difference, d.remark) == (pytest.approx(8 / 40), UNSPLIT)


@pytest.mark.skipif("OPENSET_DATA" not in os.environ, reason="OPENSET_DATA is not set")
def test_the_order_of_two_detectors_on_coco():
    folder = Path(os.environ["OPENSET_DATA"]) / "coco"
    files = {name: folder / f"{name}_bbox.json.gz" for name in ("yolox_nano", "yolov4tiny")}
    options = {"known": "voc20", "protocol": "paper", "metrics": ["wilderness_impact"]}
    truth = folder / "instances_val2017_4697.json.gz"
    first, second = evaluate_all(truth, files, force=True, **options).evaluations.values()
    d = openset.compare(first, second)["wilderness_impact"]
    assert (d.first, d.second) == pytest.approx((0.0762, 0.0673), abs=1e-4)
    assert d.common == pytest.approx((0.0668, 0.0739), abs=1e-4)
    assert (d.better, d.significant) == (False, False)
    assert d.basis.startswith("on the 7 classes that both rest on")


@pytest.mark.parametrize(
    "change",
    [
        {"how": "eval"},
        {"terms": [[1.0]]},
        {"terms": [1.0, 2.0]},
        {"drawn": "%%%"},
        {"drawn": "AAAA"},
        {"drawn": 7},
        {"names": 5},
    ],
)
def test_a_damaged_file_is_refused(results, change):
    document = json.loads(results[1].to_json(replicates=True))
    document["values"]["wilderness_impact"]["by_class"] |= change
    with pytest.raises(InputError, match="OS114"):
        openset.Evaluation.from_json(json.dumps(document))
