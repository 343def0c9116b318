"""Rows of the VOC family: OWOD, RE-OWOD, opendet2, and OSOD-III's VOC loop."""

from dataclasses import replace
from functools import cache

import numpy as np

from openset.matching import match
from openset.tables import Vocabulary
from scenes.golden import SIZE, both, compute, golden, matched, mean_of, percent, printed, scene

OWOD = SIZE + r"/(?P<repo>OWOD|RE-OWOD)/stable/"
OPENDET = SIZE + r"/opendet2/stable/year(?P<year>2007|2012)/"
OSOD3 = SIZE + r"/OSOD-III/(?P<mode>crowd|nocrowd)/stable/voc/"
GROUPS = {"Prev_class": "previous", "Current_class": "current", "Known": "known"}


def owod(size, repo):
    return matched(size, "mixed", repo.lower().replace("-", ""))


def opendet(size, year):
    return matched(size, "mixed", "opendet-2007" if year == "2007" else "opendet")


@cache
def with_unseen(size, protocol):
    """All classes the published evaluators list: those never seen have no object and count 0."""
    data = scene(size, "mixed")
    unseen = data.truth.info["openset"]["unseen_orig"]
    names = tuple(Vocabulary.of("voc20").known[i - 1] for i in unseen)
    vocabulary = Vocabulary(tasks=(data.vocabulary.known, names))
    return match(data.truth, data.detections, vocabulary, protocol)


def every_class(size, protocol):
    return both("ap_known", "ap_unknown", with_unseen(size, protocol))


# ---------------------------------------------------------------------- OWOD and RE-OWOD


@golden(OWOD + r"WI@R(?P<recall>[\d.]+)")
def owod_wi(size, repo, recall):
    return compute("wilderness_impact", owod(size, repo), recall=float(recall))


@golden(OWOD + "A-OSE")
def owod_a_ose(size, repo):
    return compute("a_ose", owod(size, repo))


@golden(OWOD + "n_unknown_gt")
def owod_n_unknown(size, repo):
    return int(owod(size, repo).positives[-1])


@golden(OWOD + r"(?P<group>Prev_class|Current_class|Known)/AP50")
def owod_ap(size, repo, group):
    return percent(compute(f"ap_{GROUPS[group]}", owod(size, repo)))


@golden(OWOD + r"(?P<group>Prev_class|Current_class|Known)/(?P<what>Precisions50|Recall50)")
def owod_ends(size, repo, group, what):
    matches = owod(size, repo)
    name = "precision_known" if what == "Precisions50" else "recall_known"
    names = getattr(matches.vocabulary, GROUPS[group])
    return percent(mean_of(compute(name, matches).parts, names))


@golden(OWOD + r"Unknown/(?P<what>AP50|Precisions50|Recall50)")
def owod_unknown(size, repo, what):
    name = {
        "AP50": "ap_unknown",
        "Precisions50": "unknown_precision",
        "Recall50": "unknown_recall",
    }[what]
    return percent(compute(name, owod(size, repo)))


@golden(OWOD + "unknown_precision@R")
def owod_unknown_precision(size, repo):
    parts = compute("unknown_precision_at_recall", owod(size, repo)).parts
    return {f"{float(level):.1f}": value for level, value in parts.items()}


@golden(OWOD + "AP50_all_classes_mean")
def owod_all_classes(size, repo):
    values = every_class(size, "owod")
    return percent(mean_of(values, values))


@golden(OWOD + r"class/(?P<name>\w+)/AP50")
def owod_class(size, repo, name):
    return percent(every_class(size, "owod")[name])


@golden(OWOD + r"class/(?P<name>\w+)/unk_det_as_known")
def owod_class_errors(size, repo, name):
    return compute("a_ose", with_unseen(size, "owod")).parts[name]


@golden(OWOD + r"class/(?P<name>\w+)/nd,recall_end,prec_end")
def owod_class_ends(size, repo, name):
    matches = with_unseen(size, "owod")
    names = [*matches.vocabulary.known, "unknown"]
    number = int(np.diff(matches.class_start)[names.index(name)])
    if number == 0:
        return [0, -1, -1]  # the file of numbers says -1 where the evaluator returns no curve
    recall = both("recall_known", "unknown_recall", matches)[name]
    return [number, recall, both("precision_known", "unknown_precision", matches)[name]]


