"""Seeded synthetic workloads in COCO format: ground truth and detections for evaluator benchmarks.

    python speed/workloads.py S M            # files that exist are kept; --force rewrites

The statistics follow COCO val2017: about 7.4 boxes per image with a heavy tail, 1 % of the images
empty, the first class holds 30 % of the objects, a long tail for the rest, 41 / 34 / 24 % small,
medium and large objects, 1.2 % crowds, polygons in the ground truth (file size counts), ids with
gaps and shuffled records. A quarter of the classes are unknown and a fifth of the images hold
only unknown objects, so one pair of files serves closed-set and open-set evaluation: each
category carries ``"role": "known" | "unknown"``, which other evaluators ignore.

Scores have 5 and boxes 3 decimals, so ties are plentiful; ``M_full`` keeps the float32 values
with their 17 digits.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FOLDER = Path(__file__).resolve().parent / "workloads"
SEED = 20260101
CLASSES_PER_IMAGE = 8


@dataclass(frozen=True)
class Size:
    """How large a workload is."""

    images: int
    classes: int = 80
    objects_per_image: float = 7.36
    detections_per_image: float = 92
    polygons: bool = True
    full_precision: bool = False


SIZES: dict[str, Size] = {
    "S": Size(500),
    "M": Size(5_000),
    "M_full": Size(5_000, full_precision=True),
    "L": Size(125_000, classes=500, objects_per_image=6.4, detections_per_image=48, polygons=False),
    **{f"SC{n}": Size(n) for n in (1_000, 2_000, 4_000, 8_000, 16_000)},
}


@dataclass(frozen=True)
class Images:
    """Categories and images, with the classes that each image may show."""

    probability: Floats
    unknown: Bools
    category_id: Ints
    image_id: Ints
    width: Floats
    height: Floats
    wild: Bools
    n_objects: Ints
    n_classes: Ints
    classes: Ints


@dataclass(frozen=True)
class Objects:
    """Ground truth, one row per object; ``image`` and ``label`` are positions, not ids."""

    image: Ints
    label: Ints
    box: Floats
    area: Floats
    side: Floats
    crowd: Bools
    id: Ints


@dataclass(frozen=True)
class Detections:
    """Detections, one row each; ``image`` and ``label`` are positions, not ids."""

    image: Ints
    label: Ints
    box: Floats
    score: Floats


def draw_images(rng: np.random.Generator, size: Size) -> Images:
    """Draw categories, image sizes and the classes of every image."""
    n, k = size.images, size.classes
    tail = 1.0 / np.arange(1, k) ** (0.6 if k < 200 else 0.9)
    probability = np.r_[0.27, 0.73 * tail / tail.sum()]
    unknown = np.zeros(k, bool)
    unknown[3::4] = True  # a quarter, and never the most frequent class
    category_id = np.sort(rng.choice(np.arange(1, int(k * 1.13) + 1), k, replace=False))
    image_id = np.sort(rng.choice(np.arange(1, max(600_000, n * 4)), n, replace=False))
    width = np.where(rng.random(n) < 0.7, 640, rng.integers(400, 641, n)).astype(float)
    height = np.where(rng.random(n) < 0.7, 480, rng.integers(400, 641, n)).astype(float)
    wild = rng.random(n) < 0.20
    spread = 1.15 / (1.15 + size.objects_per_image - 0.8)
    n_objects = np.minimum(rng.negative_binomial(1.15, spread, n) + 1, 90)
    n_objects[rng.random(n) < 0.01] = 0
    n_classes = np.minimum(1 + rng.poisson(1.9, n), CLASSES_PER_IMAGE)
    classes = rng.choice(k, (n, CLASSES_PER_IMAGE), p=probability)
    unknown_only = np.where(unknown, probability, 0)
    unknown_only /= unknown_only.sum()
    classes[wild] = rng.choice(k, (int(wild.sum()), CLASSES_PER_IMAGE), p=unknown_only)
    return Images(
        probability=probability,
        unknown=unknown,
        category_id=category_id,
        image_id=image_id,
        width=width,
        height=height,
        wild=wild,
        n_objects=n_objects,
        n_classes=n_classes,
        classes=classes,
    )


def draw_objects(rng: np.random.Generator, images: Images) -> Objects:
    """Draw the ground-truth objects of every image."""
    image = np.repeat(np.arange(images.n_objects.size), images.n_objects)
    n = image.size
    rank = (images.n_classes[image] * rng.random(n) ** 1.6).astype(int)
    label = images.classes[image, rank]
    side = np.exp(rng.normal(3.733, 1.177, n)).clip(4, 560)  # square root of the mask's area
    aspect = np.exp(rng.normal(0, 0.45, n))
    fill = rng.uniform(0.45, 0.85, n)
    crowd = rng.random(n) < np.where(label == 0, 0.025, 0.006)
    side[crowd] *= 2.5
    w_max, h_max = images.width[image], images.height[image]
    w = np.minimum(side / np.sqrt(fill) * np.sqrt(aspect), w_max * 0.98)
    h = np.minimum(side / np.sqrt(fill) / np.sqrt(aspect), h_max * 0.98)
    x = rng.random(n) * (w_max - w)
    y = rng.random(n) * (h_max - h)
    box = np.round(np.c_[x, y, w, h], 2).clip(0.01)
    area = np.round(box[:, 2] * box[:, 3] * fill, 4)
    ids = rng.permutation(np.arange(1, 3 * n + 1))[:n]
    return Objects(image=image, label=label, box=box, area=area, side=side, crowd=crowd, id=ids)


def draw_hits(rng: np.random.Generator, size: Size, images: Images, objects: Objects) -> Detections:
    """Draw the detections that come from an object: one good one for most, and its duplicates."""
    n_objects = objects.image.size
    quality = 0.9 if size.detections_per_image > 60 else 0.6  # fewer duplicates on L
    n_duplicates = rng.poisson(np.where(objects.crowd, 6, 3.2 * quality), n_objects)
    found = np.select([objects.side < 32, objects.side < 96], [0.55, 0.8], 0.92)
    hit = rng.random(n_objects) < found
    source = np.r_[np.flatnonzero(hit), np.repeat(np.arange(n_objects), n_duplicates)]
    n = source.size
    main = np.arange(n) < int(hit.sum())
    jitter = np.where(main, rng.gamma(2.0, 0.03, n), rng.gamma(2.5, 0.09, n))
    x, y, w, h = objects.box[source].T
    box = np.c_[
        x + rng.normal(0, 1, n) * jitter * w,
        y + rng.normal(0, 1, n) * jitter * h,
        w * np.exp(rng.normal(0, 1, n) * jitter),
        h * np.exp(rng.normal(0, 1, n) * jitter),
    ]
    in_crowd = objects.crowd[source]
    box[in_crowd, 2:] *= rng.uniform(0.1, 0.9, (int(in_crowd.sum()), 2))
    true_label = objects.label[source]
    image = objects.image[source]
    right = np.where(images.unknown[true_label], 0.62, np.where(main, 0.9, 0.72))
    kept = rng.random(n) < right
    label = np.where(kept, true_label, draw_labels(rng, images, image))
    good = rng.beta(3.2, 2.0, n) * np.where(kept, 1, 0.7)
    score = np.where(main, good, rng.beta(0.9, 6, n))
    return Detections(image=image, label=label, box=box, score=score)


def draw_labels(rng: np.random.Generator, images: Images, image: Ints) -> Ints:
    """Draw a class for each detection: half from the image's own classes, half from all."""
    n = image.size
    return np.where(
        rng.random(n) < 0.5,
        images.classes[image, rng.integers(0, 3, n)],
        rng.choice(images.unknown.size, n, p=images.probability),
    )


