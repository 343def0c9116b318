"""A TOML file is a benchmark, or the error says where it is not one."""

from __future__ import annotations

import pytest

from openset.benchmarks import files, load, table
from openset.findings import InputError, UsageError
from scenes.benchmarks import CLEAN, clean


def test_a_definition_is_read(tmp_path):
    benchmark = load(clean(tmp_path))
    assert benchmark.name == "clean"
    assert benchmark.tasks == 2
    unrolled = benchmark.unrolled()
    assert list(unrolled) == ["test-t1", "test-t2", "val-t1", "val-t2", "train-t1", "train-t2"]
    assert unrolled["train-t2"].keep == ("new",)
    assert unrolled["val-t2"].keep == ("known",)
    assert unrolled["test-t1"].keep == ("known", "unknown", "ignored")


def test_the_hash_changes_with_the_definition(tmp_path):
    path = clean(tmp_path)
    before = load(path).hash
    assert load(path).hash == before
    path.write_text(CLEAN.replace("first = 1", "first = 2"))
    assert load(path).hash != before


MISTAKES = {
    "misspelt key": (("summary", "sumary"), "OS901", "summary"),
    "misspelt key of a split": (('kind = "val"', 'kinds = "val"'), "OS901", "kind"),
    "value of another type": (('kind = "val"', "kind = 3"), "OS901", "kind"),
    "no such kind": (('kind = "val"', 'kind = "dev"'), "OS901", "dev"),
    "no such source": (('source = "mine"', 'source = "mime"'), "OS901", "'mine'"),
    "no source": (('source = "mine"', "source = []"), "OS901", "length"),
    "no such rule": (("not_in", "nott_in"), "OS901", "'not_in'"),
    "argument of another type": (("first = 1", 'first = "one"'), "OS901", "first"),
    "a count of nothing": (("first = 1", "first = 0"), "OS901", "first"),
    "no such class rule": (('["cat"]', '{ randm = { count = 1 } }'), "OS901", "'random'"),
    "a class rule without sense": (('["cat"]', '{ random = { cout = 1 } }'), "OS901", "cout"),
    "two rules in one table": (('{ with = "new" }', '{ with = "new", first = 2 }'), "OS901", "one"),
    "a task that is not": (("task = [1, 2]", "task = [1, 3]"), "OS901", "task 3"),
    "no known class": (('tasks = [["cat"], ["dog"]]', "tasks = []"), "OS901", "known"),
    "known and tasks": (("tasks =", 'known = ["cat"]\ntasks ='), "OS901", "either"),
    "a broken pattern": (('path = ["all.json"]', 'path = ["all.json"]\nids = "("'), "OS901", "ids"),
    "counts for another number of tasks": (
        ('kind = "test"', 'kind = "test"\nexpect = { images = [1, 2, 3] }'), "OS901", "3 counts"),
    "two splits of one name": (
        ("[splits.val]", '[splits.test-t1]\nkind = "test"\nsource = "mine"\n[splits.val]'),
        "OS901", "test-t1"),
    "a name that leaves the folder": (("[splits.val]", '[splits."../val"]'), "OS113", "../val"),
    "broken TOML": (("[classes]", "[classes"), "OS901", "clean.toml"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake, tmp_path):
    (old, new), code, word = MISTAKES[mistake]
    path = clean(tmp_path)
    assert old in CLEAN
    path.write_text(CLEAN.replace(old, new))
    with pytest.raises(InputError) as caught:
        load(path)
    [finding] = caught.value.findings
    assert finding.code == code
    assert word in finding.message + finding.fix


def test_names_that_are_not_there(tmp_path):
    with pytest.raises(UsageError, match="owod"):
        load("owood")
    with pytest.raises(InputError, match="OS101"):
        load(tmp_path / "absent.toml")


VARIANT = """
[variants.easy.classes]
tasks = [["cat"], ["car"]]
[variants.easy.splits.val]
boxes = ["new"]
"""


def test_a_variant_replaces_keys(tmp_path):
    path = clean(tmp_path)
    path.write_text(CLEAN + VARIANT)
    whole, easy = load(path), load(f"{path}:easy")
    assert whole.variants == ("easy",)
    assert easy.name == "clean:easy"
    assert easy.classes.tasks == [["cat"], ["car"]]
    assert easy.unrolled()["val-t1"].keep == ("new",)
    assert easy.splits["val"].select == whole.splits["val"].select
    with pytest.raises(UsageError, match="easy"):
        load(f"{path}:eazy")


def test_every_entry_of_the_catalogue_is_whole():
    assert set(files()) == set(table())
    for name, entry in table().items():
        assert 20 < len(entry.benchmark.summary) <= 120, name
        sources = entry.benchmark.sources.values()
        assert all(source.licence for source in sources) or name == "own", name
    assert "test-t1 9119" in table()["owod"].summary
    assert "instances_val2017.json" in table()["owod"].summary
    assert "variants: split1" in table()["osod3-cub"].summary
