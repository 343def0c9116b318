"""Labels that mean other classes than they say."""

from __future__ import annotations

import json
from copy import deepcopy

import numpy as np
import pytest

import openset
from openset.findings import InputError
from scenes.film import anywhere
from scenes.mistakes import (
    EVALUATE,
    IDS,
    KNOWN,
    NAMES,
    UNKNOWN,
    Mistake,
    answered,
    both,
    codes,
    each,
    good,
    kept,
    nothing,
    with_file,
)


def mapped(new):
    return each("category_id", lambda c: new.get(c, c))


def turned(ids, by=1):
    return mapped(dict(zip(ids, ids[by:] + ids[:by], strict=True)))


def dense(world):
    """Ids of the ground truth from 1 without gaps; "unknown" is the last."""
    new = {old: at + 1 for at, old in enumerate(NAMES)}
    for one in world.gt["categories"]:
        one["id"] = new[one["id"]]
    for one in (*world.gt["annotations"], *world.dt):
        one["category_id"] = new[one["category_id"]]


def renamed(change):
    def spoil(world):
        for one in world.gt["categories"]:
            one["name"] = change(one["name"])

    return spoil


def known_for_unknown(*ids):
    """What is on unknown objects has the numbers of known classes, in turn."""

    def spoil(world):
        strange = {}
        for one in world.gt["annotations"]:
            if NAMES[one["category_id"]] not in KNOWN:
                strange.setdefault(one["image_id"], []).append(one["bbox"])
        for at, one in enumerate(world.dt):
            x, y, w, h = one["bbox"]
            on = strange.get(one["image_id"], [])
            centres = [(x + w / 2 - a, y + h / 2 - b, c, d) for a, b, c, d in on]
            if one["category_id"] == UNKNOWN or any(
                0 < u < c and 0 < v < d for u, v, c, d in centres
            ):
                one["category_id"] = ids[at % len(ids)]
        world.files["m.json"] = {str(ids[0]): "unknown"}

    return spoil


def called_nothing(world):
    world.gt["categories"].append({"id": 99, "name": "None"})
    for one in world.gt["annotations"][::9]:
        one["category_id"] = 99


def by_name(change=lambda name: name):
    """Detections as a table that says labels by name."""

    def spoil(world):
        rows = ["image_id,label,x,y,w,h,score"]
        rows += [
            ",".join(
                map(
                    str,
                    [
                        one["image_id"],
                        change(NAMES[one["category_id"]]),
                        *one["bbox"],
                        one["score"],
                    ],
                )
            )
            for one in world.dt
        ]
        world.files["dt.csv"] = "\n".join(rows) + "\n"

    return spoil


CSV = ("evaluate", "gt.json", "dt.csv", "--known", ",".join(KNOWN), "--no-intervals")
PLACES = {c: at for at, c in enumerate(NAMES)}


def only_known(world):
    world.dt = [one for one in world.dt if one["category_id"] != UNKNOWN]


def sure(world):
    """Every box on an object has the right label."""
    objects = {}
    for one in world.gt["annotations"]:
        objects.setdefault(one["image_id"], []).append(one)
    for one in world.dt:
        near = min(objects[one["image_id"]], key=lambda o: apart(o, one))
        if apart(near, one) < 60:
            one["category_id"] = near["category_id"] if near["category_id"] in IDS[:5] else UNKNOWN


def apart(one, other):
    return sum(abs(a - b) for a, b in zip(one["bbox"], other["bbox"], strict=True))


