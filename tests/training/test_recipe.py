"""Recipes: presets that are complete, values that are checked, rates that follow the schedule."""

from __future__ import annotations

from itertools import pairwise

import pytest

from openset.detectors import find
from openset.findings import InputError, UsageError
from openset.training import Recipe


@pytest.mark.parametrize("name", Recipe.presets())
def test_presets_name_a_trainable_detector_and_its_options(name):
    recipe = Recipe.presets()[name]
    record = find(recipe.detector)
    assert recipe.name == name
    assert record.trainable
    assert set(recipe.options) <= set(record.options)
    assert recipe.paper or name.startswith("digits")
    assert all(0 < step < recipe.steps for step in recipe.milestones)


def test_the_papers_numbers_are_those_of_the_papers():
    elephant, reowod = Recipe.of("elephant-faster-rcnn"), Recipe.of("reowod")
    assert (elephant.batch, elephant.lr, elephant.steps) == (16, 0.01, 36_000)
    assert (reowod.batch, reowod.lr, reowod.milestones) == (8, 0.01, (60_000, 80_000))
    assert reowod.options["backbone"] == "resnet50-c4"


def test_a_file_is_read_and_options_are_merged(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('detector = "fcos"\nsteps = 7\n[options]\nbackbone = "small"\n')
    recipe = Recipe.of(path, options={"score": 0.2}, seed=3)
    assert (recipe.name, recipe.steps, recipe.seed) == ("mine", 7, 3)
    assert recipe.options == {"backbone": "small", "score": 0.2}
    assert Recipe.of(recipe) == recipe


def test_mistakes_are_named_together(tmp_path):
    with pytest.raises(InputError, match=r"OS612[\s\S]*steps is 0; flip is 2|OS612") as caught:
        Recipe(steps=0, flip=2, lr="fast", schedule="stairs")  # type: ignore[arg-type]
    assert caught.value.findings[0].count == 4
    with pytest.raises(UsageError, match="Did you mean 'milestones'"):
        Recipe.of({"milestone": [3]})
    with pytest.raises(UsageError, match="Did you mean 'digits-small'"):
        Recipe.of("digits-smal")
    (tmp_path / "bad.toml").write_text("steps = ")
    with pytest.raises(InputError, match="OS612"):
        Recipe.of(tmp_path / "bad.toml")
    with pytest.raises(InputError, match="OS101"):
        Recipe.of(tmp_path / "absent.toml")


def test_rates_warm_up_and_fall():
    steps = Recipe(steps=100, warmup=10, milestones=(50, 80), gamma=0.1)
    assert [steps.factor(s) for s in (0, 9, 49, 50, 80)] == pytest.approx([0.1, 1, 1, 0.1, 0.01])
    cosine = Recipe(steps=100, schedule="cosine")
    assert [cosine.factor(s) for s in (0, 50, 100)] == pytest.approx([1, 0.5, 0])
    again = Recipe(steps=90, schedule="cosine", restarts=2)
    wanted = [1, 0.5, 1, 0.5, 1, 0]
    assert [again.factor(s) for s in (0, 15, 30, 45, 60, 90)] == pytest.approx(wanted)
    assert again.factor(29) < 0.003
    assert Recipe(schedule="constant").factor(999) == 1


@pytest.mark.parametrize(("steps", "restarts"), [(10, 5), (20_000, 5), (90, 2), (1500, 13)])
def test_a_restart_is_a_restart_whatever_the_length_of_a_cycle(steps, restarts):
    recipe = Recipe(schedule="cosine", restarts=restarts, steps=steps)
    begins = [at for at in range(steps) if at * (restarts + 1) % steps == 0]
    assert [recipe.factor(at) for at in begins] == [1.0] * len(begins)
    longest = steps // (restarts + 1) + 1
    rates = [recipe.factor(at) for at in range(steps)]
    ups = [at for at in range(1, steps) if rates[at] > rates[at - 1]]
    assert len(ups) == restarts
    assert all(b - a <= longest for a, b in pairwise([0, *ups, steps]))


def test_a_shorter_training_keeps_the_proportions():
    short = Recipe.of("vos-voc").shortened(1800)
    assert (short.steps, short.warmup, short.milestones) == (1800, 10, (1200, 1600))
    with pytest.raises(UsageError, match="at least 1"):
        short.shortened(0)


def chain(**changes):
    given = {"steps": 90, "lr": 0.1, "milestones": [60, 80], "warmup": 10}
    return Recipe.of({**given, **changes})


def test_later_tasks_change_what_the_recipe_says_and_nothing_else():
    held = chain(later={"steps": [45, 30], "clip": 1.0}, finetune={"steps": 9, "lr": 0.05})
    assert held.at(1) == chain()
    assert held.at(2) == Recipe.of(chain().shortened(45), clip=1.0)
    assert [held.at(task).steps for task in (2, 3, 4)] == [45, 30, 30]
    tuned = held.at(3, finetune=True)
    assert (tuned.steps, tuned.lr, tuned.milestones) == (9, 0.05, (6, 8))


def test_the_rate_goes_on_as_run_or_starts_again_as_written():
    as_run, as_written = (chain(later={"lr": how}).at(2) for how in ("as_run", "as_written"))
    assert {as_run.lr * as_run.factor(step) for step in (0, 45, 89)} == {as_run.lr}
    assert as_run.lr == pytest.approx(1e-3)
    assert as_written == chain()


def test_a_list_of_milestones_is_one_task_and_a_list_of_lists_all():
    one = chain(later={"milestones": [5, 6]})
    each = chain(later={"steps": [40, 30], "milestones": [[5, 6], [7]]})
    assert one.at(3).milestones == (5, 6)
    assert (each.at(2).milestones, each.at(3).milestones) == ((5, 6), (7,))
    assert each.scaled(45).at(2).milestones == (2, 3)


OPEN_WORLD = [n for n, one in Recipe.presets().items() if one.method in ("ore", "pad", "prob")]


@pytest.mark.parametrize("name", [*OPEN_WORLD, "reowod", "digits-tasks"])
def test_a_recipe_for_the_open_world_says_what_later_tasks_change(name):
    recipe = Recipe.of(name)
    assert "steps" in recipe.later and "steps" in recipe.finetune
    assert recipe.at(4, finetune=True).steps < recipe.at(4).steps
    pytest.importorskip("torch", reason="the torch extra is not installed")
    from openset.methods import table

    for task in range(1, 5):
        for finetune in (False, True):
            stage = recipe.at(task, finetune=finetune)
            assert set(stage.options) <= set(find(stage.detector).options)
            if stage.method:  # its options are checked when it is built
                table()[stage.method].build(3, 8, **stage.method_options)


def stages(name):
    """Tasks from the second on, then their fine-tunings."""
    recipe = Recipe.of(name)
    return [recipe.at(task, finetune=ft) for ft in (False, True) for task in (2, 3, 4)]


@pytest.mark.parametrize("name", ["ore-owod", "reowod-pad", "reowod"])
def test_published_chains_have_their_steps_and_the_rate_they_ran_with(name):
    steps = [52_000, 40_000, 41_000, 4_000, 2_500, 3_000]
    assert [one.steps for one in stages(name)] == steps
    rates = {one.lr * one.factor(step) for one in stages(name) for step in (0, one.steps - 1)}
    assert [*rates] == [pytest.approx(1e-4)]


@pytest.mark.parametrize("name", ["ore-owod", "reowod-pad"])
def test_published_chains_keep_detections_by_task(name):
    kept = [(one.options["nms"], one.options["most"]) for one in stages(name)]
    assert kept == [(0.5, 50), (0.4, 100), (0.4, 100)] * 2
    first = Recipe.of(name).options
    assert (first["nms"], first["most"]) == (0.4, 50)


def test_methods_act_in_the_stages_in_which_they_did():
    ore = [one.method_options for one in stages("ore-owod")]
    assert [one["start"] for one in ore[:3]] == [0.0] * 3
    moves = [one.method_options["every"] * one.steps for one in stages("ore-owod")[:3]]
    assert moves == pytest.approx([3000] * 3, rel=1e-3)
    assert [one["weight"] for one in ore[3:]] == [0.0] * 3
    assert [one.get("auto_label", True) for one in ore] == [True, True, True, False, True, True]
    pad = [one.method_options["start"] for one in stages("reowod-pad")]
    assert pad == [0.0] * 3 + [1.0] * 3


def test_another_method_has_none_of_the_options_of_the_first():
    told = {"method_options": {"start": 0.5}}
    held = chain(method="pad", **told, later={**told, "steps": 9}, finetune=told)
    other = Recipe.of(held, method="ore")
    assert other == chain(method="ore", later={"steps": 9})
    assert Recipe.of(held, method="pad") == held


@pytest.mark.parametrize(
    "changes",
    [
        {"later": {"detector": "fcos"}},
        {"later": {"stps": 3}},
        {"finetune": {"steps": "many"}},
        {"finetune": {"lr": "as_ran"}},
        {"later": {"lr": "as_run"}, "schedule": "cosine", "milestones": []},
    ],
)
def test_changes_that_cannot_be_are_refused_before_the_first_task(changes):
    with pytest.raises(InputError, match=r"later\.|finetune\."):
        chain(**changes)
