"""Names of labels: one list for what detections say and for what objects are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from openset.evaluation._seen import Seen, best_of_each
from openset.matching import Matches
from openset.tables import Annotations, Detections
from openset.tables.columns import positions, tally
from openset.tables.vocabulary import is_unknown_spelling


@dataclass(frozen=True)
class Names:
    """One list for labels of detections and of objects: known classes, then unknown labels."""

    matches: Matches
    detections: Detections | None
    truth: Annotations | None
    called: Mapping[str, str]

    @cached_property
    def all(self) -> tuple[str, ...]:
        """The names."""
        vocabulary = self.matches.vocabulary
        taught = set(map(vocabulary.key, vocabulary.known))
        rest = {vocabulary.key(label): label for label in reversed(self.matches.labels)}
        return vocabulary.known + tuple(
            label
            for key, label in sorted(rest.items())
            if key not in taught and not is_unknown_spelling(label)
        )

    @cached_property
    def ids(self) -> list[int]:
        """Category ids, in the order of the ground truth, if the detections are said by them."""
        if self.truth is None or self.detections is None or self.detections.labels:
            return []
        assert self.truth.category_id is not None
        return self.truth.category_id.tolist()

    @property
    def numbered(self) -> dict[int, int]:
        """Where names are in `ids`."""
        held = self.places(self.truth.labels)[:-1].tolist() if self.truth and self.ids else []
        return {name: at for at, name in enumerate(held)}

    @cached_property
    def numbers(self) -> dict[int, int]:
        """What the file calls its labels, where these are numbers, by their places in the list."""
        place, key = self.place, self.matches.vocabulary.key
        if self.ids:
            said = {*tally(self.detections.label)[0].tolist()} if self.detections else set()
            return {at: self.ids[i] for at, i in self.numbered.items() if self.ids[i] in said}
        listed = {key(name): label for name, label in self.called.items()}
        held = {place[name]: label for name, label in listed.items() if name in place}
        return {at: int(n) for at, n in held.items() if n.removeprefix("-").isdecimal()}

    def places(self, labels: tuple[str, ...]) -> NDArray[np.int64]:
        """Where labels are in the list, -1 for none; a last entry for the index -1."""
        key, place = self.matches.vocabulary.key, self.place
        return np.array([*(place.get(key(label), -1) for label in labels), -1], np.int64)

    @cached_property
    def place(self) -> dict[str, int]:
        """Where names are in the list, by their reduced spelling."""
        return {self.matches.vocabulary.key(name): at for at, name in enumerate(self.all)}

    @cached_property
    def seen(self) -> Seen:
        """Which names are on which, whether any label says these or not."""
        rows, said = self._best
        klass = self.places(self.matches.labels)[self.matches.objects.label]
        return Seen.of(self.matches, rows, said, klass, len(self.all))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """In how many images each name is on each."""
        return self.seen.counts()

    @property
    def heard(self) -> NDArray[np.bool_]:
        """Which names some label says.

        What no label says cannot be meant: a zebra is called a horse by whoever was not taught
        zebras.
        """
        heard = np.zeros(len(self.all) + 1, np.bool_)  # the last place is that of no name
        heard[self._best[1]] = True
        return heard[:-1]

    @cached_property
    def _best(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """The surest detections of every class, and the names that they say."""
        rows = best_of_each(self.matches, len(self.all) - self.matches.n_known)
        return rows, self.of_detections(rows)

    def of_detections(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Names of detections; one of an unknown class has one only if the file is at hand."""
        klass = self.matches.class_at(rows)
        unknown = klass == self.matches.n_known
        klass[unknown] = -1
        if self.detections is None or self.truth is None:
            return klass
        held = self.detections.label[self.matches.row[rows[unknown]]]
        if not self.detections.labels:
            assert self.truth.category_id is not None
            held = positions(self.truth.category_id, held)
        klass[unknown] = self.places(self.detections.labels or self.truth.labels)[held]
        return klass
