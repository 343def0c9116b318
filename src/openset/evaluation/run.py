"""Run: one benchmark, several detectors, evaluated under one protocol.

What a table of models and a report are made from. All detectors see the same ground truth, roles,
rules and resamples, so that their differences are paired. A run lies in a folder (`save`, `load`)
with everything a report needs, so that it can be made later and elsewhere.

A method that was trained several times is several detectors here, which the scoreboard takes for
one (`openset.evaluation.trainings`).

Not a comparison (see `openset.evaluation.comparison`), and not an experiment tracker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openset.engines import Engine, beside, find
from openset.evaluation.grouping import as_grouped
from openset.evaluation.listing import as_listed
from openset.evaluation.pairs import one_set
from openset.evaluation.reading import Input, Reading, are_parts, inputs_of
from openset.evaluation.result import Evaluation
from openset.evaluation.rounded import rounded_copies
from openset.evaluation.settings import Settings, takes_settings
from openset.evaluation.silent import silent_images
from openset.evaluation.steps import Examined, Ground, Matched, evaluation_of, examine, settle
from openset.evaluation.trainings import (
    Trainings,
    apart,
    findings_of,
    grouped,
    methods_of,
    named_together,
    repeated_methods,
)
from openset.findings import Finding, InputError, UsageError, raise_all
from openset.matching import Protocol
from openset.resampling.draws import draw
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.check import beside_detections, in_order
from openset.tables.join import Leaked
from openset.tables.sets import Pair

if TYPE_CHECKING:
    from openset.evaluation.scoreboard import Scoreboard

Step = Callable[[str], None]


class Sizes(NamedTuple):
    """Images and objects of a ground truth, and the detections of all detectors."""

    images: int
    objects: int
    detections: int


@dataclass(frozen=True, eq=False)
class Run:
    """Several detectors on one benchmark.

    Attributes:
        read_truth: Gives the ground truth, which `truth` is; one in parts is read when asked for.
        detections: What each detector said, by its name, in the order given; likewise.
        evaluations: The numbers of each, with their matches.
        vocabulary: Which labels are known.
        protocol: How detections were matched and counted.
        seed: Seed of the resamples.
        leaked: What became of detections labelled with a class that is unknown here.
        command: The command line that made the run, if one did.
        truth_findings: What was found about the ground truth alone.
        findings: What was found about each detector's file, or method, by its name.
        trainings: Names of the detectors that are trainings of one method, by its name; those that
            stand alone are not named.
        paired: Whether trainings of different methods belong together, place by place.
        by: The image column of strata to show (`openset.evaluation.strata`), if any.
        in_parts: How much there is, where the tables are in parts and nobody holds them.
    """

    read_truth: Callable[[], Annotations]
    detections: Mapping[str, Detections]
    evaluations: Mapping[str, Evaluation]
    vocabulary: Vocabulary
    protocol: Protocol
    seed: int = 0
    leaked: Leaked = "unknown"
    command: str = ""
    truth_findings: tuple[Finding, ...] = ()
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    trainings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    paired: bool = False
    by: str = ""
    in_parts: Sizes | None = None

    @property
    def truth(self) -> Annotations:
        """The ground truth."""
        return self.read_truth()

    @property
    def sizes(self) -> Sizes:
        """How many images, objects and detections there are."""
        if self.in_parts is not None:
            return self.in_parts
        boxes = sum(len(one) for one in self.detections.values())
        return Sizes(len(self.truth.images), len(self.truth), boxes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the detectors; the first is what the others are compared with."""
        return tuple(self.evaluations)

    @property
    def methods(self) -> dict[str, tuple[str, ...]]:
        """Names of the detectors of every method, by its name; one that stands alone has its own.

        >>> from openset.examples import DETECTIONS, TRUTH
        >>> from openset.formats import read
        >>> one = read(DETECTIONS)
        >>> two = one.select(one.score > 0.2)
        >>> given = {"a": [one, two], "b": one}
        >>> evaluate_all(TRUTH, given, metrics=["udr"], intervals=False).methods
        {'a': ('a.1', 'a.2'), 'b': ('b',)}
        """
        return named_together(self.evaluations, self.trainings)

    @property
    def results(self) -> dict[str, Trainings]:
        """The numbers of every method, those of several trainings as one."""
        return grouped(self.evaluations, self.trainings)

    def board(self, *, headline: bool = False) -> Scoreboard:
        """Methods against metrics, the others compared with the first."""
        from openset.evaluation.scoreboard import Scoreboard

        # What speaks against its trainings was settled when the run was made.
        return Scoreboard.of(self.results, headline=headline, force=True, paired=self.paired)

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


