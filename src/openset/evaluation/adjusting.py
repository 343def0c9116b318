"""Adjusting: what files of detections may need before they can be judged.

Four things, each only if asked for: the minimum score, what numbers of classes mean, which label
means unknown, and where unknownness comes from; and what a file leaves to the ground truth. What
changed is said by findings.

Not the layout of boxes, which takes the join with the ground truth (`openset.tables.boxes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.settings import Settings
from openset.findings import Finding, Level, UsageError
from openset.plugins import lookup
from openset.tables import Annotations, Detections, Role, Vocabulary
from openset.tables.category_ids import Positions, Renamed, told, with_names
from openset.tables.columns import column
from openset.tables.evidence import logit_classes, strange_logits
from openset.tables.join import Joined
from openset.tables.left_open import NUMBERED, LeftOpen
from openset.wording import grouped, spaced

Adjusted = tuple[Detections, list[Finding]]
_SHOWN = 8


def adjusted(
    detections: Detections, truth: Annotations, vocabulary: Vocabulary, settings: Settings
) -> Adjusted:
    """Detections as the settings ask for them, and what there is to say about it."""
    said: list[Finding] = []
    if settings.least_score is not None:
        detections, said = at_least(detections, settings.least_score)
    if len(detections) == 0:  # a batch may well be empty
        return detections, said
    strange = None if settings.unknown_label is None else str(settings.unknown_label)
    said += LeftOpen.of(detections).findings(detections, truth, stated=bool(_stated(settings)))
    for stated in _meant(detections, vocabulary, settings):
        detections = with_names(detections, truth, stated, unknown=strange)
        strange = None if "unknown" in detections.labels else strange
    # Numbers that stand for nothing are no label: `check` says so.
    if strange is not None and (detections.labels or truth.numbered):
        strange = _name_of(strange, detections, truth)
        detections, more = call_unknown(detections, strange, truth)
        said += more or of_known_class(strange, vocabulary)
    said += _strange(detections, settings.unknownness, truth)
    if settings.unknownness is not None:
        detections = with_unknownness(detections, settings.unknownness)
    elif detections.unknownness is not None and detections.logits is not None:
        said += _of_other_logits(detections)
    return detections, said


def called(
    detections: Detections, truth: Annotations, vocabulary: Vocabulary, settings: Settings
) -> dict[str, str]:
    """What the file itself calls labels that get names by options, or by what it leaves open."""
    meant = _meant(detections, vocabulary, settings)
    if not meant:
        return {}
    held = np.unique(detections.label).tolist()
    labels = [detections.labels[at] if detections.labels else str(at) for at in held]
    names: list[str] = list(labels)
    for stated in meant:
        named = zip(stated.names(names, truth), names, strict=True)
        names = [name or said for name, said in named]
    return dict(zip(names, labels, strict=True))


def _stated(settings: Settings) -> list[Positions | Renamed]:
    """What options say of labels, in the order in which it is applied."""
    names = settings.class_names
    numbered = None if names is None else Renamed.of(names, "names=")
    return [one for one in (numbered, settings.stated_ids) if one is not None]


def _meant(
    detections: Detections, vocabulary: Vocabulary, settings: Settings
) -> list[Positions | Renamed]:
    """What labels mean by options, or else by what the file leaves open; names need no names."""
    if detections.labels:
        stated = [] if settings.stated_ids is None else [settings.stated_ids]
    else:
        left = LeftOpen.of(detections).names
        stated = _stated(settings) or ([NUMBERED] if left else [])
    return [told(one, vocabulary.known) for one in stated]


def at_least(detections: Detections, score: float) -> Adjusted:
    """Detections of at least a score; one that is not a number stays, for `check` to name it.

    >>> found = Detections([1, 1], [0, 0], [[0, 0, 9, 9]] * 2, [0.9, 0.1], ("dog",))
    >>> kept, said = at_least(found, 0.5)
    >>> len(kept), said[0].message
    (1, '1 of 2 detections score below 0.5 and are left out')
    """
    low = detections.score < score
    count = int(np.count_nonzero(low))
    if count == 0:
        return detections, []
    row, left_out = int(low.argmax()), f"{grouped(count)} of {grouped(len(low))} detections"
    note = Finding(
        "OS214",
        Level.NOTE,
        f"{left_out} score below {score:g} and are left out",
        count,
        f"image {detections.image[row]}, detection {row}, score {detections.score[row]:g}",
    )
    return detections.select(~low), [note]


def without_leaks(detections: Detections, joined: Joined) -> list[Finding]:
    """The finding that detections of classes which are unknown here are dropped, if there are."""
    count = int(np.count_nonzero(joined.leaked))
    if count == 0:
        return []
    message = f"{grouped(count)} of {grouped(len(detections))} detections are of classes that are "
    message += "unknown here and are left out"
    row = int(joined.leaked.argmax())
    example = f"image {detections.image[row]}, detection {row}"
    return [Finding("OS465", Level.NOTE, message, count, example)]


def of_the_cut(
    findings: Iterable[Finding], detections: Detections, least: float
) -> Iterator[Finding]:
    """Findings as they are of a file that was cut at a score: a cut that was asked for is none.

    Args:
        findings: What was found about the detections that are left.
        detections: Those before the cut.
        least: The score.
    """
    for one in findings:
        if one.code == "OS402" and len(detections):
            row = int(detections.score.argmax())
            most = detections.score[row]
            yield replace(
                one,
                message=f"none of {spaced(len(detections))} detections scores minimum_score="
                f"{least:g} or more: the highest score is {most:g}",
                count=len(detections),
                example=f"image {detections.image[row]}, detection {row}, score {most:g}",
                cause="a percentage, or the score of another scale, was given",
                fix=f"give a minimum_score= below {most:g}, or none",
            )
        elif one.code != "OS218":
            yield one


def call_unknown(detections: Detections, label: str, truth: Annotations) -> Adjusted:
    """Detections of one label, a name or a category id, become ``unknown``."""
    names, index = _named(detections, truth)
    if label not in names:
        shown = ", ".join(map(repr, names[:_SHOWN]))
        absent = f"no detection has the label {label!r}, which is to mean unknown"
        return detections, [Finding("OS314", Level.ERROR, absent, example=f"there are {shown}")]
    new = tuple(name if name != label else "unknown" for name in names)
    return replace(detections, labels=new, label=index), []


def _name_of(label: str, detections: Detections, truth: Annotations) -> str:
    """A label, or what the ground truth calls it if it is the id of a category."""
    assert truth.category_id is not None
    names = dict(zip(map(str, truth.category_id.tolist()), truth.labels, strict=True))
    return label if detections.labels else names.get(label, label)


def of_known_class(label: str, vocabulary: Vocabulary) -> list[Finding]:
    """The finding that the label for unknown is a known class, if so."""
    if vocabulary.role(label) is not Role.KNOWN:
        return []
    said = f"unknown_label={label!r} is one of the {len(vocabulary.known)} known classes"
    return [Finding("OS328", Level.ERROR, said, example=label)]


def _named(detections: Detections, truth: Annotations) -> tuple[list[str], NDArray[np.int64]]:
    """Names of the labels and each detection's index; a category id is its name, or its number."""
    if detections.labels:
        return list(detections.labels), detections.label
    ids, index = np.unique(detections.label, return_inverse=True)
    assert truth.category_id is not None
    names = dict(zip(truth.category_id.tolist(), truth.labels, strict=True))
    return [names.get(i, str(i)) for i in ids.tolist()], index.astype(np.int64)


