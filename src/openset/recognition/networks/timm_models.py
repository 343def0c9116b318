"""Any image model of timm, as a network: ``timm:resnet50``, ``timm:vit_small_patch16_224``.

With new weights, or those of a local file; nothing is downloaded. timm is not among the extras:
where it is missing, a finding says so.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from openset.findings import refuse
from openset.plugins import lookup


class TimmModel(nn.Module):
    """A model of timm without its last layer.

    Args:
        name: Its name in timm.
        channels: 1 for grey, 3 for colour.
        weights: A local file of weights.
    """

    def __init__(self, name: str, channels: int, weights: str = "") -> None:
        super().__init__()
        timm = _timm()
        lookup(dict.fromkeys(timm.list_models()), name.partition(".")[0], "model of timm:")
        model: nn.Module = timm.create_model(
            name, in_chans=channels, num_classes=0, checkpoint_path=weights
        )
        self.model = model
        self.width = _width(model)

    def forward(self, images: Tensor) -> Tensor:
        """Embeddings of images: (n, channels, height, width) → (n, width)."""
        embedding: Tensor = self.model(images)
        return embedding


def _width(model: Any) -> int:
    # Some models have a layer between the features and the last.
    return int(getattr(model, "head_hidden_size", 0) or model.num_features)


def _timm() -> Any:
    from importlib import import_module
    from importlib.util import find_spec

    if find_spec("timm") is None:
        raise refuse("OS601", "networks called timm:NAME need timm", example="timm")
    return import_module("timm")
