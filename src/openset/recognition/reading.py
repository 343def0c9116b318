"""Reading scores: ``.npz`` archives and CSV tables. Pickled objects are never loaded.

An archive holds ``logits_k``, ``labels_k``, ``logits_u``; or ``openness_k``, ``predicted_k``,
``labels_k``, ``openness_u`` and maybe ``predicted_u``; and maybe ``classes``. A table has a row per
sample: ``label``, ``predicted`` and ``openness``, or ``label`` and a column ``logit:NAME`` for each
known class. A sample is unknown if its label is empty, -1, or some spelling of ``unknown``. A class
is predicted for every known sample, rejected or not; unknown samples may go without one.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.files import load, load_arrays
from openset.findings import InputError, refuse
from openset.recognition.scores import Scores
from openset.tables.vocabulary import is_unknown_spelling

_LOGIT = "logit:"
_LAYOUTS = (
    ("logits_k", "labels_k", "logits_u"),
    ("openness_k", "predicted_k", "labels_k", "openness_u"),
)
_MOST = 1 << 20  # classes without names
Arrays = dict[str, NDArray[Any]]
_HEAD = 4096  # bytes of a file that tell what it holds
_OF_DETECTORS = "openset recognise is for classifiers of whole images; boxes are for evaluate"


def read_scores(path: str | Path, *, openness: str = "max_logit") -> Scores:
    """Read what a classifier said of known and unknown samples.

    Args:
        path: An ``.npz`` archive or a CSV table, recognised by content.
        openness: What makes it if the file has logits: ``max_logit``, ``msp``, ``energy``.

    Raises:
        InputError: The file is absent, damaged, or lacks something; the findings say what.
    """
    path = Path(path)
    data = load(path)
    if not data:
        raise refuse("OS102", f"{path} is empty")
    if zipfile.is_zipfile(path):
        return _from_arrays(path, _arrays(path), openness)
    if data.lstrip()[:1] in (b"[", b"{"):
        raise _refuse_json(path, data)
    return _from_table(path, data, openness)


def _refuse_json(path: Path, data: bytes) -> InputError:
    """JSON holds no scores of a classifier; mostly it is what a detector said."""
    if data.lstrip()[:1] == b"[" and b'"bbox"' in data[:_HEAD]:
        message = f"{path} holds detections, not what a classifier said of samples"
        return refuse("OS807", message, cause=_OF_DETECTORS, fix=f"openset evaluate GT {path}")
    return refuse("OS807", f"{path} is JSON, not .npz or CSV")


def _arrays(path: Path) -> Arrays:
    try:
        return load_arrays(path)
    except ValueError as error:
        raise refuse("OS102", f"{path} cannot be read as .npz: {error}") from error


def _from_arrays(path: Path, arrays: Arrays, openness: str) -> Scores:
    layout = next((names for names in _LAYOUTS if set(names) <= set(arrays)), None)
    if layout is None:
        there = ", ".join(sorted(arrays)) or "nothing"
        raise refuse("OS807", f"{path} has {there}", example=there)
    names = _names(arrays["classes"]) if "classes" in arrays else None
    known, labels, unknown = (arrays[n] for n in (layout[0], "labels_k", layout[-1]))
    _refuse_known_labels(arrays, unknown)
    if layout is _LAYOUTS[0]:
        return Scores.from_logits(known, labels, unknown, openness=openness, classes=names)
    named = arrays.get("predicted_u")
    columns = [arrays["predicted_k"], labels, *([] if named is None else [named])]
    top = max((int(c.max()) for c in columns if c.size and c.dtype.kind in "iu"), default=0)
    if names is None and top >= _MOST:
        message = f"classes are numbered up to {top:,}, and nothing names them"
        raise refuse("OS117", message, example=str(top))
    classes = tuple(map(str, range(top + 1))) if names is None else tuple(names)
    return Scores(arrays["predicted_k"], labels, known, unknown, named, classes)


def _names(classes: NDArray[Any]) -> list[str]:
    if classes.ndim != 1 or classes.dtype.kind not in "SUiu":
        shape = f"of shape {classes.shape} and type {classes.dtype}"
        raise refuse("OS802", f"classes are {shape}, not a list of names")
    return [
        one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in classes
    ]


def _refuse_known_labels(arrays: Arrays, unknown: NDArray[Any]) -> None:
    """Unknown samples with labels of known classes are known samples in the wrong place."""
    labels = arrays.get("labels_u")
    if labels is None:
        return
    if labels.shape != unknown.shape[:1]:
        message = f"labels of unknown samples have shape {labels.shape}, not {unknown.shape[:1]}"
        raise refuse("OS802", message)
    both = np.isin(labels, arrays["labels_k"])
    if both.any():
        at, count = int(np.flatnonzero(both)[0]), int(both.sum())
        message = f"{count} of {len(labels)} unknown samples have a label that known samples have"
        raise refuse("OS809", message, count=count, example=f"sample {at}: {labels[at]}")


def _from_table(path: Path, data: bytes, openness: str) -> Scores:
    import polars

    try:
        table = polars.read_csv(data, infer_schema=False).fill_null("")
    except (polars.exceptions.PolarsError, UnicodeDecodeError) as error:
        first = str(error).partition("\n")[0]
        raise refuse("OS102", f"{path} cannot be read as CSV: {first}") from error
    columns = {name: np.strings.strip(table[name].to_numpy().astype(str)) for name in table.columns}
    logits = [name for name in columns if name.startswith(_LOGIT)]
    needed = {"label"} if logits else {"label", "predicted", "openness"}
    if not needed <= set(columns):
        there = ", ".join(columns)
        raise refuse("OS807", f"{path} has the columns {there[:200]}", example=there[:80])
    unknown = _says_unknown(columns["label"])
    if logits:
        return _from_logit_columns(columns, logits, unknown, openness)
    return _from_columns(columns, unknown)


def _from_logit_columns(
    columns: Arrays, logits: list[str], unknown: NDArray[np.bool_], openness: str
) -> Scores:
    classes = [name.removeprefix(_LOGIT) for name in logits]
    table = np.stack([_numbers(columns[name], name) for name in logits], axis=1)
    label = _positions(columns["label"][~unknown], classes, "label")
    return Scores.from_logits(
        table[~unknown], label, table[unknown], openness=openness, classes=classes
    )


def _from_columns(columns: Arrays, unknown: NDArray[np.bool_]) -> Scores:
    label, predicted = columns["label"], columns["predicted"]
    openness = _numbers(columns["openness"], "openness")
    rejected = _says_unknown(predicted)
    _refuse_nameless(predicted, rejected & ~unknown)
    named = not (rejected & unknown).any()  # unknown samples may go without a class
    used = predicted if named else predicted[~unknown]
    classes = np.unique(np.concatenate([label[~unknown], used])).tolist()
    return Scores(
        _positions(predicted[~unknown], classes, "predicted"),
        _positions(label[~unknown], classes, "label"),
        openness[~unknown],
        openness[unknown],
        _positions(predicted[unknown], classes, "predicted") if named else None,
        tuple(classes),
    )


def _says_unknown(column: NDArray[Any]) -> NDArray[np.bool_]:
    names, inverse = np.unique(column, return_inverse=True)
    says = [name in ("", "-1") or is_unknown_spelling(name) for name in names.tolist()]
    return np.array(says, np.bool_)[inverse]


def _refuse_nameless(predicted: NDArray[Any], bad: NDArray[np.bool_]) -> None:
    """A known sample has a class, even if it is rejected: the openness says that it is."""
    if bad.any():
        at, count = int(np.flatnonzero(bad)[0]), int(bad.sum())
        raise refuse(
            "OS803",
            f"{count} known samples have no known class in 'predicted'",
            count=count,
            example=f"row {at + 1}: {str(predicted[at])!r}",
            cause="rejected samples were written as unknown, or left empty",
            fix="name the most likely known class of every known sample, also of those that are "
            "rejected: the openness alone says that they are",
        )


def _numbers(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    try:
        with np.errstate(over="ignore"):  # what is too large is infinite: it can be ranked
            return column.astype(np.float64)
    except ValueError as error:
        raise refuse("OS108", f"column {name!r} is not numeric: {error}") from error


def _positions(column: NDArray[Any], classes: list[str], name: str) -> NDArray[np.int32]:
    """Where each name is in the list of classes."""
    place = {klass: at for at, klass in enumerate(classes)}
    names, inverse = np.unique(column, return_inverse=True)
    strange = [str(one) for one in names if str(one) not in place]
    if strange:
        count = int(np.isin(column, strange).sum())
        message = f"{count} samples have a {name} that is no known class"
        raise refuse("OS803", message, count=count, example=repr(strange[0]))
    return np.array([place[str(one)] for one in names], np.int32)[inverse]
