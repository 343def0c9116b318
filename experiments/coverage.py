"""Coverage: are the intervals true, and do stars mean something? Measured, not argued.

All images of a ground truth are the population, and the numbers on them the truth. Subsets of n
images are drawn with replacement; every value of a subset gets its interval, and we count how often
it holds the population's. For stars two models are made exchangeable: on every image a coin decides
which detector plays which, so that every star between them is false. Power is the share of
rejections that is left after the correction, between the detectors as they are.

    python experiments/coverage.py TRUTH FIRST SECOND --known voc20 -o docs/results/coverage.md

Not a proof for other data: run it on yours.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openset import Protocol, read
from openset.evaluation.provenance import describe
from openset.evaluation.result import Evaluation
from openset.evaluation.scoreboard import Cell, Scoreboard
from openset.evaluation.steps import measure
from openset.matching import match
from openset.metrics import table
from openset.resampling.images import replicates
from openset.resampling.intervals import ALPHA
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.annotations import Images
from openset.tables.columns import positions

SIZES = {100: 0.1, 300: 0.2, 1000: 0.7}  # images of a subset, and its share of the time
TARGETS = {100: 85, 300: 92, 1000: 93}
BESIDE = ("recall_known", "average_wilderness_impact")  # beside the metrics that are shown first
PAGE = """# Coverage

Made by `python experiments/coverage.py`; do not edit.

Do the 95 % intervals hold the truth, and do stars mean something? {about}
Subsets are drawn with replacement, with {resamples} resamples each; from k subsets the
error (one deviation) is about 15/√k points of a coverage near 95 %, of two detectors, and 22/√k of
a share of stars near 5 %. Run it for longer to see less of it.

## How often 95 % intervals hold the population's value, %

{coverage}

## False stars, %

Two exchangeable models: on every image a coin decides which detector plays which. The rows are p <
0.05 of single metrics, before the correction; the last row is any star in the table of the metrics
that are shown first, after it (Benjamini-Hochberg, and Holm for comparison).

{stars}

## Power

The two detectors as they are: the share of differences with p < 0.05 that keep their star after the
correction for the table.

{power}
"""


@dataclass(frozen=True, eq=False)
class Population:
    """All images, with two detectors on them.

    Attributes:
        truth: The ground truth.
        found: The detections of the two, with the index of the image instead of its id.
        vocabulary: What is known.
        protocol: How they are judged.
    """

    truth: Annotations
    found: tuple[Detections, Detections]
    vocabulary: Vocabulary
    protocol: Protocol

    @classmethod
    def of(
        cls, truth: Annotations, found: Sequence[Detections], known: object, protocol: Protocol
    ) -> Population:
        """A population; detections without unknownness get one minus their score."""
        one, other = (_by_image(truth, each) for each in found)
        vocabulary = Vocabulary.of(known, truth)  # type: ignore[arg-type]
        truth = truth.select(np.argsort(truth.image, kind="stable"))
        return cls(truth, (one, other), vocabulary, protocol)

    def subset(
        self, images: NDArray[np.int64], model: NDArray[np.int64], **drawn: int
    ) -> Evaluation:
        """Some images, maybe repeated, with the detector `model` on each, measured."""
        truth, found = _taken(self.truth, images), self._detections(images, model)
        matches = match(truth, found, self.vocabulary, self.protocol, leaked="unknown")
        metrics = [m for m in table().values() if m.headline or m.name in BESIDE]
        return measure(
            {metric: metric.compute(matches) for metric in metrics},
            partial(replicates, matches, metrics, **drawn) if drawn["resamples"] else dict,
            partial(describe, matches, {}, ledger="", **drawn),
            (),
            partial(Evaluation, matches=matches),
        )

    def _detections(self, images: NDArray[np.int64], model: NDArray[np.int64]) -> Detections:
        parts = []
        for at, found in enumerate(self.found):
            mine = np.flatnonzero(model == at)
            rows, place = _rows(found.image, images[mine], len(self.truth.images))
            parts.append((found.select(rows), mine[place]))
        columns = {
            name: np.concatenate([getattr(part, name) for part, _ in parts])
            for name in ("label", "box", "score", "unknownness")
        }
        image = np.concatenate([place for _, place in parts])
        return Detections(image, labels=self.found[0].labels, **columns)


def _by_image(truth: Annotations, found: Detections) -> Detections:
    image = positions(truth.images.id, found.image)
    score = 1 - found.score if found.unknownness is None else found.unknownness
    order = np.argsort(image, kind="stable")
    return replace(found, image=image, unknownness=score).select(order)


def _taken(truth: Annotations, images: NDArray[np.int64]) -> Annotations:
    rows, place = _rows(truth.image, images, len(truth.images))
    return replace(truth.select(rows), images=Images(np.arange(len(images))), image=place)


def _rows(
    image: NDArray[np.integer], wanted: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows on wanted images, as often as these are wanted, and which of them; rows are by image."""
    count = np.bincount(image, minlength=n)
    many = count[wanted]
    place = np.repeat(np.arange(len(wanted)), many)
    within = np.arange(len(place)) - np.repeat(np.cumsum(many) - many, many)
    return (np.cumsum(count) - count)[wanted][place] + within, place


