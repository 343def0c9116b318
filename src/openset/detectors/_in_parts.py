"""In parts: a model over images, each part of its detections written as soon as it is done.

The boxes are those of `run`: a part is whole batches, so that images are padded with the same
others. Parts that are done are skipped, whoever made them (`openset.formats.parts`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from openset.detectors._run import (
    KEPT,
    How,
    Progress,
    as_table,
    found_over,
    how_of,
    opened,
    weights_of,
)
from openset.detectors._spec import Model
from openset.engines import Engine, Shard, find
from openset.findings import refuse
from openset.formats.manifest import PER_PART, Manifest, planned
from openset.formats.parts import Parts
from openset.json_text import compact, plain
from openset.nets.pictures import ImageFiles, fingerprint
from openset.nets.processes import processes


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Other processes to run in.

    Attributes:
        engine: Where they are.
        make: Makes the model there, once in each; picklable, and equal to itself once it was.
    """

    engine: Engine
    make: Callable[[], Model]


def run_in_parts(
    model: Model,
    images: ImageFiles,
    parts: Parts,
    *,
    shard: Shard | None = None,
    elsewhere: Elsewhere | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Parts:
    """Detections of a model on images, part by part; no table is held whole.

    Under ``torchrun`` every process makes parts of its own.

    Args:
        model: A model that `Detector.build` or `load` has made.
        images: All images of the plan.
        parts: The plan, begun or not (`part_plan`).
        shard: Which of the parts to make; all that are missing by default.
        elsewhere: Other processes to make them in; by default this one.
        progress: Called with the number of parts done and of all parts of this process.
        **options: What `run` takes.

    Returns:
        The parts with what is done now; closed if that is all.

    Raises:
        InputError: Images cannot be decoded, or memory is too small; other parts are done. Or
            the pictures of parts that are done were replaced since.
    """
    how = how_of(model, **options)
    engine = find("local") if elsewhere is None else elsewhere.engine
    with processes() as among, opened(model, how.regions) as filters:
        ours = Shard(among.rank, among.count)
        _refuse_other_pictures(images, parts, ours.mine(_made(parts)))
        mine = (shard or ours).mine(parts.missing)
        say = None if progress is None else lambda done: progress(done, len(mine))
        gpus = int(getattr(getattr(model, "device", None), "type", "cpu") == "cuda")
        pieces = (_Piece(n, images.select(parts.rows(n)), how, gpus) for n in mine)
        make: Callable[[_Piece], None] = partial(_add, model, parts, filters, len(images))
        if elsewhere is not None:
            told = _Told(elsewhere.make, parts.folder.resolve(), _threads())
            make = partial(_add_there, told, len(images))
        engine.map(make, pieces, say)
        among.wait()
    left = Parts.open(parts.folder)
    return left.close() if among.first and not left.missing else left


class _Piece(NamedTuple):
    """A part to make: its number, its images, and how; and how many GPUs that takes."""

    number: int
    images: ImageFiles
    how: How
    gpus: int


def _add(
    model: Model, parts: Parts, filters: Mapping[str, Any], images: int, piece: _Piece
) -> None:
    """Run over the images of a part, and write it."""
    pictures = fingerprint(piece.images.path)
    found = found_over(model, piece.images, piece.how, None)
    parts.add(piece.number, as_table(model, [found], piece.how, filters, images), pictures)


def _made(parts: Parts) -> list[int]:
    """Numbers of the parts that say which pictures they were made of."""
    return [at for at, part in enumerate(parts.manifest.parts) if part.done and part.pictures]


def _refuse_other_pictures(images: ImageFiles, parts: Parts, numbers: Sequence[int]) -> None:
    """Refuse to add to parts whose pictures are not there any more: two sets would be one."""
    listed = parts.manifest.parts
    files = {at: images.path[parts.rows(at)] for at in numbers}
    other = [at for at, paths in files.items() if fingerprint(paths) != listed[at].pictures]
    if other:
        said = f"{len(other)} finished parts of {parts.folder} were made of other pictures"
        example = f"{listed[other[0]].file}: {files[other[0]][0]}, or one after it"
        raise refuse("OS613", said, count=len(other), example=example)


def _add_there(told: _Told, images: int, piece: _Piece) -> None:
    """The same in another process, which makes the model once."""
    model, parts = _ready(told)
    with opened(model, piece.how.regions) as filters:
        _add(model, parts, filters, images, piece)


class _Told(NamedTuple):
    """What another process is told: how to make the model, where parts are, threads of torch."""

    make: Callable[[], Model]
    folder: Path
    threads: int | None


@lru_cache(maxsize=1)
def _ready(told: _Told) -> tuple[Model, Parts]:
    """The model, and the plan that it must be of: its file may have changed meanwhile."""
    model, parts = told.make(), Parts.open(told.folder)
    if told.threads is not None:
        import torch

        torch.set_num_threads(told.threads)  # on which last bits may depend
    if _hash(model) != parts.manifest.about["model"]:
        said = f"the model that a worker has read is another than that of {told.folder}"
        raise refuse("OS361", said, example="model")
    return model, parts


def _threads() -> int | None:
    """Threads that torch has here, if it is used."""
    torch = sys.modules.get("torch")
    return None if torch is None else int(torch.get_num_threads())


def part_plan(
    model: Model, images: ImageFiles, *, per_part: int = PER_PART, batch: int = 8, **options: Any
) -> Manifest:
    """The plan of a run in parts: what model, with what options, on what images, in what parts."""
    kept = sorted(options.pop("keep", KEPT))
    said = {k: v for k, v in options.items() if k not in ("threads", "decoders")}  # no difference
    said |= {"keep": kept, "batch": batch}
    about = {"model": _hash(model), "options": _chosen(model), "run": said}
    whole = max(per_part // batch, 1) * batch  # a batch across two parts would be padded otherwise
    return planned("detections", images.id, about, whole)


def _chosen(model: Model) -> dict[str, Any]:
    """Options of a model, under the names that commands have for them."""
    options: dict[str, Any] = model.about.get("options", {})
    return {"minimum_score" if name == "score" else name: one for name, one in options.items()}


def _hash(model: Model) -> str:
    """A hash of what a model is: detector, options, labels, and its weights or their file."""
    import hashlib

    said = compact(plain({**model.about, "labels": model.labels})).encode()
    return hashlib.sha256(said + weights_of(model).encode()).hexdigest()
