"""Exemplars: who is remembered, by the published rules, and tables that share images."""

from __future__ import annotations

import numpy as np

from openset.tables import Annotations, Detections, Images
from openset.tables.exemplars import drawn, extreme, scores
from openset.tables.union import merged, on_images

BOX = [0.0, 0.0, 10.0, 10.0]


def table(objects, images=6, labels=("cat", "dog"), **columns):
    """Objects as pairs of an image and a label."""
    image, label = zip(*objects, strict=True)
    size = np.full(images, 100.0)
    names = np.array([f"{at}.png" for at in range(images)])
    of = Images(np.arange(images), names, size, size)
    return Annotations(of, labels, image, label, np.array([BOX] * len(objects)), **columns)


def order(seed, images=6):
    return np.random.default_rng((seed, images)).permutation(images).tolist()


def test_objects_are_counted_and_the_last_ones_stay():
    """Image 0 has five dogs, the others one: it takes all five places of those before it."""
    many = table([(0, 1)] * 5 + [(at, 1) for at in range(1, 6)])
    for seed in range(20):
        before = order(seed).index(0)
        kept = [0] if before < 5 else sorted(order(seed)[:5])
        assert drawn(many, 5, seed).tolist() == kept


def test_drawing_ends_once_every_class_has_its_objects():
    both = table([(at, label) for at in range(6) for label in (0, 1)])
    for seed in range(10):
        assert drawn(both, 2, seed).tolist() == sorted(order(seed)[:2])


def test_a_rare_class_keeps_all_it_has_and_others_their_last():
    rare = table([(0, 0), *((at, 1) for at in range(1, 6))])
    for seed in range(10):
        rows = drawn(rare, 3, seed).tolist()
        assert 0 in rows and len(rows) == 4


def test_every_class_has_its_objects_on_the_chosen_images_or_all_it_has():
    chance = np.random.default_rng(0)
    for seed in range(50):
        pairs = zip(chance.integers(0, 12, 30), chance.integers(0, 4, 30) ** 2 // 3, strict=True)
        pool = table([*pairs], images=12, labels=("a", "b", "c", "d"))
        chosen = np.isin(pool.image, drawn(pool, 5, seed))
        there, shown = (np.bincount(pool.label[at], minlength=4) for at in (slice(None), chosen))
        assert (shown >= np.minimum(there, 5)).all()


def test_crowds_are_no_exemplars():
    crowd = table([(0, 0), (1, 0)], crowd=np.array([True, False]))
    assert drawn(crowd, 1, 0).tolist() == [1]


def test_highest_and_lowest_scores_are_chosen():
    truth = table([(at, 0) for at in range(6)], labels=("cat",))
    found = Detections(
        np.array([0, 1, 2, 3, 4]), np.zeros(5, np.int64), np.array([BOX] * 5),
        np.array([0.9, 0.1, 0.5, 0.8, 0.2]), ("cat",),
    )  # fmt: skip
    assert scores(truth, found).tolist() == [0.9, 0.1, 0.5, 0.8, 0.2, -1.0]
    assert extreme(truth, found, 2, 0).tolist() == [0, 1]
    assert extreme(truth, found, 4, 0).tolist() == [0, 1, 3, 4]
    assert extreme(truth, found, 100, 0).tolist() == [0, 1, 2, 3, 4]  # none was found on image 5


def test_a_score_is_of_the_same_class_and_place():
    truth = table([(0, 0), (1, 1)])
    far = [50.0, 50.0, 10.0, 10.0]
    found = Detections(
        np.array([0, 0, 1]), np.array([1, 0, 1]), np.array([BOX, far, BOX]),
        np.array([0.9, 0.8, 0.4]), ("cat", "dog"),
    )  # fmt: skip
    assert scores(truth, found).tolist() == [-1.0, 0.4]


def test_what_tables_show_of_one_image_is_put_together():
    first = table([(0, 0), (1, 0)], images=3, labels=("cat",))
    second = table([(1, 1), (2, 1), (2, 0)], images=4, labels=("cow", "dog"))
    both = merged([first, second], ("cat", "dog"))
    assert both.images.id.tolist() == [0, 1, 2, 3]
    pairs = sorted((int(i), both.labels[k]) for i, k in zip(both.image, both.label, strict=True))
    assert pairs == [(0, "cat"), (1, "cat"), (1, "dog"), (2, "dog")]  # the cow is of no label
    some = on_images(both, np.array([2, 1]))
    assert some.images.id.tolist() == [2, 1] and len(some) == 3
