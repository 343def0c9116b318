"""Groups: resamples draw videos, not frames; values stay, and intervals become honest."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import openset
from openset.evaluation.comparison import UNPAIRED, few
from openset.evaluation.run import Run, evaluate_all
from openset.evaluation.settings import Settings
from openset.findings import InputError, Level, UsageError
from openset.formats import write
from openset.metrics import table
from openset.recognition import evaluate_recognition
from openset.recognition.scores import Scores
from openset.resampling.images import replicates
from openset.tables import Images
from openset.tables.groups import GROUP, units
from scenes.builders import KNOWN, Scene, scene
from scenes.videos import FOUND, FRAMES, videos

BY_ID = {key: -((key - 1) // FRAMES) for key in range(1, 81)}
FAST = {"known": ["dog"], "metrics": ["recall_known", "unknown_recall", "a_ose"]}


def evaluated(shown, groups=None, **options):
    return openset.evaluate(*shown.tables(), groups=groups, **{**FAST, **options})


def codes(result):
    return {finding.code for finding in result.findings}


# ------------------------------------------------------------------ what it is for


def test_frames_drawn_one_by_one_make_intervals_that_do_not_hold():
    """Of 40 sets of videos; 95 % are meant to hold the recall of all videos there are."""
    held = {None: 0, "take": 0}
    for seed in range(40):
        shown = videos(seed)
        for groups in held:
            low, high = (
                evaluated(shown, groups, metrics=["recall_known"]).values["recall_known"].interval
            )
            held[groups] += low <= FOUND <= high
    assert held[None] <= 24
    assert held["take"] >= 35


def test_values_stay_and_intervals_widen():
    shown = videos(1)
    plain, grouped = evaluated(shown), evaluated(shown, "take")
    for name in ("recall_known", "unknown_recall"):
        one, other = plain.values[name], grouped.values[name]
        assert one.value == other.value
        width, wider = (value.interval[1] - value.interval[0] for value in (one, other))
        assert wider == pytest.approx(width * FRAMES**0.5, rel=0.15)


def test_a_count_of_nothing_could_have_missed_whole_groups():
    shown = videos(1)
    none, some = (evaluated(shown, groups).values["a_ose"] for groups in (None, "take"))
    assert none.value == some.value == 0
    assert some.interval[1] == pytest.approx(FRAMES * none.interval[1])


def test_images_of_a_group_are_drawn_together():
    drawn = evaluated(videos(2, count=6), "take", metrics=["detections_per_image"])
    per_video = np.array([0.0] * 6)
    for record in videos(2, count=6).found:
        per_video[(record["image_id"] - 1) // FRAMES] += 1
    whole = {sum(2 * some for some in half) for half in _halves(per_video.tolist())}
    numbers = drawn.replicates["detections_per_image"] * 6 * FRAMES
    assert {round(number) for number in numbers.tolist()} <= whole


def _halves(numbers):
    from itertools import combinations

    return combinations(numbers, len(numbers) // 2)


def test_groups_of_one_image_are_no_groups():
    shown = videos(3, count=5)
    ids = {key: f"z{-key}" for key in shown.images}  # other names, another order
    plain, alone = evaluated(shown), evaluated(shown, ids)
    for name, numbers in plain.replicates.items():
        np.testing.assert_array_equal(numbers, alone.replicates[name])
    assert alone.provenance.groups_hash == plain.provenance.groups_hash == ""
    assert "OS416" in codes(alone)
    assert openset.compare(plain, alone)["recall_known"].remark != UNPAIRED


# ------------------------------------------------------------------ ways to say it


@pytest.mark.parametrize(
    "groups",
    [
        "take",
        "*/",
        "seq*/",
        r"seq(\d+)/",
        r"^(.*?)\d+\.jpg$",
        {k: (k - 1) // 10 for k in range(1, 81)},
    ],
    ids=str,
)
def test_all_ways_to_say_it_draw_the_same(groups):
    shown = videos(4, count=8)
    one, other = evaluated(shown, "take"), evaluated(shown, groups)
    assert other.provenance.counts["groups"] == 8
    assert one.provenance.groups_hash == other.provenance.groups_hash
    for name, numbers in one.replicates.items():
        np.testing.assert_array_equal(numbers, other.replicates[name])


def test_the_order_of_the_file_and_batches_draw_the_same():
    shown = videos(5, count=6)
    whole = evaluated(shown, "take")
    backwards = evaluated(shown.part(shown.images[::-1]), "take")
    stream = openset.Evaluator(groups="take", **FAST)
    for some in (shown.images[25:], shown.images[:25]):  # cuts a video in two
        stream.update(*shown.part(some).tables())
    for other in (backwards, stream.compute()):
        assert other.provenance.groups_hash == whole.provenance.groups_hash
        np.testing.assert_array_equal(other.replicates["a_ose"], whole.replicates["a_ose"])
        np.testing.assert_allclose(
            other.replicates["recall_known"], whole.replicates["recall_known"], rtol=1e-12
        )


def test_a_batch_may_be_one_video():
    shown = videos(5, count=3)
    stream = openset.Evaluator(groups="take", **FAST)
    for video in range(3):
        stream.update(*shown.part(shown.images[10 * video : 10 * video + 10]).tables())
    assert not codes(stream.compute()) & {"OS412", "OS414", "OS416"}
    alone = openset.Evaluator(groups={key: "x" for key in shown.images}, **FAST)
    for video in range(3):
        alone.update(*shown.part(shown.images[10 * video : 10 * video + 10]).tables())
    assert "OS414" in codes(alone.compute())


def test_parts_with_and_without_groups_do_not_merge():
    shown = videos(5, count=2)
    one, other = openset.Evaluator(groups="take", **FAST), openset.Evaluator(**FAST)
    one.update(*shown.part(shown.images[:10]).tables())
    other.update(*shown.part(shown.images[10:]).tables())
    with pytest.raises(UsageError, match="groups"):
        one.merge(other).compute()


@pytest.mark.parametrize("name", ["gt.json", "gt.parquet", "gt.csv"])
def test_files_carry_the_column(name, tmp_path):
    shown = videos(6, count=4)
    truth, found = shown.tables()
    if name == "gt.csv":  # which has a row per box, and keeps columns of boxes
        take = np.asarray(truth.images.attributes["take"])[truth.image]
        truth = replace(truth, attributes={"take": take})
    write(truth, tmp_path / name)
    result = openset.evaluate(tmp_path / name, found, groups="take", **FAST)
    assert result.provenance.counts["groups"] == 4


def test_a_ground_truth_may_state_its_groups():
    truth, found = videos(6, count=4).tables()
    stated = {GROUP: np.asarray(truth.images.attributes["take"])}
    truth = replace(truth, images=replace(truth.images, attributes=stated))
    assert openset.evaluate(truth, found, **FAST).provenance.counts["groups"] == 4


# ------------------------------------------------------------------ what is kept


def test_a_run_keeps_its_groups(tmp_path):
    shown = videos(7, count=30)
    truth, found = shown.tables()
    half = found.select(np.arange(0, len(found), 2))
    run = evaluate_all(truth, {"all": found, "half": half}, groups="*/", **FAST)
    run.save(tmp_path / "run")
    kept = Run.load(tmp_path / "run")
    for name in run.names:
        one, other = run.evaluations[name], kept.evaluations[name]
        assert one.provenance == other.provenance
        assert other.matches.n_units == 30
        np.testing.assert_array_equal(one.matches.groups, other.matches.groups)
        again = replicates(other.matches, [table()["a_ose"]], seed=0)
        np.testing.assert_array_equal(again["a_ose"].value, one.replicates["a_ose"])
    pair = [tmp_path / "run" / f"{name}.result.json" for name in run.names]
    stored = openset.compare(*map(openset.Evaluation.from_json, pair))
    assert stored["unknown_recall"] == openset.compare(*run.evaluations.values())["unknown_recall"]
    assert stored["unknown_recall"].remark == ""
    assert "resampled 30 groups of 300 images" in kept.evaluations["all"].headline()
    assert json.loads(pair[0].read_text())["provenance"]["counts"]["groups"] == 30


def test_other_groups_are_not_compared_in_silence():
    shown = videos(8, count=30)
    plain, by_video = evaluated(shown), evaluated(shown, "take")
    by_pair = evaluated(shown, {key: (key - 1) // 20 for key in shown.images})
    for other in (plain, by_pair):
        with pytest.raises(UsageError, match=r"different groups.*force=True"):
            openset.compare(by_video, other)
        forced = openset.compare(by_video, other, force=True)["recall_known"]
        assert forced.remark in (UNPAIRED, few("groups"))
        assert forced.interval[0] < 0 < forced.interval[1]  # paired, it would be (0, 0)


# ------------------------------------------------------------------ too little to resample


@pytest.mark.parametrize("count", [19, 20])
def test_no_p_below_twenty_groups(count):
    shown = videos(9, count=count)
    fewer = Scene(shown.truth, [d for d in shown.found if d["category_id"] == 1])
    difference = openset.compare(evaluated(shown, "take"), evaluated(fewer, "take", force=True))
    recall = difference["unknown_recall"]
    assert recall.interval is not None
    assert (recall.p is None) == (count < 20)
    assert (recall.remark == few("groups")) == (count < 20)
    assert few("groups").startswith("fewer than 20 groups")


@pytest.mark.parametrize("options", [{"images": 1}, {"images": 8, "groups": "one"}], ids=str)
def test_one_of_what_is_drawn_has_values_and_no_intervals(options):
    shown = scene(1, images=options["images"])
    groups = {key: "x" for key in shown.images} if "groups" in options else None
    result = openset.evaluate(*shown.tables(), known=KNOWN, groups=groups, force=True)
    assert any(value.value is not None for value in result.values.values())
    assert all(value.interval is None for value in result.values.values())
    assert (result.provenance.resamples, result.replicates) == (0, {})
    assert ("OS414" in codes(result)) == (groups is not None)
    fewer = openset.evaluate(shown.truth, shown.found[::2], known=KNOWN, groups=groups, force=True)
    found = openset.compare(result, fewer).differences.values()
    assert not any(d.significant or d.interval for d in found)


def test_a_class_that_half_of_the_resamples_lack():
    """One video has all the dogs: half of the resamples have no recall, and it is said."""
    shown = videos(3, count=30)
    objects = [a for a in shown.truth["annotations"] if a["category_id"] == 2 or a["image_id"] < 11]
    rare = Scene(shown.truth | {"annotations": objects}, shown.found)
    result = evaluated(rare, "take")
    value = result.values["recall_known"]
    assert value.undefined == pytest.approx(0.5)
    assert "no value in up to 50\u00a0% of the resamples" in result.board().text()
    other = evaluated(Scene(rare.truth, rare.found[::2]), "take")
    assert not openset.compare(result, other)["recall_known"].significant


def test_another_number_of_images_is_refused():
    shown = videos(3, count=24)
    part = shown.part(shown.images[:230])
    one, other = evaluated(shown, "take"), evaluated(part, "take")
    with pytest.raises(UsageError, match="different ground truths"):
        openset.compare(one, other)
    forced = openset.compare(one, other, force=True)["recall_known"]
    assert forced.remark == UNPAIRED
    assert not forced.significant


def test_an_image_without_a_group_stands_alone_if_forced():
    shown = videos(3, count=3)
    for image in shown.truth["images"][:2]:
        del image["take"]
    with pytest.raises(InputError) as caught:
        evaluated(shown, "take")
    (finding,) = caught.value.findings
    assert (finding.code, finding.count) == ("OS413", 2)
    result = evaluated(shown, "take", force=True)
    assert result.provenance.counts["groups"] == 5
    (warned,) = (finding for finding in result.findings if finding.code == "OS413")
    assert warned.level is Level.WARNING


@pytest.mark.parametrize("seed", [-1, 1.5, 2.0, "1", True, None])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(UsageError, match="seed"):
        Settings(seed=seed)
    made = Scores([0, 1, 1], [0, 1, 0], [0.1, 0.2, 0.6], [0.9, 0.3], [1, 1], ("cat", "dog"))
    with pytest.raises(UsageError, match="seed"):
        evaluate_recognition(made, seed=seed)


@pytest.mark.parametrize("groups", [3, ["a"], "(a)(b)", "(a", "(?:a)(?:b)"])
def test_groups_that_cannot_be_meant(groups):
    with pytest.raises(UsageError, match="groups"):
        evaluated(videos(0, count=2), groups)


def test_vectors_are_no_groups():
    truth, found = videos(0, count=2).tables()
    images = Images(truth.images.id, attributes={"v": np.zeros((20, 2))})
    with pytest.raises(UsageError, match="vectors"):
        openset.evaluate(replace(truth, images=images), found, groups="v", **FAST)


def test_units_count_groups_by_their_first_image():
    ids = np.array(["c", "a", "d", "b"])
    assert units(ids, np.array(["x", "y", "", "x"])).tolist() == [1, 0, 2, 1]
    assert units(ids, np.array(["p", "q", "r", "p"])).tolist() == [1, 0, 2, 1]
    long = np.array(["x", "y", "", "x"], np.dtypes.StringDType())
    assert units(ids, long).tolist() == [1, 0, 2, 1]
    assert units(ids[:0], ids[:0]).tolist() == []
