"""Evidence: the columns that a scorer has declared, checked, and no others.

A scorer never sees a table. It gets what its record says that it reads; asking for anything else is
an error of the scorer, so that the declaration can be trusted. Columns that `Detections` has no
field for are attributes of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level, OpenSetError, refuse
from openset.scorers._one_layer import of_two_layers
from openset.tables import Detections
from openset.tables.evidence import refuse_gaps, refuse_probabilities
from openset.tables.logits import LogitLayout, softmax, without_unknown
from openset.tables.vocabulary import is_unknown_spelling

if TYPE_CHECKING:
    from openset.tables.head import Head

_ENOUGH = 10  # rows that tell
_UNMADE = (
    "detections of another training were given, or rows of embeddings are in another order than "
    "those of logits"
)
_HALF = 1e-2  # what half precision leaves of a length of one, and much more
Column = Literal[
    "image",
    "label",
    "box",
    "score",
    "logits",
    "embedding",
    "latent",
    "latent_samples",
    "logit_samples",
    "projection",
    "shortcut",
    "shortcut_attacked",
    "overlap",
    "of_unknown",
    "head",
]
_KNOWN_SHARE = "known share"
BLOCK = 1 << 14  # rows scored at a time: what they need stays in the cache
_FIELDS = ("image", "label", "box", "score", "logits", "embedding")
_DIMENSIONS = {"logits": 2, "embedding": 2, "latent": 2, "latent_samples": 3, "logit_samples": 3}
_DIMENSIONS |= {"projection": 2, "shortcut": 2, "shortcut_attacked": 2}

_HOW = {
    "logits": "keep the raw class scores of each box, and their layout, when the detector runs",
    "embedding": "keep the input of the detector's last layer for each box when it runs",
    "latent": "pool an inner feature map over each box: attributes={'latent': (boxes, channels)}",
    "latent_samples": "pool the map once per dropout pass: attributes={'latent_samples': "
    "(boxes, passes, channels)}",
    "logit_samples": "run the head several times with dropout: attributes={'logit_samples': "
    "(boxes, passes, classes)}",
    "projection": "train the detector with the method siren: openset run then keeps it",
    "shortcut": "openset run --evidence shortcut pools the backbone's shortcuts over each box",
    "overlap": "right_detections(truth, detections) measures it against ground truth: --fit-truth",
    "of_unknown": "told_detections(truth, detections) looks at ground truth: --fit-truth",
    "shortcut_attacked": "openset attack makes them, on the training images",
    "head": "openset run keeps it with the embeddings, where it is an affine map; head= gives that "
    "of another detector, a Head(weight, bias, layout)",
}


class UndeclaredError(OpenSetError):
    """A scorer asked for a column that its record does not mention."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a scorer may read, of some detections.

    Attributes:
        size: Number of detections.
        columns: The declared columns, by name.
        layout: What the columns of the logits are, where logits are declared.
        linear: The detector's last layer, where it is declared.
    """

    size: int
    columns: Mapping[str, NDArray[Any]]
    layout: LogitLayout | None = None
    linear: Head | None = None

    def __getitem__(self, column: Column) -> NDArray[Any]:
        if column not in self.columns:
            raise UndeclaredError(f"the scorer reads {column!r}, which it does not declare")
        return self.columns[column]

    @property
    def known_share(self) -> NDArray[np.float64] | float:
        """What a column "unknown", which no scorer reads, leaves of each probability."""
        return self.columns.get(_KNOWN_SHARE, 1.0)

    @property
    def head(self) -> Head:
        """The detector's last layer."""
        if self.linear is None:
            raise UndeclaredError("the scorer reads 'head', which it does not declare")
        return self.linear

    def blocks(self, size: int = BLOCK) -> Iterator[Evidence]:
        """The same evidence, some rows at a time."""
        for start in range(0, self.size, size):
            rows = slice(start, min(start + size, self.size))
            part = {name: values[rows] for name, values in self.columns.items()}
            yield replace(self, size=rows.stop - rows.start, columns=part)


def gather(
    name: str, detections: Detections, requires: tuple[Column, ...], head: Head | None = None
) -> Evidence:
    """The evidence of a scorer; refused where a column is missing, misshapen or not finite."""
    columns: dict[str, NDArray[Any]] = {
        column: _column(name, detections, column) for column in requires if column != "head"
    }
    with_layout = {"logits", "logit_samples"} & set(columns)
    layout = detections.layout if with_layout else None
    if with_layout and layout is None:
        raise refuse("OS503", f"scorer {name!r} reads {min(with_layout)}, but not their layout")
    if "logits" in columns:
        _check_classes(detections, columns["logits"].shape[1])
        refuse_probabilities(columns["logits"])
    linear = _head(name, detections, head) if "head" in requires else None
    if "embedding" in columns and linear is None:
        _refuse_other_rows(detections)
    if "logits" in columns and layout is not None and layout.has_unknown and not layout.is_sigmoid:
        columns[_KNOWN_SHARE] = 1 - softmax(columns["logits"].astype(np.float64))[:, -1]
    for column in with_layout:
        columns[column], _ = without_unknown(columns[column], detections.layout)
    _, layout = without_unknown(np.empty(1), layout)
    return Evidence(len(detections), columns, layout, linear)


