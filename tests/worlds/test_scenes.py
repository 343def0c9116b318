"""Scenes: what they hold, where the boxes are, and that nothing but the seed decides."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from openset.worlds._canvas import MIN_VISIBLE
from openset.worlds._cast import DIGITS, SPLITS, SUPERCLASS, instances
from openset.worlds.digits import DigitsWorld

WORLD = DigitsWorld(seed=5, images=200)
BUSY = DigitsWorld(seed=6, images=200, occlusion=0.8, crowds=0.5, objects=(4, 9))
DIGEST = """
import hashlib
from openset.worlds.digits import DigitsWorld
scene = DigitsWorld(seed=5, images=200).scene(7, "test")
print(hashlib.sha256(scene.image.tobytes() + repr(scene.objects).encode()).hexdigest())
"""


def scenes(world, split, count=40):
    return [world.scene(index, split) for index in range(min(count, world.count(split)))]


def digest(found):
    data = hashlib.sha256()
    for scene in found:
        data.update(scene.image.tobytes() + repr(scene.objects).encode())
    return data.hexdigest()


def tight(mask):
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return (columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1)


@pytest.mark.parametrize("world", [WORLD, BUSY], ids=["plain", "busy"])
def test_boxes_are_tight_on_visible_pixels(world):
    for scene in scenes(world, "test"):
        for number, item in enumerate(scene.objects):
            assert item.box == tight(scene.mask(number))


@pytest.mark.parametrize("world", [WORLD, BUSY], ids=["plain", "busy"])
def test_enough_of_every_object_is_visible(world):
    items = [item for scene in scenes(world, "test") for item in scene.objects]
    assert all(MIN_VISIBLE <= item.visible <= 1 for item in items)
    hidden = sum(item.visible < 1 for item in items) / len(items)
    assert (0.01 < hidden < 0.2) if world is WORLD else hidden > 0.3


def test_visible_is_the_share_of_pixels_left():
    bare = DigitsWorld(seed=6, images=200, occlusion=1.0, objects=(2, 2), crowds=0.0)
    for scene in scenes(bare, "train"):
        under, over = scene.objects
        assert over.visible == 1
        seen = scene.mask(0).sum()
        total = seen / under.visible
        assert total == pytest.approx(round(total), rel=1e-3)
        assert (under.visible < 1) == (round(total) > seen)


def test_objects_are_brighter_or_darker_than_the_background():
    for scene in scenes(WORLD, "train"):
        luminance = scene.image @ np.array([0.299, 0.587, 0.114])
        background = np.median(luminance[scene.owner == 255])
        for number, item in enumerate(scene.objects):
            if item.box[2] * item.box[3] > 150 and not item.crowd:
                assert abs(np.median(luminance[scene.mask(number)]) - background) > 40


def test_a_scene_depends_on_seed_split_and_index_only():
    larger = DigitsWorld(seed=5, images=5000)
    assert digest(scenes(larger, "test", 5)) == digest(scenes(WORLD, "test", 5))
    assert digest([WORLD.scene(7, "test")]) == digest([larger.scene(7, "test")])
    others = [DigitsWorld(seed=8, images=200).scene(7, "test"), WORLD.scene(8, "test")]
    others.append(WORLD.scene(7, "train"))
    assert len({digest([scene]) for scene in [*others, WORLD.scene(7, "test")]}) == 4


def test_the_same_bytes_in_another_process():
    command = [sys.executable, "-c", DIGEST]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == digest([WORLD.scene(7, "test")])


def test_scans_are_disjoint_between_splits():
    for digit in range(10):
        pools = [set(instances(digit, split).tolist()) for split in SPLITS]
        assert not pools[0] & pools[1]
        assert not (pools[0] | pools[1]) & pools[2]
        assert 170 < sum(map(len, pools)) < 190
    for split in SPLITS:
        for scene in scenes(WORLD, split, 20):
            for item in scene.objects:
                digit = item.label in DIGITS and not item.crowd
                pool = instances(DIGITS.index(item.label), split) if digit else [-1]
                assert item.instance in pool


def test_tiers_say_how_far_an_unknown_object_is():
    items = [item for scene in scenes(WORLD, "test", 60) for item in scene.objects]
    by_tier = {tier: {i.label for i in items if i.tier == tier} for tier in {i.tier for i in items}}
    assert by_tier[""] <= set(WORLD.known_labels)
    assert by_tier["near"] <= {"six", "seven", "eight", "nine"}
    assert {SUPERCLASS[label] for label in by_tier["far"]} == {"letter"}
    assert {SUPERCLASS[label] for label in by_tier["farther"]} == {"shape"}
    assert all(by_tier.values())


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (0.25, 15), (0.5, 30), (1.0, 60)])
def test_wilderness_images_hold_only_unknowns(share, count):
    world = DigitsWorld(seed=1, images=200, wilderness=share, crowds=0.3)
    wild = [index for index in range(60) if world.is_wild(index)]
    assert len(wild) == count
    for index in range(60):
        scene = world.scene(index, "test")
        assert scene.objects
        assert scene.wild == (index in wild)


def test_train_and_val_hold_no_unknowns_unless_asked():
    for split in ("train", "val"):
        assert not any(i.tier for s in scenes(WORLD, split) for i in s.objects)
    asked = DigitsWorld(seed=5, images=200, train_unknowns="unlabelled")
    items = [i for s in scenes(asked, "train") for i in s.objects]
    assert 0.1 < np.mean([bool(i.tier) for i in items]) < 0.5
    assert all(i.labelled != bool(i.tier) for i in items)
    assert not any(s.wild for s in scenes(asked, "train"))


def test_crowds_are_marked():
    always = DigitsWorld(seed=2, images=100, crowds=1.0)
    never = DigitsWorld(seed=2, images=100, crowds=0.0)
    crowds = [[i for i in s.objects if i.crowd] for s in scenes(always, "train", 30)]
    assert 25 <= sum(map(bool, crowds)) <= 30
    assert all(len(found) <= 1 for found in crowds)
    sides = [max(i.box[2:]) for found in crowds for i in found]
    assert np.median(sides) > 30
    assert not any(i.crowd for s in scenes(never, "train", 30) for i in s.objects)


def test_small_objects_at_the_chosen_rate():
    for share, low, high in ((0.0, 0.0, 0.02), (1.0, 0.9, 1.0)):
        world = DigitsWorld(images=100, small=share, crowds=0.0, objects=(1, 3), occlusion=0.0)
        heights = [i.box[3] for s in scenes(world, "train", 30) for i in s.objects]
        assert low <= np.mean(np.array(heights) < 0.12 * world.size) <= high


@pytest.mark.parametrize("size", [48, 256])
def test_images_of_another_size(size):
    scene = DigitsWorld(images=50, size=size).scene(3, "test")
    assert scene.image.shape == (size, size, 3)
    assert scene.image.dtype == np.uint8
    assert all(x >= 0 and x + w <= size for x, _, w, _ in (i.box for i in scene.objects))


def test_hidden_labels_do_not_change_the_picture():
    some = DigitsWorld(seed=5, images=200, hidden=0.3)
    more = DigitsWorld(seed=5, images=200, hidden=0.6)
    rates = []
    for world in (some, more):
        pairs = list(zip(scenes(world, "train", 80), scenes(WORLD, "train", 80), strict=True))
        assert all((a.image == b.image).all() for a, b in pairs)
        rates.append(np.mean([not i.labelled for a, _ in pairs for i in a.objects if not i.crowd]))
    assert rates == pytest.approx([0.3, 0.6], abs=0.08)
    nested = zip(scenes(some, "train"), scenes(more, "train"), strict=True)
    for few, many in nested:
        assert all(
            a.labelled or not b.labelled
            for a, b in zip(few.objects, many.objects, strict=True)
            if not a.crowd
        )


def test_many_objects_and_few():
    assert all(len(s.objects) == 1 for s in scenes(DigitsWorld(objects=(1, 1), crowds=0), "train"))
    many = DigitsWorld(objects=(30, 30), crowds=0.0, images=100)
    assert np.mean([len(s.objects) for s in scenes(many, "train", 10)]) > 20
