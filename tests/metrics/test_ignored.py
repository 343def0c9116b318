"""A box on an ignored object is neither right nor wrong: no metric moves when it comes or goes."""

from dataclasses import replace

import numpy as np
import pytest

from openset.evaluation import evaluate
from openset.evaluation.provenance import describe
from openset.kernels import _library
from openset.matching import Protocol, match
from openset.matching.merge import merge
from openset.matching.protocol import PRESETS
from openset.tables import Annotations, Detections, Images, Vocabulary
from scenes.metrics import KNOWN, LABELS, random_scene

HIDDEN = replace(KNOWN, ignored=frozenset({"tree"}))
TREE = len(LABELS)  # the label that is ignored
UNKNOWN = LABELS.index("unknown")
PLACE = np.array([[310.0, 210.0, 60.0, 50.0]])  # beside the grid of the other objects
FAR = np.array([[310.0, 10.0, 60.0, 50.0]])
ONLY_UNKNOWN = [name for name, rules in PRESETS.items() if rules.ignored_labels == "unknown"]
# How much is said, and how it looks: these ask of no box whether it is right.
RIGHT_OR_WRONG = {"detections_per_image", "images_without_predictions"}
RIGHT_OR_WRONG |= {"auroc", "aupr", "fpr_at_95_tpr"}
EACH = pytest.mark.parametrize("protocol", sorted(PRESETS))


