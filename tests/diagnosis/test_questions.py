"""Every question of diagnosis: discovered, answered in rows, cut where there are many."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pytest

from openset.diagnosis import Diagnosis, table
from openset.diagnosis.deployed import deployed
from openset.diagnosis.errors import errors
from openset.diagnosis.tide import tide
from openset.diagnosis.view import View
from openset.findings import InputError
from openset.json_text import plain
from scenes.report_runs import run

NAMES = sorted(table())


@pytest.fixture(scope="module")
def one():
    return deployed(run(3, images=40, intervals=False))[0]


def test_all_are_found():
    assert {"errors", "tide", "confusion", "operating_points", "missing_labels"} <= set(NAMES)
    assert {"strata", "object_evidence", "absorption", "breakdown", "fates"} <= set(NAMES)


class Read(View):
    """A view that keeps which of its fields were read."""

    __slots__ = ("names",)

    def __getattribute__(self, name):
        if name in View.__slots__:
            object.__getattribute__(self, "names").add(name)
        return object.__getattribute__(self, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_question_says_what_it_reads(name, one):
    view = Read()
    object.__setattr__(view, "names", set())  # views are frozen
    with suppress(InputError):  # such as: there are no logits, which is said later
        table()[name].ask(replace(one, view=view))
        assert view.names == set(table()[name].reads)


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_has_rows_of_one_shape(name, one):
    question = table()[name]
    assert question.title and question.summary.endswith(".")
    if name in ("object_evidence", "objectness"):
        with pytest.raises(InputError, match="OS501"):
            question.ask(one)
        return
    found = question.ask(one)
    rows = found.rows()
    assert rows and {tuple(row) for row in rows} == {tuple(rows[0])}
    assert json.loads(json.dumps(plain(rows))) == rows
    assert len(found.table(2).rows) == min(2, len(rows))
    assert str(found) == found.table().text()


def test_answers_are_those_of_the_functions(one):
    assert table()["errors"].ask(one).rows() == errors(one.matches).rows()
    direct = tide(one.truth, one.detections, one.matches.vocabulary)
    assert table()["tide"].ask(one).rows() == direct.rows()


def test_fates_are_the_flow(one):
    unknown, known, background = table()["fates"].ask(one).rows()
    assert unknown["wrong known"] == one.flow.unknown_wrong
    assert known["right"] == one.flow.known_right
    assert background["called unknown"] == one.flow.background_unknown


def test_wrong_names_come_before_right_ones(one):
    rows = table()["confusion"].ask(one).rows()
    unknown = {one.matches.labels[at] for at in np.unique(one.matches.objects.label)}
    unknown -= set(one.matches.vocabulary.known)
    right = [
        row["label"] == row["predicted"]
        or (row["label"] in unknown and row["predicted"] == "unknown")
        for row in rows
    ]
    assert right == sorted(right) and not right[0]


@dataclass(frozen=True)
class Counted(Diagnosis):
    count: int

    def rows(self):
        return [
            {"label": f"{at} " + "x" * 99, "share": 1 / 3, "none": None} for at in range(self.count)
        ]

    def notes(self):
        return ["a note"]


def test_what_is_cut_is_counted():
    table = Counted(5).table(2)
    assert table.notes == ("and 3 more rows", "a note")
    assert Counted(3).table(2).notes[0] == "and 1 more row"
    assert Counted(2).table(2).notes == ("a note",)
    label, share, none = table.rows[0]
    assert len(label) <= 40 and share == "0.3333" and none == "–"


def test_nothing_is_said_to_be_nothing():
    assert "(nothing)" in str(Counted(0))
