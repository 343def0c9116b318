"""Files to fit on: detections and ground truth that `score` learns from, and what it refuses.

They must be of the model whose detections are scored, and never be these detections.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from openset.findings import Finding, InputError, Level, UsageError

if TYPE_CHECKING:
    from openset.tables import Annotations, Detections, Head, Vocabulary


@dataclass(frozen=True)
class Files:
    """How files of detections are read.

    Attributes:
        head: The last layer from a file, if any.
        known: The classes that logits are restricted to, as ``--known`` has them, if any.
    """

    head: Head | None
    known: str | list[str] | None

    def read(self, path: Path) -> Detections:
        """The detections of a file, whole."""
        from openset.formats import read_detections

        return self.whole(read_detections(path))

    def whole(self, found: Detections) -> Detections:
        """Detections with their last layer, their own or the file's, and the known logits."""
        from openset.scorers import own_head

        found = replace(found, head=own_head(found, self.head))
        return found if self.known is None else _restricted(found, _meant(self.known, found))


@dataclass(frozen=True)
class FitFiles:
    """How files to fit or calibrate on are read: of the model that is scored, never its rows.

    Attributes:
        files: How files are read.
        scored: The detections to score.
        force: Whether another model, or the rows that are scored, are only told.
        report: What tells a finding.
    """

    files: Files
    scored: Detections
    force: bool
    report: Callable[[Finding], None]

    def read(self, path: Path) -> Detections:
        """The detections of a file."""
        from openset.scorers import other_lengths, other_model, other_temperature, shown_again
        from openset.scorers.ledger import of_split, split_of
        from openset.tables.made_alike import SHOWN

        found = self.files.read(path)
        if not self.force:
            refuse_strange(found)
        again = shown_again(self.scored, found, str(path))
        alike = (other_model, other_lengths, other_temperature)
        said = [told(self.scored, found, str(path)) for told in alike]
        for finding in (*said, again):
            if finding is not None:
                if finding.level is Level.ERROR and not self.force:
                    raise InputError([finding])
                self.report(finding)
        if again is None or again.level is not Level.ERROR:
            return found
        return of_split(found, f"{split_of(found)}{SHOWN}")  # as it is a leak


def _meant(known: str | list[str], found: Detections) -> Vocabulary:
    """The vocabulary of a name, or of labels: a single one may be that of the detections."""
    from openset.tables import Vocabulary
    from openset.tables.vocabulary import normal, vocabularies

    alone = isinstance(known, str) and known not in vocabularies()
    if alone and normal(str(known)) in map(normal, found.labels):
        return Vocabulary.of([str(known)])
    return Vocabulary.of(known)


def _restricted(found: Detections, known: Vocabulary) -> Detections:
    """Detections with the known logits; that there were others, the detector was taught."""
    from openset.evaluation.leaks import TAUGHT_CLASSES
    from openset.scorers.ledger import LedgerEntry, recorded
    from openset.tables.evidence import restricted

    left = restricted(found, known)
    assert found.logits is not None and left.logits is not None
    others = found.logits.shape[1] - left.logits.shape[1]
    if not others:
        return left
    name, leaks = f"{others} classes beside the known ones", (TAUGHT_CLASSES,)
    return recorded(left, LedgerEntry("taught", name, "its training", 0, 0, leaks=leaks))


def refuse_own(dt: Path, given: Mapping[str, Path | None]) -> None:
    """Refuse to fit on the very file that is scored, whatever it is called."""
    from openset.findings import refuse

    for flag, path in given.items():
        if path is not None and path.exists() and path.samefile(dt):
            raise refuse("OS505", f"{flag} {path} is the file that is scored", example=str(dt))


def refuse_strange(found: Detections) -> None:
    """Refuse logits that another layout, or order of the columns, fits better than the stated."""
    from openset.tables.evidence import logit_classes, strange_logits

    wrong = strange_logits(found, logit_classes(found))
    if wrong:
        raise InputError(wrong)


def of_knowns(
    path: Path | None, truth: Path | None, fits: FitFiles, minimum_score: float
) -> Detections | None:
    """Detections of known objects: those that found theirs, or without ground truth sure ones."""
    from openset.matching import right_detections

    if path is None:
        if truth is not None:
            raise UsageError(f"{truth} is the ground truth of detections that are not given")
        return None
    found = fits.read(path)
    if truth is None:
        return found.select(found.score >= minimum_score)
    return right_detections(truth_of(truth, found), found)


def truth_of(path: Path, found: Detections) -> Annotations:
    """The ground truth of detections; refused if of other images, or in another layout."""
    from openset.formats import read_annotations
    from openset.tables.check import check_images, check_layout

    truth = read_annotations(path)
    found_on = [one for one in check_images(truth, found) if one.level is Level.ERROR]
    wrong = [*check_layout(truth), *found_on]
    if wrong:
        raise InputError([replace(one, message=f"{path}: {one.message}") for one in wrong])
    return truth


def told(path: Path | None, truth: Path | None, fits: FitFiles) -> Detections:
    """Detections on objects, and which of these are unknown, for what is fitted on that."""
    from openset.matching import told_detections

    if path is None or truth is None:
        raise UsageError("ebui needs --fit and --fit-truth, in which unknown objects are labelled")
    found = fits.read(path)
    return told_detections(truth_of(truth, found), found)