# ---------------------------------------------------------------------- opendet2


@golden(OPENDET + "mAP")
def opendet_map(size, year):
    values = every_class(size, opendet(size, year).protocol)
    return printed(mean_of(values, values), "opendet")


@golden(OPENDET + r"(?P<name>WI|AP@K|P@K|R@K|AP@U|P@U|R@U)")
def opendet_printed(size, year, name):
    metric = {
        "WI": "wilderness_impact",
        "AP@K": "ap_known",
        "P@K": "precision_known",
        "R@K": "recall_known",
        "AP@U": "ap_unknown",
        "P@U": "unknown_precision",
        "R@U": "unknown_recall",
    }[name]
    return printed(compute(metric, opendet(size, year)), "opendet")


@golden(OPENDET + "AOSE")
def opendet_a_ose(size, year):
    return compute("a_ose", opendet(size, year))


@golden(OPENDET + r"WI_raw@R0.8")
def opendet_wi_raw(size, year):
    return compute("wilderness_impact", opendet(size, year))


@golden(OPENDET + r"AP@(?P<which>K|U)_raw")
def opendet_ap_raw(size, year, which):
    name = "ap_known" if which == "K" else "ap_unknown"
    return percent(compute(name, opendet(size, year)))


@golden(OPENDET + "AP_per_class")
def opendet_classes(size, year):
    values = every_class(size, opendet(size, year).protocol)
    return {name: percent(value) for name, value in values.items()}


# ---------------------------------------------------------------------- OSOD-III, VOC loop


@cache
def osod3(size, mode):
    data = scene(size, "mixed")
    crowd = data.truth.difficult if mode == "crowd" else np.zeros(len(data.truth), np.bool_)
    return data.but(truth=replace(data.truth, crowd=crowd)).match("osod3-voc")


def levels(value):
    return list(value.parts.values())


@golden(OSOD3 + "WI @ recall==0.8")
def osod3_wi(size, mode):
    return compute("wilderness_impact", osod3(size, mode))


@golden(OSOD3 + "WI @ recall=all")
def osod3_wi_all(size, mode):
    matches = osod3(size, mode)
    recalls = matches.protocol.recalls
    return [compute("wilderness_impact", matches, recall=level).value for level in recalls]


@golden(OSOD3 + "WI @ mean")
def osod3_wi_mean(size, mode):
    # Nineteen levels times 0.05: the code calls it a mean.
    return sum(value * 0.05 for value in osod3_wi_all(size, mode))


@golden(OSOD3 + "thresh WI")
def osod3_wi_profile(size, mode):
    return levels(compute("wilderness_profile", osod3(size, mode)))


@golden(OSOD3 + "A-OSE")
def osod3_a_ose(size, mode):
    return compute("a_ose", osod3(size, mode))


@golden(OSOD3 + "thresh AOSE")
def osod3_a_ose_profile(size, mode):
    return levels(compute("a_ose_profile", osod3(size, mode)))


@golden(OSOD3 + "recall AOSE")
def osod3_a_ose_at_recall(size, mode):
    return levels(compute("a_ose_at_recall", osod3(size, mode)))


@golden(OSOD3 + r"mAP for (?P<which>Previous Known|Current Known|Both|only Unknown)")
def osod3_map(size, mode, which):
    name = {
        "Previous Known": "ap_previous",
        "Current Known": "ap_current",
        "Both": "ap_known",
        "only Unknown": "ap_unknown",
    }[which]
    return percent(compute(name, osod3(size, mode)))


@golden(OSOD3 + r"Unknown-(?P<which>Recall|Detection-Recall|Detection-Precision)")
def osod3_unknown(size, mode, which):
    names = {"Recall": "unknown_recall", "Detection-Recall": "udr", "Detection-Precision": "udp"}
    return compute(names[which], osod3(size, mode))


@golden(OSOD3 + "n_unknown_gt")
def osod3_n_unknown(size, mode):
    return int(osod3(size, mode).positives[-1])


@golden(OSOD3 + r"class/(?P<name>\w+)/AP50")
def osod3_class(size, mode, name):
    return percent(both("ap_known", "ap_unknown", osod3(size, mode))[name])