@dataclass
class Tally:
    """What was counted over the subsets of one size.

    Attributes:
        subsets: How many.
        held: Metric → whether each interval held the population's value.
        starred: Metric → whether each difference of exchangeable models had p < 0.05.
        tables: Whether each table of exchangeable models had a star.
        strict_tables: Whether it would have had one after Holm.
        alone: Differences between the detectors with p < 0.05.
        kept: Those that have a star.
        strictly: Those that would have one after Holm.
    """

    subsets: int = 0
    held: dict[str, list[bool]] = field(default_factory=dict)
    starred: dict[str, list[bool]] = field(default_factory=dict)
    tables: list[bool] = field(default_factory=list)
    strict_tables: list[bool] = field(default_factory=list)
    alone: int = 0
    kept: int = 0
    strictly: int = 0

    def add(self, population: Population, whole: Sequence[Evaluation], drawn: Drawn) -> None:
        """Draw one more subset and count."""
        generator = np.random.default_rng([drawn.seed, drawn.n, self.subsets])
        self.subsets += 1
        total = len(population.truth.images)
        images = generator.integers(0, total, drawn.n)
        coin = generator.integers(0, 2, drawn.n)
        given = {"seed": self.subsets, "resamples": drawn.resamples}
        models = (np.zeros_like(coin), np.ones_like(coin), coin, 1 - coin)
        first, second, one, other = (population.subset(images, m, **given) for m in models)
        for part, full in ((first, whole[0]), (second, whole[1])):
            self._cover(part, full, drawn.n / total)
        self._compare(Scoreboard.of({"first": first, "second": second}, headline=True))
        self._tempt(Scoreboard.of({"one": one, "other": other}))
        null = Scoreboard.of({"one": one, "other": other}, headline=True)
        self.tables.append(any(line.cells[1].star for line in null.lines))
        self.strict_tables.append(any(_strict(line.cells[1]) for line in null.lines))

    def _cover(self, part: Evaluation, full: Evaluation, share: float) -> None:
        for name, value in part.values.items():
            if value.interval is not None:
                truth = full.values[name].value * (share if table()[name].unit == "count" else 1)
                low, high = value.interval
                self.held.setdefault(name, []).append(low - 1e-12 <= truth <= high + 1e-12)

    def _tempt(self, board: Scoreboard) -> None:
        for line in board.lines:
            difference = line.cells[1].difference
            assert difference is not None
            if difference.interval is not None:
                self.starred.setdefault(line.name, []).append(difference.significant)

    def _compare(self, board: Scoreboard) -> None:
        for line in board.lines:
            cell = line.cells[1]
            assert cell.difference is not None
            self.alone += cell.difference.significant
            self.kept += cell.star
            self.strictly += _strict(cell)


