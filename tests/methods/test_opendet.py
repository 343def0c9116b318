"""OpenDet: cosines, a bank that never mixes classes, the two losses by their formulas."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from torch.nn.functional import normalize  # noqa: E402

from openset.detectors import carry, find  # noqa: E402
from openset.findings import InputError  # noqa: E402
from openset.methods import table  # noqa: E402
from openset.methods._bank import Bank  # noqa: E402
from openset.methods.cosine import CosineLayer  # noqa: E402
from scenes.sampled import sampled  # noqa: E402

WIDTH, CLASSES = 16, 3


def built(**options):
    torch.manual_seed(0)
    return table()["opendet"].build(CLASSES, WIDTH, **options)


def regions(label, seed=0, overlap=0.8):
    label = torch.tensor(label)
    chance = torch.Generator().manual_seed(seed)
    embedding = torch.randn(*label.shape, WIDTH, generator=chance).requires_grad_()
    logits = torch.randn(*label.shape, CLASSES + 2, generator=chance).requires_grad_()
    over = torch.where(label >= 0, overlap, 0.1)
    return sampled(embedding, logits, label, overlap=over)


def test_logits_are_cosines_and_rows_are_of_length_one_after_every_forward():
    torch.manual_seed(0)
    layer = CosineLayer(WIDTH, 5, 20.0).train()
    layer.weight.data *= 7.0
    rows = torch.randn(4, WIDTH)
    found = layer(rows)
    assert torch.allclose(layer.weight.norm(dim=1), torch.ones(5), atol=1e-4)
    wanted = 20 * normalize(rows, dim=1) @ normalize(layer.weight, dim=1).T
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3)
    layer.weight.data *= 3.0
    before = layer.weight.clone()
    torch.testing.assert_close(layer.eval()(rows), wanted, rtol=1e-3, atol=1e-3)
    assert torch.equal(before, layer.weight)


def reference_unknown(logits, label, top=3, alpha=1.0):
    """Unknown probability learning on one group, row by row."""
    unknown = CLASSES + 1
    fore = [i for i, one in enumerate(label) if one >= 0]
    back = [i for i, one in enumerate(label) if one == -1]
    count = min(top, len(fore))
    sure = logits[:, :unknown].max(1).values
    rows = [row for kind in (fore, back) for row in sorted(kind, key=lambda i: sure[i])[:count]]
    total = 0.0
    for row in rows:
        own = label[row] + 1
        p = logits[row].softmax(0)[own].detach()
        others = [column for column in range(unknown + 1) if column != own]
        total -= p * (1 - p) ** alpha * logits[row][others].log_softmax(0)[-1]
    return total / max(1, len(rows))


@pytest.mark.parametrize("top", [1, 3, 9])
def test_the_loss_of_the_unknown_is_that_of_the_paper(top):
    label = [[0, 1, 2, 1, 0, -1, -1, -1, -1, -2], [2, -1, -1, -1, -1, -1, -1, -2, -2, -2]]
    seen = regions(label)
    found = built(top=top).probable(seen)
    wanted = [reference_unknown(seen.logits[g], label[g], top) for g in range(2)]
    torch.testing.assert_close(found, torch.stack(wanted))
    found.sum().backward()
    taught = seen.logits.grad.abs().sum(-1) > 0
    assert taught.sum(1).tolist() == [2 * min(top, 5) - max(0, min(top, 5) - 4), 2]


def test_a_group_without_objects_teaches_no_unknown():
    found = built().probable(regions([[-1, -1, -1], [0, -1, -1]]))
    assert found[0] == 0 and found[1] > 0


def test_the_contrast_is_that_of_the_paper():
    method = built(queue=4)
    for step in range(4):
        method.compact(regions([[0, 1, 2, 0], [1, 2, 0, 1]], step))
    held = {key: value.clone() for key, value in method.state_dict().items()}
    seen = regions([[0, 1, 2, -1], [1, 1, 0, -2]], 9, overlap=0.6)  # taught, but not remembered
    found = method.compact(seen)
    assert all(torch.equal(held[key], value) for key, value in method.state_dict().items())
    bank = method.bank.rows
    entries, owner = bank.flatten(0, 1), torch.arange(3).repeat_interleave(4)
    for group in range(2):
        each = []
        for row, label in zip(seen.embedding[group], seen.label[group], strict=True):
            if label >= 0:
                code = normalize(method.encoder(row), dim=0)
                share = (entries @ code / 0.1).log_softmax(0)
                each.append(-share[owner == label].mean())
        torch.testing.assert_close(found[group], torch.stack(each).mean())
    assert (found >= 0).all()
    found.sum().backward()
    assert method.encoder[0].weight.grad.abs().sum() > 0 and not bank.requires_grad


def test_an_anchor_is_not_compared_with_its_own_copy():
    seen = regions([[0, 0, 1]])
    method = built(queue=2)
    method.compact(seen)  # now the bank holds the anchors themselves
    lone = method.compact(seen._replace(label=torch.tensor([[-1, -1, 1]])))
    assert lone.item() == 0  # class 1 has its own copy alone
    assert built(queue=2, mask_largest=True).compact(seen).item() > 0


def test_one_anchor_without_an_entry_drops_the_loss_only_as_published():
    fill, seen = regions([[0, 0, 0]]), regions([[0, 1, -1]], 3, overlap=0.6)
    for published, off in ((False, False), (True, True)):
        method = built(all_or_nothing=published)
        method.compact(fill)
        assert (method.compact(seen).item() == 0) == off


def test_the_contrast_falls_to_nothing_and_the_unknown_starts_later():
    seen, losses = regions([[0, 1, 2, -1, -1], [0, 0, 1, 1, -1]]), {}
    for progress in (0.0, 0.5, 0.999):
        method = built()
        method.compact(seen)
        losses[progress] = method.losses(seen, progress)
    assert "unknown" not in losses[0.0] and "unknown" in losses[0.5]
    full, half, end = (losses[p]["contrast"].sum().item() for p in (0.0, 0.5, 0.999))
    assert half == pytest.approx(full / 2, rel=0.05) and end < full / 500


def test_classes_may_be_renumbered():
    label = torch.tensor([[0, 1, 2, -1, 0, 1], [2, 2, 0, 1, -1, -1]])
    to = torch.tensor([2, 0, 1])
    new = torch.where(label >= 0, to[label.clamp(min=0)], label)
    columns = torch.tensor([0, 2, 3, 1, 4])  # the column of each class, background and unknown stay
    seen = regions(label.tolist())
    moved = seen._replace(label=new, logits=seen.logits[..., columns])
    found = []
    for given in (seen, moved):
        method = built()
        method.compact(given)
        found.append(method.losses(given, 0.5))
    assert found[0].keys() == found[1].keys() == {"contrast", "unknown"}
    for key, loss in found[0].items():
        torch.testing.assert_close(found[1][key], loss)


def test_a_bank_never_mixes_classes_and_drops_what_does_not_fit():
    bank = Bank(2, 3, 1, wrap=False)
    bank.add(torch.tensor([[1.0], [2.0], [10.0]]), torch.tensor([0, 0, 1]), 16)
    assert bank.place.tolist() == [2, 1] and bank.filled.tolist() == [2, 1]
    bank.add(torch.tensor([[3.0], [4.0], [-1.0]]), torch.tensor([0, 0, -1]), 16)
    assert bank.rows[..., 0].tolist() == [[1, 2, 3], [10, 0, 0]]  # 4 did not fit
    assert bank.place.tolist() == [0, 1] and bank.there.sum().item() == 4
    bank.add(torch.tensor([[5.0], [6.0]]), torch.tensor([0, 0]), 1)
    assert bank.rows[0, :, 0].tolist() == [5, 2, 3] and bank.held[-1].item() == 0


def test_a_bank_that_wraps_keeps_the_newest():
    bank = Bank(1, 3, 1)
    for start in (0, 2):
        rows = torch.arange(start, start + 2).float()[:, None]
        bank.add(rows, torch.zeros(2, dtype=torch.long), 9)
    assert bank.rows[0, :, 0].tolist() == [3, 1, 2] and bank.place.tolist() == [1]
    bank.add(torch.arange(20, 27).float()[:, None], torch.zeros(7, dtype=torch.long), 99)
    assert sorted(bank.rows[0, :, 0].tolist()) == [24, 25, 26]


def test_the_least_typical_are_remembered_first():
    method = built(queue=8, inner=2, remembered=1)
    method.encoder = torch.nn.Identity()
    method.bank.add(torch.tensor([[1.0, 0.0]]), torch.tensor([0]), 1)
    seen = regions([[0, 0]])
    rows = torch.tensor([[[1.0, 0.1], [0.1, 1.0]]])
    method.compact(seen._replace(embedding=rows))
    torch.testing.assert_close(method.bank.rows[0, 1], normalize(rows[0, 1], dim=0))
    assert method.bank.filled.tolist() == [2, 0, 0]


def test_detections_say_unknown():
    torch.manual_seed(0)
    options = {"backbone": "small", "shortest": 64, "longest": 64, "score": 0.0}
    model = find("faster_rcnn").build(("red", "green", "blue"), device="cpu", **options)
    carry(model, "opendet", {})
    assert model.head() is None and model.labels == ("red", "green", "blue")
    pixels = (torch.rand(64, 64, 3) * 255).byte().numpy()
    (found,) = model.found([pixels], frozenset({"logits"}))
    assert found.label.max() == 3
    share = torch.tensor(found.logits).softmax(1)
    assert found.unknownness == pytest.approx(share[:, -1].numpy(), abs=1e-5)
    said = found.label == 3
    assert found.score[said] == pytest.approx(found.unknownness[said])


def test_a_class_called_unknown_is_refused():
    model = find("faster_rcnn").build(("red", "Unknown"), device="cpu", backbone="small")
    with pytest.raises(InputError, match="OS618"):
        carry(model, "opendet", {})
    carry(model, "vos", {})  # which has no such column


@pytest.mark.parametrize("name", ["opendet", "opendet_cwa"])
def test_what_is_taught_as_unknown_teaches_no_box(name):
    """Neither losses nor weights of boxes know of it: they have a tower of their own."""
    found, slopes = {}, {}
    for weight in (0.0, 100.0):
        torch.manual_seed(0)
        options = {"backbone": "small", "shortest": 64, "longest": 64}
        one = find("faster_rcnn").build(("red", "green", "blue"), device="cpu", **options)
        carry(one, name, {"weight": weight, "start": 0.0})
        torch.manual_seed(3)
        box = torch.tensor([[8.0, 8, 40, 40], [20, 20, 60, 60]])
        images = [torch.rand(3, 64, 64) for _ in range(2)]
        losses = one.train()(images, [{"boxes": box, "labels": torch.tensor([0, 2])}] * 2)
        sum(losses.values()).backward()
        found[weight] = losses
        slopes[weight] = {key: w.grad for key, w in one.network.named_parameters()}
    taught = {key for key in found[0.0] if "box_reg" in key}
    assert taught == {"loss_box_reg", "loss_rpn_box_reg"}
    assert found[100.0]["method_unknown"] > 0 and "method_unknown" not in found[0.0]
    assert all(torch.equal(found[0.0][key], found[100.0][key]) for key in taught)
    own = [key for key in slopes[0.0] if "bbox_pred" in key or ".boxed." in key]
    assert len(own) >= 8
    for key in own:
        assert slopes[0.0][key].any() and torch.equal(slopes[0.0][key], slopes[100.0][key])
    named = "roi_heads.box_head.named.fc6.weight"
    assert not torch.equal(slopes[0.0][named], slopes[100.0][named])
