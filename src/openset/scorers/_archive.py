"""Archive: dataclasses of arrays as ``.npz``, and back. Nothing in such a file is ever executed.

Fields are arrays, numbers, text, or dataclasses of these; what is not an array is JSON under the
key ``openset``. The same bytes are written every time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from openset.files import load_arrays, replacing
from openset.findings import InputError, UsageError, refuse

SCHEMA_VERSION = 1
T = TypeVar("T")
_KEY = "openset"
_FIX = {"head": "write it with openset.scorers.save_head"}


def save(path: Path, kind: str, record: Any, **more: Any) -> None:
    """Write a dataclass of arrays; `more` travels beside it, as JSON."""
    arrays, plain = flatten(record)
    write(path, kind, arrays, {**more, "fields": plain})


def load(path: Path, kind: str, cls: type[T]) -> T:
    """Read a dataclass that `save` has written."""
    arrays, meta = read(path, kind)
    try:
        return build(cls, arrays, meta["fields"])
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise _unreadable(path, kind, error) from error


def write(path: Path, kind: str, arrays: Mapping[str, NDArray[Any]], meta: Any) -> None:
    """Write arrays and JSON to one file."""
    statement = {"schema_version": SCHEMA_VERSION, "kind": kind, **meta}
    text = np.array(json.dumps(statement, sort_keys=True))
    with replacing(path, folder=False) as target, target.open("wb") as stream:
        np.savez(stream, **{_KEY: text}, **arrays)  # type: ignore[arg-type]


def read(path: Path, kind: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the JSON of a file of some kind."""
    try:
        arrays = load_arrays(path)
        meta = dict(json.loads(str(arrays.pop(_KEY))))
    except InputError as error:
        if error.findings[0].code != "OS102":  # Python objects in place of numbers
            raise
        raise _unreadable(path, kind, error) from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _unreadable(path, kind, error) from error
    found = meta.get("kind"), meta.get("schema_version")
    if found != (kind, SCHEMA_VERSION):
        message = f"{path} holds {found[0]} of version {found[1]}, not {kind} of {SCHEMA_VERSION}"
        raise refuse("OS507", message, fix=_FIX.get(kind, ""))
    return arrays, meta


def _unreadable(path: Path, kind: str, error: Exception) -> InputError:
    # NumPy would advise to unpickle it.
    reason = "not an .npz of plain arrays" if "pickle" in str(error) else str(error)
    if isinstance(error, KeyError):
        reason = f"it has no {reason}"
    return refuse("OS507", f"{path} cannot be read: {reason}", fix=_FIX.get(kind, ""))


def flatten(record: Any, prefix: str = "") -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays of a dataclass, and its plain fields, nested names joined by a dot."""
    arrays: dict[str, NDArray[Any]] = {}
    plain: dict[str, Any] = {}
    for item in fields(record):
        value, name = getattr(record, item.name), prefix + item.name
        if is_dataclass(value):
            inner_arrays, inner_plain = flatten(value, name + ".")
            arrays |= inner_arrays
            plain |= inner_plain
        elif isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            plain[name] = value
    return arrays, plain


def build(
    cls: type[T], arrays: Mapping[str, NDArray[Any]], plain: Mapping[str, Any], prefix: str = ""
) -> T:
    """The dataclass that `flatten` took apart."""
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for item in fields(cls):  # type: ignore[arg-type]
        name, kind = prefix + item.name, hints[item.name]
        if is_dataclass(kind):
            values[item.name] = build(kind, arrays, plain, name + ".")  # type: ignore[arg-type]
        else:
            values[item.name] = arrays[name] if name in arrays else plain[name]
    return cls(**values)
