"""learn: a detector through all tasks of a benchmark, and what it forgets on the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._recipes import Changes
from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.learning.chain import Plan, Went
    from openset.learning.exemplars import Exemplars

app = verb("learn", panel="Models")


@app.default
def learn(
    bundle: Path,
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    recipe: str | None = None,
    changes: Changes = Changes(),  # noqa: B008 - frozen
    images: list[Path] | None = None,
    exemplars: str | None = None,
    exemplar_count: int = 50,
    rule: Literal["cec", "gamma"] | None = None,
    phi: float = 0.9,
    gamma: float | None = None,
    steps: int | None = None,
    protocol: str = "default",
    force: Flag = False,
    device: str | None = None,
    decoders: int = 0,
    hold: Flag = False,
    checkpoint_every: int = 500,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Learn the tasks of a benchmark one after the other, and measure what is forgotten.

    Trains on each task from the model of the one before, fine-tunes on exemplars, and evaluates
    after each. Stop it with Ctrl-C, or kill it: the same command goes on, to the same table. Under
    torchrun it trains on many GPUs.

    Of a benchmark with several splits of its classes (openset build NAME:all) each is learned by
    itself, in a folder of its name, and the means over them are shown.

    Args:
        bundle: A folder that `openset build` made, with splits of several tasks, or a folder of
            several such: variants of one benchmark.
        out: Folder to keep trainings, lists of exemplars, evaluations, table and figure in.
        recipe: A name that `openset list recipes` shows, or a TOML file, whose tables [later] and
            [finetune] say what the later tasks change; by default that of the world.
        changes: What else to change of the recipe.
        images: What the names of images are relative to; by default the folder itself. Given
            several times where data sets are mixed.
        exemplars: What to fine-tune on: splits (of the benchmark), published (OWOD's rule), scored
            (PROB's) or none; or a folder with lists exemplars-t2.txt and so on. By default the
            benchmark's splits, or as published where it has none.
        exemplar_count: Objects of each class, where a rule chooses.
        rule: With cec, the expelling classifier of RE-OWOD decides in each stage what is unknown:
            with means of the training images so far, and alpha by its effect on the validation
            split (0.5 where there is none). With gamma, the rule of OSOD-III does, on regions
            before suppression.
        gamma: Of the rule gamma: regions whose two largest class scores have a smaller ratio are
            unknown; by default it is chosen on known objects of the validation split.
        phi: Of cec: its means are those of training detections that overlap their object by more.
        steps: Another number of batches for the first task; the others in proportion.
        protocol: Of the evaluations, as in `openset evaluate`.
        force: Learn a benchmark that fails its audit.
        device: Such as cpu or cuda:1; by default a GPU where there is one.
        decoders: Processes that decode images; 0 is this one.
        hold: Decode every image once and hold it on the device, for data that fits.
        checkpoint_every: Steps between checkpoints.
        output: How to speak.
    """
    from openset.cli._stopping import positive, stoppable
    from openset.nets.processes import is_first

    if gamma is not None and rule != "gamma":
        raise UsageError("--gamma belongs to --rule gamma")
    variants = _variants(bundle)
    chosen = changes.made(recipe or _usual(next(iter(variants.values()), bundle)))
    chosen = chosen if steps is None else chosen.scaled(steps)
    from openset.evaluation.settings import Settings
    from openset.learning import Plan
    from openset.learning import learn as learn_all
    from openset.learning.stages import bundle_of

    plan = Plan(
        chosen,
        images or bundle,
        _exemplars(exemplars, exemplar_count, chosen.seed),
        Settings(protocol=protocol, force=force),
        expel=rule == "cec",
        gamma=None if rule != "gamma" else "chosen" if gamma is None else gamma,
        phi=phi,
        options={
            "device": device,
            "workers": decoders,
            "hold": hold,
            "checkpoint_every": positive(checkpoint_every),
        },
        force=force,
    )
    opened = {name: bundle_of(folder) for name, folder in (variants or {"": bundle}).items()}
    went: dict[str, Went] = {}
    steps_of = {name: _steps(plan, len(one.roles.tasks)) for name, one in opened.items()}
    with stoppable() as stop, output.track(sum(steps_of.values())) as at:
        before = 0
        for name, one in opened.items():
            how = plan if images else replace(plan, images=variants.get(name, bundle))
            tell = _Telling(plan, at, before)
            went[name] = learn_all(one, how, out / name, say=tell, stop=stop)
            before += steps_of[name]
            if not went[name].done:
                break
    if not is_first():
        return Answer("")
    for name, each in went.items():
        for finding in each.findings:
            output.report(finding, name)
    if not variants:
        return _answer(went[""], out)
    from openset.cli._variants import means_of

    return means_of(
        went, {name: _answer(one, out / name, len(went)) for name, one in went.items()}, out
    )


