"""A run in sentences."""

from __future__ import annotations

from dataclasses import replace

from openset.diagnosis.absorption import absorption
from openset.diagnosis.advice import best_move, labels_to_collect
from openset.diagnosis.deployed import deployed
from openset.diagnosis.verdict import in_short, verdict
from openset.evaluation.run import evaluate_all
from openset.evaluation.scoreboard import Scoreboard
from openset.findings import Finding, Level
from openset.wording import percent
from scenes.report_runs import run


def _board(models):
    return Scoreboard.of({one.title: one.evaluation for one in models}, headline=True)


def _minded(said):
    return {sentence.section for sentence in said.minded}


def test_three_sentences_answer_and_the_rest_is_minded(models):
    finding = Finding("OS206", Level.WARNING, "many <b> labels", 7)
    leak = Finding("OS305", Level.WARNING, "said first already", 9)
    found = [("first", finding), ("first", leak)]
    said = verdict(models, absorption(models[0]), _board(models), found)
    what, where, todo = said.answers
    assert models[0].title in what.text
    assert f"score ≥ {models[0].score:.3g}" in what.text
    assert percent(said.standing.recall) in where.text
    move, labels = best_move(models[0]), labels_to_collect(absorption(models[0]))
    gain = models[0].flow.unknown_wrong - move.flow.unknown_wrong
    assert f"falls from {percent(models[0].flow.unknown_as_known)} to" in todo.text
    assert all(f"“{name}”" in todo.text for name in labels.names)
    assert todo.text.startswith("Labels") == (labels.wrong > gain)
    assert said.minded[-1].text.startswith("Mind the data of first: OS206")
    assert _minded(said) == {"comparison", "health"}


def test_many_detectors_have_one_sentence_about_all_and_no_card_each():
    models = deployed(run(3, images=40, models=3))
    said = verdict(models, absorption(models[0]), _board(models), [])
    assert len(said.answers) == 3 and not said.minded
    assert all(model.title in said.answers[1].text for model in models)


def test_without_intervals_the_verdict_says_nothing_of_differences():
    models = deployed(run(3, images=40, models=2, intervals=False))
    said = verdict(models, absorption(models[0]), _board(models), [])
    assert "comparison" not in _minded(said)
    assert "was not tested" in said.answers[1].text


def test_a_star_beside_the_metrics_that_are_compared_is_said():
    models = deployed(run(3, images=120, models=2))
    board = Scoreboard.of({one.title: one.evaluation for one in models}).only(["udr"])
    said = verdict(models, absorption(models[0]), board, [])
    text = next(one.text for one in said.minded if one.section == "comparison")
    assert text.startswith("second differs from first in UDR (p < 0.05")


def test_a_detector_alone_stands_in_a_wilder_world(models):
    said = verdict(models[:1], absorption(models[0]), None, [])
    assert said.standing is None
    assert "wild images" in said.answers[1].text


def test_wild_images_that_hold_known_objects_are_not_said_to_hold_none():
    mixed = deployed(run(3, images=40, models=1, protocol="elephant"))
    counts = mixed[0].sliders.wild & ~mixed[0].sliders.unknown
    text = verdict(mixed, absorption(mixed[0]), None, []).answers[1].text
    assert f"wild images, which hold {counts.sum()} known objects" in text
    assert "that hold none" not in text and "on closed-set images" in text


def test_names_of_the_other_direction_keep_to_themselves(models):
    table = absorption(models[0])
    named = replace(table, classes=("\u05d7\u05ea\u05d5\u05dc", *table.classes[1:]))
    text = verdict(models[:1], named, None, []).answers[0].text
    assert "\u2068\u05d7\u05ea\u05d5\u05dc\u2069" in text
    assert "\u2068" not in verdict(models[:1], table, None, []).answers[0].text


def test_verdict_of_a_detector_that_never_says_unknown():
    made = run(3, images=40, unknownness=False, models=1)
    detections = made.detections["first"]
    only_known = detections.select(detections.label != 20)
    again = evaluate_all(made.truth, {"a": only_known}, known=made.vocabulary, intervals=False)
    models = deployed(again)
    said = verdict(models, absorption(models[0]), None, [])
    assert "never says “unknown”" in said.answers[0].text
    assert not models[0].sliders.says_unknown


def test_a_terminal_gets_the_first_sentences(made, models):
    said = in_short(made)
    board = _board(models)
    assert said[0] == verdict(models, absorption(models[0]), board, []).answers[0].text
    assert len(said) == 2 and models[1].title in said[1]
