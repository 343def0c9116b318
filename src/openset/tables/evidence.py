"""Evidence: logits and embeddings put beside detections whose file has none, row by row.

Detectors write boxes as JSON and keep their logits in arrays. Rows must be in the order of the
detections, and the layout says what the columns are (`openset.tables.logits`): a length never does.
Names of the class columns travel along, so that the logits of a detector of 80 classes can be
restricted to those that are known here, which is what scorers should see.

Not the scorers (`openset.scorers`), and not what `openset run` keeps, which is complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.files import load_arrays
from openset.findings import InputError, UsageError, refuse
from openset.plugins import lookup
from openset.refusals import missing_key, undecodable
from openset.tables._check_logits import (
    refuse_gaps,
    refuse_probabilities,
    refuse_strange,
    strange_logits,
)
from openset.tables._check_neighbours import refuse_of_neighbours
from openset.tables.annotations import Annotations
from openset.tables.detections import Detections
from openset.tables.head import Head
from openset.tables.logits import Activation, LogitLayout, class_columns, probabilities
from openset.tables.vocabulary import UNKNOWN, Vocabulary, is_unknown_spelling, normal

__all__ = [
    "chances",
    "logit_classes",
    "read_evidence",
    "refuse_gaps",
    "refuse_probabilities",
    "restricted",
    "strange_logits",
    "with_evidence",
]

COLUMNS = ("logits", "embedding")
_CLASSES = "logit_classes"
_LAYOUTS = {str(layout): layout for layout in LogitLayout}


def with_evidence(
    detections: Detections,
    *,
    logits: Any = None,
    layout: str | None = None,
    embedding: Any = None,
    classes: Sequence[str] | None = None,
    truth: Annotations | None = None,
) -> Detections:
    """Detections with evidence beside them.

    Args:
        detections: The boxes.
        logits: A row of raw class scores per box, in the order of the boxes.
        layout: What the columns of logits are, in the words of `LogitLayout`.
        embedding: A feature vector per box, likewise.
        classes: Names of the columns that are classes, if detections do not list them so.
        truth: Their ground truth, which names labels that are numbers.

    Raises:
        InputError: There is not one row per box, a number is NaN or infinite, or the largest logits
            have nothing to do with the labels: rows, or columns, are in another order.

    >>> found = Detections([1], [0], [[0, 0, 9, 9]], [0.9], ("dog", "cat"))
    >>> with_evidence(found, logits=[[2.0, 1.0]], layout="sigmoid").logits.shape
    (1, 2)
    """
    given = {"logits": logits, "embedding": embedding}
    arrays: dict[str, Any] = {
        name: _rows(name, value, detections) for name, value in given.items() if value is not None
    }
    for name, array in arrays.items():
        refuse_gaps(detections, name, array)
    stated = detections.layout if layout is None else lookup(_LAYOUTS, str(layout), "layout")
    if "logits" in arrays and stated is None:
        raise missing_key("the evidence", "layout", [0], 1, f"one of {', '.join(_LAYOUTS)}")
    held = dict(detections.provenance)
    if classes is not None:
        held[_CLASSES] = [str(name) for name in classes]
    made = replace(detections, **arrays, layout=stated, provenance=held)
    if made.logits is not None:
        # Names are refused if they are not as many as columns.
        refuse_strange(made, None if classes is None else _names_of_columns(made), truth)
        refuse_of_neighbours(made)
    return made


def read_evidence(path: str | Path) -> dict[str, Any]:
    """What `with_evidence` takes, from an ``.npz`` file; nothing is unpickled."""
    where = Path(path)
    try:
        arrays: Mapping[str, NDArray[Any]] = load_arrays(where)
    except InputError:
        raise
    except ValueError as error:
        raise undecodable(str(where), error) from error
    if not any(name in arrays for name in COLUMNS):
        there = ", ".join(arrays) or "nothing"
        raise missing_key(f"{where} ({there})", "logits", [0], 1, "write logits, layout, embedding")
    found: dict[str, Any] = {name: arrays[name] for name in COLUMNS if name in arrays}
    if "layout" in arrays:
        found["layout"] = str(arrays["layout"])
    if "classes" in arrays:
        names = arrays["classes"]
        if names.ndim != 1:
            shown = f"classes have the shape {names.shape}"
            raise refuse("OS344", f"{where} lists no classes: {shown}", example="['dog', 'cat']")
        found["classes"] = [str(name) for name in names.tolist()]
    return found


def restricted(detections: Detections, known: Vocabulary | Sequence[str] | str) -> Detections:
    """Detections as if the detector had the known classes alone: columns, labels and last layer.

    A box whose class is not known gets the known class with the largest logit, and a score that is
    smaller by as much as its probability is. No box is dropped, and none comes back that
    suppression had taken: the detector itself, of these classes alone, would differ in that.

    Args:
        detections: With logits; without names of labels, the largest logit is the label.
        known: The classes to keep, by name or synonym, as in `openset.evaluate`.

    >>> found = Detections([1], [2], [[0, 0, 9, 9]], [0.9], ("dog", "cat", "zebra"))
    >>> found = with_evidence(found, logits=[[-1.0, 0.0, 2.0]], layout="sigmoid")
    >>> alone = restricted(found, ["cat", "dog"])
    >>> alone.labels, alone.label.tolist(), alone.score.round(2).tolist(), alone.logits.tolist()
    (('dog', 'cat'), [1], [0.51], [[-1.0, 0.0]])
    """
    if detections.logits is None:
        raise UsageError("there are no logits to restrict")
    names, vocabulary = _names_of_columns(detections), Vocabulary.of(known)
    kept = _kept(names, vocabulary)
    own = _own_column(detections, names)
    chance = _chances(detections)
    best = np.where(kept, chance, -1.0).argmax(axis=1)
    new = np.where((own < 0) | kept[own], own, best)
    rows = np.arange(len(new))
    ratio = chance[rows, new] / np.maximum(chance[rows, own], np.finfo(np.float64).tiny)
    left = [name for name, stays in zip(names, kept, strict=True) if stays]
    place = np.append(np.cumsum(kept) - 1, len(left))  # -1, unknown, is the last
    columns = np.ones(detections.logits.shape[1], np.bool_)
    columns[class_columns(detections.layout)] = kept
    head = detections.head
    return replace(
        detections,
        labels=(*left, UNKNOWN) if (own < 0).any() else tuple(left),
        label=place[new],
        score=np.where(new == own, detections.score, detections.score * ratio),
        logits=detections.logits[:, columns],
        head=None if head is None else Head(head.weight[columns], head.bias[columns], head.layout),
        provenance={**detections.provenance, _CLASSES: left},
    )


def chances(detections: Detections) -> tuple[list[str], NDArray[np.float64]]:
    """Names of the classes, and how likely each is for every detection, as the layout says.

    Raises:
        InputError: Nothing says which column of the logits is which class.
    """
    return _names_of_columns(detections), _chances(detections)


def logit_classes(detections: Detections) -> list[str]:
    """Names of the classes that logits are of, or were made of; none where nothing says them."""
    if detections.logits is not None:
        try:
            return _names_of_columns(detections)
        except InputError:
            return []
    stated = detections.provenance.get(_CLASSES)
    return [str(name) for name in stated] if isinstance(stated, list) else []


def _kept(names: list[str], vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which columns are of known classes; refused if a known class has none."""
    klass = vocabulary.classes(names)
    known = (klass >= 0) & (klass < len(vocabulary.known))
    absent = [name for at, name in enumerate(vocabulary.known) if at not in klass]
    if absent:
        raise refuse(
            "OS344",
            f"{len(absent)} of {len(vocabulary.known)} known classes have no column in the logits",
            count=len(absent),
            example=f"{absent[0]!r}; there are {', '.join(names[:5])} ...",
        )
    return known


