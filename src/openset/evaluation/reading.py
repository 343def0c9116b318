"""Reading both inputs at once, in the background.

The compiled reader does not hold the interpreter, so two files take as long as the larger one, and
whoever waits may do something else meanwhile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openset.formats.coco  # noqa: F401  threads must not race to import the kernels
from openset.evaluation.later import Later
from openset.findings import Finding, InputError
from openset.formats import read_annotations, read_detections
from openset.tables.annotations import Annotations
from openset.tables.detections import Detections

Source = Any  # a path, a table, or lists of torchvision dictionaries


class Reading:
    """Ground truth and detections on their way into tables.

    Args:
        gt: Ground truth: a file or folder, a table, or torchvision targets.
        dt: Detections, likewise.
    """

    def __init__(self, gt: Source, dt: Source) -> None:
        self._truth = Later(read_annotations, gt)
        self._detections = Later(read_detections, dt)

    def tables(self) -> tuple[Annotations, Detections]:
        """Wait for both tables.

        Raises:
            InputError: With everything that is wrong with both files at once.
        """
        failures: list[Finding] = []
        for one in (self._truth, self._detections):
            one.wait()
            if isinstance(one.failure, InputError):
                failures += one.failure.findings
        if failures:
            raise InputError(failures)
        return self._truth.result(), self._detections.result()


def source_name(source: Source) -> str:
    """How an input is called in a result: its file name, or what it is."""
    return Path(source).name if isinstance(source, (str, Path)) else type(source).__name__
