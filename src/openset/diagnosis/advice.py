"""Advice: what to change about a detector so that fewer unknown objects get a known name.

Three things can be done without knowing why: move a threshold, take another unknownness (a scorer
that needs no fit, where the detections keep what it reads), or collect labels. The first two are
tried on the data, under one rule: 95 % of the known objects that are found stay found. What labels
would bring is not tried but bounded: objects of a label are no longer unknown once it is taught.

Chosen on the data that it is shown on, so it flatters; and a detector that is trained again with
more classes is another detector.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace

from openset.diagnosis.absorption import Absorption
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.flow import Flow
from openset.diagnosis.presets import TPR
from openset.diagnosis.sliders import Sliders, sliders
from openset.findings import InputError
from openset.tables.vocabulary import is_unknown_spelling

MOST_LABELS = 3


@dataclass(frozen=True, slots=True)
class Move:
    """A change that costs no training.

    Attributes:
        what: What to do, as an order.
        flow: What becomes of objects then.
    """

    what: str
    flow: Flow


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels whose objects get a known name most often, and how many of them do."""

    names: tuple[str, ...]
    wrong: int


def best_move(model: Deployed) -> Move | None:
    """The change that leaves fewest unknown objects under a known name; None if none helps."""
    moves = [*_thresholds(model), *_scorers(model)]
    helping = [one for one in moves if one.flow.unknown_wrong < model.flow.unknown_wrong]
    return min(helping, key=lambda one: one.flow.unknown_wrong, default=None)


def labels_to_collect(absorbed: Absorption) -> Labels | None:
    """The unknown labels that known classes absorb most; None where labels say nothing."""
    named = [(one.label, sum(one.counts[:-2])) for one in absorbed.labels]
    named = [(label, n) for label, n in named if n and not is_unknown_spelling(label)]
    chosen = named[:MOST_LABELS]
    return (
        Labels(tuple(label for label, _ in chosen), sum(n for _, n in chosen)) if chosen else None
    )


def _thresholds(model: Deployed) -> Iterator[Move]:
    """Either threshold, as far as it goes; that of boxes labelled unknown takes no name away."""
    table, (i, j) = model.sliders, model.position
    least = TPR * model.flow.known_right
    higher = i + bisect_left(
        range(i + 1, len(table.score)), True, key=lambda at: _right(table, at, j) < least
    )
    if higher > i:
        score = f"raise the minimum score from {table.score[i]:.3g} to {table.score[higher]:.3g}"
        yield Move(score, table.count(higher, j))
    if not table.by_score:
        yield _at_unknownness(table, i, least, "call unknown what exceeds an unknownness of")


def _scorers(model: Deployed) -> Iterator[Move]:
    """Scorers of logits without a fit, each at the unknownness that keeps what is found."""
    from openset.scorers import suited
    from openset.scorers import table as scorers

    if model.detections.logits is None:
        return
    for name, options in suited(model.detections).items():
        scorer = scorers()[name]
        if scorer.fits_on != "nothing" or scorer.requires != ("logits",):
            continue
        try:
            unknownness = scorer.compute(model.detections, **options)[model.matches.row]
        except InputError:  # what it refuses it cannot be advised for
            continue
        table = sliders(replace(model.matches, unknownness=unknownness), model.levels)
        what = f"score with {name} (openset score) and call unknown what exceeds"
        yield _at_unknownness(table, model.position[0], TPR * model.flow.known_right, what)


def _at_unknownness(table: Sliders, i: int, least: float, what: str) -> Move:
    """The lowest unknownness that leaves enough known objects right."""
    j = bisect_left(range(table.rest), True, key=lambda at: _right(table, i, at) >= least)
    return Move(f"{what} {table.second[j]:.3g}", table.count(i, j))


def _right(table: Sliders, i: int, j: int) -> float:
    return table.count(i, j).known_right
