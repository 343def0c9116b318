"""A recognition loss on a detector's box head: foreground only, and torchvision's own model."""

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from torchvision.models.detection import FasterRCNN  # noqa: E402
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead  # noqa: E402
from torchvision.models.detection.rpn import AnchorGenerator  # noqa: E402
from torchvision.ops import MultiScaleRoIAlign  # noqa: E402

from openset.recognition.methods import table  # noqa: E402
from openset.recognition.methods.on_boxes import loss_on_boxes, on_box_head  # noqa: E402

torch.set_num_threads(1)
METHODS = sorted(table())


def objective(name, classes=3, width=16):
    torch.manual_seed(0)
    return table()[name].build(classes, width)


@pytest.mark.parametrize("name", METHODS)
def test_the_loss_is_that_of_the_foreground(name):
    head = TwoMLPHead(4 * 7 * 7, 16)
    embedding = head(torch.randn(8, 4, 7, 7))
    label = torch.tensor([0, 1, 2, 3, 0, 1, 2, -1])
    torch.manual_seed(1)
    found = loss_on_boxes(objective(name), embedding, label)
    torch.manual_seed(1)
    known = torch.tensor([1, 2, 3, 5, 6])
    expected = objective(name).loss(embedding[known], label[known] - 1)
    assert found.item() == pytest.approx(expected.item())
    found.backward()
    assert head.fc6.weight.grad.abs().sum() > 0


def test_the_background_may_have_the_last_number():
    embedding, label = torch.randn(4, 16), torch.tensor([0, 1, 3, 2])
    found = loss_on_boxes(objective("ce_plus"), embedding, label, background=3)
    expected = objective("ce_plus").loss(embedding[[0, 1, 3]], label[[0, 1, 3]])
    assert found.item() == pytest.approx(expected.item())


def test_background_alone_has_no_loss():
    embedding = torch.randn(4, 16, requires_grad=True)
    found = loss_on_boxes(objective("openauc"), embedding, torch.zeros(4, dtype=torch.long))
    found.backward()
    assert found.item() == 0
    assert embedding.grad.abs().sum() == 0


def detector():
    """The smallest Faster R-CNN of torchvision."""
    torch.manual_seed(0)
    backbone = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, stride=8, padding=1), torch.nn.ReLU())
    backbone.out_channels = 4
    return FasterRCNN(
        backbone,
        min_size=64,
        max_size=64,
        rpn_anchor_generator=AnchorGenerator(((16, 32),), ((1.0,),)),
        box_roi_pool=MultiScaleRoIAlign(["0"], 7, 2),
        box_head=TwoMLPHead(4 * 7 * 7, 16),
        box_predictor=FastRCNNPredictor(16, 4),
    )


def test_torchvisions_detector_trains_it_too():
    model = detector()
    head = objective("openauc")
    on_box_head(model, head, weight=0.5)
    target = {"boxes": torch.tensor([[8.0, 8, 40, 40], [20, 20, 60, 60]])}
    target["labels"] = torch.tensor([1, 3])
    losses = model([torch.rand(3, 64, 64)], [target])
    assert set(losses) >= {"loss_classifier", "loss_recognition"}
    losses["loss_recognition"].backward()
    assert head.linear.weight.grad.abs().sum() > 0
    assert model.roi_heads.box_head.fc6.weight.grad.abs().sum() > 0
    assert any(weight is head.linear.weight for weight in model.parameters())
    assert set(model.eval()([torch.rand(3, 64, 64)])[0]) == {"boxes", "labels", "scores"}
