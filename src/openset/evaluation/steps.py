"""The steps of an evaluation: check the ground truth, examine detections, measure; each once.

`Evaluator` takes them batch by batch, everything else through `openset.evaluation.run`. What is
found about the ground truth (`Ground`) and about detections (`Examined`) stays apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self, TypeVar

import numpy as np

from openset.engines import Engine, find
from openset.evaluation.adjusting import adjusted, called, of_the_cut, without_leaks
from openset.evaluation.later import Later
from openset.evaluation.leaks import taught
from openset.evaluation.provenance import Provenance, describe, ledger_line
from openset.evaluation.result import Evaluation
from openset.evaluation.settings import Settings
from openset.evaluation.suspicion import suspicions
from openset.findings import Finding, InputError, Level, refuse
from openset.matching import Matches, Protocol, match
from openset.metrics import Metric, Value, of_pair, table
from openset.resampling.draws import draw
from openset.resampling.images import Draw, replicates
from openset.resampling.intervals import at_the_edge, bias, interval, undefined
from openset.resampling.trainings import Spread
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.check import (
    beside_detections,
    check_detections,
    check_truth,
    in_order,
    no_match,
    with_truth,
)
from openset.tables.dropping import valid_detections, valid_objects
from openset.tables.join import Joined
from openset.tables.left_open import LeftOpen
from openset.tables.picture_sizes import at_stated_size
from openset.tables.written import Written
from openset.wording import grouped

E = TypeVar("E", bound=Evaluation)
_TOLD = 8  # detections, and objects, from which no overlap at all is no chance
_TINY = 16.0**2  # an area below which a near miss does not overlap either
_BESIDE = 1 << 24  # detections up to which two metrics are computed at a time


@dataclass(frozen=True, eq=False)
class Ground:
    """A ground truth, checked: what every detector is held against.

    Attributes:
        truth: The table.
        vocabulary: Roles of its labels.
        findings: What was found about it alone, errors as errors.
    """

    truth: Annotations
    vocabulary: Vocabulary
    findings: list[Finding]

    @classmethod
    def of(cls, truth: Annotations, vocabulary: Vocabulary, settings: Settings) -> Self:
        """Check a ground truth, without its broken objects if these are to be dropped."""
        dropped: list[Finding] = []
        if settings.drop_invalid:
            valid, dropped = valid_objects(truth)
            truth = truth.select(valid)
        return cls(truth, vocabulary, in_order([*dropped, *check_truth(truth, vocabulary)]))


@dataclass(frozen=True, eq=False)
class Matched:
    """All that is measured, without the tables.

    Attributes:
        matches: What metrics are computed from.
        findings: What was found about ground truth and detections, settled.
        inputs: Names of the inputs.
        ledger: What was fitted on which data to make unknownness and labels.
        minimum_score: The score below which detections were left out, if one was asked for.
    """

    matches: Matches
    findings: tuple[Finding, ...]
    inputs: Mapping[str, str]
    ledger: str
    minimum_score: float | None


@dataclass(frozen=True, eq=False)
class Examined:
    """Detections, adjusted, joined, checked and matched.

    Attributes:
        detections: As they are judged: adjusted, and with boxes in our convention.
        findings: What was found about them, errors as errors.
        matches: None where an error stands in the way.
        ledger: As in `Matched`.
        minimum_score: Likewise.
        joined: The image and the class of each detection.
    """

    detections: Detections
    findings: list[Finding]
    matches: Matches | None
    ledger: str
    minimum_score: float | None
    joined: Joined

    def settled(self, force: bool) -> tuple[Finding, ...]:
        """Raise errors, or turn them into warnings if forced and if there is something to judge."""
        return tuple(in_order(settle(self.findings, force and self.matches is not None)))

    def matched(self, ground: Ground, inputs: Mapping[str, str]) -> Matched:
        """What is left to measure, once all is settled; what was an error is said first."""
        assert self.matches is not None, "settled without an error"
        of_truth = beside_detections(ground.findings, self.findings)
        findings = _forced(in_order([*of_truth, *self.findings]))
        return Matched(self.matches, findings, inputs, self.ledger, self.minimum_score)


def examine(
    ground: Ground, detections: Detections, settings: Settings, *, whole: bool = True
) -> Examined:
    """Adjust, join, check and match the detections of one detector.

    Args:
        ground: The ground truth.
        detections: The detections.
        settings: What is asked.
        whole: Whether these are all images: of some, nobody can say that labels look exchanged.
    """
    if settings.minimum_score == "best":
        settings = replace(settings, minimum_score=_best_score(ground, detections, settings))
    truth, vocabulary = ground.truth, ground.vocabulary
    judged = as_judged(ground, detections, settings)
    in_file, given = called(detections, truth, vocabulary, settings), detections
    detections, joined = judged.read
    checked = check_detections(truth, vocabulary, judged.written, judged.read)
    if settings.least_score is not None:
        checked = [*of_the_cut(checked, given, settings.least_score)]
    findings = in_order(judged.findings + with_truth(ground.findings, checked))
    matches = None
    if settings.force or not errors([*ground.findings, *findings]):
        rules, leaked = settings.rules, settings.leaked
        try:
            matches = match(truth, detections, vocabulary, rules, joined=joined, leaked=leaked)
            findings += contact(matches) or (
                suspicions(matches, truth, detections, in_file) if whole else []
            )
            findings += [*excused(matches), *mixed(matches)]
        except InputError as error:  # not even force helps: a score that is not a number
            said = {finding.code for finding in findings}
            findings += [finding for finding in error.findings if finding.code not in said]
    ledger = ledger_line(detections, findings)
    return Examined(detections, findings, matches, ledger, settings.least_score, joined)


class Judged(NamedTuple):
    """Detections as they are judged.

    Attributes:
        written: As their file has them, adjusted.
        read: In our conventions, and where they belong.
        findings: What was changed.
    """

    written: Written
    read: tuple[Detections, Joined]
    findings: list[Finding]


def as_judged(ground: Ground, detections: Detections, settings: Settings) -> Judged:
    """Adjust and join detections, and drop those that are broken if these are to be dropped."""
    truth, vocabulary = ground.truth, ground.vocabulary
    detections, findings = adjusted(detections, truth, vocabulary, settings)
    boxes = settings.boxes if settings.boxes != "xywh" else LeftOpen.of(detections).boxes or "xywh"
    if boxes == "xywh":
        detections, scaled = at_stated_size(detections, truth, settings.image_ids)
        findings += scaled
    written = Written(LeftOpen().marked(detections), boxes, settings.image_ids)
    read = written.read(truth, vocabulary)
    if settings.drop_invalid:
        valid, dropped = valid_detections(read[0])
        written, read = written.select(valid), (read[0].select(valid), read[1].select(valid))
        findings += dropped
    if settings.leaked == "drop":
        findings += without_leaks(*read)
    return Judged(written, read, findings)


def _best_score(ground: Ground, detections: Detections, settings: Settings) -> float | None:
    """The t* of a detector, from all its detections; None where errors stand in the way of it."""
    rules = settings.rules if settings.rules.rule == "coco" else Protocol.of("default")
    every = replace(settings, minimum_score=None, protocol=rules)
    matches = examine(ground, detections, every, whole=False).matches
    if matches is None:
        return None
    found = table()["best_threshold"].compute(matches)
    if found.value is None:
        raise refuse("OS445", f"there is no best score to start from: {found.reason}")
    return float(found.value)


def contact(matches: Matches) -> list[Finding]:
    """The finding that nothing overlaps anything, if so."""
    judged = len(matches) and len(matches.objects) and not matches.excused
    if judged and not _any_contact(matches):
        large = int(np.count_nonzero(matches.objects.area >= _TINY))
        return [no_match(len(matches), certain=min(len(matches), large) >= _TOLD)]
    return []


def excused(matches: Matches) -> list[Finding]:
    """The finding that detections lie on ignored objects, if so."""
    count, objects = matches.excused, matches.excusing
    if count == 0:
        return []
    said = f"{grouped(count)} detections lie on objects with an ignored label and take no part"
    label = matches.labels[int(objects.label[0])]
    example = f"one of {grouped(len(objects))} such objects is {label!r}, "
    example += f"on image {matches.image_ids[objects.image[0]]}"
    return [Finding("OS326", Level.NOTE, said, count, example)]


def mixed(matches: Matches) -> list[Finding]:
    """The finding that wild images hold known objects, where Wilderness Impact takes none there."""
    rules, objects = matches.protocol, matches.objects
    if rules.wild == "no-known":
        return []
    known = ~objects.ignored & (objects.klass < matches.n_known) & matches.wild[objects.image]
    images = np.unique(objects.image[known])
    if not len(images):
        return []
    closed = grouped(int(np.count_nonzero(~matches.wild)))
    said = f"{grouped(len(images))} images hold known and unknown objects; under {rules.name} they "
    said += f"are wild, closed-set are {closed}: Wilderness Impact and AWI compare unlike images"
    example = f"image {matches.image_ids[images[0]]}"
    return [Finding("OS446", Level.WARNING, said, len(images), example)]


def _any_contact(matches: Matches) -> bool:
    return len(matches.columns.position) > 0 or not matches.apart.all()


def errors(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that stop an evaluation."""
    return [finding for finding in findings if finding.level is Level.ERROR]