def rare(world):
    """Traffic lights, of which there are few, for everything: proposals that were given a class."""
    lights = [one for one in world.gt["annotations"] if one["category_id"] == 10]
    gone = {one["id"] for one in lights[len(lights) // 4 :]}
    world.gt["annotations"] = [one for one in world.gt["annotations"] if one["id"] not in gone]
    each("category_id", lambda c: 10)(world)


def background(world):
    """Boxes of the background beside right ones, under the id 0."""
    beside = [one | {"category_id": 0} for one in deepcopy(world.dt[::2])]
    for one in beside:
        one["bbox"][:2] = [one["bbox"][0] + 20, one["bbox"][1] + 20]
    world.dt += beside


def unknown_is(label):
    return each("category_id", lambda c: label if c == UNKNOWN else c)


def without_unknown(world):
    """No category for it: the detector alone has one."""
    world.gt["categories"] = [one for one in world.gt["categories"] if one["id"] != UNKNOWN]


GAPS = dict(zip(NAMES, (2, 3, 4, 5, 6, 8, 9, 10, 91), strict=True))


def with_gaps(world):
    """Ids with gaps, nearly all of which are also places in the list."""
    for one in (*world.gt["annotations"], *world.dt):
        one["category_id"] = GAPS[one["category_id"]]
    for one in world.gt["categories"]:
        one["id"] = GAPS[one["id"]]


def truth_counted(world):
    """Objects whose numbers are places in the list of categories."""
    place = {one["id"]: at + 1 for at, one in enumerate(world.gt["categories"])}
    for one in world.gt["annotations"]:
        one["category_id"] = place[one["category_id"]]


def unlisted_removed(world):
    listed = {one["id"] for one in world.gt["categories"]}
    objects = [one for one in world.gt["annotations"] if one["category_id"] in listed]
    world.gt["annotations"] = objects


BACKWARDS = ("evaluate", "gt.json", "dt.json", "--known", ",".join(KNOWN[::-1]), "--no-intervals")


def backwards(start):
    """Positions in a list of known classes that has another order than the ground truth."""
    place = {c: 4 - at + start for at, c in enumerate(IDS[:5])}
    return both(without_unknown, mapped(place | {UNKNOWN: 5 + start}))


def one_category(world):
    for one in world.gt["annotations"]:
        one["category_id"] = 1


def only_persons(world):
    world.gt["annotations"] = [o for o in world.gt["annotations"] if o["category_id"] == 1]


def no_object(label):
    """Sure boxes anywhere, under a label of their own, in place of those called unknown."""

    def spoil(world):
        rng = np.random.default_rng(0)
        world.dt = [one for one in world.dt if one["category_id"] != UNKNOWN]
        for one in [*world.dt]:
            box = anywhere(np.array([world.size(one)]), rng)[0].round(2).tolist()
            world.dt.append(one | {"category_id": label, "bbox": box, "score": 0.9})

    return spoil


def own_number(world):
    """What the detector calls unknown has a number that the ground truth does not have."""
    each("category_id", lambda c: 92 if c == UNKNOWN else c)(world)


def beginning(world):
    """All boxes are a frequent class, and hardly any is on an object."""
    rng = np.random.default_rng(0)
    for one in world.gt["annotations"][::12]:
        one["category_id"] = 1
    for one in world.dt:
        one["category_id"] = 1
        if rng.random() < 0.65:
            one["bbox"] = anywhere(np.array([world.size(one)]), rng)[0].round(2).tolist()


CASES = [
    Mistake(
        "unknown is -1",
        both(without_unknown, unknown_is(-1)),
        "warned OS306",
        says="unknown_label=-1 counts them",
    ),
    Mistake(
        "unknown is 1000",
        both(without_unknown, unknown_is(1000)),
        "warned OS306",
        says="unknown_label=1000 counts them",
    ),
    Mistake(
        "unknown is -1, and said so",
        both(without_unknown, unknown_is(-1)),
        "accepted",
        ("--unknown-label", "-1"),
    ),
    Mistake(
        "positions in known",
        backwards(0),
        "refused OS307",
        BACKWARDS,
        says="--category-ids known reads them, with --unknown-label 5",
    ),
    Mistake(
        "positions in known from 1",
        backwards(1),
        "refused OS307|OS316",
        BACKWARDS,
        says="--category-ids known1 reads them, with --unknown-label 6",
    ),
    Mistake(
        "positions in known, and said so",
        backwards(0),
        "accepted",
        (*BACKWARDS, "--category-ids", "known", "--unknown-label", "5"),
    ),
    Mistake(
        "positions in known from 1, said to be from 0",
        backwards(1),
        "refused OS316|OS317",
        (*BACKWARDS, "--category-ids", "known", "--unknown-label", "6"),
    ),
    Mistake(
        "positions and an unknown after the last, said to be positions",
        both(without_unknown, mapped(PLACES)),
        "refused OS317",
        ("--category-ids", "index"),
        says="--unknown-label 8",
    ),
    Mistake(
        "positions from 1, said to be from 0, of which one is too many",
        both(without_unknown, only_known, mapped({c: at + 4 for at, c in enumerate(IDS[:5])})),
        "refused OS317",
        ("--category-ids", "index"),
        says="--category-ids index1",
    ),
    Mistake("ids with gaps", with_gaps, "accepted"),
    Mistake(
        "objects counted by places in the list",
        both(with_gaps, truth_counted),
        "refused OS112",
        says="91 in place of 9; do not remove the records",
    ),
    Mistake(
        "likewise, and those not listed removed",
        both(with_gaps, truth_counted, unlisted_removed),
        "refused OS316",
        says="the numbers of the objects are positions in the list of categories, counted from 1",
    ),
    Mistake("background is id 0", background, "warned OS306", says="background"),
    Mistake("likewise, of dense ids", both(dense, background), "warned OS306", says="background"),
    Mistake("positions from 0", mapped(PLACES), "refused OS307|OS316", says="--category-ids index"),
    Mistake(
        "positions from 1",
        mapped({c: at + 1 for c, at in PLACES.items()}),
        "refused OS307|OS316",
        says="--category-ids index1",
    ),
    Mistake(
        "positions from 0, known only",
        both(only_known, mapped(PLACES)),
        "refused OS307|OS316",
        says="--category-ids index",
    ),
    Mistake("positions, and said so", mapped(PLACES), "accepted", ("--category-ids", "index")),
    Mistake(
        "positions from 1, said to be from 0",
        mapped({c: at + 1 for c, at in PLACES.items()}),
        "refused",
        ("--category-ids", "index"),
    ),
    Mistake("right ids, said to be positions", nothing, "refused", ("--category-ids", "index")),
    Mistake(
        "dense ids one too low",
        both(dense, each("category_id", lambda c: c - 1)),
        "refused OS307|OS316",
    ),
    Mistake(
        "dense ids one too high",
        both(dense, each("category_id", lambda c: c + 1)),
        "refused OS316|OS307",
    ),
    Mistake(
        "dense ids one too high, known only",
        both(only_known, dense, each("category_id", lambda c: c + 1)),
        "refused OS316|OS307",
    ),
    Mistake("three in a circle", turned([1, 2, 3]), "refused OS316"),
    Mistake("all known ones in a circle", turned(IDS[:5]), "refused OS316"),
    Mistake(
        "all known ones backwards",
        mapped(dict(zip(IDS[:5], IDS[4::-1], strict=True))),
        "refused OS316",
    ),
    Mistake(
        "person and car exchanged",
        mapped({1: 3, 3: 1}),
        "refused OS316",
        says="two classes are exchanged",
    ),
    Mistake(
        "unknown and person exchanged",
        both(sure, mapped({UNKNOWN: 1, 1: UNKNOWN})),
        "refused OS316",
        says="unknown and of person are exchanged",
    ),
    Mistake(
        "exchanged, and a file says so",
        both(mapped({1: 3, 3: 1}), with_file("m.json", {"1": 3, "3": 1})),
        "accepted",
        ("--category-ids", "m.json"),
    ),
    Mistake(
        "a file that maps to nowhere",
        with_file("m.json", {"1": 777}),
        "refused OS317",
        ("--category-ids", "m.json"),
    ),
    Mistake(
        "a file of names",
        both(mapped(PLACES), with_file("m.json", {str(at): NAMES[c] for c, at in PLACES.items()})),
        "accepted",
        ("--category-ids", "m.json"),
    ),
    Mistake(
        "a file that maps two to one",
        both(with_file("m.json", {"1": 1, "2": 1})),
        "accepted",
        ("--category-ids", "m.json"),
    ),
    Mistake(
        "an empty mapping", with_file("m.json", "{}"), "accepted", ("--category-ids", "m.json")
    ),
    Mistake(
        "a mapping that is a list of names",
        both(mapped(PLACES), with_file("m.json", [*NAMES.values()])),
        "usage",
        ("--category-ids", "m.json"),
    ),
    Mistake(
        "a mapping that is a picture",
        with_file("m.json", b"\x89PNG\r\n"),
        "usage",
        ("--category-ids", "m.json"),
    ),
    Mistake("a mapping that is not there", nothing, "usage", ("--category-ids", "nowhere.json")),
    Mistake(
        "every label is one class",
        each("category_id", lambda c: 1),
        "warned OS331",
        says="single_cls",
    ),
    Mistake("no object, kept as a class", no_object(92), "warned OS306", says="'no object'"),
    Mistake("unknown under a number", own_number, "warned OS306", says="calls unknown"),
    Mistake("no object, read as unknown", no_object(92), "warned OS349", ("--unknown-label", "92")),
    Mistake("unknown boxes on nothing", no_object(UNKNOWN), "warned OS349"),
    Mistake("a detector of one class", kept(lambda one: one["category_id"] == 1), "accepted"),
    Mistake("one class, of a detector that begins", beginning, "accepted OS331"),
    Mistake("every label is a rare class", rare, "warned OS331", says="traffic light"),
    Mistake("a known class for unknown", known_for_unknown(10), "warned OS350", says="light"),
    Mistake(
        "likewise, and a file says so",
        known_for_unknown(10),
        "accepted",
        ("--category-ids", "m.json"),
    ),
    Mistake(
        "unknown objects under all known names", known_for_unknown(1, 2, 3, 10, 17), "accepted"
    ),
    Mistake(
        "labels that are missing values",
        by_name(lambda n: "nan" if n == "car" else n),
        "refused OS338",
        CSV,
    ),
    Mistake("objects without a label", called_nothing, "warned OS338"),
    Mistake(
        "a class that is called none",
        both(renamed(lambda n: "None" if n == "dog" else n), nothing),
        "warned OS338",
    ),
    Mistake("one category in every annotation", one_category, "warned OS467", says="car"),
    Mistake("ids of another list", each("category_id", lambda c: c + 500), "refused OS306"),
    Mistake("ids as text", each("category_id", lambda c: str(c)), "accepted"),
    Mistake("ids with a fraction", each("category_id", lambda c: c + 0.5), "refused OS108"),
    Mistake("ids as 1.0", each("category_id", lambda c: float(c)), "accepted"),
    Mistake("names in a table", by_name(), "accepted", CSV),
    Mistake("names in capitals", by_name(str.upper), "accepted", CSV),
    Mistake("names with underscores", by_name(lambda n: n.replace(" ", "_")), "accepted", CSV),
    Mistake("names with a plural s", by_name(lambda n: n + "s"), "refused OS306", CSV),
    Mistake(
        "one name with a plural s",
        by_name(lambda n: "persons" if n == "person" else n),
        "refused OS306",
        CSV,
        says="'persons' for 'person'",
    ),
    Mistake(
        "likewise, and a file says so",
        both(
            by_name(lambda n: "persons" if n == "person" else n),
            with_file("m.json", {"persons": "person"}),
        ),
        "accepted",
        (*CSV, "--category-ids", "m.json"),
    ),
    Mistake(
        "another name for a class",
        by_name(lambda n: "human" if n == "person" else n),
        "warned OS306",
        CSV,
        says="'human' for 'person'",
    ),
    Mistake(
        "a class more, and none less",
        by_name(lambda n: "zebra" if n == "unknown" else n),
        "warned OS305",
        CSV,
    ),
    Mistake(
        "another word for unknown",
        by_name(lambda n: "novel object" if n == "unknown" else n),
        "warned OS306",
        CSV,
        says="unknown_label='novel object'",
    ),
    Mistake(
        "likewise, and said so",
        by_name(lambda n: "novel object" if n == "unknown" else n),
        "accepted",
        (*CSV, "--unknown-label", "novel object"),
    ),
    Mistake(
        "names exchanged",
        by_name(lambda n: {"cat": "car", "car": "cat"}.get(n, n)),
        "refused OS316",
        CSV,
    ),
    Mistake(
        "names that are numbers", by_name(lambda n: str([*NAMES.values()].index(n))), "refused", CSV
    ),
    Mistake(
        "two categories of one name", renamed(lambda n: "cat" if n == "dog" else n), "warned OS313"
    ),
    Mistake("truth of capitals", renamed(str.title), "accepted"),
    Mistake("names of the truth with blanks", renamed(lambda n: f" {n} "), "accepted"),
    Mistake("all categories of one name", renamed(lambda n: "object"), "refused"),
    Mistake(
        "an unused category more",
        lambda w: w.gt["categories"].append({"id": 50, "name": "spoon"}),
        "accepted",
    ),
    Mistake(
        "category without a name", lambda w: w.gt["categories"][0].pop("name"), "refused OS107"
    ),
    Mistake("no categories", lambda w: w.gt.pop("categories"), "refused OS107"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_mistake_in_classes(case, here, openset):
    assert answered(case, here, openset) == ""


def test_the_mapping_that_is_advised_is_of_what_the_file_says(here, openset):
    """Numbers by another list: by positions they are wrong, and as advised they fit."""
    world, known = good(), IDS[:5]
    world.dt = [one for one in world.dt if one["category_id"] in known]
    each("category_id", lambda c: (known.index(c) + 1) % 5)(world)
    world.write(here)
    done = openset(*EVALUATE, "--category-ids", "index", "--json")
    (wrong,) = done.json["error"]["findings"]
    assert wrong["code"] == "OS316"
    mapping = json.JSONDecoder().raw_decode(wrong["fix"].partition("write ")[2])[0]
    assert mapping == {str((at + 1) % 5): NAMES[key] for at, key in enumerate(known)}
    (here / "m.json").write_text(json.dumps(mapping))
    assert openset(*EVALUATE, "--category-ids", "m.json").code == 0


def test_objects_that_are_of_one_class_indeed(here, openset):
    world = good()
    only_persons(world)
    world.write(here)
    assert "OS467" not in codes(openset(*EVALUATE, "--json").json)


CLASSES = [f"class {one}" for one in range(12)]


def in_memory(shift, lacking):
    """Lists of a dictionary per image: labels of the targets count from 1, as do the outputs'."""
    rng, there = np.random.default_rng(0), [one for one in range(12) if one != lacking]
    targets, outputs = [], []
    for _ in range(150):
        low = rng.uniform(0, 300, (4, 2))
        box = np.hstack([low, low + rng.uniform(40, 90, (4, 2))])
        label = rng.choice(there, 4) + 1
        targets.append({"boxes": box, "labels": label})
        found = {"boxes": box + rng.uniform(-2, 2, (4, 4)), "labels": label + shift}
        outputs.append(found | {"scores": rng.uniform(0.3, 1, 4)})
    return targets, outputs


@pytest.mark.parametrize("lacking", [4, 0])
@pytest.mark.parametrize(("shift", "fix"), [(-1, "labels plus 1"), (1, "write {"), (0, "")])
def test_names_with_a_background_and_labels_without(shift, fix, lacking):
    """The ground truth lacks a class, so that places among its classes fit in part."""
    targets, outputs = in_memory(shift, lacking)
    known = [one for at, one in enumerate(CLASSES[:9]) if at != lacking]
    options = {"known": known, "names": ["__background__", *CLASSES, "further"]}
    if not fix:
        result = openset.evaluate(targets, outputs, intervals=False, **options)
        assert "OS316" not in {one.code for one in result.findings}
        return
    with pytest.raises(InputError) as caught:
        openset.evaluate(targets, outputs, intervals=False, **options)
    (said,) = [one for one in caught.value.findings if one.code == "OS316"]
    assert said.fix.startswith(fix), said
