"""Tested: images that a training would see, and a test split beside it holds.

A test split that was copied, renamed or put together with others is no longer told by its name, but
by its content: an image of the same name with the same boxes. A bundle keeps its splits side by
side, so files beside the training file that are called like a test are looked at. Not an audit
(`openset.benchmarks.principles`), which compares the splits of a benchmark by their images.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from openset.findings import InputError
from openset.scorers.ledger import is_test
from openset.tables.annotations import Annotations
from openset.tables.names import file_names
from openset.training.data import read_truth

_Boxes = frozenset[tuple[float, ...]]


def also_tested(truth: Path) -> Iterator[tuple[Path, list[str], int]]:
    """Files beside a training file that hold images of it: which, which images, and of how many."""
    if not truth.is_file():
        return
    beside = sorted(one for one in truth.parent.glob("*.json") if is_test(one.stem))
    taught = _images(truth) if beside else {}
    for test in beside:
        held = _images(test)
        shared = [name for name, boxes in taught.items() if held.get(name) == boxes]
        if shared:
            yield test, shared, len(taught)


def _images(path: Path) -> dict[str, _Boxes]:
    """The boxes of every image that has some, by its file name; nothing of a file in disorder."""
    try:
        table = read_truth(path)
    except InputError:  # whoever reads it says so
        return {}
    return _boxes(table)


def _boxes(table: Annotations) -> dict[str, _Boxes]:
    names = file_names(table.images)
    boxes: defaultdict[str, set[tuple[float, ...]]] = defaultdict(set)
    for image, box in zip(table.image.tolist(), table.box.tolist(), strict=True):
        boxes[names[image] or str(table.images.id[image])].add(tuple(box))
    return {name: frozenset(held) for name, held in boxes.items()}
