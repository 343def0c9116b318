"""Packed CIFAR: every pixel comes back, and the official files are written once all is there."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from openset.recognition.data import open_split
from openset.recognition.data.cifar import HUNDRED, TEN

PATH = Path(__file__).parents[2] / "experiments" / "pack_cifar.py"
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(PATH))


@pytest.mark.parametrize(
    "images",
    [
        RNG.integers(0, 256, (3, 32, 32, 3)).astype(np.uint8),
        np.broadcast_to(np.arange(32, dtype=np.uint8)[:, None] * 8, (2, 32, 32, 3)).copy(),
        np.zeros((1, 5, 7, 3), np.uint8),
        np.full((1, 2, 1, 3), 255, np.uint8),
    ],
    ids=["noise", "ramp", "black", "small"],
)
def test_every_pixel_comes_back(script, images):
    assert np.array_equal(script["decoded"](script["encoded"](images)), images)


def test_smooth_pictures_become_small_numbers(script):
    ramp = np.broadcast_to(np.arange(32, dtype=np.uint8)[:, None] * 4, (1, 32, 32, 3)).copy()
    code = script["encoded"](ramp).view(np.int8)
    assert np.abs(code[:, :, 1:, 1:].astype(int)).max() == 0 or np.abs(code[1:]).max() == 0


def cifar(folder, names):
    from PIL import Image

    for part in ("train", "test"):
        for name in names:
            place = folder / part / name
            place.mkdir(parents=True)
            pixels = RNG.integers(0, 256, (32, 32, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(place / "0001.png")


def run(script, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["pack_cifar.py", *map(str, words)])
    script["main"]()


def test_what_is_packed_is_what_is_unpacked(script, tmp_path, monkeypatch, capsys):
    ten, hundred, packed, out = (tmp_path / name for name in ("ten", "hundred", "packed", "out"))
    cifar(ten, TEN)
    cifar(hundred, HUNDRED)
    run(script, monkeypatch, "pack", packed, "--folder", ten, "--unknown-folder", hundred)
    archives = sorted(packed.iterdir())
    assert len(archives) == 5
    run(script, monkeypatch, "unpack", archives[0], "--folder", out)
    assert "cifar10-train: 3 of 10 classes are there" in capsys.readouterr().out
    assert not (out / "cifar-10-batches-bin").exists()
    run(script, monkeypatch, "unpack", *archives[1:], "--folder", out)
    for trial in range(5):
        there = open_split("cifar+50", folder=out, trial=trial)
        here = open_split("cifar+50", folder=ten, unknown_folder=hundred, trial=trial)
        for name in ("train", "test", "unknown_test"):
            assert pictures(getattr(there, name)) == pictures(getattr(here, name))


def pictures(samples):
    """Pictures by class, whatever their order."""
    return sorted(
        (label, image.tobytes())
        for image, label in zip(samples.images, samples.label.tolist(), strict=True)
    )


def test_a_damaged_archive_is_refused(script, tmp_path, monkeypatch):
    ten = tmp_path / "ten"
    cifar(ten, TEN)
    cifar(tmp_path / "hundred", HUNDRED)
    where = ("--folder", ten, "--unknown-folder", tmp_path / "hundred")
    run(script, monkeypatch, "pack", tmp_path, *where)
    held = dict(np.load(tmp_path / "cifar-1.npz"))
    held["cifar10-train-0"][0, 0, 0, 0] ^= 1
    np.savez_compressed(tmp_path / "cifar-1.npz", **held)
    with pytest.raises(SystemExit, match="not what was packed"):
        run(script, monkeypatch, "unpack", tmp_path / "cifar-1.npz", "--folder", tmp_path / "out")
