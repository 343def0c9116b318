"""What a detector is: a function that makes a model, and what is known about the model.

A function tagged by `@detector(...)` takes the labels and options that can be written in a TOML
file, and returns a `Model`. Its file must import without the framework, so that it can be listed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from openset.detectors._regions import Shown
from openset.findings import UsageError
from openset.options import chosen_options, options_of
from openset.plugins import check_installed, tag
from openset.tables import Head, LogitLayout

if TYPE_CHECKING:
    from openset.detectors._found import Found

EvidenceName = Literal[
    "logits",
    "embedding",
    "objectness",
    "centerness",
    "region",
    "latent",
    "latent_samples",
    "shortcut",
    "logit_samples",
    "box_samples",
]
EVIDENCE: Mapping[EvidenceName, str] = {
    "logits": "raw class scores, with their layout",
    "embedding": "input of the last layer",
    "objectness": "how much the proposal or the box looks like an object, whatever the class",
    "centerness": "how central the location is in its object",
    "region": "number of the proposal, location or query in its image",
    "latent": "an inner map, averaged over the box on every level",
    "latent_samples": "the same in passes with blocks of the map dropped",
    "shortcut": "the backbone's shortcut convolutions, pooled over the box",
    "logit_samples": "logits of passes with dropout before the last layers",
    "box_samples": "x, y, width and height of the box in the same passes",
}
"""What can be kept of a box, by the name of its column."""

F = TypeVar("F", bound=Callable[..., "Model"])


class Model(Protocol):
    """A detector that is ready to run.

    Attributes:
        labels: The classes it was taught, in the order of its logits.
        layout: What the columns of its logits are.
        about: Detector and options it was built with; goes into the provenance.
    """

    labels: tuple[str, ...]
    layout: LogitLayout
    about: Mapping[str, Any]

    def found(
        self, images: Sequence[NDArray[np.uint8]], keep: frozenset[EvidenceName]
    ) -> list[Found]:
        """What is found on some RGB images, with the evidence asked for."""
        ...

    def head(self) -> Head | None:
        """The last layer, where logits are an affine map of the embedding."""
        ...

    def load_state(self, state: Mapping[str, Any], where: str) -> None:
        """Take weights that were read from a file."""
        ...


@dataclass(frozen=True, slots=True)
class Detector:
    """What is known about a detector before it is built.

    Attributes:
        name: How it is asked for.
        make: From labels and options to a model.
        title: How it is shown.
        paper: Where it was defined.
        framework: The library whose model it is.
        keeps: The evidence it can keep.
        requires: Packages it needs.
        trainable: Whether `openset.training` can train it.
        learned: Whether it has weights; one that has none needs no labels either.
        shows: What it shows a method (`openset.methods`) in training.
        options: Names and defaults of its options.
        doc: Definition and options.
    """

    name: str
    make: Callable[..., Model]
    title: str
    paper: str
    framework: str
    keeps: tuple[EvidenceName, ...]
    requires: tuple[str, ...]
    trainable: bool
    learned: bool
    shows: tuple[Shown, ...]
    options: Mapping[str, Any]
    doc: str

    @property
    def summary(self) -> str:
        """The first line of the definition."""
        return self.doc.partition("\n")[0]

    def build(
        self,
        labels: Sequence[str],
        *,
        weights: str | None = None,
        device: str | None = None,
        **options: Any,
    ) -> Model:
        """Make a model.

        Args:
            labels: The classes, in the order of the logits.
            weights: A local file of weights; without it they are random, from torch's seed.
            device: Such as ``cuda:1``; by default a GPU where there is one.
            **options: Options of the detector.

        Raises:
            InputError: A package or the device is missing, or the weights do not fit.
        """
        what = f"detector {self.name!r}"
        chosen = chosen_options(what, options, self.options, self.make)
        if not labels or len(set(labels)) != len(labels):
            raise UsageError(f"a detector needs distinct labels, not {list(labels)!r}")
        check_installed(what, self.requires)
        model = self.make(tuple(labels), device=device, **chosen)
        model.about = {"detector": self.name, "options": chosen}
        if weights is not None:
            from openset.nets.weights import read_state

            model.load_state(read_state(weights), weights)
        return model


def detector(
    name: str,
    *,
    title: str,
    paper: str,
    framework: str,
    keeps: tuple[EvidenceName, ...],
    requires: tuple[str, ...],
    trainable: bool = True,
    learned: bool = True,
    shows: tuple[Shown, ...] = (),
) -> Callable[[F], F]:
    """Make a function a detector, under a name; its keyword options need defaults."""
    unheard = set(keeps) - set(get_args(EvidenceName))
    if unheard:
        raise UsageError(f"detector {name!r} keeps what EVIDENCE does not name: {unheard}")

    def mark(make: F) -> F:
        doc, options = inspect.cleandoc(make.__doc__ or ""), options_of(make, after=1, but="device")
        record = Detector(
            name,
            make,
            title,
            paper,
            framework,
            keeps,
            requires,
            trainable,
            learned,
            shows,
            options,
            doc,
        )
        return tag("detector", record)(make)

    return mark
