"""Backbones: where torchvision's detectors get their maps from, and the sizes that go with them.

- ``resnet50``: ResNet-50 with a feature pyramid on five levels, the configuration of the papers.
- ``resnet50-c4``: one map of stride 16, its last stage in the box head (OWOD, RE-OWOD).
- ``efficientnet-lite0``: the same pyramid on a light body, for which public weights exist that have
  seen ImageNet alone.
- ``small``: a pyramid on three levels for images of about 128 pixels; trains in minutes on a CPU.

Weights come from a local file or not at all: nothing is downloaded, so that no detector has seen
classes which an evaluation then calls unknown.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchvision.models import resnet50
from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
from torchvision.ops import FeaturePyramidNetwork, FrozenBatchNorm2d
from torchvision.ops.feature_pyramid_network import LastLevelMaxPool, LastLevelP6P7

from openset.detectors import _efficientnet
from openset.findings import UsageError
from openset.nets.weights import load_into, read_state

BackboneName = Literal["resnet50", "resnet50-c4", "efficientnet-lite0", "small"]


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes that go with a backbone.

    Attributes:
        sides: Shortest and longest side to which images are scaled.
        anchors: Anchor sizes of each level of a region proposal network.
        dense_anchors: Anchor sizes of each level of a one-stage detector.
        pooled: Side of the map that is pooled for a region.
        regions: Further arguments of Faster R-CNN.
    """

    sides: tuple[int, int]
    anchors: tuple[tuple[int, ...], ...]
    dense_anchors: tuple[tuple[int, ...], ...]
    pooled: int
    regions: Mapping[str, Any]


_LEVELS = ((32,), (64,), (128,), (256,), (512,))
# Octaves of RetinaNet: sizes 1, 2^(1/3) and 2^(2/3) of each level.
_OCTAVES = tuple((s, int(s * 2 ** (1 / 3)), int(s * 2 ** (2 / 3))) for s in (32, 64, 128, 256, 512))
_FEW_REGIONS = {
    "rpn_pre_nms_top_n_train": 200,
    "rpn_pre_nms_top_n_test": 200,
    "rpn_post_nms_top_n_train": 100,
    "rpn_post_nms_top_n_test": 100,
    "rpn_batch_size_per_image": 64,
    "box_batch_size_per_image": 32,
    "box_positive_fraction": 0.5,
}

SCALES: Mapping[str, Scale] = {
    "resnet50": Scale((800, 1333), _LEVELS, _OCTAVES, 7, {}),
    "resnet50-c4": Scale((800, 1333), ((32, 64, 128, 256, 512),), (), 14, {}),
    "efficientnet-lite0": Scale(
        (800, 1333),
        _LEVELS,
        (),
        7,
        {"image_mean": _efficientnet.MEAN, "image_std": _efficientnet.STD},
    ),
    "small": Scale(
        (128, 128), ((12,), (24,), (48,)), ((14, 20), (28, 40), (56, 80)), 5, _FEW_REGIONS
    ),
}


Stride = Literal["3x3", "1x1"]


@dataclass(frozen=True, slots=True)
class Start:
    """How a ResNet starts.

    Attributes:
        pretrained: A local file with the weights of a classifier, such as ImageNet's.
        frozen: How many of the five stages stay as they are.
        norm: Whether batch norms keep the statistics of the file (``frozen``) or learn their own.
        stride: Which convolution of a stage's first block halves the map: the ``3x3``, as in
            torchvision's weights, or the first ``1x1``, as in those of He et al. (Caffe, Keras).
    """

    pretrained: str | None = None
    frozen: int = 0
    norm: Literal["batch", "frozen"] = "batch"
    stride: Stride = "3x3"


