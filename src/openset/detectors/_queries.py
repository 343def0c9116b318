"""Detectors of transformers, recorded: boxes come from queries, or from patches (OWLv2).

Outputs are filtered as the library's own processors do, with the number of the query kept. Images
are prepared here, with torch alone: scaled, padded and normalised as the papers' processors do, but
interpolated by torch, so that pixels may differ from a processor's in the last digits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.ops import box_convert
from torchvision.transforms.functional import normalize, resize

from openset.detectors._found import Filters
from openset.detectors._regions import Queries
from openset.detectors._spec import EvidenceName
from openset.detectors._torch import (
    BoxTensors,
    Target,
    TorchModel,
    averaged,
    linear_head,
    tapped,
)
from openset.detectors._vocabulary import Prompts, with_unknown
from openset.findings import UsageError
from openset.nets.processes import shared
from openset.tables import Head, LogitLayout

_IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
_CLIP = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])
_SHORTEST_OF_LONGEST = 1333 / 800
_MOST = 100


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
    def kept(self, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, labels and queries that stay, of one image."""

    @abstractmethod
    def linear(self) -> Any:
        """The last layer."""

    def forward(self, images: list[Tensor], targets: list[Target]) -> dict[str, Tensor]:
        """The loss, all its parts weighted and summed by the library."""
        output = self.network(**self.inputs(images), labels=_relative(images, targets))
        return {"loss": output.loss + (_boxes_shared(targets) - 1) * self.per_box(output)}

    def per_box(self, output: Any) -> Tensor:
        """What of the loss was divided by the number of boxes: all of it, or a part."""
        loss: Tensor = output.loss
        return loss

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
            scores = self.scores(evidence["embedding"][at], evidence["logits"][at])
            score, label, query = self.kept(scores)
            plain = {"score": score, "label": label, "region": query}
            if self.layout.has_unknown:
                plain["unknownness"] = scores[query, -1]
            plain["box"] = self.pixels(output.pred_boxes[at], image.shape[-2:])[query]
            mine = {name: values[at][query] for name, values in evidence.items()}
            found.append(plain | mine | self.said(mine["embedding"], mine["logits"]))
        return found

    def said(self, embedding: Tensor, logits: Tensor) -> dict[str, Tensor]:
        """What else detections carry."""
        del embedding, logits
        return {}

    def scores(self, embedding: Tensor, logits: Tensor) -> Tensor:
        """How sure the detector is of each class, for the queries of one image."""
        del embedding
        return logits.sigmoid()

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


def _boxes_shared(targets: list[Target]) -> Tensor:
    """What a loss that was divided by the boxes of this process is multiplied by.

    In the published code a process divides by the mean number over all processes; the library does
    so under accelerate alone. Without it, a process with few boxes would count as much as one with
    many, and two processes would not train as one with both their images.
    """
    count = targets[0]["boxes"].new_tensor(sum(len(one["boxes"]) for one in targets))
    return count.clamp(min=1) / shared(count).clamp(min=1)


def _relative(images: list[Tensor], targets: list[Target]) -> list[dict[str, Tensor]]:
    """Objects as the library wants them: centres and sizes, relative to the image."""
    found = []
    for image, target in zip(images, targets, strict=True):
        height, width = image.shape[-2:]
        scale = target["boxes"].new_tensor([width, height, width, height])
        boxes = box_convert(target["boxes"], "xyxy", "cxcywh") / scale
        found.append({"class_labels": target["labels"], "boxes": boxes})
    return found


