"""Checks that no part of a file is read wrongly: files that were made of two.

Half of the images under other ids, a second half in other pixels, one class with corners: the rest
fits, so that the file as a whole looks like a weak detector. A part is suspected where boxes meet
no object, and refused only if one other reading mends it: clearly more of its images, or objects of
its class, than by chance, and a tenth at least of all that fit. A detector that is bad on some
images, or on a class, is mended by no reading and raises nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_astray import astray
from openset.tables._check_case import Case, share
from openset.tables._look import LOOSE, TIGHT, Look, Met, Sample, beside, by_file
from openset.tables._readings import Reading, fitting, other_boxes, other_ids
from openset.tables.boxes import Convention
from openset.tables.columns import tally
from openset.tables.smaller_pictures import of_smaller_pictures
from openset.wording import some, spaced

_SAMPLE = 400, 20  # images, and boxes of each
_PART = 0.1  # of the images that fit: of those that are wrong, a weak detector's fit seldom
_ASTRAY = 0.05  # likewise, of those that may fit other images
_FEWEST, _TIMES = 8, 3
_POOR = 0.4  # mean overlap of the objects of an image
_SHIFTS = (0.25, 0.5, 0.75)
_OF_A_LABEL, _LABELS = 20, 8  # boxes that are looked at, and labels that may be suspected
_HARDLY = 0.25  # of the share of boxes on objects that the others have


class First(NamedTuple):
    """A first look at a file, as it is read.

    Attributes:
        look: Boxes of some images beside the objects there.
        overlap: Of each pair.
        met: How well objects are met.
    """

    look: Look
    overlap: NDArray[np.float64]
    met: Met

    @classmethod
    def of(cls, case: Case) -> Self:
        """Look at some images."""
        sample = by_file(case, *_SAMPLE)
        look = beside(case.truth, sample, sample.image)
        overlap = look.overlap(Convention.of(case.written.boxes))
        return cls(look, overlap, look.met_by(overlap))


def in_part(case: Case, seen: First) -> Iterator[Finding]:
    """Findings about images, or a class, that another reading fits than the rest."""
    of_images = [*_of_images(case, seen.look.sample, seen.met)]
    yield from of_images or _of_labels(case, seen.look, seen.overlap)


def _of_images(case: Case, sample: Sample, now: Met) -> Iterator[Finding]:
    # Images that are not in the ground truth have no object that could be met.
    missed = (now.boxes > 0) & (now.images(TIGHT[0]) == 0) & (now.means() < _POOR)
    fit, could = int(np.count_nonzero(now.fits())), int(np.count_nonzero(missed))
    # What no reading could make enough of is not read: most files have some such images.
    if could >= max(_FEWEST, _ASTRAY * (could + fit)):
        part = sample.of(missed)
        yield from [*_mended(case, sample, part, fit)] or astray(case, part, fit)


def _mended(case: Case, sample: Sample, part: Sample, fit: int) -> Iterator[Finding]:
    """The finding that another reading fits images that miss their objects."""
    if fit < _FEWEST or len(part.ids) < _PART * (len(part.ids) + fit):
        return
    look = beside(case.truth, part, part.image)
    others = [*other_boxes(case, look), *other_ids(case, part)]
    counts = [int(np.count_nonzero(one.met.fits())) for one in others]
    most = max(counts)
    best = others[next(at for at, count in enumerate(counts) if count >= 0.95 * most)]
    by_chance = max(int(np.count_nonzero(best.elsewhere(part, s).fits())) for s in _SHIFTS)
    if most < max(_FEWEST, _PART * (most + fit), _TIMES * (by_chance + 1)) or fit < _PART * most:
        return
    mended = part.of(best.met.fits())
    of_truth = _of_smaller_pictures(case, look, best)
    cause = f"the {best.kind} of a part of the file are {best.meaning}"
    fix = f"write that part as the rest ({best.option} reads it by itself)"
    if of_truth:
        cause = f"a part of the ground truth is of smaller pictures, and the {best.kind} are not"
        fix = "write the objects of that part in pixels of the stated width and height"
    yield Finding(
        "OS433",
        Level.ERROR,
        f"boxes of {share(most, len(sample.ids), 'images examined')} lie on objects only if "
        f"{best.kind} are read in another way, and of {spaced(fit)} as they are read",
        count=most,
        example=case.where(int(mended.row[0])),
        cause=cause,
        fix=f"{fix}; force=True evaluates as it is",
    )


def _of_smaller_pictures(case: Case, look: Look, best: Reading) -> bool:
    """Whether objects, and not boxes, of these images end before their pictures do."""
    if best.kind != "boxes":
        return False
    kept = best.met.fits()[look.slot]
    size = look.size[look.slot[kept]]
    return of_smaller_pictures(case.truth.box[look.objects[kept]], size) is not None


def _of_labels(case: Case, look: Look, pairs: NDArray[np.float64]) -> Iterator[Finding]:
    """Labels whose boxes lie on no object, although those of other labels do."""
    label = case.detections.label[look.sample.row]
    overlap = look.on_objects(pairs)
    hit, fit = overlap >= LOOSE, int(np.count_nonzero(overlap >= TIGHT[0]))
    values, times = tally(label)
    at = np.searchsorted(values, label)
    rate = np.bincount(at, hit) / times
    poor = (times >= _OF_A_LABEL) & (rate <= _HARDLY * hit.mean())
    found: dict[str, Reading] = {}
    for one in np.flatnonzero(poor)[np.argsort(-times[poor])][:_LABELS]:
        best = misread(case, look.sample.only(at == one))
        if best is not None and best.met.tight()[0] <= fit:  # the others fit as they are
            found[case.label_name(values[one]) or str(values[one])] = best
    if found:
        yield _named(case, found)


def misread(case: Case, sample: Sample) -> Reading | None:
    """A reading that fits boxes of one label better than ours."""
    look = beside(case.truth, sample, sample.image)
    now = look.met(Convention.of(case.written.boxes))
    return fitting(now, sample, [*other_boxes(case, look)])


def _named(case: Case, found: dict[str, Reading]) -> Finding:
    name, best = next(iter(found.items()))
    met = share(best.met.tight()[0], len(best.met.best), "objects examined")
    return Finding(
        "OS434",
        Level.ERROR,
        f"boxes labelled {some(found)} lie on objects only if they are read in another way",
        count=len(found),
        example=f"boxes labelled {name} meet {met} if read so",
        cause=f"the boxes of some classes are {best.meaning}",
        fix=f"write them as those of the other classes ({best.option} reads them by themselves); "
        "force=True evaluates as it is",
    )
