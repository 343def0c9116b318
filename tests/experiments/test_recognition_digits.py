"""The digits example: its table is paired by trial, and options are read from the command line."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")
PATH = Path(__file__).parents[2] / "experiments" / "recognition_digits.py"


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(PATH))


def test_the_difference_is_paired_by_trial(example):
    rng = np.random.default_rng(0)
    hard = rng.normal(0.8, 0.1, 5)  # trials differ far more than methods
    noise = rng.normal(0, 0.1, (5, 200))

    def done(shift):
        made = []
        for trial in range(5):
            value = dict.fromkeys(example["METRICS"], hard[trial] + shift)
            drawn = dict.fromkeys(example["METRICS"], hard[trial] + noise[trial] + shift)
            made.append(example["Done"](value, drawn, 1.0))
        return made

    table = example["results"]({"ce_plus": done(0.0), "openauc": done(0.01)})
    baseline, row = table.rows
    assert (baseline[0], row[0]) == ("CE+", "OpenAUC")
    assert baseline[4:] == ("", "", "")
    assert row[4:] == ("+1.00", "[+1.00, +1.00]", "[+1.00, +1.00]")
    assert row[1].startswith(f"{100 * (hard.mean() + 0.01):.2f} ± ")
    assert "| OpenAUC |" in example["page"](table, "in no time")


def test_options_are_changed_by_name(example):
    recipe = example["_changed"]("openauc,weight=0.2,pairs=all,training.lr=0.5", 3)
    assert (recipe.options["weight"], recipe.options["pairs"]) == (0.2, "all")
    assert (recipe.training["lr"], recipe.epochs) == (0.5, 3)


def test_a_training_is_measured(example):
    job = example["Job"](example["_recipe"]("digits-ce_plus", 1), 0, (0, 1))
    done = example["run"](job)
    assert set(done.value) == set(done.drawn) == set(example["METRICS"])
    assert 0 < done.value["openauc"] <= done.value["closed_set_accuracy"]
