"""Reading scores: ``.npz`` archives and CSV tables. Pickled objects are never loaded.

An archive holds ``logits_k``, ``labels_k``, ``logits_u``; or ``openness_k``, ``predicted_k``,
``labels_k``, ``openness_u`` and maybe ``predicted_u``; and maybe ``classes``. A table has a row per
sample: ``label``, ``predicted`` and ``openness``, or ``label`` and a column ``logit:NAME`` for each
known class. A sample is unknown if its label is empty, -1, or some spelling of ``unknown``. A class
is predicted for every known sample, rejected or not; unknown samples may go without one. Samples
may have names: ``ids_k`` and ``ids_u``, or the column ``id``; classifiers are compared on the same.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.files import load, load_arrays
from openset.findings import Finding, InputError, Level, refuse
from openset.recognition._names import says_unknown_badly
from openset.recognition.scores import Ids, Scores
from openset.tables.vocabulary import is_unknown_spelling

_LOGIT = "logit:"
_LAYOUTS = (
    ("logits_k", "labels_k", "logits_u"),
    ("openness_k", "predicted_k", "labels_k", "openness_u"),
)
_MOST = 1 << 20  # classes without names
Arrays = dict[str, NDArray[Any]]
_ZIP = b"PK\x03\x04"
_HEAD = 4096  # bytes of a file that tell what it holds
_OURS = frozenset({"label", "predicted", "openness", "id"})
_AGAIN = "_duplicated_0"  # what Polars calls a second column of one name
_MARKS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_ROWS = 20  # before the last, whose digits it is held against
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
    if data.startswith(_ZIP):  # the list of its members is at the end
        message = f"{path} is the beginning of an .npz archive"
        raise refuse("OS102", message, fix="copy or download it again, or write it again")
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
    except InputError:
        raise
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
    ids = _ids(arrays, known.shape[:1], unknown.shape[:1])
    if layout is _LAYOUTS[0]:
        made = Scores.from_logits(known, labels, unknown, openness=openness, classes=names)
        return replace(made, ids=ids)
    named = arrays.get("predicted_u")
    columns = [arrays["predicted_k"], labels, *([] if named is None else [named])]
    top = max((int(c.max()) for c in columns if c.size and c.dtype.kind in "iu"), default=0)
    if names is None and top >= _MOST:
        message = f"classes are numbered up to {top:,}, and nothing names them"
        raise refuse("OS117", message, example=str(top))
    classes = tuple(map(str, range(top + 1))) if names is None else tuple(names)
    return Scores(arrays["predicted_k"], labels, known, unknown, named, classes, ids=ids)


def _ids(arrays: Arrays, known: tuple[int, ...], unknown: tuple[int, ...]) -> Ids | None:
    """What the samples of either kind are called, if the archive says."""
    if not {"ids_k", "ids_u"} & set(arrays):
        return None
    given = tuple(arrays.get(name, np.empty(0)) for name in ("ids_k", "ids_u"))
    for ids, shape, which in zip(given, (known, unknown), ("known", "unknown"), strict=True):
        if ids.shape != shape:
            raise refuse("OS802", f"ids of {which} samples have shape {ids.shape}, not {shape}")
    return given[0], given[1]


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
    if unknown.ndim == 2 and labels.dtype.kind in "iu":  # a column of logits is a known class
        both |= (labels >= 0) & (labels < unknown.shape[1])
    if both.any():
        at, count = int(np.flatnonzero(both)[0]), int(both.sum())
        message = f"{count} of {len(labels)} unknown samples have the label of a known class"
        raise refuse("OS809", message, count=count, example=f"sample {at}: {labels[at]}")


def _from_table(path: Path, data: bytes, openness: str) -> Scores:
    columns = _columns(path, data)
    logits = [name for name in columns if name.startswith(_LOGIT)]
    needed = {"label"} if logits else {"label", "predicted", "openness"}
    if not needed <= set(columns):
        raise _refuse_header(path, list(columns))
    unknown = _says_unknown(columns["label"])
    if logits:
        made = _from_logit_columns(columns, logits, unknown, openness)
    else:
        made = _from_columns(columns, unknown)
    ids = columns.get("id")
    said = [_left_empty(columns["label"], unknown), cut_off(data)]
    return replace(
        made,
        ids=None if ids is None else (ids[~unknown], ids[unknown]),
        said=tuple(finding for finding in said if finding is not None),
    )


def _columns(path: Path, data: bytes) -> Arrays:
    """The columns of a table as text, without spaces around it; ours in lower case."""
    import polars

    try:
        table = polars.read_csv(data, infer_schema=False)
    except (polars.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise _refuse_table(path, data, str(error).partition("\n")[0]) from error
    head = [_known_name(name) for name in table.columns]
    again = [name.removesuffix(_AGAIN) for name in head if _AGAIN in name]
    twice = next((name for name in again if name in _OURS or name.startswith(_LOGIT)), "")
    if twice:
        raise refuse("OS432", f"{path} has two columns {twice!r}", example=twice)
    _refuse_short(path, table.null_count().row(0), table.row(-1) if len(table) else ())
    texts = (table[name].fill_null("").to_numpy().astype(str) for name in table.columns)
    return {name: np.strings.strip(text) for name, text in zip(head, texts, strict=True)}


def _known_name(name: str) -> str:
    """A name of ours whatever its case; others as they are."""
    plain = name.strip()
    return plain.lower() if plain.lower().removesuffix(_AGAIN) in _OURS else plain


def _refuse_short(path: Path, empty: tuple[int, ...], last: tuple[str | None, ...]) -> None:
    """A last row that ends before its last columns, which no other row leaves empty."""
    if len(last) > 1 and last[-1] is None and empty[-1] == 1:
        row = ", ".join(text for text in last if text is not None)
        raise refuse(
            "OS102",
            f"{path} ends in the middle of a row",
            example=row[-80:],
            cause="a copy or a program that was stopped",
            fix="write the file again",
        )


def _refuse_header(path: Path, names: list[str]) -> InputError:
    """Columns that are none of ours: another separator, no header, or other names."""
    there = ", ".join(names)
    message, example = f"{path} has the columns {there[:200]}", there[:80]
    other = next((mark for mark in _MARKS if mark in names[0]), "")
    if other and len(names) <= 2:
        cause = f"columns are separated by {_MARKS[other]}"
        return refuse("OS807", message, example=example, cause=cause, fix="separate them by commas")
    if any(map(_is_number, names)):
        fix = "begin the table with a line: label,predicted,openness"
        return refuse("OS807", message, example=example, cause="there is no header", fix=fix)
    return refuse("OS807", message, example=example)


def _refuse_table(path: Path, data: bytes, said: str) -> InputError:
    head = data[:_HEAD].partition(b"\n")[0].decode("utf-8", "replace")
    other = next((mark for mark in _MARKS if mark in head), "")
    if other:
        cause = f"columns are separated by {_MARKS[other]}, and numbers have decimal commas"
        fix = "separate columns by commas, and write decimal points"
        return refuse("OS102", f"{path} cannot be read as CSV: {said}", cause=cause, fix=fix)
    if "more fields" in said:
        cause = "rows have more columns than the header: decimal commas, or a name with a comma"
        fix = "write decimal points, and quote names"
        return refuse("OS102", f"{path} cannot be read as CSV: {said}", cause=cause, fix=fix)
    return refuse("OS102", f"{path} cannot be read as CSV: {said}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def cut_off(data: bytes) -> Finding | None:
    r"""A table that ends without a line end, in a number of fewer digits than all before it.

    >>> rows = b"".join(b"%d,0.123456\n" % row for row in range(30))
    >>> cut_off(rows + b"30,0.12").code, cut_off(rows + b"30,0.123457")
    ('OS825', None)
    """
    if data.endswith((b"\n", b"\r")):
        return None
    *rows, last = data.splitlines()
    digits = [len(row.rpartition(b",")[2].strip()) for row in rows[1:]]
    if len(digits) < _ROWS or len(last.rpartition(b",")[2]) >= min(digits):
        return None
    text = last[-80:].decode("utf-8", "replace")
    said = f"the table ends without a line end, in {text.rpartition(',')[2]}, which is shorter than"
    return Finding("OS825", Level.WARNING, f"{said} in the {len(digits)} rows before", 1, text)


def _left_empty(label: NDArray[Any], unknown: NDArray[np.bool_]) -> Finding | None:
    """Labels that are empty beside others that say "unknown"."""
    empty = label == ""
    count, other = int(empty.sum()), int(np.count_nonzero(unknown & ~empty))
    if not count or not other:
        return None
    said = f"{count} samples have no label and count as unknown, as {other} do that say so"
    row = f"row {int(np.flatnonzero(empty)[0]) + 1}"
    return Finding("OS826", Level.WARNING, said, count, row)


def _from_logit_columns(
    columns: Arrays, logits: list[str], unknown: NDArray[np.bool_], openness: str
) -> Scores:
    classes = [name.removeprefix(_LOGIT) for name in logits]
    table = np.stack([_numbers(columns[name], name) for name in logits], axis=1)
    label = _positions(_whole(columns["label"])[~unknown], classes, "label")
    return Scores.from_logits(
        table[~unknown], label, table[unknown], openness=openness, classes=classes
    )


def _from_columns(columns: Arrays, unknown: NDArray[np.bool_]) -> Scores:
    label, predicted = (_whole(columns[name]) for name in ("label", "predicted"))
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


def _whole(column: NDArray[Any]) -> NDArray[Any]:
    """Classes that are numbers, without the ``.0`` that a table with gaps gives them."""
    names, inverse = np.unique(column, return_inverse=True)
    plain = [re.sub(r"^(-?\d+)\.0*$", r"\1", name) for name in names.tolist()]
    return np.array(plain)[inverse] if len(plain) else column


def _says_unknown(column: NDArray[Any]) -> NDArray[np.bool_]:
    names, inverse = np.unique(_whole(column), return_inverse=True)
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
        raise _refuse_text(column, name) from error


def _refuse_text(column: NDArray[Any], name: str) -> InputError:
    """What is no number in a column of numbers: how many, the first, and what it looks like."""
    bad = [at for at, text in enumerate(column.tolist()) if not _is_number(text)]
    first = str(column[bad[0]])
    cause, fix = "", ""
    if first == name:
        cause = "tables were joined with their headers"
        fix = "leave the header in the first line alone"
    elif _is_number(first.replace(",", "")):
        cause, fix = "decimal commas, or commas between thousands", "write 1234.5"
    elif not first:
        cause, fix = "an empty line, or a row that was cut", "leave that line out, or complete it"
    message = f"{len(bad)} of {len(column)} rows have no number in the column {name!r}"
    return refuse(
        "OS108",
        message,
        count=len(bad),
        example=f"row {bad[0] + 1}: {first!r}",
        cause=cause,
        fix=fix,
    )


def _positions(column: NDArray[Any], classes: list[str], name: str) -> NDArray[np.int32]:
    """Where each name is in the list of classes."""
    place = {klass: at for at, klass in enumerate(classes)}
    names, inverse = np.unique(column, return_inverse=True)
    strange = [str(one) for one in names if str(one) not in place]
    if strange:
        count = int(np.isin(column, strange).sum())
        message = f"{count} samples have a {name} that is no known class"
        slip = says_unknown_badly(strange[0])
        raise refuse(
            "OS822" if slip else "OS803", message, count=count, example=repr(strange[0]),
            fix="write unknown, -1 or nothing as the label of unknown samples" if slip else "",
        )  # fmt: skip
    return np.array([place[str(one)] for one in names], np.int32)[inverse]
