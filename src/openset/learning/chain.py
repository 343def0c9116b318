"""Chain: one task after the other, each from the model of the one before, with what came of it.

```
t1/  t2/  t2-ft/             trainings (`openset.training.folder`)
exemplars-t2.txt ...         which images reminded the detector, where a rule chose them
evaluation/t2-ft/ ...        a run per stage, for `openset report`, `diagnose` and `draw`
learned.json  learned.md     the table of all stages so far
```

Every piece appears whole or not at all, and what is there is not made again: a chain that was
stopped or killed at any moment goes on, to the same weights and the same table. Folders that hold
another chain's are refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from openset.benchmarks.auditing import audit
from openset.benchmarks.bundle import Bundle
from openset.benchmarks.principles import Verdict
from openset.detectors import KEPT, OF_REGIONS, ImageFiles, find, load, run
from openset.diagnosis.confusion import confusion
from openset.evaluation.learned import FILE, Learned, Row, forgotten, numbers_of
from openset.evaluation.result import Evaluation
from openset.evaluation.run import Run, evaluate_all
from openset.evaluation.settings import Settings
from openset.findings import Finding, Level, UsageError, refuse
from openset.learning.exemplars import Exemplars, Lists
from openset.learning.rules import Decided, Gamma, by_gamma, expelled
from openset.learning.stages import Stage, of_kind, pooled, stages_of
from openset.nets.pictures import fingerprint as print_of
from openset.nets.processes import is_first, processes
from openset.nets.weights import fingerprint
from openset.tables import Annotations, Detections
from openset.training import Progress, Recipe, Trained, rehearse, train

_MODEL = "model"  # what the detector is called in the run of a stage
Say = Callable[[Stage, Progress], None]


@dataclass(frozen=True)
class Plan:
    """How a benchmark is learned.

    Attributes:
        recipe: What to train, and how; its tables ``later`` and ``finetune`` say what changes.
        images: What names of images are relative to.
        exemplars: How exemplars are chosen.
        settings: How each stage is evaluated; roles are those of its test.
        expel: Whether CEC (`openset.scorers.cec`) decides in each stage what is unknown, with means
            of all training images so far, and alpha by the paper's rule on the validation split.
            A stage with no right training detection expels nothing, and says so.
        gamma: Whether the gamma rule (`openset.scorers.gamma_rule`) decides it instead, on regions:
            its gamma, or ``chosen`` on the validation split.
        phi: Of CEC: right are training detections that overlap their object by more.
        options: What `openset.training.train` takes beside: device, workers, checkpoint_every ...
        running: What `openset.detectors.run` takes beside: batch, threads, and what to keep of test
            detections.
        force: Learn a benchmark that fails its audit.
    """

    recipe: Recipe
    images: Path | Sequence[Path]
    exemplars: Exemplars = field(default_factory=Exemplars)
    settings: Settings = field(default_factory=Settings)
    expel: bool = False
    gamma: Gamma | None = None
    phi: float = 0.9
    options: dict[str, Any] = field(default_factory=dict)
    running: dict[str, Any] = field(default_factory=dict)
    force: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.phi < 1:
            raise UsageError(f"phi must be in [0, 1), not {self.phi}")
        if self.expel and self.gamma is not None:
            raise UsageError("one rule decides what is unknown: CEC or gamma")

    @property
    def about(self) -> dict[str, Any]:
        """What a table says of itself."""
        how = self.exemplars
        return {
            "recipe": self.recipe.name,
            "detector": self.recipe.detector,
            "method": self.recipe.method,
            "seed": self.recipe.seed,
            "expel": self.expel and self.phi,
            **({} if self.gamma is None else {"gamma": self.gamma}),
            "exemplars": how.about,
        }


@dataclass(frozen=True)
class Went:
    """How far a call came.

    Attributes:
        learned: The table so far.
        done: Whether all stages are in it.
        findings: What trainings and lists had to say.
    """

    learned: Learned
    done: bool
    findings: tuple[Finding, ...]


def learn(
    bundle: Bundle,
    plan: Plan,
    out: str | Path,
    *,
    say: Say = lambda stage, progress: None,
    stop: Callable[[], bool] | None = None,
) -> Went:
    """Go through all tasks of a benchmark, or go on where an earlier call was stopped.

    Args:
        bundle: The benchmark (`bundle_of`).
        plan: How to learn it.
        out: The folder to keep everything in.
        say: Called at every logged step.
        stop: Asked after every step whether to end here; the same call then goes on.

    Raises:
        InputError: The benchmark is no chain of tasks or fails its audit, a list of exemplars
            cannot be used, some task could not be trained (pictures, options, advice), or the
            folder is of another chain: all before anything is trained.
    """
    with processes():
        return _Chain(bundle, plan, Path(out), say, stop).run()


@dataclass(frozen=True)
class _Chain:
    """One call of `learn`."""

    bundle: Bundle
    plan: Plan
    out: Path
    say: Say
    stop: Callable[[], bool] | None

    def run(self) -> Went:
        every = stages_of(self.bundle)
        _refuse_failed(self.bundle, force=self.plan.force)
        how = self.plan.exemplars.settled(every)
        lists = Lists(how, self.out, self.bundle, how.of(every))
        lists.check()
        self._rehearse(lists.stages)
        about = replace(self.plan, exemplars=how).about
        learned = Learned(self.bundle.name, self.bundle.roles.tasks, about)
        _refuse_another(self.out, learned)
        findings: list[Finding] = []
        results: dict[int, Evaluation] = {}  # the last of each task
        start: Path | None = None
        for stage in lists.stages:
            if stage.table is None:
                stage, said = lists.filled(stage, self._found)
                findings += said
            trained = self._trained(stage, start)
            if not trained.model.is_file() or trained.step < self._recipe(stage).steps:
                return Went(learned, False, tuple(findings))
            findings += _news(trained.findings, findings)
            start = trained.model
            judged, said = self._judged(stage, start)
            findings += said
            before = [result for task, result in results.items() if task < stage.task]
            results[stage.task] = judged.evaluations[_MODEL]
            learned = replace(learned, rows=(*learned.rows, _row(stage, judged, before)))
            if is_first():
                learned.save(self.out)
        return Went(learned, True, tuple(findings))

    def _rehearse(self, stages: Sequence[Stage]) -> None:
        """Refuse now what would end the chain in a later task: pictures, options, advice."""
        for part in self.bundle.parts:
            if part.table is not None and part.kind in ("test", "val"):
                ImageFiles.of_annotations(part.table, self.plan.images)
        for stage in stages:
            if not (self.out / stage.name / "model.pt").is_file():
                if stage.table is None:  # exemplars will be some of these
                    stage = replace(stage, table=pooled(self.bundle, stage.task))
                data = stage.data(self.plan.images)
                rehearse(self._recipe(stage), data, started=stage.name != stages[0].name)

    def _recipe(self, stage: Stage) -> Recipe:
        return self.plan.recipe.at(stage.task, finetune=stage.finetune)

    def _trained(self, stage: Stage, start: Path | None) -> Trained:
        return train(
            self._recipe(stage),
            stage.data(self.plan.images),
            self.out / stage.name,
            start=start,
            progress=lambda progress: self.say(stage, progress),
            stop=self.stop,
            **self.plan.options,
        )

    def _found(self, stage: Stage) -> Detections:
        """What the model of a task finds on its training images."""
        assert stage.table is not None
        return self._detected(self.out / stage.name / "model.pt", stage.table, "train")

    def _detected(self, model: Path, table: Annotations, split: str) -> Detections:
        loaded = load(str(model), device=self.plan.options.get("device"))
        keeps = find(loaded.about["detector"]).keeps
        files = ImageFiles.of_annotations(table, self.plan.images)
        regions = self.plan.gamma is not None and split != "train"
        # Of what is not tested, rules ask for logits at most.
        wanted = self.plan.running.get("keep", KEPT) if split == "test" else ("logits",)
        kept = tuple(name for name in (OF_REGIONS if regions else wanted) if name in keeps)
        options = {**self.plan.running, "keep": kept, "split": f"{self.bundle.name} {split}"}
        options |= {"regions": True} if regions else {}
        return run(loaded, files, **options)

    def _decided(self, stage: Stage, model: Path, test: Annotations) -> Decided:
        """What is found on the test, and unknown of it by a rule if one is asked for."""
        plan, detect = self.plan, partial(self._detected, model)
        found = detect(test, "test")
        if plan.expel:
            return expelled(self.bundle, stage, found, detect, plan.phi)
        if plan.gamma is not None:
            return by_gamma(self.bundle, stage, found, detect, plan.gamma, force=plan.force)
        return found, ()

    def _judged(self, stage: Stage, model: Path) -> tuple[Run, tuple[Finding, ...]]:
        """The run of a stage: what it was, if it is of this model, test and these settings."""
        test = of_kind(self.bundle, "test", stage.task)
        assert test is not None
        assert test.table is not None
        truth = test.table
        place = self.out / "evaluation" / stage.name
        identity = _identity(model, truth, self.plan)
        if place.is_dir() and (held := Run.load(place)).command == identity:
            return held, ()
        found, said = self._decided(stage, model, truth)
        judged = evaluate_all(truth, {_MODEL: found}, command=identity, settings=self.plan.settings)
        if is_first():  # all processes have measured the same
            place.parent.mkdir(parents=True, exist_ok=True)
            judged.save(place)
        return judged, said


def _news(said: Sequence[Finding], before: Sequence[Finding]) -> list[Finding]:
    """What was not said before: a note is said once in a chain, for all its stages.

    >>> note, warning = (Finding("OS342", at, "resized") for at in (Level.NOTE, Level.WARNING))
    >>> [one.level.value for one in _news([note, warning], [note])]
    ['warning']
    """
    told = {one.code for one in before}
    return [one for one in said if one.level is not Level.NOTE or one.code not in told]


def _identity(model: Path, truth: Annotations, plan: Plan) -> str:
    """The command line of a stage's run: it changes with model, test, pictures and settings."""
    digest = hashlib.sha256(truth.box.tobytes() + truth.label.tobytes() + truth.image.tobytes())
    digest.update(json.dumps([truth.labels, truth.role, truth.images.id.tolist()]).encode())
    rule = plan.gamma if plan.gamma is not None else plan.expel and plan.phi
    digest.update(repr((plan.settings, rule)).encode())
    digest.update(print_of(ImageFiles.of_annotations(truth, plan.images).path).encode())
    return f"openset learn: model {fingerprint(model)}, test {digest.hexdigest()[:16]}"


