"""Dropout sampling: all regions, many passes, one batch or another."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from openset.detectors import carry, find  # noqa: E402
from openset.findings import UsageError  # noqa: E402

LABELS = ("red", "green", "blue")
SAMPLED = frozenset({"logits", "region", "logit_samples", "box_samples"})


@pytest.fixture(scope="module", autouse=True)
def one_thread(one_torch_thread):
    """One thread of torch for all of them."""


def built(passes, method="", **options):
    torch.manual_seed(0)
    small = {"backbone": "small", "shortest": 64, "longest": 64, "score": 0.0, **options}
    model = find("faster_rcnn").build(LABELS, device="cpu", passes=passes, **small)
    if method:
        carry(model, method, {})
    with torch.no_grad():  # boxes that move, and classes that differ from one class to the other
        last = model.network.roi_heads.box_predictor
        last.bbox_pred.weight.normal_(std=0.3)
        if not method:
            last.cls_score.weight.normal_(std=0.5)
    return model


def images(count=2):
    chance = np.random.default_rng(0)
    return [chance.integers(0, 255, (64, 80, 3), np.uint8) for _ in range(count)]


def probabilities(logits):
    return torch.softmax(torch.tensor(logits), -1).numpy()


@pytest.mark.parametrize("method", ["", "opendet"])
def test_a_detection_is_the_mean_of_its_passes(method):
    for found in built(7, method).found(images(), SAMPLED):
        samples = found.attributes["logit_samples"]
        assert samples.shape[:2] == (len(found.score), 7) and len(found.score) > 10
        mean = probabilities(samples).mean(axis=1)
        assert found.score == pytest.approx(mean[np.arange(len(mean)), found.label + 1], abs=1e-5)
        boxes = found.attributes["box_samples"].mean(axis=1)
        corners = np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)
        assert found.box == pytest.approx(corners, abs=1e-3)
        assert (found.attributes["box_samples"].std(axis=1) > 0.01).any()
        if method:
            assert found.unknownness == pytest.approx(mean[:, -1], abs=1e-5)


def test_what_survives_is_decided_by_the_means_of_all_regions():
    # The plain detector keeps other regions: means are made before anything is dropped.
    plain, sampled = (built(n, most=20).found(images(1), SAMPLED)[0] for n in (0, 7))
    assert not np.array_equal(plain.attributes["region"], sampled.attributes["region"])
    order = np.argsort(-sampled.score, kind="stable")
    assert np.array_equal(order, np.arange(len(order)))  # best first, by their means
    assert (plain.score == probabilities(plain.logits)[
        np.arange(len(plain.score)), plain.label + 1]).all()  # fmt: skip


def test_one_pass_and_many_differ_and_both_repeat():
    one, many, again = (built(n).found(images(1), SAMPLED)[0].score for n in (1, 30, 30))
    assert np.array_equal(many, again) and not np.array_equal(one[: len(many)], many[: len(one)])


def test_an_image_does_not_depend_on_its_batch():
    model, both = built(5), images()
    together = model.found(both, SAMPLED)
    for image, found in zip(both, together, strict=True):
        (alone,) = model.found([image], SAMPLED)
        assert alone.score == pytest.approx(found.score, abs=1e-5)
        for name in ("logit_samples", "box_samples"):
            assert alone.attributes[name] == pytest.approx(found.attributes[name], abs=1e-2)


def test_boxes_stay_inside_of_their_image():
    for found in built(5).found(images(), SAMPLED):
        boxes = found.attributes["box_samples"]
        assert (boxes >= -1e-3).all()
        assert (boxes[..., 0] + boxes[..., 2] <= 80 + 1e-2).all()
        assert (boxes[..., 1] + boxes[..., 3] <= 64 + 1e-2).all()


def test_without_passes_detections_are_plain_and_samples_are_evidence():
    model, keep = built(0), frozenset({"logits", "box_samples"})
    (found,) = model.found(images(1), keep)
    assert found.attributes["box_samples"].shape == (len(found.score), 30, 4)
    (bare,) = model.found(images(1), frozenset({"logits"}))
    assert np.array_equal(bare.score, found.score) and np.array_equal(bare.box, found.box)


def test_one_observation_of_one_pass_is_what_the_pass_found():
    keep = frozenset({"logits"})
    (each,) = built(1, most=20, observations=True, nms=0.5).found(images(1), keep)
    (mean,) = built(1, most=20, nms=0.5).found(images(1), keep | {"logit_samples"})
    # Boxes of several classes may overlap by more than 95 %, and are then one observation.
    assert len(each.score) <= len(mean.score) and each.unknownness is not None
    lone = [row for row, score in enumerate(each.score) if np.isclose(mean.score, score).any()]
    assert len(lone) > 5
    for row in lone:
        (at, *_) = np.flatnonzero(np.isclose(mean.score, each.score[row]))
        samples = mean.attributes["logit_samples"][at, 0]
        assert each.logits[row] == pytest.approx(samples, abs=1e-4)


def test_observations_are_means_over_passes_with_the_entropy_of_their_classes():
    keep = frozenset({"logits", "embedding"})
    for found in built(6, observations=True, most=10).found(images(), keep):
        assert 0 < len(found.score) <= 60 and found.embedding.shape == (len(found.score), 128)
        assert (found.unknownness >= 0).all() and (found.unknownness <= np.log(4) + 1e-6).all()
        assert ((found.score >= 0) & (found.score <= 1)).all()
        order = np.lexsort((found.box[:, 0],))
        boxes = found.box[order]
        assert len(np.unique(boxes.round(3), axis=0)) == len(boxes)  # no observation twice


def test_an_image_without_detections_has_no_observations():
    keep = frozenset({"logits"})
    (found,) = built(3, observations=True, score=0.999).found(images(1), keep)
    assert len(found.score) == 0 and found.logits.shape == (0, 4) and len(found.unknownness) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"passes": -1}, "passes must be at least 0"),
        ({"passes": 0, "observations": True}, "observations are of passes with dropout"),
    ],
)
def test_passes_that_cannot_be_are_said(options, said):
    with pytest.raises(UsageError, match=said):
        built(**options)


def test_evidence_that_observations_have_not_is_said():
    with pytest.raises(UsageError, match=r"observations keep embedding, logits, .* not latent"):
        built(2, observations=True).found(images(1), frozenset({"latent"}))
