"""Protocol: everything in which published evaluators differ, as one frozen value.

A protocol has a name, a preset is a protocol, and `diff` says in which fields two of them differ.
Change one field with `dataclasses.replace`; the result reports its deviations from the preset.

Presets and the code they reproduce:

- ``default``: continuous boxes, COCO matching, ignore flags honoured everywhere, Wilderness Impact
  by the printed formula. What we recommend where the references disagree.
- ``coco``: pycocotools.
- ``elephant``: Dhamija et al. 2020 (Elephant-of-object-detection), including its float32.
- ``owod``, ``reowod``: Joseph et al. 2021 and RE-OWOD, whose evaluators are one file.
- ``owod-listed``: OWOD's evaluator on its test list as published, repeated lines included.
- ``owdetr``: Gupta et al. 2022 (OW-DETR) and its descendants: OWOD's matching with 11-point AP.
- ``opendet``, ``opendet-2007``: Han et al. 2022; area or 11-point AP, by the data set's name.
- ``osod3``, ``osod3-voc``: Hosoya et al., the COCO path and the VOC loop of their repository.
- ``fmiyc``: the FMIYC benchmark's evaluator.
- ``vos``: Du et al. 2022, for AUROC, AUPR, FPR95 and the max-F1 threshold.
- ``paper``: the printed formulas with VOC matching, where the code of a paper departs from them.
- ``tide``: the matching of TIDE, for its error counts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from openset.findings import UsageError
from openset.plugins import lookup

# The very bits that pycocotools compares with.
COCO_IOU = tuple(np.linspace(0.5, 0.95, 10).tolist())
TENTHS = tuple(step / 10 for step in range(1, 10))
TWENTIETHS = tuple(step / 20 for step in range(1, 20))


Flag = Literal["crowd", "difficult"]
IgnoredLabels = Literal["any", "unknown"]
Geometry = Literal["continuous", "voc", "shifted", "shifted-int"]
Rule = Literal["coco", "voc", "elephant"]
Ties = Literal["image", "input", "closed-first"]
EmptyImages = Literal["count", "skip"]
Repeats = Literal["once", "listed"]
Interpolation = Literal["101-point", "area", "11-point", "11-point-float32"]
EmptyClass = Literal["skip", "nan", "zero", "detected"]
NoseUnit = Literal["objects", "detections"]
Wilderness = Literal[
    "pooled", "mean-precision", "mean-ratio", "elephant", "ratio-of-sums", "nearest-recall"
]
Wild = Literal["no-known", "unknown"]
FprRule = Literal["at-least", "nearest"]
AuprRule = Literal["steps", "trapezoid"]
_CHOICES = {
    "ignored_labels": get_args(IgnoredLabels),
    "geometry": get_args(Geometry),
    "rule": get_args(Rule),
    "ties": get_args(Ties),
    "empty_images": get_args(EmptyImages),
    "repeats": get_args(Repeats),
    "interpolation": get_args(Interpolation),
    "empty_class": get_args(EmptyClass),
    "nose": get_args(NoseUnit),
    "wilderness": get_args(Wilderness),
    "wild": get_args(Wild),
    "fpr": get_args(FprRule),
    "aupr": get_args(AuprRule),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How detections are matched and counted.

    Attributes:
        name: The preset this protocol is, or started from.
        geometry: ``continuous`` boxes; ``voc`` 1-based boxes with "+1" overlaps on both sides;
            ``shifted`` and ``shifted-int`` shift the detections by one pixel and not the objects,
            as OSOD-III (which also truncates objects to integers) and FMIYC do.
        box_decimals: Decimals that survive the evaluator's text files.
        score_decimals: The same for scores.
        float32_detections: Detections pass through float32 corners before evaluation.
        float32_overlaps: Overlaps are computed in float32.
        rule: ``coco`` (best free object, falls back), ``voc`` (best object or nothing),
            ``elephant`` (best object of any class, in the order given).
        iou: Overlap thresholds; the first is the one for everything that uses a single threshold.
        iou_inclusive: Whether an overlap equal to the threshold is a match.
        prefer_later: On equal overlaps the later object wins (pycocotools), else the first.
        ties: Order of equal scores: by ``image`` id, as in the ``input``, or ``closed-first`` (as
            in the input, but closed-set images before wild ones).
        ignore: Which flags of an object take it out of the evaluation.
        ignored_labels: On objects whose label is ignored, detections of ``any`` label take no part,
            or only those called ``unknown``, as in OSOD-III, where such objects are crowds of the
            unknown class and a known name for one is wrong.
        regions: Ignored crowds are regions: overlap is the covered share of the detection, and any
            number of detections may fall on one.
        max_detections: Cut per image and class, at least 1, or None.
        empty_images: Detections on images without objects: ``count`` as wrong, or ``skip``: neither
            right nor wrong.
        repeats: An image that the benchmark's list names twice counts ``once``, or as often as it
            is ``listed``, as in OWOD's code: its detections come again and find every object taken,
            and its objects are counted again but never found again. Needs the image column
            ``listed``.
        synonyms: Whether labels join by synonym as well as by name.
        interpolation: Average precision: ``101-point``, ``area``, ``11-point``, or
            ``11-point-float32``.
        empty_class: Average precision of a class without objects: ``skip`` it, ``nan`` if it has
            detections and 0 else, ``zero`` (which then also holds for every number about unknown
            objects when there are none), or ``detected`` (classes without detections are skipped,
            classes without objects count 0).
        drop_nan: Whether a class mean skips NaN or becomes NaN.
        ose_counts_ignored: Whether a known detection on an ignored unknown object is an error.
        nose: Numerator of nOSE: ``objects`` or ``detections``.
        wilderness: Formula of Wilderness Impact: ``pooled`` (the printed one), ``mean-precision``,
            ``mean-ratio``, ``elephant``, ``ratio-of-sums`` (OWOD and its descendants),
            ``nearest-recall`` (the printed one at OWOD's operating point).
        wild: An image is wild if it has ``no-known`` object, or an ``unknown`` object or none.
        recall: Recall level at which Wilderness Impact is reported.
        recalls: Recall levels of its table.
        numpy1_levels: Elephant's image counts as NumPy 1 rounds them.
        errors_from: The preset by which the code behind this one publishes open-set errors and
            Wilderness Impact, if not by its own matching; values under this one say so.
        minimum_score: Lowest score of detections that AUROC and its kin consider.
        fpr: False-positive rate at the ``nearest`` recall to 95 %, or the least rate ``at-least``
            95 %.
        aupr: Area by ``steps`` (average precision) or by the ``trapezoid`` rule.
        scale: Factor with which this code prints fractions.
        decimals: Decimals with which it prints them, or None.
    """

    name: str
    geometry: Geometry = "continuous"
    box_decimals: int | None = None
    score_decimals: int | None = None
    float32_detections: bool = False
    float32_overlaps: bool = False
    rule: Rule = "coco"
    iou: tuple[float, ...] = COCO_IOU
    iou_inclusive: bool = True
    prefer_later: bool = True
    ties: Ties = "image"
    ignore: tuple[Flag, ...] = ("crowd", "difficult")
    ignored_labels: IgnoredLabels = "any"
    regions: bool = True
    max_detections: int | None = 100
    empty_images: EmptyImages = "count"
    repeats: Repeats = "once"
    synonyms: bool = True
    interpolation: Interpolation = "101-point"
    empty_class: EmptyClass = "skip"
    drop_nan: bool = True
    ose_counts_ignored: bool = False
    nose: NoseUnit = "objects"
    wilderness: Wilderness = "pooled"
    wild: Wild = "no-known"
    recall: float = 0.8
    recalls: tuple[float, ...] = TENTHS
    numpy1_levels: bool = False
    errors_from: str = ""
    minimum_score: float = 0.0
    fpr: FprRule = "at-least"
    aupr: AuprRule = "steps"
    scale: float = 1.0
    decimals: int | None = None

    def __post_init__(self) -> None:
        if self.max_detections is not None and self.max_detections < 1:
            raise UsageError(f"max_detections must be at least 1, not {self.max_detections}")
        for name, choices in _CHOICES.items():
            lookup(dict.fromkeys(choices), getattr(self, name), f"value of {name}")
        for flag in self.ignore:
            lookup(dict.fromkeys(get_args(Flag)), flag, "value of ignore")
        if not 1 <= len(self.iou) <= 16:
            raise UsageError(f"a protocol has 1 to 16 IoU thresholds, not {len(self.iou)}")
        if not all(0 < value <= 1 for value in self.iou) or list(self.iou) != sorted(self.iou):
            raise UsageError(f"IoU thresholds must ascend within (0, 1], but are {self.iou}")
        if not 0 < self.recall <= 1:
            raise UsageError(f"a recall lies within (0, 1], not at {self.recall:g}")

    @staticmethod
    def of(protocol: Protocol | str) -> Protocol:
        """A preset by name, or the protocol itself."""
        if isinstance(protocol, Protocol):
            return protocol
        return lookup(PRESETS, protocol, "protocol")

    def but(self, **changes: Any) -> Protocol:
        """This protocol with some fields changed.

        >>> Protocol.of("owod").but(recall=0.5).deviations()
        {'recall': (0.8, 0.5)}
        """
        for name in changes:
            lookup({item.name: None for item in fields(self)}, name, "protocol field")
        return replace(self, **changes)

    def diff(self, other: Protocol | str) -> dict[str, tuple[Any, Any]]:
        """The fields in which two protocols differ: name → (here, there).

        >>> Protocol.of("opendet").diff("opendet-2007")
        {'interpolation': ('area', '11-point')}
        """
        mine, theirs = asdict(self), asdict(Protocol.of(other))
        return {
            name: (value, theirs[name])
            for name, value in mine.items()
            if name != "name" and value != theirs[name]
        }

    def deviations(self) -> dict[str, tuple[Any, Any]]:
        """Where this protocol departs from the preset whose name it bears."""
        return Protocol.of(self.name).diff(self) if self.name in PRESETS else {}


