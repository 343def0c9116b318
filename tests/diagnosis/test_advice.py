"""What to change about a detector, and what that brings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.diagnosis.absorption import absorption
from openset.diagnosis.advice import best_move, labels_to_collect
from openset.diagnosis.deployed import deployed
from openset.diagnosis.presets import TPR
from openset.evaluation.run import evaluate_all
from openset.tables import LogitLayout
from scenes import builders


def _model(change=lambda found: found, **options):
    truth, found = builders.scene(3, images=60, **options).tables()
    made = evaluate_all(truth, {"a": change(found)}, known=builders.KNOWN, intervals=False)
    return deployed(made)[0]


def _names_unknown(model):
    """Detections with a known name on an unknown object."""
    unknown = np.append(model.matches.objects.klass == model.matches.n_known, [False, False])
    found = np.zeros(len(model.detections), np.bool_)
    found[model.matches.row[unknown[model.targets.known]]] = True
    return found


def test_a_move_keeps_the_known_objects_and_spares_unknown_ones():
    model = _model()
    move = best_move(model)
    assert move.flow.unknown_wrong < model.flow.unknown_wrong
    assert move.flow.known_right >= TPR * model.flow.known_right


def test_a_score_that_tells_is_raised():
    wrong = _names_unknown(_model(unknownness=False))
    score = np.where(wrong, 0.1, 0.9)
    model = _model(lambda found: replace(found, score=score), unknownness=False)
    model = replace(model, place=(0, model.position[1]))
    move = best_move(model)
    assert move.what == "raise the minimum score from 0 to 0.9"
    assert model.flow.unknown_wrong > move.flow.unknown_wrong == 0


def test_an_unknownness_that_tells_is_put_to_use():
    wrong = _names_unknown(_model(unknownness=False)).astype(float)
    model = _model(lambda found: replace(found, unknownness=wrong), unknownness=False)
    model = replace(model, place=(model.position[0], model.sliders.rest))
    move = best_move(model)
    assert move.what == "call unknown what exceeds an unknownness of 0"
    assert move.flow.unknown_wrong == 0
    assert move.flow.known_right == model.flow.known_right


def test_logits_that_tell_are_to_be_scored():
    wrong = _names_unknown(_model(unknownness=False))
    logits = np.zeros((len(wrong), 4), np.float32)
    logits[:, 0] = np.where(wrong, 0.1, 9.0)
    keeps = {"logits": logits, "layout": LogitLayout.SIGMOID}
    move = best_move(_model(lambda found: replace(found, **keeps), unknownness=False))
    assert "(openset score)" in move.what
    assert move.flow.unknown_wrong == 0


def test_labels_are_those_that_get_known_names_most():
    model = _model()
    table = absorption(model)
    found = labels_to_collect(table)
    by_label = {one.label: sum(one.counts[:-2]) for one in table.labels if one.label != "unknown"}
    assert found.wrong == sum(by_label[name] for name in found.names)
    assert found.wrong == sum(sorted(by_label.values())[-len(found.names) :])


def test_an_unknown_that_has_no_name_cannot_be_labelled():
    table = absorption(_model())
    unnamed = tuple(replace(one, label="unknown") for one in table.labels)
    assert labels_to_collect(replace(table, labels=unnamed)) is None
