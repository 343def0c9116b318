"""What becomes of objects in slices of the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.diagnosis.breakdown import breakdown
from openset.diagnosis.deployed import deployed


def test_slices_of_a_stratum_add_up_to_the_flow(made, models):
    slices = breakdown(models)
    assert {"object size", "crowding", "kind of image"} <= {piece.stratum for piece in slices}
    for stratum in ("crowding", "kind of image"):
        for model in models:
            mine = [p for p in slices if p.stratum == stratum and p.model == model.title]
            known = [p for p in mine if p.role == "known"]
            unknown = [p for p in mine if p.role == "unknown"]
            assert sum(p.right for p in known) == model.flow.known_right
            assert sum(p.unknown for p in known) == model.flow.known_unknown
            assert sum(p.right for p in unknown) == model.flow.unknown_unknown
            assert sum(p.missed for p in unknown) == model.flow.unknown_missed


def test_attributes_are_strata(made):
    truth = made.truth
    tier = np.where(truth.label % 2 == 0, "near", "far")
    lens = np.where(np.arange(len(truth.images)) % 2, "wide", "tele")
    images = replace(truth.images, attributes={"lens": lens})
    tagged = replace(truth, attributes={"tier": tier}, images=images)
    slices = breakdown(deployed(replace(made, read_truth=lambda: tagged)))
    names = [p.name for p in slices if p.stratum == "tier" and p.role == "known"]
    assert names[:2] == ["near", "far"]
    assert {p.name for p in slices if p.stratum == "lens"} == {"wide", "tele"}
