"""Every method of regions: finite losses, a detector that still detects, groups of images."""

from __future__ import annotations

from typing import get_type_hints

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from openset.detectors import Queries, carry, find  # noqa: E402
from openset.detectors import table as detectors  # noqa: E402
from openset.findings import UsageError  # noqa: E402
from openset.methods import Method, table  # noqa: E402
from openset.options import COUNT  # noqa: E402
from scenes.sampled import sampled  # noqa: E402

REGIONS = sorted(name for name, one in table().items() if "regions" in one.needs)
every_method = pytest.mark.parametrize("name", REGIONS)
WIDTH = 16
OWN = {"siren", "vos"}  # say how unknown a box is without a column for it


def regions(label, classes, seed=0):
    """Regions of groups of images; a method looks at all columns."""
    label = torch.tensor(label, dtype=torch.long)
    chance = torch.Generator().manual_seed(seed)
    embedding = torch.randn(*label.shape, WIDTH, generator=chance).requires_grad_()
    last = torch.randn(classes + 2, WIDTH, generator=chance)
    objectness = torch.randn(label.shape, generator=chance)

    def classify(rows):
        return rows @ last.T

    return sampled(embedding, classify(embedding), label, classify, objectness=objectness)


def model(detector="faster_rcnn"):
    torch.manual_seed(0)
    options = {"backbone": "small", "shortest": 64, "longest": 64}
    return find(detector).build(("red", "green", "blue"), device="cpu", **options)


def batch():
    generator = torch.Generator().manual_seed(0)
    images = [torch.rand(3, 64, 64, generator=generator) for _ in range(2)]
    boxes = torch.tensor([[8.0, 8, 40, 40], [20, 20, 60, 60]])
    return images, [{"boxes": boxes, "labels": torch.tensor(which)} for which in ([0, 2], [1, 1])]


def losses(one):
    torch.manual_seed(3)
    return one.train()(*batch())


@pytest.mark.parametrize("name", sorted(table()))
def test_it_says_what_it_is(name):
    known = table()[name]
    assert known.summary.endswith(".") and known.title and known.paper and known.leaks
    assert any(set(known.needs) & set(one.shows) for one in detectors().values())


def numbers(known):
    """Its options that are numbers, and whether they are whole ones."""
    hints = get_type_hints(known.make.__init__)
    return {name: hints[name] for name in known.options if hints[name] in (int, float)}


SHARES = {"start", "momentum", "overlap", "guide_overlap", "area"}


@pytest.mark.parametrize("name", sorted(table()))
def test_numbers_that_an_option_cannot_be_are_refused(name):
    known = table()[name]
    ranges = {"group": COUNT, **known.make.ranges}
    assert numbers(known).keys() <= ranges.keys()
    for option, kind in numbers(known).items():
        low, high, is_open = ranges[option]
        assert low >= 0 and (high <= 1 or option not in SHARES)
        assert ranges[option].holds(known.options[option])
        bad = [low if is_open else low - 1, -1, *([high + 1] if high < 1e9 else [])]
        bad += [] if kind is int else [float("nan"), float("inf")]
        for value in bad:
            with pytest.raises(UsageError, match=f"option {option} of method '{name}' must be"):
                known.build(3, WIDTH, **{option: kind(value)})


@every_method
@pytest.mark.parametrize("progress", [0.0, 0.5, 0.99])
@pytest.mark.parametrize(
    ("label", "classes"),
    [
        ([[-2] * 4] * 2, 3),
        ([[-1] * 4] * 2, 3),
        ([[0]], 1),
        ([[0, -1], [0, -1]], 1),
        ([[1, 1, -1, 1], [1, -1, -2, -2]], 2),
        ([[0, 1, 2], [-1, 2, 1]], 3),
    ],
    ids=["no region", "background", "one region", "one class", "absent class", "all classes"],
)
def test_losses_and_gradients_are_finite(name, progress, label, classes):
    torch.manual_seed(0)
    method = table()[name].build(classes, WIDTH)
    for step in range(3):  # a bank that was empty at first
        seen = regions(label, classes, step)
        total = sum(method(seen, progress).values(), seen.embedding.sum() * 0.0)
        total.backward()
        assert torch.isfinite(total)
        weights = [seen.embedding, *method.parameters()]
        assert all(torch.isfinite(w.grad).all() for w in weights if w.grad is not None)


