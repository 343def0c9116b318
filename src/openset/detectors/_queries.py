"""Detectors of transformers, recorded: boxes come from queries, or from patches (OWLv2).

Outputs are filtered as the library's own processors do, with the number of the query kept. Images
are prepared here, with torch alone: scaled, padded and normalised as the papers' processors do, but
interpolated by torch, so that pixels may differ from a processor's in the last digits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.ops import box_convert
from torchvision.transforms.functional import normalize, resize

from openset.detectors._found import Filters
from openset.detectors._spec import EvidenceName
from openset.detectors._torch import BoxTensors, Target, TorchModel, linear_head
from openset.findings import UsageError
from openset.tables import Head, LogitLayout

_IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
_CLIP = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])
_SHORTEST_OF_LONGEST = 1333 / 800


class QueryModel(TorchModel):
    """A recorded model whose boxes are queries."""

    def __init__(
        self,
        network: nn.Module,
        labels: tuple[str, ...],
        layout: LogitLayout,
        device: str | None,
        *,
        side: int,
        score: float,
    ) -> None:
        super().__init__(network, labels, layout, device)
        self.side, self.score = side, score

    @abstractmethod
    def inputs(self, images: list[Tensor]) -> dict[str, Tensor]:
        """What the network takes."""

    @abstractmethod
    def kept(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, labels and queries that stay, of one image."""

    @abstractmethod
    def linear(self) -> nn.Linear:
        """The last layer."""

    def forward(self, images: list[Tensor], targets: list[Target]) -> dict[str, Tensor]:
        """The loss, all its parts weighted and summed by the library."""
        pairs = zip(images, targets, strict=True)
        labels = [_relative(image, target) for image, target in pairs]
        output = self.network(**self.inputs(images), labels=labels)
        return {"loss": output.loss}

    def head(self) -> Head | None:
        """The classifier of queries."""
        last = self.linear()
        return linear_head(last.weight, last.bias, self.layout)

    def record(self, images: list[Tensor], keep: frozenset[EvidenceName]) -> list[BoxTensors]:
        """The kept boxes of each image with their evidence."""
        output = self.network(**self.inputs(images))
        evidence = self.evidence(output)
        found = []
        for at, image in enumerate(images):
            score, label, query = self.kept(output.logits[at])
            plain = {"score": score, "label": label, "region": query}
            plain["box"] = self.pixels(output.pred_boxes[at], image.shape[-2:])[query]
            found.append(plain | {name: values[at][query] for name, values in evidence.items()})
        return found

    @contextmanager
    def unsuppressed(self) -> Iterator[Filters]:
        """Queries as they are: there is no suppression."""
        yield Filters(self.score, None, None)

    def evidence(self, output: Any) -> dict[str, Tensor]:
        """Evidence of every query of every image."""
        return {"logits": output.logits, "embedding": output.last_hidden_state}

    def pixels(self, boxes: Tensor, size: Sequence[int]) -> Tensor:
        """Boxes in pixels of the image, from centres and sizes relative to it."""
        height, width = size
        scale = boxes.new_tensor([width, height, width, height])
        return box_convert(boxes, "cxcywh", "xyxy") * scale


def _relative(image: Tensor, target: Target) -> dict[str, Tensor]:
    height, width = image.shape[-2:]
    scale = target["boxes"].new_tensor([width, height, width, height])
    boxes = box_convert(target["boxes"], "xyxy", "cxcywh") / scale
    return {"class_labels": target["labels"], "boxes": boxes}


