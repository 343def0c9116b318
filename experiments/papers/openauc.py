"""Measure what the page about OpenAUC (Wang et al. 2022) shows; see `record`.

    python experiments/papers/openauc.py

From the repository's root; nothing else is needed: the digits are scikit-learn's, all small models
are enumerated, and trainings on CIFAR (`cifar`) are rows that the repository keeps.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import cifar
import numpy as np
from numpy.typing import NDArray
from record import Recorder, number, spoken, started, typed

from openset.papers import Column, Estimate
from openset.recognition import Scores, claims
from openset.recognition.flaws import digits
from openset.recognition.metrics import compute
from openset.recognition.metrics import table as metrics
from openset.render import Table
from openset.resampling.draws import RESAMPLES, draw
from openset.resampling.intervals import percentiles

HERE = "python experiments/papers/openauc.py"
AT = ("f_score_macro", "f_score_micro", "youden_macro", "youden_micro", "normalised_accuracy")
DRAWN = ("f_score_macro", "youden_macro", "normalised_accuracy")
STEPS = 20
FALL = (0.1, 0.9)
"""Shares of rejected unknown samples that tell whether a metric falls; its ends are special."""
NONE_REJECTED = "Where nothing is rejected normalised accuracy has a share of 0 / 0, counted as 0."
NEAREST = "A nearest-mean classifier of six of scikit-learn's digits, tested with the four others."


def main() -> None:
    """Write all run files of the page."""
    to = started("openauc", data=False)
    for name in ("properties", "bound", "small-cases"):
        table(to, name, claims.TABLES[name]())
    lacking(to, claims.TABLES["properties"]())
    printed(to)
    figure_1(to)
    balance(to)
    cifar.tables(to)


def lacking(to: Recorder, made: Table) -> None:
    """Table 1 counted: how many properties each metric lacks."""
    rows = [[name, float(cells.count("no"))] for name, *cells in made.rows]
    columns = [Column("metric"), Column("properties that it lacks", "count")]
    for file, ours in {"lacks": False, "lacks-ours": True}.items():
        to.commands = [HERE]
        to.save(file, columns, [row for row in rows if (row[0] == "OpenAUC") == ours])


def printed(to: Recorder) -> None:
    """Table 2 as the page types it: the paper's loss and the best other method."""
    page = Path(__file__).parent / "openauc" / "page.toml"
    elements = tomllib.loads(page.read_text("utf-8"))["element"]
    header = next(one["published"]["header"] for one in elements if one["name"] == "Table 2")
    held = {
        name: [float(cell.partition(" ± ")[0]) for cell in cells]
        for name, *cells in typed("openauc", "Table 2")
    }
    rows = []
    for at, data in enumerate(header[1:]):
        best = max((name for name in held if name != "OpenAUC"), key=lambda name: held[name][at])
        ours, other = held["OpenAUC"][at] / 100, held[best][at] / 100
        rows.append([data, ours, other, round(ours - other, 6), best])
    to.commands = [HERE]
    columns = [Column("data"), Column("OpenAUC", "%"), Column("best other", "%")]
    columns += [Column("less the best other", "points"), Column("which is")]
    to.save("printed", columns, rows)


