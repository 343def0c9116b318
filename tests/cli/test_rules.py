"""score --rule: OSOD-III's baseline, RE-OWOD's CEC, ORE's EBUI: from files to files."""

from dataclasses import replace

import numpy as np
import pytest

from openset.formats import read_annotations, read_detections, write
from openset.scorers import ledger
from scenes.regions import regions_and_truth

RULE = ("score", "test.parquet", "--rule", "gamma")
CEC = ("score", "test.parquet", "--rule", "cec", "--fit", "train.parquet")
TRUTH = ("--fit-truth", "train.json", "--option", "phi=0.6")
HELD_OUT = ("--calibrate", "val.parquet", "--calibrate-truth", "val.json")


@pytest.fixture
def files(here):
    for seed, name in enumerate(("val", "test", "train")):
        regions, truth = regions_and_truth(seed=seed, split=f"farm {name}")
        write(regions, here / f"{name}.parquet")
        write(truth, here / f"{name}.json")
    return here


def test_a_gamma_by_hand(openset, files):
    done = openset(*RULE, "--option", "gamma=3", "-o", "found.parquet")
    assert done.code == 0, done.err
    assert "given by hand; no leak known" in done.out
    found = read_detections(files / "found.parquet")
    assert found.labels[-1] == "unknown" and (found.label == 4).any()
    facts = openset(*RULE, "--option", "gamma=3", "-o", "found.parquet", "--json").json["rules"]
    assert facts["gamma3-t1"]["options"]["gamma"] == 3
    assert facts["gamma3-t1"]["unknown"] == int((found.label == 4).sum())


def test_a_gamma_that_is_chosen_finds_unknowns_and_keeps_knowns(openset, files):
    done = openset(*RULE, *HELD_OUT, "-o", "chosen.parquet", "--json")
    assert done.code == 0, done.err
    tried = {row["gamma"]: row["ap_known"] for row in done.json["chosen"]["tried"]}
    gamma = done.json["rules"]["gamma"]["options"]["gamma"]
    assert tried[gamma] >= 0.95 * done.json["chosen"]["unchanged"]
    found = read_detections(files / "chosen.parquet")
    assert "threshold from farm val (60 images); no leak known" in ledger.summary(found)
    openset(*RULE, "--option", "gamma=1", "-o", "plain.parquet")
    asked = ("--metrics", "ap_known,ap_unknown", "--no-intervals", "--json")
    told = openset("evaluate", "test.json", "plain.parquet", "chosen.parquet", *asked).json
    plain, chosen = (told["models"][name]["values"] for name in ("plain", "chosen"))
    assert plain["ap_unknown"]["value"] == 0 and chosen["ap_unknown"]["value"] > 0.3
    assert chosen["ap_known"]["value"] > 0.9 * plain["ap_known"]["value"]


def test_a_sweep_is_a_file_each_without_evidence(openset, files):
    options = ("--option", "gamma=1.5,15", "--option", "temperature=1,2", "-o", "sweep")
    done = openset(*RULE, *options)
    assert done.code == 0, done.err
    names = ["gamma1.5-t1", "gamma1.5-t2", "gamma15-t1", "gamma15-t2"]
    assert sorted(path.stem for path in (files / "sweep").iterdir()) == names
    assert done.err.count("warning OS650") == 1  # said once for all of a temperature
    made = [read_detections(files / "sweep" / f"{name}.parquet") for name in names]
    assert all(one.logits is None for one in made)
    unknown = [int((one.label == 4).sum()) for one in made]
    assert unknown[0] < unknown[2]