def check_result(path: Path) -> None:
    """Refuse a result file in a run's folder that is not the one its run wrote."""
    from openset.evaluation._run_folder import is_run, verify

    if is_run(path.parent):
        verify(path.parent, path.name)


def result_files(folder: Path) -> dict[str, list[Path]] | None:
    """The results of every method of a run, by its name; None where there is no run."""
    from openset.evaluation._run_folder import files_of, is_run

    return files_of(folder) if is_run(folder) else None


def _nothing(step: str) -> None:
    """Report no progress."""


@takes_settings
def evaluate_all(
    truth: Input,
    detections: Mapping[str, Input | Sequence[Input]],
    *,
    command: str = "",
    step: Step = _nothing,
    engine: Engine | None = None,
    lean: bool = False,
    settings: Settings | None = None,
    **options: Any,
) -> Run:
    """Evaluate several detectors on one ground truth.

    Args:
        truth: Ground truth, as in `openset.evaluate`; or a `Pair` of an ID and an OOD set.
        detections: Detections by the name of their detector; the first is the reference. A list of
            them is of several trainings of one method, which are called ``name.1`` and so on.
        command: The command line, to be kept with the run.
        step: Called with a few words before each step, of which there are one and two per detector,
            and one for each part.
        engine: Where parts are matched, if the detections of all are folders of parts
            (`openset.evaluation.in_parts`); by default here, one after another.
        lean: Whether matches of parts hold what metrics and the words below a table read, in a
            quarter of the memory, and nothing for diagnosis and a report.
        settings: Options made before, which those given by name change.
        **options: What `Settings` holds, by name.

    Raises:
        InputError: When an input cannot be used; says what is wrong with all of them.

    >>> from openset.examples import DETECTIONS, TRUTH
    >>> run = evaluate_all(TRUTH, {"one": DETECTIONS, "two": DETECTIONS}, metrics=["a_ose"])
    >>> run.names, run.evaluations["one"].value("a_ose") == run.evaluations["two"].value("a_ose")
    (('one', 'two'), True)
    """
    asked = Settings.of(settings, options)
    if not isinstance(detections, Mapping):
        raise UsageError(
            "detections must be given by the name of their detector, {'name': detections}, not as "
            f"a {type(detections).__name__}; openset.evaluate takes those of a single one"
        )
    if not detections:
        raise UsageError("give the detections of at least one detector")
    step("reading")
    listed = {name: one if _are_several(one) else [one] for name, one in detections.items()}
    given, trainings = apart(listed)
    run, matched = examined(truth, given, asked, engine, step, lean=lean)
    evaluations, drawn = {}, lru_cache(maxsize=1)(draw)  # all see the same resamples
    for name, one in matched.items():
        step(f"measuring {name}")
        evaluations[name] = evaluation_of(one, asked, drawn, beside(engine))
    made = replace(run, evaluations=evaluations, command=command, trainings=trainings)
    return settle_trainings(made, force=asked.force)


def examined(
    truth: Input,
    detections: Mapping[str, Input],
    settings: Settings,
    engine: Engine | None = None,
    step: Step = _nothing,
    *,
    lean: bool = False,
) -> tuple[Run, dict[str, Matched]]:
    """Check and match: part by part where all detections are in parts, of one set, else as tables.

    Raises:
        InputError: When an input cannot be used; says what is wrong with all of them.
    """
    if are_parts(detections.values()) and not isinstance(truth, Pair):
        place = engine or find("local")
        return examine_parts(truth, detections, settings, place, step, lean=lean)
    if engine is not None:
        raise UsageError(
            f"the engine {engine.name} works on parts of one set: openset convert FOUND --truth GT "
            "--to parts -o DIR makes them of a file"
        )
    return examine_all(Reading(truth, detections, settings.class_names), settings, step)


def _are_several(given: Input | Sequence[Input]) -> bool:
    """Whether it is a list of inputs; a list of records, or of objects of one image, is one."""
    from openset.formats.objects import recognised

    listed = isinstance(given, (list, tuple)) and bool(given)
    return listed and not any(isinstance(one, Mapping) or recognised(one) for one in given)