def _own_column(detections: Detections, names: list[str]) -> NDArray[np.int64]:
    """The column of every box's label, -1 for unknown."""
    assert detections.logits is not None
    if not detections.labels:
        return detections.logits[:, class_columns(detections.layout)].argmax(axis=1)
    place = {normal(name): at for at, name in enumerate(names)}
    at = [
        -1 if is_unknown_spelling(one) else place.get(normal(one), -2) for one in detections.labels
    ]
    own = np.array(at, np.int64)[detections.label]
    strange = np.flatnonzero(own == -2)
    if len(strange):
        name = detections.labels[int(detections.label[strange[0]])]
        said = f"{len(strange)} detections have a label without a column in the logits"
        raise refuse("OS344", said, count=len(strange), example=repr(name))
    return own


def _chances(detections: Detections) -> NDArray[np.float64]:
    """The probability of every class, as the layout says."""
    assert detections.logits is not None
    layout, values = detections.layout, detections.logits.astype(np.float64)
    activation: Activation = "sigmoid" if layout and layout.is_sigmoid else "softmax"
    return probabilities(values, activation)[:, class_columns(layout)]


def _rows(name: str, value: Any, detections: Detections) -> NDArray[Any]:
    array = np.asarray(value)
    if array.ndim != 2 or len(array) != len(detections):
        message = f"{name} have the shape {array.shape}, and there are {len(detections)} detections"
        raise refuse("OS343", message, example=f"one row for each is {len(detections)} x columns")
    if array.dtype.kind not in "fiu":
        raise refuse("OS343", f"{name} are no numbers but {array.dtype}", example=str(array[:1]))
    return array


def _names_of_columns(detections: Detections) -> list[str]:
    """Names of the columns that are classes, refused if nothing says them."""
    assert detections.logits is not None
    count = len(range(detections.logits.shape[1])[class_columns(detections.layout)])
    stated = detections.provenance.get(_CLASSES)
    names = [name for name in detections.labels if not is_unknown_spelling(name)]
    if "model" in detections.provenance and len(detections.labels) == count:
        # `run` lists what was taught, in order; all labels of a ground truth may have been, and
        # "unknown" one of them.
        names = list(detections.labels)
    names = [str(name) for name in stated] if isinstance(stated, list) else names
    if len(names) != count:
        said = f"{count} columns of the logits are classes, and {len(names)} names are listed"
        raise refuse("OS344", said, example=", ".join(names[:5]) or "none")
    return names
