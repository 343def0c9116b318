"""Width and height of an image from its header: PNG and JPEG by hand, the rest through Pillow.

EXIF rotation is not applied, since boxes of data sets are mostly on the pixels as they are stored;
to normalised boxes it makes no difference. But where a ground truth states the size that only the
turned picture has, its boxes are on that (`as_stated`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".gif")
_TAG, _ON_ITS_SIDE = 0x0112, frozenset({5, 6, 7, 8})  # EXIF's orientation, by a quarter
_NOT_FRAMES = {0xC4, 0xC8, 0xCC}


def image_size(path: Path, stated: Sequence[float] = ()) -> tuple[int, int] | None:
    """Width and height, of the turned picture if that is stated; None if they cannot be read."""
    size = _stored(path)
    if size is None or min(size) <= 0:
        return None
    if size == tuple(stated) or size[::-1] != tuple(stated):
        return size
    return _by_pillow(path, stated)


def as_stated(image: Any, stated: Sequence[float]) -> Any:
    """A Pillow image, turned by its EXIF tag where it is that which gives it the stated size."""
    if not _turned(image, stated):
        return image
    from PIL import ImageOps

    return ImageOps.exif_transpose(image)


def _turned(image: Any, stated: Sequence[float]) -> bool:
    width, height = image.size
    other = width != height and (height, width) == tuple(stated)
    return other and image.getexif().get(_TAG) in _ON_ITS_SIDE


def _stored(path: Path) -> tuple[int, int] | None:
    try:
        with path.open("rb") as stream:
            start = stream.read(24)
            if start[:8] == b"\x89PNG\r\n\x1a\n" and len(start) == 24:
                return int.from_bytes(start[16:20], "big"), int.from_bytes(start[20:24], "big")
            if start[:2] == b"\xff\xd8":
                stream.seek(2)
                return _jpeg(stream)
    except OSError:
        return None
    return _by_pillow(path)


def _jpeg(stream: BinaryIO) -> tuple[int, int] | None:
    """Walk the segments to the first frame header (SOF)."""
    while True:
        head = stream.read(4)
        if len(head) < 4 or head[0] != 0xFF:
            return None
        if head[1] == 0xFF:  # padding before a marker
            stream.seek(-3, 1)
            continue
        if 0xC0 <= head[1] <= 0xCF and head[1] not in _NOT_FRAMES:
            frame = stream.read(5)
            height, width = int.from_bytes(frame[1:3], "big"), int.from_bytes(frame[3:5], "big")
            return (width, height) if len(frame) == 5 else None
        stream.seek(max(int.from_bytes(head[2:4], "big") - 2, 0), 1)


def _by_pillow(path: Path, stated: Sequence[float] = ()) -> tuple[int, int] | None:
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        with Image.open(path) as image:
            return image.size[::-1] if _turned(image, stated) else image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, ImportError):
        return None
