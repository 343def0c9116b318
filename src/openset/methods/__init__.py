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
from typing import TYPE_CHECKING

from openset.late import late
from openset.plugins import records

if TYPE_CHECKING:
    from openset.methods._spec import DetectorMethod, Method, group_mean, method

__all__ = ["DetectorMethod", "Method", "group_mean", "method", "table"]
_TORCH = ("DetectorMethod", "Method", "group_mean", "method")
__getattr__ = late(__name__, dict.fromkeys(_TORCH, "_spec"))


def table() -> Mapping[str, DetectorMethod]:
    """Every method, by name."""
    return records(__name__, "method")