def figure_1(to: Recorder) -> None:
    """Metrics at every threshold that rejects some unknown samples, and where each is best."""
    one = digits()
    weights = draw(one.n_known, 0, RESAMPLES), draw(one.n_unknown, 1, RESAMPLES)
    drawn = one.resampled(weights)
    ends = np.sort(one.unknown_openness)[::-1]
    places = [float(np.inf), *(float(np.nextafter(end, -np.inf)) for end in ends)]
    rejected = np.arange(len(places)) / one.n_unknown
    ranked = weights[1][np.argsort(-one.unknown_openness)]
    shares = np.vstack([np.zeros(RESAMPLES), np.cumsum(ranked, axis=0) / ranked.sum(axis=0)])
    few, most = (round(share * one.n_unknown) for share in FALL)
    rows, curve = [], []
    for name in AT:
        title, held = metrics()[name].title, _at(name, one, places)[:, 0]
        several = _at(name, drawn, places)
        best = int(held.argmax())
        where = shares[several.argmax(axis=0), np.arange(RESAMPLES)]
        apart = _within(held[most] - held[few], several[most] - several[few])
        row = [title, held[0], held[best], _within(rejected[best], where), held[-1], apart]
        rows.append([each if isinstance(each, (str, Estimate)) else float(each) for each in row])
        for at in range(STEPS + 1) if name in DRAWN else ():
            place = round(at / STEPS * one.n_unknown)
            share = float(rejected[place])
            curve.append([title, f"{at / STEPS:.0%}", share, _within(held[place], several[place])])
    columns = [Column("metric"), Column("rejecting none", "%"), Column("best", "%")]
    columns += [Column("unknown samples rejected there", "%"), Column("rejecting all", "%")]
    columns += [Column(" less ".join(f"at {share:.0%}" for share in FALL[::-1]), "points")]
    to.commands = [HERE]
    note = f"{NEAREST} Intervals over samples."
    to.save("figure-1", columns, rows, note, NONE_REJECTED)
    to.commands = [HERE]
    columns = [Column("metric"), Column("at"), Column("unknown samples rejected", "%")]
    to.save("figure-1-curve", [*columns, Column("value", "%")], curve, note)


def _at(name: str, scores: Scores, places: list[float]) -> NDArray[np.float64]:
    """A metric at every threshold, a row each, a column per resample."""
    found = [compute(metrics()[name], scores, threshold=at).value for at in places]
    return np.stack([np.atleast_1d(np.asarray(one, np.float64)) for one in found])


def _within(value: float, drawn: NDArray[np.float64]) -> Estimate | float | None:
    return number(round(float(value), 6), _ends(drawn))


def _ends(drawn: NDArray[np.float64]) -> list[float] | None:
    ends = percentiles(drawn)
    return None if ends is None else [round(float(end), 6) for end in ends]


def balance(to: Recorder) -> None:
    """Normalised accuracy with the share of unknown samples for its constant (Section 3.2)."""
    one = digits()
    share = one.n_unknown / (one.n_known + one.n_unknown)
    at = float(np.quantile(one.openness, 0.95))
    closed = float(compute(metrics()["closed_set_accuracy"], one))
    ways: dict[str, dict[str, Any]] = {
        "as printed": {},
        "as named": {"aks": "accuracy", "aus": "recall"},
    }
    rows = [
        [way, share, float(compute(metrics()["normalised_accuracy"], one, threshold=at,
                                   weight=share, **how)), closed]
        for way, how in ways.items()
    ]  # fmt: skip
    to.commands = [HERE]
    columns = [Column("reading"), Column("λ", "score", 2), Column("normalised accuracy", "%")]
    note = f"{NEAREST} The threshold accepts 95 % of the known samples."
    to.save("balance", [*columns, Column("closed-set accuracy", "%")], rows, note)


def table(to: Recorder, name: str, made: Table) -> None:
    """A table of `openset.recognition.claims` as a run file."""
    to.commands = [HERE]
    numbers = [_numbers([row[at] for row in made.rows]) for at in range(len(made.header))]
    columns = [
        Column(title or "metric", _unit([row[at] for row in made.rows]) if numbers[at] else "text")
        for at, title in enumerate(made.header)
    ]
    rows = [
        [_value(cell) if numbers[at] else (cell or "–") for at, cell in enumerate(row)]
        for row in made.rows
    ]
    to.save(name, columns, rows)


def _numbers(cells: list[str]) -> bool:
    return all(
        cell.removesuffix(" %").replace(",", "").replace(".", "").isdigit() for cell in cells
    )


def _unit(cells: list[str]) -> str:
    return "%" if cells[0].endswith(" %") else "count"


def _value(cell: str) -> float:
    value = float(cell.removesuffix(" %").replace(",", ""))
    return value / 100 if cell.endswith(" %") else value


if __name__ == "__main__":
    spoken(main)
