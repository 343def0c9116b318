"""evaluate: read, check, match once, measure everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, get_args

from openset.diagnosis.resample import RESAMPLES, interval, replicates
from openset.evaluation.provenance import describe
from openset.evaluation.result import Evaluation
from openset.findings import Finding, InputError, Level
from openset.formats import read_annotations, read_detections
from openset.matching import Matches, Protocol, match
from openset.matching.matcher import Leaked
from openset.metrics import Metric, table
from openset.plugins import lookup
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.boxes import in_pixels
from openset.tables.check import check, no_match
from openset.tables.join import join

Source = Any  # a path, a table, or lists of torchvision dictionaries
TOUCHES = 0.1  # an overlap below this is background in every published error diagnosis


def evaluate(
    gt: Source,
    dt: Source,
    *,
    known: Vocabulary | str | Path | Sequence[str] | None = None,
    protocol: Protocol | str = "default",
    metrics: Sequence[str] | None = None,
    intervals: bool = True,
    seed: int = 0,
    force: bool = False,
    boxes: str = "xywh",
    leaked: Leaked = "unknown",
) -> Evaluation:
    """Evaluate detections against ground truth.

    Args:
        gt: Ground truth: a file or folder in any known format, a table, or torchvision targets.
        dt: Detections, likewise.
        known: Which labels are known: a built-in (``voc20``, ``coco80``, ``owod-t1`` ...), labels,
            a vocabulary file, or None if the ground truth says so itself.
        protocol: Name of a preset, or a `Protocol`.
        metrics: Names of metrics; all of them by default.
        intervals: Whether to compute 95 % intervals from 1,000 image resamples.
        seed: Seed of the resamples; results of one seed are paired.
        force: Go on in spite of errors in the inputs, which become warnings.
        boxes: How the detections' boxes are written, if not ``xywh``: ``xyxy``, ``cxcywh``, or one
            of the three with ``-norm``.
        leaked: Detections labelled with a class that is unknown here (the detector was taught it)
            count as ``unknown``, or ``drop`` them.

    Returns:
        The numbers, with protocol, provenance and findings.

    Raises:
        InputError: When an input cannot be used; the findings say why.
    """
    rules, chosen = Protocol.of(protocol), choose(metrics)
    truth, detections = read_both(gt, dt)
    names = {"truth": source_name(gt), "detections": source_name(dt)}
    matches, findings = prepare(
        truth,
        detections,
        Vocabulary.of(known, truth),
        rules,
        force=force,
        boxes=boxes,
        leaked=leaked,
    )
    del truth, detections
    found = settle(findings, force)
    return measure(
        matches, chosen, found, names, seed=seed, resamples=RESAMPLES if intervals else 0
    )


def choose(names: Sequence[str] | None) -> list[Metric]:
    """The metrics of these names, or all."""
    metrics = table()
    if names is None:
        return list(metrics.values())
    return [lookup(metrics, name, "metric") for name in names]


def read_both(gt: Source, dt: Source) -> tuple[Annotations, Detections]:
    """Read both inputs, at the same time if both are files."""
    if not all(isinstance(source, (str, Path)) for source in (gt, dt)):
        return read_annotations(gt), read_detections(dt)
    read: dict[str, Any] = {}
    other = Thread(target=_into, args=(read, "truth", read_annotations, gt))
    other.start()
    _into(read, "detections", read_detections, dt)
    other.join()
    failures = [one for one in read.values() if isinstance(one, Exception)]
    findings = [f for one in failures if isinstance(one, InputError) for f in one.findings]
    if len(failures) == 2 and findings:
        raise InputError(findings)  # both files are wrong: say everything at once
    for failure in failures:
        raise failure
    return read["truth"], read["detections"]


def _into(read: dict[str, Any], key: str, reader: Callable[[Source], Any], source: Source) -> None:
    """Run a reader in a thread; its exception is carried to the caller."""
    try:
        read[key] = reader(source)
    except Exception as error:
        read[key] = error


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


def measure(
    matches: Matches,
    metrics: Sequence[Metric],
    findings: Sequence[Finding],
    inputs: Mapping[str, str],
    *,
    seed: int,
    resamples: int,
) -> Evaluation:
    """Compute metrics, and their intervals if resamples are wanted."""
    values = {metric.name: metric.compute(matches) for metric in metrics}
    drawn = replicates(matches, metrics, seed, resamples) if resamples else {}
    for name, numbers in drawn.items():
        if values[name].value is not None:
            values[name] = replace(values[name], interval=interval(numbers, values[name].value))
    origin = partial(describe, matches, inputs, seed=seed, resamples=resamples)
    return Evaluation(values, origin, tuple(findings), drawn, matches)


def source_name(source: Source) -> str:
    """How an input is called in a result: its file name, or what it is."""
    return Path(source).name if isinstance(source, (str, Path)) else type(source).__name__
