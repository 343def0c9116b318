"""Every rule, on ten images whose names say what they hold, with results computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset import read
from openset.benchmarks.pool import Pool, Universe, image_names
from openset.benchmarks.rules import check_rule, class_set, rules, select
from openset.benchmarks.rules.clusters import normalised_cut
from openset.benchmarks.rules.listed import absent, lines_of
from openset.benchmarks.taxonomy import Taxonomy, of_wordnet, shipped_synsets, synsets_of
from openset.findings import InputError, UsageError
from openset.tables import Vocabulary
from openset.tables.vocabulary import vocabularies
from scenes.benchmarks import LICENCE, TEN, ten, write_coco


@pytest.fixture
def pool(tmp_path):
    table = read(ten(tmp_path))
    vocabulary = Vocabulary(
        tasks=(("cat",), ("dog",)), unknown=frozenset({"zebra", "car"}), ignored=frozenset({"tree"})
    )
    return Pool(table, vocabulary, np.arange(10), split="a", files=(tmp_path,))


def chosen(pool, *steps):
    return image_names(pool.table)[select(pool, list(steps))].tolist()


PRESENCE = [
    ({"with": "known"}, ["c1", "d1", "cd1", "cz1", "cda1"]),
    ({"with": "new"}, ["d1", "cd1", "cda1"]),
    ({"with": "previous"}, ["c1", "cd1", "cz1", "cda1"]),
    ({"with": "unknown"}, ["cz1", "z1", "a1", "cda1", "zt1"]),
    ({"with": "ignored"}, ["zt1", "t1"]),
    ({"with": ["Zebra"]}, ["cz1", "z1", "zt1"]),
    ({"without": "known"}, ["z1", "a1", "zt1", "x1", "t1"]),
    ({"without": ["cat", "@beasts"]}, ["d1", "a1", "x1", "t1"]),
    ({"only": "known"}, ["c1", "d1", "cd1", "x1"]),
    ({"only": ["zebra", "tree"]}, ["z1", "zt1", "x1", "t1"]),
    ({"annotated": True}, [name for name in TEN if name != "x1"]),
    ({"annotated": False}, ["x1"]),
]


@pytest.mark.parametrize(("rule", "names"), PRESENCE, ids=str)
def test_presence(pool, rule, names):
    assert chosen(replace(pool, lists={"beasts": ["zebra"]}), rule) == names


def test_rules_follow_each_other(pool):
    assert chosen(pool, {"with": "known"}, {"without": "unknown"}) == ["c1", "d1", "cd1"]
    assert chosen(pool, {"with": "known"}, {"first": 2}) == ["c1", "d1"]


def test_lists_give_order_and_count_lines_once(pool, tmp_path):
    (tmp_path / "some.txt").write_text("z1\nc1 1\n\nz1\na1\n")
    assert chosen(pool, {"listed": "some.txt"}) == ["z1", "c1", "a1"]
    assert chosen(pool, {"with": "unknown"}, {"listed": "some.txt"}) == ["z1", "a1"]
    (tmp_path / "ids.txt").write_text("3\n1\n")  # by id
    assert chosen(pool, {"listed": "ids.txt"}) == ["cd1", "c1"]


def test_images_of_one_stem_are_called_by_id(tmp_path):
    path = write_coco(tmp_path / "t.json", {"a/x": ["cat"], "b/x": ["dog"]})
    assert image_names(read(path)).tolist() == ["1", "2"]
    path = write_coco(tmp_path / "t.json", {"a/x": ["cat"], "b/y": ["dog"]})
    assert image_names(read(path)).tolist() == ["x", "y"]


def test_lists_that_do_not_fit(pool, tmp_path):
    (tmp_path / "some.txt").write_text("z1\nnowhere\nelsewhere\n")
    with pytest.raises(InputError, match=r"2 of 3 images(.|\n)*nowhere"):
        chosen(pool, {"listed": "some.txt"})
    with pytest.raises(InputError, match="OS902"):
        chosen(pool, {"listed": "absent.txt"})


def test_other_splits(pool):
    pool = replace(pool, done={"train": frozenset({"c1", "z1"}), "val": frozenset({"a1"})})
    assert chosen(pool, {"with": "unknown"}, {"not_in": "train"}) == ["cz1", "a1", "cda1", "zt1"]
    assert chosen(pool, {"not_in": ["train", "val"]}) == [
        name for name in TEN if name not in ("c1", "z1", "a1")
    ]
    assert chosen(pool, {"among": ["train", "val"]}) == ["c1", "z1", "a1"]
    with pytest.raises(UsageError, match="train"):
        chosen(pool, {"not_in": "trian"})


def test_shuffled_subsets_are_nested(pool):
    small, large = (chosen(pool, {"shuffle": "w"}, {"first": n}) for n in (3, 7))
    assert large[:3] == small
    assert chosen(replace(pool, split="b"), {"shuffle": "w"}, {"first": 3}) == small
    orders = {tuple(chosen(replace(pool, seed=s), {"shuffle": "w"})) for s in range(5)}
    assert len(orders) == 5
    assert all(sorted(order) == sorted(TEN) for order in orders)
    reordered = pool.narrowed(pool.images[::-1].copy())
    assert chosen(reordered, {"shuffle": "w"}, {"first": 3}) == small


def test_random_choices_are_those_of_earlier_versions(pool):
    """A benchmark that was built last year must be the one that is built next year."""
    order = ["zt1", "z1", "cda1", "cd1", "t1", "cz1", "x1", "c1", "d1", "a1"]
    assert chosen(pool, {"shuffle": "w"}) == order
    assert chosen(pool, {"sample": 4}) == ["c1", "z1", "zt1", "t1"]


def test_samples(pool):
    names = chosen(pool, {"sample": 4})
    assert names == chosen(pool, {"sample": 4})
    assert len(set(names)) == 4
    assert names == [name for name in TEN if name in names]  # in the order so far
    assert len({tuple(chosen(replace(pool, split=s), {"sample": 4})) for s in "abcdef"}) > 1
    assert chosen(pool, {"share": 0.3}) == ["c1", "z1", "zt1"]  # in the order so far
    for rule in ({"sample": 11}, {"first": 11}):
        with pytest.raises(InputError, match="OS906"):
            chosen(pool, rule)


def test_exemplars_have_enough_of_every_known_class(pool):
    for seed in range(8):
        names = chosen(replace(pool, seed=seed), {"exemplars": 2})
        letters = "".join(names)
        assert letters.count("c") >= 2
        assert letters.count("d") >= 2
        assert len(names) <= 4
        assert set(names) <= {"c1", "d1", "cd1", "cz1", "cda1"}
        assert len(chosen(replace(pool, seed=seed), {"exemplars": 1})) <= 2  # and not more
    # Fewer than asked for: all there are.
    assert chosen(pool, {"exemplars": 9}) == ["c1", "d1", "cd1", "cz1", "cda1"]


def test_labels_that_are_not_there(pool):
    with pytest.raises(InputError, match=r"OS904(.|\n)*zebra"):
        chosen(pool, {"with": ["zebar"]})
    with pytest.raises(UsageError, match="known"):
        chosen(pool, {"with": "knwon"})


# Classes


def universe(tmp_path, **options):
    above = {"cat": "pet", "dog": "pet", "zebra": "wild"}
    table = read(write_coco(tmp_path / "u.json", {"a": ["cat"]}, supercategory=above))
    plain = Universe(
        table.labels,
        Vocabulary(tasks=()),
        lists={"pets": ["cat", "dog"]},
        supercategory=dict(zip(table.labels, table.supercategory, strict=True)),
        tables={"mine": table},
        folder=tmp_path,
    )
    return replace(plain, **options)


KINGDOM = Taxonomy(
    {
        "cat": ("pet",),
        "dog": ("pet",),
        "pet": ("animal",),
        "zebra": ("animal",),
        "animal": ("thing",),
        "car": ("vehicle",),
        "vehicle": ("thing",),
        "tree": ("thing",),
    }
)


def test_class_rules(tmp_path):
    here = universe(tmp_path, taxonomy=KINGDOM)
    assert class_set(here, ["@pets", "zebra"]) == ("cat", "dog", "zebra")
    assert class_set(here, {"except": ["@pets"]}) == ("zebra", "car", "tree")
    assert class_set(here, {"supercategory": ["pet", "wild"]}) == ("cat", "dog", "zebra")
    assert class_set(here, {"under": "animal"}) == ("cat", "dog", "zebra")


def test_tiers_by_similarity(tmp_path):
    here = universe(tmp_path, taxonomy=KINGDOM)
    # Wu-Palmer to cat (depth 4): dog 2*3/8, zebra 2*2/7, car 2*1/7, tree 2*1/6.
    tier = {"to": ["cat"], "of": ["dog", "zebra", "car", "tree"]}
    assert class_set(here, {"tier": tier | {"least": 0.6}}) == ("dog",)
    assert class_set(here, {"tier": tier | {"least": 0.5, "below": 0.6}}) == ("zebra",)
    assert class_set(here, {"tier": tier | {"below": 0.5}}) == ("car", "tree")
    values = [round(KINGDOM.similarity("cat", k), 4) for k in ("dog", "zebra", "car", "tree")]
    assert values == [round(6 / 8, 4), round(4 / 7, 4), round(2 / 7, 4), round(2 / 6, 4)]


# Licence lines of the real file begin with a number, as synsets do.
WORDNET = (
    LICENCE
    + """00000001 03 n 01 entity 0 000 | the root
