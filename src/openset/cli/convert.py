"""convert: a file of boxes into another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._terminal import wrapped
from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.tables import Annotations, Detections

app = verb("convert", panel="Data")


@app.default
def convert(
    source: Path,
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    read_as: Annotated[str | None, Parameter(name="--from")] = None,
    write_as: Annotated[str | None, Parameter(name="--to")] = None,
    truth: Path | None = None,
    sizes: Path | None = None,
    per_part: int | None = None,
    names: Path | None = None,
    evidence: Path | None = None,
    boxes: str = "xywh",
    everything: Flag = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Convert ground truth or detections to another format.

    Says what the other format cannot hold. See `openset list formats`.

    Args:
        source: A file or folder in any known format.
        out: Where to write; its ending chooses the format.
        read_as: Format of the source, if its content does not tell.
        write_as: Format to write, if its ending does not tell.
        truth: For detections: the ground truth they belong to, of whose names, ids and image sizes
            some formats make use.
        sizes: Sizes of the images, a CSV of image,width,height, for formats that lack them.
        per_part: Images of a part, 2000, where parts are written (*.parts).
        names: Names of the classes, a data.yaml, JSON or a name a line, for formats that lack them.
        evidence: For detections: an .npz with logits (and layout, classes) or embedding, one row
            per detection; --to parquet keeps them.
        boxes: For detections: how their boxes are written, as in `openset evaluate`, if not x, y,
            width, height in pixels.
        everything: For COCO ground truth: keep masks, keypoints, licences and URLs, which are
            skipped otherwise; takes as much memory as they do.
        output: How to speak.
    """
    from openset.cli._inputs import format_to_write, tell_about
    from openset.cli._not_kept import not_kept
    from openset.formats import read, read_annotations, write
    from openset.tables import Annotations, Detections
    from openset.tables.left_open import LeftOpen

    record = format_to_write(out, write_as)
    belongs = None if truth is None else read_annotations(truth)
    options = _sizes(source, read_as, sizes, belongs) | ({} if names is None else {"names": names})
    options |= {"everything": True} if everything else {}
    table = _in_pixels(read(source, format=read_as, **options), belongs, boxes)
    if isinstance(table, Detections) and belongs is not None:
        for finding in LeftOpen.of(table).findings(table, belongs):
            output.report(finding, source.name)
    tell_about(output, table, source, belongs, boxes=boxes)
    if evidence is not None:
        table = _with_evidence(table, evidence, belongs)
    more = {} if per_part is None else {"per_part": per_part}
    write(table, out, format=record.name, truth=belongs, **more)
    told = not_kept(table, source, record, everything=everything)
    if told is not None:
        output.report(told, source.name)
    kind = "objects" if isinstance(table, Annotations) else "detections"
    lost = sorted(record.loses)
    if lost:
        output.say(wrapped(f"note: {record.name} does not hold {', '.join(lost)}", "    "))
    return Answer(
        f"wrote {out}: {len(table)} {kind} as {record.name}",
        lambda: {"out": str(out), "format": record.name, "rows": len(table), "loses": lost},
    )


def _in_pixels(
    table: Annotations | Detections, truth: Annotations | None, boxes: str
) -> Annotations | Detections:
    """Detections whose boxes are written in another way, in ours."""
    from openset.tables import Annotations
    from openset.tables.annotations import without_objects
    from openset.tables.boxes import in_pixels
    from openset.tables.join import join_images

    if boxes == "xywh":
        return table
    if isinstance(table, Annotations):
        raise UsageError("--boxes belongs to detections; this is ground truth")
    belongs = without_objects(table.image) if truth is None else truth
    return in_pixels(table, join_images(belongs, table.image), belongs, boxes)


def _with_evidence(
    table: Annotations | Detections, path: Path, truth: Annotations | None
) -> Detections:
    from openset.tables import Detections
    from openset.tables.evidence import read_evidence, with_evidence

    if not isinstance(table, Detections):
        raise UsageError("--evidence belongs to detections; this is ground truth")
    return _named(with_evidence(table, **read_evidence(path), truth=truth), truth)


def _named(found: Detections, truth: Annotations | None) -> Detections:
    """Detections whose labels have the names of their ground truth: scorers go by names."""
    from openset.tables.category_ids import Renamed, ids_of, with_names

    held = set(map(str, set(found.label.tolist())))
    if truth is None or found.labels or not held <= ids_of(truth).keys():
        return found
    return with_names(found, truth, Renamed({}))


def _sizes(
    source: Path, read_as: str | None, sizes: Path | None, truth: Annotations | None
) -> dict[str, Any]:
    """The option with which boxes that are fractions of images are read as pixels, or refused."""
    from openset.formats import reading
    from openset.tables.names import sizes_by_name

    if sizes is not None:
        return {"sizes": sizes}
    kind, options = reading(source, format=read_as)
    if "sizes" not in options:
        return {}
    return {"sizes": {} if truth is None or kind == "annotations" else sizes_by_name(truth.images)}
