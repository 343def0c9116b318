"""The audit: a clean benchmark passes, and each of many single defects is found."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from openset.benchmarks.auditing import audit, page, with_options
from openset.benchmarks.building import build
from openset.benchmarks.bundle import of_folder, of_lists
from openset.benchmarks.own_files import of_files
from openset.benchmarks.principles import principles
from openset.benchmarks.taxonomy import Taxonomy
from openset.findings import InputError, UsageError
from scenes.benchmarks import clean, held, write_coco


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    build(clean(folder), folder, folder / "out")
    return folder / "out"


@pytest.fixture
def folder(built, tmp_path):
    """A copy to break."""
    return shutil.copytree(built, tmp_path / "bundle")


def change(path, edit):
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


def verdicts(folder, **options):
    found = audit(with_options(of_folder(folder), **options))
    return {one.name: one.verdict.value for one in found.judgements}


def paint(path, seed, size=(96, 72)):
    """A picture that no other seed gives."""
    coarse = np.random.default_rng(seed).integers(0, 255, (6, 8, 3), np.uint8)
    Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC).save(path)


@pytest.fixture
def pictures(folder, tmp_path):
    there = tmp_path / "pictures"
    there.mkdir()
    names = sorted({name for part in of_folder(folder).parts for name in part.lines})
    for seed, name in enumerate(names):
        paint(there / name, seed)
    return there


def test_the_clean_benchmark_passes(folder, pictures):
    found = verdicts(folder, images=pictures)
    assert list(found) == list(principles())
    assert len(found) == 7
    assert set(found.values()) == {"PASS"}


def test_a_lost_split_is_named_and_made_again(tmp_path):
    definition = clean(tmp_path)
    out = build(definition, tmp_path, tmp_path / "out").folder
    whole = {path.name: path.read_bytes() for path in out.glob("*.json")}
    lost, *others = sorted(set(whole) - {"bundle.json"})
    (out / lost).unlink()
    (out / others[0]).write_text("edited")
    with pytest.raises(InputError, match="OS912") as caught:
        of_folder(out)
    assert lost in str(caught.value) and "openset build" in caught.value.findings[0].fix
    assert not build(definition, tmp_path, out).again
    assert (out / lost).read_bytes() == whole[lost]
    assert (out / others[0]).read_text() == "edited"  # what is there is nobody else's to replace
    assert build(definition, tmp_path, out).again


# Edits of the files of the clean benchmark, and the principle that each breaks.


def category(document, name):
    return next(c for c in document["categories"] if c["name"] == name)


def add_box(document, label, image=0, role="unknown"):
    if label not in [c["name"] for c in document["categories"]]:
        number = 1 + max(c["id"] for c in document["categories"])
        document["categories"].append({"id": number, "name": label, "role": role})
    box = dict(document["annotations"][0], id=999, image_id=document["images"][image]["id"])
    document["annotations"].append(box | {"category_id": category(document, label)["id"]})


def keep_boxes(document, role):
    ids = {c["id"] for c in document["categories"] if c["role"] == role}
    kept = [a for a in document["annotations"] if a["category_id"] in ids]
    document["annotations"] = kept


def drop_label(document, label):
    gone = category(document, label)["id"]
    document["annotations"] = [a for a in document["annotations"] if a["category_id"] != gone]


def rename_label(document, old, new):
    category(document, old)["name"] = new


def empty_image(document):
    document["images"].append(dict(document["images"][0], id=777, file_name="empty.jpg"))


def twice(document):
    document["images"].append(dict(document["images"][0]))


def borrow(document, name):
    document["images"][0]["file_name"] = f"{name}.jpg"


def other_source(document):
    document["images"][0]["source"] = "voc"


def classes(edit):
    return lambda document: edit(document["classes"])


BUNDLE = "bundle.json"
DEFECTS = {
    "a class is known and unknown": (
        BUNDLE, classes(lambda c: c["unknown"].append("cat")), "class_openness"),
    "another spelling is known and unknown": (
        BUNDLE, classes(lambda c: c["unknown"].append("C_A_T")), "class_openness"),
    "no unknown object in the test": (
        "test-t1.json", lambda d: keep_boxes(d, "known"), "class_openness"),
    "no known object in the test": (
        "test-t1.json", lambda d: keep_boxes(d, "unknown"), "class_openness"),
    "an unknown object is taught": (
        "train-t1.json", lambda d: add_box(d, "zebra"), "class_openness"),
    "a later class is taught": (
        "train-t1.json", lambda d: add_box(d, "dog"), "class_openness"),
    "a task adds nothing": (
        BUNDLE, classes(lambda c: c["tasks"].append([])), "task_increment"),
    "a class is introduced twice": (
        BUNDLE, classes(lambda c: c["tasks"][1].append("cat")), "task_increment"),
    "a class is ignored, then taught": (
        BUNDLE, classes(lambda c: c["ignored"].append("dog")), "task_increment"),
    "a class is never shown": (
        "train-t2.json", lambda d: d.update(annotations=[]), "task_increment"),
    "training shows an earlier class": (
        "train-t2.json", lambda d: add_box(d, "cat", role="known"), "annotation_specificity"),
    "validation shows an unknown class": (
        "val-t2.json", lambda d: add_box(d, "zebra"), "annotation_specificity"),
    "validation shows a later class": (
        "val-t1.json", lambda d: add_box(d, "dog"), "annotation_specificity"),
    "a test file states another role": (
        "test-t1.json", lambda d: category(d, "dog").update(role="known"),
        "annotation_specificity"),
    "a test image has no annotation": ("test-t2.json", empty_image, "label_integrity"),
    "test images of two label universes": ("test-t1.json", other_source, "label_integrity"),
    "the source lacks a class": (
        BUNDLE, lambda d: d["sources"]["mine"]["labels"].remove("dog"), "label_integrity"),
    "an image is twice in the test": ("test-t1.json", twice, "data_specificity"),
    "an image is twice in training": ("train-t1.json", twice, "data_specificity"),
    "a training image is tested": ("test-t1.json", lambda d: borrow(d, "c2"), "data_specificity"),
    "a later training image is tested": (
        "test-t1.json", lambda d: borrow(d, "d2"), "data_specificity"),
    "a validation image is tested": (
        "test-t2.json", lambda d: borrow(d, "d1"), "data_specificity"),
    "a training image validates": ("val-t1.json", lambda d: borrow(d, "d3"), "data_specificity"),
    "a training image is tested under another suffix and case": (
        "test-t1.json", lambda d: d["images"][0].update(file_name="C2.PNG"), "data_specificity"),
    "a file was edited": (
        "test-t1.json", lambda d: d["annotations"][0].update(area=1.0), "data_specificity"),
    "boxes differ between the tests of two tasks": (
        "test-t2.json", lambda d: d["annotations"][0]["bbox"].__setitem__(0, 9.0),
        "label_integrity"),
    "a task has no test": (BUNDLE, lambda d: d["splits"].pop("test-t1"), "task_increment"),
    "a known class has no test objects": (
        "test-t2.json", lambda d: drop_label(d, "dog"), "class_openness"),
    "a label is in no list": ("test-t1.json", lambda d: add_box(d, "giraffe"), "class_openness"),
    "pretraining showed unknown classes": (
        BUNDLE, lambda d: d.update(pretraining=["COCO"]), "pretraining_hygiene"),
    "an unknown class is a kind of a known one": (
        "test-t1.json", lambda d: rename_label(d, "zebra", "kitten"), "semantic_overlap"),
    "an unknown class is the plural": (
        "test-t2.json", lambda d: rename_label(d, "zebra", "Dogs"), "semantic_overlap"),
    "known objects in an out-of-distribution set": (
        BUNDLE, lambda d: d["splits"]["test-t1"].update(kind="ood"), "semantic_overlap"),
}  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_single_defect_is_found(defect, folder):
    file, edit, name = DEFECTS[defect]
    change(folder / BUNDLE, lambda d: d["sources"].update(voc={"labels": ["cat"]}))
    assert set(verdicts(folder).values()) == {"PASS"}
    change(folder / file, edit)
    found = audit(of_folder(folder))
    assert not found.passed
    assert found[name].verdict == "FAIL"
    wrong = [check for check in found[name].checks if check.verdict == "FAIL"]
    assert all(check.count > 0 for check in wrong)


def test_known_objects_that_an_out_of_distribution_set_hides(folder):
    change(folder / "test-t1.json", lambda d: keep_boxes(d, "unknown"))
    change(folder / BUNDLE, lambda d: d["splits"]["test-t1"].update(kind="ood"))
    assert audit(of_folder(folder))["semantic_overlap"].verdict == "PASS"
    change(folder / BUNDLE, lambda d: d["splits"]["test-t1"].update(dropped={"known": 2}))
    found = audit(of_folder(folder))["semantic_overlap"]
    [wrong] = [check for check in found.checks if check.verdict == "FAIL"]
    assert (wrong.count, wrong.where) == (2, "test-t1")


def test_a_test_of_known_objects_only(folder):
    for name in ("test-t1", "test-t2"):
        change(folder / f"{name}.json", lambda d: keep_boxes(d, "known"))
        change(folder / BUNDLE, lambda d, name=name: d["splits"][name].update(kind="id"))
    found = audit(of_folder(folder))["class_openness"]
    [wrong] = [check for check in found.checks if check.verdict == "FAIL"]
    assert wrong.what == "some test images hold unknown objects"


def test_evidence_is_counted_and_exemplified(folder):
    change(folder / "val-t2.json", lambda d: (add_box(d, "zebra"), add_box(d, "zebra")))
    [wrong] = [
        c for c in audit(of_folder(folder))["annotation_specificity"].checks if c.verdict == "FAIL"
    ]
    assert (wrong.count, wrong.where) == (2, "val-t2")
    assert "zebra" in wrong.examples[0]


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ("c2_jpg.rf.0123456789abcdef.jpg", "c2_jpg.rf.fedcba9876543210.jpg", "UNKNOWN"),
        ("c2.jpg", "c2_hflip.jpg", "UNKNOWN"),
        ("c2_aug1.jpg", "c2_rot90.jpg", "UNKNOWN"),
        ("z8_jpg.rf.0123456789abcdef.jpg", "z9_jpg.rf.fedcba9876543210.jpg", "PASS"),
        ("scene_2_1.jpg", "scene_2_2.jpg", "PASS"),  # frames, and numbers of any kind
        ("airbrushed.jpg", "air.jpg", "PASS"),
    ],
)
def test_versions_of_a_photograph_in_two_stages(one, other, verdict, folder):
    change(folder / "train-t1.json", lambda d: d["images"][0].update(file_name=one))
    change(folder / "test-t1.json", lambda d: d["images"][0].update(file_name=other))
    found = audit(of_folder(folder))["data_specificity"]
    said = [check for check in found.checks if "version" in check.what]
    assert [check.verdict for check in said] == ["UNKNOWN"] * (verdict == "UNKNOWN")
    assert all(check.count == 1 and one in check.examples[0] for check in said)


# Images


def copy_of(pictures, source, target):
    shutil.copy(pictures / source, pictures / target)


def smaller(pictures, source, target):
    with Image.open(pictures / source) as image:
        image.resize((64, 48)).save(pictures / target, quality=70)


@pytest.mark.parametrize("fake", [copy_of, smaller])
@pytest.mark.parametrize(("source", "target"), [("c2.jpg", "cz1.jpg"), ("d1.jpg", "dz1.jpg")])
def test_the_same_picture_under_another_name(fake, source, target, folder, pictures):
    fake(pictures, source, target)
    found = audit(with_options(of_folder(folder), images=pictures))["data_specificity"]
    assert found.verdict == "FAIL"
    [wrong] = [check for check in found.checks if check.verdict == "FAIL"]
    assert (wrong.count, wrong.examples) == (1, (f"{target} = {source}",)) or wrong.examples == (
        f"{source} = {target}",
    )


def test_the_same_picture_twice_in_one_stage(folder, pictures):
    stage = sorted({name for part in of_folder(folder).of_stage("train") for name in part.lines})
    copy_of(pictures, stage[0], stage[1])
    found = audit(with_options(of_folder(folder), images=pictures))["data_specificity"]
    [wrong] = [check for check in found.checks if check.verdict == "FAIL"]
    assert (wrong.what, wrong.count) == ("no image is twice in a stage", 1)
    smaller(pictures, stage[0], stage[1])  # frames of one scene are no defect
    assert verdicts(folder, images=pictures)["data_specificity"] == "PASS"


def test_flat_pictures_are_not_the_same(folder, pictures):
    for grey, name in ((10, "c2.jpg"), (200, "cz1.jpg")):
        Image.new("RGB", (50, 50), (grey, grey, grey)).save(pictures / name)
    assert verdicts(folder, images=pictures)["data_specificity"] == "PASS"


def test_one_hash_is_not_one_picture(folder, pictures):
    """Both grow brighter from left to right, so that all neighbours compare alike."""
    ramp = np.linspace(0, 1, 96)
    for power, name in ((1, "c2.jpg"), (2, "cz1.jpg")):
        row = np.uint8(255 * ramp**power)
        Image.fromarray(np.tile(row, (72, 1))).save(pictures / name, "PNG")
    assert verdicts(folder, images=pictures)["data_specificity"] == "PASS"


def test_pictures_that_are_missing_or_damaged(folder, pictures):
    (pictures / "c2.jpg").unlink()
    assert verdicts(folder, images=pictures)["data_specificity"] == "UNKNOWN"
    (pictures / "cz1.jpg").write_bytes(b"no picture")
    assert verdicts(folder, images=pictures)["data_specificity"] == "FAIL"


def test_a_folder_of_images_that_is_not_there(folder, tmp_path):
    with pytest.raises(InputError, match="OS101"):
        with_options(of_folder(folder), images=tmp_path / "nowhere")


def test_near_finds_all_pairs_and_no_other():
    from openset.benchmarks.lookalikes import near

    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 1 << 63, 300, np.uint64) * np.uint64(2)
    for i in range(100):
        flips = rng.choice(64, rng.integers(0, 7), replace=False)
        hashes[200 + i] = hashes[i] ^ np.uint64(sum(1 << int(f) for f in flips))
    every = [
        (a, b)
        for a in range(300)
        for b in range(a + 1, 300)
        if np.bitwise_count(hashes[a] ^ hashes[b]) <= 4
    ]
    assert 20 < len(every) < 100
    assert near(hashes) == every


# What only the user knows


def test_a_hierarchy_shows_what_names_hide(folder):
    bundle = of_folder(folder)
    assert audit(bundle)["semantic_overlap"].verdict == "PASS"
    above = replace(bundle, taxonomy=Taxonomy({"zebra": ("horse",), "horse": ("cat",)}))
    assert audit(above)["semantic_overlap"].verdict == "FAIL"
    below = replace(bundle, taxonomy=Taxonomy({"cat": ("tree",)}))
    assert audit(below)["semantic_overlap"].verdict == "FAIL"


@pytest.mark.parametrize(
    ("declared", "verdict"),
    [
        (None, "UNKNOWN"),
        ((), "PASS"),
        (("imagenet",), "PASS"),
        (("voc",), "FAIL"),  # it shows cars
        (("objects365",), "FAIL"),
        (("imagenet", "something of ours"), "UNKNOWN"),
    ],
)
def test_pretraining(declared, verdict, folder):
    bundle = replace(of_folder(folder), pretraining=declared)
    assert audit(bundle)["pretraining_hygiene"].verdict == verdict


def test_a_second_annotation_estimates_what_is_unlabelled(folder, tmp_path):
    second = json.loads((folder / "test-t2.json").read_text())
    add_box(second, "cat")
    second["annotations"][-1]["bbox"] = [70, 60, 20, 10]  # nothing is labelled there
    (tmp_path / "second.json").write_text(json.dumps(second))
    bundle = with_options(of_folder(folder), second=tmp_path / "second.json")
    notes = [c for c in audit(bundle)["label_integrity"].checks if "unlabelled" in c.what]
    said = next(check.said for check in notes if check.where == "test-t2")
    known = sum(a["category_id"] in (1, 2) for a in second["annotations"])
    assert f"1 of {known} known" in said
    assert "0 of" in said.partition("known")[2]


def test_detections_in_place_of_a_second_annotation(folder, tmp_path):
    truth = json.loads((folder / "test-t1.json").read_text())
    image, cat = truth["images"][0]["id"], category(truth, "cat")["id"]
    boxes = {0.9: [70, 60, 20, 10], 0.8: truth["annotations"][0]["bbox"], 0.4: [70, 5, 20, 10]}
    records = [
        {"image_id": image, "category_id": cat, "bbox": box, "score": score}
        for score, box in boxes.items()
    ]
    (tmp_path / "dt.json").write_text(json.dumps(records))
    bundle = with_options(of_folder(folder), second=tmp_path / "dt.json")
    notes = [c for c in audit(bundle)["label_integrity"].checks if "unlabelled" in c.what]
    assert "1 of 2 known" in next(check.said for check in notes if check.where == "test-t1")


OOD = """
summary = "cats are known, zebras are out of distribution"
[classes]
known = ["cat"]
[sources.mine]
path = ["all.json"]
[splits]
id = { kind = "id", source = "mine", select = [{ with = "known" }] }
ood = { kind = "ood", source = "mine", select = [{ with = ["zebra"] }, { without = "known" }] }
"""


@pytest.fixture
def ood(tmp_path):
    write_coco(tmp_path / "all.json", {i: held(i) for i in ("c1", "z1", "z2", "z3")})
    (tmp_path / "ood.toml").write_text(OOD)
    return build(tmp_path / "ood.toml", tmp_path, tmp_path / "built").folder


def overlap(folder, second):
    bundle = with_options(of_folder(folder), second=second)
    found = audit(bundle, ["semantic_overlap"])
    (check,) = [c for c in found["semantic_overlap"].checks if "nobody labelled" in c.what]
    return found, check


def test_a_second_annotation_finds_known_objects_in_an_ood_set(ood, tmp_path):
    write_coco(tmp_path / "second.json", {"z1": ["zebra"], "z2": ["cat"], "z3": ["cat", "zebra"]})
    found, check = overlap(ood, tmp_path / "second.json")
    assert (check.verdict, check.images, check.where) == ("FAIL", ("z2", "z3"), "ood")
    assert check.examples == ("z2: cat", "z3: cat")
    assert not found.passed
    assert "z2, z3" in found.markdown()
    assert found.document()["principles"]["semantic_overlap"]["checks"]
    write_coco(tmp_path / "clean.json", {"z1": ["zebra"], "z2": ["zebra"]})
    assert overlap(ood, tmp_path / "clean.json")[1].verdict == "PASS"
    write_coco(tmp_path / "other.json", {"elsewhere": ["cat"]})
    assert overlap(ood, tmp_path / "other.json")[1].verdict == "UNKNOWN"


def test_a_detector_lists_images_of_an_ood_set_to_look_at(ood, tmp_path):
    records = [
        {"image_id": i, "category_id": k, "bbox": [50, 50, 20, 10], "score": score}
        # An id of another set, an unknown class, an unsure and a sure cat, and no class at all.
        for i, k, score in [(1, 1, 0.9), (2, 3, 0.9), (3, 1, 0.7), (4, 1, 0.85), (4, 77, 0.9)]
    ]
    (tmp_path / "dt.json").write_text(json.dumps(records))
    found, check = overlap(ood, tmp_path / "dt.json")
    assert (check.verdict, check.images) == ("UNKNOWN", ("z3",))  # a detector is no proof
    assert "-o FILE lists them" in found.text()


# Other inputs


def test_files_of_ones_own(tmp_path):
    for name, images in {"train": ("c1", "d1"), "test": ("cz1", "d2")}.items():
        write_coco(tmp_path / f"{name}.json", {i: held(i) for i in images})
    files = {kind: [tmp_path / f"{kind}.json"] for kind in ("train", "test")}
    found = audit(of_files(files, ["cat", "dog"]))
    assert found.passed
    assert found["pretraining_hygiene"].verdict == "UNKNOWN"
    write_coco(tmp_path / "test.json", {i: held(i) for i in ("cz1", "d1")})
    assert audit(of_files(files, ["cat", "dog"]))["data_specificity"].verdict == "FAIL"
    with pytest.raises(UsageError, match="nothing to audit"):
        of_files({})


def test_objects_that_a_second_annotation_names_otherwise(folder, tmp_path):
    def said():
        found = audit(with_options(of_folder(folder), second=tmp_path / "second.json"))
        checks = found["label_integrity"].checks
        named = "objects left unlabelled"
        return next(c.said for c in checks if (c.what, c.where) == (named, "test-t1"))

    second = json.loads((folder / "test-t1.json").read_text())
    (tmp_path / "second.json").write_text(json.dumps(second))
    assert "0 others have another class" in said()
    second["annotations"][0]["category_id"] = category(second, "tree")["id"]
    (tmp_path / "second.json").write_text(json.dumps(second))
    assert "1 others have another class" in said()


def test_images_that_hold_a_crowd_alone(folder):
    def crowd(document):
        first = document["images"][0]["id"]
        for box in document["annotations"]:
            box["iscrowd"] = int(box["image_id"] == first)

    change(folder / "test-t1.json", crowd)
    checks = audit(of_folder(folder))["label_integrity"].checks
    [said] = [check for check in checks if check.what == "images without a single object"]
    assert (said.count, said.where, said.verdict) == (1, "test-t1", "note")


def test_a_name_in_another_folder_may_be_another_image(folder):
    change(folder / "test-t1.json", lambda d: d["images"][0].update(file_name="val2017/c2.jpg"))
    change(folder / BUNDLE, lambda d: [s.pop("sha256") for s in d["splits"].values()])
    found = audit(of_folder(folder))["data_specificity"]
    [said] = [check for check in found.checks if "another name" in check.what]
    assert (found.verdict, said.verdict) == ("UNKNOWN", "UNKNOWN")
    assert "c2.jpg and val2017/c2.jpg" in said.said


def tasks_of_ones_own(folder):
    """What build writes, as files in folders of a user, which are called alike."""
    build(clean(folder), folder, folder / "out")
    files = {"train": [], "val": [], "test": []}
    for task in (1, 2):
        for kind, paths in files.items():
            place = folder / f"task{task}" / f"{kind}.json"
            place.parent.mkdir(exist_ok=True)
            shutil.copy(folder / "out" / f"{kind}-t{task}.json", place)
            paths.append(place)
    return files


def test_files_state_their_task(tmp_path):
    """Several tasks of one's own: info.task, and the classes that each test states."""
    files = tasks_of_ones_own(tmp_path)
    bundle = of_files(files)
    assert bundle.roles.tasks == (("cat",), ("dog",))
    assert sorted((part.kind, part.task) for part in bundle.parts) == sorted(
        (kind, task) for kind in files for task in (1, 2)
    )
    found = audit(bundle)
    assert found.passed, found.text()
    change(files["train"][0], lambda d: add_box(d, "dog"))  # not before task 2
    assert audit(of_files(files))["class_openness"].verdict == "FAIL"
    with pytest.raises(InputError, match="OS914"):
        of_files({**files, "test": files["test"][:1]})


