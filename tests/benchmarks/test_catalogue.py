"""The catalogue: facts of the papers, and every entry built from small files in official layout."""

from __future__ import annotations

import json
import re
from itertools import chain, combinations

import numpy as np
import pytest

import openset
from openset.benchmarks import files, load
from openset.benchmarks.auditing import audit
from openset.benchmarks.building import build
from openset.benchmarks.bundle import of_folder
from openset.benchmarks.pool import Universe, expanded, image_names
from openset.benchmarks.roles import resolve, spelling
from openset.findings import InputError
from openset.learning import stages_of
from openset.tables import Vocabulary
from scenes.benchmarks import open_images, write_coco

VOC, COCO = Vocabulary.of("voc20").known, Vocabulary.of("coco80").known


def everything():
    """All entries, those with variants once for each."""
    for name in files():
        whole = load(name)
        if any(whole.classes.steps()):
            yield name
        yield from (f"{name}:{variant}" for variant in whole.variants)


@pytest.mark.parametrize("name", list(everything()))
def test_classes_have_one_role_each(name):
    benchmark = load(name)
    if isinstance(benchmark.classes.known, dict):
        return  # chosen from the sources
    universe = Universe((), spelling(benchmark), benchmark.lists, benchmark.seed)
    roles = resolve(benchmark, universe)  # refuses overlaps
    assert all(roles.tasks)


def sizes(name):
    benchmark = load(name)
    universe = Universe((), spelling(benchmark), benchmark.lists, benchmark.seed)
    roles = resolve(benchmark, universe)
    return [len(task) for task in roles.tasks], len(roles.unknown)


@pytest.mark.parametrize(
    ("name", "tasks", "unknown"),
    [
        ("owod", [20, 20, 20, 20], 0),
        ("re-owod", [20, 20, 20, 20], 0),
        ("s-owodb", [19, 21, 20, 20], 0),
        ("nu-owodb", [10, 7, 6], 0),
        ("coco-ood", [20], 0),
        ("rwd:aerial", [10], 10),
        ("rwd:aquatic", [4], 3),
        ("rwd:game", [30], 29),
        ("rwd:medical", [6], 6),
        ("rwd:surgical", [6], 6),
        ("voc-coco", [20], 0),
        ("wilderness", [20], 0),
        ("osod3-animal:split1", [24], 72),
        ("osod3-vehicle:split4", [6], 18),
        ("osod3-cub:split2", [150], 50),
        ("osr-mnist:trial1", [6], 4),
        ("osr-svhn:trial5", [6], 4),
        ("osr-cifar10:trial3", [6], 4),
        ("osr-cifar+10:trial2", [4], 10),
        ("osr-cifar+50:trial4", [4], 50),
        ("osr-tinyimagenet:trial1", [20], 180),
        ("osr-cub:easy", [100], 32),
        ("osr-cub:medium", [100], 34),
        ("osr-cub:hard", [100], 34),
        ("vos-voc", [20], 0),
        ("vos-bdd", [10], 0),
        ("fmiyc-voc", [20], 0),
        ("digits", [6], 0),
        ("digits:tasks", [2, 2, 2], 0),
    ],
)
def test_published_numbers_of_classes(name, tasks, unknown):
    assert sizes(name) == (tasks, unknown)


def test_the_tasks_of_owod_are_the_classes_of_coco():
    benchmark = load("owod")
    tasks = [expanded(task, {}) for task in benchmark.classes.tasks]
    key = Vocabulary(tasks=()).key
    assert {key(k) for k in chain(*tasks)} == set(map(key, COCO))
    assert set(map(key, tasks[0])) == set(map(key, VOC))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("M-OWODB", "owod"),
        ("S-OWODB", "s-owodb"),
        ("COCO-Mix", "coco-ood"),
        ("rwd:game", "rwd:game"),
    ],
)
def test_names_that_people_type(typed, meant):
    assert load(typed).name == meant