def _strict(cell: Cell) -> bool:
    return cell.p_holm is not None and cell.p_holm < ALPHA


@dataclass(frozen=True)
class Drawn:
    """How subsets are drawn: their size, the seed, and resamples of each."""

    n: int
    seed: int
    resamples: int


def tally(population: Population, drawn: Drawn, *, seconds: float, most: int = 10**6) -> Tally:
    """Subsets for so many seconds of processor time, or so many of them."""
    everything = np.arange(len(population.truth.images))
    whole = [
        population.subset(everything, np.full_like(everything, model), seed=0, resamples=0)
        for model in (0, 1)
    ]
    found, start = Tally(), time.process_time()
    while found.subsets < most and time.process_time() - start < seconds:
        found.add(population, whole, drawn)
    return found


def page(tallies: dict[int, Tally], about: str, resamples: int) -> str:
    """The page."""
    sizes = list(tallies)
    head = [f"n = {n}" for n in sizes]
    subsets = ["subsets", *(str(one.subsets) for one in tallies.values())]
    names = [name for name in table() if any(name in one.held for one in tallies.values())]
    cover = [
        [f"`{name}`", *(_percent(one.held.get(name, [])) for one in tallies.values())]
        for name in names
    ]
    wanted = ["at least", *(str(TARGETS.get(n, "")) for n in sizes)]
    stars = [
        [f"`{name}`", *(_percent(one.starred.get(name, [])) for one in tallies.values())]
        for name in names
    ]
    tables = ["**any star in the table**", *(_percent(one.tables) for one in tallies.values())]
    holm = ["any, were it Holm", *(_percent(one.strict_tables) for one in tallies.values())]
    power = [
        ["p < 0.05 alone, per table"]
        + [f"{one.alone / max(one.subsets, 1):.2f}" for one in tallies.values()],
        ["with a star, per table"]
        + [f"{one.kept / max(one.subsets, 1):.2f}" for one in tallies.values()],
        ["**kept, %**"] + [f"{100 * one.kept / max(one.alone, 1):.0f}" for one in tallies.values()],
        ["kept, were it Holm, %"]
        + [f"{100 * one.strictly / max(one.alone, 1):.0f}" for one in tallies.values()],
    ]
    return PAGE.format(
        about=about,
        resamples=resamples,
        coverage=_table(["metric", *head], [subsets, wanted, *cover]),
        stars=_table(["metric", *head], [["at most", *["7"] * len(sizes)], *stars, tables, holm]),
        power=_table(["", *head], power),
    )


def _percent(hits: Sequence[bool]) -> str:
    return f"{100 * float(np.mean(hits)):.1f}" if len(hits) else "–"


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines: Iterator[list[str]] = iter([header, ["---", *["--:"] * (len(header) - 1)], *rows])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("truth", type=Path)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--known", default=None)
    parser.add_argument("--recall", type=float, default=0.5)
    parser.add_argument("--minimum-score", type=float, default=0.05)
    parser.add_argument("--minutes", type=float, default=10, help="of processor time")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    found = [read(path) for path in (options.first, options.second)]
    found = [each.select(each.score >= options.minimum_score) for each in found]
    protocol = Protocol.of("default").but(recall=options.recall)
    population = Population.of(read(options.truth), found, options.known, protocol)
    tallies = {
        n: tally(
            population,
            Drawn(n, options.seed, options.resamples),
            seconds=60 * options.minutes * share,
        )
        for n, share in SIZES.items()
    }
    names = " and ".join(f"`{path.name}`" for path in (options.first, options.second))
    about = (
        f"The population is\n`{options.truth.name}`, {len(population.truth.images)} images, with"
        f" the detections\n{names} (score at least {options.minimum_score:g}, known:\n"
        f"{options.known or 'as the file says'}, recall {options.recall:g}; unknownness is one "
        "minus the score)."
    )
    text = page(tallies, about, options.resamples)
    if options.out:
        options.out.write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