def draw_background(
    rng: np.random.Generator, images: Images, wanted: Ints, hits: Detections
) -> Detections:
    """Draw detections of nothing until each image has as many as wanted."""
    n_images = images.image_id.size
    missing = np.maximum(wanted - np.bincount(hits.image, minlength=n_images), 0)
    image = np.repeat(np.arange(n_images), missing)
    n = image.size
    side = np.exp(rng.normal(4.0, 1.0, n)).clip(4, 500)
    aspect = np.exp(rng.normal(0, 0.45, n))
    w = np.minimum(side * np.sqrt(aspect), images.width[image])
    h = np.minimum(side / np.sqrt(aspect), images.height[image])
    x = rng.random(n) * (images.width[image] - w)
    y = rng.random(n) * (images.height[image] - h)
    label = draw_labels(rng, images, image)
    score = rng.beta(0.35, 9, n)
    return Detections(image=image, label=label, box=np.c_[x, y, w, h], score=score)


def draw_detections(
    rng: np.random.Generator, size: Size, images: Images, objects: Objects
) -> Detections:
    """Draw all detections, clipped to their image, by image and falling score."""
    mean = np.log(size.detections_per_image) - 0.18
    wanted = np.minimum(rng.lognormal(mean, 0.6, size.images), 300).astype(int)
    hits = draw_hits(rng, size, images, objects)
    rest = draw_background(rng, images, wanted, hits)
    image = np.r_[hits.image, rest.image]
    box = np.vstack([hits.box, rest.box])
    score = np.r_[hits.score, rest.score].clip(0.001, 0.9999)
    right = np.minimum(box[:, 0] + box[:, 2], images.width[image])
    bottom = np.minimum(box[:, 1] + box[:, 3], images.height[image])
    box[:, :2] = box[:, :2].clip(0)
    box[:, 2] = (right - box[:, 0]).clip(0.5)
    box[:, 3] = (bottom - box[:, 1]).clip(0.5)
    if size.full_precision:
        box = box.astype(np.float32).astype(float)
        score = score.astype(np.float32).astype(float)
    else:
        box, score = np.round(box, 3), np.round(score, 5)
    order = np.lexsort((-score, image))
    return Detections(
        image=image[order],
        label=np.r_[hits.label, rest.label][order],
        box=box[order],
        score=score[order],
    )


