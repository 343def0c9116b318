"""Class by class: the columns are those of the diagnoses they come from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.absorption import absorption
from openset.diagnosis.deployed import deployed
from openset.diagnosis.operating_point import operating_points
from openset.diagnosis.per_class import per_class
from openset.evaluation.run import evaluate_all
from scenes.diagnosis import by_hand


def test_classes_add_up_to_the_flow(models):
    for model in models:
        (unknown, *known), flow = per_class(model).classes, model.flow
        assert unknown.label == "unknown" and unknown.n == flow.unknown
        assert {row.label for row in known} == set(model.matches.vocabulary.known)
        assert sum(row.n for row in known) == flow.known
        assert sum(row.wrong for row in known) == flow.known_wrong
        assert sum(row.called_unknown for row in known) == flow.known_unknown
        assert sum(row.missed for row in known) == flow.known_missed
        assert sum(row.absorbed for row in known) == flow.unknown_wrong == unknown.wrong
        assert unknown.recall == flow.unknown_recall
        assert unknown.precision == flow.unknown_precision
        right = sum(round(row.recall * row.n) for row in known if row.n)
        assert right == flow.known_right


def test_absorbed_are_those_of_absorption(models):
    for model in models:
        table, rows = absorption(model), {row.label: row for row in per_class(model).classes}
        for column, name in enumerate(table.classes):
            assert rows[name].absorbed == sum(one.counts[column] for one in table.labels)


def test_precision_and_points_are_those_of_metrics(models):
    model = models[0]
    rows = {row.label: row for row in per_class(model).classes}
    value = model.evaluation.value
    for label, ap in value("ap_known").parts.items():
        assert rows[label].ap == ap
    assert rows["unknown"].ap == value("ap_unknown").value
    for point in operating_points(model.matches, betas=(1.0,)).points:
        assert (rows[point.label].best_score, rows[point.label].best_f1) == (
            point.threshold,
            point.f,
        )


def test_weak_classes_come_first(models):
    ap = [row.ap for row in per_class(models[0]).classes[1:]]
    assert ap == sorted(ap, key=lambda x: (x is None, x))


@pytest.fixture
def hand():
    """The hand-made scene, looked at with every box kept."""
    truth, detections, vocabulary = by_hand()
    run = evaluate_all(truth, {"it": detections}, known=vocabulary, intervals=False)
    (one,) = deployed(run)
    return replace(one, place=(0, 0))


def test_by_hand(hand):
    rows = {row.label: row for row in per_class(hand).classes}
    assert rows["dog"].n == 1 and rows["dog"].recall == 1.0 and rows["dog"].absorbed == 1
    assert rows["car"].n == 1 and rows["car"].absorbed == 1
    assert rows["cat"].n == 0 and rows["cat"].recall is None and rows["cat"].ap is None
    assert rows["unknown"].n == 3 and rows["unknown"].wrong == 2
    assert rows["unknown"].confused_with in ("dog (1)", "car (1)")
    # Boxes called dog: five on images 1 and 2, one on nothing; one finds a dog.
    assert rows["dog"].precision == pytest.approx(1 / np.count_nonzero(hand.matches.klass == 0))
