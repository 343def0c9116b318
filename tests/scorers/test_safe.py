"""SAFE: one weighting of the features, learned from pairs, kept by the loss on held-out images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset import scorers
from openset.findings import InputError, UsageError
from openset.scorers.safe import Classifier, cross_entropy
from openset.tables import Detections

WIDTH = 16


def pairs(n=300, *, step=1.0, seed=0, images=60):
    """Features, and what they are on changed pictures: `step` further along one direction."""
    chance = np.random.default_rng(seed)
    clean = chance.normal(size=(n, WIDTH)).astype(np.float32)
    away = np.zeros(WIDTH, np.float32)
    away[:4] = step
    columns = {"shortcut": clean, "shortcut_attacked": clean + away}
    box = np.tile([0.0, 0, 9, 9], (n, 1))
    found = Detections(np.arange(n) % images, np.zeros(n, int), box, np.ones(n), ("dog",),
                       attributes=columns)  # fmt: skip
    return scorers.of_split(found, "train")


def fitted(train=None, **options):
    chosen = {"epochs": 20, "images": 4, "lr": 0.01, **options}
    return scorers.find("safe").fit(pairs() if train is None else train, **chosen)


def network(width=WIDTH):
    return Classifier.drawn(width, np.random.default_rng(0))


def answers(made, rows, kept=1.0):
    w1, b1, w2, b2, w3, b3 = made.layers
    return ((((rows @ w1.T + b1) @ w2.T + b2) * kept) @ w3.T + b3)[:, 0]


def test_the_layers_are_one_weighting():
    made, rows = network(), np.random.default_rng(1).normal(size=(50, WIDTH)).astype(np.float32)
    weight, bias = made.collapsed()
    assert np.allclose(answers(made, rows), rows @ weight + bias, atol=1e-5)
    assert [part.shape for part in made.layers] == [(8, 16), (8,), (4, 8), (4,), (1, 4), (1,)]


def test_slopes_are_those_of_the_loss():
    chance, made = np.random.default_rng(2), network(6)
    made.layers = [part.astype(np.float64) for part in made.layers]
    rows, truth = chance.normal(size=(9, 6)), chance.integers(0, 2, 9).astype(np.float32)
    kept = 2.0 * chance.integers(0, 2, (9, len(made.layers[3])))
    loss, slopes = made.slopes(rows, truth, kept)
    assert loss == pytest.approx(cross_entropy(answers(made, rows, kept), truth))
    for part, slope in zip(made.layers, slopes, strict=True):
        for at in np.ndindex(part.shape):
            held = part[at]
            part[at] = held + 1e-5
            more = made.slopes(rows, truth, kept)[0]
            part[at] = held
            assert (more - loss) / 1e-5 == pytest.approx(slope[at], abs=1e-3)


def test_changed_pictures_are_told_and_what_moves_further_scores_more():
    learned = fitted()
    assert learned.state.accuracy > 0.7
    means = [learned.score(shifted(step)).mean() for step in (0.0, 0.5, 1.0, 2.0)]
    assert means == sorted(means) and means[-1] > means[0] + 0.3


def shifted(step):
    found = pairs(seed=5, step=step)
    return replace(found, attributes={"shortcut": found.attributes["shortcut_attacked"]})


def test_pictures_that_did_not_change_cannot_be_told():
    assert fitted(pairs(step=0.0)).state.accuracy == pytest.approx(0.5, abs=0.1)


def test_a_seed_decides_everything():
    first, again, other = fitted().state, fitted().state, fitted(seed=1).state
    assert np.array_equal(first.weight, again.weight) and first.bias == again.bias
    assert not np.array_equal(first.weight, other.weight)


def test_the_mean_is_that_of_pictures_as_they_are():
    train = pairs()
    state = fitted(train).state
    assert np.allclose(state.mean, train.attributes["shortcut"].mean(axis=0), atol=0.15)


def test_the_best_epoch_is_kept_unless_as_published():
    few = pairs(20, images=10)  # learned by heart, so that others get worse
    more = {"lr": 0.05, "epochs": 40}
    best, last = (fitted(few, checkpoint=c, **more).state for c in ("best", "published"))
    assert not np.array_equal(best.weight, last.weight)
    assert np.abs(last.weight).sum() > np.abs(best.weight).sum()  # it was trained for longer


def test_a_classifier_that_diverges_is_refused():
    with pytest.raises(InputError, match=r"OS657[\s\S]*lr"):
        fitted(lr=1e6)


def test_saved_it_scores_the_same(tmp_path):
    learned = fitted()
    learned.save(tmp_path / "safe.npz")
    again = scorers.load(tmp_path / "safe.npz")
    assert np.array_equal(again.score(pairs(seed=2)), learned.score(pairs(seed=2)))


def test_what_it_cannot_learn_from_is_refused():
    with pytest.raises(InputError, match=r"OS504.*on 1"):
        fitted(pairs(images=1))
    with pytest.raises(InputError, match=r"OS501[\s\S]*openset attack"):
        fitted(replace(pairs(), attributes={"shortcut": np.ones((300, 4), np.float32)}))
    with pytest.raises(UsageError, match="at least 1"):
        fitted(epochs=0)
    wide = {**pairs().attributes, "shortcut_attacked": np.ones((300, 4), np.float32)}
    with pytest.raises(InputError, match=r"OS503.*16 columns"):
        fitted(replace(pairs(), attributes=wide))
