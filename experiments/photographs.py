r"""Train detectors for the open set on photographs: VOC 2007 known, 60 classes of COCO unknown.

From the repository's root; `train` and `find` want a GPU, and need only numpy, scikit-learn, torch
and torchvision beside this package:

    python experiments/photographs.py prepare DATA --work runs/photos
    python experiments/photographs.py train --work runs/photos --method opendet --seed 0
    python experiments/photographs.py find --work runs/photos --method opendet --seed 0 --out found
    python experiments/photographs.py judge found --work runs/photos \
        --results experiments/results/photographs.json
    python experiments/methods_page.py experiments/results --page docs/results/methods.md

Faster R-CNN with a ResNet-50 that has seen ImageNet only learns the 20 classes of VOC 2007 trainval
(but for one picture in twenty, on which thresholds are set), from pictures of 256 pixels. It is
tested on VOC 2007 test and on COCO val2017 together, where the 60 other classes are unknown. DATA
has, in it or in folders of it, the pictures (``*.tar``), the ground truths
(``voc2007_trainval_coco.json.gz``, ``voc2007_test_coco_difficult.json.gz``,
``instances_val2017*.json.gz``) and the weights (``resnet50*.safetensors``, int8 with a scale per
channel).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from stock import STOCK, stock_step

from openset import scorers
from openset.detectors import Model, load, run
from openset.findings import InputError, OpenSetError
from openset.tables import Annotations, Detections
from openset.tables.annotations import Images
from openset.training import Progress, Recipe, TrainingData, train

if TYPE_CHECKING:
    from openset.evaluation.trainings import Trainings

METHODS = ("base", STOCK, "cosine", "opendet", "opendet_cwa", "vos", "siren")
POST_HOC = ("msp", "max_logit", "energy", "entropy", "gen", "gamma_ratio", "react", "dice", "ash")
POST_HOC += ("knn", "mahalanobis", "ddu", "vim")
# By which scores a method is judged, beside what it says itself.
SCORERS: Mapping[str, tuple[str, ...]] = {
    "base": POST_HOC,
    "cosine": ("msp", "energy"),
    "vos": ("msp", "energy"),
    "siren": ("siren_knn", "siren_vmf"),
}
NAMES_UNKNOWN = ("opendet", "opendet_cwa")  # by itself, without a threshold of ours
OWN = "own"
RIGHT = 0.5  # overlap of a detection with an object of its class
METRICS = ("ap_known", "ap_unknown", "unknown_recall", "a_ose", "wilderness_impact")
METRICS += ("auroc", "fpr_at_95_tpr")
# Pairs that papers say something about: the reference, and what is compared with it.
COMPARED = (
    (STOCK, "base"),
    ("base", "opendet"),
    ("base", "opendet_cwa"),
    ("opendet", "opendet_cwa"),
    ("base + energy", "vos + energy"),
    ("base + energy", "siren + siren_knn"),
    ("base", "siren"),
    ("opendet", "base + gamma_ratio"),
    ("vos + energy", "base + gamma_ratio"),
)
SIDE, HELD_OUT = 320, 0.05
BATCH, DECODERS = 64, 6  # when running
SPLITS = ("train", "val", "test")
WEIGHTS = "resnet50.safetensors"
# What COCO calls classes of VOC.
SAME = {
    "airplane": "aeroplane",
    "couch": "sofa",
    "dining table": "diningtable",
    "motorcycle": "motorbike",
    "potted plant": "pottedplant",
    "tv": "tvmonitor",
}
RECIPE = Recipe(
    name="photographs",
    paper="Ren et al., NeurIPS 2015; Lin et al., CVPR 2017",
    differs="VOC 2007 alone, pictures of 256 pixels, batches of 32, 14 epochs: minutes, not hours.",
    detector="faster_rcnn",
    steps=2100,
    batch=32,
    lr=0.02,
    warmup=200,
    milestones=(1365, 1890),
    clip=10.0,
    precision="bfloat16",
    flip=0.5,
    options={
        "backbone": "resnet50",
        "frozen": 2,
        "norm": "frozen",
        "stride": "1x1",
        "anchor": 16,
        "shortest": SIDE,
        "longest": SIDE,
    },
)


def main() -> None:
    """One of the steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    steps = parser.add_subparsers(required=True)
    made = {name: steps.add_parser(name) for name in ("prepare", "train", "find", "judge")}
    made["prepare"].add_argument("data", type=Path)
    made["prepare"].add_argument("--only", choices=SPLITS, nargs="*", default=SPLITS)
    made["judge"].add_argument("found", type=Path)
    made["judge"].add_argument("--results", type=Path, required=True)
    made["find"].add_argument("--out", type=Path, required=True)
    made["train"].add_argument("--steps", type=int, help="fewer steps, to try the script out")
    made["train"].add_argument("--batch", type=int, default=RECIPE.batch)
    made["train"].add_argument("--side", type=int, default=SIDE)
    for name in ("train", "find"):
        made[name].add_argument("--method", choices=METHODS, default="base")
        made[name].add_argument("--seed", type=int, default=0)
    for name, step in (("prepare", prepare), ("train", teach), ("find", find), ("judge", judge)):
        made[name].add_argument("--work", type=Path, required=True)
        made[name].set_defaults(step=step)
    given = parser.parse_args()
    try:
        given.step(given)
    except (OpenSetError, FileNotFoundError) as error:
        raise SystemExit(f"error: {error}") from error


