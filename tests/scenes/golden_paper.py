"""Rows of printed formulas for which no code was published."""

from openset.matching import Protocol
from scenes.golden import SIZE, compute, golden, matched

PAPER = SIZE + "/paper/"
# Dhamija et al. know no difficult objects, and their code takes the best object of any class.
DHAMIJA = Protocol.of("paper").but(ignore=(), rule="elephant")
VARIANTS = {"pooled": "pooled", "meanprec": "mean-precision", "meanratio": "mean-ratio"}


@golden(PAPER + r"operating_point@R(?P<recall>[\d.]+)")
def operating_point(size, recall):
    matches = matched(size, "wild", DHAMIJA)
    parts = compute("score_at_recall", matches, recall=float(recall)).parts
    return {name: -1 if score is None else score for name, score in parts.items()}


@golden(PAPER + r"WI_(?P<name>\w+)@R(?P<recall>[\d.]+),WR(?P<ratio>[\d.]+)")
def wilderness(size, name, recall, ratio):
    matches = matched(size, "wild", DHAMIJA)
    options = {"recall": float(recall), "ratio": float(ratio), "variant": VARIANTS[name]}
    return compute("wilderness_impact", matches, **options)


@golden(PAPER + r"WI_owod_index@R(?P<recall>[\d.]+)/denominators")
def denominators(size, recall):
    matches = matched(size, "mixed", "owod")
    code = compute("wilderness_impact", matches, recall=float(recall))
    paper = compute("wilderness_impact", matches, recall=float(recall), variant="nearest-recall")
    share = paper.value / (1 + paper.value)
    return {
        "code_FPo_over_all": code.value,
        "paper_FPo_over_TPc_plus_FPc": paper.value,
        "identity_check_x_over_1_minus_x": share / (1 - share),
    }


@golden(PAPER + r"(?P<name>UR|UDR|UDP|A-OSE_objects|nOSE_objects)")
def objects(size, name):
    metric = {
        "UR": "unknown_recall",
        "UDR": "udr",
        "UDP": "udp",
        "A-OSE_objects": "a_ose_objects",
        "nOSE_objects": "nose",
    }[name]
    return compute(metric, matched(size, "mixed", "paper"))


@golden(PAPER + "nOSE_detections")
def nose_detections(size):
    return compute("nose", matched(size, "mixed", "owod"))
