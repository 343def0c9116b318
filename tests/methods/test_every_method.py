"""Every method: losses that stay finite, a detector that detects as before, groups of images."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from openset.detectors import Regions, carry, find  # noqa: E402
from openset.findings import UsageError  # noqa: E402
from openset.methods import Method, table  # noqa: E402

every_method = pytest.mark.parametrize("name", sorted(table()))
WIDTH = 16


def regions(label, counts, classes):
    generator = torch.Generator().manual_seed(0)
    embedding = torch.randn(len(label), WIDTH, generator=generator).requires_grad_()
    logits = torch.zeros(len(label), classes + 1)
    return Regions(embedding, logits, torch.tensor(label, dtype=torch.long), counts)


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


@every_method
def test_it_says_what_it_is(name):
    known = table()[name]
    assert known.summary.endswith(".") and known.title and known.paper and known.leaks
    able = [d for d in ("faster_rcnn", "mask_rcnn") if set(known.needs) <= set(find(d).shows)]
    assert able


@every_method
@pytest.mark.parametrize("progress", [0.0, 0.5, 0.99])
@pytest.mark.parametrize(
    ("label", "counts", "classes"),
    [
        ([], (0, 0), 3),
        ([-1] * 4, (2, 2), 3),
        ([0], (1, 0), 1),
        ([0, -1, 0, -1], (2, 2), 1),
        ([1, 1, -1, 1, 1], (1, 4), 2),
        ([0, 1, 2, -1, 2, 1], (3, 3), 3),
    ],
    ids=["no region", "background", "one region", "one class", "absent class", "all classes"],
)
def test_losses_and_gradients_are_finite(name, progress, label, counts, classes):
    method = table()[name].build(classes, WIDTH)
    seen = regions(label, counts, classes)
    total = sum(method(seen, progress).values(), seen.embedding.sum() * 0.0)
    total.backward()
    assert torch.isfinite(total)
    weights = [seen.embedding, *method.parameters()]
    assert all(torch.isfinite(w.grad).all() for w in weights if w.grad is not None)


@every_method
def test_what_is_detected_is_as_before_and_looking_changes_nothing(name):
    plain, carried = model(), model()
    carry(carried, name, {})
    before = {key: value.clone() for key, value in carried.network.state_dict().items()}
    pixels = [(image.permute(1, 2, 0) * 255).byte().numpy() for image in batch()[0]]
    keep = frozenset({"logits"})
    for one, two in zip(plain.found(pixels, keep), carried.found(pixels, keep), strict=True):
        assert one.box.tobytes() == two.box.tobytes()
        assert one.logits.tobytes() == two.logits.tobytes()
    after = carried.network.state_dict()
    assert all(torch.equal(value, after[key]) for key, value in before.items())


@every_method
@pytest.mark.parametrize("detector", ["faster_rcnn", "mask_rcnn"])
def test_the_detectors_own_losses_are_as_before(name, detector):
    plain, carried = model(detector), model(detector)
    carry(carried, name, {})
    stock, found = losses(plain), losses(carried)
    assert all(torch.equal(loss, found[key]) for key, loss in stock.items())
    assert all(key.startswith("method_") for key in found.keys() - stock.keys())
    sum(found.values()).backward()
    assert all(torch.isfinite(w.grad).all() for w in carried.parameters() if w.grad is not None)
    assert carried.about["method"] == name
    assert "select_training_samples" not in vars(carried.network.roi_heads)


class Watcher(Method):
    """Keeps what it is shown."""

    def losses(self, regions, progress):
        self.seen = [*getattr(self, "seen", []), (regions, progress)]
        return {"mean": regions.embedding.mean()} if progress else {}


def test_what_a_method_is_shown():
    one = model()
    one.network.method = Watcher(3, 128)
    found = losses(one)
    ((seen, progress),) = one.method.seen
    assert progress == 0.0 and len(seen.counts) == 2
    assert sum(seen.counts) == len(seen.label) == len(seen.embedding) == len(seen.logits)
    assert set(seen.label.tolist()) == {-1, 0, 1, 2}
    # The stock loss of the regions, from what is shown: none is missing, and none is another's.
    named = torch.nn.functional.cross_entropy(seen.logits, seen.label + 1)
    assert torch.equal(named, found["loss_classifier"])
    assert torch.equal(one.network.roi_heads.box_predictor.cls_score(seen.embedding), seen.logits)


def test_losses_are_the_mean_over_groups_of_images():
    method = table()["recognition_loss"].build(3, WIDTH, objective="ce_plus", group=2)
    whole = regions([0, 1, -1, 2, 2, 0, 1, 1, 0], (2, 1, 0, 6), 3)
    first = Regions(whole.embedding[:3], whole.logits[:3], whole.label[:3], (2, 1))
    second = Regions(whole.embedding[3:], whole.logits[3:], whole.label[3:], (0, 6))
    one = method(whole, 0.0)["recognition"]
    two = [method(part, 0.0)["recognition"] for part in (first, second)]
    assert one.item() == pytest.approx((two[0] + two[1]).item() / 2)
    assert [part.counts for part in whole.groups(3)] == [(2, 1, 0), (6,)]


@pytest.mark.parametrize("detector", ["fcos", "retinanet"])
def test_a_detector_that_cannot_carry_it_is_refused(detector):
    with pytest.raises(UsageError, match=rf"needs the regions.*{detector}.*faster_rcnn, mask_rcnn"):
        carry(model(detector), "recognition_loss", {})


def test_a_misspelt_method_is_suggested():
    with pytest.raises(UsageError, match=r"unknown method 'recognition_los'.*'recognition_loss'"):
        carry(model(), "recognition_los", {})
