"""Detectors: run a model over images, and keep what every kept box was made from.

``find("faster_rcnn").build(labels, weights="r50.pt")`` makes a model, ``run(model, images)`` gives
detections with scores, all logits and their layout, embeddings, objectness and pooled maps: what
scorers need. `table()` lists all detectors, built in or from third parties (entry points in the
group ``openset.detectors``). Adding one is adding a file.

Stock models are recorded, not changed: boxes, scores and labels are those of the library, and
torchvision's to the last bit. Nothing is downloaded. Detections of any other model come in as files
(`openset.read`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from openset.detectors._attack import attack
from openset.detectors._carry import carry, of_other_classes, refuse_other_method
from openset.detectors._found import Found
from openset.detectors._regions import (
    BACKGROUND,
    METHOD_BOXES,
    NOTHING,
    Proposals,
    Queries,
    Regions,
    Shown,
)
from openset.detectors._run import KEPT, OF_REGIONS, run
from openset.detectors._spec import Detector, Model, detector
from openset.late import late
from openset.nets.pictures import ImageFiles
from openset.plugins import check_installed, lookup, records

if TYPE_CHECKING:
    from openset.detectors._grow import grow
    from openset.detectors._in_parts import Elsewhere, part_plan, run_in_parts
    from openset.detectors._torch import TorchModel

# Torch's idle threads spin. On a busy machine that made a small training step twelve times dearer:
# let them sleep. Without effect once torch is loaded, or where the user has chosen.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__all__ = [
    "BACKGROUND",
    "KEPT",
    "METHOD_BOXES",
    "NOTHING",
    "OF_REGIONS",
    "Detector",
    "Elsewhere",
    "Found",
    "ImageFiles",
    "Model",
    "Proposals",
    "Queries",
    "Regions",
    "Shown",
    "TorchModel",
    "attack",
    "carry",
    "detector",
    "find",
    "grow",
    "load",
    "of_other_classes",
    "part_plan",
    "refuse_other_method",
    "run",
    "run_in_parts",
    "save",
    "table",
]


def table() -> Mapping[str, Detector]:
    """Every detector, by name, in the order of the files they live in."""
    return records(__name__, "detector")


def find(name: str) -> Detector:
    """The detector of a name, or an error that suggests one."""
    return lookup(table(), name, "detector")


def save(model: Model, path: str) -> None:
    """Write weights, labels and options to one file, from which `load` makes the model again."""
    from openset.nets.weights import write_model

    write_model(model, path)


def load(path: str, *, device: str | None = None, **options: Any) -> Model:
    """The model that `save` or a training run has written.

    Args:
        path: The file.
        device: Such as ``cuda:1``; by default a GPU where there is one.
        **options: Options of the detector to change, such as ``score``.
    """
    check_installed("a trained detector", ("torch", "torchvision"))
    from openset.nets.weights import pictures_in, read_model

    about, state = read_model(path)
    record = find(about["detector"])
    # The file has every weight: what the backbone started from need not be there any more.
    started = {"pretrained": None} if "pretrained" in record.options else {}
    chosen = {**about["options"], **options}
    model = record.build(about["labels"], device=device, **{**chosen, **started})
    model.about = {"detector": about["detector"], "options": chosen}
    if "method" in about:
        carry(cast("TorchModel", model), about["method"], about["method_options"])
        model.about = {**model.about, "taught": about.get("taught", {})}
    model.load_state(state, path)
    cast("TorchModel", model).pictures = pictures_in(about)
    return model


# What needs torch, or the packages of files.
_IN_PARTS = dict.fromkeys(("Elsewhere", "part_plan", "run_in_parts"), "_in_parts")
__getattr__ = late(__name__, {**_IN_PARTS, "TorchModel": "_torch", "grow": "_grow"})
