"""What is known, unknown and ignored, stated wrongly; and detectors that were taught it all."""

from __future__ import annotations

import pytest

from scenes.mistakes import (
    KNOWN,
    NAMES,
    UNKNOWN,
    Mistake,
    answered,
    both,
    each,
    kept,
    nothing,
    with_file,
)

UNKNOWN_NAMES = "dog,horse,sheep"
LEAD = "This is not an open-set result"


def known(*words, argv=()):
    return (
        "evaluate",
        "gt.json",
        "dt.json",
        *(w for k in words for w in ("--known", k)),
        "--no-intervals",
        *argv,
    )


def taught(world):
    """Unknown objects are called by their names."""
    at = {}
    for one in world.gt["annotations"]:
        at.setdefault(one["image_id"], []).append(one)
    for one in world.dt:
        if one["category_id"] == UNKNOWN:
            near = min(
                at[one["image_id"]],
                key=lambda o: sum(abs(a - b) for a, b in zip(o["bbox"], one["bbox"], strict=True)),
            )
            one["category_id"] = near["category_id"]


def stated(world):
    for one in world.gt["categories"]:
        one["role"] = "known" if one["name"] in KNOWN else "unknown"


def ids_as(value):
    return each("category_id", lambda c: value if c == UNKNOWN else c)


ALL = ",".join(KNOWN)


def unknown_crowds(world):
    for one in world.gt["annotations"]:
        one["iscrowd"] = int(NAMES[one["category_id"]] not in KNOWN)


