"""Two files of one detector that two scorers, two fits or two networks have made."""

from __future__ import annotations

from dataclasses import replace

import pytest

import openset
from openset.findings import InputError
from openset.formats import read_detections
from openset.scorers.ledger import LedgerEntry, recorded
from openset.tables.joining import joined_detections
from openset.tables.made_alike import SHOWN
from openset.tables.sets import Pair
from scenes.sets import sets

HERE = sets()


def tables():
    return [read_detections(one.found) for one in (HERE.id, HERE.ood)]


def score(name="energy", **options):
    return LedgerEntry("score", name, "any", 3, 9, options=options)


def fit(split="digits train"):
    return LedgerEntry("fit", "knn", split, 900, 5000)


def threshold(value=0.5, leaks=(), split="id"):
    return LedgerEntry("threshold", "zscore", split, 3, 9, False, {"threshold": value}, leaks)


def of(weights):
    return lambda table: replace(table, provenance={**table.provenance, "weights": weights})


def by(*entries):
    return lambda table: recorded(table, *entries)


def bare(table):
    return replace(table, unknownness=None)


APART = {
    "two scorers": (by(score()), by(score("msp")), "energy, that of the OOD set msp"),
    "other options": (by(score(temperature=1)), by(score(temperature=2)), "energy in two ways"),
    "two fits": (by(fit(), score("knn")), by(fit("voc train"), score("knn")), "knn in two ways"),
    "two thresholds": (by(threshold()), by(threshold(0.6)), "as the file has it in two ways"),
    "two networks": (of("aa"), of("bb"), "other weights"),
    "one not scored": (lambda table: table, bare, "those of the OOD set have none"),
}
ALIKE = {
    "one scorer": (by(score()), by(replace(score(), split="other", images=7))),
    "one fit": (by(fit(), score("knn")), by(fit(), score("knn"))),
    "one that does not say": (by(score()), lambda table: table),
    "one threshold": (by(threshold(leaks=("from 3 images it is applied to",))), by(threshold())),
    "one threshold, of what is scored": (by(threshold(split=f"id{SHOWN}")), by(threshold())),
    "one network": (of("aa"), of("aa")),
    "weights of one": (of("aa"), of("")),
    "none scored": (bare, bare),
}


@pytest.mark.parametrize("kind", APART)
def test_halves_that_were_made_in_two_ways_are_refused(kind):
    first, second, said = APART[kind]
    id_, ood = tables()
    with pytest.raises(InputError, match=f"(?s)OS464.*{said}"):
        openset.evaluate(HERE.truth(), Pair(first(id_), second(ood)), intervals=False)
    with pytest.raises(InputError, match="OS464"):
        joined_detections([first(id_), second(ood)], None)


@pytest.mark.parametrize("kind", ALIKE)
def test_halves_that_may_be_of_one_detector_are_not(kind):
    first, second = ALIKE[kind]
    id_, ood = tables()
    assert openset.evaluate(HERE.truth(), Pair(first(id_), second(ood)), intervals=False)
    assert len(joined_detections([first(id_), second(ood)], None)[0]) == len(id_) + len(ood)


@pytest.mark.parametrize("colliding", [False, True])
def test_one_file_for_both_sets_is_refused(colliding):
    here = sets(colliding=colliding)
    for one in (here.id, here.ood):
        with pytest.raises(InputError, match=r"OS447.*one that holds both|(?s:OS447.*given twice)"):
            openset.evaluate(here.truth(), Pair(one.found, one.found), intervals=False)
