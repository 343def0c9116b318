"""Every match, precision, recall and score equals pycocotools, exactly."""

import contextlib
import io

import numpy as np
import pytest

from scenes import kernels as scenes

coco = pytest.importorskip("pycocotools.coco")
cocoeval = pytest.importorskip("pycocotools.cocoeval")

N_RANGES, N_THRESHOLDS = len(scenes.SIZE_RANGES), len(scenes.THRESHOLDS)


def reference(scene):
    """Evaluate a scene with pycocotools; ids are indices plus 1."""
    truth = coco.COCO()
    truth.dataset = {
        "images": [{"id": i + 1} for i in range(scene.n_images)],
        "categories": [{"id": k + 1} for k in range(scene.n_classes)],
        "annotations": [
            {
                "id": j + 1,
                "image_id": int(scene.object_image[j]) + 1,
                "category_id": int(scene.object_klass[j]) + 1,
                "bbox": scene.object_xywh[j].tolist(),
                "area": float(scene.size[j]),
                "iscrowd": int(scene.region[j]),
            }
            for j in range(len(scene.object_image))
        ],
    }
    found = [
        {
            "image_id": int(scene.image[d]) + 1,
            "category_id": int(scene.klass[d]) + 1,
            "bbox": scene.xywh[d].tolist(),
            "score": float(scene.score[d]),
        }
        for d in range(len(scene.image))
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        evaluation = cocoeval.COCOeval(truth, truth.loadRes(found), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
    return evaluation


def reference_matches(scene, evaluation):
    """Return matched annotation ids and ignore flags by detection, size range and threshold."""
    n = len(scene.image)
    matches = np.zeros((n, N_RANGES, N_THRESHOLDS), int)
    ignored = np.zeros((n, N_RANGES, N_THRESHOLDS), bool)
    evaluated = np.zeros(n, bool)
    for number, entry in enumerate(evaluation.evalImgs):
        if entry is None or not entry["dtIds"]:
            continue
        index = np.array(entry["dtIds"]) - 1
        size_range = number // scene.n_images % N_RANGES
        matches[index, size_range] = entry["dtMatches"].T
        ignored[index, size_range] = entry["dtIgnore"].T
        evaluated[index] = True
    return matches, ignored, evaluated


def our_matches(scene, order, columns):
    """Return masks of matched and ignored, and the objects of the first size range."""
    n = len(scene.image)
    bits = np.arange(N_THRESHOLDS, dtype=np.uint16)
    hit = np.zeros((n, N_RANGES, N_THRESHOLDS), bool)
    ignored = np.zeros((n, N_RANGES, N_THRESHOLDS), bool)
    objects = np.zeros((n, N_THRESHOLDS), int)
    index = order[columns.position]
    hit[index] = columns.matched[..., None] >> bits & 1
    ignored[index] = columns.ignored[..., None] >> bits & 1
    objects[index] = columns.object + 1
    return hit, ignored, objects


@pytest.mark.parametrize("seed", range(30))
def test_equals_pycocotools(backend, seed):
    scene = scenes.random_scene(seed)
    if not len(scene.image):
        pytest.skip("pycocotools cannot load an empty list of results")
    evaluation = reference(scene)
    matches, ignored, evaluated = reference_matches(scene, evaluation)
    order, start, columns = scenes.run_match(scene, tie=scene.image)
    within = np.zeros(len(scene.image), bool)
    within[order[columns.rank < 100]] = True
    assert (within == evaluated).all()

    hit, passed, objects = our_matches(scene, order, columns)
    assert ((hit | passed) == (matches > 0)).all()
    assert (objects == matches[:, 0]).all()
    area = (scene.xywh[:, 2] * scene.xywh[:, 3])[:, None]
    outside = (area < scenes.SIZE_RANGES[:, 0]) | (area > scenes.SIZE_RANGES[:, 1])
    unmatched = ~(hit | passed) & outside[..., None] & within[:, None, None]
    assert ((passed | unmatched) == ignored).all()

    result = scenes.run_accumulate(scene, order, start, columns)
    expected = {
        "precision": evaluation.eval["precision"][..., -1],
        "scores": evaluation.eval["scores"][..., -1],
        "recall": evaluation.eval["recall"],
    }
    for name, values in expected.items():
        values = np.where(values == -1, np.nan, values)
        assert np.array_equal(getattr(result, name), values, equal_nan=True), name
