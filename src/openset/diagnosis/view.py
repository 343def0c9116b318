"""View: at which recalls, wilderness ratios and overlaps a question is asked.

Dhamija et al. (WACV 2020) tabulate their error types at several recalls, on closed-set images and
with wild ones beside them (Figures 3, 9-11). A question that stands at a recall or a ratio gives
one answer per pair of them; `panels` lays these beside each other.

Not the operating point of a detector (`deployed`), which is where all else is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest

from openset.diagnosis._points import TOUCH
from openset.diagnosis._spec import Diagnosis, Row


@dataclass(frozen=True, slots=True)
class View:
    """Where questions are asked; what is empty is each question's own default.

    Attributes:
        recalls: Recalls on closed-set images that set the threshold of each class.
        ratios: Wild images per closed-set image; 0 is the closed set.
        chosen_at: Ratios at which thresholds are chosen that are judged at `ratios`.
        betas: Weights of recall against precision.
        touch: Least overlap with which a detection is on an object.
    """

    recalls: tuple[float, ...] = ()
    ratios: tuple[float, ...] = ()
    chosen_at: tuple[float, ...] = (0.0,)
    betas: tuple[float, ...] = ()
    touch: float = TOUCH


@dataclass(frozen=True)
class Panels(Diagnosis):
    """One question at several recalls and ratios: where each is asked, and its answer."""

    parts: tuple[tuple[Row, Diagnosis], ...]

    def rows(self) -> list[Row]:
        """The first rows of all parts, then their second ones: so a cut table compares them."""
        found = [[{**where, **row} for row in part.rows()] for where, part in self.parts]
        return [row for rank in zip_longest(*found) for row in rank if row is not None]

    def notes(self) -> Sequence[str]:
        """What holds for all parts, then what holds for one."""
        told = [(_words(where), note) for where, part in self.parts for note in part.notes()]
        times = Counter(note for _, note in told)
        common = [note for note, count in times.items() if count == len(self.parts)]
        own = [f"{place}: {note}" for place, note in told if times[note] < len(self.parts)]
        return (*common, *own)


def _words(where: Row) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in where.items())


def panels(view: View, ask: Callable[[float | None, float | None], Diagnosis]) -> Diagnosis:
    """The answers at all recalls and ratios of a view; without any, the answer itself."""
    parts: list[tuple[Row, Diagnosis]] = []
    for recall, ratio in product(view.recalls or (None,), view.ratios or (None,)):
        places = {"recall": recall, "ratio": ratio}
        where = {name: value for name, value in places.items() if value is not None}
        parts.append((where, ask(recall, ratio)))
    return Panels(tuple(parts)) if view.recalls or view.ratios else parts[0][1]


def closed_or_ratio(ratio: float | None) -> str:
    """Which images a ratio takes, in words.

    >>> closed_or_ratio(0.0), closed_or_ratio(1.0), closed_or_ratio(None)
    ('closed-set images', 'wilderness ratio 1', 'all images')
    """
    if ratio is None:
        return "all images"
    return f"wilderness ratio {ratio:g}" if ratio else "closed-set images"
