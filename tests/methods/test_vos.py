"""VOS: a queue that fills, outliers that are the farthest of many draws, energies told apart."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from openset.detectors import carry, find  # noqa: E402
from openset.methods import table  # noqa: E402
from openset.methods.vos import _factor, longest  # noqa: E402
from scenes.sampled import sampled  # noqa: E402

WIDTH, CLASSES = 6, 3


def built(**options):
    torch.manual_seed(0)
    return table()["vos"].build(CLASSES, WIDTH, **{"queue": 4, "start": 0.5, **options})


def regions(label, seed=0):
    label = torch.tensor(label)
    chance = torch.Generator().manual_seed(seed)
    embedding = torch.randn(*label.shape, WIDTH, generator=chance).requires_grad_()
    last = torch.nn.Linear(WIDTH, CLASSES + 1)
    return sampled(embedding, last(embedding), label, last)


EVERY = [[0, 1, 2, 0, 1, 2, -1, -1], [0, 1, 2, 0, 1, 2, -2, -1]]


def test_there_is_no_loss_before_its_start_or_before_a_class_is_full():
    method = built()
    assert method.losses(regions(EVERY), 0.49) == {}
    assert method.bank.filled.tolist() == [4, 4, 4]
    assert (method.losses(regions(EVERY), 0.5)["uncertainty"] > 0).all()
    empty = built(queue=100)
    assert (empty.losses(regions(EVERY), 0.9)["uncertainty"] == 0).all()
    assert built(weight=0.0).losses(regions(EVERY), 0.9) == {}


def waited(**options):
    """What two places of a full class hold in the end, and what they were given, step by step."""
    method = built(queue=2, **options)
    given = [regions([[0, 0, 1, -1]], 1), regions([[0, 0, 1, 2]], 2)]
    given += [regions([[2, -1, -1, -1]], 3), regions([[0, -1, -1, -1]], 4)]
    held = []
    for one in given:
        method.losses(one, 0.0)
        held.append(method.bank.rows[0].clone())
    assert method.bank.filled.tolist() == [2, 2, 2]
    return held, [one.embedding.detach()[0] for one in given]


def test_full_classes_take_the_newest_whether_or_not_the_others_are_full():
    held, given = waited()
    assert torch.equal(held[1], given[1][:2])
    assert torch.equal(held[3], torch.stack([given[3][0], given[1][1]]))


def test_as_published_full_classes_keep_their_first_until_all_are_full():
    held, given = waited(all_or_nothing=True)
    assert torch.equal(held[1], given[0][:2])
    assert torch.equal(held[3], torch.stack([given[3][0], given[0][1]]))


def test_a_class_that_never_fills_is_left_out_and_named():
    method = built()
    for step in range(4):
        method.losses(regions([[0, 1, 0, 1]], step), 0.1)
    last = [regions([[0, 1, 0, 1]], seed) for seed in (8, 9)]
    for one in last:
        loss = method.losses(one, 0.9)["uncertainty"]
    assert loss.item() > 0
    # The outliers of the others come of what was seen last, not of the first of the training.
    newest = torch.cat([one.embedding.detach()[0] for one in last])
    for klass in (0, 1):
        mine = newest[klass::2]
        assert {tuple(r) for r in method.bank.rows[klass].tolist()} == {*map(tuple, mine.tolist())}
    assert method.drawn.tolist() == [True, True, False]
    ((_, _, said, count, example), *rest) = [
        (f.code, f.level, f.message, f.count, f.example) for f in method.findings("abc")
    ]
    assert not rest and count == 1 and example == "c, of which 0 regions were seen"
    assert said == "1 of 3 classes never filled their queue of 4"
    method.losses(regions([[2] * 4]), 0.9)
    assert method.findings("abc") == []


def test_as_published_a_class_that_never_fills_keeps_the_loss_off():
    method = built(all_or_nothing=True)
    for step in range(4):
        method.losses(regions([[0, 1, 0, 1]], step), 0.1)
    assert method.losses(regions([[0, 1, -1]]), 0.9)["uncertainty"].item() == 0
    (said,) = method.findings("abc")
    assert "no outlier was ever drawn" in said.message and said.count == 1
    assert method.losses(regions([[2] * 4]), 0.9)["uncertainty"].item() > 0


def test_a_group_without_objects_has_no_loss():
    method = built()
    method.losses(regions(EVERY), 0.1)
    found = method.losses(regions([[0, 1, -1], [-1, -1, -2]]), 0.9)["uncertainty"]
    assert found[0] > 0 and found[1] == 0


def test_the_loss_is_that_of_the_paper():
    method = built()
    method.losses(regions(EVERY), 0.1)
    seen = regions([[0, -1, 2, 1, -2]], 5)
    torch.manual_seed(3)
    found = method.losses(seen, 0.9)["uncertainty"]
    torch.manual_seed(3)
    outliers = method.outliers(1)[0]
    known = seen.logits[0, [0, 2, 3]]
    logits = torch.cat([known, seen.classify(outliers)])[:, 1:]
    energy = torch.log((method.share.relu() * logits.exp()).sum(1))
    truth = torch.tensor([1] * 3 + [0] * 3)
    told = torch.nn.functional.cross_entropy(method.judge(energy[:, None]), truth)
    torch.testing.assert_close(found[0], 0.1 * told)


def test_gradients_reach_objects_and_the_last_layer_but_no_outlier():
    method = built()
    method.losses(regions(EVERY), 0.1)
    seen = regions(EVERY, 5)
    method.losses(seen, 0.9)["uncertainty"].sum().backward()
    reached = seen.embedding.grad.abs().sum(-1) > 0
    assert torch.equal(reached, seen.label >= 0)
    assert seen.classify.weight.grad[1:].abs().sum() > 0
    assert seen.classify.weight.grad[0].abs().sum() == 0  # no energy has the background in it
    assert method.share.grad is not None and method.judge.weight.grad is not None
    assert not method.bank.held.requires_grad and not method.outliers(1).requires_grad


def test_energy_with_equal_shares_is_the_log_of_the_sum():
    method = built()
    logits = torch.randn(5, 4) * 30
    method.share.data.fill_(1.0)
    torch.testing.assert_close(method.energy(logits), logits[:, 1:].logsumexp(1))
    method.share.data.fill_(-1.0)
    assert torch.isfinite(method.energy(logits)).all()


def test_detections_carry_the_plain_energy_of_known_classes():
    torch.manual_seed(0)
    options = {"backbone": "small", "shortest": 64, "longest": 64, "score": 0.0}
    model = find("faster_rcnn").build(("red", "green", "blue"), device="cpu", **options)
    carry(model, "vos", {})
    pixels = (torch.rand(64, 64, 3) * 255).byte().numpy()
    (found,) = model.found([pixels], frozenset({"logits"}))
    assert len(found.logits) > 10
    known = np.logaddexp.reduce(found.logits[:, 1:].astype(float), axis=1)  # without background
    np.testing.assert_allclose(found.unknownness, -known, rtol=1e-5)
    with torch.no_grad():  # what was learned beside it is not used
        model.method.share.fill_(7.0)
    (again,) = model.found([pixels], frozenset({"logits"}))
    np.testing.assert_array_equal(again.unknownness, found.unknownness)


@pytest.mark.parametrize(("width", "draws"), [(2, 50), (16, 200)])
def test_the_length_is_that_of_the_longest_of_many_draws(width, draws):
    chance = torch.Generator().manual_seed(0)
    many = torch.randn(2000, draws, width, generator=chance).norm(dim=2).amax(1).sort().values
    uniform = torch.linspace(0.0005, 0.9995, 2000, dtype=torch.float64)
    found = longest(uniform, width, draws)
    assert (found - many).abs().mean() < 0.03
    assert torch.isfinite(longest(torch.tensor([0.0, 1.0]).double(), 1024, 10_000)).all()


def test_at_the_papers_width_outliers_lie_a_little_farther_out():
    middle = longest(torch.tensor([0.5]).double(), 1024, 10_000).item()
    assert middle == pytest.approx(34.6, abs=0.3)


def test_outliers_are_the_least_likely_of_the_gaussians():
    method = built(queue=200, draws=500)
    chance = torch.Generator().manual_seed(0)
    shape = torch.randn(WIDTH, WIDTH, generator=chance)
    for klass in range(3):
        rows = torch.randn(200, WIDTH, generator=chance) @ shape + 10.0 * klass
        method.bank.add(rows, torch.full((200,), klass), 200)
    rows, mean = method.bank.rows, method.bank.rows.mean(1)
    apart = (rows - mean[:, None]).flatten(0, 1)
    tied = apart.T @ apart / len(apart) + 1e-4 * torch.eye(WIDTH)
    assert torch.linalg.eigvalsh(tied).min() >= 1e-4 - 1e-6
    torch.manual_seed(0)
    found = method.outliers(100)
    for klass in range(3):
        normal = torch.distributions.MultivariateNormal(mean[klass], tied)
        worst = normal.log_prob(normal.sample((100, 500))).amin(1)
        mine = normal.log_prob(found[:, klass])
        assert mine.mean().item() == pytest.approx(worst.mean().item(), abs=0.5)


@pytest.mark.parametrize("top", [0.0, 2.0, 30.0])
def test_the_factor_is_that_of_the_covariance_also_where_rounding_makes_it_indefinite(top):
    chance = torch.Generator().manual_seed(0)
    shared = torch.randn(1024, generator=chance)  # of all features, so that no scaling undoes it
    rows = torch.randn(400, 1024, generator=chance)
    rows += top * torch.randn(400, 1, generator=chance) * shared
    covariance = (rows - rows.mean(0)).T @ (rows - rows.mean(0)) / len(rows)
    covariance.diagonal().add_(1e-4)
    factor = _factor(covariance)
    off = (factor @ factor.T - covariance).norm() / covariance.norm()
    assert factor.isfinite().all() and off < 1e-4
    plain, failed = torch.linalg.cholesky_ex(covariance)
    if top == 0.0:  # as it was: nothing failed
        assert failed == 0 and torch.equal(factor, plain)
    if top == 30.0:
        assert failed > 0
