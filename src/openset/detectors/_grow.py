"""Grow: start from the weights of a detector that knows fewer classes.

A detector that learns task after task (Joseph et al., ORE, CVPR 2021) gets columns for the classes
of a new one. Classes are added at the end, so that every old one keeps its place; what belongs to
none of them (background, "unknown", the spare row of a queue) moves with the end. Weights of old
classes are copied, those of new ones stay as they were drawn: old logits do not change.

Not a way to change a detector: all that has nothing to do with classes must fit as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from openset.detectors._carry import refuse_other_method
from openset.findings import refuse
from openset.nets.weights import read_model
from openset.tables import LogitLayout, Vocabulary

if TYPE_CHECKING:
    from openset.detectors._torch import TorchModel

_BACKGROUND_FIRST = (
    LogitLayout.SOFTMAX_BACKGROUND_FIRST,
    LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST,
)
_HEADS = "roi_heads."  # where torchvision's background comes before the classes
_OF_CONVOLUTION = 4


def grow(model: TorchModel, path: str | Path) -> None:
    """Give a model the weights of a file whose classes are the first of its own.

    Raises:
        InputError: The classes are others, one was renamed, the method is another, or the rest of
            the weights do not fit.
    """
    about, state = read_model(path)
    held = tuple(about["labels"])
    refuse_not_first(held, model.labels, str(path))
    refuse_other_method(about, state, model, str(path))
    grown = {**state}
    for name, own in model.network.state_dict().items():
        if name in state and state[name].shape != own.shape:
            rows = _Rows(
                len(held),
                len(model.labels),
                background=model.layout in _BACKGROUND_FIRST and name.startswith(_HEADS),
                anchors=_weight(state, name).ndim == _OF_CONVOLUTION,
            )
            grown[name] = _grown(state[name], own.cpu(), rows)
    model.load_state(grown, str(path))


def refuse_not_first(held: Sequence[str], labels: Sequence[str], where: str) -> None:
    """Refuse classes that are not the first of others, in their order and spelling."""
    pairs = [*zip(held, labels, strict=False)]
    wrong = [(old, new) for old, new in pairs if old != new]
    if not wrong and len(held) <= len(labels):
        return
    key = Vocabulary(tasks=()).key
    if wrong and all(key(old) == key(new) for old, new in wrong):
        said = f"{len(wrong)} classes of {where} are called otherwise here"
        raise refuse("OS663", said, count=len(wrong), example=f"{wrong[0][0]!r}: {wrong[0][1]!r}")
    old, new = wrong[0] if wrong else (held[len(labels)], None)
    raise refuse(
        "OS664",
        f"the {len(held)} classes of {where} are not the first of the {len(labels)} to teach",
        count=len(wrong) or len(held) - len(labels),
        example=f"{old!r} there, {'no such class' if new is None else repr(new)} here",
    )


def _weight(state: dict[str, Tensor], name: str) -> Tensor:
    """The weight of the layer that a bias belongs to, or what was asked for itself."""
    return state.get(name.removesuffix("bias") + "weight", state[name])


class _Rows:
    """Where the rows of a dimension go that is made of classes.

    Args:
        old: Classes of the file.
        new: Classes of the model.
        background: Whether the rows of the background come before those of the classes.
        anchors: Whether a convolution's channels are all classes of one anchor after the other's.
    """

    def __init__(self, old: int, new: int, *, background: bool, anchors: bool) -> None:
        self.old, self.new, self.background, self.anchors = old, new, background, anchors

    def places(self, held: int, own: int) -> Tensor | None:
        """For each of `held` rows its place among `own`; None if these are not of classes."""
        if held == own:
            return torch.arange(own)
        each, left = divmod(own - held, max(1, self.new - self.old))
        others = held - each * self.old
        if left or each < 1 or others < 0:
            return None
        if self.anchors and not others:
            return (torch.arange(each)[:, None] * self.new + torch.arange(self.old)).flatten()
        after = others - each * self.background
        return torch.cat([torch.arange(held - after), torch.arange(own - after, own)])


def _grown(held: Tensor, own: Tensor, rows: _Rows) -> Tensor:
    """Initial weights with those of old classes copied in; as they are where that cannot be."""
    if held.ndim != own.ndim:
        return held
    places = [rows.places(*sizes) for sizes in zip(held.shape, own.shape, strict=True)]
    known = [place for place in places if place is not None]
    if len(known) < len(places):
        return held
    result = own.clone()
    result[torch.meshgrid(*known, indexing="ij")] = held.to(own.dtype)
    return result