def prepare(given: argparse.Namespace) -> None:
    """Unpack pictures and weights, and write a ground truth per split."""
    import tarfile

    from openset.formats import write

    for path in in_data(given.data, "*.tar"):
        with tarfile.open(path) as archive:
            archive.extractall(given.work / "images", filter="data")
    for path in in_data(given.data, "resnet50*.safetensors"):
        write_weights(path, given.work / WEIGHTS)
    for split in given.only:
        table = truth_of(split, given.data, given.work / "images")
        write(table, given.work / f"{split}.json")
        print(f"{split}: {len(table.images):,} pictures, {len(table):,} objects", flush=True)


def in_data(data: Path, pattern: str) -> list[Path]:
    """The files of DATA that are called so, be they in it or in a folder of it."""
    return sorted({*data.glob(pattern), *data.glob(f"*/{pattern}")})


def one_in(data: Path, pattern: str) -> Path:
    """The file of DATA that is called so."""
    found = in_data(data, pattern)
    if len(found) != 1:
        some = len(found) or "no"
        raise SystemExit(f"error: {data} (DATA) has {some} {pattern}, in it or in a folder of it")
    return found[0]


def write_weights(source: Path, target: Path) -> None:
    """The weights in float, from whole numbers and a scale per channel."""
    import torch
    from safetensors.torch import load_file, save_file

    held = load_file(source)
    state = {
        name: value.float() * held[f"{name}_scale"].view(-1, *[1] * (value.ndim - 1))
        if value.dtype == torch.int8
        else value.float()
        for name, value in held.items()
        if not name.endswith("_scale")
    }
    save_file(state, target)


def truth_of(split: str, data: Path, pictures: Path) -> Annotations:
    """The ground truth of a split, in pixels of the pictures that are there.

    Without COCO in DATA, test is VOC alone: what the known AP of a training is measured on.
    """
    from openset.formats import read_annotations

    if split == "test":
        coco = in_data(data, "instances_val2017*.json.gz")
        files = [one_in(data, "voc2007_test_coco_difficult.json.gz"), *coco]
        return joined(*(scaled(read_annotations(path), pictures) for path in files))
    taught = scaled(read_annotations(one_in(data, "voc2007_trainval_coco.json.gz")), pictures)
    held = np.array([held_out(str(name)) for name in names_of(taught)])
    return part(taught, held if split == "val" else ~held)


def held_out(name: str) -> bool:
    """Whether a picture of trainval is for thresholds, whatever else is there."""
    return int(sha256(name.encode()).hexdigest()[:12], 16) / 16**12 < HELD_OUT


def names_of(table: Annotations) -> NDArray[Any]:
    """Names of the image files."""
    assert table.images.file_name is not None
    return table.images.file_name


