"""Loops: targets and predictions of a training loop, which belong together by their order.

Models return nothing about which image a prediction is of, and loaders do not always say it either.

Not the loop itself (see `openset.evaluation.streaming` and `openset.integrations`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from openset.findings import InputError, UsageError, refuse
from openset.formats._arrays import scalar
from openset.formats._unpacked import are_images, called, refuse_others, unpacked
from openset.formats.memory import BoxFormat, to_annotations, to_detections
from openset.refusals import missing_key
from openset.tables import Annotations, Detections


def in_step(truth: Any, detections: Any, first: int = 0) -> tuple[Any, Any]:
    """Targets and predictions in one order, as loops have them: what has no id gets one.

    Predictions take the ids of the targets in the same places; where these have none either, both
    are counted. Anything but two lists of images stays as it is.

    Args:
        truth: Ground truth.
        detections: Detections.
        first: What the first image without an id is called.
    """
    if not (are_images(truth) and are_images(detections)):
        return truth, detections
    targets = unpacked(truth, "annotations", None)
    found = unpacked(detections, "detections", None)
    if any("image_id" in one for one in found):
        return targets, found
    if len(targets) != len(found):
        raise _out_of_step(len(targets), len(found), ": they have no image_id")
    ids_ = [one.get("image_id", first + at) for at, one in enumerate(targets)]
    return called(targets, ids_), called(found, ids_)


def _out_of_step(targets: int, predictions: int, without: str = "") -> InputError:
    return refuse(
        "OS108",
        f"{predictions} predictions are not one for each of {targets} targets{without}",
        count=abs(targets - predictions),
        cause="a last batch that was dropped (drop_last), or images that were skipped on one side",
        fix="give a prediction for every target, in its order, or image_id in both",
    )


class Batch(NamedTuple):
    """Targets and predictions of some images, in one order.

    Attributes:
        truth: Ground truth, images called by their place in the batch.
        detections: Detections, likewise.
        ids: What the images are called by the targets, None if they do not say.
    """

    truth: Annotations
    detections: Detections
    ids: list[Any] | None


def batch(targets: Any, predictions: Any, *, box_format: BoxFormat | None = None) -> Batch:
    """A batch of a loop: a target and a prediction per image, whatever either says of its id."""
    wanted, found = (
        unpacked(targets, "annotations", None),
        unpacked(predictions, "detections", None),
    )
    if not isinstance(wanted, list) or not isinstance(found, list):
        raise UsageError("a batch is a list of targets and a list of predictions, one per image")
    if len(wanted) != len(found):
        raise _out_of_step(len(wanted), len(found))
    refuse_others([*wanted, *found])
    said = [one["image_id"] for one in wanted if "image_id" in one]
    if said and len(said) < len(wanted):
        rows = [row for row, one in enumerate(wanted) if "image_id" not in one]
        raise missing_key("the targets", "image_id", rows, len(wanted))
    places = range(len(wanted))
    return Batch(
        to_annotations(called(wanted, places), box_format=box_format),
        to_detections(called(found, places), box_format=box_format),
        [scalar(one) for one in said] or None,
    )
