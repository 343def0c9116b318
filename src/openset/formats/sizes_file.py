"""Sizes of images as a CSV of ``image,width,height``, for formats that do not say them.

Not the sizes that are in the headers of pictures (`imagesize`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from openset.files import load_text
from openset.refusals import wrong_type


def read_sizes(path: str | Path) -> dict[str, tuple[float, float]]:
    """Sizes of images from a CSV of ``image,width,height``; further columns are left alone."""
    import csv

    sizes: dict[str, tuple[float, float]] = {}
    for row, parts in enumerate(csv.reader(load_text(Path(path)).splitlines())):
        try:
            sizes[parts[0]] = float(parts[1]), float(parts[2])
        except (ValueError, IndexError):
            if row and parts:
                raise wrong_type(str(path), "line", "image,width,height", [row], parts) from None
    return sizes


def write_sizes(file: Path, images: Iterable[str], sizes: Iterable[Iterable[float]]) -> None:
    """Write the width and height of images, by their names."""
    import csv

    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["image", "width", "height"])
        for name, size in zip(images, sizes, strict=True):
            writer.writerow([name, *map(repr, size)])
