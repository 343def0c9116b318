"""Pretraining hygiene: nothing that is called unknown was shown, with its box, before.

Weights trained on COCO know the 60 classes that Pascal VOC lacks: a detector that starts from them
has met the "unknown". What data sets teach is in ``pretraining.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from openset.benchmarks.bundle import Bundle
from openset.benchmarks.pool import expanded
from openset.benchmarks.principles import Check, failed, passed, principle, unknown
from openset.tables import Vocabulary
from openset.tables.vocabulary import Role, normal

_WHAT = "detectors were not trained on unknown classes before"


@principle(
    "pretraining_hygiene",
    "Pretraining hygiene",
    6,
    fix="Start from weights that never saw a box of these classes (ImageNet's, or none), or take "
    "the classes off the unknown ones.",
)
def pretraining_hygiene(bundle: Bundle) -> Iterable[Check]:
    """Data sets of pretraining do not show boxes of classes that are unknown here."""
    if bundle.pretraining is None:
        yield unknown(_WHAT, "no pretraining is declared")
        return
    if not bundle.pretraining:
        yield passed(_WHAT, "declared: from scratch")
    table = datasets()
    for name in bundle.pretraining:
        record = table.get(normal(name))
        if record is None:
            yield unknown(f"{_WHAT}: {name}", f"{name} is no data set that we know")
            continue
        yield _check(bundle, name, record)


def _check(bundle: Bundle, name: str, record: Mapping[str, Any]) -> Check:
    what = f"{_WHAT}: {name}"
    boxes = expanded(record["boxes"], {})
    if not boxes:
        return passed(what, f"{name} teaches features of whole images, no objects")
    first = bundle.vocabulary(1)
    listed = {first.key(k): k for k in _unknown_labels(bundle, first)}
    met = [label for key, label in listed.items() if key in set(map(first.key, boxes))]
    if met:
        return failed(
            what, f"{name} shows {len(met)} of {len(listed)} unknown classes", len(met), met
        )
    if record.get("everything"):
        return unknown(what, f"{name} shows many classes; compare its list with the unknown ones")
    return passed(what, f"none of {len(listed)} unknown classes is among its {len(boxes)}")


def _unknown_labels(bundle: Bundle, vocabulary: Vocabulary) -> list[str]:
    """Labels that are unknown at the first task, listed or not."""
    labels = [label for universe in bundle.universes.values() for label in universe]
    labels += [label for part in bundle.parts if part.table for label in part.table.labels]
    found = (*vocabulary.unknown, *labels)
    return sorted({label for label in found if vocabulary.role(label) is Role.UNKNOWN})


@cache
def datasets() -> Mapping[str, Mapping[str, Any]]:
    """What data sets teach, by reduced name."""
    path = Path(__file__).parents[1] / "pretraining.toml"
    return {normal(k): v for k, v in tomllib.loads(path.read_text("utf-8")).items()}
