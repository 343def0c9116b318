"""PNG: 8-bit colour images as bytes that are the same everywhere and quick to make.

General encoders try five filters for every row and then search for repeats, of which a grainy
image has none. Differences to the row above and Huffman codes alone give files of the same size in
a third of the time, and do not change with the version of an image library. Not a reader.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_UP = 2  # the filter that subtracts the row above


def encode(image: NDArray[np.uint8]) -> bytes:
    """A height x width x 3 image as a PNG file."""
    height, width, _ = image.shape
    flat = image.reshape(height, 3 * width)
    rows = np.empty((height, 1 + 3 * width), np.uint8)
    rows[:, 0] = _UP
    rows[0, 1:] = flat[0]
    np.subtract(flat[1:], flat[:-1], out=rows[1:, 1:])  # modulo 256, as the format says
    packer = zlib.compressobj(1, zlib.DEFLATED, 15, 9, zlib.Z_HUFFMAN_ONLY)
    data = packer.compress(rows.tobytes()) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
    return _SIGNATURE + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
