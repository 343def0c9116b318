"""Run: a model over images, its detections as one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

from openset.detectors._found import Found, tabled
from openset.detectors._images import ImageFiles, batches
from openset.detectors._spec import Evidence, Model
from openset.findings import Finding, InputError, UsageError
from openset.plugins import lookup
from openset.tables import Detections

DEFAULT: tuple[Evidence, ...] = ("logits", "embedding")
Progress = Callable[[int, int], None]


def run(
    model: Model,
    images: ImageFiles,
    *,
    keep: tuple[Evidence, ...] = DEFAULT,
    batch: int = 8,
    threads: int = 2,
    unreadable: Literal["refuse", "skip"] = "refuse",
    split: str | None = None,
    progress: Progress | None = None,
) -> Detections:
    """Detections of a model on images, with the evidence asked for.

    Args:
        model: A model that `Detector.build` or `load` has made.
        images: Which images.
        keep: Columns of evidence to keep; what the detector does not have is an error.
        batch: Images at a time. Where images differ in size, padding makes scores depend on it in
            the last digits.
        threads: Threads that decode images.
        unreadable: Whether an image that cannot be decoded stops the run, or is left out; the
            provenance then counts and names it.
        split: What the images are called, such as ``digits test``, for the ledger of scorers.
        progress: Called with the number of images done and of all images.

    Raises:
        InputError: An image cannot be decoded, or memory is too small for the batch.
    """
    wanted = _checked(model, keep, batch)
    found: list[Found] = []
    ids: list[Any] = []
    skipped: list[str] = []
    for part in batches(images, batch, threads):
        good = [(id_, pixels) for id_, pixels in part if not isinstance(pixels, InputError)]
        bad = [error for _, error in part if isinstance(error, InputError)]
        if bad and unreadable == "refuse":
            raise bad[0]
        skipped += [_example(error.findings[0]) for error in bad]
        found += model.found([pixels for _, pixels in good], wanted) if good else []
        ids += [id_ for id_, _ in good]
        if progress is not None:
            progress(len(ids) + len(skipped), len(images))
    provenance = _provenance(model, len(ids), skipped, split)
    return tabled(found, ids, model.labels, model.layout, provenance)


def _checked(model: Model, keep: tuple[Evidence, ...], batch: int) -> frozenset[Evidence]:
    from openset.detectors import find

    if batch < 1:
        raise UsageError(f"batch must be at least 1, not {batch}")
    name = model.about.get("detector")
    keeps = find(name).keeps if name else get_args(Evidence)
    for column in keep:
        lookup(dict.fromkeys(keeps), column, f"evidence of detector {name!r}:")
    return frozenset(keep)


def _example(finding: Finding) -> str:
    return finding.example or finding.message


def _provenance(model: Model, images: int, skipped: list[str], split: str | None) -> dict[str, Any]:
    from importlib.metadata import version

    held = {"model": dict(model.about), "images": images, "openset": version("openset")}
    held |= {"split": split} if split is not None else {}
    held |= {"skipped_images": skipped} if skipped else {}
    return held