def test_what_is_stricter_than_the_paper_says_so(folder):
    change(folder / "train-t2.json", lambda d: add_box(d, "cat", role="known"))
    found = audit(of_folder(folder))["annotation_specificity"]
    [wrong] = [check for check in found.checks if check.verdict == "FAIL"]
    assert "RE-OWOD allows that" in wrong.said
    change(folder / "train-t2.json", lambda d: add_box(d, "zebra"))
    found = audit(of_folder(folder))["annotation_specificity"]
    [wrong] = [check for check in found.checks if check.verdict == "FAIL"]
    assert wrong.count == 2 and "RE-OWOD" not in wrong.said


def test_the_task_stands_before_a_file_that_does_not_state_it(tmp_path):
    files = tasks_of_ones_own(tmp_path)
    for path in [path for paths in files.values() for path in paths]:
        change(path, lambda d: d.pop("info"))
    given = {
        kind: [type(path)(f"{task}={path}") for task, path in enumerate(paths, 1)]
        for kind, paths in files.items()
    }
    vocabulary = tmp_path / "out" / "vocabularies" / "task-2.toml"
    bundle = of_files(given, str(vocabulary))
    assert sorted({(part.name, part.task) for part in bundle.of_stage("test")}) == [
        ("test (task 1)", 1),
        ("test (task 2)", 2),
    ]
    assert audit(bundle).passed
    # Without their tasks all are of the last one, in which cats are no longer new.
    assert audit(of_files(files, str(vocabulary)))["annotation_specificity"].verdict == "FAIL"


