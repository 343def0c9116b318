"""build, audit and fetch from the command line: answers, exit codes, JSON."""

from __future__ import annotations

import hashlib
import json

from scenes.benchmarks import clean, held, write_coco


def test_build_audit_evaluate(openset, tmp_path):
    clean(tmp_path)
    code, out, _ = openset("build", "clean.toml", "--source", ".", "-o", "out")
    assert code == 0
    assert "wrote out: clean is built" in out
    assert "next: openset audit out" in out
    code, out, _ = openset("build", "clean.toml", "--source", ".", "-o", "out")
    assert (code, "is there already" in out) == (0, True)
    code, out, _ = openset("audit", "out")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if line[0] != " "][1:] == ["PASS"] * 7
    detections = [{"image_id": 8, "category_id": 1, "bbox": [0, 4, 20, 10], "score": 0.9}]
    (tmp_path / "dt.json").write_text(json.dumps(detections))
    assert openset("evaluate", "out/test-t1.json", "dt.json", "--force", "--no-intervals").code == 0


def test_a_split_that_was_edited_is_said_and_the_fix_mends_it(openset, tmp_path):
    clean(tmp_path)
    build = ("build", "clean.toml", "--source", ".", "-o", "out")
    assert openset(*build).code == 0
    test = tmp_path / "out" / "test-t1.json"
    built = test.read_bytes()
    detections = [{"image_id": 8, "category_id": 1, "bbox": [0, 4, 20, 10], "score": 0.9}]
    (tmp_path / "dt.json").write_text(json.dumps(detections))
    evaluate = ("evaluate", "out/test-t1.json", "dt.json", "--force", "--no-intervals")
    lines = evaluate, ("check", "out/test-t1.json"), build
    assert not any("OS919" in openset(*line).err for line in lines)
    document = json.loads(built)
    document["annotations"][0]["bbox"][2] += 1
    test.write_text(json.dumps(document))
    for line in lines:
        done = openset(*line)
        said = " ".join((done.out + done.err).split())
        assert "warning OS919" in said and "splits of out have other bytes than were built" in said
        assert "made again by: openset build clean.toml --source DIR -o out" in said
    audit = openset("audit", "out")
    assert audit.code == 1 and "other bytes" in audit.out
    assert "fix: move test-t1.json elsewhere" in audit.out and "Leave out of" not in audit.out
    test.rename(tmp_path / "mine.json")
    assert openset(*build).code == 0 and test.read_bytes() == built
    assert openset("audit", "out").code == 0


def test_a_manifest_that_cannot_be_read_has_a_fix_that_works(openset, tmp_path):
    clean(tmp_path)
    build = ("build", "clean.toml", "--source", ".", "-o", "out")
    assert openset(*build).code == 0
    manifest = tmp_path / "out" / "bundle.json"
    manifest.write_text(manifest.read_text()[:-40])
    for line in (build, ("audit", "out")):
        done = openset(*line)
        assert done.code == 2 and "error OS912" in done.err
        assert "move out elsewhere, and build it again" in " ".join(done.err.split())
    (tmp_path / "out").rename(tmp_path / "old")
    assert openset(*build).code == 0


def test_counts_that_differ(openset, tmp_path):
    path = clean(tmp_path)
    path.write_text(path.read_text() + "expect = { images = [2, 7] }\n")
    code, out, _ = openset("build", "clean.toml", "--source", ".", "-o", "out", "--json")
    document = json.loads(out)
    assert code == document["exit_code"] == 1
    [finding] = document["findings"]
    assert (finding["code"], "2 images in place of 7" in finding["message"]) == ("OS907", True)
    code, out, err = openset("build", "clean.toml", "--source", ".", "-o", "again")
    assert "differs in images" in out
    assert "OS907" in err


