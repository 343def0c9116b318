"""Manifest: what a folder of parts says of itself, and what each finished part says of its own.

The manifest is written first, as a plan. A part that is done leaves a receipt beside it, until all
are done and the manifest says so. What cannot be meant is refused where it is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from numpy.typing import NDArray

from openset.files import command_given, replacing, safe_name
from openset.findings import UsageError, refuse
from openset.formats._spec import Kind
from openset.json_text import decode, encode, plain
from openset.own import made_by, mark
from openset.refusals import shown, undecodable

SCHEMA = "openset.parts/1"
MANIFEST = "manifest.json"
PER_PART = 2_000  # images: some ten megabytes of boxes, some hundred with logits
_RECEIPT = ".done.json"
_IMAGES = "the images, or how many are in a part, differ"
_RECEIVED = ("rows", "sha256", "skipped", "pictures", "size")
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
        pictures: A hash of the files of its images, where a detector ran over some.
        size: Bytes of its file, which tell at once that it was cut; 0 if nobody said.
    """

    file: str
    images: list[_Id]
    rows: int = 0
    sha256: str = ""
    done: bool = False
    skipped: list[str] = []
    pictures: str = ""
    size: int = 0


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


class Receipt(msgspec.Struct, frozen=True):
    """What a finished part leaves until the manifest says it; `plan` is what it was made for."""

    plan: str
    rows: int
    sha256: str
    skipped: list[str] = []
    pictures: str = ""
    size: int = 0

    @classmethod
    def of(cls, plan: str, part: Part) -> Receipt:
        """The receipt of a part that is done."""
        return cls(plan, part.rows, part.sha256, part.skipped, part.pictures, part.size)


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
    return Manifest(SCHEMA, kind, in_json(about), parts)


def in_json(about: Mapping[str, Any]) -> dict[str, Any]:
    """What JSON can say of it, so that it is the same once it was written."""
    said: dict[str, Any] = decode(encode(plain(dict(about)), finite=False), "the plan")
    return said


def identity(manifest: Manifest) -> str:
    """A hash of what a plan says, without what is done."""
    import hashlib

    plan = [manifest.kind, manifest.about, [[part.file, part.images] for part in manifest.parts]]
    return hashlib.sha256(encode(plan)).hexdigest()


def put(path: Path, value: msgspec.Struct) -> None:
    """Write a manifest or a receipt, whole or not at all.

    The command goes beside the content (`openset.own`): the same parts are the same bytes, whoever
    made them.
    """
    with replacing(path, folder=False) as target:
        target.write_bytes(encode(value) + b"\n")
        mark(target, command_given())


def command_of(folder: Path, part: Part) -> str:
    """The command that made a part, or that finished its folder; nothing if it is not known."""
    places = (path for path in (receipt_of(folder, part), folder / MANIFEST) if path.is_file())
    return next(filter(None, map(made_by, places)), "") or ""


def read_manifest(folder: Path) -> Manifest:
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


def receipt_of(folder: Path, part: Part) -> Path:
    """Where a part leaves its receipt."""
    return folder / (part.file + _RECEIPT)


def with_receipts(folder: Path, manifest: Manifest) -> Manifest:
    """A manifest with what the receipts of its parts say."""
    plan = identity(manifest)
    parts = [part if part.done else _received(folder, part, plan) for part in manifest.parts]
    return msgspec.structs.replace(manifest, parts=parts)


def _received(folder: Path, part: Part, plan: str) -> Part:
    """A part with what its receipt says, if it has one."""
    path = receipt_of(folder, part)
    if not path.is_file():
        return part
    receipt: Receipt = _decoded(path, Receipt)
    if receipt.plan != plan:
        raise refuse("OS361", f"{path} is of another plan than {MANIFEST}", example=part.file)
    said = {name: getattr(receipt, name) for name in _RECEIVED}
    return msgspec.structs.replace(part, **said, done=True)


def refuse_other(folder: Path, there: Manifest, plan: Manifest, fix: str = "") -> None:
    """Refuse to go on with parts that something else has made."""
    if identity(there) == identity(plan):
        return
    ours, theirs = (_one_by_one(one.about) for one in (plan, there))
    differ = [key for key in {**theirs, **ours} if theirs.get(key) != ours.get(key)]
    # What has options of its own is hashed with them: that its hash differs says less than they do.
    differ = [key for key in differ if key not in there.about] or differ
    names = [key.rpartition(".")[2].replace("_", " ") for key in differ]
    what = f"{', '.join(names)} differ{'s' * (len(names) == 1)}"
    both = [shown(one.get(differ[0])) for one in (theirs, ours)] if differ else []
    raise refuse(
        "OS361",
        f"{folder} holds parts of something else: {what if differ else _IMAGES}",
        count=max(len(differ), 1),
        example=f"{names[0]} {both[0]}, not {both[1]}" if differ else _IMAGES.split()[0],
        fix=fix,
    )


def _one_by_one(about: Mapping[str, Any]) -> dict[str, Any]:
    """What made parts, with each option by itself: ``run.batch``."""
    found: dict[str, Any] = {}
    for key, value in about.items():
        options = value if isinstance(value, dict) else None
        found |= {key: value} if options is None else {f"{key}.{k}": v for k, v in options.items()}
    return found
