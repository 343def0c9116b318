"""Train Faster R-CNN on photographs with the 20 classes of VOC known and 60 of COCO unknown.

From the repository's root; the middle three want a GPU, and need only numpy, scikit-learn, torch
and torchvision beside this package:

    python experiments/real_images.py prepare PICTURES.tar INSTANCES.json --work runs/photos
    python experiments/real_images.py train --work runs/photos --backbone resnet50 --minutes 5
    python experiments/real_images.py score --work runs/photos --backbone resnet50 --out results
    python experiments/real_images.py limits --work runs/photos --backbone resnet50 --out results
    python experiments/real_images_page.py --work runs/photos --results results --page PAGE.md

Train and score with ``--seed 1`` and ``--seed 2`` as well: the page takes all that it finds for
trainings of one detector, and its intervals then hold the chance of training, too.

Pictures are those of COCO val2017 at any size, split by a hash of their ids. The detector never
sees a class of COCO before, nor a box of an unknown class: it starts from random weights
(``resnet50``, the size of the papers), or from weights of ImageNet (``efficientnet-lite0``, a file
given as ``--pretrained``). Unknown objects on training pictures are background to it, as in most
published benchmarks. Detections come back small: with one column per scorer, without embeddings.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from card_limits import cost
from numpy.typing import NDArray

from openset import scorers
from openset.detectors import Model, load, run
from openset.findings import InputError
from openset.tables import Annotations, Detections
from openset.training import Progress, Recipe, TrainingData, train

SPLITS = {"train": 0.70, "val": 0.78, "test": 1.0}  # where each ends, of the range of a hash
PROBE = 60  # steps that are timed before the number of steps is chosen
RIGHT = 0.5  # overlap of a detection with an object of its class
SCORERS = ("msp", "max_logit", "energy", "entropy", "gen", "gamma_ratio", "react", "dice", "ash")
SCORERS += ("knn", "mahalanobis", "ddu", "vim")
RECIPE = Recipe(
    paper="Ren et al., NeurIPS 2015; Lin et al., CVPR 2017; He et al., ICCV 2019 (from scratch)",
    differs="AdamW, a short cosine and small pictures: minutes, not days.",
    steps=3000,
    batch=32,
    optimizer="adamw",
    lr=4e-4,
    weight_decay=0.05,
    warmup=200,
    schedule="cosine",
    clip=5.0,
    precision="bfloat16",
    ema=0.998,
    flip=0.5,
    zoom=1.8,
    jitter=0.3,
)


def main() -> None:
    """One of the steps."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    steps = parser.add_subparsers(required=True)
    first = steps.add_parser("prepare")
    first.add_argument("pictures", type=Path)
    first.add_argument("truth", type=Path)
    first.set_defaults(step=lambda given: prepare(given.pictures, given.truth, given.work))
    second = steps.add_parser("train")
    second.add_argument("--minutes", type=float, default=5.0)
    second.add_argument("--steps", type=int, help="instead of minutes")
    second.add_argument("--pretrained", type=str)
    second.add_argument("--size", type=int, default=384)
    second.add_argument("--batch", type=int, default=RECIPE.batch)
    second.set_defaults(step=teach)
    third = steps.add_parser("score")
    third.add_argument("--out", type=Path, required=True)
    third.set_defaults(step=lambda given: score(given.work, name_of(given), given.out))
    fourth = steps.add_parser("limits")
    fourth.add_argument("--out", type=Path, required=True)
    fourth.set_defaults(step=lambda given: limits(given.work, name_of(given), given.out))
    for step in (first, second, third, fourth):
        step.add_argument("--work", type=Path, required=True)
        step.add_argument("--backbone", default="resnet50")
        step.add_argument("--seed", type=int, default=0, help="of the training")
    given = parser.parse_args()
    given.step(given)


def name_of(given: argparse.Namespace) -> str:
    """What a training is called: its backbone, and its seed if it is not the first."""
    return f"{given.backbone}-{given.seed}" if given.seed else str(given.backbone)


def prepare(pictures: Path, truth: Path, work: Path) -> None:
    """Unpack the pictures, bring the boxes to their size, and write a ground truth per split."""
    import tarfile

    from openset.formats import read_annotations, write

    table = read_annotations(truth)
    with tarfile.open(pictures) as archive:
        archive.extractall(work / "images", filter="data")
    table = with_roles(scaled(table, work / "images"))
    for split in SPLITS:
        part = of_split(table, split)
        write(part, work / f"{split}.json")
        print(f"{split}: {len(part.images):,} pictures, {len(part):,} objects")
    used = {str(n) for split in SPLITS for n in names_of(of_split(table, split))}
    for path in (work / "images").iterdir():
        if f"images/{path.name}" not in used:
            path.unlink()


