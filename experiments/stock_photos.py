r"""Does our training step teach photographs what torchvision's own step teaches? AP on VOC 2007.

From the repository's root; `train` wants a GPU, and needs what that of `photographs` needs:

    python experiments/stock_photos.py prepare DATA --work device_carry
    python experiments/stock_photos.py train --work device_carry --out found
    python experiments/stock_photos.py judge found --work device_carry \
        --rows experiments/results/stock_photographs.jsonl

The detector, weights and schedule of `photographs`, shorter, on some of its pictures. What is
packed is small enough to be carried to a machine that takes little at a time. Trainings run side by
side, and each keeps what it found as it ends: whatever is there is judged. `methods_page` says
what comes of it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from shutil import copyfile

import numpy as np
import photographs
from stock import OURS, STOCK

from openset.detectors import load, run
from openset.tables import Annotations
from openset.training import TrainingData

PACKED = "resnet50_int8.safetensors"  # the weights, until they are unpacked
TRUTHS = {"train": "voc2007_trainval_coco.json.gz", "test": "voc2007_test_coco_difficult.json.gz"}
MOST = {"train": 1500, "test": 800}
STEPS, SIDE = 320, 256
IOU = 0.5
ROW = ("seed", "pictures", "side", "steps", "batch", "seconds", "images_per_second", "gpu", "torch")


def main() -> None:
    """One of the steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    steps = parser.add_subparsers(required=True)
    made = {name: steps.add_parser(name) for name in ("prepare", "train", "one", "judge")}
    made["prepare"].add_argument("data", type=Path)
    made["train"].add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    made["train"].add_argument("--jobs", type=int, default=6, help="trainings at a time")
    made["one"].add_argument("--method", choices=(OURS, STOCK), required=True)
    made["one"].add_argument("--seed", type=int, required=True)
    for name in ("train", "one"):
        made[name].add_argument("--out", type=Path, required=True)
        made[name].add_argument("--steps", type=int, default=STEPS)
        made[name].add_argument("--batch", type=int, default=photographs.RECIPE.batch)
        made[name].add_argument("--side", type=int, default=SIDE)
    made["judge"].add_argument("found", type=Path)
    made["judge"].add_argument("--rows", type=Path, required=True, help="file of the results")
    for name, step in (("prepare", prepare), ("train", teach_all), ("one", one), ("judge", judge)):
        made[name].add_argument("--work", type=Path, required=True)
        made[name].set_defaults(step=step)
    given = parser.parse_args()
    given.step(given)


def prepare(given: argparse.Namespace) -> None:
    """Pack some of the pictures, their ground truths, and the weights as they are."""
    from openset.formats import read_annotations, write

    images = given.work / "images"
    tables = {
        split: read_annotations(photographs.one_in(given.data, name))
        for split, name in TRUTHS.items()
    }
    chosen = {split: some(table, MOST[split]) for split, table in tables.items()}
    wanted = set().union(*chosen.values())
    for path in photographs.in_data(given.data, "voc2007*.tar"):
        with tarfile.open(path) as archive:
            members = [one for one in archive if Path(one.name).stem in wanted]
            archive.extractall(images, members, filter="data")
    weights = photographs.one_in(given.data, "resnet50*int8.safetensors")
    copyfile(weights, given.work / PACKED)
    for split, table in tables.items():
        there = np.array([Path(str(n)).stem in chosen[split] for n in photographs.names_of(table)])
        kept = photographs.scaled(photographs.part(table, there), images)
        write(kept, given.work / f"{split}.json")
        print(f"{split}: {len(kept.images):,} pictures, {len(kept):,} objects", flush=True)


def some(table: Annotations, most: int) -> set[str]:
    """So many of the pictures, by chance, without their suffixes."""
    names = sorted(Path(str(name)).stem for name in photographs.names_of(table))
    return set(np.random.default_rng(0).permutation(names)[:most].tolist())


def teach_all(given: argparse.Namespace) -> None:
    """Train by both steps with every seed, a process each; what was found before stays."""
    weights = given.work / photographs.WEIGHTS
    if not weights.exists():
        photographs.write_weights(given.work / PACKED, weights)
    given.out.mkdir(parents=True, exist_ok=True)
    there = {path.stem for path in given.out.glob("*.npz")}
    both = product(given.seeds, (STOCK, OURS))
    about = ("work", "out", "steps", "batch", "side")
    same = [f"--{name}={getattr(given, name)}" for name in about]
    commands = [
        [sys.executable, __file__, "one", f"--method={method}", f"--seed={seed}", *same]
        for seed, method in both
        if f"{method}-{seed}" not in there
    ]
    with ThreadPoolExecutor(given.jobs) as pool:
        codes = [done.returncode for done in pool.map(subprocess.run, commands)]
    if any(codes):
        raise SystemExit(f"error: {sum(map(bool, codes))} of {len(codes)} trainings failed")


def one(given: argparse.Namespace) -> None:
    """One training, and what it finds on the test pictures."""
    folder = photographs.folder_of(given)
    if not (folder / "about.json").exists():
        photographs.teach(given)
    model = load(str(folder / "model.pt"))
    data = TrainingData.of(given.work / "test.json", empty=True)
    found = run(model, data.files, keep=(), batch=photographs.BATCH)
    about = json.loads((folder / "about.json").read_text("utf-8"))
    about |= {"labels": list(found.labels), "side": given.side}
    told = np.array(json.dumps(about))
    photographs.keep(given.out / f"{folder.name}.npz", found, {"about": told})


def judge(given: argparse.Namespace) -> None:
    """A row for each training that is there: what its detections come to on the test pictures."""
    from openset.formats import read_annotations

    truth = read_annotations(given.work / "test.json")
    with given.rows.open("w", encoding="utf-8") as rows:
        for row in judged(truth, given.found):
            rows.write(json.dumps(row) + "\n")
            print(row, flush=True)


def judged(truth: Annotations, found: Path) -> Iterator[dict[str, object]]:
    """The rows of all trainings that were kept."""
    import openset

    for path in sorted(found.glob("*.npz")):
        with np.load(path) as columns:
            about = json.loads(str(columns["about"]))
            boxes = photographs.boxes_in(columns, about["labels"])
        few = about["steps"] < STEPS  # it may have learned nothing
        how = {"metrics": ("ap_known",), "intervals": False, "force": few}
        result = openset.evaluate(truth, boxes, known="voc20", **how)
        values = {
            "ap_known": float(result.value("ap_known")),
            "ap50_voc": float(result.value("ap_known", iou=IOU)),
        }
        kept = {name: value for name, value in about.items() if name in ROW}
        yield {"step": about["method"], **kept, **values, "tested": len(truth.images)}


if __name__ == "__main__":
    main()