def test_the_tasks_of_s_owodb_are_the_super_categories_of_coco():
    tasks = Vocabulary.of("s-owodb-t4").tasks
    key = Vocabulary(tasks=()).key
    assert {key(k) for k in chain(*tasks)} == set(map(key, COCO))
    # COCO lists its classes by super-category, so that a task is a few runs of its list.
    places = [np.array(sorted(list(map(key, COCO)).index(key(k)) for k in task)) for task in tasks]
    runs = [len(np.split(p, np.flatnonzero(np.diff(p) > 1) + 1)) for p in places]
    assert runs == [2, 4, 2, 3]


@pytest.mark.parametrize("name", ["osod3-animal", "osod3-vehicle", "osod3-cub"])
def test_splits_of_osod3_are_disjoint(name):
    lists = load(name).lists
    assert len({len(split) for split in lists.values()}) == 1
    for one, other in combinations(lists.values(), 2):
        assert not set(one) & set(other)


def test_groups_of_mtsd():
    lists = load("osod3-mtsd").lists
    assert (len(lists["unknown1"]), len(lists["unknown2"])) == (55, 114)
    assert not set(lists["unknown1"]) & set(lists["unknown2"])


# Small files in official layout


def voc_tree(folder, year, images, splits):
    """A VOC tree: XML per image, lists per split."""
    for name, labels in images.items():
        objects = "".join(
            f"<object><name>{label}</name><difficult>0</difficult><bndbox><xmin>{1 + 9 * i}</xmin>"
            f"<ymin>1</ymin><xmax>{9 + 9 * i}</xmax><ymax>20</ymax></bndbox></object>"
            for i, label in enumerate(labels)
        )
        path = folder / f"VOCdevkit/VOC{year}/Annotations/{name}.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        size = "<size><width>100</width><height>80</height></size>"
        path.write_text(f"<annotation><filename>{name}.jpg</filename>{size}{objects}</annotation>")
    for split, names in splits.items():
        path = folder / f"VOCdevkit/VOC{year}/ImageSets/Main/{split}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{name}\n" for name in names))


@pytest.fixture
def voc_and_coco(tmp_path):
    """Two VOC trees and two COCO files; each COCO image is named by a number of twelve digits."""
    seven = {"000001": ["dog"], "000002": ["cat", "dog"]}
    seven |= {"000005": ["tvmonitor"], "000006": ["cat"]}
    voc_tree(
        tmp_path,
        2007,
        seven,
        {"test": ["000001", "000002"], "trainval": ["000005", "000006"], "train": ["000005"]},
    )
    voc_tree(tmp_path, 2012, {"2008_000002": ["aeroplane"]}, {"trainval": ["2008_000002"]})
    train = [["zebra"], ["tv", "zebra"], [], ["truck"], ["kite", "pizza"], ["bed"], ["pizza"]]
    train += [["bed"]] * 5
    val = [["dog", "truck"], ["zebra"], ["kite"], [], ["bed", "person"]]
    for part, images in (("train", train), ("val", val)):
        named = {f"{n + (part == 'val') * 100:012}": held for n, held in enumerate(images, 1)}
        path = tmp_path / f"annotations/instances_{part}2017.json"
        write_coco(path, named, labels=COCO, first_id=1 + (part == "val") * 100)
    return tmp_path


def held(out, split):
    table = openset.read(out / f"{split}.json")
    rows = zip(table.image.tolist(), table.label.tolist(), strict=True)
    names = image_names(table).tolist()
    found = {name: [] for name in names}
    for image, label in rows:
        found[names[image]].append(table.labels[label])
    return found


