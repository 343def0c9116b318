"""Label integrity: every test image is annotated with every class that counts.

A test set that mixes sources with different lists of classes calls correct detections wrong: on
images of Pascal VOC nobody annotated a zebra. That annotators looked for a class does not mean that
they found all of its objects: a second annotation estimates how many were left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from openset.benchmarks.bundle import Bundle, Part
from openset.benchmarks.principles import Check, failed, note, of_split, passed, principle, unknown
from openset.tables.vocabulary import Role


@principle(
    "label_integrity",
    "Label integrity",
    4,
    fix="Test on images of sources whose annotators looked for every class, and leave out images "
    "that nobody annotated.",
)
def label_integrity(bundle: Bundle) -> Iterable[Check]:
    """Test images are annotated, all of them with all classes."""
    for part in bundle.of_stage("test"):
        yield from of_split(part.name, _of_part(bundle, part))
    tests = [part for part in bundle.of_stage("test") if part.kind == "test"]
    for here, there in pairwise(sorted(tests, key=lambda part: part.task)):
        if here.task != there.task and here.table is not None and there.table is not None:
            where = f"{here.name} and {there.name}"
            yield from of_split(where, _same(bundle, here, there))


def _of_part(bundle: Bundle, part: Part) -> Iterator[Check]:
    yield _one_universe(bundle, part)
    yield from _annotated(bundle, part)
    if bundle.second is not None and part.table is not None:
        from openset.benchmarks.unlabelled import estimate

        yield estimate(bundle, part, bundle.second)


def _same(bundle: Bundle, here: Part, there: Part) -> Iterator[Check]:
    """Tests of two tasks: an image has the same objects in both, whatever their roles."""
    what = "an image has the same boxes in the tests of all tasks"
    shared = here.names & there.names
    objects = [_objects(bundle, part, shared) for part in (here, there)]
    differ = sorted(name for name in shared if objects[0][name] != objects[1][name])
    if differ:
        yield failed(what, f"{len(differ)} of {len(shared)} images differ", len(differ), differ)
    elif shared:
        yield passed(what, f"{len(shared)} images")
    only = len(here.names ^ there.names)
    if only:
        yield note("tests of two tasks have other images", f"{only} are in one of them", only)


def _objects(bundle: Bundle, part: Part, names: frozenset[str]) -> dict[str, Counter[Any]]:
    """The boxes of some images: class and corners, to a tenth of a pixel."""
    table, key = part.table, bundle.vocabulary(part.task).key
    assert table is not None
    classes = [key(label) for label in table.labels]
    found: dict[str, Counter[Any]] = {name: Counter() for name in names}
    boxes = np.round(table.box, 1).tolist()
    for image, label, box in zip(table.image.tolist(), table.label.tolist(), boxes, strict=True):
        if part.lines[image] in found:
            found[part.lines[image]][classes[label], *box] += 1
    return found


def _one_universe(bundle: Bundle, part: Part) -> Check:
    what = "test images are annotated with all classes"
    images = Counter(dict(zip(part.lines, part.origin, strict=True)).values())
    if not set(images) <= bundle.universes.keys():
        return unknown(what, "the classes that annotators looked for are not stated")
    vocabulary = bundle.vocabulary(part.task)
    counted = {source: _counted(bundle, part, source) for source in images}
    whole = set().union(*counted.values())
    whole |= {
        vocabulary.key(k) for k in bundle.distinct.listed if vocabulary.role(k) != Role.IGNORED
    }
    lacking = {source: whole - found for source, found in counted.items() if whole - found}
    if not lacking:
        return passed(what, f"{len(whole)} classes on {len(part.names)} images")
    parts = [
        f"{images[source]} images of {source} with {len(whole) - len(lost)} of {len(whole)} classes"
        for source, lost in lacking.items()
    ]
    universes = len({frozenset(found) for found in counted.values()})
    said = f"{universes} label universes: {', '.join(parts)}"
    examples = [f"{source} lacks {', '.join(sorted(v)[:5])}" for source, v in lacking.items()]
    return failed(what, said, sum(images[source] for source in lacking), examples)


def _counted(bundle: Bundle, part: Part, source: str) -> set[str]:
    """Classes that count and that annotators of a source looked for."""
    vocabulary = bundle.vocabulary(part.task)
    labels = bundle.universes[source]
    return {vocabulary.key(k) for k in labels if vocabulary.role(k) is not Role.IGNORED}


def _annotated(bundle: Bundle, part: Part) -> Iterator[Check]:
    what = "every test image has an annotation"
    if part.table is None:
        yield unknown(what, "boxes are not at hand")
        return
    counts = np.bincount(part.table.image, minlength=len(part.table.images))
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        examples = part.table.images.id[empty[:5]].tolist()
        yield failed(what, f"{len(empty)} of {len(counts)} have none", len(empty), examples)
    else:
        yield passed(what, f"{len(counts)} images")
    assert part.table.crowd is not None
    objects = np.bincount(part.table.image[~part.table.crowd], minlength=len(counts))
    regions = int(np.count_nonzero((counts > 0) & (objects == 0)))
    if regions:
        said = f"{regions} images hold crowd regions alone: nothing can be found there"
        yield note("images without a single object", said, regions)
    ignored = int((part.roles(bundle.vocabulary(part.task)) == Role.IGNORED).sum())
    if ignored:
        yield note("objects that do not count", f"{ignored} are ignored", ignored)
