"""RandAugment of batches: every operation gives what Pillow gives, picture by picture."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
from PIL import ImageEnhance, ImageOps  # noqa: E402

from openset.findings import UsageError  # noqa: E402
from openset.recognition.augment import Augment  # noqa: E402
from openset.recognition.randaugment import _OPERATIONS, apply, randaugment  # noqa: E402


def pictures(channels: int, n: int = 5) -> np.ndarray:
    """Smooth noise of different brightness; one picture is all of one value."""
    rng = np.random.default_rng(3)
    small = rng.integers(0, 256, (n, channels, 5, 6)).astype(np.float64)
    large = small.repeat(4, axis=2).repeat(4, axis=3) + rng.normal(0, 9, (n, channels, 20, 24))
    large *= np.linspace(0.3, 1, n)[:, None, None, None]
    large[0] = 77
    return large.clip(0, 255).astype(np.uint8)


def with_pillow(change, images: np.ndarray) -> np.ndarray:
    out = []
    for image in images:
        grey = image.shape[0] == 1
        given = Image.fromarray(image[0] if grey else image.transpose(1, 2, 0))
        got = np.asarray(change(given))
        out.append(got[None] if grey else got.transpose(2, 0, 1))
    return np.stack(out)


def one(name: str, images: np.ndarray, strength: float) -> np.ndarray:
    return apply(name, torch.as_tensor(images), strength).numpy()


def farthest(a: np.ndarray, b: np.ndarray) -> int:
    return int(np.abs(a.astype(int) - b.astype(int)).max())


colours = pytest.mark.parametrize("channels", [1, 3])


@colours
@pytest.mark.parametrize("strength", [0, 8, 18, 30])
def test_values_change_as_pillow_changes_them(channels, strength):
    images = pictures(channels)
    share = strength / 30
    enhanced = 0.1 + 1.8 * share
    cases = {
        "auto_contrast": ImageOps.autocontrast,
        "equalise": ImageOps.equalize,
        "invert": ImageOps.invert,
        "posterise": lambda image: ImageOps.posterize(image, max(1, int(4 * share))),
        "solarise": lambda image: ImageOps.solarize(image, 256 * share),
        "contrast": lambda image: ImageEnhance.Contrast(image).enhance(enhanced),
        "brightness": lambda image: ImageEnhance.Brightness(image).enhance(enhanced),
        "sharpness": lambda image: ImageEnhance.Sharpness(image).enhance(enhanced),
    }
    if channels == 3:
        cases["colour"] = lambda image: ImageEnhance.Color(image).enhance(enhanced)
    for name, change in cases.items():
        wanted = with_pillow(change, images)
        assert farthest(one(name, images, strength), wanted) <= 1, name
    if strength not in (0, 30):
        changed = {name for name in cases if farthest(one(name, images, strength), images) > 9}
        assert changed == set(cases)


def test_solarising_after_brightening():
    images = pictures(3)
    brighter = (images.astype(int) + int(110 * 12 / 30)).clip(0, 255).astype(np.uint8)
    wanted = with_pillow(lambda image: ImageOps.solarize(image, 128), brighter)
    assert one("solarise_more", images, 12).tolist() == wanted.tolist()


def affine(*coefficients):
    return lambda image: image.transform(image.size, Image.Transform.AFFINE, coefficients)


@colours
def test_pixels_move_as_pillow_moves_them_in_either_direction(channels):
    images = pictures(channels, n=1).repeat(16, axis=0)
    images[:] = pictures(channels)[3]
    cases = {
        "shear_x": lambda sign: affine(1, sign * 0.15, 0, 0, 1, 0),
        "shear_y": lambda sign: affine(1, 0, 0, sign * 0.15, 1, 0),
        "translate_x": lambda sign: affine(1, 0, sign * 50 / 7, 0, 1, 0),
        "translate_y": lambda sign: affine(1, 0, 0, 0, 1, sign * 50 / 7),
        "rotate": lambda sign: lambda image: image.rotate(sign * 15),
    }
    torch.manual_seed(0)
    for name, change in cases.items():
        strength = 15 if "translate" not in name else 15 / 7
        moved = one(name, images, strength)
        seen = set()
        for picture in moved:
            wanted = [with_pillow(change(sign), images[:1])[0] for sign in (-1, 1)]
            wrong = [float((picture != each).mean()) for each in wanted]
            # Pillow turns in fixed point: a pixel on the line between two may differ.
            assert min(wrong) <= (0.02 if name == "rotate" else 0), name
            seen.add(int(np.argmin(wrong)))
        assert seen == {0, 1}, name


@colours
def test_a_square_is_cut_out_of_every_picture_at_another_place(channels):
    images = torch.zeros(200, channels, 32, 32, dtype=torch.uint8)
    torch.manual_seed(0)
    cut = apply("cut_out", images, 7.5)
    colour = torch.tensor((125, 123, 114)[:channels], dtype=torch.uint8)
    painted = (cut == colour.view(1, -1, 1, 1)).all(dim=1)
    assert torch.equal(painted, (cut > 0).all(dim=1))
    area = painted.sum((1, 2))
    assert area.max() == 11 * 11
    assert area.min() >= 6 * 6  # from a corner: what hangs out on the left is not lost
    assert len({tuple(picture.nonzero()[0].tolist()) for picture in painted}) > 100


def test_every_operation_is_drawn_about_equally_often_and_pictures_stay_in_their_places(
    monkeypatch,
):
    drawn = {name: [] for name in _OPERATIONS}

    def noting(name):
        def change(images, _):
            drawn[name] += images[:, 0, 0, 0].tolist()
            return images

        return change, 0, 1

    noted = {name: noting(name) for name in _OPERATIONS}
    monkeypatch.setattr("openset.recognition.randaugment._OPERATIONS", noted)
    images = torch.arange(256, dtype=torch.uint8).view(-1, 1, 1, 1).repeat(10, 1, 2, 2)
    torch.manual_seed(0)
    assert torch.equal(randaugment(images, 2, 9), images)
    counts = {name: len(rows) for name, rows in drawn.items()}
    assert sum(counts.values()) == 2 * len(images)
    assert min(counts.values()) > 0.8 * 2 * len(images) / 16
    for rows in drawn.values():
        rows.clear()
    randaugment(images, 1, 9, "digits")
    never = {name for name, rows in drawn.items() if not rows}
    assert never == {"rotate", "translate_x", "translate_y"}


def test_a_batch_is_augmented_from_the_seed_alone():
    images = torch.as_tensor(pictures(1, n=40))
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(Augment(randaugment=(2, 20))(images))
    assert results[0].equal(results[1])
    assert not results[0].equal(results[2])
    assert randaugment(images[:0], 2, 20).shape == (0, 1, 20, 24)


def test_unknown_operations_are_refused():
    images = torch.zeros(2, 1, 4, 4, dtype=torch.uint8)
    with pytest.raises(UsageError, match="operation"):
        apply("blur", images, 3)