00000002 03 n 02 animal 0 beast 0 001 @ 00000001 n 0000 | alive
00000003 03 n 01 mouse 0 001 @ 00000002 n 0000 | rodent
00000004 03 n 01 mouse 1 001 @ 00000001 n 0000 | device
00000005 03 n 01 rat 0 002 @ 00000002 n 0000 #m 00000001 n 0000 | rodent, too
"""
)


def test_tiers_by_pinned_synsets(tmp_path):
    (tmp_path / "data.noun").write_text(WORDNET)
    here = universe(tmp_path, labels=("mouse", "rat"))
    tier = {"to": ["rat"], "of": ["mouse"], "least": 0.6, "wordnet": "data.noun"}
    rodent = {"synsets": {"rat": "00000005 rat", "mouse": "00000003"}}
    device = {"synsets": {"rat": "00000005", "mouse": "00000004"}}
    assert class_set(here, {"tier": tier | rodent}) == ("mouse",)
    assert class_set(here, {"tier": tier | device}) == ()
    assert class_set(
        replace(here, known=("rat",)), {"tier": rodent | {"wordnet": "data.noun"}}
    ) == ("mouse",)
    with pytest.raises(UsageError, match="to ="):
        class_set(here, {"tier": rodent | {"wordnet": "data.noun"}})
    with pytest.raises(InputError, match=r"OS904(.|\n)*rat"):
        class_set(here, {"tier": tier | {"synsets": {"mouse": "00000003"}}})
    with pytest.raises(InputError, match=r"OS904(.|\n)*99"):
        class_set(here, {"tier": tier | {"synsets": {**rodent["synsets"], "rat": "00000099"}}})


def test_a_dictionary_of_another_version_is_refused(tmp_path):
    (tmp_path / "data.noun").write_text(WORDNET)
    with pytest.raises(InputError, match=r"OS903(.|\n)*cat(.|\n)*3\.0"):
        of_wordnet(tmp_path / "data.noun", synsets_of(["cat"], Vocabulary(tasks=()), {}))
    with pytest.raises(InputError, match="OS903"):  # the offset is there, but is another word
        of_wordnet(tmp_path / "data.noun", {"rat": "00000003 rat"})


@pytest.mark.parametrize(
    "text", ["", LICENCE, WORDNET.replace("n 01 rat", "n xx rat"), "[1, 2]", WORDNET[:-60]]
)
def test_a_broken_dictionary_is_refused(tmp_path, text):
    (tmp_path / "data.noun").write_text(text)
    with pytest.raises(InputError, match="OS102"):
        of_wordnet(tmp_path / "data.noun", {"rat": "00000005"})


def test_synsets_of_coco_are_shipped():
    names = vocabularies()["coco80"].known
    assert tuple(shipped_synsets()) == names
    pins = synsets_of(["tvmonitor", "dodo"], Vocabulary(tasks=()), {"dodo": "01812337"})
    assert pins == {"tvmonitor": "04405907 television", "dodo": "01812337"}
    assert len(set(shipped_synsets().values())) == 80


def test_random_classes_repeat_and_are_disjoint(tmp_path):
    here = universe(tmp_path)
    first = class_set(here, {"random": {"count": 2}})
    assert first == class_set(replace(here, labels=here.labels[::-1]), {"random": {"count": 2}})
    rest = class_set(here, {"random": {"count": 3, "skip": 2}})
    assert sorted((*first, *rest)) == sorted(here.labels)
    sets = {class_set(here, {"random": {"count": 2, "seed": s}}) for s in range(8)}
    assert len(sets) > 2
    with pytest.raises(UsageError, match="impossible"):
        class_set(here, {"random": {"count": 6}})


def test_clusters_are_classes_that_occur_together(tmp_path):
    groups = [("cat", "dog", "zebra")] * 6 + [("car", "tree")] * 5 + [("cat", "car")]
    path = write_coco(tmp_path / "c.json", {f"i{n}": list(g) for n, g in enumerate(groups)})
    here = universe(tmp_path, tables={"mine": read(path)})
    cut = {"source": "mine", "groups": 2}
    assert class_set(here, {"cluster": cut | {"rank": 1}}) == ("cat", "dog", "zebra")
    assert class_set(here, {"cluster": cut | {"rank": 2}}) == ("car", "tree")
    with pytest.raises(UsageError, match="group 3"):
        class_set(here, {"cluster": cut | {"rank": 3}})


def test_a_cut_without_scikit_learn_says_what_to_install(monkeypatch):
    monkeypatch.setattr("openset.plugins.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"OS601(.|\n)*openset\[clusters\]"):
        normalised_cut(np.ones((4, 4)), 2, 0)


def test_classes_that_are_not_there(tmp_path):
    here = universe(tmp_path, taxonomy=KINGDOM)
    for bad in (["dgo"], {"except": ["dgo"]}, {"supercategory": ["pets"]}, {"under": "beast"}):
        with pytest.raises(InputError, match="OS904"):
            class_set(here, bad)
    with pytest.raises(UsageError, match="pets"):
        class_set(here, ["@pet"])


def test_a_hierarchy_that_is_a_circle():
    with pytest.raises(InputError, match=r"OS908(.|\n)*a > b > c > a"):
        Taxonomy({"x": ("a",), "a": ("b",), "b": ("c",), "c": ("a",)})


@pytest.mark.parametrize("kind", ["image rule", "class rule"])
def test_every_rule_says_what_it_does_and_checks_its_argument(kind):
    assert len(rules(kind)) >= 6
    for name, rule in rules(kind).items():
        assert rule.summary.endswith("."), name
        with pytest.raises(UsageError, match=name):
            check_rule({name: 1j}, kind)


def test_wilderness_beside_a_split(pool):
    pool = replace(pool, done={"known": frozenset({"c1", "cz1", "d1"})})
    wild = {"z1", "a1", "zt1", "x1", "t1"}  # without a known object
    for ratio, count in ((0.0, 0), (0.3, 0), (0.34, 1), (1.0, 3), (1.5, 4)):
        names = chosen(pool, {"wilderness": {"beside": "known", "ratio": ratio}})
        assert names[:3] == ["c1", "d1", "cz1"]
        assert len(names) == 3 + count
        assert set(names[3:]) <= wild
    one, more = (chosen(pool, {"wilderness": {"beside": "known", "ratio": r}}) for r in (0.7, 1.4))
    assert more[: len(one)] == one  # nested
    with pytest.raises(InputError, match="OS906"):
        chosen(pool, {"wilderness": {"beside": "known", "ratio": 2.0}})


def test_images_by_embeddings(pool, tmp_path):
    # Directions in a plane, in degrees: c1 and d1 are the split, at 0 and 90.
    degrees = {name: 0 for name in TEN} | {"d1": 90, "z1": 100, "a1": 150, "t1": 45}
    angle = np.deg2rad([degrees[name] for name in TEN])
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 7  # lengths do not matter
    np.savez(tmp_path / "e.npz", names=np.array(TEN), embedding=rows)
    pool = replace(pool, done={"id": frozenset({"c1", "d1"})})
    far = {"to": "id", "file": "e.npz", "below": 0.6}
    assert chosen(pool, {"similar": far}) == ["a1"]  # 60 degrees from d1
    middle = {"to": "id", "file": "e.npz", "least": 0.6, "below": 0.99}
    assert chosen(pool, {"similar": middle}) == ["z1", "t1"]
    np.savez(tmp_path / "e.npz", names=np.array(TEN[1:]), embedding=rows[1:])
    with pytest.raises(InputError, match=r"OS910(.|\n)*c1"):
        chosen(pool, {"similar": far})
    (tmp_path / "e.npz").write_bytes(b"PK no archive")
    with pytest.raises(InputError, match="OS903"):
        chosen(pool, {"similar": far})


def test_named_images_are_left_out(pool):
    """VOC's trainval shows three photographs twice: 000338 = 007284 and two more."""
    assert chosen(pool, {"with": "known"}, {"but": ["cd1", "cz1"]}) == ["c1", "d1", "cda1"]
    assert chosen(pool, {"first": 3}, {"but": str(pool.table.images.id[1])}) == ["c1", "cd1"]
    with pytest.raises(InputError, match=r"OS910(.|\n)*nobody"):
        chosen(pool, {"but": ["c1", "nobody"]})


