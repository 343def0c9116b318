"""Provenance: hashes of the data, whatever the way in which it was sorted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.evaluation.provenance import _order, describe
from openset.matching import match
from scenes.builders import KNOWN, scene


@pytest.mark.parametrize("seed", range(20))
def test_the_order_is_that_of_lexsort(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 60))
    klass, place = rng.integers(0, 3, (2, n)).astype(np.int32)
    score, area = rng.choice([0.0, -0.0, 0.5, 0.25, -1.0], n), rng.choice([1.0, 2.0, 3.0], n)
    wanted = np.lexsort((area, place, score, klass))
    assert _order(klass, score, place, area).tolist() == wanted.tolist()


def test_hashes_do_not_depend_on_how_much_is_looked_at(monkeypatch):
    matches = match(*scene(3, images=9).tables(), KNOWN)
    once = describe(matches, {}, seed=0, resamples=0)
    monkeypatch.setattr("openset.matching.matches.AT_ONCE", 2)
    assert describe(replace(matches, _outcomes={}), {}, seed=0, resamples=0) == once
    moved = replace(matches, score=matches.score * 0.5)
    assert describe(moved, {}, seed=0, resamples=0).detections_hash != once.detections_hash
