"""Pairs: an evaluation on an ID and an OOD set, as one on a single ground truth.

What was read becomes one table (`openset.tables.sets`), and everything after is as always; which
metric is a number of which set says `openset.metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from openset.evaluation.settings import Settings
from openset.findings import InputError, UsageError, raise_all
from openset.tables import Annotations, Detections
from openset.tables.sets import Pair, found_together, together

Found = Mapping[str, Detections | Pair[Detections]]


def one_set(
    truth: Annotations | Pair[Annotations], found: Found, settings: Settings
) -> tuple[Annotations, dict[str, Detections], Settings]:
    """The ground truth, the detections on it, and how these are to be read from now on."""
    if isinstance(truth, Pair):
        joint, tables = together(truth), _together(truth, found, settings)
        both = any(isinstance(one, Pair) for one in found.values())
        return joint, tables, replace(settings, image_ids="id") if both else settings
    tables = {name: one for name, one in found.items() if not isinstance(one, Pair)}
    if len(tables) < len(found):
        raise UsageError("two files of one detector need two ground truths: --id ID.json OOD.json")
    return truth, tables, settings


def _together(truth: Pair[Annotations], found: Found, settings: Settings) -> dict[str, Detections]:
    tables, failures = {}, []
    mapped = settings.category_ids is not None
    for name, one in found.items():
        try:
            tables[name] = found_together(one, truth, image_ids=settings.image_ids, mapped=mapped)
        except InputError as error:
            named = [replace(f, message=f"{name}: {f.message}") for f in error.findings]
            failures.append(InputError(named) if len(found) > 1 else error)
    raise_all(failures)
    return tables
