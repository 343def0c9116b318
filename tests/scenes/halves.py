"""Real trainings whose chance belongs to images and not to processes: alone, or under torchrun.

Run as a program it trains every case and writes the weights it began and ended with:
``halves.py OUT DATA``. What differs between processes by design is taken away: each image draws the
same regions and outliers, nothing is dropped, norms stay as they are, and so few regions of an
image are sampled that it always has as many.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

REGIONS: dict[str, Any] = {}
QUERIES = {"detector": "deformable_detr", "options": {"size": "small", "queries": 20}}
RT_DETR = {"detector": "rt_detr", "options": {"size": "small"}}
CASES: dict[str, dict[str, Any]] = {
    "base": REGIONS,
    "vos": {"method": "vos", "method_options": {"queue": 3, "start": 0.25, "weight": 1.0}},
    "opendet": {"method": "opendet", "method_options": {"queue": 8, "start": 0.0}},
    "siren": {"method": "siren", "method_options": {"inner": 8, "weight": 1.0}},
    "ore": {"method": "ore", "method_options": {"items": 3, "start": 0.25}},
    "queries": QUERIES,
    "prob": {**QUERIES, "method": "prob", "method_options": {"group": 2, "weight": 0.01}},
    "siren on queries": {**QUERIES, "method": "siren", "method_options": {"inner": 8}},
    "prob on RT-DETR": {**RT_DETR, "method": "prob", "method_options": {"group": 2}},
}
STEPS, BATCH = 4, 4
SAMPLED = 24  # regions of an image, and anchors


def asked(case: str) -> Any:
    from scenes.training import recipe

    changes = {"steps": STEPS, "batch": BATCH, "optimizer": "sgd", "lr": 0.01, "clip": 1.0}
    return recipe(**changes, ema=0.5, **CASES[case])


def data(truth: Path) -> Any:
    """Every second image has one of its two objects: processes have different numbers of them."""
    from openset.training import TrainingData

    whole = TrainingData.of(truth)
    parts = {
        name: tuple(one[: 2 - at % 2] for at, one in enumerate(getattr(whole, name)))
        for name in ("boxes", "classes")
    }
    return replace(whole, **parts)


def without_chance() -> None:
    """Let torch draw one row for all images, and norms keep what they have seen."""
    import torch

    def of_rows(name: str) -> Any:
        stock = getattr(torch, name)

        def drawn(*shape: Any, device: Any = None, dtype: Any = None, **more: Any) -> Any:
            size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
            if len(size) < 2 or more:
                return stock(*shape, device=device, dtype=dtype, **more)
            chance = torch.Generator().manual_seed(size[1])
            row = stock(size[1:], generator=chance, dtype=dtype)
            return row.to(device).expand(size).clone()

        return drawn

    for name in ("rand", "randn"):
        setattr(torch, name, of_rows(name))
    norm: Any = torch.nn.modules.batchnorm._BatchNorm
    norm.train = lambda self, mode=True: torch.nn.Module.train(self, False)


def plain(model: Any) -> None:
    """Sample few regions; drop nothing, and add no noise."""
    network = model.network
    if hasattr(network, "roi_heads"):
        for sampler in (network.roi_heads.fg_bg_sampler, network.rpn.fg_bg_sampler):
            sampler.batch_size_per_image = SAMPLED
        return
    network.config.num_denoising = 0
    for part in network.modules():
        for name in ("p", "dropout", "attention_dropout", "activation_dropout"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.0)


def main() -> None:
    import torch

    from openset.nets.processes import processes
    from openset.training import loop

    torch.set_num_threads(1)
    without_chance()
    out, truth, began = Path(sys.argv[1]), Path(sys.argv[2]), {}
    stock: Any = loop._prepared

    def prepared(*given: Any) -> Any:
        state, said = stock(*given)
        plain(state.model)
        held = state.model.network.state_dict()
        began["model"] = {name: value.clone() for name, value in held.items()}
        return state, said

    loop._prepared = prepared  # type: ignore[assignment]
    with processes() as among:
        for case in CASES:
            done = loop.train(asked(case), data(truth), out / case, device="cpu", log_every=1)
            if among.first:
                torch.save(began["model"], done.folder / "began.pt")


if __name__ == "__main__":
    main()
