"""Grow: a head for more classes keeps what it knew of the old ones, to the last bit."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.detectors import carry, find, grow, save  # noqa: E402
from openset.findings import InputError  # noqa: E402

SMALL = {"backbone": "small", "shortest": 64, "longest": 64}
OLD, NEW = ("zero", "one"), ("zero", "one", "two", "three", "four")


def model(labels, seed, name="faster_rcnn", method="", **options):
    torch.manual_seed(seed)
    built = find(name).build(labels, device="cpu", **(options or SMALL))
    if method:
        carry(built, method, {})
    return built.eval()


def grown(tmp_path, **changes):
    """A model of two classes, and one of five that started from it."""
    old = model(OLD, 0, **changes)
    save(old, str(tmp_path / "old.pt"))
    new = model(NEW, 1, **changes)
    fresh = {name: value.clone() for name, value in new.network.state_dict().items()}
    grow(new, tmp_path / "old.pt")
    return old, new, fresh


def test_old_logits_and_boxes_stay(tmp_path):
    """Weights to the last bit; a product with more columns may sum in another order."""
    old, new, fresh = grown(tmp_path)
    before, after = (m.network.roi_heads.box_predictor for m in (old, new))
    for name, of in (("cls_score", 3), ("bbox_pred", 12)):  # the background comes first
        kept, held = getattr(before, name), getattr(after, name)
        assert torch.equal(kept.weight, held.weight[:of])
        assert torch.equal(kept.bias, held.bias[:of])
    x = torch.randn(40, 128)
    logits, boxes = after(x)
    torch.testing.assert_close(logits[:, :3], before(x)[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(boxes[:, :12], before(x)[1], rtol=1e-5, atol=1e-6)
    name = "roi_heads.box_predictor.cls_score.weight"
    assert torch.equal(new.network.state_dict()[name][3:], fresh[name][3:])


def test_the_column_unknown_moves_with_the_end(tmp_path):
    old, new, fresh = grown(tmp_path, method="opendet")
    name = "roi_heads.box_predictor.cls_score.weight"
    before, after = old.network.state_dict()[name], new.network.state_dict()[name]
    assert torch.equal(before[:3], after[:3]) and torch.equal(before[-1], after[-1])
    assert torch.equal(after[3:6], fresh[name][3:6])


def test_what_a_method_remembers_of_old_classes_stays(tmp_path):
    old, new, _ = grown(tmp_path, method="siren")
    held = old.network.method.prototype
    assert new.network.method.prototype.shape[0] == 5
    assert torch.equal(new.network.method.prototype[:2], held)
    assert torch.equal(new.network.method.concentration[:2], old.network.method.concentration)


@pytest.mark.parametrize("name", ["retinanet", "fcos"])
def test_anchors_of_a_dense_head_keep_their_classes(tmp_path, name):
    old, new, fresh = grown(tmp_path, name=name)
    key = "head.classification_head.cls_logits.bias"
    changed = dict(old.network.state_dict())
    each = torch.arange(len(changed[key]), dtype=torch.float32)
    changed[key] = each
    old.network.load_state_dict(changed)
    save(old, str(tmp_path / "old.pt"))
    new.network.load_state_dict(fresh)
    grow(new, tmp_path / "old.pt")
    after = new.network.state_dict()[key].unflatten(0, (-1, 5))
    assert torch.equal(after[:, :2].flatten(), each)
    assert torch.equal(after[:, 2:], fresh[key].unflatten(0, (-1, 5))[:, 2:])


def test_queries_keep_their_classes(tmp_path):
    pytest.importorskip("transformers")
    old, new, _ = grown(tmp_path, name="rt_detr", size="small")
    for name, before in old.network.state_dict().items():
        after = new.network.state_dict()[name]
        if ("class_embed" in name or "enc_score" in name) and "denoising" not in name:
            assert torch.equal(after[:2], before), name
        elif "denoising_class_embed" in name:
            assert torch.equal(after[:2], before[:2]) and torch.equal(after[-1], before[-1])
        else:
            assert torch.equal(after, before), name


@pytest.mark.parametrize(
    ("labels", "code", "said"),
    [
        (("one", "zero", "two"), "OS664", "'zero' there, 'one' here"),
        (("zero",), "OS664", "'one' there, no such class here"),
        (("Zero", "one", "two"), "OS663", "'zero': 'Zero'"),
    ],
)
def test_other_classes_are_refused(tmp_path, labels, code, said):
    save(model(OLD, 0), str(tmp_path / "old.pt"))
    with pytest.raises(InputError) as error:
        grow(model(labels, 1), tmp_path / "old.pt")
    assert error.value.findings[0].code == code
    assert error.value.findings[0].example == said


def test_weights_that_are_not_of_classes_must_fit(tmp_path):
    save(model(OLD, 0), str(tmp_path / "old.pt"))
    other = model(NEW, 1, backbone="small", shortest=64, longest=64, anchor=4)
    grow(other, tmp_path / "old.pt")  # anchors are no weights
    with pytest.raises(InputError, match="OS605"):
        grow(model(NEW, 1, method="cosine"), tmp_path / "old.pt")
