"""Taxonomy: which class is a kind of which, and how far two classes are apart.

Parents come from the hierarchy of Open Images, or from the noun file of WordNet 3.0 with every
class pinned to one synset: the first sense of "mouse" is an animal, and of "kite" a bank check, so
nothing is looked up by word; the synsets of COCO's classes are shipped (``synsets.toml``).
Wu-Palmer similarity is 2 d / (a + b), with d the depth of the deepest common ancestor and a, b the
depths of the two classes by way of it (Wu and Palmer, ACL 1994); the root has depth 1.
"""

from __future__ import annotations

import re
import tomllib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from openset.findings import InputError, refuse
from openset.tables import Vocabulary
from openset.wording import spaced

PINNED_IN = "3.0"
"""The version of WordNet whose offsets are shipped."""
_VERSION = re.compile(r"WordNet (\d+\.\d+)")  # in the licence, which begins the file
Pins = dict[str, str]
Similarity = Callable[[str, str], float]


@dataclass(frozen=True)
class Taxonomy:
    """Parents of classes; a class may have several.

    >>> pets = Taxonomy({"dog": ("pet",), "cat": ("pet",), "pet": ("animal",), "fox": ("animal",)})
    >>> pets.ancestors("dog"), pets.is_a("cat", "animal"), pets.leaves("animal")
    ({'dog': 0, 'pet': 1, 'animal': 2}, True, ('cat', 'dog', 'fox'))
    >>> round(pets.similarity("dog", "cat"), 3), round(pets.similarity("dog", "fox"), 3)
    (0.667, 0.4)
    """

    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        circle = self._circle()
        if circle:
            example = " > ".join(circle)
            raise refuse("OS908", "a class is its own ancestor", example=example)

    def _circle(self) -> list[str]:
        """A path from a class up to itself, if there is one."""
        finished: set[str] = set()
        for start in self.parents:
            path: list[str] = []
            stack = [(start, False)]
            while stack:
                node, leaving = stack.pop()
                if leaving:
                    finished.add(path.pop())
                elif node in path:
                    return [*path[path.index(node) :], node]
                elif node not in finished:
                    path.append(node)
                    stack.append((node, True))
                    stack += [(above, False) for above in self.parents.get(node, ())]
        return []

    def __contains__(self, name: str) -> bool:
        return name in self.parents or any(name in above for above in self.parents.values())

    def ancestors(self, name: str) -> dict[str, int]:
        """A class and everything above it, with the number of steps up."""
        steps = {name: 0}
        queue = deque([name])
        while queue:
            node = queue.popleft()
            for above in self.parents.get(node, ()):
                if above not in steps:
                    steps[above] = steps[node] + 1
                    queue.append(above)
        return steps

    def is_a(self, name: str, above: str) -> bool:
        """Whether a class is a kind of another."""
        return name != above and above in self.ancestors(name)

    def descendants(self, name: str) -> tuple[str, ...]:
        """Everything below a class, sorted."""
        return tuple(sorted(label for label in self.parents if self.is_a(label, name)))

    def leaves(self, name: str) -> tuple[str, ...]:
        """Classes below a class that have nothing below them, sorted."""
        inner = {above for parents in self.parents.values() for above in parents}
        return tuple(label for label in self.descendants(name) if label not in inner)

    def depth(self, name: str) -> int:
        """Steps from the root, which has 1, on the shortest way."""
        return 1 + max(self._to_root(name), default=0)

    def _to_root(self, name: str) -> list[int]:
        steps = self.ancestors(name)
        return [count for above, count in steps.items() if not self.parents.get(above)][:1]

    def similarity(self, one: str, other: str) -> float:
        """Wu-Palmer similarity, 0 where nothing is common."""
        here, there = self.ancestors(one), self.ancestors(other)
        common = here.keys() & there.keys()
        if not common:
            return 0.0
        # Of several deepest ones the nearest counts; names only make the choice the same each time.
        nearest = min(common, key=lambda c: (-self.depth(c), here[c] + there[c], c))
        depth = self.depth(nearest)
        return 2 * depth / (here[nearest] + there[nearest] + 2 * depth)

    def path_similarity(self, one: str, other: str) -> float:
        """1 / (1 + steps of the shortest way by a common ancestor), 0 where nothing is common."""
        here, there = self.ancestors(one), self.ancestors(other)
        ways = [here[c] + there[c] for c in here.keys() & there.keys()]
        return 1 / (1 + min(ways)) if ways else 0.0


