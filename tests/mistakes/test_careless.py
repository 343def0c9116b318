"""Another file than was meant: other images, options, orders of numbers, parts of a folder."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy

import pytest

from openset.formats import read_annotations, write
from scenes.mistakes import EVALUATE, KNOWN, Mistake, answered, good, nothing

NOT_UNKNOWN = (*EVALUATE[:4], "person,bicycle,car", "--no-intervals")


def voc(change):
    """The ground truth as VOC, with the text of every corner changed."""

    def spoil(folder):
        write(read_annotations(folder / "gt.json"), folder / "voc", format="voc")
        for path in (folder / "voc" / "Annotations").iterdir():
            path.write_text(change(path.read_text()))

    return spoil


def with_corners(change):
    import re

    def one(found):
        numbers = [float(x) for x in re.findall(r">([-0-9.]+)<", found[0])]
        names = ("xmin", "ymin", "xmax", "ymax")
        said = zip(names, change(numbers), strict=True)
        return "<bndbox>" + "".join(f"<{n}>{v}</{n}>" for n, v in said) + "</bndbox>"

    return voc(lambda text: re.sub(r"<bndbox>.*?</bndbox>", one, text))


CORNERS = {
    "sizes in the place of corners": (
        lambda c: [c[0], c[1], c[2] - c[0], c[3] - c[1]],
        "width and height stand where xmax and ymax are expected",
    ),
    "names in another order": (
        lambda c: [c[0], c[2], c[1], c[3]],
        "under names in the order",
    ),
    "mirrored": (lambda c: [c[2], c[1], c[0], c[3]], "corners are exchanged"),
}


@pytest.mark.parametrize("what", CORNERS)
def test_negative_sizes_say_what_the_numbers_are(what, here, openset):
    change, cause = CORNERS[what]
    good().write(here)
    with_corners(change)(here)
    done = openset("check", "voc", "--known", ",".join(KNOWN), "--json")
    assert done.code == 1
    found = {one["code"]: one for each in done.json["findings"].values() for one in each}
    assert cause in found["OS205"]["cause"], found["OS205"]
    assert "drop" not in found["OS205"]["fix"]


def test_a_few_negative_sizes_are_records_to_repair(here, openset):
    world = good()
    for one in world.gt["annotations"][:25]:
        one["bbox"][2] *= -1
    world.gt["annotations"] += [
        deepcopy(one) | {"id": 10_000 + one["id"] + k * 1000, "bbox": [4 * k, 9, 20 + k, 30]}
        for k in range(3)
        for one in world.gt["annotations"][25:]
    ]
    world.write(here)
    done = openset("check", "gt.json", "--known", ",".join(KNOWN))
    assert done.code == 1
    assert "--drop-invalid" in done.out + done.err


def twice_with_other_digits(world):
    world.dt += [one | {"score": round(one["score"], 2)} for one in deepcopy(world.dt)]


def relabelled(world):
    """One region under two classes, both of which became one."""
    world.dt += [one | {"score": one["score"] * 0.4} for one in deepcopy(world.dt)]


CASES = [
    Mistake("detections twice, with rounded scores", twice_with_other_digits, "warned OS210",
            says="files were concatenated"),
    Mistake("regions of two classes with one label", relabelled, "warned OS210",
            says="their scores differ"),
    Mistake("every image asked for by a path", nothing, "accepted",
            ("select", "gt.json", "--images", "list.txt", "-o", "o.json")),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_answers(case, here, openset):
    (here / "list.txt").write_text(
        "\n".join(f"C:\\data\\{one['file_name']}" for one in good().gt["images"])
    )
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize(
    "line", ["/data/a/{}", "C:\\a\\{}", '"{}",', "{}  1", "  {} "], ids=["path", "dos", "quoted",
                                                                       "flag", "blanks"]
)  # fmt: skip
def test_lists_of_images_are_read_as_they_come(line, here, openset):
    world = good()
    world.write(here)
    names = [one["file_name"] for one in world.gt["images"][:7]]
    (here / "list.txt").write_text("\n".join(line.format(name) for name in names))
    done = openset("select", "gt.json", "--images", "list.txt", "-o", "o.json")
    assert done.code == 0, done.err
    assert "OS382" not in done.err
    kept = json.loads((here / "o.json").read_text())["images"]
    assert [one["file_name"] for one in kept] == names


def elsewhere(world):
    """The images of another data set: its ids are others, but for two."""
    held = deepcopy(world.gt)
    for at, one in enumerate(held["images"]):
        one["id"] = one["id"] if at < 2 else 10**6 + at
    held["annotations"] = []
    return held


def test_detections_on_the_images_of_another_data_set(here, openset):
    world = good()
    world.files["other.json"] = elsewhere(world)
    world.write(here)
    done = openset("select", "dt.json", "--images", "other.json", "-o", "o.json")
    assert "OS382" in done.err
    assert "another data set" in " ".join(done.err.split())
    half = {**world.gt, "images": world.gt["images"][:30]}
    (here / "half.json").write_text(json.dumps({**half, "annotations": []}))
    done = openset("select", "dt.json", "--images", "half.json", "-o", "p.json")
    assert "OS382" not in done.err


def test_a_file_joined_with_itself(here, openset):
    good().write(here)
    shutil.copy(here / "gt.json", here / "same.json")
    done = openset("select", "gt.json", "same.json", "-o", "o.json")
    assert "OS216" in done.err
    old = json.loads((here / "gt.json").read_text())
    old["annotations"] = old["annotations"][::2]
    (here / "half.json").write_text(json.dumps(old))
    kept = json.loads((here / "gt.json").read_text())
    kept["annotations"] = kept["annotations"][1::2]
    (here / "rest.json").write_text(json.dumps(kept))
    done = openset("select", "half.json", "rest.json", "-o", "p.json")
    assert "OS216" not in done.err
    assert "OS384" in done.err


def test_an_audit_beside_detections_of_other_images(here, openset):
    world = good()
    world.write(here)
    audit = ("audit", "--test", "gt.json", "--known", ",".join(KNOWN), "--second")
    assert openset(*audit, "dt.json").code in (0, 1)
    few = [one | {"image_id": 10**6 + one["image_id"]} for one in world.dt]
    (here / "few.json").write_text(json.dumps([*world.dt[:5], *few]))
    done = openset(*audit, "few.json")
    assert done.code == 2
    assert "OS403" in done.err


def test_leaks_that_count_are_not_compared_with_leaks_that_are_left_out(here, openset):
    good().write(here)
    assert openset(*NOT_UNKNOWN, "-o", "one").code == 0
    assert openset(*NOT_UNKNOWN, "--leaked", "drop", "-o", "two").code == 0
    done = openset("compare", "one", "two")
    assert done.code == 2
    assert "--leaked" in done.err
    assert openset("compare", "one", "two", "--force").code == 0


def test_where_nothing_leaks_leaked_is_nothing_to_tell_apart(here, openset):
    world = good()
    world.write(here)
    known = {1: 1, 2: 2, 3: 3}
    (here / "dt.json").write_text(
        json.dumps([one for one in world.dt if one["category_id"] in known])
    )
    assert openset(*NOT_UNKNOWN, "-o", "one").code == 0
    assert openset(*NOT_UNKNOWN, "--leaked", "drop", "-o", "two").code == 0
    assert openset("compare", "one", "two").code == 0


def test_a_model_is_found_by_its_name_in_the_folder_of_a_run(here, openset):
    good().write(here)
    line = ("evaluate", "gt.json", "my model=dt.json", "b/c=dt.json", *EVALUATE[3:])
    assert openset(*line, "-o", "run").code == 0
    done = openset("compare", "run/my model", "run/b/c")
    assert done.code == 2  # a name with a slash is no place in a folder
    assert (
        openset(*line[:2], "my model=dt.json", "shy=dt.json", *EVALUATE[3:], "-o", "r2").code == 0
    )
    assert openset("compare", "r2/my model", "r2/shy").code == 0


def test_settings_as_windows_writes_them(here, openset):
    good().write(here)
    (here / "openset.toml").write_text("[evaluate]\nseed = 7\n", "utf-8-sig")
    done = openset(*EVALUATE)
    assert done.code == 0, done.err
    assert "seed = 7" in done.err
    (here / "openset.toml").write_text("[evaluate]\nseed = 7\n", "utf-16")
    done = openset(*EVALUATE)
    assert done.code == 2
    assert "UTF-8" in done.err


def test_a_run_without_its_tables(here, openset):
    good().write(here)
    assert openset(*EVALUATE, "-o", "run").code == 0
    for path in (here / "run").glob("*.parquet"):
        path.unlink()
    done = openset("report", "run")
    assert done.code == 2
    said = " ".join(done.err.split())
    assert "are not there" in said
    assert ".gitignore" in said


def test_a_split_made_again_beside_one_that_was_edited(here, openset):
    good().write(here)
    (here / "mine.toml").write_text(
        'summary = "x"\n[classes]\nknown = ["person", "cat"]\n[sources.all]\npath = ["gt.json"]\n'
        '[splits]\ntest = { kind = "test", source = "all", select = [{ share = 0.5 }] }\n'
        'val = { kind = "test", source = "all", select = [{ not_in = "test" }] }\n'
    )
    build = ("build", "mine.toml", "--source", ".", "-o", "mine")
    assert openset(*build).code == 0
    held = json.loads((here / "mine/test.json").read_text())
    held["annotations"].pop()
    (here / "mine/test.json").write_text(json.dumps(held))
    (here / "mine/val.json").unlink()
    done = openset(*build)
    assert "OS919" in done.err
    assert json.loads((here / "mine/test.json").read_text()) == held
    assert (here / "mine/val.json").is_file()
