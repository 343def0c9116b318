"""Choosing gamma and temperature: on known classes, and the widest margin that is allowed."""

from dataclasses import replace

import numpy as np
import pytest

from openset.evaluation.choosing import choose
from openset.findings import InputError, UsageError
from openset.scorers import of_split
from openset.scorers.gamma_rule import GammaRule
from scenes.regions import regions_and_truth

GAMMAS = [GammaRule(gamma=gamma) for gamma in (1.5, 3.0, 15.0, 1e6)]


def test_the_largest_gamma_that_leaves_the_known_classes():
    regions, truth = regions_and_truth()
    choice = choose(GAMMAS, regions, truth, share=0.95)
    known = {rule.gamma: value for rule, value in choice.tried}
    assert known[1.5] >= known[3.0] >= known[15.0] > known[1e6]
    allowed = [gamma for gamma, value in known.items() if value >= 0.95 * choice.unchanged]
    assert choice.rule.gamma == max(allowed) < 1e6
    freer = choose(GAMMAS, regions, truth, share=0.01).rule.gamma
    assert freer > choice.rule.gamma


def test_labels_of_unknown_objects_change_nothing():
    regions, truth = regions_and_truth()
    known = truth.select(np.array(truth.labels)[truth.label] != "moose")
    assert len(known) < len(truth)
    with_them, without = (choose(GAMMAS, regions, one) for one in (truth, known))
    assert with_them == without


def test_of_several_temperatures_the_widest_margin_that_is_allowed():
    regions, truth = regions_and_truth()
    rules = [replace(rule, temperature=t) for rule in GAMMAS for t in (1.0, 2.0, 50.0)]
    choice = choose(rules, regions, truth)
    allowed = [rule for rule, value in choice.tried if value >= 0.95 * choice.unchanged]
    margins = [rule.temperature * np.log(rule.gamma) for rule in allowed]
    assert choice.rule == allowed[int(np.argmax(margins))]
    assert 50.0 in {rule.temperature for rule, _ in choice.tried}
    assert 50.0 not in {rule.temperature for rule in allowed}  # hardly a score passes the least


def test_what_it_refuses():
    regions, truth = regions_and_truth()
    with pytest.raises(InputError, match=r"OS652.*95%"):
        choose(GAMMAS[-1:], regions, truth)
    with pytest.raises(InputError, match="OS505"):
        choose(GAMMAS, of_split(regions, "birds test"), truth)
    assert choose(GAMMAS, of_split(regions, "birds test"), truth, force=True).rule.gamma > 1
    with pytest.raises(UsageError, match="share"):
        choose(GAMMAS, regions, truth, share=0.0)
