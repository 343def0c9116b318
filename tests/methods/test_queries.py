"""Every method of queries: the library's own loss, labels and columns it may change, groups."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("transformers", reason="the transformers extra is not installed")

from transformers.loss.loss_rt_detr import RTDetrHungarianMatcher  # noqa: E402
from transformers.loss.loss_utils import LOSS_MAPPING  # noqa: E402

from openset.detectors import Queries, carry, find  # noqa: E402
from openset.detectors._torch import tapped  # noqa: E402
from openset.findings import UsageError  # noqa: E402
from openset.methods import Method, table  # noqa: E402

LABELS = ("red", "green", "blue")
WIDTH = 64
every_detector = pytest.mark.parametrize("detector", ["rt_detr", "deformable_detr"])
every_method = pytest.mark.parametrize(
    "name", sorted(name for name, one in table().items() if "queries" in one.needs)
)
OFF = {
    "prob": {"weight": 0.0, "empty": 0.0},
    "recognition_loss": {"weight": 0.0},
    "siren": {"weight": 0.0},
}


class Plain(Method):
    """Keeps what it is shown."""

    def losses(self, regions, progress):
        self.seen = regions
        return {}


class Strict(Plain):
    """Calls the second class background, and what was matched to nothing unknown."""

    unknown = True

    def relabel(self, regions, progress):
        label = torch.where(regions.label == -1, self.classes, regions.label)
        return torch.where(regions.label == 1, -1, label)


def model(detector, **options):
    torch.manual_seed(0)
    chosen = {"size": "small", "score": 0.0, **options}
    return find(detector).build(LABELS, device="cpu", **chosen)


def carried(detector, name, **options):
    one = model(detector)
    torch.manual_seed(1)
    carry(one, name, {"group": 2, **options})
    return one


def of_the_library(detector):
    """A detector whose loss is the library's own."""
    one = model(detector)
    one.network.loss_function = LOSS_MAPPING[type(one.network).__name__]
    return one


def taken(detector, kind=Plain):
    one = model(detector)
    one.take(kind(len(LABELS), WIDTH))
    return one


def batch(labels=((0, 2), (1, 1))):
    generator = torch.Generator().manual_seed(0)
    images = [torch.rand(3, 128, 128, generator=generator) for _ in labels]
    boxes = torch.tensor([[8.0, 8, 80, 60], [20, 20, 110, 120]])
    return images, [
        {"boxes": boxes[: len(one)], "labels": torch.tensor(one, dtype=torch.long)}
        for one in labels
    ]


def losses(one, labels=((0, 2), (1, 1))):
    torch.manual_seed(3)
    return one.train()(*batch(labels))


def slopes(one):
    return {name: w.grad for name, w in one.network.named_parameters() if w.grad is not None}


@every_detector
@pytest.mark.parametrize("labels", [((0, 2), (1, 1)), ((0,), ()), ((), ())])
def test_without_a_word_from_the_method_the_loss_is_the_librarys_to_the_last_bit(detector, labels):
    stock = of_the_library(detector)
    loss = losses(stock, labels)["loss"]
    loss.backward()
    first = slopes(stock)
    for ours in (model(detector), taken(detector)):
        found = losses(ours, labels)
        assert found.keys() == {"loss"} and torch.equal(found["loss"], loss)
        found["loss"].backward()
        second = slopes(ours)
        assert first.keys() == second.keys()
        assert all(torch.equal(grad, second[name]) for name, grad in first.items())


@pytest.mark.parametrize("make", [model, taken])
def test_queries_that_denoise_are_matched_to_nothing(make, monkeypatch):
    """They begin beside the objects: what detects would be left without any (transformers 5.17)."""
    stock, shown = RTDetrHungarianMatcher.forward, []

    def matched(self, outputs, targets):
        shown.append(outputs["logits"].shape[1])
        return stock(self, outputs, targets)

    monkeypatch.setattr(RTDetrHungarianMatcher, "forward", matched)
    losses(make("rt_detr"))
    assert shown == [30] * 3  # of two layers of the decoder, and of the encoder


@every_detector
@every_method
def test_off_it_is_the_base_detector_bit_for_bit(detector, name):
    off = carried(detector, name, **OFF[name])
    assert torch.equal(losses(off)["loss"], losses(model(detector))["loss"])
    assert not [key for key in losses(off) if key.startswith("method_")]


@every_detector
@every_method
@pytest.mark.parametrize("labels", [((0, 2), (1, 1)), ((0,), ()), ((), ())])
def test_losses_and_gradients_are_finite(detector, name, labels):
    one = carried(detector, name)
    found = losses(one, labels)
    total = sum(found.values())
    total.backward()
    assert torch.isfinite(total) and any(key.startswith("method_") for key in found)
    assert all(torch.isfinite(grad).all() for grad in slopes(one).values())
    assert one.method.shown == "queries"


@every_detector
def test_one_class_is_enough(detector):
    torch.manual_seed(0)
    one = find(detector).build(("red",), device="cpu", size="small", score=0.0)
    carry(one, "prob", {"group": 2})
    assert torch.isfinite(sum(losses(one, ((0,), (0, 0))).values()))


