"""The digits example: its table is paired by trial, and options are read from the command line."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("torch", reason="the torch extra is not installed")
PATH = Path(__file__).parents[2] / "experiments" / "recognition_digits.py"


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(PATH))


def test_the_difference_is_paired_by_trial(example):
    rng = np.random.default_rng(0)
    hard = rng.normal(0.8, 0.1, 5)  # trials differ far more than methods
    noise = rng.normal(0, 0.1, (5, 200))

    def done(*shifts):
        made = []
        for trial in range(5):
            metrics, base = example["METRICS"], hard[trial]
            values = [dict.fromkeys(metrics, base + shift) for shift in shifts]
            drawn = [dict.fromkeys(metrics, base + noise[trial] + shift) for shift in shifts]
            made.append([example["Done"](*pair, 1.0) for pair in zip(values, drawn, strict=True)])
        return made

    table = example["results"]({"ce_plus": done(0.0), "openauc": done(0.01)})
    baseline, row = table.rows
    assert (baseline[0], row[0]) == ("CE+", "OpenAUC")
    assert baseline[4:] == ("", "", "")
    assert row[4:] == ("+1.00", "[+1.00, +1.00]", "[+1.00, +1.00]")
    assert row[1].startswith(f"{100 * (hard.mean() + 0.01):.2f} ± ")
    text = example["page"](table, "in no time", 1)
    assert "| OpenAUC |" in text
    assert "one training a trial" in text
    # By seed the methods differ by 0.03 and -0.01: an error of 0.02, a fifth of it by trial.
    apart = example["results"]({"ce_plus": done(-0.02, 0.02), "openauc": done(0.01, 0.01)})
    reach = stats.t.ppf(0.975, 5) * 100 * 0.02 / 5**0.5
    assert apart.rows[1][4:6] == ("+1.00", f"[{1 - reach:+.2f}, {1 + reach:+.2f}]")
    assert apart.header[5] == "95 % samples, training"
    assert "2 trainings a trial" in example["page"](apart, "in no time", 2)


def test_options_are_changed_by_name(example):
    recipe = example["changed"]("digits", "openauc,weight=0.2,pairs=all,training.lr=0.5", 3)
    assert (recipe.options["weight"], recipe.options["pairs"]) == (0.2, "all")
    assert (recipe.training["lr"], recipe.epochs) == (0.5, 3)


def test_a_training_is_measured(example):
    job = example["Job"](example["changed"]("digits", "ce_plus", 1), 0, (0, 1))
    done = example["run"](job)
    assert set(done.value) == set(done.drawn) == set(example["METRICS"])
    assert 0 < done.value["openauc"] <= done.value["closed_set_accuracy"]
