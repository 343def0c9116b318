"""On boxes: a recognition loss on the box head of a detector.

An extension: no paper of open-set recognition trains detectors. The objective sees the embeddings
of regions that were assigned to a known object; background is left to the detector.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from openset.recognition.methods._spec import Objective


def loss_on_boxes(
    objective: Objective, embedding: Tensor, label: Tensor, *, background: int = 0
) -> Tensor:
    """The loss of an objective on the foreground of a box head; 0 where there is none.

    Args:
        objective: What to train, for as many classes as the detector knows.
        embedding: One row per region, before the last layer.
        label: Class of each region, as the detector numbers them.
        background: The number of the background. Classes that come after it are one less for the
            objective: 0 for torchvision, the number of classes for Detectron2.
    """
    known = (label != background) & (label >= 0)
    if not known.any():
        return embedding.sum() * 0.0
    classes = label[known]
    return objective.loss(embedding[known].float(), classes - (classes > background).long())


def on_box_head(detector: nn.Module, objective: Objective, *, weight: float = 1.0) -> nn.Module:
    """A torchvision R-CNN that also trains an objective on its box head.

    Losses get an entry ``loss_recognition``; the objective's weights are among the detector's. What
    is detected stays what it was: score regions with ``objective.openness(objective.logits(...))``.

    Args:
        detector: Such as `torchvision.models.detection.fasterrcnn_resnet50_fpn`.
        objective: For the known classes, without background, and the width of the box head.
        weight: Of its loss.
    """
    heads: Any = detector.roi_heads
    heads.recognition = objective
    seen: dict[str, Any] = {}
    select = heads.select_training_samples

    def selected(*given: Any) -> Any:
        found = select(*given)
        seen["label"] = found[2]
        return found

    def embedded(_module: nn.Module, _given: Any, embedding: Tensor) -> None:
        seen["embedding"] = embedding

    def counted(module: nn.Module, _given: Any, out: Any) -> Any:
        detections, losses = out
        if not module.training:
            return out
        loss = loss_on_boxes(objective, seen["embedding"], torch.cat(seen["label"]))
        return detections, {**losses, "loss_recognition": weight * loss}

    heads.select_training_samples = selected
    heads.box_head.register_forward_hook(embedded)
    heads.register_forward_hook(counted)
    return detector
