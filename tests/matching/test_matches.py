"""Matches: outcomes at several thresholds, counting, and merging shards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import InputError, UsageError
from openset.matching import Protocol, match
from openset.matching import matches as matches_module
from openset.matching.blocks import class_blocks
from openset.matching.merge import merge
from openset.metrics import table
from openset.ranking import Ranking
from openset.tables import Annotations, Detections, Images, Vocabulary
from scenes.builders import KNOWN, scene

DOG = Vocabulary.of(["dog"])
LABELS = ("dog", "zebra", "unknown")


def tiny(boxes, labels, found, found_labels, scores=None, **flags):
    """One image; objects and detections as given."""
    truth = Annotations(Images([1]), LABELS, np.zeros(len(boxes)), labels, boxes, **flags)
    n = len(found)
    scores = np.linspace(0.9, 0.5, n) if scores is None else scores
    return truth, Detections(np.ones(n, int), found_labels, found, scores)


def test_fewer_are_correct_at_higher_thresholds():
    # Overlaps 1, 0.6 and 0.4 with three objects far apart.
    boxes = [[0, 0, 10, 10], [100, 0, 10, 10], [200, 0, 10, 10]]
    found = [[0, 0, 10, 10], [100, 0, 10, 6], [200, 0, 10, 4]]
    matches = match(*tiny(boxes, [0, 0, 0], found, [1, 1, 1]), DOG)
    correct = {iou: int(matches.outcome(iou).correct.sum()) for iou in (0.5, 0.6, 0.65, 0.95)}
    assert correct == {0.5: 2, 0.6: 2, 0.65: 1, 0.95: 1}
    assert matches.outcome() is matches.outcome(0.5)
    assert matches.outcome(0.95).object.tolist() == [0, -1, -1]


def test_a_threshold_that_was_not_matched_is_refused():
    matches = match(*scene(0).tables(), KNOWN)
    with pytest.raises(UsageError, match=r"0\.50, 0\.55"):
        matches.outcome(0.52)


@pytest.mark.parametrize("rule", ["voc", "elephant"])
def test_rules_without_greedy_matching_have_any_threshold(rule):
    matches = match(*scene(0).tables(), KNOWN, Protocol(name="test", rule=rule, iou=(0.5,)))
    numbers = [int(matches.outcome(iou).correct.sum()) for iou in (0.1, 0.5, 0.52, 0.9)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] > numbers[-1]


def test_an_overlap_equal_to_the_threshold():
    data = tiny([[0, 0, 10, 10]], [0], [[0, 0, 10, 5]], [1])
    inclusive = Protocol(name="test", rule="voc", iou=(0.5,))
    assert match(*data, DOG, inclusive).outcome().correct.tolist() == [True]
    assert match(*data, DOG, inclusive.but(iou_inclusive=False)).outcome().wrong.tolist() == [True]


def test_the_first_object_wins_equal_overlaps_across_classes():
    box = [0, 0, 10, 10]
    for labels in ([0, 2], [2, 0], [1, 2]):
        matches = match(*tiny([box, box], labels, [box], [1]), DOG)
        iou, best = matches.best_any
        assert (iou[0], best[0]) == (1, 0)


def test_no_object_no_overlap():
    matches = match(*tiny(np.empty((0, 4)), [], [[0, 0, 1, 1]], [1]), DOG)
    iou, best = matches.best_any
    assert (iou.tolist(), best.tolist()) == ([0], [-1])
    assert matches.outcome().wrong.tolist() == [True]
    assert not matches.open_set_errors.any()


def test_no_detection():
    matches = match(*tiny([[0, 0, 9, 9]], [0], np.empty((0, 4)), []), DOG)
    assert len(matches) == len(matches.outcome().correct) == 0
    assert matches.positives.tolist() == [1, 0]


def test_open_set_errors_count_detections_not_objects():
    box = [0, 0, 10, 10]
    data = tiny([box, box], [0, 2], [box, box, box], [1, 1, 3])
    matches = match(*data, DOG)
    # Both detections of dog lie on the unknown object, though one of them is right.
    assert matches.open_set_errors.tolist() == [True, True, False]
    assert matches.outcome().correct.tolist() == [True, False, True]


def test_open_set_errors_on_ignored_objects():
    box = [0, 0, 10, 10]
    data = tiny([box], [2], [box], [1], difficult=[True])
    counted = Protocol(name="test", ose_counts_ignored=True)
    assert match(*data, DOG, counted).open_set_errors.tolist() == [True]
    assert match(*data, DOG, counted.but(ose_counts_ignored=False)).open_set_errors.tolist() == [
        False
    ]
    # The flag does not matter where the protocol does not ignore such objects.
    heeds = counted.but(ose_counts_ignored=False, ignore=("crowd",))
    assert match(*data, DOG, heeds).open_set_errors.tolist() == [True]


def test_open_set_errors_stop_at_the_detection_limit():
    box = [0, 0, 10, 10]
    data = tiny([box], [2], [box, box, box], [1, 1, 1])
    limited = Protocol(name="test", max_detections=2)
    assert match(*data, DOG, limited).open_set_errors.tolist() == [True, True, False]


def test_detections_on_empty_images_can_be_skipped():
    truth = Annotations(Images([1, 2]), LABELS, [0], [0], [[0, 0, 9, 9]])
    found = Detections([1, 2], [1, 1], [[0, 0, 9, 9], [0, 0, 9, 9]], [0.9, 0.8])
    plain = match(truth, found, DOG)
    skipping = match(truth, found, DOG, Protocol(name="test", empty_images="skip"))
    assert plain.outcome().wrong.tolist() == [False, True]
    assert skipping.outcome().wrong.tolist() == [False, False]
    assert skipping.outcome().ignored.tolist() == [False, True]


def test_equal_scores_go_by_image_id_or_by_input():
    truth = Annotations(Images([7, 3]), LABELS, [0, 1], [0, 0], [[0, 0, 9, 9]] * 2)
    found = Detections([7, 3], [1, 1], [[0, 0, 9, 9]] * 2, [0.5, 0.5])
    by_image = match(truth, found, DOG, Protocol(name="test", ties="image"))
    by_input = match(truth, found, DOG, Protocol(name="test", ties="input"))
    assert by_image.row.tolist() == [1, 0]
    assert by_input.row.tolist() == [0, 1]


def test_scores_that_cannot_be_ordered_are_refused():
    with pytest.raises(InputError, match="OS202"):
        match(*tiny([[0, 0, 9, 9]], [0], [[0, 0, 9, 9]], [1], scores=[np.nan]), DOG)


def test_resamples_take_over_what_weights_do_not_change():
    world = scene(seed=3)
    found = match(*world.tables(), KNOWN)
    for name in matches_module._WEIGHTLESS:
        assert getattr(found, name) is not None
    drawn = found.resampled(np.full((found.n_images, 4), 2, np.uint8))
    alone = replace(found, weights=drawn.weights)
    for name in matches_module._WEIGHTLESS:
        assert vars(drawn)[name] is vars(found)[name]
        np.testing.assert_equal(flat(getattr(alone, name)), flat(vars(drawn)[name]))
    assert not {"positives", "hits_by_class"} & set(matches_module._WEIGHTLESS)


def flat(view):
    """A view as arrays and numbers, whatever holds them."""
    if isinstance(view, tuple):
        return [flat(one) for one in view]
    return vars(view) if isinstance(view, Ranking) else view


def test_counts_with_weights():
    matches = match(*scene(1).tables(), KNOWN)
    everything = np.ones(len(matches), bool)
    weights = np.stack([np.ones(8), np.zeros(8), np.full(8, 3)], axis=1).astype(np.uint8)
    drawn = matches.resampled(weights)
    n = len(matches)
    assert matches.count(everything) == n
    assert drawn.count(everything).tolist() == [n, 0, 3 * n]
    objects = np.ones(len(matches.objects), bool)
    assert drawn.count_objects(objects).tolist() == [len(objects), 0, 3 * len(objects)]
    assert drawn.count_images(np.ones(8, bool)).tolist() == [8, 0, 24]
    assert drawn.positives.T.tolist() == [(matches.positives * k).tolist() for k in (1, 0, 3)]


# ---------------------------------------------------------------------- merge


def columns(matches):
    """Everything in matches, as lists."""
    parts = {name: getattr(matches.columns, name) for name in matches.columns.__slots__}
    parts |= {name: getattr(matches.objects, name) for name in ("image", "klass", "label", "area")}
    names = ("wild", "image_ids", "score", "area", "class_start", "unknownness", "klass")
    parts |= {f"matches.{name}": getattr(matches, name) for name in names}
    parts["matches.image"] = matches.image
    outcome = matches.outcome()
    parts |= {"correct": outcome.correct, "ignored by": outcome.ignored, "claimed": outcome.object}
    return {name: None if value is None else value.tolist() for name, value in parts.items()}


@pytest.fixture(params=["in memory", "in files, class by class"])
def room(request, monkeypatch):
    """Columns that are held, and columns that are too many for that."""
    if request.param != "in memory":
        monkeypatch.setattr("openset.matching.spilling.LIMIT", 0)
        monkeypatch.setattr("openset.matching.blocks.AT_ONCE", 5)


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("protocol", ["default", "owod", "elephant", "vos", "tide"])
@pytest.mark.parametrize("ids", ["int", "str"])
def test_merged_shards_are_one_pass(protocol, ids):
    for seed in range(5):
        shown = scene(seed, images=9, ids=ids)
        shards = [shown.part(shown.images[a:b]) for a, b in ((0, 2), (2, 3), (3, 9))]
        merged = merge([match(*shard.tables(), KNOWN, protocol) for shard in shards])
        once = match(*shown.tables(), KNOWN, protocol)
        assert columns(merged) == columns(once)
        assert merged.place.tolist() == once.place.tolist()


def test_many_columns_are_in_files_and_can_be_forgotten(monkeypatch):
    monkeypatch.setattr("openset.matching.spilling.LIMIT", 0)
    shown = scene(1, images=6)
    merged = merge([match(*shown.part([one]).tables(), KNOWN) for one in shown.images])
    held = {**merged.columns._asdict(), "score": merged.score, "image": merged.image}
    held |= {"place": merged.place, "row": merged.row, "box": merged.objects.box}
    assert [name for name, one in held.items() if one is not None and one.flags.writeable] == []
    before = columns(merged)
    merged.forget()
    assert columns(merged) == before


def test_no_room_for_columns_is_said(monkeypatch):
    def full(**options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    monkeypatch.setattr("openset.matching.spilling.LIMIT", 0)
    shown = scene(1, images=2)
    with pytest.raises(InputError, match="No space left on device"):
        merge([match(*shown.part([one]).tables(), KNOWN) for one in shown.images])


def test_classes_in_blocks():
    start = np.array([0, 3, 3, 4, 9, 9, 10])
    assert list(class_blocks(start, 4)) == [(0, 3), (3, 4), (4, 6)]
    assert list(class_blocks(start, 100)) == [(0, 6)]
    assert list(class_blocks(start, 1)) == [(0, 1), (1, 3), (3, 4), (4, 6)]


@pytest.mark.parametrize("protocol", ["default", "elephant"])
def test_class_by_class_is_all_at_once(protocol, monkeypatch):
    matches = match(*scene(2, images=9).tables(), KNOWN, protocol)
    values = {n: m.compute(matches).value for n, m in table().items()}
    every = replace(matches, _outcomes={}, _parts={})
    monkeypatch.setattr("openset.matching.blocks.AT_ONCE", 1)
    monkeypatch.setattr("openset.matching.counting._CELLS", 1)
    assert {n: m.compute(every).value for n, m in table().items()} == values


def test_one_shard_is_itself():
    matches = match(*scene(0).tables(), KNOWN)
    assert merge([matches]) is matches


def test_shards_with_other_lists_of_labels():
    box = [[0, 0, 9, 9]]
    first = Annotations(Images([1]), ("dog", "zebra"), [0], [1], box)
    second = Annotations(Images([2]), ("horse", "dog"), [0], [0], box)
    merged = merge(
        [match(t, Detections([], [], np.empty((0, 4)), []), DOG) for t in (first, second)]
    )
    assert merged.labels == ("dog", "zebra", "horse")
    assert [merged.labels[at] for at in merged.objects.label] == ["zebra", "horse"]


def test_integer_and_text_ids_in_two_shards():
    box = [[0, 0, 9, 9]]
    nothing = Detections([], [], np.empty((0, 4)), [])
    parts = [
        match(Annotations(Images(i), LABELS, [0], [0], box), nothing, DOG) for i in ([1], ["1"])
    ]
    with pytest.raises(UsageError, match="two shards"):
        merge(parts)


def test_nothing_to_merge_is_refused():
    with pytest.raises(UsageError):
        merge([])


def test_columns_are_forgotten_while_others_add_to_them(monkeypatch):
    """Metrics on several threads: what one of them computes first is kept beside the columns."""
    matches = match(*scene(2).tables(), KNOWN)

    def slow(columns):
        for _ in columns:
            vars(matches).setdefault(f"computed {len(vars(matches))}", None)

    monkeypatch.setattr(matches_module, "forget", slow)
    matches.forget()
    assert any(name.startswith("computed") for name in vars(matches))
