"""Bundle: a benchmark as the audit sees it: classes by task, and images with or without boxes.

It comes from a folder that `openset build` wrote, from annotation files (`own_files`), or from
published image lists alone (then what only boxes can tell is UNKNOWN). Nothing is refused here that
an audit should report: duplicate images, overlapping class lists.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.definition import Benchmark, Kind, list_folders, load
from openset.benchmarks.pool import Universe, image_names
from openset.benchmarks.roles import Roles, resolve, spelling
from openset.benchmarks.taxonomy import Taxonomy
from openset.files import safe_name
from openset.findings import Finding, InputError, refuse
from openset.tables import Annotations, Vocabulary

if TYPE_CHECKING:
    from openset.benchmarks.unlabelled import Second

STAGES: Mapping[str, str] = {
    "train": "train",
    "finetune": "train",
    "val": "val",
    "test": "test",
    "id": "test",
    "ood": "test",
}


@dataclass(frozen=True)
class Part:
    """A split.

    Attributes:
        name: Its name.
        kind: What it is for.
        task: Its task, from 1.
        lines: Names of its images, in the order of the file, repeated ones repeated.
        origin: The source of each line, empty where it is not known.
        keep: Groups of labels that its policy shows, if there is a policy.
        table: Its annotations, if they are at hand.
        dropped: Boxes on its images that the policy leaves out, by role.
    """

    name: str
    kind: Kind
    task: int
    lines: tuple[str, ...]
    origin: tuple[str, ...]
    keep: tuple[str, ...] = ()
    table: Annotations | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def stage(self) -> str:
        """Train, val or test: images of one must not be in another."""
        return STAGES[self.kind]

    @property
    def names(self) -> frozenset[str]:
        """Its images, each once."""
        return frozenset(self.lines)

    def roles(self, vocabulary: Vocabulary) -> NDArray[np.str_]:
        """The role of every object."""
        assert self.table is not None
        roles = [str(vocabulary.role(label)) for label in self.table.labels]
        return np.array(roles, np.str_)[self.table.label] if roles else np.empty(0, np.str_)

    def example(self, row: int) -> str:
        """An object in words."""
        assert self.table is not None
        image = self.table.images.id[self.table.image[row]]
        return f"image {image}: {self.table.labels[self.table.label[row]]}"


@dataclass(frozen=True)
class Bundle:
    """A benchmark to audit.

    Attributes:
        name: Its name.
        roles: Classes as they are stated, mistakes included.
        parts: Its splits.
        universes: Labels that annotators of a source looked for, by source.
        pretraining: Data sets that detectors were trained on before; None if nothing is declared.
        taxonomy: What is a kind of what, by names of labels.
        images: Folder of the images.
        second: Another annotation of test images, to tell what is unlabelled.
        unlisted: Stages of which images are not all listed.
        edited: The finding about split files whose bytes are not those that were built.
    """

    name: str
    roles: Roles
    parts: tuple[Part, ...]
    universes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pretraining: tuple[str, ...] | None = None
    taxonomy: Taxonomy = field(default_factory=Taxonomy)
    images: Path | None = None
    second: Second | None = None
    unlisted: frozenset[str] = frozenset()
    edited: tuple[Finding, ...] = ()

    @cached_property
    def distinct(self) -> Roles:
        """The roles with every class where it is listed first, so that vocabularies exist."""
        key = Vocabulary(tasks=(), synonyms=self.roles.synonyms).key
        seen: set[str] = set()

        def new(names: Sequence[str]) -> tuple[str, ...]:
            fresh = {key(name): name for name in reversed(names) if key(name) not in seen}
            seen.update(fresh)
            return tuple(name for name in names if fresh.get(key(name)) == name)

        tasks = tuple(map(new, self.roles.tasks))
        return replace(
            self.roles,
            tasks=tasks,
            unknown=new(self.roles.unknown),
            ignored=new(self.roles.ignored),
        )

    def vocabulary(self, task: int) -> Vocabulary:
        """Roles at a task."""
        return self.distinct.at(task)

    def of_stage(self, stage: str) -> tuple[Part, ...]:
        """Splits of a stage."""
        return tuple(part for part in self.parts if part.stage == stage)


def of_folder(folder: Path) -> Bundle:
    """A benchmark that `openset build` wrote."""
    from openset.benchmarks.manifest import MANIFEST, edited, read_manifest

    if not (folder / MANIFEST).is_file():
        raise refuse("OS912", f"{folder} has no {MANIFEST}")
    manifest = read_manifest(folder)
    _refuse_missing(folder, manifest)
    parts = []
    for name, about in manifest["splits"].items():
        part = of_file(folder / safe_name(about["file"]), about["kind"], name, about["task"])
        parts.append(replace(part, keep=tuple(about["keep"]), dropped=about["dropped"]))
    declared = manifest["pretraining"]
    return Bundle(
        name=manifest["benchmark"],
        roles=Roles.of_document(manifest["classes"]),
        parts=comparable(parts),
        edited=edited(folder, manifest),
        universes={key: about["labels"] for key, about in manifest["sources"].items()},
        pretraining=None if declared is None else tuple(declared),
    )


def _refuse_missing(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a folder that has lost some of the splits that were built."""
    from openset.benchmarks.manifest import command_of, lost_splits

    if lost := lost_splits(folder, manifest):
        of = len(manifest["splits"])
        message = f"{folder} has lost {len(lost)} of its {of} splits: {', '.join(lost)}"
        fix = command_of(manifest["benchmark"], folder)
        raise refuse("OS912", message, count=len(lost), example=lost[0], fix=fix)


