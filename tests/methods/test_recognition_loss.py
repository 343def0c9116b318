"""A recognition loss on a detector's box head: foreground only, from its start on."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from openset.findings import UsageError  # noqa: E402
from openset.methods import table  # noqa: E402
from openset.recognition.methods import table as objectives  # noqa: E402
from scenes.sampled import sampled  # noqa: E402

WIDTH, CLASSES = 16, 3


def regions(*label):
    chance = torch.Generator().manual_seed(0)
    embedding = torch.randn(1, len(label), WIDTH, generator=chance).requires_grad_()
    logits = torch.zeros(1, len(label), CLASSES + 1)
    return sampled(embedding, logits, torch.tensor([label]))


def built(classes=CLASSES, **options):
    torch.manual_seed(0)
    return table()["recognition_loss"].build(classes, WIDTH, **options)


@pytest.mark.parametrize("name", sorted(objectives()))
def test_the_loss_is_that_of_the_foreground(name):
    seen = regions(-1, 0, 1, 2, -1, 0, 1, -2)
    method = built(objective=name, weight=0.5)
    torch.manual_seed(1)
    found = method.losses(seen, 0.0)["recognition"]
    torch.manual_seed(1)
    known = torch.tensor([1, 2, 3, 5, 6])
    expected = method.objective.loss(seen.embedding[0, known], seen.label[0, known])
    assert found.item() == pytest.approx(0.5 * expected.item())
    found.backward()
    assert seen.embedding.grad[0, known].abs().sum() > 0
    assert seen.embedding.grad[0, [0, 4, 7]].abs().sum() == 0


def test_background_alone_has_no_loss():
    seen = regions(-1, -1)
    found = built().losses(seen, 0.0)["recognition"]
    found.backward()
    assert found.item() == 0
    assert seen.embedding.grad.abs().sum() == 0


def test_it_acts_from_its_start_on():
    method = built(start=0.5)
    assert method.losses(regions(0, 1), 0.49) == {}
    assert method.losses(regions(0, 1), 0.5).keys() == {"recognition"}
    assert built(weight=0.0).losses(regions(0, 1), 0.9) == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"objective": "openauk"}, "unknown method of recognition 'openauk'.*'openauc'"),
        ({"weigth": 1.0}, "unknown option of method 'recognition_loss': 'weigth'.*'weight'"),
        ({"weight": "much"}, "option weight of method 'recognition_loss' must be a number"),
        ({"group": 1.5}, "option group of method 'recognition_loss' must be a whole number"),
    ],
)
def test_options_that_cannot_be_are_said(options, said):
    with pytest.raises(UsageError, match=said):
        built(**options)
