"""Trials: the classes of a recognition benchmark, numbered as in the data sets they are taken from.

A catalogue file of the kind ``recognition`` has a variant for each trial, or for each level of
difficulty; its classes are numbers (``"4"``), with the data set where there are two
(``"cifar100:30"``). The file is read here without msgspec: trainings need little more than torch.

Not a definition that is checked: see `openset.benchmarks.definition`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from openset.benchmarks import files


class Trial(NamedTuple):
    """The known and the unknown classes, in the order of the file."""

    known: tuple[int, ...]
    unknown: tuple[int, ...]


@cache
def trials(data: str) -> Mapping[str, Trial]:
    """The published trials of a data set, by variant; none if it has no benchmark of its own.

    >>> trials("mnist")["trial1"]
    Trial(known=(2, 4, 5, 9, 8, 3), unknown=(0, 1, 6, 7))
    """
    path = files().get(f"osr-{data}")
    if path is None:
        return {}
    variants = tomllib.loads(path.read_text("utf-8"))["variants"].items()
    return {name: _trial(one["classes"]) for name, one in variants}


def _trial(classes: Mapping[str, Sequence[str]]) -> Trial:
    return Trial(*(tuple(map(_number, classes[role])) for role in Trial._fields))


def _number(label: str) -> int:
    """The class without its data set."""
    return int(label.rpartition(":")[2])
