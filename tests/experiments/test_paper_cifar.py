"""OpenAUC's Table 2 and Figure 2: trials are paired, and what was not trained is said."""

from __future__ import annotations

import json

import cifar
import pytest
from recognition_gpu_page import METHODS, own_score
from record import Recorder

from openset.papers import Estimate, read_run
from openset.recognition.recipe import ClassifierRecipe

ABOUT = {"precision": "bfloat16", "network": "", "size": 0, "images": 0, "left_out": []}


def row(method, trial, openauc, epochs=150, data="cifar10", **more):
    numbers = {"openauc": openauc, "openauc_by_probability": openauc - 2}
    numbers |= {"auc": openauc + 3, "accuracy": 95.0}
    return (
        ABOUT | {"method": method, "trial": trial, "data": data, "epochs": epochs} | numbers | more
    )


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The run files of some rows."""

    def of(rows):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")
        monkeypatch.setattr(cifar, "ROWS", path)
        cifar.tables(Recorder(tmp_path, tmp_path, tmp_path))
        return [read_run(tmp_path / f"{each}.json") for each in NAMES]

    return of


NAMES = ("table-2", "above-ce-plus", "figure-2")


def test_rows_that_are_gone_are_said_with_what_makes_them(tmp_path, monkeypatch):
    monkeypatch.setattr(cifar, "ROWS", tmp_path / "rows.jsonl")
    with pytest.raises(FileNotFoundError) as caught:
        cifar.tables(Recorder(tmp_path, tmp_path, tmp_path))
    said = str(caught.value)
    assert "rows.jsonl is not there" in said and said.count("recognition_gpu.py") == 4
    assert not list(tmp_path.glob("*.json")), "no table was emptied"


def test_pairs_are_compared_by_one_score_of_both(made, tmp_path):
    rows = [row("softmax", t, 80.0, 100) for t in range(2)]
    rows += [row("arpl", t, 81.0, 100, openauc_by_probability=78.0) for t in range(3)]
    made(rows)
    (one,) = [read_run(tmp_path / "by-score.json")]
    name = "CIFAR-10 / Softmax and ARPL"
    assert one.cell(name, "trials") == 2
    assert one.cell(name, "second less first, by logit").value == pytest.approx(0.01)
    assert one.cell(name, "by probability").value == pytest.approx(0.0)
    assert one.cell(name, "logit less probability") == pytest.approx(0.025)
    assert one.cell(name, "paper") == pytest.approx(0.028)


def test_methods_are_compared_by_trial_after_as_many_epochs(made):
    rows = [row("ce_plus", t, 80.0 + 3 * t) for t in range(5)]
    rows += [row("openauc", t, 81.0 + 3 * t + 0.1 * (t % 2)) for t in range(5)]
    rows += [row("openauc", t, 99.0, epochs=600) for t in range(2)]  # CE+ has no such training
    table, above, _ = made(rows)
    assert table.cell("CIFAR-10 / CE+", "OpenAUC").value == pytest.approx(0.86)
    assert table.cell("CIFAR-10 / CE+", "less paper") == pytest.approx(-0.021)
    apart = above.cell("CIFAR-10 / CE+", "OpenAUC")
    assert apart.value == pytest.approx(0.0104)
    assert apart.high - apart.value == pytest.approx(0.00068, abs=1e-5)  # 0.0548 / √5 · 2.776
    assert above.cell("CIFAR-10 / CE+", "trials above") == 5
    assert above.cell("CIFAR-10 / CE+", "epochs") == 150
    assert any("--epochs 150 --methods ce_plus openauc" in each for each in above.commands)


def test_softmax_is_scored_by_probability_and_the_others_by_logit(made):
    both = {"openauc_by_probability": 70.0}
    table, *_ = made([row("softmax", 0, 80.0, 100, **both), row("arpl", 0, 80.0, 100, **both)])
    assert table.cell("CIFAR-10 / Softmax", "OpenAUC") == pytest.approx(0.7)
    assert table.cell("CIFAR-10 / ARPL", "OpenAUC") == pytest.approx(0.8)


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_scored_as_the_package_scores_them(name):
    torch = pytest.importorskip("torch")
    from openset.recognition.methods import table as methods

    logits = torch.tensor([[9.0, 8.9], [2.0, -9.0]])  # the second is likelier, and has less logit
    recipe = ClassifierRecipe.of(f"cifar10-{name}")
    objective = methods()[name].build(n_classes=2, width=4, **recipe.options)
    likelier = bool(objective.openness(logits).argmin())
    assert likelier == (own_score(name) == "openauc_by_probability")


def test_what_was_not_trained_is_said_with_its_command(made):
    table, above, figure = made([row("ce_plus", 0, 80.0), row("arpl", 0, 70.0, images=100)])
    assert table.cell("CIFAR-10 / ARPL", "OpenAUC") is None  # of fewer pictures: another table
    assert above.cell("CIFAR-10 / CE+", "OpenAUC") is None
    said = "\n".join(table.notes)
    assert "Not trained: CIFAR-10, Softmax, GCPL, RPL, ARPL, ARPL+CS: `python experiments/" in said
    assert "Not trained: CIFAR-10, Acc+AUC, OpenAUC: `" in said
    assert "Not trained: CIFAR+10, CE+, Acc+AUC, OpenAUC: `" in said
    assert "cifar+10 --also cifar+50" in said
    assert "CIFAR-10, CE+" not in said
    assert "openauc,weight=0.5" in "\n".join(figure.notes)


def test_a_figure_is_of_one_number_of_epochs(made):
    rows = [row("ce_plus", t, 80.0) for t in range(5)]
    for at, method in enumerate(("ce_plus", "openauc,weight=1", "openauc,ranked=logit")):
        rows += [row(method, t, 70.0 - at - t, epochs=60) for t in range(2)]
    *_, figure = made(rows)
    assert figure.cell("probabilities / λ 0", "OpenAUC") == pytest.approx(0.695)
    assert figure.cell("probabilities / λ 1", "less CE+") == Estimate(-0.01, -0.01, -0.01)
    assert figure.cell("logits / λ 0.1", "less CE+").value == pytest.approx(-0.02)
    assert figure.cell("probabilities / λ 0.1", "OpenAUC") is None
    assert "After 60 epochs; λ 0 is CE+." in figure.notes


def test_a_weight_of_some_trials_is_compared_on_these(made):
    rows = [row("ce_plus", t, 80.0 + t) for t in range(5)]
    rows += [row("openauc", t, 81.0 + t) for t in range(5)]
    rows += [row("openauc,weight=1", t, 70.0 + t) for t in (1, 3)]
    rows += [row("acc_auc", t, 80.5 + t) for t in (0, 2)]
    table, above, figure = made(rows)
    assert figure.cell("probabilities / λ 1", "less CE+") == Estimate(-0.1, -0.1, -0.1)
    assert figure.cell("probabilities / λ 0", "less CE+") == 0
    assert "OpenAUC, weight 1: trials 1, 3 alone." in figure.notes
    assert above.cell("CIFAR-10 / Acc+AUC", "trials") == 2
    assert above.cell("CIFAR-10 / Acc+AUC", "OpenAUC").value == pytest.approx(0.005)
    assert table.cell("CIFAR-10 / Acc+AUC", "trials") == 2


def test_readings_on_the_small_one(tmp_path, monkeypatch):
    path = tmp_path / "small.jsonl"
    rows = [row("ce_plus", 0, 51.0, size=16, images=10), row("openauc", 0, 50.0, size=16)]
    rows.append(row("openauc", 0, 1.0, size=16, left_out=[0]))  # another question
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")
    monkeypatch.setattr(cifar, "SMALL", path)
    cifar.tables(Recorder(tmp_path, tmp_path, tmp_path))
    small = read_run(tmp_path / "small.json")
    assert small.cell("OpenAUC", "less CE+") == pytest.approx(-0.01)
    assert small.cell("CE+", "less CE+") is None
