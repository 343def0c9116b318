"""Variants: what `openset learn` says of several splits of one benchmark's classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._console import Answer

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation
    from openset.learning.chain import Went

SHOWN = ("ap_known", "ap_unknown", "a_ose", "wilderness_impact")


def means_of(went: Mapping[str, Went], answers: Mapping[str, Answer], out: Path) -> Answer:
    """Each variant, and mean and deviation of its last stage over all of them."""
    from openset.cli._stopping import STOPPED

    texts = [f"{name}\n{answer.text}" for name, answer in answers.items()]
    documents = {name: answer.document() for name, answer in answers.items()}
    if not all(one.done for one in went.values()):
        return Answer("\n\n".join(texts), lambda: {"variants": documents}, STOPPED)
    results = {name: last_of(out / name) for name in went}
    means = {name: _mean([one.values[name].value for one in results.values()]) for name in SHOWN}
    lines = [_table(results, means), f"next: openset compare OTHER {out} --splits"]
    return Answer("\n\n".join([*texts, *lines]), lambda: {"variants": documents, "means": means})


def last_of(folder: Path) -> Evaluation:
    """The evaluation of the last stage that a chain went through."""
    from openset.evaluation.learned import Learned
    from openset.evaluation.result import Evaluation
    from openset.evaluation.result_folder import RESULT

    stage = Learned.load(folder).rows[-1].name
    return Evaluation.from_json(next((folder / "evaluation" / stage).glob(f"*{RESULT}")))


def _mean(values: list[float | None]) -> dict[str, Any]:
    from openset.evaluation.trainings import population

    found = population(values)
    mean, deviation = found if found is not None else (None, None)
    return {"mean": mean, "deviation": deviation, "values": values}


def _table(results: Mapping[str, Evaluation], means: Mapping[str, Mapping[str, Any]]) -> str:
    from openset.evaluation.scoreboard import Line
    from openset.render import Table

    metrics = next(iter(results.values())).metrics
    rows = []
    for name, one in means.items():
        line = Line(name, metrics.get(name), ())
        texts = [line.number(value, 1) for value in one["values"]]
        both = [line.number(one[key], 1) for key in ("mean", "deviation") if one[key] is not None]
        rows.append((line.title, *texts, " ± ".join(both) or line.number(None, 1)))
    header = (f"over {len(results)} class splits", *results, "mean ± sample deviation")
    return Table(header, tuple(rows)).text()
