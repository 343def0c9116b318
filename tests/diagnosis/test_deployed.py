"""A detector of a run at its operating point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.diagnosis.deployed import deployed
from openset.diagnosis.tide import cost_of_errors, tide
from openset.evaluation.run import evaluate_all
from openset.wording import distinct
from scenes.report_runs import run


def test_long_names_of_detectors_stay_apart():
    assert len(set(distinct(["x" * 500, "x" * 501, "x" * 502], 60))) == 3
    made = run(0, models=2, names=("n" * 300, "n" * 301), intervals=False)
    models = deployed(made)
    assert [model.name for model in models] == list(made.names)
    assert models[0].title != models[1].title


def test_what_a_run_drops_no_question_sees(made):
    said, truth = made.detections["first"], made.truth
    unknown = truth.category_id[[label not in made.vocabulary.known for label in truth.labels]]
    taught = replace(said, label=np.where(np.arange(len(said)) % 3, said.label, unknown[0]))
    found = {"a": taught}
    dropping = evaluate_all(truth, found, known=made.vocabulary, leaked="drop", intervals=False)
    one = deployed(dropping)[0]
    assert len(one.judged) == len(one.matches) < len(one.detections)
    kept = np.sort(one.matches.row)
    assert (one.judged.score == one.detections.score[kept]).all()
    rows = cost_of_errors(one).rows()
    assert rows == tide(truth, taught.select(kept), made.vocabulary).rows()
    assert rows != tide(truth, taught, made.vocabulary).rows()


def test_the_operating_point_names_no_score_below_the_lowest(made):
    said = made.detections["first"]
    cut = said.select(said.score >= np.quantile(said.score, 0.9))
    known = made.vocabulary
    one = deployed(evaluate_all(made.truth, {"a": cut}, known=known, intervals=False))[0]
    lowest = replace(one, place=(0, one.position[1]))
    assert lowest.score == one.matches.score.min() > lowest.sliders.score[0]
