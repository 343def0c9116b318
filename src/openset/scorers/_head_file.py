"""Head file: a detector's last layer as ``.npz``, for detections that do not carry it.

Detections that `openset run` has made carry theirs (`openset.tables.head`); a file is for those of
a detector that runs elsewhere.
"""

from __future__ import annotations

from pathlib import Path

from openset.scorers import _archive
from openset.tables.head import Head

_KIND = "head"


def save_head(head: Head, path: str | Path) -> None:
    """Write a head as ``.npz``."""
    _archive.save(Path(path), _KIND, head)


def load_head(path: str | Path) -> Head:
    """Read a head that `save_head` has written."""
    return _archive.load(Path(path), _KIND, Head)
