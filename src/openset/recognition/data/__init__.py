"""Data for open-set recognition: images whose classes are split into known and unknown.

`open_split("digits", trial=0)` needs no file: 1,797 handwritten digits are embedded. The
other data sets are read from local files in their official layout; nothing is downloaded, and
nothing is unpickled. `table()` lists them. A data set is one file with a function under `@dataset`.
"""

from __future__ import annotations

from collections.abc import Mapping

from openset.plugins import records
from openset.recognition.data._spec import Dataset, Samples, Wanted, dataset
from openset.recognition.data._split import OpenSplit, left_out, open_split

__all__ = [
    "Dataset",
    "OpenSplit",
    "Samples",
    "Wanted",
    "dataset",
    "left_out",
    "open_split",
    "table",
]


def table() -> Mapping[str, Dataset]:
    """Every data set, by name."""
    return records(__name__, "dataset")
