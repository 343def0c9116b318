"""Parameters: roles, tasks and counts that follow from them, and those that cannot be."""

from __future__ import annotations

import pytest

from openset.findings import InputError, UsageError
from openset.tables import Role
from openset.worlds import table
from openset.worlds.digits import SPLITS, DigitsWorld


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"images": 5}, "images"),
        ({"size": 16}, "size"),
        ({"known": ()}, "known"),
        ({"known": (0, 11)}, "known"),
        ({"known": "012"}, "known"),
        ({"known": (0, 1), "unknown": (1, 2)}, "listed twice"),
        ({"known": (0, 0)}, "listed twice"),
        ({"tasks": 7}, "tasks"),
        ({"tasks": 2, "task": 3}, "beyond"),
        ({"objects": (0, 3)}, "objects"),
        ({"objects": (5, 3)}, "objects"),
        ({"objects": 4}, "objects"),
        ({"objects": (1, 1000)}, "objects"),
        ({"wilderness": 1.2}, "wilderness"),
        ({"hidden": float("nan")}, "hidden"),
        ({"crowds": "often"}, "crowds"),
        ({"tiers": (1, 1)}, "tiers"),
        ({"tiers": (-1, 1, 1)}, "tiers"),
        ({"tiers": (0, 0, 0)}, "unknown objects"),
        ({"tiers": (1, 0, 0), "unknown": ()}, "unknown objects"),
        ({"train_unknowns": "maybe"}, "train_unknowns"),
        ({"clutter": True}, "clutter"),
    ],
    ids=str,
)
def test_what_cannot_be_is_a_finding(parameters, word):
    with pytest.raises(InputError, match=word) as caught:
        DigitsWorld(**parameters)
    assert {finding.code for finding in caught.value.findings} == {"OS701"}
    assert all(finding.fix for finding in caught.value.findings)


def test_all_faults_are_named_at_once():
    with pytest.raises(InputError) as caught:
        DigitsWorld(seed=-1, size=1, hidden=2.0)
    assert len(caught.value.findings) == 3


def test_lists_and_ranges_are_fine():
    assert DigitsWorld(known=range(3), unknown=[8, 9]) == DigitsWorld(
        known=(0, 1, 2), unknown=(8, 9)
    )
    assert hash(DigitsWorld(known=[0, 1])) == hash(DigitsWorld(known=(0, 1)))


def test_scenes_that_are_not_there():
    world = DigitsWorld(images=50)
    for index in (-1, 30):
        with pytest.raises(UsageError, match="30"):
            world.scene(index)
    with pytest.raises(UsageError, match="test"):
        world.scene(0, "tset")


@pytest.mark.parametrize("images", [50, 99, 50_000])
def test_counts_add_up(images):
    counts = [DigitsWorld(images=images).count(split) for split in SPLITS]
    assert sum(counts) == images
    assert counts[0] == images * 6 // 10


def test_tasks_teach_every_known_digit_once():
    world = DigitsWorld(known=tuple(range(8)), unknown=(8, 9), tasks=3)
    taught = [world.labels_of_task(task) for task in (1, 2, 3)]
    assert [len(labels) for labels in taught] == [3, 3, 2]
    assert sum(taught, ()) == world.known_labels
    first = DigitsWorld(known=tuple(range(8)), unknown=(8, 9), tasks=3, task=1)
    assert first.known_labels == taught[0]
    assert first.vocabulary.role("seven") is Role.UNKNOWN
    assert world.vocabulary.previous == taught[0] + taught[1]
    assert world.vocabulary.current == taught[2]


def test_tasks_train_on_their_own_digits_and_share_the_test_images():
    first, second = (DigitsWorld(images=50, tasks=2, task=task) for task in (1, 2))
    for world, labels in ((first, {"zero", "one", "two"}), (second, {"three", "four", "five"})):
        seen = {i.label for index in range(30) for i in world.scene(index, "train").objects}
        assert seen == labels
    for index in range(15):
        one, two = first.scene(index, "test"), second.scene(index, "test")
        assert (one.image == two.image).all()
        assert [i.label for i in one.objects] == [i.label for i in two.objects]
    ids = [world.image_id(split, 0) for world in (first, second) for split in SPLITS]
    assert len(set(ids)) == 5


def test_a_world_without_unknowns_after_the_last_task():
    world = DigitsWorld(
        known=tuple(range(10)), unknown=(), tasks=2, tiers=(1, 0, 0), wilderness=0, mixed=0
    )
    assert not any(i.tier for index in range(20) for i in world.scene(index, "test").objects)


def test_roles_within_the_super_class():
    vocabulary = DigitsWorld().superclass_vocabulary
    assert vocabulary.role("nine") is Role.UNKNOWN
    assert vocabulary.role("letter A") is Role.IGNORED
    assert vocabulary.role("star") is Role.IGNORED
    assert vocabulary.role("five") is Role.KNOWN


def test_worlds_are_found():
    record = table()["digits"]
    assert record.make is DigitsWorld
    assert record.summary.startswith("Scenes of handwritten digits")
