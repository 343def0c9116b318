"""The gamma rule in a chain: given, or chosen on the known objects of the validation split."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.evaluation.choosing import choose
from openset.findings import InputError, UsageError
from openset.learning.rules import by_gamma
from openset.scorers.gamma_rule import GAMMAS, GammaRule
from scenes.regions import regions_and_truth

STAGE = SimpleNamespace(task=1, name="t1")


def bundle(table=None):
    parts = [SimpleNamespace(kind="val", task=1, table=table)] if table is not None else []
    return SimpleNamespace(name="farm", parts=parts)


def test_a_gamma_that_is_given_needs_no_validation():
    regions, _ = regions_and_truth(split="farm test")
    found, said = by_gamma(bundle(), STAGE, regions, None, 15.0, force=False)
    same = GammaRule(gamma=15.0).apply(regions, None)
    assert found.score.tolist() == same.score.tolist() and said == ()


def test_without_one_it_is_chosen_on_the_validation_split():
    regions, _ = regions_and_truth(split="farm test", seed=1)
    val, truth = regions_and_truth()
    asked = []

    def detect(table, split):
        asked.append(split)
        return val

    found, _ = by_gamma(bundle(truth), STAGE, regions, detect, "chosen", force=False)
    best = choose([GammaRule(gamma=gamma) for gamma in GAMMAS], val, truth).rule
    assert asked == ["val"] and best.gamma > min(GAMMAS)
    assert found.label.tolist() == best.apply(regions, val).label.tolist()
    with pytest.raises(UsageError, match="on a split of kind val, which farm lacks"):
        by_gamma(bundle(), STAGE, regions, detect, "chosen", force=False)


def test_a_choice_on_test_images_is_refused():
    regions, truth = regions_and_truth(split="farm test")
    with pytest.raises(InputError):
        by_gamma(bundle(truth), STAGE, regions, lambda *_: regions, "chosen", force=False)
