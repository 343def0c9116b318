"""Recorders of torchvision's models: stock outputs to the last bit, and evidence that fits them."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from openset.detectors import find  # noqa: E402
from openset.detectors._torch import tensor_of  # noqa: E402
from openset.findings import UsageError  # noqa: E402
from openset.tables import LogitLayout  # noqa: E402
from openset.tables.overlap import class_wise_nms  # noqa: E402

LABELS = ("cat", "dog", "cow", "hen")
NAMES = ("faster_rcnn", "mask_rcnn", "retinanet", "fcos")


def images():
    chance = np.random.default_rng(0)
    return [chance.integers(0, 255, (h, w, 3), np.uint8) for h, w in ((100, 140), (128, 90))]


def built(name, **options):
    torch.manual_seed(0)
    options = {"backbone": "small", "score": 0.05, **options}
    model = find(name).build(LABELS, device="cpu", **options)
    # Small random classifiers say the same of every box: make them opinionated.
    with torch.no_grad():
        if options["backbone"] != "small":
            if name == "faster_rcnn":
                model.network.rpn._post_nms_top_n = {"training": 10, "testing": 10}
            return model
        for part, weight in model.network.named_parameters():
            if part.endswith(("cls_score.weight", "cls_logits.weight")):
                weight.mul_(200)
            if part.endswith("cls_logits.bias"):
                weight.zero_()
    return model


def everything(name):
    return frozenset(find(name).keeps)


@pytest.mark.parametrize(
    ("name", "backbone"),
    [(name, "small") for name in NAMES]
    + [("faster_rcnn", "resnet50"), ("faster_rcnn", "resnet50-c4"), ("retinanet", "resnet50")]
    + [("faster_rcnn", "efficientnet-lite0")],
)
def test_boxes_scores_and_labels_are_the_stock_models_to_the_last_bit(name, backbone):
    sides = {} if backbone == "small" else {"shortest": 64, "longest": 96, "score": 0.0}
    model = built(name, backbone=backbone, **sides)
    found = model.found(images(), everything(name))
    with torch.inference_mode():
        stock = model.network([tensor_of(image) for image in images()])
    first = 0 if model.layout is LogitLayout.SIGMOID else 1
    for ours, theirs in zip(found, stock, strict=True):
        assert len(ours.score) > 0
        assert np.array_equal(ours.box, theirs["boxes"].numpy())
        assert np.array_equal(ours.score, theirs["scores"].numpy())
        assert np.array_equal(ours.label + first, theirs["labels"].numpy())


@pytest.mark.parametrize("name", ["faster_rcnn", "mask_rcnn"])
def test_the_softmax_of_the_logits_is_the_score(name):
    for found in built(name).found(images(), everything(name)):
        shares = torch.softmax(torch.tensor(found.logits), -1).numpy()
        assert np.array_equal(shares[np.arange(len(found.label)), found.label + 1], found.score)
        assert len(np.unique(found.label)) > 1


def test_sigmoids_of_the_logits_are_the_scores():
    for found in built("retinanet").found(images(), everything("retinanet")):
        chosen = torch.sigmoid(torch.tensor(found.logits)).numpy()
        assert np.array_equal(chosen[np.arange(len(found.label)), found.label], found.score)
    for found in built("fcos").found(images(), everything("fcos")):
        own = torch.sigmoid(torch.tensor(found.logits)).numpy()
        own = own[np.arange(len(found.label)), found.label] * found.attributes["centerness"]
        assert np.allclose(np.sqrt(own), found.score, atol=1e-6)


def test_the_head_makes_the_logits_from_the_embeddings():
    model = built("faster_rcnn")
    found = model.found(images(), everything("faster_rcnn"))[0]
    assert np.allclose(model.head().logits(found.embedding), found.logits, atol=1e-4)
    assert model.head().layout == LogitLayout.SOFTMAX_BACKGROUND_FIRST
    assert built("retinanet").head() is None


def test_evidence_has_one_row_per_box_and_only_what_was_asked_for():
    model = built("faster_rcnn")
    found = model.found(images(), everything("faster_rcnn"))[1]
    assert {len(v) for v in found.attributes.values()} == {len(found.score)}
    assert found.attributes["logit_samples"].shape[1:] == (30, len(LABELS) + 1)
    assert found.attributes["latent"].shape[1] == 3 * 32
    assert ((found.attributes["objectness"] > 0) & (found.attributes["objectness"] < 1)).all()
    bare = model.found(images(), frozenset({"logits"}))[1]
    assert bare.embedding is None
    assert bare.attributes == {}


def test_boxes_of_one_region_share_their_evidence():
    found = built("faster_rcnn").found(images(), everything("faster_rcnn"))[0]
    region, count = np.unique(found.attributes["region"], return_counts=True)
    rows = np.flatnonzero(found.attributes["region"] == region[count.argmax()])
    assert len(rows) > 1
    assert (found.logits[rows] == found.logits[rows[0]]).all()
    assert len(np.unique(found.label[rows])) == len(rows)


def test_regions_are_numbered_by_falling_objectness():
    found = built("faster_rcnn").found(images(), everything("faster_rcnn"))
    for boxes in found:
        objectness = boxes.attributes["objectness"][np.argsort(boxes.attributes["region"])]
        assert (np.diff(objectness) <= 0).all()
        assert objectness[0] > objectness[-1]


@pytest.mark.parametrize("name", ["retinanet", "fcos"])
def test_evidence_of_a_one_stage_box_is_that_of_its_anchor(name):
    model = built(name)
    found = model.found(images(), everything(name))
    with torch.inference_mode():
        batch, _ = model.network.transform([tensor_of(image) for image in images()])
        maps = list(model.network.backbone(batch.tensors).values())
        head = model.network.head.classification_head
        logits, towers = head(maps), torch.cat([head.conv(m).flatten(2) for m in maps], -1)
    anchors = logits.shape[1] // towers.shape[2]
    for at, boxes in enumerate(found):
        region = boxes.attributes["region"]
        assert len(np.unique(region)) > 3
        assert np.array_equal(boxes.logits, logits[at, region].numpy())
        assert np.array_equal(boxes.embedding, towers[at][:, region // anchors].T.numpy())


def test_dropout_passes_differ_and_repeat():
    model, keep = built("faster_rcnn"), frozenset({"logit_samples"})
    first, again = (model.found(images(), keep)[0].attributes["logit_samples"] for _ in range(2))
    assert np.array_equal(first, again)
    assert (first.std(axis=1) > 0).any()


def test_a_box_head_without_hidden_layers_drops_before_the_classifier():
    sides = {"shortest": 64, "longest": 96, "score": 0.0, "most": 5}
    model = built("faster_rcnn", backbone="resnet50-c4", **sides)
    found = model.found(images()[:1], frozenset({"logits", "embedding", "logit_samples"}))[0]
    samples = found.attributes["logit_samples"]
    assert samples.shape == (len(found.logits), 30, len(LABELS) + 1)
    assert (samples.std(axis=1) > 0).all()
    spread = np.abs(samples - found.logits[:, None]).mean()
    assert np.abs(samples.mean(axis=1) - found.logits).mean() < 0.5 * spread  # of the same mean


def test_blocks_dropped_from_the_map_are_a_sample_of_its_mean():
    model, keep = built("faster_rcnn"), frozenset({"latent", "latent_samples"})
    first, again = (model.found(images(), keep)[0].attributes for _ in range(2))
    samples = first["latent_samples"]
    assert samples.shape == (len(first["latent"]), 30, first["latent"].shape[1])
    assert np.array_equal(samples, again["latent_samples"])
    assert (samples.std(axis=1) > 0).any()
    seen = first["latent"].mean()
    assert abs(samples.mean() - seen) < 0.2 * abs(seen)  # what is left is scaled up


def test_a_latent_is_the_mean_of_a_map_over_the_box():
    from openset.detectors._torch import averaged

    column = torch.arange(8.0).expand(1, 1, 8, 8)
    boxes = [torch.tensor([[8.0, 0.0, 40.0, 64.0]])]
    # Cell centres are at 4, 12, ... of 64 pixels: the mean over 8..40 is column 2.5.
    assert averaged([column], boxes, 64).item() == pytest.approx(2.5, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_losses_reach_every_weight(name):
    model = built(name)
    target = {"boxes": torch.tensor([[20.0, 20.0, 60.0, 70.0]]), "labels": torch.tensor([2])}
    losses = model.train()([tensor_of(image) for image in images()], [target, target])
    sum(losses.values()).backward()
    assert all(torch.isfinite(loss) for loss in losses.values())
    missing = [n for n, w in model.named_parameters() if w.requires_grad and w.grad is None]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_found_keeps_the_widths_of_the_evidence(name):
    model = built(name, score=1.5)
    for found in model.found(images(), everything(name)):
        assert len(found.score) == len(found.logits) == len(found.embedding) == 0
        assert found.logits.shape[1] >= len(LABELS)
        assert found.attributes["latent"].shape[1] > 0


def test_masks_fill_their_boxes():
    from openset.detectors._rcnn import box_masks

    masks = box_masks(torch.tensor([[1.0, 2.0, 4.0, 3.0]]), torch.Size((5, 6)))
    assert masks.sum() == 3
    assert masks[0, 2, 1:4].all()


def test_options_of_another_type_are_refused():
    for wrong in ({"nms": "abc"}, {"most": 2.5}, {"frozen": True}, {"shortest": ["a"]}):
        with pytest.raises(
            UsageError, match=f"option {next(iter(wrong))} of detector 'faster_rcnn'"
        ):
            find("faster_rcnn").build(LABELS, **wrong)
    assert find("faster_rcnn").build(LABELS, backbone="small", shortest=[64, 96], longest=None)


def test_a_misspelt_backbone_gets_a_suggestion():
    with pytest.raises(ValueError, match="Did you mean 'small'"):
        find("fcos").build(LABELS, device="cpu", backbone="smal")
    with pytest.raises(ValueError, match="Did you mean 'backbone'"):
        find("fcos").build(LABELS, device="cpu", bakbone="small")


def test_efficientnet_lite0_takes_the_weights_of_a_classifier(tmp_path):
    from openset.detectors._efficientnet import LitePyramid

    torch.manual_seed(1)
    body = LitePyramid().body.state_dict()
    named = {f"_blocks.{at}": value for at, value in enumerate(body.values())}
    named["_fc.weight"] = torch.zeros(1000, 1280)
    torch.save(named, tmp_path / "lite0.pth")
    model = find("faster_rcnn").build(
        LABELS, device="cpu", backbone="efficientnet-lite0", pretrained=str(tmp_path / "lite0.pth")
    )
    taken = model.network.backbone.body.state_dict()
    assert all(torch.equal(taken[name], value) for name, value in body.items())
    strides = [64 / m.shape[-1] for m in model.network.backbone(torch.zeros(1, 3, 64, 64)).values()]
    assert strides == [4, 8, 16, 32, 64]
    with pytest.raises(ValueError, match="no option frozen"):
        find("faster_rcnn").build(LABELS, device="cpu", backbone="efficientnet-lite0", frozen=2)


def filtered(found, filters):
    """What a detector's own filters make of its regions."""
    box = np.concatenate([found.box[:, :2], found.box[:, 2:] - found.box[:, :2]], axis=1)
    image = np.zeros(len(found.score))
    overlap = np.inf if filters.nms is None else filters.nms
    limit = filters.most or len(found.score)
    return class_wise_nms(image, box, found.label, found.score, overlap=overlap, limit=limit)


@pytest.mark.parametrize("name", NAMES)
def test_regions_are_what_the_filters_make_detections_of(name):
    model = built(name, most=20)
    with torch.no_grad():  # no two scores of 1, whose order is nobody's business
        for part, weight in model.network.named_parameters():
            weight.mul_(0.1 if part.endswith("cls_logits.weight") else 1)
    stock = model.found(images(), everything(name))
    with model.unsuppressed() as filters:
        regions = model.found(images(), everything(name))
    assert filters == (0.05, 0.5, 20)
    for all_of, few in zip(regions, stock, strict=True):
        assert len(all_of.score) > len(few.score) == 20
        rows = filtered(all_of, filters)
        assert np.array_equal(all_of.score[rows], few.score)
        assert np.array_equal(all_of.box[rows], few.box)
        assert np.array_equal(all_of.label[rows], few.label)
    again = model.found(images(), everything(name))
    assert all(np.array_equal(a.score, b.score) for a, b in zip(again, stock, strict=True))