def _voc(name: str, **changes: Any) -> Protocol:
    """The family of detectron2's VOC evaluator: text files, one threshold, best object only."""
    base: dict[str, Any] = {
        "geometry": "voc",
        "box_decimals": 1,
        "score_decimals": 3,
        "float32_detections": True,
        "rule": "voc",
        "iou": (0.5,),
        "iou_inclusive": False,
        "ties": "input",
        "ignore": ("difficult",),
        "regions": False,
        "max_detections": None,
        "interpolation": "area",
        "empty_class": "nan",
        "drop_nan": False,
        "ose_counts_ignored": True,
        "nose": "detections",
        "wilderness": "ratio-of-sums",
        "scale": 100.0,
    }
    return Protocol(name=name, **(base | changes))


def _presets() -> dict[str, Protocol]:
    protocols = [
        Protocol(name="default"),
        Protocol(name="coco", ignore=("crowd",)),
        Protocol(
            name="osod3",
            ignore=("crowd",),
            ignored_labels="unknown",
            float32_detections=True,
            errors_from="osod3-voc",
        ),
        _voc("owod"),
        _voc("owod-listed", repeats="listed"),
        _voc("reowod"),
        _voc("owdetr", interpolation="11-point"),
        _voc("opendet", synonyms=False, decimals=2),
        _voc("opendet-2007", synonyms=False, decimals=2, interpolation="11-point"),
        _voc(
            "osod3-voc",
            geometry="shifted-int",
            ignore=("crowd",),
            ignored_labels="unknown",
            drop_nan=True,
            ose_counts_ignored=False,
            recalls=TWENTIETHS,
        ),
        _voc(
            "fmiyc",
            geometry="shifted",
            ignore=(),
            empty_images="skip",
            empty_class="zero",
            aupr="trapezoid",
            decimals=3,
        ),
        Protocol(
            name="elephant",
            float32_detections=True,
            float32_overlaps=True,
            rule="elephant",
            iou=(0.5,),
            ties="closed-first",
            ignore=(),
            regions=False,
            max_detections=None,
            interpolation="11-point-float32",
            empty_class="detected",
            ose_counts_ignored=True,
            wilderness="elephant",
            wild="unknown",
            recall=0.3,
            recalls=(0.1, 0.3, 0.5),
        ),
        Protocol(name="vos", ignore=("crowd",), fpr="nearest"),
        Protocol(
            name="paper",
            rule="voc",
            iou=(0.5,),
            ties="input",
            ignore=("crowd", "difficult"),
            regions=False,
            max_detections=None,
            interpolation="area",
        ),
        Protocol(
            name="tide",
            iou=(0.5,),
            prefer_later=False,
            ties="image",
            ignore=(),
            regions=False,
            max_detections=None,
            empty_class="detected",
        ),
    ]
    return {protocol.name: protocol for protocol in protocols}


PRESETS = _presets()
