"""Stages: what can be learned in order, and what cannot, said before anything is trained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openset.findings import InputError, UsageError
from openset.learning.stages import bundle_of, stage_of, stages_of
from scenes.learning import make_world


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return bundle_of(make_world(tmp_path_factory.mktemp("world") / "world", tasks=3))


def only(bundle):
    with pytest.raises(InputError) as error:
        stages_of(bundle)
    (finding,) = error.value.findings
    return finding


def changed(bundle, name, **changes):
    parts = [replace(p, **changes) if p.name == name else p for p in bundle.parts]
    return replace(bundle, parts=tuple(parts))


def test_tasks_and_fine_tunings_in_order(bundle):
    found = stages_of(bundle)
    assert [one.name for one in found] == ["t1", "t2", "t2-ft", "t3", "t3-ft"]
    assert [one.labels for one in found[:2]] == [("zero", "one"), ("zero", "one", "two", "three")]
    assert found[1].shown == ("two", "three")
    assert found[2].shown == found[2].labels


def test_every_class_is_new_once_and_no_tested_image_is_trained_on(bundle):
    found = stages_of(bundle)
    new = [name for one in found if not one.finetune for name in one.shown]
    assert sorted(new) == sorted(found[-1].labels) and len({*new}) == len(new)
    tested = {id_ for part in bundle.of_stage("test") for id_ in part.table.images.id.tolist()}
    assert tested and all(tested.isdisjoint(one.table.images.id.tolist()) for one in found)


def test_one_of_them(bundle):
    assert stage_of(bundle, 2, finetune=True).name == "t2-ft"
    with pytest.raises(UsageError, match="t1, t2, t2-ft, t3, t3-ft"):
        stage_of(bundle, 4)


@pytest.mark.parametrize("name", ["train-t1", "train-t2", "test-t3"])
def test_a_task_without_its_split_is_refused(bundle, name):
    parts = tuple(part for part in bundle.parts if part.name != name)
    found = only(replace(bundle, parts=parts))
    kind, _, task = name.partition("-t")
    assert (found.code, found.example) == ("OS662", f"task {task} has no {kind} splits")


def test_tasks_out_of_order_are_refused(bundle):
    found = only(changed(bundle, "train-t2", task=1))
    assert found.code == "OS662" and found.count == 2
    assert found.example == "task 1 has 2 train splits"
    part = next(part for part in bundle.parts if part.name == "train-t2")
    stating = changed(bundle, "train-t2", table=replace(part.table, info={"task": 3}))
    assert only(stating).example == "train-t2 is of task 2, but its file says 3"


def test_a_task_beyond_the_last_is_refused(bundle):
    roles = replace(bundle.roles, tasks=bundle.roles.tasks[:2])
    assert "is of task 3 of 2" in only(replace(bundle, roles=roles)).example


def test_a_class_that_is_taught_twice_is_refused(bundle):
    tasks = (*bundle.roles.tasks[:2], ("zero", "four", "five"))
    found = only(replace(bundle, roles=replace(bundle.roles, tasks=tasks)))
    assert found.code == "OS663"
    assert found.example == "'zero' is known in task 1 and known in task 3"


def test_a_class_that_is_renamed_is_refused(bundle):
    part = next(part for part in bundle.parts if part.name == "train-t2")
    labels = tuple("Two" if label == "two" else label for label in part.table.labels)
    found = only(changed(bundle, "train-t2", table=replace(part.table, labels=labels)))
    assert (found.code, found.example) == ("OS663", "'two' is called 'Two' in train-t2")
