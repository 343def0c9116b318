"""Found: what `openset run` says of its detections, and of pictures that it could not read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._console import Output
from openset.findings import Finding, Level, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openset.tables import Detections


def report_skipped(skipped: Sequence[str], decoded: int, output: Output) -> None:
    """Name the images that were left out; refused where that are all."""
    from openset.nets.pictures import undecoded

    if skipped and not decoded:
        raise refuse("OS603", "no image can be decoded", count=len(skipped), example=skipped[0])
    if skipped:
        output.report(undecoded(skipped))


def report_foreign(data: Path, output: Output) -> None:
    """Say which pictures of a folder were not among its images."""
    from openset.nets.pictures import not_read

    left_out = not_read(data) if data.is_dir() else []
    if left_out:
        message = f"{len(left_out)} pictures of {data} are of formats that are not read"
        output.report(Finding("OS392", Level.WARNING, message, len(left_out), left_out[0].name))


def report_resized(found: Detections, output: Output) -> None:
    """Say that boxes were scaled, if so."""
    resized = found.provenance.get("resized_images", ())
    if not resized:
        return
    from openset.tables.picture_sizes import resized_finding

    output.report(resized_finding(resized, found.provenance["images"]))


def report_nothing(found: Detections, output: Output) -> None:
    """Say that nothing was found, which may be right of photos."""
    if len(found):
        return
    message = f"0 detections for {found.provenance['images']} images"
    output.report(Finding("OS402", Level.NOTE, message, 0))


def text(found: Detections, out: Path, photos: Path | None) -> str:
    from openset.detectors import find

    about = found.provenance
    kept = ", ".join(_evidence(found)) or "no evidence"
    regions = "regions" in about
    what = "pairs of a region and a class" if regions else "boxes"
    then = _next(found, out)
    if regions and found.layout is not None and found.layout.has_unknown:
        then = "the same without --regions: the detector says unknown itself, and a rule would not"
    if not find(about["model"]["detector"]).learned:
        then = f"openset train RECIPE DATA --method pad --method-option advisor={out} -o DIR"
    elif photos is not None and not regions:
        then = f"openset draw {out} --images {photos}"
        if found.unknownness is not None:
            then += " --unknown-from 10%"
        elif found.logits is not None:
            then += " --unknownness energy --unknown-from 10%"
    lines = [
        f"{about['model']['detector']} found {len(found)} {what} on {about['images']} images, "
        f"kept {kept}",
        f"wrote {out}",
        f"next: {then}",
    ]
    return "\n".join(lines)


def _next(found: Detections, out: Path) -> str:
    """What makes unknowns of these detections, or measures those that they have."""
    if "regions" in found.provenance:
        how = "--rule gamma --option gamma=15"
    elif found.layout is not None and found.layout.has_unknown:
        return f"openset evaluate GT {out}"
    elif found.unknownness is not None:  # another score would take the place of the detector's own
        how = "--scorers own --calibrate HELD-OUT.parquet"
    elif "shortcut" in found.attributes:
        how = "--scorers safe --fit ATTACKED.parquet"
    elif "logit_samples" in found.attributes:
        how = "--scorers dropout_mean"
    else:
        how = "--scorers energy"
    return f"openset score {out} {how} -o FILE.parquet"


def _evidence(found: Detections) -> list[str]:
    held = {"logits": found.logits, "embedding": found.embedding, "head": found.head}
    return [name for name, part in {**held, **found.attributes}.items() if part is not None]


def document(found: Detections, out: Path) -> dict[str, Any]:
    return {
        "out": str(out),
        "detections": len(found),
        "labels": found.labels,
        "evidence": _evidence(found),
        "provenance": dict(found.provenance),
    }
