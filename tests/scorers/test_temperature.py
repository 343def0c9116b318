"""Logits on another scale than those that a threshold was set on, and embeddings of other rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset import scorers
from openset.findings import InputError
from openset.scorers import other_model, other_temperature
from openset.tables import Detections, Head
from openset.tables.logits import LogitLayout, class_columns, probabilities


def found(layout="softmax-background-last", seed=0, rows=300):
    """Boxes of the class with the largest logit, as a last layer makes them of embeddings."""
    rng, layout = np.random.default_rng(seed), LogitLayout(layout)
    head = Head(np.random.default_rng(9).normal(size=(4, 8)), np.zeros(4), layout)
    embedding = rng.normal(size=(rows, 8))
    logits = head.logits(embedding)
    activation = "sigmoid" if layout.is_sigmoid else "softmax"
    chance = probabilities(logits, activation)[:, class_columns(layout)]
    names = ("a", "b", "c", "d")[: chance.shape[1]]
    box = np.tile([0.0, 0, 9, 9], (rows, 1))
    arrays = {"logits": logits, "layout": layout, "embedding": embedding, "head": head}
    label, score = chance.argmax(axis=1), chance.max(axis=1)
    return Detections(np.arange(rows), label, box, score, names, **arrays)


@pytest.mark.parametrize("layout", ["softmax-background-last", "sigmoid", "softmax"])
def test_logits_that_one_export_divided_are_told(layout):
    ours, theirs = found(layout), found(layout, seed=1)
    assert other_temperature(ours, theirs, "val") is None
    divided = replace(ours, logits=ours.logits / 3)
    said = other_temperature(divided, theirs, "val")
    assert said.code == "OS514"
    assert said.message.endswith(
        "val at a temperature of 1, and of the detections to score at 0.333"
    )
    assert other_temperature(divided, replace(theirs, logits=theirs.logits / 3), "val") is None


@pytest.mark.parametrize("change", [lambda one: one.score**2, lambda one: one.score[::-1]])
def test_scores_that_no_temperature_makes_say_nothing(change):
    ours = found()
    assert other_temperature(replace(ours, score=change(ours)), found(seed=1), "val") is None


def test_embeddings_of_other_rows_are_refused_by_every_scorer_that_reads_them():
    honest, train = found(), scorers.of_split(found(seed=1), "train")
    knn = scorers.find("knn").fit(train, k=5)
    knn.scored(honest)
    shuffled = np.random.default_rng(0).permutation(len(honest))
    with pytest.raises(InputError, match=r"OS503(?s:.*)embeddings are in another order"):
        knn.scored(replace(honest, embedding=honest.embedding[shuffled]))


def test_a_last_layer_tells_of_the_detections_of_another_file():
    ours, train = replace(found(), head=None), found(seed=1)
    assert other_model(ours, train, "train") is None
    said = other_model(replace(ours, embedding=ours.embedding[::-1]), train, "train")
    assert said.code == "OS511" and "does not reproduce the logits" in said.message
    assert other_model(replace(ours, logits=None), train, "train") is None
