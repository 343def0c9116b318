"""Detectors at one common operating point, and which of them differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openset.diagnosis.deployed import deployed
from openset.diagnosis.flow import operating_flow
from openset.diagnosis.standing import standing
from openset.evaluation.run import evaluate_all
from scenes import builders
from scenes.report_runs import run


def _beside(second):
    """A detector, and another made from its detections."""
    truth, found = builders.scene(3, images=60).tables()
    both = {"first": found, "second": second(found)}
    return deployed(evaluate_all(truth, both, known=builders.KNOWN, metrics=["unknown_recall"]))


def test_all_find_as_many_known_objects_as_who_finds_fewest(models):
    found = standing(models)
    least = min(model.flow.known_right for model in models)
    assert found.recall == least / models[0].flow.known
    for place in found.places:
        held = [*place.model.matches.score[place.model.matches.score > place.score]]
        assert place.flow.known_right >= least
        stricter = operating_flow(place.model.matches, min(held, default=2.0), place.model.second)
        assert stricter.known_right < least  # no higher score finds as many


def test_the_least_share_under_a_known_name_comes_first(models):
    shares = [place.flow.unknown_as_known for place in standing(models).places]
    assert shares == sorted(shares)


def test_scores_on_another_scale_change_nothing():
    models = _beside(lambda found: replace(found, score=found.score**3))
    one, other = standing(models).places
    assert one.flow == other.flow
    assert (one.group, other.group) == (0, 0)


def test_a_detector_that_names_no_unknown_object_is_a_group_of_its_own():
    [one] = deployed(run(3, images=60, models=1))
    unknown = np.append(one.matches.objects.klass == one.matches.n_known, [False, False])
    names_one = one.matches.row[unknown[one.targets.known]]
    rest = np.setdiff1d(np.arange(len(one.detections)), names_one)
    found = standing(_beside(lambda _: one.detections.select(rest)))
    assert [place.model.title for place in found.places] == ["second", "first"]
    assert [place.group for place in found.places] == [0, 1]
    assert [len(group) for group in found.groups] == [1, 1]
    assert found.places[0].named == 0


def test_the_interval_holds_the_share(models):
    for place in standing(models).places:
        low, high = place.interval
        assert 0 <= low <= place.named <= high <= 1


def test_without_resamples_nothing_is_tested():
    found = standing(deployed(run(3, images=40, models=2, intervals=False)))
    assert not found.tested
    assert [place.interval for place in found.places] == [None, None]
    assert len(found.groups) == 2


def test_a_detector_alone_stands_nowhere():
    assert standing(deployed(run(3, images=40, models=1))) is None


def test_a_detector_that_finds_nothing_leaves_nothing_to_compare(models):
    nothing = replace(models[1], place=(len(models[1].levels) - 1, 0))
    assert nothing.flow.known_right == 0
    assert standing([models[0], nothing]) is None
