"""The numbers on the page of the digits world: known against unknown boxes, resampled by image."""

from __future__ import annotations

from dataclasses import replace

import digits_page as page
import numpy as np
import pytest

from openset.examples import DIGITS, DIGITS_TRUTH
from openset.formats import read_annotations, read_detections


@pytest.fixture(scope="module")
def boxes():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 400)  # known, unknown, on nothing
    unknownness = (rng.normal(size=400) + (kind == 1)).round(1)  # with ties
    return unknownness, kind == 0, kind == 1, rng.integers(0, 20, 400).astype(np.int32)


def test_auroc_is_scikit_learns(boxes):
    from sklearn.metrics import roc_auc_score

    unknownness, known, unknown, image = boxes
    drawn = np.random.default_rng(1).integers(0, 3, 20).astype(float)
    weights = np.stack([np.ones(20), drawn], axis=1)
    auroc, _ = page.separation(unknownness, known, unknown, image, weights)
    rows = known | unknown
    for column, value in enumerate(auroc):
        again = roc_auc_score(
            unknown[rows], unknownness[rows], sample_weight=weights[image[rows], column]
        )
        assert value == pytest.approx(again, abs=1e-12)


def test_fpr95_accepts_at_least_95_percent_of_the_known(boxes):
    unknownness, known, unknown, image = boxes
    _, fpr = page.separation(unknownness, known, unknown, image, np.ones((20, 1)))
    shares = {
        t: (np.mean(unknownness[known] <= t), np.mean(unknownness[unknown] <= t))
        for t in np.unique(unknownness)
    }
    assert fpr == min(accepted for right, accepted in shares.values() if right >= 0.95)


def row(name, *auroc, ledger=""):
    """A scorer whose trainings have these AUROCs."""
    drawn = np.random.default_rng(list(name.encode())).normal(size=100) * 0.01
    return page.Row(name, np.array([[x, *(x + drawn)] for x in auroc]), 0.5, {}, ledger)


def test_what_is_significant_and_what_is_chance_is_said():
    baseline = row("msp", 0.8)
    rows = [row("knn", 0.9), baseline, row("vim", 0.7), row("lard", 0.5)]
    words = page.sentences(rows)
    assert "better than MSP: knn." in words
    assert "worse: vim, lard." in words
    assert "better than chance: lard." in words


def test_trainings_widen_intervals_and_are_paired():
    seeds = (0.70, 0.80, 0.90)
    baseline = row("msp", *seeds)
    constant = replace(baseline, scorer="knn", auroc=baseline.auroc + 0.05)
    erratic = row("vim", 0.90, 0.80, 0.85)
    assert constant.mean == pytest.approx(0.85)
    single = row("knn", 0.85)
    assert constant.ends[0] < single.ends[0] < single.ends[1] < constant.ends[1]
    assert constant.gain(baseline).p is None  # neither images nor trainings differ in it
    assert erratic.gain(baseline).value == pytest.approx(0.05)
    assert erratic.gain(baseline).ends[0] < 0
    assert "better than MSP: none" in page.sentences([erratic, baseline])
    assert "with 3 seeds" in page.what_intervals_hold([3, 3])
    assert "one training" in page.what_intervals_hold([1, 1])
    mixed = page.what_intervals_hold([3, 1])
    assert "several seeds" in mixed and "trained once" in mixed


def test_stars_are_corrected_for_the_table():
    rng, base = np.random.default_rng(4), row("msp", 0.8)
    noise = np.append(0.0, rng.normal(size=100))
    shaky = replace(base, scorer="knn", auroc=base.auroc + 0.021 + 0.01 * noise)
    assert page.gains_of([base, shaky])["knn"].star
    none = base.auroc + 0.01 * (noise - noise.mean())
    many = [replace(base, scorer=f"knn{at}", auroc=none) for at in range(20)]
    assert not any(gain.star for gain in page.gains_of([base, shaky, *many]).values())


def test_ledgers_that_are_alike_share_a_line():
    rows = [row(name, 0.8, ledger=f"{name} fitted on train") for name in ("knn", "vim")]
    rows.append(row("msp", 0.8, ledger="nothing was fitted"))
    assert page.ledger_lines(rows).splitlines()[2:] == [
        "- knn, vim: fitted on train",
        "- msp: nothing was fitted",
    ]


def test_every_scorer_is_measured_on_every_training():
    """Two detectors of the embedded example stand for two trainings of one."""
    truth = read_annotations(DIGITS_TRUTH)
    found = []
    for name in ("fcos", "retinanet"):
        held = read_detections(DIGITS / f"{name}.parquet")
        kept = replace(held, unknownness=None, attributes={}, provenance={})
        named = kept.select(kept.label != kept.labels.index("unknown"))  # before any threshold
        found.append(replace(named, labels=named.labels[:-1]))
    truths = dict.fromkeys(page.SPLITS, truth)
    trained = [dict.fromkeys(page.SPLITS, one) for one in found]
    rows = {row.scorer: row for row in page.rows_of(truths, trained)}
    alone = [{row.scorer: row for row in page.rows_of(truths, [one])} for one in trained]
    assert {"msp", "energy", "entropy"} <= set(rows)
    for name, row in rows.items():
        assert row.auroc.shape == (2, 1001)
        each = [one[name] for one in alone]
        assert row.auroc[:, 0].tolist() == [one.mean for one in each]
        assert row.fpr == pytest.approx(np.mean([one.fpr for one in each]))
    recalls = [float(one["msp"].values["unknown_recall"].split()[0]) for one in alone]
    assert float(rows["msp"].values["unknown_recall"].split()[0]) == pytest.approx(
        np.mean(recalls), abs=0.011
    )
    assert set(page.closed_set(truths, trained)) == {"val", "test"}
    assert "| msp |" in page.table_of(list(rows.values()))
