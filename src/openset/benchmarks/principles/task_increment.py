"""Task increment: each task adds classes that were unknown before, each class once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from openset.benchmarks.bundle import Bundle
from openset.benchmarks.principles import Check, failed, note, of_split, passed, principle, unknown
from openset.benchmarks.roles import overlaps

_ADDS = "every task adds classes"
_ONCE = "every class is introduced once"
_BEFORE = "a class is unknown until it is taught"
_TESTED = "every task has a test"
_SHOWN = "training images of a task show each of its classes"


@principle(
    "task_increment",
    "Task increment",
    2,
    fix="Introduce every class in one task, leave it unknown before, and train that task on "
    "images that show it.",
)
def task_increment(bundle: Bundle) -> Iterable[Check]:
    """Known classes grow from task to task, by classes that were unknown before."""
    tasks = bundle.roles.tasks
    empty = [f"task {number}" for number, task in enumerate(tasks, 1) if not task]
    if empty:
        yield failed(_ADDS, f"{len(empty)} tasks add nothing", len(empty), empty)
    elif len(tasks) == 1:
        yield passed(_ADDS, "there is one task")
    else:
        yield passed(_ADDS, f"{len(tasks)} tasks add {' + '.join(str(len(t)) for t in tasks)}")
    twice = [(name, *where) for name, *where in overlaps(bundle.roles) if "task" in where[1]]
    if twice:
        examples = [f"{name} is {a} and {b}" for name, a, b in twice]
        yield failed(_ONCE, f"{len(twice)} classes are introduced again", len(twice), examples)
    else:
        yield passed(_ONCE, f"{sum(map(len, tasks))} classes")
    yield _unknown_before(bundle)
    yield _tested(bundle)
    for task in range(1, len(tasks) + 1):
        yield from of_split(f"task {task}", [_shown(bundle, task)])
    rest = bundle.distinct.unknown
    if len(tasks) > 1 and rest:
        yield note("classes that are never taught", f"{len(rest)} stay unknown", len(rest))


def _unknown_before(bundle: Bundle) -> Check:
    """A class that is ignored in one task and taught in the next was never open."""
    key = bundle.vocabulary(len(bundle.roles.tasks)).key
    hidden = set(map(key, bundle.roles.ignored))
    later = list(chain.from_iterable(bundle.roles.tasks[1:]))
    wrong = [name for name in later if key(name) in hidden]
    if wrong:
        said = f"{len(wrong)} classes are ignored before they are taught"
        return failed(_BEFORE, said, len(wrong), wrong)
    return passed(_BEFORE, f"{len(later)} classes of later tasks are unknown before")


def _tested(bundle: Bundle) -> Check:
    """Whether a number can be given for every task."""
    tests = bundle.of_stage("test")
    if not tests:
        return unknown(_TESTED, "no test is at hand")
    count = len(bundle.roles.tasks)
    lost = sorted(set(range(1, count + 1)) - {part.task for part in tests})
    wrong = [task for task in lost if task in {part.task for part in bundle.parts}]
    if wrong and "test" not in bundle.unlisted:
        return failed(_TESTED, f"{len(wrong)} of {count} tasks have none", len(wrong), wrong)
    if lost:
        return unknown(_TESTED, f"no split of task {lost[0]} is at hand")
    return passed(_TESTED, f"{count} tasks")


def _shown(bundle: Bundle, task: int) -> Check:
    parts = [p for p in bundle.parts if p.kind == "train" and p.task == task]
    tables = [part.table for part in parts if part.table is not None]
    if not parts or len(tables) < len(parts):
        return unknown(_SHOWN, "boxes of training images are not at hand")
    vocabulary = bundle.vocabulary(task)
    there = {vocabulary.key(t.labels[i]) for t in tables for i in set(t.label.tolist())}
    lost = [name for name in vocabulary.current if vocabulary.key(name) not in there]
    if lost:
        return failed(_SHOWN, f"{len(lost)} classes have no box", len(lost), lost)
    return passed(_SHOWN, f"all {len(vocabulary.current)} classes")
