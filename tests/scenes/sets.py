"""An ID and an OOD set with a detector's output on either, cut out of a random scene."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openset.tables.sets import Pair
from scenes.builders import CATEGORIES, UNKNOWN_IDS, Scene, dump, scene

ROLES = {3: "known", 7: "known", 8: "known", 12: "unknown", 20: "unknown"}
TIERS = ("near", "far")


@dataclass(frozen=True)
class Sets:
    """Two scenes of one detector.

    Attributes:
        id: Images of known objects, and one without any.
        ood: Images of unknown objects, each of a tier.
    """

    id: Scene
    ood: Scene

    def truth(self) -> Pair[Any]:
        """The ground truths, as documents."""
        return Pair(self.id.truth, self.ood.truth)

    def found(self) -> Pair[Any]:
        """The detections, as documents."""
        return Pair(self.id.found, self.ood.found)

    def files(self, folder: Path) -> None:
        """``id.json``, ``ood.json``, ``yolo-id.json``, ``yolo-ood.json`` and ``both.json``."""
        for name, one in (("id", self.id), ("ood", self.ood)):
            dump(folder / f"{name}.json", one.truth)
            dump(folder / f"yolo-{name}.json", one.found)
        dump(folder / "both.json", self.id.found + self.ood.found)


def sets(seed: int = 0, *, images: int = 24, colliding: bool = False) -> Sets:
    """Both sets; with `colliding`, images of both are called 1, 2, 3 ..."""
    whole = scene(seed, images=images)
    held: dict[Any, set[bool]] = {}
    for one in whole.truth["annotations"]:
        held.setdefault(one["image_id"], set()).add(one["category_id"] in UNKNOWN_IDS)
    known = [i for i in whole.images if held.get(i, {False}) == {False}]
    unknown = [i for i in whole.images if held.get(i) == {True}]
    id_, ood = (_roles(whole.part(part)) for part in (known, unknown))
    for at, record in enumerate(ood.truth["images"]):
        record["tier"] = TIERS[at % 2]
    return Sets(*map(_renumbered, (id_, ood))) if colliding else Sets(id_, ood)


def _roles(one: Scene) -> Scene:
    categories = [category | {"role": ROLES[category["id"]]} for category in CATEGORIES]
    truth = json.loads(json.dumps(one.truth)) | {"categories": categories}
    return Scene(truth, one.found)


def _renumbered(one: Scene) -> Scene:
    new = {old: at for at, old in enumerate(one.images, 1)}
    images = [record | {"id": new[record["id"]]} for record in one.truth["images"]]
    objects, found = (
        [record | {"image_id": new[record["image_id"]]} for record in records]
        for records in (one.truth["annotations"], one.found)
    )
    for record in images:
        record.pop("file_name", None)
    return Scene(one.truth | {"images": images, "annotations": objects}, found)
