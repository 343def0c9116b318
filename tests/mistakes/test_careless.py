"""Another file than was meant: other images, options, orders of numbers, parts of a folder."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy

import numpy as np
import pytest

from openset.formats import read_annotations, write
from scenes.mistakes import EVALUATE, KNOWN, NAMES, Mistake, answered, good, nothing

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


def results(folder, name="comp4_det_test_{}.txt"):
    """The detections as VOC's files of results."""
    (folder / "found").mkdir(exist_ok=True)
    for one in json.loads((folder / "dt.json").read_text()):
        x, y, w, h = one["bbox"]
        label = NAMES[one["category_id"]]
        with (folder / "found" / name.format(label)).open("a") as file:
            file.write(f"{one['image_id']} {one['score']} {x + 1} {y + 1} {x + w} {y + h}\n")


def test_results_of_two_competitions_in_one_folder(here, openset):
    good().write(here)
    results(here)
    results(here, "comp4_det_val_{}.txt")  # of another split: no detector twice
    assert openset("describe", "gt.json").code == 0
    assert "OS126" not in openset("check", "gt.json", "found", "--known", ",".join(KNOWN)).err
    results(here, "comp3_det_test_{}.txt")
    done = openset("evaluate", "gt.json", "found", *EVALUATE[3:])
    assert done.code == 2
    assert "OS126" in done.err


def yolo(folder):
    write(read_annotations(folder / "gt.json"), folder / "yolo", format="yolo")
    return sorted((folder / "yolo" / "labels").iterdir())


def test_labels_of_yolo_that_are_corners(here, openset):
    good().write(here)
    for path in yolo(here):
        lines = [[float(x) for x in line.split()] for line in path.read_text().splitlines()]
        path.write_text(
            "".join(
                f"{int(k)} {x - w / 2} {y - h / 2} {x + w / 2} {y + h / 2}\n"
                for k, x, y, w, h in lines
            )
        )
    done = openset("describe", "yolo")
    assert done.code == 2
    assert "OS204" in done.err
    assert "class x1 y1 x2 y2" in done.err


@pytest.mark.parametrize("data", [b"", b"<html>", b"\x89PNG\r\n\x1a\n" + b"\0" * 16])
def test_pictures_that_have_no_size(data, here, openset):
    good().write(here)
    stem = yolo(here)[0].stem
    (here / "yolo" / "sizes.csv").unlink()
    (here / "yolo" / "images").mkdir()
    (here / "yolo" / "images" / f"{stem}.png").write_bytes(data)
    done = openset("describe", "yolo")
    assert done.code == 2
    assert "OS603" in done.err
    assert f"{stem}.png" in done.err


def test_detections_of_one_split(here, openset):
    world = good()
    part = np.random.default_rng(0).random(len(world.gt["images"])) < 0.5
    kept = {one["id"] for one, there in zip(world.gt["images"], part, strict=True) if there}
    world.dt = [one for one in world.dt if one["image_id"] in kept]
    for one in deepcopy(world.dt):  # many on every image, as of low scores
        world.dt += [
            one | {"score": one["score"] / 9, "bbox": [k, 3 * k, 9 + k, 9]} for k in (1, 20)
        ]
    world.write(here)
    done = openset(*EVALUATE)
    assert "OS404" in done.err
    assert "further splits" in done.err


def test_a_high_threshold_leaves_images_without_detections(here, openset):
    world = good()
    world.dt = [one for one in world.dt if one["score"] > 0.7]
    world.write(here)
    done = openset(*EVALUATE)
    assert done.code == 0, done.err
    assert "OS404" in done.err
    assert "further splits" not in done.err


def test_detections_of_more_than_the_ground_truth_has(here, openset):
    world = good()
    gone = {one["id"] for one in world.gt["images"][::6]}
    for key, of in (("images", "id"), ("annotations", "image_id")):
        world.gt[key] = [one for one in world.gt[key] if one[of] not in gone]
    world.write(here)
    done = openset(*EVALUATE)
    assert "OS403" in done.err
    assert "annotations of these images are not there" in " ".join(done.err.split())


