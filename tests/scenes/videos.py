"""Videos: frames of one scene, nearly alike, so that a detector finds an object in all or in none.

What is found is decided once a video, and the boxes of a video move by a pixel from frame to frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scenes.builders import Scene

CATEGORIES = [{"id": 1, "name": "dog"}, {"id": 2, "name": "unknown"}]
FRAMES = 10
FOUND = 0.6  # the share of videos in which an object is found: the recall of all that there are


def videos(seed: int, count: int = 40, frames: int = FRAMES) -> Scene:
    """Some videos with a known and an unknown object each."""
    rng = np.random.default_rng(seed)
    images: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    for video in range(count):
        hits, score = rng.random(2) < FOUND, rng.random(2)
        for frame in range(frames):
            key = len(images) + 1
            name = f"seq{video:02d}/{frame:06d}.jpg"
            images.append(
                {"id": key, "file_name": name, "width": 640, "height": 480, "take": video}
            )
            for at in (0, 1):
                here = {"image_id": key, "category_id": 1 + at}
                here |= {"bbox": [200 * at + frame, 40, 120, 90]}
                objects.append(here | {"id": len(objects) + 1})
                if hits[at]:
                    found.append(here | {"score": float(score[at])})
    return Scene({"images": images, "annotations": objects, "categories": CATEGORIES}, found)
