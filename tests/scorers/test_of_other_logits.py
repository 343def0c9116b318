"""Unknownness beside logits that it was not made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import openset
from openset import scorers
from openset.findings import InputError
from openset.scorers import of_other_logits
from openset.tables import Annotations, Images
from scenes.scorers import scene

FOUND = scene(160)


@pytest.mark.parametrize("name", ["energy", "msp", "max_logit", "entropy", "gen", "gamma_ratio"])
def test_what_a_scorer_made_is_made_again(name):
    scored = scorers.find(name).fit().scored(FOUND)
    assert of_other_logits(scored) is None
    half = replace(scored, logits=scored.logits.astype(np.float16))
    assert of_other_logits(half) is None
    told = of_other_logits(replace(scored, unknownness=scored.unknownness[::-1]))
    assert told.code == "OS516" and f"not what {name} makes" in told.message


def test_what_says_nothing_of_a_scorer_is_no_finding():
    assert of_other_logits(replace(FOUND, unknownness=-FOUND.score)) is None
    fitted = scorers.find("knn").fit(scorers.of_split(scene(160, seed=1), "train"), k=5)
    scored = fitted.scored(FOUND)
    assert of_other_logits(replace(scored, unknownness=scored.unknownness[::-1])) is None


def test_evaluate_refuses_it():
    images = Images(np.unique(FOUND.image))
    truth = Annotations(
        images, FOUND.labels, np.searchsorted(images.id, FOUND.image), FOUND.label, FOUND.box
    )
    scored = scorers.find("energy").fit().scored(FOUND)
    asked = {"known": FOUND.labels, "intervals": False, "metrics": ["ap_known"]}
    openset.evaluate(truth, scored, force=True, **asked)
    stale = replace(scored, unknownness=scored.unknownness[::-1])
    with pytest.raises(InputError, match="OS516"):
        openset.evaluate(truth, stale, **asked)
