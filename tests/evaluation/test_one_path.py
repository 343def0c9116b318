"""One path: every step is taken once per file, and every way in takes the same options."""

from __future__ import annotations

import inspect
import json
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import fields

import numpy as np
import pytest

import openset
from openset.cli import main
from openset.cli.evaluate import evaluate as evaluate_verb
from openset.evaluation.run import Run, evaluate_all
from openset.evaluation.settings import Settings
from openset.evaluation.steps import settle
from openset.findings import InputError, UsageError
from openset.formats import read_annotations, read_detections
from openset.matching import match
from openset.tables.boxes import in_pixels
from openset.tables.check import check, check_detections, check_truth
from openset.tables.join import join
from scenes.builders import KNOWN as vocabulary
from scenes.builders import scene
from scenes.cli import write_scene

KNOWN = ["dog", "cat"]
UNKNOWN = 20  # the category of that name in scenes
QUICK = {"known": KNOWN, "intervals": False, "metrics": ["a_ose", "unknown_recall"]}
STEPS = {
    step.__code__: step.__name__
    for step in (
        *(read_annotations, read_detections, check, check_truth, check_detections),
        *(join, in_pixels, settle, match),
    )
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The scene of command lines, with corners of boxes as well."""
    monkeypatch.chdir(tmp_path)
    write_scene(tmp_path)
    for name in ("base", "shy"):
        found = json.loads((tmp_path / f"{name}.json").read_text())
        for record in found:
            x, y, width, height = record["bbox"]
            record["bbox"] = [x, y, x + width, y + height]
        (tmp_path / f"{name}-corners.json").write_text(json.dumps(found))
    return tmp_path


@contextmanager
def counting():
    """Calls of every step, by its name, from wherever and on whatever thread."""
    calls = Counter()

    def profile(frame, event, argument):
        if event == "call" and frame.f_code in STEPS:
            calls[STEPS[frame.f_code]] += 1

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def by_python(detections, boxes):
    openset.evaluate("gt.json", detections[0], boxes=boxes, **QUICK)


def by_run(detections, boxes):
    evaluate_all("gt.json", {name: name for name in detections}, boxes=boxes, **QUICK)


def by_command(detections, boxes):
    options = ["--known", "dog,cat", "--boxes", boxes, "--no-intervals", "-q"]
    assert main(["evaluate", "gt.json", *detections, *options]) == 0


def by_batches(detections, boxes):
    openset.Evaluator(boxes=boxes, **QUICK).update("gt.json", detections[0]).compute()


@pytest.mark.parametrize("boxes", ["xywh", "xyxy"])
@pytest.mark.parametrize(
    ("way", "count"), [(by_python, 1), (by_run, 2), (by_command, 1), (by_command, 2)]
)
def test_every_step_is_taken_once_per_file(way, count, boxes, files):
    ending = "-corners.json" if boxes == "xyxy" else ".json"
    detections = [name + ending for name in ("base", "shy")][:count]
    with counting() as calls:
        way(detections, boxes)
    per_truth = dict.fromkeys(["read_annotations", "check_truth"], 1)
    names = ["read_detections", "check_detections", "join", "in_pixels", "match"]
    assert calls == per_truth | dict.fromkeys(names, count) | {"settle": 1 + count}


def test_what_force_overruled_is_said_before_other_warnings():
    shown = scene(2, images=8)
    shown.truth["annotations"].clear()
    shown.found[-1]["bbox"] = [0, 0, 0, 0]
    asked = {"known": vocabulary, "intervals": False, "force": True}
    result = openset.evaluate(*shown.tables(), **asked)
    codes = [finding.code for finding in result.findings]
    assert codes[:2] == ["OS401", "OS206"]
    assert {finding.level.value for finding in result.findings} <= {"warning", "note"}


def test_batches_are_settled_once_together(files):
    with counting() as calls:
        by_batches(["base.json"], "xywh")
    assert set(calls.values()) == {1} and "settle" in calls


def test_check_takes_the_same_path(files, capsys):
    with counting() as calls:
        main(["check", "gt.json", "base.json", "shy.json", "--known", "dog,cat"])
    assert (calls["check_truth"], calls["check"]) == (1, 0)
    assert calls["check_detections"] == calls["join"] == calls["match"] == 2


# What the command line says in another way than Python.
FLAGS = {"no_intervals": "intervals", "group_by": "groups"}
# In Python two sets are a Pair, a changed protocol is Protocol.but(), workers are an engine's.
ONLY_THERE = {"gt", "dt", "out", "output", "paired", "id_set", "change", "by"}
ONLY_THERE |= {"where"}
ONLY_THERE |= {"per_class"}  # what is shown of a result


def test_the_command_line_has_the_options_of_python():
    names = {item.name for item in fields(Settings)}
    flags = set(inspect.signature(evaluate_verb).parameters) - ONLY_THERE
    assert {FLAGS.get(name, name) for name in flags} == names
    for way in (openset.evaluate, evaluate_all, openset.Evaluator):
        assert names < set(inspect.signature(way).parameters)
        assert all(f"\n        {name}: " in way.__doc__ for name in names)
        assert "**options" not in way.__doc__


VALUES = {
    "unknown_label": ("-100", "--unknown-label=-100"),
    "unknownness": ("odd", "--unknownness=odd"),
    "minimum_score": (0.5, "--minimum-score=0.5"),
}


@pytest.mark.parametrize("name", VALUES)
def test_python_can_do_what_the_command_line_can(name, files, capsys):
    found = json.loads((files / "base.json").read_text())
    for row, record in enumerate(found):
        record["odd"] = row / len(found)
        if name == "unknown_label" and record["category_id"] == 9:
            record["category_id"] = -100
    (files / "base.json").write_text(json.dumps(found))
    value, flag = VALUES[name]
    metrics = ["a_ose", "unknown_recall", "auroc"]
    options = {"known": KNOWN, "intervals": False, "metrics": metrics, "leaked": "drop"}
    plain = openset.evaluate("gt.json", "base.json", **options).flat()
    asked = openset.evaluate("gt.json", "base.json", **options, **{name: value})
    batches = openset.Evaluator(**options, **{name: value}).update("gt.json", "base.json")
    capsys.readouterr()
    words = ["--known=dog,cat", "--no-intervals", f"--metrics={','.join(metrics)}", flag]
    assert main(["evaluate", "gt.json", "base.json", "--leaked=drop", "--json", *words]) == 0
    said = json.loads(capsys.readouterr().out)["models"]["base"]["values"]
    assert {key: one["value"] for key, one in said.items()} == asked.flat()
    assert batches.compute().flat() == asked.flat() != plain


def test_least_score_drops_first_and_says_how_many(files):
    table = read_detections(files / "base.json")
    least = float(np.median(table.score))
    by_hand = openset.evaluate("gt.json", table.select(table.score >= least), **QUICK)
    result = openset.evaluate("gt.json", "base.json", minimum_score=least, **QUICK)
    assert result.values == by_hand.values
    (note,) = (finding for finding in result.findings if finding.code == "OS214")
    assert note.level == "note" and note.count == np.count_nonzero(table.score < least) > 5
    assert "OS214" not in {finding.code for finding in by_hand.findings}
    run = evaluate_all("gt.json", {"it": table}, minimum_score=least, **QUICK)
    assert len(run.detections["it"]) == len(table) - note.count


def test_above_every_score_there_is_no_detection(files):
    with pytest.raises(InputError) as caught:
        openset.evaluate("gt.json", "base.json", minimum_score=2, **QUICK)
    (finding,) = caught.value.findings
    assert finding.code == "OS402" and "minimum_score=2 or more: the highest" in finding.message
    assert finding.example.startswith("image ")


def test_a_label_that_no_detection_has(files):
    with pytest.raises(InputError) as caught:
        openset.evaluate("gt.json", "base.json", unknown_label="alien", **QUICK)
    (finding,) = (one for one in caught.value.findings if one.code == "OS314")
    assert (
        "'alien'" in finding.message
        and "unknown_label=" in finding.fix
        and "'dog'" in finding.example
    )


def test_a_batch_may_lack_the_label_for_unknown():
    shown = scene(3, images=8)
    with_it, without = shown.part(shown.images[:4]), shown.part(shown.images[4:])
    without.found[:] = [one for one in without.found if one["category_id"] != UNKNOWN]
    assert UNKNOWN in {one["category_id"] for one in with_it.found} and without.found

    def streamed(*parts):
        stream = openset.Evaluator(unknown_label="unknown", known=vocabulary, intervals=False)
        for part in parts:
            stream.update(*part.tables())
        return stream.compute()

    assert "OS314" not in {finding.code for finding in streamed(with_it, without).findings}
    with pytest.raises(InputError, match="OS314"):
        streamed(without)


def test_findings_are_kept_apart(files):
    document = json.loads((files / "gt.json").read_text())
    document["annotations"][0]["id"] = 0  # OS407, of the ground truth
    (files / "gt.json").write_text(json.dumps(document))
    models = {"base": "base.json", "shy": "shy.json"}
    run = evaluate_all("gt.json", models, **QUICK)
    assert "OS407" in {finding.code for finding in run.truth_findings}
    assert run.findings["shy"] and not set(run.findings["shy"]) & set(run.truth_findings)
    for name in models:
        whole = run.evaluations[name].findings
        assert sorted(map(str, whole)) == sorted(map(str, run.truth_findings + run.findings[name]))
        assert whole == openset.evaluate("gt.json", models[name], **QUICK).findings
    back = Run.load(run.save("run"))
    assert (back.truth_findings, back.findings) == (run.truth_findings, run.findings)


def test_what_is_wrong_with_the_truth_is_said_once(files):
    document = json.loads((files / "gt.json").read_text())
    document["annotations"] = []
    (files / "gt.json").write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        evaluate_all("gt.json", {"base": "base.json", "shy": "shy.json"}, **QUICK)
    said = [finding.message for finding in caught.value.findings if finding.code == "OS401"]
    assert len(said) == 1 and said[0].startswith("the ground truth")


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"seed": -1}, "a seed is 0 or more, not -1"),
        ({"seed": 1.5}, "whole number"),
        ({"seed": True}, "whole number"),
        ({"leaked": "dropp"}, "'drop'"),
        ({"boxes": "xxyy"}, "'xyxy'"),
        ({"metrics": "udr"}, "a list"),
        ({"intervals": "no"}, "true or false"),
        ({"minimum_score": float("nan")}, "nan"),
        ({"minimum_score": "0.5"}, "a number"),
        ({"protocl": "owod"}, "'protocol'"),
        ({"minimum_scor": 0.5}, "'minimum_score'"),
    ],
)
def test_settings_that_cannot_be_meant(options, hint):
    for way in (
        lambda: Settings.of(None, options),
        lambda: openset.evaluate("nowhere", "nowhere", **options),
        lambda: evaluate_all("nowhere", {"a": "nowhere"}, **options),
        lambda: openset.Evaluator(**options),
    ):
        with pytest.raises(UsageError) as caught:
            way()
        assert hint in str(caught.value)


def test_settings_made_before_and_options_beside_them(files):
    settings = Settings(**QUICK, minimum_score=0.5)
    result = openset.evaluate("gt.json", "base.json", settings=settings, metrics=["udr"])
    expected = openset.evaluate(
        "gt.json", "base.json", **QUICK | {"metrics": ["udr"], "minimum_score": 0.5}
    )
    assert list(result.values) == ["udr"] and result.values == expected.values
    assert settings.metrics == QUICK["metrics"]


@pytest.mark.parametrize("settings", [3, {"seed": 1}, "owod"])
def test_settings_of_another_type_are_refused(settings):
    with pytest.raises(UsageError, match="settings must be made by Settings"):
        openset.evaluate(*scene(2).tables(), settings=settings)
