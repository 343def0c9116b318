"""Bands: how far a curve would move, had other images been drawn.

95 % of the resamples of the run's images, at every x for itself: a band is no region that holds
whole curves 95 % of the time. Along something that is set (a minimum score, a wilderness ratio)
thresholds stay where they are. Along a rate (precision and recall, OSCR) both ends of a point move:
each resample's curve is drawn through all levels and read at the x of the line, between two levels
linearly, at a vertical step at its top. To the left and right of all levels nothing gets better; a
recall that is not reached has no precision, and a band ends where its lower end is such a one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis.deployed import Deployed
from openset.diagnosis.flow import NO_PART, RIGHT
from openset.diagnosis.sliders import RUNGS, Claims
from openset.report.curves import RATIOS
from openset.resampling.draws import draw
from openset.resampling.intervals import TAIL
from openset.vega import Row

RESAMPLES = 200  # of the run's: the ends of a band are seen, not read
EVERY = 4  # of the rungs of the score slider
POINTS = 50  # of a band along a rate, about
UNREACHED = -1e9  # below every rate, and so far that no quantile beside it is one

_DRAW = lru_cache(maxsize=1)(draw)  # detectors of a run share their draws, and all curves do

Mask = NDArray[np.bool_]
Rungs = NDArray[np.uint8]
Drawn = NDArray[np.float32]
"""A number per level and resample."""
Curve = tuple[Drawn, Drawn]
"""x and y of the curve of each resample, by rising levels."""


def errors_by_score(models: Sequence[Deployed]) -> list[Row]:
    """Open-set errors (A-OSE) that a minimum score leaves."""
    return _rows(
        models, lambda one: _above(one, one.matches.open_set_errors, _levels(one)), _levels
    )


def wilderness_by_score(models: Sequence[Deployed]) -> list[Row]:
    """Open-set errors per other known box above a minimum score."""

    def drawn(model: Deployed) -> Drawn:
        matches = model.matches
        counted = ~matches.labelled_unknown & ~matches.outcome().ignored
        errors, levels = matches.open_set_errors, _levels(model)
        left = [_above(model, mask, levels) for mask in (errors & counted, counted & ~errors)]
        return _over(*left)

    return _rows(models, drawn, _levels)


def precision_by_ratio(models: Sequence[Deployed]) -> list[Row]:
    """Precision of known classes at the operating point as the world gets wilder."""
    if not models[0].sliders.ratio:
        return []
    return _rows(models, _precision, lambda _: RATIOS)


def known_precision_recall(models: Sequence[Deployed], line: Sequence[Row]) -> list[Row]:
    """Precision of known boxes at a recall of known objects, along the score slider."""

    def drawn(model: Deployed) -> Curve:
        right = _kept(model, model.sliders.right, unknown=False)
        return _over(right, _objects(model, unknown=False)), _over(right, _known_boxes(model))

    return _across(models, drawn, line)


def oscr(models: Sequence[Deployed], line: Sequence[Row]) -> list[Row]:
    """Known objects called right at a share of unknown objects called known."""

    def drawn(model: Deployed) -> Curve:
        right = _kept(model, model.sliders.right, unknown=False)
        wrong = _kept(model, model.sliders.wrong, unknown=True)
        totals = (_objects(model, unknown=role) for role in (True, False))
        return _over(wrong, next(totals)), _over(right, next(totals))

    return _across(models, drawn, line, beyond=None)


def unknown_precision_recall(models: Sequence[Deployed], line: Sequence[Row]) -> list[Row]:
    """Precision of boxes called unknown at a recall of unknown objects, along the second slider."""

    def drawn(model: Deployed) -> Curve:
        table, (s, u) = model.sliders, model.rungs
        levels, i = len(table.second), model.position[0]
        rung = _most(table.alien, table.alien.u, table.alien.s > i)
        images, unknown = _places(model)
        found = _left(model, images[unknown], np.minimum(rung[unknown], levels), levels)
        boxes = (s > i) & (model.targets.unknown != NO_PART)
        called = _left(model, model.matches.image[boxes], np.minimum(u[boxes], levels), levels)
        return _over(found, _objects(model, unknown=True)), _over(found, called)

    return _across(models, drawn, line)


def unknown_ranked(models: Sequence[Deployed], line: Sequence[Row]) -> list[Row]:
    """Precision of boxes labelled unknown at a recall of unknown objects, by falling score."""

    def drawn(model: Deployed) -> Curve:
        matches, outcome = model.matches, model.matches.outcome()
        said = np.arange(len(matches.score)) >= matches.known_end
        right, taken = outcome.correct & said, said & ~outcome.ignored
        levels = np.unique(matches.score[right])
        levels = levels[:: -(-len(levels) // RUNGS) or 1]
        found, boxes = (_above(model, mask, levels) for mask in (right, taken))
        return _over(found, _objects(model, unknown=True)), _over(found, boxes)

    return _across(models, drawn, line)


def _rows(
    models: Sequence[Deployed],
    drawn: Callable[[Deployed], Drawn],
    along: Callable[[Deployed], NDArray[np.float64]],
) -> list[Row]:
    """The ends of the band of every detector that was resampled, where all resamples have one."""
    return [row for one in _resampled(models) for row in _ends(one, along(one), drawn(one))]


def _across(
    models: Sequence[Deployed],
    drawn: Callable[[Deployed], Curve],
    line: Sequence[Row],
    beyond: float | None = UNREACHED,
) -> list[Row]:
    """The same of curves along a rate, at the x of their lines."""
    rows = []
    for model in _resampled(models):
        grid = np.unique([row["x"] for row in line if row["model"] == model.title])
        if len(grid):
            step = max(float(np.ptp(grid)) / POINTS, 1e-9)
            grid = grid[np.unique((grid - grid[0]) // step, return_index=True)[1]]
            rows += _ends(model, grid, _read(grid, *drawn(model), beyond))
    return rows


def _resampled(models: Sequence[Deployed]) -> list[Deployed]:
    return [model for model in models if model.evaluation.provenance.resamples]


def _ends(model: Deployed, along: NDArray[np.float64], drawn: Drawn) -> list[Row]:
    low, high = np.quantile(drawn, [TAIL, 1 - TAIL], axis=1).round(5).tolist()
    return [
        {"model": model.title, "x": round(x, 5), "low": least, "high": most}
        for x, least, most in zip(along.tolist(), low, high, strict=True)
        if np.isfinite(most - least) and least >= 0
    ]


def _read(grid: NDArray[np.float64], x: Drawn, y: Drawn, beyond: float | None) -> Drawn:
    """Each resample's curve at some x (x falls as levels rise); `beyond` it that, or its last y."""
    found = np.full((len(grid), x.shape[1]), np.nan, np.float32)
    for at in range(x.shape[1]):
        there = np.isfinite(x[:, at]) & np.isfinite(y[:, at])
        xs, ys = x[there, at][::-1], y[there, at][::-1]
        first = np.flatnonzero(np.diff(xs, prepend=-1.0))
        if len(first):
            top = np.maximum.reduceat(ys, first)
            found[:, at] = np.interp(grid, xs[first], top, right=beyond)
    return found


