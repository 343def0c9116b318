"""Ground truth and detections in formats that do not say the same things: ids, names, roles."""

from __future__ import annotations

import gzip
import json

import numpy as np
import polars
import pytest

from openset.findings import InputError
from openset.formats import read_annotations, read_detections, write
from scenes.mistakes import IDS, KNOWN, NAMES, UNKNOWN, good

EVALUATE = ("--known", ",".join(KNOWN), "--no-intervals")


@pytest.fixture
def world(here):
    good().write(here)
    return here


def converted(folder, kind):
    """The ground truth in another format."""
    write(read_annotations(folder / "gt.json"), folder / kind, format=kind)
    return kind


def parquet(folder, change):
    """Detections as Parquet, with a column changed by hand."""
    write(read_detections(folder / "dt.json"), folder / "d.parquet")
    table = polars.read_parquet(folder / "d.parquet")
    held = polars.read_parquet_metadata(folder / "d.parquet")
    held = {key: value for key, value in held.items() if key.startswith("openset")}
    change(table).write_parquet(folder / "d.parquet", metadata=held)


@pytest.mark.parametrize("kind", ["voc", "yolo"])
def test_numbers_for_ground_truth_of_names(kind, world, openset):
    converted(world, kind)
    names = {
        one["id"]: one["file_name"][:-4]
        for one in json.loads((world / "gt.json").read_text())["images"]
    }
    found = json.loads((world / "dt.json").read_text())
    (world / "dt.json").write_text(
        json.dumps([one | {"image_id": names[one["image_id"]]} for one in found])
    )
    done = openset("evaluate", kind, "dt.json", *EVALUATE, "--json")
    assert done.code == 2
    assert "OS315" in [one["code"] for one in done.json["error"]["findings"]]
    (world / "ids.json").write_text(json.dumps({str(key): name for key, name in NAMES.items()}))
    done = openset("evaluate", kind, "dt.json", *EVALUATE, "--category-ids", "ids.json")
    assert done.code == 0, done.err


COLUMNS = {
    "a null label": lambda t: t.with_columns(
        label=polars.when(polars.int_range(polars.len()) == 3)
        .then(None)
        .otherwise(polars.col("label"))
    ),
    "labels with a fraction": lambda t: t.with_columns(
        polars.col("label").cast(polars.Float64) + 0.5
    ),
    "no label": lambda t: t.drop("label"),
    "no score": lambda t: t.drop("score"),
    "no image": lambda t: t.drop("image"),
    "scores as text": lambda t: t.with_columns(polars.col("score").cast(polars.String)),
    "a null score": lambda t: t.with_columns(
        score=polars.when(polars.int_range(polars.len()) == 3)
        .then(None)
        .otherwise(polars.col("score"))
    ),
    "images with a fraction": lambda t: t.with_columns(
        polars.col("image").cast(polars.Float64) + 0.25
    ),
    "no rows": lambda t: t.clear(),
    "a foreign table": lambda t: polars.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
}


@pytest.mark.parametrize("change", COLUMNS)
def test_parquet_that_was_changed(change, world, openset):
    parquet(world, COLUMNS[change])
    done = openset("evaluate", "gt.json", "d.parquet", *EVALUATE, "--json")
    assert done.code == 2 and done.json["error"]["kind"] == "input", done.out


def test_parquet_that_was_not(world, openset):
    parquet(world, lambda t: t)
    assert openset("evaluate", "gt.json", "d.parquet", *EVALUATE).code == 0


def csv(rows, head="image_id,label,x1,y1,x2,y2,score"):
    return "\n".join([head, *rows]) + "\n"


