"""RandAugment of whole batches, on the device that holds them, as recognition papers use it.

Operations and ranges are those of the code with which Vaze et al. (ICLR 2022) and Wang et al.
(OpenAUC, NeurIPS 2022) trained, which are not torchvision's: a strength from 0 to 30 lies between
two ends, brightness and its kin only fall below a strength of 14, a shift is of up to 100 pixels
whatever the picture's size, and a stronger solarisation changes fewer pixels. Pictures of digits
(MNIST, SVHN) are neither turned nor shifted.

Pictures are bytes, channels first. Each operation sees all pictures of a batch that drew it at
once, and gives what Pillow gives: within one level for auto contrast and colour, and but for single
pixels where a picture is turned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from openset.plugins import lookup
from openset.recognition.recipe import STRONGEST, Operations

Operation = Callable[[Tensor, float], Tensor]
_LUMA = (0.299, 0.587, 0.114)
_CUT_COLOUR = (125, 123, 114)
_FLIPPED_FROM = 128


def randaugment(
    images: Tensor, operations: int, strength: int, among: Operations = "objects"
) -> Tensor:
    """Every picture after so many operations, drawn for it with replacement.

    Args:
        images: Bytes, (n, channels, height, width).
        operations: How many, one after the other.
        strength: From 0 to 30.
        among: ``objects``, all sixteen; ``digits``, the thirteen without turns and shifts.
    """
    moving = {"rotate", "translate_x", "translate_y"} if among == "digits" else set()
    chosen = [key for key in _OPERATIONS if key not in moving]
    for _ in range(operations):
        # Drawn on the CPU, whose generator is seeded too: no waiting for the device.
        drawn, order = torch.randint(len(chosen), (len(images),)).sort()
        counts = torch.bincount(drawn, minlength=len(chosen)).tolist()
        parts = images[order.to(images.device)].split(counts)
        changed = [
            apply(name, part, strength)
            for name, part in zip(chosen, parts, strict=True)
            if len(part)
        ]
        images = torch.cat(changed)[order.argsort().to(images.device)] if changed else images
    return images


def apply(name: str, images: Tensor, strength: float) -> Tensor:
    """Pictures after one operation, by name, at a strength from 0 to 30."""
    change, low, high = lookup(_OPERATIONS, name, "operation")
    return change(images, low + (high - low) * strength / STRONGEST)


def _bytes(values: Tensor) -> Tensor:
    """Numbers as bytes, cut off and not rounded, as Pillow does it."""
    return values.clamp(0, 255).to(torch.uint8)


def _auto_contrast(images: Tensor, _: float) -> Tensor:
    pixels = images.float()
    low, high = pixels.amin((2, 3), keepdim=True), pixels.amax((2, 3), keepdim=True)
    scale = 255 / (high - low).clamp(min=1)
    return torch.where(high > low, _bytes(pixels * scale - low * scale), images)


def _equalise(images: Tensor, _: float) -> Tensor:
    """Every channel's histogram made flat, by a table of its own."""
    flat = images.flatten(2).long()
    counts = torch.zeros(*flat.shape[:2], 256, dtype=torch.long, device=images.device)
    counts.scatter_add_(2, flat, torch.ones_like(flat))
    brightest = counts.gather(2, flat.amax(2, keepdim=True))
    step = (flat.shape[2] - brightest) // 255
    before = counts.cumsum(2) - counts
    table = ((before + step // 2) // step.clamp(min=1)).clamp(0, 255)
    equal = table.gather(2, flat).view_as(images).to(torch.uint8)
    return torch.where((step > 0)[..., None], equal, images)


def _invert(images: Tensor, _: float) -> Tensor:
    return 255 - images


def _posterise(images: Tensor, bits: float) -> Tensor:
    kept = max(1, int(bits))
    return images & (256 - 2 ** (8 - kept))


def _solarise(images: Tensor, threshold: float) -> Tensor:
    return torch.where(images >= threshold, 255 - images, images)


def _solarise_more(images: Tensor, added: float) -> Tensor:
    """Pixels are made brighter, all of them, before the bright ones are inverted."""
    return _solarise(_bytes(images.float() + added), _FLIPPED_FROM)


def _grey(images: Tensor) -> Tensor:
    """The luma of coloured pictures; grey ones as they are."""
    if images.shape[1] == 1:
        return images.float()
    weights = torch.tensor(_LUMA, device=images.device).view(1, 3, 1, 1)
    return (images.float() * weights).sum(1, keepdim=True).round()


def _colour(images: Tensor, share: float) -> Tensor:
    return _blended(_grey(images), images, share)


def _contrast(images: Tensor, share: float) -> Tensor:
    mean = (_grey(images).mean((1, 2, 3), keepdim=True) + 0.5).floor()
    return _blended(mean, images, share)


def _brightness(images: Tensor, share: float) -> Tensor:
    return _bytes(images.float() * share)


def _sharpness(images: Tensor, share: float) -> Tensor:
    """Away from the mean of neighbours, or towards it; borders have none."""
    pixels = images.float()
    kernel = torch.ones(3, 3, device=images.device)
    kernel[1, 1] = 5
    each = (kernel / 13).expand(images.shape[1], 1, 3, 3)
    smooth = pixels.clone()
    inner = nn.functional.conv2d(pixels, each, groups=images.shape[1])
    smooth[:, :, 1:-1, 1:-1] = (inner + 0.5).floor().clamp(0, 255)
    return _blended(smooth, images, share)


def _blended(start: Tensor, images: Tensor, share: float) -> Tensor:
    return _bytes(start + share * (images.float() - start))


def _shear_x(images: Tensor, amount: float) -> Tensor:
    return _moved(images, row=(1, _either(images, amount), 0), column=(0, 1, 0))


def _shear_y(images: Tensor, amount: float) -> Tensor:
    return _moved(images, row=(1, 0, 0), column=(_either(images, amount), 1, 0))


def _translate_x(images: Tensor, pixels: float) -> Tensor:
    return _moved(images, row=(1, 0, _either(images, pixels)), column=(0, 1, 0))


def _translate_y(images: Tensor, pixels: float) -> Tensor:
    return _moved(images, row=(1, 0, 0), column=(0, 1, _either(images, pixels)))


def _rotate(images: Tensor, degrees: float) -> Tensor:
    """Around the middle."""
    height, width = images.shape[2:]
    cosine = math.cos(math.radians(degrees))
    sine = _either(images, math.sin(math.radians(degrees)))
    x, y = width / 2, height / 2
    across = (cosine, -sine, x - cosine * x + sine * y)
    return _moved(images, row=across, column=(sine, cosine, y - sine * x - cosine * y))


def _either(images: Tensor, amount: float) -> Tensor:
    """The amount or its opposite, for every picture on its own."""
    sign = torch.randint(0, 2, (len(images), 1, 1), device=images.device) * 2 - 1
    return sign * amount


Coefficients = tuple[Tensor | float, Tensor | float, Tensor | float]


def _moved(images: Tensor, row: Coefficients, column: Coefficients) -> Tensor:
    """Pixels taken from other places, the nearest ones; what comes from outside is black.

    Args:
        images: Pictures.
        row: Factors of x, of y, and what is added: the x that a pixel is taken from.
        column: The same for its y.
    """
    n, channels, height, width = images.shape
    x = torch.arange(width, device=images.device)[None, None, :] + 0.5
    y = torch.arange(height, device=images.device)[None, :, None] + 0.5
    from_x = (row[0] * x + row[1] * y + row[2]).floor().long().expand(n, height, width)
    from_y = (column[0] * x + column[1] * y + column[2]).floor().long().expand(n, height, width)
    inside = (from_x >= 0) & (from_x < width) & (from_y >= 0) & (from_y < height)
    place = (from_y.clamp(0, height - 1) * width + from_x.clamp(0, width - 1)).flatten(1)
    taken = images.flatten(2).gather(2, place[:, None].expand(n, channels, height * width))
    return taken.view_as(images) * inside[:, None]


def _cut_out(images: Tensor, side: float) -> Tensor:
    """A square somewhere, painted over; half of it may hang out of the picture."""
    height, width = images.shape[2:]
    left, top = (torch.rand(len(images), 1, 1, device=images.device) for _ in range(2))
    left = (left * width - side / 2).clamp(min=0).floor()
    top = (top * height - side / 2).clamp(min=0).floor()
    x = torch.arange(width, device=images.device)[None, None, :]
    y = torch.arange(height, device=images.device)[None, :, None]
    cut = (x >= left) & (x <= left + side) & (y >= top) & (y <= top + side)
    colour = _CUT_COLOUR if images.shape[1] == len(_CUT_COLOUR) else _CUT_COLOUR[:1]
    paint = torch.tensor(colour, dtype=torch.uint8, device=images.device).view(1, -1, 1, 1)
    return torch.where(cut[:, None], paint, images)


_OPERATIONS: Mapping[str, tuple[Operation, float, float]] = {
    "auto_contrast": (_auto_contrast, 0, 1),
    "equalise": (_equalise, 0, 1),
    "invert": (_invert, 0, 1),
    "rotate": (_rotate, 0, 30),
    "posterise": (_posterise, 0, 4),
    "solarise": (_solarise, 0, 256),
    "solarise_more": (_solarise_more, 0, 110),
    "colour": (_colour, 0.1, 1.9),
    "contrast": (_contrast, 0.1, 1.9),
    "brightness": (_brightness, 0.1, 1.9),
    "sharpness": (_sharpness, 0.1, 1.9),
    "shear_x": (_shear_x, 0, 0.3),
    "shear_y": (_shear_y, 0, 0.3),
    "cut_out": (_cut_out, 0, 40),
    "translate_x": (_translate_x, 0, 100),
    "translate_y": (_translate_y, 0, 100),
}
