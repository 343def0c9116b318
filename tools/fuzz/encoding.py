"""Encoding: the files that hold a tree, by name, one function a format.

What the generator makes seldom is a way to write that is not in the tree.
"""

from __future__ import annotations

import csv
import io
import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np


def json_file(tree: Any, rng: random.Random) -> dict[str, bytes]:
    """JSON, with or without escapes."""
    return {"file": json.dumps(tree, ensure_ascii=rng.random() < 0.5).encode()}


def json_lines_file(tree: Any, rng: random.Random) -> dict[str, bytes]:
    """A line of JSON per record."""
    rows = tree if isinstance(tree, list) else [tree]
    return {"file": b"\n".join(json.dumps(row).encode() for row in rows)}


def csv_file(tree: Any, rng: random.Random) -> dict[str, bytes]:
    """CSV with one of the separators that are read."""
    return {"file": _cells(tree, rng.choice(",,,;\t"))}


def _cells(tree: Any, separator: str = ",") -> bytes:
    rows = tree if isinstance(tree, list) else [[tree]]
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    for row in rows:
        writer.writerow(["" if x is None else x for x in (row if isinstance(row, list) else [row])])
    return stream.getvalue().encode()


def _words(tree: Any) -> bytes:
    rows = tree if isinstance(tree, list) else [[tree]]
    return "\n".join(
        " ".join(map(str, row)) if isinstance(row, list) else str(row) for row in rows
    ).encode()


def _xml(name: str, value: Any) -> str:
    """Objects are elements, lists are elements of one name."""
    if isinstance(value, list):
        return "".join(_xml(name, one) for one in value)
    inner = (
        "".join(_xml(str(key), one) for key, one in value.items())
        if isinstance(value, dict)
        else escape("" if value is None else str(value))
    )
    return f"<{name}>{inner}</{name}>"


def voc_file(tree: Any, rng: random.Random) -> dict[str, bytes]:
    """XML files; now and then a web page."""
    files = tree if isinstance(tree, dict) else {"a.xml": tree}
    root = rng.choice(("annotation", "html")) if rng.random() < 0.02 else "annotation"
    return {str(name): _xml(root, held).encode() for name, held in files.items()}


def lines_file(tree: Any, rng: random.Random) -> dict[str, bytes]:
    """Files of words."""
    files = tree if isinstance(tree, dict) else {"a.txt": tree}
    return {str(name): _words(rows) for name, rows in files.items()}


def yolo_file(tree: Any, rng: random.Random) -> dict[str, bytes]:
    """YAML, CSV and files of words."""
    import yaml

    files = tree if isinstance(tree, dict) else {"data.yaml": tree}
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    coders = {".yaml": lambda t: yaml.dump(t, Dumper=dumper).encode(), ".csv": _cells}
    return {
        str(name): coders.get(Path(str(name)).suffix, _words)(held) for name, held in files.items()
    }


def parquet_file(tree: Any, rng: random.Random) -> dict[str, bytes]:
    """Parquet with a statement; now and then a column of another type."""
    import polars as pl

    kinds = (pl.Float64, pl.Int64, pl.String, pl.UInt64, pl.Int8, pl.Boolean, pl.Float32, pl.Null,
             pl.List(pl.Float32), pl.Categorical, pl.Date)  # fmt: skip
    columns = []
    for name, held in tree["columns"].items():
        if _is_deep(held["values"]):
            raise ValueError("polars would take minutes to make lists of lists of lists of lists")
        series = pl.Series(str(name), held["values"], strict=False)
        kind = rng.choice(kinds) if rng.random() < 0.04 else _polars_type(held["dtype"])
        with suppress(pl.exceptions.PolarsError, TypeError, ValueError):
            series = series.cast(kind, strict=False)
        columns.append(series)
    stream = io.BytesIO()
    pl.DataFrame(columns).write_parquet(stream, metadata={"openset": json.dumps(tree["meta"])})
    return {"file": stream.getvalue()}


def _is_deep(value: Any, most: int = 40) -> bool:
    """Whether lists are nested in each other; what is first is looked at, so is what was nested."""
    if isinstance(value, list) and most:
        return any(_is_deep(one, most - 1) for one in value)
    return not most


def _polars_type(name: str) -> Any:
    import polars as pl

    width = name.partition("*")[2]
    plain = {"i8": pl.Int64, "i4": pl.Int32, "f8": pl.Float64, "f4": pl.Float32, "b1": pl.Boolean}
    kind = plain.get(name.partition("*")[0], pl.String)
    return pl.Array(kind, int(width)) if width else kind


def arrays_file(tree: Any, rng: random.Random) -> dict[str, bytes]:
    """An archive of arrays; now and then with a header that claims gigabytes."""
    held = {str(name): _array(values) for name, values in tree.items()}
    stream = io.BytesIO()
    (np.savez if rng.random() < 0.7 else np.savez_compressed)(stream, **held)
    data = stream.getvalue()
    if rng.random() < 0.05:  # a header that claims gigabytes
        data = data.replace(b"'shape': (4", b"'shape': (" + rng.choice((b"9", b"4" * 11, b"-4")))
    return {"file": data}


def _array(values: Any) -> Any:
    try:
        return np.array(values)
    except ValueError:
        return np.array(values, object)


def toml_file(tree: Any, rng: random.Random) -> dict[str, bytes]:
    """TOML, tables in a line."""
    parts = tree if isinstance(tree, dict) else {"x": tree}
    return {"file": "\n".join(f"{k} = {_toml_value(v)}" for k, v in parts.items()).encode()}


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(str(k))} = {_toml_value(v)}" for k, v in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return {None: '""'}.get(
        value, json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")
    )