class RTDetr(QueryModel):
    """RT-DETR: independent sigmoids; the best (query, class) pairs stay."""

    every = False

    @contextmanager
    def unsuppressed(self) -> Iterator[Filters]:
        """All pairs of a query and a class above the least score."""
        network: Any = self.network
        self.every = True
        try:
            yield Filters(self.score, None, int(network.config.num_queries))
        finally:
            self.every = False

    def inputs(self, images: list[Tensor]) -> dict[str, Tensor]:
        """Images scaled to a square, not normalised."""
        sized = [resize(image, [self.side, self.side], antialias=True) for image in images]
        return {"pixel_values": torch.stack(sized)}

    def kept(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As many pairs as there are queries, those with the highest scores."""
        queries, classes = logits.shape
        score, pair = logits.sigmoid().flatten().topk(queries * (classes if self.every else 1))
        passing = score > self.score
        pair = pair[passing]
        query = torch.div(pair, classes, rounding_mode="floor")
        return score[passing], pair % classes, query

    def linear(self) -> nn.Linear:
        """The classifier of the last decoder layer."""
        network: Any = self.network
        last: nn.Linear = network.model.decoder.class_embed[-1]
        return last


class Detr(QueryModel):
    """DETR: a softmax with a no-object column at the end; one class per query."""

    def inputs(self, images: list[Tensor]) -> dict[str, Tensor]:
        """Images scaled by their shortest side, normalised, and padded to one size."""
        longest = round(self.side * _SHORTEST_OF_LONGEST)
        sized = [resize(image, [self.side], max_size=longest, antialias=True) for image in images]
        height = max(image.shape[-2] for image in sized)
        width = max(image.shape[-1] for image in sized)
        pixels = sized[0].new_zeros(len(sized), 3, height, width)
        mask = torch.zeros(len(sized), height, width, dtype=torch.int64, device=pixels.device)
        for at, image in enumerate(sized):
            pixels[at, :, : image.shape[-2], : image.shape[-1]] = normalize(image, *_IMAGENET)
            mask[at, : image.shape[-2], : image.shape[-1]] = 1
        return {"pixel_values": pixels, "pixel_mask": mask}

    def kept(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries whose best class has a high enough score."""
        score, label = logits.softmax(-1)[:, :-1].max(-1)
        query = torch.where(score > self.score)[0]
        return score[query], label[query], query

    def linear(self) -> nn.Linear:
        """The classifier of queries."""
        network: Any = self.network
        last: nn.Linear = network.class_labels_classifier
        return last


class Owl(QueryModel):
    """OWLv2: every patch is compared with the labels' texts; nothing is trained.

    There is no affine head: the logits are cosines, shifted and scaled by each patch.
    """

    def __init__(self, *given: Any, tokens: Mapping[str, Tensor], **more: Any) -> None:
        super().__init__(*given, **more)
        self.tokens = {name: value.to(self.device) for name, value in tokens.items()}

    def forward(self, images: list[Tensor], targets: list[Target]) -> dict[str, Tensor]:
        """Refused: the library has no loss for it."""
        raise UsageError("OWLv2 runs on texts as they are; it is not trained here")

    def inputs(self, images: list[Tensor]) -> dict[str, Tensor]:
        """Images padded to a square at the right and below, scaled and normalised."""
        squares = [_square(image) for image in images]
        sized = [resize(image, [self.side, self.side], antialias=True) for image in squares]
        pixels = torch.stack([normalize(image, *_CLIP) for image in sized])
        count = len(images)
        texts = {name: value.repeat(count, 1) for name, value in self.tokens.items()}
        return {"pixel_values": pixels, **texts}

    def kept(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Patches whose best text has a high enough score."""
        best, label = logits.max(-1)
        score = best.sigmoid()
        patch = torch.where(score > self.score)[0]
        return score[patch], label[patch], patch

    def evidence(self, output: Any) -> dict[str, Tensor]:
        """Logits, class embeddings, and an objectness that knows no text."""
        objectness = output.objectness_logits.flatten(1).sigmoid()
        held = {"logits": output.logits, "embedding": output.class_embeds}
        return held | {"objectness": objectness}

    def pixels(self, boxes: Tensor, size: Sequence[int]) -> Tensor:
        """Boxes are relative to the padded square."""
        return super().pixels(boxes, (max(size), max(size)))

    def head(self) -> Head | None:
        """None."""
        return None

    def linear(self) -> nn.Linear:
        """There is none."""
        raise UsageError("OWLv2 has no affine head")


def _square(image: Tensor) -> Tensor:
    height, width = image.shape[-2:]
    side = max(height, width)
    return nn.functional.pad(image, (0, side - width, 0, side - height), value=0.5)
