"""Across tasks: what later tasks cost the classes of earlier ones, from one result per task.

A class is taught in the first result that knows it. Its forgetting is its AP there less its AP in
the last result; the number is the mean over the classes taught before the last task. Negative
values are classes that gained.

Not a metric of one result (see `ap_previous`, which falls for other reasons, too: it has more
classes every task), and not a comparison of detectors: results are of one detector as it learns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.result import Evaluation
from openset.findings import UsageError
from openset.metrics import Value
from openset.render import Table
from openset.resampling.intervals import percentiles
from openset.wording import spaced


@dataclass(frozen=True)
class Forgetting:
    """How much AP the classes of earlier tasks have lost after the last one.

    Attributes:
        value: Mean of the drops, with its interval where the results have paired resamples.
        drops: Class → AP when it was taught less AP at the end; None where one does not exist.
        taught: Class → the task that taught it, from 1.
        ap: Class → its AP after every task, from the one that taught it.
    """

    value: Value
    drops: dict[str, float | None]
    taught: dict[str, int]
    ap: dict[str, tuple[float | None, ...]]

    def table(self) -> Table:
        """A row per class: the task that taught it, AP then, AP at the end, and the drop."""
        rows = [
            (name, str(self.taught[name]), *map(_cell, (self.ap[name][0], self.ap[name][-1], drop)))
            for name, drop in self.drops.items()
        ]
        ends = self.value.interval
        shown = f" [{100 * ends[0]:.1f}, {100 * ends[1]:.1f}]" if ends else ""
        mean = ("all", "", "", "", _cell(self.value.value) + shown)
        header = ("class", "task", "AP when taught", "AP at the end", "forgetting")
        return Table(header, (*rows, mean))

    def __repr__(self) -> str:
        return self.table().text()


def forgetting(results: Sequence[Evaluation], *, force: bool = False) -> Forgetting:
    """What later tasks cost the classes of earlier ones.

    Args:
        results: One per task, in order, of one protocol and on the same test images.
        force: Subtract in spite of different ground truths, as where each task has its own.
    """
    _refuse(results)
    if not force:
        _refuse_other_truths(results)
    known = [result.values["ap_known"].parts for result in results]
    taught: dict[str, int] = {}
    for task, parts in enumerate(known, 1):
        taught |= {name: task for name in parts if name not in taught}
    _refuse_lost(taught, known)
    earlier = {name: task for name, task in taught.items() if task < len(results)}
    ap = {name: tuple(parts[name] for parts in known[task - 1 :]) for name, task in earlier.items()}
    drops = {name: _less(values[0], values[-1]) for name, values in ap.items()}
    return Forgetting(_mean(drops, results), drops, earlier, ap)


def _mean(drops: dict[str, float | None], results: Sequence[Evaluation]) -> Value:
    kept = [drop for drop in drops.values() if drop is not None]
    if not kept:
        return Value.missing("no class of an earlier task has an AP both then and at the end")
    value = float(np.mean(kept))
    drawn = _resampled(results, value)
    ends = None if drawn is None else percentiles(drawn)
    return Value(value, count=len(kept), parts=drops, interval=ends)


def _resampled(results: Sequence[Evaluation], value: float) -> NDArray[np.float64] | None:
    """The mean in every resample: means of tasks, weighted by their classes, less that at the end.

    None if the resamples are not paired, or if these means are not of the same classes (a class
    without AP, or vocabularies that do not state tasks): then they do not give the value itself.
    """
    *before, last = results
    origins = [result.provenance for result in results]
    if len({(p.seed, p.truth_hash, p.groups_hash) for p in origins}) > 1:
        return None
    names = ["ap_known", *["ap_current"] * (len(before) - 1)]
    wanted = [*zip(before, names, strict=True), (last, "ap_previous")]
    if any(r.values[n].value is None or n not in r.replicates for r, n in wanted):
        return None
    sizes = np.diff([0, *(len(result.values["ap_known"].parts) for result in before)])

    def combined(numbers: Sequence[Any]) -> Any:
        return np.average(np.array(numbers[:-1]), axis=0, weights=sizes) - numbers[-1]

    if not isclose(combined([r.values[n].value for r, n in wanted]), value, abs_tol=1e-9):
        return None
    return np.asarray(combined([r.replicates[n] for r, n in wanted]))


def _refuse(results: Sequence[Evaluation]) -> None:
    if len(results) < 2:
        raise UsageError("forgetting takes one result for each of two tasks or more")
    if any("ap_known" not in result.values for result in results):
        raise UsageError("a result has no ap_known; evaluate with it")
    rules = {(r.provenance.protocol, str(r.provenance.deviations)) for r in results}
    if len(rules) > 1:
        raise UsageError(f"the results have different protocols: {sorted(rules)}")


def _refuse_other_truths(results: Sequence[Evaluation]) -> None:
    first, *others = (result.provenance for result in results)
    for task, other in enumerate(others, 2):
        if other.truth_hash != first.truth_hash:
            sizes = [
                f"{spaced(one.counts['images'])} images, {one.truth_hash}" for one in (first, other)
            ]
            raise UsageError(
                f"the results have different ground truths (task 1: {sizes[0]}; task {task}: "
                f"{sizes[1]}), so that a drop may be one of images; evaluate all tasks on the "
                "same ground truth, each with its own known=, or force=True subtracts"
            )


def _refuse_lost(taught: Mapping[str, int], known: Sequence[Mapping[str, object]]) -> None:
    for task, parts in enumerate(known, 1):
        lost = [name for name, first in taught.items() if first < task and name not in parts]
        if lost:
            raise UsageError(
                f"{lost[0]!r} is known after task {taught[lost[0]]}, not after task {task}: give "
                "results in the order of tasks, each with the classes of all tasks so far"
            )
    for task in range(1, len(known) + 1):
        if task not in taught.values():
            raise UsageError(
                f"task {task} teaches no class that those before it have not: give one result for "
                "each task"
            )


def _less(first: float | None, last: float | None) -> float | None:
    return None if first is None or last is None else first - last


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