TABLES = {
    "a row too short": csv(["1013,cat,1,2,3"]),
    "a row too long": csv(["1013,cat,1,2,30,40,0.5,7,8"]),
    "words for numbers": csv(["1013,cat,one,2,30,40,0.5"]),
    "an empty score": csv(["1013,cat,1,2,30,40,"]),
    "a comma in place of a point": csv(['1013,cat,1,2,30,40,"0,5"']),
    "no head": "1013,cat,1,2,30,40,0.5\n",
    "a head alone": csv([]),
    "a column twice": csv(["1013,cat,1,2,30,40,0.5,0.6"], "image_id,label,x1,y1,x2,y2,score,score"),
    "corners exchanged": csv(["1013,cat,30,40,1,2,0.5"]),
}


@pytest.mark.parametrize("table", TABLES)
def test_tables_that_are_broken(table, world, openset):
    (world / "d.csv").write_text(TABLES[table])
    done = openset("evaluate", "gt.json", "d.csv", *EVALUATE, "--json")
    assert done.code == 2 and done.json["error"]["kind"] == "input", done.out


SAID = {
    "OS119": csv(
        ["1013,cat,1,2,30,40,0.5", "image_id,label,x1,y1,x2,y2,score", "1013,cat,1,2,3,4,0.4"]
    ),
    "OS120": csv(["4.00E+11,cat,1,2,30,40,0.5", "1013,cat,1,2,30,40,0.4"]),
}


@pytest.mark.parametrize("code", SAID)
def test_tables_of_spreadsheets_and_shells(code, world, openset):
    (world / "d.csv").write_text(SAID[code])
    done = openset("evaluate", "gt.json", "d.csv", *EVALUATE)
    assert done.code == 2 and f"error {code}" in done.err, done.err


def test_names_that_look_like_numbers_are_names(tmp_path):
    (tmp_path / "d.csv").write_text(csv(["1e+10,cat,1,2,30,40,0.5", "a,cat,1,2,30,40,0.5"]))
    assert read_detections(tmp_path / "d.csv").image.tolist() == ["1e+10", "a"]


def split(folder, start):
    """A data set that numbers the same classes from another number."""
    truth = json.loads((folder / "gt.json").read_text())
    new = {old: at + start for at, old in enumerate(NAMES)}
    for one in truth["categories"]:
        one["id"] = new[one["id"]]
    for one in truth["annotations"]:
        one["category_id"] = new[one["category_id"]]
    for one in truth["images"]:
        one["id"] += 500_000
        one["file_name"] = "o" + one["file_name"]
    for one in truth["annotations"]:
        one["image_id"] += 500_000
    (folder / "other.json").write_text(json.dumps(truth))


BENCHMARK = """
summary = "two sources"
[classes]
known = ["person", "bicycle", "car", "traffic light", "cat"]
[sources.one]
path = ["gt.json"]
[sources.two]
path = ["other.json"]
[splits.test]
kind = "test"
source = ["one", "two"]
select = [{ annotated = true }]
"""


def test_ids_that_build_has_to_change_are_said(world, openset):
    split(world, 1)
    (world / "mine.toml").write_text(BENCHMARK)
    done = openset("build", "mine.toml", "--source", ".", "-o", "built", "--json")
    assert done.code == 0, done.err
    assert "OS320" in json.dumps(done.json)
    (built,) = (world / "built").rglob("test.json")
    kept = {one["id"]: one["name"] for one in json.loads(built.read_text())["categories"]}
    assert {key: kept[key] for key in IDS} == {key: NAMES[key] for key in IDS}


def test_ids_that_build_keeps_are_no_news(world, openset):
    (world / "mine.toml").write_text(
        BENCHMARK.replace('"one", "two"', '"one"').replace(
            '[sources.two]\npath = ["other.json"]\n', ""
        )
    )
    done = openset("build", "mine.toml", "--source", ".", "-o", "built", "--json")
    assert done.code == 0 and "OS320" not in json.dumps(done.json)
    (built,) = (world / "built").rglob("test.json")
    kept = {one["id"]: one["name"] for one in json.loads(built.read_text())["categories"]}
    assert all(kept[key] == NAMES[key] for key in IDS)
    assert openset("evaluate", built, "dt.json", "--no-intervals").code == 0


