"""compare: do two results differ by more than the choice of test images explains?

The table is corrected for all that it shows, gates for their own number: they are chosen before.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output, width, wrapped
from openset.findings import UsageError
from openset.plugins import lookup
from openset.render import Table

if TYPE_CHECKING:
    from openset.evaluation.comparison import Comparison, Difference
    from openset.evaluation.scoreboard import Cell, Scoreboard

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
    """Compare two results of one benchmark, metric by metric, with intervals and p-values.

    Args:
        first: The reference, a *.result.json of `openset evaluate -o` or `openset recognise -o`.
        second: What is compared with it.
        metrics: Show only these, a,b,c; "all" shows every one.
        fail_on_regression: Exit with 1 if one of these metrics, a,b,c, is worse in the second by
            more than chance: p < 0.05, corrected for the number of these metrics (Holm). Without
            resamples: if it is worse at all. Results of different seeds are compared unpaired.
        force: Compare in spite of different ground truth, vocabulary or protocol.
        output: How to speak.
    """
    from openset.cli._inputs import listed, model_names, read_result
    from openset.evaluation.comparison import compare as compare_results
    from openset.evaluation.leaks import said_first
    from openset.evaluation.scoreboard import Scoreboard

    one, other = model_names([first, second])
    results = {one: read_result(first), other: read_result(second)}
    leaks = said_first(results)
    found = compare_results(*results.values(), force=force)
    gates = listed(fail_on_regression)
    for name in gates:
        _refuse_undirected(name, found)
    for name in gates:
        _refuse_missing(name, _asked(found, name))
    guarded = Scoreboard.between(found, (one, other), gates)
    worse = [line.name for line in guarded.lines if regressed(line.cells[1])]
    shown = _chosen(found, listed(metrics), gates)
    board = Scoreboard.between(found, (one, other), shown)
    said = [wrapped(leak, "") for leak in leaks]
    text = "\n".join([*said, _fitted(board.differences()), *_gates(guarded, worse)])
    document = partial(_document, found, board, gates, worse)
    return Answer(text, lambda: {"leaks": leaks, **document()}, 1 if worse else 0)


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


def regressed(cell: Cell) -> bool:
    """Whether the second result is worse, beyond what the choice of images explains."""
    d = cell.difference
    return d is not None and d.better is False and (d.interval is None or cell.star)


def _refuse_missing(name: str, difference: Difference) -> None:
    if difference.difference is None:
        raise UsageError(f"{name} has no value in one of the results, so nothing can be said of it")


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


def _gates(guarded: Scoreboard, worse: list[str]) -> list[str]:
    """What each gate found, and what it rests on."""
    from openset.evaluation.numbers import p_text

    said = []
    for line in guarded.lines:
        p = p_text(line.cells[1].p)
        on = f" (p {p if p.startswith('<') else '= ' + p})" if p else " (without a p-value)"
        said.append(f"{line.name}: {'regression' if line.name in worse else 'no regression'}{on}")
    if guarded.comparisons > 1:
        said.append(f"p is corrected for {guarded.comparisons} gates (Holm)")
    return said


def _document(
    found: Comparison, board: Scoreboard, gates: list[str], worse: list[str]
) -> dict[str, Any]:
    """Every difference; p-values are corrected for those of the table."""
    from openset.evaluation.scoreboard import Cell
    from openset.metrics import Value

    every = {name: board.cell(name, 1) or Cell(Value(), d) for name, d in found.differences.items()}
    return {
        "differences": {name: cell.document() for name, cell in every.items()},
        "gates": {name: name not in worse for name in gates},
    }