def placed(taxonomy: Taxonomy, names: Sequence[str]) -> Sequence[str]:
    """The names, if each has a place in the taxonomy."""
    from difflib import get_close_matches

    lost = [name for name in names if name not in taxonomy]
    if not lost:
        return names
    pin = "pin them to a synset each: synsets = {cat = '02121620'}"
    near = [(name, get_close_matches(name, taxonomy.parents, n=1, cutoff=0.8)) for name in lost]
    hints = [f"{name!r} for {close[0]!r}" for name, close in near if close]
    raise refuse(
        "OS904",
        f"{len(lost)} classes have no place in the taxonomy",
        count=len(lost),
        example=", ".join(lost[:5]),
        fix=f"perhaps {', '.join(hints[:5])}; else {pin}" if hints else pin,
    )


def largest(similarity: Similarity, of: Iterable[str], to: Sequence[str]) -> dict[str, float]:
    """How similar each of some names is to the most similar of others."""
    return {name: max(similarity(name, other) for other in to) for name in of}


def of_open_images(hierarchy: str | Path, descriptions: str | Path | None = None) -> Taxonomy:
    """The hierarchy of Open Images, by name where descriptions are given."""
    from openset.formats.openimages import read_descriptions, read_hierarchy

    names = {} if descriptions is None else read_descriptions(descriptions)
    parents = read_hierarchy(hierarchy)
    return Taxonomy(
        {names.get(k, k): tuple(names.get(v, v) for v in above) for k, above in parents.items()}
    )


def of_wordnet(nouns: str | Path, synsets: Mapping[str, str]) -> Taxonomy:
    """The classes that `synsets` pins, above them WordNet.

    Args:
        nouns: The file ``data.noun`` of WordNet 3.0.
        synsets: Synset by class: its offset of eight digits, and maybe a word of it, which tells
            a file of another version: ``{"cat": "02121620 cat"}``.
    """
    above, words = _nouns(Path(nouns))
    pinned = {name: tuple(text.split()) for name, text in synsets.items()}
    lost = {name: pin for name, pin in pinned.items() if not _is_there(pin, words)}
    if lost:
        raise _lost(Path(nouns), lost, words)
    offsets = {name: pin[0] for name, pin in pinned.items()}
    # A class takes the place of its synset; a second class of one synset stands right below it.
    names = {offset: name for name, offset in reversed(list(offsets.items()))}
    used = _above(names, above)  # the rest of WordNet is of no use
    parents = {names.get(k, k): tuple(names.get(v, v) for v in above[k]) for k in used}
    extra = {k: (names[v],) for k, v in offsets.items() if names[v] != k}
    return Taxonomy(parents | extra)


def flaw_of_wordnet(path: Path) -> str:
    """What is wrong with a dictionary, or nothing."""
    try:
        _nouns(path)
    except InputError as error:
        return error.findings[0].message.removeprefix(f"{path} ")
    return ""


def other_version(path: Path) -> str:
    """That a dictionary says to be of another version than the one synsets are pinned in."""
    with path.open(encoding="utf-8", errors="replace") as file:
        licence = "".join(takewhile(lambda line: line.startswith("  "), file))
    stated = set(_VERSION.findall(licence)) - {PINNED_IN}
    return f"is of WordNet {min(stated)}, and synsets are pinned in {PINNED_IN}" if stated else ""


@cache
def shipped_synsets() -> Mapping[str, str]:
    """Offset and word of the synset of each of the 80 classes of COCO, in WordNet 3.0."""
    return tomllib.loads((Path(__file__).parent / "synsets.toml").read_text("utf-8"))


