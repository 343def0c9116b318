"""Mistakes of a working day, over all verbs: written down before any was tried."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from scenes.mistakes import EVALUATE, Mistake, answered, codes, each, good, nothing

SELECT = ("select", "gt.json", "-o", "part.json")


def images(key, value):
    """Change a key of every image of the ground truth."""

    def spoil(world):
        for one in world.gt["images"]:
            one[key] = value(one)

    return spoil


def turned_sizes(world):
    for one in world.gt["images"]:
        one["width"], one["height"] = one["height"], one["width"]


def annotations(key, value):
    def spoil(world):
        for one in world.gt["annotations"]:
            one[key] = value(one)

    return spoil


def of_class(label, key, value):
    def spoil(world):
        for one in world.dt:
            if one["category_id"] == label:
                one[key] = value(one[key])

    return spoil


def with_unknownness(value):
    def spoil(world):
        rng = np.random.default_rng(0)
        for one in world.dt:
            one["unknownness"] = value(one, rng)

    return spoil


def half_as_text(world):
    for one in world.dt[::2]:
        one["image_id"] = str(one["image_id"])


def without(key, where="annotations"):
    def spoil(world):
        for one in world.gt[where]:
            one.pop(key, None)

    return spoil


def ids_as_names(world):
    """Images of detections called by a path on the machine of somebody else."""
    name = {one["id"]: one["file_name"] for one in world.gt["images"]}
    for one in world.dt:
        one["image_id"] = f"C:\\data\\val\\{name[one['image_id']]}"


def answers(change=lambda t: t):
    """A file of a classifier's logits: known samples of three classes, and unknown ones."""

    def spoil(world):
        rng = np.random.default_rng(1)
        label = np.arange(90) % 3
        logits = rng.normal(0, 1, (90, 3)) + 5 * np.eye(3)[label]
        table = {"logits_k": logits, "labels_k": label, "logits_u": rng.normal(0, 1, (60, 3))}
        np.savez("r.npz", **change(table))

    return spoil


