"""Rows of Elephant: Wilderness Impact and mAP against the wilderness ratio, in float32.

The variant `stable` breaks ties as we do. The other two were made with torch's own sort, which is
not stable: they are compared with our numbers after torch has put the ties in its order, at every
wilderness ratio anew.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from openset.kernels import MatchColumns
from openset.matching import Protocol
from openset.metrics._float32 import torch_mean
from openset.metrics._wilderness import _interpolated, curve_levels
from openset.metrics.wilderness import _along
from scenes.golden import SIZE, compute, golden, scene

ELEPHANT = SIZE + r"/Elephant/(?P<scenario>wild|mixed)/"
STABLE = ELEPHANT + "(?P<variant>stable)/"
UNSTABLE = ELEPHANT + "(?P<variant>numpy1_counts|reversed_det_order)/"
CURVE = r"WI_curve@R(?P<recall>[\d.]+)"
AVERAGE = r"AWI@R(?P<recall>[\d.]+)/(?P<zero>incl|excl)_level0"


@cache
def elephant(size, scenario, variant, ties="closed-first"):
    data = scene(size, scenario)
    if variant == "reversed_det_order":
        data = data.but(detections=reversed_in_images(data.detections))
    rules = Protocol.of("elephant").but(numpy1_levels=variant == "numpy1_counts", ties=ties)
    return data.match(rules)


def reversed_in_images(detections):
    """Every image's detections back to front: the code lets them claim objects as given."""
    starts = np.flatnonzero(np.diff(detections.image, prepend=-1))
    ends = [*starts[1:], len(detections)]
    parts = [np.arange(low, high)[::-1] for low, high in zip(starts, ends, strict=True)]
    return detections.select(np.concatenate(parts))


# ---------------------------------------------------------------------- as we break ties


@golden(STABLE + CURVE, tolerance=3e-7)
def wi_curve(size, scenario, variant, recall):
    matches = elephant(size, scenario, variant)
    return list(compute("wilderness_curve", matches, recall=float(recall)).parts.values())


@golden(STABLE + AVERAGE, tolerance=3e-7)
def awi(size, scenario, variant, recall, zero):
    matches = elephant(size, scenario, variant)
    name = "average_wilderness_impact"
    return compute(name, matches, recall=float(recall), include_zero=zero == "incl")


@golden(STABLE + "mAP_curve", tolerance=1e-6)
def map_curve(size, scenario, variant):
    return list(compute("ap_known_curve", elephant(size, scenario, variant)).parts.values())


@golden(STABLE + "mAP_all_images", tolerance=1e-6)
def map_all(size, scenario, variant):
    # Alone, the authors' mAP takes images as they come; the wilderness code moves wild ones back.
    return compute("ap_known", elephant(size, scenario, variant, ties="input"))


@golden(ELEPHANT + "(?P<variant>stable|numpy1_counts|reversed_det_order)/n_correct")
def n_correct(size, scenario, variant):
    matches = elephant(size, scenario, variant)
    return int(matches.outcome().correct[: matches.known_end].sum())


# ---------------------------------------------------------------------- as torch breaks them


def ties_by_torch(matches, taking_part):
    """The matches with equal scores in the order in which torch sorts the images that take part."""
    torch = pytest.importorskip("torch")
    order = np.arange(len(matches))
    for low, high in zip(matches.class_start[:-1], matches.class_start[1:], strict=True):
        fed = order[low:high]
        if matches.tie is None:
            fed = fed[np.argsort(matches.row[fed])]
        else:
            fed = fed[np.lexsort((matches.row[fed], matches.tie[fed]))]
        within = taking_part[matches.image[fed]]
        score = torch.tensor(matches.score[fed[within]], dtype=torch.float32)
        first = fed[within][torch.sort(score, descending=True).indices.numpy()]
        order[low:high] = np.concatenate([first, fed[~within]])
    assert not len(matches.columns.position), "no greedy candidates, whose positions would move"
    columns = {
        name: values if name in ("position", "matched", "ignored", "object") else values[order]
        for name, values in matches.columns._asdict().items()
        if values is not None
    }
    names = ("image", "score", "row")
    moved = {name: getattr(matches, name)[order] for name in names}
    columns = MatchColumns(**{**dict.fromkeys(MatchColumns._fields), **columns})
    return replace(matches, columns=columns, tie=None, _outcomes={}, **moved)


@cache
def at_every_level(size, scenario, variant):
    """The matches at each wilderness ratio, with torch's ties there."""
    matches = elephant(size, scenario, variant)
    _, wanted = curve_levels(matches)
    place = np.where(matches.wild, np.cumsum(matches.wild), 0)
    return [
        _along(ties_by_torch(matches, place <= number), np.array([number])) for number in wanted
    ]


@golden(UNSTABLE + CURVE, tolerance=3e-7)
def unstable_curve(size, scenario, variant, recall):
    levels = at_every_level(size, scenario, variant)
    by_class = [_interpolated(level, float(recall)) for level in levels]
    precision = np.concatenate([torch_mean(one, ~np.isnan(one)) for one in by_class])
    return (precision[0] / precision - 1).tolist()


@golden(UNSTABLE + AVERAGE, tolerance=3e-7)
def unstable_awi(size, scenario, variant, recall, zero):
    return float(np.mean(unstable_curve(size, scenario, variant, recall)[zero == "excl" :]))


@golden(UNSTABLE + "mAP_curve", tolerance=1e-6)
def unstable_map_curve(size, scenario, variant):
    levels = at_every_level(size, scenario, variant)
    return [float(compute("ap_known", level, iou=0.5).value[0]) for level in levels]


@golden(UNSTABLE + "mAP_all_images", tolerance=1e-6)
def unstable_map_all(size, scenario, variant):
    matches = elephant(size, scenario, variant, ties="input")
    return compute("ap_known", ties_by_torch(matches, np.ones(matches.n_images, np.bool_)))
