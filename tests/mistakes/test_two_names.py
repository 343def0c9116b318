"""A known class that goes by another name on some images, and names that are merely near."""

from __future__ import annotations

import pytest

from scenes.mistakes import EVALUATE, KNOWN, Mistake, answered, both, codes, good

OTHER = 95
TOML = (*EVALUATE[:3], "--known", "roles.toml", "--no-intervals")


def called(name, which=lambda one: one["image_id"] % 2 == 0, of=1):
    """Some objects of a class go by another name."""

    def spoil(world):
        world.gt["categories"].insert(0, {"id": OTHER, "name": name})
        for one in world.gt["annotations"]:
            if one["category_id"] == of and which(one):
                one["category_id"] = OTHER

    return spoil


def synonym(world):
    known, pair = [*KNOWN], ["person", "persons"]
    world.files["roles.toml"] = f"known = {known}\nsynonyms = [{pair}]\n"


def groups(world):
    """Regions with several persons, beside single ones."""
    world.gt["categories"].append({"id": OTHER, "name": "persons"})
    for at, one in enumerate(world.gt["annotations"][::4]):
        x, y, w, h = one["bbox"]
        box = {"bbox": [max(0.0, x - w), max(0.0, y - h), 2 * w, 2 * h], "area": 4 * w * h}
        world.gt["annotations"].append(one | box | {"category_id": OTHER, "id": 9000 + at})


def not_taught(world):
    """Nothing that is called so is found."""
    called("bicycles", lambda one: True, of=20)(world)


def mixed_up(world):
    """A class that looks like another, and is taken for it, but seldom surely."""
    not_taught(world)
    objects = [one for one in world.gt["annotations"] if one["category_id"] == OTHER]
    of = {}
    for one in objects:
        of.setdefault(one["image_id"], []).append(one["bbox"])
    for one in world.dt:
        near = of.get(one["image_id"], [])
        if any(abs(sum(box) - sum(one["bbox"])) < 40 for box in near):
            one |= {"category_id": 2, "score": round(one["score"] * 0.6, 4)}


def less_sure(world):
    """The plural, where objects of that name happen to be small: few are found surely."""
    called("persons")(world)
    of = {one["image_id"] for one in world.gt["annotations"] if one["category_id"] == OTHER}
    sure = [one for one in world.dt if one["category_id"] == 1 and one["image_id"] in of]
    for at, one in enumerate(sure):
        one["score"] = round(one["score"] * (1 if at % 8 == 0 else 0.9), 4)


def few(world):
    called("persons", lambda one: one["id"] % 40 == 0)(world)


CASES = [
    Mistake("a plural", called("persons"), "warned OS337", says="'persons' for 'person'"),
    Mistake("a plural of objects that are found less surely", less_sure, "warned OS337"),
    Mistake("a number", called("Person_2"), "warned OS337"),
    Mistake("one annotator by chance", called("persons", lambda one: one["id"] % 2 == 0),
            "warned OS337"),
    Mistake("a slip of the pen", called("bicyle", of=2), "warned OS337"),
    Mistake("another word", called("pedestrian"), "warned OS337", says="'pedestrian' for 'person'"),
    Mistake("all of a class", called("cats", lambda one: True, of=17), "warned OS337"),
    Mistake("a few", few, "accepted OS337"),
    Mistake("in capitals", called("PERSON"), "warned OS313"),
    Mistake("the fix", both(called("persons"), synonym), "warned OS313", TOML),
    Mistake("a class of groups", groups, "accepted"),
    Mistake("a class that is not taken for another", not_taught, "accepted"),
    Mistake("a class that looks like another", mixed_up, "accepted"),
    Mistake("another class that is found as one", called("lorry", of=3), "accepted"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_class_under_two_names(case, here, openset):
    assert answered(case, here, openset) == ""


def test_a_synonym_makes_them_one(here, openset):
    both(called("persons"), synonym)(world := good())
    world.write(here)
    assert "OS337" not in codes(openset(*TOML, "--json").json)
