"""Rows of the papers' tables: what each method and baseline is made from here.

A paper's row is often no method of its own: a plain detector under some rule, a method and a
scorer, or an evaluation that is done otherwise. `openset list methods` says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Made(NamedTuple):
    """What a row is made from, by names of `openset list`.

    Attributes:
        recipe: How it is trained.
        method: The method, where the recipe has none or another.
        detector: Which detector is run, where nothing is trained.
        classifier: The method of recognition that is trained.
        scorer: What says how unknown a detection is.
        rule: What decides which detections are unknown.
        how: What else is to be said: options of verbs.
    """

    recipe: str = ""
    method: str = ""
    detector: str = ""
    classifier: str = ""
    scorer: str = ""
    rule: str = ""
    how: str = ""

    def __str__(self) -> str:
        """In words.

        >>> str(Made("reowod-pad", rule="cec"))
        'recipe reowod-pad, rule cec'
        """
        named = [f"{name} {value}" for name, value in self._asdict().items() if value]
        return ", ".join(one.removeprefix("how ") for one in named)


class Rows(NamedTuple):
    """The rows of a paper's tables.

    Attributes:
        paper: The paper, and which of its tables.
        rows: By their names there.
    """

    paper: str
    rows: Mapping[str, Made]


_TASKS = "openset learn"
_BARE = "--method ''"
_KNOWN = "--option background=drop"
_PLAIN = "--method-option confirm=false --method-option guide=false"
ROWS: Mapping[str, Rows] = {
    "elephant": Rows(
        "Dhamija et al., The Overlooked Elephant of Object Detection, WACV 2020, Tables 1, 2",
        {
            "Faster R-CNN": Made("elephant-faster-rcnn"),
            "RetinaNet": Made("elephant-retinanet"),
            "YOLOv2": Made(how="no training here: its detections by openset evaluate"),
            "Mask R-CNN": Made("elephant-mask-rcnn"),
            "Dropout Sampling": Made(
                "elephant-faster-rcnn", scorer="dropout_mean", how="run --passes"
            ),
        },
    ),
    "re-owod": Rows(
        "Zhao et al., Revisiting Open World Object Detection, 2022, Tables 3 to 5",
        {
            "Oracle": Made("reowod", method="oracle", how=_TASKS),
            "Faster-RCNN": Made("reowod", how=f"{_TASKS} --exemplars none"),
            "Faster-RCNN + Finetuning": Made("reowod", how=_TASKS),
            "ORE*": Made("ore-owod", how=_TASKS),
            "ORE": Made("ore-owod", rule="ebui", how="a leak: fitted on labels of unknown objects"),
            "Ours": Made("reowod-pad", rule="cec", how=_TASKS),
            "Baseline, RPN": Made("reowod-pad", how=_PLAIN),
            "Baseline + PAD, guiding": Made("reowod-pad"),
            "Baseline + CEC": Made("reowod-pad", rule="cec", how=_PLAIN),
            "confirming": Made("reowod-pad", how="--method-option guide=false"),
        },
    ),
    "osod3": Rows(
        "Hosoya et al., Rectifying Open-Set Object Detection, Tables 3 to 5",
        {
            "ORE": Made("ore-owod", rule="ebui", how="a leak: fitted on labels of unknown objects"),
            "VOS": Made("vos-voc", scorer="energy", how=_KNOWN),
            "OpenDet": Made("opendet-voc"),
            "FCOS": Made("osod3-fcos", rule="gamma"),
            "Faster RCNN": Made("osod3-animal", rule="gamma"),
        },
    ),
    "fmiyc": Rows(
        "FindMeIfYouCan, its tables of methods",
        {
            "GEN": Made("vos-voc", scorer="gen", how=_BARE),
            "Energy": Made("vos-voc", scorer="energy", how=_BARE),
            "VOS": Made("vos-voc", scorer="energy", how=_KNOWN),
            "SAFE": Made("vos-voc", scorer="safe", how=f"{_BARE}, openset attack"),
            "SIREN": Made("siren-voc", scorer="siren_knn"),
            "OpenDet CWA": Made("opendet-cwa-voc"),
            "OWLv2 Energy": Made(detector="owlv2", scorer="energy"),
            "OWLv2 Mahalanobis": Made(detector="owlv2", scorer="mahalanobis"),
        },
    ),
    "openauc": Rows(
        "Wang et al., OpenAUC, NeurIPS 2022, its tables of methods",
        {
            "Softmax": Made(classifier="softmax"),
            "GCPL": Made(classifier="gcpl"),
            "RPL": Made(classifier="rpl"),
            "ARPL": Made(classifier="arpl"),
            "ARPL+CS": Made(classifier="arpl_cs"),
            "Cross-Entropy+": Made(classifier="ce_plus"),
            "Acc+AUC": Made(classifier="acc_auc"),
            "OpenAUC": Made(classifier="openauc"),
        },
    ),
}
"""Papers by the names of their pages."""