@pytest.fixture(params=["compiled", "NumPy"], autouse=True)
def kernels(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setattr(_library, "library", lambda: None)


def with_tree(seed, **flags):
    """A random scene with a tree, an object whose label is ignored, on an image of knowns."""
    scene = random_scene(seed)
    old = scene.truth
    listed = {"listed": np.ones(len(old.images), np.int64)}
    truth = replace(
        old,
        images=replace(old.images, attributes=listed),
        labels=(*LABELS, "tree"),
        image=np.append(old.image, 1),
        label=np.append(old.label, TREE),
        box=np.concatenate([old.box, PLACE]),
        area=None,
        id=None,
        category_id=None,
        supercategory=(),
        role=(),
        **{"crowd": None, "difficult": None} | flags,
    )
    found = replace(scene.found, labels=(*LABELS, "tree"))
    return scene.but(truth=truth, found=found, vocabulary=HIDDEN)


def with_box(scene, label, box, score=0.9995):
    """The scene with one more detection on the image of the tree."""
    old = scene.found
    found = replace(
        old,
        image=np.append(old.image, scene.truth.images.id[1]),
        label=np.append(old.label, label),
        box=np.concatenate([old.box, box]),
        score=np.append(old.score, score),
        unknownness=np.append(old.unknownness, 0.5),
    )
    return scene.but(found=found)


def numbers(scene, protocol):
    return {n: (v.value, v.reason) for n, v in scene.values(protocol).items()}


@EACH
@pytest.mark.parametrize("label", [0, UNKNOWN, TREE])
def test_a_box_on_an_object_with_an_ignored_label(protocol, label):
    scene = with_tree(4)
    before, after = numbers(scene, protocol), numbers(with_box(scene, label, PLACE), protocol)
    changed = {name for name in before if before[name] != after[name]}
    if protocol in ONLY_UNKNOWN and label == 0:
        assert "ap_known" in changed and "a_ose" not in changed  # a known name stays wrong
    else:
        assert changed <= (RIGHT_OR_WRONG if protocol in ONLY_UNKNOWN else set())


@EACH
def test_a_box_beside_it_is_wrong(protocol):
    scene = with_tree(4)
    assert numbers(with_box(scene, 0, FAR), protocol) != numbers(scene, protocol)


FLAGGED = [(name, flag) for name, rules in PRESETS.items() for flag in rules.ignore]


@pytest.mark.parametrize(("protocol", "flag"), FLAGGED)
@pytest.mark.parametrize("label", [0, UNKNOWN])
def test_a_box_of_its_class_on_a_flagged_object(protocol, flag, label):
    scene = with_tree(4)
    mark = np.arange(len(scene.truth)) == len(scene.truth) - 1
    labels = np.where(mark, label, scene.truth.label)
    scene = scene.but(truth=replace(scene.truth, label=labels, **{flag: mark}))
    before, after = numbers(scene, protocol), numbers(with_box(scene, label, PLACE), protocol)
    assert {name for name in before if before[name] != after[name]} <= RIGHT_OR_WRONG


# ---------------------------------------------------------------------- which boxes

BOX = [0.0, 0.0, 100.0, 100.0]


def judged(objects, found, protocol="default", **flags):
    """Matches of one image: objects and detections are pairs of a label and a box."""
    labels = ("dog", "cat", "unknown", "tree")
    names, boxes = zip(*objects, strict=True)
    truth = Annotations(
        Images([1]), labels, [0] * len(names), [*map(labels.index, names)], boxes, **flags
    )
    called, where = zip(*found, strict=True)
    score = np.linspace(0.9, 0.5, len(called))
    said = Detections([1] * len(called), [*map(labels.index, called)], where, score, labels)
    vocabulary = Vocabulary(tasks=(("dog", "cat"),), ignored=frozenset({"tree"}))
    return match(truth, said, vocabulary, protocol)


def part(width):
    """The left part of the box, which overlaps it by that share."""
    return [0.0, 0.0, width, 100.0]


def test_any_number_of_boxes_on_one_ignored_object():
    matches = judged([("tree", BOX)], [("dog", BOX), ("dog", part(90)), ("unknown", part(60))])
    assert len(matches) == 0 and matches.excused == 3


def test_the_overlap_is_that_of_the_protocol():
    half = [("dog", part(50))]
    assert judged([("tree", BOX)], half).excused == 1
    more = Protocol.of("default").but(iou_inclusive=False)
    assert judged([("tree", BOX)], half, more).excused == 0


def test_what_is_right_stays_right():
    matches = judged([("tree", BOX), ("dog", part(80))], [("dog", part(90))])
    assert matches.excused == 0 and matches.outcome().correct.tolist() == [True]


def test_what_lies_rather_on_an_object_that_counts_is_judged_by_it():
    matches = judged([("tree", part(60)), ("unknown", BOX)], [("dog", BOX)])
    assert matches.excused == 0 and matches.open_set_errors.tolist() == [True]
    matches = judged([("tree", BOX), ("unknown", part(60))], [("dog", BOX)])
    assert matches.excused == 1


def test_an_ignored_crowd_is_a_region():
    small = [("dog", [10.0, 10.0, 20.0, 20.0])]
    assert judged([("tree", BOX)], small).excused == 0
    assert judged([("tree", BOX)], small, crowd=[True]).excused == 1
    assert judged([("tree", BOX)], small, "paper", crowd=[True]).excused == 0


def test_it_takes_no_place_among_the_best():
    found = [("dog", BOX)] * 100 + [("dog", [200.0, 0.0, 50.0, 50.0])]
    matches = judged([("tree", BOX), ("dog", [200.0, 0.0, 50.0, 50.0])], found)
    assert matches.excused == 100 and matches.outcome().correct.tolist() == [True]


def test_osod3_has_them_as_crowds_of_the_unknown_class():
    inside = [10.0, 10.0, 20.0, 20.0]
    objects = [("tree", BOX), ("unknown", [300.0, 0.0, 50.0, 50.0])]
    found = [("unknown", inside), ("dog", BOX)]
    whole = judged(objects, found, "osod3")
    assert whole.outcome().ignored.tolist() == [False, True] and not whole.open_set_errors.any()
    loop = judged(objects, [("unknown", BOX), ("dog", BOX)], "osod3-voc")
    assert loop.outcome().ignored.tolist() == [False, True] and not loop.open_set_errors.any()
    assert loop.outcome().wrong.tolist() == [True, False]


def test_shards_excuse_what_the_whole_excuses():
    scene = with_box(with_tree(4), 0, PLACE)
    whole = scene.match("default")
    halves = []
    for half in (np.arange(12) < 6, np.arange(12) >= 6):
        rows = half[scene.truth.image]
        kept = scene.truth.select(rows)
        images = Images(scene.truth.images.id[half])
        renumbered = np.cumsum(half) - 1
        truth = replace(kept, images=images, image=renumbered[kept.image])
        found = scene.found.select(np.isin(scene.found.image, images.id))
        halves.append(match(truth, found, scene.vocabulary))
    merged = merge(halves)
    assert merged.excused == whole.excused == 1
    assert len(merged) == len(whole) and len(merged.excusing) == len(whole.excusing) == 1


def test_more_protocols_have_the_notion_than_not():
    assert ONLY_UNKNOWN == ["osod3", "osod3-voc"]
    assert Protocol.of("default").ignored_labels == "any"


def test_an_evaluation_says_how_many():
    scene = with_box(with_tree(4), 0, PLACE)
    parts = (scene.truth, scene.found)
    found = evaluate(*parts, known=scene.vocabulary, intervals=False, metrics=["a_ose"])
    [said] = [finding for finding in found.findings if finding.code == "OS326"]
    assert said.count == 1 and "'tree'" in said.example
    assert found.provenance.counts["ignored_objects"] == 1


def test_the_place_of_an_ignored_object_makes_another_truth():
    scene = with_tree(4)
    box = np.concatenate([scene.truth.box[:-1], FAR])
    moved = scene.but(truth=replace(scene.truth, box=box))
    hashes = [describe(s.match(), {}, seed=0, resamples=0).truth_hash for s in (scene, moved)]
    assert hashes[0] != hashes[1]