def of_file(path: Path, kind: Kind, name: str, task: int) -> Part:
    """A split from an annotation file; with images twice in it, only their names."""
    from openset.formats import read_annotations

    try:
        table = read_annotations(path)
    except InputError as error:
        if error.findings[0].code != "OS111":
            raise
        lines = _image_lines(path)
        return Part(name, kind, task, lines, ("",) * len(lines))
    origin = table.images.attributes.get("source", np.full(len(table.images), ""))
    lines = tuple(_line_names(table).tolist())
    return Part(name, kind, task, lines, tuple(origin.tolist()), table=table)


def _line_names(table: Annotations) -> NDArray[np.str_]:
    ids = table.images.id.astype(np.str_)
    names = table.images.file_name
    return ids if names is None else np.where(names == "", ids, names)


def _image_lines(path: Path) -> tuple[str, ...]:
    """Names of the images of a COCO file, repeated ones repeated."""
    from openset.files import load as load_bytes
    from openset.json_text import decode

    records = decode(load_bytes(path), str(path))["images"]
    return tuple(str(record.get("file_name") or record["id"]) for record in records)


def comparable(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Parts whose images are called alike: by file name if all have one, else by stem or id."""
    tables = [part.table for part in parts if part.table is not None]
    if all(table.images.file_name is not None for table in tables):
        return tuple(parts)
    return tuple(
        part if part.table is None else replace(part, lines=tuple(image_names(part.table).tolist()))
        for part in parts
    )


def of_lists(benchmark: Benchmark | str, folder: Path) -> Bundle:
    """Published image lists of a benchmark, without annotations."""
    from openset.benchmarks.manifest import universe_of
    from openset.benchmarks.rules.listed import lines_of

    definition = benchmark if isinstance(benchmark, Benchmark) else load(benchmark)
    folders = list_folders(definition, folder)
    parts = []
    unlisted: set[str] = set()
    for name, split in definition.unrolled().items():
        lines = tuple(lines_of(split.lists, folders))
        if lines:
            assert isinstance(split.task, int)
            origin = _origins(definition, split.sources, lines)
            parts.append(Part(name, split.kind, split.task, lines, origin, split.keep))
        else:
            unlisted.add(STAGES[split.kind])
    if not parts:
        raise refuse("OS912", f"{definition.name} has no image lists to audit")
    universes = {key: universe_of(definition, key, None) for key in definition.sources}
    labels = tuple(dict.fromkeys(k for listed in universes.values() for k in listed))
    universe = Universe(labels, spelling(definition), definition.lists, definition.seed)
    declared = definition.pretraining
    return Bundle(
        name=definition.name,
        roles=resolve(definition, universe),
        parts=tuple(parts),
        universes={key: listed for key, listed in universes.items() if listed},
        pretraining=None if declared is None else tuple(declared),
        unlisted=frozenset(unlisted),
    )


def _origins(
    definition: Benchmark, sources: Sequence[str], lines: Sequence[str]
) -> tuple[str, ...]:
    """The source of every line, by the pattern of its ids."""
    patterns = {key: definition.sources[key].ids for key in sources}
    tests = [(key, re.compile(pattern)) for key, pattern in patterns.items() if pattern]
    alone = sources[0] if len(sources) == 1 else ""
    return tuple(
        next((key for key, test in tests if test.fullmatch(line)), alone) for line in lines
    )


def repeated(lines: Sequence[str]) -> list[str]:
    """Names that occur more than once."""
    return [name for name, count in Counter(lines).items() if count > 1]