def test_wilderness(voc_and_coco):
    built = build("wilderness", voc_and_coco, voc_and_coco / "out")
    out = built.folder
    assert held(out, "train") == {
        "000005": ["tvmonitor"], "000006": ["cat"], "2008_000002": ["aeroplane"]
    }  # fmt: skip
    assert held(out, "known") == {"000001": ["dog"], "000002": ["cat", "dog"]}
    pool = held(out, "pool")
    assert set(pool) == {f"{n:012}" for n in (1, *range(3, 13))}  # 2 shows a tv
    one, two = held(out, "wr-1"), held(out, "wr-2")
    assert list(one)[:2] == list(two)[:2] == ["000001", "000002"]
    assert (len(one), len(two)) == (4, 6)
    assert set(one) < set(two)
    assert set(two) - {"000001", "000002"} < set(pool)
    assert {finding.code for finding in built.findings} == {"OS907"}  # it is not the real VOC


def owod_lists(folder, name, lists):
    (folder / name).mkdir()
    for file, images in lists.items():
        (folder / name / f"{file}.txt").write_text("".join(f"{image}\n" for image in images))


def paired(names, *labels):
    return dict(zip(names, labels, strict=True))


def twelve(*numbers):
    return [f"{number:012}" for number in numbers]


def test_owod(voc_and_coco):
    lists = {
        "t1_train": ["000005", "000006", "2008_000002"],
        "t2_train": twelve(1, 2, 4),
        "t3_train": twelve(5, 7),
        "t4_train": twelve(6),
        "t2_ft": twelve(4),
        "t3_ft": twelve(7),
        "t4_ft": twelve(6),
        "all_task_val": ["000006", *twelve(5)],
        "all_task_test": ["000001", "000002", *twelve(101, 102, 101, 105)],
    }
    owod_lists(voc_and_coco, "OWOD_imagesets", lists)
    out = build("owod", voc_and_coco, voc_and_coco / "out").folder
    assert held(out, "train-t1")["2008_000002"] == ["aeroplane"]
    assert held(out, "train-t2") == paired(twelve(1, 2, 4), ["zebra"], ["zebra"], ["truck"])
    assert held(out, "finetune-t3") == {"000000000007": ["pizza"]}
    test = held(out, "test-t2")
    assert list(test) == ["000001", "000002", *twelve(101, 102, 105)]  # each once
    assert test["000000000105"] == ["bed", "person"]
    roles = Vocabulary.of(None, openset.read(out / "test-t2.json"))
    expected = {"dog": "known", "truck": "known", "bed": "unknown", "pizza": "unknown"}
    assert {label: str(roles.role(label)) for label in expected} == expected
    assert roles.role("airplane") == "known"
    assert held(out, "val-t1")["000000000005"] == ["kite", "pizza"]  # shown, as published


def test_re_owod(voc_and_coco):
    lists = {f"t{t}_train": twelve(n) for t, n in ((1, 2), (2, 4), (3, 7), (4, 6))}
    lists |= {"t2_ft": twelve(4), "t3_ft": twelve(7), "t4_ft": twelve(6)}
    lists |= {"all_task_val": twelve(5, 1), "all_task_test": twelve(101, 102, 103, 105)}
    owod_lists(voc_and_coco, "Main", lists)
    out = build("re-owod", voc_and_coco, voc_and_coco / "out").folder
    assert held(out, "train-t1") == {"000000000002": ["tvmonitor"]}
    assert held(out, "val-t2") == {"000000000005": [], "000000000001": ["zebra"]}  # known only
    assert held(out, "val-t3")["000000000005"] == ["kite", "pizza"]
    assert openset.read(out / "test-t1.json").images.id.tolist() == [101, 102, 103, 105]


def test_voc_coco(voc_and_coco):
    test = ["000001", "000002"]
    lists = {f"voc_coco_{k}_test": test + twelve(1) for k in ("20_40", "20_60", "20_80", "2500")}
    lists |= {f"voc_coco_{k}_test": test + twelve(4) for k in ("5000", "10000", "20000")}
    lists |= {"voc_coco_15000_test": test, "voc_coco_val": ["000006", *twelve(101)]}
    owod_lists(voc_and_coco, "opendet2", lists)
    out = build("voc-coco", voc_and_coco, voc_and_coco / "out").folder
    assert list(held(out, "train")) == ["000005", "2008_000002"]
    assert held(out, "t2-5000") == {
        "000001": ["dog"],
        "000002": ["cat", "dog"],
        "000000000004": ["truck"],
    }
    assert held(out, "val") == {"000006": ["cat"], "000000000101": ["dog", "truck"]}


