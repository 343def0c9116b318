"""Building: the right images and boxes, the same bytes each time, whole or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import openset
from openset.benchmarks import building, load
from openset.benchmarks.auditing import audit
from openset.benchmarks.building import build
from openset.benchmarks.bundle import of_folder
from openset.benchmarks.pool import image_names
from openset.benchmarks.writing import write_truth
from openset.findings import InputError, Level
from openset.tables import Role, Vocabulary
from scenes.benchmarks import CLEAN, HELD, clean, coco, held, ten, write_coco


def names(path):
    return image_names(openset.read(path)).tolist()


def shown(path):
    table = openset.read(path)
    return sorted({table.labels[i] for i in table.label.tolist()})


def test_the_clean_benchmark(tmp_path):
    built = build(clean(tmp_path), tmp_path, tmp_path / "out")
    out = built.folder
    # With a known and an unknown object; at task 1 a dog is unknown.
    assert names(out / "test-t1.json") == ["cd1", "cz1", "cda1", "ct1"]
    assert names(out / "test-t2.json") == ["cz1", "dz1", "cda1", "dt1", "ct1"]
    assert names(out / "val-t1.json") == ["c1"]
    assert names(out / "val-t2.json") == ["d1"]
    assert names(out / "train-t1.json") == ["c2", "c3"]
    assert names(out / "train-t2.json") == ["d2", "d3"]
    assert shown(out / "train-t2.json") == ["dog"]
    assert shown(out / "test-t1.json") == ["car", "cat", "dog", "tree", "zebra"]
    assert built.findings == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.json", "clean.toml", "out"]


def test_boxes_survive_as_they_are(tmp_path):
    build(clean(tmp_path), tmp_path, tmp_path / "out")
    source = openset.read(tmp_path / "all.json")
    made = openset.read(tmp_path / "out" / "test-t2.json")
    boxes = {id_: box for id_, box in zip(source.id.tolist(), source.box.tolist(), strict=True)}
    assert len(made) == sum(len(held(n)) for n in names(tmp_path / "out" / "test-t2.json"))
    for id_, box in zip(made.id.tolist(), made.box.tolist(), strict=True):
        assert boxes[id_] == box
    assert dict(zip(made.labels, made.category_id.tolist(), strict=True)) == dict(
        zip(source.labels, source.category_id.tolist(), strict=True)
    )


def test_files_state_roles_and_tasks(tmp_path):
    out = build(clean(tmp_path), tmp_path, tmp_path / "out").folder
    first = Vocabulary.of(None, openset.read(out / "test-t1.json"))
    second = Vocabulary.of(None, openset.read(out / "test-t2.json"))
    assert first.tasks == (("cat",),)
    assert second.tasks == (("cat",), ("dog",))
    assert [str(first.role(k)) for k in ("cat", "dog", "zebra")] == ["known", "unknown", "unknown"]
    written = Vocabulary.of(out / "vocabularies" / "task-2.toml")
    assert written.tasks == second.tasks
    detections = [{"image_id": 8, "category_id": 1, "bbox": [0, 4, 20, 10], "score": 0.9}]
    (tmp_path / "dt.json").write_text(json.dumps(detections))
    result = openset.evaluate(
        out / "test-t2.json", tmp_path / "dt.json", intervals=False, force=True
    )
    assert result.value("ap_previous").value is not None


def test_the_same_bytes_each_time(tmp_path):
    path = clean(tmp_path)
    for name in ("one", "two"):
        build(path, tmp_path, tmp_path / name)
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*.*"))
    assert len(files) == 9
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_what_is_dropped_is_counted(tmp_path):
    ten(tmp_path)
    (tmp_path / "b.toml").write_text(
        """