CASES = [
    Mistake("image ids half as text", half_as_text, "accepted"),
    Mistake("category ids as 1.0", each("category_id", float), "accepted"),
    Mistake("scores as text", each("score", str), "refused OS108"),
    Mistake("width and height exchanged", turned_sizes, "refused OS219"),
    Mistake("a class in percent", of_class(1, "score", lambda s: 100 * s), "refused OS208"),
    Mistake(
        "a comma too many in known",
        nothing,
        "accepted",
        (*EVALUATE[:4], "person,,bicycle,car,traffic light,cat", "--no-intervals"),
    ),
    Mistake(
        "known is a file that is not there",
        nothing,
        "refused",
        (*EVALUATE[:4], "knwon.txt", "--no-intervals"),
        "knwon.txt",
    ),
    Mistake("a minimum score in percent", nothing, "refused", ("--minimum-score", "50")),
    Mistake("area lost", annotations("area", lambda a: 0), "warned OS212"),
    Mistake("area in shares", annotations("area", lambda a: a["area"] / 1e5), "warned"),
    Mistake("boxes of masks alone", without("bbox"), "refused OS107"),
    Mistake("paths of another machine", ids_as_names, "accepted"),
    Mistake("unknownness that is constant", with_unknownness(lambda o, r: 0.5), "warned"),
    Mistake(
        "unknownness that is no number", with_unknownness(lambda o, r: float("nan")), "refused"
    ),
    Mistake("unknownness is the score", with_unknownness(lambda o, r: o["score"]), "warned OS319"),
    Mistake("no categories", lambda w: w.gt.update(categories=[]), "refused"),
    Mistake("ids of images as text", images("id", lambda one: str(one["id"])), "accepted|refused"),
    Mistake(
        "a metric that is misspelt",
        nothing,
        "usage",
        ("--metrics", "unknwon_recall"),
        "unknown_recall",
    ),
    Mistake("a protocol that is misspelt", nothing, "usage", ("--protocol", "owodd"), "owod"),
    Mistake(
        "an unknown label that nothing has",
        nothing,
        "refused|warned",
        ("--unknown-label", "unkown"),
        "unkown",
    ),
    Mistake("a seed that is a word", nothing, "usage", ("--seed", "one")),
    Mistake("an output over the input", nothing, "usage", ("-o", "gt.json")),
    Mistake(
        "select a misspelt class",
        nothing,
        "usage|refused",
        (*SELECT, "--classes", "persn"),
        "person",
    ),
    Mistake(
        "select an image that is not there", nothing, "refused|usage", (*SELECT, "--images", "77")
    ),
    Mistake(
        "select onto the input",
        nothing,
        "usage|refused",
        (*SELECT[:3], "gt.json", "--classes", "person"),
    ),
    Mistake("select a share of 80", nothing, "usage|refused", (*SELECT, "--share", "80")),
    Mistake(
        "select the rest onto the part",
        nothing,
        "usage|refused",
        (*SELECT, "--share", "0.5", "--rest", "part.json"),
    ),
    Mistake(
        "select truth and detections at once",
        nothing,
        "refused|usage",
        ("select", "gt.json", "dt.json", "-o", "x.json"),
    ),
    Mistake(
        "merge of files", nothing, "refused|usage", ("merge", "gt.json", "dt.json", "-o", "m.parts")
    ),
    Mistake(
        "convert to an ending that is none",
        nothing,
        "usage|refused",
        ("convert", "gt.json", "-o", "gt.xyz"),
    ),
    Mistake(
        "convert detections to YOLO alone",
        nothing,
        "refused OS110|OS107",
        ("convert", "dt.json", "-o", "y", "--to", "yolo"),
    ),
    Mistake("audit of nothing", nothing, "usage|refused", ("audit",)),
    Mistake("audit of a folder that is none", nothing, "usage|refused", ("audit", "nowhere")),
    Mistake(
        "audit, detections as the test",
        nothing,
        "refused",
        ("audit", "--train", "gt.json", "--test", "dt.json", "--known", "person"),
    ),
    Mistake("learn a file", nothing, "refused|usage", ("learn", "gt.json", "-o", "l")),
    Mistake(
        "train on detections",
        nothing,
        "refused",
        ("train", "faster_rcnn", "dt.json", "-o", "m", "--steps", "1"),
    ),
    Mistake(
        "run a model that is not there",
        nothing,
        "refused|usage",
        ("run", "nowhere.pt", ".", "-o", "d.parquet"),
    ),
    Mistake(
        "run on a folder without images",
        nothing,
        "refused|usage",
        ("run", "faster_rcnn", ".", "-o", "d.parquet"),
    ),
    Mistake(
        "score over its input",
        nothing,
        "usage|refused",
        ("score", "dt.json", "--scorers", "msp", "-o", "dt.json"),
    ),
    Mistake("recognise", answers(), "accepted", ("recognise", "r.npz")),
    Mistake(
        "recognise labels from 1",
        answers(lambda t: t | {"labels_k": t["labels_k"] + 1}),
        "refused OS803|OS814",
        ("recognise", "r.npz"),
    ),
    Mistake(
        "recognise logits on their side",
        answers(lambda t: t | {"logits_k": t["logits_k"].T}),
        "refused OS802",
        ("recognise", "r.npz"),
    ),
    Mistake(
        "recognise labels of another order",
        answers(lambda t: t | {"labels_k": t["labels_k"][::-1].copy()}),
        "refused|warned",
        ("recognise", "r.npz"),
    ),
    Mistake(
        "recognise known samples as unknown",
        answers(lambda t: t | {"logits_u": t["logits_k"][:60]}),
        "warned|refused",
        ("recognise", "r.npz"),
    ),
    Mistake(
        "recognise without unknown samples",
        answers(lambda t: {k: t[k] for k in ("logits_k", "labels_k")}),
        "refused|warned",
        ("recognise", "r.npz"),
    ),
    Mistake("report of what is not there", nothing, "refused|usage", ("report", "nowhere")),
    Mistake("compare of one", nothing, "usage|refused", ("compare", "gt.json")),
    Mistake(
        "build a name that is none", nothing, "usage|refused", ("build", "owdo", "-o", "b"), "owod"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_everyday_mistake(case, here, openset):
    kinds, *code = case.answer.split()
    each_kind = [replace(case, answer=" ".join([kind, *code])) for kind in kinds.split("|")]
    told = [answered(one, here, openset) for one in each_kind]
    assert "" in told, told


@pytest.fixture
def runs(here, openset):
    """Two runs of two detectors, and one of other settings."""
    world = good()
    world.write(here)
    weak = [one for one in world.dt if one["score"] > 0.3]
    (here / "weak.json").write_text(json.dumps(weak))
    for name, dt, more in (
        ("a", "dt.json", ()),
        ("b", "weak.json", ()),
        ("high", "dt.json", ("--minimum-score", "0.5")),
        ("voc", "dt.json", ("--protocol", "opendet")),
        ("few", "dt.json", ("--known", "person,car")),
    ):
        known = () if "--known" in more else EVALUATE[3:5]
        line = ("evaluate", "gt.json", dt, *known, "--no-intervals", "-o", name, *more)
        assert openset(*line).code == 0
    return here


def test_compare_of_a_run_with_itself(runs, openset):
    done = openset("compare", "a", "a")
    assert done.code == 2 and "given twice" in done.err


def test_compare_of_another_minimum_score(runs, openset):
    for pair in (("a", "high"), ("high", "a")):
        done = openset("compare", *pair)
        assert done.code == 0
        assert "OS214" in done.err and "left out of high alone" in " ".join(done.err.split())
    assert "OS214" not in openset("compare", "a", "b").err


def test_compare_of_leaks_that_count_and_leaks_that_are_dropped(runs, openset):
    known = ("--known", "person,car")  # of five that the detector names
    for name, more in (("all", ()), ("drop", ("--leaked", "drop")), ("same", ("--leaked", "drop"))):
        line = ("evaluate", "gt.json", "dt.json", *known, "--no-intervals", "-o", name, *more)
        done = openset(*line)
        assert done.code == 0 and ("OS465" in done.err) == bool(more)
    for pair in (("all", "drop"), ("drop", "all")):
        said = " ".join(openset("compare", *pair).err.split())
        assert "warning OS465" in said and "left out of drop alone" in said
    assert "OS465" not in openset("compare", "drop", "same").err


@pytest.mark.parametrize("other", ["voc", "few"])
def test_compare_of_other_settings(other, runs, openset):
    done = openset("compare", "a", other)
    assert done.code == 2 and "Traceback" not in done.err, done.out


@pytest.mark.parametrize("out", ["a", "page.pdf", "gt.json", "nowhere/deep/page.html/x"])
def test_report_to_a_strange_place(out, runs, openset):
    held = (runs / "gt.json").read_bytes()
    done = openset("report", "a", "-o", out)
    assert done.code == 2 and "Traceback" not in done.err, done.err
    assert (runs / "gt.json").read_bytes() == held


def test_an_evaluation_over_another_run_is_whole(runs, openset):
    line = (*EVALUATE, "-o", "b")
    done = openset(*line)
    assert done.code in (0, 2)
    assert openset("report", "b").code == 0


@pytest.mark.parametrize("verb", ["report", "diagnose"])
def test_a_run_without_a_file_of_its_own(verb, runs, openset):
    for path in (runs / "a").rglob("*.parquet"):
        path.unlink()
    done = openset(verb, "a")
    assert done.code == 2 and "Traceback" not in done.err


def test_harmless_changes_give_the_same_numbers(runs, openset):
    """Other order, other spacing, other spelling of numbers, more keys, an ending of its own."""
    want = openset(*EVALUATE, "--json").json["models"]
    found = json.loads((runs / "dt.json").read_text())
    rng = np.random.default_rng(0)
    mixed = [found[at] | {"id": int(at), "segmentation": []} for at in rng.permutation(len(found))]
    (runs / "dt.json").write_text(json.dumps(mixed, indent=1).replace("e-", "E-"))
    got = openset(*EVALUATE, "--json").json["models"]
    name = next(iter(want))
    for key in ("ap_known", "unknown_recall", "a_ose"):
        if key in want[name]:
            assert got[name][key] == want[name][key]
    assert not {"error", "warning"} & {*codes(openset(*EVALUATE, "--json").json).values()}
