"""Detections with all evidence that any scorer reads: knowns in classes, unknowns elsewhere."""

from dataclasses import replace

import numpy as np

from openset import scorers
from openset.tables import Detections, Head, LogitLayout

K, D, PASSES = 4, 24, 8
NAMES = ("dog", "cat", "cow", "hen")
LAYOUT = LogitLayout.SOFTMAX_BACKGROUND_LAST
CENTRES = np.zeros((K, D))
CENTRES[np.arange(D) % K, np.arange(D)] = 3.0  # each class fires its own units
CENTRES[:, -4:] = 0.0  # dead units


def head(layout=LAYOUT):
    """The last layer that a detector would learn for these classes."""
    weight, bias = CENTRES / 6, np.full(K, -2.0)
    if layout in (LogitLayout.SIGMOID, LogitLayout.SOFTMAX):
        return Head(weight, bias, layout)
    row, at = np.full((1, D), 0.05), K if layout is LAYOUT else 0
    return Head(np.insert(weight, at, row, axis=0), np.insert(bias, at, 0.0), layout)


def embeddings(rng, n, *, unknown):
    """Knowns fire the units of their class; unknowns fire one unit of each class, less strongly."""
    label = rng.integers(0, K, n)
    mean = CENTRES[label] if not unknown else np.where(np.arange(D) < K, 2.0, 0.0)
    noise = rng.normal(size=(n, D)) * np.where(np.arange(D) < D - 4, 0.3, 0.0)
    return np.maximum(mean + noise, 0).astype(np.float32), label


def scene(n=200, *, unknown=False, seed=0, layout=LAYOUT, split="train"):
    """Detections of one kind, with every column."""
    rng = np.random.default_rng([seed, unknown])
    embedding, label = embeddings(rng, n, unknown=unknown)
    logits = head(layout).logits(embedding)
    wobble = 1.5 if unknown else 0.05  # dropout moves unknowns more
    noise = rng.normal(size=(n, PASSES, D)) * wobble
    latents = (embedding[:, None] + noise).astype(np.float32)
    samples = logits[:, None] + rng.normal(size=(n, PASSES, logits.shape[1])) * 0.1
    chance = np.random.default_rng([seed, unknown, 1])
    attacked = embeddings(chance, n, unknown=True)[0]  # as strange to the backbone as the unknown
    box = np.column_stack([np.arange(n) * 50.0, np.zeros(n), np.full((n, 2), 20.0)])
    found = Detections(
        np.arange(n) // 4,
        label,
        box,
        rng.uniform(0.3, 1, n) * (0.3 if unknown else 1.0),
        NAMES,
        logits=logits,
        layout=layout,
        embedding=embedding,
        attributes={
            "latent": embedding * 2,
            "latent_samples": latents,
            "logit_samples": samples.astype(np.float32),
            "projection": embedding[:, : D - 4] - 0.5,
            "shortcut": embedding,
            "shortcut_attacked": attacked,
            "overlap": chance.uniform(0.85, 1, n),
            "of_unknown": np.full(n, int(unknown)),
        },
    )
    return scorers.of_split(found, split)


def fitted(name, train=None, layout=LAYOUT, **options):
    """A scorer fitted on knowns."""
    train = scene(400, seed=9, layout=layout) if train is None else train
    stated = scorers.suited(train, head(layout))[name]
    if name == "dice":
        stated["percentile"] = 75  # of so few weights, 90 % would be those of whole classes
    if name == "safe":
        stated |= {"epochs": 60, "images": 4}  # published for thousands of images
    if scorers.find(name).uses_unknown:
        train = told(train, layout)
    return scorers.find(name).fit(train, head=head(layout), **{**stated, **options})


def told(train, layout=LAYOUT):
    """The same detections, after as many of unknown objects."""
    unknown = scene(len(train), unknown=True, seed=5, layout=layout)
    held = train.attributes.get("of_unknown")
    if held is None or train.logits is None:
        return train
    parts = {name: np.concatenate([getattr(unknown, name), getattr(train, name)])
             for name in ("image", "label", "box", "score", "logits")}  # fmt: skip
    both = np.concatenate([unknown.attributes["of_unknown"], held])
    return replace(train, **parts, embedding=None, head=None, attributes={"of_unknown": both})


def auroc(known, unknown):
    """Share of pairs in which the unknown has the larger value, ties counting half."""
    difference = unknown[:, None] - known
    return ((difference > 0) + 0.5 * (difference == 0)).mean()