summary = "dropped"
[classes]
known = ["cat"]
ignored = ["tree"]
[sources.s]
path = ["ten.json"]
[splits.train]
kind = "train"
source = "s"
[splits.test]
kind = "test"
source = "s"
expect = { images = 10, known = 4, unknown = 8, boxes = 11 }
"""
    )
    built = build(tmp_path / "b.toml", tmp_path, tmp_path / "out")
    train = built.manifest["splits"]["train"]
    assert train["dropped"] == {"unknown": 8, "ignored": 2}
    finding, trained_on = built.findings
    assert (finding.code, trained_on.code) == ("OS907", "OS920")
    assert "12 boxes in place of 11" in finding.message


APART = """
summary = "a test, and the rest"
[classes]
known = ["cat"]
[sources.s]
path = ["ten.json"]
[splits.test]
kind = "test"
source = "s"
select = [{ share = 0.4 }]
[splits.train]
kind = "train"
source = "s"
"""


def _renamed(folder, names):
    """Images under other file names, by their place."""
    document = json.loads((folder / "ten.json").read_text())
    for at, name in names.items():
        document["images"][at]["file_name"] = name
    (folder / "ten.json").write_text(json.dumps(document))


def _splits(folder, out, text):
    (folder / "b.toml").write_text(text)
    built = build(folder / "b.toml", folder, folder / out)
    names = [
        {one["id"]: one["file_name"] for one in json.loads(file.read_text())["images"]}
        for file in (folder / out / "test.json", folder / out / "train.json")
    ]
    return [one.code for one in built.findings], *names


def test_a_test_that_is_trained_on_is_told(tmp_path):
    ten(tmp_path)
    codes, test, train = _splits(tmp_path, "out", APART)
    assert test.keys() <= train.keys()
    assert codes == ["OS920"]
    again = build(tmp_path / "b.toml", tmp_path, tmp_path / "out")
    assert [one.code for one in again.findings] == codes
    codes, test, train = _splits(tmp_path, "apart", f"{APART}select = [{{ not_in = 'test' }}]")
    assert not test.keys() & train.keys()
    assert codes == []


@pytest.mark.parametrize("folder", ["other", ""])
def test_what_is_not_in_a_split_is_so_where_names_of_its_source_repeat(folder, tmp_path):
    """One image of the test, and one of the rest, have one stem; or are one file."""
    ten(tmp_path)
    apart = f"{APART}select = [{{ not_in = 'test' }}]"
    _, test, train = _splits(tmp_path, "before", apart)
    ids = [one["id"] for one in json.loads((tmp_path / "ten.json").read_text())["images"]]
    name = test[min(test)]
    _renamed(tmp_path, {ids.index(max(train)): f"{folder}/{name}".lstrip("/")})
    codes, test, train = _splits(tmp_path, "after", apart)
    assert not test.keys() & train.keys()
    assert folder or not {*test.values()} & {*train.values()}
    assert codes == []


TWO_TASKS = """
summary = "what is not listed does not count"
[classes]
tasks = [["cat"], ["dog"]]
unknown = ["zebra"]
rest = "ignored"
[sources.s]
path = ["ten.json"]
[splits.test]
kind = "test"
source = "s"
task = [1, 2]
"""


def test_boxes_that_do_not_count_stay_with_their_role(tmp_path):
    ten(tmp_path)
    (tmp_path / "b.toml").write_text(TWO_TASKS)
    built = build(tmp_path / "b.toml", tmp_path, tmp_path / "out")
    test = built.manifest["splits"]["test-t2"]
    assert (test["boxes"], test["ignored"], test["dropped"]) == (10, 4, {})
    truth = openset.read(tmp_path / "out" / "test-t2.json")
    assert len(truth) == 14
    roles = dict(zip(truth.labels, truth.role, strict=True))
    assert roles["tree"] == roles["car"] == "ignored"
    vocabulary = Vocabulary.of(None, truth)  # as the file says, tasks included
    assert vocabulary.previous == ("cat",) and vocabulary.current == ("dog",)
    assert vocabulary.role("tree") is Role.IGNORED and vocabulary.role("zebra") is Role.UNKNOWN
    found = audit(of_folder(tmp_path / "out"), ["label_integrity"])
    noted = [check for check in found["label_integrity"].checks if "do not count" in check.what]
    assert [check.said for check in noted] == ["4 are ignored"] * 2


def test_again_and_taken(tmp_path):
    path = clean(tmp_path)
    assert not build(path, tmp_path, tmp_path / "out").again
    assert build(path, tmp_path, tmp_path / "out").again
    write_coco(tmp_path / "all.json", {name: held(name) for name in reversed(HELD)})
    with pytest.raises(InputError, match="OS909"):
        build(path, tmp_path, tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("")
    with pytest.raises(InputError, match="OS909"):
        build(path, tmp_path, tmp_path / "mine")


def test_an_interrupted_build_goes_on(tmp_path, monkeypatch):
    path = clean(tmp_path)
    whole = build(path, tmp_path, tmp_path / "whole").folder
    written = []

    def interrupted(table, file):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(file.name)
        write_truth(table, file)

    monkeypatch.setattr(building, "write_truth", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(path, tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(
        building, "write_truth", lambda t, f: (written.append(f.name), write_truth(t, f))
    )
    out = build(path, tmp_path, tmp_path / "out").folder
    assert written == [f"{name}.json" for name in load(path).unrolled()]  # none twice
    for file in whole.rglob("*.*"):
        assert (out / file.relative_to(whole)).read_bytes() == file.read_bytes()
    assert not list(tmp_path.glob(".out*"))


def test_after_an_error_nothing_is_left(tmp_path, monkeypatch):
    path = clean(tmp_path)

    def full(table, file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(building, "write_truth", full)
    with pytest.raises(InputError, match="No space left") as caught:
        build(path, tmp_path, tmp_path / "out")
    assert "full disk" in caught.value.findings[0].cause
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all.json", "clean.toml"]


def test_a_disk_that_is_full_from_the_start(tmp_path, monkeypatch):
    path = clean(tmp_path)

    def full(self, *arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(InputError, match="OS102"):
        build(path, tmp_path, tmp_path / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all.json", "clean.toml"]


MISTAKES = {
    "a source that is absent": (('path = ["all.json"]', 'path = ["al.json"]'), "OS902"),
    "a class that is nowhere": (('[["cat"], ["dog"]]', '[["cat"], ["dgo"]]'), "OS904"),
    "a class taught twice": (('[["cat"], ["dog"]]', '[["cat"], ["dog", "Cat"]]'), "OS905"),
    "known and unknown": (('[["cat"], ["dog"]]', '[["cat"], ["dog"]]\nunknown = ["dog"]'), "OS905"),
    "a split that is empty": (('{ with = "unknown" }, ', "{ annotated = false }, "), "OS906"),
    "a list that is absent": (("{ first = 1 }", '{ listed = "no.txt" }'), "OS902"),
    "another file": (
        ('path = ["all.json"]', f'path = ["all.json"]\nsha256 = "{"0" * 64}"'),
        "OS903",
    ),
    "half a file": (('path = ["all.json"]', 'path = ["all.json"]\nsize = 999999'), "OS903"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_and_leaves_nothing(mistake, tmp_path):
    (old, new), code = MISTAKES[mistake]
    path = clean(tmp_path)
    assert old in CLEAN
    path.write_text(CLEAN.replace(old, new))
    with pytest.raises(InputError) as caught:
        build(path, tmp_path, tmp_path / "out")
    assert caught.value.findings[0].code == code
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all.json", "clean.toml"]


def test_a_truncated_source(tmp_path):
    path = clean(tmp_path)
    data = (tmp_path / "all.json").read_bytes()
    (tmp_path / "all.json").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="OS913"):
        build(path, tmp_path, tmp_path / "out")
    assert not list(tmp_path.glob("*out*"))


TWO = """
summary = "two sources"
ids = "stem"
[classes]
known = ["aeroplane", "dog"]
[sources.voc]
path = ["voc.json"]
[sources.coco]
path = ["coco.json"]
[splits.test]
kind = "test"
source = ["voc", "coco"]
"""


def test_sources_that_spell_and_number_differently(tmp_path):
    write_coco(tmp_path / "voc.json", {"v1": ["dog", "aeroplane"]}, labels=("dog", "aeroplane"))
    labels = ("zebra", "airplane", "dog")
    write_coco(tmp_path / "coco.json", {"k1": ["zebra", "airplane", "dog"]}, labels=labels)
    (tmp_path / "b.toml").write_text(TWO)
    built = build(tmp_path / "b.toml", tmp_path, tmp_path / "out")
    table = openset.read(tmp_path / "out" / "test.json")
    assert sorted(table.labels) == ["aeroplane", "dog", "zebra"]
    by_image = [[], []]
    for image, label in zip(table.image.tolist(), table.label.tolist(), strict=True):
        by_image[image].append(table.labels[label])
    assert by_image == [["dog", "aeroplane"], ["zebra", "aeroplane", "dog"]]
    assert len(set(table.category_id.tolist())) == 3
    assert table.images.id.tolist() == ["v1", "k1"]
    assert table.images.attributes["source"].tolist() == ["voc", "coco"]
    assert built.manifest["splits"]["test"]["sources"] == {"voc": 1, "coco": 1}
    (tmp_path / "b.toml").write_text(TWO.replace('ids = "stem"', ""))
    with pytest.raises(InputError, match="OS911"):
        build(tmp_path / "b.toml", tmp_path, tmp_path / "other")
    (tmp_path / "b.toml").write_text(TWO.replace('"stem"', '"both"'))
    build(tmp_path / "b.toml", tmp_path, tmp_path / "other")
    images = openset.read(tmp_path / "other" / "test.json").images
    assert images.id.tolist() == ["voc/1", "coco/1"]
    assert images.file_name.tolist() == ["v1.jpg", "k1.jpg"]


VOC = ("aeroplane", "dog", "person")
COCO_IDS = {"person": 1, "car": 3, "airplane": 5, "dog": 18, "zebra": 24}


def voc_and_coco(folder, tests):
    """VOC in two guises, XML without ids and COCO's layout with ids of its own, and COCO."""
    document = coco({"k1": ["zebra", "airplane"], "k2": ["dog", "car"]}, tuple(COCO_IDS))
    ids = [*COCO_IDS.values()]
    for record in document["annotations"]:
        record["category_id"] = ids[record["category_id"] - 1]
    for record in document["categories"]:
        record["id"] = ids[record["id"] - 1]
    (folder / "coco.json").write_text(json.dumps(document))
    write_coco(folder / "voc.json", {"v1": ["dog", "person"]}, labels=VOC)
    named = openset.read(write_coco(folder / "named.json", {"x1": ["dog"]}, labels=VOC))
    openset.write(named, folder / "xml", format="voc")
    (folder / "b.toml").write_text(
        'summary = "both"\nids = "stem"\n[classes]\nknown = ["person", "dog", "aeroplane"]\n'
        '[sources.voc]\npath = ["voc.json"]\n[sources.xml]\npath = ["xml"]\n'
        '[sources.coco]\npath = ["coco.json"]\n[splits.train]\nkind = "train"\n'
        f'source = ["xml", "voc"]\nselect = [{{ first = 1 }}]\n'
        '[splits.val]\nkind = "val"\nsource = "coco"\n'
        f'[splits.test]\nkind = "test"\nsource = {json.dumps(tests)}\n'
    )
    built = build(folder / "b.toml", folder, folder / "out")
    table = openset.read(folder / "out" / "test.json")
    return built, dict(zip(table.labels, table.category_id.tolist(), strict=True))