def test_vos_and_fmiyc_on_voc(voc_and_coco):
    out = build("vos-voc", voc_and_coco, voc_and_coco / "vos").folder
    assert held(out, "ood-coco") == paired(twelve(102, 103, 104), ["zebra"], ["kite"], [])
    out = build("fmiyc-voc", voc_and_coco, voc_and_coco / "fmiyc").folder
    assert held(out, "near") == {"000000000102": ["zebra"]}
    assert held(out, "far") == {"000000000103": ["kite"]}
    tiers = openset.read(out / "ood.json").images
    assert dict(zip(tiers.id.tolist(), tiers.attributes["tier"].tolist(), strict=True)) == {
        102: "near",
        103: "far",
    }
    (voc_and_coco / "fmiyc_coco_near.txt").write_text("000000000102\n000000000001\n")
    (voc_and_coco / "fmiyc_coco_far.txt").write_text("000000000103\n")
    out = build("fmiyc-voc:lists", voc_and_coco, voc_and_coco / "lists").folder
    assert list(held(out, "near")) == twelve(102, 1)


@pytest.mark.parametrize("name", ["vos-voc", "fmiyc-voc"])
def test_what_is_built_for_ood_is_evaluated(voc_and_coco, name):
    """The files name the known classes, of which they show none: detectors speak of them."""
    out = build(name, voc_and_coco, voc_and_coco / "out").folder
    for path in out.glob("*.json"):
        if path.name == "bundle.json" or openset.read(path).info["kind"] != "ood":
            continue
        truth = openset.read(path)
        ids = dict(zip(truth.labels, truth.category_id.tolist(), strict=True))
        assert set(VOC) <= set(truth.labels)
        assert not {truth.labels[i] for i in truth.label} & set(VOC)
        box = truth.box[0].tolist()
        found = [
            {
                "image_id": int(truth.images.id[0]),
                "category_id": ids["dog"],
                "bbox": box,
                "score": 1,
            }
        ]
        (voc_and_coco / "dt.json").write_text(json.dumps(found))
        result = openset.evaluate(path, voc_and_coco / "dt.json", intervals=False)
        assert result.value("a_ose").value == 1
        assert not {"OS306", "OS310"} & {f.code for f in result.findings}


def write_bdd(folder):
    """Labels of BDD100K: one box an image, and a lane."""
    box = {"x1": 10, "y1": 20, "x2": 30, "y2": 60}
    names = ("car", "rider", "traffic sign", "motor")
    records = [
        {"name": f"{n}.jpg", "labels": [{"category": name, "box2d": box}, {"category": "lane"}]}
        for n, name in enumerate(
            [*names, "bike", "bus", "truck", "train", "person", "traffic light"]
        )
    ]
    for part in ("train", "val"):
        (folder / f"bdd100k_labels_images_{part}.json").write_text(json.dumps(records))


def test_vos_and_fmiyc_on_bdd(voc_and_coco):
    write_bdd(voc_and_coco)
    out = build("vos-bdd", voc_and_coco, voc_and_coco / "vos").folder
    assert held(out, "id")["3"] == ["motorcycle"]
    assert openset.read(out / "id.json").box[0].tolist() == [10, 20, 20, 40]
    assert list(held(out, "ood-coco")) == twelve(102, 103, 104)  # no truck, no person
    out = build("fmiyc-bdd", voc_and_coco, voc_and_coco / "fmiyc").folder
    assert held(out, "farther") == {"000000000102": ["zebra"], "000000000103": ["kite"]}


