"""Methods: losses by hand, batches that have no pair, and a training that repeats itself."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.findings import InputError, UsageError  # noqa: E402
from openset.recognition.data import OpenSplit, Samples  # noqa: E402
from openset.recognition.methods import table  # noqa: E402
from openset.recognition.networks import NETWORKS  # noqa: E402
from openset.recognition.training import Recipe, train  # noqa: E402

torch.set_num_threads(1)  # small pictures gain nothing from more, and tests share the machine
METHODS = table()
every_method = pytest.mark.parametrize("name", METHODS)
WIDTH, CLASSES = 5, 3


def batch(n=8, seed=0):
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(n, WIDTH, generator=generator).requires_grad_()
    return embedding, torch.arange(n) % CLASSES


def built(name, **options):
    torch.manual_seed(1)
    return METHODS[name].build(CLASSES, WIDTH, **options)


def test_the_methods_are_there():
    wanted = {"softmax", "ce_plus", "gcpl", "rpl", "arpl", "openauc", "acc_auc"}
    assert wanted <= set(METHODS)


@every_method
def test_it_is_documented(name):
    record = METHODS[name]
    assert record.paper
    assert record.title
    assert record.summary.endswith(".")


@every_method
@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_the_loss_is_finite_and_reaches_every_weight(name, n):
    objective = built(name)
    embedding, label = batch(n)
    loss = objective.loss(embedding, label)
    loss.backward()
    assert torch.isfinite(loss)
    assert embedding.grad.abs().sum() > 0
    assert all(weight.grad is not None for weight in objective.parameters())


@every_method
def test_a_larger_openness_is_more_unknown(name):
    objective = built(name)
    logits = torch.tensor([[5.0, 0.0, 0.0], [0.5, 0.4, 0.3]])
    sure, unsure = objective.openness(logits)
    assert sure < unsure


@every_method
def test_misspelt_options_are_refused(name):
    with pytest.raises(UsageError):
        built(name, wieght=1.0)


def test_distances_and_losses_by_hand():
    embedding, label = (x.detach() for x in batch())
    x, y = embedding.numpy().astype(float), label.numpy()

    def entropy(logits):
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        return -np.log((shifted / shifted.sum(axis=1, keepdims=True))[np.arange(len(y)), y]).mean()

    def distances(points):
        return ((x[:, None] - points) ** 2).mean(axis=2)

    arpl = built("arpl")
    points = arpl.points.detach().numpy().astype(float)
    own = distances(points)[np.arange(len(y)), y]
    bound = 0.1 * np.maximum(own + 1, 0).mean()
    expected = entropy(distances(points) - x @ points.T) + bound
    assert arpl.loss(embedding, label).item() == pytest.approx(expected, rel=1e-5)

    rpl = built("rpl")
    points = rpl.points.detach().numpy().astype(float)
    own = distances(points)[np.arange(len(y)), y]
    expected = entropy(distances(points)) + 0.1 * (own**2).mean()
    assert rpl.loss(embedding, label).item() == pytest.approx(expected, rel=1e-5)

    gcpl = built("gcpl")
    centres = gcpl.centres.detach().numpy().astype(float)
    expected = entropy(-distances(centres)) + 0.1 * ((x - centres[y]) ** 2).mean() / 2
    assert gcpl.loss(embedding, label).item() == pytest.approx(expected, rel=1e-5)


def test_several_reciprocal_points_are_averaged():
    objective = built("rpl", points=2)
    embedding = batch()[0].detach()
    points = objective.points.detach()
    each = ((embedding[:, None] - points) ** 2).mean(dim=2)
    assert torch.allclose(
        objective.logits(embedding), (each[:, 0::2] + each[:, 1::2]) / 2, atol=1e-6
    )


@pytest.mark.parametrize("pairs", ["diagonal", "all"])
@pytest.mark.parametrize("name", ["openauc", "acc_auc"])
def test_the_ranking_by_hand(name, pairs):
    objective = built(name, pairs=pairs)
    known, mixed = torch.tensor([2.0, 1.0, 3.0]), torch.tensor([0.5, 4.0, 1.0])
    counts, differs = torch.tensor([True, False, True]), torch.tensor([True, True, False])
    found = objective._ranking(known, counts, mixed, differs).item()
    both = [(i, j) for i in (0, 2) for j in (0, 1)]
    losses = {(i, j): (mixed[j] - known[i] + 1).item() ** 2 for i, j in both}
    expected = losses[0, 0] if pairs == "diagonal" else sum(losses.values()) / (3 * 2)
    assert found == pytest.approx(expected)


def test_only_openauc_asks_for_the_right_name():
    embedding, label = batch()[0].detach().abs(), torch.tensor([0, 1, 0, 1, 0, 1, 1, 0])
    losses = {}
    for name in ("openauc", "acc_auc"):
        objective = built(name, weight=1.0)
        with torch.no_grad():  # every sample is named 2, which is wrong
            objective.linear.weight.zero_()
            objective.linear.weight[2] = 1
        torch.manual_seed(0)
        losses[name] = objective.loss(embedding, label).item()
    plain = torch.nn.functional.cross_entropy(objective.logits(embedding), label).item()
    assert losses["openauc"] == pytest.approx(plain)
    assert losses["acc_auc"] > plain + 0.1


def test_a_batch_of_one_class_has_no_mixture():
    objective = built("openauc", weight=5.0)
    embedding, _ = batch()
    label = torch.zeros(8, dtype=torch.long)
    plain = torch.nn.functional.cross_entropy(objective.logits(embedding), label)
    assert objective.loss(embedding, label).item() == pytest.approx(plain.item())
    with pytest.raises(UsageError):
        built("openauc", pairs="some")


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("channels", [1, 3])
def test_networks_embed_small_pictures(network, channels):
    body = NETWORKS[network](channels)
    assert body(torch.zeros(2, channels, 8, 8)).shape == (2, body.width)


def test_classifier32_has_nine_convolutions():
    body = NETWORKS["classifier32"](3)
    assert sum(isinstance(m, torch.nn.Conv2d) for m in body.modules()) == 9
    assert body.layers(torch.zeros(1, 3, 32, 32)).shape == (1, 128, 4, 4)


@pytest.fixture(scope="module")
def split():
    """Two known classes, dark and bright, and an unknown one between."""

    def samples(levels, n):
        rng = np.random.default_rng(n)
        label = np.arange(n) % len(levels)
        noise = rng.integers(-20, 20, (n, 8, 8, 1))
        return Samples(
            (np.array(levels)[label][:, None, None, None] + noise).astype(np.uint8), label
        )

    known = (40, 210)
    return OpenSplit(
        "made", 0, (0, 1), (2,), samples(known, 64), samples(known, 40), samples((125,), 30)
    )


def test_a_training_learns_and_repeats(split):
    recipe = Recipe(epochs=3, batch=16, rate=0.02, shift=0)
    scores = [train(split, "openauc", recipe=recipe).scores(split) for _ in range(2)]
    assert scores[0].correct.mean() == 1
    assert np.array_equal(scores[0].openness, scores[1].openness)
    assert (scores[0].n_known, scores[0].n_unknown) == (40, 30)


def test_bad_recipes_are_refused(split):
    with pytest.raises(UsageError, match="softmax"):
        train(split, "softmacs")
    with pytest.raises(UsageError, match="epoch"):
        train(split, "softmax", recipe=Recipe(epochs=0))
    with pytest.raises(InputError, match="OS608"):
        train(split, "gcpl", recipe=Recipe(epochs=4, batch=16, rate=1e30))
