r"""Open-set recognition on a GPU: methods on the five trials, as in OpenAUC's Table 2.

    python experiments/recognition_gpu.py mnist svhn cifar10 cifar+10 tinyimagenet \
        --also cifar+50 --folder DATA --rows rows.jsonl \
        --methods softmax gcpl rpl arpl arpl_cs ce_plus acc_auc openauc

trains all of it, with the epochs of each recipe; `--epochs` says others:

    python experiments/recognition_gpu.py cifar10 --folder DATA --epochs 114 --rows rows.jsonl \
        --work WORK --methods ce_plus openauc openauc,ranked=logit

A method may have other options than its recipe: ``openauc,ranked=logit,weight=0.0005``. Every
training is a row of JSON, kept in FILE: what is there is not trained again, and trainings that were
cut off go on from their checkpoints in WORK, so that a table can be made in several short commands.
``--also cifar+50`` tests the networks of CIFAR+10 with the unknown classes of CIFAR+50 too: their
known classes are the same. So are those of ``cub-easy --also cub-medium cub-hard``, which have one
trial. DATA holds the official files of all data sets (`openset fetch osr-mnist`). A row has OpenAUC
by the largest logit and by the largest probability of the same network, seconds, and pictures.
`recognition_gpu_page.py` makes a page of rows.

Small enough for a CPU, in minutes a training:

    python experiments/recognition_gpu.py cifar10 --folder DATA --rows small.jsonl --device cpu \
        --precision float32 --epochs 30 --size 16 --images 1000 --network classifier8 --trials 0 1

shrinks pictures to 16 by 16 and takes 1,000 of each known class. ``--left-out 0 1`` takes the first
two known classes for unknown, and trains on the others: what options are chosen on. No test picture
and no unknown class takes part in that.

Pictures rest on the card as bytes; bfloat16, channels last; those of 32 steps are augmented at
once (``--ahead``). ``--graphed`` replays a CUDA graph of the step, ``--compiled`` fuses its kernels
first; neither changes what is computed, but for chance. One process a training: while one waits,
the others keep the card busy, more so where NVIDIA's multi-process service lets them share it
(`nvidia-cuda-mps-control -d`). A training that fails is said, and the others go on: the same
command, with other flags if need be, trains what is missing. Needs NumPy, scikit-learn (digits),
SciPy (SVHN), Pillow (TinyImageNet, CUB), timm (CUB) and torch only. Recipes are the package's.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path[:0] = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parent)]

if TYPE_CHECKING:
    from openset.recognition.data import OpenSplit
    from openset.recognition.recipe import ClassifierRecipe
    from openset.recognition.training import Classifier

DATA = (
    "mnist", "svhn", "cifar10", "cifar+10", "cifar+50", "tinyimagenet", "fashion_mnist", "digits",
    "cub-easy", "cub-medium", "cub-hard",
)  # fmt: skip
METHODS = ("softmax", "ce_plus", "arpl", "openauc")
SAME = ("data", "epochs", "precision", "network", "size", "images", "left_out")
"""Settings that make rows comparable."""


def main() -> None:
    """Train every method on every trial, but for those whose rows are there."""
    given = vars(_arguments())
    there = rows_of(given["rows"])
    done = {_key(row) for row in there}
    asked = jobs_of(given)
    missing = [job for job in asked if not {_key(one) for one in _tests(job)} <= done]
    print(f"{len(asked) - len(missing)} of {len(asked)} trainings are there", file=sys.stderr)
    for job in {job["data"]: job for job in missing}.values():
        check_data(job)
    # Without what was cut off within a row.
    given["rows"].write_text("".join(json.dumps(row) + "\n" for row in there), "utf-8")
    with ProcessPoolExecutor(given["processes"], mp_context=get_context("spawn")) as pool:
        jobs = {
            pool.submit(trained, one): f"{one['data']}, {one['method']}, trial {one['trial']}"
            for one in missing
        }
        failed = 0
        for job in as_completed(jobs):
            if job.exception() is not None:
                failed += 1
                print(f"{jobs[job]}: {job.exception()!r}", file=sys.stderr, flush=True)
                continue
            text = "".join(json.dumps(row) + "\n" for row in job.result())
            with given["rows"].open("a", encoding="utf-8") as rows:
                rows.write(text)
            print(text, end="", flush=True)
    if failed:
        raise SystemExit(f"{failed} of {len(missing)} trainings failed")


def jobs_of(given: dict[str, Any]) -> list[dict[str, Any]]:
    """A training for every data set, method and trial, with the epochs that it will have."""
    for name in given["also"]:
        if not any(_same_known(data, name) for data in given["data"]):
            others = ", ".join(given["data"])
            raise SystemExit(f"{name} has other known classes than {others}: no network fits both")
    jobs = [
        given
        | {"data": data, "method": method, "trial": trial}
        | {"also": [name for name in given["also"] if _same_known(data, name)]}
        for data in given["data"]
        for method in given["methods"]
        for trial in given["trials"]
        if not (trial and _level(data))  # of levels there is one trial
    ]
    return [job | {"epochs": job["epochs"] or recipe_of(job).epochs} for job in jobs]


def _same_known(data: str, other: str) -> bool:
    """Whether two data sets differ in their unknown classes alone: CIFAR+10 and CIFAR+50."""
    one, two = (name.partition("+")[0].partition("-")[0] for name in (data, other))
    return data != other and one == two


def _level(data: str) -> str:
    """How like the known classes the unknown ones are, where a data set has levels of that."""
    return data.partition("-")[2]


def check_data(job: dict[str, Any]) -> None:
    """Refuse a folder without the data once, before every process finds out for itself."""
    from openset.findings import InputError

    try:
        for one in _tests(job):
            split_of(one)
    except InputError as error:
        raise SystemExit(f"{error}\n--folder is the folder with the official files") from error


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", choices=DATA, nargs="+")
    parser.add_argument("--folder", default="", help="folder with the official files")
    parser.add_argument("--unknown-folder", default="", help="that of CIFAR-100, if it is another")
    parser.add_argument("--also", choices=DATA, nargs="+", default=[], help="test with these, too")
    parser.add_argument("--rows", type=Path, required=True, help="file that keeps the results")
    parser.add_argument("--work", type=Path, help="folder for the checkpoints of trainings")
    parser.add_argument("--methods", nargs="+", default=METHODS, metavar="METHOD[,KEY=VALUE...]")
    parser.add_argument("--trials", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--epochs", type=int, help="others than those of the recipes")
    parser.add_argument("--size", type=int, default=0, help="shrink pictures to this side")
    parser.add_argument("--network", default="", help="another network than the recipe's")
    parser.add_argument("--images", type=int, default=0, help="of each known class to train on")
    parser.add_argument(
        "--left-out", type=int, nargs="+", default=[], help="known classes, by place"
    )
    parser.add_argument("--device", default=None)
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--compiled", action="store_true", help="let torch compile the network")
    parser.add_argument("--graphed", action="store_true", help="replay a CUDA graph of the step")
    parser.add_argument("--ahead", type=int, default=32, help="steps to augment the pictures of")
    parser.add_argument("--processes", type=int, default=10)
    return parser.parse_args()


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The results that a file keeps; one that was cut off within a row loses that row."""
    if not path.is_file():
        return []
    whole = (line for line in path.read_text("utf-8").splitlines(keepends=True) if line[-1] == "\n")
    return [json.loads(line) for line in whole]


