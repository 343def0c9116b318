"""Two sets on the command line: FMIYC's numbers, of either set or of both."""

from __future__ import annotations

import json

import pytest

from scenes.sets import sets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sets().files(tmp_path)
    return tmp_path


def numbers(done):
    return next(iter(json.loads(done.out)["models"].values()))


QUICK = ("--no-intervals", "-q", "--json")


def test_a_pair_of_files_is_one_model(folder, openset):
    done = openset("evaluate", "--id", "id.json", "ood.json", "yolo-id.json+yolo-ood.json", *QUICK)
    assert done.code == 0
    assert list(json.loads(done.out)["models"]) == ["yolo"]
    values = numbers(done)["values"]
    assert values["unknown_precision"]["params"]["set"] == "ood"
    one = openset("evaluate", "--id", "id.json", "ood.json", "m=both.json", *QUICK)
    assert numbers(one)["values"] == values


def test_a_pair_whose_names_begin_otherwise_is_called_by_both(folder, openset):
    for name in ("id", "ood"):
        (folder / f"yolo-{name}.json").rename(folder / f"{name}-dt.json")
    done = openset("evaluate", "--id", "id.json", "ood.json", "id-dt.json+ood-dt.json", *QUICK)
    assert list(json.loads(done.out)["models"]) == ["id-dt+ood-dt"]


def test_the_terminal_says_which_number_is_of_which_set(folder, openset):
    done = openset("evaluate", "--id", "id.json", "ood.json", "both.json", "--no-intervals")
    assert "two sets:" in done.out
    assert "images without predictions, ID" in done.out
    assert "images without predictions, OOD" in done.out
    alone = openset("evaluate", "ood.json", "yolo-ood.json", "--no-intervals")
    assert "two sets" not in alone.out


def test_several_trainings_of_pairs(folder, openset):
    for name in ("id", "ood"):
        found = json.loads((folder / f"yolo-{name}.json").read_text())
        (folder / f"again-{name}.json").write_text(json.dumps(found[1:]))
    pairs = "yolo-id.json+yolo-ood.json,again-id.json+again-ood.json"
    done = openset("evaluate", "--id", "id.json", "ood.json", f"a={pairs}", *QUICK)
    assert list(json.loads(done.out)["methods"]) == ["a"]


def test_a_field_of_the_protocol_is_changed(folder, openset):
    asked = ("evaluate", "ood.json", "yolo-ood.json", *QUICK)
    done = openset(*asked, "--set", "recall=0.3", "--set", "iou=0.5,0.75", "--set", "ties=input")
    provenance = numbers(done)["provenance"]
    assert provenance["deviations"].keys() == {"recall", "iou", "ties"}
    assert provenance["deviations"]["iou"][1] == [0.5, 0.75]
    done = openset(*asked, "--set", "max_detections=none", "--protocol", "coco")
    assert numbers(done)["provenance"]["deviations"] == {"max_detections": [100, None]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("recal=0.3", "Did you mean 'recall'"),
        ("recall=x", "must be a number, not 'x'"),
        ("ties=inputt", "ties"),
        ("iou=0.5,x", "must be a list"),
        ("name=mine", "unknown option"),
        ("recall", "name=value"),
    ],
)
def test_a_field_that_cannot_be_meant_is_refused(folder, openset, text, said):
    done = openset("evaluate", "ood.json", "yolo-ood.json", "--set", text)
    assert done.code == 2
    assert said in " ".join(done.err.split())


def test_the_best_score_is_said(folder, openset):
    asked = ("evaluate", "--id", "id.json", "ood.json", "both.json", "--no-intervals")
    done = openset(*asked, "--minimum-score", "best")
    assert "OS214" in done.err
    assert openset(*asked, "--minimum-score", "bestt").code == 2


def test_three_files_are_refused(folder, openset):
    done = openset("evaluate", "--id", "id.json", "ood.json", "a+b+c")
    assert done.code == 2
    assert "ID_FILE+OOD_FILE" in done.err


def test_strata_have_numbers_with_intervals(folder, openset):
    asked = ("evaluate", "--id", "id.json", "ood.json", "both.json", "--by", "tier", "-q")
    done = openset(*asked, "-o", "run")
    assert "by tier" in done.out
    head = next(line for line in done.out.splitlines() if line.startswith("by tier"))
    assert head.split()[2:] == ["near", "far"]
    document = json.loads(openset(*asked, "--json").out)["strata"]
    near = document["models"]["both"]["near"]
    assert len(near["nose"]["interval"]) == 2
    assert "ap_known" not in near  # the ID set is that of every stratum
    assert openset("report", "run").code == 0
    assert 'class="board by-stratum"' in (folder / "run" / "report.html").read_text()


def test_a_column_that_is_not_there_is_refused(folder, openset):
    asked = ("evaluate", "--id", "id.json", "ood.json", "both.json", "--no-intervals")
    done = openset(*asked, "--by", "teir")
    assert done.code == 2
    assert "Did you mean 'tier'" in " ".join(done.err.split())


def test_how_near_the_tiers_are(folder, openset):
    from scenes.benchmarks import write_coco
    from scenes.wordnet import nouns

    labels = ["dog", "zebra", "pizza", "kite"]
    write_coco(folder / "all.json", {"a": ["dog"], "b": ["zebra"], "c": ["pizza"]}, labels=labels)
    (folder / "data.noun").write_text(nouns())
    (folder / "mine.toml").write_text(
        'summary = "x"\nclasses.known = ["dog"]\nsources.all.path = ["all.json"]\n'
        '[splits.ood]\nkind = "ood"\nsource = "all"\nselect = [{ without = "known" }]\n'
        'tiers = { near = ["zebra"], far = ["pizza"] }\n'
    )
    assert openset("build", "mine.toml", "--source", ".", "-o", "mine").code == 0
    done = openset("similarity", "mine", "--wordnet", "data.noun", "--json")
    near, far = json.loads(done.out)["sets"]
    assert near["wu_palmer"] > far["wu_palmer"] > 0
    assert "ood: near" in openset("similarity", "mine", "--wordnet", "data.noun").out
    assert openset("similarity", "mine").code == 2