def test_lists_of_which_the_data_have_a_part(pool, tmp_path):
    (tmp_path / "some.txt").write_text("z1\n000338\nc1\n007284\n")
    with pytest.raises(InputError, match=r"OS910(.|\n)*000338"):
        chosen(pool, {"listed": "some.txt"})
    assert chosen(pool, {"listed": {"files": "some.txt", "partial": True}}) == ["z1", "c1"]
    assert absent(pool.table, ["some.txt"], (tmp_path,)) == ["000338", "007284"]
    with pytest.raises(UsageError, match="listed"):
        chosen(pool, {"listed": {"file": "some.txt"}})


YAML = """
KEEP_TO_NEAR_IDS:
  coco: [5, 7]
  openimages: ['0010', 0010, 1e5]
UNFILTERED_IMAGES_TO_REMOVE:
  coco:
    person: [1]
    other:
    - 2
    - 99
"""


def test_lists_inside_of_a_yaml_file(pool, tmp_path):
    """As FMIYC's authors keep the ids of images that they picked by hand."""
    (tmp_path / "fmiyc.yaml").write_text(YAML)
    ids = dict(zip(pool.table.images.id.tolist(), TEN, strict=True))
    assert chosen(pool, {"listed": "fmiyc.yaml#KEEP_TO_NEAR_IDS/coco"}) == [ids[5], ids[7]]
    removed = {"not_listed": "fmiyc.yaml#UNFILTERED_IMAGES_TO_REMOVE/coco"}
    assert chosen(pool, removed) == [ids[i] for i in range(3, 11)]
    found = lines_of(["fmiyc.yaml#KEEP_TO_NEAR_IDS/openimages"], pool.files)
    assert found == ["0010", "0010", "1e5"]  # never numbers
    with pytest.raises(UsageError, match="Did you mean 'coco'"):
        chosen(pool, {"listed": "fmiyc.yaml#KEEP_TO_NEAR_IDS/cocoo"})
    (tmp_path / "fmiyc.yaml").write_text("a: [1")
    with pytest.raises(InputError, match="OS102"):
        chosen(pool, {"listed": "fmiyc.yaml#a"})