def carried(name, detector="faster_rcnn", **options):
    one = model(detector)
    torch.manual_seed(1)
    carry(one, name, options)
    return one


def own_head(name):
    return table()[name].make.heads is not Method.heads


@every_method
def test_looking_changes_nothing_and_scores_are_probabilities(name):
    one = carried(name)
    one.network.roi_heads.score_thresh = 0.0
    before = {key: value.clone() for key, value in one.network.state_dict().items()}
    pixels = [(image.permute(1, 2, 0) * 255).byte().numpy() for image in batch()[0]]
    found = one.found(pixels, frozenset({"logits", "embedding"}))
    after = one.network.state_dict()
    assert all(torch.equal(value, after[key]) for key, value in before.items())
    columns = 3 + table()[name].make.unknown
    for image in found:
        assert len(image.score) and (image.score >= 0).all() and (image.score <= 1).all()
        assert set(image.label.tolist()) <= set(range(columns))
        assert image.logits.shape[1] == columns + 1 and image.embedding.shape[1] == 128
        says = table()[name].make.unknown or name in OWN
        assert (image.unknownness is not None) == says
    if own_head(name):
        return
    for one, two in zip(model().found(pixels, frozenset({"logits"})), found, strict=True):
        assert two.logits.tobytes().startswith(one.logits.tobytes()[:64])


@every_method
@pytest.mark.parametrize("detector", ["faster_rcnn", "mask_rcnn"])
def test_the_detectors_own_losses_are_as_before(name, detector):
    with_it = carried(name, detector)
    stock, found = losses(model(detector)), losses(with_it)
    assert stock.keys() <= found.keys()
    assert all(key.startswith("method_") for key in found.keys() - stock.keys())
    if not own_head(name):
        assert all(torch.equal(loss, found[key]) for key, loss in stock.items())
    sum(found.values()).backward()
    assert all(torch.isfinite(w.grad).all() for w in with_it.parameters() if w.grad is not None)
    assert with_it.about["method"] == name


PLAIN = {"recognition_loss": {"objective": "ce_plus"}}  # without pairs that chance makes


def twice(name, *seen, progress=0.9):
    """Losses of a method on each of some regions, from the same state and the same chance."""
    torch.manual_seed(0)
    method = table()[name].build(3, WIDTH, **PLAIN.get(name, {}))
    for step in range(3):
        method(regions([[0, 1, 2, 0, -1, -1], [2, 1, 0, 2, 1, -1]], 3, step), 0.1)
    held, found = {key: value.clone() for key, value in method.state_dict().items()}, []
    for one in seen:
        method.load_state_dict(held)
        torch.manual_seed(7)
        found.append(method.losses(one, progress))
    return found


@every_method
def test_the_order_of_regions_in_a_group_means_nothing(name):
    whole = regions([[0, 1, -1, 2, 2, -2], [0, 1, 1, 0, -1, -1]], 3)
    order = torch.tensor([3, 5, 0, 4, 2, 1])
    moved = whole._replace(**{key: getattr(whole, key)[:, order] for key in whole._fields[:-3]})
    one, two = twice(name, whole, moved)
    assert one.keys() == two.keys()
    for key, loss in one.items():
        assert loss.shape == (2,)
        torch.testing.assert_close(two[key], loss)


def renumbered(name, to, **options):
    """Losses on regions whose classes have other numbers, of a method that knows them by these."""
    torch.manual_seed(0)
    method = table()[name].build(3, WIDTH, **options)
    back = to.argsort()
    with torch.no_grad():
        for part in (*method.parameters(), *method.buffers()):
            if part.ndim and len(part) == 3:  # a row per class
                part.copy_(part[back])
    if name == "vos":  # the same outlier whatever the number of its class
        method.outliers = lambda count: method.bank.rows.mean(1).expand(count, -1, -1)
    columns = torch.cat([torch.tensor([0]), 1 + back, torch.tensor([4])])
    found = {}
    for step in range(4):
        seen = regions([[0, 1, 2, 0, -1, -1, 1], [2, 1, 0, 2, 1, -1, -2]], 3, step)
        label = torch.where(seen.label >= 0, to[seen.label.clamp(min=0)], seen.label)
        moved = seen._replace(
            label=label,
            logits=seen.logits[..., columns],
            classify=lambda rows, of=seen: of.classify(rows)[..., columns],
        )
        if "regions" not in table()[name].needs:
            moved = Queries(*moved[:4], (), moved.classify)
        torch.manual_seed(step)
        found = method.losses(moved, 0.9)
    return found


