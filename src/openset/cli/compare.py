"""compare: do two results differ by more than the choice of test images explains?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output, width, wrapped
from openset.findings import UsageError
from openset.plugins import lookup
from openset.render import Table

if TYPE_CHECKING:
    from openset.evaluation.comparison import Comparison, Difference

app = verb("compare", panel="Measure")


@app.default
def compare(
    first: Path,
    second: Path,
    /,
    *,
    metrics: list[str] | None = None,
    fail_on_regression: list[str] | None = None,
    force: Flag = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Compare two results of one benchmark, metric by metric, with paired intervals.

    Args:
        first: The reference, a *.result.json of `openset evaluate -o` or `openset recognise -o`.
        second: What is compared with it.
        metrics: Show only these, a,b,c; "all" shows every one.
        fail_on_regression: Exit with 1 if one of these metrics, a,b,c, is worse in the second and
            the 95 % interval of the difference leaves out 0 (without resamples: if it is worse).
        force: Compare in spite of different ground truth, vocabulary or protocol.
        output: How to speak.
    """
    from openset.cli._inputs import listed, model_names, read_result
    from openset.evaluation.comparison import compare as compare_results
    from openset.evaluation.scoreboard import Scoreboard

    one, other = model_names([first, second])
    found = compare_results(read_result(first), read_result(second), force=force)
    gates = listed(fail_on_regression)
    for name in gates:
        _refuse_undirected(name, found)
    worse = [name for name in gates if regressed(name, _asked(found, name))]
    shown = _chosen(found, listed(metrics), gates)
    board = Scoreboard.between(found, (one, other), shown)
    text = "\n".join([_fitted(board.differences()), *_gates(gates, worse)])
    return Answer(text, lambda: _document(found, gates, worse), 1 if worse else 0)


def _fitted(table: Table) -> str:
    """The table; where it is wider than the terminal, the values above the differences."""
    notes = [wrapped(note, "   ") for note in table.notes]
    whole = replace(table, notes=()).text()
    if max(map(len, whole.splitlines())) <= width():
        return "\n".join([whole, *notes])
    values, differences = (
        [(row[0], *row[1:3]) for row in (table.header, *table.rows)],
        [(row[0], *row[3:]) for row in (table.header, *table.rows)],
    )
    blocks = [Table(head, tuple(rows)).text() for head, *rows in (values, differences)]
    return "\n".join(["\n\n".join(blocks), *notes])


def regressed(name: str, difference: Difference) -> bool:
    """Whether the second result is worse, beyond what the choice of images explains."""
    if difference.difference is None:
        raise UsageError(f"{name} has no value in one of the results, so nothing can be said of it")
    certain = difference.interval is None or difference.significant
    return difference.better is False and certain


def _refuse_undirected(name: str, found: Comparison) -> None:
    metric = found.metrics.get(name)
    if metric is not None and metric.better not in ("higher", "lower"):
        raise UsageError(f"{name} is better neither when higher nor when lower: it cannot regress")


def _asked(found: Comparison, name: str) -> Difference:
    return lookup(found.differences, name, "metric of both results")


def _chosen(found: Comparison, asked: list[str], gates: list[str]) -> list[str]:
    if asked == ["all"]:
        return list(found.differences)
    if asked:
        return [name for name in asked if _asked(found, name)]
    first = {name for name, metric in found.metrics.items() if metric.headline}
    return [name for name in found.differences if name in gates or name in first]


def _gates(gates: list[str], worse: list[str]) -> list[str]:
    return [f"{name}: {'regression' if name in worse else 'no regression'}" for name in gates]


def _document(found: Comparison, gates: list[str], worse: list[str]) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "differences": {
            name: {**asdict(d), "significant": d.significant}
            for name, d in found.differences.items()
        },
        "gates": {name: name not in worse for name in gates},
    }
