"""select: some classes and images of files, several files as one, and one as two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.findings import Finding, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openset.tables import Annotations, Detections, Vocabulary
    from openset.tables.selection import Parted, Selection

app = verb("select", panel="Data")


@app.default
def select(
    files: list[Path],
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    rest: Path | None = None,
    classes: list[str] | None = None,
    roles: list[str] | None = None,
    known: list[str] | None = None,
    images: list[str] | None = None,
    share: float | None = None,
    seed: int = 0,
    group_by: str | None = None,
    drop_empty: Flag = False,
    truth: Path | None = None,
    write_as: Annotated[str | None, Parameter(name="--to")] = None,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Select classes and images of files: filter one, join several, split into two.

    Args:
        files: Ground truths, or detections; several are joined: labels by name, images by id.
        out: Where to write; its ending chooses the format, as in `openset convert`.
        rest: Where to write the same classes on all images that are not chosen.
        classes: Only these labels: a,b,c.
        roles: Only labels of these roles: known, unknown, ignored.
        known: Labels the detector was taught, as in `openset evaluate`, for --roles.
        images: Only these images: ids or file names a,b,c, a text file with one a line, or a ground
            truth whose images they are.
        share: Of these images a share, such as 0.8; for ground truth.
        seed: Which share.
        group_by: Images that a share never parts, as in `openset evaluate`.
        drop_empty: Leave out images without an object of these labels; for ground truth.
        truth: For detections: the ground truth they belong to, for names of labels and images.
        write_as: Format to write, of --rest too, if the ending does not tell.
        output: How to speak.
    """
    from openset.cli._inputs import format_to_write, known_labels, listed, tell_about
    from openset.formats import read, read_annotations, write
    from openset.tables import Annotations
    from openset.tables.check import check_known
    from openset.tables.selection import Selection

    formats = {path: format_to_write(path, write_as).name for path in (out, rest) if path}
    belongs = None if truth is None else read_annotations(truth)
    tables = [read(path) for path in files]
    of_truth = [table for table in tables if isinstance(table, Annotations)]
    if of_truth and len(of_truth) < len(tables):
        raise UsageError("ground truth and detections cannot be joined: give files of one kind")
    for path, table in zip(files, tables, strict=True):
        tell_about(output, table, path, belongs)
    truths = [*of_truth, *([belongs] if belongs else [])]
    vocabulary = _vocabulary(known_labels(known), truths)
    wanted = Selection(
        classes=listed(classes) or None,
        roles=_roles(listed(roles)),
        vocabulary=vocabulary,
        images=_images(images),
        share=share,
        seed=seed,
        drop_empty=drop_empty,
    )
    made, findings = _parted(tables, wanted, belongs, group_by)
    absent = [check_known(one, vocabulary) for one in truths] if known and vocabulary else []
    said = absent[0] if absent and all(absent) else []  # one of several files may have them
    for finding in (*said, *findings):
        output.report(finding.without_force())
    written = {out: made.kept} | ({} if rest is None else {rest: made.rest})
    for path, table in written.items():
        write(table, path, format=formats[path], truth=belongs)
    return Answer(
        "\n".join(f"wrote {path}: {_size(table)}" for path, table in written.items()),
        lambda: {"written": {str(path): len(table) for path, table in written.items()}},
    )


def _parted(
    tables: Sequence[Annotations | Detections],
    wanted: Selection,
    truth: Annotations | None,
    group_by: str | None,
) -> tuple[Parted[Any], list[Finding]]:
    """The tables as one, in two, and what was found."""
    from openset.evaluation.grouping import as_grouped
    from openset.tables import Annotations, Detections
    from openset.tables.groups import groups_of
    from openset.tables.joining import joined_detections, joined_truths
    from openset.tables.selection import part_detections, part_truth

    found = [table for table in tables if isinstance(table, Detections)]
    if found:
        joined, told = joined_detections(found, truth)
        parted = part_detections(joined, wanted, truth)
        return parted, [*told, *parted.findings]
    table, told = joined_truths([table for table in tables if isinstance(table, Annotations)])
    groups = None if group_by is None else groups_of(as_grouped(table, group_by).images)
    if wanted.share is not None and group_by is None:
        told = [*told, *_parted_sequences(table)]
    made = part_truth(table, replace(wanted, groups=groups))
    return made, [*told, *made.findings]


def _parted_sequences(truth: Annotations) -> list[Finding]:
    """The warning that a share parts the frames of sequences, which say nearly the same."""
    from openset.findings import Level
    from openset.tables.check import groups_unsaid

    return [
        replace(
            one,
            level=Level.WARNING,
            message=f"{one.message}, and the frames of one are in both parts",
            fix=one.fix.replace(" draws ", " keeps "),
        )
        for one in groups_unsaid(truth)
    ]


def _roles(asked: list[str]) -> list[str] | None:
    from openset.plugins import lookup
    from openset.tables import Role

    known = {str(role): str(role) for role in Role}
    return [lookup(known, name, "role") for name in asked] or None


def _vocabulary(known: str | list[str] | None, truths: Sequence[Annotations]) -> Vocabulary | None:
    """The roles asked for, or those that a ground truth states, or none."""
    from openset.tables import Vocabulary

    stated = next((truth for truth in truths if any(truth.role)), None)
    named = next(iter(truths), None) if known else stated
    return Vocabulary.of(known, named) if named or known else None


def _images(asked: list[str] | None) -> list[str] | None:
    """Names of images, from the command line or from a file."""
    from openset.cli._inputs import listed
    from openset.files import is_there

    if not asked:
        return None
    path = Path(asked[0])
    if len(asked) > 1 or not is_there(path):
        return listed(asked)
    if path.suffix.lower() in (".txt", ".lst", ".csv"):
        from openset.files import load_text

        return [line.strip() for line in load_text(path).splitlines() if line.strip()]
    from openset.formats import read_annotations

    return [str(id_) for id_ in read_annotations(path).images.id.tolist()]


def _size(table: Annotations | Detections) -> str:
    from openset.tables import Annotations
    from openset.wording import spaced

    if isinstance(table, Annotations):
        return f"{spaced(len(table.images))} images, {spaced(len(table))} objects"
    return f"{spaced(len(table))} detections"
