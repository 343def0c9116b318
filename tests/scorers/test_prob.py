"""PROB as a scorer: near the middle of all, and of no known class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset import scorers
from openset.findings import InputError, UsageError
from openset.tables import LogitLayout
from scenes import scorers as scenes

SIGMOID = LogitLayout.SIGMOID


def fitted(train=None, **options):
    train = scenes.scene(400, layout=SIGMOID) if train is None else train
    return scorers.find("prob").fit(train, **{"activation": "sigmoid", **options})


def test_it_is_the_published_product_without_the_published_training():
    train, test = (scenes.scene(n, seed=s, layout=SIGMOID) for n, s in ((400, 0), (50, 3)))
    rows, alive = train.embedding.astype(float), train.embedding.var(0) > 0
    assert 0 < alive.sum() < len(alive)  # some units never fire, and count for nothing
    apart = ((test.embedding - rows.mean(0)) / np.where(alive, rows.std(0), np.inf)) ** 2
    objectness = np.exp(-1.3 / alive.sum() * apart.sum(1))
    best = (1 / (1 + np.exp(-test.logits.astype(float)))).max(1)
    assert fitted(train).score(test) == pytest.approx(objectness * (1 - best), rel=1e-6)


def test_far_from_everything_is_no_object():
    test = scenes.scene(20, seed=3, layout=SIGMOID)
    far = replace(test, embedding=test.embedding + 50)
    assert (fitted().score(far) < fitted().score(test)).all()


def test_softmax_detectors_keep_their_background():
    train = scenes.scene(400)
    found = scorers.find("prob").fit(train).score(scenes.scene(30, seed=2))
    assert ((found >= 0) & (found <= 1)).all()


def test_saved_it_scores_the_same(tmp_path):
    fitted().save(tmp_path / "prob.npz")
    test = scenes.scene(20, seed=3, layout=SIGMOID)
    assert np.array_equal(scorers.load(tmp_path / "prob.npz").score(test), fitted().score(test))


def test_what_it_cannot_learn_from_is_refused():
    train = scenes.scene(40, layout=SIGMOID)
    with pytest.raises(InputError, match="OS504"):
        fitted(replace(train, embedding=np.ones_like(train.embedding)))
    with pytest.raises(UsageError, match="temperature must be positive"):
        fitted(temperature=0.0)
    with pytest.raises(UsageError, match="activation"):
        fitted(activation=None)
