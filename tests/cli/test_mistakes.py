"""Everyday mistakes, from the command line: a code, a count, an example, a fix, and exit 2.

The rows are those of the tests of `openset.evaluate`; here it is what people see that counts.
"""

from __future__ import annotations

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from openset.findings import Level
from openset.formats import write
from scenes.bad_input import KNOWN, ROWS, Row, files
from scenes.cli import write_scene
from scenes.labels import KNOWN as TAUGHT
from scenes.labels import exchanged, found, relabelled, truth

# What a decoder says of broken bytes is its own business, and differs between the two readers.
_DECODER = re.compile(r"(cannot read \S+:)(.|\n)*?(?=\n    (first|cause) )")
# What the command line calls otherwise than Python.
FLAGS = {"groups": "--group-by"}


def slug(row):
    return re.sub(r"\W+", "-", row.what).strip("-")


def arguments(row):
    options = {"known": KNOWN} | dict(row.options)
    flags = []
    for key, value in options.items():
        if value is not None:
            flag = FLAGS.get(key, f"--{key}")
            flags += [flag, ",".join(value) if isinstance(value, list) else value]
    return ["evaluate", "gt.json", "dt.json", *flags, "--no-intervals"]


@pytest.mark.parametrize("row", ROWS, ids=slug)
def test_a_mistake_is_said(row: Row, here, openset, snapshot):
    files(row, here)
    done = openset(*arguments(row))
    assert done.code == (2 if row.level is Level.ERROR else 0)
    assert (done.out == "") == (done.code == 2)
    assert f"{row.level} {row.code}" in done.err
    err = _DECODER.sub(r"\1 ...", done.err) if row.code.startswith("OS1") else done.err
    shown = "" if done.code == 2 else "(the table)\n"
    snapshot(f"mistakes/{slug(row)}", type(done)(done.command, done.code, shown, err))


def test_labels_are_exchanged_and_a_file_says_so(here, openset, snapshot):
    gt = truth()
    write(gt, here / "gt.json")
    write(relabelled(found(gt), exchanged("cat", "dog")), here / "dt.json")
    arguments = ("evaluate", "gt.json", "dt.json", "--known", ",".join(TAUGHT), "--no-intervals")
    refused = openset(*arguments)
    assert refused.code == 2
    snapshot("mistakes/labels-exchanged", refused)
    assert openset("check", *arguments[1:5]).code == 1
    (here / "ids.csv").write_text("17,18\n18,17\n")
    assert openset(*arguments, "--category-ids", "ids.csv").code == 0
    assert openset("check", *arguments[1:5], "--category-ids", "ids.csv").code == 0
    assert openset(*arguments, "--category-ids", "indices").code == 2


@pytest.mark.parametrize("row", ROWS, ids=slug)
def test_and_so_in_json(row: Row, here, openset):
    files(row, here)
    done = openset(*arguments(row), "--json")
    document = done.json
    assert document["schema_version"] == 1
    assert document["exit_code"] == done.code
    if row.level is Level.ERROR:
        assert done.err == ""
        codes = [finding["code"] for finding in document["error"]["findings"]]
        assert any(code.startswith(row.code) for code in codes)


FORCED = [row for row in ROWS if row.level is Level.ERROR and row.forced]


@pytest.mark.parametrize("row", FORCED[::4], ids=slug)
def test_force_goes_on(row: Row, here, openset):
    files(row, here)
    done = openset(*arguments(row), "--force")
    assert done.code == 0
    assert f"warning {row.code}" in done.err


def broken(here, name, content):
    (here / name).write_text(content)