def test_a_broken_benchmark_fails(openset, tmp_path):
    for name, images in {"train": ("c1", "d1"), "test": ("cz1", "d1")}.items():
        write_coco(tmp_path / f"{name}.json", {i: held(i) for i in images})
    arguments = ("audit", "--train", "train.json", "--test", "test.json", "--known", "cat,dog")
    code, out, _ = openset(*arguments)
    assert code == 1
    assert "FAIL    Data specificity" in out
    code, out, _ = openset(*arguments, "--json", "-o", "page.md", "--pretraining", "none")
    [found] = json.loads(out)["audits"]
    assert found["principles"]["data_specificity"]["verdict"] == "FAIL"
    assert found["principles"]["pretraining_hygiene"]["verdict"] == "PASS"
    assert "| Data specificity | FAIL |" in (tmp_path / "page.md").read_text()
    assert openset(*arguments, "--principles", "class_openness").code == 0


def test_mistakes(openset, tmp_path):
    clean(tmp_path)
    code, out, err = openset("audit", "owod")
    assert (code, out) == (2, "")
    assert "openset build owod" in err
    code, out, err = openset("audit")
    assert (code, "nothing to audit" in err) == (2, True)
    code, out, err = openset("build", "oowd", "--source", ".", "-o", "x")
    assert (code, "'owod'" in err) == (2, True)
    code, out, err = openset("build", "owod", "--source", ".", "-o", "x")
    assert (code, "OS902" in err) == (2, True)
    code, out, _ = openset("audit", "out", "--train", "a.json")
    assert code == 2
    assert not (tmp_path / "x").exists()


def test_fetch_says_what_is_missing(openset, tmp_path):
    code, out, _ = openset("fetch", "re-owod", "-o", "data")
    assert code == 1
    assert "missing data/annotations/instances_train2017.json" in out
    assert "http://images.cocodataset.org" in out
    assert "CC BY 4.0" in out
    assert "9 of 9 image lists are not there: t1_train.txt, t2_train.txt" in out
    assert "missing data/Main\n" in out and "from: https://github.com/RE-OWOD/RE-OWOD" in out


def test_fetch_looks_for_image_lists(openset, tmp_path):
    lists = tmp_path / "data" / "re_owod"
    lists.mkdir(parents=True)
    parts = ("t1_train", "t2_train", "t3_train", "t4_train", "t2_ft", "t3_ft", "t4_ft")
    for name in (*parts, "all_task_val", "all_task_test"):
        (lists / f"{name}.txt").write_text("000000000139\n")

    def found():
        return openset("fetch", "re-owod", "-o", "data", "--json").json["sources"]["image lists"]

    assert found()["state"] == "there" and found()["path"] == "data/re_owod"
    (lists / "t2_ft.txt").write_text("")
    assert (found()["state"], found()["why"]) == (
        "wrong",
        "1 of 9 image lists have 0 bytes: t2_ft.txt",
    )
    (lists / "t2_ft.txt").unlink()
    assert found()["state"] == "missing"
    only = openset("fetch", "re-owod", "-o", "data", "--splits", "test-t1", "--json").json
    assert only["sources"]["image lists"]["state"] == "there", "of one list alone"


def test_fetch_names_the_files_of_classifiers(openset, tmp_path):
    """Their benchmarks are splits of classes, whose pictures are needed all the same."""
    batch = tmp_path / "d" / "cifar-10-batches-bin" / "test_batch.bin"
    batch.parent.mkdir(parents=True)
    for size, state in ((0, "wrong"), (30_729_999, "wrong"), (30_730_000, "there")):
        batch.write_bytes(bytes(size))
        found = openset("fetch", "osr-cifar10:trial1", "-o", "d", "--json").json["sources"]
        assert found["cifar10-test-batch"]["state"] == state, size
    assert found["cifar10-data-batch-1"]["state"] == "missing" and len(found) == 6
    (tmp_path / "e").mkdir()
    for kind in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (tmp_path / "e" / f"{kind}-ubyte").write_bytes(b"0")
    done = openset("fetch", "osr-mnist", "-o", "e")
    assert done.code == 0 and 'open_split("mnist", folder="e")' in done.out


def test_fetch_looks_for_several_benchmarks_in_one_folder(openset, tmp_path):
    clean(tmp_path)
    one = openset("fetch", "clean.toml", "--json").json
    done = openset("fetch", "clean.toml", "re-owod", "-o", ".")
    assert done.code == 1, "one of the two is missing"
    assert "there   all.json" in done.out and "instances_train2017.json" in done.out
    found = openset("fetch", "clean.toml", "re-owod", "--json").json["benchmarks"]
    assert found[0] == {key: one[key] for key in found[0]}
    assert found[1]["sources"] and found[1]["benchmark"] == "re-owod"
    refused = openset("fetch", "clean.toml", "re-owod", "--splits", "test")
    assert refused.code == 2 and "--splits are of one benchmark" in refused.err