def names_of(table: Annotations) -> NDArray[Any]:
    """Names of the image files."""
    assert table.images.file_name is not None
    return table.images.file_name


def scaled(table: Annotations, folder: Path) -> Annotations:
    """The same objects on pictures of the sizes that are there."""
    from PIL import Image

    names = names_of(table)
    sizes = np.array([Image.open(folder / str(name)).size for name in names], float)
    stated = np.stack([table.images.width, table.images.height], axis=1)  # type: ignore[list-item]
    factor = (sizes / stated)[table.image]
    box = table.box * np.concatenate([factor, factor], axis=1)
    assert table.area is not None
    images = replace(
        table.images,
        file_name=np.array([f"images/{name}" for name in names]),
        width=sizes[:, 0],
        height=sizes[:, 1],
        attributes={},
    )
    area = table.area * factor.prod(axis=1)
    return replace(table, images=images, box=box, area=area, attributes={})


def with_roles(table: Annotations) -> Annotations:
    """The classes of VOC are known, the others unknown."""
    from openset.tables import Vocabulary

    vocabulary = Vocabulary.of("voc20")
    return replace(table, role=tuple(str(vocabulary.role(label)) for label in table.labels))


def of_split(table: Annotations, split: str) -> Annotations:
    """The pictures of a split; those without a known object cannot be trained on."""
    chosen = np.array([split_of(id_) == split for id_ in table.images.id.tolist()])
    if split == "train":
        known = np.array([role == "known" for role in table.role])
        chosen &= np.isin(np.arange(len(table.images)), table.image[known[table.label]])
    images, place = table.images, np.cumsum(chosen) - 1
    assert images.file_name is not None
    assert images.width is not None
    assert images.height is not None
    kept = replace(
        images,
        id=images.id[chosen],
        file_name=images.file_name[chosen],
        width=images.width[chosen],
        height=images.height[chosen],
    )
    objects = table.select(chosen[table.image])
    return replace(objects, images=kept, image=place[objects.image])


def split_of(image: int | str) -> str:
    """The split of a picture, whatever else is there."""
    draw = int(sha256(str(image).encode()).hexdigest()[:12], 16) / 16**12
    return next(name for name, end in SPLITS.items() if draw < end)


