"""The steps of an evaluation: check the inputs, match them once, measure everything.

`evaluate` takes them in one shot, `Evaluator` batch by batch, `Run` for several detectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.provenance import Provenance, describe
from openset.evaluation.result import Evaluation
from openset.findings import Finding, InputError, Level
from openset.matching import Matches, Protocol, match
from openset.matching.matcher import Leaked
from openset.metrics import Metric, Value, table
from openset.plugins import lookup
from openset.resampling.images import replicates
from openset.resampling.intervals import interval
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.boxes import in_pixels
from openset.tables.check import check, no_match
from openset.tables.join import join

E = TypeVar("E", bound=Evaluation)
TOUCHES = 0.1  # an overlap below this is background in every published error diagnosis


def choose(names: Sequence[str] | None) -> list[Metric]:
    """The metrics of these names, or all."""
    metrics = table()
    if names is None:
        return list(metrics.values())
    return [lookup(metrics, name, "metric") for name in names]


def prepare(
    truth: Annotations,
    detections: Detections,
    vocabulary: Vocabulary,
    rules: Protocol,
    *,
    force: bool = False,
    boxes: str = "xywh",
    leaked: Leaked = "unknown",
) -> tuple[Matches, list[Finding]]:
    """Check the inputs and match them; errors are raised, or forced and left as they are."""
    lookup(dict.fromkeys(get_args(Leaked)), leaked, "value of leaked")
    joined = join(truth, detections, vocabulary)
    detections = in_pixels(detections, joined.image, truth, boxes)
    findings = check(truth, detections, vocabulary, joined=joined)
    settle(findings, force)
    matches = match(truth, detections, vocabulary, rules, joined=joined, leaked=leaked)
    return matches, findings + contact(matches)


def contact(matches: Matches) -> list[Finding]:
    """The finding that nothing overlaps anything, if so."""
    if len(matches) and len(matches.objects) and not _any_contact(matches):
        return [no_match(len(matches))]
    return []


def _any_contact(matches: Matches) -> bool:
    columns = matches.columns
    overlaps = (columns.iou_same, columns.iou_known, columns.iou_unknown)
    return len(columns.position) > 0 or any(iou.max() >= TOUCHES for iou in overlaps)


def settle(findings: list[Finding], force: bool) -> list[Finding]:
    """Raise errors, or turn them into warnings if forced."""
    if not any(finding.level is Level.ERROR for finding in findings):
        return findings
    if not force:
        raise InputError([f for f in findings if f.level is Level.ERROR])
    return [replace(f, level=Level.WARNING) if f.level is Level.ERROR else f for f in findings]


def evaluation_of(
    matches: Matches,
    metrics: Sequence[Metric],
    findings: Sequence[Finding],
    inputs: Mapping[str, str],
    *,
    seed: int,
    resamples: int,
    ledger: str = "",
) -> Evaluation:
    """Measure what was matched, with intervals if resamples are wanted."""
    return measure(
        {metric.name: metric.compute(matches) for metric in metrics},
        partial(replicates, matches, metrics, seed, resamples) if resamples else dict,
        partial(describe, matches, inputs, seed=seed, resamples=resamples, ledger=ledger),
        findings,
        partial(Evaluation, matches=matches),
    )


def measure(
    values: Mapping[str, Value],
    draw: Callable[[], Mapping[str, NDArray[np.float64]]],
    origin: Callable[[], Provenance],
    findings: Sequence[Finding],
    make: Callable[..., E],
) -> E:
    """Values as a result, with the intervals of their resamples.

    Args:
        values: The value of every metric.
        draw: Gives the number of metrics in every resample; of none without intervals.
        origin: Makes the provenance, when it is asked for.
        findings: What was found about the inputs.
        make: The kind of result, holding what the values were computed from.
    """
    drawn, found = draw(), dict(values)
    for name, numbers in drawn.items():
        if found[name].value is not None:
            found[name] = replace(found[name], interval=interval(numbers, found[name].value))
    return make(found, origin, tuple(findings), drawn)