def _kept(model: Deployed, claims: Claims, *, unknown: bool) -> Drawn:
    """Objects of a role of which a claim holds at each level of score, the second at rest."""
    images, role = _places(model)
    mine = role == unknown
    rung = _most(claims, claims.s, claims.u <= model.sliders.rest)
    levels = len(model.sliders.score)
    return _left(model, images[mine], np.minimum(rung[mine], levels), levels)


def _known_boxes(model: Deployed) -> Drawn:
    """Boxes called by a known class at each level of score, the second at rest."""
    levels, (s, u) = len(model.sliders.score), model.rungs
    boxes = (u <= model.sliders.rest) & (model.targets.known != NO_PART)
    return _left(model, model.matches.image[boxes], np.minimum(s[boxes], levels), levels)


def _most(claims: Claims, rung: Rungs, holds: Mask) -> NDArray[np.intp]:
    """The most rungs among the claims about each object."""
    best = np.zeros(len(claims.sizes), np.intp)
    np.maximum.at(best, claims.object[holds], rung[holds])
    return best


def _places(model: Deployed) -> tuple[NDArray[np.int32], Mask]:
    """Images and roles of the objects that count, as the sliders have them."""
    objects = model.matches.objects
    return objects.image[~objects.ignored], model.sliders.unknown


def _objects(model: Deployed, *, unknown: bool) -> Drawn:
    """Objects of a role, per resample."""
    images, role = _places(model)
    mine = images[role == unknown]
    return _left(model, mine, np.ones(len(mine), np.intp), 1)


def _precision(model: Deployed) -> Drawn:
    """Per ratio and resample; known objects lie on closed-set images alone."""
    matches = model.matches
    boxes = model.called.known & (model.targets.known != NO_PART)
    on_wild, weights = matches.wild[matches.image], _weights(model)

    def total(image: NDArray[np.integer]) -> Drawn:
        held = np.bincount(matches.units[image], minlength=matches.n_units)
        return np.asarray(held.astype(np.float32) @ weights)

    right = total(matches.objects.image[model.fates == RIGHT])
    closed, wild = (total(matches.image[boxes & mask]) for mask in (~on_wild, on_wild))
    images = [total(np.flatnonzero(mask)) for mask in (~matches.wild, matches.wild)]
    share = _over(wild * images[0], images[1])
    return _over(right, closed + RATIOS[:, None].astype(np.float32) * share)


def _above(model: Deployed, mask: Mask, levels: NDArray[np.float64]) -> Drawn:
    """Boxes of a mask that each level leaves, per resample."""
    rung = np.searchsorted(levels, model.matches.score[mask], side="right")
    return _left(model, model.matches.image[mask], rung, len(levels))


def _left(
    model: Deployed, image: NDArray[np.int32], rung: NDArray[np.integer], levels: int
) -> Drawn:
    """How many things on some images clear more than 0, 1, 2, … rungs, per resample."""
    from scipy.sparse import csr_array

    matches, once = model.matches, np.ones(len(image), np.float32)
    shape = (levels + 1, matches.n_units)
    held = csr_array((once, (rung, matches.units[image])), shape=shape) @ _weights(model)
    return np.asarray(held[::-1].cumsum(axis=0)[::-1][1:])


def _levels(model: Deployed) -> NDArray[np.float64]:
    return np.asarray(model.sliders.score[::EVERY])


def _weights(model: Deployed) -> Drawn:
    seed = model.evaluation.provenance.seed
    return _DRAW(model.matches.n_units, seed, RESAMPLES).astype(np.float32)


def _over(part: Drawn, whole: Drawn) -> Drawn:
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.full_like(whole, np.nan), where=whole > 0)
