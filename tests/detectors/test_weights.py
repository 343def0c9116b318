"""Weights: read without running code, refused when they do not fit, written whole."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.detectors import find, load, save  # noqa: E402
from openset.findings import InputError  # noqa: E402
from openset.nets.device import device_of, memory_guard  # noqa: E402

KEEP = frozenset({"logits", "embedding"})


def built(labels=("cat", "dog"), **more):
    torch.manual_seed(0)
    return find("faster_rcnn").build(labels, device="cpu", backbone="small", **more)


def found(model):
    image = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    return model.found([image], KEEP)[0]


def test_a_saved_model_is_made_again_from_its_file_alone(tmp_path):
    model, path = built(score=0.02), str(tmp_path / "model.pt")
    save(model, path)
    again = load(path, device="cpu")
    assert again.labels == ("cat", "dog")
    assert again.about == model.about
    assert len(found(model).score) > 0
    assert np.array_equal(found(again).logits, found(model).logits)
    assert [p.name for p in tmp_path.iterdir()] == ["model.pt"]


def test_a_plain_state_dictionary_is_given_as_weights(tmp_path):
    model, path = built(), tmp_path / "state.pt"
    torch.save({"state_dict": model.network.state_dict()}, path)
    torch.manual_seed(1)
    again = find("faster_rcnn").build(
        ("cat", "dog"), device="cpu", backbone="small", weights=str(path)
    )
    assert np.array_equal(found(again).logits, found(model).logits)
    with pytest.raises(InputError, match="does not say which detector"):
        load(str(path))


class Bomb:
    def __reduce__(self):
        return (os.mkdir, (os.environ["BOMB"],))


@pytest.mark.parametrize("how", ["torch", "pickle"])
def test_pickled_objects_are_refused_and_never_run(tmp_path, monkeypatch, how):
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    path = tmp_path / "model.pt"
    if how == "torch":
        torch.save({"model": Bomb()}, path)
    else:
        path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match="OS604") as refused:
        built(weights=str(path))
    assert (
        "unsupported" in refused.value.findings[0].example.lower()
    )  # torch advises to load it anyhow
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "list", "nothing"])
def test_damaged_files_are_refused(tmp_path, damage):
    path = tmp_path / "model.pt"
    save(built(), str(path))
    whole = path.read_bytes()
    if damage == "list":
        torch.save([torch.zeros(1)], path)
    elif damage == "nothing":
        torch.save({"a": 1}, path)
    else:
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "text": b"hello"}[damage])
    with pytest.raises(InputError, match="OS604"):
        built(weights=str(path))
    with pytest.raises(InputError, match="OS101"):
        built(weights=str(tmp_path / "absent.pt"))


def test_weights_of_another_number_of_classes_are_refused(tmp_path):
    save(built(), str(tmp_path / "model.pt"))
    with pytest.raises(InputError, match=r"OS605[\s\S]*box_predictor") as caught:
        built(("cat", "dog", "cow"), weights=str(tmp_path / "model.pt"))
    assert caught.value.findings[0].count == 4


def test_a_backbone_starts_from_a_file_that_need_not_stay(tmp_path):
    from torchvision.models import resnet50

    torch.manual_seed(5)
    path = tmp_path / "r50.pth"
    classifier = resnet50(weights=None)
    torch.save(classifier.state_dict(), path)
    options = {"backbone": "resnet50", "frozen": 2, "norm": "frozen"}
    model = find("fcos").build(["a"], device="cpu", pretrained=str(path), **options)
    body = model.network.backbone.body
    assert torch.equal(body.layer1[0].conv1.weight, classifier.layer1[0].conv1.weight)
    assert not body.conv1.weight.requires_grad
    assert body.layer2[0].conv1.weight.requires_grad
    save(model, str(tmp_path / "model.pt"))
    path.unlink()
    assert load(str(tmp_path / "model.pt"), device="cpu").about["options"]["frozen"] == 2


def test_a_device_that_is_not_there_is_a_finding():
    absent = "cuda:99" if torch.cuda.is_available() else "cuda"
    with pytest.raises(InputError, match="OS606"):
        device_of(absent)
    with pytest.raises(InputError, match="OS606"):
        device_of("toaster")
    assert device_of("cpu").type == "cpu"


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("not enough memory: 9 GB")]
)
def test_memory_that_runs_out_advises_a_batch(error):
    with pytest.raises(InputError, match=r"OS607[\s\S]*use a batch of 8"), memory_guard(16):
        raise error
    with pytest.raises(RuntimeError, match="shape"), memory_guard(16):
        raise RuntimeError("shape mismatch")


def test_a_frozen_norm_is_torchvisions():
    from torchvision.ops import FrozenBatchNorm2d

    from openset.detectors._backbones import FrozenNorm

    torch.manual_seed(0)
    stock, ours = FrozenBatchNorm2d(3), FrozenNorm(3)
    for name, value in stock.state_dict().items():
        value.copy_(torch.rand(3) + 0.5)
        getattr(ours, name).copy_(value)
    maps = torch.randn(2, 3, 4, 5, requires_grad=True)
    torch.testing.assert_close(ours(maps), stock(maps))
    (slope,) = torch.autograd.grad(ours(maps).square().sum(), maps)
    (wanted,) = torch.autograd.grad(stock(maps).square().sum(), maps)
    torch.testing.assert_close(slope, wanted)
    assert ours(maps.bfloat16()).dtype == torch.bfloat16
