"""Taxonomy: which class is a kind of which, and how far two classes are apart.

Parents come from the hierarchy of Open Images, or from the noun file of WordNet 3.0 with every
class pinned to one synset: the first sense of "mouse" is an animal, and of "orange" a colour, so
nothing is looked up by word. Wu-Palmer similarity is 2 d / (a + b), with d the depth of the deepest
common ancestor and a, b the depths of the two classes by way of it (Wu and Palmer, ACL 1994); the
root has depth 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from openset.findings import refuse


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
        synsets: Offset of the synset by class, eight digits, such as ``{"cat": "02121620"}``.
    """
    above = _hypernyms(Path(nouns))
    lost = [f"{name} = {offset!r}" for name, offset in synsets.items() if offset not in above]
    if lost:
        raise refuse(
            "OS904",
            f"{len(lost)} synsets are not in {nouns}",
            count=len(lost),
            example=lost[0],
            fix="pin synsets of WordNet 3.0 by their offset of eight digits",
        )
    # A class takes the place of its synset; a second class of one synset stands right below it.
    names = {offset: name for name, offset in reversed(list(synsets.items()))}
    parents = {names.get(k, k): tuple(names.get(v, v) for v in up) for k, up in above.items()}
    extra = {k: (names[v],) for k, v in synsets.items() if names[v] != k}
    return Taxonomy(parents | extra)


def _hypernyms(path: Path) -> dict[str, tuple[str, ...]]:
    """Hypernyms by offset: pointers ``@`` and ``@i`` of the noun file."""
    from openset.files import load_text

    found: dict[str, tuple[str, ...]] = {}
    for line in load_text(path).splitlines():
        parts = line.partition("|")[0].split()
        if len(parts) < 6 or not parts[0].isdigit():
            continue
        start = 4 + 2 * int(parts[3], 16)
        pointers = parts[start + 1 :]
        pairs = zip(pointers[::4], pointers[1::4], strict=False)
        found[parts[0]] = tuple(offset for symbol, offset in pairs if symbol in ("@", "@i"))
    return found
