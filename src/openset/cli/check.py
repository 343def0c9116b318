"""check: is anything wrong with these files? The findings are the answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._app import verb
from openset.cli._console import Answer, Output, finding_text
from openset.cli._terminal import wrapped
from openset.findings import Finding, InputError, Level
from openset.wording import spaced

if TYPE_CHECKING:
    from openset.evaluation.settings import Settings
    from openset.evaluation.steps import Ground
    from openset.tables import Detections

app = verb("check", panel="Data")


@app.default
def check(
    gt: Path,
    dt: list[Path] | None = None,
    /,
    *,
    known: list[str] | None = None,
    boxes: str = "xywh",
    image_ids: str = "id",
    category_ids: str | None = None,
    names: Path | None = None,
    group_by: str | None = None,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Check files for everything that would make a number wrong; exit 1 if something would.

    Args:
        gt: Ground truth.
        dt: Detections, any number of files.
        known: Labels the detector was taught: voc20, coco80, owod-t1 ..., a file, or a,b,c.
        boxes: How boxes of detections are written: xywh, xyxy, cxcywh, yxyx ..., with -norm,
            -norm-1000, -letterbox-640 ... where they are not in pixels of the image.
        image_ids: What detections call images by: id, name, number (of the file name), index ...
        category_ids: What labels of detections mean, if not ids or names of the ground truth: index
            (its categories from 0), index1 (from 1), known, known1 (the list of known classes), a
            JSON or CSV file that maps them, or a COCO file whose categories they are.
        names: Names of classes where files have numbers alone: a data.yaml, JSON, or a name a line.
        group_by: Which images belong together, as in `openset evaluate`.
        output: How to speak.
    """
    from openset.cli._inputs import edited_since, known_labels, model_names
    from openset.evaluation.grouping import as_grouped
    from openset.evaluation.pairs import one_set
    from openset.evaluation.reading import Reading
    from openset.evaluation.settings import Settings
    from openset.evaluation.steps import Ground
    from openset.tables.check import beside_detections

    # Forced, to find what only matching can: that nothing overlaps anything.
    settings = Settings(
        known=known_labels(known),
        boxes=boxes,
        image_ids=image_ids,
        category_ids=category_ids,
        names=names,
        force=True,
    ).resolve()
    files = model_names(dt or [])
    with output.progress(1 + len(files)) as step:
        step("reading")
        truth, tables, settings = one_set(
            *Reading(gt, files, settings.class_names).tables(), settings
        )
        truth = truth if group_by is None else as_grouped(truth, group_by)
        ground = Ground.of(truth, settings.vocabulary(truth), settings)
        found = {gt.name: [*ground.findings, *edited_since(gt)]}
        for name, one in tables.items():
            step(f"checking {name}")
            found[name] = _findings(ground, one, settings)
        of_detections = [one for name in tables for one in found[name]]
        found[gt.name] = beside_detections(found[gt.name], of_detections)
    wrong = any(f.level is Level.ERROR for findings in found.values() for f in findings)
    return Answer(_text(found, len(truth.images), len(truth)), lambda: _document(found), int(wrong))


def _findings(ground: Ground, detections: Detections, settings: Settings) -> list[Finding]:
    """Everything that an evaluation would find."""
    from openset.evaluation.steps import examine

    try:
        return examine(ground, detections, settings).findings
    except InputError as error:  # the boxes cannot be converted
        return list(error.findings)


def _once(found: dict[str, list[Finding]]) -> list[str]:
    """Every kind of finding once: of the first file in full, of the others their names."""
    groups: dict[tuple[str, Level], list[tuple[str, Finding]]] = {}
    for name, findings in found.items():
        for finding in findings:
            groups.setdefault((finding.code, finding.level), []).append((name, finding))
    said = []
    for (name, first), *others in groups.values():
        also = ", ".join(f"{other} ({spaced(one.count)})" for other, one in others)
        text = finding_text(first, name)
        said.append(f"{text}\n{wrapped(f'    also  {also}', ' ' * 10)}" if also else text)
    return said


def _text(found: dict[str, list[Finding]], images: int, objects: int) -> str:
    lines = _once(found)
    levels = [f.level for findings in found.values() for f in findings]
    counts = ", ".join(f"{level}s {levels.count(level)}" for level in Level)
    data = f"{spaced(images)} images, {spaced(objects)} objects"
    return "\n".join([*lines, f"checked {len(found)} files, {data}: {counts}"])


def _document(found: dict[str, list[Finding]]) -> dict[str, Any]:
    from dataclasses import asdict

    return {"findings": {name: [asdict(f) for f in findings] for name, findings in found.items()}}
