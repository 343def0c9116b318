"""Filters of a whole batch against those of one image after the other."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from openset.detectors import _boxes, find  # noqa: E402
from openset.detectors._scaling import laid  # noqa: E402
from openset.detectors._survivors import at_once, filtered, proposed, together  # noqa: E402

COUNTS, SIZES = (40, 0, 25), [(64, 64), (48, 64), (64, 40)]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    given = {"backbone": "small", "shortest": 64, "longest": 64, "device": "cpu"}
    return find("faster_rcnn").build(("red", "green", "blue"), **given).eval()


@pytest.fixture
def regions():
    chance = torch.Generator().manual_seed(1)
    count = sum(COUNTS)
    scores = torch.rand(count, 4, generator=chance).softmax(-1)
    corner = torch.rand(count, 4, 2, generator=chance) * 60 - 5
    boxes = torch.cat([corner, corner + torch.rand(count, 4, 2, generator=chance) * 40], -1)
    return scores, boxes


@pytest.fixture
def by_rounds(monkeypatch):
    """Suppression as a GPU has it."""
    monkeypatch.setattr(
        _boxes, "unsuppressed", lambda boxes, limit, *_: _boxes.settled(boxes, limit, _boxes.again)
    )


@pytest.mark.parametrize(("nms", "most"), [(0.5, 100), (0.2, 3), (2.0, None), (0.7, 1)])
def test_all_images_at_once_are_filtered_as_one_by_one(model, regions, by_rounds, nms, most):
    heads = model.network.roi_heads
    own = heads.nms_thresh, heads.detections_per_img
    heads.nms_thresh, heads.detections_per_img = nms, most
    try:
        proposals = [torch.zeros(count, 4) for count in COUNTS]
        alone = filtered(heads, *regions, proposals, SIZES)
        whole = at_once(heads, *regions, list(COUNTS), SIZES)
    finally:
        heads.nms_thresh, heads.detections_per_img = own
    assert alone.counts == whole.counts and alone.counts[1] == 0
    for name in ("box", "score", "column", "region", "row"):
        assert torch.equal(getattr(alone, name), getattr(whole, name)), name
    assert 0 < len(whole.box) < 3 * sum(COUNTS)


def test_nothing_is_left_where_nothing_is_sure(model, regions):
    scores, boxes = regions
    sure = torch.zeros_like(scores)
    sure[:, 0] = 1.0
    kept = at_once(model.network.roi_heads, sure, boxes, list(COUNTS), SIZES)
    assert kept.counts == [0, 0, 0] and kept.box.shape == (0, 4)


def test_regions_are_proposed_together_as_one_by_one(model, by_rounds):
    chance = torch.Generator().manual_seed(2)
    images = [torch.rand(3, *size, generator=chance) for size in SIZES]
    with torch.inference_mode():
        batch = laid(model.network.transform, images)
        features = model.network.backbone(batch.tensors)
        alone = proposed(model.step, batch, features)
        whole = together(model.step, batch, list(features.values()))
    for boxes, others, sure, theirs in zip(alone[0], whole[0], alone[1], whole[1], strict=True):
        assert len(boxes) == len(others) > 10
        # Random weights are sure of nothing: what is equally sure may come in another order.
        ours, wanted = (b[b.sum(1).argsort()] for b in (boxes, others))
        torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-3)
        torch.testing.assert_close(sure, theirs)


def test_groups_suppress_themselves_alone():
    boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 9], [50, 50, 60, 60]])
    group = torch.tensor([7, 2, 7, 7])
    assert _boxes.unsuppressed_by_group(boxes, group, 0.5).tolist() == [True, True, False, True]


def test_memory_bounds_the_groups_at_a_time(monkeypatch):
    chance = torch.Generator().manual_seed(3)
    corner = torch.rand(9, 20, 2, generator=chance) * 50
    boxes = torch.cat([corner, corner + 10 + torch.rand(9, 20, 2, generator=chance) * 30], -1)
    whole = _boxes.settled(boxes, 0.3, _boxes.again)
    monkeypatch.setattr(_boxes, "_HELD", 2 * 400)
    monkeypatch.setattr(_boxes, "_CELLS", 400)
    assert torch.equal(_boxes.settled(boxes, 0.3, _boxes.again), whole)
    assert torch.equal(_boxes.unsuppressed(boxes, 0.3), whole)
