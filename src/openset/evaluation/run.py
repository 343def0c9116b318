"""Run: one benchmark, several detectors, evaluated under one protocol.

What a table of models and a report are made from. All detectors see the same ground truth, roles,
rules and resamples, so that their differences are paired. A run lies in a folder (`save`, `load`)
with everything a report needs, so that it can be made later and elsewhere.

Not a comparison (see `openset.evaluation.comparison`), and not an experiment tracker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from openset.evaluation.provenance import ledger_line
from openset.evaluation.reading import Source, source_name
from openset.evaluation.result import Evaluation
from openset.evaluation.steps import choose, evaluation_of, prepare, settle
from openset.findings import Finding, InputError, UsageError
from openset.formats import read_annotations, read_detections
from openset.matching import Matches, Protocol
from openset.matching.matcher import Leaked
from openset.resampling.draws import RESAMPLES
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.boxes import in_pixels
from openset.tables.check import check
from openset.tables.join import join

Step = Callable[[str], None]
Adjust = Callable[[Detections, Annotations], Detections]


@dataclass(frozen=True, eq=False)
class Run:
    """Several detectors on one benchmark.

    Attributes:
        truth: The ground truth.
        detections: What each detector said, by its name, in the order given.
        evaluations: The numbers of each, with their matches.
        vocabulary: Which labels are known.
        protocol: How detections were matched and counted.
        seed: Seed of the resamples.
        leaked: What became of detections labelled with a class that is unknown here.
        command: The command line that made the run, if one did.
    """

    truth: Annotations
    detections: Mapping[str, Detections]
    evaluations: Mapping[str, Evaluation]
    vocabulary: Vocabulary
    protocol: Protocol
    seed: int = 0
    leaked: Leaked = "unknown"
    command: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the detectors; the first is what the others are compared with."""
        return tuple(self.evaluations)

    @cached_property
    def truth_findings(self) -> tuple[Finding, ...]:
        """What was found about the ground truth alone."""
        of_truth = {(f.code, f.message) for f in check(self.truth, None, self.vocabulary)}
        shared = next(iter(self.evaluations.values())).findings
        return tuple(f for f in shared if (f.code, f.message) in of_truth)

    @cached_property
    def findings(self) -> Mapping[str, tuple[Finding, ...]]:
        """What was found about each detector's file, by its name."""
        of_truth = {(f.code, f.message) for f in self.truth_findings}
        return {
            name: tuple(f for f in one.findings if (f.code, f.message) not in of_truth)
            for name, one in self.evaluations.items()
        }

    def save(self, folder: str | Path) -> Path:
        """Write everything a report needs; the folder appears whole or not at all.

        Args:
            folder: A folder that is absent or empty, or holds an earlier run, which is replaced.
        """
        from openset.evaluation._run_folder import save

        return save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Read a run back and match it again; its numbers are those that were stored."""
        from openset.evaluation._run_folder import load

        return load(Path(folder))


def check_folder(folder: str | Path) -> None:
    """Refuse a folder that `Run.save` could not write to, before anything is computed."""
    from openset.evaluation._run_folder import refuse_other

    refuse_other(Path(folder))


def _nothing(step: str) -> None:
    """Report no progress."""


def _as_read(detections: Detections, truth: Annotations) -> Detections:
    """Adjust nothing."""
    return detections


def evaluate_all(
    truth: Source,
    detections: Mapping[str, Source],
    *,
    known: Vocabulary | str | Path | Sequence[str] | None = None,
    protocol: Protocol | str = "default",
    metrics: Sequence[str] | None = None,
    intervals: bool = True,
    seed: int = 0,
    force: bool = False,
    boxes: str = "xywh",
    leaked: Leaked = "unknown",
    adjust: Adjust = _as_read,
    command: str = "",
    step: Step = _nothing,
) -> Run:
    """Evaluate several detectors on one ground truth.

    Args:
        truth: Ground truth, as in `openset.evaluate`.
        detections: Detections by the name of their detector; the first is the reference.
        known: As in `openset.evaluate`.
        protocol: As in `openset.evaluate`.
        metrics: As in `openset.evaluate`.
        intervals: As in `openset.evaluate`.
        seed: As in `openset.evaluate`.
        force: As in `openset.evaluate`.
        boxes: As in `openset.evaluate`, of all detections.
        leaked: As in `openset.evaluate`.
        adjust: What to do to detections, given the ground truth, once they are read.
        command: The command line, to be kept with the run.
        step: Called with a few words before each step, of which there are one and two per detector.

    Raises:
        InputError: When an input cannot be used; says what is wrong with all of them.

    >>> from openset.examples import DETECTIONS, TRUTH
    >>> run = evaluate_all(TRUTH, {"one": DETECTIONS, "two": DETECTIONS}, metrics=["a_ose"])
    >>> run.names, run.evaluations["one"].value("a_ose") == run.evaluations["two"].value("a_ose")
    (('one', 'two'), True)
    """
    if not detections:
        raise UsageError("give the detections of at least one detector")
    rules, chosen = Protocol.of(protocol), choose(metrics)
    step("reading")
    table, tables = read_all(truth, detections)
    vocabulary = Vocabulary.of(known, table)
    tables = {
        name: _converted(adjust(one, table), table, vocabulary, boxes)
        for name, one in tables.items()
    }
    matched = _match_all(table, tables, vocabulary, rules, force, leaked, step)
    resamples = RESAMPLES if intervals else 0
    evaluations = {}
    for name, (matches, findings) in matched.items():
        step(f"measuring {name}")
        inputs = {"truth": source_name(truth), "detections": source_name(detections[name])}
        found = settle(findings, force)
        said = ledger_line(tables[name])
        evaluations[name] = evaluation_of(
            matches, chosen, found, inputs, seed=seed, resamples=resamples, ledger=said
        )
    return Run(table, tables, evaluations, vocabulary, rules, seed, leaked, command)


def _match_all(
    truth: Annotations,
    detections: Mapping[str, Detections],
    vocabulary: Vocabulary,
    rules: Protocol,
    force: bool,
    leaked: Leaked,
    step: Step,
) -> dict[str, tuple[Matches, list[Finding]]]:
    """Check and match every detector; everything wrong with any of them is said at once."""
    matched, failures = {}, []
    for name, one in detections.items():
        step(f"matching {name}")
        try:
            matched[name] = prepare(truth, one, vocabulary, rules, force=force, leaked=leaked)
            settle(matched[name][1], force)
        except InputError as error:
            failures.append(_called(error, name, len(detections)))
    _raise(failures)
    return matched


def read_all(
    truth: Source, detections: Mapping[str, Source]
) -> tuple[Annotations, dict[str, Detections]]:
    """Read all inputs at the same time; everything wrong with any of them is said at once."""
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=4) as pool:
        first = pool.submit(read_annotations, truth)
        others = {name: pool.submit(read_detections, one) for name, one in detections.items()}
    jobs: list[Future[Any]] = [first, *others.values()]
    errors = [job.exception() for job in jobs]
    _raise([error for error in errors if isinstance(error, InputError)])
    return first.result(), {name: job.result() for name, job in others.items()}


def _raise(errors: Sequence[InputError]) -> None:
    """One error for all of them, each finding once."""
    if errors:
        raise InputError(list(dict.fromkeys(f for error in errors for f in error.findings)))


def _called(error: InputError, name: str, of: int) -> InputError:
    """The error with the detector's name in it, where there are several."""
    if of == 1:
        return error
    return InputError([replace(f, message=f"{name}: {f.message}") for f in error.findings])


def _converted(
    detections: Detections, truth: Annotations, vocabulary: Vocabulary, boxes: str
) -> Detections:
    """Detections with boxes in our convention, so that a stored run needs no other."""
    if boxes == "xywh":
        return detections
    return in_pixels(detections, join(truth, detections, vocabulary).image, truth, boxes)
