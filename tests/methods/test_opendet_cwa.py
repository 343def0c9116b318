"""OpenDet-CWA: anchors of the paper and of the code, and a last layer of spectral norm one."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from torch.nn.functional import cosine_similarity, cross_entropy  # noqa: E402

from openset.findings import UsageError  # noqa: E402
from openset.methods import table  # noqa: E402
from openset.methods.cosine import CosineLayer  # noqa: E402
from openset.methods.opendet_cwa import SpectralLayer, spectral_norm  # noqa: E402
from scenes.sampled import sampled  # noqa: E402

WIDTH, CLASSES = 16, 3
COLUMNS = CLASSES + 2


def built(**options):
    torch.manual_seed(0)
    return table()["opendet_cwa"].build(CLASSES, WIDTH, **options)


def regions(label, seed=0):
    label = torch.tensor(label)
    chance = torch.Generator().manual_seed(seed)
    embedding = torch.randn(*label.shape, WIDTH, generator=chance)
    logits = 4 * torch.randn(*label.shape, COLUMNS, generator=chance)
    over = torch.where(label >= 0, 0.8, 0.1)
    rows = embedding.requires_grad_(), logits.requires_grad_()
    return sampled(*rows, label, overlap=over)


def anchors():
    """Five in the own column, minus five in all others."""
    held = torch.full((COLUMNS, COLUMNS), -5.0)
    held.fill_diagonal_(5.0)
    return held


def test_the_codes_distance_has_the_gradient_of_the_mean_distance_to_all_anchors():
    seen = regions([[0, 1, 2, -1], [1, 1, -2, -1]])
    found = built(anchors="all").anchored(seen)
    (slope,) = torch.autograd.grad(found.sum(), seen.logits)
    for group, rows in enumerate([[0, 1, 2], [0, 1]]):
        logits = seen.logits.detach()[group, rows].requires_grad_()
        wanted = torch.cdist(logits, anchors()).mean(1).mean()
        torch.testing.assert_close(found[group], wanted)
        (other,) = torch.autograd.grad(wanted, logits)
        assert (cosine_similarity(slope[group, rows], other) > 0.9999).all()


def test_the_codes_distance_does_not_know_the_class_and_the_papers_does():
    seen = regions([[0, 1, 2]])
    other = seen._replace(label=torch.tensor([[1, 2, 0]]))
    torch.testing.assert_close(*(built(anchors="all").anchored(s) for s in (seen, other)))
    one, two = (built().anchored(s) for s in (seen, other))
    assert (one - two).abs().item() > 0.1


def test_the_papers_distance_is_nothing_at_the_anchor_and_grows_from_there():
    far = []
    for away in (0.0, 1.0, 3.0):
        logits = (anchors()[None, [1, 3]] + away * torch.eye(COLUMNS)[4]).requires_grad_()
        seen = regions([[0, 2]])._replace(logits=logits)
        found = built().anchored(seen)
        found.sum().backward()
        assert torch.isfinite(logits.grad).all()
        far.append(found.item())
    assert far == pytest.approx([0.0, 1.0, 3.0], abs=1e-5)


@pytest.mark.parametrize("kind", ["own", "all"])
def test_only_known_objects_have_an_anchor(kind):
    seen = regions([[0, -1, -2], [-1, -2, -1]])
    found = built(anchors=kind).anchored(seen)
    found.sum().backward()
    assert found[0] > 0 and found[1] == 0
    assert torch.equal(seen.logits.grad.abs().sum(-1) > 0, seen.label >= 0)


def test_its_losses_are_opendets_and_one_more():
    seen = regions([[0, 1, 2, 0, -1, -1]])
    mine, theirs = built(), table()["opendet"].build(CLASSES, WIDTH, contrast=0.21)
    theirs.load_state_dict(mine.state_dict())
    losses = []
    for method in (mine, theirs):
        method.losses(seen, 0.5)  # now the bank holds something
        losses.append(method.losses(seen, 0.5))
    assert losses[0].keys() - losses[1].keys() == {"anchor"}
    assert all(torch.equal(losses[0][key], loss) for key, loss in losses[1].items())
    assert built(anchor_weight=0.0).losses(seen, 0.5).keys() == losses[1].keys()


def test_the_published_weight_does_next_to_nothing():
    seen, slopes = regions([[0, 1, 2, 0, 1, 2]]), {}
    label, logits = seen.label[0] + 1, seen.logits[0]
    (slopes["classes"],) = torch.autograd.grad(cross_entropy(logits, label), seen.logits)
    for weight in (1.7e-4, 0.1):
        method = built(anchor_weight=weight, contrast=0.0, weight=0.0)
        loss = method.losses(seen, 0.0)["anchor"].sum()
        (slopes[weight],) = torch.autograd.grad(loss, seen.logits)
    size = {name: slope.norm() for name, slope in slopes.items()}
    assert size[1.7e-4] < 0.002 * size["classes"] < size[0.1]


def test_with_a_weight_that_counts_logits_concentrate():
    spreads = []
    for weight in (0.0, 0.1):
        torch.manual_seed(1)
        logits = (4 * torch.randn(1, 60, COLUMNS)).requires_grad_()
        label = torch.arange(3).repeat(20)[None]
        method = built(anchor_weight=weight, contrast=0.0, weight=0.0)
        optimizer = torch.optim.SGD([logits], lr=60.0)
        for _ in range(200):
            seen = regions(label.tolist())._replace(logits=logits)
            loss = cross_entropy(logits[0], label[0] + 1)
            optimizer.zero_grad()
            sum(method(seen, 0.0).values(), loss).backward()
            optimizer.step()
        of_one = logits.detach()[0, label[0] == 1]
        spreads.append(of_one.std(0).mean())
    assert spreads[1] < 0.5 * spreads[0]


@pytest.mark.parametrize("twice", [False, True], ids=["one largest value", "two"])
def test_the_spectral_norm_is_that_of_a_decomposition(twice):
    left, values, right = torch.linalg.svd(torch.randn(5, 12), full_matrices=False)
    values[1] = values[0] if twice else values[0] * 0.999
    weight = (left * values @ right).requires_grad_()
    found = spectral_norm(weight)
    torch.testing.assert_close(found, values[0])
    (slope,) = torch.autograd.grad(found, weight)
    if not twice:  # of two, any mixture is one
        torch.testing.assert_close(slope, left[:, :1] @ right[:1], rtol=0, atol=1e-4)


def test_the_last_layer_has_a_spectral_norm_of_one_however_it_was_trained():
    torch.manual_seed(0)
    layer = SpectralLayer(CosineLayer(WIDTH, COLUMNS, 20.0))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    rows, label = torch.randn(50, WIDTH), torch.randint(COLUMNS, (50,))
    for _ in range(50):
        optimizer.zero_grad()
        cross_entropy(layer.train()(rows), label).backward()
        optimizer.step()
    largest = torch.linalg.svdvals(layer.normed())[0].item()
    assert largest == pytest.approx(1.0, abs=1e-4)
    assert (layer.normed().norm(dim=1) < 0.99).any()  # so that logits are no cosines
    assert torch.equal(layer.train()(rows), layer.eval()(rows))
    unit = rows / rows.norm(dim=1, keepdim=True)
    torch.testing.assert_close(layer(rows), 20 * unit @ layer.normed().T, rtol=1e-3, atol=1e-3)


def test_anchors_that_cannot_be_are_said():
    with pytest.raises(UsageError, match="must be 'own' or 'all'"):
        built(anchors="some")
