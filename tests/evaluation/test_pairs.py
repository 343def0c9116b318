"""Two sets: each number of the set it is of, the same as of that set alone."""

from __future__ import annotations

import numpy as np
import pytest

import openset
from openset.evaluation.run import Run, evaluate_all
from openset.findings import InputError, UsageError
from openset.metrics import table
from openset.tables.sets import Pair
from scenes.mistakes import IDS, KNOWN, good
from scenes.sets import sets

PLAIN = {"intervals": False}


def both(here, **options):
    return openset.evaluate(here.truth(), here.found(), **PLAIN | options)


@pytest.mark.parametrize("colliding", [False, True])
@pytest.mark.parametrize("protocol", ["default", "fmiyc"])
def test_a_number_of_one_set_is_that_of_the_set_alone(colliding, protocol):
    here = sets(colliding=colliding)
    pair = both(here, protocol=protocol)
    alone = {
        "id": openset.evaluate(here.id.truth, here.id.found, protocol=protocol, **PLAIN),
        "ood": openset.evaluate(here.ood.truth, here.ood.found, protocol=protocol, **PLAIN),
    }
    told = [metric for metric in table().values() if metric.of in alone]
    assert {metric.of for metric in told} == set(alone)
    for metric in told:
        assert pair.value(metric.name) == alone[metric.of].value(metric.name).with_params(
            set=metric.of
        ), metric.name
    assert pair.value("unknown_precision") != alone["id"].value("unknown_precision")


def test_auroc_compares_the_detections_of_both_sets():
    here = sets(colliding=True)
    known, unknown = ([d["unknownness"] for d in s.found] for s in (here.id, here.ood))
    wins = np.subtract.outer(unknown, known)
    value = ((wins > 0) + (wins == 0) / 2).mean()
    assert both(here).value("auroc").value == pytest.approx(value)


def test_an_id_image_without_object_is_not_wild():
    here = sets()
    empty = {i for i in here.id.images} - {a["image_id"] for a in here.id.truth["annotations"]}
    assert empty & {d["image_id"] for d in here.id.found}
    result = both(here)
    assert result.provenance.counts["wild_images"] == len(here.ood.images)
    assert result.value("auroc").parts["wild"] == len(here.ood.found)


def test_silent_images_of_each_set():
    here = sets()
    result = both(here, minimum_score=0.5)
    for name, one in (("id", here.id), ("ood", here.ood)):
        loud = {d["image_id"] for d in one.found if d["score"] >= 0.5}
        value = result.value(f"images_without_predictions@{name}")
        assert value.value == pytest.approx(1 - len(loud) / len(one.images))
    assert "images_without_predictions" not in result.values


def test_a_metric_of_the_other_set_can_be_asked_for():
    here = sets()
    result = both(here, metrics=["unknown_precision@id", "detections_per_image@ood"])
    alone = openset.evaluate(here.id.truth, here.id.found, **PLAIN)
    assert result.value("unknown_precision@id").value == alone.value("unknown_precision").value
    assert result.value("detections_per_image@ood").value == len(here.ood.found) / len(
        here.ood.images
    )


def test_one_file_may_hold_both_sets():
    here = sets()
    one = openset.evaluate(here.truth(), here.id.found + here.ood.found, **PLAIN)
    assert one.flat() == both(here).flat()
    with pytest.raises(InputError, match=r"OS440(.|\n)*ID_FILE\+OOD_FILE"):
        clash = sets(colliding=True)
        openset.evaluate(clash.truth(), clash.id.found + clash.ood.found, **PLAIN)


def test_detections_of_one_set_alone_give_no_ap_of_zero():
    here = sets()
    with pytest.raises(InputError, match=r"OS402(.|\n)*of the ID set(.|\n)*ID_FILE\+OOD_FILE"):
        openset.evaluate(here.truth(), here.ood.found, **PLAIN)
    silent = openset.evaluate(here.truth(), here.id.found, **PLAIN)
    (finding,) = [one for one in silent.findings if one.code == "OS402"]
    assert (finding.level, "of the OOD set" in finding.message) == ("warning", True)


def test_intervals_of_a_set_are_from_its_own_images():
    here = sets(images=60)
    result = both(here, intervals=True, metrics=["ap_known", "nose", "auroc"])
    for name in ("ap_known", "nose", "auroc"):
        low, high = result.value(name).interval
        assert low < result.value(name).value < high


def test_a_run_of_two_sets_is_kept_whole(tmp_path):
    here = sets()
    run = evaluate_all(here.truth(), {"one": here.found()}, intervals=False)
    again = Run.load(run.save(tmp_path / "run"))
    old, new = run.evaluations["one"], again.evaluations["one"]
    assert new.flat() == old.flat()
    assert new.matches.ood.tolist() == old.matches.ood.tolist()
    assert new.value("ap_unknown", iou=0.5) == old.value("ap_unknown", iou=0.5)
    assert "images without predictions, OOD" in again.board().text()


def test_two_files_need_two_ground_truths():
    here = sets()
    with pytest.raises(UsageError, match="--id"):
        openset.evaluate(here.ood.truth, here.found(), **PLAIN)


def test_the_best_score_is_of_the_id_set():
    here = sets(images=40)
    found = [d | {"score": d["score"] / 2} for d in here.id.found]
    pair = Pair(found, here.ood.found)
    alone = openset.evaluate(here.id.truth, found, **PLAIN).value("best_threshold").value
    result = openset.evaluate(here.truth(), pair, minimum_score="best", **PLAIN)
    left = sum(d["score"] >= alone for d in (*found, *here.ood.found))
    assert 0 < left < len(found) + len(here.ood.found)
    assert result.provenance.counts["detections"] == left
    fixed = openset.evaluate(here.truth(), pair, minimum_score=alone, **PLAIN)
    assert fixed.flat() == result.flat()
    voc = openset.evaluate(here.truth(), pair, minimum_score="best", protocol="fmiyc", **PLAIN)
    assert voc.provenance.counts["detections"] == left


