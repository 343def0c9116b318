"""ARPL+CS: confusion by hand, a GAN that learns beside the classifier and never instead of it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.findings import UsageError  # noqa: E402
from openset.recognition.methods import table  # noqa: E402
from openset.recognition.methods._gan import NOISE, Discriminator, Generator  # noqa: E402
from openset.recognition.networks import build_network  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")
SHAPE = (1, 8, 8)


@pytest.fixture
def both():
    torch.manual_seed(0)
    body = build_network("classifier8", 1)
    head = table()["arpl_cs"].build(3, body.width)
    return head.adapted(body, SHAPE).train(), head


def pictures(n=8):
    return torch.rand(n, *SHAPE) * 2 - 1, torch.arange(n) % 3


def test_confusion_is_the_exponential_of_minus_the_mean_entropy(both):
    _, head = both
    embedding = torch.randn(5, head.points.shape[1])
    distance = ((embedding[:, None] - head.points) ** 2).mean(dim=2).detach().double().numpy()
    share = np.exp(distance) / np.exp(distance).sum(axis=1, keepdims=True)
    expected = np.exp((share * np.log(share)).sum(axis=1).mean())
    assert head.confusion(embedding).item() == pytest.approx(expected, rel=1e-5)


def test_a_sample_equally_far_from_all_points_confuses_most(both):
    _, head = both
    with torch.no_grad():
        head.points.copy_(torch.eye(3, head.points.shape[1]))
    assert head.confusion(torch.zeros(2, head.points.shape[1])).item() == pytest.approx(1 / 3)


def test_each_of_the_three_learns(both):
    body, head = both
    held = {name: value.clone() for name, value in head.named_parameters()}
    images, label = pictures()
    losses = head.losses(body, images, label)
    assert set(losses) == {"loss", "confusion"}
    sum(losses.values()).backward()
    moved = {
        name.partition(".")[0] for name, v in head.named_parameters() if not v.equal(held[name])
    }
    assert moved == {"generator", "discriminator"}
    assert head.points.grad.abs().sum() > 0
    assert all(weight.grad is not None for name, weight in body.named_parameters())
    outside = [w for n, w in head.named_parameters() if n.startswith(("generator", "discrim"))]
    assert not any(weight.requires_grad or weight.grad is not None for weight in outside)


def test_confusing_samples_are_told_to_the_classifier_alone(both):
    """The classifier's loss on false pictures leaves the generator as its own step has left it."""
    body, head = both
    images, label = pictures()
    losses = head.losses(body, images, label)
    after = [weight.clone() for weight in head.generator.parameters()]
    losses["confusion"].backward()
    assert all(a.equal(b) for a, b in zip(after, head.generator.parameters(), strict=True))


def test_without_pictures_it_is_refused():
    head = table()["arpl_cs"].build(3, 5)
    with pytest.raises(UsageError, match="pictures"):
        head.losses(torch.nn.Flatten(), *pictures())


@pytest.mark.parametrize("side", [8, 12, 28, 32, 33])
def test_the_gan_makes_pictures_of_any_size(side):
    made = Generator((3, side, side))(torch.randn(2, NOISE))
    assert made.shape == (2, 3, side, side)
    assert made.abs().max() <= 1
    assert Discriminator((3, side, side))(made).shape == (2,)
