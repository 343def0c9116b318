"""Transformers: ``compute_metrics`` for a ``Trainer`` that trains an object detector.

As in its examples: ``TrainingArguments(eval_do_concat_batches=False)``, targets with
``class_labels``, ``boxes`` (centre and size as shares) and ``orig_size``. What the model says is
made boxes by the image processor's own ``post_process_object_detection``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from openset.findings import UsageError
from openset.formats.loops import in_step
from openset.integrations._spec import integration


class ImageProcessor(Protocol):
    """What an image processor for detection can do."""

    def post_process_object_detection(
        self, outputs: Any, threshold: float = 0.5, target_sizes: Any = None
    ) -> list[Any]:
        """Boxes of every image."""


@integration(
    "transformers",
    requires=("transformers", "torch"),
    summary="compute_metrics for a Trainer of an object detector.",
)
def compute_metrics(
    processor: ImageProcessor,
    names: Mapping[int, str] | Sequence[str],
    *,
    threshold: float = 0.05,
    **options: Any,
) -> Callable[[Any], dict[str, float]]:
    """A function for ``Trainer(compute_metrics=...)``.

    Args:
        processor: The image processor of the model.
        names: ``model.config.id2label``.
        threshold: Boxes with a lower score are dropped; most unknown objects score low.
        **options: What `openset.evaluate` takes, by name: ``known``, ``metrics`` ...
    """

    def measured(prediction: Any) -> dict[str, float]:
        from openset.evaluation import evaluate

        targets: list[dict[str, Any]] = []
        found: list[Any] = []
        for said, batch in zip(*_batches(prediction), strict=True):
            targets += [_target(one) for one in batch]
            outputs, sizes = _outputs(said), _tensor([one["orig_size"] for one in batch])
            found += processor.post_process_object_detection(
                outputs, threshold=threshold, target_sizes=sizes
            )
        truth, detections = in_step(targets, found)
        asked = {"intervals": False, **options}
        return evaluate(truth, detections, names=names, **asked).flat()

    return measured


def _batches(prediction: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    said, batches = prediction.predictions, prediction.label_ids
    whole = isinstance(said, (list, tuple)) and isinstance(batches, (list, tuple))
    if not whole or not all(isinstance(one, (list, tuple)) for one in batches):
        raise UsageError("TrainingArguments need eval_do_concat_batches=False: boxes are by batch")
    return said, batches


def _outputs(said: Any) -> Any:
    """What the model said of a batch: logits and boxes, after the losses."""
    if isinstance(said, Mapping):
        return SimpleNamespace(**{name: _tensor(said[name]) for name in ("logits", "pred_boxes")})
    arrays = [one for one in said if np.ndim(one) == 3]
    if len(arrays) < 2 or np.shape(arrays[1])[-1] != 4:
        raise UsageError("predictions must hold logits and pred_boxes, as object detectors return")
    return SimpleNamespace(logits=_tensor(arrays[0]), pred_boxes=_tensor(arrays[1]))


def _target(one: Mapping[str, Any]) -> dict[str, Any]:
    """A target in pixels of the original image; images are counted, as ids may be of any kind."""
    height, width = (float(side) for side in np.asarray(one["orig_size"]).tolist())
    box = np.asarray(one["boxes"], np.float64).reshape(-1, 4) * [width, height, width, height]
    corners = np.hstack([box[:, :2] - box[:, 2:] / 2, box[:, :2] + box[:, 2:] / 2])
    crowd = np.asarray(one.get("iscrowd", np.zeros(len(box))), np.bool_).reshape(-1)
    labels = np.asarray(one["class_labels"], np.int64).reshape(-1)
    return {"boxes": corners, "labels": labels, "iscrowd": crowd, "width": width, "height": height}


def _tensor(values: Any) -> Any:
    import torch

    return torch.as_tensor(np.asarray(values))
