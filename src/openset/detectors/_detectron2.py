"""The conventions of detectron2, on torchvision's Faster R-CNN.

The papers on open-set detection trained detectron2's. What differs and can be had: RoIAlign moved
by half a cell, with as many samples as a region has cells; how many proposals are kept; initial
weights. Losses of boxes that are plain L1 are the step's (`openset.detectors._step`), decayed
biases the recipe's. What cannot: a ResNet of Caffe, which has its stride in another convolution and
sees BGR without a deviation; it takes other weights.
"""

from __future__ import annotations

from typing import Any

from torch import nn


def adopt(network: Any) -> None:
    """Make a network, as torchvision built it, what detectron2 would have built."""
    pool, heads, rpn = network.roi_heads.box_roi_pool, network.roi_heads, network.rpn
    pool.aligned, pool.sampling_ratio = True, 0
    single = len(pool.featmap_names) == 1  # C4
    rpn._pre_nms_top_n = {"training": 12_000 if single else 2000,
                          "testing": 6000 if single else 1000}  # fmt: skip
    rpn._post_nms_top_n = {"training": 2000 if single else 1000, "testing": 1000}
    _normal(heads.box_predictor.cls_score, 0.01)
    _normal(heads.box_predictor.bbox_pred, 0.001)
    for part in heads.box_head.modules():
        if isinstance(part, nn.Linear):
            nn.init.kaiming_uniform_(part.weight, a=1)
            nn.init.zeros_(part.bias)


def _normal(layer: nn.Linear, deviation: float) -> None:
    nn.init.normal_(layer.weight, std=deviation)
    nn.init.zeros_(layer.bias)
