"""In parts: a model over images, each part of its detections written as soon as it is done.

The boxes are those of `run`: a part is whole batches, so that images are padded with the same
others. Parts that are done are skipped, whoever made them (`openset.formats.parts`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openset.detectors._run import KEPT, Progress, as_table, found_over, how_of, opened
from openset.detectors._spec import Model
from openset.engines import Shard
from openset.files import digest
from openset.findings import InputError, raise_all
from openset.formats.parts import PER_PART, Manifest, Parts, planned
from openset.json_text import compact, plain
from openset.nets.pictures import ImageFiles
from openset.nets.processes import processes


def run_in_parts(
    model: Model,
    images: ImageFiles,
    parts: Parts,
    *,
    shard: Shard | None = None,
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
        progress: Called with the number of parts done and of all parts of this process.
        **options: What `run` takes.

    Returns:
        The parts with what is done now; closed if that is all.

    Raises:
        InputError: Images cannot be decoded, or memory is too small; other parts are done.
    """
    how = how_of(model, **options)
    failures: list[InputError] = []
    with processes() as among, opened(model, how.regions) as filters:
        mine = (shard or Shard(among.rank, among.count)).mine(parts.missing)
        for done, number in enumerate(mine, 1):
            try:
                found = found_over(model, images.select(parts.rows(number)), how, None)
                parts.add(number, as_table(model, [found], how, filters, len(images)))
            except InputError as error:
                failures.append(error)
            if progress is not None:
                progress(done, len(mine))
        among.wait()
    raise_all(failures)
    left = Parts.open(parts.folder)
    return left.close() if among.first and not left.missing else left


def part_plan(
    model: Model, images: ImageFiles, *, per_part: int = PER_PART, batch: int = 8, **options: Any
) -> Manifest:
    """The plan of a run in parts: what model, with what options, on what images, in what parts."""
    said = {**options, "keep": sorted(options.get("keep", KEPT)), "batch": batch}
    about = {"model": _hash(model), "run": said}
    whole = max(per_part // batch, 1) * batch  # a batch across two parts would be padded otherwise
    return planned("detections", images.id, about, whole)


def _hash(model: Model) -> str:
    """A hash of what a model is: detector, options, labels, and its weights or their file."""
    import hashlib

    state = hashlib.sha256(compact(plain({**model.about, "labels": model.labels})).encode())
    network = getattr(model, "network", None)
    if network is not None:
        import torch

        for name, weights in network.state_dict().items():
            state.update(name.encode())
            flat = weights.detach().cpu().contiguous().flatten()
            state.update(flat.view(torch.uint8).numpy().tobytes())
    file = model.about.get("options", {}).get("file")
    state.update(digest(Path(file)).encode() if file else b"")
    return state.hexdigest()
