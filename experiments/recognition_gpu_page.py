"""Write the tables of a results page of recognition, from the rows that `recognition_gpu` keeps.

    python experiments/recognition_gpu_page.py ROWS.jsonl ... --page PAGE.md

Only what stands between ``<!-- trainings -->`` and ``<!-- end -->`` is written: a table for each
group of trainings that can be compared, and what it says, from its rows alone. No number of it is
typed. A page that is not there is made.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
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
Trials = Mapping[int, Row]
BASELINE = "ce_plus"
METHODS = ("softmax", "gcpl", "rpl", "arpl", "arpl_cs", "ce_plus", "acc_auc", "openauc")
PAPER = {  # Wang et al., NeurIPS 2022, Table 2, in the order of METHODS
    "mnist": (99.2, 99.1, 99.4, 99.4, 99.5, 99.1, 99.3, 99.4),
    "svhn": (92.8, 93.4, 93.6, 94.0, 94.3, 93.9, 94.0, 95.0),
    "cifar10": (83.8, 84.3, 85.2, 86.6, 87.9, 88.1, 87.6, 89.2),
    "cifar+10": (90.9, 91.0, 91.8, 93.5, 94.7, 93.2, 93.6, 95.2),
    "cifar+50": (88.5, 88.3, 89.6, 91.6, 92.9, 90.2, 92.0, 93.6),
    "tinyimagenet": (60.8, 59.3, 53.2, 62.3, 65.9, 74.3, 74.0, 75.9),
}
WHOLE_TABLE = (
    "**All data sets**, as Table 2 of OpenAUC: OpenAUC by each method's own openness, of the most "
    "trials and then the most epochs that there are; in brackets the paper's number."
)
# Methods that are scored by the largest probability, as the package has them; others by logit.
BY_PROBABILITY = ("softmax", "gcpl", "rpl")
SCORES = ("openauc", "openauc_by_probability", "auc", "accuracy")
NEEDED = ("method", "trial", "device", *SAME, *SCORES)
NEW = "<!-- trainings -->\n<!-- end -->\n"
BLOCK = re.compile(r"(?<=<!-- trainings -->\n).*?(?=<!-- end -->)", re.S)


def main() -> None:
    """Read, lay out, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--page", type=Path, required=True)
    given = parser.parse_args()
    page = given.page.read_text("utf-8") if given.page.is_file() else NEW
    page = filled(page, [row for path in given.rows for row in checked(path)])
    with replacing(given.page, folder=False) as part:
        part.write_text(page, "utf-8")


def checked(path: Path) -> list[Row]:
    """The rows of a file, all of which this page can show."""
    made = f"python experiments/recognition_gpu.py DATA --rows {path}"
    if not path.is_file():
        raise SystemExit(f"no such file: {path}; it is made by `{made}`")
    try:
        rows = rows_of(path)
    except ValueError as error:
        raise SystemExit(f"{path} has a line that is no JSON: {error}") from error
    if not rows:
        raise SystemExit(f"{path} has no row; rows are added by `{made}`")
    for at, row in enumerate(rows, start=1):
        missing = [name for name in NEEDED if not isinstance(row, dict) or name not in row]
        if missing:
            raise SystemExit(
                f"{path}, row {at} has no {', '.join(missing)}: it is of another version; "
                f"train it again, into another file, by `{made}`"
            )
        if row["method"].partition(",")[0] not in table():
            raise SystemExit(
                f"{path}, row {at}: no method {row['method']!r}; there are: {', '.join(table())}"
            )
    return rows


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
    each = [[about, results(some).markdown(), *_said(some)] for about, some in groups.items()]
    every = table_2([row for row in rows if _whole(row) and row["data"] in PAPER])
    first = [[WHOLE_TABLE, every.markdown()]] if len(every.header) > 2 else []
    return "\n".join("\n\n".join(parts) + "\n" for parts in [*first, *each])


def table_2(rows: Sequence[Row]) -> Table:
    """A line per method, a column per data set."""
    data = [name for name in PAPER if any(row["data"] == name for row in rows)]
    methods = [name for name in METHODS if any(row["method"] == name for row in rows)]
    lines = []
    for method in methods:
        cells = [_cell([r for r in rows if (r["data"], r["method"]) == (d, method)]) for d in data]
        lines.append((title(method), *cells))
    return Table(("method", *data), tuple(lines))


