"""Check: everything that is wrong with an input, before any number is computed.

A wrong but plausible number costs more than an exception, so an evaluation starts here. Errors
stop it unless it is forced; warnings and notes travel with the result. Every finding says how many
records it concerns, shows the first, and names the likely cause and the fix.

The cost is one pass over the columns: cheap reductions first, masks only once something is wrong.
Some look at a part of large files only: duplicates (the first 50 000 detections by image), copies
and other readings (some images), more than 100 detections per class (the first 500 images with so
many) and names that look like sequences (the first 50 000 images).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from openset.findings import Finding, Level
from openset.tables._check_ambiguous import of_several_images
from openset.tables._check_annotated import single_crowds, truth_annotated, truth_crowds
from openset.tables._check_both_roles import known_as_unknown
from openset.tables._check_boxes import detected_boxes, truth_boxes
from openset.tables._check_carried import carried_on
from openset.tables._check_case import Case
from openset.tables._check_chance import unknown_by_chance
from openset.tables._check_collided import collided
from openset.tables._check_federated import federated
from openset.tables._check_grid import on_a_grid
from openset.tables._check_groups import group_sizes, groups_unsaid, truth_groups
from openset.tables._check_join import (
    batches_stopped,
    detected_images,
    films,
    float_ids,
    no_match,
    other_images,
    truth_records,
)
from openset.tables._check_labels import detected_labels, truth_labels, vocabulary_labels
from openset.tables._check_left_out import left_out
from openset.tables._check_names import truth_names
from openset.tables._check_negative import MEANINGS
from openset.tables._check_one_each import one_box_each, one_object_each
from openset.tables._check_passes import in_passes, sorted_together
from openset.tables._check_per_image import scaled_scores, scaled_unknownness
from openset.tables._check_reach import cut_off
from openset.tables._check_readings import read_otherwise
from openset.tables._check_score_of_class import scores_of_classes
from openset.tables._check_score_parts import scores_in_part
from openset.tables._check_scores import scores
from openset.tables._check_sets import truth_sets
from openset.tables._check_shifted import slipped
from openset.tables._check_turned import mirrored_too, turned_too
from openset.tables._check_twice import (
    detected_twice,
    objects_again,
    shown_twice,
    truth_twice,
)
from openset.tables._check_unknownness import unknownness
from openset.tables._check_unsized import pixels_on_shares
from openset.tables.absent_labels import detected_files, truth_files, truth_lists
from openset.tables.annotations import Annotations, without_objects
from openset.tables.detections import Detections
from openset.tables.join import Joined
from openset.tables.left_open import LeftOpen
from openset.tables.vocabulary import Vocabulary
from openset.tables.written import Written

__all__ = [
    "batches_stopped",
    "beside_detections",
    "check",
    "check_alone",
    "check_detections",
    "check_federated",
    "check_images",
    "check_known",
    "check_layout",
    "check_truth",
    "films",
    "group_sizes",
    "groups_unsaid",
    "in_order",
    "no_match",
    "shown_twice",
    "with_truth",
]

# Layouts that boxes betray by themselves, and what a wrong reading looks like.
_PLAIN = ("OS203", "OS204")
_READ, _PARTLY = (
    ("OS215", "OS230", "OS423", "OS439"),
    ("OS433", "OS448"),
)  # a whole, or a part, is read wrongly
_EXPLAINED = (*_PLAIN, "OS205", "OS207", "OS403")
# What is said of detections whose objects are read wrongly themselves.
_OF_OBJECTS = (*_READ, *_PARTLY, "OS207", "OS410", "OS424", "OS430", "OS434", "OS438")
_OF_SIZES = ("OS438",)  # said of shares that were multiplied by sizes which are exchanged
_OF_LAYOUT = ("OS207", "OS211", "OS219", "OS241")  # of objects that are read wrongly
_DROPS = re.compile(r"[;,] drop_invalid=True leaves [a-z ]+ out")
_ORDER = (Level.ERROR, Level.WARNING, Level.NOTE)


def check(
    truth: Annotations, detections: Detections | None, vocabulary: Vocabulary
) -> list[Finding]:
    """Find what is wrong with a ground truth and detections.

    Args:
        truth: The ground truth.
        detections: What a detector said, or None to check the ground truth alone.
        vocabulary: Which labels are known.

    Returns:
        Errors first, then warnings, then notes; by code within each.

    >>> from openset.tables import Annotations, Images, Vocabulary
    >>> truth = Annotations(Images([1]), ("dog", "unknown"), [0], [0], [[0, 0, 9, 0]])
    >>> [finding.code for finding in check(truth, None, Vocabulary.of(["dog"]))]
    ['OS206', 'OS302']
    """
    findings = check_truth(truth, vocabulary)
    if detections is not None:
        written = Written(detections)
        found = check_detections(truth, vocabulary, written, written.read(truth, vocabulary))
        found = with_truth(findings, found)
        findings = [*beside_detections(findings, found), *found]
    return in_order(findings)


def check_truth(truth: Annotations, vocabulary: Vocabulary) -> list[Finding]:
    """Find what is wrong with a ground truth alone."""
    with np.errstate(all="ignore"):
        return in_order([*_of_truth(truth, vocabulary)])


def check_alone(
    table: Annotations | Detections,
    truth: Annotations | None = None,
    vocabulary: Vocabulary | None = None,
) -> list[Finding]:
    """Find what is wrong with a file whatever it is used for, its roles apart; as warnings.

    Args:
        table: Ground truth or detections.
        truth: For detections, the images that they are on, with their objects, if these are known.
        vocabulary: Roles of the labels, if anybody has said them.
    """
    with np.errstate(all="ignore"):
        found = (
            _plain(table, vocabulary) if isinstance(table, Annotations) else _boxes_of(table, truth)
        )
        told = [_without_dropping(one) for one in found if one.level is not Level.NOTE]
    return in_order(replace(one, level=Level.WARNING).without_force() for one in told)


def _without_dropping(one: Finding) -> Finding:
    """The same for who does not measure, and has no option that leaves records out."""
    return replace(one, fix=_DROPS.sub("", one.fix)) if _DROPS.search(one.fix) else one


def _plain(truth: Annotations, vocabulary: Vocabulary | None) -> Iterator[Finding]:
    yield from truth_boxes(truth)
    yield from truth_names(truth, vocabulary)
    yield from truth_twice(truth)
    yield from truth_crowds(truth)
    yield from truth_lists(truth)
    yield from federated(truth)


def _boxes_of(detections: Detections, truth: Annotations | None) -> Iterator[Finding]:
    """What is wrong with boxes and scores; labels mean something to a vocabulary alone."""
    if truth is None:
        truth = without_objects(detections.image)
    vocabulary = Vocabulary(())
    written = Written(detections, LeftOpen.of(detections).boxes or "xywh")
    read, joined = written.read(truth, vocabulary)
    case = Case(truth, read, vocabulary, joined, written)
    if len(truth):
        yield from (one for one in _of_detections(case) if one.code[2] == "2" or one.code in _READ)
    else:
        yield from detected_boxes(case)
        yield from scores(case)


def check_layout(truth: Annotations) -> list[Finding]:
    """Find boxes of a ground truth that are no x, y, width, height in pixels."""
    with np.errstate(all="ignore"):
        return [one for one in truth_boxes(truth) if one.code in _PLAIN]


def check_detections(
    truth: Annotations,
    vocabulary: Vocabulary,
    written: Written,
    read: tuple[Detections, Joined],
) -> list[Finding]:
    """Find what is wrong with detections, as written and as read with the ground truth."""
    detections, joined = read
    with np.errstate(all="ignore"):
        return in_order(_of_detections(Case(truth, detections, vocabulary, joined, written)))


def with_truth(truth: Iterable[Finding], found: list[Finding]) -> list[Finding]:
    """What was found about detections, less what wrong boxes of the ground truth explain."""
    told = [*truth]
    wrong = any(one.code in _PLAIN or one.cause in MEANINGS for one in told)
    kept = [one for one in found if not (wrong and one.code in _OF_OBJECTS)]
    if not any(one.code == "OS219" for one in told):
        return kept
    return [*map(_y_first, (one for one in kept if one.code not in _OF_SIZES))]


def _y_first(one: Finding) -> Finding:
    """Boxes that fit objects with y first, where objects leave their images: these have y first."""
    if one.code != "OS215" or not one.fix.startswith("boxes='yxhw'"):
        return one
    cause = "the ground truth is y, x, height, width"
    fix = "write x, y, width, height in the ground truth; force=True evaluates as they are"
    return replace(one, code="OS430", cause=cause, fix=fix)


def beside_detections(truth: Iterable[Finding], found: Iterable[Finding]) -> list[Finding]:
    """What was found about the ground truth alone, less what detections say better.

    Objects that end before their pictures do (OS241), or beyond them (OS207, OS211), are one with a
    ground truth that fits in another layout, or as of pictures of another size (OS430). So are
    images whose width and height look exchanged (OS219).
    """
    fits = any(one.code == "OS430" for one in found)
    return [one for one in truth if not (fits and one.code in _OF_LAYOUT)]


def check_federated(truth: Annotations) -> list[Finding]:
    """Find that classes of a ground truth were not looked for on every image."""
    return [*federated(truth)]


def check_known(truth: Annotations, vocabulary: Vocabulary) -> list[Finding]:
    """Find known labels that a ground truth lacks, if all or by a slip of the pen; as warnings."""
    found = vocabulary_labels(truth, vocabulary, vocabulary.classes(truth.labels))
    return [replace(one, level=Level.WARNING) for one in found if one.level is not Level.NOTE]


def check_images(truth: Annotations, detections: Detections) -> list[Finding]:
    """Find detections on images that the ground truth does not have."""
    written, vocabulary = Written(detections), Vocabulary(())  # roles play no part
    read, joined = written.read(truth, vocabulary)
    return [*other_images(Case(truth, read, vocabulary, joined, written))]


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, then warnings, then notes; by code within each."""
    return sorted(findings, key=lambda finding: (_ORDER.index(finding.level), finding.code))