def _refuse_other_rows(detections: Detections) -> None:
    """Refuse embeddings that the last layer at hand does not make the logits of.

    Means over passes with dropout are made by no layer.
    """
    if detections.head is not None and "logit_samples" not in detections.attributes:
        detections.head.check(detections)


def own_head(detections: Detections, given: Head | None) -> Head | None:
    """The last layer of detections: what they carry, or what was given; refused if these differ."""
    held = detections.head
    if given is None:
        return held
    if held is not None and not held.equals(given):
        message = "the head that was given is not the one that the detections carry"
        raise refuse("OS503", message, cause="the head belongs to another detector")
    given.check(detections)
    return given


def other_lengths(scored: Detections, fitted_on: Detections, where: str) -> Finding | None:
    """OS513, if embeddings of one file all have a length of one, and those of the other not."""
    ours, theirs = _of_length_one(scored), _of_length_one(fitted_on)
    if ours is None or theirs is None or ours == theirs:
        return None
    one, other = ("the detections to score", where) if ours else (where, "the detections to score")
    said = f"embeddings of {one} have all a length of one, and those of {other} have not"
    return Finding("OS513", Level.ERROR, said, len(fitted_on), where)


def _of_length_one(found: Detections) -> bool | None:
    """Whether embeddings were divided by their length; those of a dead network may be nothing."""
    if found.embedding is None:
        return None
    length = np.linalg.norm(found.embedding.astype(np.float64), axis=1)
    alive = length[length > 0]
    return None if len(alive) < _ENOUGH else bool((np.abs(alive - 1) < _HALF).all())


def other_model(scored: Detections, fitted_on: Detections, where: str) -> Finding | None:
    """OS511, if detections to fit on are of another model than those that are scored.

    Last layers tell for certain, and so do hashes of weights; where both lack them, the layer that
    logits and embeddings were made by; else what the tables say that made them.
    """
    message = f"{where} is of another model than the detections"
    if scored.head is not None and fitted_on.head is not None:
        if scored.head.equals(fitted_on.head):
            return None
        return Finding("OS511", Level.ERROR, f"{message}: their last layers differ", example=where)
    one, other = (scored, fitted_on) if scored.head is None else (fitted_on, scored)
    unmade = None if other.head is None else other.head.unmade(one)
    if unmade:
        return Finding("OS511", Level.ERROR, f"{message}: {unmade}", example=where, cause=_UNMADE)
    weights = [one.provenance.get("weights") for one in (scored, fitted_on)]
    if all(isinstance(one, str) and one for one in weights):
        if weights[0] == weights[1]:
            return None
        said = f"{message}: weights {weights[1]}, not {weights[0]}"
        return Finding("OS511", Level.ERROR, said, example=where)
    if scored.head is None and fitted_on.head is None and of_two_layers(scored, fitted_on):
        said = f"{message}: what makes logits of embeddings in one does not in the other"
        return Finding("OS511", Level.ERROR, said, example=where)
    ours, theirs = _maker(scored), _maker(fitted_on)
    if not ours or not theirs or ours == theirs:
        return None
    return Finding("OS511", Level.WARNING, f"{message}: {theirs}, not {ours}", example=where)


def _maker(detections: Detections) -> str:
    """The detector that made a table, and the name of its file if it states one; or nothing.

    Folders of that file say little: the same model lies elsewhere on another machine.
    """
    model = detections.provenance.get("model")
    if not isinstance(model, dict) or not isinstance(model.get("detector"), str):
        return ""
    options = model.get("options")
    file = options.get("file") if isinstance(options, dict) else None
    return " ".join([model["detector"], *([PurePath(file).name] if isinstance(file, str) else [])])


def _head(name: str, detections: Detections, given: Head | None) -> Head:
    head = own_head(detections, given)
    if head is None:
        raise _missing(name, "head")
    head.check(detections)
    return head.of_known()


def _column(name: str, detections: Detections, column: str) -> NDArray[Any]:
    field = column in _FIELDS
    values = getattr(detections, column) if field else detections.attributes.get(column)
    if values is None:
        raise _missing(name, column)
    values = np.asarray(values)
    wanted = _DIMENSIONS.get(column)
    if wanted is not None and (values.ndim != wanted or 0 in values.shape[1:]):
        message = f"column {column!r} has shape {values.shape}, but needs {wanted} dimensions"
        raise refuse("OS503", message)
    refuse_gaps(detections, column, values)
    return values


def _check_classes(detections: Detections, width: int) -> None:
    """Refuse logits with fewer columns than the classes that the detections are called."""
    _, layout = without_unknown(np.empty(1), detections.layout)
    has_background = layout is not None and layout.has_background
    width -= detections.layout is not layout
    named = sum(not is_unknown_spelling(name) for name in detections.labels)
    if 0 < width - has_background < named:
        message = f"logits of {width} columns, laid out {detections.layout}, for {named} classes"
        raise refuse("OS503", message, cause="another layout, or the logits of another detector")


def _missing(name: str, column: str) -> Exception:
    message = f"scorer {name!r} reads {column}, but the detections have none"
    return refuse("OS501", message, fix=_HOW.get(column, ""))
