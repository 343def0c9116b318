"""A run: several detectors, evaluated alike, kept in a folder and read back."""

from __future__ import annotations

import json

import numpy as np
import pytest

import openset as package
from openset.evaluation.run import Run, evaluate_all
from openset.findings import InputError, UsageError
from openset.resampling.draws import draw
from scenes.cli import write_scene

NAMES = ["base", "../../etc", "BASE", "truth", "", "é" * 5000, "<script>"]


@pytest.fixture
def scene(here):
    write_scene(here)
    return here


def evaluated(folder, known=("dog", "cat"), **more):
    models = {"base": folder / "base.json", "shy": folder / "shy.json"}
    return evaluate_all(folder / "gt.json", models, known=known, **more)


def test_each_is_what_evaluate_gives(scene):
    run = evaluated(scene)
    for name in run.names:
        alone = package.evaluate("gt.json", f"{name}.json", known=["dog", "cat"])
        assert alone.values == run.evaluations[name].values
        assert alone.provenance == run.evaluations[name].provenance


def test_resamples_are_drawn_once(scene, monkeypatch):
    drawn = []

    def counted(n, seed, resamples):
        drawn.append(n)
        return draw(n, seed, resamples)

    monkeypatch.setattr("openset.evaluation.run.draw", counted)
    assert len(evaluated(scene).names) == 2
    assert len(drawn) == 1


@pytest.mark.parametrize("protocol", ["default", "owod", "elephant"])
def test_a_run_comes_back(protocol, scene):
    rules = package.Protocol.of(protocol).but(recall=0.5)
    run = evaluated(scene, protocol=rules, known=["dog"], leaked="drop")  # cats are a leak
    back = Run.load(run.save(scene / "run"))
    assert back.names == run.names
    assert (back.protocol, back.vocabulary) == (run.protocol, run.vocabulary)
    assert (back.seed, back.leaked, back.command) == (run.seed, run.leaked, run.command)
    assert back.findings == run.findings and back.truth_findings == run.truth_findings
    for name in run.names:
        ours, theirs = run.evaluations[name], back.evaluations[name]
        assert ours.values == theirs.values and ours.provenance == theirs.provenance
        assert 0 < len(ours.matches) == len(theirs.matches) < len(run.detections[name])
        assert ours.value("a_ose_profile", threshold=0.7) == theirs.value(
            "a_ose_profile", threshold=0.7
        )
        for metric, numbers in ours.replicates.items():
            np.testing.assert_array_equal(numbers, theirs.replicates[metric])
    gap = package.compare(*back.evaluations.values())["unknown_recall"]
    assert gap == package.compare(*run.evaluations.values())["unknown_recall"]
    assert gap.significant


def test_boxes_are_kept_as_ours(scene):
    found = json.loads((scene / "base.json").read_text())
    corners = [
        r | {"bbox": [r["bbox"][0], r["bbox"][1], *np.add(r["bbox"][:2], r["bbox"][2:])]}
        for r in found
    ]
    (scene / "corners.json").write_text(json.dumps(corners))
    options = {"known": ["dog", "cat"], "intervals": False}
    plain = evaluate_all("gt.json", {"a": "base.json"}, **options)
    turned = evaluate_all("gt.json", {"a": "corners.json"}, boxes="xyxy", **options)
    turned.save(scene / "run")
    again = Run.load(scene / "run").evaluations["a"]
    assert again.value("ap_known", iou=0.5) == plain.evaluations["a"].value("ap_known", iou=0.5)


def test_any_name_stays_inside(scene):
    models = dict.fromkeys(NAMES, scene / "base.json")
    run = evaluate_all("gt.json", models, known=["dog", "cat"], metrics=["udr"], intervals=False)
    before = sorted(scene.iterdir())
    folder = run.save(scene / "run")
    assert sorted(scene.iterdir()) == sorted([*before, folder])
    files = [path.name for path in folder.iterdir()]
    assert len(files) == len({name.lower() for name in files}) == 2 + 2 * len(NAMES)
    assert Run.load(folder).names == tuple(NAMES)


def test_an_earlier_run_gives_way_and_nothing_else_does(scene):
    folder = evaluated(scene, intervals=False).save(scene / "run")
    evaluated(scene, intervals=False, seed=4).save(folder)
    assert Run.load(folder).seed == 4
    (folder / "notes.txt").write_text("precious")
    with pytest.raises(UsageError, match=r"notes\.txt"):
        evaluated(scene, intervals=False).save(folder)
    other = scene / "other"
    other.mkdir()
    (other / "notes.txt").write_text("precious")
    with pytest.raises(UsageError, match="something else"):
        evaluated(scene, intervals=False).save(other)
    assert (other / "notes.txt").read_text() == "precious"


