"""What labels that name other classes mean: the cause, and the option or the file that mends it.

Which of two lists of names is the wrong one is not always told; then both are named.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from openset.evaluation._label_names import Names
from openset.json_text import compact
from openset.tables.category_ids import POSITIONS
from openset.tables.evidence import logit_classes
from openset.tables.misnaming import FEWEST, mended
from openset.tables.vocabulary import normal, vocabularies
from openset.wording import some

_MOST = 0.8  # of the labels, to speak of all: a rare one may look otherwise
_ANOTHER = "another list, or another order, of classes than that of the ground truth"
# Where both files go by names, either may have the wrong ones.
_EITHER = "give the categories of the ground truth their own names; if these are right, "
_LISTED = 6  # names, fewer of which are in the order of the alphabet by chance


def explained(names: Names, found: dict[int, int], counts: NDArray[np.int64]) -> tuple[str, str]:
    """What it looks like, and the option that reads it."""
    own = np.diag(counts)
    right = np.count_nonzero((own == counts.max(axis=1)) & (own >= FEWEST))
    whole = _of_all(names, found) if right < (1 - _MOST) * len(found) else None
    if whole is not None:
        return whole
    fix = _with_file(*_mapping(names, found, counts))
    if names.detections is None:
        return _ANOTHER, fix
    by_name = bool(names.detections.labels) and not names.called
    if len(found) == 2 and all(found.get(means) == label for label, means in found.items()):
        cause = "two classes are exchanged"
    elif logit_classes(names.detections):
        cause = "the classes of the logits are listed in another order than their columns"
        return cause, "list classes in the order of the columns, and convert with --evidence again"
    else:
        cause = (by_name and _sorted(names)) or _ANOTHER
    return cause, f"{_EITHER}{fix}" if by_name else fix


def _sorted(names: Names) -> str:
    """The cause that the names of the ground truth were sorted, where it looks so."""
    assert names.truth is not None
    listed = [*map(normal, names.truth.labels)]
    orders = (map(normal, one.known) for one in vocabularies().values())
    usual = any([name for name in order if name in listed] == listed for order in orders)
    if len(listed) < _LISTED or listed != sorted(listed) or usual:
        return ""
    return (
        "the names of the ground truth, which are in the order of the alphabet, were sorted while "
        "their numbers stayed; or the detections go by another list, or another order, of classes"
    )


def _mapping(
    names: Names, found: dict[int, int], counts: NDArray[np.int64]
) -> tuple[dict[str, int | str], list[str]]:
    """What labels are to be read as, as a file would say it, and those of which it is not told."""
    (means, left), place, ids = mended(found, counts), names.numbered, names.ids
    said = [names.called.get(name, name) for name in names.all]
    mapping: dict[str, int | str] = {said[d]: names.all[o] for d, o in means.items()}
    if ids:
        pairs = [(ids[place[d]], ids[place[o]]) for d, o in means.items() if {d, o} <= place.keys()]
        mapping = {str(d): o for d, o in sorted(pairs)}
        said = [str(ids[place[at]]) if at in place else name for at, name in enumerate(said)]
    return mapping, [said[at] for at in left]


def _of_all(names: Names, found: dict[int, int]) -> tuple[str, str] | None:
    """The same where hardly a label is right: positions in place of ids, or ids that are off."""
    place, ids = names.numbered, names.ids
    pairs = [(place[d], place[o]) for d, o in found.items() if {d, o} <= place.keys()]
    if not pairs or names.detections is None:
        return None
    most = _MOST * len(pairs)
    for option, first in POSITIONS.items():
        if sum(ids[d] == o + first for d, o in pairs) >= most:
            counted = f"positions in the list of categories, counted from {first}"
            return f"the ids are {counted}", f"category_ids='{option}' reads them"
    step, times = Counter(ids[o] - ids[d] for d, o in pairs).most_common(1)[0]
    if times < most:
        return None
    said = np.unique(names.detections.label).tolist()
    certain = {ids[d]: ids[o] for d, o in pairs}
    rest = [id_ for id_ in said if id_ not in certain]
    by_step = {d: d + step for d in rest if d + step in {*ids} - {*certain.values()}}
    mapping: dict[str, int | str] = {str(d): o for d, o in sorted((certain | by_step).items())}
    fix = _with_file(mapping, [str(id_) for id_ in rest if id_ not in by_step])
    return f"the ids are {abs(step)} too {'low' if step > 0 else 'high'}", fix


def _with_file(mapping: dict[str, int | str], left: list[str]) -> str:
    rare = f", with what {some(left)} mean, which is not told here" if left else ""
    return f"write {compact(mapping)} to a JSON file{rare}, if that is so: category_ids='FILE'"
