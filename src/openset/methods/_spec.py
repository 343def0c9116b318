"""What a method is: a module that sees what a detector samples in training, and adds losses.

What it sees is `openset.detectors.Regions`. It acts on groups of images, not on all that a process
happens to have: a loss that picks the three largest of a batch means something else on eight
processes than on one, and with groups of two images it means the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import Tensor, nn

from openset.detectors import Regions, Shown
from openset.findings import UsageError
from openset.options import chosen_options, options_of
from openset.plugins import tag


class Method(nn.Module):
    """A way to train a detector; this one changes nothing.

    Everything that it learns or remembers is a parameter or a buffer, and everything random is
    drawn from torch's own generator, which is seeded at every step: so that a training that was
    stopped goes on to the same weights.

    Attributes:
        group: Images that a loss acts on; losses are averaged over the groups of a batch.
    """

    group: int = 2

    def __init__(self, classes: int, width: int) -> None:
        """For so many known classes and so wide an embedding."""
        super().__init__()
        self.classes, self.width = classes, width

    def losses(self, regions: Regions, progress: float) -> dict[str, Tensor]:
        """What is minimised beside the detector's own losses, by name.

        Args:
            regions: Those that were sampled on a group of images.
            progress: Share of the training that is done, from 0 to below 1.
        """
        del regions, progress
        return {}

    def forward(self, regions: Regions, progress: float) -> dict[str, Tensor]:
        """The losses on a batch: the mean over its groups."""
        groups = regions.groups(self.group)
        total: dict[str, Tensor] = {}
        for one in groups:
            for name, loss in self.losses(one, progress).items():
                share = loss / len(groups)
                total[name] = total[name] + share if name in total else share
        return total


@dataclass(frozen=True, slots=True)
class DetectorMethod:
    """What is known about a method before it is built.

    Attributes:
        name: How it is asked for.
        make: Its class.
        title: How it is shown.
        paper: Where it was defined.
        needs: What a detector must show it in training.
        leaks: What it is told in training of what is unknown at test time.
        options: Names and defaults of its options.
        doc: Definition and options.
    """

    name: str
    make: type[Method]
    title: str
    paper: str
    needs: tuple[Shown, ...]
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
        made = self.make(
            classes, width, **chosen_options(what, options, self.options, self.make.__init__)
        )
        if made.group < 1:
            raise UsageError(f"{what} acts on groups of {made.group} images")
        return made


M = TypeVar("M", bound=type[Method])


def method(
    name: str,
    *,
    title: str,
    paper: str,
    needs: tuple[Shown, ...] = ("regions",),
    leaks: str = "nothing",
) -> Callable[[M], M]:
    """Make a module a method, under a name; what comes after classes and width needs a default."""

    def mark(make: M) -> M:
        options, doc = options_of(make, after=2), inspect.cleandoc(make.__doc__ or "")
        record = DetectorMethod(name, make, title, paper, needs, leaks, options, doc)
        return tag("method", record)(make)

    return mark
