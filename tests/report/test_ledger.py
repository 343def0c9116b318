"""What was fitted on which data stands beside the numbers, wherever they are shown."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from openset.evaluation.run import Run, evaluate_all
from openset.findings import InputError
from openset.report.page import render
from openset.scorers.ledger import LedgerEntry, recorded
from scenes import builders
from scenes.report_runs import run, worse

FIT = LedgerEntry("fit", "knn", "digits train", 900, 5000)
LEAKING = LedgerEntry(
    "threshold", "quantile", "digits test", 60, 400, leaks=("fitted on test data",)
)


@pytest.fixture(scope="module")
def made() -> Run:
    truth, found = builders.scene(3, images=12, unknownness=True).tables()
    plain = replace(found, unknownness=None)
    tables = {"clean": recorded(found, FIT), "leaking": recorded(worse(found), FIT, LEAKING)}
    return evaluate_all(
        truth,
        tables | {"silent": found, "labels": plain},
        known=builders.KNOWN,
        metrics=["auroc", "a_ose"],
        intervals=False,
    )


def test_the_run_says_what_was_fitted_and_keeps_it(made, tmp_path):
    said = {name: one.provenance.ledger for name, one in made.evaluations.items()}
    assert said["clean"] == "knn fitted on digits train (900 images); no leak known"
    assert "digits test (60 images); LEAK: fitted on test data" in said["leaking"]
    assert "does not say what it was fitted on" in said["silent"]
    assert said["labels"] == ""
    loaded = Run.load(made.save(tmp_path / "run"))
    assert {name: one.provenance.ledger for name, one in loaded.evaluations.items()} == said


def test_the_page_says_it_beside_the_numbers_and_warns_of_a_leak(made):
    page = render(made)
    board = page[page.index('id="board"') : page.index('id="flow"')]
    for name, one in made.evaluations.items():
        assert one.provenance.ledger in board, name
    verdict = page[page.index('id="verdict"') : page.index('id="provenance"')]
    assert "The numbers of leaking are too good" in verdict
    assert "The numbers of clean" not in verdict


def test_detectors_that_say_the_same_share_a_line():
    page = render(run(3, intervals=False))
    board = page[page.index('id="board"') : page.index('id="flow"')]
    assert board.count("does not say what it was fitted on") == 1


def test_hostile_ledgers_are_text():
    truth, found = builders.scene(3, images=8, unknownness=True).tables()
    bad = replace(FIT, split="</p><script>alert(1)</script>")
    made = evaluate_all(truth, {"a": recorded(found, bad)}, known=builders.KNOWN, intervals=False)
    assert "<script>alert(1)" not in render(made)


@pytest.mark.parametrize("ledger", [7, "text", [3], [{"step": "fit"}], {"step": "fit"}])
def test_a_damaged_ledger_is_refused(ledger):
    truth, found = builders.scene(3, images=8, unknownness=True).tables()
    broken = replace(found, provenance={"ledger": ledger})
    with pytest.raises(InputError, match="OS507"):
        evaluate_all(truth, {"a": broken}, known=builders.KNOWN, intervals=False)


def test_batches_remember_their_ledgers():
    from openset.evaluation.streaming import Evaluator

    truth, found = builders.scene(3, images=8, unknownness=True).tables()
    evaluator = Evaluator(known=builders.KNOWN, metrics=["a_ose"], intervals=False)
    result = evaluator.update(truth, recorded(found, FIT)).compute()
    assert "knn fitted on digits train" in result.provenance.ledger
    assert json.loads(result.to_json())["provenance"]["ledger"] == result.provenance.ledger
    assert np.isfinite(result.value("a_ose").value)