def with_unknownness(detections: Detections, source: str) -> Detections:
    """Detections whose unknownness comes from a scorer, or from a column of their file."""
    from openset import scorers  # few evaluations ask for one

    if source == "unknownness" and detections.unknownness is not None:
        return detections
    if source == "score":
        raise UsageError(
            "the score is no unknownness, which is larger where a box is more unknown: "
            "unknownness='confidence' takes 1 - score"
        )
    if source in detections.attributes:
        try:
            values = column(source, detections.attributes[source], np.float64, len(detections))
        except UsageError:
            raise
        except ValueError as error:
            message = f"column {source!r} of unknownness= does not hold numbers"
            raise UsageError(message) from error
        return replace(scorers.ledger.unscored(detections), unknownness=values)
    table = scorers.table()
    columns = dict.fromkeys(detections.attributes)
    lookup({**columns, **dict.fromkeys(table)}, source, "scorer or column")
    options = scorers.suited(detections).get(source, {})  # its analogue, where there are sigmoids
    return table[source].fit(**options).scored(detections)


def _of_other_logits(detections: Detections) -> list[Finding]:
    """That unknownness is of other boxes than the logits beside it."""
    from openset.scorers import of_other_logits

    found = of_other_logits(detections)
    if found is None:
        return []
    return [replace(found, fix=f"{found.fix}; force=True evaluates as it is")]


def _strange(detections: Detections, source: str | None, truth: Annotations) -> list[Finding]:
    """What is wrong with logits, if unknownness is made of them, or words about background are."""
    if source in (None, "unknownness") or source in detections.attributes:
        if detections.layout is None or not detections.layout.has_background:
            return []
        strange = strange_logits(detections, logit_classes(detections), truth)
        return [replace(one, level=Level.WARNING).without_force() for one in strange]
    from openset import scorers

    scorer = scorers.table().get(source or "")
    if scorer is None or "logits" not in scorer.requires:
        return []
    return strange_logits(detections, logit_classes(detections), truth)
