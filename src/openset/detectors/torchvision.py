"""Detectors of torchvision: Faster R-CNN, Mask R-CNN, RetinaNet and FCOS.

Each comes with the backbone of the papers (ResNet-50 with a feature pyramid, or C4) and with a
small one for images of about 128 pixels. Weights are random unless a local file is given: those
that torchvision offers have seen the classes of COCO, which open-set benchmarks call unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from openset.detectors._spec import EvidenceName, Model, detector
from openset.findings import UsageError
from openset.plugins import lookup

if TYPE_CHECKING:
    from openset.detectors._backbones import BackboneName, Start

_NEEDS = ("torch", "torchvision")
_REGION: tuple[EvidenceName, ...] = (
    "logits", "embedding", "objectness", "region",
    "latent", "latent_samples", "shortcut", "logit_samples", "box_samples",
)  # fmt: skip
_DENSE: tuple[EvidenceName, ...] = ("logits", "embedding", "region", "latent")
_SMALL_HEAD, _SMALL_CHANNELS = 128, 32
Side = int | Sequence[int] | None
Norm = Literal["batch", "frozen"]
Stride = Literal["3x3", "1x1"]
Conventions = Literal["torchvision", "detectron2"]


@detector(
    "faster_rcnn",
    title="Faster R-CNN",
    paper="Ren et al., Faster R-CNN, NeurIPS 2015; with Lin et al., FPN, CVPR 2017",
    framework="torchvision",
    keeps=_REGION,
    requires=_NEEDS,
    shows=("regions",),
)
def faster_rcnn(
    labels: tuple[str, ...],
    *,
    device: str | None = None,
    backbone: BackboneName = "resnet50",
    pretrained: str | None = None,
    frozen: int = 0,
    norm: Norm = "batch",
    shortest: Side = None,
    longest: int | None = None,
    score: float = 0.05,
    nms: float = 0.5,
    most: int = 100,
    conventions: Conventions = "torchvision",
    stride: Stride = "3x3",
    anchor: int | None = None,
    passes: int = 0,
    observations: bool = False,
) -> Model:
    """Regions are proposed, then classified by a softmax that has a background column.

    Args:
        labels: The classes.
        device: Where to run.
        backbone: ``resnet50``, ``resnet50-c4``, ``efficientnet-lite0`` or ``small``.
        pretrained: A local file with the weights of a classifier of that backbone.
        frozen: How many of the five stages of a ResNet stay as they are.
        norm: Whether its batch norms keep the statistics of that file (``frozen``, as in the
            papers) or learn their own.
        shortest: Pixels of the shortest side of a scaled image; of several, training draws one and
            the last is for running. The backbone's own by default.
        longest: Most pixels of the longest side.
        score: Boxes with a lower score are dropped.
        nms: Boxes of one class that overlap more are dropped.
        most: Most boxes of an image.
        conventions: Whose Faster R-CNN it is in what the two libraries do differently:
            ``detectron2`` is that of the papers on open-set detection, with plain L1 losses of
            boxes, aligned pooling, 1,000 proposals in training, and its initial weights.
        stride: Which convolution of a ResNet's stages halves the map: the ``3x3``, as in
            torchvision's weights, or the first ``1x1``, as in those of He et al.
        anchor: Side of the smallest anchors, in pixels of the scaled image; each level doubles it.
            The backbone's own by default: 32 for images of 800 pixels, too large for small ones.
        passes: When it runs, passes of the head with dropout: boxes and probabilities of every
            region are the means of so many, before any is dropped (dropout sampling). 0 is none.
        observations: Let every pass detect for itself instead, and make one detection, with an
            unknownness, of those that overlap.
    """
    from openset.detectors._rcnn import RegionModel

    filters: dict[str, Any] = {
        "box_score_thresh": score,
        "box_nms_thresh": nms,
        "box_detections_per_img": most,
    }
    sides, start = _sides(backbone, shortest, longest), _start(pretrained, frozen, norm, stride)
    network = _region_network(labels, backbone, start, anchor=anchor, **filters, **sides)
    if conventions == "torchvision":
        return RegionModel(network, labels, device, passes, observations)
    from openset.detectors._detectron2 import adopt

    adopt(network)
    return RegionModel(network, labels, device, passes, observations, beta=0.0)


def _region_network(
    labels: tuple[str, ...],
    backbone: BackboneName,
    start: Start,
    *,
    masks: bool = False,
    anchor: int | None = None,
    **arguments: Any,
) -> Any:
    from torchvision.models.detection import FasterRCNN, MaskRCNN
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    from openset.detectors import _backbones
    from openset.detectors._pool import Pool

    scale = _scale(backbone)
    least = scale.anchors[0][0]
    sizes = [tuple(size * (anchor or least) // least for size in level) for level in scale.anchors]
    ratios = ((0.5, 1.0, 2.0),) * len(sizes)
    parts: dict[str, Any] = {"rpn_anchor_generator": AnchorGenerator(tuple(sizes), ratios)}
    columns = len(labels) + 1
    if backbone == "resnet50-c4":
        trunk, head = _backbones.c4(start)
        parts |= _box_head(head, 2048, ["0"], scale.pooled, columns)
    else:
        trunk = _backbones.pyramid(backbone, start, dense=False)
        pool = Pool(["0", "1", "2", "3"], scale.pooled, 2)
        plain = {"num_classes": columns, "box_roi_pool": pool}
        parts |= _small_heads(columns, masks) if backbone == "small" else plain
    made = MaskRCNN if masks else FasterRCNN
    return made(trunk, **parts, **scale.regions, **arguments)


def _box_head(head: Any, width: int, levels: list[str], side: int, columns: int) -> dict[str, Any]:
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor

    from openset.detectors._pool import Pool

    return {
        "box_roi_pool": Pool(levels, side, 2),
        "box_head": head,
        "box_predictor": FastRCNNPredictor(width, columns),
    }


def _small_heads(columns: int, masks: bool) -> dict[str, Any]:
    from torchvision.models.detection.faster_rcnn import TwoMLPHead
    from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor
    from torchvision.ops import MultiScaleRoIAlign

    levels, side = ["0", "1", "2"], _scale("small").pooled
    inner = TwoMLPHead(_SMALL_CHANNELS * side * side, _SMALL_HEAD)
    parts = _box_head(inner, _SMALL_HEAD, levels, side, columns)
    if masks:
        width = _SMALL_CHANNELS
        parts["mask_roi_pool"] = MultiScaleRoIAlign(levels, 14, 2)
        parts["mask_head"] = MaskRCNNHeads(width, (width,) * 2, 1)
        parts["mask_predictor"] = MaskRCNNPredictor(width, width, columns)
    return parts


@detector(
    "mask_rcnn",
    title="Mask R-CNN",
    paper="He et al., Mask R-CNN, ICCV 2017",
    framework="torchvision",
    keeps=_REGION,
    requires=_NEEDS,
    shows=("regions",),
)
def mask_rcnn(
    labels: tuple[str, ...],
    *,
    device: str | None = None,
    backbone: BackboneName = "resnet50",
    pretrained: str | None = None,
    frozen: int = 0,
    norm: Norm = "batch",
    shortest: Side = None,
    longest: int | None = None,
    score: float = 0.05,
    nms: float = 0.5,
    most: int = 100,
    passes: int = 0,
    observations: bool = False,
) -> Model:
    """Faster R-CNN that also learns masks; where there are none, boxes are the masks.

    Only boxes are recorded. Options are those of ``faster_rcnn``.
    """
    from openset.detectors._rcnn import RegionModel

    if backbone == "resnet50-c4":
        raise UsageError("mask_rcnn has backbones 'resnet50' and 'small', not 'resnet50-c4'")
    filters: dict[str, Any] = {
        "box_score_thresh": score,
        "box_nms_thresh": nms,
        "box_detections_per_img": most,
    }
    sides, start = _sides(backbone, shortest, longest), _start(pretrained, frozen, norm)
    network = _region_network(labels, backbone, start, masks=True, **filters, **sides)
    return RegionModel(network, labels, device, passes, observations)


@detector(
    "retinanet",
    title="RetinaNet",
    paper="Lin et al., Focal Loss for Dense Object Detection, ICCV 2017",
    framework="torchvision",
    keeps=_DENSE,
    requires=_NEEDS,
)
def retinanet(
    labels: tuple[str, ...],
    *,
    device: str | None = None,
    backbone: BackboneName = "resnet50",
    pretrained: str | None = None,
    frozen: int = 0,
    norm: Norm = "batch",
    shortest: Side = None,
    longest: int | None = None,
    score: float = 0.05,
    nms: float = 0.5,
    most: int = 300,
) -> Model:
    """One stage: every anchor is classified by independent sigmoids, under the focal loss.

    Options are those of ``faster_rcnn``.
    """
    from torchvision.models.detection import RetinaNet
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    from openset.detectors._dense import DenseModel

    scale = _scale(backbone)
    ratios = ((0.5, 1.0, 2.0),) * len(scale.dense_anchors)
    trunk = _dense_trunk(backbone, _start(pretrained, frozen, norm))
    anchors = AnchorGenerator(scale.dense_anchors, ratios)
    network = RetinaNet(
        trunk,
        len(labels),
        **_sides(backbone, shortest, longest),
        anchor_generator=anchors,
        head=_quick_head(trunk, anchors, len(labels)) if backbone == "small" else None,
        score_thresh=score,
        nms_thresh=nms,
        detections_per_img=most,
    )
    return DenseModel(network, labels, device)


def _quick_head(trunk: Any, anchors: Any, classes: int) -> Any:
    """A head that learns in fewer steps: group norms, and boxes under the GIoU loss."""
    from functools import partial

    from torch.nn import GroupNorm
    from torchvision.models.detection.retinanet import RetinaNetHead

    count = anchors.num_anchors_per_location()[0]
    norm = partial(GroupNorm, 32)
    head = RetinaNetHead(trunk.out_channels, count, classes, norm_layer=norm)
    head.regression_head._loss_type = "giou"
    return head


@detector(
    "fcos",
    title="FCOS",
    paper="Tian et al., FCOS: Fully Convolutional One-Stage Object Detection, ICCV 2019",
    framework="torchvision",
    keeps=(*_DENSE, "centerness"),
    requires=_NEEDS,
)
def fcos(
    labels: tuple[str, ...],
    *,
    device: str | None = None,
    backbone: BackboneName = "resnet50",
    pretrained: str | None = None,
    frozen: int = 0,
    norm: Norm = "batch",
    shortest: Side = None,
    longest: int | None = None,
    score: float = 0.05,
    nms: float = 0.5,
    most: int = 100,
) -> Model:
    """One stage without anchors: every location is classified by independent sigmoids.

    The score is ``sqrt(class * centerness)``, as torchvision has it; a ratio of two classes must be
    taken of the logits. Torchvision's own threshold of 0.2 would delete most unknown objects: ours
    is 0.05, with an NMS of 0.5, as mmdetection's. Options are those of ``faster_rcnn``.
    """
    from torchvision.models.detection import FCOS
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    from openset.detectors._dense import DenseModel

    strides = (8, 16, 32) if backbone == "small" else (8, 16, 32, 64, 128)
    network = FCOS(
        _dense_trunk(backbone, _start(pretrained, frozen, norm)),
        len(labels),
        **_sides(backbone, shortest, longest),
        anchor_generator=AnchorGenerator(tuple((s,) for s in strides), ((1.0,),) * len(strides)),
        score_thresh=score,
        nms_thresh=nms,
        detections_per_img=most,
    )
    return DenseModel(network, labels, device)


def _dense_trunk(backbone: BackboneName, start: Start) -> Any:
    from openset.detectors import _backbones

    if backbone in ("resnet50-c4", "efficientnet-lite0"):
        raise UsageError("one-stage detectors have backbones 'resnet50' and 'small'")
    return _backbones.pyramid(backbone, start, dense=True)


def _start(pretrained: str | None, frozen: int, norm: Norm, stride: Stride = "3x3") -> Start:
    from openset.detectors._backbones import Start

    return Start(pretrained, frozen, norm, stride)


def _sides(backbone: str, shortest: Side, longest: int | None) -> dict[str, Any]:
    scale = _scale(backbone)
    least = scale.sides[0] if shortest is None else shortest
    sides = (least,) if isinstance(least, int) else tuple(least)
    return {"min_size": sides, "max_size": max(longest or scale.sides[1], *sides)}


def _scale(backbone: str) -> Any:
    from openset.detectors._backbones import SCALES

    return lookup(SCALES, backbone, "backbone")