def _of_truth(truth: Annotations, vocabulary: Vocabulary) -> Iterator[Finding]:
    boxes = [*truth_boxes(truth)]
    whole = any(one.code == "OS246" for one in boxes)  # of which many lie on each other
    yield from boxes
    yield from truth_labels(truth, vocabulary)
    yield from truth_names(truth, vocabulary)
    yield from truth_records(truth)
    yield from truth_files(truth)
    yield from truth_lists(truth)
    yield from truth_groups(truth)
    yield from (one for one in truth_twice(truth) if not (whole and one.code == "OS216"))
    yield from known_as_unknown(truth, vocabulary)
    yield from truth_sets(truth, vocabulary)
    yield from truth_annotated(truth, vocabulary)
    yield from federated(truth)


def _of_detections(case: Case) -> list[Finding]:
    lost = [*float_ids(case)] or [*of_several_images(case)] or [*pixels_on_shares(case)]
    if lost:  # all else would speak of other images, or of their corners
        return lost
    elsewhere = case.per_image[-1] == len(case.detections)  # whose sizes nobody knows
    boxes, again = [] if elsewhere else [*detected_boxes(case)], [*carried_on(case)]
    otherwise = again or [*read_otherwise(case)]
    if case.written.boxes == "xywh" and any(one.code in _PLAIN for one in boxes):
        boxes, otherwise = _with_fix_of(boxes, otherwise), []
    elif not {one.code for one in otherwise} - {"OS433"}:
        cut = [*cut_off(case)]  # of tiles, a few fit by chance if they are read in another way
        boxes, otherwise = [*boxes, *cut], [] if cut else otherwise
    copied = [*objects_again(case)]  # which are no second detector
    passes = copied or [*mirrored_too(case)] or [*in_passes(case)]
    passes = passes or ([] if otherwise else [*turned_too(case)])
    passes = passes or [*([] if again else sorted_together(case)), *detected_twice(case)]
    if grid := [*on_a_grid(case)]:  # on which boxes of one object fall together
        passes = [*grid, *(one for one in passes if one.code != "OS210")]
    rest = [
        *boxes,
        *scores(case),
        *scores_in_part(case),
        *slipped(case),
        *detected_labels(case),
        *passes,
    ]
    rest += [*unknownness(case), *detected_images(case), *detected_files(case)]
    rest += [*scaled_scores(case), *scaled_unknownness(case), *scores_of_classes(case)]
    if not otherwise:
        rest += [*left_out(case), *single_crowds(case), *unknown_by_chance(case), *collided(case)]
        rest += [*one_box_each(case), *one_object_each(case)]
    said = {one.code for one in otherwise}
    if any(one.code == "OS205" and 2 * one.count > len(case.detections) for one in boxes):
        otherwise = [one for one in otherwise if one.code != "OS424"]  # nothing overlaps then
    explained = {*_EXPLAINED} if said & {*_READ} else {"OS207"} if said & {*_PARTLY} else set()
    if "OS423" in said:
        explained.add("OS426")  # ids of other images end before, or begin after, those of these
    return [*otherwise, *(one for one in rest if one.code not in explained)]


def _with_fix_of(boxes: list[Finding], otherwise: list[Finding]) -> list[Finding]:
    """Findings about layouts, with the one convention that fits the objects as cause and fix."""
    fits = next((one for one in otherwise if one.code == "OS215"), None)
    if fits is None:
        return boxes
    return [
        replace(one, cause=fits.cause, fix=fits.fix) if one.code in _PLAIN else one for one in boxes
    ]
