"""ORE*: who becomes unknown, and clusters by their formulas; and as published."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from openset.detectors import carry, find  # noqa: E402
from openset.methods import table  # noqa: E402
from scenes.sampled import sampled  # noqa: E402

WIDTH, CLASSES = 16, 3
UNKNOWN = CLASSES


def built(**options):
    torch.manual_seed(0)
    return table()["ore"].build(CLASSES, WIDTH, **options)


def regions(label, seed=0, **more):
    label = torch.tensor(label)
    chance = torch.Generator().manual_seed(seed)
    embedding = torch.randn(*label.shape, WIDTH, generator=chance).requires_grad_()
    logits = torch.zeros(*label.shape, CLASSES + 2)
    return sampled(embedding, logits, label, **more)


@pytest.mark.parametrize("top", [1, 2, 5])
def test_the_most_object_like_background_of_each_image_becomes_unknown(top):
    objectness = torch.tensor([[9.0, -3, -1, -2, 99, -5], [1.0, 2, 3, 4, 5, math.inf]])
    seen = regions([[0, -1, -1, -1, -2, -1], [1, -1, 2, 0, 1, 1]], objectness=objectness)
    named = built(top=top).relabel(seen, 0.5)
    for old, new, sure in zip(seen.label, named, objectness, strict=True):
        changed, rest = new != old, (old == -1) & (new == old)
        assert changed.sum() == min(top, int((old == -1).sum()))
        assert (old[changed] == -1).all() and (new[changed] == UNKNOWN).all()
        if rest.any() and changed.any():
            assert sure[changed].min() >= sure[rest].max()


def test_an_image_without_background_has_no_unknown():
    seen = regions([[0, 1, -2, -2]])
    assert torch.equal(built().relabel(seen, 0.5), seen.label)


def test_as_published_an_object_can_become_unknown():
    objectness = torch.tensor([[9.0, -3, -2, 99]])
    seen = regions([[0, -1, -1, -2]], objectness=objectness)
    assert built(any_region=True).relabel(seen, 0.5).tolist() == [[UNKNOWN, -1, -1, -2]]
    assert built().relabel(seen, 0.5).tolist() == [[0, -1, UNKNOWN, -2]]


def test_without_auto_labels_the_column_stays_and_nothing_teaches_it():
    seen = regions([[0, -1, -1, -2]])
    method = built(auto_label=False)
    assert method.unknown and torch.equal(method.relabel(seen, 0.5), seen.label)


def fed(method, steps=8, progress=0.5, label=((0, 1, 2, 3, -1, 0), (2, 1, 0, 3, 1, -1))):
    """Losses of some steps."""
    return [method(regions([*map(list, label)], step), progress) for step in range(steps)]


def test_no_cluster_before_the_start_and_finite_with_any_number_of_classes():
    method = built(items=2, start=0.5)
    assert fed(method, progress=0.49)[-1] == {} and not method.placed.any()
    assert method.store.filled.any()
    for label in ([[-1, -1]], [[0, 0]], [[0, 1]], [[3, 2]]):
        found = method(regions(label), 0.5)["clusters"]
        assert torch.isfinite(found)
    empty = built(items=2, start=0.0)
    assert empty(regions([[-1, 0]]), 0.0)["clusters"].item() == 0.0


def test_prototypes_are_means_of_full_queues_and_move_only_when_it_is_time():
    method = built(items=4, start=0.2, every=0.2, momentum=0.9)
    fed(method, steps=6, progress=0.1)
    method(regions([[0, 1, 2, 3]], 9), 0.2)
    assert method.placed.all()
    first = method.prototype.clone()
    torch.testing.assert_close(first, method.store.rows.mean(1))
    method(regions([[0, 1, 2, 3]], 10), 0.3)
    assert torch.equal(method.prototype, first)
    method(regions([[0, 1, 2, 3]], 11), 0.4)
    new = method.store.rows.mean(1)
    moved, whole = (method.prototype - first).norm(dim=1), (new - first).norm(dim=1)
    torch.testing.assert_close(moved, 0.1 * whole)
    second = method.prototype.clone()
    method(regions([[0, 1, 2, 3]], 12), 0.41)
    assert torch.equal(method.prototype, second)


def test_nothing_is_learned_through_the_store():
    method = built(items=2, start=0.0)
    fed(method)
    seen = regions([[0, 1, 2, 3]], 20)
    method(seen, 0.9)["clusters"].backward()
    assert seen.embedding.grad.abs().sum() > 0
    assert method.prototype.grad is None and method.store.held.grad is None
    assert not method.prototype.requires_grad and not method.store.held.requires_grad


def test_in_another_training_prototypes_are_placed_anew_from_the_store_and_move_again():
    method = built(items=4, start=0.0, every=0.1, momentum=0.9)
    fed(method, progress=0.95)
    held = method.store.rows.clone()
    method.restart()
    method.move(0.0)
    assert torch.equal(method.store.rows, held) and method.placed.all()
    torch.testing.assert_close(method.prototype, held.mean(1))
    fed(method, steps=1, progress=0.1)
    far = (method.prototype - held.mean(1)).norm(dim=1)
    assert (far > 0).all()


def test_the_loss_is_the_papers():
    method = built(items=2, start=0.0, weight=1.0, margin=5.0)
    fed(method)
    seen = regions([[0, -1, 2, 3, 1, -2]], 20)
    held = {key: value.clone() for key, value in method.state_dict().items()}
    found = method.losses(seen, 0.9)["clusters"]
    method.load_state_dict(held)
    method.store.add(seen.embedding, seen.label, 9)
    method.move(0.9)
    each = []
    for row, own in zip(seen.embedding[0], seen.label[0].tolist(), strict=True):
        for at, centre in enumerate(method.prototype):
            far = (row - centre).norm()
            each += [far if at == own else (5 - far).clamp(min=0)] if own >= 0 else []
    torch.testing.assert_close(found[0], torch.stack(each).mean())


def test_as_published_it_is_a_hinge_on_minkowski_distances_with_absent_classes_at_the_origin():
    published = {"order": 10.0, "margin": 2.0, "absent": "origin", "background": True}
    method = built(items=20, start=0.0, weight=0.1, **published)
    seen = regions([[0, -1, 2, 3, 0, -2]])  # class 1 is nowhere
    found = method.losses(seen, 0.0)["clusters"][0]
    assert len(method.prototype) == CLASSES + 2 and method.placed.all()
    assert not method.prototype[1].any() and method.prototype[4].any()
    rows, label = seen.embedding[0, [0, 2, 3, 4]], torch.tensor([0, 2, 3, 0])
    sign = torch.nn.functional.one_hot(label, CLASSES + 2) * 2 - 1
    far = torch.cdist(rows, method.prototype, p=10.0)
    torch.testing.assert_close(found, 0.1 * torch.nn.HingeEmbeddingLoss(2)(far, sign))
    by_default = built(items=20, start=0.0)
    by_default.losses(seen, 0.0)
    assert not by_default.placed.any()


def test_a_class_moves_away_from_others_and_towards_its_own():
    torch.manual_seed(0)
    method = built(items=8, start=0.0, every=0.01, momentum=0.5, margin=4.0, weight=1.0)
    rows = torch.nn.Parameter(torch.randn(1, 40, WIDTH))
    label = (torch.arange(40) % 4)[None]
    optimizer, gaps = torch.optim.SGD([rows], 20.0), []
    for step in range(60):
        optimizer.zero_grad()
        method(sampled(rows, torch.zeros(1, 40, 5), label), step / 60)["clusters"].backward()
        optimizer.step()
        far = torch.cdist(rows[0].detach(), method.prototype)
        own = torch.nn.functional.one_hot(label[0], 4).bool()
        gaps.append((far[own].mean(), far.masked_fill(own, math.inf).amin(1).mean()))
    assert gaps[-1][0] < 0.5 * gaps[0][0] and gaps[-1][1] > 0.9 * gaps[0][1]


def detector(**options):
    torch.manual_seed(0)
    given = {"backbone": "small", "shortest": 64, "longest": 64}
    one = find("faster_rcnn").build(("red", "green", "blue"), device="cpu", **given)
    torch.manual_seed(1)
    carry(one, "ore", {"weight": 0.0, **options})
    return one.train()


def step(one, seed=3):
    chance = torch.Generator().manual_seed(0)
    images = [torch.rand(3, 64, 64, generator=chance) for _ in range(2)]
    boxes = torch.tensor([[8.0, 8, 40, 40], [20, 20, 60, 60]])
    targets = [{"boxes": boxes, "labels": torch.tensor([0, 1])} for _ in range(2)]
    torch.manual_seed(seed)
    one.zero_grad()
    losses = one(images, targets)
    sum(losses.values()).backward()
    return losses


def test_known_columns_start_as_the_base_detectors_and_the_unknown_has_a_column_and_a_box():
    plain, one = detector(top=0), detector()
    assert plain.network.roi_heads.box_predictor.cls_score.out_features == 4
    layers = one.network.roi_heads.box_predictor
    assert layers.cls_score.out_features == 5 and layers.bbox_pred.out_features == 20
    for name in ("cls_score", "bbox_pred"):
        mine, theirs = (getattr(m.network.roi_heads.box_predictor, name) for m in (one, plain))
        assert torch.equal(mine.weight[: len(theirs.weight)], theirs.weight)
    assert plain.layout.has_unknown is False and one.layout.has_unknown


@pytest.mark.parametrize("published", [False, True])
def test_unknowns_teach_no_box_but_as_published(published):
    one = detector(unknown_boxes=published, top=40)
    found = step(one)
    slope = one.network.roi_heads.box_predictor.bbox_pred.weight.grad
    assert slope[4:12].abs().sum() > 0  # red and green
    assert bool(slope[16:].abs().sum() > 0) == published
    assert one.network.roi_heads.box_predictor.cls_score.weight.grad[4].abs().sum() > 0
    plain = step(detector(top=0))
    assert torch.equal(plain["loss_box_reg"], found["loss_box_reg"]) != published
    assert torch.equal(plain["loss_objectness"], found["loss_objectness"])
