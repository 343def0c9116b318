"""Provenance: hashes of the data, whatever the way in which it was sorted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.evaluation.provenance import _object_order, describe
from openset.matching import match
from openset.matching.digest import digest
from openset.matching.merge import merge
from openset.matching.restricting import restrict_images
from scenes.builders import KNOWN, scene


@pytest.fixture
def matches():
    return match(*scene(3, images=9).tables(), KNOWN)


def hash_of(matches):
    return describe(matches, {}, seed=0, resamples=0).detections_hash


def test_hashes_do_not_depend_on_how_much_is_looked_at(matches, monkeypatch):
    once = describe(matches, {}, seed=0, resamples=0)
    monkeypatch.setattr("openset.matching.digest._STEP", 2)
    assert describe(replace(matches, _outcomes={}), {}, seed=0, resamples=0) == once


@pytest.mark.parametrize(
    "ids", [lambda ids: ids, lambda ids: np.char.add("image ", ids.astype(str))]
)
def test_hashes_do_not_depend_on_the_order_of_images(matches, ids):
    matches = replace(matches, image_ids=ids(matches.image_ids))
    first = np.arange(matches.n_images) < 4
    shards = [restrict_images(matches, some) for some in (~first, first)]
    assert hash_of(merge(shards)) == hash_of(matches)
    assert sum(map(digest, shards)) % 2**64 == digest(matches)


@pytest.mark.parametrize("size", [0, 1, 2, 500, 70_000])
def test_objects_are_ordered_as_lexsort_orders_them(size):
    random = np.random.default_rng(size)
    odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, 1.5 + 2**-50, -5e-324])
    box = [random.choice(odd, size), *random.normal(size=(3, size)).round(1)]
    image, label = random.integers(0, size // 5 + 1, (2, size), dtype=np.int32)
    columns = [image, label % 3, *box, random.random(size) < 0.5]
    assert np.array_equal(_object_order(columns), np.lexsort(columns[::-1]))


def moved(matches, name):
    """Matches that differ in one value."""
    column = getattr(matches, name).copy()
    column[0] += 1
    return replace(matches, **{name: column})


def larger(matches):
    area = matches.area.copy()
    area[0] += 1
    return replace(matches, columns=matches.columns._replace(area=area))


CHANGES = {
    "a score": lambda one: moved(one, "score"),
    "an image": lambda one: moved(one, "image"),
    "the name of an image": lambda one: moved(one, "image_ids"),
    "a size": larger,
    "a label": lambda one: replace(one, class_start=one.class_start - np.eye(5, dtype=int)[1]),
    "one fewer": lambda one: one.only(np.arange(len(one)) > 0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_hash_changes_with_what_was_detected(matches, change):
    assert hash_of(CHANGES[change](matches)) != hash_of(matches)


def test_two_values_that_change_places_are_seen(matches):
    score = matches.score.copy()
    other = (matches.image != matches.image[0]) & (score != score[0])
    at = [0, np.flatnonzero(other)[0]]
    score[at] = score[at[::-1]]
    assert hash_of(replace(matches, score=score)) != hash_of(matches)
