"""Recipes: the published numbers, epochs as steps of the one loop, and augmentation."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.findings import InputError, UsageError  # noqa: E402
from openset.recognition.augment import Augment  # noqa: E402
from openset.recognition.data import left_out, open_split  # noqa: E402
from openset.recognition.data import table as data_sets  # noqa: E402
from openset.recognition.methods import table  # noqa: E402
from openset.recognition.recipe import ClassifierRecipe  # noqa: E402

PRESETS = ClassifierRecipe.presets()
every_recipe = pytest.mark.parametrize("name", PRESETS)


@every_recipe
def test_a_recipe_is_of_a_data_set_and_a_method_with_its_options(name):
    recipe = PRESETS[name]
    data, _, method = name.rpartition("-")
    assert data in data_sets()
    assert recipe.method == method
    assert recipe.paper
    table()[method].build(4, 8, **recipe.options)
    assert recipe.plan(1000).steps == round(recipe.epochs * 1000 / recipe.batch)


def test_every_method_has_a_recipe_for_digits_and_mnist():
    for data in ("digits", "mnist", "svhn", "cifar10", "cifar+10", "cifar+50", "tinyimagenet"):
        assert {f"{data}-{method}" for method in table()} <= set(PRESETS)


def test_published_numbers():
    arpl, strong = (
        PRESETS["mnist-arpl"],
        PRESETS["svhn-ce_plus"],
    )
    assert (arpl.epochs, arpl.batch, arpl.training["lr"]) == (100, 64, 0.1)
    assert (strong.epochs, strong.batch, strong.randaugment) == (600, 128, (1, 18))
    assert PRESETS["tinyimagenet-ce_plus"].options["smoothing"] == 0.9
    assert PRESETS["cub-openauc"].options["weight"] == 0.05
    script = PRESETS["svhn-openauc"]
    assert (script.epochs, script.training["restarts"]) == (200, 2)
    assert PRESETS["tinyimagenet-openauc"].training["warmup"] == 10
    assert {recipe.operations for name, recipe in PRESETS.items() if recipe.randaugment} == {
        "digits",
        "objects",
    }


STRONG = [name for name in PRESETS if PRESETS[name].method in ("ce_plus", "acc_auc", "openauc")]


@pytest.mark.parametrize("name", STRONG)
def test_the_strong_methods_of_a_data_set_differ_by_the_ranking_alone(name):
    data, _, method = name.rpartition("-")
    recipe, plain = PRESETS[name], PRESETS[f"{data}-ce_plus"]
    smoothing = plain.options.get("smoothing", 0.0)
    assert recipe.options.get("smoothing", 0.0) == smoothing
    if method == "ce_plus" or data == "digits":
        return
    assert recipe.options["ranked"] == "probability"  # Definition 1 of the paper
    assert recipe.options["weight"] == (0.05 if data == "cub" else 0.1)
    assert recipe.options["score"] == "logit"


@every_recipe
def test_what_the_loop_does_otherwise_is_declared(name):
    """Every paper's code decays all weights, and fills with black what a shift uncovers."""
    recipe = PRESETS[name]
    if name.startswith("digits-"):
        return  # ours: there is no other code
    assert ("border" in recipe.differs) == (recipe.shift > 0)
    assert ("norms" in recipe.differs) == (recipe.training["weight_decay"] > 0)


def test_epochs_become_steps():
    recipe = ClassifierRecipe(
        epochs=10, batch=50, training={"warmup": 2, "milestones": [5, 8], "lr": 0.3}
    )
    plan = recipe.plan(500)
    assert (plan.steps, plan.warmup, plan.milestones, plan.lr) == (100, 20, (50, 80), 0.3)
    short = recipe.shortened(5).plan(500)
    assert (short.steps, short.warmup, short.milestones) == (50, 10, (25, 40))


@pytest.mark.parametrize(
    "wrong",
    [
        {"epoch": 1},
        *({"training": {key: value}} for key, value in (
            ("lrr", 1), ("steps", 3), ("seed", 1), ("batch", 8), ("flip", 0.5), ("zoom", 1.5),
            ("jitter", 0.1), ("detector", "fcos"), ("options", {}), ("backbone_lr", 0.1),
            ("name", "x"),
        )),
    ],
    ids=str,
)  # fmt: skip
def test_keys_that_are_not_there_are_refused(wrong):
    with pytest.raises(UsageError):
        ClassifierRecipe.of(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"randaugment": [1]},
        {"randaugment": (1, 99)},
        {"randaugment": (1, -5)},
        {"randaugment": (-1, 5)},
        {"randaugment": (1.5, 5)},
        {"randaugment": 5},
        {"operations": "faces"},
        {"mean": [0.5, 0.5], "std": [1, 1]},
        {"mean": [0.5] * 3},
        {"mean": 0.5},
        {"std": [0]},
        {"batch": 1},
        {"shift": -2},
        {"size": -3},
        {"epochs": "5"},
        {"epochs": 0},
        {"flip": 2},
        {"flip": "no"},
        {"seed": -1},
        {"options": [1]},
        {"training": 3},
        *({"training": {key: value}} for key, value in (
            ("lr", "fast"), ("lr", -1), ("momentum", 2), ("schedule", "stairs"), ("warmup", "long"),
            ("warmup", -1), ("milestones", 5), ("milestones", ["a"]), ("milestones", [-3]),
            ("warmup", float("nan")),
        )),
    ],
    ids=str,
)  # fmt: skip
def test_values_that_cannot_be_are_refused_at_once(wrong):
    key = next(iter(wrong))
    for make in (lambda: ClassifierRecipe(**wrong), lambda: ClassifierRecipe.of(wrong)):
        with pytest.raises(InputError, match=rf"OS612[\s\S]*{key}"):
            make()


def test_the_ends_of_ranges_are_taken():
    assert ClassifierRecipe(randaugment=[2, 30], flip=1).randaugment == (2, 30)
    assert (
        ClassifierRecipe(randaugment=(0, 0), training={"warmup": 0.5, "milestones": [1.5]}).seed
        == 0
    )


def test_a_shift_moves_every_picture_on_its_own():
    images = torch.zeros(64, 1, 8, 8, dtype=torch.uint8)
    images[:, :, 4, 4] = 255
    torch.manual_seed(0)
    moved = Augment(shift=1)(images)
    assert moved.shape == images.shape
    assert (moved.amax(dim=(1, 2, 3)) == 1).all()
    places = {tuple(picture.nonzero()[0].tolist()) for picture in (moved[:, 0] == 1)}
    assert len(places) == 9


def test_flips_and_scales():
    images = torch.arange(4, dtype=torch.uint8).repeat(2, 1, 4, 1) * 85
    plain, flipped = Augment()(images), Augment(flip=1.0)(images)
    assert (plain.min(), plain.max()) == (-1, 1)
    assert flipped.equal(plain.flip(3))


def test_classes_that_are_left_out_are_unknown():
    split = open_split("digits", trial=1)
    inner = left_out(split, (1, 4))
    assert inner.unknown == (split.known[1], split.known[4])
    assert not set(inner.known) & set(inner.unknown)
    total = len(inner.train.label) + len(inner.test.label) + len(inner.unknown_test.label)
    assert total == len(split.train.label)
    assert set(np.unique(inner.unknown_test.label)) == set(inner.unknown)
    seen = {image.tobytes() for image in inner.train.images}
    test = {image.tobytes() for image in split.test.images}
    assert not seen & test
    for wrong in ((), (0, 1, 2, 3, 4, 5), (6,)):
        with pytest.raises(UsageError):
            left_out(split, wrong)
