"""What rows of papers' tables are made from is there."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")

from openset import detectors, methods, scorers
from openset.cli.list import topics
from openset.papers.rows import ROWS
from openset.recognition import methods as classifiers
from openset.training import Recipe

EACH = [(paper, name, made) for paper, one in ROWS.items() for name, made in one.rows.items()]
THERE = {
    "recipe": Recipe.presets,
    "method": methods.table,
    "detector": detectors.table,
    "classifier": classifiers.table,
    "scorer": scorers.table,
    "rule": lambda: topics()["rules"](),
}


@pytest.mark.parametrize(("paper", "name", "made"), EACH, ids=[f"{t}: {n}" for t, n, _ in EACH])
def test_a_row_names_what_there_is(paper, name, made):
    named = {kind: value for kind, value in made._asdict().items() if value}
    assert named and str(made)
    for kind, value in named.items():
        assert kind == "how" or value in THERE[kind](), f"{paper}, {name}: {kind} {value}"


def test_every_row_of_table_3_of_re_owod():
    rows = [*ROWS["re-owod"].rows][:6]
    assert rows == ["Oracle", "Faster-RCNN", "Faster-RCNN + Finetuning", "ORE*", "ORE", "Ours"]