def _variants(bundle: Path) -> dict[str, Path]:
    """The benchmarks in a folder that is none itself."""
    from openset.benchmarks.manifest import MANIFEST
    from openset.benchmarks.own_files import WORLD

    if not bundle.is_dir() or any((bundle / name).is_file() for name in (MANIFEST, WORLD)):
        return {}
    return {path.parent.name: path.parent for path in sorted(bundle.glob(f"*/{MANIFEST}"))}


def _usual(bundle: Path) -> str:
    """The recipe of a world; files of one's own need one that was chosen for them."""
    import json

    from openset.benchmarks.own_files import WORLD
    from openset.files import load_text
    from openset.findings import refuse
    from openset.training import Recipe

    if not bundle.is_dir():
        raise refuse("OS101", f"no such folder: {bundle}")
    world = bundle / WORLD
    name = f"{json.loads(load_text(world)).get('name')}-tasks" if world.is_file() else ""
    if name not in Recipe.presets():
        raise UsageError("--recipe says how to train, such as reowod or a TOML file of your own")
    return name


def _exemplars(given: str | None, count: int, seed: int) -> Exemplars:
    from openset.learning.exemplars import RULES, Exemplars
    from openset.plugins import lookup

    if given is not None and Path(given).is_dir():
        return Exemplars("published", count, seed, Path(given))
    rules = {str(rule): rule for rule in RULES}
    return Exemplars("" if given is None else lookup(rules, given, "rule"), count, seed)


def _steps(plan: Plan, tasks: int) -> int:
    """Steps of all trainings of a chain."""
    first = plan.recipe.at(1).steps
    later = [(task, finetune) for task in range(2, tasks + 1) for finetune in (False, True)]
    return first + sum(plan.recipe.at(task, finetune=ft).steps for task, ft in later)


class _Telling:
    """Progress over all trainings of a chain, from that of each."""

    def __init__(self, plan: Plan, at: Any, before: int = 0) -> None:
        self.plan, self.at = plan, at
        self.before, self.name, self.steps = before, "", 0

    def __call__(self, stage: Any, progress: Any) -> None:
        if stage.name != self.name:
            self.before += self.steps
            self.name = stage.name
            self.steps = self.plan.recipe.at(stage.task, finetune=stage.finetune).steps
        self.at(self.before + progress.step, f"{stage.name}: loss {progress.loss:.3f}")


def _answer(went: Went, out: Path, of: int = 1) -> Answer:
    """What one chain came to, of so many."""
    from openset.cli._stopping import STOPPED
    from openset.cli._terminal import width

    learned = went.learned
    lines = [learned.table().text(width()), *learned.lines()] if learned.rows else []
    if len(learned.tasks) == of == 1:
        lines.append(
            "one task: nothing can be forgotten; a world of several: openset build digits "
            "--option tasks=2 -o world"
        )
    if not went.done:
        lines.append("stopped: the same command goes on from here")
        return Answer("\n".join(lines), learned.document, STOPPED)
    from openset.learning.figure import through_time

    figure = through_time({out.name: learned}, out / "learned.svg")
    lines.append(f"wrote {out}: {out / 'learned.json'}, {out / 'learned.md'}, {figure}")
    return Answer("\n".join([*lines, f"next: openset report {out}"]), learned.document)
