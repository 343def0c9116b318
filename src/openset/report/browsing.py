"""Browsing: every image of a run, in a folder beside the page, which loads what is looked at.

``index.css`` holds the names of all images and how much of each kind of error they show at the
operating points, ``7.css`` the boxes of the eighth image, ``7.jpg`` its pixels, made small. Files
are called by numbers, so that no name that came from elsewhere becomes a path.

A page that was opened from disk may not fetch, and a script would be code. So each piece is a style
sheet of one property, which holds JSON as base64: browsers load it, and there is nothing to run.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from openset.diagnosis.deployed import Deployed, first_trainings
from openset.evaluation.run import Run
from openset.files import replacing
from openset.json_text import plain
from openset.report.crops import Pixels, Surroundings
from openset.report.gallery import KINDS, per_image
from openset.report.payload import image_names, seen
from openset.wording import short

SIDE = 480  # longest side of an image, in pixels
MOST_BOXES = 40  # of one detector in an image, the best scored
MOST_COUNTED = 255  # errors of one kind in an image, to order images by
INDEX = "index"


def browsing_folder(page: Path) -> Path:
    """Where the images of a page are."""
    return page.with_name(f"{page.stem}-images")


def write_images(run: Run, folder: Path, images: Path | None = None) -> list[str]:
    """Write every image of a run for its page.

    Args:
        run: Several detectors on one benchmark, evaluated.
        folder: Where to write; it appears whole or not at all, and replaces an earlier one.
        images: The folder of the images; without it there are only boxes.

    Returns:
        Names of the images whose pixels could not be had.
    """
    models = first_trainings(run)
    names, around = image_names(run), Surroundings(run, models)
    pixels = None if images is None else Pixels(Path(images))

    def keep(image: int) -> bool:
        view = around.whole(image, MOST_BOXES)
        found = seen(around, view, names)
        piece = pixels and pixels.crop(names[image], view.region, around.size(image), SIDE)
        if piece:
            (draft / f"{image}.jpg").write_bytes(piece)
        _write(draft, str(image), found | {"file": bool(piece)})
        return bool(piece)

    with replacing(folder, folder=True, empty=not _is_ours(folder)) as draft:
        draft.mkdir()
        _write(draft, INDEX, _index(models, names))
        with ThreadPoolExecutor() as pool:
            there = list(pool.map(keep, range(len(names))))
    return [name for name, whole in zip(names, there, strict=True) if not whole]


def _is_ours(folder: Path) -> bool:
    return (folder / f"{INDEX}.css").is_file()


def _index(models: Sequence[Deployed], names: Sequence[str]) -> dict[str, Any]:
    """Names of images, and per detector and kind how much of it each shows."""
    kinds = [{"name": kind.name, "title": kind.title} for kind in KINDS]
    counts = [
        [np.minimum(per_image(model, kind), MOST_COUNTED).tolist() for kind in KINDS]
        for model in models
    ]
    return {"names": [short(name) for name in names], "kinds": kinds, "counts": counts}


def _write(folder: Path, name: str, held: dict[str, Any]) -> None:
    text = json.dumps(plain(held), separators=(",", ":"), allow_nan=False)
    packed = base64.b64encode(text.encode()).decode("ascii")
    style = f'#held {{ --held-{name}: "{packed}" }}\n'
    (folder / f"{name}.css").write_text(style, "ascii", newline="\n")
