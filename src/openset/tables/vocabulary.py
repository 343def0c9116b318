"""Vocabulary: which labels a detector was taught, which are unknown to it, which do not count.

The role of a label is always stated, never implied by a position in a list. A vocabulary also
knows synonyms (``tvmonitor`` is ``tv``), which classes are similar (for error diagnosis), and the
order of tasks in open-world learning. Its hash is part of every result, and results with different
hashes refuse to be compared.

Not the list of labels of a file (that is `Annotations.labels`): a vocabulary may name labels that
a file does not have, and gives every other label of the file the role `rest`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.files import load_text, toml
from openset.findings import InputError, UsageError, refuse
from openset.plugins import documents, lookup
from openset.tables.annotations import Annotations
from openset.wording import short

UNKNOWN = "unknown"  # what our own detections are called that are of no known class
UNKNOWN_SPELLINGS = frozenset({"unknown", "unk", "unknowns", "unknownobject", "unknownclass"})
SAME_CLASS = (
    # Pascal VOC and COCO call six classes by different names.
    ("aeroplane", "airplane"),
    ("diningtable", "dining table"),
    ("motorbike", "motorcycle"),
    ("pottedplant", "potted plant"),
    ("sofa", "couch"),
    ("tvmonitor", "tv"),
)
_YAML = re.compile(r"(names|nc|path|train|val|test)\s*:")  # keys of YOLO's data.yaml
_APART, _AROUND = re.compile("[,;\t]"), " \t\"'"  # labels in a row, and what is around one
_COMMENT = re.compile(r"(^|\s+)#.*")


class Role(StrEnum):
    """What a label is to the detector under test."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    IGNORED = "ignored"


@lru_cache(1 << 14)  # checks ask for the same few names again and again
def normal(name: str) -> str:
    """A label's spelling reduced to what matters: ``Dining_Table`` and ``diningtable`` are one."""
    return re.sub(r"[\s_\-]+", "", name).lower()


def is_unknown_spelling(name: str) -> bool:
    """Whether a label says "unknown" in one of the usual ways."""
    return normal(name) in UNKNOWN_SPELLINGS


