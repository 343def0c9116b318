"""diagnose: the questions of diagnosis about a run, as tables and for programs."""

from __future__ import annotations

import pytest

from openset.diagnosis import table
from openset.diagnosis.deployed import deployed
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