def test_other_options_reach_the_rule(openset, files):
    options = ("--option", "gamma=15", "-o", "a.parquet", "--json")
    plain = openset(*RULE, *options).json["rules"]["gamma15-t1"]["detections"]
    for more in ("duplicates=better", "limit=1", "minimum_score=0.5"):
        fewer = openset(*RULE, *options, "--option", more).json["rules"]["gamma15-t1"]
        assert fewer["detections"] < plain
    wide = openset(*RULE, *options, "--option", "nms=0.95").json["rules"]["gamma15-t1"]
    assert wide["detections"] > plain


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("score", "test.parquet", "-o", "a.parquet"), "or --rule gamma, cec or ebui"),
        ((*RULE, "--option", "gama=3", "-o", "a.parquet"), "Did you mean 'gamma'"),
        ((*RULE, "--scorers", "msp", "-o", "a.parquet"), "or --rule gamma, cec or ebui"),
        ((*RULE, "-o", "a.parquet"), "--option gamma=15, or --calibrate"),
        ((*RULE, "--fit", "val.parquet", "-o", "a.parquet"), "fits nothing"),
        ((*RULE, *HELD_OUT[:2], "-o", "a.parquet"), "--calibrate and --calibrate-truth together"),
        ((*RULE, "--option", "gamma=three", "-o", "a.parquet"), "a number or several"),
        ((*RULE, "--option", "gamma=0.5", "-o", "a.parquet"), "at least 1"),
        ((*RULE, "--option", "gamma=3", "--option", "topp=2", "-o", "a.parquet"), "'top'"),
        ((*RULE, "--option", "gamma=3", "--option", "top=two", "-o", "a"), "a whole number"),
        ((*RULE, "--option", "gamma=3,4", "-o", "a.parquet"), "need a folder"),
        ((*RULE, "--calibrate", "test.parquet", *HELD_OUT[2:], "-o", "a.parquet"), "OS505"),
        (("score", "val.json", "--rule", "gamma", "--option", "gamma=3", "-o", "a.parquet"), "OS"),
    ],
)
def test_everyday_mistakes(openset, files, command, words):
    done = openset(*command)
    assert done.code == 2
    assert words in " ".join(done.err.split())
    assert not (files / "a.parquet").exists()


def test_detections_in_place_of_regions(openset, files):
    openset(*RULE, "--option", "gamma=3", "-o", "found.parquet")
    done = openset("score", "found.parquet", *RULE[2:], "--option", "gamma=3", "-o", "a.parquet")
    assert done.code == 2 and "OS648" in done.err
    found = read_detections(files / "test.parquet")
    assert np.array_equal(found.score, regions_and_truth(seed=1)[0].score)


def test_an_alpha_by_hand(openset, files):
    done = openset(*CEC, *TRUTH, "-o", "found.parquet")
    assert done.code == 0, done.err
    assert "cec fitted on farm train (60 images)" in done.out
    assert "cec rule (alpha 0.5, phi 0.6) given by hand; no leak known" in done.out
    found = read_detections(files / "found.parquet")
    assert found.labels[-1] == "unknown" and (found.label == 4).any()


def test_an_alpha_by_the_papers_rule(openset, files):
    done = openset(*CEC, *TRUTH, *HELD_OUT, "-o", "chosen.parquet", "--json")
    assert done.code == 0, done.err
    chosen, tried = done.json["rules"]["cec"]["options"], done.json["chosen"]["tried"]
    assert {row["phi"] for row in tried} == {0.6} and len(tried) == 21
    least = 0.99 * done.json["chosen"]["unchanged"]
    assert chosen["alpha"] == max(row["alpha"] for row in tried if row["ap_known"] >= least)
    said = ledger.summary(read_detections(files / "chosen.parquet"))
    assert "threshold from farm val (60 images); no leak known" in said
    openset(*CEC, *TRUTH, "--option", "alpha=0", "-o", "plain.parquet")
    asked = ("--metrics", "ap_known,a_ose", "--no-intervals", "--json")
    told = openset("evaluate", "test.json", "plain.parquet", "chosen.parquet", *asked).json
    plain, cec = (told["models"][name]["values"] for name in ("plain", "chosen"))
    assert cec["a_ose"]["value"] < plain["a_ose"]["value"]
    freer = openset(*CEC, *TRUTH, *HELD_OUT, "--known-share", "0.5", "-o", "b.parquet", "--json")
    assert freer.json["rules"]["cec"]["options"]["alpha"] > chosen["alpha"]


