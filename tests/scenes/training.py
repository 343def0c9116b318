"""A training that takes a second: squares on eight small images, a tiny recipe, what it wrote.

Run as a program, it trains and is killed on the way: ``training.py FOLDER DATA KILL_AT [CHANGES]``,
with changes of the recipe as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__)
LABELS = ("red", "green")


def make_data(folder: Path) -> Path:
    from PIL import Image

    from openset.formats import write
    from openset.tables import Annotations, Images

    chance = np.random.default_rng(0)
    names, boxes, image, label = [], [], [], []
    for at in range(8):
        pixels = np.full((64, 64, 3), 90, np.uint8)
        for _ in range(2):
            x, y, side = chance.integers(2, 34), chance.integers(2, 34), chance.integers(16, 28)
            kind = int(chance.integers(2))
            pixels[y : y + side, x : x + side] = (220, 30, 30) if kind == 0 else (30, 220, 30)
            boxes.append([x, y, side, side])
            image.append(at)
            label.append(kind)
        names.append(f"{at}.png")
        Image.fromarray(pixels).save(folder / names[-1])
    size = np.full(8, 64.0)
    truth = Annotations(
        Images(np.arange(8), np.array(names), size, size),
        LABELS,
        image,
        label,
        np.array(boxes, float),
    )
    write(truth, folder / "train.json")
    return folder / "train.json"


def recipe(**changes):
    from openset.training import Recipe

    held = {
        "detector": "faster_rcnn",
        "options": {"backbone": "small", "shortest": 64, "longest": 64},
        "steps": 8,
        "batch": 2,
        "optimizer": "adamw",
        "lr": 1e-3,
        "clip": 5.0,
        "ema": 0.9,
        "flip": 0.5,
        "jitter": 0.2,
    }
    return Recipe.of({**held, **changes})


def trained(truth, folder, **changes):
    from openset.training import TrainingData, train

    return train(recipe(**changes), TrainingData.of(truth), folder, device="cpu", log_every=1,
                 checkpoint_every=3)  # fmt: skip


def weights(folder, file="model.pt"):
    from openset.nets.weights import read

    return read(Path(folder) / file)["model"]


def same(one, two):
    import torch

    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def main() -> None:
    import torch

    from openset.training import TrainingData, train

    folder, truth, kill_at = sys.argv[1], sys.argv[2], int(sys.argv[3])
    changes = json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}
    torch.set_num_threads(1)

    def watch(progress):
        if progress.step == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    train(recipe(**changes), TrainingData.of(truth), folder, device="cpu", checkpoint_every=3,
          log_every=1, progress=watch)  # fmt: skip


if __name__ == "__main__":
    main()
