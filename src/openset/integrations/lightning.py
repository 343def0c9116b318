"""Lightning: a callback that evaluates every validation epoch and logs the numbers.

Give it to the trainer. ``validation_step`` returns what it predicted: ``{"preds": [...], "target":
[...]}``, or a pair of both, each a list of torchvision dictionaries. With several processes the
numbers are those of all (`openset.integrations.torchmetrics`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openset.integrations._spec import integration
from openset.late import late

if TYPE_CHECKING:
    from openset.integrations._lightning_callback import OpenSetCallback

__all__ = ["OpenSetCallback", "callback"]
__getattr__ = late("openset.integrations", {"OpenSetCallback": "_lightning_callback"})


@integration(
    "lightning",
    requires=("lightning", "torchmetrics"),
    summary="A callback that logs the numbers of every validation epoch.",
)
def callback(prefix: str = "val/", **options: Any) -> OpenSetCallback:
    """An `OpenSetCallback` with the options of `openset.evaluate`."""
    from openset.integrations._lightning_callback import OpenSetCallback

    return OpenSetCallback(prefix, **options)