@every_detector
@every_method
def test_looking_changes_nothing_and_scores_are_probabilities(detector, name):
    one = carried(detector, name)
    before = {key: value.clone() for key, value in one.network.state_dict().items()}
    pixels = [(image.permute(1, 2, 0) * 255).byte().numpy() for image in batch()[0]]
    found = one.found(pixels, frozenset({"logits", "embedding"}))
    after = one.network.state_dict()
    assert all(torch.equal(value, after[key]) for key, value in before.items())
    columns = 3 + table()[name].make.unknown
    for image in found:
        assert len(image.score) and (image.score >= 0).all() and (image.score <= 1).all()
        assert set(image.label.tolist()) <= set(range(columns))
        assert image.logits.shape[1] == columns
        says = table()[name].make.unknown or name == "siren"
        assert (image.unknownness is not None) == says
        assert np.allclose(one.head().logits(image.embedding), image.logits, atol=1e-5)
    stock = model(detector).found(pixels, frozenset({"logits"}))
    for mine, theirs in zip(found, stock, strict=True):  # known columns are what they were
        rows = {row.tobytes() for row in theirs.logits}
        assert rows & {row[:3].tobytes() for row in mine.logits}


@every_detector
def test_what_a_method_is_shown(detector):
    one = taken(detector)
    losses(one, ((0, 2), (1,)))
    seen = one.method.seen
    assert seen.label.shape == seen.overlap.shape == (1, 60)  # no query that helps to denoise
    assert seen.embedding.shape == (1, 60, WIDTH) and seen.logits.shape == (1, 60, 3)
    assert len(seen.earlier) == 1 and seen.earlier[0].earlier == ()
    for layer in (seen, *seen.earlier):
        assert sorted(layer.label[layer.label >= 0].tolist()) == [0, 1, 2]
        assert ((layer.overlap >= 0) & (layer.overlap <= 1)).all()
    assert torch.allclose(seen.classify(seen.embedding), seen.logits, atol=1e-6)
    assert (seen.label[:, :30] != 1).all() and (seen.label[:, 30:] != 0).all()  # of its own image


@every_detector
def test_a_query_that_is_called_unknown_is_taught_so_and_its_box_is_not(detector):
    one, stock = taken(detector, Strict), model(detector)
    with tapped(one.linear()) as logits:
        found, plain = losses(one)["loss"], losses(stock)["loss"]
    assert found.item() != plain.item()
    seen = one.method.seen
    said = seen.label[0] == 3
    assert said.sum() == 60 - 4 and set(seen.label[0].tolist()) == {0, 2, 3, -1}
    (slope,) = torch.autograd.grad(found, logits)
    slope = slope[:, -30:].flatten(0, 1)[None]
    assert (slope[0, said, 3] < 0).all()  # towards "unknown" ...
    assert (slope[0, ~said, 3] >= 0).all() and (slope[0, ~said, 3] > 0).any()  # and away from it
    assert (slope[0, seen.label[0] == -1, 1] > 0).all()  # no more of the class that it was
    assert one.layout == "sigmoid-unknown-last" and one.head().weight.shape[0] == 4


def boxes_moved(one):
    losses(one)["loss"].backward()
    return {name: grad for name, grad in slopes(one).items() if "bbox_embed" in name}


@every_detector
def test_boxes_are_taught_by_objects_alone(detector):
    one, two = boxes_moved(taken(detector, Strict)), boxes_moved(model(detector))
    assert one and one.keys() == two.keys()
    last = [name for name in one if name.endswith("layers.2.bias")]
    assert last and all(torch.allclose(one[name], two[name], atol=1e-5) for name in last)


@every_detector
def test_the_weight_of_the_column_is_the_methods(detector):
    found = {}
    for weight in (0.0, 1.0, 2.0):
        one = taken(detector, Strict)
        one.method.unknown_weight = weight
        found[weight] = losses(one)["loss"].item()
    assert found[2.0] - found[1.0] == pytest.approx(found[1.0] - found[0.0], rel=1e-4)
    assert found[1.0] > found[0.0]


def test_a_group_at_a_time_is_the_same_queries():
    chance = torch.Generator().manual_seed(0)
    columns = [torch.randn(2, 5, 4, generator=chance), torch.randn(2, 5, 3, generator=chance)]
    columns += [torch.zeros(2, 5, dtype=torch.long), torch.rand(2, 5, generator=chance)]
    first = Queries(*columns, (), None)
    each = first._replace(earlier=(first,)).each()
    assert len(each) == 2
    assert torch.equal(torch.cat([one.embedding for one in each]), columns[0])
    assert torch.equal(torch.cat([one.earlier[0].label for one in each]), columns[2])


def test_images_that_are_no_whole_groups_are_refused():
    with pytest.raises(UsageError, match="2 images are no whole number of groups of 5"):
        losses(carried("rt_detr", "prob", group=5))


@every_detector
def test_layers_that_shared_a_classifier_share_its_column(detector):
    one = taken(detector, Strict)
    first, last = one.classifiers()[0], one.classifiers()[-1]
    shared = first.known.weight is last.known.weight
    assert (first.unknown.weight is last.unknown.weight) == shared
    assert shared == (detector == "deformable_detr")


@every_detector
def test_siren_shapes_the_matched_queries_of_the_last_layer(detector):
    one = carried(detector, "siren", inner=16, weight=1.5)
    found = losses(one)
    assert 0 < found["method_shape"].item() < 1.5 * 14
    assert one.method.seen.tolist() == [True, True, True]
    (slope,) = torch.autograd.grad(found["method_shape"], one.method.concentration)
    assert slope.abs().sum() > 0
    pixels = [(image.permute(1, 2, 0) * 255).byte().numpy() for image in batch()[0]]
    for image in one.found(pixels, frozenset({"embedding"})):
        length = np.linalg.norm(image.attributes["projection"], axis=1)
        assert image.attributes["projection"].shape[1] == 16 and np.allclose(length, 1, atol=1e-5)
        assert np.isfinite(image.unknownness).all() and np.ptp(image.unknownness) > 0
