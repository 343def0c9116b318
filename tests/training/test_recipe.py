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
