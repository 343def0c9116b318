"""Exemplar lists: which images remind a detector, as text files that can be read and audited.

A file ``exemplars-t2.txt`` has one image a line, by the stem of its file name or by its id, as the
image lists of benchmarks have them. The lists are drawn from the training splits of the tasks so
far, by one of the published rules (`openset.tables.exemplars`), or given by the user; in either
case they are read back and audited before anything is trained on them.

Not needed where a benchmark has splits to fine-tune on: these are lists already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from openset.benchmarks.bundle import Bundle
from openset.benchmarks.pool import image_names
from openset.benchmarks.rules.listed import rows_of
from openset.files import load_list, replacing
from openset.findings import Finding, InputError, Level, UsageError
from openset.learning.stages import Stage, pooled
from openset.tables import Annotations, Detections
from openset.tables.exemplars import Rows, drawn, extreme
from openset.tables.union import merged, on_images

Rule = Literal["", "splits", "published", "scored", "none"]
RULES: dict[Rule, str] = {
    "splits": "the fine-tuning splits of the benchmark",
    "published": "the last N objects of each class in a random order, drawn anew (OWOD)",
    "scored": "the N objects of each new class that score highest and lowest, added up (PROB)",
    "none": "no fine-tuning",
}
Found = Callable[[Stage], Detections]
"""What the model of a task finds on the images of its training split."""


@dataclass(frozen=True, slots=True)
class Exemplars:
    """How exemplars are chosen.

    Attributes:
        rule: One of `RULES`; empty is the benchmark's splits, or as published where it has none.
        count: Objects of each class.
        seed: Of the draw.
        folder: Where lists are that were made before; None draws them.
    """

    rule: Rule = ""
    count: int = 50
    seed: int = 0
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or self.seed < 0:
            raise UsageError(f"{self.count} exemplars of a class and seed {self.seed} cannot be")

    @property
    def about(self) -> dict[str, Any]:
        """What decides which images they are, of a rule that is settled."""
        if self.folder is not None:
            return {"rule": "given"}  # each list is part of what its training is of
        if self.rule in ("splits", "none"):
            return {"rule": self.rule}
        return {"rule": self.rule, "count": self.count, "seed": self.seed}

    def settled(self, stages: Sequence[Stage]) -> Exemplars:
        """The rule that is meant for these stages.

        Raises:
            UsageError: The benchmark has no splits to fine-tune on, and they were asked for.
        """
        wanted = [one for one in stages if one.finetune]
        lacking = [one for one in wanted if one.table is None]
        own: Rule = "published" if lacking or self.folder is not None else "splits"
        if self.rule == "splits" and lacking:
            missing = ", ".join(str(one.task) for one in lacking)
            raise UsageError(f"the benchmark has no split to fine-tune task {missing} on")
        return replace(self, rule=self.rule or own)

    def of(self, stages: Sequence[Stage]) -> tuple[Stage, ...]:
        """The stages that there are under a settled rule; those without a table await a list."""
        if self.rule == "none":
            return tuple(one for one in stages if not one.finetune)
        if self.rule == "splits":
            return tuple(stages)
        return tuple(replace(s, table=None, shown=s.labels) if s.finetune else s for s in stages)


@dataclass(frozen=True)
class Lists:
    """The lists of a chain.

    Attributes:
        how: How they are chosen.
        out: Where they are kept.
        bundle: The benchmark.
        stages: All trainings of the chain.
    """

    how: Exemplars
    out: Path
    bundle: Bundle
    stages: tuple[Stage, ...]

    def path(self, task: int) -> Path:
        """The list of a task."""
        return (self.how.folder or self.out) / f"exemplars-t{task}.txt"

    def check(self) -> None:
        """Refuse lists that are there and cannot be used, all of them at once."""
        waiting = [one for one in self.stages if one.finetune and one.table is None]
        wrong = []
        for stage in waiting:
            if self.path(stage.task).is_file():
                wrong += self._wrong(stage)
            elif self.how.folder is not None:
                said = f"no list of exemplars for task {stage.task}"
                wrong.append(Finding("OS101", Level.ERROR, f"{said}: {self.path(stage.task)}"))
        if wrong:
            raise InputError(wrong)

    def filled(self, stage: Stage, found: Found) -> tuple[Stage, tuple[Finding, ...]]:
        """A fine-tuning with its images, from its list; and classes that these do not show."""
        path, pool = self.path(stage.task), pooled(self.bundle, stage.task)
        if not path.is_file():
            self._write(path, pool, self._chosen(stage, pool, found))
        if wrong := self._wrong(stage):
            raise InputError(wrong)
        table = on_images(pool, np.unique(rows_of(pool, np.array(load_list(path), np.str_))))
        shown = {table.labels[at] for at in np.unique(table.label).tolist()}
        lost = [label for label in stage.labels if label not in shown]
        said = f"{len(lost)} of {len(stage.labels)} classes are on no exemplar of task {stage.task}"
        warning = Finding("OS668", Level.WARNING, said, len(lost), lost[0] if lost else "")
        return replace(stage, table=table), (warning,) if lost else ()

    def _chosen(self, stage: Stage, pool: Annotations, found: Found) -> Rows:
        """Places of images in the pool."""
        if self.how.rule != "scored":
            return drawn(pool, self.how.count, self.how.seed)
        names: list[str] = []
        for one in self.stages:
            if not one.finetune and one.task <= stage.task:
                assert one.table is not None
                table = merged([one.table], one.shown)
                rows = extreme(table, found(one), self.how.count, self.how.seed)
                names += image_names(table)[rows].tolist()
        return np.unique(rows_of(pool, np.array(names, np.str_))).astype(np.intp)

    def _write(self, path: Path, pool: Annotations, rows: Rows) -> None:
        names = image_names(pool)
        # A list ends a name at the first blank.
        kept = pool.images.id if any(len(name.split()) != 1 for name in names) else names
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, folder=False) as part:
            part.write_text("".join(f"{name}\n" for name in kept[rows].tolist()), "utf-8")

    def _wrong(self, stage: Stage) -> list[Finding]:
        """Images of a list that are not there, or that are tested."""
        path = self.path(stage.task)
        names = np.array(load_list(path), np.str_)
        tests = [p.table for p in self.bundle.of_stage("test") if p.table is not None]
        tested = np.any([rows_of(table, names) >= 0 for table in tests], axis=0)
        absent = (rows_of(pooled(self.bundle, stage.task), names) < 0) & ~tested
        found = []
        for code, what, mask in (
            ("OS666", "are test images", tested),
            ("OS665", "are in no training split", absent),
        ):
            if mask.any():
                said = f"{mask.sum()} of {len(names)} images of {path} {what}"
                example = str(names[np.flatnonzero(mask)[0]])
                found.append(Finding(code, Level.ERROR, said, int(mask.sum()), example))
        return found
