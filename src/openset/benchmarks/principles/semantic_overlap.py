"""Semantic non-overlap: no known class hides among the unknown ones under another name.

Synonyms, plurals, kinds and parts count ("Woman" is a person), by a short list of names that data
sets use (``relations.toml``) and by the hierarchy of Open Images where it is given. In a set that
should hold nothing known (kind ``ood``) no box may be of a known class. What nobody annotated is
seen by a second annotation only, or by a strong detector of known classes (``--second``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from openset.benchmarks.bundle import Bundle, Part
from openset.benchmarks.principles import Check, failed, of_split, passed, principle, unknown
from openset.tables import Vocabulary
from openset.tables.vocabulary import Role, is_unknown_spelling

_WHAT = "no unknown class is a known one under another name"


@principle(
    "semantic_overlap",
    "Semantic non-overlap",
    7,
    fix="Ignore these labels (`classes.ignored`) or make them `synonyms` of the known class; keep"
    " images with known objects out of an out-of-distribution set (`without`).",
)
def semantic_overlap(bundle: Bundle) -> Iterable[Check]:
    """No unknown label is a synonym, a kind, a part or a super-class of a known one."""
    for task in range(1, len(bundle.roles.tasks) + 1):
        yield from of_split(f"task {task}", [_names(bundle, task)])
    for part in bundle.parts:
        if part.kind == "ood":
            yield from of_split(part.name, _nothing_known(bundle, part))


def _names(bundle: Bundle, task: int) -> Check:
    vocabulary = bundle.vocabulary(task)
    what = _WHAT
    labels = _unknown_labels(bundle, vocabulary)
    if not labels:
        return passed(what, "no class is unknown")
    pairs = sorted(
        (label, known) for label in labels for known in _same_as(label, vocabulary, bundle)
    )
    if pairs:
        hidden = {label for label, _ in pairs}
        examples = [f"{label} ~ {known}" for label, known in pairs]
        counts = _boxes(bundle, task, hidden)
        said = f"{len(hidden)} unknown labels overlap a known class{counts}"
        return failed(what, said, len(hidden), examples)
    by = "names and hierarchy" if bundle.taxonomy.parents else "names"
    return passed(what, f"{len(labels)} unknown labels, by {by}")


def _unknown_labels(bundle: Bundle, vocabulary: Vocabulary) -> list[str]:
    """Labels of test images that are unknown, and those stated to be."""
    labels = set(vocabulary.unknown)
    for part in bundle.of_stage("test"):
        if part.table is not None:
            labels |= {part.table.labels[i] for i in set(part.table.label.tolist())}
        else:
            labels |= {k for source in set(part.origin) for k in bundle.universes.get(source, ())}
    return sorted(
        label
        for label in labels
        if vocabulary.role(label) is Role.UNKNOWN and not is_unknown_spelling(label)
    )


def _same_as(label: str, vocabulary: Vocabulary, bundle: Bundle) -> Iterator[str]:
    """Known labels that an unknown label overlaps."""
    key, table = vocabulary.key(label), relations(vocabulary.synonyms)
    for known in vocabulary.known:
        other = vocabulary.key(known)
        plural = key.removesuffix("s") == other.removesuffix("s")
        related = key in table.get(other, ()) or other in table.get(key, ())
        if plural or related or _above(bundle, label, known):
            yield known


def _above(bundle: Bundle, label: str, known: str) -> bool:
    taxonomy = bundle.taxonomy
    return taxonomy.is_a(label, known) or taxonomy.is_a(known, label)


def _boxes(bundle: Bundle, task: int, hidden: set[str]) -> str:
    """How many boxes of test images have these labels."""
    tables = [p.table for p in bundle.of_stage("test") if p.task == task and p.table is not None]
    count = sum(
        int(np.isin(table.label, [i for i, k in enumerate(table.labels) if k in hidden]).sum())
        for table in tables
    )
    return f" ({count} boxes)" if tables else ""


def _nothing_known(bundle: Bundle, part: Part) -> Iterator[Check]:
    what = "an out-of-distribution set holds nothing known"
    if part.table is None:
        yield unknown(what, "boxes are not at hand")
        return
    rows = np.flatnonzero(part.roles(bundle.vocabulary(part.task)) == Role.KNOWN)
    if len(rows):
        examples = [part.example(int(row)) for row in rows[:5]]
        yield failed(what, f"{len(rows)} boxes are of known classes", len(rows), examples)
    else:
        yield passed(what, f"none of {len(part.table)} boxes is of a known class")
    if bundle.second is not None:
        from openset.benchmarks.unlabelled import known_in

        yield known_in(bundle, part, bundle.second)
    hidden = part.dropped.get("known", 0)
    if hidden:
        said = f"{hidden} boxes of known classes lie on its images and are not shown"
        yield failed(f"{what}, shown or not", said, hidden)


@cache
def relations(synonyms: tuple[tuple[str, ...], ...]) -> Mapping[str, frozenset[str]]:
    """Names that hide a class, by class, all reduced to what spellings share."""
    path = Path(__file__).parents[1] / "relations.toml"
    key = Vocabulary(tasks=(), synonyms=synonyms).key
    table = tomllib.loads(path.read_text("utf-8"))
    return {key(name): frozenset(map(key, others)) for name, others in table.items()}
