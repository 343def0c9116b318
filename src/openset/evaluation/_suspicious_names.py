"""One class under two names: a known label, and an unknown one that is spelt nearly so.

Two annotators, or two files that were joined, call one thing "person" and "persons"; the second is
unknown then, and every right box on it an open-set error. Names alone do not tell: "persons" may
be a group, and a trowel is no towel. So the boxes of the known class are asked: where they find
objects of the unknown label as often, and as surely, as their own, these are the same to them. Nor
is that enough by itself: a zebra is found as a horse by whoever was not taught zebras.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from openset.evaluation._seen import overlap
from openset.findings import Finding, Level
from openset.matching import Matches
from openset.matching.near import FITS
from openset.ranking import area_under_roc, rank
from openset.tables.columns import distinct
from openset.tables.vocabulary import is_unknown_spelling
from openset.wording import some, spaced

_LETTERS = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"\d+$")
_LONG = 5  # letters, of fewer of which one more or less is another word
_FEWEST, _ALIKE = 10, 0.5  # objects that are found, and how often, as a share of the known ones
_SURE = 0.5  # a score, where known objects say nothing
_OTHER_NAMES = (
    {"person", "people", "pedestrian", "human", "man", "men"},
    {"car", "automobile"},
    {"bicycle", "bike"},
    {"airplane", "aeroplane", "plane", "aircraft"},
    {"motorcycle", "motorbike"},
    {"tv", "television", "tvmonitor"},
    {"cellphone", "mobilephone", "phone"},
    {"couch", "sofa"},
)


class _Pair(NamedTuple):
    """A known class, an unknown label, and whether only its end, or two letters, are others."""

    klass: int
    label: int
    same: bool


def suspicious_names(matches: Matches) -> Finding | None:
    """The finding that unknown labels are other spellings of known ones, or other names."""
    objects = matches.objects
    unknown = (objects.klass == matches.n_known) & ~objects.ignored
    labels = distinct(objects.label[unknown], len(matches.labels)).tolist()
    pairs = [*_pairs(matches.vocabulary.known, [*matches.labels], labels)]
    found: list[tuple[_Pair, str]] = []
    open_: list[_Pair] = []
    for pair in pairs:
        told = _told(matches, pair)
        if told:
            found.append((pair, told))
        elif told is None and pair.same:
            open_.append(pair)
    if found:
        return _said(
            matches, [pair for pair, _ in found], Level.WARNING, [said for _, said in found]
        )
    return _said(matches, open_, Level.NOTE, []) if open_ else None


def _pairs(known: Sequence[str], labels: Sequence[str], unknown: Sequence[int]) -> Iterator[_Pair]:
    """Known classes and unknown labels with nearly one name, one for each label."""
    words = [_LETTERS.sub("", name).lower() for name in known]
    place = {word: at for at, word in reversed([*enumerate(words)])}
    near = {part: at for at, word in enumerate(words) for part in _shorter(word)}
    other = {name: at for word, at in place.items() for name in _called(word)}
    for label in unknown:
        word = _LETTERS.sub("", labels[label]).lower()
        if is_unknown_spelling(word):
            continue
        same = [place[form] for form in _forms(word) if form in place]
        alike = [near[part] for part in _shorter(word) if part in near]
        alike += [other[word]] if word in other else []
        if same or alike:
            klass = [*same, *alike][0]
            exchanged = len(word) >= _LONG and sorted(word) == sorted(words[klass])
            yield _Pair(klass, label, bool(same) or exchanged)


def _forms(word: str) -> list[str]:
    """What a word is without a number, in singular and plural."""
    word = _NUMBER.sub("", word) or word
    forms = [word, f"{word}s", f"{word}es", word.removesuffix("s"), word.removesuffix("es")]
    if word.endswith("y"):
        forms.append(f"{word[:-1]}ies")
    return [*forms, f"{word[:-3]}y"] if word.endswith("ies") else forms


def _shorter(word: str) -> set[str]:
    """A long word, and it without any one letter: two that share one are a slip apart."""
    if len(word) < _LONG or not word.isalpha():
        return set()
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def _called(word: str) -> set[str]:
    return {name for names in _OTHER_NAMES if word in names for name in names if name != word}


def _told(matches: Matches, pair: _Pair) -> str | None:
    """How often boxes of the class find either, in words; nothing if less, None if too few tell."""
    rows = np.arange(matches.class_start[pair.klass], matches.class_start[pair.klass + 1])
    own = _best(matches, rows, "same", matches.objects.klass == pair.klass)
    other = _best(matches, rows, "unknown", matches.objects.label == pair.label)
    if len(other) < _FEWEST or 0 < np.count_nonzero(own) < _FEWEST or not len(rows):
        return None
    seen = [sure := float(np.median(own[own > 0])) if own.any() else _SURE]
    if pair.same and own.any() and not _clearly_less(other, own):
        seen.append(float(own[own > 0].min()))  # of few objects, a score alone may miss by chance
    for score in seen:
        times, least = _rate(other, score), _ALIKE * (_rate(own, score) if own.any() else 1)
        if times >= least:
            break
    else:
        return ""
    if np.count_nonzero(other) < _FEWEST:
        return None
    name, label = matches.vocabulary.known[pair.klass], matches.labels[pair.label]
    rest = f", and {_rate(own, score):.0%} of its own" if own.any() else ""
    which = f"that score {score:.2g} or more " if score == sure else ""
    return (
        f"boxes called {name} {which}find {times:.0%} of {spaced(len(other))} objects "
        f"{label!r}{rest}"
    )


def _rate(best: NDArray[np.float64], score: float) -> float:
    """How many objects have a box that scores so much."""
    return float((best >= score).mean())


def _clearly_less(other: NDArray[np.float64], own: NDArray[np.float64]) -> bool:
    """Whether objects of the one are found less surely, by two deviations (Mann and Whitney)."""
    area = float(area_under_roc(rank(own, other)))
    deviation = ((len(own) + len(other) + 1) / (12 * len(own) * len(other))) ** 0.5
    return 0.5 - area > 2 * deviation


def _best(
    matches: Matches,
    rows: NDArray[np.intp],
    kind: Literal["same", "unknown"],
    which: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """The highest score of a box on each of some objects, 0 where none is on it."""
    iou, on = overlap(matches, kind, rows)
    fits = (iou >= FITS) & (on >= 0)
    best = np.zeros(len(matches.objects))
    np.maximum.at(best, on[fits], matches.score[rows[fits]])
    return best[which & ~matches.objects.ignored]


def _said(matches: Matches, pairs: list[_Pair], level: Level, told: list[str]) -> Finding:
    known = matches.vocabulary.known
    names = [(known[one.klass], matches.labels[one.label]) for one in pairs]
    of = matches.objects.label == pairs[0].label
    written = ", ".join(f'["{one}", "{other}"]' for one, other in names)
    labels = some(f"{other!r} for {one!r}" for one, other in names)
    message = f"{len(pairs)} unknown label{'s are' * (len(pairs) > 1) or ' is'} nearly that of a "
    message += f"known class: {labels}"
    return Finding(
        "OS337",
        level,
        f"{message}; {some(told, 2)}" if told else message,
        count=int(np.count_nonzero(np.isin(matches.objects.label, [one.label for one in pairs]))),
        example=f"image {matches.image_ids[matches.objects.image[int(of.argmax())]]}, "
        f"an object {names[0][1]!r}",
        fix="write one name in the ground truth; or give a vocabulary file (TOML) with known = "
        f"[...] and synonyms = [{written}]; nothing, if these are other things",
    )
