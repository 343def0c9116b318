"""Torch models: what those of torchvision and transformers have in common.

`forward` gives losses, as training wants; `found` gives boxes with their evidence. A recorder works
on tensors and is one method, `record`. Devices that are not there and memory that runs out are
findings.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from openset.detectors._found import Filters, Found
from openset.detectors._spec import EVIDENCE, EvidenceName
from openset.findings import UsageError
from openset.nets.device import device_of, memory_guard
from openset.nets.weights import load_into
from openset.scorers.ledger import LedgerEntry
from openset.tables import Head, LogitLayout

BoxTensors = dict[str, Tensor]
"""Columns of the kept boxes of one image: box, score, label and evidence."""
Target = dict[str, Tensor]
"""Objects of one image: ``boxes`` (x1, y1, x2, y2) and ``labels``, numbered from 0."""
_NO_OVERLAP = 2.0  # which no two boxes have
_FIELDS = ("box", "score", "label", "unknownness", "logits", "embedding")


class TorchModel(nn.Module):
    """A network with labels, recorded.

    Attributes:
        progress: Share of the training that is done; the loop sets it before each step.
        taught: What its weights have seen beside the training data, for the ledger.
        pictures: Hashes of the training pictures (`openset.nets.pictures.prints`), if it was
            trained; whoever runs on one of them tests on what was taught.
    """

    about: Mapping[str, Any]
    progress: float = 0.0
    taught: tuple[LedgerEntry, ...] = ()
    pictures: NDArray[np.int64] | None = None

    def __init__(
        self, network: nn.Module, labels: tuple[str, ...], layout: LogitLayout, device: str | None
    ) -> None:
        super().__init__()
        self.about = {}
        self.labels = labels
        self.layout = layout
        self.network = network.to(device_of(device))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.network.parameters()).device

    @property
    def method(self) -> Any:
        """The method that is a part of the network (`openset.detectors.carry`), if there is one."""
        return getattr(self.network, "method", None)

    @property
    def objects_seen(self) -> int | None:
        """How many regions on objects a method is shown of an image at most; None is not known."""
        return None

    def take(self, method: nn.Module) -> None:
        """Make a method a part of the network."""
        self.network.method = method.to(self.device)

    def groups(self, images: int) -> int:
        """How many groups the losses of the method see so many images as."""
        size: int = self.method.group
        if images % size:
            raise UsageError(f"{images} images are no whole number of groups of {size}")
        return images // size

    def compile_step(self) -> None:
        """Let torch compile the training step, at the first batch of each shape."""
        raise UsageError(
            f"detector {self.about['detector']!r} has no step that can be compiled; those of "
            "torchvision have"
        )

    @abstractmethod
    def forward(self, images: list[Tensor], targets: list[Target]) -> dict[str, Tensor]:
        """Losses on some images (float, 0 to 1, channels first)."""

    @abstractmethod
    def record(self, images: list[Tensor], keep: frozenset[EvidenceName]) -> list[BoxTensors]:
        """The kept boxes of each image, in its own pixels, with evidence."""

    def head(self) -> Head | None:
        """The last layer, where logits are an affine map of the embedding."""
        return None

    def attacked(self, image: Tensor, target: Target, boxes: Tensor, step: float) -> Tensor:
        """Shortcuts pooled over boxes of an image that was changed against the detector.

        Args:
            image: Float, 0 to 1, channels first.
            target: The objects on it.
            boxes: ``x1, y1, x2, y2`` in its pixels.
            step: By how much each value is changed, at most.
        """
        raise UsageError(f"detector {self.about['detector']!r} keeps no shortcuts of its backbone")

    @abstractmethod
    def unsuppressed(self) -> AbstractContextManager[Filters]:
        """Regions in place of detections while the context lasts; the filters that then stand."""

    def load_state(self, state: Mapping[str, Tensor], where: str) -> None:
        """Take weights that were read from a file."""
        load_into(self.network, state, where)

    def found(
        self, images: Sequence[NDArray[np.uint8]], keep: frozenset[EvidenceName]
    ) -> list[Found]:
        """What is found on some RGB images, with the evidence asked for."""
        self.eval()
        with torch.inference_mode(), memory_guard(len(images)), quick_products(self.device):
            return _numpy(self.record(tensors_of(images, self.device), keep), keep)


def _numpy(boxes: list[BoxTensors], keep: frozenset[EvidenceName]) -> list[Found]:
    """What was found on each image; a column leaves the device once, not once per image."""
    # What is no evidence of the detector is the box itself, or what its method says of it.
    names = [name for name in boxes[0] if name in keep or name not in EVIDENCE]
    ends = np.cumsum([len(one["score"]) for one in boxes])[:-1]
    held = {name: np.split(_array(torch.cat([b[name] for b in boxes])), ends) for name in names}
    return [_found({name: held[name][at] for name in names}) for at in range(len(boxes))]


def _found(held: dict[str, Any]) -> Found:
    columns = {name: held.pop(name, None) for name in _FIELDS}
    return Found(**columns, attributes=held)


def _array(values: Tensor) -> NDArray[Any]:
    values = values.detach().cpu()
    return np.asarray((values.float() if values.is_floating_point() else values).numpy())


def tensors_of(images: Sequence[NDArray[np.uint8]], device: torch.device | None) -> list[Tensor]:
    """Pixels as float, 0 to 1, channels first; they travel to a device as bytes, all at once."""
    flat = torch.from_numpy(np.concatenate([image.ravel() for image in images]))
    values = flat.to(device).float().div_(255).split([image.size for image in images])
    return [
        one.view(image.shape).permute(2, 0, 1) for one, image in zip(values, images, strict=True)
    ]


def tensor_of(image: NDArray[np.uint8], device: torch.device | None = None) -> Tensor:
    """`tensors_of` one image."""
    return tensors_of([image], device)[0]


@contextmanager
def quick_products(device: torch.device) -> Iterator[None]:
    """Let a GPU multiply matrices in TF32 while the context lasts, as it convolves anyway."""
    held = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(held)


@contextmanager
def opened(stock: Any) -> Iterator[Filters]:
    """A part of torchvision that neither suppresses nor limits while the context lasts."""
    own = Filters(stock.score_thresh, stock.nms_thresh, stock.detections_per_img)
    stock.nms_thresh, stock.detections_per_img = _NO_OVERLAP, None
    try:
        yield own
    finally:
        stock.nms_thresh, stock.detections_per_img = own.nms, own.most


@contextmanager
def tapped(*modules: nn.Module) -> Iterator[list[Tensor]]:
    """The outputs of some modules, in the order of their calls, while the context lasts."""
    outputs: list[Tensor] = []
    hooks = [m.register_forward_hook(lambda _m, _i, out: outputs.append(out)) for m in modules]
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


def averaged(maps: Sequence[Tensor], boxes: Sequence[Tensor], width: int) -> Tensor:
    """The mean of each map over each box, all maps side by side (LaRD).

    Args:
        maps: Maps of a batch, on any number of levels.
        boxes: Boxes of each image of the batch, in pixels of the network's input.
        width: Width of the network's input.
    """
    from torchvision.ops import roi_align

    pooled = [
        roi_align(m, list(boxes), 16, m.shape[-1] / width, aligned=True).mean(dim=(2, 3))
        for m in maps
    ]
    return torch.cat(pooled, dim=1)


def averaged_samples(
    maps: Sequence[Tensor], boxes: Sequence[Tensor], width: int, passes: int
) -> Tensor:
    """`averaged` over passes that drop blocks of the maps (DropBlock): boxes, passes, channels.

    What the entropy variant of LaRD reads, with the rate and block size of its original (Arnez et
    al., UAI 2024); masks come from a fixed seed.
    """
    with torch.random.fork_rng():
        torch.manual_seed(0)
        dropped = ([_without_blocks(m, 0.5, 8) for m in maps] for _ in range(passes))
        samples = [averaged(one, boxes, width) for one in dropped]
    return torch.stack(samples, dim=1)


def _without_blocks(values: Tensor, share: float, side: int) -> Tensor:
    """A map with squares of about this share set to 0 and the rest scaled up (DropBlock).

    torchvision's own takes odd sides only, and coarse maps are 4 or 8 cells wide.
    """
    height, width = values.shape[-2:]
    side = min(side, height, width)
    places = (*values.shape[:2], height - side + 1, width - side + 1)
    rate = share * height * width / (side * side * places[2] * places[3])
    corners = torch.rand(places, device=values.device) < rate
    padded = nn.functional.pad(corners.to(values), (side - 1,) * 4)
    rows = nn.functional.max_pool2d(padded, (side, 1), stride=1)  # a square is rows of columns
    kept = 1 - nn.functional.max_pool2d(rows, (1, side), stride=1)
    return values * kept * (kept.numel() / kept.sum().clamp(min=1))


def pooled(maps: Sequence[Tensor], boxes: Sequence[Tensor], height: int) -> Tensor:
    """Each map pooled to one cell per box, all maps side by side (SAFE)."""
    from torchvision.ops import roi_align

    cells = [roi_align(m, list(boxes), 1, m.shape[-2] / height).flatten(1) for m in maps]
    return torch.cat(cells, dim=1)


def linear_head(weight: Tensor, bias: Tensor, layout: LogitLayout) -> Head:
    """The weights of a last layer as a `Head`."""
    rows, shift = (tensor.detach().cpu().float().numpy() for tensor in (weight, bias))
    return Head(rows, shift, layout)
