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

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from openset.files import digest, note_read, replacing, safe_name, target_of, unwritable
from openset.findings import UsageError, refuse
from openset.formats._spec import FileFormat, Format, Kind, file_format
from openset.json_text import compact, decode, encode, plain
from openset.refusals import shown, undecodable, wrong_kind
from openset.tables import Annotations, Detections
from openset.tables.join import join_images
from openset.tables.union import concatenated, concatenated_detections

SCHEMA = "openset.parts/1"
MANIFEST = "manifest.json"
PER_PART = 2_000  # images: some ten megabytes of boxes, some hundred with logits
_SKIPPED = "skipped_images"  # in the provenance of detections, where a detector left some out
_RECEIPT = ".done.json"
Table = Annotations | Detections
_Id = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)] | str


class Part(msgspec.Struct, frozen=True):
    """What a manifest says of one part.

    Attributes:
        file: Its file, in the folder of the manifest.
        images: Ids of its images, with or without rows, in the order of the ground truth.
        rows: How many rows it has, once it is done.
        sha256: Checksum of its file, likewise.
        done: Whether it is.
        skipped: Which of its images could not be decoded and were left out, and why.
    """

    file: str
    images: list[_Id]
    rows: int = 0
    sha256: str = ""
    done: bool = False
    skipped: list[str] = []


class Manifest(msgspec.Struct, frozen=True):
    """What a folder of parts says of itself.

    Attributes:
        schema: Which version of this.
        kind: Which table the parts are of.
        about: What made all of them: model, options. Parts of another are refused.
        parts: The parts, in order.
    """

    schema: str
    kind: Kind
    about: dict[str, Any]
    parts: list[Part]


class _Receipt(msgspec.Struct, frozen=True):
    """What a finished part leaves until the manifest says it; `plan` is what it was made for."""

    plan: str
    rows: int
    sha256: str
    skipped: list[str] = []


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
        manifest = _manifest(folder)
        if not all(part.done for part in manifest.parts):
            manifest = _with_receipts(folder, manifest)
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
            _put(folder / MANIFEST, plan)
        there = cls.open(folder)
        _refuse_other(folder, there.manifest, plan)
        return there

    def __len__(self) -> int:
        return len(self.manifest.parts)

    @property
    def kind(self) -> Kind:
        """Which table the parts are of."""
        return self.manifest.kind

    @cached_property
    def identity(self) -> str:
        """A hash of the plan: receipts of another plan are not ours."""
        return _identity(self.manifest)

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
            )
        return self

    def read(self, number: int) -> Table:
        """One part, refused unless it is the one that was written."""
        from openset.formats import read

        part = self.manifest.parts[number]
        path = self.folder / part.file
        if not path.is_file():
            raise refuse("OS365", f"the part {path} is missing", example=part.file)
        if digest(path) != part.sha256:
            raise refuse("OS363", f"the part {path} has another checksum", example=part.file)
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

    def add(self, number: int, table: Table) -> None:
        """Write a part, and then its receipt: a kill in between leaves it to be made again."""
        from openset.formats import write

        part = self.manifest.parts[number]
        path = self.folder / part.file
        write(table, path, format="parquet")
        receipt = _Receipt(self.identity, len(table), digest(path), _skipped(table))
        _put(self.folder / (part.file + _RECEIPT), receipt)

    def taking(self, other: Parts) -> Self:
        """With the parts that another folder of the same plan has; refused where the two differ."""
        import shutil

        pairs = zip(self.manifest.parts, other.manifest.parts, strict=True)
        for mine, its in pairs:
            if mine.done and its.done and mine.sha256 != its.sha256:
                said = f"{its.file} of {other.folder} differs from that of {self.folder}"
                raise refuse("OS362", said, example=its.file)
            if its.done and not mine.done:
                with replacing(self.folder / mine.file, folder=False) as target:
                    shutil.copyfile(other.folder / its.file, target)
                receipt = _Receipt(self.identity, its.rows, its.sha256, its.skipped)
                _put(self.folder / (mine.file + _RECEIPT), receipt)
        return type(self).open(self.folder)

    def close(self) -> Self:
        """The finished parts, their receipts gone into the manifest."""
        done = type(self).open(self.folder).finished()
        _put(self.folder / MANIFEST, done.manifest)
        for part in done.manifest.parts:
            (self.folder / (part.file + _RECEIPT)).unlink(missing_ok=True)
        return done


