"""describe: what a ground truth holds: classes, sizes, roles, wild images, what stands together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.cli._terminal import width, wrapped
from openset.findings import UsageError
from openset.wording import short, spaced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openset.diagnosis.statistics import Statistics
    from openset.tables import Annotations, Vocabulary

app = verb("describe", panel="Data")
_SIZES = ("small", "medium", "large")
_LABEL = 30  # letters of a name in a column


@app.default
def describe(
    gt: Path,
    /,
    *,
    known: list[str] | None = None,
    names: Path | None = None,
    limit: int = 20,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Describe a ground truth: classes, sizes, roles, wild images, and what stands together.

    Args:
        gt: Ground truth, in any format that `openset list formats` names.
        known: Labels the detector was taught: voc20, coco80, owod-t1 ..., a file, or a,b,c.
            Without it the roles that the ground truth states, or none.
        names: Names of classes where files have numbers alone: a data.yaml, JSON, or a name a line.
        limit: At most so many rows of each table; --json prints all labels.
        output: How to speak.
    """
    from openset.cli._inputs import known_labels, tell_about
    from openset.diagnosis.statistics import statistics
    from openset.formats import read_annotations
    from openset.tables.check import check_known

    if limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")
    truth = read_annotations(gt, **({} if names is None else {"names": names}))
    vocabulary = _vocabulary(truth, known_labels(known))
    for finding in check_known(truth, vocabulary) if known and vocabulary else ():
        output.report(finding)
    tell_about(output, truth, gt, vocabulary=vocabulary)
    found = statistics(truth, vocabulary)
    return Answer(_text(found, limit), found.document)


def _vocabulary(truth: Annotations, known: str | list[str] | None) -> Vocabulary | None:
    """The roles asked for, or those that the file states, or none."""
    from openset.tables import Vocabulary

    return Vocabulary.of(known, truth) if known or any(truth.role) else None


def _text(found: Statistics, limit: int) -> str:
    kinds = {kind: n for kind, n in found.images.items() if kind not in ("all", "empty")}
    blocks = [_head(found, kinds), _roles(found, limit), _labels(found, limit)]
    return "\n\n".join([*blocks, _pairs(found, bool(kinds), limit)] if found.pairs else blocks)


def _head(found: Statistics, kinds: Mapping[str, int]) -> str:
    each, total = found.per_image, sum(role["objects"] for role in found.objects.values())
    lines = [
        f"{spaced(found.images['all'])} images, {spaced(found.images['empty'])} without objects · "
        f"{spaced(total)} objects · {each['mean']:.3g} per image (median {each['median']:g}, most "
        f"{each['most']:g})"
    ]
    if kinds:
        said = " · ".join(f"{kind} {spaced(n)}" for kind, n in kinds.items())
        lines.append(f"images by the objects they show: {said}")
    return "\n".join(wrapped(line, "  ") for line in lines)


def _roles(found: Statistics, limit: int) -> str:
    rows = [(role, *map(spaced, counts.values())) for role, counts in found.objects.items()]
    return _table(("role", "labels", "objects", *_SIZES), rows, limit)


def _labels(found: Statistics, limit: int) -> str:
    rows = []
    for one in found.labels:
        counts = (one.objects, one.images, one.small, one.medium, one.large, one.left_out)
        rows.append((short(one.label, _LABEL), one.role or "–", *map(spaced, counts)))
    return _table(("label", "role", "objects", "images", *_SIZES, "left out"), rows, limit)


def _pairs(found: Statistics, roles: bool, limit: int) -> str:
    rows = [
        (
            short(one.known, _LABEL),
            short(one.unknown, _LABEL),
            spaced(one.images),
            f"{one.lift:.2g}",
        )
        for one in found.pairs
    ]
    head = ("known", "beside unknown") if roles else ("label", "beside")
    return _table((*head, "images", "times chance"), rows, limit, found.more_pairs)


def _table(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], limit: int, hidden: int = 0
) -> str:
    """The first rows, and how many more there are."""
    from openset.render import Table

    more = max(len(rows) - limit, 0) + hidden
    notes = (f"and {spaced(more)} more",) if more else ()
    return Table(header, tuple(rows[:limit]), notes).text(width())
