"""What holds for every recognition metric, including those that will be added."""

from dataclasses import replace

import numpy as np
import pytest

from openset.explain import lookup
from openset.recognition import Scores
from openset.recognition.metrics import compute, table
from openset.tables.vocabulary import normal
from scenes.recognition import made, value

METRICS = table()
every_metric = pytest.mark.parametrize("name", METRICS)
SCENES = {
    "plain": made(1),
    "ties": made(2, levels=2),
    "two": made(3, 5, 3, 2),
    "many": made(4, 300),
}
each_scene = pytest.mark.parametrize("scene", SCENES)


def test_the_published_metrics_are_there():
    assert {"closed_set_accuracy", "openauc", "oscr", "auc", "aupr", "dtacc"} <= set(METRICS)


@every_metric
def test_it_is_documented(name):
    metric = METRICS[name]
    assert metric.paper
    assert metric.better
    assert metric.summary.endswith(".")
    assert len(metric.doc.splitlines()) > 2
    assert "not" in metric.doc.lower() or "only" in metric.doc.lower(), "say what it is not"


@every_metric
def test_it_is_explained(name):
    entry = lookup(name)
    assert entry.kind in ("term", "metric")
    assert name == "auc" or normal(name) in map(normal, (entry.name, *entry.aliases))


@every_metric
@each_scene
def test_it_stays_in_range(name, scene):
    low, high = METRICS[name].range
    assert low <= value(name, SCENES[scene]) <= high


def taken(scores, known, unknown):
    """Some samples, in some order, maybe repeated."""
    return replace(
        scores,
        predicted=scores.predicted[known],
        label=scores.label[known],
        openness=scores.openness[known],
        unknown_openness=scores.unknown_openness[unknown],
        unknown_predicted=scores.unknown_predicted[unknown],
    )


@every_metric
@each_scene
def test_the_order_of_samples_does_not_matter(name, scene):
    one, rng = SCENES[scene], np.random.default_rng(0)
    k, u = rng.permutation(one.n_known), rng.permutation(one.n_unknown)
    other = taken(one, k, u)
    assert value(name, other) == pytest.approx(value(name, one), abs=1e-12)


@every_metric
@each_scene
def test_only_the_order_of_openness_matters(name, scene):
    one = SCENES[scene]
    known, unknown = (np.exp(r) for r in (one.openness, one.unknown_openness))
    other = replace(one, openness=known, unknown_openness=unknown)
    assert value(name, other) == pytest.approx(value(name, one), abs=1e-12)


@every_metric
@each_scene
def test_weights_are_repetitions(name, scene):
    """A resample counts a sample as often as it was drawn, at the threshold of the original."""
    one, rng = SCENES[scene], np.random.default_rng(5)
    weights = [1 + rng.integers(0, 3, (n, 2)) for n in (one.n_known, one.n_unknown)]
    for side in weights:
        side[:, 1] = 1
    before = compute(METRICS[name], one)
    drawn = compute(METRICS[name], one.resampled(tuple(weights))).value
    k, u = (np.repeat(np.arange(len(side)), side[:, 0]) for side in weights)
    repeated = replace(taken(one, k, u), threshold=before.params.get("threshold"))
    assert drawn[0] == pytest.approx(value(name, repeated), abs=1e-12)
    assert drawn[1] == pytest.approx(before.value, abs=1e-12)


@every_metric
@pytest.mark.parametrize("empty", ["known", "unknown"])
def test_without_samples_there_is_a_reason_in_place_of_a_number(name, empty):
    unknown = [] if empty == "unknown" else [0.3, 0.4]
    known = [] if empty == "known" else [0.1, 0.2]
    n = [0] * len(known)
    found = compute(METRICS[name], Scores(n, n, known, unknown, [0] * len(unknown), ("a", "b")))
    if name == "closed_set_accuracy" and empty == "unknown":
        assert found.value == 1
    else:
        assert found.value is None
        assert empty in found.reason


@every_metric
def test_a_perfect_model_is_perfect(name):
    one = Scores([0, 1, 2], [0, 1, 2], [0.0, 0.1, 0.2], [5.0, 6.0], [0, 1], ("a", "b", "c"))
    assert value(name, one) == pytest.approx(1)


@every_metric
def test_all_ties_and_one_class_have_defined_numbers(name):
    one = Scores([0, 0], [0, 0], [1.0, 1.0], [1.0], [0], ("a",))
    assert np.isfinite(value(name, one))


def test_unknown_samples_without_classes_leave_macro_metrics_without_number():
    one = replace(made(), unknown_predicted=None)
    for name in METRICS:
        found = compute(METRICS[name], one)
        if name in ("f_score_macro", "youden_macro"):
            assert found.value is None
            assert "named" in found.reason
        else:
            assert found.value == pytest.approx(value(name, made())), name


def test_all_ties_are_worth_one_half():
    one = Scores([0, 1], [0, 0], [1.0, 1.0], [1.0], [0], ("a", "b"))
    assert value("auc", one) == 0.5
    assert value("openauc", one) == 0.25
    assert value("openauc", one, ties="strict") == 0
