r"""Learn photographs in four tasks: VOC 2007, then 60 classes of COCO, 20 at a time.

From the repository's root. `prepare` needs the whole package and OpenCV's contributed modules,
`learn` a GPU, and only msgspec, numpy, polars, scikit-learn, torch and torchvision beside this
package:

    python experiments/open_world_photos.py prepare DATA --images PICTURES --work runs/photos
    python experiments/open_world_photos.py learn --work runs/photos --images PICTURES \
        --weights resnet50.safetensors --device cuda --only base pad "base + cec" "pad + cec"
    python experiments/open_world_photos.py judge --work runs/photos --results experiments/results
    python experiments/open_world_page.py experiments/results --page docs/results/open-world.md

The benchmark is ``owod-val`` (`openset list benchmarks`). DATA has its ground truths, as COCO
files; PICTURES has all pictures in one folder, of any size and format. Faster R-CNN with a
ResNet-50 that has seen ImageNet only goes through the tasks and fine-tunings as `open_world` does
on digits; PAD is advised by Selective Search, as in the paper.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import photographs
from open_world import CHAINS, KEPT, Course, learn_all, means
from photographs import write_json

from openset.evaluation.settings import Settings
from openset.files import load_text
from openset.findings import OpenSetError
from openset.training import Recipe

BENCHMARK, BUNDLE, ADVICE = "owod-val", "bundle", "advice.parquet"
SOURCES = ("voc2007_trainval_coco", "instances_val2017")
TASKS = 4
# Unlike in the paper, the schedule begins anew in every task: with as few steps, a hundredth of the
# rate would teach nothing.
RECIPE = Recipe.of(
    photographs.RECIPE.shortened(1050),
    name="photographs-tasks",
    later={"steps": 220, "lr": 0.01},
    finetune={"steps": 100, "lr": 0.005},
)
ONLY = tuple(name for name in CHAINS if name not in ("pad, advised by truth", "oracle"))


def main() -> None:
    """One of the steps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    steps = parser.add_subparsers(required=True)
    made = {name: steps.add_parser(name) for name in ("prepare", "learn", "judge")}
    made["prepare"].add_argument("data", type=Path)
    for name in ("prepare", "learn"):
        made[name].add_argument("--images", type=Path, required=True)
    made["learn"].add_argument("--weights", type=Path, required=True)
    made["learn"].add_argument("--only", choices=ONLY, nargs="*", default=ONLY)
    made["learn"].add_argument("--seed", type=int, default=0)
    made["learn"].add_argument("--steps", type=int, default=RECIPE.steps, help="of the first task")
    made["learn"].add_argument("--jobs", type=int, default=1, help="chains at a time")
    made["learn"].add_argument("--device", default=None)
    made["judge"].add_argument("--results", type=Path, required=True)
    for name, step in (("prepare", prepare), ("learn", learn), ("judge", judge)):
        made[name].add_argument("--work", type=Path, required=True)
        made[name].set_defaults(step=step)
    given = parser.parse_args()
    try:
        given.step(given)
    except (OpenSetError, FileNotFoundError) as error:
        raise SystemExit(f"error: {error}") from error


def prepare(given: argparse.Namespace) -> None:
    """Build the benchmark on the pictures that are there, audit it, and ask for advice."""
    from openset.benchmarks.auditing import audit
    from openset.benchmarks.building import build
    from openset.detectors import ImageFiles, find, run
    from openset.formats import write
    from openset.learning import bundle_of
    from openset.learning.stages import pooled

    sources = given.work / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        path = photographs.one_in(given.data, f"{name}*.json*")
        write_json(sources / f"{name}.json", named(path, given.images))
    build(BENCHMARK, sources, given.work / BUNDLE)
    bundle = bundle_of(given.work / BUNDLE)
    seen = replace(bundle, images=given.images)  # whose pictures look alike is asked, too
    print(audit(seen).text(), flush=True)
    pictures = ImageFiles.of_annotations(pooled(bundle, TASKS), given.images)
    advice = run(find("selective_search").build(("object",)), pictures, keep=())
    write(advice, given.work / ADVICE)
    print(f"{len(advice):,} advised boxes on {len(pictures):,} pictures", flush=True)


def named(path: Path, pictures: Path) -> dict[str, Any]:
    """A COCO file with the names of the pictures that are there."""
    held: dict[str, Any] = json.loads(load_text(path))
    there = {one.stem: one.name for one in pictures.iterdir()}
    for image in held["images"]:
        image["file_name"] = there[Path(image["file_name"]).stem]
    return held


def learn(given: argparse.Namespace) -> None:
    """Learn what is not learned yet."""
    seen = {"pretrained": str(given.weights)} if RECIPE.options["backbone"] == "resnet50" else {}
    course = Course(
        given.work / BUNDLE,
        given.images,
        Recipe.of(RECIPE, options=seen).scaled(given.steps),
        told=f"val-t{TASKS}.json",  # by then all classes are taught
        settings=Settings(protocol="reowod", force=given.steps < RECIPE.steps),
        options={
            "device": given.device,
            "hold": True,
            "log_every": 50,
            "checkpoint_every": 300,
        },
        running={"batch": 32, "threads": 8, "keep": ("logits",)},
    )
    advised = {"start": 0.5, "advisor": str(given.work / ADVICE)}
    chains = {
        name: replace(chain, options=advised if chain.method == "pad" else chain.options)
        for name, chain in CHAINS.items()
    }
    learn_all([(name, given.seed) for name in given.only], chains, course, given.work, given.jobs)


def judge(given: argparse.Namespace) -> None:
    """Write the numbers that the page is made from."""
    script, bundle = "python experiments/open_world_photos.py", given.work / BUNDLE / "bundle.json"
    if not bundle.is_file():
        made = f"{script} prepare DATA --images PICTURES --work PHOTOS"
        raise SystemExit(f"error: {given.work} has no {BUNDLE} (PHOTOS), which `{made}` makes")
    if not any((given.work / KEPT).glob("*/t*.json")):
        made = f"{script} learn --work PHOTOS --images PICTURES --weights WEIGHTS --only"
        rows = "".join(f"\n  {name}: `{made} '{name}'`" for name in ONLY)
        raise SystemExit(f"error: no training is in {given.work} (PHOTOS); rows are made by{rows}")
    facts = json.loads(bundle.read_text("utf-8"))
    pictures = {name: split["images"] for name, split in facts["splits"].items()}
    write_json(
        given.results / "open_world_photos.json", {"pictures": pictures, **means(given.work)}
    )


if __name__ == "__main__":
    main()
