"""Class by class: what a number is made from, so that it can be made again from fewer classes.

A class mean rests on the classes that have a number, Wilderness Impact on those that reach its
recall. Those of two detectors may differ, and then the difference of the two numbers is in part one
of classes: at recall 0.8 the order of two detectors on COCO turns round on the classes of both.
What every class contributed is therefore kept, in the data and in every resample.

Not a number per class to look at: that is `Value.parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from openset.json_text import plain
from openset.metrics._float32 import torch_mean

Numbers = NDArray[np.float64]
# Terms times classes times resamples that are kept; 80 classes take a tenth, and 8 MB is the most.
CELLS = 1 << 21


def divided(above: Any, below: Any) -> Numbers:
    """Divide, NaN where there is nothing to divide by."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)


def nanmean(values: NDArray[Any]) -> NDArray[Any]:
    """Mean over classes without NaN; NaN where nothing else is left."""
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(present, values, 0).sum(axis=0, dtype=values.dtype) / present.sum(
            axis=0, dtype=values.dtype
        )


def _mean(terms: Numbers) -> Numbers:
    return nanmean(terms[0])


def _ratio(terms: Numbers) -> Numbers:
    return divided(np.nansum(terms[0], axis=0), np.nansum(terms[1], axis=0))


def _change(terms: Numbers) -> Numbers:
    return divided(nanmean(terms[0]), nanmean(terms[1])) - 1


def _change_float32(terms: Numbers) -> Numbers:
    before, after = (torch_mean(term.astype(np.float32), ~np.isnan(term)) for term in terms)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(before / after - 1, np.float64)


READINGS: Mapping[str, Callable[[Numbers], Numbers]] = {
    "mean": _mean,
    "ratio of sums": _ratio,
    "change of means": _change,
    "change of means, float32": _change_float32,
}


@dataclass(frozen=True, slots=True, eq=False)
class ByClass:
    """What a number is made from.

    Attributes:
        how: What is made of the terms, by its name in `READINGS`.
        names: The classes.
        terms: By term, class and column, of which the data itself has one and resamples have one
            each; NaN where a class takes no part.
        drawn: The terms in every resample, beside those of the data; None if they are not kept.

    >>> ByClass("mean", ("dog", "cat"), np.array([[[0.5], [1.0]]])).number()
    array([0.75])
    """

    how: str
    names: tuple[str, ...]
    terms: Numbers
    drawn: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, how: str, names: Sequence[str], *terms: NDArray[Any]) -> Self:
        """From terms by class, and by column if there are several."""
        columns = [term if term.ndim == 2 else term[:, None] for term in terms]
        return cls(how, tuple(names), np.array(columns, np.float64))

    def number(self) -> Numbers:
        """The number itself, per column."""
        return READINGS[self.how](self.terms)

    def numbers_drawn(self) -> Numbers | None:
        """The number in every resample, if they are kept."""
        return None if self.drawn is None else READINGS[self.how](self.drawn.astype(np.float64))

    def present(self) -> Self:
        """Only the classes that take part somewhere."""
        some = np.flatnonzero(np.isfinite(self.terms).any(axis=(0, 2)))
        names = tuple(self.names[at] for at in some.tolist())
        return replace(self, names=names, terms=self.terms[:, some])

    def with_resamples(self, other: ByClass | None) -> Self:
        """With the terms of these classes in every resample, unless they are too many to keep."""
        if other is None:
            return self
        terms, _, columns = other.terms.shape
        if terms * len(self.names) * columns > CELLS:
            return self
        return replace(self, drawn=_rows(other.terms, other.names, self.names).astype(np.float32))

    def over(self, names: Sequence[str]) -> Self:
        """On some of the classes."""
        drawn = None if self.drawn is None else _rows(self.drawn, self.names, names)
        terms = _rows(self.terms, self.names, names)
        return replace(self, names=tuple(names), terms=terms, drawn=drawn)

    def document(self, *, resamples: bool) -> dict[str, Any]:
        """For a file: the data in the open, resamples packed, which are many."""
        held: dict[str, Any] = {"how": self.how, "names": self.names, "terms": self.terms[..., 0]}
        held["terms"] = plain(held["terms"].tolist())
        if resamples and self.drawn is not None:
            held["drawn"] = _packed(self.drawn)
        return held

    @classmethod
    def read(cls, held: Mapping[str, Any]) -> Self:
        """What a file holds; anything amiss is a `ValueError`."""
        if held["how"] not in READINGS:
            raise ValueError(f"by_class is made by {held['how']!r:.80}, which is not known")
        names, terms = tuple(map(str, held["names"])), np.array(held["terms"], np.float64)
        if terms.ndim != 2 or terms.shape[1] != len(names):
            raise ValueError("by_class does not have a number per class")
        packed = held.get("drawn")
        drawn = None if packed is None else _unpacked(packed, terms.shape)
        return cls(held["how"], names, terms[..., None], drawn)


def on_all(each: Sequence[ByClass]) -> list[ByClass]:
    """Several of the same classes, where a class counts in a (paired) resample only for all."""
    drawn = [one.drawn for one in each]
    kept = [terms for terms in drawn if terms is not None]
    if len(kept) < len(drawn) or len({terms.shape for terms in kept}) > 1:
        return list(each)
    absent = np.any([np.isnan(terms).all(axis=0) for terms in kept], axis=0)
    pairs = zip(each, kept, strict=True)
    return [replace(one, drawn=np.where(absent, np.nan, terms)) for one, terms in pairs]


def _rows(terms: NDArray[Any], names: Sequence[str], wanted: Sequence[str]) -> NDArray[Any]:
    """The terms of some classes, NaN for those that are not there."""
    place = {name: at for at, name in enumerate(names)}
    at = np.array([place.get(name, len(names)) for name in wanted], np.int64)
    blank = np.full_like(terms[:, :1], np.nan, shape=(len(terms), 1, terms.shape[2]))
    return np.concatenate([terms, blank], axis=1)[:, at]


def _packed(numbers: NDArray[np.float32]) -> str:
    """Numbers as text: little-endian, compressed, in base 64."""
    import base64
    import zlib

    return base64.b64encode(zlib.compress(numbers.astype("<f4").tobytes())).decode("ascii")


def _unpacked(text: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """The numbers of every term, class and resample; never more than are ever kept."""
    import base64
    import zlib

    try:
        opened = zlib.decompressobj()
        data = opened.decompress(base64.b64decode(text, validate=True), 4 * CELLS)
    except (zlib.error, TypeError) as error:
        raise ValueError(f"by_class cannot be unpacked: {error}") from error
    size = int(np.prod(shape))
    if not opened.eof or not size or len(data) % (4 * size):
        raise ValueError("by_class does not have a number per class and resample")
    return np.frombuffer(data, "<f4").astype(np.float32).reshape(*shape, -1)
