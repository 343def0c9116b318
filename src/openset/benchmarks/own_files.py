"""Own files: annotation files of a user, or of a world, as a bundle to audit, task by task.

A file is of the task that stands before it (``2=train.json``), or that it states itself
(``info.task``, or that of its world, as `openset build` writes them), else of the last one. Which
classes a task adds is said by ``known``, or by the roles that the test files of the tasks state.

Not a benchmark that was built: that folder says all of this in one place (`bundle.of_folder`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from openset.benchmarks.bundle import Bundle, Part, comparable, of_file
from openset.benchmarks.definition import Kind
from openset.benchmarks.roles import Roles
from openset.findings import UsageError, refuse
from openset.tables import Vocabulary
from openset.tables.vocabulary import Role

WORLD = "world.json"
_TASKED = re.compile(r"(\d+)=(.+)")
_OF_TASK = re.compile(r"-t\d+$")
_NOT_STATED = 0


def of_world(folder: Path) -> Bundle:
    """A world that was made from a seed: its files, of one task or all, which state their roles."""
    kinds: tuple[Kind, ...] = ("train", "finetune", "val", "test")
    names = [(kind, sorted(folder.glob(f"{kind}-t*.json"))) for kind in kinds]
    there = {kind: [path for path in found if _OF_TASK.search(path.stem)] for kind, found in names}
    alone = {kind: [path] for kind in kinds if (path := folder / f"{kind}.json").is_file()}
    return replace(of_files(alone or there), name=folder.name)


def of_files(files: Mapping[Kind, Sequence[Path]], known: Any = None) -> Bundle:
    """Annotation files of one's own: by what they are for.

    Args:
        files: Paths by kind, ``TASK=PATH`` where a file does not state its task.
        known: What `Vocabulary.of` takes; by default the roles that the test files state.
    """
    parts = [_part(path, kind) for kind, paths in files.items() for path in paths]
    if not parts:
        raise UsageError("nothing to audit: give a benchmark, or --train, --val, --test files")
    roles = _roles(parts, known)
    last = len(roles.tasks)
    beyond = [part for part in parts if part.task > last]
    if beyond:
        said = f"{beyond[0].name} is of task {beyond[0].task}, but classes are stated for {last}"
        raise refuse("OS914", said, count=len(beyond), example=beyond[0].name)
    universes = {part.name: part.table.labels for part in parts if part.table is not None}
    stated = [replace(p, task=p.task or last, origin=(p.name,) * len(p.lines)) for p in parts]
    return Bundle("files", roles, comparable(stated), universes)


def _part(path: Path, kind: Kind) -> Part:
    """A file and its task, 0 where nothing says so."""
    tasked = None if path.exists() else _TASKED.fullmatch(str(path))
    if tasked:
        file = Path(tasked[2])
        return of_file(file, kind, _name(file, kind, int(tasked[1])), int(tasked[1]))
    part = of_file(path, kind, path.stem, _NOT_STATED)
    return replace(part, task=_stated(part.table.info) if part.table is not None else _NOT_STATED)


def _stated(info: Mapping[str, Any]) -> int:
    """The task that a file states: as a build writes it, or as a world does."""
    world = info.get("world")
    for said in (info.get("task"), world.get("task") if isinstance(world, Mapping) else None):
        if isinstance(said, int) and not isinstance(said, bool) and said > 0:
            return said
    return _NOT_STATED


def _name(file: Path, kind: Kind, task: int) -> str:
    """Files of tasks are often called alike, each in the folder of its task."""
    return f"{file.stem} (task {task})" if file.stem in (kind, "instances") else file.stem


def _roles(parts: Sequence[Part], known: Any) -> Roles:
    tests = [part for part in parts if part.stage == "test" and part.table is not None]
    first = tests[0].table if tests else None
    vocabulary = Vocabulary.of(known, first)
    tasks = vocabulary.tasks if known is not None else _stated_tasks(tests, vocabulary)
    last = replace(vocabulary, tasks=tasks, unknown=vocabulary.unknown - _keys(tasks))
    labels = dict.fromkeys(k for part in parts if part.table for k in part.table.labels)
    return Roles(
        tasks=tasks,
        unknown=tuple(k for k in labels if last.role(k) is Role.UNKNOWN),
        ignored=tuple(vocabulary.ignored),
        rest=vocabulary.rest,
        synonyms=vocabulary.synonyms,
    )


def _keys(tasks: Sequence[Sequence[str]]) -> frozenset[str]:
    return frozenset(name for task in tasks for name in task)


def _stated_tasks(tests: Sequence[Part], first: Vocabulary) -> tuple[tuple[str, ...], ...]:
    """The classes that each task adds, by what its test calls known and the ones before do not.

    What a test calls previous, and no test before it knows, was added by the task before it.
    """
    last = max(part.task for part in tests)
    if last == _NOT_STATED:
        return first.tasks
    tasks: list[tuple[str, ...]] = [()] * last
    seen: set[str] = set()
    for part in sorted(tests, key=lambda one: one.task or last):
        stated, task = Vocabulary.of(None, part.table), part.task or last
        for at, names in ((task - 2, stated.previous), (task - 1, stated.current)):
            new = tuple(name for name in names if first.key(name) not in seen)
            seen.update(map(first.key, new))
            place = max(at, 0)
            tasks[place] = (*tasks[place], *new)
    return tuple(tasks)