def test_vos_and_fmiyc_on_open_images(voc_and_coco):
    lists = load("fmiyc-voc:openimages").lists
    named = [*lists["removed-openimages"], *lists["near-openimages"]]
    names = [*named, "Cattle", "Kitchen & dining room table", "Tree", *VOC]
    images = {
        "aa": ["Fox"], "bb": ["Dog", "Tree"], "cc": ["Tree"], "dd": ["Tree", "Woman"],
        "ee": ["Cattle"], "ff": ["Tree", "Tree"], "zz": names,
    }  # fmt: skip
    open_images(voc_and_coco, {"oidv6-train-annotations-bbox.csv": images}, names)
    listed = {"vos_openimages": "abcde", "fmiyc_openimages_near": "a", "fmiyc_openimages_far": "f"}
    for name, ids in listed.items():
        (voc_and_coco / f"{name}.txt").write_text("".join(f"{one * 2}\n" for one in ids))
    out = build("vos-voc:openimages", voc_and_coco, voc_and_coco / "vos").folder
    assert list(held(out, "ood-openimages")) == ["aa", "bb", "cc", "dd", "ee"]
    built = build("fmiyc-voc:openimages", voc_and_coco, voc_and_coco / "rule")
    assert held(built.folder, "near") == {"aa": ["Fox"], "bb": ["Tree"]}
    assert held(built.folder, "far") == {"cc": ["Tree"], "ee": []}  # a woman is removed, a cow not
    assert built.manifest["splits"]["near"]["dropped"] == {"known": 1}  # a dog
    found = audit(of_folder(built.folder), ["semantic_overlap"])["semantic_overlap"]
    wrong = {check.where for check in found.checks if check.verdict == "FAIL"}
    assert wrong == {"near", "far", "ood"}
    built = build("fmiyc-voc:openimages-lists", voc_and_coco, voc_and_coco / "lists")
    assert list(held(built.folder, "far")) == ["ff"]
    assert "1 images in place of 908" in str([f.message for f in built.findings])


def test_fmiyc_on_open_images_for_bdd(tmp_path):
    write_bdd(tmp_path)
    names = [*load("fmiyc-bdd").lists["people"], "Car", "Tree"]
    images = {"aa": ["Tree"], "bb": ["Tree", "Human hand"], "cc": ["Car"], "zz": names}
    open_images(tmp_path, {"oidv6-train-annotations-bbox.csv": images}, names)
    (tmp_path / "vos_openimages.txt").write_text("aa\nbb\ncc\n")
    out = build("fmiyc-bdd:openimages", tmp_path, tmp_path / "out").folder
    assert held(out, "farther") == {"aa": ["Tree"], "cc": []}  # cars stay, without their boxes


def test_osod3_on_open_images(tmp_path):
    lists = load("osod3-vehicle").lists
    names = [*chain(*lists.values()), "Person", "Tree"]
    parts = {
        "oidv6-train-annotations-bbox.csv": {
            "aa": ["Taxi", "Person"], "bb": ["Bus"], "cc": ["Van", "Bus", "Tree"], "dd": ["Tree"]
        },
        "validation-annotations-bbox.csv": {"ee": ["Van", "Bus"], "ff": ["Bus"]},
        "test-annotations-bbox.csv": {"gg": ["Bus"], "hh": ["Van", "Person"], "ii": ["Person"]},
    }  # fmt: skip
    open_images(tmp_path, parts, names)
    built = build("osod3-vehicle:split1", tmp_path, tmp_path / "out")
    assert held(built.folder, "train") == {"aa": ["Taxi"], "cc": ["Van"]}
    assert built.manifest["splits"]["train"]["dropped"] == {"unknown": 1}
    assert held(built.folder, "val") == {"ee": ["Van", "Bus"]}
    assert held(built.folder, "test") == {"gg": ["Bus"], "hh": ["Van"]}
    test = openset.read(built.folder / "test.json")
    assert test.box.tolist() == [[0.25, 0.125, 0.25, 0.625]] * 2
    assert not test.crowd.any()  # a group is an ordinary box to the published loader
    assert "OS916" in [finding.code for finding in built.findings]
    assert "Truck" in {
        c for c, role in zip(test.labels, test.role, strict=True) if role == "unknown"
    }
    out = build("osod3-vehicle:split2", tmp_path, tmp_path / "two").folder
    assert held(out, "train") == {"bb": ["Bus"], "cc": ["Bus"]}
    with pytest.raises(InputError, match="osod3-vehicle:split1"):
        build("osod3-vehicle", tmp_path, tmp_path / "three")


