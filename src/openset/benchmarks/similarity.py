"""Similarity: how near an out-of-distribution set is to what a detector was taught.

Two looks, as FMIYC has them to validate its tiers. By classes: for every known class the similarity
in WordNet (Wu-Palmer, and 1 / (1 + path)) to the most similar class of the set, averaged over known
classes; of the set, the classes with the most boxes count. By images: for every image of the set
the largest cosine of its embedding to one of the in-distribution set, averaged; the embeddings are
given (see the image rule ``similar``). A set with tiers has a row for each.

Not a rule that makes tiers (`openset.benchmarks.rules`), and not a test of whether they differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.bundle import Bundle, Part
from openset.benchmarks.pool import image_names
from openset.benchmarks.rules.embeddings import largest_cosine, read_embeddings, rows_of
from openset.benchmarks.taxonomy import largest, of_wordnet, placed, synsets_of
from openset.benchmarks.tiers import NONE, TIER
from openset.evaluation.strata import nearest_first
from openset.findings import refuse
from openset.tables import Annotations

TOP = 20  # classes of a set, by their number of boxes, as in FMIYC


@dataclass(frozen=True)
class Nearness:
    """How near a set, or a tier of it, is.

    Attributes:
        name: The split, and the tier if it has tiers.
        images: How many images it has.
        classes: Labels that were compared, the most frequent first.
        wu_palmer: Mean over known classes of the largest similarity; None without WordNet.
        path: The same of path similarity.
        cosine: Mean over images of the largest cosine; None without embeddings.
    """

    name: str
    images: int
    classes: tuple[str, ...]
    wu_palmer: float | None = None
    path: float | None = None
    cosine: float | None = None


@dataclass(frozen=True)
class Look:
    """What similarity is measured by.

    Attributes:
        wordnet: The file ``data.noun`` of WordNet 3.0.
        synsets: Synsets of classes that are not of COCO.
        embeddings: An ``.npz`` file with ``names`` and ``embedding``.
        top: How many classes of a set count.
    """

    wordnet: Path | None = None
    synsets: Mapping[str, str] | None = None
    embeddings: Path | None = None
    top: int = TOP


def similarity(bundle: Bundle, look: Look) -> list[Nearness]:
    """How near the OOD sets of a benchmark are, each tier by itself."""
    parts = [part for part in bundle.parts if part.kind == "ood" and part.table is not None]
    if not parts:
        raise refuse("OS912", f"{bundle.name} has no out-of-distribution set (kind = 'ood')")
    return [_nearness(bundle, part, *group, look) for part in parts for group in _groups(part)]


def _groups(part: Part) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The tiers of a set, or all of it: names and images."""
    assert part.table is not None
    column = part.table.images.attributes.get(TIER)
    if column is None:
        yield part.name, np.ones(len(part.table.images), np.bool_)
        return
    for name in sorted({*column.tolist()}, key=nearest_first):
        if name != NONE:
            yield f"{part.name}: {name}", np.asarray(column == name)


def _nearness(
    bundle: Bundle, part: Part, name: str, images: NDArray[np.bool_], look: Look
) -> Nearness:
    assert part.table is not None
    table, known = part.table, bundle.vocabulary(part.task).known
    counts = np.bincount(table.label[images[table.image]], minlength=len(table.labels))
    order = [at for at in np.argsort(-counts, kind="stable").tolist() if counts[at]]
    labels = tuple(table.labels[at] for at in order[: look.top])
    wu_palmer, path = _by_classes(bundle, part, known, labels, look)
    cosine = _by_images(bundle, table, images, look.embeddings)
    return Nearness(name, int(images.sum()), labels, wu_palmer, path, cosine)


def _by_classes(
    bundle: Bundle, part: Part, known: tuple[str, ...], labels: tuple[str, ...], look: Look
) -> tuple[float | None, float | None]:
    if look.wordnet is None or not labels:
        return None, None
    pins = synsets_of((*known, *labels), bundle.vocabulary(part.task), look.synsets or {})
    taxonomy = of_wordnet(look.wordnet, pins)
    placed(taxonomy, (*known, *labels))
    means = [
        float(np.mean([*largest(measure, known, labels).values()]))
        for measure in (taxonomy.similarity, taxonomy.path_similarity)
    ]
    return means[0], means[1]


def _by_images(
    bundle: Bundle, table: Annotations, images: NDArray[np.bool_], file: Path | None
) -> float | None:
    if file is None:
        return None
    held = [part.table for part in bundle.parts if part.kind == "id" and part.table is not None]
    if not held:
        raise refuse("OS912", f"{bundle.name} has no in-distribution set (kind = 'id')")
    names, unit = read_embeddings(file)
    there = np.concatenate([image_names(one) for one in held])
    here = image_names(table)[images]
    rows = rows_of(names, here, file.name), rows_of(names, there, file.name)
    return float(largest_cosine(unit[rows[0]], unit[rows[1]]).mean())