def test_the_curve_over_alpha_and_phi(openset, files):
    options = ("--option", "alpha=0.2,0.5", "--option", "phi=0.5,0.6")
    done = openset(*CEC, *TRUTH[:2], *options, *HELD_OUT, "--known-share", "0.1", "-o", "c.parquet")
    assert done.code == 0, done.err
    head, *rows = (line.split() for line in done.out.splitlines()[1:4])
    assert head == ["alpha", "phi", "0.5", "phi", "0.6"]
    assert [row[0] for row in rows] == ["0.2", "0.5"]
    done = openset(*CEC, *TRUTH[:2], *options, "-o", "sweep")
    assert done.code == 0, done.err
    names = ["alpha0.2-phi0.5", "alpha0.2-phi0.6", "alpha0.5-phi0.5", "alpha0.5-phi0.6"]
    assert sorted(path.stem for path in (files / "sweep").iterdir()) == names


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((*CEC[:4], "-o", "a.parquet"), "--rule cec needs --fit and --fit-truth"),
        ((*CEC, "-o", "a.parquet"), "OS501"),
        ((*CEC, *TRUTH[:2], "--option", "phi=1", "-o", "a.parquet"), "phi must be"),
        ((*CEC, *TRUTH, "--option", "alpha=-1", "-o", "a.parquet"), "at least 0"),
        ((*CEC, *TRUTH, "--option", "ranking=loud", "-o", "a.parquet"), "ranking"),
        ((*CEC, *TRUTH, "--option", "alfa=1", "-o", "a.parquet"), "'alpha'"),
        ((*CEC[:5], "test.parquet", *TRUTH, "-o", "a.parquet"), "OS505"),
    ],
)
def test_everyday_mistakes_with_cec(openset, files, command, words):
    done = openset(*command)
    assert done.code == 2
    assert words in " ".join(done.err.split())
    assert not (files / "a.parquet").exists()


EBUI = ("score", "found.parquet", "--rule", "ebui", "--fit", "val.parquet")


@pytest.fixture
def detected(openset, files):
    """What a detector finds in the end, on the test images."""
    openset(*RULE, "--option", "gamma=1", "-o", "named.parquet")
    found = read_detections(files / "named.parquet")
    bare = replace(found, labels=found.labels[:-1], unknownness=None, provenance={})
    write(ledger.of_split(bare, "farm test"), files / "found.parquet")
    return files


def test_ebui_is_told_and_says_so(openset, detected):
    done = openset(*EBUI, "--fit-truth", "val.json", "-o", "ebui.parquet")
    assert done.code == 0, done.err
    assert "LEAK: FITTED ON THE LABELS OF UNKNOWN OBJECTS" in done.out
    found = read_detections(detected / "ebui.parquet")
    assert found.labels[-1] == "unknown" and (found.label == 4).any()
    asked = ("--metrics", "a_ose,unknown_recall", "--no-intervals", "--json")
    told = openset("evaluate", "test.json", "found.parquet", "ebui.parquet", *asked).json
    plain, ebui = (told["models"][name]["values"] for name in ("found", "ebui"))
    assert ebui["a_ose"]["value"] < plain["a_ose"]["value"]
    assert ebui["unknown_recall"]["value"] > 0.3
    scored = ("score", "found.parquet", "--scorers", "ebui", "--fit", "val.parquet")
    done = openset(*scored, "--fit-truth", "val.json", "-o", "scored.parquet")
    assert done.code == 0 and "LEAK" in done.out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((*EBUI, "-o", "a.parquet"), "ebui needs --fit and --fit-truth"),
        ((*EBUI, "--fit-truth", "val.json", *HELD_OUT, "-o", "a.parquet"), "nothing is calibrated"),
        ((*EBUI, "--fit-truth", "known.json", "-o", "a.parquet"), "OS675"),
    ],
)
def test_everyday_mistakes_with_ebui(openset, detected, command, words):
    truth = read_annotations(detected / "val.json")
    write(replace(truth, label=truth.label % 4), detected / "known.json")
    done = openset(*command)
    assert done.code == 2
    assert words in " ".join(done.err.split())