def test_ids_are_those_of_the_data_set_that_is_tested_on(tmp_path):
    built, ids = voc_and_coco(tmp_path, ["coco"])
    assert ids == {"person": 1, "car": 3, "aeroplane": 5, "dog": 18, "zebra": 24}
    assert built.manifest["changed_ids"] == {
        "voc": {"aeroplane": [1, 5], "dog": [2, 18], "person": [3, 1]}
    }
    (finding,) = built.findings
    assert (finding.code, finding.level, finding.count) == ("OS320", Level.NOTE, 3)
    assert finding.example == "aeroplane: 1 in the file, 5 here"
    assert build(tmp_path / "b.toml", tmp_path, tmp_path / "out").findings == built.findings


def test_ids_that_clash_give_way_and_are_named(tmp_path):
    built, ids = voc_and_coco(tmp_path, ["voc"])
    kept = {"aeroplane": 1, "dog": 2, "person": 3}
    assert ids.items() >= kept.items()
    changed = built.manifest["changed_ids"]["coco"]
    assert changed["car"] == [3, 25]  # taken by the person
    assert "zebra" not in changed  # 24 is free


def test_names_without_ids_join_those_that_have_them(tmp_path):
    built, ids = voc_and_coco(tmp_path, ["xml", "coco"])
    assert ids == {"person": 1, "car": 3, "aeroplane": 5, "dog": 18, "zebra": 24}
    assert "xml" not in built.manifest["changed_ids"]
    # Of two that are tested on, the one with more labels keeps its ids.
    (tmp_path / "again").mkdir()
    built, ids = voc_and_coco(tmp_path / "again", ["voc", "coco"])
    assert ids["dog"] == 18
    assert [finding.level for finding in built.findings] == [Level.WARNING]


