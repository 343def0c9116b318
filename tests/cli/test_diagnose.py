"""diagnose: the questions of diagnosis about a run, as tables and for programs."""

from __future__ import annotations

import pytest

from openset.diagnosis import table
from openset.diagnosis.deployed import deployed
from openset.diagnosis.errors import errors
from openset.evaluation.run import Run
from scenes.cli import write_scene

K = ("--known", "known.txt")


@pytest.fixture
def run(here, openset):
    write_scene(here)
    done = openset("evaluate", "gt.json", "base.json", "shy.json", *K, "-o", "run", "-q")
    assert done.code == 0
    return here / "run"


def test_some_questions(run, openset, snapshot):
    done = openset("diagnose", "run", "--question", "errors,tide", "--question", "confusion")
    assert done.code == 0
    snapshot("diagnose/some", done)


def test_all_questions_say_what_they_are(run, openset):
    done = openset("diagnose", "run", "--model", "shy")
    assert done.code == 0
    said = " ".join(done.out.split())
    assert said.startswith("shy at score")
    for question in table().values():
        assert f"{question.title} ({question.name}): {question.summary}" in said
    assert "no answer: object evidence reads logits" in said
    assert max(map(len, done.out.splitlines())) <= 80


def test_programs_get_all_rows(run, openset):
    done = openset("diagnose", "run", "--limit", "1", "--json")
    assert done.code == 0 and done.json["model"] == "base"
    one = deployed(Run.load(run))[0]
    questions = done.json["questions"]
    assert set(questions) == set(table())
    for name in ("errors", "tide", "confusion", "absorption"):
        assert questions[name]["rows"] == table()[name].ask(one).rows()
    assert questions["object_evidence"]["rows"] is None
    assert "logits" in questions["object_evidence"]["reason"]


def test_what_a_table_hides_is_counted(run, openset):
    rows = openset("diagnose", "run", "--question", "tide", "--json").json["questions"]["tide"]
    done = openset("diagnose", "run", "--question", "tide", "--limit", "2")
    assert f"and {len(rows['rows']) - 2} more rows" in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--question", "eror"], "unknown question 'eror'. Did you mean 'errors'"),
        (["run", "--model", "bas"], "unknown model of the run 'bas'. Did you mean 'base'"),
        (["run", "--limit", "0"], "--limit must be at least 1"),
        (["nothing"], "OS101"),
        (["run", "--question", "object_evidence"], "OS501"),
        (["run", "--recall", "1.2"], "OS420 recall '1.2' must be a number above 0 and at most 1"),
        (["run", "--ratio", "-1"], "OS420 ratio '-1' must be a number of at least 0"),
        (["run", "--question", "errors", "--ratio", "9"], "ratios from 0 to 0.2, not 9"),
        (["run", "--ratio", "-1"], "fix give numbers of at least 0, each once"),
        (
            ["run", "--question", "errors", "--beta", "2"],
            "--beta changes nothing about errors; it is for operating_points, transfer",
        ),
        (["run", "--question", "tide,fates", "--touch", "0.2"], "nothing about tide, fates; it is"),
        (["run", "--touch", "0"], "OS420 touch '0' must be a number above 0"),
        (["run", "--iou", "2"], "OS420 iou '2' must be"),
        (["run", "--figures", "gif"], "unknown format of figures 'gif'"),
    ],
)
def test_mistakes(run, openset, arguments, says):
    done = openset("diagnose", *arguments)
    assert done.code == 2 and done.out == ""
    assert says in " ".join(done.err.split())


def test_slices_of_a_kind_add_up_to_the_fates(run, openset):
    done = openset("diagnose", "run", "--question", "fates,breakdown", "--json")
    answers = {name: answer["rows"] for name, answer in done.json["questions"].items()}
    slices = [row for row in answers["breakdown"] if row["stratum"] == "kind of image"]
    for fates in answers["fates"][:2]:
        role = [row for row in slices if row["role"] == fates["what"].removesuffix(" objects")]
        for head in ("right", "wrong known", "called unknown", "missed"):
            assert sum(row[head] or 0 for row in role) == (fates[head] or 0), (fates["what"], head)


def test_the_panels_of_the_elephant(run, openset):
    """Closed set and open set at two recalls: the all-rows first, equal to the functions'."""
    asked = ("--question", "errors,confusion_matrix,transfer", "--recall", "0.2,0.5")
    done = openset("diagnose", "run", *asked, "--ratio", "0,0.2", "--beta", "0.5,1", "--json")
    assert done.code == 0, done.err
    answers = {name: answer["rows"] for name, answer in done.json["questions"].items()}
    panels = [(0.2, 0.0), (0.2, 0.2), (0.5, 0.0), (0.5, 0.2)]
    assert [(row["recall"], row["ratio"]) for row in answers["errors"][:4]] == panels
    matches = deployed(Run.load(run))[0].matches
    for row, (recall, ratio) in zip(answers["errors"], panels, strict=False):
        assert row["class"] == "all"
        wanted = errors(matches, recall=recall, ratio=ratio).totals
        assert {name: row[name] for name in wanted} == wanted
    zebras = [row for row in answers["confusion_matrix"] if row["label"] == "zebra"]
    assert [(row["recall"], row["ratio"]) for row in zebras] == panels
    assert {row["rule"] for row in answers["transfer"]} == {
        "F0.5",
        "F1",
        "recall 0.2",
        "recall 0.5",
    }


def test_overlaps_can_be_chosen(run, openset):
    def said(*flags):
        done = openset(
            "diagnose", "run", "--question", "errors", "--recall", "0.2", *flags, "--json"
        )
        assert done.code == 0, done.err
        return done.json["questions"]["errors"]["rows"][0]

    assert said("--iou", "0.9")["localisation"] > said()["localisation"]
    strict = said("--touch", "0.9", "--iou", "0.9")
    assert strict["localisation"] < said("--iou", "0.9")["localisation"]


def test_figures(run, openset):
    questions = "errors,confusion_matrix,operating_points,transfer,tide"
    asked = ("--question", questions, "--ratio", "0,0.2", "--figures", "svg")
    done = openset("diagnose", "run", *asked, "--json")
    assert done.code == 0, done.err
    drawn = sorted(path.name for path in (run / "diagnosis").iterdir())
    names = ("confusion_matrix", "errors", "operating_points", "transfer")
    assert drawn == [f"1-{name}.svg" for name in names]
    assert sorted(done.json["figures"]) == [f"run/diagnosis/{name}" for name in drawn]
    matrix = (run / "diagnosis" / "1-confusion_matrix.svg").read_text()
    assert "zebra" in matrix and "wilderness ratio 0.2" in matrix
    assert "mixed-unknown" in (run / "diagnosis" / "1-errors.svg").read_text()
    points = (run / "diagnosis" / "1-operating_points.svg").read_text()
    assert points.index("closed-set images") < points.index("wilderness ratio 0.2")
    assert "best there" in (run / "diagnosis" / "1-transfer.svg").read_text()
    assert openset("report", "run", "-q").code == 0  # the run is as it was
