"""Run: a model over images, its detections as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from openset.detectors._carry import trained_on
from openset.detectors._found import Found, tabled
from openset.detectors._spec import EvidenceName, Model
from openset.files import digest
from openset.findings import InputError, UsageError, refuse
from openset.nets.pictures import ImageFiles, Pixels, batches, prints
from openset.nets.processes import processes
from openset.plugins import lookup
from openset.scorers import ledger
from openset.scorers.ledger import LedgerEntry
from openset.tables import Detections
from openset.tables.picture_sizes import PICTURES, some_pictures
from openset.version import __version__

KEPT: tuple[EvidenceName, ...] = ("logits", "embedding")
OF_REGIONS: tuple[EvidenceName, ...] = ("logits", "region", "centerness")
"""What a rule on regions reads: what the scores were made of, and which belong together."""
TAUGHT_IMAGES = "the detector was taught images of this test"
Progress = Callable[[int, int], None]
Batch = list[tuple[Any, Pixels | InputError]]
"""Ids of images, and their pixels or why there are none."""


def run(
    model: Model,
    images: ImageFiles,
    *,
    keep: tuple[EvidenceName, ...] = KEPT,
    batch: int = 8,
    threads: int = 2,
    decoders: int = 0,
    unreadable: Literal["refuse", "skip"] = "refuse",
    regions: bool = False,
    split: str | None = None,
    progress: Progress | None = None,
) -> Detections:
    """Detections of a model on images, with the evidence asked for.

    The last layer travels with the embeddings, where it is an affine map of them.
    Where the ground truth says another size of an image than its picture has, boxes are scaled.
    Under ``torchrun`` every process runs over its part of the images, and gets the whole table.

    Args:
        model: A model that `Detector.build` or `load` has made.
        images: Which images.
        keep: Columns of evidence to keep; what the detector does not have is an error.
        batch: Images at a time. Where images differ in size, padding makes scores depend on it in
            the last digits; processes share whole batches, so that their number changes nothing.
        threads: Threads that decode images.
        decoders: Processes that decode them in place of threads, so that a GPU does not wait; a
            script that asks for some must be one that can be imported.
        unreadable: Whether images that cannot be decoded are refused, or left out; the provenance
            then names them.
        regions: All pairs of a region and a class above the model's least score, before suppression
            and whatever their number, as rules read them that decide on regions (the gamma ratio);
            the provenance then has the filters that would have followed.
        split: What the images are called, such as ``digits test``, for the ledger of scorers.
        progress: Called with the number of images done and of all images of this process.

    Raises:
        InputError: Images cannot be decoded, or memory is too small for the batch.
    """
    how = how_of(
        model,
        keep=keep,
        batch=batch,
        threads=threads,
        decoders=decoders,
        unreadable=unreadable,
        regions=regions,
        split=split,
    )
    with processes() as among, opened(model, regions) as filters:
        mine = images.select(among.part(len(images), batch))
        parts = among.gathered(found_over(model, mine, how, progress))
    return as_table(model, parts, how, filters, len(images))


@dataclass(frozen=True, slots=True)
class How:
    """How images are run over: what `run` documents."""

    wanted: frozenset[EvidenceName]
    batch: int
    threads: int
    decoders: int
    skip: bool
    regions: bool
    split: str | None


def how_of(model: Model, **options: Any) -> How:
    """The same, from what `run` takes by name."""
    usual: dict[str, Any] = {"keep": KEPT, "batch": 8, "threads": 2, "unreadable": "refuse"}
    given = {**usual, "decoders": 0, "regions": False, "split": None, **options}
    if given["decoders"] < 0:
        raise UsageError(f"decoders must be at least 0, not {given['decoders']}")
    wanted, skip = _checked(model, given["keep"], given["batch"]), given["unreadable"] == "skip"
    rest = {name: given[name] for name in ("batch", "threads", "decoders", "regions", "split")}
    return How(wanted=wanted, skip=skip, **rest)


def as_table(
    model: Model, parts: list[Part], how: How, filters: Mapping[str, Any], images: int
) -> Detections:
    """What was found as a table, with where it comes from."""
    bad = [example for part in parts for example in part.bad]
    if bad and not how.skip:
        message = f"{len(bad)} of {images} images cannot be decoded"
        fix = "replace the file; unreadable='skip' leaves it out, and counts it"
        raise refuse("OS603", message, count=len(bad), example=bad[0], fix=fix)
    found = [item for part in parts for item in part.found]
    ids = [id_ for part in parts for id_ in part.ids]
    about = _provenance(model, images - len(bad), bad, how.split) | dict(filters) | _resized(parts)
    about |= _printed(parts)
    table = tabled(found, ids, model.labels, model.layout, about)
    entries = _ledger(model, how.split, images, sum(part.taught for part in parts))
    table = ledger.recorded(table, *entries) if entries else table
    return table if table.embedding is None else replace(table, head=model.head())


@contextmanager
def opened(model: Model, regions: bool) -> Iterator[dict[str, Any]]:
    """What the provenance says of filters that a model leaves out while the context lasts."""
    if not regions:
        yield {}
        return
    unsuppressed = getattr(model, "unsuppressed", None)
    if unsuppressed is None:
        name = model.about.get("detector")
        raise UsageError(f"detector {name!r} has no regions before suppression to give")
    with unsuppressed() as filters:
        yield {"regions": filters._asdict()}


def _ledger(model: Model, split: str | None, images: int, taught: int) -> list[LedgerEntry]:
    """What the weights have seen, these images too, and what made the unknownness, if it is said.

    Whatever scores the detections of a method, it reads what that method was taught.
    """
    method = trained_on(model.about)
    seen = [*getattr(model, "taught", ()), *_known_images(taught)]  # others need not say
    seen += [] if method is None else [method]
    if getattr(model, "observations", False):
        how = {"passes": model.about["options"]["passes"]}
        # The same in every part of a run, so that it is one entry of the whole.
        entry = LedgerEntry(
            "score", "dropout_observations", split or ledger.NOT_STATED, images, 0, options=how
        )
        seen.append(entry)
    return seen


def _known_images(count: int) -> tuple[LedgerEntry, ...]:
    """That some of the images were trained on: said beside every number that they are tested by."""
    entry = LedgerEntry(
        "taught", "images of this test", "its training", count, 0, leaks=(TAUGHT_IMAGES,)
    )
    return (entry,) if count else ()


@dataclass(frozen=True, slots=True)
class Part:
    """What one process has: what was found on which images, and the files it could not read.

    Of these images, `taught` were trained on. `printed` has id, hash, width and height of some.
    Width and height of every picture that was run on are in `size`; `resized` names those that the
    ground truth says to be of another size, by how many times they are wider, and higher.
    """

    found: list[Found] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    size: list[tuple[int, int]] = field(default_factory=list)
    resized: list[tuple[str, float, float]] = field(default_factory=list)
    taught: int = 0
    printed: list[list[Any]] = field(default_factory=list)


def _as_stated(part: Part, images: ImageFiles) -> Part:
    """Boxes in pixels of images of the size that the ground truth says, as all its boxes are."""
    if images.size is None or not part.ids:
        return part
    rows = {one: row for row, one in enumerate(images.id.tolist())}
    at = [rows[one] for one in part.ids]
    by = images.stated(at, part.size)
    other = np.flatnonzero((by != 1).any(axis=1)).tolist()
    found = list(part.found)
    for row in other:
        found[row] = found[row].scaled(by[row])
    times = (1 / by).tolist()
    resized = [(str(images.path[at[row]]), times[row][0], times[row][1]) for row in other]
    return replace(part, found=found, resized=resized)


def _resized(parts: Sequence[Part]) -> dict[str, Any]:
    """What the provenance says of pictures of another size than the ground truth says."""
    files = [file for part in parts for file in part.resized]
    return {"resized_images": files} if files else {}


def _printed(parts: Sequence[Part]) -> dict[str, Any]:
    """What the provenance says by which who draws boxes can tell other pictures of these names."""
    noted = some_pictures(row for part in parts for row in part.printed)
    return {PICTURES: noted} if noted else {}


def _with_prints(part: Part, images: ImageFiles) -> Part:
    """With hash, width and height of the files of some images that were run on."""
    path = {str(id_): file for id_, file in zip(images.id.tolist(), images.path, strict=True)}
    sizes = zip(map(str, part.ids), part.size, strict=True)
    chosen = some_pictures((id_, 0, *size) for id_, size in sizes)
    hashes = prints([path[id_] for id_, *_ in chosen]).tolist()
    printed = [[id_, one, *size] for (id_, _, *size), one in zip(chosen, hashes, strict=True)]
    return replace(part, printed=printed)


def _told(read: Iterable[Batch], total: int, progress: Progress | None) -> Iterator[Batch]:
    """Batches, and after each of them how many images are done."""
    done = 0
    for some in read:
        yield some
        done += len(some)
        if progress is not None:
            progress(done, total)


def found_over(model: Model, images: ImageFiles, how: How, progress: Progress | None) -> Part:
    """Run over some images; once one is bad and none may be, the others are only decoded."""
    part = Part(taught=_taught(model, images))
    read = batches(images, how.batch, how.threads, how.decoders)
    for some in _told(read, len(images), progress):
        good = [(id_, pixels) for id_, pixels in some if not isinstance(pixels, InputError)]
        errors = [error for _, error in some if isinstance(error, InputError)]
        part.bad.extend(_example(error) for error in errors)
        if good and (how.skip or not part.bad):
            part.found.extend(model.found([pixels for _, pixels in good], keep=how.wanted))
            part.ids.extend(id_ for id_, _ in good)
            part.size.extend((pixels.shape[1], pixels.shape[0]) for _, pixels in good)
    return _with_prints(_as_stated(part, images), images)


def _taught(model: Model, images: ImageFiles) -> int:
    """How many of the images a model was trained on; one from elsewhere does not say."""
    known = getattr(model, "pictures", None)
    return 0 if known is None else int(np.isin(prints(images.path), known).sum())


def _checked(model: Model, keep: tuple[EvidenceName, ...], batch: int) -> frozenset[EvidenceName]:
    from openset.detectors import find

    if batch < 1:
        raise UsageError(f"batch must be at least 1, not {batch}")
    name = model.about.get("detector")
    keeps = find(name).keeps if name else get_args(EvidenceName)
    for column in keep:
        lookup(dict.fromkeys(keeps), column, f"evidence of detector {name!r}:")
    return frozenset(keep)


def _example(error: InputError) -> str:
    return error.findings[0].example or error.findings[0].message


def _provenance(model: Model, images: int, skipped: list[str], split: str | None) -> dict[str, Any]:
    held = {"model": dict(model.about), "images": images, "openset": __version__}
    held |= {"weights": weights_of(model)}
    held |= {"split": split} if split is not None else {}
    held |= {"skipped_images": skipped} if skipped else {}
    return held


def weights_of(model: Model) -> str:
    """A hash of a model's classes and weights, or of its file; empty where neither is at hand."""
    network = getattr(model, "network", None)
    if network is not None:
        from openset.nets.weights import fingerprint_of  # a model of a file needs no torch

        return fingerprint_of(model.labels, network.state_dict())
    file = model.about.get("options", {}).get("file")
    return digest(Path(file))[:16] if file and Path(file).is_file() else ""