def alone(one, objects):
    """Whether an object touches no other."""
    x, y, w, h = one["bbox"]
    others = (o["bbox"] for o in objects if o["image_id"] == one["image_id"] and o is not one)
    return all(x + w < a or a + c < x or y + h < b or b + d < y for a, b, c, d in others)


def test_objects_that_build_ignores_are_kept(world, openset):
    text = BENCHMARK.replace('"one", "two"', '"one"').replace(
        '[sources.two]\npath = ["other.json"]\n', ""
    )
    (world / "mine.toml").write_text(
        text.replace("[sources.one]", 'unknown = ["dog"]\nrest = "ignored"\n[sources.one]')
    )
    done = openset("build", "mine.toml", "--source", ".", "-o", "built", "--json")
    assert done.code == 0, done.err
    (built,) = (world / "built").rglob("test.json")
    document = json.loads(built.read_text())
    ignored = {one["id"] for one in document["categories"] if one.get("role") == "ignored"}
    assert sum(one["category_id"] in ignored for one in document["annotations"])
    done = openset("evaluate", built, "dt.json", "--no-intervals", "--json")
    assert done.code == 0 and "OS312" in done.out
    before = done.json["models"]["dt"]["values"]
    objects = document["annotations"]
    on = [one for one in objects if one["category_id"] in ignored and alone(one, objects)]
    assert len(on) > 10
    found = json.loads((world / "dt.json").read_text())
    found += [
        {"image_id": one["image_id"], "category_id": UNKNOWN, "bbox": one["bbox"], "score": 0.999}
        for one in on
    ]
    (world / "dt.json").write_text(json.dumps(found))
    after = openset("evaluate", built, "dt.json", "--no-intervals", "--json").json["models"]["dt"][
        "values"
    ]
    for name in ("ap_known", "a_ose", "unknown_recall", "unknown_precision"):
        assert np.isclose(before[name]["value"], after[name]["value"]), name


@pytest.mark.parametrize(("names", "refused"), [(9, False), (12, False), (6, True)])
def test_a_list_of_names_that_is_too_short(names, refused, world, openset):
    """Classes 6, 7 and 8 have no name: which class is known cannot be told."""
    converted(world, "yolo")
    (world / "yolo" / "data.yaml").unlink()
    listed = [*NAMES.values(), "ox", "hen", "owl"][:names]
    (world / "names.txt").write_text("\n".join(listed) + "\n")
    line = ("convert", "yolo", "--from", "yolo", "--names", "names.txt", "--sizes", "sizes.csv")
    rows = [
        f"{one['file_name']},{one['width']},{one['height']}"
        for one in json.loads((world / "gt.json").read_text())["images"]
    ]
    (world / "sizes.csv").write_text("\n".join(["image,width,height", *rows]) + "\n")
    done = openset(*line, "-o", "back.json", "--json")
    assert (done.code == 2) is refused, done.err
    if refused:
        (finding,) = done.json["error"]["findings"]
        assert finding["code"] == "OS112"
        assert "has 6 names" in finding["cause"] and "go up to" in finding["cause"]
        assert "the whole list" in finding["fix"]


@pytest.fixture
def yolo(world):
    """The ground truth as YOLO, with a picture for each image; and detections by its names."""
    folder = world / converted(world, "yolo")
    (folder / "images").mkdir()
    for file in (folder / "labels").glob("*.txt"):
        (folder / "images" / f"{file.stem}.jpg").touch()
    truth = json.loads((world / "gt.json").read_text())
    stems = {one["id"]: one["file_name"].rpartition(".")[0] for one in truth["images"]}
    found = json.loads((world / "dt.json").read_text())
    named = [one | {"image_id": stems[one["image_id"]]} for one in found]
    (world / "dt.json").write_text(json.dumps(named))
    return folder


