"""Images per second of one training step: stock torchvision beside ours, in the same run.

    python experiments/step_speed.py [--quick] [--out FILE]

Faster R-CNN R50-FPN, 21 columns, SGD, random images with 2 to 15 objects each; bfloat16 on CUDA.
Rounds of the contenders alternate, so that a busy machine slows all of them. Prints one line of
JSON per measurement, and keeps them in FILE: what is there already is not measured again, so a run
that was cut off goes on. ``regions`` is proposals kept before and after suppression, of ours and of
``stock alike``; ``stock`` has torchvision's own, 2000. With 2000 for all, ``stock`` is enough.

The case of 128 pixels is the small detector of the digits world, for a CPU: seconds
are those that its threads computed, whatever else the machine did.

Needs torch and torchvision, and `src` on the path; nothing else of openset's requirements.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch
from torchvision.ops import MultiScaleRoIAlign

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from openset.detectors import carry, find

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
LABELS = tuple(f"class {at}" for at in range(20))
SMALL = 128  # pixels of the small detector, which has its own number of regions
CASES = [(512, 32, 1000), (256, 128, 1000), (512, 32, 2000), (SMALL, 8, 100)]
METHODS = ("vos", "opendet", "opendet_cwa", "siren")
KINDS = ("stock", "stock alike", "eager", "compiled", *(f"eager {name}" for name in METHODS))


class Contender:
    """A way to train, warmed up, and the seconds of its rounds."""

    def __init__(self, kind: str, side: int, batch: int, regions: int) -> None:
        torch.manual_seed(0)
        size = {"shortest": side, "longest": side}
        body = {"backbone": "small"} if side == SMALL else {}
        self.model = find("faster_rcnn").build(LABELS, device=DEVICE, **size, **body)
        self.kind, self.seconds = kind, []
        self.stock, rpn = kind.startswith("stock"), self.model.network.rpn
        if kind != "stock" and not body:
            rpn._pre_nms_top_n["training"] = rpn._post_nms_top_n["training"] = regions
        if self.stock:
            ours = self.model.network.roi_heads.box_roi_pool
            self.model.network.roi_heads.box_roi_pool = MultiScaleRoIAlign(
                ours.featmap_names, ours.output_size, ours.sampling_ratio
            )
            self.model.network.to(memory_format=torch.contiguous_format)
        for name in METHODS:
            if kind.endswith(name):
                carry(self.model, name, {})
                self.model.progress = 0.9
                fill(getattr(self.model.method, "bank", None))
        if kind == "compiled":
            self.model.compile_step()
        self.model.train()
        self.batch = made(side, batch)
        chosen = [w for w in self.model.parameters() if w.requires_grad]
        self.optimizer = torch.optim.SGD(chosen, 1e-4, momentum=0.9, fused=CUDA)

    def step(self) -> None:
        """One training step."""
        images, targets = self.batch
        with torch.autocast(DEVICE, torch.bfloat16, enabled=CUDA):
            if self.stock:
                shifted = [{**target, "labels": target["labels"] + 1} for target in targets]
                losses = self.model.network(images, shifted)
            else:
                losses = self.model(images, targets)
        self.optimizer.zero_grad(set_to_none=True)
        torch.stack([loss.float() for loss in losses.values()]).sum().backward()
        self.optimizer.step()

    def timed(self, steps: int) -> None:
        """One round of steps."""
        waited()
        clock = time.perf_counter if CUDA else time.process_time
        start = clock()
        for _ in range(steps):
            self.step()
        waited()
        self.seconds.append((clock() - start) / steps)


def fill(bank: torch.nn.Module | None) -> None:
    """Random rows in every place, so that a method acts from the first step on."""
    if bank is None:
        return
    bank.held.normal_()
    bank.filled.fill_(bank.size)


def waited() -> None:
    """Until the device is done."""
    if CUDA:
        torch.cuda.synchronize()


def made(side: int, batch: int) -> tuple[list[torch.Tensor], list[dict[str, torch.Tensor]]]:
    """Random images and objects, on the device."""
    chance = torch.Generator().manual_seed(0)
    images = [torch.rand(3, side, side, generator=chance).to(DEVICE) for _ in range(batch)]
    targets = []
    for _ in range(batch):
        count = int(torch.randint(2, 16, (1,), generator=chance))
        corner = torch.rand(count, 2, generator=chance) * side * 0.7
        box = torch.cat(
            [corner, corner + 16 + torch.rand(count, 2, generator=chance) * side * 0.25], 1
        )
        label = torch.randint(0, len(LABELS), (count,), generator=chance)
        targets.append({"boxes": box.to(DEVICE), "labels": label.to(DEVICE)})
    return images, targets


def measured(case: tuple[int, int, int], kinds: list[str], rounds: int, steps: int) -> list[dict]:
    """Images per second of each kind, from rounds that alternate; stock alone has its own pool."""
    side, batch, regions = case
    contenders = []
    for kind in kinds:
        start = time.perf_counter()
        one = Contender(kind, side, batch, regions)
        for _ in range(3):
            one.step()
        waited()
        one.warm = time.perf_counter() - start
        contenders.append(one)
    for _ in range(rounds):
        for one in contenders:
            one.timed(steps)
    memory = torch.cuda.max_memory_allocated() / 2**30 if CUDA else 0.0
    rates = {one.kind: batch / statistics.median(one.seconds) for one in contenders}
    return [
        {
            "kind": one.kind, "side": side, "batch": batch, "regions": regions,
            "images_per_second": round(rates[one.kind], 1),
            "times_stock": round(rates[one.kind] / rates["stock"], 2),
            "beside": sorted(rates),
            "warm_up_s": round(one.warm, 1), "peak_gib_of_all": round(memory, 1),
            "device": torch.cuda.get_device_name() if CUDA else "cpu",
            "torch": torch.__version__,
        }
        for one in contenders
    ]  # fmt: skip


def main() -> None:
    """Measure what is not measured yet."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one small case, few steps")
    parser.add_argument("--out", type=Path, default=Path("step_speed.jsonl"))
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--cases", type=int, nargs="*", help="numbers of cases, from 0")
    given = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    held = given.out.read_text().splitlines() if given.out.exists() else []
    done = {(r["kind"], r["side"], r["batch"], r["regions"]) for r in map(json.loads, held)}
    cases = [(SMALL, 2, 100)] if given.quick else CASES[:3] if CUDA else CASES[3:]
    cases = cases if given.cases is None else [CASES[at] for at in given.cases]
    for case in cases:
        kinds = [kind for kind in given.kinds if (kind, *case) not in done]
        if not set(kinds) - {"stock"}:
            continue
        rounds, steps = (2, 1) if given.quick else (3, 8 if case[1] <= 32 else 4)
        for row in measured(case, ["stock", *(k for k in kinds if k != "stock")], rounds, steps):
            print(json.dumps(row), flush=True)
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
        if CUDA:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


if __name__ == "__main__":
    main()
