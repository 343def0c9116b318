"""Every verb, when all is well: what it prints, where, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openset.cli import _app, _front
from openset.cli._front import verbs
from scenes.cli import write_pictures, write_trainings


@pytest.fixture
def run(scene, openset):
    assert openset("evaluate", "gt.json", "base.json", "shy.json", "-o", "run", "-q", *K).code == 0
    return scene / "run"


K = ["--known", "known.txt"]
AUROC = ["--metrics", "auroc"]
EVALUATE = {
    "one-model": ["gt.json", "base.json", *K],
    "two-models": ["gt.json", "base.json", "shy.json", *K],
    "no-intervals": ["gt.json", "base.json", "--no-intervals", *K],
    "metrics": ["gt.json", "base.json", *K, "--metrics", "a_ose,unknown_recall,ap_previous"],
    "known": ["gt.json", "base.json", "--known", "dog,zebra", "--metrics", "a_ose"],
    "protocol": ["gt.json", "base.json", *K, "--protocol", "owod", "--quiet"],
    "no-number": ["gt.json", "base.json", "shy.json", "--known", "dog,cat,zebra", "-q"],
    "kept": ["gt.json", "base.json", *K, "-o", "my run", "--metrics", "udr"],
    "column-as-unknownness": ["gt.json", "base.json", *K, "--unknownness", "odd", *AUROC],
    "minimum-score": ["gt.json", "base.json", *K, "--minimum-score", "0.4", *AUROC],
}


@pytest.mark.parametrize("name", EVALUATE)
def test_evaluate(name, scene, openset, snapshot):
    found = json.loads((scene / "base.json").read_text())
    for row, record in enumerate(found):
        record["odd"] = row / len(found)
    (scene / "base.json").write_text(json.dumps(found))
    done = openset("evaluate", *EVALUATE[name])
    assert done.code == 0
    snapshot(f"evaluate/{name}", done)


def test_evaluate_at_140_columns(scene, openset, snapshot, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    snapshot("evaluate/wide", openset("evaluate", "gt.json", "base.json", "shy.json", "-q", *K))


def test_no_line_is_wider_than_the_terminal(scene, openset, monkeypatch):
    for width in (80, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        names = [f"a-detector-with-a-long-name-{i}.json" for i in range(5)]
        for name in names:
            (scene / name).write_text((scene / "base.json").read_text())
        done = openset("evaluate", "gt.json", *names, *K)
        assert max(map(len, done.out.splitlines())) <= width
        assert max(map(len, done.err.splitlines())) <= width


def test_many_models_go_on_below(scene, openset, monkeypatch):
    for i in range(4):
        (scene / f"model{i}.json").write_text((scene / "base.json").read_text())
    models = [f"model{i}.json" for i in range(4)]
    narrow = openset("evaluate", "gt.json", *models, "-q", *K).out
    assert narrow.count("AP known, %") == 2
    monkeypatch.setenv("COLUMNS", "140")
    assert openset("evaluate", "gt.json", *models, "-q", *K).out.count("AP known, %") == 1


@pytest.mark.parametrize("stand_in", [-100, 81, 3])
def test_the_unknown_label_by_id_and_by_name(stand_in, scene, openset):
    """Id 3 has a name in the ground truth, which is then what to call it by."""
    options = ("--leaked=drop", "--no-intervals", "-q", "--json", *K)
    plain = openset("evaluate", "gt.json", "base.json", *options).json["models"]["base"]
    found = json.loads((scene / "base.json").read_text())
    for record in found:
        record["category_id"] = stand_in if record["category_id"] == 9 else record["category_id"]
    (scene / "other.json").write_text(json.dumps(found))
    label = "zebra" if stand_in == 3 else stand_in
    done = openset("evaluate", "gt.json", "other.json", f"--unknown-label={label}", *options)
    other = done.json["models"]["other"]
    assert other["values"]["unknown_recall"]["value"] > 0
    assert other["values"] == plain["values"]
    assert other["provenance"]["inputs"] == {"truth": "gt.json", "detections": "other.json"}
    wrong = openset("evaluate", "gt.json", "base.json", "--unknown-label", "alien")
    assert wrong.code == 2 and "alien" in wrong.err


LEVELS = ["--recall", "0.3,0.5", "--ratio", "0.2", "--tpr", "0.8"]


def test_levels(scene, openset, snapshot):
    only = ["--metrics", "wilderness_impact,average_wilderness_impact,fpr_at_95_tpr"]
    done = openset("evaluate", "gt.json", "base.json", "shy.json", *K, *only, *LEVELS, "-o", "run")
    snapshot("evaluate/levels", done)
    held = json.loads((scene / "run" / "shy.result.json").read_text())
    names = {
        "wilderness_impact@0.3@ratio=0.2",
        "average_wilderness_impact@0.5",
        "fpr_at_95_tpr@0.8",
    }
    assert names <= held["values"].keys() & held["replicates"].keys()
    assert openset("report", "run").code == 0
    page = (scene / "run" / "report.html").read_text("utf-8")
    for name in names:
        assert f'data-metric="{name}"' in page
    found = openset("compare", "run/base.result.json", "run/shy.result.json")
    assert "FPR at TPR 0.8" in found.out


@pytest.mark.parametrize("levels", ["0", "1.5", "0.5,0.5", "half", "nan", "-1"])
def test_what_is_no_level_is_said(levels, scene, openset):
    done = openset("evaluate", "gt.json", "base.json", *K, f"--recall={levels}")
    assert (done.code, done.out) == (2, "")
    assert "error OS420" in done.err


def test_levels_in_a_file_of_settings(scene, openset):
    (scene / "openset.toml").write_text("[evaluate]\nrecall = [0.3, 0.5]\n")
    done = openset("evaluate", "gt.json", "base.json", "--no-intervals", "-q", *K)
    assert "AWI at recall 0.3" in done.out and "AWI at recall 0.5" in done.out


def test_evaluate_json(scene, openset):
    done = openset("evaluate", "gt.json", "base.json", "shy.json", "--json", *K)
    document = done.json
    assert document["schema_version"] == 1 and document["exit_code"] == 0
    assert list(document["models"]) == ["base", "shy"]
    values = document["models"]["base"]["values"]
    assert 0 < values["unknown_recall"]["value"] < 1
    assert document["differences"]["shy"]["a_ose"]["interval"]
    assert "checked" in done.err


def test_what_is_found_of_models_together_is_for_programs_too(scene, openset):
    line = ("evaluate", "gt.json", "base.json", "again=base.json", "--no-intervals", *K)
    said = {
        name: [one["code"] for one in of]
        for name, of in openset(*line, "--json").json["findings"].items()
    }
    assert "OS447" in said["again"] and "OS447" not in said["base"]
    shown = openset(*line).err
    assert all(f"{code}  {name}:" in shown for name, codes in said.items() for code in codes)


def test_quiet_says_nothing_else(scene, openset):
    done = openset("evaluate", "gt.json", "base.json", "--quiet", "--no-intervals")
    assert done.err == "" and "AP known" in done.out


def test_the_same_name_twice_takes_the_folder(scene, openset):
    for name in ("one", "two"):
        (scene / name).mkdir()
        (scene / name / "dt.json").write_text((scene / "base.json").read_text())
    done = openset("evaluate", "gt.json", "one/dt.json", "two/dt.json", "--no-intervals", "-q")
    assert "one/dt" in done.out and "two/dt" in done.out
    assert openset("evaluate", "gt.json", "one/dt.json", "one/dt.json").code == 2


@pytest.fixture
def trained(scene):
    write_trainings(scene)
    return [f"{name}=" + ",".join(f"{name}{seed}.json" for seed in range(3)) for name in "ab"]


def test_evaluate_methods_of_several_trainings(trained, openset, snapshot, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    some = ("--metrics", "udr,a_ose,unknown_recall", *K)
    snapshot("evaluate/trainings", openset("evaluate", "gt.json", *trained, "base.json", *some))


def test_several_trainings_for_programs(trained, openset):
    done = openset("evaluate", "gt.json", *trained, "--metrics", "udr", "--json", "-q", *K)
    document = done.json
    assert list(document["models"]) == ["a.1", "a.2", "a.3", "b.1", "b.2", "b.3"]
    held = document["methods"]["a"]
    udr = held["values"]["udr"]
    each = [document["models"][f"a.{at}"]["values"]["udr"]["value"] for at in (1, 2, 3)]
    assert held["runs"] == 3 and udr["runs"] == each
    assert udr["value"] == pytest.approx(sum(each) / 3)
    assert udr["sd_images"] > 0 and udr["sd_training"] > 0
    difference = document["differences"]["b"]["udr"]
    assert difference["runs"] == [3, 3] and difference["sd_training"] > 0
    single = openset("evaluate", "gt.json", "a0.json", "--metrics", "udr", "--json", "-q", *K)
    assert single.json["methods"]["a0"]["values"]["udr"]["sd_training"] is None


def test_a_name_that_comes_again_adds_a_training(trained, openset):
    plain = openset("evaluate", "gt.json", *trained, "--no-intervals", "-q", *K)
    files = [f"{name}={name}{seed}.json" for name in "ab" for seed in range(3)]
    assert openset("evaluate", "gt.json", *files, "--no-intervals", "-q", *K).out == plain.out


def test_a_file_may_have_a_name_with_a_sign_of_equality(scene, openset):
    (scene / "lr=0.1.json").write_text((scene / "base.json").read_text())
    done = openset("evaluate", "gt.json", "lr=0.1.json", "--no-intervals", "-q", *K)
    assert done.code == 0 and "lr=0.1" in done.out


def test_compare_methods_of_several_trainings(trained, openset, snapshot, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    assert openset("evaluate", "gt.json", *trained, "-o", "run", "-q", *K).code == 0
    a, b = (",".join(f"run/{name}.{at}.result.json" for at in (1, 2, 3)) for name in "ab")
    gate = ("--fail-on-regression", "udr", "--metrics", "udr,a_ose")
    snapshot("compare/trainings", openset("compare", f"a={a}", f"b={b}", *gate))
    paired = openset("compare", f"a={a}", f"b={b}", "--paired", "--json")
    assert paired.json["methods"]["b"]["runs"] == 3
    snapshot("compare/one-training", openset("compare", f"a={a}", "run/b.1.result.json", *gate))
    few = openset("compare", f"a={a}", "run/b.1.result.json", "--paired")
    assert few.code == 2 and "3 and 1 trainings cannot be paired" in few.err


METHODS = {
    "a-training-twice": ["evaluate", "gt.json", "a=a0.json,a1.json,a0.json", *K],
    "no-file-of-a-method": ["evaluate", "gt.json", "a=", *K],
    "two-models-of-a-name": ["evaluate", "gt.json", "base=a0.json", "base.json", *K],
    "a-name-after-its-model": ["evaluate", "gt.json", "base.json", "base=a0.json", *K],
    "one-method-to-compare": ["compare", "a=a0.json", "a=a1.json"],
}


@pytest.mark.parametrize("name", METHODS)
def test_mistakes_about_trainings(name, trained, openset, snapshot):
    done = openset(*METHODS[name])
    assert done.code == 2
    snapshot(f"trainings/{name}", done)


COMPARE = {
    "no-gate": [],
    "regression": ["--fail-on-regression", "unknown_recall"],
    "no-direction": ["--fail-on-regression", "detections_per_image"],
    "no-regression": ["--fail-on-regression", "a_ose", "--metrics", "a_ose,udr"],
}


@pytest.mark.parametrize("name", COMPARE)
def test_compare(name, run, openset, snapshot):
    done = openset("compare", "run/base.result.json", "run/shy.result.json", *COMPARE[name])
    snapshot(f"compare/{name}", done)


def test_compare_json(run, openset):
    done = openset(
        "compare", "run/base.result.json", "run/shy.result.json", "--json",
        "--fail-on-regression", "unknown_recall",
    )  # fmt: skip
    assert done.code == done.json["exit_code"] == 1
    assert done.json["gates"] == {"unknown_recall": False}


def test_check(scene, openset, snapshot):
    done = openset("check", "gt.json", "base.json", "--known", "dog,")
    assert done.code == 0
    snapshot("check/warnings", done)
    found = [r | {"score": 100 * r["score"]} for r in json.loads((scene / "base.json").read_text())]
    (scene / "percent.json").write_text(json.dumps(found))
    wrong = openset("check", "gt.json", "percent.json")
    assert wrong.code == 1
    snapshot("check/errors", wrong)
    assert openset("check", "gt.json").code == 0
    document = openset("check", "gt.json", "percent.json", "--json").json
    assert document["exit_code"] == 1
    assert document["findings"]["percent"][0]["code"] == "OS208"


def test_convert(scene, openset, snapshot):
    snapshot("convert/csv", openset("convert", "base.json", "-o", "base.csv", "--truth", "gt.json"))
    assert openset("convert", "base.json", "-o", "base.parquet").code == 0
    assert openset("convert", "gt.json", "-o", "labels", "--to", "voc", "-q").out.endswith(
        "as voc\n"
    )
    assert openset("convert", "base.parquet", "-o", "again.json", "--json").json["format"] == "coco"
    same = [json.loads((scene / name).read_text()) for name in ("base.json", "again.json")]
    assert [r["bbox"] for r in same[0]] == [r["bbox"] for r in same[1]]


@pytest.mark.parametrize("term", ["wi", "OS203", "a-ose"])
def test_explain(term, openset, snapshot):
    done = openset("explain", term)
    assert done.code == 0 and len(done.out) > 200 and not done.err
    if term == "OS203":
        snapshot("explain/code", done)
    assert openset("explain", term, "--json").json["name"]


@pytest.mark.parametrize("topic", [None, "protocols", "vocabularies", "formats"])
def test_list(topic, openset, snapshot):
    done = openset("list", *([topic] if topic else []))
    assert done.code == 0
    if topic in ("vocabularies", "formats"):
        snapshot(f"list/{topic}", done)
    if topic:
        entries = openset("list", topic, "--json").json["entries"]
        assert entries.keys() == {
            line.split()[0] for line in done.out.splitlines() if line[0] != " "
        }


def test_list_walks_the_discovered_tables(openset):
    from openset.codes import CODES
    from openset.metrics import table

    assert openset("list", "metrics", "--json").json["entries"].keys() == table().keys()
    assert openset("list", "codes", "--json").json["entries"].keys() == CODES.keys()
    topics = openset("list", "--json").json["topics"]
    assert {"metrics", "scorers", "formats", "protocols", "vocabularies"} <= set(topics)
    for topic in topics:
        assert openset("list", topic).code == 0


def test_draw(run, openset, snapshot):
    from PIL import Image

    write_pictures(run.parent / "images")
    done = openset("draw", "run", "--images", "images", "--limit", "3")
    assert done.code == 0
    snapshot("draw/three", done)
    drawn = sorted((run.parent / "run-drawn").iterdir())
    assert len(drawn) == 3
    with Image.open(drawn[0]) as picture:
        colours = {colour for _, colour in picture.getcolors(1 << 24)}
    # On grey pictures, every kind of box shows in its colour (of the legend at least).
    for colour in ("#999999", "#0072B2", "#009E73", "#CC79A7", "#D55E00"):
        assert tuple(bytes.fromhex(colour[1:])) in colours
    again = openset("draw", "run", "--images", "images", "--limit", "3")
    assert again.code == 2 and "not empty: name another" in again.err


def test_draw_one_image(run, openset):
    write_pictures(run.parent / "images")
    name = json.loads((run.parent / "gt.json").read_text())["images"][0]["file_name"]
    done = openset("draw", "run", "--images", "images", "--only", name, "-o", "out", "--json")
    assert len(done.json["images"]) == 1 and done.code == 0
    assert openset("draw", "run", "--images", "images", "--only", "nothing.jpg").code == 2


def test_completion(openset):
    for shell in ("bash", "zsh", "fish"):
        done = openset("completion", shell)
        assert done.code == 0 and "evaluate" in done.out
    assert "--protocol" in openset("completion", "bash").out


@pytest.mark.parametrize("verb", [None, *verbs()])
def test_help_says_the_exit_codes(verb, openset):
    done = openset(*([verb] if verb else []), "--help")
    assert done.code == 0
    assert "Exit codes: 0 computed, 1 computed and the answer is no, 2 could" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_help_lists_every_verb(openset):
    shown = openset("--help").out
    for verb in verbs():
        assert f"│ {verb} " in shown
    assert openset().out == shown  # nothing typed is a question too
    assert openset("help").out == shown
    assert openset("--json", "--help").out == shown
    for asked in ("help", "-h"):
        assert openset(asked, "evaluate").out == openset("evaluate", "--help").out
    assert openset("--version").out.strip() == "0.1.0"


@pytest.mark.parametrize("verb", verbs())
def test_the_front_page_reads_what_an_import_would_say(verb):
    assert _front._FACTS.search(Path(_front.__file__).with_name(f"{verb}.py").read_text("utf-8"))
    assert _front._facts(verb, verbs()[verb]) == _app.facts(verb)


def test_the_front_page_where_frames_cannot_be_drawn():
    assert _front.front_page(60, encoding="cp1252").isascii()
    assert "│ evaluate " in _front.front_page(60)
    assert max(map(len, _front.front_page(60).splitlines())) == 60


def test_help_snapshots(openset, snapshot):
    snapshot("help/evaluate", openset("evaluate", "--help"))
    snapshot("help/compare", openset("compare", "--help"))


def test_a_comparison_keeps_to_the_terminal(run, openset, monkeypatch):
    monkeypatch.setenv("COLUMNS", "75")
    done = openset("compare", "run/base.result.json", "run/shy.result.json")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 75
    values, differences = done.out.split("\n\n")
    assert "shy" in values and "95 % interval" in differences


def test_a_run_of_several_models_is_not_one_result(run, openset):
    done = openset("compare", "run", "run/shy.result.json")
    assert done.code == 2 and "OS103" in done.err and "run/base" in done.err


def test_a_run_is_found_one_folder_deeper(run, openset):
    run.rename(run.with_name("moved"))
    (run.parent / "outer").mkdir()
    run.with_name("moved").rename(run.parent / "outer" / "run")
    done = openset("report", "outer")
    assert done.code == 2
    assert "give outer/run" in done.err.replace("\\", "/")