def test_fetch_checks_bytes(openset, tmp_path):
    path = clean(tmp_path)
    code, out, _ = openset("fetch", "clean.toml")
    assert (code, "checksum: not verified: none is known" in out) == (0, True)
    path.write_text(path.read_text().replace("labels = [", f'sha256 = "{"0" * 64}"\nlabels = ['))
    code, out, _ = openset("fetch", "clean.toml")
    assert code == 1
    assert "wrong   all.json" in out
    assert "checksum:" not in out
    right = hashlib.sha256((tmp_path / "all.json").read_bytes()).hexdigest()
    path.write_text(path.read_text().replace("0" * 64, right))
    code, out, _ = openset("fetch", "clean.toml")
    assert (code, "checksum: verified" in out) == (0, True)


def test_fetch_asks_only_for_what_a_variant_uses(openset, tmp_path):
    asked = {name: openset("fetch", name).out for name in ("fmiyc-voc", "fmiyc-voc:openimages")}
    for file in ("oidv6-train-annotations-bbox.csv", "class-descriptions-boxable.csv"):
        assert [f"missing {file}" in out for out in asked.values()] == [False, True]


WORLD = """
summary = "a small world"
[world]
images = 20
[classes]
known = ["zero"]
[sources.train]
path = ["train.json"]
"""


def test_fetch_makes_worlds(openset, tmp_path):
    (tmp_path / "w.toml").write_text(WORLD)
    code, out, _ = openset("fetch", "w.toml", "-o", "world")
    assert code == 1
    assert "--download" in out
    assert openset("fetch", "w.toml", "-o", "world", "--download").code == 0
    assert len(list((tmp_path / "world" / "images" / "train").iterdir())) == 12


def test_fetch_downloads_what_it_may(openset, tmp_path, monkeypatch):
    import sys
    from types import SimpleNamespace

    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append((url, known_hash))
        (path / fname).write_text("{}")

    (tmp_path / "d.toml").write_text(
        'summary = "downloads"\n[classes]\nknown = ["a"]\n'
        '[sources.free]\npath = ["f/a.json"]\nurl = "https://x/a"\ndownload = true\n'
        '[sources.closed]\npath = ["b.json"]\nurl = "https://x/b"\n'
    )
    monkeypatch.setitem(sys.modules, "pooch", None)
    code, out, err = openset("fetch", "d.toml", "--download")
    assert (code, "pip install pooch" in err) == (2, True)
    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace(retrieve=retrieve))
    code, out, _ = openset("fetch", "d.toml", "--download")
    assert (code, asked) == (1, [("https://x/a", None)])
    assert "there   f/a.json" in out
    assert "missing b.json" in out


def test_all_variants_at_once(openset, tmp_path):
    images = {name: held(name) for name in ("c1", "d1", "cd1", "z1")}
    write_coco(tmp_path / "all.json", images)
    (tmp_path / "pets.toml").write_text("""
summary = "each pet is known in turn"
[sources.all]
path = ["all.json"]
[classes]
rest = "unknown"
[splits]
test = { kind = "test", source = "all", select = [{ annotated = true }] }
[variants.cats]
classes = { known = ["cat"] }
[variants.dogs]
classes = { known = ["dog"] }
""")
    done = openset("build", "pets.toml:all", "--source", ".", "-o", "out")
    assert done.code == 0, done.err
    assert "wrote out/cats: pets:cats is built" in done.out
    assert (tmp_path / "out" / "dogs" / "test.json").is_file()
    told = openset("build", "pets.toml:all", "--source", ".", "-o", "out", "--json").json
    assert list(told["variants"]) == ["cats", "dogs"]
    clean(tmp_path)
    wrong = openset("build", "clean.toml:all", "--source", ".", "-o", "none")
    assert wrong.code == 2 and "has no variants" in wrong.err