OTHER = {
    "missing-file": ["evaluate", "gt.jsn", "base.json"],
    "two-missing-files": ["evaluate", "nothing.json", "base.jsn"],
    "a-folder": ["evaluate", "gt.json", "folder"],
    "swapped": ["evaluate", "base.json", "gt.json"],
    "no-detections-given": ["evaluate", "gt.json"],
    "misspelt-verb": ["evalute", "gt.json", "base.json"],
    "misspelt-option": ["evaluate", "gt.json", "base.json", "--protocl", "owod"],
    "half-an-option": ["evaluate", "gt.json", "base.json", "--score", "0.3"],
    "one-word-too-many": ["demo", "folder"],
    "out-is-a-file": ["evaluate", "gt.json", "base.json", "-o", "run.json"],
    "misspelt-protocol": ["evaluate", "gt.json", "base.json", "--protocol", "oword"],
    "misspelt-metric": ["evaluate", "gt.json", "base.json", "--metrics", "unknown_recal"],
    "misspelt-vocabulary": ["evaluate", "gt.json", "base.json", "--known", "voc2O"],
    "missing-vocabulary-file": ["evaluate", "gt.json", "base.json", "--known", "nothing.txt"],
    "misspelt-scorer": ["evaluate", "gt.json", "base.json", "--unknownness", "enrgy"],
    "scorer-without-logits": ["evaluate", "gt.json", "base.json", "--unknownness", "energy"],
    "misspelt-boxes": ["evaluate", "gt.json", "base.json", "--boxes", "xxyy"],
    "misspelt-leaked": ["evaluate", "gt.json", "base.json", "--leaked", "dropp"],
    "seed-is-no-number": ["evaluate", "gt.json", "base.json", "--seed", "x"],
    "seed-is-a-fraction": ["evaluate", "gt.json", "base.json", "--seed", "1.5"],
    "seed-is-negative": ["evaluate", "gt.json", "base.json", "--seed=-1"],
    "group-by-two-groups": ["evaluate", "gt.json", "base.json", "--group-by", "(a)(b)"],
    "group-by-no-expression": ["evaluate", "gt.json", "base.json", "--group-by", "(a"],
    "option-without-value": ["evaluate", "gt.json", "base.json", "--protocol"],
    "one-of-two-is-wrong": ["evaluate", "gt.json", "base.json", "percent.json"],
    "both-are-wrong": ["evaluate", "gt.json", "percent.json", "empty.json"],
    "out-is-taken": ["evaluate", "gt.json", "base.json", "-o", "full"],
    "compare-not-a-result": ["compare", "gt.json", "base.json"],
    "compare-missing": ["compare", "a.result.json", "b.result.json"],
    "compare-one": ["compare", "a.result.json"],
    "report-no-run": ["report", "folder"],
    "report-missing": ["report", "nothing"],
    "report-bad-figures": ["report", "folder", "--figures", "bmp"],
    "report-no-images": ["report", "folder", "--images", "nothing"],
    "draw-no-run": ["draw", "folder", "--images", "folder"],
    "draw-without-images": ["draw", "folder"],
    "check-missing": ["check", "nothing.json"],
    "check-no-roles": ["check", "plain.json"],
    "convert-unknown-ending": ["convert", "base.json", "-o", "base.xyz"],
    "convert-onto-itself": ["convert", "base.json", "-o", "base.json"],
    "convert-unknown-format": ["convert", "base.json", "-o", "b.json", "--to", "cocoo"],
    "explain-typo": ["explain", "wildernes impact"],
    "explain-nothing": ["explain"],
    "list-typo": ["list", "vocabulary"],
    "completion-typo": ["completion", "bsh"],
    "demo-into-a-full-folder": ["demo", "-o", "full"],
}


@pytest.fixture
def mess(here):
    """A folder with good files and several kinds of bad ones."""
    write_scene(here)
    for name in ("folder", "full"):
        (here / name).mkdir()
    broken(here / "full", "precious.txt", "mine")
    found = json.loads((here / "base.json").read_text())
    broken(here, "percent.json", json.dumps([r | {"score": 100 * r["score"]} for r in found]))
    broken(here, "empty.json", "[]")
    truth = json.loads((here / "gt.json").read_text())
    truth["categories"] = [c | {"name": f"class {c['id']}"} for c in truth["categories"]]
    broken(here, "plain.json", json.dumps(truth))
    return here


@pytest.mark.parametrize("name", OTHER)
def test_a_wrong_command(name, mess, openset, snapshot):
    before = sorted(mess.rglob("*"))
    done = openset(*OTHER[name])
    assert done.code == 2 and done.out == ""
    snapshot(f"usage/{name}", done)
    assert sorted(mess.rglob("*")) == before  # nothing half written, nothing lost


@pytest.mark.parametrize("name", OTHER)
def test_a_wrong_command_in_json(name, mess, openset):
    done = openset(*OTHER[name], "--json")
    assert done.code == done.json["exit_code"] == 2
    assert done.json["error"]["message"] and done.err == ""


def beside(name):
    """A file of tests beside this one."""
    spec = spec_from_file_location(f"beside_{name}", Path(__file__).with_name(f"{name}.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_snapshot_has_its_test():
    pytest.importorskip("torchvision")
    train, run = beside("test_train").MISTAKES, beside("test_run").MISTAKES
    verbs = beside("test_verbs")
    names = {f"mistakes/{slug(row)}" for row in ROWS} | {f"usage/{name}" for name in OTHER}
    names |= {
        f"evaluate/{name}" for name in (*verbs.EVALUATE, "wide", "levels", "trainings", "per_class")
    }
    names |= {f"compare/{name}" for name in (*verbs.COMPARE, "trainings", "one-training")}
    names |= {f"trainings/{name}" for name in verbs.METHODS}
    names |= {"check/warnings", "check/errors", "convert/csv", "draw/three"}
    names |= {"describe/plain", "describe/roles", "diagnose/some", "mistakes/labels-exchanged"}
    names |= {"help/evaluate", "help/compare", "demo/demo", "demo/photo", "report/page"}
    names |= {"explain/code", "list/vocabularies", "list/formats", "worlds/digits"}
    names |= {f"train/{name}" for name in (*train, "done", "stopped", "gone-on")}
    names |= {f"run/{name}" for name in (*run, "done", "skipped")}
    folder = Path(__file__).with_name("snapshots")
    stored = {str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.txt")}
    assert stored <= names


def test_broken_boxes_are_dropped_on_request(scene, openset):
    found = json.loads((scene / "base.json").read_text())
    found[4]["bbox"][2] = -5.0
    (scene / "base.json").write_text(json.dumps(found))
    asked = ("evaluate", "gt.json", "base.json", "--known", "known.txt", "--no-intervals", "-q")
    refused = openset(*asked)
    assert refused.code == 2 and "--drop-invalid leaves them out" in " ".join(refused.err.split())
    done = openset(*asked, "--drop-invalid")
    assert done.code == 0 and f"base: 1 of {len(found)} detections are broken" in done.out
