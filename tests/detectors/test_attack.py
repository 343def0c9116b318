"""Attack: pictures one step away, at the same boxes, from a detector that stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from openset import scorers  # noqa: E402
from openset.detectors import ImageFiles, _rcnn, attack, carry, find  # noqa: E402
from openset.detectors._rcnn import RegionModel  # noqa: E402
from openset.findings import InputError, UsageError  # noqa: E402
from openset.formats import read_annotations  # noqa: E402
from scenes.training import LABELS, make_data  # noqa: E402


def built(detector="faster_rcnn", labels=LABELS):
    torch.manual_seed(0)
    options = {"backbone": "small", "shortest": 64, "longest": 64, "score": 0.0}
    return find(detector).build(labels, device="cpu", **options)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = make_data(tmp_path_factory.mktemp("data"))
    truth = read_annotations(path)
    return ImageFiles.of_annotations(truth, path.parent), truth


@pytest.fixture(scope="module")
def attacked(data):
    return attack(built(), *data, most=5, split="squares train")


def test_the_same_boxes_have_features_of_both_pictures(attacked):
    clean, changed = (attacked.attributes[n] for n in ("shortcut", "shortcut_attacked"))
    assert clean.shape == changed.shape and len(clean) == len(attacked) > 0
    assert not np.allclose(clean, changed, atol=1e-3)
    assert np.unique(attacked.image, return_counts=True)[1].max() <= 5
    assert attacked.provenance["attack"] == {"step": 8 / 255, "most": 5}


def test_a_step_of_nothing_changes_nothing_and_cannot_be_told(data):
    same = attack(built(), *data, step=0.0, most=5, split="squares train")
    clean, changed = (same.attributes[n] for n in ("shortcut", "shortcut_attacked"))
    assert np.allclose(clean, changed, atol=1e-4)
    learned = scorers.find("safe").fit(same, images=2, epochs=20)
    assert learned.state.accuracy == pytest.approx(0.5, abs=0.15)


def test_every_value_moves_by_one_step_at_most(monkeypatch):
    model, seen = built(), []
    laid = _rcnn.laid

    def watched(transform, images):
        seen.append([image.detach().clone() for image in images])
        return laid(transform, images)

    monkeypatch.setattr(_rcnn, "laid", watched)
    image = torch.rand(3, 64, 64)
    target = {"boxes": torch.tensor([[8.0, 8, 40, 40]]), "labels": torch.tensor([0])}
    model.attacked(image, target, target["boxes"], 0.03)
    moved = (seen[-1][0] - image).abs()
    assert moved.max() <= 0.03 + 1e-6
    inside = (image > 0.03) & (image < 0.97)
    assert (moved[inside] > 0.029).float().mean() > 0.9  # wherever the loss has a slope


@pytest.mark.parametrize("name", ["", "vos", "opendet"])
def test_the_detector_stays_as_it_was(data, name):
    model = built()
    if name:
        carry(model, name, {})
    before = {key: value.clone() for key, value in model.network.state_dict().items()}
    files, truth = data
    attack(model, files.select(slice(0, 2)), truth, most=2)
    after = model.network.state_dict()
    assert all(torch.equal(value, after[key]) for key, value in before.items())
    assert not name or model.method.group == 2


def test_it_is_the_same_every_time(data, attacked):
    torch.manual_seed(9)
    again = attack(built(), *data, most=5)
    rows = "shortcut_attacked"
    assert np.array_equal(again.attributes[rows], attacked.attributes[rows])


def test_what_cannot_be_attacked_is_said(data):
    with pytest.raises(InputError, match=r"OS656[\s\S]*horse"):
        attack(built(labels=("horse", "cow")), *data)
    torch.manual_seed(0)
    options = {"backbone": "small", "shortest": 64, "longest": 64}
    fcos = find("fcos").build(LABELS, device="cpu", **options)
    with pytest.raises(UsageError, match="'fcos' does not keep them"):
        attack(fcos, *data)
    with pytest.raises(UsageError, match="step must be"):
        attack(built(), *data, step=2.0)
    assert issubclass(RegionModel, torch.nn.Module)


def test_safe_learns_from_it_and_scores_any_detections(attacked):
    fitted = scorers.find("safe").fit(attacked, images=2, epochs=30, lr=0.01)
    found = fitted.scored(attacked)
    assert np.isfinite(found.unknownness).all() and "safe fitted on" in str(fitted.entry)