def _row(stage: Stage, judged: Run, before: Sequence[Evaluation]) -> Row:
    result = judged.evaluations[_MODEL]
    lost = forgotten(before, result)
    assert stage.table is not None
    objects, images_of = _counts(stage.table)
    return Row(
        stage.name,
        stage.task,
        stage.finetune,
        images=len(stage.table.images),
        objects={name: objects[name] for name in stage.shown},
        images_of={name: images_of[name] for name in stage.shown},
        numbers=numbers_of(result),
        ap=result.values["ap_known"].parts,
        forgetting=None if lost is None else lost.value.value,
        drops={} if lost is None else lost.drops,
        called=_called(result),
        test=result.provenance.truth_hash,
    )


def _counts(table: Annotations) -> tuple[dict[str, int], dict[str, int]]:
    """Objects of every label, and images with any."""
    once = np.unique(np.stack([table.label, table.image]), axis=1)[0]
    counts = (np.bincount(at, minlength=len(table.labels)) for at in (table.label, once))
    objects, images = (dict(zip(table.labels, each.tolist(), strict=True)) for each in counts)
    return objects, images


def _called(result: Evaluation) -> dict[str, dict[str, int]]:
    """What known classes the objects of unknown ones were taken for, at the best F1."""
    if result.matches is None:
        return {}
    found: dict[str, dict[str, int]] = {}
    threshold = result.values.get("best_threshold")
    least = threshold.value if threshold is not None else None
    for one in confusion(result.matches, minimum_score=least).misnomers():
        found.setdefault(one.label, {})[one.called] = one.objects
    return found


