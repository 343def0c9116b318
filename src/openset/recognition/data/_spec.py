"""What a data set is: a function from a folder to the samples of some classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from openset.findings import refuse
from openset.plugins import tag

Part = Literal["train", "test"]


class Samples(NamedTuple):
    """Images and their classes.

    Attributes:
        images: Pixels 0 to 255: sample, row, column, channel.
        label: Class of each, numbered as in the data set.
    """

    images: NDArray[np.uint8]
    label: NDArray[np.int64]

    def of(self, classes: Sequence[int]) -> Samples:
        """Only the samples of some classes."""
        keep = np.isin(self.label, list(classes))
        return Samples(self.images[keep], self.label[keep])


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where to read, and what.

    Attributes:
        folder: Folder with the official files.
        part: Training or test samples.
        classes: Only these classes.
        size: Height and width to resize to, where images have none in common.
    """

    folder: Path
    part: Part
    classes: tuple[int, ...]
    size: int

    def file(self, *names: str) -> Path:
        """The first of some files that exists in the folder, or a refusal."""
        found = next((self.folder / name for name in names if (self.folder / name).is_file()), None)
        if found is None:
            where = " or ".join(names)
            raise refuse("OS810", f"{self.folder} has no {names[0]}", example=where)
        return found


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is known about a data set beside its samples.

    Attributes:
        name: How it is asked for.
        read: The function.
        splits: Whose published splits it uses: those of the benchmark ``osr-<splits>``.
        unknown: Data set that unknown samples are taken from, if it is another.
        embedded: Whether it needs no file.
        paper: Where it comes from.
    """

    name: str
    read: Callable[[Wanted], Samples]
    splits: str
    unknown: str
    embedded: bool
    paper: str

    @property
    def summary(self) -> str:
        """The first line of its description."""
        return (self.read.__doc__ or "").strip().partition("\n")[0]


F = TypeVar("F", bound=Callable[[Wanted], Samples])


def dataset(
    name: str,
    *,
    splits: str = "",
    unknown: str = "",
    embedded: bool = False,
    paper: str = "",
) -> Callable[[F], F]:
    """Make a function that reads samples a data set, under a name."""

    def mark(function: F) -> F:
        record = Dataset(name, function, splits or name, unknown or name, embedded, paper)
        return tag("dataset", record)(function)

    return mark


def broken(path: Path, why: Any) -> Exception:
    """The refusal of a file that differs from the official layout."""
    return refuse("OS811", f"{path}: {why}", example=path.name)