OF_CLASSES = [
    ("vos", {"queue": 3}),
    ("opendet", {}),
    ("opendet_cwa", {"anchor_weight": 1.0}),
    ("siren", {}),
    ("ore", {"items": 3}),
    ("prob", {}),
    *(("recognition_loss", {"objective": one}) for one in ("openauc", "arpl", "gcpl", "rpl")),
]


@pytest.mark.parametrize(("name", "options"), OF_CLASSES)
def test_the_number_of_a_class_means_nothing(name, options):
    one, two = (renumbered(name, torch.tensor(to), **options) for to in ((0, 1, 2), (2, 0, 1)))
    assert one and one.keys() == two.keys()
    for key, loss in one.items():
        assert loss.any()
        torch.testing.assert_close(two[key], loss)


class Watcher(Method):
    """Keeps what it is shown, and calls the least likely objects background."""

    def see(self, proposals):
        self.proposals = proposals

    def relabel(self, regions, progress):
        self.first = regions
        return torch.where(regions.label == 1, -1, regions.label)

    def losses(self, regions, progress):
        self.seen = [*getattr(self, "seen", []), (regions, progress)]
        return {"mean": regions.embedding.mean((1, 2))} if progress else {}


def test_what_a_method_is_shown_and_what_it_may_change():
    one = model()
    one.take(Watcher(3, 128))
    found, stock = losses(one), losses(model())
    ((seen, progress),) = one.method.seen
    assert progress == 0.0 and seen.label.shape[0] == 1
    assert seen.label.shape == seen.overlap.shape == seen.objectness.shape
    assert seen.embedding.shape[:2] == seen.logits.shape[:2] == seen.label.shape
    before = one.method.first.label
    assert set(before.flatten().tolist()) == {-1, 0, 1, 2}
    assert ((seen.overlap >= 0.5) == (before >= 0)).all()
    assert torch.isinf(seen.objectness[seen.overlap > 0.999]).all()
    # The classifier is taught the method's labels, the boxes those of the objects.
    named = torch.nn.functional.cross_entropy(seen.logits[0], seen.label[0] + 1)
    assert named.item() == pytest.approx(found["loss_classifier"].item())
    assert found["loss_classifier"].item() != stock["loss_classifier"].item()
    assert torch.equal(found["loss_box_reg"], stock["loss_box_reg"])
    assert torch.equal(one.network.roi_heads.box_predictor.cls_score(seen.embedding), seen.logits)
    assert one.method.proposals.box.shape[0] == 2
    assert (one.method.proposals.objectness.diff(dim=1) <= 0).all()


def test_a_loss_that_is_not_per_group_is_refused():
    class Whole(Method):
        """One number for all groups."""

        def losses(self, regions, progress):
            return {"mean": regions.embedding.mean()}

    with pytest.raises(UsageError, match="loss 'mean' has shape"):
        Whole(3, WIDTH)(regions([[0, 1], [1, 2]], 3), 0.0)


def test_images_that_are_no_whole_groups_are_refused():
    one = carried("recognition_loss", group=2)
    images, targets = batch()
    with pytest.raises(UsageError, match="1 images are no whole number of groups of 2"):
        one.train()(images[:1], targets[:1])


@pytest.mark.parametrize("detector", ["fcos", "retinanet"])
def test_a_detector_that_cannot_carry_it_is_refused(detector):
    with pytest.raises(UsageError, match=rf"needs the regions that.*{detector}.*: faster_rcnn, "):
        carry(model(detector), "vos", {})
    with pytest.raises(UsageError, match=r"needs the regions or queries.*faster_rcnn.*rt_detr"):
        carry(model(detector), "recognition_loss", {})
    with pytest.raises(UsageError, match=r"needs the queries that.*'faster_rcnn'.*rt_detr"):
        carry(model(), "prob", {})


def test_a_misspelt_method_is_suggested():
    with pytest.raises(UsageError, match=r"unknown method 'recognition_los'.*'recognition_loss'"):
        carry(model(), "recognition_los", {})
