"""Pictures per second of a run that keeps logits and embeddings, alone on a card.

    python experiments/run_speed.py MODEL GT.json [--batches 32 64] [--decoders 0 8] [--out FILE]

All pictures of the ground truth, decoded from their files, for every size of a batch and number of
processes that decode (0: sixteen threads); a first run of some warms up and is not counted. Prints
a line of JSON each, and adds it to FILE, of which `methods_page` makes a table.

Needs NumPy, scikit-learn, torch and torchvision beside this package.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import torch

from openset.detectors import ImageFiles, Model, load, run
from openset.training import TrainingData

THREADS, WARM = 16, 512


def main() -> None:
    """Measure each way."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("truth", type=Path)
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--decoders", type=int, nargs="+", default=[0, 8])
    parser.add_argument("--out", type=Path, default=Path("run_speed.jsonl"))
    given = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    model = load(given.model)
    files = TrainingData.of(given.truth, labels=model.labels, empty=True).files
    for batch in given.batches:
        for decoders in given.decoders:
            text = json.dumps(measured(model, files, batch, decoders))
            print(text, flush=True)
            with given.out.open("a", encoding="utf-8") as rows:
                rows.write(text + "\n")


def measured(model: Model, files: ImageFiles, batch: int, decoders: int) -> dict[str, object]:
    """One way to run over all pictures."""
    how = {"batch": batch, "threads": THREADS, "decoders": decoders}
    run(model, files.select(slice(WARM)), **how)
    start = time.perf_counter()
    found = run(model, files, **how)
    seconds = time.perf_counter() - start
    cuda = torch.cuda.is_available()
    return {
        "pictures": len(files),
        "boxes": len(found),
        "side": model.about.get("options", {}).get("shortest"),
        "batch": batch,
        "decoders": decoders,
        "images_per_second": round(len(files) / seconds, 1),
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "torch": torch.__version__,
    }


if __name__ == "__main__":
    main()
