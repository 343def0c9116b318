"""What transformers calls the weights of torchvision's ResNet: backbones start from such a file."""

from __future__ import annotations

import re

from torch import nn

from openset.nets.weights import load_into, read_state


def load_resnet(body: nn.Module, file: str) -> None:
    """Give a ResNet of transformers the weights of one of torchvision, without its classifier."""
    state = read_state(file)
    kept = {_renamed(name): value for name, value in state.items() if not name.startswith("fc.")}
    load_into(body, kept, file)


def _renamed(name: str) -> str:
    """What transformers calls a weight of torchvision's ResNet."""
    for pattern, new in _RESNET:
        name = pattern.sub(new, name)
    return _NUMBERED.sub(lambda found: f"{found[1]}{int(found[2]) - 1}.", name)


_RESNET = [
    (re.compile(pattern), new)
    for pattern, new in (
        (r"^conv1\.", "embedder.embedder.convolution."),
        (r"^bn1\.", "embedder.embedder.normalization."),
        (r"^layer(\d)\.(\d+)\.", r"encoder.stages.\1.layers.\2."),
        (r"\.downsample\.0\.", ".shortcut.convolution."),
        (r"\.downsample\.1\.", ".shortcut.normalization."),
        (r"\.conv(\d)\.", r".layer.\1.convolution."),
        (r"\.bn(\d)\.", r".layer.\1.normalization."),
    )
]
_NUMBERED = re.compile(r"(stages\.|\.layer\.)(\d)\.")  # one library counts from 1, the other from 0
