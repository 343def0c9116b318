"""Recorders of transformers' models, against the library's own post-processing."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("transformers", reason="the transformers extra is not installed")

from openset.detectors import find  # noqa: E402
from openset.detectors._torch import tensor_of  # noqa: E402
from openset.findings import InputError, UsageError  # noqa: E402

LABELS = ("cat", "dog", "cow")
KEEP = frozenset({"logits", "embedding", "region", "objectness"})


def images():
    chance = np.random.default_rng(0)
    return [chance.integers(0, 255, (h, w, 3), np.uint8) for h, w in ((100, 140), (128, 90))]


def built(name, score=0.0):
    torch.manual_seed(0)
    return find(name).build(LABELS, device="cpu", size="small", score=score)


def processor(name):
    import transformers

    kinds = {"rt_detr": "RTDetrImageProcessor", "detr": "DetrImageProcessor"}
    kinds["deformable_detr"] = "DeformableDetrImageProcessor"
    return getattr(transformers, kinds.get(name, "Owlv2ImageProcessor"))()


@pytest.mark.parametrize(
    ("name", "score"),
    [("rt_detr", 0.012), ("detr", 0.25), ("owlv2", 0.1), ("deformable_detr", 0.001)],
)
def test_boxes_scores_and_labels_are_those_of_the_librarys_processor(name, score):
    model = built(name, score)
    found = model.found(images(), KEEP)
    with torch.inference_mode():
        output = model.network(**model.inputs([tensor_of(image) for image in images()]))
    sizes = torch.tensor([image.shape[:2] for image in images()])
    stock = processor(name).post_process_object_detection(
        output, threshold=score, target_sizes=sizes
    )
    for ours, theirs in zip(found, stock, strict=True):
        assert len(ours.score) > 0
        assert np.allclose(ours.score, theirs["scores"].numpy(), rtol=1e-6, atol=0)
        assert np.array_equal(ours.label, theirs["labels"].numpy())
        assert np.allclose(ours.box, theirs["boxes"].numpy(), atol=1e-3)


@pytest.mark.parametrize("name", ["rt_detr", "detr", "deformable_detr"])
def test_the_head_makes_the_logits_from_the_embeddings(name):
    model = built(name)
    found = model.found(images(), KEEP)[0]
    assert np.allclose(model.head().logits(found.embedding), found.logits, atol=1e-5)
    assert found.logits.shape[1] == len(LABELS) + (name == "detr")


def test_a_latent_of_rt_detr_is_the_mean_of_the_encoders_map_over_the_box():
    model = built("rt_detr")
    found = model.found(images(), KEEP | {"latent"})
    plain = model.found(images(), KEEP)
    maps = []
    hook = model.attention().register_forward_hook(lambda _m, _i, out: maps.append(out))
    with torch.inference_mode():
        model.network(**model.inputs([tensor_of(image) for image in images()]))
    hook.remove()
    assert maps[0].shape == (2, 64, 4, 4)  # 128 pixels, a place for every 32
    for at, (one, image) in enumerate(zip(found, images(), strict=True)):
        assert "latent" not in plain[at].attributes and np.array_equal(one.box, plain[at].box)
        latent = one.attributes["latent"]
        assert latent.shape == (len(one.score), 64)
        # A box about the middle of a place has the mean of what bilinear interpolation says there.
        height, width = image.shape[:2]
        left, top, right, bottom = one.box[0] / [width, height, width, height] * 4
        steps = (np.arange(16) + 0.5) / 16
        x = np.clip(left + steps * (right - left) - 0.5, 0, 3)
        y = np.clip(top + steps * (bottom - top) - 0.5, 0, 3)
        values = maps[0][at].numpy()
        fx, fy = x - np.floor(x), y - np.floor(y)
        x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
        x1, y1 = np.minimum(x0 + 1, 3), np.minimum(y0 + 1, 3)
        rows = values[:, y0] * (1 - fy)[None, :, None] + values[:, y1] * fy[None, :, None]
        mean = (rows[:, :, x0] * (1 - fx) + rows[:, :, x1] * fx).mean(axis=(1, 2))
        assert np.allclose(latent[0], mean, atol=1e-4), at


@pytest.mark.parametrize("name", ["rt_detr", "detr", "deformable_detr"])
def test_losses_are_finite_and_reach_the_classifier(name):
    model = built(name)
    target = {"boxes": torch.tensor([[20.0, 20.0, 60.0, 70.0]]), "labels": torch.tensor([2])}
    losses = model.train()([tensor_of(image) for image in images()], [target, target])
    sum(losses.values()).backward()
    assert torch.isfinite(sum(losses.values()))
    assert model.linear().weight.grad is not None


def test_owlv2_has_objectness_and_no_head_and_is_not_trained():
    model = built("owlv2")
    found = model.found(images(), KEEP)[0]
    assert len(found.attributes["objectness"]) == len(found.score)
    assert model.head() is None
    assert not find("owlv2").trainable
    with pytest.raises(UsageError, match="not trained"):
        model([], [])


def test_a_folder_is_read_again_and_a_missing_one_is_refused(tmp_path):
    model = built("rt_detr")
    model.network.save_pretrained(tmp_path / "model")
    again = find("rt_detr").build(
        LABELS, device="cpu", size="small", folder=str(tmp_path / "model"), score=0.0
    )
    one, two = (m.found(images(), KEEP)[0] for m in (model, again))
    assert np.array_equal(one.score, two.score)
    with pytest.raises(InputError, match="OS101"):
        find("detr").build(LABELS, folder=str(tmp_path / "absent"))
    with pytest.raises(UsageError, match="has 3 classes, not 2"):
        find("rt_detr").build(LABELS[:2], folder=str(tmp_path / "model"))


def test_a_backbone_starts_from_torchvisions_weights(tmp_path):
    from torchvision.models import resnet50

    torch.manual_seed(0)
    body = resnet50(weights=None).eval()
    file = tmp_path / "r50.pth"
    torch.save(body.state_dict(), file)
    model = find("deformable_detr").build(LABELS, device="cpu", pretrained=str(file))
    pixels = torch.rand(1, 3, 64, 64)
    maps = []
    with torch.inference_mode():
        values = body.maxpool(body.relu(body.bn1(body.conv1(pixels))))
        for stage in (body.layer1, body.layer2, body.layer3, body.layer4):
            values = stage(values)
            maps.append(values)
        found = model.network.model.backbone.model.eval()(pixels).feature_maps
    assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(found, maps[1:], strict=True))
    file = tmp_path / "r50.pth"
    torch.save({"conv1.weight": torch.zeros(3)}, file)
    with pytest.raises(InputError, match="OS605"):
        find("deformable_detr").build(LABELS, device="cpu", pretrained=str(file))


def test_regions_of_rt_detr_are_all_pairs_and_the_best_of_them_are_its_detections():
    model = built("rt_detr", 0.012)
    stock = model.found(images(), KEEP)
    with model.unsuppressed() as filters:
        regions = model.found(images(), KEEP)
    queries = model.network.config.num_queries
    assert filters == (0.012, None, queries)
    for all_of, few in zip(regions, stock, strict=True):
        assert len(all_of.score) > len(few.score)
        assert np.array_equal(all_of.score[:queries], few.score)
        pairs = np.stack([all_of.attributes["region"], all_of.label], axis=1)
        assert len(np.unique(pairs, axis=0)) == len(pairs)


@pytest.mark.parametrize("name", ["detr", "owlv2"])
def test_where_a_query_has_one_class_regions_are_the_detections(name):
    model = built(name, 0.1)
    stock = model.found(images(), KEEP)
    with model.unsuppressed() as filters:
        regions = model.found(images(), KEEP)
    assert filters == (0.1, None, None)
    assert all(np.array_equal(a.score, b.score) for a, b in zip(regions, stock, strict=True))


@pytest.mark.parametrize("name", ["rt_detr", "detr", "deformable_detr"])
def test_norms_begin_with_weights_of_one(name):
    """The library draws RT-DETR's around 0, and little is learned from there."""
    network = built(name).network
    weights = {**dict(network.named_parameters()), **dict(network.named_buffers())}
    norms = [key for key in weights if "norm" in key and key.endswith(".weight")]
    norms += [key for key in weights if "_proj." in key and key.endswith(".1.weight")]
    assert len(norms) > 15
    assert all((weights[key] == 1).all() for key in norms)