def _cell(rows: Sequence[Row]) -> str:
    """Mean and deviation of the trainings with the most trials, and then the most epochs."""
    if not rows:
        return ""
    several: dict[int, dict[int, Row]] = {}
    for row in rows:
        several.setdefault(row["epochs"], {})[row["trial"]] = row
    _, trials = max(several.items(), key=lambda one: (len(one[1]), one[0]))
    data, method = rows[0]["data"], rows[0]["method"]
    mean = _mean([row[own_score(method)] for row in trials.values()])
    return f"{mean} ({_paper(data, method)})"


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
    by_method = _by_method(rows)
    whole = _whole(rows[0])
    lines = []
    for method, trials in by_method.items():
        cells = [_mean([row[name] for row in trials.values()]) for name in SCORES]
        apart = _difference(trials, by_method.get(BASELINE, {}))
        paper = _paper(rows[0]["data"], method) if whole else ""
        lines.append((title(method), str(len(trials)), *cells, apart, paper))
    head = ("method", "trials", "OpenAUC", "by probability", "AUC", "accuracy")
    return Table((*head, "OpenAUC - CE+", "paper"), tuple(lines))


def _by_method(rows: Sequence[Row]) -> dict[str, dict[int, Row]]:
    found: dict[str, dict[int, Row]] = {}
    for row in rows:
        found.setdefault(row["method"], {})[row["trial"]] = row
    return found


def _whole(row: Row) -> bool:
    """Whether it is of the whole data, as the paper's are."""
    return not (row["size"] or row["images"] or row["left_out"])


def _said(rows: Sequence[Row]) -> list[str]:
    """What a table says: a list, or nothing."""
    by_method = _by_method(rows)
    lines = [*_against(by_method), *_openness(by_method)]
    lines += _beside_paper(by_method, rows[0]["data"]) if _whole(rows[0]) else []
    return ["\n".join(f"- {line}" for line in lines)] if lines else []


def _against(by_method: Mapping[str, Trials]) -> Iterator[str]:
    """Whether methods are told from CE+, by the interval over trials."""
    base = by_method.get(BASELINE, {})
    for method, trials in by_method.items():
        shared = sorted(trials.keys() & base.keys())
        if method == BASELINE or not shared:
            continue
        each = [trials[trial]["openauc"] - base[trial]["openauc"] for trial in shared]
        known = spread(each)
        if known is None:
            yield f"{title(method)} less CE+: {fmean(each):+.2f}; one trial has no interval."
            continue
        reach = known.reach(TAIL)
        apart = "above" if fmean(each) > 0 else "below"
        told = apart if abs(fmean(each)) > reach else "not told from"
        above = sum(one > 0 for one in each)
        yield (
            f"{title(method)} is **{told} CE+**: {fmean(each):+.2f} ± {reach:.2f}, above it in "
            f"{above} of {len(each)} trials."
        )


def _openness(by_method: Mapping[str, Trials]) -> Iterator[str]:
    """What the largest logit has more than the largest probability, of the same networks."""
    said = []
    for method, trials in by_method.items():
        each = [row["openauc"] - row["openauc_by_probability"] for row in trials.values()]
        known = spread(each)
        reach = f" ± {known.reach(TAIL):.2f}" if known else ""
        said.append(f"{title(method)} {fmean(each):+.2f}{reach}")
    yield f"By the largest logit less by the largest probability: {', '.join(said)}."


def _beside_paper(by_method: Mapping[str, Trials], data: str) -> Iterator[str]:
    """How far from the paper's numbers methods are by their own openness."""
    said = []
    for method, trials in by_method.items():
        if method in METHODS and data in PAPER:
            mean = fmean([row[own_score(method)] for row in trials.values()])
            said.append(f"{title(method)} {mean - PAPER[data][METHODS.index(method)]:+.2f}")
    if said:
        yield f"Less the paper's number, by the openness of each method: {', '.join(said)}."


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
    there = data in PAPER and name in METHODS
    return f"{PAPER[data][METHODS.index(name)]:.1f}" if there else ""


if __name__ == "__main__":
    main()
