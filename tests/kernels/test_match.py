import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openset import kernels
from scenes import kernels as scenes


def naive_best(scene, dtype=np.float64, offset=0.0):
    """Best overlap and object of every detection with each role, by plain loops."""
    found, objects = scenes.as_boxes(scene.xywh, dtype, offset), scene.objects(dtype, offset)
    truth, unknown = objects.boxes, scene.n_classes - 1
    offset = dtype(offset)
    best = {"same": [], "known": [], "unknown": []}
    for d in range(len(scene.image)):
        here = {role: (0.0, -1) for role in best}
        for g in range(len(scene.object_image)):
            if scene.object_image[g] != scene.image[d] or scene.region[g]:
                continue
            w = min(found.x2[d], truth.x2[g]) - max(found.x1[d], truth.x1[g]) + offset
            h = min(found.y2[d], truth.y2[g]) - max(found.y1[d], truth.y1[g]) + offset
            if w <= 0 or h <= 0:
                continue
            iou = w * h / (found.area[d] + truth.area[g] - w * h)
            same = scene.object_klass[g] == scene.klass[d]
            is_unknown = scene.object_klass[g] == unknown
            roles = {"same": same, "unknown": is_unknown, "known": not (same or is_unknown)}
            for role, applies in roles.items():
                if applies and iou > here[role][0]:
                    here[role] = (float(iou), g)
        for role, value in here.items():
            best[role].append(value)
    return best


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_best_overlaps_equal_plain_loops(backend, seed, dtype, offset):
    scene = scenes.random_scene(seed, max_detections=80, difficult=True)
    order, _, columns = scenes.run_match(scene, dtype=dtype, offset=offset)
    for role, expected in naive_best(scene, dtype, offset).items():
        iou, obj = getattr(columns, f"iou_{role}"), getattr(columns, f"object_{role}")
        assert iou.tolist() == [expected[d][0] for d in order], role
        assert obj.tolist() == [expected[d][1] for d in order], role


@pytest.mark.parametrize("seed", range(12))
def test_rows_and_columns_are_the_same_boxes(backend, seed):
    scene = scenes.random_scene(seed, difficult=True)
    random = np.random.default_rng(seed)
    rows = scene.xywh + random.random(scene.xywh.shape)  # sums and products that round
    order, _, of_rows = scenes.run_match(scene, boxes=rows)
    columns = scenes.run_match(scene, boxes=kernels.BoxColumns.of_rows(rows))[2]
    scenes.assert_same(of_rows, columns)
    assert of_rows.area.tolist() == (rows[:, 2] * rows[:, 3])[order].tolist()


def test_rows_of_another_width_are_refused(backend):
    scene = scenes.random_scene(1)
    with pytest.raises(ValueError, match="rows of boxes must have shape"):
        scenes.run_match(scene, boxes=scene.xywh[:, :3])


def test_similar_overlap_is_the_best_of_the_similar_known_classes(backend):
    for seed in range(12):
        scene = scenes.random_scene(seed, max_detections=80)
        n = scene.n_classes
        none, every = np.zeros((n, n), bool), np.ones((n, n), bool)
        columns = scenes.run_match(scene, similar=every)[2]
        assert (columns.iou_similar == columns.iou_known.astype(np.float32)).all()
        assert not scenes.run_match(scene, similar=none)[2].iou_similar.any()


