"""Open-set recognition on a GPU: the five trials of MNIST (or its kin), as in OpenAUC's Table 2.

    python experiments/recognition_gpu.py mnist --folder DATA --out table.json

Pictures rest on the card as bytes; bfloat16, channels last. One process a training: while one waits
for Python, the others keep the card busy, more so where NVIDIA's multi-process service lets them
share it (`nvidia-cuda-mps-control -d`). Prints JSON: OpenAUC by method, mean and deviation over
trials, seconds, pictures per second, and what share of the card's arithmetic that is. Needs NumPy,
scikit-learn and torch only. Recipes are the package's, over fewer epochs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

PAPER = {"softmax": 99.2, "gcpl": 99.1, "rpl": 99.4, "arpl": 99.4, "arpl_cs": 99.5}
PAPER |= {"ce_plus": 99.1, "acc_auc": 99.3, "openauc": 99.4}
VARIANTS = {  # other options of a method, compared with the same number
    "openauc_logit": ("openauc", {"ranked": "logit"}),
    "openauc_hinge": ("openauc", {"ranked": "logit_hinge"}),
}


def main() -> None:
    """Train every method on every trial, and print the table."""
    given = _arguments()
    start = time.perf_counter()
    measured = [_measured(given, compiled) for compiled in (False, True)] if given.measure else []
    rows: list[dict[str, Any]] = []
    pool_start = time.perf_counter()
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        each = [(method, trial) for method in given.methods.split(",") for trial in given.trials]
        jobs = [pool.submit(_trained, vars(given), method, trial) for method, trial in each]
        for job in as_completed(jobs):
            rows.append(job.result())
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    seconds = time.perf_counter() - pool_start
    report = _report(given, rows, seconds) | {
        "measured": measured,
        "total_seconds": round(time.perf_counter() - start, 1),
    }
    text = json.dumps(report, indent=2)
    if given.out:
        given.out.write_text(text + "\n", "utf-8")
    print(text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", choices=("mnist", "fashion_mnist", "digits"))
    parser.add_argument("--folder", default="", help="folder with the IDX files")
    parser.add_argument("--methods", default="softmax,ce_plus,arpl,openauc")
    parser.add_argument("--trials", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--device", default=None)
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--compiled", action="store_true", help="let torch compile the network")
    parser.add_argument("--measure", action="store_true", help="time one epoch, compiled and not")
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--peak", type=float, default=790.0, help="TFLOP/s of the card, bfloat16")
    parser.add_argument("--out", type=Path, default=None)
    return parser.parse_args()


def _recipe(given: dict[str, Any], method: str) -> Any:
    from openset.recognition.recipe import ClassifierRecipe

    name, options = VARIANTS.get(method, (method, {}))
    data = given["data"].removeprefix("fashion_")  # that has no recipes of its own
    short = ClassifierRecipe.of(f"{data}-{name}").shortened(given["epochs"])
    return ClassifierRecipe.of(short, options=options, training={"precision": given["precision"]})


def _trained(given: dict[str, Any], method: str, trial: int) -> dict[str, Any]:
    """One method on one trial, in a process that others share the card with."""
    import torch

    from openset.recognition import evaluate_recognition
    from openset.recognition.data import open_split
    from openset.recognition.training import train

    torch.set_num_threads(1)  # the work is on the card; idle threads would spin
    start = time.perf_counter()
    split = open_split(given["data"], trial=trial, folder=given["folder"])
    recipe = _recipe(given, method)
    trained = train(split, recipe, device=given["device"], compiled=given["compiled"])
    result = evaluate_recognition(trained.scores(split), intervals=False)
    seconds = time.perf_counter() - start
    names = ("openauc", "auc", "closed_set_accuracy")
    numbers = {name: round(100 * float(result.value(name)), 3) for name in names}
    pictures = recipe.plan(len(split.train.label)).steps * recipe.batch
    row = {"method": method, "trial": trial, **numbers}
    return row | {"seconds": round(seconds, 1), "pictures": pictures}


def _measured(given: argparse.Namespace, compiled: bool) -> dict[str, Any]:
    """Pictures per second of one process, alone on the card: two epochs less one."""
    from openset.recognition.data import open_split
    from openset.recognition.training import train

    split = open_split(given.data, folder=given.folder)
    spent = []
    try:
        for epochs in (1, 2, 1):
            start = time.perf_counter()
            recipe = _recipe(vars(given) | {"epochs": epochs}, "ce_plus")
            train(split, recipe, device=given.device, compiled=compiled).answers(
                split.test.images[:1]
            )
            spent.append(time.perf_counter() - start)
    except Exception as error:  # torch compiles with whatever compiler there is, or is not
        return {"compiled": compiled, "failed": str(error).strip().partition("\n")[0][:200]}
    rate = len(split.train.label) / max(spent[1] - spent[2], 1e-9)
    first = spent[0] - spent[2]
    return {
        "compiled": compiled,
        "pictures_per_second": round(rate),
        "tflops": round(rate * _flops(given, split) / 1e12, 2),
        "seconds_more_for_the_first": round(first, 1),
    }


def _flops(given: argparse.Namespace, split: Any) -> float:
    """Arithmetic of one picture in training: three times that of its convolutions."""
    import torch

    from openset.recognition.networks import build_network

    counted = []

    def count(module: torch.nn.Module, _given: Any, out: torch.Tensor) -> None:
        counted.append(2 * module.weight[0].numel() * out[0].numel())  # type: ignore[index]

    side, channels = split.train.images.shape[2:]
    recipe = _recipe(vars(given), "ce_plus")
    side = recipe.size or side
    network = build_network(recipe.network, channels)
    for module in network.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_hook(count)
    network(torch.zeros(2, channels, side, side))
    return 3.0 * sum(counted)


def _report(
    given: argparse.Namespace, rows: list[dict[str, Any]], seconds: float
) -> dict[str, Any]:
    import torch

    from openset.recognition.data import open_split

    methods = {}
    for method in given.methods.split(","):
        mine = sorted((r for r in rows if r["method"] == method), key=lambda row: row["trial"])
        found = [row["openauc"] for row in mine]
        methods[method] = {
            "openauc_mean": round(statistics.fmean(found), 2),
            "openauc_sd": round(statistics.pstdev(found), 2),
            "paper": PAPER[VARIANTS.get(method, (method,))[0]] if given.data == "mnist" else None,
            "trials": mine,
        }
    rate = sum(row["pictures"] for row in rows) / seconds
    tflops = rate * _flops(given, open_split(given.data, folder=given.folder)) / 1e12
    settings = {key: value for key, value in vars(given).items() if key not in ("folder", "out")}
    cuda = torch.cuda.is_available()
    return {
        "data": given.data,
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "settings": settings,
        "methods": methods,
        "seconds": round(seconds, 1),
        "pictures_per_second": round(rate),
        "tflops": round(tflops, 2),
        "share_of_peak": round(tflops / given.peak, 4),
    }


if __name__ == "__main__":
    main()
