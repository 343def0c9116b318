"""CUB-200-2011 as published: a folder of text files that share the numbers of images.

``images.txt``, ``bounding_boxes.txt``, ``image_class_labels.txt``, ``classes.txt`` and
``train_test_split.txt``; the option ``split`` is ``train`` or ``test``. Names of classes lose their
number and their underscores: ``001.Black_footed_Albatross`` is "Black footed Albatross". Sizes of
images are in no file and stay unknown.
"""

from __future__ import annotations

from pathlib import Path

from openset.benchmarks.readers import reader, table_of
from openset.files import load_text
from openset.findings import refuse
from openset.tables import Annotations

_NAN = float("nan")


@reader("cub", folder=True)
def cub(path: Path, *, split: str = "") -> Annotations:
    """Read CUB-200-2011, all of it or one of its two splits."""
    names = _column(path, "images.txt")
    label_of = _column(path, "image_class_labels.txt")
    classes = {key: _plain(name) for key, name in _column(path, "classes.txt").items()}
    boxes = _column(path, "bounding_boxes.txt")
    training = _column(path, "train_test_split.txt")
    flag = {"train": "1", "test": "0"}.get(split)
    chosen = [key for key in names if flag is None or training.get(key) == flag]
    try:
        objects = [
            (row, classes[label_of[key]], list(map(float, boxes[key].split())))
            for row, key in enumerate(chosen)
        ]
    except (KeyError, ValueError) as error:
        raise refuse("OS903", f"the files of {path} do not agree: {error}") from error
    return table_of([(names[key], _NAN, _NAN) for key in chosen], objects, classes.values())


def _column(path: Path, name: str) -> dict[str, str]:
    """The rest of every line by its first word."""
    pairs = (line.partition(" ") for line in load_text(path / name).splitlines() if line.strip())
    return {key: rest.strip() for key, _, rest in pairs}


def _plain(name: str) -> str:
    return name.partition(".")[2].replace("_", " ") or name
