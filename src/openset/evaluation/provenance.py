"""Provenance: what a result was computed from, and under which rules.

Made when it is first asked for: a hash of millions of scores is not free, and most results are only
looked at. The hashes do not depend on the order of images, so that a stream of batches and a single
pass over the same data agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.leaks import LEAK, TAUGHT_CLASSES, taught
from openset.evaluation.roles import stated
from openset.findings import Finding
from openset.matching import Matches
from openset.tables import Detections
from openset.tables.columns import ranks
from openset.version import __version__
from openset.wording import spaced


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where numbers come from.

    Attributes:
        version: Version of openset.
        protocol: Name of the protocol.
        deviations: Fields in which it departs from the preset of that name: preset, used.
        vocabulary: Name of the vocabulary, if it has one.
        vocabulary_hash: Changes when any role changes.
        truth_hash: Changes when the images, or the labels or boxes of objects, change, or which
            objects are ignored.
        detections_hash: Changes when the number, labels, scores or sizes of detections change.
        counts: Images, objects and detections by role; groups where resamples draw them.
        seed: Seed of the resamples.
        resamples: Number of resamples, 0 without intervals.
        inputs: Names of the inputs.
        ledger: What was fitted on which data to make the unknownness and the labels, in one line.
        groups_hash: Changes when other images are drawn together; empty if each is drawn alone.
        roles: What the vocabulary states (`openset.evaluation.roles`).
        minimum_score: The score below which detections were left out, if one was asked for.
        samples_hash: Changes when samples, or their order, change; empty if they have no names.
        leaked: What became of detections of classes that are unknown here; empty if there are none.
    """

    version: str
    protocol: str
    deviations: Mapping[str, Any]
    vocabulary: str
    vocabulary_hash: str
    truth_hash: str
    detections_hash: str
    counts: Mapping[str, int]
    seed: int
    resamples: int
    inputs: Mapping[str, str]
    ledger: str = ""
    groups_hash: str = ""
    roles: Mapping[str, Any] = field(default_factory=dict)
    minimum_score: float | None = None
    samples_hash: str = ""
    leaked: str = ""

    @property
    def resampled(self) -> str:
        """What resamples are of, if it is not the images, in words."""
        groups = self.counts.get("groups")
        if not groups:
            return ""
        return f"resampled {spaced(groups)} groups of {spaced(self.counts['images'])} images"


def describe(
    matches: Matches,
    inputs: Mapping[str, str],
    *,
    seed: int,
    resamples: int,
    ledger: str = "",
    minimum_score: float | None = None,
    leaked: str = "",
) -> Provenance:
    """The provenance of numbers that were computed from some matches."""
    protocol, vocabulary = matches.protocol, matches.vocabulary
    return Provenance(
        version=__version__,
        protocol=protocol.name,
        deviations={name: list(pair) for name, pair in protocol.deviations().items()},
        vocabulary=vocabulary.name,
        vocabulary_hash=vocabulary.hash,
        truth_hash=_truth_hash(matches),
        detections_hash=f"{matches.digest:016x}",
        counts=counts(matches),
        seed=seed,
        resamples=resamples,
        inputs=inputs,
        ledger=ledger,
        groups_hash=_groups_hash(matches),
        roles=stated(vocabulary),
        minimum_score=minimum_score,
        leaked=leaked,
    )


def ledger_line(detections: Detections, findings: Sequence[Finding]) -> str:
    """What was fitted on which data, as the detections say, and what they were found to leak.

    Nothing if there is nothing to say.
    """
    leaks = [TAUGHT_CLASSES] if taught(findings) else []
    if detections.provenance.get("ledger"):
        from openset.scorers.ledger import summary  # few detections have one

        return summary(detections, *leaks)
    if detections.unknownness is None:
        return "".join(LEAK + leak for leak in leaks)
    said = "unknownness as in the file, which does not say what it was fitted on"
    return "; ".join([said, *(LEAK + leak for leak in leaks)])


