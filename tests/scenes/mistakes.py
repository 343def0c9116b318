"""Mistakes as data: a small world that is right, what a careless hand makes of it, and the answer.

A case spoils the files of a world and says what the command line must answer: a code that refuses,
a code that warns, or nothing at all. The world has photographs of five sizes under ids that are no
places, eight classes with the sparse ids of COCO of which five are known, and a detector that finds
four of five objects, says "unknown" to half of the unknown ones, and has boxes on background.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from scenes.film import SIZES, anywhere, moved

NAMES = {1: "person", 2: "bicycle", 3: "car", 10: "traffic light", 17: "cat", 18: "dog",
         19: "horse", 20: "sheep", 91: "unknown"}  # fmt: skip
IDS = [*NAMES][:-1]
KNOWN = ("person", "bicycle", "car", "traffic light", "cat")
UNKNOWN = 91
EVALUATE = ("evaluate", "gt.json", "dt.json", "--known", ",".join(KNOWN), "--no-intervals")


@dataclass
class World:
    """The files of a case, and what else it wants in its folder.

    Attributes:
        gt: Ground truth, a COCO document.
        dt: Detections, a list of COCO records.
        files: Further files by name, as text, bytes or a document.
    """

    gt: Any
    dt: Any
    files: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write all files."""
        for name, content in {"gt.json": self.gt, "dt.json": self.dt, **self.files}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content if isinstance(content, str) else json.dumps(content))

    def size(self, record: dict[str, Any]) -> tuple[float, float]:
        """Width and height of a record's image."""
        return _sizes(self)[record["image_id"]]


def _sizes(world: World) -> dict[Any, tuple[float, float]]:
    return {one["id"]: (one["width"], one["height"]) for one in world.gt["images"]}


@dataclass(frozen=True)
class Mistake:
    """A case.

    Attributes:
        what: The mistake, in words.
        spoil: What is done to the world.
        answer: "refused OS215", "warned OS318", "accepted", or "usage" (refused without a code).
        argv: The command line, or what is added to `EVALUATE` if it begins with a dash.
        says: What must be said with it.
    """

    what: str
    spoil: Callable[[World], Any]
    answer: str
    argv: tuple[str, ...] = ()
    says: str = ""

    def __str__(self) -> str:
        return self.what

    @property
    def command(self) -> tuple[str, ...]:
        """The whole command line."""
        line = self.argv if self.argv and self.argv[0][0] != "-" else (*EVALUATE, *self.argv)
        return (*line, "--json")


def codes(document: dict[str, Any]) -> dict[str, str]:
    """The levels of all findings in an answer, by code, those of refusals first."""
    found: dict[str, str] = {}
    for finding in _findings(document):
        found.setdefault(finding["code"], finding["level"])
    return found


