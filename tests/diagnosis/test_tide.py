"""TIDE: a second implementation on random scenes, and the split (for published numbers: parity)."""

from __future__ import annotations

import numpy as np
import pytest

from openset.diagnosis import _regions
from openset.diagnosis._regions import ANY_CLASS
from openset.diagnosis.tide import ABSENT, CORRECT, ERRORS, tide
from openset.findings import UsageError
from openset.tables.join import join
from scenes.diagnosis import by_hand, random_tables, shuffled
from scenes.golden_diagnosis import DIFFICULT, UNKNOWN
from scenes.tide_by_loops import tide_by_loops

WAYS = [(u, d) for u in UNKNOWN.values() for d in DIFFICULT.values()]


def as_images(truth, detections, vocabulary, unknown, difficult):
    """The scene as lists of dicts, split as `tide` documents it."""
    known = len(vocabulary.known)
    joined = join(truth, detections, vocabulary)
    images = [([], [], []) for _ in range(len(truth.images))]
    for row in range(len(detections)):
        if unknown == "class" or joined.klass[row] < known:
            score, box = detections.score[row], detections.box[row]
            entry = {"klass": int(joined.klass[row]), "score": float(score), "box": box}
            images[joined.image[row]][0].append(entry)
    for row, klass in enumerate(vocabulary.classes(truth.labels)[truth.label].tolist()):
        out = klass == known and unknown != "class"
        flagged = truth.crowd[row] or (truth.difficult[row] and difficult == "ignore")
        if out and unknown == "drop":
            continue
        region = flagged or out
        entry = {"klass": ANY_CLASS if out else klass, "box": truth.box[row]}
        images[truth.image[row]][2 if region else 1].append(entry)
    return images


@pytest.mark.parametrize(("unknown", "difficult"), WAYS)
@pytest.mark.parametrize("seed", range(12))
def test_second_implementation(seed, unknown, difficult):
    scene = random_tables(seed, crowded=seed % 4 == 0)
    found = tide(*scene, unknown=unknown, difficult=difficult)
    want = tide_by_loops(as_images(*scene, unknown, difficult))
    assert dict(found.counts) == want["counts"]
    assert found.ap == pytest.approx(want["ap"], abs=1e-12)
    assert dict(found.main) == pytest.approx(want["main"], abs=1e-12)
    assert dict(found.special) == pytest.approx(want["special"], abs=1e-12)


@pytest.mark.parametrize("iou", [0.3, 0.75])
def test_other_thresholds(iou):
    scene = random_tables(3)
    found = tide(*scene, iou=iou, background=0.2)
    want = tide_by_loops(as_images(*scene, "class", "ignore"), iou, 0.2)
    assert dict(found.counts) == want["counts"]
    assert dict(found.main) == pytest.approx(want["main"], abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_every_detection_is_right_or_one_error(seed):
    found = tide(*random_tables(seed, crowded=seed == 0))
    taking = found.kind[found.kind != ABSENT]
    assert found.correct + sum(found.counts.values()) - found.counts["Miss"] == len(taking)
    assert found.correct == np.count_nonzero(taking == CORRECT)
    for code, name in enumerate(ERRORS[:-1]):
        assert found.counts[name] == np.count_nonzero(taking == code)
    assert found.counts["Miss"] == len(found.missed)
    assert sum(found.split.values()) == found.counts["Cls"]


def test_best_hundred_of_an_image():
    truth, detections, vocabulary = random_tables(0, crowded=True)
    found = tide(truth, detections, vocabulary)
    per_image = np.bincount(detections.image[found.kind != ABSENT])
    assert per_image.max() == 100


def test_by_hand():
    found = tide(*by_hand())
    kinds = ["?" if k < 0 else ERRORS[k] for k in found.kind.tolist()]
    correct = [0, 4, 9]
    assert [row for row, kind in enumerate(kinds) if kind == "?"] == correct
    assert kinds[1] == "Dupe" and kinds[10] == "Bkg" and kinds[11] == "Bkg"
    assert found.split == {
        "known as other known": 2,
        "unknown as known": 3,
        "known as unknown": 1,
    }
    assert found.counts["Miss"] == 0  # the zebra and the boat would be repaired
    assert tide(*by_hand(), unknown="drop").counts["Cls"] == 2
    assert "unknown as known" in str(found)


def test_regions_of_unknown_objects_let_detections_go():
    ignored = tide(*by_hand(), unknown="ignore")
    dropped = tide(*by_hand(), unknown="drop")
    assert ignored.counts == dropped.counts  # published: what is let go is still listed
    assert ignored.ap > dropped.ap
    assert ignored.split == {}


@pytest.mark.parametrize(("unknown", "difficult"), WAYS)
def test_order_of_the_input_does_not_matter(unknown, difficult):
    truth, detections, vocabulary = random_tables(5)
    # Distinct scores: among equal ones the order given decides, as published.
    scores = np.random.default_rng(1).permutation(len(detections)) / len(detections)
    object.__setattr__(detections, "score", scores)
    want = tide(truth, detections, vocabulary, unknown=unknown, difficult=difficult)
    moved = shuffled(truth, detections)
    found = tide(*moved, vocabulary, unknown=unknown, difficult=difficult)
    assert found.ap == pytest.approx(want.ap, abs=1e-12)
    assert found.counts == want.counts
    assert dict(found.main) == pytest.approx(dict(want.main), abs=1e-12)


def test_blocks_of_pairs_do_not_change_the_regions(monkeypatch):
    scene = random_tables(7)
    want = tide(*scene, unknown="ignore")
    monkeypatch.setattr(_regions, "BLOCK", 5)
    assert tide(*scene, unknown="ignore").main == want.main


def test_empty_tables():
    truth, detections, vocabulary = by_hand()
    nothing = detections.select(np.empty(0, np.int64))
    found = tide(truth, nothing, vocabulary)
    assert found.ap == 0 and found.counts["Miss"] == len(truth)
    bare = truth.select(np.empty(0, np.int64))
    assert tide(bare, detections, vocabulary).counts["Bkg"] == len(detections)


def test_refuses_other_ways():
    with pytest.raises(UsageError, match="unknown must be one of"):
        tide(*by_hand(), unknown="region")
