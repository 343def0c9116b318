"""Matches restricted to some images are those of a file that has these images alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import UsageError
from openset.matching import match
from openset.matching.restricting import restrict_images
from openset.metrics import table
from scenes.diagnosis import golden_matches, random_tables


def part_of(truth, detections, mask):
    """Only some images, as a file of its own would have them."""
    images = replace(
        truth.images, id=truth.images.id[mask], file_name=None, width=None, height=None
    )
    chosen = truth.select(mask[truth.image])
    chosen = replace(chosen, images=images, image=(np.cumsum(mask) - 1)[chosen.image])
    return chosen, detections.select(np.isin(detections.image, truth.images.id[mask]))


@pytest.mark.parametrize("protocol", ["default", "owod", "paper", "elephant"])
@pytest.mark.parametrize("seed", range(3))
def test_restricted_matches_are_those_of_the_part(seed, protocol):
    truth, detections, vocabulary = random_tables(seed)
    mask = np.arange(len(truth.images)) % 3 != 1
    found = restrict_images(match(truth, detections, vocabulary, protocol), mask)
    want = match(*part_of(truth, detections, mask), vocabulary, protocol)
    assert (found.image_ids == want.image_ids).all() and (found.wild == want.wild).all()
    assert (found.score == want.score).all() and (found.class_start == want.class_start).all()
    assert (found.objects.label == want.objects.label).all()
    for name in ("iou_same", "object_same", "object_unknown", "position", "matched", "object"):
        assert (getattr(found.columns, name) == getattr(want.columns, name)).all(), name
    for name in ("correct", "ignored", "object"):
        assert (getattr(found.outcome(), name) == getattr(want.outcome(), name)).all(), name
    for metric in table().values():
        assert metric.compute(found).value == pytest.approx(
            metric.compute(want).value, nan_ok=True
        ), metric.name


def test_all_images_change_nothing():
    matches = golden_matches("tiny")
    found = restrict_images(matches, np.ones(matches.n_images, bool))
    assert (found.columns.object_same == matches.columns.object_same).all()
    with pytest.raises(UsageError, match="mask"):
        restrict_images(matches, np.ones(3, bool))


def test_weights_follow():
    matches = golden_matches("tiny")
    weights = np.arange(matches.n_images * 2, dtype=np.uint8).reshape(-1, 2)
    mask = np.arange(matches.n_images) < 4
    found = restrict_images(matches.resampled(weights), mask)
    assert (found.weights == weights[:4]).all()