def _key(row: dict[str, Any]) -> str:
    return json.dumps([row["method"], row["trial"], *(row[name] for name in SAME)])


def _tests(job: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that a training makes: of its own data, and of others to test with."""
    return [job | {"data": data} for data in (job["data"], *job["also"])]


def trained(job: dict[str, Any]) -> list[dict[str, Any]]:
    """One method on one trial, in a process that others share the card with."""
    import torch

    from openset.recognition.training import train

    torch.set_num_threads(1)  # the work is on the card; idle threads would spin
    torch.backends.cudnn.benchmark = True
    start = time.perf_counter()
    split, recipe = split_of(job), recipe_of(job)
    work = job["work"] and job["work"] / _name(job)
    how = {name: job[name] for name in ("device", "compiled", "graphed", "ahead")}
    trained = train(split, recipe, folder=work, **how)
    cuda = trained.learner.device.type == "cuda"
    about = {
        "pictures": recipe.plan(len(split.train.label)).steps * recipe.batch,
        "seconds": round(time.perf_counter() - start, 1),
        "device": torch.cuda.get_device_name() if cuda else "cpu",
    }
    own = job["data"]
    tests = ((one, split if one["data"] == own else split_of(one)) for one in _tests(job))
    return [_row(one, trained, of) | about for one, of in tests]


def _row(job: dict[str, Any], trained: Classifier, split: OpenSplit) -> dict[str, Any]:
    """What a network has on one test set."""
    logits = [trained.logits(part.images).cpu() for part in (split.test, split.unknown_test)]
    row = {name: job[name] for name in ("method", "trial", *SAME)}
    return row | measured(split.test.label, *(part.double().numpy() for part in logits))


def measured(label: Any, logits: Any, unknown_logits: Any) -> dict[str, float]:
    """Numbers of one network by both openness scores, in per cent."""
    from openset.recognition import Scores, evaluate_recognition

    found = {}
    for score, openness in (("", "max_logit"), ("_by_probability", "msp")):
        scores = Scores.from_logits(logits, label, unknown_logits, openness=openness)
        result = evaluate_recognition(scores, intervals=False)
        for name in ("openauc", "auc"):
            found[name + score] = round(100 * float(result.value(name)), 3)
    found["accuracy"] = round(100 * float(result.value("closed_set_accuracy")), 3)
    return found


def split_of(job: dict[str, Any]) -> OpenSplit:
    """The trial, with fewer pictures and classes left out where that is asked."""
    from openset.recognition.data import left_out, open_split

    where = {"folder": job["folder"], "unknown_folder": job["unknown_folder"]}
    name, level = job["data"].partition("-")[0], _level(job["data"])
    how = {"level": level, "size": recipe_of(job).size} if level else {}  # birds have any size
    split = open_split(name, trial=job["trial"], **where, **how)
    split = replace(split, train=_fewer(split.train, job["images"]))
    return left_out(split, job["left_out"]) if job["left_out"] else split


def _fewer(samples: Any, n: int) -> Any:
    """So many samples of each class, drawn: files may be sorted by what they show."""
    import numpy as np

    if not n:
        return samples
    order = np.random.default_rng(0).permutation(len(samples.label))
    rows = [order[samples.label[order] == c][:n] for c in np.unique(samples.label)]
    return type(samples)(*(column[np.concatenate(rows)] for column in samples))


def recipe_of(job: dict[str, Any]) -> ClassifierRecipe:
    """The package's recipe, over fewer epochs, for smaller pictures."""
    from variants import changed

    data = job["data"].removeprefix("fashion_").partition("-")[0]  # theirs are the recipes
    recipe = changed(data, job["method"], job["epochs"])
    recipe = replace(recipe, training={**recipe.training, "precision": job["precision"]})
    recipe = replace(recipe, network=job["network"] or recipe.network)
    if not job["size"]:
        return recipe
    return replace(recipe, size=job["size"], shift=round(recipe.shift * job["size"] / recipe.size))


def _name(job: dict[str, Any]) -> str:
    """A folder's name for a training, of what tells it from others."""
    from hashlib import sha256

    return f"{job['data']}-{job['trial']}-{sha256(_key(job).encode()).hexdigest()[:12]}"


if __name__ == "__main__":
    main()
