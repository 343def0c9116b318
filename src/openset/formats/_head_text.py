"""Head text: a detector's last layer as JSON values, and back, bit for bit.

What comes out of a file is not trusted: a value that is not ours is refused, and nothing is
allocated that the text itself does not fill.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import InputError, UsageError, refuse
from openset.tables import Head

_MOST = 1 << 26  # numbers in a weight: a thousand times a usual head, and a file can still hold it
_FLOAT = np.dtype("<f4")


def head_values(head: Head | None) -> dict[str, Any]:
    """What describes a head in a statement of JSON: one key, or none if there is no head."""
    if head is None:
        return {}
    if head.weight.size > _MOST:
        raise UsageError(f"a head of {head.weight.size:,} weights is too large to be written")
    text = {name: _text(getattr(head, name)) for name in ("weight", "bias")}
    return {"head": {"layout": head.layout, "shape": head.weight.shape, **text}}


def head_from(values: Any, where: str) -> Head | None:
    """The head that `head_values` described, refused if it is damaged or of somebody else."""
    if values is None:
        return None
    if not isinstance(values, dict):
        raise refuse_head(where, "it is no object")
    try:
        rows, width = _shape(values["shape"])
        weight, bias = (_numbers(values[name], n) for name, n in _sizes(rows, width).items())
        return Head(weight.reshape(rows, width), bias, values["layout"])
    except KeyError as error:
        raise refuse_head(where, f"it has no {error}") from error
    except (TypeError, ValueError, UsageError) as error:
        raise refuse_head(where, str(error)) from error


def refuse_head(where: str, why: str) -> InputError:
    """The refusal of a head in a file."""
    return refuse("OS115", f"the last layer in {where} cannot be used: {why}")


def _sizes(rows: int, width: int) -> dict[str, int]:
    return {"weight": rows * width, "bias": rows}


def _shape(shape: Any) -> tuple[int, int]:
    whole = isinstance(shape, list) and len(shape) == 2 and all(type(n) is int for n in shape)
    if not whole or min(shape) < 1 or shape[0] * shape[1] > _MOST:
        raise ValueError(f"its shape {str(shape)[:60]} is not that of a weight")
    return shape[0], shape[1]


def _text(values: NDArray[np.float32]) -> str:
    return base64.b64encode(values.astype(_FLOAT, copy=False).tobytes()).decode("ascii")


def _numbers(text: Any, count: int) -> NDArray[np.float32]:
    data = base64.b64decode(text, validate=True)
    if len(data) != count * _FLOAT.itemsize:
        raise ValueError(f"{len(data):,} bytes are not {count:,} numbers")
    return np.frombuffer(data, _FLOAT).astype(np.float32, copy=False)
