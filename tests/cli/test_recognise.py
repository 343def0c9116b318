"""openset recognise: the table, the comparison, the files and the mistakes."""

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from openset.recognition import Recognition
from openset.recognition.folder import load
from scenes.recognition import made


def save(path, scores):
    arrays = {"openness_k": scores.openness, "predicted_k": scores.predicted}
    arrays |= {"labels_k": scores.label, "openness_u": scores.unknown_openness}
    np.savez(path, **arrays, predicted_u=scores.unknown_predicted)


@pytest.fixture(autouse=True)
def files(here):
    """The scores of two models."""
    save("a.npz", made(1))
    save("b.npz", made(1))


@pytest.fixture
def recognise(openset):
    """Runs ``openset recognise ...``."""
    return partial(openset, "recognise")


def test_a_table(recognise):
    code, out, err = recognise("a.npz")
    assert (code, err) == (0, "")
    assert "60 known samples of 4 classes · 50 unknown samples · 1000 resamples" in out
    assert "OpenAUC" in out
    assert "Youden" not in out
    assert "Youden" in recognise("a.npz", "--metrics", "all", "--no-intervals").out


def test_chosen_metrics_threshold_and_json(recognise):
    options = ("--metrics", "f_score_micro,auc", "--threshold", "0.5", "--json", "--no-intervals")
    code, out, _ = recognise("a.npz", *options)
    values = json.loads(out)["models"]["a"]["values"]
    assert code == 0
    assert set(values) == {"f_score_micro", "auc"}
    assert values["f_score_micro"]["params"]["threshold"] == 0.5


def test_two_models_and_files(recognise, tmp_path):
    code, out, _ = recognise("a.npz", "b.npz", "-o", "kept", "--plot", "oscr.svg")
    assert code == 0
    assert out.splitlines()[3].split()[-2:] == ["a", "b"]
    names = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert names == ["a.result.json", "b.result.json", "recognition.json"]
    kept = load(tmp_path / "kept")
    assert list(kept) == ["a", "b"]
    assert all(isinstance(one.results[0], Recognition) and one.replicates for one in kept.values())
    index = json.loads((tmp_path / "kept" / "recognition.json").read_text())
    assert index["command"].startswith("openset recognise a.npz b.npz")
    assert (tmp_path / "oscr.svg").read_text().startswith("<svg")


def test_what_is_kept_is_compared_shown_and_replaced(openset, recognise, tmp_path):
    shifted = replace(made(1), unknown_openness=made(1).unknown_openness + 1)
    save("b.npz", shifted)
    recognise("a.npz", "b.npz", "-o", "kept")
    code, out, _ = openset("compare", "kept/a.result.json", "kept/b.result.json")
    assert code == 0
    assert re.search(r"^OpenAUC.*better$", out, re.MULTILINE)
    gate = ("--fail-on-regression", "openauc")
    assert openset("compare", "kept/b.result.json", "kept/a.result.json", *gate).code == 1
    assert openset("report", "kept").code == 0
    assert "OpenAUC" in (tmp_path / "kept" / "report.html").read_text()
    assert recognise("a.npz", "-o", "kept", "--no-intervals").code == 0
    assert list(load(tmp_path / "kept")) == ["a"]
    names = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert names == ["a.result.json", "recognition.json"]


def test_trainings_of_a_method_are_one_column(openset, recognise, tmp_path):
    one = made(1)
    for at, shift in enumerate((0.3, 0.5)):
        save(f"b{at}.npz", replace(one, unknown_openness=one.unknown_openness + shift))
    code, out, err = recognise("a.npz", "b=b0.npz,b1.npz", "-o", "kept", "--metrics", "auc")
    assert code == 0
    assert "± training ?" in out and re.search(r"± images \d+\.\d ± training \d", out)
    assert "OS419  a: one training only" in err
    kept = load(tmp_path / "kept")
    assert {name: len(method) for name, method in kept.items()} == {"a": 1, "b": 2}
    assert openset("report", "kept").code == 0
    assert "± training" in (tmp_path / "kept" / "report.html").read_text()
    twice = recognise("b=b0.npz,b0.npz")
    assert twice.code == 2 and "OS417" in twice.err
    index = tmp_path / "kept" / "recognition.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | {"trainings": 1}))
    assert openset("report", "kept").code == 2