def test_fine_tuning_shows_what_was_taught(tmp_path):
    files = tasks_of_ones_own(tmp_path)
    kept = tmp_path / "exemplars.json"
    shutil.copy(files["train"][1], kept)
    found = audit(of_files({**files, "finetune": [kept]}))
    assert found["data_specificity"].verdict == "PASS"
    change(kept, lambda d: d["images"][0].update(file_name="elsewhere.jpg"))
    found = audit(of_files({**files, "finetune": [kept]}))["data_specificity"]
    [wrong] = [check for check in found.checks if check.verdict == "FAIL"]
    assert (wrong.where, wrong.examples) == ("exemplars", ("elsewhere.jpg",))


LISTS = """
summary = "lists"
[classes]
known = ["cat"]
unknown = ["zebra"]
[sources.a]
path = ["a.json"]
labels = ["cat"]
ids = 'a\\d'
[sources.b]
path = ["b.json"]
labels = ["cat", "zebra"]
ids = 'b\\d'
[splits.train]
kind = "train"
source = "b"
select = [{ listed = "train.txt" }]
[splits.test]
kind = "test"
source = ["a", "b"]
select = [{ listed = "test.txt" }]
"""


def test_published_lists_without_annotations(tmp_path):
    (tmp_path / "lists.toml").write_text(LISTS)
    (tmp_path / "train.txt").write_text("b1\nb2\n")
    (tmp_path / "test.txt").write_text("b3\nb4\n")

    def found():
        bundle = of_lists(str(tmp_path / "lists.toml"), tmp_path)
        return {one.name: one.verdict.value for one in audit(bundle).judgements}

    fine = found()
    assert fine["data_specificity"] == "PASS"
    assert fine["class_openness"] == fine["label_integrity"] == "UNKNOWN"
    (tmp_path / "test.txt").write_text("b3\nb4\nb3\n")
    assert found()["data_specificity"] == "FAIL"
    (tmp_path / "test.txt").write_text("b3\nb2\n")
    assert found()["data_specificity"] == "FAIL"
    (tmp_path / "test.txt").write_text("b3\na4\n")
    assert found()["label_integrity"] == "FAIL"
    (tmp_path / "test.txt").write_text("a3\na4\n")
    assert found()["class_openness"] == "FAIL"


