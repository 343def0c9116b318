"""Batches: some whole images at a time, matched, and what all of them are together.

Matching is per image, so that batches merge exactly. What was found about each is not so: a batch
may lack a class, an unknown object or even any contact, and has too few records to tell a mistake
from chance. So a batch is matched whatever was found, and `together` says what holds of all.

What `openset.evaluation.streaming` makes as batches arrive, and `openset.evaluation.in_parts` of
the parts of a data set, in whatever process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from openset.engines import Engine
from openset.evaluation import leaks
from openset.evaluation.settings import Settings
from openset.evaluation.steps import Ground, contact, errors, examine
from openset.evaluation.suspicion import suspicions
from openset.findings import Finding, InputError, Level, UsageError
from openset.matching import Matches
from openset.matching.lean import as_lean, can_be_lean
from openset.matching.merge import Merging
from openset.tables import Detections
from openset.tables.check import batches_stopped, films, group_sizes, shown_twice

# What a batch may lack without the data lacking it: said only if every batch lacks it.
_OF_TRUTH = frozenset({"OS302", "OS303", "OS304"})
_OF_DETECTIONS = frozenset({"OS209", "OS218", "OS308", "OS309", "OS314", "OS339"})
_LACKING = _OF_TRUTH | _OF_DETECTIONS | {"OS310", "OS401", "OS402"}
# What all matches together decide.
_OF_ALL = (
    *("OS220", "OS316", "OS318", "OS319", "OS330", "OS331", "OS332"),
    *("OS346", "OS373", "OS404", "OS410", "OS414", "OS416", "OS426"),
)
# Errors that look at how many records they concern: of a batch, too few to tell.
_BY_SHARE = frozenset({"OS203", "OS204", "OS208", "OS215", "OS216", "OS219", "OS327", "OS429"})
_BY_SHARE |= {"OS306", "OS307", "OS403", "OS423", "OS424"}


@dataclass(frozen=True, eq=False)
class Batch:
    """Some whole images, matched.

    Attributes:
        matches: What metrics are computed from.
        of_truth: What was found about the ground truth alone, errors as errors.
        findings: What was found about the detections, likewise.
        ledger: What was fitted on which data to make unknownness and labels.
        rows: How many objects and detections the tables have.
        found: Which images have detections.
        films: Which film each image is a frame of, where images have names.
    """

    matches: Matches
    of_truth: list[Finding]
    findings: list[Finding]
    ledger: str
    rows: tuple[int, int]
    found: NDArray[np.bool_]
    films: NDArray[np.uint32] | None


def refuse_whole(settings: Settings) -> None:
    """Refuse what cannot be settled on some of the images."""
    if settings.image_list is not None:
        raise UsageError("an image list needs all images at once; batches state `listed` each")
    if settings.minimum_score == "best":
        raise UsageError("the best score needs all images at once: give a number")


def batch_of(
    ground: Ground, detections: Detections, settings: Settings, *, lean: bool = False
) -> Batch:
    """Adjust, join, check and match the detections of some images, whatever is found.

    Args:
        ground: The ground truth of these images.
        detections: The detections.
        settings: What is asked.
        lean: Whether nobody but metrics will read the matches (`openset.matching.lean`).

    Raises:
        InputError: What not even force can match: scores that are no numbers.
    """
    one = examine(ground, detections, replace(settings, force=True), whole=False)
    if one.matches is None:
        raise InputError(errors(one.findings))  # a batch may lack what its truth lacks
    rows = len(ground.truth), len(one.detections)
    found = np.zeros(len(ground.truth.images) + 1, np.bool_)
    found[one.joined.image] = True  # the last is of images that are not there
    batch = Batch(
        *(one.matches, ground.findings, one.findings, one.ledger, rows),
        found=found[:-1],
        films=films(ground.truth),
    )
    if lean and can_be_lean(settings.rules):
        return replace(batch, matches=as_lean(one.matches))
    bare = replace(one.matches, _outcomes={}, _parts={})  # without what was computed meanwhile
    vars(bare)["place"] = one.matches.place  # but for this, which is of each image alone
    return replace(batch, matches=bare)


class Gathering:
    """Batches that come one after another, of which only what all are made from is kept."""

    def __init__(self) -> None:
        self._merging = Merging()
        self._of_truth: list[list[Finding]] = []
        self._findings: list[list[Finding]] = []
        self._ledgers: list[str] = []
        self._films: list[NDArray[np.uint32] | None] = []
        self._found: list[NDArray[np.bool_]] = []
        self._rows = (0, 0)

    def add(self, batch: Batch) -> None:
        """Take a batch, of images that follow those before."""
        self._merging.add(batch.matches, batch.rows)
        self._of_truth.append(batch.of_truth)
        self._findings.append(batch.findings)
        self._ledgers.append(batch.ledger)
        self._films.append(batch.films)
        self._found.append(batch.found)
        self._rows = (self._rows[0] + batch.rows[0], self._rows[1] + batch.rows[1])

    def together(self, engine: Engine | None = None) -> Batch:
        """All batches as one: matches as of one pass, and the findings that hold of all images.

        Args:
            engine: Where that is done, in this process (`openset.engines.beside`).
        """
        matches = self._merging.matches(engine)
        found = [[*a, *b] for a, b in zip(self._of_truth, self._findings, strict=True)]
        of_all = contact(matches) or suspicions(matches)
        of_all += group_sizes(matches.image_ids, matches.groups)
        if matches.groups is None and not _having(self._of_truth, "OS425"):
            objects = matches.objects
            of_all += shown_twice(matches.image_ids, objects.image, objects.label, objects.box)
        seen, film = np.concatenate(self._found), _joined(self._films)
        if not any(one.code == "OS425" for one in of_all):
            of_all += _stopped(matches, seen, film)
        matches.forget()
        return Batch(
            matches,
            _together(self._of_truth, found),
            [*_together(self._findings, found), *of_all],
            leaks.together(self._ledgers),
            self._rows,
            seen,
            film,
        )


def _stopped(
    matches: Matches, found: NDArray[np.bool_], film: NDArray[np.uint32] | None
) -> Iterator[Finding]:
    """What images without a detection say: all of a batch may be so, of which it says nothing."""
    objects, named = matches.objects, np.diff(matches.class_start) > 0
    having = np.zeros(matches.n_images, np.bool_)
    having[objects.image[named[objects.klass]]] = True
    return batches_stopped(matches.image_ids, found, having, matches.groups, film)


def _joined(films: Sequence[NDArray[np.uint32] | None]) -> NDArray[np.uint32] | None:
    known = [one for one in films if one is not None]
    return np.concatenate(known) if known and len(known) == len(films) else None


def together(batches: Iterable[Batch]) -> Batch:
    """All batches as one."""
    gathering = Gathering()
    for one in batches:
        gathering.add(one)
    return gathering.together()


def _together(
    batches: Sequence[Sequence[Finding]], everything: Sequence[Sequence[Finding]]
) -> list[Finding]:
    """The findings of all batches, one per code; the first of a code speaks for the others.

    Args:
        batches: Findings of one kind, of every batch.
        everything: Of both kinds.
    """
    by_code: dict[str, list[Finding]] = {}
    for finding in (finding for batch in batches for finding in batch):
        by_code.setdefault(finding.code, []).append(finding)
    for code in _OF_ALL:
        by_code.pop(code, None)
    merged = []
    for code, found in by_code.items():
        # A batch without objects, or without detections, says nothing about theirs.
        mute = _having(everything, "OS401" if code in _OF_TRUTH else "OS402")
        could = len(batches) - (mute if code in _OF_TRUTH | _OF_DETECTIONS | _BY_SHARE else 0)
        everywhere = _having(batches, code) >= could
        if code in _LACKING and not everywhere:
            continue
        level = found[0].level
        if code in _BY_SHARE and not (everywhere and all(f.level is level for f in found)):
            level = Level.WARNING if level is Level.ERROR else level
        count = sum(finding.count for finding in found)
        of = f" (first of {len(found)} such batches)" if len(found) > 1 else ""
        merged.append(replace(found[0], level=level, count=count, message=found[0].message + of))
    return merged


def _having(batches: Sequence[Sequence[Finding]], code: str) -> int:
    """How many batches have a finding of a code."""
    return sum(any(finding.code == code for finding in batch) for batch in batches)
