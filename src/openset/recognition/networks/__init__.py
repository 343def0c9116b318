"""Networks for open-set recognition: from images to embeddings. Needs torch.

A network is a module with a `width`, made for a number of channels. ``timm:NAME`` is any image
model of timm, where that is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import nn

from openset.plugins import lookup
from openset.recognition.networks.classifier8 import Classifier8
from openset.recognition.networks.classifier32 import Classifier32
from openset.recognition.networks.resnet import ResNet18, ResNet50
from openset.recognition.networks.standardised import standardised
from openset.recognition.networks.timm_models import TimmModel

__all__ = ["NETWORKS", "build_network", "standardised"]
NETWORKS: Mapping[str, Callable[[int], nn.Module]] = {
    "classifier8": Classifier8,
    "classifier32": Classifier32,
    "resnet18": ResNet18,
    "resnet50": ResNet50,
}
_TIMM = "timm:"


def build_network(name: str, channels: int) -> nn.Module:
    """The network of a name, with new weights; its `width` is that of the embedding."""
    if name.startswith(_TIMM):
        return TimmModel(name.removeprefix(_TIMM), channels)
    return lookup(NETWORKS, name, "network")(channels)
