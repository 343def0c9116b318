"""SAFE: one weighting of the features, learned from pairs, kept by the loss on held-out images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset import scorers  # noqa: E402
from openset.findings import InputError, UsageError  # noqa: E402
from openset.scorers.safe import classifier, collapsed  # noqa: E402
from openset.tables import Detections  # noqa: E402

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


def test_the_layers_are_one_weighting():
    torch.manual_seed(0)
    network = classifier(WIDTH).eval()
    weight, bias = collapsed(network)
    rows = torch.randn(50, WIDTH)
    assert np.allclose(network(rows)[:, 0].detach(), rows.numpy() @ weight + bias, atol=1e-5)
    assert [tuple(p.shape) for p in network.parameters()] == [
        (8, 16), (8,), (4, 8), (4,), (1, 4), (1,),
    ]  # fmt: skip


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


def test_a_seed_decides_everything_and_torchs_own_is_left_alone():
    torch.manual_seed(3)
    first = fitted().state
    after = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(after, torch.rand(1))
    again, other = fitted().state, fitted(seed=1).state
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
