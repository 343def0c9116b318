"""PROB: energies by a batch norm, objects drawn to the middle, and what it becomes when trained."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys

import pytest

import openset

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from torch import nn  # noqa: E402

import openset.scorers  # noqa: E402
from openset.detectors import ImageFiles, Queries, load, run  # noqa: E402
from openset.formats import read_annotations  # noqa: E402
from openset.methods import table  # noqa: E402
from openset.training import Recipe  # noqa: E402
from scenes.scorers import auroc  # noqa: E402
from scenes.training import SCRIPT, log, make_data, same, trained, weights  # noqa: E402

WIDTH, CLASSES = 32, 3
NEAR = -WIDTH * math.log(0.9)


def built(**options):
    torch.manual_seed(0)
    return table()["prob"].build(CLASSES, WIDTH, **{"weight": 1.0, "group": 1, **options})


def queries(embedding, label, earlier=()):
    label = torch.as_tensor(label)
    nothing = torch.zeros(label.shape)
    return Queries(embedding, torch.zeros(*label.shape, CLASSES + 1), label, nothing, earlier, None)


def drawn(rows=40, groups=2, seed=0):
    chance = torch.Generator().manual_seed(seed)
    scale = torch.rand(WIDTH, generator=chance) * 3
    return 5 + scale * torch.randn(groups, rows, WIDTH, generator=chance)


def labels(rows=40, groups=2):
    return torch.tensor([[0, 1, 2, 0] + [CLASSES] * (rows - 4)] * groups)


def test_energies_are_those_of_a_batch_norm_and_so_is_what_is_remembered():
    method, norm = built(), nn.BatchNorm1d(WIDTH, affine=False)
    for step in range(3):
        rows = drawn(groups=1, seed=step)
        energy = norm(rows[0]).square().sum(1)[:4].clamp(min=NEAR)
        (found,) = method.losses(queries(rows, labels(groups=1)), 0.0).values()
        torch.testing.assert_close(found, energy.mean()[None], rtol=1e-4, atol=0)
    torch.testing.assert_close(method.mean, norm.running_mean)
    torch.testing.assert_close(method.variance, norm.running_var)
    rows = drawn(seed=7)[0]
    torch.testing.assert_close(method.energy(rows), norm.eval()(rows).square().sum(1))


def test_the_mean_energy_of_a_batch_is_the_width():
    method = built()
    every = queries(drawn(400), torch.zeros(2, 400, dtype=torch.long))
    method.losses(every, 0.0)
    (found,) = method.losses(every, 0.0).values()
    assert found.tolist() == pytest.approx([WIDTH] * 2, rel=0.01)


def test_the_probability_of_an_object_falls_with_its_energy():
    method = built()
    rows = torch.zeros(3, WIDTH)
    rows[1], rows[2] = NEAR**0.5 / WIDTH**0.5, 1.0
    found = method.objectness(rows)
    assert found.tolist() == pytest.approx([1.0, 0.9**1.3, math.exp(-1.3)], abs=1e-3)
    share = method.probabilities(rows, torch.zeros(3, CLASSES + 1))
    assert torch.allclose(share, 0.5 * found[:, None].expand(3, 4))


def test_all_layers_are_drawn_and_remembered_unless_only_the_last_is_used():
    first, last = (queries(drawn(seed=s), labels()) for s in (1, 2))
    both = last._replace(earlier=(first,))
    alone = [built().losses(one, 0.0)["objectness"] for one in (first, last)]
    torch.testing.assert_close(built().losses(both, 0.0)["objectness"], sum(alone))
    published, repaired, only = built(), built(mixed=False), built()
    for method, given in ((published, both), (repaired, both), (only, last)):
        method.losses(given, 0.0)
    assert torch.equal(repaired.mean, only.mean)
    assert not torch.equal(published.mean, only.mean)


def test_every_query_without_an_object_is_taught_to_be_unknown():
    given = queries(drawn(), torch.tensor([[0, -1, 2, -1] + [-1] * 36] * 2))
    assert built().relabel(given, 0.0)[0, :4].tolist() == [0, CLASSES, 2, CLASSES]
    assert built(empty=0.3).unknown_weight == 0.3 and built().unknown


def test_objects_that_are_near_enough_are_drawn_no_further():
    rows = torch.zeros(1, 40, WIDTH)
    rows[0, 4:] = drawn(36, 1)[0] - 5
    rows.requires_grad_()
    (found,) = built().losses(queries(rows, labels(groups=1)), 0.0).values()
    assert found.item() == pytest.approx(NEAR, rel=1e-5)
    found.sum().backward()
    assert rows.grad.abs().sum() == 0


def test_without_objects_nothing_is_drawn_and_off_nothing_is_said():
    nothing = queries(drawn(), torch.full((2, 40), CLASSES))
    assert built().losses(nothing, 0.0)["objectness"].tolist() == [0.0, 0.0]
    off = built(weight=0.0)
    assert off.losses(queries(drawn(), labels()), 0.0) == {} and off.mean.abs().sum() > 0


def test_the_order_of_queries_means_nothing():
    rows, label, order = drawn(), labels(), torch.randperm(40)
    one, two = (
        built().losses(queries(rows[:, o], label[:, o]), 0.0)["objectness"]
        for o in (torch.arange(40), order)
    )
    torch.testing.assert_close(one, two)


def test_unknown_objects_follow_known_ones_to_the_middle_and_background_does_not():
    """A layer learns it from what objects share, of known classes alone."""
    chance = torch.Generator().manual_seed(0)
    features = torch.randn(1, 240, 4, generator=chance)
    features[:, :80, 0] += 3.0  # objects look like objects: 40 of known classes, 40 of none
    label = torch.full((1, 240), CLASSES)
    label[:, :40] = 0
    method, layer = built(), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, WIDTH))
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
    losses = []
    for _ in range(80):
        rows = layer(features)
        loss = method(queries(rows, label), 0.0)["objectness"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0] and losses[-1] >= NEAR - 1e-4
    sure = method.eval().objectness(layer(features)[0]).detach().numpy()
    assert auroc(sure[80:], sure[40:80]) > 0.6
    assert method.energy(layer(features)[0, 80:]).mean() > WIDTH  # pushed out by the norm alone


pytest.importorskip("transformers", reason="the transformers extra is not installed")
SMALL = {"detector": "rt_detr", "options": {"size": "small", "side": 64}, "method": "prob",
         "method_options": {"group": 2}, "steps": 5, "clip": 1.0}  # fmt: skip


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def whole(truth, tmp_path_factory):
    return trained(truth, tmp_path_factory.mktemp("whole") / "run", **SMALL).folder


def test_killed_it_goes_on_to_the_same_weights_with_its_memory(truth, whole, tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, str(SCRIPT), str(folder), str(truth), "4", json.dumps(SMALL)]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    trained(truth, folder, **SMALL)
    assert same(weights(folder), weights(whole)) and log(folder) == log(whole)
    assert weights(whole)["method.mean"].abs().sum() > 0
    assert all(row["method_objectness"] > 0 for row in log(whole))


def test_its_detections_say_unknown_and_are_evaluated_without_further_ado(truth, whole):
    model = load(str(whole / "model.pt"), device="cpu", score=0.0)
    annotations = read_annotations(truth)
    found = run(model, ImageFiles.of_annotations(annotations, truth.parent))
    assert found.labels == ("red", "green", "unknown") and found.layout == "sigmoid-unknown-last"
    assert found.unknownness is not None
    pairs = run(model, ImageFiles.of_annotations(annotations, truth.parent), regions=True)
    assert (pairs.label == 2).any()  # among all pairs: after few steps a class may fill the best
    assert found.head.weight.shape[0] == 3
    assert openset.evaluate(annotations, found, known=["red", "green"]) is not None
    for name, options in openset.scorers.suited(found).items():
        if openset.scorers.find(name).fits_on == "nothing":  # each leaves "unknown" out
            scored = openset.scorers.find(name).fit(**options).scored(found)
            assert len(scored.unknownness) == len(found)


def test_the_recipes_name_it():
    recipe = Recipe.of("prob-owod")
    assert (recipe.detector, recipe.method) == ("deformable_detr", "prob")
    assert recipe.batch % recipe.method_options.get("group", 5) == 0
    assert Recipe.of("digits-prob").detector == "rt_detr"
