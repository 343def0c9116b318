"""Columns that are no unknownness of boxes: of images, of rows, of nothing."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from scenes.mistakes import EVALUATE, IDS, Mistake, answered, both, codes, good, kept


def column(value, seed=1):
    """An unknownness that a function makes of a detection, of its row, or of chance."""

    def spoil(world):
        rng = np.random.default_rng(seed)
        for row, one in enumerate(world.dt):
            one["unknownness"] = value(one, row, rng)

    return spoil


def of_image(digits):
    return column(lambda one, row, rng: round(np.sin(one["image_id"]), digits))


def in_image():
    places = {}
    return column(lambda one, row, rng: next(places.setdefault(one["image_id"], count(1))))


def in_order(world):
    """Ranks, in whose order the file is."""
    world.dt.sort(key=lambda one: one["score"])
    column(lambda one, row, rng: len(world.dt) - row)(world)


def best_of_images(world):
    """The surest box of each image."""
    world.dt.sort(key=lambda one: one["score"])
    world.dt = [*{one["image_id"]: one for one in world.dt}.values()]


def filled(value, share, of=lambda one, rng: rng.random()):
    """A weak scorer whose values were lost, and filled, for a share of the rows, or of images."""

    def given(one, row, rng):
        drawn = of(one, rng)
        weak = 0.3 + (1 - one["score"]) * rng.uniform(0.2, 1)
        return value if drawn < share else weak

    return column(given)


def of_its_image(one, rng):
    return np.random.default_rng(one["image_id"]).random()


def saturated(one, row, rng):
    return float(np.clip(1.2 - one["score"] + rng.normal(0, 0.2), 0.4, 1))


def clipped_or_lost(share):
    """A scorer that ends at 0, which few of its values reach, and rows that were filled with it."""
    return column(lambda one, row, rng: float(
        0 if rng.random() < share else np.clip(rng.normal(0.6, 0.2), 0, 1)))  # fmt: skip


def decided(one, row, rng):
    return 0.0 if one["category_id"] in IDS[:5] else 0.3 + one["score"] / 2


WEAK = column(lambda one, row, rng: -one["score"] + rng.normal(0, 1))
CASES = [
    Mistake("a score of images", of_image(5), "warned OS371"),
    Mistake("a score of images, the file shuffled", both(of_image(5), lambda w: w.dt.sort(
        key=lambda one: one["score"])), "warned OS371"),
    Mistake("a row number", column(lambda one, row, rng: row), "warned OS372"),
    Mistake("a row number that falls", column(lambda one, row, rng: -row), "warned OS372"),
    Mistake("a row number, and rows left out", both(
        column(lambda one, row, rng: row), kept(lambda one: one["score"] > 0.1)), "warned OS372"),
    Mistake("a number in the image", in_image(), "warned OS372"),
    Mistake("the area", column(lambda one, row, rng: round(one["bbox"][2] * one["bbox"][3], 2)),
            "warned OS372", says="is the area of their boxes"),
    Mistake("lost for some images, and 0", filled(0.0, 0.4, of_its_image), "warned OS375",
            says="images, and hardly elsewhere"),
    Mistake("lost for some images, and a mean", filled(0.6, 0.2, of_its_image), "warned OS375",
            says="images, and hardly elsewhere"),
    Mistake("lost for some rows, and -1", filled(-1.0, 0.1), "warned OS375",
            says="apart from all others"),
    Mistake("lost for some rows, and a mean", filled(0.6, 0.2), "warned OS375",
            says="in the middle of others"),
    Mistake("lost for some rows, and 0, which others have", clipped_or_lost(0.3), "warned OS375",
            says="hardly any other is near it"),
    Mistake("clipped at 0", clipped_or_lost(0), "accepted"),
    Mistake("lost for a few rows", filled(-1.0, 0.02), "accepted"),
    Mistake("saturated at both ends", column(saturated), "accepted"),
    Mistake("a softmax in half precision", column(
        lambda one, row, rng: float(1 - np.float16(one["score"] ** 0.02))), "accepted"),
    Mistake("0 for known boxes, which the detector decides", column(decided), "accepted"),
    Mistake("levels of a sensor", column(
        lambda one, row, rng: np.round((1 - one["score"]) * 15) / 15), "accepted"),
    Mistake("ranks in their order", in_order, "accepted"),
    Mistake("a decision for each image", column(lambda one, row, rng: one["image_id"] % 2),
            "accepted"),
    Mistake("rounded to tenths", column(lambda one, row, rng: round(1 - one["score"], 1)),
            "accepted"),
    Mistake("one box an image", both(best_of_images, WEAK), "warned OS451"),
    Mistake("milliseconds", column(lambda one, row, rng: round(20 + rng.random(), 2)),
            "accepted OS373"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_column_that_is_no_unknownness(case, here, openset):
    assert answered(case, here, openset) == ""


def test_a_weak_scorer_that_goes_along_with_scores_gets_no_note(here, openset):
    world = good()
    WEAK(world)
    world.write(here)
    assert "OS373" not in codes(openset(*EVALUATE, "--json").json)


def with_logits(layout):
    """Known boxes, whose scores are softmax probabilities: background first, two labels each."""

    def spoil(world):
        rng = np.random.default_rng(3)
        kept(lambda one: one["category_id"] in IDS[:5])(world)
        for one in world.dt:
            others = rng.dirichlet(np.full(5, 0.3)) * (1 - one["score"])
            chance = np.insert(others, 1 + IDS.index(one["category_id"]), one["score"])
            one["logits"] = np.log(chance + 1e-9).round(6).tolist()
            one["layout"] = layout

    return spoil


@pytest.mark.parametrize("verb", [(*EVALUATE, "--unknownness", "gen"), ("score", "dt.json",
    "--scorers", "gen", "-o", "s.parquet")], ids=["evaluate", "score"])  # fmt: skip
def test_a_layout_that_scores_contradict_is_refused_wherever_logits_are_read(verb, here, openset):
    for layout, answer in (("first", 0), ("last", 2)):
        with_logits(f"softmax-background-{layout}")(world := good())
        world.write(here)
        done = openset(*verb)
        assert done.code == answer and ("error OS345" in done.err) is bool(answer)
        assert not answer or "layout='softmax-background-first'" in done.err
    assert openset(*verb, "--force").code == 0
    assert openset(*EVALUATE).code == 0  # which reads no logits
