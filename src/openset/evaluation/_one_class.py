"""One class for all objects, though sure boxes of other classes lie on them.

Where an exporter writes the same category into every annotation, the list of categories still names
all of them, and a detector finds dogs and cars where everything is called a person. On objects that
are persons indeed there is hardly a sure box of anything else.
"""

from __future__ import annotations

import numpy as np

from openset.evaluation._seen import of_some_images, under
from openset.findings import Finding, Level
from openset.matching import Matches
from openset.matching.near import FITS
from openset.tables.columns import distinct
from openset.wording import some, spaced

_ENOUGH, _CLASSES = 30, 3  # boxes of other classes, and these classes
_SURE = 0.5  # a score
_SHARE = (
    0.2  # of the sure boxes on objects; of persons, cars, chairs that are such it is 0.05 at most
)


def one_class(matches: Matches) -> Finding | None:
    """The finding that all objects have one label, and boxes of other known ones are on them."""
    objects = matches.objects
    used = distinct(objects.label, len(matches.labels))
    if len(used) != 1 or len(matches.labels) <= _CLASSES:
        return None
    rows, _ = of_some_images(matches)
    rows = rows[matches.score[rows] >= _SURE]
    iou, best = under(matches, rows)
    fits = (iou >= FITS) & (best >= 0) & ~objects.ignored[best]
    said = matches.class_at(rows[fits])
    other = said[said != objects.klass[0]]
    classes, times = np.unique(other, return_counts=True)
    if len(other) < max(_ENOUGH, _SHARE * len(said)) or len(classes) < _CLASSES:
        return None
    name, known = matches.labels[used[0]], matches.vocabulary.known
    most = [known[at] for at in classes[np.argsort(-times, kind="stable")].tolist()]
    row = int(rows[fits][said != objects.klass[0]][0])
    return Finding(
        "OS467",
        Level.WARNING,
        f"all {spaced(len(objects))} objects are labelled {name}, of {len(matches.labels)} "
        f"categories, and {len(other)} of {len(said)} boxes on them that score {_SURE:g} or more "
        f"say otherwise: {some(most)}",
        count=len(objects),
        example=f"image {matches.image_ids[matches.image[row]]}, score {matches.score[row]:g}",
    )
