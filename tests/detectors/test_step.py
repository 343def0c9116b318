"""The batched training step against torchvision's own, on the same network and the same samples."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from torchvision.models.detection._utils import BalancedPositiveNegativeSampler  # noqa: E402
from torchvision.ops import box_iou, nms, roi_align  # noqa: E402

from openset.detectors import _boxes, find  # noqa: E402
from openset.detectors._pool import Pool  # noqa: E402
from openset.detectors._rcnn import box_masks  # noqa: E402
from openset.detectors._regions import BACKGROUND, NOTHING  # noqa: E402
from openset.detectors._scaling import scaled  # noqa: E402
from openset.detectors._step import Objects, _mixed  # noqa: E402

LABELS = ("red", "green", "blue")
SIDES = [(64, 64), (48, 64), (64, 40)]


def model(detector="faster_rcnn", backbone="small", **options):
    torch.manual_seed(0)
    given = {"backbone": backbone, "shortest": 64, "longest": 64, **options}
    return find(detector).build(LABELS, device="cpu", **given).train()


def batch(sides, counts, seed=0):
    chance = torch.Generator().manual_seed(seed)
    images, targets = [], []
    for (height, width), count in zip(sides, counts, strict=True):
        images.append(torch.rand(3, height, width, generator=chance))
        corner = torch.rand(count, 2, generator=chance) * 20
        side = 10 + torch.rand(count, 2, generator=chance) * 18
        label = torch.randint(0, 3, (count,), generator=chance)
        targets.append({"boxes": torch.cat([corner, corner + side], 1), "labels": label})
    return images, targets


def all_sampled(one):
    """Leave nothing to chance: every anchor and every proposal is sampled."""
    every = BalancedPositiveNegativeSampler(10**5, 0.5)
    one.network.rpn.fg_bg_sampler = one.network.roi_heads.fg_bg_sampler = every
    return one


def stock_losses(one, images, targets):
    """Of torchvision's own forward pass, which numbers classes from 1."""
    shifted = [{**target, "labels": target["labels"] + 1} for target in targets]
    if hasattr(one.network.roi_heads, "mask_head") and one.network.roi_heads.has_mask():
        for image, target in zip(images, shifted, strict=True):
            target["masks"] = box_masks(target["boxes"], image.shape[-2:])
    return one.network(images, shifted)


def gradients(one, losses):
    one.zero_grad()
    sum(losses.values()).backward()
    return {name: w.grad.clone() for name, w in one.named_parameters() if w.grad is not None}


@pytest.mark.parametrize("detector", ["faster_rcnn", "mask_rcnn"])
@pytest.mark.parametrize(
    ("sides", "counts"),
    [
        ([(64, 64)] * 2, (3, 2)),
        ([(64, 64)] * 3, (1, 0, 9)),
        (SIDES, (2, 5, 1)),
        ([(40, 60)] * 2, (2, 2)),
    ],
    ids=["one size", "an empty image", "many sizes", "scaled"],
)
def test_losses_and_gradients_are_those_of_the_stock_model(detector, sides, counts):
    one = all_sampled(model(detector))
    given = batch(sides, counts)
    stock = stock_losses(one, *given)
    wanted = gradients(one, stock)
    ours = one(*given)
    found = gradients(one, ours)
    assert list(ours) == list(stock)
    for name, loss in stock.items():
        assert ours[name].item() == pytest.approx(loss.item(), rel=2e-5, abs=1e-7), name
    assert found.keys() == wanted.keys()
    for name, slope in wanted.items():
        torch.testing.assert_close(found[name], slope, rtol=1e-3, atol=2e-5, msg=name)


@pytest.mark.parametrize("backbone", ["resnet50-c4", "resnet50"])
def test_so_they_are_with_the_backbones_of_the_papers(backbone):
    one = all_sampled(model(backbone=backbone))
    one.network.rpn._pre_nms_top_n["training"] = one.network.rpn._post_nms_top_n["training"] = 40
    # A frozen mean of batches: both passes must see the same network.
    for part in one.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.eval()
    given = batch([(64, 64)] * 2, (3, 2))
    with torch.no_grad():
        stock, ours = stock_losses(one, *given), one(*given)
    for name, loss in stock.items():
        assert ours[name].item() == pytest.approx(loss.item(), rel=1e-4), name


