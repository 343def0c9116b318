"""Networks for open-set recognition: from images to embeddings. Needs torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import nn

from openset.recognition.networks.classifier32 import Classifier32
from openset.recognition.networks.resnet import ResNet18

__all__ = ["NETWORKS", "Classifier32", "ResNet18"]
# A network takes the number of channels, and has a `width`.
NETWORKS: Mapping[str, Callable[[int], nn.Module]] = {
    "classifier32": Classifier32,
    "resnet18": ResNet18,
}