CASES = [
    Mistake("unknown objects are crowds", unknown_crowds, "warned OS302", says="(iscrowd)"),
    Mistake("taught the unknown classes", taught, "warned OS305", says=LEAD),
    Mistake("taught, and dropped", taught, "warned OS305", ("--leaked", "drop"), says=LEAD),
    Mistake(
        "known lists classes that are unknown",
        taught,
        "warned OS305",
        known(UNKNOWN_NAMES),
        says=LEAD,
    ),
    Mistake(
        "known lists the unknown classes, which are never named",
        nothing,
        "refused OS327",
        known(UNKNOWN_NAMES),
    ),
    Mistake(
        "known lists all classes", nothing, "warned OS302", known(",".join([*NAMES.values()][:-1]))
    ),
    Mistake("known lists unknown as well", nothing, "refused", known(ALL + ",unknown")),
    Mistake("the truth states other roles", stated, "refused OS327", known(ALL + ",dog")),
    Mistake("the truth states the roles", stated, "accepted", known()),
    Mistake("a built-in and names", nothing, "refused OS329", known("voc20,zebra")),
    Mistake("two built-ins", nothing, "refused OS329", known("voc20", "coco80")),
    Mistake("a built-in in capitals", nothing, "usage", known("VOC20")),
    Mistake(
        "names that are longer than a file name",
        nothing,
        "accepted",
        known(ALL + "," + ",".join(f"thing {n}" for n in range(400))),
    ),
    Mistake("one word longer than a file name", nothing, "usage", known("x" * 300)),
    Mistake("names apart by semicolons", nothing, "usage", known(ALL.replace(",", ";"))),
    Mistake("names apart by comma and blank", nothing, "accepted", known(ALL.replace(",", ", "))),
    Mistake("a name twice", nothing, "usage", known(ALL + ",cat")),
    Mistake("an empty name", nothing, "accepted", known(ALL + ",")),
    Mistake("nothing known", nothing, "usage", known("")),
    Mistake("known is a folder", nothing, "usage", known(".")),
    Mistake("known is the ground truth", nothing, "usage", known("gt.json")),
    Mistake("known in a file", with_file("k.txt", "\n".join(KNOWN)), "accepted", known("k.txt")),
    Mistake(
        "known in a file of Windows",
        with_file("k.txt", b"\xef\xbb\xbf" + "\r\n".join(KNOWN).encode()),
        "accepted",
        known("k.txt"),
    ),
    Mistake(
        "known in a file of UTF-16",
        with_file("k.txt", "\n".join(KNOWN).encode("utf-16")),
        "usage",
        known("k.txt"),
    ),
    Mistake("known in a line with commas", with_file("k.txt", ALL), "accepted", known("k.txt")),
    Mistake(
        "known in a line with blanks and commas",
        with_file("k.txt", " , ".join(KNOWN)),
        "accepted",
        known("k.txt"),
    ),
    Mistake(
        "known with a comma at the end of lines",
        with_file("k.txt", ",\n".join(KNOWN)),
        "accepted",
        known("k.txt"),
    ),
    Mistake("known in an empty file", with_file("k.txt", ""), "usage", known("k.txt")),
    Mistake("known in a JSON list", with_file("k.json", [*KNOWN]), "usage", known("k.json")),
    Mistake(
        "one known class misspelt",
        nothing,
        "warned OS305",
        known("person,bicicle,car,traffic light,cat"),
        says="First look at a slip of the pen",
    ),
    Mistake("known misspelt", nothing, "refused OS327|OS310|OS306", known("persn,bycicle,kar")),
    Mistake(
        "one known class misspelt",
        nothing,
        "warned OS305",
        known(ALL.replace("bicycle", "bycicle")),
        says="bycicle",
    ),
    Mistake("unknown label is a known class", nothing, "refused OS328", ("--unknown-label", "cat")),
    Mistake(
        "unknown label is a known id", nothing, "refused OS328|OS314", ("--unknown-label", "17")
    ),
    Mistake(
        "unknown label that nobody says", nothing, "refused OS314", ("--unknown-label", "stuff")
    ),
    Mistake("unknown is id 81", ids_as(81), "warned OS306"),
    Mistake("unknown is id 81, and said so", ids_as(81), "accepted", ("--unknown-label", "81")),
    Mistake("unknown is id -1", ids_as(-1), "warned OS306", says="unknown_label=-1"),
    Mistake(
        "unknown is id -1 of a detector that names unknown classes",
        each("category_id", lambda c: {UNKNOWN: -1, 17: 18}.get(c, c)),
        "warned OS306",
        says="unknown_label=-1",
    ),
    Mistake(
        "unknown is id -1 beside another id that is absent",
        each("category_id", lambda c: {UNKNOWN: -1, 17: 400}.get(c, c)),
        "warned OS306",
        says="unknown_label=-1",
    ),
    Mistake("unknown is id -1, and said so", ids_as(-1), "accepted", ("--unknown-label=-1",)),
    Mistake("unknown is id 0", ids_as(0), "warned OS306"),
    Mistake("unknown is id 0, and said so", ids_as(0), "accepted", ("--unknown-label", "0")),
    Mistake(
        "an ignored class",
        with_file("k.toml", f'known = {[*KNOWN]}\nignored = ["sheep"]\n'),
        "accepted",
        known("k.toml"),
    ),
    Mistake(
        "all but the known ignored",
        with_file("k.toml", f'known = {[*KNOWN]}\nrest = "ignored"\n'),
        "warned OS302",
        known("k.toml"),
    ),
    Mistake(
        "known and ignored at once",
        with_file("k.toml", f'known = {[*KNOWN]}\nignored = ["cat"]\n'),
        "usage",
        known("k.toml"),
    ),
    Mistake(
        "a role that is none",
        with_file("k.toml", f'known = {[*KNOWN]}\nrest = "background"\n'),
        "usage",
        known("k.toml"),
    ),
    Mistake(
        "a vocabulary with a misspelt key",
        with_file("k.toml", f"knwon = {[*KNOWN]}\n"),
        "usage",
        known("k.toml"),
    ),
    Mistake(
        "no roles at all",
        both(lambda w: w.gt["categories"].pop(), kept(lambda o: o["category_id"] != UNKNOWN)),
        "refused OS301",
        known(),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_mistake_in_roles(case, here, openset):
    assert answered(case, here, openset) == ""
