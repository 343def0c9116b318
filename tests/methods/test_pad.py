"""PAD: what an advisor confirms, what guides the proposals, and who is never changed by it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from torchvision.ops import box_iou  # noqa: E402

from openset.detectors import METHOD_BOXES, carry, find  # noqa: E402
from openset.findings import UsageError  # noqa: E402
from openset.methods import table  # noqa: E402
from scenes.sampled import sampled  # noqa: E402

WIDTH, CLASSES = 8, 3
UNKNOWN = CLASSES


def built(**options):
    torch.manual_seed(0)
    given = {"advisor": "boxes.json", "start": 0.0, **options}
    return table()["pad"].build(CLASSES, WIDTH, **given)


def regions(count=64, images=2, seed=0, advised=12):
    """Regions anywhere, some of them on objects, and advice near some of them."""
    chance = torch.Generator().manual_seed(seed)
    corner = torch.rand(images, count, 2, generator=chance) * 60
    box = torch.cat([corner, corner + 10 + 20 * torch.rand(images, count, 2, generator=chance)], -1)
    label = torch.randint(-2, CLASSES, (images, count), generator=chance)
    label[:, ::2] = -1
    advice = box[:, : 2 * advised : 2] + torch.rand(images, advised, 4, generator=chance)
    place = torch.stack([torch.randperm(200, generator=chance)[:count] for _ in range(images)])
    return sampled(
        torch.zeros(images, count, WIDTH),
        torch.zeros(images, count, CLASSES + 2),
        label,
        box=box,
        place=place,
        advised=advice,
        objectness=torch.randn(images, count, generator=chance),
    )


def new(seen, method, progress=0.5):
    return (method.relabel(seen, progress) != seen.label) & (seen.label != UNKNOWN)


def test_what_becomes_unknown_was_background_that_the_advisor_overlaps():
    seen = regions()
    found = new(seen, built())
    assert found.any()
    assert (seen.label[found] == -1).all()
    for at in range(2):
        closest = box_iou(seen.box[at], seen.advised[at]).amax(1)
        guide = built().guide(seen, 0.5)[at]
        like = box_iou(seen.box[at], guide)[:, 0] >= 0.8
        assert (closest[found[at]] >= 0.7).all() or (like[found[at] & (closest < 0.7)]).all()
        missed = (seen.label[at] == -1) & ~found[at]
        assert (closest[missed] < 0.7).all()  # every candidate is among the best fifty


def test_only_the_best_candidates_are_confirmed():
    seen = regions()
    one = built(most=3, guide=False)
    named = one.confirmed(seen, 0.7).isfinite()
    likely = seen.objectness.masked_fill(seen.label != -1, -torch.inf)
    third = likely.topk(3, dim=1).values[:, -1:]
    assert named.any() and (seen.objectness[named] >= third.expand_as(likely)[named]).all()


@pytest.mark.parametrize("off", ["overlap", "no advice", "start"])
def test_without_an_overlap_advice_or_start_nothing_changes(off):
    seen = regions(advised=0 if off == "no advice" else 12)
    method = built(**{"start": {"start": 0.6}}.get(off, {}))
    if off == "overlap":
        method.overlap = method.guide_overlap = 1.01
    assert torch.equal(method.relabel(seen, 0.5), seen.label)
    guide = method.guide(seen, 0.5)
    assert guide is None if off == "start" else not guide.any()


def test_at_most_one_region_of_an_image_guides_and_it_is_the_best():
    seen = regions()
    method = built()
    guide = method.guide(seen, 0.5)
    assert guide.shape == (2, 1, 4)
    for at in range(2):
        closest = box_iou(seen.box[at], seen.advised[at]).amax(1)
        value = seen.objectness[at].sigmoid() * closest
        fit = (closest >= 0.9) & (seen.label[at] == -1)
        best = value.masked_fill(~fit, -1).argmax()
        assert fit.any() and torch.equal(guide[at, 0], seen.box[at, best])
    assert built(guide=False).guide(seen, 0.5) is None


def test_regions_like_the_one_that_guides_are_unknown_but_no_object_is_renamed():
    seen = regions(count=8, images=1, advised=1)
    like = seen.box[0, 0] + torch.tensor([0.0, 0, 2, 2])  # too far from the advice, near the guide
    box = seen.box.clone()
    box[0, 1:4] = like
    label = torch.tensor([[-1, -1, 0, -1, -2, -1, -1, -1]])
    objectness = torch.full((1, 8), -5.0)
    objectness[0, 0] = 3.0
    place = torch.tensor([[0, 1, 2, 150, 3, 4, 5, 6]])
    seen = seen._replace(
        box=box, label=label, objectness=objectness, advised=box[:, :1], place=place
    )
    overlap = box_iou(box[0, :1], like[None]).item()
    assert 0.8 <= overlap < 0.95
    strict = {"overlap": 0.96, "guide_overlap": 0.96}
    assert built(**strict).relabel(seen, 0.5)[0, :5].tolist() == [UNKNOWN, UNKNOWN, 0, -1, -2]
    published = built(**strict, overwrite=True).relabel(seen, 0.5)
    assert published[0, :5].tolist() == [UNKNOWN, UNKNOWN, UNKNOWN, -1, -2]


def test_as_published_only_what_looks_like_an_object_is_confirmed():
    seen = regions()
    every, sure = (built(sure=sure).confirmed(seen, 0.7).isfinite() for sure in (False, True))
    assert sure.any() and (seen.objectness[sure] > 0).all()
    assert torch.equal(sure, every & (seen.objectness > 0)) and sure.sum() < every.sum()


def test_without_confirming_it_labels_as_ore_does():
    seen = regions()
    ore = table()["ore"].build(CLASSES, WIDTH, top=3)
    assert torch.equal(built(confirm=False, top=3).relabel(seen, 0.5), ore.relabel(seen, 0.5))


def test_its_own_proposals_can_advise():
    seen = regions(advised=0)
    found = new(seen, built(advisor="objectness", most=30))
    assert found.any()
    for at in range(2):
        first = seen.box[at][seen.place[at] < 30]
        closest = box_iou(seen.box[at][found[at]], first).amax(1)
        assert (closest >= 0.7).all()
    assert built(advisor="objectness").advisor is None and built().advisor.file == "boxes.json"


def mirrored(box, width=100.0):
    x1, y1, x2, y2 = box.unbind(-1)
    return torch.stack([width - x2, y1, width - x1, y2], -1)


def test_a_mirrored_image_with_mirrored_advice_has_the_mirrored_labels():
    seen = regions()
    other = seen._replace(box=mirrored(seen.box), advised=mirrored(seen.advised))
    method = built()
    assert torch.equal(method.relabel(other, 0.5), method.relabel(seen, 0.5))
    torch.testing.assert_close(method.guide(other, 0.5), mirrored(method.guide(seen, 0.5)))
    unmoved = other._replace(advised=seen.advised)  # as in the release
    assert not torch.equal(method.relabel(unmoved, 0.5), method.relabel(seen, 0.5))


def test_impossible_options_are_refused():
    with pytest.raises(UsageError, match="a file of boxes, or objectness"):
        built(advisor="")
    with pytest.raises(UsageError, match=r"option overlap .* at most 1, not 1.01"):
        built(overlap=1.01)  # nothing would ever be confirmed


def detector(unreached=False, **options):
    """One that is advised; with overlaps that are never `unreached`."""
    torch.manual_seed(0)
    given = {"backbone": "small", "shortest": 64, "longest": 64}
    one = find("faster_rcnn").build(("red", "green", "blue"), device="cpu", **given)
    torch.manual_seed(1)
    carry(one, "pad", {"advisor": "boxes.json", "start": 0.0, **options})
    if unreached:
        one.method.overlap = one.method.guide_overlap = 1.01
    one.network.rpn.fg_bg_sampler.batch_size_per_image = 10**5  # all anchors
    one.network.rpn.fg_bg_sampler.positive_fraction = 1.0
    return one.train()


def step(one, advised, side=64, **more):
    chance = torch.Generator().manual_seed(0)
    images = [torch.rand(3, side, side, generator=chance) for _ in range(2)]
    boxes = torch.tensor([[8.0, 8, 30, 30], [34, 34, 60, 60]]) * side / 64
    targets = [
        {"boxes": boxes, "labels": torch.tensor([0, 1]), METHOD_BOXES: torch.tensor(advised)}
        for _ in range(2)
    ]
    torch.manual_seed(3)
    return one(images, targets)


def proposed(one):
    """A box that the untrained detector proposes, and that is on no object."""
    seen = {}
    one.method.see = lambda proposals: seen.setdefault("box", proposals.box)
    step(one, [[0.0, 0, 1, 1]])
    box = seen["box"][0]
    objects = torch.tensor([[8.0, 8, 30, 30], [34, 34, 60, 60]])
    sides = box[:, 2:] - box[:, :2]
    fit = (box_iou(box, objects).amax(1) < 0.3) & (sides > 8).all(1) & (sides < 40).all(1)
    return box[fit]


def test_guiding_teaches_objectness_and_no_box_of_anchors():
    one = detector()
    advice = proposed(one)[:20].tolist()
    on, off = step(one, advice), step(detector(guide=False), advice)
    plain = step(detector(confirm=False, guide=False, top=1), advice)
    assert on["loss_objectness"] != off["loss_objectness"]
    for key in ("loss_rpn_box_reg", "loss_classifier", "loss_box_reg"):
        assert torch.equal(on[key], off[key]), key
    assert torch.equal(off["loss_objectness"], plain["loss_objectness"])
    assert not torch.equal(off["loss_classifier"], plain["loss_classifier"])


def test_a_guide_adds_anchors_on_objects_and_takes_none_away():
    from openset.detectors._step import Objects, _taught

    one = detector()
    anchors = torch.tensor([[0.0, 0, 20, 20], [30, 30, 50, 50], [0, 40, 20, 60], [1, 41, 21, 61]])
    real = torch.tensor([[True]])
    objects = Objects(torch.tensor([[[1.0, 1, 21, 21]]]), torch.zeros(1, 1, dtype=torch.long), real)
    more = torch.tensor([[[1.0, 40, 20, 60]]])
    both = Objects(torch.cat([objects.box, more], 1), torch.zeros(1, 2, dtype=torch.long),
                   torch.tensor([[True, True]]))  # fmt: skip
    drawn = _drawn(anchors)
    without, with_ = (_taught(drawn, some, one.network.rpn) for some in (objects, both))
    assert set(_places(without)) < set(_places(with_))


def _drawn(anchors):
    from openset.detectors._step import Drawn

    flat = torch.rand(1, len(anchors))
    return Drawn(torch.zeros(1, len(anchors)), anchors, flat, flat)


def _places(taught):
    return taught.good[0][taught.is_good[0]].tolist()


def test_an_advice_that_confirms_nothing_leaves_every_loss_as_it_was():
    advice = proposed(detector())[:20].tolist()
    none = [[0.0, 0, 0, 0]]
    base = step(detector(start=1.0), none)
    for one, advised in ((detector(), none),
                         (detector(unreached=True), advice)):  # fmt: skip
        found = step(one, advised)
        assert all(torch.equal(loss, found[key]) for key, loss in base.items())


def test_advice_is_scaled_with_its_image():
    one, two = detector(), detector()
    advice = proposed(detector())[:20]
    seen = []
    for model, side in ((one, 64), (two, 128)):
        model.method.relabel = lambda regions, progress: seen.append(regions) or regions.label
        step(model, (advice * side / 64).tolist(), side)
    torch.testing.assert_close(seen[0].advised, seen[1].advised)
    torch.testing.assert_close(seen[0].advised[0], advice)


def test_unknowns_teach_no_box_but_as_published():
    advice = proposed(detector()).tolist()
    for published in (False, True):
        one = detector(unknown_boxes=published)
        sum(step(one, advice).values()).backward()
        slope = one.network.roi_heads.box_predictor.bbox_pred.weight.grad
        assert slope[4:12].abs().sum() > 0
        assert bool(slope[16:].abs().sum() > 0) == published