def pyramid(name: BackboneName, start: Start, *, dense: bool) -> nn.Module:
    """A feature pyramid.

    Args:
        name: ``resnet50``, ``efficientnet-lite0`` or ``small``.
        start: How a ResNet starts.
        dense: Levels 3 to 7, for one-stage detectors, in place of 2 to 6.
    """
    if name == "small":
        _refuse_start("small", start, file=False)
        return SmallPyramid(dense=dense)
    if name == "efficientnet-lite0":
        return _lite(start)
    body, taught = resnet(start), 5 - start.frozen
    if dense:
        extra = LastLevelP6P7(256, 256)
        made = _resnet_fpn_extractor(body, taught, returned_layers=[2, 3, 4], extra_blocks=extra)
    else:
        made = _resnet_fpn_extractor(body, taught, extra_blocks=LastLevelMaxPool())
    return made.to(memory_format=torch.channels_last)  # what tensor cores want


def _refuse_start(name: BackboneName, start: Start, *, file: bool) -> None:
    """Refuse options that a backbone which is no ResNet would leave unread."""
    given = {
        "pretrained": start.pretrained is not None and not file,
        "frozen": start.frozen > 0,
        "norm='frozen'": start.norm == "frozen",
        "stride='1x1'": start.stride == "1x1",
    }
    unread = [option for option, is_given in given.items() if is_given]
    if unread:
        raise UsageError(
            f"the backbone {name!r} has no option {', '.join(unread)}: leave it out, or take "
            "backbone='resnet50'"
        )


def _lite(start: Start) -> nn.Module:
    _refuse_start("efficientnet-lite0", start, file=True)
    return _efficientnet.LitePyramid(start.pretrained)


def c4(start: Start) -> tuple[nn.Module, nn.Module]:
    """The first four stages of a ResNet-50 as one map, and the last as a box head."""
    body = resnet(start)
    stages = [nn.Sequential(body.conv1, body.bn1, body.relu, body.maxpool)]
    stages += [body.layer1, body.layer2, body.layer3]
    for stage in stages[: start.frozen]:
        stage.requires_grad_(requires_grad=False)
    trunk: Any = nn.Sequential(*stages)
    trunk.out_channels = 1024
    return trunk, nn.Sequential(body.layer4, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def resnet(start: Start) -> Any:
    """A ResNet-50, its classifier included."""
    norm: Callable[..., nn.Module] = FrozenNorm if start.norm == "frozen" else nn.BatchNorm2d
    body = resnet50(weights=None, norm_layer=norm)
    if start.stride == "1x1":
        for stage in (body.layer2, body.layer3, body.layer4):
            first: Any = stage[0]
            first.conv1.stride, first.conv2.stride = (2, 2), (1, 1)
    if start.pretrained:
        load_into(body, read_state(start.pretrained), start.pretrained)
    return body


class FrozenNorm(FrozenBatchNorm2d):
    """Torchvision's frozen norm in one operation of six, and in the precision of its input."""

    def forward(self, x: Tensor) -> Tensor:
        """The map, by means and variances that do not change."""
        held = self.running_mean, self.running_var, self.weight, self.bias
        return functional.batch_norm(x, *held, eps=self.eps)


class SmallPyramid(nn.Module):
    """A light backbone with a pyramid of three levels.

    Regions are classified from fine maps of few channels (strides 4, 8 and 16); one-stage heads,
    which do all their work on the maps, get coarser ones of more channels (8, 16 and 32).
    """

    def __init__(self, *, dense: bool) -> None:
        super().__init__()
        self.out_channels = 64 if dense else 32
        widths = (48, 96, 128, 128) if dense else (48, 96, 128)
        self.skipped = len(widths) - 3
        self.stem = _block(3, 24, stride=2)
        self.stages = nn.ModuleList(
            nn.Sequential(_block(inputs, width, stride=2), _block(width, width))
            for inputs, width in zip((24, *widths), widths, strict=False)
        )
        self.fpn = FeaturePyramidNetwork(list(widths[-3:]), self.out_channels)
        self.to(memory_format=torch.channels_last)

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        """Maps by level."""
        maps: OrderedDict[str, Tensor] = OrderedDict()
        values = self.stem(images)
        for level, stage in enumerate(self.stages):
            values = stage(values)
            if level >= self.skipped:
                maps[str(level - self.skipped)] = values
        pyramid: dict[str, Tensor] = self.fpn(maps)
        return pyramid


def _block(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))