def _findings(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [one for part in node for one in _findings(part)]
    if not isinstance(node, dict):
        return []
    own = [node] if {"code", "level"} <= node.keys() else []
    return own + [one for part in node.values() for one in _findings(part)]


def answered(case: Mistake, folder: Path, openset: Callable[..., Any]) -> str:
    """What is wrong with the answer to a case; empty if nothing is."""
    world = good()
    case.spoil(world)
    world.write(folder)
    done = openset(*case.command)
    document = done.json
    found, kind, *code = codes(document), *case.answer.split()
    told = f"exit {done.code}, {found}: {json.dumps(document.get('error'))}"
    level = {"refused": "error", "usage": "error", "warned": "warning", "accepted": "note"}[kind]
    if (done.code == 0) != (kind in ("warned", "accepted")):
        return told
    if code and not any(found.get(one) == level for one in code[0].split("|")):
        return told
    if kind == "accepted" and {"error", "warning"} & set(found.values()):
        return told
    return "" if case.says in " ".join(json.dumps(document, ensure_ascii=False).split()) else told


def good(images: int = 100, seed: int = 0) -> World:
    """A world without a mistake."""
    return deepcopy(_good(images, seed))


@cache
def _good(images: int, seed: int) -> World:
    rng = np.random.default_rng(seed)
    size = SIZES[rng.integers(0, len(SIZES), images)]
    ids = (1000 + np.cumsum(rng.integers(2, 30, images))).tolist()
    numbers = (rng.permutation(images) * 3 + 7).tolist()
    pictures = [
        {"id": ids[at], "file_name": f"{numbers[at]:012d}.jpg", "width": int(w), "height": int(h)}
        for at, (w, h) in enumerate(size)
    ]
    objects, found = [], []
    for at, image in enumerate(ids):
        extent = rng.uniform(0.08, 0.45, (4, 2)) * size[at]
        box = np.hstack([rng.uniform(0, 1, (4, 2)) * (size[at] - extent), extent])
        for one in box:
            label = int(rng.choice(IDS))
            record = {"image_id": image, "category_id": label, "bbox": one.round(2).tolist()}
            area = float(round(one[2] * one[3], 2))
            objects.append(record | {"id": len(objects) + 1, "area": area, "iscrowd": 0})
            if rng.random() < 0.8:
                near = moved(one[None], 0.04, rng)[0]
                found.append(_found(rng, image, _called(rng, label), near, 0.3, 1.0))
        for one in anywhere(size[[at, at]], rng):
            found.append(_found(rng, image, int(rng.choice(IDS[:5])), one, 0.02, 0.5))
    categories = [{"id": key, "name": name} for key, name in NAMES.items()]
    return World({"images": pictures, "annotations": objects, "categories": categories}, found)


def _called(rng: np.random.Generator, label: int) -> int:
    """The label that an object gets: right in six of seven, unknown ones unknown in a half."""
    if label not in IDS[:5]:
        return int(rng.choice([UNKNOWN, rng.choice(IDS[:5])]))
    return label if rng.random() < 0.85 else int(rng.choice(IDS[:5]))


def _found(
    rng: np.random.Generator, image: int, label: int, box: np.ndarray, low: float, high: float
) -> dict[str, Any]:
    score = round(float(rng.uniform(low, high)), 4)
    return {"image_id": image, "category_id": label, "bbox": box.round(2).tolist(), "score": score}


# ------------------------------------------------------------------ what hands do to files


def each(key: str, value: Callable[..., Any]) -> Callable[[World], None]:
    """Change a key of every detection; a function of two takes width and height of its image."""

    def spoil(world: World) -> None:
        two = getattr(getattr(value, "__code__", None), "co_argcount", 1) == 2
        size = _sizes(world)
        for one in world.dt:
            one[key] = value(one[key], size[one["image_id"]]) if two else value(one[key])

    return spoil


def some(key: str, value: Callable[..., Any], rows: slice) -> Callable[[World], None]:
    """Change a key of some detections."""

    def spoil(world: World) -> None:
        for one in world.dt[rows]:
            one[key] = value(one[key])

    return spoil


def objects(key: str, value: Callable[..., Any], rows: slice = slice(None)) -> Callable[..., None]:
    """Change a key of annotations."""

    def spoil(world: World) -> None:
        for one in world.gt["annotations"][rows]:
            one[key] = value(one[key])

    return spoil


def both(*spoils: Callable[[World], Any]) -> Callable[[World], None]:
    """One mistake after the other."""

    def spoil(world: World) -> None:
        for one in spoils:
            one(world)

    return spoil


def kept(test: Callable[[dict[str, Any]], bool]) -> Callable[[World], None]:
    """Keep some detections."""

    def spoil(world: World) -> None:
        world.dt = [one for one in world.dt if test(one)]

    return spoil


def with_file(name: str, content: Any) -> Callable[[World], None]:
    """Put a file beside the others."""

    def spoil(world: World) -> None:
        world.files[name] = content

    return spoil


def nothing(world: World) -> None:
    """No mistake in the files."""