def scaled(table: Annotations, folder: Path) -> Annotations:
    """The same objects on pictures of the sizes that are there; only what we use of them."""
    from PIL import Image

    there = {path.stem: path for path in folder.iterdir()}
    some = np.array([Path(str(name)).stem in there for name in names_of(table)])
    table = part(table, some)
    files = [there[Path(str(name)).stem] for name in names_of(table)]
    sizes = np.array([Image.open(path).size for path in files], float)
    stated = np.stack([table.images.width, table.images.height], axis=1)  # type: ignore[list-item]
    factor = (sizes / stated)[table.image]
    assert table.area is not None
    images = Images(
        id=np.array([path.stem for path in files]),
        file_name=np.array([f"images/{path.name}" for path in files]),
        width=sizes[:, 0],
        height=sizes[:, 1],
    )
    box = table.box * np.concatenate([factor, factor], axis=1)
    area = table.area * factor.prod(axis=1)
    labels = tuple(SAME.get(label, label) for label in table.labels)
    return only_used(
        replace(table, images=images, labels=labels, box=box, area=area, attributes={})
    )


def only_used(table: Annotations) -> Annotations:
    """Without labels that no object has, such as an "unknown" that a file declares."""
    used, label = np.unique(table.label, return_inverse=True)
    labels = tuple(table.labels[at] for at in used.tolist())
    blank = {"category_id": None, "numbered": None, "role": (), "supercategory": ()}
    return replace(table, label=label, labels=labels, **blank)


def part(table: Annotations, chosen: NDArray[np.bool_]) -> Annotations:
    """Some of the pictures."""
    from dataclasses import fields

    held = {item.name: getattr(table.images, item.name) for item in fields(table.images)}
    kept = {
        name: value[chosen] if isinstance(value, np.ndarray) else value
        for name, value in held.items()
    }
    kept["attributes"] = {}
    objects = table.select(chosen[table.image])
    place = np.cumsum(chosen) - 1
    return replace(objects, images=Images(**kept), image=place[objects.image])


def joined(known: Annotations, wild: Annotations | None = None) -> Annotations:
    """Two ground truths as one, with the roles of their classes; without a second, the first."""
    if wild is None:
        return replace(known, role=("known",) * len(known.labels))
    labels = (*known.labels, *(label for label in wild.labels if label not in known.labels))
    role = tuple("known" if label in known.labels else "unknown" for label in labels)
    place = np.array([labels.index(label) for label in wild.labels])
    offset = len(known.images)
    images = Images(
        *(
            np.concatenate([getattr(known.images, name), getattr(wild.images, name)])
            for name in ("id", "file_name", "width", "height")
        )
    )
    columns = {
        name: np.concatenate([getattr(known, name), getattr(wild, name)])
        for name in ("box", "area", "crowd", "difficult")
        if getattr(known, name) is not None and getattr(wild, name) is not None
    }
    return Annotations(
        images=images,
        image=np.concatenate([known.image, wild.image + offset]),
        label=np.concatenate([known.label, place[wild.label]]),
        labels=labels,
        role=role,
        **columns,
    )


def folder_of(given: argparse.Namespace) -> Path:
    """Where a training is."""
    return Path(given.work) / f"{given.method}-{given.seed}"