def test_nothing_else_gives_way(openset, recognise, tmp_path):
    recognise("a.npz", "-o", "kept", "--no-intervals")
    (tmp_path / "kept" / "notes.txt").write_text("precious")
    code, out, err = recognise("a.npz", "-o", "kept", "--no-intervals")
    assert (code, out, "notes.txt" in err) == (2, "", True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("precious")
    code, out, err = recognise("a.npz", "-o", "other", "--no-intervals")
    assert (code, out, "else than a run of classifiers" in " ".join(err.split())) == (2, "", True)
    index = tmp_path / "kept" / "recognition.json"
    index.write_text(index.read_text().replace(': "a"', ': "../a"'))
    assert openset("report", "kept").code == 2


def test_what_classifiers_say_of_each_other_is_in_the_json_too(recognise):
    said = recognise("a.npz", "b.npz", "--json", "--no-intervals").json["models"]["b"]["findings"]
    assert "OS447" in [finding["code"] for finding in said]


def test_samples_in_another_order_are_refused_but_by_force(recognise):
    one, order = made(1), np.random.default_rng(0).permutation(60)
    rows = {name: getattr(one, name)[order] for name in ("openness", "predicted", "label")}
    save("b.npz", replace(one, **rows))
    done = recognise("a.npz", "b.npz", "--no-intervals", "--json")
    assert done.code == 2
    assert [finding["code"] for finding in done.json["error"]["findings"]] == ["OS830"]
    forced = recognise("a.npz", "b.npz", "--no-intervals", "--force")
    assert forced.code == 0 and "warning OS830  b: " in forced.err


def test_other_samples_are_compared_by_force_only(recognise):
    save("c.npz", made(2))
    assert recognise("a.npz", "c.npz", "--no-intervals").code == 2
    assert recognise("a.npz", "c.npz", "--no-intervals", "--force").code == 0


def test_ids_tell_whether_samples_are_the_same(openset, recognise):
    one = dict(np.load("a.npz"))
    ids = {"ids_k": np.arange(60), "ids_u": np.arange(60, 110)}
    other = one | {"openness_u": one["openness_u"] + np.linspace(0, 1, 50)}
    np.savez("named.npz", **one, **ids)
    np.savez("same.npz", **other, **ids)
    np.savez("moved.npz", **other, **ids | {"ids_u": ids["ids_u"][::-1]})
    assert recognise("named.npz", "same.npz", "-o", "kept").code == 0
    refused = recognise("named.npz", "moved.npz", "--no-intervals")
    assert refused.code == 2 and "OS830" in refused.err
    assert recognise("a.npz", "moved.npz", "--no-intervals").code == 0
    recognise("moved.npz", "-o", "moved")
    assert openset("compare", "kept/same.result.json", "moved/moved.result.json").code == 2


def test_a_file_given_twice_is_said(recognise):
    assert "OS447  b: the scores are those of a" in recognise("a.npz", "b.npz").err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("absent.npz",), "OS101"),
        (("a.npz", "--metrics", "openauk"), "Did you mean 'openauc'"),
        (("a.npz", "--openness", "mps"), ""),
        (("a.npz", "--plot", "oscr.gif", "--no-intervals"), "format of figures"),
    ],
)
def test_mistakes(recognise, arguments, says):
    code, out, err = recognise(*arguments)
    if arguments[-1] == "mps":  # a file with openness has no use for it
        assert code == 0
    else:
        assert (code, out) == (2, "")
        assert says in " ".join(err.split())


def test_detections_are_for_evaluate(recognise):
    Path("found.json").write_text('[{"image_id": 1, "category_id": 6, "bbox": [1, 2, 3, 4]}]')
    Path("other.json").write_text('{"images": []}')
    said = " ".join(recognise("found.json").err.split())
    assert "OS807 found.json holds detections" in said
    assert "openset evaluate GT found.json" in said
    assert "other.json is JSON" in recognise("other.json").err


def test_warnings_are_told(recognise):
    np.savez("c.npz", logits_k=np.ones((2, 3)), labels_k=[0, 0], logits_u=np.ones((1, 3)))
    code, out, err = recognise("c.npz", "--no-intervals")
    assert code == 0
    assert "OS805" in err
    assert re.search(r"^AUC, % ↑ +50\.0$", out, re.M)


def test_nothing_is_written_where_classifiers_cannot_be_compared(openset, tmp_path):
    save("other.npz", made(2))
    done = openset("recognise", "a.npz", "other.npz", "-o", "kept")
    assert done.code == 2 and "--force compares" in done.err
    assert not (tmp_path / "kept").exists()
    assert openset("recognise", "a.npz", "-o", "kept.json").code == 2
    assert not (tmp_path / "kept.json").exists()