def test_large_files_are_written_in_parts(tmp_path, monkeypatch):
    from openset.benchmarks import writing

    table = openset.read(ten(tmp_path))
    openset.write(table, tmp_path / "whole.json")
    whole = json.loads((tmp_path / "whole.json").read_text())
    for size in (1, 3, 100):
        monkeypatch.setattr(writing, "_IMAGES", size)
        write_truth(table, tmp_path / "parts.json")
        assert json.loads((tmp_path / "parts.json").read_text()) == whole
    nothing = table.select(np.empty(0, np.intp))
    write_truth(replace(nothing, info={"a": 1}), tmp_path / "none.json")
    assert json.loads((tmp_path / "none.json").read_text())["annotations"] == []


def test_boxes_follow_images_in_another_order(tmp_path, monkeypatch):
    from openset.benchmarks import writing

    monkeypatch.setattr(writing, "_IMAGES", 1)
    ten(tmp_path)
    (tmp_path / "order.txt").write_text("cda1\nzt1\ncz1\nc1\n")
    (tmp_path / "b.toml").write_text(
        'summary = "another order"\n[classes]\nknown = ["cat"]\n[sources.s]\npath = ["ten.json"]\n'
        '[splits.test]\nkind = "test"\nsource = "s"\nselect = [{ listed = "order.txt" }]\n'
    )
    build(tmp_path / "b.toml", tmp_path, tmp_path / "out")
    table = openset.read(tmp_path / "out" / "test.json")
    held_by = [[] for _ in range(4)]
    for image, label in zip(table.image.tolist(), table.label.tolist(), strict=True):
        held_by[image].append(table.labels[label])
    assert image_names(table).tolist() == ["cda1", "zt1", "cz1", "c1"]
    assert held_by == [["cat", "dog", "car"], ["zebra", "tree"], ["cat", "zebra"], ["cat"]]


