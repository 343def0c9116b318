"""Evidence of two models for one scorer, in files that say nothing of the model that made them."""

from dataclasses import replace

import numpy as np
import pytest

from openset.formats import write
from openset.scorers._one_layer import of_two_layers
from scenes.scorers import D, scene

turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))


def plain(n, seed=0, **columns):
    """Logits and embeddings alone, as from an export without a last layer."""
    held = replace(scene(n, seed=seed), attributes={}, provenance={})
    return replace(held, **columns)


def turned(found):
    """The same logits from another training's embeddings: the axes of such mean nothing."""
    return replace(found, embedding=(found.embedding @ turn).astype(np.float32))


HALF = {"embedding": np.float16, "logits": np.float16}


def rounded(found):
    return replace(found, **{name: getattr(found, name).astype(to) for name, to in HALF.items()})


TRAIN = plain(400, seed=9)


@pytest.mark.parametrize("flag", ["--fit", "--calibrate"])
@pytest.mark.parametrize("wrong", [True, False])
def test_another_training_without_a_last_layer_is_told_by_its_logits(here, openset, flag, wrong):
    given = {"--fit": plain(400, seed=9), "--calibrate": plain(200, seed=8)}
    if wrong:
        given[flag] = turned(given[flag])
    asked = ["score", "test.parquet", "--scorers", "knn", "-o", "out.parquet"]
    write(plain(200), here / "test.parquet")
    for option, found in given.items():
        write(found, here / f"{option[2:]}.parquet")
        asked += [option, f"{option[2:]}.parquet"]
    done = openset(*asked)
    assert done.code == (2 if wrong else 0) and ("error OS511" in done.err) is wrong, done.err
    forced = openset(*asked, "--force")
    assert forced.code == 0 and ("OS511" in forced.err) is wrong


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (TRAIN, False),
        (rounded(TRAIN), False),
        (TRAIN.select(TRAIN.label == 0), False),  # in few directions
        (replace(TRAIN, logits=TRAIN.logits / 1.7), False),  # another temperature: OS514
        (TRAIN.select(np.arange(2 * D)), False),  # too few rows to tell
        (turned(TRAIN).select(np.arange(2 * D)), False),
        (replace(TRAIN, logits=np.tanh(TRAIN.logits)), False),  # made by no layer
        (replace(TRAIN, logits=TRAIN.logits[:, :3]), False),  # of other classes
        (replace(TRAIN, embedding=None), False),
        (turned(TRAIN), True),
        (rounded(turned(TRAIN)), True),
        (replace(TRAIN, embedding=TRAIN.embedding[:, ::-1]), True),
    ],
)
def test_one_layer_is_told_from_two(one, told):
    assert of_two_layers(plain(300), one) is told
    assert of_two_layers(one, plain(300)) is told
