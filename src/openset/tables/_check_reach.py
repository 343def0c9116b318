"""Check that detected boxes reach as far into their images as objects do.

Boxes of tiles or crops whose place was lost, and numbers that wrapped at 256, lie in one part of
the images; some of them on objects, so that a number comes out. Of an honest detector, however
weak, some box among many images ends near the border, where objects end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, Level
from openset.tables._check_case import Case, object_at
from openset.tables.boxes import sizes
from openset.wording import spaced

_IMAGES = 30  # fewer prove nothing
_BEYOND = 0.1  # of the objects
_SLACK = 1.05
_UNLIKELY = np.log(1e-6)


def cut_off(case: Case) -> Iterator[Finding]:
    """Boxes of which none reaches where many objects do: tiles, crops, numbers of eight bits.

    In pixels and in shares of the image, since pictures were cut or numbers wrapped. Where some
    images are too few to tell, the boxes of all are asked how far they reach in pixels.
    """
    images, truth, objects = case.joined.image[case.some], case.truth, case.some_objects
    assert truth.crowd is not None
    objects = objects[case.named[truth.label[objects]] & ~truth.crowd[objects]]
    count = len(np.unique(images))
    drawn = case.detections.box.take(case.some, axis=0)
    if min(len(objects), count) < _IMAGES:
        return
    size = sizes(truth, np.arange(len(truth.images), dtype=np.int32))
    found, given = (box[:, :2] + box[:, 2:] for box in (drawn, truth.box.take(objects, axis=0)))
    for unit, scale in (("pixels", np.ones_like(size)), ("of the image", size)):
        most = (found / scale[images]).max(axis=0)
        beyond = given / scale[truth.image[objects]] > _SLACK * most
        for axis, share_beyond in enumerate(beyond.mean(axis=0).tolist()):
            if share_beyond < _BEYOND or _repeated(drawn):
                continue
            unlikely = count * np.log1p(-share_beyond) < _UNLIKELY
            if unlikely or (unit == "pixels" and _none_beyond(case, axis, _SLACK * most[axis])):
                yield _ends(case, objects[beyond[:, axis]], float(most[axis]), (unit, "xy"[axis]))
                return


def _none_beyond(case: Case, axis: int, line: float) -> bool:
    """Whether no box of any image crosses a line, of as many images as it takes to tell."""
    box, image = case.detections.box, case.joined.image
    if image.min(initial=0) < 0 or (box[:, axis] + box[:, 2 + axis]).max() > line:
        return False
    images = int(np.count_nonzero(case.per_image[:-1]))
    return bool(images * np.log1p(-_BEYOND) < _UNLIKELY)


def _repeated(box: NDArray[np.float64]) -> bool:
    """Whether most boxes are drawn again: a baseline that has seen no image, and cut none."""
    return 2 * len(np.unique(box, axis=0)) < len(box)


def _ends(case: Case, beyond: NDArray[np.intp], most: float, where: tuple[str, str]) -> Finding:
    unit, axis = where
    return Finding(
        "OS438",
        Level.ERROR,
        f"no detected box examined reaches beyond {axis} = {most:.4g} {unit}, and "
        f"{spaced(len(beyond))} objects do",
        count=len(beyond),
        example=object_at(case.truth, int(beyond[0])),
    )