def _refuse_another(out: Path, wanted: Learned) -> None:
    """Refuse a folder whose table is of other exemplars, or of more tasks.

    All else is compared where it is used: recipe, labels, images and start by each training, and
    what is measured otherwise is measured again.
    """
    if not (out / FILE).is_file():
        return
    held = Learned.load(out)
    mine, theirs = (one.about.get("exemplars", {}) for one in (wanted, held))
    keys = ("rule",) if theirs.get("rule") != mine.get("rule") else mine
    changed = [key for key in keys if theirs.get(key) != mine[key]]
    if changed:
        message = f"{out} holds a chain with other exemplars"
        said = ", ".join(f"{key} was {theirs.get(key)!r}, now {mine[key]!r}" for key in changed)
        raise refuse("OS609", message, count=len(changed), example=said)
    if held.tasks != wanted.tasks[: len(held.tasks)]:
        said = f"{len(held.tasks)} tasks of {held.benchmark}, now {len(wanted.tasks)}"
        raise refuse("OS609", f"{out} holds a chain of other tasks", example=said)


def _refuse_failed(bundle: Bundle, *, force: bool) -> None:
    """Refuse a benchmark that fails its audit, unless that is what is wanted."""
    failed = [one for one in audit(bundle).judgements if one.verdict is Verdict.FAIL]
    if failed and not force:
        check = next(one for one in failed[0].checks if one.verdict is Verdict.FAIL)
        raise refuse(
            "OS667",
            f"{bundle.name} fails {len(failed)} principles: "
            + ", ".join(one.title for one in failed),
            count=len(failed),
            example=f"{check.what}: {check.said}",
        )
