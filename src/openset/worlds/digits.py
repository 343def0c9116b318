"""Digits: an open-set world made of 1,797 handwritten digits (`openset.examples.scans`).

Some digits are known, the others are unknown (near); letters (far) and shapes (farther) are drawn
by us. Every protocol of the literature can be run on it in minutes on a CPU, with no download:
wilderness images that hold unknown objects only (Dhamija et al., WACV 2020), unknowns within one
super-class (Hosoya et al., 2024), tasks that teach classes step by step (Joseph et al., CVPR 2021),
tiers of distance (FMIYC), and labels that are missing at a chosen rate (Zhao et al., RE-OWOD).

Not a benchmark to report as progress: it is small, synthetic and easy; what holds here may not
hold on photographs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from openset.engines import Engine
from openset.tables import Annotations, Vocabulary
from openset.worlds import _check, _tables, _write
from openset.worlds._cast import DIGITS, SPLITS, SUPERCLASS, Split
from openset.worlds._compose import Scene, SceneObject, compose
from openset.worlds._spec import world

__all__ = ["SPLITS", "DigitsWorld", "Scene", "SceneObject"]


@world("digits")
@dataclass(frozen=True)
class DigitsWorld:
    """Scenes of handwritten digits, some known and some not, with letters and shapes.

    Attributes:
        seed: Decides everything; a scene depends on it, its split and its index.
        images: Number of images: 60 % train, 10 % val, 30 % test.
        size: Pixels at each side of an image.
        known: Digits that are taught, in the order of teaching.
        unknown: Digits that appear but are never taught.
        tasks: Number of tasks into which `known` is cut, earlier ones not shorter.
        task: The current task, 1 to `tasks`: later digits are unknown. 0 is the last, and writes
            the files of all tasks.
        exemplars: Objects of each class so far, on whose images a task is fine-tuned.
        objects: Fewest and most objects of a scene.
        wilderness: Share of the test images that hold unknown objects only.
        mixed: Share of the other test images that hold known and unknown objects.
        tiers: Weights of near (digits), far (letters) and farther (shapes) among the unknown.
        crowds: Share of images with a crowd: many objects of one class, one region.
        occlusion: Chance that an object is put on top of another.
        small: Chance that an object is small (about 8 % of the image's side).
        clutter: Most lines of clutter in a background.
        hidden: Share of objects, in every split, whose label is left out; the complete annotations
            have them.
        train_unknowns: Whether unknown objects are ``absent`` from train and val, or there but
            ``unlabelled``, which teaches a detector that they are background.

    >>> DigitsWorld(images=100).count("test")
    30
    >>> DigitsWorld(tasks=3, task=2).vocabulary.current
    ('two', 'three')
    """

    seed: int = 0
    images: int = 1000
    size: int = 128
    known: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    unknown: tuple[int, ...] = (6, 7, 8, 9)
    tasks: int = 1
    task: int = 0
    exemplars: int = 20
    objects: tuple[int, int] = (2, 6)
    wilderness: float = 0.25
    mixed: float = 0.5
    tiers: tuple[float, float, float] = (0.5, 0.3, 0.2)
    crowds: float = 0.06
    occlusion: float = 0.1
    small: float = 0.06
    clutter: int = 2
    hidden: float = 0.0
    train_unknowns: Literal["absent", "unlabelled"] = "absent"

    def __post_init__(self) -> None:
        for name in ("known", "unknown", "objects", "tiers"):
            value = getattr(self, name)
            if isinstance(value, list | range):
                object.__setattr__(self, name, tuple(value))
        _check.refuse_impossible(self)

    # What is in it

    @property
    def current_task(self) -> int:
        """The current task, 1 to `tasks`."""
        return self.task or self.tasks

    def labels_of_task(self, task: int) -> tuple[str, ...]:
        """The labels that a task teaches first."""
        short, longer = divmod(len(self.known), self.tasks)
        start = (task - 1) * short + min(task - 1, longer)
        return tuple(DIGITS[i] for i in self.known[start : start + short + (task <= longer)])

    @cached_property
    def known_labels(self) -> tuple[str, ...]:
        """The labels taught up to the current task."""
        done = range(1, self.current_task + 1)
        return tuple(label for task in done for label in self.labels_of_task(task))

    @property
    def vocabulary(self) -> Vocabulary:
        """Roles at the current task: the one that the annotation files state themselves."""
        return self.vocabulary_at(self.current_task)

    def vocabulary_at(self, task: int) -> Vocabulary:
        """Roles at a task: earlier labels, its own labels, and everything else unknown."""
        earlier = tuple(label for t in range(1, task) for label in self.labels_of_task(t))
        tasks = (earlier, self.labels_of_task(task)) if earlier else (self.labels_of_task(task),)
        return Vocabulary(tasks=tasks, name="digits")

    @property
    def superclass_vocabulary(self) -> Vocabulary:
        """Roles within the super-class "digit": letters and shapes are ignored (OSOD-III)."""
        other = (label for label, superclass in SUPERCLASS.items() if superclass != "digit")
        return replace(self.vocabulary, ignored=frozenset(other), name="digits within digit")

    def taught(self, split: Split) -> tuple[str, ...]:
        """Labels of the known objects of a split.

        A task is trained on its own labels and validated on all labels so far. The test images
        hold the labels of all tasks and stay the same from task to task.
        """
        if split == "test":
            return tuple(DIGITS[i] for i in self.known)
        current = self.labels_of_task(self.current_task)
        return current if split == "train" else self.known_labels

    @cached_property
    def unknown_labels(self) -> tuple[tuple[str, ...], ...]:
        """Labels that are never taught: near, far and farther."""
        near = tuple(DIGITS[i] for i in self.unknown)
        far, farther = (
            tuple(label for label in SUPERCLASS if SUPERCLASS[label] == superclass)
            for superclass in ("letter", "shape")
        )
        return near, far, farther

    def holds_unknowns(self, split: Split) -> bool:
        """Whether unknown objects appear in a split."""
        return split == "test" or self.train_unknowns == "unlabelled"

    # Scenes

    def count(self, split: Split) -> int:
        """Number of images of a split."""
        train, val = self.images * 6 // 10, self.images // 10
        return {"train": train, "val": val, "test": self.images - train - val}[split]

    def is_wild(self, index: int) -> bool:
        """Whether a test image belongs to the wilderness: evenly spread, so any prefix is fair."""
        return int((index + 1) * self.wilderness) > int(index * self.wilderness)

    def stream(self, split: Split) -> int:
        """The number of a split among all splits of all tasks; all tasks share the test split."""
        earlier = 0 if split == "test" else 3 * (self.current_task - 1)
        return earlier + SPLITS.index(split)

    def image_id(self, split: Split, index: int) -> int:
        """A number that no other image of this world has, in whichever split or task."""
        return self.stream(split) * 1_000_000 + index + 1

    def scene(self, index: int, split: Split = "train") -> Scene:
        """The scene of a split at an index; it depends on no other scene."""
        _check.refuse_index(self, index, split)
        return compose(self, split, index)

    def scenes(self, split: Split) -> Iterator[Scene]:
        """All scenes of a split, in order."""
        return (self.scene(index, split) for index in range(self.count(split)))

    # Ground truth and files

    def annotations(self, split: Split, *, complete: bool = False) -> Annotations:
        """The ground truth of a split.

        Args:
            split: ``train``, ``val`` or ``test``.
            complete: Also what is there but unlabelled (`hidden`, `train_unknowns`).
        """
        objects = [scene.objects for scene in self.scenes(split)]
        return _tables.ground_truth(self, split, objects, complete=complete)

    def write(
        self,
        folder: str | Path,
        *,
        engine: Engine | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Path:
        """Write images, COCO files and vocabularies; go on where an earlier call was stopped.

        Of several tasks, all are written, unless one of them is the current one: ``train-t1.json``,
        ``test-t1.json``, ``train-t2.json`` and so on, and from the second on ``finetune-t2.json``.

        Every file appears whole or not at all, an annotation file after all its images. Bytes do
        not depend on the engine.

        Args:
            folder: Absent, empty, or holding an unfinished copy of this very world.
            engine: Where images are made; by default here, one after another.
            progress: Called with the number of images done and of all images.
        """
        return _write.write(self, Path(folder), engine, progress)

    def write_images(self, folder: Path | str, split: Split, count: int) -> Path:
        """Write only the first images of a split, for whom the rest is at hand already."""
        return _write.write_images(self, Path(folder), split, count)