def image_records(images: Images, order: Ints) -> list[dict[str, Any]]:
    """Return the images as COCO records, in the given order."""
    return [
        {
            "license": 1,
            "file_name": f"{images.image_id[i]:012d}.jpg",
            "height": int(images.height[i]),
            "width": int(images.width[i]),
            "date_captured": "2013-11-14 17:02:52",
            "id": int(images.image_id[i]),
        }
        for i in order.tolist()
    ]


def category_records(images: Images) -> list[dict[str, Any]]:
    """Return the categories as COCO records, each with its role."""
    roles = np.where(images.unknown, "unknown", "known").tolist()
    return [
        {"supercategory": role, "role": role, "id": category, "name": f"class_{k}"}
        for k, (role, category) in enumerate(zip(roles, images.category_id.tolist(), strict=True))
    ]


def polygon(box: list[float], corners: int) -> list[list[float]]:
    """Return an ellipse inside the box as a COCO polygon."""
    x, y, w, h = box
    turn = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    points = np.c_[x + w * (0.5 + 0.5 * np.cos(turn)), y + h * (0.5 + 0.5 * np.sin(turn))]
    return [np.round(points, 2).ravel().tolist()]


def object_records(
    images: Images, objects: Objects, order: Ints, corners: Ints | None
) -> Iterator[dict[str, Any]]:
    """Yield the objects as COCO records, with a segmentation where corners are given."""
    boxes, areas, crowds = objects.box.tolist(), objects.area.tolist(), objects.crowd.tolist()
    image_ids = images.image_id[objects.image].tolist()
    category_ids = images.category_id[objects.label].tolist()
    ids = objects.id.tolist()
    run_lengths = [7 * i % 97 for i in range(40)]
    for j in order.tolist():
        record: dict[str, Any] = {}
        if corners is not None and crowds[j]:
            i = objects.image[j]
            shape = [int(images.height[i]), int(images.width[i])]
            record["segmentation"] = {"counts": run_lengths, "size": shape}
        elif corners is not None:
            record["segmentation"] = polygon(boxes[j], int(corners[j]))
        yield record | {
            "area": areas[j],
            "iscrowd": int(crowds[j]),
            "image_id": image_ids[j],
            "bbox": boxes[j],
            "category_id": category_ids[j],
            "id": ids[j],
        }


