"""Networks: embeddings of the width they say, auxiliary batch norm, and timm where it is."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from torch import nn  # noqa: E402

from openset.findings import InputError, UsageError  # noqa: E402
from openset.recognition.networks import (  # noqa: E402
    NETWORKS,
    build_network,
    standardised,
    timm_models,
)
from openset.recognition.networks.auxiliary import doubled, false_pictures  # noqa: E402
from openset.recognition.recipe import ClassifierRecipe  # noqa: E402
from openset.recognition.training import Learner  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("channels", [1, 3])
def test_networks_embed_small_pictures(network, channels):
    body = build_network(network, channels)
    assert body(torch.zeros(2, channels, 8, 8)).shape == (2, body.width)


@pytest.mark.parametrize(("network", "count"), [("classifier32", 9), ("classifier8", 6)])
def test_convolutions(network, count):
    body = build_network(network, 3)
    assert sum(isinstance(m, nn.Conv2d) for m in body.modules()) == count


def test_classifier32_ends_at_four_pixels():
    assert build_network("classifier32", 3).layers(torch.zeros(1, 3, 32, 32)).shape[2:] == (4, 4)


@pytest.mark.parametrize(("network", "layers"), [("resnet18", 18), ("resnet50", 50)])
def test_resnets_have_their_depth(network, layers):
    body = build_network(network, 3)
    found = [m for m in body.modules() if isinstance(m, nn.Conv2d)]
    aside = [m for name, m in body.named_modules() if "shortcut.0" in name]
    assert len(found) - len(aside) + 1 == layers  # and the last layer, which methods bring


def test_a_network_sees_pixels_on_the_scale_that_is_asked_for():
    body = build_network("classifier32", 3).eval()
    pictures = torch.rand(2, 3, 8, 8)  # from 0 to 1
    scale = ([0.4, 0.5, 0.6], [0.1, 0.2, 0.3])
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in scale)
    wanted = body((pictures - mean) / std)
    assert torch.allclose(standardised(body, *scale)(pictures * 2 - 1), wanted, atol=1e-5)
    assert torch.allclose(standardised(body, [0], [1])(pictures * 2 - 1), body(pictures), atol=1e-5)
    assert standardised(body, (0.5,), (0.5,)) is body


def test_a_blank_channel_of_a_digit_is_black_where_pixels_go_from_0_to_1():
    seen = []
    body = build_network("classifier32", 1).train()
    body.layers[0].register_forward_hook(lambda *given: seen.append(given[2]))
    black = torch.full((64, 1, 8, 8), -1.0)
    standardised(body, [0], [1])(black)
    body(black)
    on_a_unit_scale, from_minus_one = seen
    assert not on_a_unit_scale.any()
    assert from_minus_one.unique().tolist() == [-1.25, 0]  # dropped: grey


def test_grey_pictures_become_as_many_channels_as_there_are_means():
    for name in ("resnet18", "classifier32"):
        recipe = {"network": name, "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.2, 0.2], "size": 8}
        learner = Learner(ClassifierRecipe.of(recipe), ("a", "b"), (1, 8, 8), "cpu").eval()
        assert learner.body(torch.zeros(2, 1, 8, 8)).shape == (2, learner.body.width)


def test_a_misspelt_network_is_refused():
    with pytest.raises(UsageError, match="classifier32"):
        build_network("clasifier32", 1)


def test_false_pictures_have_statistics_of_their_own():
    body = doubled(build_network("classifier8", 1)).train()
    held = {name: value.clone() for name, value in body.state_dict().items()}
    with false_pictures(body):
        body(torch.randn(8, 1, 8, 8))
    moved = {name for name, value in body.state_dict().items() if not value.equal(held[name])}
    assert moved
    assert all(".aside." in name for name in moved)
    body(torch.randn(8, 1, 8, 8))
    moved = {name for name, value in body.state_dict().items() if not value.equal(held[name])}
    assert any(".main." in name for name in moved)


def test_timm_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(InputError, match="OS601"):
        build_network("timm:resnet18", 3)


def test_a_model_of_timm_is_a_network(monkeypatch):
    def create_model(name, in_chans, num_classes, checkpoint_path):
        assert (name, num_classes, checkpoint_path) == ("flat", 0, "")
        model = nn.Sequential(nn.Flatten(), nn.Linear(in_chans * 64, 7))
        model.num_features = 7
        return model

    fake = SimpleNamespace(create_model=create_model, list_models=lambda: ["flat"])
    monkeypatch.setattr(timm_models, "_timm", lambda: fake)
    body = build_network("timm:flat", 3)
    assert body(torch.zeros(2, 3, 8, 8)).shape == (2, body.width) == (2, 7)
    with pytest.raises(UsageError, match="Did you mean 'flat'"):
        build_network("timm:flut", 3)


def test_dropout_never_blanks_a_grey_picture_alone():
    torch.manual_seed(0)
    network = build_network("classifier32", 1).train()
    seen = []
    network.layers[1].register_forward_hook(lambda _module, given, _out: seen.append(given[0]))
    network(torch.ones(400, 1, 8, 8))
    blank = (seen[0] == 0).flatten(1).all(dim=1).float().mean()
    assert seen[0].shape[1] == 3  # as published: dropout of whole channels needs several
    assert blank < 0.05  # 0.2 ** 3, where a single channel would have 0.2
