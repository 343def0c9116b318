"""Rows of error diagnosis: TIDE's code, and the printed definitions of Dhamija et al."""

from dataclasses import replace
from functools import cache

import numpy as np

from openset.diagnosis.confusion import confusion
from openset.diagnosis.errors import errors
from openset.diagnosis.operating_point import operating_points
from openset.diagnosis.tide import tide
from openset.tables import Vocabulary
from scenes.golden import SIZE, compute, golden, scene
from scenes.golden_paper import DHAMIJA

PAPER = SIZE + "/paper/"
TIDE = SIZE + r"/TIDE/(?P<unknown>\w+)/(?P<difficult>\w+)/"
UNKNOWN = {"unknown_as_class": "class", "known_only": "drop", "unknown_ignored": "ignore"}
DIFFICULT = {"difficult_as_gt": "object", "difficult_ignored": "ignore"}
NAMES = ("Correct", "Loc", "Sim", "Oth", "UnknownUnknown", "MixedUnknown")


@cache
def diagnosed(size):
    """The wild scene with similar classes, matched as the numbers were made."""
    data = scene(size, "wild")
    similar = Vocabulary.of("voc20").similar
    return data.but(vocabulary=replace(data.vocabulary, similar=similar)).match(DHAMIJA)


@cache
def costs(size, unknown, difficult):
    data = scene(size, "mixed")
    ways = {"unknown": UNKNOWN[unknown], "difficult": DIFFICULT[difficult]}
    return tide(data.truth, data.detections, data.vocabulary, **ways)


def percent(values):
    return {kind: cost * 100 for kind, cost in values.items()}


@golden(TIDE + "counts")
def tide_counts(size, unknown, difficult):
    return dict(costs(size, unknown, difficult).counts)


@golden(TIDE + "AP50")
def tide_ap(size, unknown, difficult):
    return costs(size, unknown, difficult).ap * 100


@golden(TIDE + "dAP_(?P<which>main|special)")
def tide_costs(size, unknown, difficult, which):
    return percent(getattr(costs(size, unknown, difficult), which))


@golden(PAPER + r"hoiem@R(?P<recall>[\d.]+)")
def hoiem(size, recall):
    found = errors(diagnosed(size), recall=float(recall))
    level = compute("score_at_recall", diagnosed(size), recall=float(recall)).parts
    got = dict(zip(found.classes, found.threshold.tolist(), strict=True))
    assert {name: None if np.isnan(score) else score for name, score in got.items()} == level
    return dict(zip(NAMES, found.totals.values(), strict=True))


@golden(PAPER + r"confusion\(.*\)/unknown_row")
def confused(size):
    cells = (row for row in confusion(diagnosed(size)).rows() if row["label"] == "unknown")
    return {f"unknown->{row['predicted']}": row["detections"] for row in cells}


@golden(PAPER + r"confusion/total_mapped,diag")
def mapped(size):
    found = confusion(diagnosed(size))
    return [found.mapped, found.agreeing]


@golden(PAPER + r"Fbeta/(?P<label>\w+)/WR(?P<ratio>[\d.]+)/b(?P<beta>[\d.]+)")
def f_beta(size, label, ratio, beta):
    found = operating_points(diagnosed(size), betas=[float(beta)], ratios=[float(ratio)])
    point = next(point for point in found.points if point.label == label)
    return [point.f, point.precision, point.recall, point.threshold]
