"""In parts: an evaluation of folders of parts, part by part, on any engine.

Detections in parts (`openset.formats.parts`) are read, checked and matched a part at a time, each
where the engine says; what comes back are batches (`openset.evaluation.batches`), which are put
together in the order of the parts, whatever the order in which they arrive. So the result is the
same to the byte on all engines and with any number of workers, and its numbers are those of the
tables as a whole. No process holds these: the tables of the run that is made here are read when
somebody asks for them, as who keeps a run for a report does.

The ground truth may be in parts, too, cut in the same places or in others, or a file: then it is
held here, and its objects are handed to the workers. It must have the images of the detections'
parts, in their order, which decides ties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset import engines
from openset.engines import Engine
from openset.engines.parcel import Parcel
from openset.evaluation.batches import Batch, Gathering, batch_of, refuse_whole
from openset.evaluation.grouping import as_grouped
from openset.evaluation.settings import Settings
from openset.evaluation.steps import Ground, as_judged
from openset.findings import InputError, UsageError, raise_all, refuse
from openset.formats import read_annotations, read_detections
from openset.formats.parquet import classes_in
from openset.formats.parts import Parts, is_parts
from openset.refusals import wrong_kind
from openset.tables import Annotations, Detections
from openset.tables.union import concatenated

Done = engines.Done


def batches_of(
    truth: Any,
    detections: Mapping[str, Any],
    settings: Settings,
    engine: Engine,
    done: Done | None = None,
    *,
    lean: bool = False,
) -> tuple[Tables, dict[str, Batch]]:
    """What the parts of every detector are together, and the tables that nobody has read yet.

    Args:
        truth: The ground truth, as it was given.
        detections: Folders of parts, by detector.
        settings: What is asked.
        engine: Where parts are matched.
        done: Called with the number of parts that are matched.
        lean: Whether nobody but metrics will read the matches (`openset.matching.lean`).

    Raises:
        InputError: Parts are missing, damaged, or of other images than the ground truth. Every part
            was tried, and what is wrong with any is said with its name.
    """
    _refuse_counting(settings)
    refuse_whole(settings)
    folders = engines.find("local").map(_opened, detections.values())
    found = dict(zip(detections, folders, strict=True))
    source = _Truth.of(truth)
    edges = _edges(source.images, found)
    vocabulary = settings.vocabulary(source.cut(0, edges[1]).classes())
    asked = replace(settings, known=vocabulary)  # afresh: what it keeps for itself cannot travel
    works = [
        _Work(source.cut(*cut), {n: parts.only(at) for n, parts in found.items()}, asked, lean)
        for at, cut in enumerate(pairwise(edges))
    ]
    gathered = {name: Gathering() for name in found}
    for parcel in engine.each(_matched, works, done):
        for name, batch in parcel.content.items():
            gathered[name].add(batch)
    tables = Tables(truth, detections, asked)
    here = engines.beside(engine)
    return tables, {name: one.together(here) for name, one in gathered.items()}


def _refuse_counting(settings: Settings) -> None:
    if settings.image_ids.startswith("index"):
        raise UsageError("image_ids='index' counts all images at once, and these are in parts")


def _opened(folder: Any) -> Parts:
    parts = Parts.open(Path(folder)).finished()
    if parts.kind != "detections":
        raise wrong_kind(str(folder), "detections")
    return parts


@dataclass(frozen=True, eq=False)
class _Truth:
    """A ground truth, or some images of it in a row: a table that is held, or parts to be read.

    Attributes:
        held: The table, or the parts that have those images.
        start: Where they begin among the images of these.
        stop: Where they end.
    """

    held: Annotations | Parts
    start: int
    stop: int

    @classmethod
    def of(cls, truth: Any) -> _Truth:
        """A ground truth as it was given."""
        if not isinstance(truth, (str, Path)) or not is_parts(Path(truth)):
            table = read_annotations(truth)
            return cls(table, 0, len(table.images))
        parts = Parts.open(Path(truth)).finished()
        if parts.kind != "annotations":
            raise wrong_kind(str(truth), "annotations")
        return cls(parts, 0, sum(map(len, parts.images)))

    @property
    def images(self) -> NDArray[Any]:
        """Ids of all images that are held."""
        held = self.held
        return held.images.id if isinstance(held, Annotations) else np.concatenate(held.images)

    def cut(self, start: int, stop: int) -> _Truth:
        """The images from `start` to `stop`; of parts, only those that hold any of them."""
        if isinstance(self.held, Annotations):
            return _Truth(self.held.of_images(slice(start, stop)), 0, stop - start)
        edges = np.cumsum([0, *map(len, self.held.images)])
        first = min(int(np.searchsorted(edges, start, "right")) - 1, len(self.held) - 1)
        last = max(int(np.searchsorted(edges, stop, "left")), first + 1)
        before = int(edges[first])
        return _Truth(self.held.only(*range(first, last)), start - before, stop - before)

    def classes(self) -> Annotations:
        """A table with the same classes, and perhaps no rows: workers start as soon as it is read.

        Of a file that is damaged `read` says more.
        """
        if isinstance(self.held, Parts):
            with suppress(InputError):
                return classes_in(self.held.folder / self.held.manifest.parts[0].file)
        return self.read()

    def read(self) -> Annotations:
        """The table."""
        if isinstance(self.held, Annotations):
            return self.held
        tables = [one for one in self.held.read_all() if isinstance(one, Annotations)]
        whole = tables[0] if len(tables) == 1 else concatenated(tables)
        return whole.of_images(slice(self.start, self.stop))


def _edges(images: NDArray[Any], found: Mapping[str, Parts]) -> list[int]:
    """Where parts begin and end among the images; refused unless all agree on these."""
    cuts: list[int] = []
    for name, parts in found.items():
        _refuse_images(name, images, np.concatenate(parts.images))
        edges = np.cumsum([0, *map(len, parts.images)]).tolist()
        if cuts and edges != cuts:
            said = f"{name} is cut into other parts than {next(iter(found))}"
            raise refuse("OS364", said, fix="openset convert DIR --truth GT --to parts -o OTHER")
        cuts = edges
    return cuts


def _refuse_images(name: str, images: NDArray[Any], listed: NDArray[Any]) -> None:
    if np.array_equal(images, listed):
        return
    lost, more = np.setdiff1d(images, listed), np.setdiff1d(listed, images)
    ids, what = images, "are in another order than in the ground truth"
    if len(lost):
        ids, what = lost, "of the ground truth are in no part"
    elif len(more):
        ids, what = more, "of the parts are not in the ground truth"
    about = f"{name}: " if name else ""
    example = f"image {ids[0]}"
    raise refuse("OS364", f"{about}{len(ids)} images {what}", count=len(ids), example=example)


@dataclass(frozen=True, eq=False)
class _Work:
    """All that a worker needs: where the tables of some images are, and what is asked."""

    truth: _Truth
    found: Mapping[str, Parts]
    settings: Settings
    lean: bool


def _matched(work: _Work) -> Parcel[dict[str, Batch]]:
    """The batch of every detector on some images."""
    ground = _ground(work.truth.read(), work.settings)
    batches: dict[str, Batch] = {}
    failures: list[InputError] = []
    for name, parts in work.found.items():
        try:
            (table,) = parts.read_all()
            assert isinstance(table, Detections)
            batches[name] = batch_of(ground, table, work.settings, lean=work.lean)
        except InputError as error:
            file = parts.manifest.parts[0].file
            where = f"{name}, {file}" if name else file
            named = [replace(f, message=f"{where}: {f.message}") for f in error.findings]
            failures.append(InputError(named))
    raise_all(failures)
    return Parcel(batches)


def _ground(truth: Annotations, settings: Settings) -> Ground:
    if settings.groups is not None:
        truth = as_grouped(truth, settings.groups)
    return Ground.of(truth, settings.vocabulary(truth), settings)


@dataclass(frozen=True, eq=False)
class Tables(Mapping[str, Detections]):
    """The tables as a whole, each read when it is asked for: the truth once, detections by name.

    Attributes:
        given: The ground truth as it was given.
        folders: The folders of detections, by detector.
        settings: What is asked, with its vocabulary.
    """

    given: Any
    folders: Mapping[str, Any]
    settings: Settings

    @cached_property
    def ground(self) -> Ground:
        """The ground truth, checked."""
        return _ground(read_annotations(self.given), self.settings)

    def truth(self) -> Annotations:
        """The ground truth as detections are held against it."""
        return self.ground.truth

    def __getitem__(self, name: str) -> Detections:
        return as_judged(self.ground, read_detections(self.folders[name]), self.settings).read[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.folders)

    def __len__(self) -> int:
        return len(self.folders)
