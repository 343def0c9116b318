"""Pool and universe: what rules look at.

A `Universe` is all labels of all sources of a benchmark; class rules choose from it. A `Pool` is
the images of a split's sources that passed the rules so far; image rules choose from it.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks.taxonomy import Taxonomy
from openset.findings import InputError, UsageError, refuse
from openset.plugins import lookup
from openset.tables import Annotations, Vocabulary
from openset.tables.columns import positions
from openset.tables.vocabulary import Role, normal, vocabularies

Lists = Mapping[str, Sequence[str]]
_SHOWN = 5  # labels of the sources that a refusal names
_OWN = "\x1f"  # stands before what tells an image from any other, and in no file name


def expanded(names: Iterable[str], lists: Lists) -> tuple[str, ...]:
    """Names, with ``@name`` replaced by that list of the benchmark or that built-in vocabulary.

    >>> expanded(["@pets", "zebra"], {"pets": ["cat", "dog"]})
    ('cat', 'dog', 'zebra')
    """
    found: dict[str, None] = {}
    for name in names:
        part = _listed(name[1:], lists) if name.startswith("@") else (name,)
        found |= dict.fromkeys(part)
    return tuple(found)


def _listed(name: str, lists: Lists) -> Sequence[str]:
    if name in lists:
        return lists[name]
    task, _, number = name.partition("#")
    if number.isdigit() and task in vocabularies():
        tasks = vocabularies()[task].tasks
        if 1 <= int(number) <= len(tasks):
            return tasks[int(number) - 1]
    if name in vocabularies():
        return vocabularies()[name].known
    return lookup(lists, name, "list of classes")


@dataclass(frozen=True)
class Universe:
    """All labels of all sources.

    Attributes:
        labels: Names, each class once.
        spelling: Reduces a name to what all spellings of a class share.
        lists: Lists of the benchmark.
        seed: For random choices.
        supercategory: Super-class by label.
        taxonomy: What is above what, by name.
        tables: The sources, for rules that count.
        folder: Where files named by rules lie.
        known: The known classes, once they are chosen.
    """

    labels: tuple[str, ...]
    spelling: Vocabulary
    lists: Lists = field(default_factory=dict)
    seed: int = 0
    supercategory: Mapping[str, str] = field(default_factory=dict)
    taxonomy: Taxonomy = field(default_factory=Taxonomy)
    tables: Mapping[str, Annotations] = field(default_factory=dict)
    folder: Path = Path()
    known: tuple[str, ...] = ()

    def named(self, names: Iterable[str]) -> tuple[str, ...]:
        """The labels of a list of names; a name that no source has is refused.

        The spelling stays that of the list.
        """
        listed = expanded(names, self.lists)
        there = set(map(self.spelling.key, self.labels))
        lost = [name for name in listed if self.spelling.key(name) not in there]
        if lost and there:
            raise no_such_label(lost, self.labels)
        return listed


def no_such_label(lost: Sequence[str], labels: Iterable[str]) -> InputError:
    """OS904: names that match no label, with the closest that exist."""
    by_spelling = {normal(label): label for label in labels}
    shown = lost[:5]
    hints = {name: _close(name, by_spelling, 3 if len(lost) == 1 else 1) for name in shown}
    meant = [f"{hint} for {name!r}" for name, hint in hints.items() if hint]
    if len(lost) == 1:
        meant = list(filter(None, hints.values()))
    return refuse(
        "OS904",
        f"{len(lost)} class names match no label of the sources",
        count=len(lost),
        example=", ".join(map(repr, shown)),
        fix=f"did you mean {', '.join(meant)}?"
        if meant
        else f"call them as the sources do: {_some(by_spelling)}",
    )


def _close(name: str, by_spelling: Mapping[str, str], most: int) -> str:
    """The labels that a name is most like, if any."""
    close = difflib.get_close_matches(normal(name), by_spelling, n=most, cutoff=0.6)
    return " or ".join(repr(by_spelling[found]) for found in close)


def _some(by_spelling: Mapping[str, str]) -> str:
    """A few labels, so that another version or language of a data set is seen."""
    names = list(by_spelling.values())
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more


@dataclass(frozen=True)
class Pool:
    """Images to choose from.

    Attributes:
        table: Images and all boxes of the split's sources.
        vocabulary: Roles at the split's task.
        images: Indices of the images that passed so far, in order.
        split: Name of the split.
        seed: For random choices; a choice depends on it and on the split, on nothing else.
        lists: Lists of classes of the benchmark.
        files: Where image lists may lie.
        done: Names of the images of the splits made so far.
    """

    table: Annotations
    vocabulary: Vocabulary
    images: NDArray[np.intp]
    split: str = ""
    seed: int = 0
    lists: Lists = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    done: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def narrowed(self, images: NDArray[np.intp]) -> Pool:
        """The pool with only these images, in this order."""
        return replace(self, images=images)

    def where(self, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The images so far for which a mask over all images holds."""
        return self.images[mask[self.images]]

    def labels(self, which: str | Sequence[str]) -> NDArray[np.bool_]:
        """Labels of a group (known, new, previous, unknown, ignored), or of a list of names."""
        names = self.table.labels
        if isinstance(which, str):
            return group_mask(self.vocabulary, names, [which])
        wanted = set(map(self.vocabulary.key, expanded(which, self.lists)))
        keys = [self.vocabulary.key(name) for name in names]
        lost = sorted(wanted - set(keys))
        if lost:
            raise no_such_label(lost, names)
        return np.array([key in wanted for key in keys], np.bool_)

    def holding(self, labels: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which images have a box of one of these labels."""
        found = np.zeros(len(self.table.images), np.bool_)
        found[self.table.image[labels[self.table.label]]] = True
        return found

    def random(self) -> np.random.Generator:
        """Random numbers of this split."""
        import zlib

        return np.random.default_rng([self.seed, zlib.crc32(self.split.encode())])


def group_mask(
    vocabulary: Vocabulary, labels: Sequence[str], groups: Iterable[str]
) -> NDArray[np.bool_]:
    """Which labels belong to one of some groups."""
    tasks = {"new": vocabulary.current, "previous": vocabulary.previous}
    found = np.zeros(len(labels), np.bool_)
    for group in groups:
        if group in tasks:
            keys = set(map(vocabulary.key, tasks[group]))
            found |= np.array([vocabulary.key(label) in keys for label in labels], np.bool_)
        else:
            role = _role(group)
            found |= np.array([vocabulary.role(label) is role for label in labels], np.bool_)
    return found


def _role(group: str) -> Role:
    choices: dict[str, Any] = {role.value: role for role in Role}
    try:
        return lookup(choices | {"new": None, "previous": None}, group, "group of labels")
    except UsageError as error:
        raise UsageError(f"{error}; a list of labels is written ['dog', ...]") from None


def image_names(table: Annotations) -> NDArray[np.str_]:
    """How images are called in lists and across files: by file-name stem if distinct, else by id.

    >>> from openset.tables import Images
    >>> images = Images(np.array([7, 8]), np.array(["a/x.jpg", "a/y.tar.gz"]))
    >>> none = np.empty(0, np.int32)
    >>> image_names(Annotations(images, (), none, none, np.empty((0, 4)))).tolist()
    ['x', 'y.tar']
    """
    stems = _stems(table)
    if stems is not None and len(np.unique(stems)) == len(stems):
        return stems
    return table.images.id.astype(np.str_)


def called(table: Annotations) -> frozenset[str]:
    """All that the images of a split go by, so that any table finds them again (`are_called`).

    Stems that are distinct in a split need not be so in the sources of another, where images then
    go by their ids: a name alone would be found there no more.
    """
    stems = _stems(table)
    names = table.images.id.astype(np.str_) if stems is None else stems
    return frozenset(names.tolist()).union(*(column.tolist() for column in _own_names(table)))


def are_called(table: Annotations, names: Iterable[str]) -> NDArray[np.bool_]:
    """Which images go by some of these names: by stem if distinct, else by id, or path."""
    taken = np.array(sorted(names), np.str_)
    stems = _stems(table)
    if stems is not None and len(np.unique(stems)) == len(stems):
        columns = [stems]
    else:
        columns = [*_own_names(table)]
        if stems is None:
            columns.append(table.images.id.astype(np.str_))
    found = np.zeros(len(table.images), np.bool_)
    for column in columns:
        found |= positions(taken, column) >= 0
    return found


def in_both(one: Iterable[str], other: Iterable[str]) -> int:
    """How many images go by the same id, or path, of the same source in both."""
    same = {name for name in one if name.startswith(_OWN)}.intersection(other)
    kinds = Counter(name.rpartition(_OWN)[2].partition(" ")[0] for name in same)
    return max(kinds.values(), default=0)


def stems_of(names: Iterable[str]) -> set[str]:
    """Of all that images go by, their stems, or ids where files have no names."""
    return {name for name in names if not name.startswith(_OWN)}


def _own_names(table: Annotations) -> Iterator[NDArray[np.str_]]:
    """Ids, and paths of files, behind the source that they are of."""
    images = table.images
    source = images.attributes.get("source", np.full(len(images), ""))
    before = np.strings.add(np.strings.add(_OWN, source.astype(np.str_)), _OWN)
    yield np.strings.add(np.strings.add(before, "id "), images.id.astype(np.str_))
    if images.file_name is not None and (images.file_name != "").all():
        yield np.strings.add(np.strings.add(before, "file "), images.file_name)


def _stems(table: Annotations) -> NDArray[np.str_] | None:
    """File names without folders and suffix; None where an image has none."""
    names = table.images.file_name
    if names is None or not len(names):
        return None
    # Column by column: paths as objects would take most of the time of a build.
    last = np.strings.rpartition(names, "/")[2]
    head, _, tail = np.strings.rpartition(last, ".")
    stems: NDArray[np.str_] = np.where(head == "", tail, head)
    return stems if (stems != "").all() else None