def test_sizes_of_open_images_are_those_of_the_pictures(tmp_path):
    from PIL import Image

    names = [*chain(*load("osod3-vehicle").lists.values())]
    tests = {"aa": ["Taxi"], "bb": ["Bus"]}
    parts = {
        "oidv6-train-annotations-bbox.csv": {"cc": ["Taxi"]},
        "validation-annotations-bbox.csv": {"dd": ["Van"]},
        "test-annotations-bbox.csv": tests,
    }
    open_images(tmp_path, parts, names)
    for folder, images in (("train", "c"), ("validation", "d"), ("OpenImages/test", "ab")):
        (tmp_path / folder).mkdir(parents=True)
        for at, name in enumerate(images):
            Image.new("RGB", (64 + at, 48)).save(tmp_path / folder / f"{name * 2}.jpg")
    built = build("osod3-vehicle:split1", tmp_path, tmp_path / "out")
    assert "OS916" not in [finding.code for finding in built.findings]
    test = openset.read(built.folder / "test.json")
    assert (test.images.width.tolist(), test.images.height.tolist()) == ([64, 65], [48, 48])
    assert test.images.file_name.tolist() == [f"OpenImages/test/{n}.jpg" for n in tests]
    assert test.box.tolist() == [[16, 6, 16, 30], [16.25, 6, 16.25, 30]]
    assert test.area.tolist() == [480, 487.5]
    (tmp_path / "OpenImages/test/bb.jpg").write_bytes(b"")
    with pytest.raises(InputError, match=r"OS917.*1 of 2 pictures.*no header"):
        build("osod3-vehicle:split1", tmp_path, tmp_path / "empty")
    (tmp_path / "OpenImages/test/bb.jpg").unlink()
    with pytest.raises(InputError, match=r"OS917.*1 of 2 pictures are not in"):
        build("osod3-vehicle:split1", tmp_path, tmp_path / "half")


def test_osod3_on_cub(tmp_path):
    lists = load("osod3-cub").lists
    names = [name.replace(" ", "_") for name in chain(*lists.values())]
    folder = tmp_path / "CUB_200_2011"
    folder.mkdir()
    images = [(n, c) for n, c in enumerate([c for c in range(200) for _ in range(8)], 1)]

    def write(file, lines):
        (folder / file).write_text("".join(f"{line}\n" for line in lines))

    write("classes.txt", (f"{c} {c:03}.{name}" for c, name in enumerate(names, 1)))
    write("images.txt", (f"{n} {c + 1:03}.{names[c]}/i{n}.jpg" for n, c in images))
    write("image_class_labels.txt", (f"{n} {c + 1}" for n, c in images))
    write("bounding_boxes.txt", (f"{n} 1.0 2.0 30.0 40.0" for n, c in images))
    write("train_test_split.txt", (f"{n} {int(n % 2)}" for n, c in images))
    built = build("osod3-cub:split1", tmp_path, tmp_path / "out")
    splits = built.manifest["splits"]
    # 800 training images, 200 of them of unknown birds; 500 validate.
    assert (splits["val"]["images"], splits["test"]["images"]) == (500, 800)
    assert splits["train"]["images"] == 600 - splits["val"]["known"]
    assert splits["test"]["unknown"] == 200
    table = openset.read(built.folder / "train.json")
    assert not {table.labels[i] for i in table.label.tolist()} & set(lists["split1"])
    assert table.box[0].tolist() == [1, 2, 30, 40]