@scenes.needs_native
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    dtype=st.sampled_from([np.float64, np.float32]),
    offset=st.sampled_from([0.0, 1.0]),
    prefer_later=st.booleans(),
    similar=st.booleans(),
    greedy=st.booleans(),
    limit=st.sampled_from([1, 5, 100]),
    n_thresholds=st.sampled_from([1, 10, 16]),
)
def test_backends_agree(seed, dtype, offset, prefer_later, similar, greedy, limit, n_thresholds):
    scene = scenes.random_scene(seed, difficult=True)
    table = np.random.default_rng(seed).random((scene.n_classes,) * 2) < 0.5
    options = {
        "dtype": dtype,
        "offset": offset,
        "prefer_later": prefer_later,
        "similar": table if similar else None,
        "greedy": greedy,
        "max_detections": limit,
        "thresholds": np.linspace(0.1, 1.0, n_thresholds),
    }
    results = []
    for name in ("native", "numpy"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENSET_KERNELS", name)
            results.append(scenes.run_match(scene, **options)[2])
    scenes.assert_same(*results)


@scenes.needs_native
def test_threads_do_not_change_the_result(monkeypatch):
    scene = scenes.random_scene(5, difficult=True)
    scene.n_images = 1000
    results = []
    for threads in ("1", "7"):
        monkeypatch.setenv("OPENSET_THREADS", threads)
        results.append(scenes.run_match(scene)[2])
    scenes.assert_same(*results)


def test_small_blocks_do_not_change_the_result(monkeypatch):
    from openset.kernels.numpy_twins import match as twin

    monkeypatch.setenv("OPENSET_KERNELS", "numpy")
    scene = scenes.random_scene(7)
    whole = scenes.run_match(scene)[2]
    monkeypatch.setattr(twin, "PAIRS_PER_BLOCK", 3)
    scenes.assert_same(whole, scenes.run_match(scene)[2])


def one_detection(objects, **options):
    """Match one box with the given ones, all of one class in one image."""
    xywh = np.array(objects, float)
    n = len(xywh)
    zeros = np.zeros(n, np.int32)
    no = np.zeros(n, bool)
    scene = scenes.Scene(
        1, 2, zeros[:1], zeros[:1], np.array([0.5]), np.array([[10.0, 0, 100, 100]]),
        zeros, zeros, xywh, xywh[:, 2] * xywh[:, 3], no, no,
    )  # fmt: skip
    return scenes.run_match(scene, **options)[2]


@pytest.mark.parametrize(("prefer_later", "winner"), [(True, 1), (False, 0)])
def test_equal_overlaps(backend, prefer_later, winner):
    columns = one_detection([[0, 0, 100, 100], [20, 0, 100, 100]], prefer_later=prefer_later)
    assert columns.object[0, 0] == winner
    assert columns.object_same[0] == 0


def test_perfect_overlap_reaches_threshold_one(backend):
    columns = one_detection([[10, 0, 100, 100]], thresholds=np.array([1.0]))
    assert columns.matched[0, 0] == 1


def test_exact_threshold_matches(backend):
    columns = one_detection([[10, 0, 100, 50]])
    assert columns.iou_same[0] == 0.5
    assert columns.matched[0, 0] == 1


def test_impossible_areas_never_match(backend):
    boxes = kernels.BoxColumns(*(np.array([v], float) for v in (0, 0, 4, 4, 0)))
    zero, no = np.zeros(1, np.int32), np.zeros(1, bool)
    for area in (16.0, 0.0):  # union 0, union negative
        other = kernels.BoxColumns(*(np.array([v], float) for v in (0, 0, 4, 4, area)))
        columns = kernels.match(
            kernels.DetectionColumns(
                zero, zero, boxes, *kernels.class_order(zero, np.ones(1), None, 1)
            ),
            kernels.ObjectColumns(zero, zero, other, np.ones(1), no, no),
            n_images=1, unknown_class=0, thresholds=np.array([0.5]),
            size_ranges=scenes.SIZE_RANGES, max_detections=100,
        )  # fmt: skip
        assert columns.object_same[0] == (0 if area else -1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_images": 0}, "image must lie in"),
        ({"thresholds": np.array([0.7, 0.5])}, "ascending"),
        ({"thresholds": np.array([0.0])}, "positive"),
        ({"thresholds": np.linspace(0.1, 0.9, 17)}, "1 to 16 thresholds"),
        ({"similar": np.ones((1, 1), bool)}, "similar must have shape"),
        ({"size_ranges": np.zeros(2)}, "two columns"),
    ],
)
def test_bad_rules_are_refused(backend, options, message):
    with pytest.raises(ValueError, match=message):
        one_detection([[0, 0, 1, 1]], **options)
