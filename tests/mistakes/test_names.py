"""Names of labels that mislead: of no class, of another class."""

from __future__ import annotations

import numpy as np
import pytest

from openset import evaluate
from openset.findings import InputError
from openset.tables import Annotations, Images
from openset.tables.check import check_truth
from openset.tables.vocabulary import Vocabulary, vocabularies
from scenes.mistakes import EVALUATE, KNOWN, NAMES, Mistake, answered, both, good

REGION = 99
ABOVE = ["person", "vehicle", "vehicle", "outdoor", "animal", "animal", "animal", "animal", ""]
WITH_TOML = (*EVALUATE[:3], "--known", "roles.toml", "--no-intervals")


def regions(name, **more):
    """A large region on every image, under a name."""

    def spoil(world):
        world.gt["categories"].append({"id": REGION, "name": name, **more.get("category", {})})
        for at, image in enumerate(world.gt["images"]):
            box = [5, 5, image["width"] - 20, image["height"] - 20]
            held = {"bbox": box, "image_id": image["id"], "category_id": REGION, "id": 5000 + at}
            world.gt["annotations"].append(held | {"iscrowd": more.get("iscrowd", 0)})

    return spoil


def roles(**more):
    """A vocabulary file."""
    listed = {"known": [*KNOWN], **more}
    text = "\n".join(f"{key} = {value}" for key, value in listed.items())
    return lambda world: world.files.update({"roles.toml": text})


def named(*names):
    """The categories by other names; "unknown" stays the last."""

    def spoil(world):
        for one, name in zip(world.gt["categories"], names, strict=False):
            one["name"] = name

    return spoil


def above(given):
    def spoil(world):
        for one, of in zip(world.gt["categories"], given, strict=True):
            one["supercategory"] = of

    return spoil


def by_name(world):
    """Detections as a table that says labels by name."""
    rows = [(one["image_id"], NAMES[one["category_id"]], *one["bbox"], one["score"])
            for one in world.dt]  # fmt: skip
    head = "image_id,label,x,y,w,h,score\n"
    world.files["dt.csv"] = head + "\n".join(",".join(map(str, row)) for row in rows) + "\n"


CSV = (*EVALUATE[:2], "dt.csv", *EVALUATE[3:])
TURNED = named(*[*NAMES.values()][4:-1], *[*NAMES.values()][:4])
SORTED = named(*sorted([*NAMES.values()][:-1]))
IGNORED = {"category": {"role": "ignored"}}
CASES = [
    *(
        Mistake(f"a region called {name}", regions(name), "warned OS334", says="unknown objects")
        for name in ("DontCare", "ignored regions", "N/A", "Don't care", "crowd", "background")
    ),
    Mistake("a class called Misc", regions("Misc"), "accepted OS334"),
    Mistake("a class called other vehicle", regions("other vehicle"), "accepted"),
    Mistake("regions marked as crowds", regions("DontCare", iscrowd=1), "accepted"),
    Mistake("a region that is taught", both(regions("void"), roles(known=[*KNOWN, "void"])),
            "warned OS334", WITH_TOML, "objects of a known class"),
    Mistake("a region ignored", both(regions("void"), roles(ignored=["void"])), "accepted",
            WITH_TOML),
    Mistake("a region said to be unknown", both(regions("other"), roles(unknown=["Other"])),
            "accepted", WITH_TOML),
    Mistake("a role that known= leaves out", regions("sky", **IGNORED), "warned OS334",
            says="states to be ignored"),
    Mistake("names sorted below super-classes", both(above(ABOVE), SORTED), "refused OS336",
            says="'bicycle' is under 'person'"),
    Mistake("names sorted, boxes by name", both(by_name, SORTED), "refused OS316", CSV,
            "in the order of the alphabet"),
    Mistake("names in another order, boxes by name", both(by_name, TURNED), "refused OS316", CSV,
            "if these are right"),
    Mistake("names below their super-classes", above(ABOVE), "accepted"),
    Mistake("a super-class for all", above(["person"] * 9), "accepted"),
    Mistake("super-classes of one's own", above([*"abcdefghi"]), "accepted"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_names_that_mislead(case, here, openset):
    assert answered(case, here, openset) == ""


DESCRIBED = {
    (): True,
    ("--known", "roles.toml"): False,
    ("--known", ",".join(KNOWN)): True,
}


@pytest.mark.parametrize("argv", DESCRIBED)
def test_describe_says_so_but_for_what_is_ignored(argv, here, openset):
    world = good()
    both(regions("DontCare"), roles(ignored=["DontCare"]))(world)
    world.write(here)
    said = openset("describe", "gt.json", *argv)
    assert said.code == 0 and ("warning OS334" in said.err) is DESCRIBED[argv]


COCO = vocabularies()["coco80"].known
GAPS = (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)
NUMBERS = [at for at in range(1, 91) if at not in GAPS]


def exchanged(one, other):
    held = [*COCO]
    held[one], held[other] = held[other], held[one]
    return held


@pytest.mark.parametrize(
    ("names", "numbers", "wrong"),
    [
        (COCO, NUMBERS, 0),
        (sorted(COCO), NUMBERS, 80),
        (exchanged(16, 17), NUMBERS, 2),
        (sorted(COCO), range(1, 81), 0),
        (sorted(COCO)[:79], NUMBERS[:79], 0),
    ],
)
def test_names_on_the_numbers_of_others_in_coco(names, numbers, wrong):
    at = np.arange(len(names))
    gt = Annotations(Images([1]), names, 0 * at, at, np.ones((len(at), 4)), category_id=[*numbers])
    found = [one for one in check_truth(gt, Vocabulary.of("coco80")) if one.code == "OS336"]
    assert [one.count for one in found] == [wrong] * bool(wrong)
    assert all((one.level == "error") is (wrong > 40) for one in found)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{at} {name}", "stand beside"),
        ("{at}: {name}", "stand beside"),
        ("{at}. '{name}',", "stand beside"),
        ("{id}", "category ids were listed"),
    ],
)
def test_a_list_of_more_than_names(line, said):
    world = good()
    ids = {one["name"]: one["id"] for one in world.gt["categories"]}
    listed = [line.format(at=at, name=name, id=ids[name]) for at, name in enumerate(KNOWN)]
    with pytest.raises(InputError, match="OS310") as error:
        evaluate(world.gt, world.dt, known=listed, intervals=False)
    (one,) = [one for one in error.value.findings if one.code == "OS310"]
    assert said in one.cause and KNOWN[0] in one.fix