def _skipped(table: Table) -> list[str]:
    """The images that who made a table could not decode, as its provenance says."""
    said = table.provenance.get(_SKIPPED, []) if isinstance(table, Detections) else []
    return [str(one) for one in said]


def _make(folder: Path) -> None:
    target_of(folder, folder=True, empty=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def merged(folders: Sequence[Path], out: Path) -> Parts:
    """The parts that shards have made in folders of their own, as one folder.

    Raises:
        InputError: They are of different plans, made a part twice with different rows, or left
            one out; what was copied stays, and more folders may follow.
    """
    given = [Parts.open(folder) for folder in folders]
    plan = given[0].manifest
    blank = [Part(part.file, part.images) for part in plan.parts]
    made = Parts.plan(out, msgspec.structs.replace(plan, parts=blank))
    for one in given:
        _refuse_other(one.folder, one.manifest, plan)
        made = made.taking(one)
    return made.finished().close()


def is_parts(path: Path) -> bool:
    """Whether a path is a folder of parts."""
    return path.is_dir() and (path / MANIFEST).is_file() and _is_ours(path / MANIFEST)


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return b'"openset.parts/' in stream.read(4096)
    except OSError:  # said by who reads it
        return False


def planned(
    kind: Kind, images: NDArray[Any], about: Mapping[str, Any], per_part: int = PER_PART
) -> Manifest:
    """A plan: so many images a part, in their order."""
    if per_part < 1:
        raise UsageError(f"a part has at least 1 image, not {per_part}")
    listed = images.tolist()
    starts = range(0, max(len(listed), 1), per_part)
    parts = [
        Part(f"part-{at:05d}.parquet", listed[start : start + per_part])
        for at, start in enumerate(starts)
    ]
    return Manifest(SCHEMA, kind, _plain(about), parts)


def _plain(about: Mapping[str, Any]) -> dict[str, Any]:
    """What JSON can say of it, so that it is the same once it was written."""
    said: dict[str, Any] = decode(encode(plain(dict(about)), finite=False), "the plan")
    return said


def derived(parts: Parts, about: Mapping[str, Any]) -> Manifest:
    """A plan of parts with the same images that are made of others, part by part."""
    made_of = {"of": [part.sha256 for part in parts.finished().manifest.parts]}
    blank = [Part(part.file, part.images) for part in parts.manifest.parts]
    return Manifest(SCHEMA, parts.kind, _plain({**about, **made_of}), blank)


def _identity(manifest: Manifest) -> str:
    """A hash of what a plan says, without what is done."""
    import hashlib

    plan = [manifest.kind, manifest.about, [[part.file, part.images] for part in manifest.parts]]
    return hashlib.sha256(encode(plan)).hexdigest()


def _put(path: Path, value: msgspec.Struct) -> None:
    with replacing(path, folder=False) as target:
        target.write_bytes(encode(value) + b"\n")


def _manifest(folder: Path) -> Manifest:
    """The only manifest of a folder, refused where it cannot be meant."""
    held = sorted(path.name for path in folder.glob("manifest*.json"))
    if len(held) > 1:
        said = f"{folder} has {len(held)} manifests: {', '.join(held[:4])}"
        raise refuse("OS360", said, count=len(held), example=held[1])
    path = folder / MANIFEST
    manifest: Manifest = _decoded(path, Manifest)
    if manifest.schema != SCHEMA:
        raise undecodable(str(path), f"its schema is {shown(manifest.schema)}, not {SCHEMA}")
    if not manifest.parts:  # a plan has one at least, of no image if there is none
        raise refuse("OS365", f"{path} lists no part", example="parts: []")
    for part in manifest.parts:
        safe_name(part.file)
    _refuse_twice(path, [part.file for part in manifest.parts], "OS362", "parts are listed")
    every = [image for part in manifest.parts for image in part.images]
    _refuse_twice(path, every, "OS364", "images are in a part")
    return manifest


def _decoded(path: Path, type_: type[Any]) -> Any:
    try:
        data = path.read_bytes()  # not by `load`: what a command goes on with, it also reads
    except OSError as error:
        raise undecodable(str(path), error) from error
    try:
        return msgspec.convert(decode(data, str(path)), type_)
    except msgspec.ValidationError as error:
        cause = "edited by hand, or of another version"
        raise undecodable(str(path), error, cause=cause) from error


def _refuse_twice(path: Path, values: Sequence[Any], code: str, what: str) -> None:
    if len(set(values)) < len(values):
        twice = [value for value, times in Counter(values).items() if times > 1]
        raise refuse(
            code, f"{path}: {len(twice)} {what} twice", count=len(twice), example=shown(twice[0])
        )


def _with_receipts(folder: Path, manifest: Manifest) -> Manifest:
    plan = _identity(manifest)
    parts = [part if part.done else _received(folder, part, plan) for part in manifest.parts]
    return msgspec.structs.replace(manifest, parts=parts)


def _received(folder: Path, part: Part, plan: str) -> Part:
    """A part with what its receipt says, if it has one."""
    path = folder / (part.file + _RECEIPT)
    if not path.is_file():
        return part
    receipt: _Receipt = _decoded(path, _Receipt)
    if receipt.plan != plan:
        raise refuse("OS361", f"{path} is of another plan than {MANIFEST}", example=part.file)
    said = {name: getattr(receipt, name) for name in ("rows", "sha256", "skipped")}
    return msgspec.structs.replace(part, **said, done=True)


def _refuse_other(folder: Path, there: Manifest, plan: Manifest) -> None:
    """Refuse to go on with parts that something else has made."""
    if _identity(there) == _identity(plan):
        return
    keys = sorted({*there.about, *plan.about})
    differ = [key for key in keys if there.about.get(key) != plan.about.get(key)]
    what = f"{differ[0]} differs" if differ else "the images, or how many are in a part, differ"
    raise refuse(
        "OS361", f"{folder} holds parts of something else: {what}", example=what.split()[0]
    )


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
        kind: Kind = _manifest(path).kind
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
        about = _together([part.provenance for part in parts])
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


def _together(said: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What provenances say: as the first, but lists in which they differ are of all of them."""
    found = {key: value for one in reversed(said) for key, value in one.items()}
    for key, value in found.items():
        each = [one[key] for one in said if key in one]
        if isinstance(value, list) and any(one != value for one in each):
            found[key] = _listed(each)
    return found


def _listed(each: Sequence[list[Any]]) -> list[Any]:
    """Lists as one: records place by place, their counts added up; else what any of them holds."""
    rows = [*zip(*each, strict=False)]
    if all(len(one) == len(rows) for one in each) and all(map(_counted_alike, rows)):
        return [row[0] if all(one == row[0] for one in row) else _added(row) for row in rows]
    return [*{compact(item): item for one in each for item in one}.values()]


def _counted_alike(row: Sequence[Any]) -> bool:
    """Whether records differ in nothing but whole numbers."""
    bare = [_uncounted(one) if isinstance(one, dict) else None for one in row]
    return bare[0] is not None and all(one == bare[0] for one in bare)


def _uncounted(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if type(value) is not int}


def _added(row: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    counts = {key for key, value in row[0].items() if type(value) is int}
    return {k: sum(one[k] for one in row) if k in counts else v for k, v in row[0].items()}
