"""What an output replaces (OS125): the same is silent, other inputs are said, yours is kept."""

from __future__ import annotations

import errno
import os
import shutil

import numpy as np
import pytest

EVALUATE = ("evaluate", "gt.json", "base.json", "--known", "dog,cat", "--no-intervals", "-o", "run")


def instead(old, new, line=EVALUATE):
    """The command with another argument."""
    return [new if one == old else one for one in line]


OTHERS = {
    "detector": (instead("base.json", "shy.json"), "the models (base)"),
    "detections": (instead("base.json", "base=shy.json"), "detections (base)"),
    "ground truth": (instead("gt.json", "half.json"), "ground truth"),
    "roles": (instead("dog,cat", "dog"), "options (base)"),
    "metrics": ([*EVALUATE, "--metrics", "udr"], "options (base)"),
    "leaked": ([*EVALUATE, "--leaked", "drop"], "options (base)"),
}


@pytest.fixture
def files(scene, openset):
    assert openset("select", "gt.json", "--share", "0.5", "-o", "half.json").code == 0
    return scene


def test_a_run_of_the_same_is_replaced_without_a_word(files, openset):
    assert openset(*EVALUATE).code == 0
    shutil.copy("base.json", "copy.json")
    for line in (EVALUATE, instead("base.json", "base=copy.json"), [*EVALUATE, "--force"]):
        again = openset(*line)
        assert again.code == 0 and "OS125" not in again.err
    assert "replaced" not in openset(*EVALUATE, "--json").json


@pytest.mark.parametrize("case", OTHERS)
def test_a_run_of_something_else_is_said(case, files, openset):
    line, differs = OTHERS[case]
    assert openset(*EVALUATE).code == 0
    done = openset(*line)
    said = " ".join(done.err.split())
    assert done.code == 0 and "note OS125 replaced the run in run, which differs in" in said
    assert differs in said and "made by: openset evaluate gt.json base.json --known dog,cat" in said
    found = openset(*EVALUATE, "--json").json["replaced"]
    assert [one["code"] for one in found] == ["OS125"] and "made by: openset" in found[0]["message"]


def test_scores_of_another_classifier_are_said(here, openset):
    rng = np.random.default_rng(0)
    for name in "ab":
        label = np.repeat([0, 1], 30)
        known = rng.normal(size=(60, 2)) + 3 * np.eye(2)[label]
        unknown = rng.normal(size=(30, 2))
        np.savez(here / f"{name}.npz", logits_k=known, labels_k=label, logits_u=unknown)
    for name, times in (("a", 0), ("a", 0), ("b", 1)):
        done = openset("recognise", f"s={name}.npz", "-o", "rec", "--no-intervals")
        assert done.code == 0 and done.err.count("OS125") == times, done.err


def test_a_file_of_ours_gives_way_with_its_command(scene, openset):
    assert openset("convert", "base.json", "-o", "x.csv").code == 0
    assert "OS125" not in openset("convert", "base.json", "-o", "x.csv").err
    done = openset("convert", "shy.json", "-o", "x.csv")
    assert "replaced x.csv, made by: openset convert base.json -o x.csv" in done.err
    assert not list(scene.glob("*.old*"))


def test_what_a_person_wrote_is_kept(scene, openset):
    (scene / "x.csv").write_text("mine")
    done = openset("convert", "base.json", "-o", "x.csv")
    assert done.code == 0 and "OS125" in done.err and "x.csv.old" in done.err
    assert (scene / "x.csv.old").read_text() == "mine"
    with (scene / "x.csv").open("a") as stream:
        stream.write("and mine")
    assert openset("convert", "base.json", "-o", "x.csv").code == 0
    assert (scene / "x.csv.old-2").read_text().endswith("and mine")
    assert (scene / "x.csv.old").read_text() == "mine"
    (scene / "empty.csv").touch()
    assert "OS125" not in openset("convert", "base.json", "-o", "empty.csv").err


def test_a_page_that_was_changed_is_kept(files, openset):
    assert openset(*EVALUATE).code == 0 and openset("report", "run").code == 0
    assert "OS125" not in openset("report", "run").err
    page = files / "run" / "report.html"
    page.write_text(page.read_text() + "<p>my notes</p>")
    assert "report.html.old" in openset("report", "run").err
    done = openset(*EVALUATE)  # which would take the notes with it
    assert done.code == 2 and "'report.html.old'" in done.err


def test_notes_among_the_figures_are_not_lost(files, openset):
    assert openset(*EVALUATE).code == 0
    (files / "run" / "report-figures").mkdir()
    (files / "run" / "report-figures" / "notes.txt").write_text("mine")
    done = openset(*EVALUATE)
    assert done.code == 2 and "report-figures/notes.txt" in done.err


def without(*_args):
    raise OSError(errno.ENOTSUP, "Operation not supported")


def test_without_attributes_of_files_the_content_tells(files, openset, monkeypatch):
    monkeypatch.setattr(os, "getxattr", without)
    monkeypatch.setattr(os, "setxattr", without)
    assert openset("convert", "base.json", "-o", "x.parquet").code == 0
    assert openset("convert", "shy.json", "-o", "x.parquet").code == 0
    assert openset(*EVALUATE).code == 0 and openset("report", "run", "-o", "r.html").code == 0
    assert openset(*instead("base.json", "shy.json")).code == 0
    assert "OS125" in openset("report", "run", "-o", "r.html").err
    assert not list(files.glob("*.old*"))
    (files / "x.parquet").write_text("mine")
    assert openset("convert", "shy.json", "-o", "x.parquet").code == 0
    assert (files / "x.parquet.old").read_text() == "mine"


def test_a_program_that_writes_is_asked_nothing(scene):
    from openset.formats import read, write

    for name in ("base.json", "shy.json"):
        write(read(scene / name), scene / "x.csv")
    assert not list(scene.glob("*.old*"))
