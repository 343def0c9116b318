"""Random data sets that provoke ties: integer boxes, few score levels, crowds, crowded cells."""

from dataclasses import dataclass

import numpy as np
import pytest

from openset import kernels
from openset.kernels import _library

THRESHOLDS = np.linspace(0.5, 0.95, 10)
SIZE_RANGES = np.array([[0, 1e10], [0, 32**2], [32**2, 96**2], [96**2, 1e10]], float)
RECALL_GRID = np.linspace(0.0, 1.00, 101)

needs_native = pytest.mark.skipif(
    _library._load() is None, reason="the compiled kernels are not built"
)


@dataclass
class Scene:
    n_images: int
    n_classes: int
    image: np.ndarray
    klass: np.ndarray
    score: np.ndarray
    xywh: np.ndarray
    object_image: np.ndarray
    object_klass: np.ndarray
    object_xywh: np.ndarray
    size: np.ndarray
    ignore: np.ndarray
    region: np.ndarray

    def objects(self, dtype=np.float64, offset=0.0):
        boxes = as_boxes(self.object_xywh, dtype, offset)
        return kernels.ObjectColumns(
            self.object_image, self.object_klass, boxes, self.size, self.ignore, self.region
        )

    def n_positive(self, ranges=SIZE_RANGES):
        counts = np.zeros((self.n_classes, len(ranges)), np.int64)
        for a, (low, high) in enumerate(ranges):
            keep = ~self.ignore & (self.size >= low) & (self.size <= high)
            np.add.at(counts[:, a], self.object_klass[keep], 1)
        return counts


def as_boxes(xywh, dtype=np.float64, offset=0.0):
    x, y, w, h = xywh.astype(dtype).T
    return kernels.BoxColumns(x, y, x + w, y + h, (w + dtype(offset)) * (h + dtype(offset)))


def random_scene(seed, *, max_detections=400, max_objects=40, difficult=False):
    random = np.random.default_rng(seed)
    n_images, n_classes = int(random.integers(1, 9)), int(random.integers(1, 6))
    n_objects = int(random.integers(0, max_objects))
    n_detections = int(random.integers(0, max_detections))
    extent = [12, 60, 200][seed % 3]
    object_xywh, xywh = _boxes(random, n_objects, extent), _boxes(random, n_detections, extent)
    near = n_detections // 2 if n_objects else 0
    source = random.integers(0, max(n_objects, 1), near)
    if near:
        xywh[:near] = object_xywh[source] + random.integers(-2, 3, (near, 4))
        xywh[:, 2:] = np.maximum(xywh[:, 2:], 1)
    levels = 4 if seed % 2 else 1000
    region = random.random(n_objects) < 0.2
    return Scene(
        n_images,
        n_classes,
        random.integers(0, n_images, n_detections).astype(np.int32),
        random.integers(0, n_classes, n_detections).astype(np.int32),
        random.integers(1, levels, n_detections) / levels,
        xywh,
        random.integers(0, n_images, n_objects).astype(np.int32),
        random.integers(0, n_classes, n_objects).astype(np.int32),
        object_xywh,
        object_xywh[:, 2] * object_xywh[:, 3] * random.choice([1, 0.5], n_objects),
        region | (random.random(n_objects) < 0.2) if difficult else region,
        region,
    )


def _boxes(random, n, extent):
    corner, size = random.integers(0, extent, (n, 2)), random.integers(1, extent, (n, 2))
    return np.concatenate([corner, size], axis=1).astype(float)


def run_match(scene, *, dtype=np.float64, offset=0.0, tie=None, boxes=None, **options):
    order, start = kernels.class_order(scene.klass, scene.score, tie, scene.n_classes)
    rules = {
        "n_images": scene.n_images,
        "unknown_class": scene.n_classes - 1,
        "thresholds": THRESHOLDS,
        "size_ranges": SIZE_RANGES,
        "max_detections": 100,
        "offset": offset,
    }
    shown = as_boxes(scene.xywh, dtype, offset) if boxes is None else boxes
    found = kernels.DetectionColumns(scene.image, scene.klass, shown, order, start)
    columns = kernels.match(found, scene.objects(dtype, offset), **(rules | options))
    return order, start, columns


def run_accumulate(scene, order, start, columns, **options):
    area = scene.xywh[:, 2] * scene.xywh[:, 3]
    rules = {
        "n_thresholds": len(THRESHOLDS),
        "size_ranges": SIZE_RANGES,
        "recall_grid": RECALL_GRID,
        "max_detections": (1, 10, 100),
    }
    return kernels.accumulate(
        scene.score[order],
        area[order],
        columns.rank,
        start,
        columns.position,
        columns.matched,
        columns.ignored,
        scene.n_positive(),
        **(rules | options),
    )


def assert_same(one, other):
    """Every field of two results is equal in every bit that means something."""
    for name in one._fields:
        a, b = getattr(one, name), getattr(other, name)
        if a is None or b is None:
            assert a is b, name
            continue
        assert a.dtype == b.dtype, name
        nan_equal = a.dtype.kind == "f"
        assert np.array_equal(a, b, equal_nan=nan_equal), name