def absent(openset):
    """Levels of what is said of absent label files."""
    line = ("evaluate", "yolo", "dt.json", *EVALUATE, "--category-ids", "gt.json")
    done = openset(*line, "--json")
    assert done.code == 0, done.err
    said = [one for model in done.json["models"].values() for one in model["findings"]]
    return [one["level"] for one in said if one["code"] == "OS461"]


def test_label_files_that_were_lost(yolo, openset):
    assert absent(openset) == []
    for file in sorted((yolo / "labels").glob("*.txt"))[::3]:
        file.unlink()
    assert "warning" in absent(openset)


def test_images_without_objects_need_no_label_file(yolo, world, openset):
    gone = sorted((yolo / "labels").glob("*.txt"))[::6]
    for file in gone:
        file.unlink()
    names = {file.stem for file in gone}
    found = json.loads((world / "dt.json").read_text())
    left = [one for one in found if one["image_id"] not in names]
    (world / "dt.json").write_text(json.dumps(left))
    assert absent(openset) == ["note"]
    gone[0].touch()  # the others would have an empty file, too
    assert absent(openset) == ["warning"]


@pytest.fixture
def tree(world):
    """The ground truth as VOC, with class files; the objects of one image are difficult."""
    folder = world / converted(world, "voc")
    main = folder / "ImageSets" / "Main"
    main.mkdir(parents=True)
    files = sorted((folder / "Annotations").glob("*.xml"))
    first = files[0].read_text()
    files[0].write_text(first.replace("<difficult>0<", "<difficult>1<"))
    (main / "test.txt").write_text("".join(f"{file.stem}\n" for file in files))
    for name in NAMES.values():
        lines = []
        for file in files:
            objects = [one for one in file.read_text().splitlines() if f"<name>{name}<" in one]
            plain = any("<difficult>0<" in one for one in objects)
            lines.append(f"{file.stem} {' 1' if plain else ' 0' if objects else '-1'}\n")
        (main / f"{name}_test.txt").write_text("".join(lines))
    (main / "t1_known_test.txt").write_text("".join(f"{file.stem}\n" for file in files))
    return folder


def listed(openset):
    """What is said of the class files of the tree."""
    done = openset("check", "voc", "--known", ",".join(KNOWN), "--json")
    return [one for one in done.json["findings"]["voc"] if one["code"] == "OS462"]


def test_class_files_of_voc_that_fit(tree, openset):
    assert listed(openset) == []


def test_class_files_that_name_what_no_xml_has(tree, openset):
    shown = [
        line.split()[0]
        for line in (tree / "ImageSets" / "Main" / "dog_test.txt").read_text().splitlines()
        if line.endswith(" 1")
    ]
    for file in (tree / "Annotations").glob("*.xml"):
        rows = file.read_text().splitlines(True)
        file.write_text("".join(row for row in rows if "<name>dog<" not in row))
    [said] = listed(openset)
    assert said["level"] == "warning" and said["count"] == len(shown)
    assert f"dog on {len(shown)}" in said["message"] and shown[0] in said["example"]


def test_class_files_of_other_images_say_nothing(tree, openset):
    for file in (tree / "ImageSets" / "Main").glob("*_test.txt"):
        file.write_text("".join(f"2008_{line}\n" for line in file.read_text().splitlines()))
    assert listed(openset) == []


@pytest.fixture
def open_images(world):
    """The ground truth as Open Images, detections in pixels by its names, sizes in a file."""
    converted(world, "openimages")
    (world / "classes.json").write_bytes((world / "gt.json").read_bytes())
    truth = json.loads((world / "gt.json").read_text())
    stems = {one["id"]: one["file_name"].rpartition(".")[0] for one in truth["images"]}
    found = json.loads((world / "dt.json").read_text())
    named = [one | {"image_id": stems[one["image_id"]]} for one in found]
    (world / "dt.json").write_text(json.dumps(named))

    def sizes(*sides):
        rows = [
            ",".join(map(str, (stems[one["id"]], *(one[side] for side in sides))))
            for one in truth["images"]
        ]
        (world / "sizes.csv").write_text("\n".join(["ImageID,width,height", *rows]) + "\n")

    return sizes


