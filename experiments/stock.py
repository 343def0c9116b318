r"""Does our training step teach a Faster R-CNN what torchvision's own step teaches it?

    python experiments/stock.py --work runs/methods --rows experiments/results/stock_digits.jsonl

trains the small Faster R-CNN of ``digits-small`` by both steps, several seeds each, minutes of a
CPU a training, and keeps a row for each: AP of the known digits and A-OSE on fresh test images.
What is in the file is not trained again. `methods_page` says what comes of it.

`stock_step` makes the same of any other training:

    with stock_step():
        train(recipe, data, folder)

A Faster R-CNN is then taught by the losses that torchvision's network returns for a list of images
and objects: its own proposals, chance and regions, image by image. All else is the same training.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from openset.detectors import find

OURS, STOCK = "base", "stock"
METRICS = ("ap_known", "a_ose")


@contextmanager
def stock_step() -> Iterator[None]:
    """Let every Faster R-CNN of this process be taught by torchvision's step meanwhile."""
    kind: Any = type(find("faster_rcnn").build(("any",), device="cpu", backbone="small"))
    ours = kind.forward
    kind.forward = _losses
    try:
        yield
    finally:
        kind.forward = ours


def _losses(model: Any, images: list[Any], targets: list[dict[str, Any]]) -> dict[str, Any]:
    """What torchvision's network returns; it numbers classes from 1, after the background."""
    shifted = [{**target, "labels": target["labels"] + 1} for target in targets]
    losses: dict[str, Any] = model.network(images, shifted)
    return losses


def main() -> None:
    """Train by both steps, and keep what is found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True, help="file that keeps the results")
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(8)))
    parser.add_argument("--steps", type=int, help="fewer steps, to try the script out")
    given = parser.parse_args()
    held = given.rows.read_text("utf-8").splitlines() if given.rows.exists() else []
    done = {(row["step"], row["seed"]) for row in map(json.loads, held)}
    for seed in given.seeds:
        for step in (OURS, STOCK):
            if (step, seed) not in done:
                row = json.dumps(learned(step, seed, given.work, given.images, given.steps))
                with given.rows.open("a", encoding="utf-8") as rows:
                    rows.write(row + "\n")
                print(row, flush=True)


def learned(step: str, seed: int, work: Path, images: int, steps: int | None) -> dict[str, Any]:
    """What one training comes to on the test images."""
    from methods_digits import Worlds, detected, recipe_of, taught

    import openset

    worlds, folder = Worlds.of(work, images), work / f"{step}-{seed}"
    recipe = recipe_of(OURS, seed, steps)
    with stock_step() if step == STOCK else nullcontext():
        about = taught(recipe, worlds.folders["train"], folder)
    found = detected(folder, worlds, "test")
    few = steps is not None  # it may have learned nothing
    result = openset.evaluate(
        worlds.truths["test"], found, metrics=METRICS, intervals=False, force=few
    )
    values = {name: float(result.value(name)) for name in METRICS}
    return {"step": step, "seed": seed, **values, "seconds": about["seconds"]}


if __name__ == "__main__":
    main()
