"""Strata: the same numbers as on the images of a stratum alone, and intervals of their own."""

from __future__ import annotations

import pytest

import openset
from openset.evaluation.run import evaluate_all
from openset.evaluation.strata import strata_of
from openset.findings import UsageError
from openset.tables.sets import Pair
from scenes.sets import Sets, sets

PLAIN = {"intervals": False}


def tier(here, name):
    images = [i["id"] for i in here.ood.truth["images"] if i["tier"] == name]
    return Sets(here.id, here.ood.part(images))


@pytest.mark.parametrize("paired", [False, True])
def test_a_stratum_is_measured_as_if_it_were_alone(paired):
    here = sets()
    truth, found = (here.truth(), here.found()) if paired else (here.ood.truth, here.ood.found)
    strata = strata_of(evaluate_all(truth, {"one": found}, **PLAIN), "tier").results["one"]
    assert list(strata) == ["near", "far"]
    for name, result in strata.items():
        part = tier(here, name)
        pair = (part.truth(), part.found()) if paired else (part.ood.truth, part.ood.found)
        alone = openset.evaluate(*pair, metrics=list(result.values), **PLAIN)
        assert {k: v.value for k, v in result.values.items()} == {
            k: v.value for k, v in alone.values.items()
        }
    assert ("auroc" in strata["near"].values) and ("ap_known" in strata["near"].values) != paired


def test_intervals_are_wider_than_those_of_the_whole():
    here = sets(images=80)
    run = evaluate_all(here.truth(), {"one": here.found()})
    low, high = run.evaluations["one"].value("unknown_recall").interval
    for one in strata_of(run, "tier").results["one"].values():
        less, more = one.value("unknown_recall").interval
        assert more - less > high - low


def test_images_without_a_name_are_in_no_stratum():
    here = sets()
    for record in here.ood.truth["images"]:
        record["tier"] = record["tier"].replace("far", "")
    run = evaluate_all(Pair(here.id.truth, here.ood.truth), {"one": here.found()}, **PLAIN)
    assert list(strata_of(run, "tier").results["one"]) == ["near"]


def test_too_many_values_are_no_strata():
    here = sets(images=160)
    for at, record in enumerate(here.ood.truth["images"]):
        record["tier"] = f"t{at}"
    run = evaluate_all(here.ood.truth, {"one": here.ood.found}, **PLAIN)
    with pytest.raises(UsageError, match="1 to 32"):
        strata_of(run, "tier")
