"""Kept runs that were changed, moved, mixed or cut; and verbs that would lose something."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from scenes.cli import write_pictures, write_scene
from scenes.files import contents

RUN = ("evaluate", "gt.json", "base.json", "shy.json", "--known", "known.txt", "--no-intervals")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run of two detectors, and another of one, beside what they were made of."""
    import os

    from openset.cli import main

    folder = tmp_path_factory.mktemp("kept")
    write_scene(folder)
    write_pictures(folder / "pictures")
    truth = json.loads((folder / "gt.json").read_text())
    truth["annotations"].pop()
    (folder / "less.json").write_text(json.dumps(truth))
    before = os.getcwd()  # noqa: PTH109
    os.chdir(folder)
    try:
        assert main([*RUN, "-o", "run", "-q"]) == 0
        less = ("evaluate", "less.json", "base.json", "--known", "dog,", "--no-intervals")
        assert main([*less, "-o", "other", "-q"]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def mess(kept, here):
    shutil.copytree(kept, here, dirs_exist_ok=True)
    return here


def exchange(name):
    return lambda folder: shutil.copy(folder / "other" / name, folder / "run" / name)


def remove(name):
    return lambda folder: (folder / "run" / name).unlink()


def edited(name, old, new):
    def change(folder):
        text = (folder / "run" / name).read_text()
        assert old in text
        (folder / "run" / name).write_text(text.replace(old, new, 1))

    return change


def cut(name):
    def change(folder):
        data = (folder / "run" / name).read_bytes()
        (folder / "run" / name).write_bytes(data[: len(data) // 2])

    return change


def swapped(folder):
    one, two = (folder / "run" / f"{name}.detections.parquet" for name in ("base", "shy"))
    data = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(data)


def swapped_results(folder):
    one, two = (folder / "run" / f"{name}.result.json" for name in ("base", "shy"))
    data = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(data)


CHANGES = {
    "truth of another run": exchange("truth.parquet"),
    "result of another run": exchange("base.result.json"),
    "detections of another model": swapped,
    "results of another model": swapped_results,
    "a better number": edited("base.result.json", '"value": 0.', '"value": 0.9'),
    "no truth": remove("truth.parquet"),
    "no result": remove("shy.result.json"),
    "no detections": remove("shy.detections.parquet"),
    "truth cut off": cut("truth.parquet"),
    "result cut off": cut("base.result.json"),
    "run.json cut off": cut("run.json"),
    "run.json is empty": lambda folder: (folder / "run" / "run.json").write_text(""),
    "run.json is a list": lambda folder: (folder / "run" / "run.json").write_text("[]"),
    "run.json names a file outside": edited("run.json", "truth.parquet", "../gt.json"),
}
VERBS = {
    "report": ("report", "run", "-o", "page.html"),
    "diagnose": ("diagnose", "run"),
    "draw": ("draw", "run", "--images", "pictures", "-o", "drawn"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_run_gets_no_answer(change, verb, mess, openset):
    CHANGES[change](mess)
    before = contents(mess)
    done = openset(*VERBS[verb], "--json")
    assert done.code == 2 and done.json["error"]["message"], done.out
    assert contents(mess) == before


@pytest.mark.parametrize("verb", VERBS)
def test_an_unchanged_one_does(verb, mess, openset):
    assert openset(*VERBS[verb]).code == 0


@pytest.mark.parametrize("verb", ["report", "diagnose"])
def test_a_run_may_be_moved_and_have_other_files_beside(verb, mess, openset):
    (mess / "run" / "notes.txt").write_text("mine")
    (mess / "run").rename(mess / "moved run")
    assert openset(verb, "moved run").code == 0
    assert (mess / "moved run" / "notes.txt").read_text() == "mine"


COMPARED = {
    "a better number": edited("base.result.json", '"value": 0.', '"value": 0.9'),
    "other truth": edited("base.result.json", '"truth_hash": "', '"truth_hash": "0'),
    "cut off": cut("base.result.json"),
    "another schema": edited("base.result.json", "openset.evaluation/1", "openset.evaluation/9"),
}


@pytest.mark.parametrize("change", COMPARED)
def test_compare_refuses_what_was_changed(change, mess, openset):
    COMPARED[change](mess)
    done = openset("compare", "run/base.result.json", "run/shy.result.json", "--json")
    assert done.code == 2, done.out


def test_compare_of_other_vocabularies(mess, openset):
    done = openset("compare", "run/base.result.json", "other/base.result.json", "--json")
    assert done.code == 2 or "vocabular" in done.out


def test_one_file_under_two_names(mess, openset):
    shutil.copy(mess / "base.json", mess / "ours.json")
    done = openset("evaluate", "gt.json", "base.json", "ours.json", *RUN[4:], "-o", "same")
    assert "OS447" in done.err
    assert "those of base" in " ".join(done.err.split())
    assert "OS447" in openset("compare", "same/base", "same/ours").err
    assert "OS447" not in openset(*RUN).err


def rewritten(found, digits):
    """Detections in another order, with fewer digits."""
    order = np.random.default_rng(0).permutation(len(found))
    return [
        found[at] | {"bbox": [round(b, digits) for b in found[at]["bbox"]],
                     "score": round(found[at]["score"], 3)}
        for at in order
    ]  # fmt: skip


def test_one_file_rounded_and_shuffled_under_two_names(mess, openset):
    found = json.loads((mess / "base.json").read_text())
    (mess / "again.json").write_text(json.dumps(rewritten(found, 0)))
    done = openset("evaluate", "gt.json", "base.json", "again.json", *RUN[4:])
    assert "OS447" in done.err and "those of base, but" in " ".join(done.err.split())
    both = openset("evaluate", "gt.json", "a=base.json,again.json", *RUN[4:])
    assert both.code == 2 and "OS417" in both.err


def test_files_of_detections_that_overlap(mess, openset):
    base = json.loads((mess / "base.json").read_text())
    (mess / "part.json").write_text(json.dumps(base[:7]))
    done = openset("select", "part.json", "base.json", "-o", "all.json")
    assert "OS210" in done.err
    assert f"7 of {len(base) + 7} detections" in " ".join(done.err.split())
    assert "OS210" not in openset("select", "base.json", "-o", "again.json").err


LOSSES = {
    "report onto a result": ("report", "run", "-o", "run/base.result.json"),
    "report onto the run's name": ("report", "run", "-o", "run/run.json"),
    "report onto the ground truth of a link": ("report", "link", "-o", "run/truth.parquet"),
    "report onto a file that is no page": ("report", "run", "-o", "known.txt"),
    "evaluate over its own truth": (*RUN[:3], "--known", "known.txt", "-o", "gt.json"),
    "evaluate over pictures": (*RUN, "-o", "pictures"),
    "evaluate over here": (*RUN, "-o", "."),
    "draw over the pictures": ("draw", "run", "--images", "pictures", "-o", "pictures"),
    "draw into the pictures": ("draw", "run", "--images", "pictures", "-o", "./run/../pictures"),
    "draw into another run": ("draw", "run", "--images", "pictures", "-o", "other"),
    "convert over a folder": ("convert", "gt.json", "-o", "pictures", "--to", "voc"),
    "convert onto the other file": (
        "convert",
        "base.json",
        "--truth",
        "gt.json",
        "-o",
        "./gt.json",
    ),
    "audit onto its test": ("audit", "--test", "gt.json", "--known", "dog,cat", "-o", "gt.json"),
    "demo over a run": ("demo", "-o", "run"),
    "build over a run": ("build", "digits", "--option", "images=10", "-o", "run"),
    "train over a run": ("train", "digits-small", "gt.json", "--known", "dog,cat", "-o", "run"),
}


@pytest.mark.parametrize("case", LOSSES)
def test_nothing_is_written_over(case, mess, openset):
    (mess / "link").symlink_to(mess / "run")
    before = contents(mess)
    done = openset(*LOSSES[case], "--json")
    assert done.code == 2, done.out
    assert contents(mess) == before


def test_images_of_one_name_are_not_converted_into_one(mess, openset):
    truth = json.loads((mess / "gt.json").read_text())
    for folder, image in zip("ab", truth["images"][:2], strict=True):
        image["file_name"] = f"{folder}/x.png"
    (mess / "gt.json").write_text(json.dumps(truth))
    for kind in ("voc", "yolo"):
        done = openset("convert", "gt.json", "-o", kind, "--to", kind, "--json")
        files = [p for p in (mess / kind).rglob("*") if p.suffix in (".xml", ".txt")]
        assert done.code == 2 or len(files) >= len(truth["images"])