def test_no_image_has_an_object():
    one = model()
    losses = one(*batch([(64, 64)] * 2, (0, 0)))
    assert losses["loss_box_reg"].item() == losses["loss_rpn_box_reg"].item() == 0
    assert all(torch.isfinite(slope).all() for slope in gradients(one, losses).values())


def test_an_object_that_no_anchor_overlaps_is_matched_to_none():
    one = all_sampled(model())
    images, _ = batch([(64, 64)], (1,))
    far = {"boxes": torch.tensor([[500.0, 500, 510, 510]]), "labels": torch.tensor([0])}
    found = one(images, [far])["loss_rpn_box_reg"]
    assert found.item() == 0
    assert stock_losses(one, images, [far])["loss_rpn_box_reg"].item() > 1


def test_suppression_by_rounds_is_greedy_suppression():
    for seed in range(20):
        chance = torch.Generator().manual_seed(seed)
        boxes = torch.rand(3, 120, 4, generator=chance) * 40
        boxes[..., 2:] = boxes[..., :2] + 4 + boxes[..., 2:] / 2
        boxes[1, 60:] = 0.0
        kept = _boxes.settled(boxes, 0.4, _boxes.again)
        assert 0 < kept[0].sum() < 120
        for group, row in zip(boxes, kept, strict=True):
            score = torch.arange(len(group), 0, -1).float()
            assert set(nms(group, score, 0.4).tolist()) == set(row.nonzero()[:, 0].tolist())
        assert torch.equal(_boxes.unsuppressed(boxes, 0.4), kept)


def test_a_long_chain_of_suppressions_takes_all_its_rounds():
    # Each box overlaps the next: every other is kept, which the first rounds do not know yet.
    left = torch.arange(41).float()
    chain = torch.stack([left * 4, left * 0, left * 4 + 10, left * 0 + 10], 1)[None]
    kept = _boxes.settled(chain, 0.4, _boxes.again)[0]
    assert kept.tolist() == [at % 2 == 0 for at in range(41)]


def test_boxes_are_encoded_and_decoded_back():
    one, two = (batch([(64, 64)], (6,), seed)[1][0]["boxes"] for seed in (1, 2))
    torch.testing.assert_close(_boxes.decoded(_boxes.encoded(one, two, (1, 1, 1, 1)), two), one)
    torch.testing.assert_close(_boxes.overlaps(one, two), box_iou(one, two))


def test_regions_are_mixed_as_the_sampler_says():
    on, off = torch.zeros(4, 50, dtype=torch.bool), torch.zeros(4, 50, dtype=torch.bool)
    on[0, :20], off[0, 20:] = True, True  # more of both than are wanted
    on[1, :2], off[1, 2:] = True, True  # few on objects: the others fill up
    on[2, :5], off[2, 5:8] = True, True  # too few of both
    torch.manual_seed(0)
    place, kind = _mixed(on, off, 16, 4)
    counts = [[int((row == k).sum()) for k in (1, BACKGROUND, NOTHING)] for row in kind]
    assert counts == [[4, 12, 0], [2, 14, 0], [4, 3, 9], [0, 0, 16]]
    for image in range(4):
        good, bad = place[image][kind[image] == 1], place[image][kind[image] == BACKGROUND]
        assert on[image, good].all() and off[image, bad].all()
        assert len(set(good.tolist())) == len(good) and len(set(bad.tolist())) == len(bad)


def test_every_region_is_sampled_as_often():
    on, off = torch.ones(4000, 6, dtype=torch.bool), torch.ones(4000, 10, dtype=torch.bool)
    on = torch.cat([on, torch.zeros_like(off)], 1)
    torch.manual_seed(0)
    place, _ = _mixed(on, ~on, 6, 3)
    often = torch.bincount(place.flatten(), minlength=16).float() / 4000
    assert torch.allclose(often, torch.tensor([3 / 6] * 6 + [3 / 10] * 10), atol=0.04)


