"""Rows of COCO evaluation: OSOD-III's COCO path, and the official COCOeval."""

from dataclasses import replace
from functools import cache

import numpy as np

from openset.tables import Images
from scenes.golden import EXPECTED, REFERENCE_NUMBERS, SIZE, both, compute, golden, scene

OSOD3 = SIZE + r"/OSOD-III/(?P<mode>crowd|nocrowd)/as_is/"
SIZES = tuple({"size": size} for size in ("small", "medium", "large"))
COCO_AP = ({}, {"iou": 0.5}, {"iou": 0.75}, *SIZES)
COCO_AR = ({"limit": 1}, {"limit": 10}, {"limit": 100}, *SIZES)


@cache
def flagged(size, mode):
    """`difficult` objects are crowds, or nothing is."""
    data = scene(size, "mixed")
    crowd = data.truth.difficult if mode == "crowd" else np.zeros(len(data.truth), np.bool_)
    return data.but(truth=replace(data.truth, crowd=crowd))


@cache
def osod3(size, mode):
    """OSOD-III's image ids are strings, so that equal scores are ordered by their spelling."""
    data = flagged(size, mode)
    truth = replace(data.truth, images=Images(data.truth.images.id.astype(str)))
    detections = replace(data.detections, image=data.detections.image.astype(str))
    return data.but(truth=truth, detections=detections).match("osod3")


@cache
def official(size, mode):
    return flagged(size, mode).match("coco")


def stats(matches, which):
    """The twelve numbers of COCOeval over some classes; -1 is what it prints for none."""
    rows = [("ap", params) for params in COCO_AP] + [("ar", params) for params in COCO_AR]
    return [_mean(which, both(f"{n}_known", f"{n}_unknown", matches, **p)) for n, p in rows]


def _mean(which, values):
    unknown = values.pop("unknown")
    chosen = {
        "known": list(values.values()),
        "known+unk": [*values.values(), unknown],
        "unk": [unknown],
    }[which]
    chosen = [value for value in chosen if value is not None]
    return float(np.mean(chosen)) if chosen else -1.0


@golden(OSOD3 + r"COCO/(?P<which>known|known\+unk|unk)/stats12")
def osod3_stats(size, mode, which):
    return stats(osod3(size, mode), which)


@golden(OSOD3 + "AP_known")
def osod3_known(size, mode):
    return compute("ap_known", osod3(size, mode))


@golden(OSOD3 + "AP_unk")
def osod3_unknown(size, mode):
    return compute("ap_unknown", osod3(size, mode))


@golden(OSOD3 + r"COCO/(?P<which>known|known\+unk|unk)/AP_per_class")
def osod3_classes(size, mode, which):
    values = both("ap_known", "ap_unknown", osod3(size, mode))
    names = {"known": set(values) - {"unknown"}, "unk": {"unknown"}, "known+unk": set(values)}
    return {name: values[name] for name in names[which]}


@golden(SIZE + r"/cocofast/(?P<mode>crowd|nocrowd)/(?:official|fast)_stats12")
def official_stats(size, mode):
    return stats(official(size, mode), "known+unk")


@golden(
    SIZE + r"/cocofast/(?P<mode>crowd|nocrowd)/max_abs_diff precision,recall,scores", tolerance=0
)
def two_programs(size, mode):
    """Two programs of others differ by one rounding; ours from either by no more than that."""
    numbers = REFERENCE_NUMBERS if size.startswith("@") else EXPECTED
    folder = f"{size.removeprefix('@')}/cocofast/{mode}"
    for program in ("official", "fast"):
        want = numbers[f"{folder}/{program}_stats12"]["value"]
        np.testing.assert_allclose(stats(official(size, mode), "known+unk"), want, atol=1e-15)
    return numbers[f"{folder}/max_abs_diff precision,recall,scores"]["value"]
