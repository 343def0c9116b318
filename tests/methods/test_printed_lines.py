"""Trainings as the page of methods prints them: each can begin, and none begins from nothing."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from torchvision.models import resnet50  # noqa: E402

from openset.findings import UsageError  # noqa: E402
from openset.training import Recipe, TrainingData, rehearse  # noqa: E402
from scenes.training import make_data  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "methods.md"
PRINTED = re.findall(r"openset train (\S+-(?:voc|owod)) ([^`]*)", PAGE.read_text("utf-8"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return TrainingData.of(make_data(tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """Weights as torchvision's file has them, untrained."""
    file = tmp_path_factory.mktemp("weights") / "resnet50.pth"
    torch.save(resnet50(weights=None).state_dict(), file)
    return str(file)


def test_the_page_prints_them():
    assert {name for name, _ in PRINTED} > {"vos-voc", "siren-voc", "opendet-voc", "prob-owod"}


@pytest.mark.parametrize(("name", "words"), PRINTED, ids=[name for name, _ in PRINTED])
def test_it_can_begin_as_printed_and_not_from_nothing(name, words, data, classifier):
    if Recipe.of(name).detector == "deformable_detr" and find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    given = shlex.split(words)
    option, _, file = given[given.index("--option") + 1].partition("=")
    assert (option, file) == ("pretrained", "resnet50.pth")
    rehearse(Recipe.of(name, options={option: classifier}), data)
    with pytest.raises(UsageError, match="nothing was learned before: give the option pretrained"):
        rehearse(Recipe.of(name), data)
