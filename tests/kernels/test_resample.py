"""Weighted counts equal those of a data set in which images literally occur several times."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openset import kernels
from openset.resampling.draws import draw
from scenes import kernels as scenes

LIMIT = 20


def draw_weights(scene, n_resamples, seed):
    random = np.random.default_rng(seed)
    weights = random.integers(0, 4, (scene.n_images, n_resamples)).astype(np.uint8)
    weights[:, 0] = 1
    return weights


def weighted_positives(scene, weights, low, high):
    keep = ~scene.ignore & (scene.size >= low) & (scene.size <= high)
    counts = np.zeros((scene.n_classes, scene.n_images), np.int64)
    np.add.at(counts, (scene.object_klass[keep], scene.object_image[keep]), 1)
    return counts @ weights


def weighted(scene, weights, size_range=0, area=False):
    order, start, columns = scenes.run_match(scene, max_detections=LIMIT)
    low, high = scenes.SIZE_RANGES[size_range]
    own = (scene.xywh[:, 2] * scene.xywh[:, 3])[order]
    counted = (columns.rank < LIMIT) & (own >= low) & (own <= high)
    return kernels.weighted_average_precision(
        start,
        scene.image[order],
        columns.position,
        columns.matched[:, size_range],
        columns.ignored[:, size_range],
        weights,
        weighted_positives(scene, weights, low, high),
        n_thresholds=len(scenes.THRESHOLDS),
        recall_grid=scenes.RECALL_GRID,
        counted=counted,
        area=area,
    )


def repeated(scene, weights):
    """Accumulate with each detection literally repeated; return precision by grid."""
    order, start, columns = scenes.run_match(scene, max_detections=LIMIT)
    times = weights[scene.image[order]].astype(np.int64)
    copies = np.repeat(np.arange(len(order)), times)
    candidate = np.full(len(order), -1)
    candidate[columns.position] = np.arange(len(columns.position))
    rows = candidate[copies]
    n_positive = [weighted_positives(scene, weights[:, None], *r)[:, 0] for r in scenes.SIZE_RANGES]
    return kernels.accumulate(
        scene.score[order][copies],
        (scene.xywh[:, 2] * scene.xywh[:, 3])[order][copies],
        columns.rank[copies],
        np.concatenate([[0], np.cumsum(times)])[start],
        np.flatnonzero(rows >= 0).astype(np.int32),
        columns.matched[rows[rows >= 0]],
        columns.ignored[rows[rows >= 0]],
        np.stack(n_positive, axis=1),
        n_thresholds=len(scenes.THRESHOLDS),
        size_ranges=scenes.SIZE_RANGES,
        recall_grid=scenes.RECALL_GRID,
        max_detections=(LIMIT,),
    )


@pytest.mark.parametrize("seed", range(12))
def test_equals_repeating_the_images(backend, seed):
    scene = scenes.random_scene(seed, difficult=True)
    weights = draw_weights(scene, 5, seed)
    for size_range in (0, 1):
        got = weighted(scene, weights, size_range)
        for b in range(weights.shape[1]):
            precision = repeated(scene, weights[:, b]).precision[..., size_range]
            expected = precision.mean(axis=1).T
            np.testing.assert_allclose(got[:, :, b], expected, rtol=1e-13, atol=0)


def plain_area(hits, false, n_positive):
    """Area under the envelope of precision over recall, as in VOC from 2010 on."""
    tp, fp = np.cumsum(hits), np.cumsum(false)
    precision = np.concatenate([[0], tp / np.maximum(tp + fp, 1), [0]])
    recall = np.concatenate([[0], tp / n_positive, [1]])
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float(((recall[1:] - recall[:-1]) * envelope[1:]).sum())


def test_area_equals_the_voc_formula(backend):
    random = np.random.default_rng(1)
    hits = random.random(200) < 0.4
    image = random.integers(0, 30, 200).astype(np.int32)
    weights = random.integers(0, 3, (30, 70)).astype(np.uint8)
    n_positive = np.array([np.bincount(image[hits], minlength=30) @ weights + 9])
    position = np.flatnonzero(hits).astype(np.int32)
    got = kernels.weighted_average_precision(
        np.array([0, 200]), image, position, np.ones(len(position), np.uint16),
        np.zeros(len(position), np.uint16), weights, n_positive,
        n_thresholds=1, recall_grid=scenes.RECALL_GRID, area=True,
    )  # fmt: skip
    for b in range(70):
        copies = np.repeat(hits, weights[image, b])
        expected = plain_area(copies, ~copies, n_positive[0, b])
        assert got[0, 0, b] == pytest.approx(expected, rel=1e-12)


@scenes.needs_native
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_resamples=st.sampled_from([1, 63, 64, 130]),
    size_range=st.integers(0, 3),
    area=st.booleans(),
)
def test_backends_agree(seed, n_resamples, size_range, area):
    scene = scenes.random_scene(seed, difficult=True)
    weights = draw_weights(scene, n_resamples, seed)
    results = []
    for name in ("native", "numpy"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENSET_KERNELS", name)
            results.append(weighted(scene, weights, size_range, area))
    assert np.array_equal(*results, equal_nan=True)


@scenes.needs_native
@pytest.mark.parametrize("area", [False, True])
@pytest.mark.parametrize("n_resamples", [18, 130, 258])
def test_half_samples_are_as_others(monkeypatch, area, n_resamples):
    """Pairs of halves are counted together: the same bits as one by one, and as the twin's."""
    parities = set()
    for seed in range(16):
        scene = scenes.random_scene(seed, difficult=True)
        parities.add(scene.n_images % 2)  # of an odd number, two halves draw one image once each
        weights = draw(scene.n_images, seed, n_resamples)
        monkeypatch.setenv("OPENSET_KERNELS", "numpy")
        twin = weighted(scene, weights, area=area)
        monkeypatch.setenv("OPENSET_KERNELS", "native")
        pairs = weighted(scene, weights, area=area)
        alone = weighted(scene, np.column_stack([weights, weights[:, 0]]), area=area)[..., :-1]
        assert np.array_equal(pairs, twin, equal_nan=True)
        assert np.array_equal(pairs, alone, equal_nan=True)
    assert parities == {0, 1}


def test_weights_must_cover_all_images(backend):
    with pytest.raises(ValueError, match="image must lie in"):
        kernels.weighted_average_precision(
            np.array([0, 1]), np.array([1], np.int32), np.empty(0, np.int32),
            np.empty(0, np.uint16), np.empty(0, np.uint16), np.ones((1, 3), np.uint8),
            np.ones((1, 3), np.int64), n_thresholds=1, recall_grid=np.ones(1),
        )  # fmt: skip
