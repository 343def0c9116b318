"""OpenAUC's loss: what it ranks, which samples take part, and what each reading does."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.findings import UsageError  # noqa: E402
from openset.recognition.methods import table  # noqa: E402
from openset.recognition.training import ClassifierRecipe, train  # noqa: E402
from scenes.recognition import dark_and_bright  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")
CLASSES = 3
READINGS = ("probability", "logit", "logit_hinge")
every_reading = pytest.mark.parametrize("ranked", READINGS)
both_methods = pytest.mark.parametrize("name", ["openauc", "acc_auc"])


def built(name="openauc", **options):
    """An objective whose logits are the embedding itself."""
    objective = table()[name].build(CLASSES, CLASSES, **options)
    with torch.no_grad():
        objective.linear.weight.copy_(torch.eye(CLASSES))
    return objective


def logits(n, seed=0, scale=3.0):
    return scale * torch.randn(n, CLASSES, generator=torch.Generator().manual_seed(seed))


def every(n):
    return torch.ones(n, dtype=torch.bool)


def pair(known, mixture, **options):
    """What one pair costs."""
    rows = torch.tensor([known]), every(1), torch.tensor([mixture]), every(1)
    return built(**options).ranking(*rows).item()


def loss(objective, embedding, label):
    torch.manual_seed(5)  # of the mixtures
    return objective.loss(embedding, label)


def sureness(row, ranked):
    """By hand: the largest softmax probability, or the largest logit."""
    x = np.asarray(row, float)
    return np.exp(x).max() / np.exp(x).sum() if ranked == "probability" else x.max()


# ---------------------------------------------------------------------- Eq. 17


@every_reading
@both_methods
def test_all_pairs_are_the_equation_by_loops(name, ranked):
    known, mixture = logits(4), logits(5, seed=1)
    counts, differs = torch.tensor([1, 0, 1, 1]) > 0, torch.tensor([1, 1, 0, 1, 0]) > 0
    found = built(name, pairs="all", ranked=ranked).ranking(known, counts, mixture, differs)
    total = 0.0
    for i, j in product(range(4), range(5)):
        left = 1 - (sureness(known[i], ranked) - sureness(mixture[j], ranked))
        if ranked == "logit_hinge":
            left = max(left, 0)
        total += counts[i].item() * differs[j].item() * left**2
    assert found.item() == pytest.approx(total / (4 * 3), rel=1e-5)


@every_reading
def test_the_diagonal_is_the_mean_over_the_pairs_that_count(ranked):
    known, mixture = logits(3), logits(3, seed=1)
    counts, differs = torch.tensor([1, 0, 1]) > 0, torch.tensor([1, 1, 0]) > 0
    found = built(ranked=ranked).ranking(known, counts, mixture, differs)
    assert found.item() == pytest.approx(
        pair(known[0].tolist(), mixture[0].tolist(), ranked=ranked), rel=1e-5
    )


def test_the_logits_of_a_mixture_are_the_mixed_logits():
    objective = table()["openauc"].build(CLASSES, 7)
    embedding, label = torch.randn(6, 7), torch.arange(6) % CLASSES
    torch.manual_seed(5)
    mixture, differs = objective._mixed(embedding, label)
    torch.manual_seed(5)
    other = torch.randperm(6)
    alpha = torch.full((), objective.alpha)
    share = torch.distributions.Beta(alpha, alpha).sample()
    plain = objective.logits(embedding)
    assert torch.allclose(mixture, share * plain + (1 - share) * plain[other], atol=1e-6)
    assert differs.equal(label != label[other])


# ---------------------------------------------------------------------- Definition 1


def test_a_constant_on_all_logits_of_a_sample_changes_nothing():
    known, mixture, constant = [2.0, 0.5, -1.0], [0.3, 0.1, 0.2], 7.0
    moved = [x + constant for x in known]
    assert pair(moved, mixture) == pytest.approx(pair(known, mixture), rel=1e-5)
    assert pair(known, [x - constant for x in mixture]) == pytest.approx(pair(known, mixture))
    # Logits have no such zero: there the same sample costs something else.
    assert pair(moved, mixture, ranked="logit") > 10 * pair(known, mixture, ranked="logit")


@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 1000.0])
def test_a_pair_is_bounded(scale):
    known, mixture = logits(200, scale=scale), logits(200, seed=1, scale=scale)
    least, most = 1 / CLASSES**2, (2 - 1 / CLASSES) ** 2
    found = [pair(k.tolist(), m.tolist()) for k, m in zip(known, mixture, strict=True)]
    assert least - 1e-6 <= min(found)
    assert max(found) <= most + 1e-6 < 4
    sure, unsure = [1000.0, 0.0, 0.0], [0.0] * CLASSES
    assert pair(sure, unsure) == pytest.approx(least)
    assert pair(unsure, sure) == pytest.approx(most)
    assert pair(unsure, sure, ranked="logit") > 1e6  # not bounded


def test_the_loss_falls_as_the_mixture_becomes_less_sure():
    known = [4.0, 0.0, 0.0]
    found = [pair(known, [sure, 0.0, 0.0]) for sure in (6.0, 4.0, 2.0, 1.0, 0.0)]
    assert found == sorted(found, reverse=True)
    # Of logits it rises again: beyond one apart, the square draws them together.
    apart = [pair(known, [sure, -9.0, -9.0], ranked="logit") for sure in (3.0, 1.0, -2.0)]
    assert apart == [0.0, 4.0, 25.0]
    hinge = [pair(known, [x, -9.0, -9.0], ranked="logit_hinge") for x in (3.5, 3.0, 1.0)]
    assert hinge == [0.25, 0.0, 0.0]


# ---------------------------------------------------------------------- who takes part


def ranking_gradient(name, label):
    """What the ranking alone does to each embedding: known samples, then those that are mixed."""
    embedding, grads = logits(8), []
    for weight in (0.0, 1.0):
        inputs = embedding.clone().requires_grad_()
        loss(built(name, weight=weight), inputs, label).backward()
        grads.append(inputs.grad)
    return (grads[1] - grads[0]).abs().sum(dim=1)


def test_misnamed_samples_have_no_part_in_openauc_but_in_acc_auc():
    named = logits(8).argmax(dim=1)
    label = named.clone()
    label[[1, 3]] = (named[[1, 3]] + 1) % CLASSES  # two of the four known samples are misnamed
    label[4:] = torch.tensor([0, 1, 2, 0])
    found = ranking_gradient("openauc", label)[:4] > 1e-7
    assert not found[[1, 3]].any()
    assert found[[0, 2]].any()
    assert (ranking_gradient("acc_auc", label)[:4] > 1e-7)[[1, 3]].any()


def test_if_all_are_misnamed_only_acc_auc_ranks():
    embedding, label = logits(8), (logits(8).argmax(dim=1) + 1) % CLASSES
    plain = torch.nn.functional.cross_entropy(embedding, label)
    assert loss(built("openauc", weight=1.0), embedding, label).equal(plain)
    assert loss(built("acc_auc", weight=1.0), embedding, label) > plain + 0.1


@both_methods
def test_a_mixture_of_one_class_is_not_used(name):
    embedding, label = logits(8), torch.zeros(8, dtype=torch.long)
    plain = torch.nn.functional.cross_entropy(embedding, label)
    assert loss(built(name, weight=5.0), embedding, label).equal(plain)
    known, mixture = torch.zeros(2, CLASSES), torch.tensor([[0.0] * 3, [50.0, 0.0, 0.0]])
    for pairs in ("diagonal", "all"):
        found = built(name, pairs=pairs).ranking(known, every(2), mixture, torch.tensor([1, 0]) > 0)
        assert found.item() == pytest.approx(1.0)  # of the first mixture alone


# ---------------------------------------------------------------------- beside cross-entropy


@both_methods
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_a_weight_of_zero_is_ce_plus_bit_for_bit(name, smoothing):
    embedding, label = logits(8).requires_grad_(), torch.arange(8) % CLASSES
    plain = built("ce_plus", smoothing=smoothing).loss(embedding, label)
    found = loss(built(name, weight=0.0, smoothing=smoothing), embedding, label)
    assert found.equal(plain)
    assert torch.autograd.grad(found, embedding)[0].equal(torch.autograd.grad(plain, embedding)[0])


def test_a_training_with_a_weight_of_zero_is_one_of_ce_plus():
    split = dark_and_bright()
    recipe = ClassifierRecipe(
        method="openauc", options={"weight": 0.0}, network="classifier8", epochs=2, batch=16
    )
    plain = replace(recipe, method="ce_plus", options={})
    ranked = ClassifierRecipe.of(recipe, options={"weight": 0.1})
    zero, ce_plus, other = (train(split, one).scores(split) for one in (recipe, plain, ranked))
    assert np.array_equal(zero.openness, ce_plus.openness)
    assert not np.array_equal(other.openness, ce_plus.openness)


@pytest.mark.parametrize("name", ["ce_plus", "openauc", "acc_auc"])
@pytest.mark.parametrize("smoothing", [0.1, 0.3, 0.6])
def test_smoothing_is_the_published_one_in_every_strong_method(name, smoothing):
    embedding, label = logits(8), torch.arange(8) % CLASSES
    target = torch.full((8, CLASSES), smoothing / (CLASSES - 1))
    target[torch.arange(8), label] = 1 - smoothing
    by_hand = -(target * torch.log_softmax(embedding, dim=1)).sum(dim=1).mean()
    options = {} if name == "ce_plus" else {"weight": 0.0}
    found = loss(built(name, smoothing=smoothing, **options), embedding, label)
    assert found.item() == pytest.approx(by_hand.item(), rel=1e-5)
    torch_s = smoothing * CLASSES / (CLASSES - 1)
    theirs = torch.nn.functional.cross_entropy(embedding, label, label_smoothing=torch_s)
    assert found.item() == pytest.approx(theirs.item(), rel=1e-5)


def test_one_class_has_no_others_to_smooth_to():
    objective = table()["ce_plus"].build(1, 2, smoothing=0.5)
    assert objective.loss(torch.ones(3, 2), torch.zeros(3, dtype=torch.long)).item() == 0


@pytest.mark.parametrize("wrong", [
    {"smoothing": -0.1}, {"smoothing": 1.5}, {"ranked": "hinge"}, {"pairs": "some"},
    {"score": "energy"}, {"surrogate": "square"},
], ids=str)  # fmt: skip
def test_impossible_options_are_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        built("openauc", **wrong)


def test_the_score_at_test_is_an_option():
    rows = torch.tensor(
        [[5.0, 4.9, 0.0], [3.0, -9.0, -9.0]]
    )  # a larger logit, a smaller probability
    by_logit, by_probability = (built(score=s).openness(rows) for s in ("logit", "probability"))
    assert by_logit[0] < by_logit[1]
    assert by_probability[0] > by_probability[1]