PIXELS = ("dt.json", *EVALUATE, "--category-ids", "classes.json", "--json")


def test_pixels_on_shares_of_images_without_sizes(open_images, openset):
    done = openset("evaluate", "openimages", *PIXELS)
    assert done.code == 2
    assert [one["code"] for one in done.json["error"]["findings"]] == ["OS110"]
    fix = done.json["error"]["findings"][0]["fix"]
    open_images("width", "height")
    words = fix.partition("openset convert GT --sizes FILE ")[2].partition(";")[0].split()
    assert openset("convert", "openimages", "--sizes", "sizes.csv", *words).code == 0
    assert openset("evaluate", "gt.json", *PIXELS).code == 0


def test_sizes_exchanged_in_the_file_of_sizes(open_images, openset):
    open_images("height", "width")
    line = ("openimages", "--sizes", "sizes.csv", "--to", "coco", "-o", "made.json")
    assert openset("convert", *line).code == 0
    said = openset("evaluate", "made.json", *PIXELS).json["error"]["findings"]
    assert [one["code"] for one in said] == ["OS215"]
    assert "exchange width and height in the sizes of the ground truth" in said[0]["fix"]


def with_nc(folder, config, names):
    """A count of classes that is not that of the names."""
    config.write_text(config.read_text() + f"nc: {len(names) + 3}\n")


def with_other_yaml(folder, config, names):
    """Two lists of another name than data.yaml, one of them turned round."""
    config.rename(folder / "a.yaml")
    (folder / "b.yaml").write_text(json.dumps({"val": "images", "names": names[::-1]}))


def with_classes(folder, config, names):
    """The list of a labelling tool beside the labels, turned round."""
    (folder / "labels" / "classes.txt").write_text("\n".join(names[::-1]) + "\n")


@pytest.mark.parametrize("spoil", [with_nc, with_other_yaml, with_classes])
def test_lists_of_classes_that_contradict(spoil, yolo, openset):
    names = list(NAMES.values())
    spoil(yolo, yolo / "data.yaml", names)
    line = ("dt.json", *EVALUATE, "--category-ids", "gt.json")
    done = openset("evaluate", "yolo", *line, "--json")
    assert done.code == 2
    assert [one["code"] for one in done.json["error"]["findings"]] == ["OS121"]
    if spoil is with_other_yaml:  # the fix: give the file
        assert openset("evaluate", "yolo/a.yaml", *line).code == 0
    else:
        (yolo / "names.txt").write_text("\n".join(names) + "\n")
        check = ("check", "yolo", *EVALUATE[:2])
        assert openset(*check).code == 2
        assert openset(*check, "--names", "yolo/names.txt").code == 0


def test_lists_of_classes_that_agree(yolo, openset):
    names = list(NAMES.values())
    config = yolo / "data.yaml"
    config.write_text(config.read_text() + f"nc: {len(names)}\n")
    spelt = [name.replace(" ", "_").title() for name in names]
    (yolo / "labels" / "classes.txt").write_text("\n".join([*spelt, "another"]) + "\n")
    (yolo / "data.yml").write_text(config.read_text())
    (yolo / "task1.yaml").write_text("names: [cat, dog]\n")
    line = ("dt.json", *EVALUATE, "--category-ids", "gt.json")
    assert openset("evaluate", "yolo", *line).code == 0
    config.unlink()
    (yolo / "data.yml").unlink()
    (yolo / "task1.yaml").unlink()
    (yolo / "labels" / "classes.txt").unlink()
    done = openset("evaluate", "yolo", *line)
    assert done.code == 2 and "nothing names the classes of yolo" in " ".join(done.err.split())


SHEET = csv([f"{1013 + i},cat,1,2,30,40,0.{i + 1}" for i in range(8)])


