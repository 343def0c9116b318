"""What scripts and training loops hand over in memory: too few, too wide, in batches, twice."""

from __future__ import annotations

import numpy as np
import pytest

from openset import Evaluator, evaluate
from openset.findings import InputError, UsageError
from openset.formats import read_detections
from scenes.mistakes import IDS, KNOWN, NAMES, UNKNOWN, good

PLAIN = {"known": [*KNOWN], "names": NAMES, "intervals": False, "metrics": ["ap_known", "udr"]}


def dictionaries(records, images, ids):
    """A dictionary for each image, as torchvision's models give them."""
    held = {one["id"]: [] for one in images}
    for one in records:
        held[one["image_id"]].append(one)
    made = []
    for name, some in held.items():
        box = np.array([one["bbox"] for one in some], float).reshape(-1, 4)
        box[:, 2:] += box[:, :2]
        one = {"boxes": box, "labels": np.array([one["category_id"] for one in some], int)}
        if records and "score" in records[0]:
            one["scores"] = np.array([one["score"] for one in some], float)
        made.append(one | ({"image_id": name} if ids else {}))
    return made


def loop(ids=False):
    world = good(40)
    return [
        dictionaries(part, world.gt["images"], ids) for part in (world.gt["annotations"], world.dt)
    ]


def every(change):
    return lambda found: [one | change(one) for one in found]


RIGHT = {
    "as they are": lambda found: found,
    "scores in a column": every(lambda one: {"scores": one["scores"][:, None]}),
    "labels in a column": every(lambda one: {"labels": one["labels"][:, None]}),
}
WRONG = {
    "a batch less": (lambda found: found[:-4], "36 predictions.*drop_last"),
    "a batch in brackets": (lambda found: [found[:20], found[20:]], "predictions|batches"),
    "one list in a list": (lambda found: [found], "list of batches"),
    "scores of all classes": (
        every(lambda one: {"scores": np.repeat(one["scores"][:, None], 5, 1)}),
        "OS108.*values of all classes",
    ),
    "labels one-hot": (
        every(lambda one: {"labels": np.eye(100, dtype=int)[one["labels"]]}),
        "OS108.*one-hot",
    ),
    "boxes filtered alone": (
        every(lambda one: {"boxes": one["boxes"][:-1]}),
        r"OS108.*boxes\[keep\]",
    ),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_what_is_meant_is_read(kind):
    targets, found = loop()
    plain = evaluate(targets, found, **PLAIN).flat()
    assert evaluate(targets, RIGHT[kind](found), **PLAIN).flat() == plain


@pytest.mark.parametrize("kind", WRONG)
def test_what_cannot_be_meant_is_refused_with_its_cause(kind):
    targets, found = loop()
    change, said = WRONG[kind]
    with pytest.raises(InputError, match=f"(?s){said}"):
        evaluate(targets, change(found), **PLAIN)


def test_unknown_may_have_a_number_below_zero():
    targets, found = loop()
    numbers = {key: name for key, name in NAMES.items() if key != UNKNOWN} | {-1: "unknown"}
    for one in (*targets, *found):
        one["labels"] = np.where(np.isin(one["labels"], IDS[:5]), one["labels"], -1)
    result = evaluate(targets, found, **PLAIN | {"names": numbers})
    assert result.provenance.counts["unknown_objects"] > 0
    with pytest.raises(InputError, match="OS117"):
        evaluate(targets, found, **PLAIN | {"names": numbers | {-1: "cat"}})


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("tried", [0, 2])
def test_batches_that_a_loop_tries_first_and_does_not_forget(ids, tried):
    targets, found = loop(ids)
    streaming = Evaluator(**PLAIN)
    starts = [*range(0, 8 * tried, 8), *range(0, 40, 8)]
    for at in starts:
        streaming.update(targets[at : at + 8], found[at : at + 8])
    if ids and tried:
        with pytest.raises(UsageError, match="reset"):
            streaming.compute()
        return
    said = [one for one in streaming.compute().findings if one.code == "OS425"]
    assert len(said) == bool(tried)
    assert all("reset()" in one.fix for one in said)


def test_sizes_where_dictionaries_have_corners_and_the_fix_helps():
    targets, found = loop()
    plain = evaluate(targets, found, **PLAIN).flat()
    for one in found:
        one["boxes"][:, 2:] -= one["boxes"][:, :2]
    with pytest.raises(InputError, match=r"OS215.*(?s:.)*box_format='xywh'"):
        evaluate(targets, found, **PLAIN)
    mended = evaluate(targets, read_detections(found, box_format="xywh"), **PLAIN).flat()
    assert mended == pytest.approx(plain)


LISTED = [name for name in NAMES.values() if name != "unknown"]


@pytest.mark.parametrize("last", [True, False])
def test_labels_from_one_and_names_from_zero(last):
    """As torchvision counts, whose 0 is background; the last class alone has no name then."""
    targets, found = loop()
    place = {id_: at for at, id_ in enumerate(IDS)}
    for one, first in [(one, 0) for one in targets] + [(one, 1) for one in found]:
        kept = np.isin(one["labels"], IDS if last else IDS[:-1])
        for key in one:
            one[key] = one[key][kept]
        one["labels"] = np.array([place[x] + first for x in one["labels"].tolist()], int)
    named = PLAIN | {"names": LISTED if last else LISTED[:-1]}
    if last:  # the last one is found somewhere
        found[0]["labels"][0] = len(LISTED)
    with pytest.raises(InputError, match=r"(?s)OS31[67].*(label less 1|labels less 1)"):
        evaluate(targets, found, **named)
    for one in found:
        one["labels"] = one["labels"] - 1
    evaluate(targets, found, **named)
