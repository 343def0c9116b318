"""Roles, synonyms, built-ins, files, hashes, and roles stated by the ground truth."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from openset.findings import InputError, UsageError
from openset.tables import Annotations, Images, Role, Vocabulary
from openset.tables.vocabulary import is_unknown_spelling, normal, vocabularies


def truth(labels, **columns):
    return Annotations(Images([1]), tuple(labels), [], [], np.empty((0, 4)), **columns)


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("dog", Role.KNOWN),
        ("DOG", Role.KNOWN),
        ("television", Role.UNKNOWN),
        ("tvmonitor", Role.KNOWN),
        ("TV_Monitor", Role.KNOWN),
        ("unknown", Role.UNKNOWN),
        ("Unknown-Object", Role.UNKNOWN),
        ("crowd", Role.IGNORED),
        ("zebra", Role.UNKNOWN),
        ("cow", Role.IGNORED),
    ],
)
def test_role(label, role):
    vocabulary = Vocabulary(
        tasks=(("dog", "tv"),),
        unknown=frozenset({"Zebra", "television"}),
        ignored=frozenset({"crowd"}),
        rest=Role.IGNORED,
    )
    assert vocabulary.role(label) is role


def test_classes_number_known_labels_then_unknown():
    vocabulary = Vocabulary(tasks=(("dog",), ("tv", "cat")), ignored=frozenset({"crowd"}))
    labels = ["cat", "crowd", "tvmonitor", "unk", "zebra", "dog"]
    assert vocabulary.classes(labels).tolist() == [2, -1, 1, 3, 3, 0]
    assert vocabulary.classes([]).dtype == np.int32


def test_tasks():
    vocabulary = Vocabulary(tasks=(("a", "b"), ("c",)))
    assert vocabulary.known == ("a", "b", "c")
    assert vocabulary.previous == ("a", "b")
    assert vocabulary.current == ("c",)
    assert Vocabulary(tasks=()).current == ()


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"tasks": (("sofa",), ("couch",))}, "twice"),
        ({"tasks": (("Unknown",),)}, "cannot be a known"),
        ({"tasks": (("tv",),), "unknown": frozenset({"tvmonitor"})}, "known and as unknown"),
        ({"tasks": (("tv",),), "ignored": frozenset({"TV"})}, "known and as ignored"),
        ({"tasks": (("tv",),), "rest": Role.KNOWN}, "rest cannot be"),
    ],
)
def test_contradictions_are_refused(arguments, match):
    with pytest.raises(UsageError, match=match):
        Vocabulary(**arguments)


def test_a_group_of_no_synonyms_says_nothing():
    vocabulary = Vocabulary(tasks=(("a",),), synonyms=((), ("a", "b")))
    assert vocabulary.key("b") == vocabulary.key("a")


def test_synonyms_of_synonyms():
    extra = (("tv", "television"), ("telly", "television"))
    vocabulary = Vocabulary.of(["tv"])
    vocabulary = replace(vocabulary, synonyms=vocabulary.synonyms + extra)
    roles = {vocabulary.role(name) for name in ("tv", "tvmonitor", "television", "telly")}
    assert roles == {Role.KNOWN}


def test_synonym_groups_joined_late_are_one():
    vocabulary = Vocabulary(tasks=(("a",),), synonyms=(("a", "b"), ("c", "d"), ("b", "d")))
    assert {vocabulary.role(name) for name in "abcd"} == {Role.KNOWN}


def test_spellings():
    assert normal("Dining_Table") == normal("dining-table") == normal("diningtable")
    assert all(map(is_unknown_spelling, ["unk", "UNKNOWN", "unknown_object", "Unknown Class"]))
    assert not is_unknown_spelling("unknown animal")


@pytest.mark.parametrize(
    ("name", "known", "current"),
    [
        ("voc20", 20, 20),
        ("coco80", 80, 80),
        ("owod-t1", 20, 20),
        ("owod-t2", 40, 20),
        ("owod-t3", 60, 20),
        ("owod-t4", 80, 20),
        ("s-owodb-t1", 19, 19),
        ("s-owodb-t2", 40, 21),
        ("s-owodb-t3", 60, 20),
        ("s-owodb-t4", 80, 20),
    ],
)
def test_builtins(name, known, current):
    vocabulary = Vocabulary.of(name)
    assert (len(vocabulary.known), len(vocabulary.current)) == (known, current)
    assert vocabulary.name == name


def test_all_builtins_are_tested_and_agree():
    assert len(vocabularies()) == 10
    coco, last = Vocabulary.of("coco80"), Vocabulary.of("owod-t4")
    assert {coco.key(label) for label in last.known} == {coco.key(label) for label in coco.known}
    assert (coco.classes(Vocabulary.of("voc20").known) < 80).all()


def test_similar_classes():
    assert Vocabulary.of(["a", "b"]).similarity() is None
    vocabulary = Vocabulary(tasks=(("tv", "dog", "cat"),), similar=(("cat", "dog", "yak"),))
    expected = np.zeros((4, 4), bool)
    expected[1, 2] = expected[2, 1] = True
    assert (vocabulary.similarity() == expected).all()


def test_of_what_users_pass(tmp_path):
    vocabulary = Vocabulary.of(["dog", "cat"])
    assert Vocabulary.of(vocabulary) is vocabulary
    assert Vocabulary.of("dog, cat").known == ("dog", "cat")
    with pytest.raises(UsageError, match="Did you mean 'voc20'"):
        Vocabulary.of("voc2")
    with pytest.raises(UsageError, match="state which labels are known"):
        Vocabulary.of(None)
    with pytest.raises(InputError, match="OS101"):
        Vocabulary.of(tmp_path / "no.toml")


def test_text_file(tmp_path):
    path = tmp_path / "known.txt"
    path.write_bytes(b"\xef\xbb\xbfdog  # a comment\r\n\r\n# another\r\npotted plant\r\n")
    vocabulary = Vocabulary.of(path)
    assert vocabulary.known == ("dog", "potted plant")
    assert vocabulary.name == "known"


def test_toml_file(tmp_path):
    path = tmp_path / "roles.toml"
    path.write_text(
        """
        tasks = [["dog"], ["tv"]]
        unknown = ["zebra"]
        ignored = ["crowd"]
        rest = "ignored"
        synonyms = [["dog", "hound"]]
        similar = [["dog", "tv"]]
        """
    )
    vocabulary = Vocabulary.of(str(path))
    assert vocabulary.tasks == (("dog",), ("tv",))
    labels = ["hound", "zebra", "crowd", "tvmonitor", "x"]
    assert vocabulary.classes(labels).tolist() == [0, 2, -1, 1, -1]
    assert vocabulary.similarity().sum() == 2


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("knwon = ['dog']", "unknown vocabulary key 'knwon'. Did you mean 'known'"),
        ("known = ['a']\ntasks = [['a']]", "either known"),
        ("unknown = ['a']", "either known"),
        ("known = 'person'", "expected a list of label names, but got 'person'"),
        ("tasks = ['person']", "expected a list of label names"),
        ("known = [1]", "expected a list of label names"),
        ("known = ['a']\nrest = 'other'", "other"),
        ("known = [", "cannot read"),
    ],
)
def test_wrong_toml_is_refused(tmp_path, text, match):
    path = tmp_path / "roles.toml"
    path.write_text(text)
    with pytest.raises(InputError, match="OS102") as caught:
        Vocabulary.of(path)
    assert match in str(caught.value)


def test_undecodable_file(tmp_path):
    path = tmp_path / "known.txt"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="OS102"):
        Vocabulary.of(path)


def test_hash_follows_roles():
    base = Vocabulary(tasks=(("a", "b"), ("c",)))
    same = [
        Vocabulary(tasks=(("b", "A"), ("c",))),
        replace(base, name="other"),
        replace(base, similar=(("a", "b"),)),
    ]
    different = [
        Vocabulary(tasks=(("a", "b", "c"),)),
        Vocabulary(tasks=(("c",), ("a", "b"))),
        Vocabulary(tasks=(("a", "b"),)),
        replace(base, unknown=frozenset({"d"})),
        replace(base, ignored=frozenset({"d"})),
        replace(base, rest=Role.IGNORED),
    ]
    assert {vocabulary.hash for vocabulary in same} == {base.hash}
    assert len({base.hash, *(vocabulary.hash for vocabulary in different)}) == 7
    assert len(base.hash) == 12


def test_hash_takes_synonyms_for_one():
    assert Vocabulary.of(["sofa"]).hash == Vocabulary.of(["Couch"]).hash


def test_hash_follows_synonyms_that_are_not_the_usual_ones():
    usual = Vocabulary.of(["aeroplane"])
    assert usual.hash == "dabebda5df3c"  # results of earlier versions have it
    assert replace(usual, synonyms=()).hash != usual.hash
    assert replace(usual, synonyms=usual.synonyms[::-1]).hash == usual.hash
    more = replace(usual, synonyms=(*usual.synonyms, ("jet", "airplane"), ("jet", "plane")))
    other = replace(usual, synonyms=(*usual.synonyms, ("Plane", "jet", "airplane")))
    assert more.hash == other.hash != usual.hash


LABELS = ("person", "dog", "zebra", "unknown")


def test_roles_from_info():
    info = {"openset": {"known": [7, 9], "known_prev": [9], "known_cur": [7], "unknown_id": 21}}
    vocabulary = Vocabulary.of(None, truth(LABELS, category_id=[7, 9, 11, 21], info=info))
    assert vocabulary.tasks == (("dog",), ("person",))
    assert vocabulary.classes(LABELS).tolist() == [1, 0, 2, 2]


@pytest.mark.parametrize(
    ("previous", "current", "tasks"),
    [
        (None, None, (("person", "dog"),)),
        ([], [], (("person", "dog"),)),
        ([7], [], (("person",), ("dog",))),
        ([7, 9], [], (("person", "dog"),)),
    ],
)
def test_info_without_current_task(previous, current, tasks):
    info = {"openset": {"known": [7, 9], "known_prev": previous, "known_cur": current}}
    vocabulary = Vocabulary.of(None, truth(LABELS, category_id=[7, 9, 11, 21], info=info))
    assert vocabulary.tasks == tasks


def test_roles_from_fields():
    vocabulary = Vocabulary.of(None, truth(LABELS, role=("known", "ignored", "", "unknown")))
    assert vocabulary.classes(LABELS).tolist() == [0, -1, 1, 1]
    with pytest.raises(UsageError, match="Did you mean 'known'"):
        Vocabulary.of(None, truth(LABELS, role=("knwon", "", "", "")))


def test_a_file_with_roles_may_keep_synonyms_apart():
    """A file that lists both sofa and couch means two labels, whatever others call one."""
    labels, roles = ("sofa", "couch", "tv"), ("known", "unknown", "known")
    vocabulary = Vocabulary.of(None, truth(labels, role=roles))
    assert vocabulary.classes(labels).tolist() == [0, 2, 1]
    assert vocabulary.role("tvmonitor") is Role.KNOWN  # the other synonyms stay


def test_roles_from_a_category_named_unknown():
    vocabulary = Vocabulary.of(None, truth(("dog", "Unknown", "cat")))
    assert vocabulary.known == ("dog", "cat")


def test_roles_not_stated():
    with pytest.raises(InputError, match="OS301"):
        Vocabulary.of(None, truth(("dog", "cat")))


def test_many_labels_are_cheap():
    labels = tuple(f"label {at}" for at in range(2000))
    vocabulary = Vocabulary(tasks=(labels[:1000],), unknown=frozenset(labels[1000:]))
    start = time.process_time()
    assert vocabulary.classes(labels).max() == 1000
    assert time.process_time() - start < 5  # milliseconds, or a minute where it is quadratic


@pytest.mark.parametrize("known", [3, True, b"dog", [1], [None], [["dog"]], object()])
def test_known_of_another_type_is_refused(known):
    with pytest.raises(UsageError, match="known must be labels"):
        Vocabulary.of(known)


def test_labels_in_a_row_may_be_longer_than_the_name_of_a_file():
    labels = [f"class {number}" for number in range(1000)]
    assert Vocabulary.of(",".join(labels)).known == tuple(labels)


@pytest.mark.parametrize("text", ["cat;dog", "cat\tdog", "'cat', 'dog'", '"cat"\n"dog"', "cat dog"])
def test_labels_in_a_row_are_as_many(text, tmp_path):
    path = tmp_path / "known.txt"
    path.write_text(text + "\n")
    truth = Annotations(Images([1]), ("cat", "dog", "cow"), [0], [0], [[0, 0, 9, 9]])
    assert Vocabulary.of(path, truth).known == ("cat", "dog")


def test_words_that_are_not_all_labels_are_one(tmp_path):
    path = tmp_path / "known.txt"
    path.write_text("traffic light\nhot dog\n")
    labels = ("traffic light", "hot dog", "dog", "hot")
    truth = Annotations(Images([1]), labels, [0], [0], [[0, 0, 9, 9]])
    assert Vocabulary.of(path, truth).known == ("traffic light", "hot dog")


def test_a_label_with_a_hash_is_no_comment(tmp_path):
    """A line that is a label of the ground truth is one, whatever it looks like."""
    path = tmp_path / "known.txt"
    path.write_text("# taught\nchair #2\nc#\ndog # the large ones\n")
    truth = Annotations(Images([1]), ("Chair #2", "dog", "c#", "cat"), [0], [0], [[0, 0, 9, 9]])
    assert Vocabulary.of(path, truth).known == ("chair #2", "c#", "dog")
    assert Vocabulary.of(path).known == ("chair", "c#", "dog")


def test_a_single_label_is_named_as_it_is():
    truth = Annotations(Images([1]), ("person", "dog"), [0], [0], [[0, 0, 9, 9]])
    assert Vocabulary.of("person", truth).known == ("person",)
    assert len(Vocabulary.of("voc20", truth).known) == 20
    with pytest.raises(UsageError, match=r"unknown vocabulary 'persn'.* comma: 'persn,'"):
        Vocabulary.of("persn", truth)


def test_labels_with_a_slash_are_a_row_of_labels():
    """Open Images calls its classes /m/0cmf2."""
    assert Vocabulary.of("/m/0cmf2,/m/0199g").known == ("/m/0cmf2", "/m/0199g")