def test_a_table_that_ends_in_the_middle_of_a_line(world, openset):
    (world / "d.csv").write_text(SHEET[:-7])
    done = openset("evaluate", "gt.json", "d.csv", *EVALUATE, "--json")
    [said] = done.json["error"]["findings"]
    assert done.code == 2 and said["code"] == "OS102" and "cut off" in said["cause"]
    assert "row 8" in said["example"] and "1020,cat,1,2,30" in said["example"]


@pytest.mark.parametrize("text", [SHEET, SHEET[:-1], SHEET.replace(",0.5", ",")[:-1]])
def test_a_last_line_without_an_end_is_no_cut(text, world, openset):
    (world / "d.csv").write_text(text)
    assert "OS102" not in openset("check", "gt.json", "d.csv", *EVALUATE[:2]).err


def test_rows_in_the_order_of_classes_that_end_early(world, openset):
    found = json.loads((world / "dt.json").read_text())
    found.sort(key=lambda one: one["category_id"])
    (world / "dt.json").write_text(json.dumps([one for one in found if one["category_id"] < 10]))
    done = openset("check", "gt.json", "dt.json", *EVALUATE[:2], "--json")
    [said] = [one for one in done.json["findings"]["dt"] if one["code"] == "OS308"]
    assert "end with 3, before those of these classes: the file was cut off" in said["cause"]
    missing = [one for one in found if one["category_id"] not in (1, 3)]
    (world / "dt.json").write_text(json.dumps(missing))
    done = openset("check", "gt.json", "dt.json", *EVALUATE[:2], "--json")
    [said] = [one for one in done.json["findings"]["dt"] if one["code"] == "OS308"]
    assert "cut off" not in said["cause"]


def test_gzip_within_gzip_is_said(world, openset):
    twice = gzip.compress(gzip.compress((world / "dt.json").read_bytes()))
    (world / "dt.json.gz").write_bytes(twice)
    done = openset("evaluate", "gt.json", "dt.json.gz", *EVALUATE, "--json")
    [said] = done.json["error"]["findings"]
    assert said["code"] == "OS102" and "gzip within gzip" in said["message"]
    (world / "dt.json.gz").write_bytes(gzip.decompress(twice))  # gunzip
    assert openset("evaluate", "gt.json", "dt.json.gz", *EVALUATE).code == 0


def in_boxes(box):
    """Detections with their boxes in one column of text."""
    return csv([f'{1013 + i},cat,"{box}",0.{i + 1}' for i in range(8)], "image_id,label,bbox,score")


@pytest.mark.parametrize(
    "box", ["[1, 2, 30, 40]", "[ 1.   2.  30.  40.]", "(1.0, 2.0, 30.0, 40.0)", "[1 2 30\n 40]"]
)
def test_boxes_as_programs_print_them(box, tmp_path):
    (tmp_path / "d.csv").write_text(in_boxes(box))
    assert read_detections(tmp_path / "d.csv").box.tolist() == [[1, 2, 30, 40]] * 8


@pytest.mark.parametrize("box", ["tensor([1., 2., 30., 40.])", "[1. 2. ... 40.]", "[1 2 30]"])
def test_boxes_of_which_a_program_printed_something_else(box, world, openset):
    (world / "d.csv").write_text(in_boxes(box))
    done = openset("evaluate", "gt.json", "d.csv", *EVALUATE)
    assert done.code == 2 and "OS108" in done.err and "record 0" in done.err


def test_rows_of_images_without_detections(tmp_path):
    """As a join of a list of images with detections writes them."""
    silent = ["1000,,,,,,", "1013,cat,1,2,30,40,0.5", "1014,,,,,,"]
    (tmp_path / "d.csv").write_text(csv(silent))
    assert read_detections(tmp_path / "d.csv").image.tolist() == [1013]
    (tmp_path / "d.csv").write_text(csv([*silent, "1015,,1,2,30,40,0.5"]))
    with pytest.raises(InputError, match="OS107"):
        read_detections(tmp_path / "d.csv")