def test_there_may_be_no_best_score():
    here = sets()
    with pytest.raises(InputError, match="OS445"):
        openset.evaluate(here.ood.truth, here.ood.found, minimum_score="best", **PLAIN)
    with pytest.raises(UsageError, match="at once"):
        openset.Evaluator(minimum_score="best").update(here.id.truth, here.id.found)


MANY = sets(images=240)


def at_least(found, score):
    return [one for one in found if one["score"] >= score]


@pytest.mark.parametrize("which", ["id", "ood"])
def test_sets_that_were_cut_at_different_scores_are_said_and_the_fix_helps(which):
    id_, ood = MANY.id.found, MANY.ood.found
    cut = Pair(at_least(id_, 0.4), ood) if which == "id" else Pair(id_, at_least(ood, 0.4))
    found = openset.evaluate(MANY.truth(), cut, **PLAIN).findings
    (said,) = [one for one in found if one.code == "OS463"]
    lowest = min(one["score"] for one in (cut.id if which == "id" else cut.ood))
    assert f"of the {which.upper()} set begin at a score of {lowest:g}" in said.message
    least = float(said.fix.partition("minimum_score=")[2].partition(" ")[0])
    assert least == lowest
    mended = openset.evaluate(MANY.truth(), cut, minimum_score=least, **PLAIN).findings
    assert "OS463" not in {one.code for one in mended}


@pytest.mark.parametrize(("images", "told"), [(12, True), (4, False)])
def test_a_cut_that_leaves_few_of_an_ood_set_is_told_by_what_lacks_below(images, told):
    """A dozen detections, on as many images, of a detector that has boxes below on every other."""
    low = [
        one | {"score": score, "bbox": [5 + 9 * score, 5, 9, 9]}
        for one in {row["image_id"]: row for row in MANY.id.found}.values()
        for score in np.linspace(0.05, 0.2, 12).tolist()
    ]
    sure = [*{row["image_id"]: row for row in at_least(MANY.ood.found, 0.4)}.values()]
    kept = [sure[at] for at in np.linspace(0, len(sure) - 1, images).astype(int)]
    cut = Pair([*MANY.id.found, *low], kept)
    codes = {one.code for one in openset.evaluate(MANY.truth(), cut, **PLAIN).findings}
    assert ("OS463" in codes) is told
    both = Pair(cut.id, [*kept, kept[0] | {"score": 0.06, "bbox": [1, 2, 9, 9]}])
    codes = {one.code for one in openset.evaluate(MANY.truth(), both, **PLAIN).findings}
    assert "OS463" not in codes


@pytest.mark.parametrize("score", [0.0, 0.05, 0.4, 0.8])
@pytest.mark.parametrize("images", [12, 240])
def test_sets_of_one_cut_are_not_accused(score, images):
    here = sets(images=images)
    alike = Pair(*(at_least(one.found, score) for one in (here.id, here.ood)))
    codes = {one.code for one in openset.evaluate(here.truth(), alike, **PLAIN).findings}
    assert "OS463" not in codes


@pytest.mark.parametrize("exchanged", [False, True])
def test_files_of_the_two_sets_in_the_wrong_order_are_told(exchanged):
    """Where images of both sets are called 1, 2, 3 ..., boxes of either join the other."""
    id_, ood = parts(good(80))
    truth, found = (Pair(*(one[at] for one in (id_, ood))) for at in (0, 1))
    if not exchanged:
        result = openset.evaluate(truth, found, known=[*KNOWN], **PLAIN)
        assert "OS423" not in {one.code for one in result.findings}
        return
    with pytest.raises(InputError, match=r"OS423(.|\n)*exchanged(.|\n)*the order ID\+OOD"):
        openset.evaluate(truth, Pair(found.ood, found.id), known=[*KNOWN], **PLAIN)


def test_files_in_the_wrong_order_are_not_said_to_end_early():
    """The smaller set has lower numbers alone: its boxes end before the images of the other."""
    (truth, found), (strange, other) = parts(good(240))
    small = {one["id"] for one in strange["images"][:20]}
    images = [one for one in strange["images"] if one["id"] in small]
    objects = [one for one in strange["annotations"] if one["image_id"] in small]
    sets_ = Pair(truth, strange | {"images": images, "annotations": objects})
    sure = [one for one in other if one["image_id"] in small]
    wrong = Pair(
        *([one for one in held if one["category_id"] in IDS[:5]] for held in (sure, found))
    )
    with pytest.raises(InputError) as caught:
        openset.evaluate(sets_, wrong, known=[*KNOWN], **PLAIN)
    codes = {one.code for one in caught.value.findings}
    assert "OS423" in codes and "OS426" not in codes


def parts(world):
    """Every second image as an ID set, the others as an OOD set, each numbered from 1."""
    made = []
    for first, unknown in ((0, False), (1, True)):
        new = {one["id"]: at for at, one in enumerate(world.gt["images"][first::2], 1)}
        images = [one | {"id": new[one["id"]]} for one in world.gt["images"][first::2]]
        objects, found = (
            [one | {"image_id": new[one["image_id"]]} for one in records if one["image_id"] in new]
            for records in (world.gt["annotations"], world.dt)
        )
        kept = [one for one in objects if (one["category_id"] not in IDS[:5]) == unknown]
        made.append((world.gt | {"images": images, "annotations": kept}, found))
    return made