class CarryingModel(QueryModel):
    """A detector of independent sigmoids that may carry a method; the best pairs stay.

    With a method, the library's loss is computed outside of the network, where the embeddings of
    all layers are known (`openset.detectors._criteria`).
    """

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

    @abstractmethod
    def classifiers(self) -> nn.ModuleList:
        """The classifier of each decoder layer."""

    @abstractmethod
    def replace_classifiers(self, layers: nn.ModuleList) -> None:
        """Take others."""

    @abstractmethod
    def total(
        self, given: Any, embedding: Tensor, relabel: Callable[[Any], Tensor], weight: float
    ) -> Tensor:
        """The loss of a batch from what the network made of it."""

    def most(self, queries: int) -> int:
        """How many pairs of a query and a class stay at most."""
        return queries

    def kept(self, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The pairs with the highest scores."""
        queries, columns = scores.shape
        most = scores.numel() if self.every else min(self.most(queries), scores.numel())
        score, pair = scores.flatten().topk(most)
        passing = score > self.score
        pair = pair[passing]
        return score[passing], pair % columns, torch.div(pair, columns, rounding_mode="floor")

    def linear(self) -> Any:
        """The classifier of the last decoder layer."""
        return self.classifiers()[-1]

    def take(self, method: nn.Module) -> None:
        """Make a method a part of the network, with a column "unknown" where it wants one."""
        from openset.detectors import _criteria

        super().take(method)
        self.method.shown = "queries"
        self._network.loss_function = _criteria.deferred
        if self.method.unknown:
            taught = self.method.unknown_weight > 0
            self.replace_classifiers(_criteria.with_unknown(self.classifiers(), taught=taught))
            self.layout = LogitLayout.SIGMOID_UNKNOWN_LAST

    def scores(self, embedding: Tensor, logits: Tensor) -> Tensor:
        """As the method decides it."""
        if self.method is None:
            return super().scores(embedding, logits)
        sure: Tensor = self.method.probabilities(embedding, logits)
        return sure

    def said(self, embedding: Tensor, logits: Tensor) -> dict[str, Tensor]:
        """What the method says of them."""
        columns: dict[str, Tensor] = {}
        return columns if self.method is None else self.method.columns(embedding, logits)

    def forward(self, images: list[Tensor], targets: list[Target]) -> dict[str, Tensor]:
        """The library's loss, and a method's."""
        if self.method is None:
            return super().forward(images, targets)
        groups, method = self.groups(len(images)), self.method
        output = self.network(**self.inputs(images), labels=_relative(images, targets))
        seen: list[Queries] = []

        def relabel(layer: Any) -> Tensor:
            rows: list[Any] = [column.flatten(0, 1).unflatten(0, (groups, -1)) for column in layer]
            queries = Queries._make([*rows, (), self.linear()])
            seen.append(queries._replace(label=method.relabel(queries, self.progress)))
            return seen[-1].label.view_as(layer.label)

        weight = method.unknown_weight if method.unknown else 0.0
        hidden = output.intermediate_hidden_states
        total = self.total(output.loss_dict, hidden, relabel, weight)
        losses = {"loss": total * _boxes_shared(targets)}
        # The library looks at the last layer first.
        queries = seen[0]._replace(earlier=tuple(seen[1:]))
        return losses | {f"method_{k}": v for k, v in method(queries, self.progress).items()}

    @property
    def _network(self) -> Any:
        return self.network


class RTDetr(CarryingModel):
    """RT-DETR: as many pairs as there are queries."""

    def __init__(self, *given: Any, **more: Any) -> None:
        from openset.detectors._criteria import plain_rt_detr

        super().__init__(*given, **more)
        self._network.loss_function = plain_rt_detr

    def inputs(self, images: list[Tensor]) -> dict[str, Tensor]:
        """Images scaled to a square, not normalised."""
        sized = [resize(image, [self.side, self.side], antialias=True) for image in images]
        return {"pixel_values": torch.stack(sized)}

    def record(self, images: list[Tensor], keep: frozenset[EvidenceName]) -> list[BoxTensors]:
        """The kept boxes of each image; their latents are of the encoder's map, as in FMIYC."""
        if "latent" not in keep:
            return super().record(images, keep)
        with tapped(self.attention()) as outputs:
            found = super().record(images, keep)
        boxes = [
            boxes["box"] * self.side / boxes["box"].new_tensor([*image.shape[:-3:-1]] * 2)
            for image, boxes in zip(images, found, strict=True)
        ]
        latent = averaged([_map_of(outputs[0])], boxes, self.side)
        for boxes_, part in zip(found, latent.split([*map(len, boxes)]), strict=True):
            boxes_["latent"] = part
        return found

    def attention(self) -> nn.Module:
        """The encoder's attention within the coarsest map; older releases call it otherwise."""
        encoder = self._network.model.encoder
        layers: nn.ModuleList = encoder.aifi if hasattr(encoder, "aifi") else encoder.encoder
        return layers[0]

    def classifiers(self) -> nn.ModuleList:
        """That of each decoder layer; the encoder has its own, of the known classes."""
        layers: nn.ModuleList = self._network.model.decoder.class_embed
        return layers

    def replace_classifiers(self, layers: nn.ModuleList) -> None:
        """Take others."""
        self._network.model.decoder.class_embed = layers

    def total(
        self, given: Any, embedding: Tensor, relabel: Callable[[Any], Tensor], weight: float
    ) -> Tensor:
        """The loss of a batch."""
        from openset.detectors._criteria import rt_detr_loss

        return rt_detr_loss(given, embedding, relabel, weight)


def _map_of(output: Any) -> Tensor:
    """A map: older releases give the places of a square in a row, among other outputs."""
    values: Tensor = output if isinstance(output, Tensor) else output[0]
    if values.dim() == 4:
        return values
    side = round(values.shape[1] ** 0.5)
    return values.transpose(1, 2).unflatten(2, (side, side))


class DeformableDetr(CarryingModel):
    """Deformable DETR: the best hundred pairs."""

    def inputs(self, images: list[Tensor]) -> dict[str, Tensor]:
        """Images scaled by their shortest side, normalised, and padded to one size."""
        return _padded(images, self.side)

    def most(self, queries: int) -> int:
        """As many as the library's processor keeps."""
        del queries
        return _MOST

    def classifiers(self) -> nn.ModuleList:
        """That of each decoder layer; without refinement of boxes it is one."""
        layers: nn.ModuleList = self._network.class_embed
        return layers

    def replace_classifiers(self, layers: nn.ModuleList) -> None:
        """Take others."""
        self._network.class_embed = layers

    def total(
        self, given: Any, embedding: Tensor, relabel: Callable[[Any], Tensor], weight: float
    ) -> Tensor:
        """The loss of a batch."""
        from openset.detectors._criteria import deformable_loss

        return deformable_loss(given, embedding, relabel, weight)


def _padded(images: list[Tensor], side: int) -> dict[str, Tensor]:
    """Images scaled by their shortest side, normalised, and padded to one size; where they are."""
    longest = round(side * _SHORTEST_OF_LONGEST)
    sized = [resize(image, [side], max_size=longest, antialias=True) for image in images]
    height = max(image.shape[-2] for image in sized)
    width = max(image.shape[-1] for image in sized)
    pixels = sized[0].new_zeros(len(sized), 3, height, width)
    mask = torch.zeros(len(sized), height, width, dtype=torch.int64, device=pixels.device)
    for at, image in enumerate(sized):
        pixels[at, :, : image.shape[-2], : image.shape[-1]] = normalize(image, *_IMAGENET)
        mask[at, : image.shape[-2], : image.shape[-1]] = 1
    return {"pixel_values": pixels, "pixel_mask": mask}


class Detr(QueryModel):
    """DETR: a softmax with a no-object column at the end; one class per query."""

    def per_box(self, output: Any) -> Tensor:
        """The losses of boxes; that of the classes is a mean over queries, as published."""
        network: Any = self.network
        weights = {
            "loss_bbox": network.config.bbox_loss_coefficient,
            "loss_giou": network.config.giou_loss_coefficient,
        }
        found: Tensor = sum(
            weight * loss
            for part, weight in weights.items()
            for name, loss in output.loss_dict.items()
            if name.startswith(part)  # of the last layer, and of those before it
        )
        return found

    def inputs(self, images: list[Tensor]) -> dict[str, Tensor]:
        """Images scaled by their shortest side, normalised, and padded to one size."""
        return _padded(images, self.side)

    def scores(self, embedding: Tensor, logits: Tensor) -> Tensor:
        """Without the no-object column."""
        del embedding
        return logits.softmax(-1)[:, :-1]

    def kept(self, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries whose best class has a high enough score."""
        score, label = scores.max(-1)
        query = torch.where(score > self.score)[0]
        return score[query], label[query], query

    def linear(self) -> Any:
        """The classifier of queries."""
        network: Any = self.network
        return network.class_labels_classifier


class Owl(QueryModel):
    """OWLv2: every patch is compared with the labels' texts; nothing is trained.

    There is no affine head: the logits are cosines, shifted and scaled by each patch. What else a
    patch is compared with (`openset.detectors._vocabulary`) may win, and is unknown then.
    """

    def __init__(
        self, *given: Any, tokens: Mapping[str, Tensor], prompts: Prompts, **more: Any
    ) -> None:
        super().__init__(*given, **more)
        self.tokens = {name: value.to(self.device) for name, value in tokens.items()}
        self.prompts, self.taught = prompts, prompts.taught("owlv2")
        if prompts.says_unknown:
            self.layout = LogitLayout.SIGMOID_UNKNOWN_LAST

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

    def kept(self, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Patches whose best text has a high enough score."""
        score, label = scores.max(-1)
        patch = torch.where(score > self.score)[0]
        return score[patch], label[patch], patch

    def evidence(self, output: Any) -> dict[str, Tensor]:
        """Logits, class embeddings, and an objectness that knows no text."""
        objectness = output.objectness_logits.flatten(1)
        logits = with_unknown(output.logits, objectness, self.prompts)
        held = {"logits": logits, "embedding": output.class_embeds}
        return held | {"objectness": objectness.sigmoid()}

    def scores(self, embedding: Tensor, logits: Tensor) -> Tensor:
        """In double precision: of two texts that are sure or hopeless, the better one wins."""
        return super().scores(embedding, logits.double())

    def pixels(self, boxes: Tensor, size: Sequence[int]) -> Tensor:
        """Boxes are relative to the padded square."""
        return super().pixels(boxes, (max(size), max(size)))

    def head(self) -> Head | None:
        """None."""
        return None

    def linear(self) -> Any:
        """There is none."""
        raise UsageError("OWLv2 has no affine head")


def _square(image: Tensor) -> Tensor:
    height, width = image.shape[-2:]
    side = max(height, width)
    return nn.functional.pad(image, (0, side - width, 0, side - height), value=0.5)