def teach(given: argparse.Namespace) -> None:
    """Train for some minutes: steps are chosen by a short measurement of speed."""
    import torch

    torch.backends.cudnn.benchmark = True
    data = TrainingData.of(given.work / "train.json")
    sides = {"shortest": given.size, "longest": given.size, "pretrained": given.pretrained}
    options = {"backbone": given.backbone, **sides}
    gently = 0.5 if given.pretrained else 1.0  # what was learned before is changed less
    recipe = replace(
        RECIPE,
        name=given.backbone,
        batch=given.batch,
        options=options,
        backbone_lr=gently,
        seed=given.seed,
    )
    steps = given.steps or affordable(recipe, data, given.minutes)
    recipe = recipe.shortened(steps)
    clock = Clock(recipe.batch)
    folder = given.work / name_of(given)
    done = train(
        recipe,
        data,
        folder,
        hold=True,
        log_every=min(50, max(1, steps // 4)),
        checkpoint_every=steps,
        progress=clock,
    )
    about = {
        "backbone": given.backbone,
        "pretrained": bool(given.pretrained),
        "size": given.size,
        "pictures": len(data),
        "objects": sum(map(len, data.boxes)),
        "left_out": data.left_out,
        "steps": steps,
        "batch": recipe.batch,
        "epochs": steps * recipe.batch / len(data),
        "seconds": done.seconds,
        "images_per_second": clock.rate,
        "loss": clock.loss,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "torch": str(torch.__version__),
    }
    write_json(folder / "about.json", about)


def affordable(recipe: Recipe, data: TrainingData, minutes: float) -> int:
    """Steps that some minutes have room for, by the speed of the first ones."""
    clock = Clock(recipe.batch)
    with TemporaryDirectory() as folder:
        train(replace(recipe, steps=PROBE), data, folder, hold=True, log_every=10, progress=clock)
    return max(1, int(minutes * 60 * clock.rate / recipe.batch))


class Clock:
    """Reads the time at logged steps; speed is that between the second of them and the last."""

    def __init__(self, batch: int) -> None:
        self.seen: list[tuple[int, float]] = []
        self.batch, self.loss = batch, 0.0

    def __call__(self, progress: Progress) -> None:
        """Note a logged step."""
        self.seen.append((progress.step, time.perf_counter()))
        self.loss = progress.loss
        print(f"step {progress.step} of {progress.steps}, loss {progress.loss:.3f}", flush=True)

    @property
    def rate(self) -> float:
        """Images per second, without the start."""
        (start, then), (end, now) = self.seen[min(1, len(self.seen) - 2)], self.seen[-1]
        return (end - start) * self.batch / max(now - then, 1e-9)


def write_json(path: Path, about: Mapping[str, Any]) -> None:
    """Write plain values."""
    path.write_text(json.dumps(about, indent=2) + "\n", "utf-8")


def limits(work: Path, name: str, out: Path) -> None:
    """Add what a step costs, how busy it keeps the card, and what a matrix product reaches."""
    recipe = Recipe.of(json.loads((work / name / "run.json").read_text("utf-8"))["recipe"])
    about = json.loads((out / f"{name}.json").read_text("utf-8"))
    found = cost(recipe, TrainingData.of(work / "train.json"))
    write_json(out / f"{name}.json", about | found)
    print(json.dumps(about | found))


def score(work: Path, name: str, out: Path) -> None:
    """Run on all splits, fit scorers on train, score val and test, and keep what is small."""
    model = load(str(work / name / "model.pt"))
    data = {split: TrainingData.of(work / f"{split}.json", empty=True) for split in SPLITS}
    start = time.perf_counter()
    found = {split: detected(model, data[split], split) for split in SPLITS}
    seconds = time.perf_counter() - start
    fit = found["train"].select(right(found["train"], data["train"]))
    print(f"{len(fit):,} training detections are right; run in {seconds:.0f} s", flush=True)
    fitted, refused = fit_all(fit, found["test"])
    out.mkdir(parents=True, exist_ok=True)
    for split in ("val", "test"):
        some = found[split]
        kept = {"right": right(some, data[split])} if split == "val" else {}
        write_small(out / f"{name}-{split}.npz", some, fitted, kept)
    about = json.loads((work / name / "about.json").read_text("utf-8"))
    about |= {"run_seconds": seconds, "run_images": sum(map(len, data.values()))}
    about |= {"fitted_on": len(fit), "refused": refused, "labels": list(model.labels)}
    write_json(out / f"{name}.json", about)


def detected(model: Model, data: TrainingData, split: str) -> Detections:
    """Detections with logits and embeddings."""
    return run(model, data.files, batch=32, threads=8, split=f"photos {split}")


def right(found: Detections, data: TrainingData) -> NDArray[np.bool_]:
    """Whether a detection overlaps an object of its own class."""
    from openset.tables.overlap import by_image, iou

    place = {id_: at for at, id_ in enumerate(data.files.id.tolist())}
    is_right = np.zeros(len(found), bool)
    for rows in by_image(found.image):
        at = place[found.image[rows[0]].item()]
        corners = data.boxes[at].astype(np.float64)
        boxes = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
        same = found.label[rows][:, None] == data.classes[at][None]
        is_right[rows] = ((iou(found.box[rows], boxes) >= RIGHT) & same).any(axis=1)
    return is_right


def fit_all(fit: Detections, test: Detections) -> tuple[dict[str, scorers.Fitted], dict[str, str]]:
    """Every scorer that the evidence allows; and why others could not be fitted."""
    fitted, refused = {}, {}
    suited = scorers.suited(test)
    for name in SCORERS:
        record, options = scorers.find(name), suited[name]
        some = None if record.fits_on == "nothing" else fit
        try:
            fitted[name] = record.fit(some, **options)
        except InputError as error:
            refused[name] = error.findings[0].message
    return fitted, refused


def write_small(
    path: Path,
    found: Detections,
    fitted: Mapping[str, scorers.Fitted],
    more: Mapping[str, NDArray[Any]],
) -> None:
    """Boxes, scores, logits, and a column and a ledger per scorer."""
    columns: dict[str, NDArray[Any]] = {
        "image": found.image,
        "label": found.label.astype(np.int16),
        "box": found.box.astype(np.float32),
        "score": found.score.astype(np.float32),
        "logits": np.asarray(found.logits, np.float16),
        **more,
    }
    ledgers = {}
    for name, one in fitted.items():
        scored = one.scored(found)
        assert scored.unknownness is not None
        columns[f"scorer.{name}"] = scored.unknownness.astype(np.float32)
        ledgers[name] = dict(scored.provenance)
        print(f"{path.name}: {name}", flush=True)
    columns["provenance"] = np.array(json.dumps(ledgers, default=str))
    np.savez_compressed(path, **columns)


if __name__ == "__main__":
    main()
