"""Bases of other packages for machines without them: as much as an integration calls.

A stand-in ``torchmetrics.Metric`` keeps list states, forgets them on ``reset`` and gathers them
over ``others`` (what other processes hold) before it computes, as torchmetrics 1.9 does.
"""

from __future__ import annotations

from types import ModuleType
from types import SimpleNamespace as Namespace
from typing import Any


class Metric:
    """``torchmetrics.Metric``."""

    def __init__(self) -> None:
        import torch

        self.device = torch.device("cpu")
        self.others: list[Metric] = []
        self._defaults: dict[str, Any] = {}
        self.compute = self._gathered(self.compute)  # type: ignore[method-assign]

    def add_state(self, name: str, default: list[Any], dist_reduce_fx: str) -> None:
        assert default == [] and dist_reduce_fx == "cat"
        self._defaults[name] = default
        setattr(self, name, [])

    def set_dtype(self, dtype: Any) -> None:
        self.dtype = dtype

    def reset(self) -> None:
        for name in self._defaults:
            setattr(self, name, [])

    def to(self, device: Any) -> Metric:
        return self

    def _gathered(self, compute: Any) -> Any:
        import torch

        def wrapped() -> Any:
            held = {name: getattr(self, name) for name in self._defaults}
            for name, parts in held.items():
                both = [*parts, *(part for one in self.others for part in getattr(one, name))]
                setattr(self, name, torch.cat(both) if self.others else both)
            found = compute()
            for name, parts in held.items():
                setattr(self, name, parts)
            return found

        return wrapped

    def compute(self) -> Any:
        raise NotImplementedError


class Callback:
    """``lightning.pytorch.Callback``."""


class Sample(dict):  # type: ignore[type-arg]
    """``fiftyone.Sample``: fields by key."""

    def has_field(self, name: str) -> bool:
        return name in self


class Labels(Namespace):
    """``fiftyone.Detection`` and ``Detections``: attributes, which may be set by key."""

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)


class Dataset(list):  # type: ignore[type-arg]
    """``fiftyone.Dataset``: samples in their order."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self.name = name

    add_samples = list.extend


def fiftyone() -> ModuleType:
    """The module of FiftyOne, as much as `as_fiftyone` calls."""
    made = ModuleType("fiftyone")
    kinds = {"Sample": Sample, "Detection": Labels, "Detections": Labels, "Dataset": Dataset}
    for name, kind in kinds.items():
        setattr(made, name, kind)
    return made


def modules() -> dict[str, ModuleType]:
    """The modules of the stand-ins, by name."""
    made = {name: ModuleType(name) for name in ("torchmetrics", "lightning", "lightning.pytorch")}
    made["torchmetrics"].Metric = Metric  # type: ignore[attr-defined]
    made["lightning.pytorch"].Callback = Callback  # type: ignore[attr-defined]
    return made
