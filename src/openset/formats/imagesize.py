"""Width and height of an image from its header: PNG and JPEG by hand, the rest through Pillow.

EXIF rotation is not applied. It swaps width and height, which changes neither IoU nor area of
normalised boxes.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".gif")
_NOT_FRAMES = {0xC4, 0xC8, 0xCC}


def image_size(path: Path) -> tuple[int, int] | None:
    """Width and height, or None if they cannot be read, or are none."""
    found = _stated(path)
    return found if found and min(found) > 0 else None


def _stated(path: Path) -> tuple[int, int] | None:
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


def _by_pillow(path: Path) -> tuple[int, int] | None:
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        with Image.open(path) as image:
            return image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, ImportError):
        return None
