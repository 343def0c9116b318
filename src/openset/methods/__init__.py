"""Methods: ways to train a detector for the open set, each a module inside its network.

A recipe names one (``method = "recognition_loss"``), `openset.training` hangs it into the network
before the first step, and from there its weights and buffers are the network's: optimiser,
checkpoint, model file and processes see them. `table()` lists all, built in or from third parties
(entry points in the group ``openset.methods``). Adding one is adding a file. Needs torch.

Not scorers, which look at a detector that is trained; and not the methods of
`openset.recognition`, which train classifiers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openset.plugins import records

if TYPE_CHECKING:
    from openset.methods._spec import DetectorMethod, Method, group_mean, method

__all__ = ["DetectorMethod", "Method", "group_mean", "method", "table"]


def table() -> Mapping[str, DetectorMethod]:
    """Every method, by name."""
    return records(__name__, "method")


def __getattr__(name: str) -> Any:
    """Names that need torch, imported on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from openset.methods import _spec

    return getattr(_spec, name)
