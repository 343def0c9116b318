"""Write: a digits world as a folder of images, COCO files and vocabularies.

```
world.json                   its parameters: the folder is of this world and no other
images/train/00000001.png    ...
train.json  val.json  test.json
train-t1.json  train-t2.json, finetune-t2.json ...   in their place, where there are several tasks
train-complete.json ...      only where labels are missing: with what is hidden
vocabularies/*.toml          roles at each task, and within the super-class
```

Standard JSON is written, because machines that only train have no faster library.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.engines import Engine, find
from openset.files import load, replacing
from openset.findings import refuse
from openset.formats.coco import annotations_of, truth_document
from openset.tables import Annotations, Vocabulary
from openset.worlds import _png, _tables
from openset.worlds._cast import SPLITS, Split
from openset.worlds._compose import SceneObject, compose

if TYPE_CHECKING:
    from openset.worlds.digits import DigitsWorld

Progress = Callable[[int, int], None]
Objects = list[tuple[SceneObject, ...]]
Chunk = tuple["DigitsWorld", Split, range]
_CHUNK = 50


def write(
    world: DigitsWorld, folder: Path, engine: Engine | None, progress: Progress | None
) -> Path:
    """Write what is not there yet, and return the folder."""
    try:
        _claim(world, folder)
        _write_vocabularies(world, folder / "vocabularies")
        every = _of_tasks(world)
        splits = {
            folder / f"{split}{ending}.json": (one, split)
            for ending, one in every.items()
            for split in SPLITS
        }
        report = partial(_report, progress, len(every) * world.images)
        _write_splits(splits, folder, engine or find("local"), report)
        _write_exemplars([*every.values()], folder)
    except OSError as error:
        raise refuse("OS102", f"cannot write {folder}: {error}") from error
    return folder


def _write_splits(
    splits: Mapping[Path, tuple[DigitsWorld, Split]],
    folder: Path,
    engine: Engine,
    report: Callable[[int], None],
) -> None:
    """Images of splits, a few at a time, and the file of a split once all its images are there."""
    missing = {path: made for path, made in splits.items() if not path.exists()}
    chunks = [
        (one, split, range(start, min(start + _CHUNK, one.count(split))))
        for one, split in missing.values()
        for start in range(0, one.count(split), _CHUNK)
    ]
    for _, split in missing.values():
        (folder / "images" / split).mkdir(parents=True, exist_ok=True)
    made, done = engine.each(partial(_write_chunk, folder.resolve()), chunks), 0
    for path, (one, split) in splits.items():
        objects: Objects = []
        while path in missing and len(objects) < one.count(split):
            objects += next(made)
            report(done + len(objects))
        if path in missing:
            _write_truth(one, split, path, objects)
        done += one.count(split)
        report(done)


def _of_tasks(world: DigitsWorld) -> dict[str, DigitsWorld]:
    """The worlds of all tasks, by how their files end; itself if it is of one task."""
    if world.tasks == 1 or world.task:
        return {"": world}
    return {f"-t{task}": replace(world, task=task) for task in range(1, world.tasks + 1)}


def write_images(world: DigitsWorld, folder: Path, split: Split, count: int) -> Path:
    """Write the first images of a split, without annotations, and return the folder."""
    try:
        (folder / "images" / split).mkdir(parents=True, exist_ok=True)
        _write_chunk(folder, (world, split, range(min(count, world.count(split)))))
    except OSError as error:
        raise refuse("OS102", f"cannot write {folder}: {error}") from error
    return folder


def _report(progress: Progress | None, total: int, done: int) -> None:
    if progress is not None:
        progress(done, total)


def _claim(world: DigitsWorld, folder: Path) -> None:
    """State whose folder this is, or refuse a folder of something else."""
    state = json.loads(_encoded(_tables.parameters(world)))
    mark = folder / "world.json"
    if mark.exists():
        if difference := _difference(mark, state):
            raise refuse("OS702", f"{folder} holds another world", example=difference)
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise refuse("OS702", f"{folder} is not an empty folder")
    _save(mark, _encoded(state))


def _difference(mark: Path, state: dict[str, Any]) -> str:
    try:
        other = dict(json.loads(load(mark)))
    except (TypeError, ValueError):
        return f"{mark} is not the file of a world"
    pairs = ((name, other.get(name), state.get(name)) for name in state | other)
    return next((f"{n} is {old!r} there, {new!r} here" for n, old, new in pairs if old != new), "")


def _write_chunk(folder: Path, chunk: Chunk) -> Objects:
    """Write some images of a split, unless they are there, and say what is on them."""
    world, split, indices = chunk
    found = []
    for index in indices:
        scene = compose(world, split, index)
        found.append(scene.objects)
        path = folder / _tables.file_name(world, split, index)
        if not path.exists():
            draft = path.with_suffix(".part")
            draft.write_bytes(_png.encode(scene.image))
            draft.replace(path)
    return found


def _write_truth(
    world: DigitsWorld,
    split: Split,
    path: Path,
    objects: Objects,
) -> None:
    lossy = bool(world.hidden) or (split != "test" and world.holds_unknowns(split))
    # The plain file comes last: where it is, the split is finished.
    for complete, place in ((True, path.with_stem(f"{path.stem}-complete")), (False, path)):
        if lossy or not complete:
            table = _tables.ground_truth(world, split, objects, complete=complete)
            _save(place, _encoded(truth_document(table)[0]))


def _write_exemplars(worlds: Sequence[DigitsWorld], folder: Path) -> None:
    """What each task after the first is fine-tuned on: images of all training files so far."""
    for at, world in enumerate(worlds[1:], 2):
        path = folder / f"finetune-t{at}.json"
        if not path.exists():
            parts = [_truth(folder / f"train-t{task}.json") for task in range(1, at + 1)]
            table = _tables.fine_tuning(world, parts)
            _save(path, _encoded(truth_document(table)[0]))


def _truth(path: Path) -> Annotations:
    return annotations_of(json.loads(load(path)), str(path))


def _write_vocabularies(world: DigitsWorld, folder: Path) -> None:
    named = {f"task{task}": world.vocabulary_at(task) for task in range(1, world.tasks + 1)}
    for name, vocabulary in (named | {"digit": world.superclass_vocabulary}).items():
        _save(folder / f"{name}.toml", "\n".join(_toml(vocabulary)).encode())


def _toml(vocabulary: Vocabulary) -> Iterator[str]:
    # JSON lists of plain strings are TOML lists.
    yield f"tasks = {json.dumps(vocabulary.tasks)}"
    if vocabulary.ignored:
        yield f"ignored = {json.dumps(sorted(vocabulary.ignored))}"
    yield ""


def _encoded(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _save(path: Path, data: bytes) -> None:
    with replacing(path, folder=False) as target:
        target.write_bytes(data)
