"""Check: which parameters no digits world can have, all of them named at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from openset.findings import Finding, InputError, Level, UsageError
from openset.plugins import lookup
from openset.worlds._cast import SPLITS, Split

if TYPE_CHECKING:
    from openset.worlds.digits import DigitsWorld

_WHOLE = {
    "seed": (0, 2**63 - 1),
    "images": (10, 999_999),
    "size": (48, 1024),
    "tasks": (1, 10),
    "task": (0, 10),
    "exemplars": (1, 999_999),
    "clutter": (0, 100),
}
_SHARES = ("wilderness", "mixed", "crowds", "occlusion", "small", "hidden")
_MOST_OBJECTS = 50


def refuse_impossible(world: DigitsWorld) -> None:
    """Raise one error with a finding for each parameter that cannot be."""
    faults = [*_types(world)] or [*_relations(world)]
    if faults:
        raise InputError([Finding("OS701", Level.ERROR, message) for message in faults])


def refuse_index(world: DigitsWorld, index: int, split: Split) -> None:
    """Raise if there is no such split, or no such scene in it."""
    lookup(dict.fromkeys(SPLITS), split, "split")
    if not 0 <= index < world.count(split):
        raise UsageError(f"scene {index} is not one of the {world.count(split)} of {split!r}")


def _types(world: DigitsWorld) -> Iterator[str]:
    for name, (low, high) in _WHOLE.items():
        value = getattr(world, name)
        if not _whole(value) or not low <= value <= high:
            yield f"{name} must be a whole number from {low} to {high}, not {value!r}"
    for name in _SHARES:
        value = getattr(world, name)
        if not _number(value) or not 0 <= value <= 1:
            yield f"{name} must be a share from 0 to 1, not {value!r}"
    for name in ("known", "unknown"):
        value = getattr(world, name)
        if not isinstance(value, tuple) or not all(_whole(d) and 0 <= d <= 9 for d in value):
            yield f"{name} must hold digits from 0 to 9, not {value!r}"
    yield from _tuples(world)


def _tuples(world: DigitsWorld) -> Iterator[str]:
    tiers, objects = world.tiers, world.objects
    if not _has(tiers, 3) or not all(_number(w) and 0 <= w < float("inf") for w in tiers):
        yield f"tiers must be three weights that are not negative, not {tiers!r}"
    if not _has(objects, 2) or not all(map(_whole, objects)):
        yield f"objects must be two whole numbers, not {objects!r}"
    elif not 1 <= objects[0] <= objects[1] <= _MOST_OBJECTS:
        yield f"objects must be fewest and most, 1 to {_MOST_OBJECTS}, not {objects!r}"
    if world.train_unknowns not in ("absent", "unlabelled"):
        yield f"train_unknowns must be 'absent' or 'unlabelled', not {world.train_unknowns!r}"


def _relations(world: DigitsWorld) -> Iterator[str]:
    if not world.known:
        yield "known is empty, but a detector must be taught something"
    listed = [*world.known, *world.unknown]
    if twice := sorted({digit for digit in listed if listed.count(digit) > 1}):
        yield f"{len(twice)} digit(s) are listed twice in known and unknown, first {twice[0]}"
    if world.tasks > max(1, len(world.known)):
        yield f"{world.tasks} tasks cannot share {len(world.known)} known digits"
    if world.task > world.tasks:
        yield f"task {world.task} is beyond the last of {world.tasks}"
    near, far, farther = world.tiers
    nobody = not (far or farther or (near and world.unknown))
    if nobody and (world.wilderness or world.mixed):
        yield "wilderness and mixed need unknown objects, but every tier is empty or has weight 0"


def _has(value: Any, length: int) -> bool:
    return isinstance(value, tuple) and len(value) == length


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
