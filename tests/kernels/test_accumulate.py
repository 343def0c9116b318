import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenes import kernels as scenes


@scenes.needs_native
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_grid=st.sampled_from([1, 11, 101]),
    limits=st.sampled_from([(100,), (1, 10, 100), (0, 5, 5)]),
)
def test_backends_agree(seed, n_grid, limits):
    scene = scenes.random_scene(seed, difficult=True)
    options = {"recall_grid": np.linspace(0, 1, n_grid), "max_detections": limits}
    results = []
    for name in ("native", "numpy"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENSET_KERNELS", name)
            found = scenes.run_match(scene, max_detections=limits[-1])
            results.append(scenes.run_accumulate(scene, *found, **options))
    scenes.assert_same(*results)


def test_class_without_objects_is_nan(backend):
    scene = scenes.random_scene(3)
    scene.ignore = np.ones(len(scene.ignore), bool)
    result = scenes.run_accumulate(scene, *scenes.run_match(scene))
    assert np.isnan(result.precision).all()
    assert np.isnan(result.scores).all()
    assert np.isnan(result.recall).all()


def test_no_detections_give_zero(backend):
    scene = scenes.random_scene(3)
    for name in ("image", "klass", "score", "xywh"):
        setattr(scene, name, getattr(scene, name)[:0])
    result = scenes.run_accumulate(scene, *scenes.run_match(scene))
    counted = scene.n_positive() > 0
    assert counted.any()
    assert not result.precision[:, :, counted].any()
    assert not result.recall[:, counted].any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recall_grid": np.array([1.0, 0.0])}, "recall_grid"),
        ({"recall_grid": np.array([np.inf])}, "recall_grid"),
        ({"max_detections": (10, 1)}, "max_detections"),
        ({"size_ranges": scenes.SIZE_RANGES[:1]}, "matched and ignored"),
    ],
)
def test_bad_rules_are_refused(backend, options, message):
    scene = scenes.random_scene(3)
    with pytest.raises(ValueError, match=message):
        scenes.run_accumulate(scene, *scenes.run_match(scene), **options)