def settle(findings: Sequence[Finding], force: bool) -> tuple[Finding, ...]:
    """Raise errors, or turn them into warnings if forced."""
    wrong = errors(findings)
    if wrong and not force:
        raise InputError(wrong)
    return _forced(findings)


def _forced(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings with errors as warnings."""
    warned = {Level.ERROR: Level.WARNING}
    return tuple(replace(f, level=warned.get(f.level, f.level)) for f in findings)


def evaluation_of(
    matched: Matched, settings: Settings, draw: Draw = draw, engine: Engine | None = None
) -> Evaluation:
    """Measure what was matched, with intervals if they are wanted.

    Args:
        matched: What was matched.
        settings: What is asked.
        draw: Draws the resamples.
        engine: Where metrics are computed, which threads must share; by default here, and always
            where two at a time would hold too much: with many detections, or with resamples.
    """
    matches = matched.matches
    metrics = settings.measured if matches.ood is None else of_pair(settings.measured)
    # A single image or group leaves nothing to draw: no interval is better than one of no width.
    seed, resamples = settings.seed, settings.resamples if matches.n_units > 1 else 0
    large = len(matches) > _BESIDE or resamples  # beside which metrics of the data are quick
    place = find("local") if engine is None or large else engine
    origin: Callable[[], Provenance] = partial(
        describe,
        matches,
        matched.inputs,
        seed=seed,
        resamples=resamples,
        ledger=matched.ledger,
        minimum_score=matched.minimum_score,
        leaked=settings.leaked if taught(matched.findings) else "",
    )
    if place.workers:
        origin = Later(origin).result
    values = place.map(partial(_measured, matches), metrics)
    return measure(
        dict(zip(metrics, values, strict=True)),
        partial(replicates, matches, metrics, seed, resamples, draw) if resamples else dict,
        origin,
        matched.findings,
        partial(Evaluation, matches=matches),
    )


def _measured(matches: Matches, metric: Metric) -> Value:
    """A metric of the data itself, and no memory for what no other may read."""
    value = _of_units(metric.compute(matches), matches)
    matches.forget()
    return value


def _of_units(value: Value, matches: Matches) -> Value:
    """A value that one thing more changes by a whole group: what a frame shows, its video shows."""
    if not matches.grouped:
        return value
    return replace(value, step=value.step * matches.n_images / matches.n_units)


def measure(
    values: Mapping[Metric, Value],
    draw: Callable[[], Mapping[str, Value]],
    origin: Callable[[], Provenance],
    findings: Sequence[Finding],
    make: Callable[..., E],
) -> E:
    """Values as a result, with the intervals of their resamples.

    Args:
        values: The value of every metric.
        draw: Gives the value of metrics in every resample; of none without intervals.
        origin: Makes the provenance, when it is asked for.
        findings: What was found about the inputs.
        make: The kind of result, holding what the values were computed from.
    """
    drawn = draw()
    found = {
        metric.name: with_interval(value, metric, drawn[metric.name])
        if metric.name in drawn
        else value
        for metric, value in values.items()
    }
    replicates = {name: one.value for name, one in drawn.items()}
    return make(found, origin, tuple(findings), replicates)


def with_interval(
    value: Value, metric: Metric, resampled: Value, training: Spread | None = None
) -> Value:
    """A value with what its resamples say about it, and the spread of its trainings."""
    if value.value is None:
        return value
    drawn, classes = resampled.value, value.by_class
    ends = at_the_edge(value.value, value.step, metric.range)
    ends = ends or interval(drawn, value.value, metric.scale, metric.range, training)
    return replace(
        value,
        interval=ends,
        bias=bias(drawn, value.value),
        undefined=undefined(drawn),
        by_class=classes and classes.with_resamples(resampled.by_class),
    )