@pytest.mark.parametrize(
    "sides", [[(40, 60)] * 2, [(40, 60), (60, 40)], [(375, 500), (64, 64)] * 2]
)
def test_images_are_scaled_as_one_by_one(sides):
    transform = model(shortest=96, longest=128).network.transform
    images, targets = batch(sides, [2, 1, 0, 3][: len(sides)])
    together, moved = scaled(transform, images, targets)
    alone, wanted = transform(images, targets)
    assert together.image_sizes == alone.image_sizes
    assert torch.equal(together.tensors, alone.tensors)
    for one, two in zip(moved, wanted, strict=True):
        assert torch.equal(one["boxes"], two["boxes"])


def test_objects_are_padded_to_few_shapes():
    boxes = [torch.rand(count, 4) for count in (0, 3, 9)]
    labels = [torch.full((count,), 2) for count in (0, 3, 9)]
    targets = [{"boxes": b, "labels": one} for b, one in zip(boxes, labels, strict=True)]
    objects = Objects.of(targets)
    assert objects.box.shape == (3, 16, 4) and objects.label.shape == (3, 16)
    assert objects.real.sum(1).tolist() == [0, 3, 9]
    assert torch.equal(objects.box[2][objects.real[2]], boxes[2])


def test_the_conventions_of_detectron2():
    one = model(conventions="detectron2")
    rpn, heads = one.network.rpn, one.network.roi_heads
    assert rpn._post_nms_top_n == {"training": 1000, "testing": 1000}
    assert heads.box_predictor.cls_score.weight.std().item() == pytest.approx(0.01, rel=0.2)
    assert heads.box_predictor.bbox_pred.weight.std().item() == pytest.approx(0.001, rel=0.2)
    assert not heads.box_head.fc6.bias.any()
    # Plain L1: the loss of boxes is that of the absolute differences.
    found, taught = torch.randn(6, 4), torch.randn(6, 4)
    real = torch.tensor([True] * 4 + [False] * 2)
    wanted = (found - taught).abs()[:4].sum()
    torch.testing.assert_close(one.step._box_loss(found, taught, real), wanted)
    assert model().step._box_loss(found, taught, real) < wanted


def test_aligned_pooling_is_moved_by_half_a_cell():
    maps = {"0": torch.rand(1, 2, 16, 16), "1": torch.rand(1, 2, 8, 8)}
    boxes = [torch.tensor([[3.0, 5, 30, 40], [0.0, 0, 200, 220]])]
    for aligned in (False, True):
        pool = Pool(["0", "1"], 3, 2, aligned=aligned)
        found = pool(maps, boxes, [(64, 64)])
        levels = pool.map_levels(boxes).tolist()
        for row, (level, box) in enumerate(zip(levels, boxes[0], strict=True)):
            given = maps[str(level)], [box[None]], 3, [1 / 4, 1 / 8][level], 2
            assert torch.equal(found[row], roi_align(*given, aligned=aligned)[0])


def test_a_compiled_step_is_the_same_step(monkeypatch):
    """Every stage is one graph; which machine code is made of it is torch's own business."""
    whole, built = torch.compile, []

    def traced(function, **options):
        built.append(function.__name__)
        return whole(function, backend="eager", fullgraph=True, **options)

    monkeypatch.setattr(torch, "compile", traced)
    one, given = model(), batch([(64, 64)] * 2, (3, 2))
    torch.manual_seed(1)
    plain = one(*given)
    one.compile_step()
    assert built == ["_maps", "_anchor_losses", "_samples", "again", "overlapping", "_predicted"]
    torch.manual_seed(1)
    again = one(*given)
    assert all(torch.equal(plain[name], again[name]) for name in plain)
    boxes = batch([(64, 64)], (12,))[1][0]["boxes"][None]
    kept = _boxes.settled(boxes, 0.3, one.step._rounds, one.step._overlapped)
    assert torch.equal(kept, _boxes.unsuppressed(boxes, 0.3))
