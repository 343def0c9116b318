"""A run in sentences."""

from __future__ import annotations

from dataclasses import replace

from openset.diagnosis.absorption import absorption
from openset.diagnosis.deployed import deployed
from openset.diagnosis.verdict import in_short, verdict
from openset.evaluation.run import evaluate_all
from openset.evaluation.scoreboard import Scoreboard
from openset.findings import Finding, Level
from scenes.report_runs import run


def _board(models):
    return Scoreboard.of({one.title: one.evaluation for one in models}, headline=True)


def test_verdict_says_the_flow(models):
    tables = [absorption(model) for model in models]
    finding = Finding("OS206", Level.WARNING, "many <b> labels", 7)
    leak = Finding("OS305", Level.WARNING, "said first already", 9)
    said = verdict(models, tables, _board(models), [("first", finding), ("first", leak)])
    first = said[0].text
    assert models[0].title in first
    assert f"score ≥ {models[0].score:.3g}" in first
    assert said[-1].text.startswith("Mind the data of first: OS206")
    assert {sentence.section for sentence in said} <= {"absorption", "flow", "comparison", "health"}


def test_without_intervals_the_verdict_says_nothing_of_differences():
    made = run(3, images=40, models=2, intervals=False)
    models = deployed(made)
    tables = [absorption(model) for model in models]
    said = verdict(models, tables, _board(models), [])
    assert "comparison" not in {sentence.section for sentence in said}


def test_names_of_the_other_direction_keep_to_themselves(models):
    tables = [absorption(models[0])]
    named = replace(tables[0], classes=("\u05d7\u05ea\u05d5\u05dc", *tables[0].classes[1:]))
    text = verdict(models[:1], [named], [None], [])[0].text
    assert "\u2068\u05d7\u05ea\u05d5\u05dc\u2069" in text
    assert "\u2068" not in verdict(models[:1], tables, [None], [])[0].text


def test_verdict_of_a_detector_that_never_says_unknown():
    made = run(3, images=40, unknownness=False, models=1)
    detections = made.detections["first"]
    only_known = detections.select(detections.label != 20)
    again = evaluate_all(made.truth, {"a": only_known}, known=made.vocabulary, intervals=False)
    models = deployed(again)
    said = verdict(models, [absorption(models[0])], [None], [])
    assert "never says “unknown”" in said[0].text
    assert not models[0].sliders.says_unknown


def test_a_terminal_gets_the_first_sentences(made, models):
    said = in_short(made)
    tables = [absorption(model) for model in models]
    assert said[0] == verdict(models, tables, _board(models), [])[0].text
    assert len(said) == 2 and models[1].title in said[1]
