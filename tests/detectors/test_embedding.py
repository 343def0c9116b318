"""Pictures embedded by a classifier's network, and sets compared by it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torchvision", reason="the torch extra is not installed")

import torch
import torchvision
from PIL import Image

from openset import InputError
from openset.benchmarks.building import build
from openset.detectors.embedding import embedded
from openset.nets.pictures import ImageFiles
from openset.tables.vocabulary import vocabularies
from scenes.benchmarks import write_coco
from scenes.wordnet import nouns

SHOWN = dict(
    zip((f"{n:012d}" for n in range(1, 5)), (["dog"], ["zebra"], ["pizza"], ["kite"]), strict=True)
)
pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A network that was taught nothing."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "resnet50.pth"
    torch.save(torchvision.models.resnet50(weights=None).state_dict(), path)
    return path


@pytest.fixture
def bench(tmp_path):
    """A benchmark of four pictures: the second is the first again."""
    path = write_coco(
        tmp_path / "instances_val2017.json", SHOWN, labels=vocabularies()["coco80"].known
    )
    assert path.is_file()
    (tmp_path / "data.noun").write_text(nouns())
    build("fmiyc-coco", tmp_path, tmp_path / "bench")
    (tmp_path / "pictures").mkdir()
    for at, name in enumerate(SHOWN):
        noise = np.random.default_rng(at // 2).integers(0, 256, (40, 60, 3), np.uint8)
        Image.fromarray(noise).save(tmp_path / "pictures" / f"{name}.jpg")
    return tmp_path


def test_a_picture_is_a_row(bench, weights):
    files = ImageFiles.of_folder(bench / "pictures")
    rows = embedded(files, weights, device="cpu")
    assert rows.shape == (4, 2048) and np.isfinite(rows).all()
    assert np.array_equal(rows[0], rows[1]) and not np.allclose(rows[0], rows[2])
    other = embedded(files, weights, stride="1x1", device="cpu")
    assert not np.allclose(rows, other)
    (bench / "pictures" / "000000000001.jpg").write_bytes(b"no picture")
    with pytest.raises(InputError, match="OS603"):
        embedded(files, weights, device="cpu")


def test_sets_are_compared_by_it(bench, weights, openset):
    given = ("similarity", bench / "bench", "--images", bench / "pictures", "--device", "cpu")
    done = openset(*given, "--weights", weights, "--embeddings", bench / "kept.npz", "--json")
    near = {one["name"]: one["cosine"] for one in done.json["sets"]}
    assert near["ood: near"] == pytest.approx(1, abs=1e-5)  # the zebra's picture is the dog's
    assert near["ood: farther"] < 0.9999
    again = openset("similarity", bench / "bench", "--embeddings", bench / "kept.npz", "--json")
    assert again.json["sets"] == done.json["sets"]


@pytest.mark.parametrize("given", [("--images", "."), ("--weights", "w.pth")])
def test_one_without_the_other(bench, given, openset):
    done = openset("similarity", bench / "bench", *given)
    assert done.code == 2 and "together" in done.err
    whole = ("--images", bench, "--weights", "w.pth")
    done = openset("similarity", bench / "bench", *whole)
    assert done.code == 2 and "--embeddings FILE.npz" in done.err
