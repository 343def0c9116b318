"""What was fitted on what: saved with the scorer, carried by detections, refused when it leaks."""

import os
from dataclasses import replace

import numpy as np
import pytest

from openset import scorers
from openset.findings import InputError, UsageError
from openset.formats import read_detections, write
from openset.scorers import ledger
from openset.tables import LogitLayout
from scenes import scorers as scenes


def named_unknown(detections, rows):
    label = detections.label.copy()
    label[rows] = len(scenes.NAMES)
    return replace(detections, label=label, labels=(*scenes.NAMES, "unknown"))


# ---------------------------------------------------------------------- fitted scorers on disk


@pytest.mark.parametrize("name", scorers.table())
def test_round_trip(name, tmp_path):
    fitted, test = scenes.fitted(name), scenes.scene(seed=1)
    fitted.save(tmp_path / "one.npz")
    fitted.save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    again = scorers.load(tmp_path / "one.npz")
    assert np.array_equal(again.score(test), fitted.score(test))
    assert (again.entry, again.options) == (fitted.entry, fitted.options)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.npz", "two.npz"]
    with np.load(tmp_path / "one.npz", allow_pickle=False) as file:
        assert all(file[key].dtype.kind in "biufU" for key in file.files)


def test_head_round_trip(tmp_path):
    scorers.save_head(scenes.head(LogitLayout.SIGMOID), tmp_path / "head.npz")
    head = scorers.load_head(tmp_path / "head.npz")
    assert head.layout is LogitLayout.SIGMOID
    assert np.array_equal(head.weight, scenes.head(LogitLayout.SIGMOID).weight)
    with pytest.raises(InputError, match=r"OS507.*holds head.*not fitted scorer"):
        scorers.load(tmp_path / "head.npz")