def mtsd_label(name):
    """A name of the paper as the data set spells it, with two mistakes of its own."""
    official = re.sub(r"^(\w+)-(.*)-(g\d+)$", r"\1--\2--\3", name)
    return official.replace("area-unsafe", "area-unsure").replace("kangaroo", "kangaloo")


def mtsd_tree(folder, signs, splits):
    """MTSD as it is unpacked: a JSON file per image with all its keys, lists of splits."""
    (folder / "annotations").mkdir(parents=True)
    (folder / "splits").mkdir()
    flags = ("barrier", "occluded", "out-of-frame", "exterior", "ambiguous", "included",
             "direction-or-information", "highway", "dummy")  # fmt: skip
    for name, labels in signs.items():
        objects = [
            {
                "key": f"{name}-{at}",
                "label": label,
                "bbox": {"xmin": 1.5 + 50 * at, "ymin": 2, "xmax": 41.5 + 50 * at, "ymax": 32},
                "properties": dict.fromkeys(flags, False),
            }
            for at, label in enumerate(labels)
        ]
        text = {"width": 9000, "height": 2448, "ispano": False, "objects": objects}
        (folder / "annotations" / f"{name}.json").write_text(json.dumps(text))
    for split, names in splits.items():
        (folder / "splits" / f"{split}.txt").write_text("\n".join(names) + "\n")


def test_osod3_on_mtsd(tmp_path):
    lists = load("osod3-mtsd").lists
    first, second = ([mtsd_label(name) for name in lists[f"unknown{at}"]] for at in (1, 2))
    assert {"warning--accidental-area-unsure--g2", "warning--kangaloo-crossing--g1"} <= set(first)
    known = "regulatory--of-the-test--g1"
    signs = {f"k{n}": [known, "other-sign"] for n in range(1010)}
    signs |= {"all": [*first, *second, "other-sign"], "others": ["other-sign"]}
    signs |= {"t1": [known, first[0], second[0]], "t2": [second[1], "other-sign"]}
    tests = ["t1", "t2", "others"]
    splits = {"train": [name for name in signs if name not in tests], "val": tests, "test": []}
    mtsd_tree(tmp_path / "mtsd_v2_fully_annotated", signs, splits)
    built = build("osod3-mtsd:u1", tmp_path, tmp_path / "out")
    assert built.manifest["splits"]["train"]["images"] == 10
    assert built.manifest["splits"]["val"]["images"] == 1000
    test = openset.read(built.folder / "test.json")
    assert test.images.file_name.tolist() == ["t1.jpg", "t2.jpg"]  # none with other signs alone
    roles = [test.role[label] for label in test.label.tolist()]
    assert roles == ["known", "unknown", "ignored", "ignored"]
    assert test.box[0].tolist() == [1.5, 2, 40, 30]
    both = openset.read(build("osod3-mtsd:u1u2", tmp_path, tmp_path / "both").folder / "test.json")
    assert [both.role[label] for label in both.label.tolist()].count("unknown") == 3


