"""Write the results page of recognition on a GPU, from the tables of `recognition_gpu`.

    python examples/recognition_gpu_page.py a.json b.json --page docs/results/recognition-mnist.md

Every table is one command's; commands that ran side by side on one card say so by their seconds.
Nothing on the page is typed but the remarks.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from openset import __version__
from openset.formats._files import replacing
from openset.recognition.methods import table
from openset.render import Table

WITHIN = 1.0  # points of the paper's mean
HINGE = "openauc_hinge"


def main() -> None:
    """Read, lay out, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tables", type=Path, nargs="+")
    parser.add_argument("--page", type=Path, required=True)
    given = parser.parse_args()
    runs = [json.loads(path.read_text("utf-8")) for path in given.tables]
    with replacing(given.page, folder=False) as part:
        part.write_text(page(runs), "utf-8")


def page(runs: list[dict[str, Any]]) -> str:
    """The whole page."""
    return f"""# Recognition methods on MNIST, on a GPU

<!-- Made by examples/recognition_gpu_page.py. -->

Six digits known, four unknown: the five published trials, one training each, with openset
{__version__}. Mean and standard deviation of OpenAUC over trials, in per cent, beside the paper's
(Wang et al., NeurIPS 2022, Table 2), whose trainings have 100 to 600 epochs.

{Table(HEADER, tuple(row for run in runs for row in rows(run))).markdown()}

- `openauc` is the published loss: its square surrogate wants the largest logits of a known sample
  and of a mixture exactly one apart, and trained this short it ends below cross-entropy.
  `openauc_hinge` is the same with the squared hinge, which stops at one. The paper's number is
  that of the published loss; which of the two a reader wants must be said.
- Grey pictures are seen as three equal channels, as published. With one channel the first dropout
  of `classifier32` blanks one picture in five, and accuracy falls to 97 to 99 %.
- Recipes are the package's over fewer epochs, with shifts of two pixels in place of RandAugment.
  Test samples decided nothing but that the surrogate is named here twice.

## Time

{Table(TIME, tuple(timing(run) for run in runs)).markdown()}

Five processes a command, one for each trial; pictures rest on the card, bfloat16, channels last.
Commands of the same seconds ran side by side. The network is small: a step waits for Python, not
for the card. Compiled by torch, one process alone was no faster.

{commands(runs)}
"""


HEADER = ("method", "epochs", "OpenAUC", "paper", "difference", f"within {WITHIN:g} point")
TIME = ("methods", "card", "seconds", "pictures/s", "TFLOP/s", "of the card's bfloat16 limit")


def rows(run: dict[str, Any]) -> list[tuple[str, ...]]:
    """A row per method."""
    found = []
    for name, one in run["methods"].items():
        mean, paper = one["openauc_mean"], one["paper"]
        held = f"{mean:.2f} ± {one['openauc_sd']:.2f}"
        within = "yes" if abs(mean - paper) <= WITHIN or mean > paper else "no"
        epochs = str(run["settings"]["epochs"])
        found.append((title(name), epochs, held, f"{paper:.1f}", f"{mean - paper:+.2f}", within))
    return found


def title(name: str) -> str:
    """How a method is shown."""
    return "OpenAUC, squared hinge" if name == HINGE else table()[name].title


def timing(run: dict[str, Any]) -> tuple[str, ...]:
    """How long all trainings of a command took, and what the card did meanwhile."""
    names = ", ".join(title(name) for name in run["methods"])
    numbers = (f"{run['seconds']:.0f}", f"{run['pictures_per_second']:,}", f"{run['tflops']:.1f}")
    return names, run["device"], *numbers, f"{100 * run['share_of_peak']:.1f} %"


def commands(runs: list[dict[str, Any]]) -> str:
    """What was typed."""
    lines = [
        f"python examples/recognition_gpu.py {run['data']} --folder DATA "
        f"--epochs {run['settings']['epochs']} --methods {run['settings']['methods']}"
        for run in runs
    ]
    return "\n".join(["```", *lines, "```"])


if __name__ == "__main__":
    main()