def counts(matches: Matches) -> dict[str, int]:
    """Images, objects and detections by role, and groups if there are any."""
    objects = matches.objects
    unknown = objects.klass == matches.n_known
    return {
        "images": matches.n_images,
        "wild_images": int(matches.wild.sum()),
        "known_classes": matches.n_known,
        "known_objects": int((~unknown & ~objects.ignored).sum()),
        "unknown_objects": int((unknown & ~objects.ignored).sum()),
        "ignored_objects": int(objects.ignored.sum()) + len(matches.excusing),
        "detections": len(matches),
        "known_detections": matches.known_end,
        "unknown_detections": len(matches) - matches.known_end,
        **({"groups": matches.n_units} if matches.grouped else {}),
    }


def _truth_hash(matches: Matches) -> str:
    place, parts = ranks(matches.image_ids), (matches.objects, matches.excusing)
    image, label, box, ignored = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("image", "label", "box", "ignored")
    )
    matches.forget()
    used = np.flatnonzero(np.bincount(label, minlength=len(matches.labels)))
    names = np.array([matches.labels[at] for at in used.tolist()] or [""])
    rank = np.zeros(len(matches.labels), np.int32)
    rank[used] = ranks(names)[: len(used)]
    columns = [place[image], rank[label], *box.T]
    if ignored.any():  # a plain truth keeps the hash that it always had
        columns.append(ignored)
    order = _object_order(columns)
    heads = (np.sort(matches.image_ids), np.sort(names))
    return digest(chain(heads, (column[order] for column in columns)))


def _object_order(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """What ``np.lexsort(columns[::-1])`` gives; a column is asked only where those before tie.

    Files list objects image by image, more or less, and few of a label begin at the same place. So
    many bits of a column are asked at a time as fit beside the runs that tie: one sort of whole
    numbers takes a tenth of the time of `np.lexsort`.
    """
    place = np.arange(len(columns[0]))  # the last word
    order, equal = place.copy(), np.ones(max(len(place) - 1, 0), np.bool_)
    width = 63 - len(order).bit_length()
    for digit in chain.from_iterable(_digits(column, width) for column in (*columns, place)):
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        if not len(tied):
            break
        among, run = order[tied], np.cumsum(np.append(0, ~equal))[tied]
        order[tied] = among[np.argsort(run << width | digit[among])]
        equal &= np.diff(digit[order]) == 0
    return order


def _digits(values: NDArray[Any], width: int) -> Iterator[NDArray[np.int64]]:
    """Whole numbers below ``2**width`` that sort as values do, the first before the second.

    Of numbers, and of whole ones from 0. There is one zero, and what is no number comes last.

    >>> [digit.tolist() for digit in _digits(np.array([5, 258]), 8)]
    [[2, 129], [1, 0]]
    """
    if values.dtype.kind != "f":
        bits = values.astype(np.uint64)
    else:
        some = np.where(np.isnan(values), np.nan, values).astype(np.float64) + 0.0
        bits = some.view(np.int64)
        bits = (bits ^ (bits >> 63 & np.iinfo(np.int64).max)).view(np.uint64) ^ np.uint64(1 << 63)
    most = int(bits.max(initial=0)).bit_length()
    for end in range(most, 0, -width):
        low = max(end - width, 0)
        yield (bits >> low & ((1 << end - low) - 1)).astype(np.int64)


def _groups_hash(matches: Matches) -> str:
    if not matches.grouped:
        return ""
    return digest([matches.units[np.argsort(matches.image_ids, kind="stable")]])


def digest(columns: Iterable[NDArray[Any]]) -> str:
    """A hash of columns of numbers or text."""
    import hashlib

    state = hashlib.blake2b(digest_size=8)
    for column in columns:
        text = column.dtype.kind in "UT"
        state.update("\0".join(column.tolist()).encode() if text else column.tobytes())
    return state.hexdigest()
