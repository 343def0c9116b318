"""Forgetting: by hand, against class-wise AP, its interval, and what is refused."""

import numpy as np
import pytest

from openset import evaluate
from openset.evaluation import forgetting
from openset.findings import UsageError
from openset.tables import Vocabulary
from scenes.metrics import random_scene

TASKS = [(("dog",),), (("dog",), ("cat",)), (("dog",), ("cat",), ("cow",))]


def results(**options):
    """Three tasks of one test set; every next detector misses more of the first objects."""
    found = []
    for place, tasks in enumerate(TASKS):
        scene = random_scene(3)
        keep = np.random.default_rng(place).random(len(scene.found)) > 0.2 * place
        asked = {"known": Vocabulary(tasks=tasks), "force": True, **options}
        found.append(evaluate(scene.truth, scene.found.select(keep), **asked))
    return found


def test_the_mean_of_the_drops_of_earlier_classes():
    tasks = results(intervals=False)
    one, two, three = (r.values["ap_known"].parts for r in tasks)
    found = forgetting(tasks)
    assert found.taught == {"dog": 1, "cat": 2}
    assert found.drops == {"dog": one["dog"] - three["dog"], "cat": two["cat"] - three["cat"]}
    assert found.value.value == pytest.approx(np.mean(list(found.drops.values())))
    assert found.value.count == 2 and found.value.interval is None
    assert len(found.ap["dog"]) == 3 and "forgetting" in repr(found)


def test_interval_of_paired_resamples():
    tasks = results()
    value = forgetting(tasks).value
    low, high = value.interval
    assert low < value.value < high
    # The class means of tasks, weighted by classes, give the value itself.
    first = [tasks[0].values["ap_known"].value, tasks[1].values["ap_current"].value]
    assert value.value == pytest.approx(np.mean(first) - tasks[2].values["ap_previous"].value)


def test_other_seeds_are_not_paired():
    tasks = [*results()[:2], results(seed=5)[2]]
    assert forgetting(tasks).value.interval is None


def test_other_groups_are_not_paired():
    ids = random_scene(3).truth.images.id.tolist()
    pairs = {image: at // 2 for at, image in enumerate(ids)}
    assert forgetting(results(groups=pairs)).value.interval is not None
    tasks = [*results()[:2], results(groups=pairs)[2]]
    assert forgetting(tasks).value.interval is None


def test_refusals():
    tasks = results(intervals=False)
    with pytest.raises(UsageError, match="two tasks or more"):
        forgetting(tasks[:1])
    with pytest.raises(UsageError, match="order of tasks"):
        forgetting(tasks[::-1])
    with pytest.raises(UsageError, match="task 2 teaches no class"):
        forgetting([tasks[0], tasks[0]])
    other = results(intervals=False, protocol="owod")
    with pytest.raises(UsageError, match="different protocols"):
        forgetting([tasks[0], other[1]])


def test_results_of_other_images_are_refused_unless_forced():
    scene = random_scene(4)
    other = evaluate(scene.truth, scene.found, known=Vocabulary(tasks=TASKS[1]), force=True)
    tasks = [results()[0], other]
    with pytest.raises(UsageError, match="different ground truths"):
        forgetting(tasks)
    assert forgetting(tasks, force=True).value.interval is None


def test_no_interval_where_vocabularies_state_no_tasks():
    first, _, last = results()
    scene = random_scene(3)
    flat = evaluate(scene.truth, scene.found, known=["dog", "cat"], force=True)
    assert forgetting([first, flat]).value.interval is None
    assert forgetting([first, flat, last]).value.interval is None
