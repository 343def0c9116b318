"""What a training step costs, how busy it keeps a card, and what the card does at best.

For `real_images`. Operations are those that torch counts (matrix products and convolutions); the
limit is measured, not taken from a data sheet.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from openset.training import Recipe, TrainingData

if TYPE_CHECKING:
    from torch import Tensor


def cost(recipe: Recipe, data: TrainingData) -> dict[str, float]:
    """Operations of an image, how busy a step keeps the card, and the card's own limit."""
    import torch

    from openset.detectors import find
    from openset.training.data import Views

    built: Any = find(recipe.detector).build(data.labels, **{**recipe.options, "pretrained": None})
    built.train()
    views: list[Any] = [Views(data, recipe)[0, at % len(data)] for at in range(recipe.batch)]
    images = [image.to(built.device) for image, _ in views]
    targets = [{name: v.to(built.device) for name, v in target.items()} for _, target in views]

    def forward() -> list[Tensor]:
        with torch.autocast(built.device.type, torch.bfloat16):
            return list(built(images, targets).values())

    def step() -> None:
        torch.autograd.backward(torch.stack([loss.float() for loss in forward()]).sum())

    step()
    busy, kernels = profiled(step) if torch.cuda.is_available() else (0.0, 0.0)
    return {
        "flops_per_image": 3 * flops(forward) / recipe.batch,
        "matrix_flops": matrix_flops(),
        "busy": busy,
        "kernels_per_image": kernels / recipe.batch,
    }


def flops(forward: Callable[[], object]) -> float:
    """Floating-point operations of a forward pass, as torch counts them.

    A backward pass takes twice as many. Torch would count them too, but wrongly for convolutions of
    single channels.
    """
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        forward()
    return float(counter.get_total_flops())


def profiled(step: Callable[[], None]) -> tuple[float, float]:
    """Share of a step's time in which kernels run on the card, and their number."""
    import torch
    from torch._C._autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    ran = [e for e in seen.key_averages() if e.device_type == DeviceType.CUDA]
    used = sum(event.self_device_time_total for event in ran) / 1e6
    return used / seconds, float(sum(event.count for event in ran))


def matrix_flops(side: int = 8192, times: int = 20) -> float:
    """Operations per second of a large bfloat16 matrix product; 0 without a GPU."""
    import torch

    if not torch.cuda.is_available():
        return 0.0
    first, second = (torch.randn(side, side, device="cuda", dtype=torch.bfloat16) for _ in "ab")
    start, end = (torch.cuda.Event(enable_timing=True) for _ in "ab")
    for at in range(times + 3):
        if at == 3:
            start.record()
        first @ second
    end.record()
    torch.cuda.synchronize()
    return float(2 * side**3 * times / (start.elapsed_time(end) / 1000))
