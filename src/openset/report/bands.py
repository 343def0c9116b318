"""Bands: how far a curve would move, had other images been drawn.

95 % of the resamples of the run's images, at every point for itself, for curves along something
that is set: a minimum score, a wilderness ratio. Thresholds stay where they are. Curves of one rate
against another (precision and recall, OSCR) have none: both ends of their points move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis.deployed import Deployed
from openset.diagnosis.flow import NO_PART, RIGHT
from openset.report.curves import RATIOS
from openset.resampling.draws import draw
from openset.resampling.intervals import TAIL
from openset.vega import Row

RESAMPLES = 200  # of the run's: the ends of a band are seen, not read
EVERY = 4  # of the rungs of the score slider

Mask = NDArray[np.bool_]
Drawn = NDArray[np.float32]


def errors_by_score(models: Sequence[Deployed]) -> list[Row]:
    """Open-set errors (A-OSE) that a minimum score leaves."""
    return _rows(models, lambda one: _above(one, one.matches.open_set_errors), _levels)


def wilderness_by_score(models: Sequence[Deployed]) -> list[Row]:
    """Open-set errors per other known box above a minimum score."""

    def drawn(model: Deployed) -> Drawn:
        matches = model.matches
        counted = ~matches.labelled_unknown & ~matches.outcome().ignored
        errors = matches.open_set_errors
        wrong, others = _above(model, errors & counted), _above(model, counted & ~errors)
        return _over(wrong, others)

    return _rows(models, drawn, _levels)


def precision_by_ratio(models: Sequence[Deployed]) -> list[Row]:
    """Precision of known classes at the operating point as the world gets wilder."""
    if not models[0].sliders.ratio:
        return []
    return _rows(models, _precision, lambda _: RATIOS)


def _rows(
    models: Sequence[Deployed],
    drawn: Callable[[Deployed], Drawn],
    along: Callable[[Deployed], NDArray[np.float64]],
) -> list[Row]:
    """The ends of the band of every detector that was resampled, where all resamples have one."""
    rows = []
    for model in models:
        if not model.evaluation.provenance.resamples:
            continue
        low, high = np.quantile(drawn(model), [TAIL, 1 - TAIL], axis=1).round(5).tolist()
        for x, least, most in zip(along(model).tolist(), low, high, strict=True):
            if np.isfinite(most - least):
                rows.append({"model": model.title, "x": round(x, 5), "low": least, "high": most})
    return rows


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


def _above(model: Deployed, mask: Mask) -> Drawn:
    """Boxes of a mask that each level leaves, per resample."""
    matches, levels = model.matches, _levels(model)
    width = len(levels) + 1
    rung = np.searchsorted(levels, matches.score[mask], side="right")
    place = matches.units[matches.image[mask]].astype(np.int64) * width + rung
    held = np.bincount(place, minlength=matches.n_units * width).reshape(-1, width)
    left = held[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    return np.asarray(left.T.astype(np.float32) @ _weights(model))


def _levels(model: Deployed) -> NDArray[np.float64]:
    return np.asarray(model.sliders.score[::EVERY])


def _weights(model: Deployed) -> Drawn:
    seed = model.evaluation.provenance.seed
    return draw(model.matches.n_units, seed, RESAMPLES).astype(np.float32)


def _over(part: Drawn, whole: Drawn) -> Drawn:
    return np.divide(part, whole, out=np.full_like(whole, np.nan), where=whole > 0)
