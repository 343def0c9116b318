"""Write the tables of a results page of recognition, from the rows that `recognition_gpu` keeps.

    python experiments/recognition_gpu_page.py ROWS.jsonl ... --page PAGE.md

Only what stands between ``<!-- trainings -->`` and ``<!-- end -->`` is written: a table for each
group of trainings that can be compared. No number of it is typed. A page that is not there is made.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from recognition_gpu import SAME, rows_of

from openset.files import replacing
from openset.recognition.methods import table
from openset.render import Table
from openset.resampling.intervals import TAIL
from openset.resampling.trainings import spread

Row = dict[str, Any]
BASELINE = "ce_plus"
METHODS = ("softmax", "gcpl", "rpl", "arpl", "arpl_cs", "ce_plus", "acc_auc", "openauc")
PAPER = {  # Wang et al., NeurIPS 2022, Table 2, in the order of METHODS
    "mnist": (99.2, 99.1, 99.4, 99.4, 99.5, 99.1, 99.3, 99.4),
    "svhn": (92.8, 93.4, 93.6, 94.0, 94.3, 93.9, 94.0, 95.0),
    "cifar10": (83.8, 84.3, 85.2, 86.6, 87.9, 88.1, 87.6, 89.2),
    "cifar+10": (90.9, 91.0, 91.8, 93.5, 94.7, 93.2, 93.6, 95.2),
    "cifar+50": (88.5, 88.3, 89.6, 91.6, 92.9, 90.2, 92.0, 93.6),
}
# Methods that are scored by the largest probability, as the package has them; others by logit.
BY_PROBABILITY = ("softmax", "gcpl", "rpl")
NEW = "<!-- trainings -->\n<!-- end -->\n"
BLOCK = re.compile(r"(?<=<!-- trainings -->\n).*?(?=<!-- end -->)", re.S)


def main() -> None:
    """Read, lay out, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--page", type=Path, required=True)
    given = parser.parse_args()
    page = given.page.read_text("utf-8") if given.page.is_file() else NEW
    page = filled(page, [row for path in given.rows for row in rows_of(path)])
    with replacing(given.page, folder=False) as part:
        part.write_text(page, "utf-8")


def filled(page: str, rows: Sequence[Row]) -> str:
    """The page with tables of these rows."""
    new, count = BLOCK.subn(lambda _: block(rows), page)
    if count != 1:
        raise SystemExit(f"a page has one block of trainings, not {count}")
    return new


def block(rows: Sequence[Row]) -> str:
    """A table for each group of trainings with the same settings."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_settings(row), []).append(row)
    return "\n".join(f"{about}\n\n{results(some).markdown()}\n" for about, some in groups.items())


def _settings(row: Row) -> str:
    """What the trainings of a table have in common."""
    said = [f"**{row['data']}**, {row['epochs']} epochs, {row['device']}"]
    said += [f"{row['size']} by {row['size']} pixels"] * bool(row["size"])
    said += [f"{row['images']:,} pictures of each known class"] * bool(row["images"])
    said += [f"`{row['network']}`"] * bool(row["network"])
    out = ", ".join(map(str, row["left_out"]))
    said += [f"known classes {out} taken for unknown, trained on the others"] * bool(out)
    return ", ".join(said) + "."


def results(rows: Sequence[Row]) -> Table:
    """A line per method, in the order of the rows."""
    by_method: dict[str, dict[int, Row]] = {}
    for row in rows:
        by_method.setdefault(row["method"], {})[row["trial"]] = row
    names = ("openauc", "openauc_by_probability", "auc", "accuracy")
    whole = all(not rows[0][name] for name in SAME if name in ("size", "images", "left_out"))
    lines = []
    for method, trials in by_method.items():
        cells = [_mean([row[name] for row in trials.values()]) for name in names]
        apart = _difference(trials, by_method.get(BASELINE, {}))
        paper = _paper(rows[0]["data"], method) if whole else ""
        lines.append((title(method), str(len(trials)), *cells, apart, paper))
    head = ("method", "trials", "OpenAUC", "by probability", "AUC", "accuracy")
    return Table((*head, "OpenAUC - CE+", "paper"), tuple(lines))


def own_score(method: str) -> str:
    """The column of a method's own openness."""
    return "openauc_by_probability" if method in BY_PROBABILITY else "openauc"


def title(method: str) -> str:
    """How a method is shown, with what it has other than its recipe.

    >>> title("openauc,ranked=logit,weight=0.0005")
    'OpenAUC, ranked logit, weight 0.0005'
    """
    name, *options = method.split(",")
    return ", ".join([table()[name].title, *(option.replace("=", " ") for option in options)])


def _mean(values: Sequence[float]) -> str:
    spread_out = f" ± {pstdev(values):.2f}" if len(values) > 1 else ""
    return f"{fmean(values):.2f}{spread_out}"


def _difference(trials: dict[int, Row], others: dict[int, Row]) -> str:
    """The mean difference, paired by trial, with Student's interval over trials."""
    if trials is others or not trials.keys() & others.keys():
        return ""
    shared = sorted(trials.keys() & others.keys())
    each = [trials[trial]["openauc"] - others[trial]["openauc"] for trial in shared]
    known = spread(each)
    reach = f" ± {known.reach(TAIL):.2f}" if known else ""
    return f"{fmean(each):+.2f}{reach}"


def _paper(data: str, method: str) -> str:
    name = method.partition(",")[0]
    return f"{PAPER[data][METHODS.index(name)]:.1f}" if data in PAPER else ""


if __name__ == "__main__":
    main()
