"""JSON with located errors: msgspec where it can, the standard library for ``NaN``.

Python's `json` writes ``NaN`` and ``Infinity``, which are not JSON. They are read, so that checks
can count boxes and scores that are not finite instead of refusing the whole file; and written
again when a table holds them.
"""

from __future__ import annotations

import gc
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from openset.findings import InputError
from openset.refusals import undecodable, wrong_type

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def decode(data: bytes, where: str, type_: Any = Any) -> Any:
    """The value that `data` holds; `type_` is a msgspec type and must allow any JSON value."""
    import msgspec

    try:
        with collector_paused():
            return msgspec.json.decode(data, type=type_)
    except RecursionError as error:
        raise undecodable(where, "nested too deeply", cause="not a data file") from error
    except (msgspec.DecodeError, ValueError):
        value = _decode_leniently(data, where)
        return value if type_ is Any else msgspec.convert(value, type_)


def _decode_leniently(data: bytes, where: str) -> Any:
    try:
        text = data.decode("utf-8-sig")
        with collector_paused():
            value = json.loads(text)
    except UnicodeDecodeError as error:
        raise undecodable(where, f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode())
        rest = text[error.pos :].lstrip()
        if error.msg == "Extra data" and rest.startswith(("[", "{")):
            raise _second_document(where, f"at byte {at} of {len(data)}") from error
        cut = "" if rest else "the file is truncated"
        why = f"invalid JSON at byte {at} of {len(data)}: {error.msg}"
        raise undecodable(where, why, cause=cut) from error
    except RecursionError as error:
        raise undecodable(where, "nested too deeply", cause="not a data file") from error
    except ValueError as error:
        raise undecodable(where, error) from error
    if _SURROGATE.search(text):
        _refuse_half_characters(value, where)
    return value


def _second_document(where: str, place: str) -> InputError:
    return undecodable(
        where,
        f"a second JSON document begins {place}, behind one that is complete",
        cause="files were put one behind the other, as by cat a.json b.json",
        fix="join their lists into one, as jq -s add a.json b.json does, or give the files apart",
    )


def is_text(value: Any) -> bool:
    """Whether all text in a value can be written as UTF-8: JSON allows half a character."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_half_characters(value: Any, where: str) -> None:
    place = ""
    while not is_text(value):
        if not isinstance(value, (dict, list)):
            raise wrong_type(where, place, "text (half a surrogate pair)", [], value, 1)
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        key, value = next((k, v) for k, v in parts if not (is_text(k) and is_text(v)))
        place += f"[{key}]" if isinstance(key, int) else f".{key}"
        if not is_text(key):
            value = key


def encode(value: Any, *, finite: bool = True) -> bytes:
    """JSON bytes; ``finite=False`` writes NaN and Infinity as Python does."""
    if finite:
        import msgspec

        return msgspec.json.encode(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def compact(value: Any) -> str:
    """A nested value as compact JSON text."""
    return encode(value, finite=False).decode()


@contextmanager
def collector_paused() -> Iterator[None]:
    """No cyclic garbage collection: it doubles the time to build a million small objects."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def plain(value: Any) -> Any:
    """Only what JSON has: mappings, lists, strings, finite numbers, None."""
    if value is None or isinstance(value, (str, int)):  # most of them, and quickly
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return value