def detection_records(images: Images, detections: Detections) -> Iterator[dict[str, Any]]:
    """Yield the detections as COCO results."""
    block = 200_000
    for start in range(0, detections.image.size, block):
        part = slice(start, start + block)
        columns = (
            images.image_id[detections.image[part]].tolist(),
            images.category_id[detections.label[part]].tolist(),
            detections.box[part].tolist(),
            detections.score[part].tolist(),
        )
        for image_id, category_id, box, score in zip(*columns, strict=True):
            yield {"image_id": image_id, "category_id": category_id, "bbox": box, "score": score}


def write_array(file: TextIO, records: Iterable[dict[str, Any]]) -> None:
    """Write records as one JSON array without holding its text."""
    separator = "["
    for record in records:
        file.write(separator)
        file.write(json.dumps(record))
        separator = ", "
    file.write("[]" if separator == "[" else "]")


def generate(name: str, folder: Path = FOLDER) -> tuple[Path, Path]:
    """Write one workload and return the paths of its ground truth and its detections."""
    size = SIZES[name]
    rng = np.random.default_rng([SEED, size.images, size.classes])
    images = draw_images(rng, size)
    objects = draw_objects(rng, images)
    detections = draw_detections(rng, size, images, objects)
    image_order = rng.permutation(size.images)
    object_order = rng.permutation(objects.id.size)
    corners = rng.integers(8, 45, objects.id.size) if size.polygons else None
    folder.mkdir(parents=True, exist_ok=True)
    truth, results = paths(name, folder)
    part = truth.with_suffix(".part")
    with part.open("w") as file:
        file.write(f'{{"info": {{"description": "synthetic {name}"}}, "licenses": [], "images": ')
        write_array(file, image_records(images, image_order))
        file.write(', "annotations": ')
        write_array(file, object_records(images, objects, object_order, corners))
        file.write(', "categories": ')
        write_array(file, category_records(images))
        file.write("}")
    part.replace(truth)  # an interrupted run leaves no half file that a later one would keep
    part = results.with_suffix(".part")
    with part.open("w") as file:
        write_array(file, detection_records(images, detections))
    part.replace(results)
    print(
        f"{name}: {size.images} images ({int(images.wild.sum())} wild), {size.classes} classes, "
        f"{objects.id.size} objects ({int(objects.crowd.sum())} crowds), "
        f"{detections.image.size} detections, "
        f"{truth.stat().st_size / 1e6:.1f} + {results.stat().st_size / 1e6:.1f} MB"
    )
    return truth, results


def paths(name: str, folder: Path = FOLDER) -> tuple[Path, Path]:
    """Return where a workload's ground truth and detections lie."""
    return folder / f"{name}_gt.json", folder / f"{name}_dt.json"


def main() -> None:
    """Write the workloads that are named and not there yet."""
    parser = argparse.ArgumentParser(description="Write the synthetic benchmark workloads.")
    parser.add_argument("names", nargs="*", default=["S", "M"], metavar="NAME")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--force", action="store_true", help="rewrite files that exist")
    options = parser.parse_args()
    for name in options.names:
        if name not in SIZES:
            parser.error(f"no workload {name!r}; there are {', '.join(SIZES)}")
    for name in options.names:
        if not options.force and all(path.exists() for path in paths(name, options.folder)):
            print(f"{name}: exists in {options.folder}")
            continue
        start = time.perf_counter()
        generate(name, options.folder)
        print(f"{name}: written in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