@dataclass(frozen=True)
class Vocabulary:
    """Roles of labels.

    Attributes:
        tasks: Known labels by task, in the order they were taught; the last task is the current
            one. A plain list of known labels is a single task.
        unknown: Labels stated to be unknown (beside every spelling of "unknown").
        ignored: Labels whose objects and detections take no part in the evaluation.
        rest: Role of a label that is not listed.
        synonyms: Pairs of names that are one label.
        similar: Groups of similar known labels; a label may be in several.
        name: Name of a built-in or file, for display only.

    >>> voc = Vocabulary.of(["dog", "tv"])
    >>> voc.role("TV_Monitor"), voc.role("zebra"), voc.role("Unknown")
    (<Role.KNOWN: 'known'>, <Role.UNKNOWN: 'unknown'>, <Role.UNKNOWN: 'unknown'>)
    """

    tasks: tuple[tuple[str, ...], ...]
    unknown: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    rest: Role = Role.UNKNOWN
    synonyms: tuple[tuple[str, ...], ...] = SAME_CLASS
    similar: tuple[tuple[str, ...], ...] = ()
    name: str = ""
    _index: Mapping[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)
    _other: Mapping[str, Role] = field(init=False, repr=False, compare=False, default_factory=dict)
    _asked: dict[tuple[str, ...], NDArray[np.int32]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        index: dict[str, int] = {}
        for position, label in enumerate(self.known):
            key = self.key(label)
            if key in index:
                raise UsageError(f"label {label!r} is listed as known twice")
            if is_unknown_spelling(label):
                raise UsageError(f"label {label!r} cannot be a known class")
            index[key] = position
        other = dict.fromkeys(map(self.key, self.unknown), Role.UNKNOWN)
        other |= dict.fromkeys(map(self.key, self.ignored), Role.IGNORED)
        if self.rest is Role.KNOWN:
            raise UsageError("rest cannot be 'known': list the known labels")
        if both := sorted(index.keys() & other.keys()):
            raise UsageError(f"label {both[0]!r} is listed as known and as {other[both[0]]}")
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_other", other)

    @cached_property
    def known(self) -> tuple[str, ...]:
        """All known labels, previous tasks first."""
        return tuple(label for task in self.tasks for label in task)

    @property
    def previous(self) -> tuple[str, ...]:
        """Labels taught before the current task."""
        return tuple(label for task in self.tasks[:-1] for label in task)

    @property
    def current(self) -> tuple[str, ...]:
        """Labels of the current task."""
        return self.tasks[-1] if self.tasks else ()

    def key(self, label: str) -> str:
        """What two labels share when they are one: the reduced spelling of a synonym."""
        name = normal(label)
        return _canonical(self.synonyms).get(name, name)

    def role(self, label: str) -> Role:
        """The role of a label, by name or synonym."""
        default = Role.UNKNOWN if is_unknown_spelling(label) else self.rest
        key = self.key(label)
        return Role.KNOWN if key in self._index else self._other.get(key, default)

    def classes(self, labels: Iterable[str]) -> NDArray[np.int32]:
        """Class index of each label: its position among the known, K if unknown, -1 if ignored.

        Every check asks for those of the same few lists, which are remembered.
        """
        listed = tuple(labels)
        if listed not in self._asked:
            self._asked[listed] = self._classes(listed)
            self._asked[listed].flags.writeable = False
        return self._asked[listed]

    def _classes(self, labels: Iterable[str]) -> NDArray[np.int32]:
        other = {Role.UNKNOWN: len(self._index), Role.IGNORED: -1}
        pairs = ((self.key(label), self.role(label)) for label in labels)
        rows = [self._index[key] if role is Role.KNOWN else other[role] for key, role in pairs]
        return np.array(rows, np.int32)

    def similarity(self) -> NDArray[np.bool_] | None:
        """Which pairs of known classes are similar, as a matrix over K + 1 classes, or None."""
        if not self.similar:
            return None
        k = len(self._index)
        matrix = np.zeros((k + 1, k + 1), np.bool_)
        for group in self.similar:
            members = [self._index[key] for key in map(self.key, group) if key in self._index]
            matrix[np.ix_(members, members)] = True
        np.fill_diagonal(matrix, False)
        return matrix

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that change when any role changes.

        Synonyms decide on the roles of labels that no list names; the usual ones go unsaid.
        """
        parts: dict[str, Any] = {
            "tasks": [sorted(self.key(label) for label in task) for task in self.tasks],
            "unknown": sorted(map(self.key, self.unknown)),
            "ignored": sorted(map(self.key, self.ignored)),
            "rest": self.rest,
        }
        if (groups := _groups(self.synonyms)) != _groups(SAME_CLASS):
            parts["synonyms"] = groups
        import hashlib
        import json

        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    @classmethod
    def of(
        cls, known: Vocabulary | str | Path | Sequence[str] | None, truth: Annotations | None = None
    ) -> Vocabulary:
        """The vocabulary that a user's `known` argument means.

        Args:
            known: A vocabulary, the name of a built-in (``voc20``, ``coco80``, ``owod-t1`` ...), a
                text or TOML file, label names, or None for the roles stated in `truth` itself.
            truth: Ground truth, needed when `known` is None; a name or a line that is one of its
                labels is that label.
        """
        if isinstance(known, Vocabulary):
            return known
        if known is None:
            return cls.from_annotations(truth)
        if isinstance(known, (str, Path)):
            return cls._named(known, () if truth is None else truth.labels)
        labels = tuple(known) if isinstance(known, Iterable) else (known,)
        if wrong := [label for label in labels if not isinstance(label, str)]:
            allowed = "labels, the name of a vocabulary, or a file"
            raise UsageError(f"known must be {allowed}, not {wrong[0]!r}")
        return cls._of_labels(labels)

    @classmethod
    def _of_labels(cls, labels: tuple[str, ...]) -> Vocabulary:
        """Labels as they are named; a built-in among them is not one of them."""
        names = [label for label in labels if label in vocabularies()]
        if names:
            others = [label for label in labels if label not in names]
            beside = f" with labels such as {others[0]!r}" if others else ""
            raise refuse(
                "OS329",
                f"known= lists {', '.join(map(repr, names))}{beside}",
                count=len(names),
                example=f"{names[0]!r} is a vocabulary of {len(vocabularies()[names[0]].known)}"
                " labels",
                fix=f"known={names[0]!r} alone, or labels alone; a vocabulary file (TOML) with "
                "known = [...] holds any list",
            )
        return cls(tasks=(labels,))

    @classmethod
    def _named(cls, known: str | Path, labels: Sequence[str] = ()) -> Vocabulary:
        path, name = Path(known), str(known)
        if name in vocabularies():
            return vocabularies()[name]
        if os.path.isfile(path):  # noqa: PTH113 - labels in a row are too long for is_file()
            return cls.from_file(path, labels)
        if normal(name) in map(normal, labels):
            return cls._of_labels((name,))
        if path.suffix in {".toml", ".txt"} or ("/" in name and "," not in name):
            raise refuse("OS101", f"no such vocabulary file: {short(name, 200)}")
        if "," in name:
            return cls._of_labels(tuple(p.strip() for p in name.split(",") if p.strip()))
        try:
            return lookup(vocabularies(), name, "vocabulary")
        except UsageError as error:
            alone = "a single label that the ground truth does not have is given with a comma"
            raise UsageError(f"{error}; {alone}: '{short(name, 40)},'") from error

    @classmethod
    def from_file(cls, path: Path, labels: Sequence[str] = ()) -> Vocabulary:
        """Read a vocabulary: TOML with the attributes' names, or text with one label per line.

        Labels in a row, with commas, are as many: where the file is one line, or a part of a line
        is a label of the ground truth and the line is none.

        Args:
            path: The file.
            labels: Those of the ground truth: a line that is one is no comment, such as "chair #2".
        """
        text = load_text(path)
        if path.suffix != ".toml":
            there = set(map(normal, labels))
            lines = [_without_comment(line.strip(), there) for line in text.splitlines()]
            held = _in_a_row([line for line in lines if line], there)
            return cls(tasks=(_lines(path, held),), name=path.stem)
        try:
            return cls._from_table(toml(text), path.stem)
        except InputError:
            raise
        except (TypeError, ValueError) as error:
            raise refuse("OS102", f"cannot read vocabulary {path}: {error}") from error

    @classmethod
    def _from_table(cls, table: dict[str, Any], stem: str) -> Vocabulary:
        allowed = {"name", "known", "tasks", "unknown", "ignored", "rest", "synonyms", "similar"}
        for key in table:
            lookup(dict.fromkeys(allowed), key, "vocabulary key")
        if ("known" in table) == ("tasks" in table):
            raise UsageError("a vocabulary states either known = [...] or tasks = [[...], ...]")
        tasks = table["tasks"] if "tasks" in table else [table["known"]]
        return cls(
            tasks=tuple(map(_names, tasks)),
            unknown=frozenset(_names(table.get("unknown", []))),
            ignored=frozenset(_names(table.get("ignored", []))),
            rest=Role(table.get("rest", Role.UNKNOWN)),
            synonyms=SAME_CLASS + tuple(map(_names, table.get("synonyms", []))),
            similar=tuple(map(_names, table.get("similar", []))),
            name=table.get("name", stem),
        )

    @classmethod
    def from_annotations(cls, truth: Annotations | None) -> Vocabulary:
        """The roles that a ground-truth file states itself.

        In this order: ``info.openset`` (category ids of `known_prev`, `known_cur`, `unknown_id`;
        the rest is unknown, but for the role "ignored"), `role` fields of the categories, a
        category named "unknown".
        """
        if truth is None:
            raise UsageError("state which labels are known: known='voc20', a file or a list")
        openset = truth.info.get("openset")
        if isinstance(openset, Mapping) and "known" in openset:
            return cls._from_info(openset, truth)
        if any(truth.role):
            return cls._from_roles(truth)
        if any(map(is_unknown_spelling, truth.labels)):
            known = tuple(label for label in truth.labels if not is_unknown_spelling(label))
            return cls(tasks=(known,), synonyms=_apart(truth.labels))
        raise refuse(
            "OS301",
            "the ground truth does not say which labels are known",
            example=", ".join(truth.labels[:5]),
            cause="no category is named 'unknown', none has a role, and info.openset is absent",
            fix="pass known='voc20' (or another built-in), a list of labels, or a vocabulary file",
        )

    @classmethod
    def _from_info(cls, openset: Mapping[str, Any], truth: Annotations) -> Vocabulary:
        assert truth.category_id is not None
        names = dict(zip(truth.category_id.tolist(), truth.labels, strict=True))
        previous = openset.get("known_prev") or []
        rest = [i for i in openset["known"] if i not in previous]
        tasks = [previous, openset.get("known_cur") or rest]
        listed = tuple(tuple(names[i] for i in task if i in names) for task in tasks if task)
        roles = zip(truth.labels, truth.role, strict=True)
        return cls(
            tasks=listed,
            ignored=frozenset(label for label, role in roles if role == Role.IGNORED),
            synonyms=_apart(truth.labels),
            name="info.openset",
        )

    @classmethod
    def _from_roles(cls, truth: Annotations) -> Vocabulary:
        by_role: dict[str, list[str]] = {role.value: [] for role in Role}
        for label, role in zip(truth.labels, truth.role, strict=True):
            lookup(by_role, role or Role.UNKNOWN, "role").append(label)
        return cls(
            tasks=(tuple(by_role["known"]),),
            unknown=frozenset(by_role["unknown"]),
            ignored=frozenset(by_role["ignored"]),
            synonyms=_apart(truth.labels),
            name="role fields",
        )


def _apart(labels: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The synonyms, less those that a file with roles of its own keeps apart as two labels."""
    listed = set(map(normal, labels))
    return tuple(group for group in SAME_CLASS if len(listed & set(map(normal, group))) < 2)


def _without_comment(line: str, labels: set[str]) -> str:
    """A line of a vocabulary without what stands behind a "#" that begins a word.

    >>> [_without_comment(line, {"chair#2"}) for line in ("# all", "dog # big", "chair #2", "c#")]
    ['', 'dog', 'chair #2', 'c#']
    """
    return line if normal(line) in labels else _COMMENT.sub("", line)


def _in_a_row(lines: list[str], labels: set[str]) -> tuple[str, ...]:
    """Labels of lines, those in a row one by one, unless the line is one label itself.

    Apart by commas, semicolons or tabs; by blanks only if each word is a label.

    >>> _in_a_row(["person, car ,dog"], set())
    ('person', 'car', 'dog')
    >>> _in_a_row(["tench, Tinca tinca", "dog,"], {"tench,tincatinca", "dog"})
    ('tench, Tinca tinca', 'dog')
    >>> _in_a_row(['"person";"car"', "dog cow", "dog kennel"], {"person", "dog", "cow"})
    ('person', 'car', 'dog', 'cow', 'dog kennel')
    """
    held: list[str] = []
    for line in lines:
        parts = [part for piece in _APART.split(line) if (part := piece.strip(_AROUND))]
        row = normal(line) not in labels and line[0] not in "[{"
        words = line.split()
        if row and all(normal(word) in labels for word in words):
            held += words
            continue
        row &= len(lines) == 1 or any(normal(part) in labels for part in parts)
        held += parts if row else [line]
    return tuple(held)


def _lines(path: Path, labels: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a vocabulary, if they can be labels."""
    yaml = any(_YAML.match(label) for label in labels)
    if not labels or labels[0][0] in "[{" or yaml:
        what = "is YAML" if yaml else "is JSON" if labels else "holds no label"
        raise UsageError(f"vocabulary file {path} {what}: write one label per line, or TOML")
    return labels


def _names(values: object) -> tuple[str, ...]:
    # A lone string is a sequence too: of its letters.
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise UsageError(f"expected a list of label names, but got {values!r}")
    return tuple(values)


@cache
def _canonical(synonyms: tuple[tuple[str, ...], ...]) -> Mapping[str, str]:
    table: dict[str, str] = {}
    for group in filter(None, synonyms):
        names = [normal(name) for name in group]
        # Groups that share a name are one group, whichever was stated first.
        heads = {table[name] for name in names if name in table}
        names += [name for name, head in table.items() if head in heads]
        table |= dict.fromkeys(names, min(heads, default=names[0]))
    return table


def _groups(synonyms: tuple[tuple[str, ...], ...]) -> list[list[str]]:
    """Which names are one label, in whatever order and pieces it was stated."""
    groups: dict[str, list[str]] = {}
    for name, head in _canonical(synonyms).items():
        groups.setdefault(head, []).append(name)
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


@cache
def vocabularies() -> Mapping[str, Vocabulary]:
    """Every vocabulary that has a name: built in, or of another package."""
    return documents("openset.tables.vocabularies", Vocabulary.from_file)