def synsets_of(labels: Iterable[str], spelling: Vocabulary, own: Mapping[str, str]) -> Pins:
    """The synsets of some labels: one's own, else those that are shipped, by name or synonym."""
    table = {spelling.key(name): pin for name, pin in {**shipped_synsets(), **own}.items()}
    keys = {label: spelling.key(label) for label in labels}
    return {label: table[key] for label, key in keys.items() if key in table}


def _above(offsets: Iterable[str], parents: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Offsets and everything above them."""
    found: dict[str, None] = {}
    waiting = [*offsets]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found[node] = None
            waiting += parents.get(node, ())
    return [node for node in found if node in parents]


def _is_there(pin: tuple[str, ...], words: Mapping[str, frozenset[str]]) -> bool:
    return bool(pin) and pin[0] in words and words[pin[0]].issuperset(pin[1:])


def _lost(nouns: Path, lost: Mapping[str, tuple[str, ...]], words: Mapping[str, Any]) -> InputError:
    """Why synsets are not found: a word at another place is a file of another version."""
    name, pin = next(iter(lost.items()))
    said = f"{len(lost)} synsets are not in {nouns}"
    example, count = f"{name} = {' '.join(pin)!r}", len(lost)
    if any(pin[1:] for pin in lost.values()):
        fix = "take data.noun of WordNet 3.0: offsets of 3.1 and of Open English WordNet differ"
        return refuse("OS903", said, count=count, example=example, fix=fix)
    fix = "pin synsets of WordNet 3.0 by their offset of eight digits"
    return refuse("OS904", said, count=count, example=example, fix=fix)


def _nouns(path: Path) -> tuple[dict[str, tuple[str, ...]], dict[str, frozenset[str]]]:
    """Hypernyms (pointers ``@`` and ``@i``) and words of every synset, by its offset."""
    from openset.files import load_text

    above: dict[str, tuple[str, ...]] = {}
    words: dict[str, frozenset[str]] = {}
    named_by: dict[str, str] = {}
    for number, line in enumerate(load_text(path).splitlines(), 1):
        if line.startswith("  "):  # the licence, whose lines begin with a number, too
            continue
        try:
            offset, parents, named, others = _synset(line)
        except (ValueError, IndexError) as error:
            example = f"line {number}: {line[:60]!r}"
            raise refuse("OS102", f"{path} is no data.noun of WordNet", example=example) from error
        above[offset], words[offset] = parents, named
        named_by.update(dict.fromkeys(others, offset))
    if not above:
        raise refuse("OS102", f"{path} holds no synset", example=f"{path.stat().st_size} bytes")
    _refuse_cut(path, {other: one for other, one in named_by.items() if other not in above})
    return above, words


def _refuse_cut(path: Path, lost: Mapping[str, str]) -> None:
    """Refuse a file whose synsets name others that it lacks: the whole of WordNet has them all."""
    if lost:
        other, one = next(iter(lost.items()))
        message = f"{path} is not whole: it lacks {spaced(len(lost))} synsets that others name"
        fix = "download data.noun of WordNet 3.0 again"
        example = f"{one} names {other}"
        raise refuse("OS913", message, count=len(lost), example=example, fix=fix)


def _synset(line: str) -> tuple[str, tuple[str, ...], frozenset[str], tuple[str, ...]]:
    """Offset, hypernyms, words, and all nouns that it points to.

    A line is ``offset file type count (word id)... count (symbol offset type place)... |``.
    """
    parts = line.partition("|")[0].split()
    offset, start = parts[0], 4 + 2 * int(parts[3], 16)
    if not (len(offset) == 8 and offset.isdigit() and parts[2] == "n"):
        raise ValueError(offset)
    pointers = parts[start + 1 :]
    if len(pointers) < 4 * int(parts[start]):
        raise ValueError("cut off")
    triples = [*zip(pointers[::4], pointers[1::4], pointers[2::4], strict=False)]
    parents = tuple(other for symbol, other, _ in triples if symbol in ("@", "@i"))
    nouns = tuple(other for _, other, kind in triples if kind == "n")
    return offset, parents, frozenset(word.lower() for word in parts[4:start:2]), nouns