def test_damaged_files(tmp_path):
    good = tmp_path / "good.npz"
    scenes.fitted("knn").save(good)
    data = good.read_bytes()
    with pytest.raises(InputError, match="OS101"):
        scorers.load(tmp_path / "none.npz")
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, openset=np.array([{}], dtype=object))
    bare = tmp_path / "bare.npz"
    np.savez(bare, values=np.zeros(3))
    number = tmp_path / "number.npz"
    np.savez(number, openset=np.array("3"))
    paths = [pickled, bare, number]
    for i, content in enumerate((b"", b"PK\3\4 nonsense", data[: len(data) // 2])):
        paths.append(tmp_path / f"bad{i}.npz")
        paths[-1].write_bytes(content)
    for path in paths:
        with pytest.raises(InputError, match="OS507"):
            scorers.load(path)
    with pytest.raises(InputError, match="OS102"):
        scenes.fitted("knn").save(good / "folder.npz")


@pytest.mark.parametrize("damage", ["layout", "weight", "bias"])
def test_a_damaged_head(damage, tmp_path):
    scorers.save_head(scenes.head(), tmp_path / "head.npz")
    scenes.fitted("ash").save(tmp_path / "fitted.npz")
    for name, load in (("head.npz", scorers.load_head), ("fitted.npz", scorers.load)):
        with np.load(tmp_path / name) as file:
            held = {key: file[key] for key in file.files}
        prefix = "" if name == "head.npz" else "head."
        if damage == "layout":
            held["openset"] = np.array(str(held["openset"]).replace("softmax-", "bogus-"))
        else:
            held[prefix + damage] = np.array(["x", "y"])
        np.savez(tmp_path / name, **held)
        with pytest.raises(InputError, match="OS507"):
            load(tmp_path / name)


class Hostile:
    """An object whose unpickling makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_nothing_is_unpickled(tmp_path):
    marker, path = tmp_path / "executed", tmp_path / "hostile.npz"
    np.savez(path, openset=np.array([Hostile(str(marker))], dtype=object))
    with pytest.raises(InputError, match="OS507"):
        scorers.load(path)
    assert not marker.exists()


def test_of_an_unknown_scorer(tmp_path):
    fitted = scenes.fitted("energy")
    other = replace(fitted, scorer=replace(fitted.scorer, name="enerty"))
    other.save(tmp_path / "other.npz")
    with pytest.raises(UsageError, match="Did you mean 'energy'"):
        scorers.load(tmp_path / "other.npz")


# ---------------------------------------------------------------------- leaks


@pytest.mark.parametrize(
    ("split", "test"),
    [
        ("voc2007 test", True),
        ("test-dev2017", True),
        ("digits/test", True),
        ("eval", True),
        ("wilderness", True),
        ("train", False),
        ("val2017", False),
        ("latest", False),
        ("contest photos", False),
    ],
)
def test_what_a_split_is_called(split, test):
    assert ledger.is_test(split) is test


FITTING = [name for name, record in scorers.table().items() if record.fits_on != "nothing"]


@pytest.mark.parametrize("name", FITTING)
def test_fitting_refuses_test_data(name):
    test = scenes.scene(400, split="voc test")
    with pytest.raises(InputError, match=f"OS505.*{name}.*'voc test'"):
        scenes.fitted(name, test)
    fitted = scenes.fitted(name, test, force=True)
    assert "LEAK: fitted on test data" in ledger.summary(fitted.scored(scenes.scene(split="val")))


@pytest.mark.parametrize("name", [n for n in FITTING if not scorers.find(n).uses_unknown])
def test_fitting_refuses_unknown_objects(name):
    mixed = named_unknown(scenes.scene(400), [7, 9])
    with pytest.raises(InputError, match=r"OS506[\s\S]*detection 7") as caught:
        scenes.fitted(name, mixed)
    assert caught.value.findings[0].count == 2
    assert scenes.fitted(name, mixed, force=True).entry.leaks == ("fitted on unknown objects",)


def test_a_scorer_that_uses_unknowns_says_so():
    record = replace(scorers.find("knn"), uses_unknown=True)
    fitted = record.fit(named_unknown(scenes.scene(400), [7]))
    assert fitted.entry.uses_unknown
    assert fitted.entry.leaks == (ledger.TOLD,)
    assert "yes" in ledger.table(fitted.scored(scenes.scene(split="test"))).text()


def test_scoring_what_it_was_fitted_on_is_told():
    train = scenes.scene(400, seed=9)
    fitted = scenes.fitted("knn", train)
    assert "LEAK: scored 100 images it was fitted on" in ledger.summary(fitted.scored(train))
    # The same numbers name other images in another split.
    assert "no leak" in ledger.summary(fitted.scored(scenes.scene(split="test")))
    unstated = replace(scenes.scene(8), provenance={})
    assert "scored 2 images" in ledger.summary(fitted.scored(unstated))
    assert "no leak" in ledger.summary(scenes.fitted("energy").scored(train))


# ---------------------------------------------------------------------- the ledger travels


def pipeline():
    train, val = scenes.scene(400, seed=9), scenes.scene(seed=1, split="val")
    fitted = scenes.fitted("knn", train)
    limit = scorers.calibrate(fitted.scored(val))
    return limit.relabel(fitted.scored(scenes.scene(seed=2, split="test")))


def test_ledger_tells_the_whole_way():
    steps = [(e.step, e.name, e.split) for e in ledger.entries(pipeline())]
    expected = [("fit", "knn", "train"), ("score", "knn", "test"), ("threshold", "quantile", "val")]
    assert steps == expected
    line = (
        "knn fitted on train (100 images); quantile threshold from val (50 images); no leak known"
    )
    assert ledger.summary(pipeline()) == line
    text = ledger.table(pipeline()).text()
    assert len(text.splitlines()) == 4
    assert ledger.entries(pipeline())[0].options == {"k": 10, "normalize": True}


def test_ledger_survives_parquet(tmp_path):
    found = pipeline()
    write(found, tmp_path / "found.parquet")
    again = read_detections(tmp_path / "found.parquet")
    assert ledger.entries(again) == ledger.entries(found)
    assert ledger.summary(again) == ledger.summary(found)
    assert np.array_equal(again.attributes["logit_samples"], found.attributes["logit_samples"])
    rescored = scenes.fitted("energy").scored(again)
    assert [e.name for e in ledger.entries(rescored)] == ["knn", "knn", "quantile", "energy"]


def test_a_new_score_replaces_the_last():
    once = scenes.fitted("knn").scored(scenes.scene(split="test"))
    twice = scenes.fitted("mahalanobis").scored(once)
    assert [e.name for e in ledger.entries(twice)] == ["mahalanobis"] * 2
    assert ledger.summary(scenes.scene()) == "nothing was fitted; no leak known"


def test_a_score_of_another_scorer_than_the_labels_is_named():
    first = ledger.recorded(
        scenes.scene(),
        ledger.LedgerEntry("fit", "knn", "train", 9, 90),
        ledger.LedgerEntry("score", "knn", "test", 9, 90),
        ledger.LedgerEntry("threshold", "quantile", "val", 9, 90),
    )
    assert "unknownness" not in ledger.summary(first)
    then = ledger.recorded(first, ledger.LedgerEntry("score", "energy", "test", 9, 90))
    assert "; unknownness of energy, which fits nothing; no leak known" in ledger.summary(then)


def test_threshold_from_the_data_it_is_applied_to():
    val = scenes.fitted("energy").scored(scenes.scene(split="val"))
    new = scorers.calibrate(val).relabel(val)
    assert "LEAK: threshold from 50 images it is applied to" in ledger.summary(new)


def test_threshold_from_the_data_of_the_fit():
    train = scenes.scene(400, seed=9)
    limit = scorers.calibrate(scenes.fitted("knn", train).scored(train))
    assert limit.leaks == ("threshold from images the scorer was fitted on",)


def test_what_it_refuses():
    with pytest.raises(UsageError, match="a split is a name"):
        scorers.of_split(scenes.scene(), "")
    with pytest.raises(InputError, match=r"OS507.*ledger"):
        ledger.entries(replace(scenes.scene(), provenance={"ledger": [{"step": "fit"}]}))
    with pytest.raises(InputError, match=r"OS507.*ledger"):
        ledger.entries(replace(scenes.scene(), provenance={"ledger": ["fit"]}))
