"""Arrays from whatever holds numbers: tensors by what they can do, torch is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.refusals import wrong_type

WHERE = "the input"


def array(value: Any) -> NDArray[Any]:
    """A NumPy array from a tensor, an array or a list."""
    for step in ("detach", "cpu", "numpy"):
        if hasattr(value, step) and not isinstance(value, np.ndarray):
            value = getattr(value, step)()
    try:
        made = np.asarray(value)
    except ValueError as error:
        raise wrong_type(WHERE, "column", "rectangular", [0], value) from error
    if made.dtype.kind == "O":
        raise wrong_type(WHERE, "column", "numbers or text", [0], value)
    return made


def scalar(value: Any) -> Any:
    """A number or text, also out of a tensor."""
    return value if isinstance(value, (int, str)) else array(value).reshape(-1)[0].item()
