"""Rows of OOD detection: FMIYC and VOS, from logits to numbers."""

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.special import softmax

from openset import scorers
from openset.matching import Protocol
from openset.tables.columns import positions
from scenes.golden import SIZE, both, compute, golden, only_images, printed, scene

FMIYC = SIZE + r"/FMIYC/stable/t(?P<t>[\d.]+)/(?P<method>msp|energy)/"
VOS = SIZE + r"/VOS/thr(?P<level>0|T\*)/"
TO_KNOWNNESS = {"msp": lambda u: 1 - u, "energy": lambda u: -u}


@cache
def wild_images(size):
    return np.asarray(scene(size, "wild").truth.images.attributes["wild"]).astype(bool)


@cache
def on_wild(size):
    """Per detection: whether it is on a wild image."""
    data = scene(size, "wild")
    return wild_images(size)[positions(data.truth.images.id, data.detections.image)]


@cache
def unknownness(size, method, background="keep"):
    detections = scene(size, "wild").detections
    return scorers.table()[method].compute(detections, background=background)


# ---------------------------------------------------------------------- FMIYC


def above(size, t):
    return scene(size, "wild").detections.score >= float(t)


def knowns(size, t, method):
    """What the threshold is fitted on: every detection above t* on in-distribution images."""
    return unknownness(size, method)[above(size, t) & ~on_wild(size)]


@golden(FMIYC + "threshold")
def fmiyc_threshold(size, t, method):
    return TO_KNOWNNESS[method](scorers.gaussian_threshold(knowns(size, t, method)))


@golden(FMIYC + "empirical_5th_percentile")
def fmiyc_quantile(size, t, method):
    limit = scorers.quantile_threshold(knowns(size, t, method), keep=0.95, method="linear")
    return TO_KNOWNNESS[method](limit)


@cache
def fmiyc(size, t, method, which, points):
    data = scene(size, "wild")
    limit = scorers.gaussian_threshold(knowns(size, t, method))
    named = scorers.relabel(
        data.detections,
        unknownness(size, method),
        limit,
        label="logits",
        names=data.vocabulary.known,
        score="softmax",
    )
    wild = which == "OOD"
    rows = above(size, t) & (on_wild(size) == wild)
    truth = only_images(data.truth, wild_images(size) == wild)
    rules = Protocol.of("fmiyc").but(interpolation=points)
    return data.but(truth=truth, detections=named.select(rows)).match(rules)


METRICS = {
    "WI": "wilderness_impact",
    "nOSE": "nose",
    "AP_K": "ap_known",
    "P_K": "precision_known",
    "R_K": "recall_known",
    "AP_U": "ap_unknown",
    "P_U": "unknown_precision",
    "R_U": "unknown_recall",
}


@golden(FMIYC + r"(?P<which>OOD|ID)/metric2007=(?P<flag>True|False)/(?P<name>\w+)")
def fmiyc_metric(size, t, method, which, flag, name):
    matches = fmiyc(size, t, method, which, "11-point" if flag == "True" else "area")
    if name == "AOSE":
        return compute("a_ose", matches)
    if name == "mAP":
        values = both("ap_known", "ap_unknown", matches)
        return printed(np.mean(list(values.values())), "fmiyc")
    return printed(compute(METRICS[name], matches), "fmiyc")


@cache
def fmiyc_scored(size, t, method):
    data = scene(size, "wild")
    scored = replace(data.detections, unknownness=unknownness(size, method))
    return data.but(detections=scored.select(above(size, t))).match("fmiyc")


OOD = SIZE + r"/FMIYC/ood/t(?P<t>[\d.]+)/(?P<method>msp|energy)/"


@golden(OOD + "auroc", tolerance=2e-6)
def fmiyc_auroc(size, t, method):
    return compute("auroc", fmiyc_scored(size, t, method))


@golden(OOD + "aupr", tolerance=2e-5)
def fmiyc_aupr(size, t, method):
    return compute("aupr", fmiyc_scored(size, t, method))


@golden(OOD + "fpr_95", tolerance=2e-6)
def fmiyc_fpr(size, t, method):
    return compute("fpr_at_95_tpr", fmiyc_scored(size, t, method))


@golden(SIZE + r"/FMIYC/as_is/t(?P<t>[\d.]+)/pct_images_without_prediction/(?P<which>ID|OOD)")
def fmiyc_silent(size, t, which):
    matches = fmiyc_scored(size, t, "msp")
    value = compute("images_without_predictions", matches, wild=which == "OOD")
    return round(100 * value.value, 2)


# ---------------------------------------------------------------------- VOS


@cache
def vos_closed(size):
    """VOS tunes its threshold, and measures AP, on the in-distribution images alone."""
    data = scene(size, "wild")
    truth = only_images(data.truth, ~wild_images(size))
    return data.but(truth=truth, detections=data.detections.select(~on_wild(size))).match("vos")


@golden(SIZE + "/VOS/t_star_maxF1")
def vos_threshold(size):
    return round(compute("best_threshold", vos_closed(size), classes="published").value, 4)


@golden(SIZE + "/VOS/ID/COCO_AP")
def vos_ap(size):
    return compute("ap_known", vos_closed(size))


@cache
def vos(size, level, method):
    data = scene(size, "wild")
    share = softmax(data.detections.logits.astype(np.float64), axis=1)
    if share.shape[1] in (81, 21, 11):
        share = share[:, :-1]  # the code knows a background column by these numbers only
    scored = replace(
        data.detections, score=share.max(axis=1), unknownness=unknownness(size, method, "drop")
    )
    least = 0.0 if level == "0" else vos_threshold(size)
    return data.but(detections=scored).match(Protocol.of("vos").but(minimum_score=least))


@golden(VOS + "n_id,n_ood")
def vos_counts(size, level):
    parts = compute("auroc", vos(size, level, "msp")).parts
    return [parts["closed"], parts["wild"]]


@golden(VOS + "(?P<method>msp|energy)/AUROC", tolerance=2e-6)
def vos_auroc(size, level, method):
    return compute("auroc", vos(size, level, method))


@golden(VOS + "(?P<method>msp|energy)/AUPR_in", tolerance=2e-5)
def vos_aupr(size, level, method):
    return compute("aupr", vos(size, level, method))


@golden(VOS + "(?P<method>msp|energy)/FPR95", tolerance=1e-3)
def vos_fpr(size, level, method):
    return compute("fpr_at_95_tpr", vos(size, level, method))
