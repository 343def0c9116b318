"""Reading both inputs at once, in the background.

The compiled reader does not hold the interpreter, so two files take as long as the larger one, and
whoever waits may do something else meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import openset.formats.coco  # noqa: F401  threads must not race to import the kernels
from openset.findings import InputError
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
        self._read: dict[str, Any] = {}
        jobs = (("truth", read_annotations, gt), ("detections", read_detections, dt))
        self._threads = [Thread(target=self._into, args=job) for job in jobs]
        for thread in self._threads:
            thread.start()

    def _into(self, key: str, reader: Callable[[Source], Any], source: Source) -> None:
        try:
            self._read[key] = reader(source)
        except Exception as error:  # raised where the tables are asked for
            self._read[key] = error

    def tables(self) -> tuple[Annotations, Detections]:
        """Wait for both tables.

        Raises:
            InputError: With everything that is wrong with both files at once.
        """
        for thread in self._threads:
            thread.join()
        failures = [one for one in self._read.values() if isinstance(one, Exception)]
        findings = [f for one in failures if isinstance(one, InputError) for f in one.findings]
        if len(failures) == 2 and findings:
            raise InputError(findings)
        for failure in failures:
            raise failure
        return self._read.pop("truth"), self._read.pop("detections")


def source_name(source: Source) -> str:
    """How an input is called in a result: its file name, or what it is."""
    return Path(source).name if isinstance(source, (str, Path)) else type(source).__name__