def test_a_hierarchy_that_is_a_circle(tmp_path):
    path = clean(tmp_path)
    tree = {"LabelName": "a", "Subcategory": [{"LabelName": "b", "Subcategory": []}]}
    tree["Subcategory"][0]["Subcategory"].append({"LabelName": "a"})
    (tmp_path / "tree.json").write_text(json.dumps(tree))
    options = 'path = ["all.json"]\noptions = { hierarchy = "tree.json" }'
    path.write_text(CLEAN.replace('path = ["all.json"]', options))
    with pytest.raises(InputError, match="OS908"):
        build(path, tmp_path, tmp_path / "out")


@pytest.mark.parametrize("which", ['["pet"]', '"pet"'])
def test_unknown_are_the_others_of_a_super_class(tmp_path, which):
    above = {"cat": "pet", "dog": "pet", "zebra": "wild", "car": "thing"}
    images = {"a": ["cat", "dog"], "b": ["dog", "zebra"], "c": ["cat", "car"], "d": ["car"]}
    write_coco(tmp_path / "all.json", images, supercategory=above)
    (tmp_path / "pets.toml").write_text(f"""
summary = "of pets, cats are taught"
[classes]
known = ["cat"]
unknown = {{ supercategory = {which} }}
rest = "ignored"
[sources.all]
path = ["all.json"]
[splits]
test = {{ kind = "test", source = "all", select = [{{ with = ["cat", "dog"] }}] }}
""")
    built = build(tmp_path / "pets.toml", tmp_path, tmp_path / "out")
    roles = built.manifest["classes"]
    assert (roles["tasks"], roles["unknown"]) == ([["cat"]], ["dog"])
    test = openset.read(built.folder / "test.json")
    found = {label: str(Vocabulary.of(None, test).role(label)) for label in test.labels}
    assert found["dog"] == "unknown" and found["zebra"] == found["car"] == "ignored"
    assert names(built.folder / "test.json") == ["a", "b", "c"]
