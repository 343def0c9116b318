"""The training step of a two-stage detector: propose, assign, sample, pool, predict, losses.

Ren et al., Faster R-CNN (NeurIPS 2015), as torchvision trains it, over the modules and weights of
torchvision's own model. Objects are padded to the same number per image, and all images of a batch
go through every stage together: no loop over images, and the device is waited for twice (is
suppression done; how many regions does each level have). Given the same samples, losses and
gradients are those of the stock model; which regions are sampled is another draw of the same
distribution.

It differs from the stock model in one case: an object that overlaps no anchor at all is matched to
none, where torchvision would match it to every anchor without overlap.

Not how a detector runs: see `openset.detectors._rcnn`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchvision.models.detection.image_list import ImageList

from openset.detectors import _boxes
from openset.detectors._boxes import chosen, decoded, encoded, overlaps, rows, sent
from openset.detectors._regions import BACKGROUND, NOTHING, Proposals

Losses = dict[str, Tensor]
_MULTIPLE = 8  # objects are padded to a multiple: few shapes, so that little is compiled
_NEVER = -1e4  # logit of what is no proposal


class Objects(NamedTuple):
    """The taught objects of a batch, padded.

    Attributes:
        box: ``x1, y1, x2, y2`` in pixels of the network's input, ``[images, objects, 4]``.
        label: The class of each, from 0.
        real: Which are objects; the others fill up.
    """

    box: Tensor
    label: Tensor
    real: Tensor

    @classmethod
    def of(cls, targets: list[dict[str, Tensor]]) -> Objects:
        """Those of a list of targets."""
        boxes = [target["boxes"].float() for target in targets]
        count = max(1, *map(len, boxes))
        wide = -(-count // _MULTIPLE) * _MULTIPLE
        box = nn.utils.rnn.pad_sequence(boxes, batch_first=True)
        label = nn.utils.rnn.pad_sequence([t["labels"] for t in targets], batch_first=True)
        more = wide - box.shape[1]
        counts = sent([len(one) for one in boxes], box)
        real = torch.arange(wide, device=box.device) < counts[:, None]
        padded = functional.pad(box, (0, 0, 0, more)), functional.pad(label, (0, more))
        return cls(*padded, real)


class Sampled(NamedTuple):
    """The regions that are classified, as many on every image.

    Attributes:
        box: ``[images, regions, 4]``.
        label: The class of the object it lies on, from 0, `BACKGROUND` or `NOTHING`.
        object: Number of that object in its image.
        target: What would make the box that object's.
        overlap: With that object.
        objectness: The proposal's logit; infinite for an object itself.
        place: Number among the proposals, best first; objects come after all.
    """

    box: Tensor
    label: Tensor
    object: Tensor
    target: Tensor
    overlap: Tensor
    objectness: Tensor
    place: Tensor


class Drawn(NamedTuple):
    """All anchors of a batch, and the chance by which some are taught.

    Attributes:
        objectness: The logit of each, ``[images, anchors]``.
        box: Those of one image.
        on: Numbers that decide which of those on objects are taken; `off` of the others.
    """

    objectness: Tensor
    box: Tensor
    on: Tensor
    off: Tensor


class Pooled(NamedTuple):
    """What a batch has become before the losses of its regions."""

    maps: dict[str, Tensor]
    sampled: Sampled
    embedding: Tensor
    logits: Tensor
    deltas: Tensor
    anchors: Drawn
    losses: Losses


@dataclass(eq=False)
class Step:
    """The step over a torchvision network.

    Attributes:
        network: A Faster R-CNN or Mask R-CNN.
        beta: Where the box losses turn from squares to lines; 0 is plain L1, as in detectron2.
        compiled: Whether torch compiles the stages, at the first step.
    """

    network: Any
    beta: float = 1 / 9
    compiled: bool = False

    def __post_init__(self) -> None:
        self._trunk = self._stage(self._maps)
        self._rpn_losses = self._stage(self._anchor_losses)
        self._sample = self._stage(self._samples)
        self._rounds = self._stage(_boxes.again)
        self._overlapped = self._stage(_boxes.overlapping)
        self._heads = self._stage(self._predicted)
        self._anchors: tuple[Any, Tensor] | None = None

    def _stage(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function, dynamic=False) if self.compiled else function

    def __call__(
        self, batch: ImageList, objects: Objects, see: Callable[[Proposals], None] | None = None
    ) -> Pooled:
        """Everything up to what is predicted on the sampled regions, with the losses of anchors.

        Args:
            batch: The images, scaled and padded.
            objects: What is taught on them.
            see: Told the proposals before regions are sampled.
        """
        maps, objectness, deltas = self._trunk(batch.tensors)
        anchors = self.anchors_of(batch.tensors, list(maps.values()))
        drawn = _drawn(torch.cat(objectness, 1), anchors)
        losses = self._rpn_losses(drawn, torch.cat(deltas, 1), objects)
        with torch.no_grad():
            found = self.proposals(objectness, deltas, anchors, batch.image_sizes)
            if see is not None:
                see(found)
            sampled = self._sample(found, objects)
        pool = self.network.roi_heads.box_roi_pool
        regions, order = pool.rows(maps, sampled.box, batch.image_sizes)
        embedding, logits, boxes = self._heads(regions, order)
        return Pooled(maps, sampled, embedding, logits, boxes, drawn, losses)

    def _predicted(self, regions: Tensor, order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Embeddings, logits and boxes of the sampled regions, in their order."""
        heads = self.network.roi_heads
        embedding = heads.box_head(regions)[order]
        return embedding, *heads.box_predictor(embedding)

    def _maps(self, images: Tensor) -> tuple[dict[str, Tensor], list[Tensor], list[Tensor]]:
        """Maps by level, and per level the objectness and deltas of every anchor."""
        maps = self.network.backbone(images)
        maps = {"0": maps} if isinstance(maps, Tensor) else maps
        return maps, *self.flat(list(maps.values()))

    def flat(self, maps: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Per level the objectness and deltas of every anchor."""
        objectness, deltas = self.network.rpn.head(maps)
        flat = [level.permute(0, 2, 3, 1).flatten(1) for level in objectness]
        sides = [level.permute(0, 2, 3, 1).flatten(1).unflatten(1, (-1, 4)) for level in deltas]
        return flat, sides

    def anchors_of(self, images: Tensor, maps: list[Tensor]) -> Tensor:
        """The anchors of one image; kept, because most batches have the shape of the last."""
        key = (images.shape[-2:], images.device, *(one.shape[-2:] for one in maps))
        if self._anchors is None or self._anchors[0] != key:
            one = ImageList(images[:1], [tuple(images.shape[-2:])])
            self._anchors = key, self.network.rpn.anchor_generator(one, maps)[0].float()
        return self._anchors[1]

    def _anchor_losses(self, drawn: Drawn, deltas: Tensor, objects: Objects) -> Losses:
        """Of the region proposal network, on anchors that are sampled as torchvision does."""
        rpn = self.network.rpn
        with torch.no_grad():
            taught = _taught(drawn, objects, rpn)
            own = rows(objects.box, rows(taught.owner, taught.good))
            target = encoded(own, drawn.box[taught.good], rpn.box_coder.weights)
        moved = self._box_loss(rows(deltas, taught.good), target, taught.is_good) / taught.total
        return {"loss_objectness": _told(drawn, taught), "loss_rpn_box_reg": moved}

    def guided(self, drawn: Drawn, objects: Objects, more: Tensor) -> Tensor:
        """The loss of objectness with more objects, by the same chance; boxes know none of them.

        Args:
            drawn: The anchors.
            objects: What is taught.
            more: Further boxes, ``[images, boxes, 4]``; those that fill up have no area.
        """
        with torch.no_grad():
            box = torch.cat([objects.box, more], 1)
            real = torch.cat([objects.real, _boxes.areas(more) > 0], 1)
            label = functional.pad(objects.label, (0, more.shape[1]))
            taught = _taught(drawn, Objects(box, label, real), self.network.rpn)
        return _told(drawn, taught)

    def _box_loss(self, deltas: Tensor, target: Tensor, real: Tensor) -> Tensor:
        # A box without area has a target, but is not real; a masked product would keep its NaN.
        target = torch.where(real[..., None], target, 0.0)
        loss = functional.smooth_l1_loss(deltas.float(), target, beta=self.beta, reduction="none")
        return (loss * real[..., None]).sum()

    def proposals(
        self,
        objectness: list[Tensor],
        deltas: list[Tensor],
        anchors: Tensor,
        sizes: list[tuple[int, int]],
    ) -> Proposals:
        """The best boxes of all levels, each level suppressed on its own."""
        rpn = self.network.rpn
        levels = anchors.split([level.shape[1] for level in objectness])
        most = rpn.pre_nms_top_n()
        high = sent([(float(w), float(h)) * 2 for h, w in sizes], anchors)[:, None]
        found = []
        for score, moved, level in zip(objectness, deltas, levels, strict=True):
            top, at = score.float().topk(min(most, len(level)), 1)
            box = decoded(rows(moved, at).float(), level[at])
            found.append((torch.minimum(box.clamp_(min=0), high), top))
        # Full levels together and the others together: suppression costs the square of a width.
        full = [at for at, (_, top) in enumerate(found) if top.shape[1] == most]
        rest = [at for at in range(len(found)) if at not in full]
        some = [self._best_of([found[at] for at in places]) for places in (full, rest) if places]
        box, score = (torch.cat(part, 1) for part in zip(*some, strict=True))
        score, at = score.topk(min(rpn.post_nms_top_n(), score.shape[1]), 1)
        return Proposals(rows(box, at), score, score > _NEVER)

    def _best_of(self, levels: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """Boxes and scores of some levels, with no score where a better box suppresses one."""
        rpn, wide = self.network.rpn, max(top.shape[1] for _, top in levels)
        box = torch.stack([functional.pad(b, (0, 0, 0, wide - b.shape[1])) for b, _ in levels], 1)
        score = torch.stack(
            [functional.pad(t, (0, wide - t.shape[1]), value=_NEVER) for _, t in levels], 1
        )
        large = ((box[..., 2:] - box[..., :2]) >= rpn.min_size).all(-1)
        # What is no box must not suppress: it is moved to where it overlaps nothing.
        real = large & (score > _NEVER) & (score.sigmoid() >= rpn.score_thresh)
        groups = torch.where(real[..., None], box, 0.0).flatten(0, 1)
        kept = _boxes.unsuppressed(groups, rpn.nms_thresh, self._rounds, self._overlapped)
        score = score.masked_fill(~(kept.view_as(real) & real), _NEVER)
        return box.flatten(1, 2), score.flatten(1)

    def _samples(self, found: Proposals, objects: Objects) -> Sampled:
        """Regions to classify: proposals and the objects themselves, some of each kind."""
        heads = self.network.roi_heads
        box = torch.cat([found.box, objects.box], 1)
        real = torch.cat([found.real, objects.real], 1)
        sure = torch.full_like(objects.box[..., 0], torch.inf)
        objectness = torch.cat([found.objectness, sure], 1)
        best, owner = _best(overlaps(box, objects.box), objects)
        on = best >= heads.proposal_matcher.high_threshold
        count, quota = quota_of(heads.fg_bg_sampler)
        place, kind = _mixed(on & real, ~on & real, count, quota)
        at, box = rows(owner, place), rows(box, place)
        label = torch.where(kind > 0, rows(objects.label, at), kind)
        target = encoded(rows(objects.box, at), box, heads.box_coder.weights)
        overlap = rows(best, place).clamp(min=0)
        return Sampled(box, label, at, target, overlap, rows(objectness, place), place)

    def named(self, logits: Tensor, label: Tensor) -> Tensor:
        """The loss of the classifier; column 0 is the background."""
        real = label != NOTHING
        each = functional.cross_entropy(logits.float(), (label + 1).clamp(min=0), reduction="none")
        return (each * real).sum() / real.sum().clamp(min=1)

    def moved(self, deltas: Tensor, sampled: Sampled, label: Tensor) -> Tensor:
        """The loss of the boxes, each by the column of its class, or by the only one.

        Args:
            deltas: What is predicted.
            sampled: The regions.
            label: The class of each; those of none are not taught.
        """
        label, real = label.flatten(), sampled.label != NOTHING
        columns = deltas.view(len(label), -1, 4)
        own = torch.where(label >= 0, label + 1, 0) if columns.shape[1] > 1 else label * 0
        mine = columns.gather(1, own[:, None, None].expand(-1, 1, 4))[:, 0]
        total = real.sum().clamp(min=1)
        return self._box_loss(mine, sampled.target.flatten(0, 1), label >= 0) / total


def _drawn(objectness: Tensor, anchors: Tensor) -> Drawn:
    on, off = (torch.rand(objectness.shape, device=objectness.device) for _ in range(2))
    return Drawn(objectness, anchors, on, off)


class _Taught(NamedTuple):
    """The anchors that are taught: those on objects, and others; as many as are real."""

    owner: Tensor
    good: Tensor
    is_good: Tensor
    bad: Tensor
    is_bad: Tensor
    total: Tensor


def _taught(drawn: Drawn, objects: Objects, rpn: Any) -> _Taught:
    """Some anchors of each image, at most half of them on objects."""
    owner, on, off = _assigned(drawn.box, objects, rpn.proposal_matcher)
    count, quota = quota_of(rpn.fg_bg_sampler)
    good, is_good = chosen(on, quota, drawn.on)
    bad, is_bad = chosen(off, count, drawn.off)
    room = count - is_good.sum(1, keepdim=True)
    is_bad &= torch.arange(bad.shape[1], device=bad.device) < room
    total = (is_good.sum() + is_bad.sum()).clamp(min=1)
    return _Taught(owner, good, is_good, bad, is_bad, total)


def _told(drawn: Drawn, taught: _Taught) -> Tensor:
    """The loss of objectness on some anchors."""
    place = torch.cat([taught.good, taught.bad], 1)
    real = torch.cat([taught.is_good, taught.is_bad], 1)
    wanted = torch.cat(
        [taught.is_good.float(), torch.zeros_like(taught.is_bad, dtype=torch.float32)], 1
    )
    each = functional.binary_cross_entropy_with_logits(
        rows(drawn.objectness, place).float(), wanted, reduction="none"
    )
    return (each * real).sum() / taught.total


def quota_of(sampler: Any) -> tuple[int, int]:
    """How many torchvision's sampler takes of an image, and how many of them lie on objects."""
    count = int(sampler.batch_size_per_image)
    return count, int(count * sampler.positive_fraction)


def _best(overlap: Tensor, objects: Objects) -> tuple[Tensor, Tensor]:
    """The largest overlap with an object, and its number; -1 where an image has none."""
    best, owner = overlap.masked_fill_(~objects.real[:, None, :], -1.0).max(2)
    return best, owner


def _assigned(anchors: Tensor, objects: Objects, matcher: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The object of each anchor, which anchors lie on one, and which on none."""
    overlap = overlaps(anchors[None], objects.box)
    best, owner = _best(overlap, objects)
    most = overlap.amax(1, keepdim=True)
    needed = ((overlap == most) & (most > 0)).any(2)  # an object's best anchor, however bad
    return (
        owner,
        (best >= matcher.high_threshold) | needed,
        (best < matcher.low_threshold) & ~needed,
    )


def _mixed(on: Tensor, off: Tensor, count: int, quota: int) -> tuple[Tensor, Tensor]:
    """`count` random places of each image, at most `quota` of them on objects; and their kinds.

    Kinds are 1 on an object, `BACKGROUND`, and `NOTHING` where an image has no more.
    """
    good, is_good = chosen(on, quota)
    bad, is_bad = chosen(off, count)
    rank = torch.linspace(2, 1, bad.shape[1], device=bad.device)
    key = torch.cat([is_good * 3.0, is_bad * rank], 1)  # those on objects first, then the others
    value, at = key.topk(min(count, on.shape[1]), 1)
    kind = torch.where(value > 2.5, 1, torch.where(value > 0, BACKGROUND, NOTHING))
    return torch.cat([good, bad], 1).gather(1, at), kind
