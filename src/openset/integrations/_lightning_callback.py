"""OpenSetCallback: a Lightning callback; see `openset.integrations.lightning`.

Kept apart because a class needs its base when it is made: nothing else here imports Lightning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lightning.pytorch import Callback

from openset.findings import UsageError
from openset.integrations._open_set_metric import OpenSetMetric

_WANTED = 'validation_step must return {"preds": [...], "target": [...]}, or a pair of both'


class OpenSetCallback(Callback):
    """Evaluates a validation epoch and logs its numbers.

    Args:
        prefix: Put before every name.
        **options: What `OpenSetMetric` takes: ``known``, ``names``, ``metrics`` ...
    """

    def __init__(self, prefix: str = "val/", **options: Any) -> None:
        self.prefix = prefix
        self.metric = OpenSetMetric(**options)

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Forget the last epoch."""
        self.metric.reset()
        self.metric.to(pl_module.device)

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, *_: Any, **__: Any
    ) -> None:
        """Add what the step has returned."""
        self.metric.update(*_pair(outputs))

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Log a number per metric; a sanity check of a few batches is not logged."""
        if getattr(trainer, "sanity_checking", False):
            return
        found = {self.prefix + name: value for name, value in self.metric.compute().items()}
        pl_module.log_dict(found, sync_dist=False)


def _pair(outputs: Any) -> tuple[Any, Any]:
    """Predictions and targets."""
    if isinstance(outputs, Mapping) and {"preds", "target"} <= outputs.keys():
        return outputs["preds"], outputs["target"]
    if isinstance(outputs, (tuple, list)) and len(outputs) == 2:
        return outputs[0], outputs[1]
    raise UsageError(f"{_WANTED}, not {type(outputs).__name__}")