def settle_trainings(run: Run, *, force: bool) -> Run:
    """A run with what is found about its methods, beside what is about its detectors.

    Raises:
        InputError: When some are not trainings of one method, unless forced.
    """
    if len(run.evaluations) == 1:
        return run
    methods = methods_of(run.results, force=force)
    again = {name: (finding,) for name, finding in repeated_methods(methods).items()}
    tables = {name: one for name, one in run.detections.items() if isinstance(one, Detections)}
    for name, finding in rounded_copies(tables, run.methods, force=force).items():
        again.setdefault(name, (finding,))
    silent = silent_images(run.truth, tables, run.methods) if len(tables) > 1 else {}
    said = dict(run.findings)
    for found in (findings_of(methods), again, {name: (one,) for name, one in silent.items()}):
        said |= {name: (*said.get(name, ()), *more) for name, more in found.items()}
    return replace(run, findings=said)


def examine_all(
    reading: Reading, settings: Settings, step: Step = _nothing
) -> tuple[Run, dict[str, Matched]]:
    """Check and match everything that is being read: a run without numbers, and what they are from.

    Raises:
        InputError: When an input cannot be used; says what is wrong with all of them.
    """
    settings.resolve()
    truth, tables, settings = one_set(*reading.tables(), settings)
    if settings.image_list is not None:
        truth = as_listed(truth, settings.image_list)
    if settings.groups is not None:
        truth = as_grouped(truth, settings.groups)
    ground = Ground.of(truth, settings.vocabulary(truth), settings)
    truth = ground.truth
    failures: list[InputError] = []
    of_truth: list[InputError] = []
    examined: dict[str, Examined] = {}
    findings: dict[str, tuple[Finding, ...]] = {}
    for name in tables:
        step(f"matching {name}")
        with _noting(failures, name if len(tables) > 1 else ""):
            examined[name] = one = examine(ground, tables[name], settings)
            tables[name] = one.detections
            findings[name] = one.settled(settings.force)
    of_detections = [finding for one in examined.values() for finding in one.findings]
    with _noting(of_truth):  # said first
        alone = settle(beside_detections(ground.findings, of_detections), settings.force)
    raise_all([*of_truth, *failures])
    rules, seed, leaked = settings.rules, settings.seed, settings.leaked
    run = Run(
        lambda: truth, tables, {}, ground.vocabulary, rules, seed, leaked, "", alone, findings
    )
    return run, {n: one.matched(ground, reading.inputs(n)) for n, one in examined.items()}


def examine_parts(
    truth: Input,
    detections: Mapping[str, Input],
    settings: Settings,
    engine: Engine,
    step: Step = _nothing,
    *,
    lean: bool = False,
) -> tuple[Run, dict[str, Matched]]:
    """The same of folders of parts, each part where the engine says; no table is held as a whole.

    Raises:
        InputError: When an input cannot be used; says what is wrong with all of them.
    """
    from openset.evaluation.in_parts import batches_of

    settings.resolve()
    said: Callable[[int], None] = lambda done: step(f"matched part {done}")  # noqa: E731
    tables, batches = batches_of(truth, detections, settings, engine, said, lean=lean)
    first, force = next(iter(batches.values())), settings.force
    failures: list[InputError] = []
    findings: dict[str, tuple[Finding, ...]] = {}
    of_truth: tuple[Finding, ...] = ()
    with _noting(failures):
        of_truth = settle(in_order(first.of_truth), force)
    for name, one in batches.items():
        with _noting(failures, name if len(batches) > 1 else ""):
            findings[name] = settle(in_order(one.findings), force)
    raise_all(failures)
    of_truth = tuple(beside_detections(of_truth, chain.from_iterable(findings.values())))
    run = Run(
        tables.truth,
        tables,
        {},
        first.matches.vocabulary,
        settings.rules,
        settings.seed,
        settings.leaked,
        truth_findings=of_truth,
        findings=findings,
        in_parts=Sizes(
            first.matches.n_images, first.rows[0], sum(one.rows[1] for one in batches.values())
        ),
    )
    return run, {
        name: Matched(
            one.matches,
            tuple(in_order([*of_truth, *findings[name]])),
            inputs_of(truth, detections[name]),
            one.ledger,
            settings.least_score,
        )
        for name, one in batches.items()
    }


@contextmanager
def _noting(failures: list[InputError], name: str = "") -> Iterator[None]:
    """Note a failure, by the detector's name where there are several, and go on."""
    try:
        yield
    except InputError as error:
        before = f"{name}: " if name else ""
        named = [replace(f, message=before + f.message) for f in error.findings]
        failures.append(InputError(named))
