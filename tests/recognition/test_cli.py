"""openset recognise: the table, the comparison, the files and the mistakes."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from openset.findings import UsageError
from openset.recognition import Recognition
from openset.recognition.folder import load
from openset.recognition.plot import oscr_plot, write_oscr_plot
from scenes.recognition import made


def save(path, scores):
    arrays = {"openness_k": scores.openness, "predicted_k": scores.predicted}
    arrays |= {"labels_k": scores.label, "openness_u": scores.unknown_openness}
    np.savez(path, **arrays, predicted_u=scores.unknown_predicted)


@pytest.fixture
def openset(tmp_path, capsys, monkeypatch):
    """Runs ``openset recognise ...``, or another verb, in a folder with two models' scores."""
    from openset.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    save("a.npz", made(1))
    save("b.npz", made(1))

    def run(*arguments, verb="recognise"):
        monkeypatch.setattr(sys, "argv", ["openset", verb, *arguments])
        code = main()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


def test_a_table(openset):
    code, out, err = openset("a.npz")
    assert (code, err) == (0, "")
    assert "60 known samples of 4 classes · 50 unknown samples · 1000 resamples" in out
    assert "OpenAUC" in out
    assert "Youden" not in out
    assert "Youden" in openset("a.npz", "--metrics", "all", "--no-intervals")[1]


def test_chosen_metrics_threshold_and_json(openset):
    options = ("--metrics", "f_score_micro,auc", "--threshold", "0.5", "--json", "--no-intervals")
    code, out, _ = openset("a.npz", *options)
    values = json.loads(out)["models"]["a"]["values"]
    assert code == 0
    assert set(values) == {"f_score_micro", "auc"}
    assert values["f_score_micro"]["params"]["threshold"] == 0.5


def test_two_models_and_files(openset, tmp_path):
    code, out, _ = openset("a.npz", "b.npz", "-o", "kept", "--plot", "oscr.svg")
    assert code == 0
    assert out.splitlines()[3].split()[-2:] == ["a", "b"]
    names = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert names == ["a.result.json", "b.result.json", "recognition.json"]
    kept = load(tmp_path / "kept")
    assert list(kept) == ["a", "b"]
    assert all(isinstance(one, Recognition) and one.replicates for one in kept.values())
    index = json.loads((tmp_path / "kept" / "recognition.json").read_text())
    assert index["command"].startswith("openset recognise a.npz b.npz")
    assert (tmp_path / "oscr.svg").read_text().startswith("<svg")


def test_what_is_kept_is_compared_shown_and_replaced(openset, tmp_path):
    shifted = replace(made(1), unknown_openness=made(1).unknown_openness + 1)
    save("b.npz", shifted)
    openset("a.npz", "b.npz", "-o", "kept")
    code, out, _ = openset("kept/a.result.json", "kept/b.result.json", verb="compare")
    assert code == 0
    assert next(line for line in out.splitlines() if "OpenAUC" in line).endswith("better")
    gate = ("--fail-on-regression", "openauc")
    assert openset("kept/b.result.json", "kept/a.result.json", *gate, verb="compare")[0] == 1
    assert openset("kept", verb="report")[0] == 0
    assert "OpenAUC" in (tmp_path / "kept" / "report.html").read_text()
    assert openset("a.npz", "-o", "kept", "--no-intervals")[0] == 0
    assert list(load(tmp_path / "kept")) == ["a"]
    names = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert names == ["a.result.json", "recognition.json"]


def test_nothing_else_gives_way(openset, tmp_path):
    openset("a.npz", "-o", "kept", "--no-intervals")
    (tmp_path / "kept" / "notes.txt").write_text("precious")
    code, out, err = openset("a.npz", "-o", "kept", "--no-intervals")
    assert (code, out, "notes.txt" in err) == (2, "", True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("precious")
    code, out, err = openset("a.npz", "-o", "other", "--no-intervals")
    assert (code, out, "else than a run of classifiers" in " ".join(err.split())) == (2, "", True)
    index = tmp_path / "kept" / "recognition.json"
    index.write_text(index.read_text().replace(': "a"', ': "../a"'))
    assert openset("kept", verb="report")[0] == 2


def test_other_samples_are_compared_by_force_only(openset):
    save("c.npz", made(2))
    assert openset("a.npz", "c.npz", "--no-intervals")[0] == 2
    assert openset("a.npz", "c.npz", "--no-intervals", "--force")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("absent.npz",), "OS101"),
        (("a.npz", "--metrics", "openauk"), "Did you mean 'openauc'"),
        (("a.npz", "--openness", "mps"), ""),
        (("a.npz", "--plot", "oscr.gif", "--no-intervals"), "format of figures"),
    ],
)
def test_mistakes(openset, arguments, says):
    code, out, err = openset(*arguments)
    if arguments[-1] == "mps":  # a file with openness has no use for it
        assert code == 0
    else:
        assert (code, out) == (2, "")
        assert says in " ".join(err.split())


def test_warnings_are_told(openset):
    np.savez("c.npz", logits_k=np.ones((2, 3)), labels_k=[0, 0], logits_u=np.ones((1, 3)))
    code, out, err = openset("c.npz", "--no-intervals")
    assert code == 0
    assert "OS805" in err
    assert re.search(r"^AUC, % ↑ +50\.0$", out, re.M)


def test_a_plot_has_a_line_per_model_and_not_too_many_points():
    spec = oscr_plot({"one": made(1, 3000, 2000), "two": made(2)})
    [rows] = spec["datasets"].values()
    assert {row["model"] for row in rows} == {"one", "two"}
    one = [row for row in rows if row["model"] == "one"]
    assert len(one) <= 401
    assert (one[0]["x"], one[0]["y"], one[-1]["x"]) == (0, 0, 1)
    with pytest.raises(UsageError, match="no unknown sample"):
        write_oscr_plot({"one": _closed()}, "x.svg")


def _closed():
    return replace(made(), unknown_openness=[], unknown_predicted=None)


def test_the_list_names_metrics_and_methods(capsys, monkeypatch):
    from openset.cli import main

    monkeypatch.setattr(sys, "argv", ["openset", "list", "recognition"])
    assert main() == 0
    out = capsys.readouterr().out
    assert "\nopenauc " in out
    assert "method openauc " in out or "openset[torch]" in out


def test_nothing_is_written_where_classifiers_cannot_be_compared(openset, tmp_path):
    save("other.npz", made(2))
    code, _, err = openset("a.npz", "other.npz", "-o", "kept")
    assert code == 2 and "--force compares" in err
    assert not (tmp_path / "kept").exists()
    assert openset("a.npz", "-o", "kept.json")[0] == 2
    assert not (tmp_path / "kept.json").exists()
