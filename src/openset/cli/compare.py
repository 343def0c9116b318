"""compare: do two methods differ by more than the choice of test images, and training, explain?

The table has the stars of every other rendering; gates are corrected for their own number, since
they are chosen before anything is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._terminal import width, wrapped
from openset.findings import UsageError
from openset.plugins import lookup
from openset.render import Table

if TYPE_CHECKING:
    from openset.evaluation.comparison import Comparison, Difference
    from openset.evaluation.scoreboard import Cell, Scoreboard
    from openset.evaluation.trainings import Trainings

app = verb("compare", panel="Measure")
BY_EVALUATE = "openset evaluate GT DT -o RUN keeps a *.result.json of each model"


@app.default
def compare(
    first: Path,
    second: Path,
    /,
    *,
    metrics: list[str] | None = None,
    fail_on_regression: list[str] | None = None,
    paired: Flag = False,
    splits: Flag = False,
    force: Flag = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Compare two results of one benchmark, metric by metric, with intervals and p-values.

    Args:
        first: The reference: a folder that `openset evaluate -o` or `openset recognise -o` wrote,
            RUN/NAME of one with several models, or a *.result.json in it. NAME=FILE,FILE... is one
            method, trained several times.
        second: What is compared with it, likewise.
        metrics: Show only these, a,b,c; "all" shows every one.
        fail_on_regression: Exit with 1 if one of these metrics, a,b,c, is worse in the second by
            more than chance: p < 0.05, corrected for the number of these metrics (Holm). Without
            resamples: if it is worse at all. Results of different seeds are compared unpaired.
        paired: The trainings of both belong together, place by place: same seeds.
        splits: The results of both are of several splits of one benchmark's classes, the same in
            each place, as NAME=FILE,FILE...: means over them are compared, and each is shown with
            its deviation.
        force: Compare in spite of different ground truth, vocabulary, protocol or groups.
        output: How to speak.
    """
    from openset.cli._inputs import listed
    from openset.evaluation.comparison import compare as compare_results
    from openset.evaluation.leaks import said_first
    from openset.evaluation.scoreboard import Scoreboard

    sides = _sides(first, second, (force, splits), output)
    one, other = sides
    leaks = said_first({name: method.results[0] for name, method in sides.items()})
    found = compare_results(*sides.values(), force=force, paired=paired, splits=splits)
    gates = listed(fail_on_regression)
    for name in gates:
        _refuse_undirected(name, found)
    for name in gates:
        _refuse_missing(name, _asked(found, name))
    board = Scoreboard.between(found, (one, other))
    guarded = board.gates(gates)
    worse = [line.name for line in guarded.lines if regressed(line.cells[1])]
    shown = board.only(_chosen(found, listed(metrics), gates))
    said = [wrapped(leak, "") for leak in leaks]
    means = _over_splits(sides, shown) if splits else []
    text = "\n".join([*said, _fitted(shown.differences()), *means, *_gates(guarded, worse)])
    document = partial(_document, found, board, gates, worse)
    return Answer(text, lambda: {"leaks": leaks, **document()}, 1 if worse else 0)


def _over_splits(sides: Mapping[str, Trainings], shown: Scoreboard) -> list[str]:
    """Mean, deviation and every value of both methods over class splits, as papers print them."""
    from openset.evaluation.trainings import population

    count = len(next(iter(sides.values())))
    said = [f"over {count} class splits, each a training of its own: mean ± sample deviation"]
    for line in shown.lines:
        for name, method in sides.items():
            runs = method.runs(line.name)
            found = population(runs)
            if found is not None:
                mean, apart = (line.number(value, 1) for value in found)
                each = ", ".join(line.number(value, 1) for value in runs)
                said.append(f"  {line.title}, {name}: {mean} ± {apart} ({each})")
    return said


def _sides(
    first: Path, second: Path, how: tuple[bool, bool], output: Output
) -> dict[str, Trainings]:
    """The two methods by their names; says what is to be known about their trainings."""
    from openset.cli._inputs import BY_LEARN, methods, read_results, refuse_absent, results_at
    from openset.evaluation.trainings import (
        findings_of,
        left_out_otherwise,
        methods_of,
        repeated_methods,
    )

    asked = methods([first, second])
    if len(asked) != 2:
        raise UsageError(f"both methods are called {next(iter(asked))!r}: give two to compare")
    force, splits = how
    every = [file for paths in asked.values() for path in paths for file in results_at(path)]
    refuse_absent(every, BY_LEARN if splits else BY_EVALUATE)
    results = {
        name: [one for path in paths for one in read_results(path)] for name, paths in asked.items()
    }
    sides = methods_of(results, force=force, splits=splits)
    again = {name: (finding,) for name, finding in repeated_methods(sides).items()}
    for said in (findings_of(sides), left_out_otherwise(sides), again):
        for name, findings in said.items():
            for finding in findings:
                output.report(finding, name)
    return sides


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
    number = sum(guarded.families.values())
    if number > 1:
        said.append(f"p is corrected for {number} gates (Holm)")
    return said


def _document(
    found: Comparison, board: Scoreboard, gates: list[str], worse: list[str]
) -> dict[str, Any]:
    """Both methods, every difference, and what became of the gates."""
    sides = zip(board.models, found.methods, strict=True)
    return {
        "methods": {name: method.document() for name, method in sides},
        "differences": board.document(1),
        "gates": {name: name not in worse for name in gates},
    }
