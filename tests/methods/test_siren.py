"""SIREN: prototypes on a sphere, densities as logarithms, what is far from all is unknown."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from scipy.special import ive  # noqa: E402
from torch.nn.functional import cross_entropy, normalize  # noqa: E402

from openset.detectors import carry, find  # noqa: E402
from openset.methods import table  # noqa: E402
from openset.methods.siren import log_scale  # noqa: E402
from scenes.sampled import sampled  # noqa: E402

WIDTH, CLASSES = 8, 3


def built(classes=CLASSES, **options):
    torch.manual_seed(0)
    return table()["siren"].build(classes, WIDTH, **{"inner": 16, **options})


def regions(label, seed=0):
    label = torch.tensor(label)
    chance = torch.Generator().manual_seed(seed)
    embedding = torch.randn(*label.shape, WIDTH, generator=chance).requires_grad_()
    logits = torch.zeros(*label.shape, CLASSES + 1)
    return sampled(embedding, logits, label)


EVERY = [[0, 1, 2, 0, 1, -1], [0, 2, 2, 0, -2, -1]]


@pytest.mark.parametrize("dimensions", [2, 3, 16, 64, 128])
def test_the_scale_of_a_density_is_that_of_bessel_functions(dimensions):
    close = torch.tensor([0.5, 3.0, 10.0, 50.0, 400.0], dtype=torch.float64, requires_grad=True)
    order, k = dimensions / 2 - 1, close.detach().numpy()
    bessel = np.log(ive(order, k)) + k
    wanted = order * np.log(k) - dimensions / 2 * np.log(2 * np.pi) - bessel
    found = log_scale(close, dimensions)
    assert found.detach().numpy() == pytest.approx(wanted, rel=1e-12, abs=1e-11)
    found.sum().backward()
    slope = -ive(order + 1, k) / ive(order, k)
    assert close.grad.numpy() == pytest.approx(slope, rel=1e-10)
    assert torch.autograd.gradcheck(lambda x: log_scale(x, dimensions), (close,))


def test_in_three_dimensions_the_density_integrates_to_one():
    # log C_3(k) = log(k / (4 pi sinh k)), known in closed form.
    close = torch.tensor([1e-3, 1.0, 5.0], dtype=torch.float64)
    wanted = torch.log(close / (4 * torch.pi * torch.sinh(close)))
    torch.testing.assert_close(log_scale(close, 3), wanted, rtol=1e-10, atol=1e-10)


def test_what_overflows_as_a_number_does_not_as_a_logarithm():
    ten = torch.tensor([10.0])
    assert log_scale(ten, 16).item() == pytest.approx(-4.1, abs=0.05)
    assert log_scale(ten, 64).item() == pytest.approx(40.0, abs=0.05)
    assert log_scale(ten, 128).item() == pytest.approx(126.7, abs=0.05)
    assert log_scale(ten, 128).exp().isinf()
    method, seen = built(inner=512), regions(EVERY)
    loss = method.losses(seen, 0.0)["shape"]
    loss.sum().backward()
    assert torch.isfinite(loss).all() and torch.isfinite(seen.embedding.grad).all()


def test_prototypes_are_of_length_one_or_not_there():
    method = built()
    method.losses(regions([[0, 0, -1], [2, -1, -2]]), 0.0)
    length = method.prototype.norm(dim=1)
    torch.testing.assert_close(length, torch.tensor([1.0, 0.0, 1.0]))
    assert method.seen.tolist() == [True, False, True]


def test_the_first_of_a_class_becomes_its_prototype_and_the_second_moves_it():
    method, first, second = built(), regions([[0, -1]], 1), regions([[0, -1]], 2)
    method.losses(first, 0.0)
    one, two = (method.projected(r.embedding[0, 0]).detach() for r in (first, second))
    torch.testing.assert_close(method.prototype[0], one)
    method.losses(second, 0.0)
    torch.testing.assert_close(method.prototype[0], normalize(0.95 * one + 0.05 * two, dim=0))


def one_by_one(method, seen):
    """Prototypes as the code moves them."""
    held = method.prototype.clone()
    for row, label in zip(seen.embedding.flatten(0, 1), seen.label.flatten(), strict=True):
        if label >= 0:
            new = 0.95 * held[label] + 0.05 * method.projected(row).detach()
            held[label] = normalize(new, dim=0)
    return held


def test_published_prototypes_follow_one_region_after_the_other():
    method = built(in_sequence=True)
    for step in range(3):
        seen = regions(EVERY, step)
        wanted = one_by_one(method, seen)
        method.losses(seen, 0.0)
        torch.testing.assert_close(method.prototype, wanted)


def test_at_once_they_go_as_far_whatever_the_order():
    method, last = built(), regions([[0] * 40] * 2, 9)
    method.losses(regions([[0]]), 0.0)
    state = {key: value.clone() for key, value in method.state_dict().items()}
    wanted = one_by_one(method, last)
    method.losses(last, 0.0)
    found = method.prototype.clone()
    mean = normalize(method.projected(last.embedding).detach().flatten(0, 1).mean(0), dim=0)
    assert found[0] @ mean > 0.999  # eighty regions leave next to nothing of what was
    assert wanted[0] @ mean > 0.8  # one after the other, the last twenty decide
    method.load_state_dict(state)
    method.losses(last._replace(embedding=last.embedding.flip(1)), 0.0)
    torch.testing.assert_close(method.prototype, found)


def test_a_momentum_of_one_leaves_them():
    method = built(momentum=1.0)
    method.prototype[0, 0] = 1.0
    before = method.prototype.clone()
    method.losses(regions(EVERY), 0.0)
    assert torch.equal(method.prototype, before)


def test_the_loss_is_that_of_the_paper():
    method, seen = built(), regions(EVERY, 3)
    method.concentration.data = torch.tensor([5.0, 10.0, 20.0])
    found = method.losses(seen, 0.0)["shape"]
    close = method.concentration.detach()
    direct = log_scale(close, 16).exp()  # in 16 dimensions it can be had as a number
    for group in range(2):
        each = []
        for row, label in zip(seen.embedding[group], seen.label[group], strict=True):
            if label >= 0:
                cosine = method.prototype @ method.projected(row)
                density = direct * torch.exp(close * cosine)
                each.append(-torch.log(density[label] / density.sum() + 1e-6))
        torch.testing.assert_close(found[group], 0.1 * torch.stack(each).mean())


def test_with_equal_concentrations_it_is_a_softmax_of_cosines():
    method, seen = built(floor=0.0, weight=1.0), regions([[0, 1, 2, 1, 0]])
    found = method.losses(seen, 0.0)["shape"]
    cosine = method.projected(seen.embedding[0]) @ method.prototype.T
    torch.testing.assert_close(found[0], cross_entropy(10.0 * cosine, seen.label[0]))


def test_the_floor_bounds_the_loss():
    seen = regions([[0, 1]])
    bounded, free = (built(weight=1.0, momentum=1.0, floor=f) for f in (1e-6, 0.0))
    for method in (bounded, free):
        with torch.no_grad():  # each object on the other's prototype
            method.prototype[:2] = method.projected(seen.embedding[0]).flip(0)
        method.concentration.data.fill_(1000.0)
    assert bounded.losses(seen, 0.0)["shape"].item() == pytest.approx(13.8, abs=0.1)
    assert free.losses(seen, 0.0)["shape"].item() > 100


def test_gradients_reach_objects_alone():
    method, seen = built(), regions(EVERY)
    method.losses(regions(EVERY, 5), 0.0)
    method.losses(seen, 0.0)["shape"].sum().backward()
    assert torch.equal(seen.embedding.grad.abs().sum(-1) > 0, seen.label >= 0)
    assert method.concentration.grad.abs().sum() > 0 and not method.prototype.requires_grad


def test_a_group_without_objects_and_a_single_class_have_no_loss():
    found = built().losses(regions([[0, 1], [-1, -2]]), 0.0)["shape"]
    assert found[0] > 0 and found[1] == 0
    assert built(1).losses(regions([[0, -1]]), 0.0)["shape"].item() == pytest.approx(0, abs=1e-6)


def test_classes_may_be_renumbered():
    label, to = torch.tensor(EVERY), torch.tensor([2, 0, 1])
    new = torch.where(label >= 0, to[label.clamp(min=0)], label)
    seen = regions(EVERY)
    one, two = (built().losses(s, 0.0)["shape"] for s in (seen, seen._replace(label=new)))
    torch.testing.assert_close(one, two)


def test_a_class_that_was_never_seen_is_left_out_and_named():
    method, two = (built(n, concentration=1.0) for n in (3, 2))  # flat: all classes take part
    seen = regions([[0, 1, 0, 1]])
    torch.testing.assert_close(method.losses(seen, 0.0), two.losses(seen, 0.0))
    away = -20 * seen.embedding[0]  # nearer to nothing than to what was seen
    found, wanted = (m.columns(away, None)["unknownness"] for m in (method, two))
    torch.testing.assert_close(found, wanted)
    (said,) = method.findings("abc")
    assert (said.code, said.count, said.example) == ("OS641", 1, "c")
    assert two.findings("ab") == [] and built(weight=0.0).findings("abc") == []


def test_unknownness_does_not_depend_on_the_length_of_the_projection():
    method, seen = built(), regions(EVERY)
    method.losses(seen, 0.0)
    one = method.columns(seen.embedding[0], None)
    method.projection[2].weight.data *= 7.0
    method.projection[2].bias.data *= 7.0
    two = method.columns(seen.embedding[0], None)
    torch.testing.assert_close(one["unknownness"], two["unknownness"])
    torch.testing.assert_close(one["projection"].norm(dim=1), torch.ones(6))


def test_objects_gather_and_what_lies_elsewhere_is_unknown():
    method = built(weight=1.0)
    chance = torch.Generator().manual_seed(0)
    centre = 3 * torch.eye(WIDTH)[:4]  # three classes, and one that is never taught

    def drawn(klass):
        return centre[klass] + 0.5 * torch.randn(*klass.shape, WIDTH, generator=chance)

    optimizer = torch.optim.Adam(method.parameters(), lr=0.02)
    for _ in range(150):
        label = torch.randint(3, (2, 12), generator=chance)
        seen = regions(label.tolist())._replace(embedding=drawn(label))
        optimizer.zero_grad()
        method(seen, 0.0)["shape"].backward()
        optimizer.step()
    label = torch.arange(3).repeat(20)
    rows = method.projected(drawn(label))
    assert (rows * method.prototype[label]).sum(1).mean() > 0.8
    assert method.concentration.mean() > 10
    known = method.columns(drawn(label), None)["unknownness"]
    unknown = method.columns(drawn(torch.full((60,), 3)), None)["unknownness"]
    assert (unknown[:, None] > known).float().mean() > 0.8


def test_detections_carry_projection_and_unknownness():
    torch.manual_seed(0)
    options = {"backbone": "small", "shortest": 64, "longest": 64, "score": 0.0}
    model = find("faster_rcnn").build(("red", "green", "blue"), device="cpu", **options)
    carry(model, "siren", {})
    with torch.no_grad():
        model.method.prototype[:] = normalize(torch.randn(3, 64), dim=1)
    pixels = (torch.rand(64, 64, 3) * 255).byte().numpy()
    (found,) = model.found([pixels], frozenset({"embedding"}))
    with torch.no_grad():
        wanted = model.method.columns(torch.tensor(found.embedding), None)
    torch.testing.assert_close(torch.tensor(found.unknownness), wanted["unknownness"])
    torch.testing.assert_close(torch.tensor(found.attributes["projection"]), wanted["projection"])
    assert found.logits is None
