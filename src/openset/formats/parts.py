"""Parts: a folder of part files with a manifest, ours: tables that no machine need hold whole.

A part is a file of whole images, Parquet as we write it (any format that we read will do). The
manifest, JSON of a versioned schema, says what the parts have in common (`about`: model, options),
and of every part its file, its images in the order of the ground truth, its rows, its checksum and
whether it is done. It is written first, as a plan: whoever makes a part, in whatever process or on
whatever machine, leaves a receipt beside it, so that nobody waits for anybody and a restart skips
what is done. `Parts.close` turns receipts into the manifest.

Nothing here goes by clocks: what is done is what has a receipt. Not a data base, and not a reader
of folders without a manifest: the order of images, which decides ties, would be anybody's guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from openset.files import digest, note_read, replacing, target_of, unwritable
from openset.findings import UsageError, refuse
from openset.formats._provenances import together
from openset.formats._spec import FileFormat, Format, Kind, file_format
from openset.formats.manifest import (
    MANIFEST,
    PER_PART,
    SCHEMA,
    Manifest,
    Part,
    Receipt,
    command_of,
    identity,
    in_json,
    planned,
    put,
    read_manifest,
    receipt_of,
    refuse_other,
    with_receipts,
)
from openset.refusals import wrong_kind
from openset.tables import Annotations, Detections
from openset.tables.join import join_images
from openset.tables.union import concatenated, concatenated_detections
from openset.wording import some

_OF_ONE_RUN = "give the shards of one run: the same command but for --shard and -o"
_SKIPPED = "skipped_images"  # in the provenance of detections, where a detector left some out
_GO_ON = ("openset run ", "openset score ", "openset merge ")  # with what is missing
_MERGE = "openset merge "
_SHARD = re.compile(r"--shard[= ](?P<own>\d+)/(?P<count>\d+)")
Table = Annotations | Detections


@dataclass(frozen=True, eq=False)
class Parts:
    """A folder of parts.

    Attributes:
        folder: Where it is.
        manifest: What it says, receipts included.
    """

    folder: Path
    manifest: Manifest

    @classmethod
    def open(cls, folder: Path) -> Self:
        """A folder of parts, finished or not."""
        manifest = read_manifest(folder)
        if not all(part.done for part in manifest.parts):
            manifest = with_receipts(folder, manifest)
        return cls(folder, manifest)

    @classmethod
    def plan(cls, folder: Path, plan: Manifest) -> Self:
        """A new folder of parts, or what there is of the same one.

        Raises:
            InputError: The folder holds parts of another model, options or images.
        """
        if not is_parts(folder):
            _make(folder)
            # Others may begin at the same moment: hidden names are drafts of theirs.
            others = [path for path in folder.iterdir() if not path.name.startswith(".")]
            if others and not is_parts(folder):
                raise UsageError(f"{folder} is a folder that is not empty: name another")
            put(folder / MANIFEST, plan)
        there = cls.open(folder)
        refuse_other(folder, there.manifest, plan)
        return there._without_lost()

    def _without_lost(self) -> Self:
        """The same, parts to be made again whose files are gone, or not what was written.

        While some are to be made, a lost or cut part is told by its size, and any other damage by
        whoever reads it. If all are done there is nothing else to do: every byte is looked at.
        """
        done = [part for part in self.manifest.parts if part.done]
        whole = _is_there if self.missing else _is_whole
        lost = [part for part in done if not whole(self.folder, part)]
        if not lost:
            return self
        blank = {part.file: Part(part.file, part.images) for part in lost}
        parts = [blank.get(part.file, part) for part in self.manifest.parts]
        put(self.folder / MANIFEST, msgspec.structs.replace(self.manifest, parts=parts))
        for part in lost:
            receipt_of(self.folder, part).unlink(missing_ok=True)
        return type(self).open(self.folder)

    def __len__(self) -> int:
        return len(self.manifest.parts)

    @property
    def kind(self) -> Kind:
        """Which table the parts are of."""
        return self.manifest.kind

    @cached_property
    def identity(self) -> str:
        """A hash of the plan: receipts of another plan are not ours."""
        return identity(self.manifest)

    @cached_property
    def images(self) -> list[NDArray[Any]]:
        """Ids of the images of every part."""
        listed = [part.images for part in self.manifest.parts]
        arrays = [np.array(images) if images else np.empty(0, np.int64) for images in listed]
        text = any(array.dtype.kind == "U" for array in arrays)
        return [array.astype(np.str_ if text else np.int64, copy=False) for array in arrays]

    def rows(self, number: int) -> slice:
        """Which of all images a part has."""
        start = sum(len(part.images) for part in self.manifest.parts[:number])
        return slice(start, start + len(self.manifest.parts[number].images))

    @property
    def missing(self) -> list[int]:
        """Numbers of the parts that are not done."""
        return [at for at, part in enumerate(self.manifest.parts) if not part.done]

    @property
    def skipped(self) -> list[str]:
        """Images of the parts that are done which could not be decoded, and why."""
        return [*dict.fromkeys(one for part in self.manifest.parts for one in part.skipped)]

    def only(self, *numbers: int) -> Self:
        """Some of the parts: what a worker is told, who may stand in another folder."""
        parts = [self.manifest.parts[number] for number in numbers]
        manifest = msgspec.structs.replace(self.manifest, parts=parts)
        return type(self)(self.folder.resolve(), manifest)

    def finished(self) -> Self:
        """The parts, refused unless all of them are done."""
        lost = self.missing
        if lost:
            raise refuse(
                "OS365",
                f"{len(lost)} of {len(self)} parts of {self.folder} are not done",
                count=len(lost),
                example=self.manifest.parts[lost[0]].file,
                fix=self._other_shards(lost) or self._again(lost[0]),
            )
        return self

    def _other_shards(self, lost: Sequence[int]) -> str:
        """What is to be done where parts are those of other shards; nothing if they are not."""
        command = command_of(self.folder, self.manifest.parts[lost[0]])
        if command.startswith(_MERGE):
            more = command.removeprefix(_MERGE)
            return f"name the folders of all shards: {_MERGE}OTHER ... {more}"
        shard = _SHARD.search(command)
        if shard is None:
            return ""
        own, count = int(shard["own"]), int(shard["count"])
        others = sorted({at % count + 1 for at in lost} - {own})
        if not others:
            return ""
        flags = [f"--shard {n}/{count}" for n in others]
        other = _SHARD.sub(flags[0], command, count=1)
        more = f", and with {some(flags[1:], 3)}" if flags[1:] else ""
        return (
            f"make the other shards, too: {other}{more}; where they are in folders of their own, "
            f"join all of them: openset merge {self.folder} OTHER ... -o ALL.parts"
        )

    def _again(self, number: int, before: str = "") -> str:
        """The command that makes a part again, as a fix; nothing if none is known."""
        command = command_of(self.folder, self.manifest.parts[number])
        if not command.startswith(_GO_ON):  # others write into an empty folder alone
            before = before.replace("remove it and ", "") + f"remove the folder {self.folder} and "
        return command and f"{before}give the command again: {command}"

    def read(self, number: int) -> Table:
        """One part, refused unless it is the one that was written."""
        from openset.formats import read

        part = self.manifest.parts[number]
        path = self.folder / part.file
        if not path.is_file():
            said = f"the part {path} is missing"
            raise refuse("OS365", said, example=part.file, fix=self._again(number))
        if digest(path) != part.sha256:
            said = f"the part {path} has another checksum"
            fix = self._again(number, "copy the part again, or remove it and ")
            raise refuse("OS363", said, example=part.file, fix=fix)
        table = read(path, as_=self.kind)
        if len(table) != part.rows:
            said = f"the part {path} has {len(table)} rows, and {part.rows} in the manifest"
            raise refuse("OS363", said, example=part.file)
        if isinstance(table, Annotations) and table.images.id.tolist() != part.images:
            said = f"the part {path} has other images than the manifest says"
            raise refuse("OS364", said, example=part.file)
        return table

    def read_all(self) -> Iterator[Table]:
        """Every part; each is read when it is asked for."""
        return (self.read(number) for number in range(len(self.finished())))

    def add(self, number: int, table: Table, pictures: str = "") -> None:
        """Write a part, and then its receipt: a kill in between leaves it to be made again.

        Args:
            number: Which.
            table: Its rows.
            pictures: A hash of the files of its images, if it was made of them.
        """
        from openset.formats import write

        part = self.manifest.parts[number]
        path = self.folder / part.file
        write(table, path, format="parquet")
        size = path.stat().st_size
        receipt = Receipt(self.identity, len(table), digest(path), _skipped(table), pictures, size)
        put(receipt_of(self.folder, part), receipt)

    def taking(self, other: Parts) -> Self:
        """With the parts that another folder of the same plan has, whole, beside those of this."""
        import shutil

        pairs = zip(self.manifest.parts, other.manifest.parts, strict=True)
        for mine, its in pairs:
            if its.done and not mine.done and _is_whole(other.folder, its):
                with replacing(self.folder / mine.file, folder=False) as target:
                    shutil.copyfile(other.folder / its.file, target)
                put(receipt_of(self.folder, mine), Receipt.of(self.identity, its))
        return type(self).open(self.folder)

    def refuse_lost(self, given: Sequence[Parts]) -> None:
        """Refuse what is not here although a folder says that it is done there."""
        for one in given:
            lost = [at for at in self.missing if one.manifest.parts[at].done]
            if lost:
                file = one.manifest.parts[lost[0]].file
                named = some([one.manifest.parts[at].file for at in lost], 3)
                raise refuse(
                    "OS365",
                    f"{one.folder} says of {named} that it is done, and it is lost or damaged",
                    count=len(lost),
                    example=str(one.folder / file),
                    cause="a file that was removed, or a truncated copy",
                    fix=one._again(lost[0], f"copy {file} again, or remove it and "),
                )

    def close(self) -> Self:
        """The finished parts, their receipts gone into the manifest."""
        done = type(self).open(self.folder).finished()
        put(self.folder / MANIFEST, done.manifest)
        for part in done.manifest.parts:
            receipt_of(self.folder, part).unlink(missing_ok=True)
        return done


def _skipped(table: Table) -> list[str]:
    """The images that who made a table could not decode, as its provenance says."""
    said = table.provenance.get(_SKIPPED, []) if isinstance(table, Detections) else []
    return [str(one) for one in said]


def _is_there(folder: Path, part: Part) -> bool:
    """Whether a part has the size that it was written with; where nobody said, its checksum."""
    path = folder / part.file
    if not part.size:
        return _is_whole(folder, part)
    return path.is_file() and path.stat().st_size == part.size


def _is_whole(folder: Path, part: Part) -> bool:
    """Whether a part is there as it was written."""
    path = folder / part.file
    return path.is_file() and digest(path) == part.sha256


def _make(folder: Path) -> None:
    target_of(folder, folder=True, empty=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def merged(folders: Sequence[Path], out: Path) -> Parts:
    """The parts that shards have made in folders of their own, as one folder.

    Raises:
        InputError: They are of different plans, or made a part twice with different rows: nothing
            is written. Or they left one out; what was copied stays, and more folders may follow.
    """
    places = [folder.resolve() for folder in folders]
    again = next((one for at, one in enumerate(folders) if places.index(one.resolve()) < at), None)
    if again is not None:
        raise UsageError(f"{again} is given twice; give the folder of every shard once")
    given = [Parts.open(folder) for folder in folders]
    plan = given[0].manifest
    for one in given:
        refuse_other(one.folder, one.manifest, plan, _OF_ONE_RUN)
    _refuse_made_twice([*([Parts.open(out)] if is_parts(out) else []), *given])
    blank = [Part(part.file, part.images) for part in plan.parts]
    made = Parts.plan(out, msgspec.structs.replace(plan, parts=blank))
    for one in given:
        made = made.taking(one)
    made.refuse_lost(given)
    return made.finished().close()


def _refuse_made_twice(given: Sequence[Parts]) -> None:
    """Refuse folders that hold one part with different rows: they are no shards of one run."""
    first: dict[str, tuple[Part, Path]] = {}
    twice = []
    for one in given:
        for part in (part for part in one.manifest.parts if part.done):
            mine, where = first.setdefault(part.file, (part, one.folder))
            twice += [(part.file, where, one.folder)] if mine.sha256 != part.sha256 else []
    if twice:
        file, here, there = twice[0]
        said = f"{len(twice)} parts are in {here} and in {there}, with different rows"
        raise refuse("OS368", said, count=len(twice), example=file)


def is_parts(path: Path) -> bool:
    """Whether a path is a folder of parts."""
    return path.is_dir() and (path / MANIFEST).is_file() and _is_ours(path / MANIFEST)


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return b'"openset.parts/' in stream.read(4096)
    except OSError:  # said by who reads it
        return False


def derived(parts: Parts, about: Mapping[str, Any]) -> Manifest:
    """A plan of parts with the same images that are made of others, part by part."""
    made_of = {"of": [part.sha256 for part in parts.finished().manifest.parts]}
    blank = [Part(part.file, part.images) for part in parts.manifest.parts]
    return Manifest(SCHEMA, parts.kind, in_json({**about, **made_of}), blank)


@file_format(
    FileFormat(
        name="parts",
        holds=frozenset({"annotations", "detections"}),
        suffixes=(".parts",),
        summary="Folder of Parquet parts with a manifest, for what no memory holds whole",
        loses=frozenset({"order"}),
        folder=True,
    )
)
class PartsFormat(Format):
    """A folder of parts as one table."""

    def sniff(self, path: Path, head: bytes) -> Kind | None:
        """A manifest of ours; what else is wrong with it is said by who reads."""
        names = head.split(b"\n")
        if MANIFEST.encode() not in names or not is_parts(path):
            return None
        kind: Kind = read_manifest(path).kind
        return kind

    def read_annotations(self, path: Path, **options: Any) -> Annotations:
        """Read all parts of a ground truth; images and objects in the order of the parts."""
        parts = [part for part in _all(path, "annotations") if isinstance(part, Annotations)]
        _refuse_unlike(path, [(part.labels, part.role) for part in parts])
        identity = np.concatenate([part.id for part in parts if part.id is not None])
        return replace(concatenated(parts), id=identity)

    def read_detections(self, path: Path, **options: Any) -> Detections:
        """Read all parts of detections; what their provenance lists is listed of all."""
        parts = [part for part in _all(path, "detections") if isinstance(part, Detections)]
        _refuse_unlike(path, [(part.labels, part.layout) for part in parts if len(part)])
        about = together([part.provenance for part in parts])
        return replace(concatenated_detections(parts), provenance=about)

    def write_annotations(
        self, table: Annotations, path: Path, *, per_part: int = PER_PART
    ) -> None:
        """Write ground truth, so many images a part."""
        parts = Parts.plan(path, planned("annotations", table.images.id, {}, per_part))
        for number in range(len(parts)):
            parts.add(number, table.of_images(parts.rows(number)))
        parts.close()

    def write_detections(
        self,
        table: Detections,
        path: Path,
        truth: Annotations | None = None,
        *,
        per_part: int = PER_PART,
    ) -> None:
        """Write detections, the images of the ground truth in its order, so many a part."""
        if truth is None:
            raise UsageError("parts hold whole images in the order of their ground truth: truth=")
        place = join_images(truth, table.image)
        lost = np.flatnonzero(place < 0)
        if len(lost):
            raise refuse(
                "OS364",
                f"{len(lost)} detections are on images that the ground truth does not list",
                count=len(lost),
                example=f"image {table.image[lost[0]]}",
            )
        parts = Parts.plan(path, planned("detections", truth.images.id, {}, per_part))
        for number in range(len(parts)):
            rows = parts.rows(number)
            parts.add(number, table.select((place >= rows.start) & (place < rows.stop)))
        parts.close()


def _all(path: Path, kind: Kind) -> Iterator[Table]:
    parts = Parts.open(path)
    if parts.kind != kind:
        raise wrong_kind(str(path), kind)
    note_read(path / MANIFEST)
    return parts.read_all()


def _refuse_unlike(path: Path, said: Sequence[tuple[Any, ...]]) -> None:
    other = [at for at, one in enumerate(said) if one != said[0]]
    if other:
        raise refuse(
            "OS361",
            f"{len(other)} of {len(said)} parts of {path} have other labels than the first",
            count=len(other),
            example=f"part {other[0]}",
        )