def test_a_failed_save_leaves_the_earlier_run(scene, monkeypatch):
    from openset.evaluation import _run_folder

    folder = evaluated(scene, intervals=False).save(scene / "run")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fail(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(_run_folder, "write", fail)
    with pytest.raises(KeyboardInterrupt):
        evaluated(scene, intervals=False, seed=9).save(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not list(scene.glob(".openset-*"))


def spoilt(key, value):
    return lambda document: document | {key: value}


BROKEN = {
    "another schema": spoilt("schema", "openset.run/9"),
    "no models": spoilt("models", None),
    "models that are not there": spoilt("models", {"a": "nothing"}),
    "no protocol": spoilt("protocol", None),
    "a protocol from the future": spoilt("protocol", {"name": "x", "magic": 1}),
    "a bad role": spoilt("vocabulary", {"tasks": [["dog"]], "rest": "friend"}),
    "a list": lambda document: [document],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_run_is_refused(name, scene):
    folder = evaluated(scene, intervals=False).save(scene / "run")
    index = folder / "run.json"
    index.write_text(json.dumps(BROKEN[name](json.loads(index.read_text()))))
    with pytest.raises(InputError):
        Run.load(folder)


def test_a_run_reads_nothing_outside_of_its_folder(scene):
    folder = evaluated(scene, intervals=False).save(scene / "run")
    for path in folder.glob("base.*"):
        path.rename(scene / path.name)
    index = folder / "run.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | {"models": {"base": "../base"}}))
    with pytest.raises(InputError) as caught:
        Run.load(folder)
    assert caught.value.findings[0].code == "OS113"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_an_unreadable_run_is_refused(content, scene):
    (scene / "run").mkdir()
    (scene / "run" / "run.json").write_bytes(content)
    with pytest.raises(InputError):
        Run.load(scene / "run")


def test_everything_wrong_is_said_at_once_and_by_name(scene):
    found = json.loads((scene / "base.json").read_text())
    (scene / "percent.json").write_text(
        json.dumps([r | {"score": 100 * r["score"]} for r in found])
    )
    (scene / "empty.json").write_text("[]")
    models = {name: f"{name}.json" for name in ("base", "percent", "empty")}
    with pytest.raises(InputError) as caught:
        evaluate_all("gt.json", models, known=["dog", "cat"])
    said = {finding.code: finding.message for finding in caught.value.findings}
    assert said.keys() == {"OS208", "OS402"}
    assert said["OS208"].startswith("percent: ") and said["OS402"].startswith("empty: ")
    forced = evaluate_all("gt.json", models, known=["dog", "cat"], force=True, intervals=False)
    assert "OS208" in {finding.code for finding in forced.findings["percent"]}
    assert "OS208" not in {finding.code for finding in forced.findings["base"]}


def test_no_detector_is_a_mistake(scene):
    with pytest.raises(UsageError):
        evaluate_all("gt.json", {})


def test_steps_are_announced(scene):
    said = []
    evaluated(scene, intervals=False, step=said.append)
    assert len(said) == 1 + 2 * 2


def edited(name, change):
    """A change of a JSON file of a run."""

    def spoil(folder, other):
        held = json.loads((folder / name).read_text())
        change(held)
        (folder / name).write_text(json.dumps(held))

    return spoil


def exchanged(name):
    """A file of another run in the place of one."""

    def spoil(folder, other):
        (folder / name).write_bytes((other / name).read_bytes())

    return spoil


TAMPERED = {
    "a number": edited("base.result.json", lambda r: r["values"]["a_ose"].update(value=0)),
    "the vocabulary": edited("run.json", lambda r: r["vocabulary"].update(tasks=[["dog"]])),
    "what becomes of leaks": edited("run.json", lambda r: r.update(leaked="drop")),
    "no checksums": edited("run.json", lambda r: r.pop("files")),
    "another truth": exchanged("truth.parquet"),
    "other detections": exchanged("base.detections.parquet"),
    "another result": exchanged("base.result.json"),
    "another index": exchanged("run.json"),
    "a file less": lambda folder, other: (folder / "truth.parquet").unlink(),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_run_whose_files_do_not_belong_together_is_refused(name, scene):
    run = evaluated(scene, intervals=False)
    folder = run.save(scene / "run")
    half = np.arange(len(run.truth)) < len(run.truth) // 2
    less = {name: one.select(one.score > 0.5) for name, one in run.detections.items()}
    other = evaluate_all(run.truth.select(half), less, known=run.vocabulary, intervals=False)
    TAMPERED[name](folder, other.save(scene / "other"))
    with pytest.raises(InputError) as caught:
        Run.load(folder)
    assert caught.value.findings[0].code == "OS427"


def test_a_list_of_detections_needs_names(scene):
    with pytest.raises(UsageError, match=r"\{'name': detections\}, not as a list"):
        evaluate_all("gt.json", ["base.json"], known=["dog", "cat"])
