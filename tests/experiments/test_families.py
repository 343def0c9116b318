"""Scorer families on photographs: two sets, tiers, t*, tails, means and differences."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")

import families
from families import DETECTORS, OTHERS, PAPERS, Measured, Method, Number, Photographs
from record import Recorder

from openset.formats import write
from openset.metrics import table
from openset.papers import Column, Estimate, read_run
from openset.tables import Annotations
from openset.tables.annotations import Images

KNOWN, TIER = 40, 12  # pictures
SHOWN = {
    "auroc": Column("AUROC", "%"),
    "unknown_recall": Column("R_U", "%"),
    "nose": Column("nOSE", "%"),
}
TIERS = ("near", "far", "farther")


@pytest.fixture
def photos(tmp_path) -> Photographs:
    """A picture has one box on its one object; half of those of the farther tier are below t*."""
    names = [f"{at:06}.webp" for at in range(KNOWN)]
    names += [f"{at:012}.jpg" for at in range(100, 100 + 3 * TIER)]
    tier = np.repeat(["", *TIERS], [KNOWN, TIER, TIER, TIER])
    (tmp_path / "found").mkdir()
    for name in DETECTORS:
        for seed in range(2):
            found(tmp_path / "found" / f"{name}-{seed}", tier, names, name, seed)
    ids, side = np.array([name.partition(".")[0] for name in names]), np.full(len(names), 64.0)
    truth = Annotations(
        images=Images(ids, np.array([f"images/{name}" for name in names]), side, side),
        labels=("person", "dog", "zebra"),
        role=("known", "known", "unknown"),
        image=np.arange(len(names)),
        label=np.where(tier == "", np.arange(len(names)) % 2, 2),
        box=np.tile([4.0, 4.0, 20.0, 20.0], (len(names), 1)),
    )
    write(truth, tmp_path / "test.json")
    return Photographs.of(truth, tiered(names[KNOWN:], tier[KNOWN:]), tmp_path / "found")


def tiered(names, tier) -> Annotations:
    """The OOD set as it is built: other ids, other sizes, a column."""
    count = len(names)
    images = Images(
        np.arange(count), np.array(names), *np.full((2, count), 640.0), attributes={"tier": tier}
    )
    nothing = np.zeros(0, np.int64)
    return Annotations(
        images=images, labels=("zebra",), image=nothing, label=nothing, box=np.zeros((0, 4))
    )


def found(stem, tier, names, method, seed):
    """Unknownness is 1 on near and far pictures and below on others, but for kNN: it is inverse."""
    chance = np.random.default_rng(seed)
    count, ood = len(names), tier != ""
    silent = (tier == "farther") & (np.arange(count) % 2 == 0)
    sure = np.where(silent, 0.01, 0.9 + 0.01 * seed)
    right = ood + chance.uniform(0, 0.5, count)
    scores = {f"scorer.{name}": right for name in (*PAPERS, *OTHERS, "siren_knn")}
    scores["scorer.knn"] = -right
    np.savez(
        stem.with_suffix(".npz"),
        image=np.array([name.partition(".")[0] for name in names]),
        label=np.where(ood, 0, np.arange(count) % 2).astype(np.int16),
        box=np.tile([16, 16, 80, 80], (count, 1)).astype(np.int16),
        score=sure.astype(np.float32),
        **scores,
    )
    stem.with_suffix(".json").write_text(json.dumps({"labels": ["person", "dog"]}))


def test_sets_are_told_by_name_and_tier(photos):
    assert len(photos.known.images) == KNOWN and len(photos.ood.images) == 3 * TIER
    assert tuple(photos.tiers) == TIERS
    assert photos.tiers["far"].images.id[0] == f"{100 + TIER:012}"


def test_boxes_count_from_the_best_threshold_on(photos):
    one, other = photos.called([Method("base")])[str(Method("base"))]
    assert len(one) == len(other) == KNOWN + 2 * TIER + TIER // 2
    assert np.isin(one.image, photos.tiers["farther"].images.id).sum() == TIER // 2


def test_one_box_in_twenty_of_the_id_set_is_called_unknown(photos):
    one, _ = photos.called([Method("base", "gen")])[str(Method("base", "gen"))]
    unknown = one.label == one.labels.index("unknown")
    known = np.isin(one.image, photos.known.images.id)
    assert unknown[known].sum() == KNOWN // 20
    assert unknown[~known].all()


def test_run_files(photos, tmp_path):
    to = Recorder(tmp_path, tmp_path, tmp_path)
    measured = Measured(to, photos, SHOWN)
    measured.precision()
    measured.silence()
    measured.of_families("separation", ["auroc", "nose"])
    measured.of_scorers()
    measured.of_table_4()
    measured.between_tiers()
    measured.between_families()
    measured.between_methods()
    held = {path.stem: read_run(path) for path in tmp_path.glob("*.json") if path.stem != "test"}
    assert held["precision"].cell("OpenDet", "mAP").value == pytest.approx(1)
    assert held["silent-photographs"].cell("Faster R-CNN", "farther").value == 0.5
    assert held["silent-photographs"].cell("Faster R-CNN", "OOD set").value == pytest.approx(
        1 / 6, abs=1e-5
    )
    assert held["scorers"].cell("ReAct / near", "AUROC").value == 1
    assert held["scorers"].cell("kNN / near", "AUROC").value == 0
    assert held["scorers"].cell("GEN / farther", "R_U").value == 0.5
    # The mean over kNN, which is always wrong, and two that are always right.
    assert held["separation"].cell("features / near", "AUROC").value == pytest.approx(
        2 / 3, abs=1e-5
    )
    assert held["separation"].cell("mixed / near", "AUROC").value == 1
    assert held["between-families"].cell("features less output / near", "AUROC").value < 0
    assert held["between-methods"].cell("GEN less kNN / far", "AUROC").value == 1
    assert held["methods"].cell("OpenDet / near", "AUROC") is None
    assert held["methods"].cell("OpenDet / near", "nOSE").value == 1
    assert any("`fmiyc`" in note for note in held["scorers"].notes)
    assert any("OpenDet CWA twice" in note for note in held["methods"].notes)
    assert set(held["scorers"].inputs) >= {"$FOUND/base-0.npz", "$FOUND/opendet-1.npz"}


def of(runs, drawn) -> Number:
    return Number(table()["auroc"], np.array(runs, float), np.array(drawn, float))


def test_trainings_widen_an_interval():
    drawn = np.random.default_rng(0).normal(0.5, 0.01, 1000)
    calm, shaken = (families.estimate(of(runs, drawn)) for runs in ([0.5, 0.5], [0.4, 0.6]))
    assert isinstance(calm, Estimate) and isinstance(shaken, Estimate)
    assert shaken.high - shaken.low > 5 * (calm.high - calm.low)


def test_what_both_share_is_not_in_a_difference():
    drawn = np.random.default_rng(0).normal(0.5, 0.1, 1000)
    one, other = of([0.5, 0.6], drawn), of([0.3, 0.4], drawn - 0.2)
    paired = families.difference(families.minus(one, other, same_images=True))
    apart = families.difference(families.minus(one, other, same_images=False))
    assert paired == Estimate(0.2, 0.2, 0.2) or paired.high - paired.low < 1e-6
    assert apart.high - apart.low > 0.4
    alone = families.less(one, other)
    assert alone.high - alone.low > 0.3  # trainings of two detectors have nothing in common


def test_a_mean_without_a_value_is_none():
    one = of([0.5], [0.5] * 10)
    assert (
        families.mean([one, None]) is None and families.minus(one, None, same_images=True) is None
    )
    assert families.mean([one, of([0.7], [0.9] * 10)]).value == pytest.approx(0.6)


def test_a_detector_that_was_not_trained_has_no_row(photos, tmp_path):
    for path in (tmp_path / "found").glob("opendet_cwa-*"):
        path.unlink()
    (tmp_path / "found" / "siren-1.npz").unlink()
    measured = Measured(Recorder(tmp_path, tmp_path, tmp_path), photos, SHOWN)
    measured.of_table_4()
    measured.between_methods()
    made, apart = (read_run(tmp_path / f"{name}.json") for name in ("methods", "between-methods"))
    trained, _, lacking = made.notes[-2].partition(" Not trained: ")
    assert "SIREN once" in trained and "CWA" not in trained
    assert "photographs.py train --work PHOTOS --method opendet_cwa --seed 0`" in lacking
    assert not any("CWA" in run.key(row) for run in (made, apart) for row in run.rows)
