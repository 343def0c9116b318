"""Boxes of many images at once: overlap, encoding, random choice and exact suppression.

What torchvision does image by image is here one operation on padded arrays, so that a step on a
GPU launches as many kernels for a hundred images as for one. Nothing here waits for the device but
`unsuppressed`, which must know when it is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torchvision.ops import nms

Weights = tuple[float, float, float, float]
LARGEST = math.log(1000 / 16)  # of a decoded logarithm of a side, as everywhere since Fast R-CNN
ROUNDS = 8  # of suppression between two looks at whether anything still changes
_CELLS = 2**26  # pairs of boxes that are compared at a time: a bound on memory
_HELD = 2**30  # pairs of which is known whether they overlap, two bytes each


def areas(boxes: Tensor) -> Tensor:
    """Areas of ``x1, y1, x2, y2``."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def overlaps(one: Tensor, two: Tensor) -> Tensor:
    """Intersection over union of all pairs of ``[..., N, 4]`` and ``[..., M, 4]``."""
    a, b = one[..., :, None, :], two[..., None, :, :]
    width = torch.minimum(a[..., 2], b[..., 2]) - torch.maximum(a[..., 0], b[..., 0])
    height = torch.minimum(a[..., 3], b[..., 3]) - torch.maximum(a[..., 1], b[..., 1])
    both = width.clamp_(min=0) * height.clamp_(min=0)
    either = areas(one)[..., :, None] + areas(two)[..., None, :] - both
    return both / either.clamp_(min=1e-9)


def encoded(boxes: Tensor, on: Tensor, weights: Weights) -> Tensor:
    """What must be predicted on some boxes to give others; finite for boxes without area."""
    sides, wanted = ((b[..., 2:] - b[..., :2]).clamp(min=1e-6) for b in (on, boxes))
    shift = (boxes[..., :2] - on[..., :2] + 0.5 * (wanted - sides)) / sides
    columns = (*shift.unbind(-1), *torch.log(wanted / sides).unbind(-1))
    return torch.stack([w * column for w, column in zip(weights, columns, strict=True)], -1)


def sent(values: list[Any], like: Tensor) -> Tensor:
    """Numbers as a tensor on the device of another, without waiting for the device."""
    return torch.tensor(values).to(like.device, non_blocking=True)


def decoded(deltas: Tensor, on: Tensor) -> Tensor:
    """The boxes that are predicted on some boxes, with weights of 1."""
    sides = on[..., 2:] - on[..., :2]
    centre = deltas[..., :2] * sides + on[..., :2] + 0.5 * sides
    half = 0.5 * deltas[..., 2:].clamp(max=LARGEST).exp() * sides
    return torch.cat([centre - half, centre + half], -1)


def rows(values: Tensor, index: Tensor) -> Tensor:
    """The rows of each image at places of its own: ``[B, N, ...]`` at ``[B, R]``."""
    if values.ndim == 2:
        return values.gather(1, index)
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))


def chosen(among: Tensor, most: int, chance: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Random places of each row of a mask; and which are real.

    Args:
        among: The mask.
        most: Places of a row.
        chance: A number for each, the largest are taken; by default as torch's generator has it.
    """
    drawn = torch.rand(among.shape, device=among.device) if chance is None else chance
    key = drawn.masked_fill(~among, -1.0)
    value, place = key.topk(min(most, among.shape[1]), dim=1)
    return place, value >= 0


def unsuppressed(
    boxes: Tensor,
    limit: float,
    round_of: Callable[[Tensor, Tensor], Tensor] | None = None,
    overlapped: Callable[[Tensor, float], Tensor] | None = None,
) -> Tensor:
    """Which boxes greedy suppression leaves, exactly: ``[G, N, 4]``, best first, give ``[G, N]``.

    A box is kept if no kept box before it overlaps more. That rule has one solution, and repeating
    it from "all are kept" arrives there after as many rounds as the longest chain of suppressions;
    a state that comes back is therefore the solution. On a CPU the plain loop is the faster one.

    Args:
        boxes: Groups of boxes.
        limit: Overlap from which on a box is suppressed.
        round_of: `again`, if it has been compiled.
        overlapped: `overlapping`, if it has been compiled.
    """
    if boxes.device.type == "cpu":
        return _one_by_one(boxes, limit)
    return settled(boxes, limit, round_of or again, overlapped)


def settled(
    boxes: Tensor,
    limit: float,
    round_of: Callable[[Tensor, Tensor], Tensor],
    overlapped: Callable[[Tensor, float], Tensor] | None = None,
) -> Tensor:
    """`unsuppressed` by rounds on all groups at once, or on as many as memory is for."""
    pairs = max(1, boxes.shape[1] ** 2)
    look, parts = overlapped or overlapping, []
    for some in boxes.split(max(1, _HELD // pairs)):
        before = torch.cat([look(few, limit) for few in some.split(max(1, _CELLS // pairs))])
        kept = torch.ones_like(before[..., 0])
        while not torch.equal(new := round_of(before, kept), kept):
            kept = new
        parts.append(kept.bool())
    return torch.cat(parts)


def unsuppressed_by_group(boxes: Tensor, group: Tensor, limit: float) -> Tensor:
    """Which boxes greedy suppression leaves, each group on its own: ``[N, 4]`` give ``[N]``.

    Args:
        boxes: The best first.
        group: A number of the group of each; boxes of other groups suppress none.
        limit: Overlap from which on a box is suppressed.
    """
    if not len(boxes):
        return group.bool()
    order = group.argsort(stable=True)
    _, at, counts = group[order].unique_consecutive(return_inverse=True, return_counts=True)
    place = torch.arange(len(boxes), device=boxes.device) - (counts.cumsum(0) - counts)[at]
    padded = boxes.new_zeros(len(counts), int(counts.max()), 4)
    padded[at, place] = boxes[order]  # what fills up has no area, and suppresses none
    kept = torch.zeros_like(group, dtype=torch.bool)
    kept[order] = unsuppressed(padded, limit)[at, place]
    return kept


def again(before: Tensor, kept: Tensor) -> Tensor:
    """Some rounds of suppression; ones and zeros, because a product is one pass over memory."""
    for _ in range(ROUNDS):
        kept = (torch.bmm(before, kept[..., None])[..., 0] == 0).to(before.dtype)
    return kept


def overlapping(boxes: Tensor, limit: float) -> Tensor:
    """Which boxes before it each box overlaps by more, as ones and zeros."""
    kind = torch.float32 if boxes.device.type == "cpu" else torch.bfloat16
    return (overlaps(boxes, boxes) > limit).tril_(-1).to(kind)


def _one_by_one(boxes: Tensor, limit: float) -> Tensor:
    kept = torch.zeros(boxes.shape[:2], dtype=torch.bool)
    score = torch.arange(boxes.shape[1], 0, -1, dtype=torch.float32)
    alone = partial(nms, scores=score, iou_threshold=limit)
    for group, row in zip(boxes, kept, strict=True):
        row[alone(group)] = True
    return kept