def test_a_perfect_detector_of_signs_has_perfect_numbers(tmp_path):
    """Signs of the other group are crowds of the unknown class: to find them is no mistake."""
    lists = load("osod3-mtsd").lists
    first, second = ([mtsd_label(name) for name in lists[f"unknown{at}"]] for at in (1, 2))
    known = "regulatory--of-the-test--g1"
    signs = {f"k{n}": [known] for n in range(1001)} | {"all": [*first, *second, known]}
    signs |= {f"t{n}": [known, first[n], second[n], second[n + 1]] for n in range(20)}
    tests = [f"t{n}" for n in range(20)]
    splits = {"train": [name for name in signs if name not in tests], "val": tests}
    mtsd_tree(tmp_path / "mtsd_v2_fully_annotated", signs, splits)
    truth = openset.read(build("osod3-mtsd:u1", tmp_path, tmp_path / "out").folder / "test.json")
    named = np.array(truth.labels)[truth.label] == known
    found = openset.Detections(
        truth.images.id[truth.image],
        np.where(named, 0, 1),
        truth.box,
        np.linspace(0.9, 0.5, len(truth)),
        (known, "unknown"),
    )
    result = openset.evaluate(truth, found, protocol="osod3", intervals=False)
    assert result.value("ap_known").value == pytest.approx(1)
    assert result.value("ap_unknown").value == pytest.approx(1)


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """The files of a digits world, without its images."""
    from openset.worlds.digits import SPLITS, DigitsWorld

    folder = tmp_path_factory.mktemp("digits")
    for split in SPLITS:
        openset.write(DigitsWorld(images=300).annotations(split), folder / f"{split}.json")
    return folder


@pytest.mark.parametrize("name", ["digits", "digits:superclass", "digits:tasks"])
def test_digits(name, digits, tmp_path):
    from openset.benchmarks.auditing import audit
    from openset.benchmarks.bundle import of_folder

    built = build(name, digits, tmp_path / "out")
    test = built.manifest["splits"]["test-t3" if "tasks" in name else "test"]
    assert test["images"] == 90
    assert test["known"] > 30 < test["unknown"]
    for split in ("wild", "near"):
        for labels in held(built.folder, split).values():
            assert not set(labels) & {"zero", "five"}
    found = audit(of_folder(built.folder))
    assert found["class_openness"].verdict == found["data_specificity"].verdict == "PASS"


@pytest.mark.parametrize("name", ["osr-mnist:trial1", "osr-cub:hard", "osr-cifar+10:trial5"])
def test_recognition_needs_no_files(name, tmp_path):
    built = build(name, None, tmp_path / "out")
    assert built.manifest["splits"] == {}
    classes = built.manifest["classes"]
    assert len(classes["unknown"]) == sizes(name)[1]
    with pytest.raises(InputError, match="OS902"):
        build("owod", None, tmp_path / "owod")


def test_a_template_for_ones_own_file(tmp_path):
    labels = tuple("abcdefgh")
    images = {f"i{n}": [labels[n % 8], labels[n % 3]] for n in range(40)}
    write_coco(tmp_path / "annotations.json", images, labels=labels)
    built = build("own", tmp_path, tmp_path / "out")
    assert len(built.manifest["classes"]["tasks"][0]) == 4
    assert built.manifest["splits"]["test"]["images"] == 12


TWICE = ("005042", "007284", "009623")


@pytest.mark.parametrize("name", ["owod-val", "s-owodb-val"])
def test_tasks_on_little_data_are_a_chain_that_passes_its_audit(name, tmp_path):
    voc = {one: [VOC[at % 20]] for at, one in enumerate([*TWICE, *map(str, range(60))])}
    write_coco(tmp_path / "in" / "voc2007_trainval_coco.json", voc, labels=VOC)
    coco = {f"{at:012d}": [COCO[at % 80], COCO[at * 7 % 80]] for at in range(960)}
    write_coco(tmp_path / "in" / "instances_val2017.json", coco, labels=COCO, first_id=1000)
    build(name, tmp_path / "in", tmp_path / "out")
    bundle = of_folder(tmp_path / "out")
    found = audit(bundle)
    assert found.passed, found.text()
    assert [one.name for one in stages_of(bundle)] == [
        "t1",
        "t2",
        "t2-ft",
        "t3",
        "t3-ft",
        "t4",
        "t4-ft",
    ]
    parts = {part.name: part for part in bundle.parts}
    assert parts["test-t1"].names == parts["test-t4"].names
    assert not {f"{one}.jpg" for one in TWICE} & parts["train-t1"].names
