"""Look-alikes: pairs of images with the same bytes, or with nearly the same picture.

Candidates differ in at most four bits of a 64-bit difference hash (dHash: is a pixel of a 9 x 8
thumbnail darker than its right neighbour). Such pairs share at least one of five bands of bits,
so all are found by sorting. A flat sky and a flat wall share a hash, too: a pair counts only if its
16 x 16 thumbnails, stretched to full contrast, also agree. Crops and mirror images are not found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset import engines
from openset.benchmarks.bundle import Bundle

BITS = 4
_BANDS = (0, 13, 26, 39, 52, 64)
_AGREE = 12.0  # mean difference of grey levels, of 255
_SIDE = 16
_FLAT = 8.0  # grey levels between the darkest and the brightest, below which there is no picture


@dataclass(frozen=True)
class Print:
    """The fingerprint of an image: checksum, difference hash, thumbnail (None if it is flat)."""

    sha256: str
    hash: int
    thumbnail: NDArray[np.float32] | None


@dataclass(frozen=True)
class Gathered:
    """Fingerprints of the images of a bundle.

    Attributes:
        names: Images that were read, each once.
        stages: Stages each is in.
        prints: Their fingerprints.
        missing: Images without a file.
        damaged: Files that cannot be decoded.
    """

    names: list[str]
    stages: list[frozenset[str]]
    prints: list[Print]
    missing: list[str]
    damaged: list[str]

    @property
    def total(self) -> int:
        """Number of images, read or not."""
        return len(self.names) + len(self.missing) + len(self.damaged)

    def stages_differ(self, one: int, other: int) -> bool:
        """Whether two images are in different stages."""
        return len(self.stages[one] | self.stages[other]) > 1


def gather(bundle: Bundle) -> Gathered:
    """Read all images of a bundle, each once."""
    assert bundle.images is not None
    stages: dict[str, set[str]] = {}
    for part in bundle.parts:
        for name in part.lines:
            stages.setdefault(name, set()).add(part.stage)
    paths = {name: _file(bundle.images, name) for name in stages}
    there = [name for name, path in paths.items() if path is not None]
    prints = engines.find("threads").map(lambda name: fingerprint(paths[name]), there)
    read = [(name, one) for name, one in zip(there, prints, strict=True) if one is not None]
    return Gathered(
        names=[name for name, _ in read],
        stages=[frozenset(stages[name]) for name, _ in read],
        prints=[one for _, one in read],
        missing=[name for name, path in paths.items() if path is None],
        damaged=[name for name, one in zip(there, prints, strict=True) if one is None],
    )


def _file(folder: Path, name: str) -> Path | None:
    """The file of an image, never outside of the folder."""
    relative = Path(name)
    if relative.is_absolute() or ".." in relative.parts:
        return None
    suffixes = [""] if relative.suffix else [".jpg", ".png", ".jpeg"]
    places = [folder / f"{part}{end}" for part in (relative, relative.name) for end in suffixes]
    return next((path for path in places if path.is_file()), None)


def fingerprint(path: Path | None) -> Print | None:
    """The fingerprint of a file, or None if it is no image."""
    import io

    from PIL import Image

    assert path is not None
    try:
        data = path.read_bytes()
        with Image.open(io.BytesIO(data)) as image:
            image.draft("L", (64, 64))  # a JPEG is decoded no larger than needed
            grey = image.convert("L")
            small = grey.resize((9, 8), Image.Resampling.BOX)
            thumbnail = grey.resize((_SIDE, _SIDE), Image.Resampling.BOX)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    pixels = np.asarray(small, np.int16)
    bits = (pixels[:, :-1] < pixels[:, 1:]).ravel()
    number = int.from_bytes(np.packbits(bits).tobytes(), "big")
    return Print(hashlib.sha256(data).hexdigest(), number, _stretched(thumbnail))


def _stretched(thumbnail: Any) -> NDArray[np.float32] | None:
    values = np.asarray(thumbnail, np.float32).ravel()
    low, high = float(values.min()), float(values.max())
    return None if high - low < _FLAT else (values - low) * (255 / (high - low))


def find(gathered: Gathered, *, exact: bool) -> list[tuple[int, int]]:
    """Pairs of images with the same bytes, or, not exactly, pairs that look alike."""
    checks = [one.sha256 for one in gathered.prints]
    if exact:
        return sorted(_same(checks))
    hashes = np.array([one.hash for one in gathered.prints], np.uint64)
    return [
        (a, b)
        for a, b in near(hashes)
        if checks[a] != checks[b] and _agree(gathered.prints[a], gathered.prints[b])
    ]


def _same(values: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Every value that occurs again, with its first place."""
    first: dict[str, int] = {}
    for index, value in enumerate(values):
        if value in first:
            yield first[value], index
        first.setdefault(value, index)


def _agree(one: Print, other: Print) -> bool:
    if one.thumbnail is None or other.thumbnail is None:
        return False
    return float(np.abs(one.thumbnail - other.thumbnail).mean()) <= _AGREE


def near(hashes: NDArray[np.uint64], bits: int = BITS) -> list[tuple[int, int]]:
    """All pairs of hashes that differ in at most `bits` bits, four at most.

    >>> near(np.array([0b1111, 0b0111, 1 << 60], np.uint64), bits=1)
    [(0, 1)]
    """
    found: set[tuple[int, int]] = set()
    for low, high in pairwise(_BANDS):
        band = (hashes >> np.uint64(low)) & np.uint64((1 << (high - low)) - 1)
        order = np.argsort(band, kind="stable")
        edges = np.flatnonzero(np.diff(band[order])) + 1
        for group in np.split(order, edges):
            found.update(_close(group, hashes, bits))
    return sorted(found)


def _close(
    group: NDArray[np.intp], hashes: NDArray[np.uint64], bits: int
) -> Iterator[tuple[int, int]]:
    """Close pairs within a group, row by row, so that a large group needs little memory."""
    values = hashes[group]
    for at in range(len(group) - 1):
        differ = np.bitwise_count(values[at] ^ values[at + 1 :])
        for other in np.flatnonzero(differ <= bits):
            pair = sorted((int(group[at]), int(group[at + 1 + other])))
            yield pair[0], pair[1]
