"""Polars at the edge: CSV files as frames of text, and frames as typed NumPy columns.

CSV has no types. Every field is read as text and converted here, so that ``000139`` stays a name
and a bad number is reported with its row.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset.files import load
from openset.findings import refuse
from openset.json_text import compact
from openset.refusals import missing_key, shown, undecodable, wrong_type
from openset.tables.columns import text_column

if TYPE_CHECKING:
    import polars as pl

_CANONICAL_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
_SCIENTIFIC = r"^-?[0-9]([.,][0-9]+)?[eE]\+[0-9]{2,}$"
_TRUE = ("1", "true", "True", "TRUE", "1.0")
_FALSE = ("0", "false", "False", "FALSE", "0.0")

_AGAIN = re.compile(r"(.+)_duplicated_\d+")


def first_line(data: bytes) -> bytes:
    """The first line that is not blank, whatever ends it."""
    return re.split(rb"[\r\n]", data.lstrip(), maxsplit=1)[0].strip()


def read_csv(path: Path, separator: str = ",") -> pl.DataFrame:
    """A CSV file, every column as text, empty fields as null; blank lines are no rows."""
    import polars as pl

    data = load(path)
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    try:
        frame = pl.read_csv(data, separator=separator, infer_schema=False)
        _refuse_twice(frame, path)
        _refuse_header_again(frame, path)
        _refuse_cut(frame, data, path)
        return frame.filter(~pl.all_horizontal(pl.all().is_null()))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        why = str(error).strip().partition("\n")[0]
        raise undecodable(str(path), why, cause="not a CSV file with a header") from error


def _refuse_twice(frame: pl.DataFrame, path: Path) -> None:
    """Refuse a column that is there twice, which polars calls otherwise: which one is meant?"""
    again = [found[1] for name in frame.columns if (found := _AGAIN.fullmatch(name))]
    if again:
        message = f"{path} has the column {shown(again[0])} twice"
        raise refuse("OS432", message, count=len(again), example=again[0])


def _refuse_header_again(frame: pl.DataFrame, path: Path) -> None:
    """Refuse a row that repeats the header: files were put one after the other."""
    import polars as pl

    if not frame.width or not frame[:, 0].is_in([frame.columns[0]]).any():
        return
    again = frame.select(
        pl.all_horizontal(pl.col(name) == pl.lit(name) for name in frame.columns).arg_true()
    ).to_series()
    if len(again):
        message = f"{path} has its header again, {len(again)} times, among the rows"
        example = f"row {again[0] + 1}: {','.join(frame.columns)[:80]}"
        raise refuse("OS119", message, count=len(again), example=example)


def _refuse_cut(frame: pl.DataFrame, data: bytes, path: Path) -> None:
    """Refuse a file whose last line has no end, and lacks values that every other line has."""
    if len(frame) < 2 or data.endswith((b"\n", b"\r")):
        return
    last = frame[-1].null_count().row(0)
    before = frame[:-1].null_count().row(0)
    lost = [name for name, at, of in zip(frame.columns, last, before, strict=True) if at > of == 0]
    if lost and lost[-1] == frame.columns[-1]:
        line = data.rpartition(b"\n")[2].decode("utf-8", "replace")
        raise refuse(
            "OS102",
            f"{path} ends in the middle of its last line, which has no {shown(lost[0])}",
            example=f"row {len(frame)}: {shown(line)}",
            cause="the file was cut off, by a copy or a program that was stopped: rows are missing",
            fix="copy or write the file again",
        )


def text(series: pl.Series, where: str) -> NDArray[Any]:
    """Text, without gaps."""
    _refuse_null(series, where)
    return text_column(_strings(series, where).to_list())


def identifiers(series: pl.Series, where: str) -> NDArray[Any]:
    """Integers if all are written as integers are, else text.

    ``000139`` is text: as a number it would no longer name its image.
    """
    _refuse_rounded(series, where)
    return _identifiers(series, where)


def _refuse_rounded(series: pl.Series, where: str) -> None:
    """Refuse long numbers as spreadsheets write them: their last digits are gone."""
    import polars as pl

    if series.dtype != pl.String or not series.str.contains(_SCIENTIFIC).any():
        return
    rounded = series.str.contains(_SCIENTIFIC)
    if (rounded | series.str.contains(_CANONICAL_INTEGER)).all():  # else they are names
        row, count = rounded.arg_true()[0], int(rounded.sum())
        message = f"{count} of {len(series)} values of {series.name!r} in {where} are in scientific"
        example = f"row {row + 1}: {series[row]}"
        raise refuse("OS120", f"{message} notation", count=count, example=example)


def _identifiers(series: pl.Series, where: str) -> NDArray[Any]:
    import polars as pl

    _refuse_null(series, where)
    if series.dtype == pl.String and series.str.contains(_CANONICAL_INTEGER).all():
        return series.cast(pl.Int64).to_numpy()
    if series.dtype.is_integer():
        whole = series.cast(pl.Int64, strict=False)
        if whole.null_count():
            rows = whole.is_null().arg_true().to_list()
            raise wrong_type(where, series.name, "integers of 64 bits", rows, series[rows[0]])
        return whole.to_numpy()
    return text_column(_strings(series, where).to_list())


def _strings(series: pl.Series, where: str) -> pl.Series:
    """A column as text, refused if its values have parts."""
    import polars as pl

    if series.dtype.is_nested():
        raise wrong_type(where, series.name, "plain values", [0], series[0], len(series))
    return series.cast(pl.String)


def numbers(series: pl.Series, where: str, *, gaps: bool = False) -> NDArray[np.float64]:
    """Floats; with ``gaps`` an absent value is NaN."""
    import polars as pl

    if not gaps:
        _refuse_null(series, where)
    if not (series.dtype.is_numeric() or series.dtype in (pl.String, pl.Boolean, pl.Null)):
        raise wrong_type(where, series.name, "numbers", [0], series[0], len(series))
    stripped = series.str.strip_chars() if series.dtype == pl.String else series
    values = stripped.cast(pl.Float64, strict=False)
    bad = (values.is_null() & series.is_not_null()).arg_true()
    if len(bad):
        raise wrong_type(where, series.name, "numbers", bad.to_list(), series[bad[0]])
    return values.fill_null(np.nan).to_numpy()


def integers(series: pl.Series, where: str) -> NDArray[np.int64]:
    """Integers."""
    values = _identifiers(series, where)
    if values.dtype.kind == "i":
        return values
    floats = numbers(series, where)
    rows = np.flatnonzero(~(np.abs(floats) < 1 << 53) | (floats != np.trunc(floats)))
    if len(rows):
        row = int(rows[0])
        raise wrong_type(where, series.name, "integers", rows.tolist(), series[row])
    return floats.astype(np.int64)


def flags(series: pl.Series, where: str) -> NDArray[np.bool_]:
    """Booleans written as 0/1 or true/false; an absent value is False."""
    values = _strings(series, where).fill_null("0").str.strip_chars()
    true = values.is_in(_TRUE)
    bad = (~(true | values.is_in(_FALSE))).arg_true()
    if len(bad):
        raise wrong_type(where, series.name, "0, 1, true or false", bad.to_list(), series[bad[0]])
    return true.to_numpy()


def attribute(series: pl.Series) -> NDArray[Any]:
    """A column of whatever type its values have: booleans, integers, floats, else text."""
    import polars as pl

    if series.dtype in (pl.List, pl.Struct, pl.Array):
        return text_column(["" if v is None else compact(v) for v in series.to_list()])
    whole = series.null_count() == 0
    if series.dtype == pl.String:
        if whole and series.is_in(["true", "false"]).all():
            return (series == "true").to_numpy()
        if whole and series.str.contains(_CANONICAL_INTEGER).all():
            return series.cast(pl.Int64).to_numpy()
        floats = series.cast(pl.Float64, strict=False)
        if floats.null_count() == series.null_count():
            return floats.fill_null(np.nan).to_numpy()
        return text_column(series.fill_null("").to_list())
    if whole or series.dtype.is_float():
        return series.to_numpy()
    return series.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _refuse_null(series: pl.Series, where: str) -> None:
    if series.null_count():
        rows = series.is_null().arg_true().to_list()
        raise missing_key(where, series.name, rows, len(series))


def write_csv(columns: dict[str, NDArray[Any] | list[Any]], path: Path) -> None:
    """A CSV file with the given columns; None is written as an empty field."""
    from openset.files import save

    save(path, frame(columns).write_csv().encode())


def frame(columns: dict[str, NDArray[Any] | list[Any]]) -> pl.DataFrame:
    """A frame of NumPy columns and lists."""
    import polars as pl

    return pl.DataFrame([_series(name, values) for name, values in columns.items()])


def _series(name: str, values: NDArray[Any] | list[Any]) -> pl.Series:
    import polars as pl

    if isinstance(values, np.ndarray) and values.dtype.kind in "UT":
        return pl.Series(name, values.tolist(), pl.String)
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return pl.Series(name, np.ascontiguousarray(values))
    # CSV has no place for what has parts: a cell holds it as JSON.
    held = [compact(value) if isinstance(value, list) else value for value in _listed(values)]
    return pl.Series(name, held, strict=False)


def _listed(values: NDArray[Any] | list[Any]) -> list[Any]:
    return values if isinstance(values, list) else values.tolist()