def test_what_published_lists_are_said_to_show(tmp_path):
    for name in ("train", "test", "val"):
        (tmp_path / f"{name}.txt").write_text(f"b{len(name)}{name[0] == 'v':d}\n")

    def found(kind, boxes):
        val = '[splits.val]\nkind = "val"\nsource = "b"\nselect = [{ listed = "val.txt" }]\n'
        text = f"{LISTS}{val}".replace(f'kind = "{kind}"\n', f'kind = "{kind}"\nboxes = {boxes}\n')
        (tmp_path / "lists.toml").write_text(text.replace("ids = 'b\\d'", "ids = 'b\\d+'"))
        return audit(of_lists(str(tmp_path / "lists.toml"), tmp_path))

    assert found("val", ["known"])["annotation_specificity"].verdict == "PASS"
    assert found("val", ["known", "unknown"])["annotation_specificity"].verdict == "FAIL"
    assert found("train", ["new"])["class_openness"].verdict == "UNKNOWN"
    assert found("train", ["new", "unknown"])["class_openness"].verdict == "FAIL"


def test_folders_that_are_no_benchmark(folder, tmp_path):
    with pytest.raises(InputError, match="OS912"):
        of_folder(tmp_path)
    good = (folder / BUNDLE).read_text()
    damages = (
        lambda d: d.pop("classes"),
        lambda d: d["classes"].update(synonyms=[[]]),
        lambda d: d["sources"]["mine"].update(labels=None),
        lambda d: d["splits"]["val-t1"].update(kind="dev"),
        lambda d: d["splits"]["val-t1"].update(task=0),
        lambda d: d["splits"]["val-t1"].update(dropped=[]),
    )
    for damage in damages:
        (folder / BUNDLE).write_text(good)
        change(folder / BUNDLE, damage)
        with pytest.raises(InputError, match="OS912"):
            of_folder(folder)
    (folder / BUNDLE).write_text(good)
    change(folder / BUNDLE, lambda d: d["splits"]["val-t1"].update(file="../../other.json"))
    with pytest.raises(InputError, match="OS113"):
        of_folder(folder)


def test_text_markdown_and_json_say_the_same(folder):
    change(folder / "test-t1.json", twice)
    found = audit(of_folder(folder))
    assert "FAIL    Data specificity" in found.text()
    assert "first: " in found.text()
    assert "| Data specificity | FAIL |" in found.markdown()
    assert "## clean" in page([found], lists=False)
    document = json.loads(json.dumps(found.document()))
    assert document["principles"]["data_specificity"]["verdict"] == "FAIL"
    assert audit(of_folder(folder), ["class_openness"]).judgements[0].name == "class_openness"
    with pytest.raises(UsageError, match="data_specificity"):
        audit(of_folder(folder), ["data_specifity"])