def test_normalised_boxes_of_images_that_are_not_there(here, openset):
    """Boxes of YOLO stay shares where no image is known: that is not what is wrong."""
    world = good()
    world.write(here)
    lines = "0 0.5 0.5 0.1 0.1 0.9\n" * 3
    (here / "found").mkdir()
    for k in range(50):
        (here / "found" / f"other{k}.txt").write_text(lines)
    done = openset("evaluate", "gt.json", "found", *EVALUATE[3:])
    assert done.code == 2
    assert "OS403" in done.err
    assert "OS203" not in done.err


def test_objects_without_a_name(here, openset):
    world = good()
    world.gt["categories"][2]["name"] = " "
    world.write(here)
    done = openset("describe", "gt.json")
    assert "OS334" in done.err
    assert "(blank)" in done.err


def test_machine_ids_of_open_images(here, openset):
    world = good()
    for at, one in enumerate(world.gt["categories"]):
        one["name"] = f"/m/0{at}yrx"
    world.write(here)
    done = openset(*EVALUATE)
    assert done.code == 2
    assert "machine ids" in done.err


def test_a_ground_truth_of_other_detections_is_said_by_convert(here, openset):
    world = good()
    world.dt = [one | {"image_id": one["image_id"] + 10**6} for one in world.dt]
    world.write(here)
    done = openset("convert", "dt.json", "--truth", "gt.json", "-o", "out", "--to", "yolo")
    assert done.code == 2
    assert "another data set" in " ".join(done.err.split())
    assert not (here / "out").exists()


@pytest.mark.parametrize(("row", "word"), [(np.nan, "not finite"), (0.0, "0 throughout"), (1, "")])
def test_embeddings_that_are_none(row, word, here, openset):
    good().write(here)
    (here / "mine.toml").write_text(
        'summary = "x"\n[classes]\nknown = ["person"]\n[sources.all]\npath = ["gt.json"]\n'
        '[splits]\nid = { kind = "id", source = "all", select = [{ with = "known" }] }\n'
        'ood = { kind = "ood", source = "all", select = [{ without = "known" }] }\n'
    )
    assert openset("build", "mine.toml", "--source", ".", "-o", "mine").code == 0
    names = [one["file_name"] for one in good().gt["images"]]  # with their endings
    rows = np.random.default_rng(0).normal(size=(len(names), 8))
    rows[3] = rows[3] if row == 1 else row
    np.savez(here / "e.npz", names=np.array(names), embedding=rows)
    done = openset("similarity", "mine", "--embeddings", "e.npz")
    assert done.code == (2 if word else 0), done.err
    assert word in done.err


def test_two_letters_exchanged_in_a_label(here, openset):
    world = good()
    world.gt["categories"].append({"id": 60, "name": "pesron"})
    persons = [one for one in world.gt["annotations"] if one["category_id"] == 1]
    for one in persons[:4]:
        one["category_id"] = 60
    world.write(here)
    done = openset(*EVALUATE)
    assert "OS337" in done.err
    assert "'pesron' for 'person'" in " ".join(done.err.split())


def test_a_split_in_place_of_its_folder(here, openset):
    good().write(here)
    (here / "mine.toml").write_text(
        'summary = "x"\n[classes]\nknown = ["person"]\n[sources.all]\npath = ["gt.json"]\n'
        '[splits]\ntest = { kind = "test", source = "all" }\n'
    )
    assert openset("build", "mine.toml", "--source", ".", "-o", "mine").code == 0
    done = openset("audit", "mine/test.json")
    assert done.code == 2
    assert "--test mine/test.json" in " ".join(done.err.split())
    assert openset("audit", "--test", "mine/test.json").code in (0, 1)
    done = openset("similarity", "mine/test.json", "--wordnet", "x")
    assert "give its folder, mine" in " ".join(done.err.split())


def test_a_data_yaml_is_no_list_of_known_classes(here, openset):
    good().write(here)
    (here / "data.yaml").write_text("names: [person, bicycle, car]\nnc: 3\n")
    done = openset(*EVALUATE[:3], "--known", "data.yaml", "--no-intervals")
    assert done.code == 2
    assert "is YAML" in done.err
    (here / "known.txt").write_text("person\nbicycle\n")
    assert openset(*EVALUATE[:3], "--known", "known.txt", "--no-intervals").code == 0
