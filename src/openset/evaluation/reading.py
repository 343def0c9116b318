"""Reading: ground truth and any number of detections at once, in the background.

The compiled reader does not hold the interpreter, so several files take as long as the largest one,
and whoever waits may do something else meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from threading import Semaphore
from typing import Any, TypeVar

import openset.formats.coco  # noqa: F401  threads must not race to import the kernels
from openset.evaluation.later import Later
from openset.findings import InputError, raise_all
from openset.formats import read_annotations, read_detections, reading
from openset.tables.annotations import Annotations
from openset.tables.detections import Detections
from openset.tables.sets import Pair

T = TypeVar("T")
Input = Any  # a path, a table, or objects in memory
_AT_ONCE = 4


class Reading:
    """Inputs on their way into tables.

    Args:
        truth: Ground truth: a file or folder, a table, torchvision targets, or a `Pair` of such.
        detections: Detections by the name of their detector, likewise.
        names: Names of the classes of a ground truth that has their numbers alone.
    """

    def __init__(
        self,
        truth: Input,
        detections: Mapping[str, Input],
        names: Mapping[int, str] | None = None,
    ) -> None:
        self._sources = truth, detections
        self._places = Semaphore(_AT_ONCE)
        self._truth = [Later(self._read, partial(truth_of, names=names), truth)]
        self._detections = {
            name: Later(self._read, read_detections, in_step(truth, one)[1])
            for name, one in detections.items()
        }

    def _read(self, read: Callable[[Input], T], source: Input) -> T | Pair[T]:
        with self._places:
            if isinstance(source, Pair):
                return Pair(read(source.id), read(source.ood))
            return read(source)

    def tables(
        self,
    ) -> tuple[Annotations | Pair[Annotations], dict[str, Detections | Pair[Detections]]]:
        """Wait for all tables; they are handed over, the reading does not keep them.

        Raises:
            InputError: With everything that is wrong with all files at once.
        """
        truth, detections = self._truth.pop(), self._detections
        self._detections = {}
        everything: list[Later[Any]] = [truth, *detections.values()]
        for one in everything:
            one.wait()
        raise_all([one.failure for one in everything if isinstance(one.failure, InputError)])
        return truth.result(), {name: one.result() for name, one in detections.items()}

    def inputs(self, name: str) -> dict[str, str]:
        """How the inputs of one detector are called in a result."""
        truth, detections = self._sources
        return inputs_of(truth, detections[name])


def are_parts(detections: Iterable[Input]) -> bool:
    """Whether the detections of all detectors are folders of parts (`openset.formats.parts`)."""
    given = list(detections)
    if not all(isinstance(one, (str, Path)) and Path(one).is_dir() for one in given):
        return False
    from openset.formats.parts import is_parts  # files need not wait for its import

    return all(is_parts(Path(one)) for one in given)


def inputs_of(truth: Input, detections: Input) -> dict[str, str]:
    """How two inputs are called in a result."""
    return {"truth": _source_name(truth), "detections": _source_name(detections)}


def truth_of(source: Input, names: Mapping[int, str] | None = None) -> Annotations:
    """Ground truth; names are for those that number their classes: objects, and folders of YOLO."""
    if names is None or isinstance(source, Annotations):
        return read_annotations(source)
    if isinstance(source, (str, Path)) and "names" not in reading(source)[1]:
        return read_annotations(source)
    return read_annotations(source, names=names)


def in_step(truth: Input, detections: Input, first: int = 0) -> tuple[Input, Input]:
    """Lists of targets and predictions, each with ids (`openset.formats.loops`)."""
    if not isinstance(truth, (list, tuple)) or not isinstance(detections, (list, tuple)):
        return truth, detections  # most inputs are files, which need no import
    from openset.formats.loops import in_step

    return in_step(truth, detections, first)


def _source_name(source: Input) -> str:
    """How an input is called: its file name, or what it is."""
    if isinstance(source, Pair):
        return f"{_source_name(source.id)} + {_source_name(source.ood)}"
    return Path(source).name if isinstance(source, (str, Path)) else type(source).__name__
