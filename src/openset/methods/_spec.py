"""What a method is: a module inside a detector's network, and the six places where it may act.

It may give the head other layers and a column "unknown" (`heads`, `unknown`), see what was proposed
(`see`), say what else is an object (`guide`), teach regions another label (`relabel`), add losses
(`losses`), and decide how sure a detector is and what its detections carry (`probabilities`,
`columns`). What it sees in training is
`openset.detectors.Regions` of a two-stage detector, or `openset.detectors.Queries` of one with
queries, which has no proposals to `see` and no `heads` to change; its record says which of them it
can be carried by.

Losses act on groups of images, not on all that a process happens to have: a loss that picks the
three largest of a batch means something else on eight processes than on one, and with groups of two
images it means the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from openset.detectors import Proposals, Queries, Regions, Shown
from openset.findings import Finding, Level, UsageError
from openset.options import COUNT, Range, check_ranges, chosen_options, options_of
from openset.plugins import tag
from openset.training.advice import Advisor


class Method(nn.Module):
    """A way to train a detector; this one changes nothing.

    Everything that it learns or remembers is a parameter or a buffer, and everything random is
    drawn from torch's own generator, which is seeded at every step: so that a training that was
    stopped goes on to the same weights.

    Attributes:
        group: Images that a loss acts on; losses are averaged over the groups of a batch.
        unknown: Whether the logits have a column "unknown", after those of the known classes.
        unknown_weight: Of that column in the loss of classes, where they are sigmoids; 0 leaves it
            as it was drawn.
        unknown_boxes: Whether what it calls unknown is taught the box of the object it overlaps.
        unknown_objects: Whether objects of no known class are taught, too, as number `classes`.
        unknown_truth: A ground truth that has them, where the training file does not.
        advisor: Boxes of other origin that it wants to see of each image; None is none.
        shown: What the detector that carries it shows; that detector says so.
        ranges: What each option that is a number may be. One outside, such as a weight below 0 or
            a start at the fifth step, would leave a detector without the method, or end it later.
    """

    ranges: ClassVar[Mapping[str, Range]] = {}

    group: int = 2
    unknown: bool = False
    unknown_weight: float = 1.0
    unknown_boxes: bool = False
    unknown_objects: bool = False
    unknown_truth: str = ""
    advisor: Advisor | None = None
    shown: Shown = "regions"

    def __init__(self, classes: int, width: int) -> None:
        """For so many known classes and so wide an embedding."""
        super().__init__()
        self.classes, self.width = classes, width

    def heads(self, head: nn.Module, predictor: nn.Module) -> tuple[nn.Module, nn.Module]:
        """The layers from pooled regions to embeddings, and from there to logits and boxes.

        The second has a ``cls_score`` that makes logits of the first columns of an embedding, as
        many as its ``weight`` has, and gives boxes per column of the logits, or one for all.
        """
        return head, predictor

    def restart(self) -> None:
        """Begin anew what counts the steps of a training: the weights are those of another.

        What it remembers of regions stays: these very weights have made it, and in a chain of tasks
        there is nothing else of the classes that are not shown any more.
        """

    def see(self, proposals: Proposals) -> None:
        """Look at what was proposed on a batch, before regions are sampled from it."""

    def guide(self, regions: Regions, progress: float) -> Tensor | None:
        """Boxes of each image that anchors are taught as objects, too; None for none.

        ``[images, boxes, 4]`` in pixels of the network's input; those that fill up have no area. No
        box is taught by them, and no class.
        """
        del regions, progress
        return None

    def relabel(self, regions: Any, progress: float) -> Tensor:
        """Labels for the classifier; number `classes` is "unknown".

        Boxes are taught by the taught objects alone, whatever is said here, but for
        `unknown_boxes`.
        """
        del progress
        label: Tensor = regions.label
        return label

    def losses(self, regions: Any, progress: float) -> dict[str, Tensor]:
        """What is minimised beside the detector's own losses: by name, one number per group.

        Args:
            regions: Those that were sampled, or the queries; a row per group of images.
            progress: Share of the training that is done, from 0 to below 1.
        """
        del regions, progress
        return {}

    def probabilities(self, embedding: Tensor, logits: Tensor) -> Tensor:
        """How sure the detector is of every column of the logits, when it runs."""
        del embedding
        return torch.softmax(logits, -1) if self.shown == "regions" else logits.sigmoid()

    def columns(self, embedding: Tensor, logits: Tensor) -> dict[str, Tensor]:
        """What detections carry of it: ``unknownness``, and columns that its scorers read.

        Not that of a column "unknown", whose probability they carry anyway.
        """
        del embedding, logits
        return {}

    def foresee(self, labels: Sequence[str], regions: Sequence[float]) -> list[Finding]:
        """What is to be said before the first step.

        Args:
            labels: The known classes.
            regions: How many regions on objects of each class the training is likely to show.
        """
        del labels, regions
        return []

    def findings(self, labels: Sequence[str]) -> list[Finding]:
        """What there is to say once the training is done."""
        del labels
        return []

    def forward(self, regions: Regions | Queries, progress: float) -> dict[str, Tensor]:
        """The losses on a batch: the mean over its groups."""
        found = self.losses(regions, progress)
        for name, loss in found.items():
            if loss.shape != regions.label.shape[:1]:
                groups, has = len(regions.label), tuple(loss.shape)
                raise UsageError(f"loss {name!r} has shape {has}, not one number for each of "
                                 f"{groups} groups")  # fmt: skip
        return {name: loss.mean() for name, loss in found.items()}


def teaches_nothing(what: str, label: str) -> Finding:
    """That a loss is constant with a single known class."""
    said = f"with one known class the loss of {what} is the same whatever is learned"
    return Finding("OS642", Level.WARNING, said, 1, label)


def group_mean(values: Tensor, where: Tensor) -> Tensor:
    """The mean of each group over some of its regions; 0 where there are none."""
    return torch.where(where, values, 0.0).sum(1) / where.sum(1).clamp(min=1)


@dataclass(frozen=True, slots=True)
class DetectorMethod:
    """What is known about a method before it is built.

    Attributes:
        name: How it is asked for.
        make: Its class.
        title: How it is shown.
        paper: Where it was defined.
        needs: What a detector must show it in training; one of them is enough.
        evidence: What of its detections says "unknown".
        leaks: What it is told in training of what is unknown at test time.
        options: Names and defaults of its options.
        doc: Definition and options.
    """

    name: str
    make: type[Method]
    title: str
    paper: str
    needs: tuple[Shown, ...]
    evidence: str
    leaks: str
    options: Mapping[str, Any]
    doc: str

    @property
    def summary(self) -> str:
        """The first line of the definition."""
        return self.doc.partition("\n")[0]

    def build(self, classes: int, width: int, **options: Any) -> Method:
        """The module for so many known classes and so wide an embedding."""
        what = f"method {self.name!r}"
        chosen = chosen_options(what, options, self.options, self.make.__init__)
        check_ranges(what, chosen, {"group": COUNT, **self.make.ranges})
        return self.make(classes, width, **chosen)


M = TypeVar("M", bound=type[Method])


def method(
    name: str,
    *,
    title: str,
    paper: str,
    needs: tuple[Shown, ...] = ("regions",),
    evidence: str = "what a scorer reads of any detector",
    leaks: str = "nothing",
) -> Callable[[M], M]:
    """Make a module a method, under a name; what comes after classes and width needs a default."""

    def mark(make: M) -> M:
        options, doc = options_of(make, after=2), inspect.cleandoc(make.__doc__ or "")
        record = DetectorMethod(name, make, title, paper, needs, evidence, leaks, options, doc)
        return tag("method", record)(make)

    return mark