def teach(given: argparse.Namespace) -> None:
    """Train one method with one seed."""
    import torch

    torch.backends.cudnn.benchmark = True
    method = {} if given.method in ("base", STOCK) else {"method": given.method}
    start: dict[str, Any] = {"shortest": given.side, "longest": given.side}
    if RECIPE.options["backbone"] == "resnet50":
        start["pretrained"] = str(given.work / WEIGHTS)
    recipe = Recipe.of(RECIPE, seed=given.seed, batch=given.batch, options=start, **method)
    recipe = recipe if given.steps is None else recipe.shortened(given.steps)
    data, clock = TrainingData.of(given.work / "train.json"), Clock(recipe.batch)
    log = {"log_every": min(100, max(1, recipe.steps // 4)), "checkpoint_every": recipe.steps}
    with stock_step() if given.method == STOCK else nullcontext():
        done = train(recipe, data, folder_of(given), hold=True, progress=clock, **log)
    about = {
        "method": given.method,
        "seed": given.seed,
        "pictures": len(data),
        "objects": sum(map(len, data.boxes)),
        "steps": recipe.steps,
        "batch": recipe.batch,
        "seconds": round(done.seconds, 1),
        "images_per_second": round(clock.rate, 1),
        "loss": round(clock.loss, 4),
        "findings": [finding.code for finding in done.findings],
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "torch": str(torch.__version__),
    }
    write_json(folder_of(given) / "about.json", about)


def find(given: argparse.Namespace) -> None:
    """Run on val and test, and keep boxes, scores and what scorers say of them."""
    folder = folder_of(given)
    model = load(str(folder / "model.pt"))
    data = {
        split: TrainingData.of(given.work / f"{split}.json", labels=model.labels, empty=True)
        for split in SPLITS
    }
    start = time.perf_counter()
    found = {split: detected(model, data[split], split) for split in ("val", "test")}
    seconds, images = time.perf_counter() - start, len(data["val"]) + len(data["test"])
    print(f"{images / seconds:.0f} pictures/s", flush=True)
    held_out = found["val"].select(right(found["val"], data["val"]))
    names = SCORERS.get(given.method, ())
    fit = None
    if any(scorers.find(name).fits_on != "nothing" for name in names):
        taught = detected(model, data["train"], "train")
        fit = taught.select(right(taught, data["train"]))
    columns, tails, refused = scored(names, fit, held_out, found["test"])
    if held_out.unknownness is not None:
        tails[OWN] = tail_of(held_out.unknownness)
    about = json.loads((folder / "about.json").read_text("utf-8"))
    about |= {"run_seconds": round(seconds, 1), "run_images": images}
    about |= {"labels": list(found["test"].labels), "tails": tails, "calibrated_on": len(held_out)}
    about |= {"fitted_on": None if fit is None else len(fit), "refused": refused}
    given.out.mkdir(parents=True, exist_ok=True)
    keep(given.out / f"{folder.name}.npz", found["test"], columns)
    write_json(given.out / f"{folder.name}.json", about)


def scored(
    names: Sequence[str], fit: Detections | None, held_out: Detections, test: Detections
) -> tuple[dict[str, NDArray[Any]], dict[str, float | None], dict[str, str]]:
    """What scorers say of test detections, their tails, and why some could not be fitted."""
    columns: dict[str, NDArray[Any]] = {}
    tails: dict[str, float | None] = {}
    refused = {}
    for name in names:
        record = scorers.find(name)
        try:
            one = record.fit(None if record.fits_on == "nothing" else fit)
        except InputError as error:
            refused[name] = error.findings[0].message
            continue
        tails[name] = tail_of(one.score(held_out))
        columns[f"scorer.{name}"] = one.score(test).astype(np.float32)
        print(name, flush=True)
    return columns, tails, refused


def tail_of(values: NDArray[np.floating[Any]]) -> float | None:
    """Where the highest 5 % begin."""
    return float(np.quantile(values, 0.95)) if len(values) else None


def detected(model: Model, data: TrainingData, split: str) -> Detections:
    """Detections with logits and embeddings."""
    import torch

    how = {"batch": BATCH, "decoders": DECODERS if torch.cuda.is_available() else 0}
    return run(model, data.files, **how, split=f"photos {split}")


def right(found: Detections, data: TrainingData) -> NDArray[np.bool_]:
    """Whether a detection overlaps an object of its own class; without a match, on any machine."""
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


def keep(path: Path, found: Detections, columns: dict[str, NDArray[Any]]) -> None:
    """Boxes to a quarter of a pixel, scores, labels and what else is asked for."""
    if found.unknownness is not None:
        columns["unknownness"] = found.unknownness.astype(np.float32)
    np.savez_compressed(
        path,
        image=found.image,
        label=found.label.astype(np.int16),
        box=np.round(found.box * 4).astype(np.int16),
        score=found.score.astype(np.float32),
        **columns,
    )


def judge(given: argparse.Namespace) -> None:
    """Evaluate all that was found, and write the numbers that the page is made from.

    Methods that were judged before and of which nothing was found this time stay as they were.
    """
    from openset.evaluation.run import evaluate_all
    from openset.formats import read_annotations

    refuse_missing(given.work, given.found)
    truth, rows = read_annotations(given.work / "test.json"), found_in(given.found)
    run = evaluate_all(truth, rows, known="voc20")
    voc = of_voc(truth)
    photos = {name: [on(one, truth, voc) for one in several] for name, several in rows.items()}
    alone = evaluate_all(part(truth, voc), photos, known="voc20", intervals=False)
    held = {
        name: {
            "runs": len(method),
            "values": {k: v for k, v in method.document()["values"].items() if k in METRICS},
            "ap50_voc": [float(one.value("ap_known", iou=0.5)) for one in apart.results],
        }
        for (name, method), apart in zip(run.results.items(), alone.results.values(), strict=True)
    }
    abouts = [json.loads(path.read_text("utf-8")) for path in sorted(given.found.glob("*.json"))]
    val = read_annotations(given.work / "val.json")
    pictures = {"val": len(val.images), "test": len(truth.images)}
    facts = {"pictures": pictures, "methods": held, "differences": differences(run.results)}
    facts |= {"trainings": abouts}
    if given.results.exists():
        facts = added(json.loads(given.results.read_text("utf-8")), facts)
    write_json(given.results, facts)


def made_by(method: str) -> str:
    """The commands that train a method once, and keep what it finds."""
    script, given = "python experiments/photographs.py", f"--method {method} --seed 0"
    train, find = (f"{script} {step} --work PHOTOS {given}" for step in ("train", "find"))
    return f"`{train}` and `{find} --out FOUND`"


def refuse_missing(work: Path, found: Path) -> None:
    """Refuse to judge without pictures or trainings, with the commands that make them."""
    if not (work / "test.json").is_file():
        made = "python experiments/photographs.py prepare DATA --work PHOTOS"
        raise SystemExit(f"error: {work} has no test.json (PHOTOS), which `{made}` makes")
    if not any(found.glob("*.npz")):
        rows = "".join(f"\n  {method}: {made_by(method)}" for method in METHODS)
        raise SystemExit(f"error: no training is in {found} (FOUND); each row is made by{rows}")


def added(before: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What was judged before and what is new, as one.

    A new method and one of before are compared by their deviations alone: no resample of the
    latter is kept that the former could be paired with.
    """
    if before["pictures"] != new["pictures"]:
        raise SystemExit("what was judged before is of other pictures")
    named = {one["method"] for one in new["trainings"]}
    _refuse_lost(before["trainings"], new["trainings"])
    stay = {k: v for k, v in before["methods"].items() if k.partition(" + ")[0] not in named}
    methods = dict(sorted((stay | new["methods"]).items()))
    told = {(one["first"], one["second"]): one for one in new["differences"]}
    for one in before["differences"]:
        pair = one["first"], one["second"]
        if set(pair) <= stay.keys():
            told[pair] = one
    for pair in COMPARED:
        if pair not in told and set(pair) <= methods.keys():
            told[pair] = unpaired(*pair, methods)
    trainings = [one for one in before["trainings"] if one["method"] not in named]
    trainings = sorted(trainings + new["trainings"], key=lambda one: (one["method"], one["seed"]))
    order = [told[pair] for pair in COMPARED if pair in told]
    return {**new, "methods": methods, "differences": order, "trainings": trainings}


def _refuse_lost(before: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> None:
    """Refuse to replace a method by fewer of its seeds: what the others found is not at hand."""
    here = {(one["method"], one["seed"]) for one in new}
    named = {method for method, _ in here}
    lost = [f"{one['method']}-{one['seed']}" for one in before if one["method"] in named]
    lost = [name for name in lost if name not in {f"{method}-{seed}" for method, seed in here}]
    if lost:
        raise SystemExit(f"judged before, and not found here: {', '.join(lost)}; find them, too")


def unpaired(first: str, second: str, methods: Mapping[str, Any]) -> dict[str, Any]:
    """How two methods differ whose resamples are not at hand together.

    Chance of images is taken for independent, though both saw the same, so that an interval is
    rather too wide than too narrow.
    """
    from openset.resampling.trainings import spread, together

    values = {}
    there = methods[first]["values"].keys() & methods[second]["values"].keys()
    for name in (name for name in METRICS if name in there):
        a, b = (methods[method]["values"][name] for method in (first, second))
        if a["sd_images"] is None or b["sd_images"] is None:
            continue
        images = float(np.hypot(a["sd_images"], b["sd_images"]))
        both = together(images, *(s for one in (a, b) if (s := spread(one["runs"])) is not None))
        change = b["value"] - a["value"]
        ends = [change - both.reach(0.025), change + both.reach(0.025)]
        p = both.p_value(change) if both.deviation else None
        values[name] = {"difference": change, "interval": ends, "p": p}
    return {"first": first, "second": second, "paired": False, "values": values}


def differences(results: Mapping[str, Trainings]) -> list[dict[str, Any]]:
    """How methods differ that papers compare, with intervals of pictures and training, both."""
    from openset.evaluation.comparison import compare

    return [
        {
            "first": first,
            "second": second,
            "values": {
                name: {"difference": one.difference, "interval": one.interval, "p": one.p}
                for name, one in compare(results[first], results[second]).differences.items()
                if name in METRICS
            },
        }
        for first, second in COMPARED
        if first in results and second in results
    ]


def found_in(folder: Path) -> dict[str, list[Detections]]:
    """Every method with what calls its boxes unknown, and what each training found."""
    rows: dict[str, list[Detections]] = {}
    for path in sorted(folder.glob("*.npz")):
        held = read_found(path)
        found, about, method = held.boxes, held.about, held.about["method"]
        if found.unknownness is None or method in NAMES_UNKNOWN:
            rows.setdefault(method, []).append(found)
        else:
            called = tail_unknown(found, found.unknownness, about["tails"][OWN])
            rows.setdefault(method, []).append(called)
        for name in SCORERS.get(method, ()):
            if name in held.scores:
                called = tail_unknown(found, held.scores[name], about["tails"][name])
                rows.setdefault(f"{method} + {name}", []).append(called)
    return rows


@dataclass(frozen=True)
class Found:
    """What one training found.

    Attributes:
        boxes: As the detector labels them.
        scores: How unknown scorers say that they are, by the scorer's name.
        about: How it was trained, and the tails of the scorers.
    """

    boxes: Detections
    scores: Mapping[str, NDArray[np.floating[Any]]]
    about: Mapping[str, Any]


def read_found(path: Path) -> Found:
    """What `find` kept of one training."""
    about = json.loads(path.with_suffix(".json").read_text("utf-8"))
    with np.load(path) as archive:
        columns = dict(archive)
    boxes = boxes_in(columns, about["labels"])
    told = {
        name.removeprefix("scorer."): column
        for name, column in columns.items()
        if name.startswith("scorer.")
    }
    return Found(boxes, told, about)


def boxes_in(columns: Mapping[str, NDArray[Any]], labels: Sequence[str]) -> Detections:
    """The detections that `keep` has written."""
    return Detections(
        columns["image"],
        columns["label"].astype(np.int64),
        columns["box"] / 4,
        columns["score"],
        labels=tuple(labels),
        unknownness=columns.get("unknownness"),
    )


def tail_unknown(
    found: Detections, score: NDArray[np.floating[Any]], tail: float | None
) -> Detections:
    """What is more unknown than a tail, such as that of right detections on val, is called so."""
    if tail is None:
        raise SystemExit(
            "error: no detection on val is right, which thresholds are of: train longer"
        )
    label = np.where(score > tail, len(found.labels), found.label)
    return replace(found, label=label, labels=(*found.labels, "unknown"), unknownness=score)


def of_voc(truth: Annotations) -> NDArray[np.bool_]:
    """Which pictures of test are VOC's; the others are COCO's."""
    return np.array([str(name).endswith(".webp") for name in names_of(truth)])


def on(found: Detections, truth: Annotations, chosen: NDArray[np.bool_]) -> Detections:
    """The detections on some of the pictures."""
    return found.select(np.isin(found.image, truth.images.id[chosen]))


if __name__ == "__main__":
    main()
