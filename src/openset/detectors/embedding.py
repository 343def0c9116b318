"""Embedding: pictures as a ResNet-50 sees them that was taught to classify, a row each.

What `openset similarity` compares sets of pictures by. The whole picture is scaled to a square, and
the row is what the last layer of the classifier reads. The weights are a file of yours.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import InputError
from openset.nets.pictures import ImageFiles, batches

if TYPE_CHECKING:
    from torch import Tensor

    from openset.detectors._backbones import Stride

SIDE, BATCH, THREADS = 224, 32, 4
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])  # mean and deviation


def embedded(
    files: ImageFiles,
    weights: str | Path,
    *,
    stride: Stride = "3x3",
    device: str | None = None,
) -> NDArray[np.float32]:
    """The embedding of every picture.

    Args:
        files: The pictures.
        weights: A local file of a ResNet-50 under torchvision's keys.
        stride: Which convolution halves a map, see `Start`: ``1x1`` in weights of He et al.
        device: Where to compute; by default a GPU where there is one.

    Raises:
        InputError: A picture cannot be decoded, or the file holds other weights.
    """
    import torch
    from torchvision.transforms.functional import normalize

    from openset.detectors._backbones import Start, resnet
    from openset.nets.device import device_of

    place = device_of(device)
    body: Any = resnet(Start(str(weights), stride=stride))
    body.fc = torch.nn.Identity()
    body.eval().to(place)
    rows = []
    with torch.inference_mode():
        for part in batches(files, BATCH, THREADS):
            pixels = torch.stack([_square(one) for _, one in part]).to(place)
            rows.append(body(normalize(pixels, *IMAGENET)).float().cpu().numpy())
    return np.concatenate(rows) if rows else np.zeros((0, 2048), np.float32)


def _square(pixels: NDArray[np.uint8] | InputError) -> Tensor:
    import torch
    from torchvision.transforms.functional import resize

    if isinstance(pixels, InputError):
        raise pixels
    whole = torch.from_numpy(pixels.copy()).permute(2, 0, 1).float() / 255
    return resize(whole, [SIDE, SIDE], antialias=True)
