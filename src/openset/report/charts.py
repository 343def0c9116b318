"""Charts: the report's pictures, as `openset.vega` draws them, with their words.

A chart may have a data set called ``cursor``: what the page moves along with its sliders; in a
paper's figure it stands at the operating point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from openset.diagnosis.deployed import Deployed
from openset.report import bands, curves
from openset.vega import (
    Axes,
    Row,
    Spec,
    by_model,
    chart,
    drawn,
    field,
    layers,
    lines,
    mark,
    movable,
    shape_of,
)

CURSOR = "cursor"
BANDS = "Bands: 95 % of resampled images, at each x for itself."
Point = tuple[Deployed, float | None, float | None]
"""A detector, and where it stands."""


@dataclass(frozen=True)
class Figure:
    """A chart with its words.

    Attributes:
        name: Its key, and its file name.
        title: What it shows.
        note: How to read it.
        cursor: What its cursor follows on the page, or nothing.
        spec: The Vega-Lite specification; None if there is nothing to draw.
        missing: Why there is nothing to draw.
        band: Ends of its 95 % intervals along x, if it has any (`openset.report.bands`).
    """

    name: str
    title: str
    note: str
    cursor: str
    spec: Spec | None = None
    missing: str = "nothing to draw"
    band: Sequence[Row] = ()


def curve_figures(models: Sequence[Deployed]) -> list[Figure]:
    """The charts along thresholds, recall and wilderness."""
    return [make(models) for make in _CURVES]


def _known_pr(models: Sequence[Deployed]) -> Figure:
    rows = curves.known_precision_recall(models)
    at = [(m, m.flow.known_recall, m.flow.known_precision) for m in models]
    return _lines(
        Figure(
            "precision-recall-known",
            "Known classes: precision and recall",
            "All known boxes pooled, along the score slider. A duplicate is a wrong box.",
            "pr-known",
            band=bands.known_precision_recall(models, rows),
        ),
        rows,
        Axes("recall of known objects", "precision of known boxes"),
        models,
        at,
    )


def _unknown_pr(models: Sequence[Deployed]) -> Figure:
    rows = curves.unknown_precision_recall(models)
    at = [(m, m.flow.unknown_recall, m.flow.unknown_precision) for m in models]
    return _lines(
        Figure(
            "precision-recall-unknown",
            "Unknown objects: precision and recall",
            "Boxes called unknown, along the second slider, the score at each detector's operating "
            "point.",
            "pr-unknown",
            missing="no detector calls any unknown object unknown",
            band=bands.unknown_precision_recall(models, rows),
        ),
        rows,
        Axes("recall of unknown objects", "precision of unknown boxes"),
        models,
        at,
    )


def _by_ratio(models: Sequence[Deployed]) -> Figure:
    return _lines(
        Figure(
            "precision-wilderness",
            "Precision as the world gets wilder",
            "Precision of known boxes at the operating point, wild images counted more often than "
            "the data hold them.",
            "ratio",
            missing="the data do not hold both closed-set and wild images",
            band=bands.precision_by_ratio(models),
        ),
        curves.precision_by_ratio(models),
        Axes(
            "wild images per closed-set image",
            "precision of known boxes",
            percent_x=False,
            domain_x=(0, 5),
        ),
        models,
        models[0].sliders.ratio,
    )


def _wi_ratio(models: Sequence[Deployed]) -> Figure:
    level = models[0].matches.protocol.recall
    return _lines(
        Figure(
            "wilderness-impact-ratio",
            "Wilderness Impact and wilderness ratio",
            f"Loss of precision at recall {level:g} of the known classes, as wild images join.",
            "ratio",
            missing=models[0].evaluation.value("wilderness_curve").reason,
        ),
        curves.wilderness_by_ratio(models),
        Axes(
            "wild images per closed-set image",
            "Wilderness Impact",
            percent_x=False,
            domain_x=None,
            domain_y=None,
        ),
        models,
        models[0].sliders.ratio,
    )


def _wi_recall(models: Sequence[Deployed]) -> Figure:
    return _lines(
        Figure(
            "wilderness-impact-recall",
            "Wilderness Impact and recall",
            "A class that never reaches a recall drops out there; the published level is the "
            f"protocol's, {models[0].matches.protocol.recall:g}.",
            "recall",
            missing=models[0].evaluation.value("wilderness_impact").reason,
        ),
        curves.wilderness_by_recall(models),
        Axes("recall of known classes", "Wilderness Impact", domain_y=None),
        models,
        models[0].matches.protocol.recall,
    )


def _unknown_ranked(models: Sequence[Deployed]) -> Figure:
    rows = curves.unknown_ranked(models)
    return _lines(
        Figure(
            "precision-recall-ap-unknown",
            "AP unknown: precision and recall",
            "Boxes labelled unknown by falling score, all of them: the curve whose area AP unknown "
            "is, at one overlap.",
            "",
            missing="no detector labels a box unknown, or no object is",
            band=bands.unknown_ranked(models, rows),
        ),
        rows,
        Axes("recall of unknown objects", "precision of unknown boxes"),
        models,
        [],
    )


def _wi_score(models: Sequence[Deployed]) -> Figure:
    rows = curves.wilderness_by_score(models)
    return _lines(
        Figure(
            "wilderness-impact-score",
            "Wilderness Impact and score",
            "Known boxes on unknown objects for each other known box that a minimum score leaves, "
            f"classes pooled.{_changes(rows)}",
            "score",
            missing="no known box is left",
            band=bands.wilderness_by_score(models),
        ),
        rows,
        Axes("minimum score", "Wilderness Impact", percent_x=False, domain_x=None, domain_y=None),
        models,
        models[0].score,
    )


def _changes(rows: list[Row]) -> str:
    """Where detectors change places, in words: whoever reports one threshold reports one order."""
    places = curves.order_changes(rows)
    if not places:
        return ""
    shown = ", ".join(f"{x:.2g}" for x in places[:4])
    more = ", …" if len(places) > 4 else ""
    return f" The order of detectors changes at {shown}{more}."


def _errors_score(models: Sequence[Deployed]) -> Figure:
    rows = curves.errors_by_score(models)
    return _lines(
        Figure(
            "a-ose-score",
            "Open-set errors and score",
            f"Known boxes on unknown objects (A-OSE) that a minimum score leaves.{_changes(rows)}",
            "score",
            band=bands.errors_by_score(models),
        ),
        rows,
        Axes(
            "minimum score",
            "open-set errors",
            percent_x=False,
            percent_y=False,
            domain_x=None,
            domain_y=None,
            y_type="sqrt",
        ),
        models,
        models[0].score,
    )


def _errors_recall(models: Sequence[Deployed]) -> Figure:
    return _lines(
        Figure(
            "a-ose-recall",
            "Open-set errors and recall",
            "A-OSE up to a recall of each known class: fair between detectors of different scores.",
            "recall",
        ),
        curves.errors_by_recall(models),
        Axes("recall of known classes", "open-set errors", percent_y=False, domain_y=None),
        models,
        models[0].flow.known_recall or 0.0,
    )


def _roc(models: Sequence[Deployed]) -> Figure:
    return _lines(
        Figure(
            "roc",
            "Unknownness: ROC",
            "Boxes on closed-set images accepted against boxes on wild images accepted, right or "
            "wrong. It does not ask whether an unknown object was found.",
            "roc",
            missing="no detector gives an unknownness (see openset.scorers)",
        ),
        curves.roc_points(models),
        Axes("wild boxes accepted", "closed-set boxes accepted"),
        models,
        [],
    )


def _oscr(models: Sequence[Deployed]) -> Figure:
    rows = curves.oscr(models)
    at = [(m, m.flow.unknown_as_known, m.flow.known_recall) for m in models]
    return _lines(
        Figure(
            "oscr",
            "Knowns found, unknowns accepted (OSCR)",
            "The curve of open-set recognition on matched objects, along the score slider. Up and "
            "left is better. Not a published number of detection: compare within this page only.",
            "oscr",
            missing="there are not both known and unknown objects",
            band=bands.oscr(models, rows),
        ),
        rows,
        Axes("unknown objects under a known name", "known objects called right", domain_x=None),
        models,
        at,
    )


def _reliability(models: Sequence[Deployed]) -> Figure:
    return _lines(
        Figure(
            "reliability",
            "What a score is worth",
            "Known boxes of all images in ten bins of their score. On the diagonal a score is the "
            "chance to be right; below it, the detector is too sure of itself.",
            "",
            missing="no box has a known name, or scores are not from 0 to 1",
        ),
        curves.reliability(models),
        Axes("mean score of the bin", "share of its boxes that are right"),
        models,
        [],
    )


_CURVES: tuple[Callable[[Sequence[Deployed]], Figure], ...] = (
    _known_pr,
    _unknown_pr,
    _unknown_ranked,
    _oscr,
    _by_ratio,
    _errors_score,
    _wi_score,
    _wi_ratio,
    _wi_recall,
    _errors_recall,
    _roc,
    _reliability,
)


def _lines(
    figure: Figure,
    rows: list[Row],
    axes: Axes,
    models: Sequence[Deployed],
    at: float | Sequence[Point],
) -> Figure:
    """A figure with lines by detector, if there are any points.

    Args:
        figure: Its words.
        rows: Points of the lines.
        axes: What the axes show.
        models: The detectors.
        at: Where the cursor stands: an x, for a vertical rule, or a point per detector.
    """
    if not rows:
        return figure
    names = [model.title for model in models]
    curve = lines(rows, axes, names, who="detector")
    cursor = _rule(at) if isinstance(at, float | int) else _marks(at, names)
    note = f"{figure.note} {BANDS}" if figure.band else figure.note
    whole = layers(curve, *_bands(figure.band, names), cursor)
    return replace(figure, note=note, spec=drawn(whole))


def _bands(rows: Sequence[Row], names: Sequence[str]) -> list[Spec]:
    """An area per detector, with a colour of its own: the legend then has lines, not areas."""
    ends = {"x": field("x:Q"), "y": field("low:Q"), "y2": {"field": "high"}}
    found = []
    for name, colour in zip(names, by_model(names)[0]["scale"]["range"], strict=True):
        look = mark("area", color=colour, opacity=0.16, clip=True, tooltip=None, aria=False)
        mine = [row for row in rows if row["model"] == name]
        found += [chart(mine, look, **ends)] if mine else []
    return found


def _rule(x: float) -> Spec:
    look = mark("rule", strokeDash=[3, 3], opacity=0.75, clip=True)
    return movable(chart([{"x": round(x, 5)}], look, x=field("x:Q")), CURSOR)


def _marks(points: Sequence[Point], names: Sequence[str]) -> Spec:
    here = chart(
        [_at(*point) for point in points if None not in point],
        mark("point", size=130, filled=False, opacity=1, strokeWidth=2.5),
        x=field("x:Q"),
        y=field("y:Q"),
        color=by_model(names)[0],
        shape=shape_of(names),
    )
    return movable(here, CURSOR)


def share_curves(
    figure: Figure, rows: list[Row], axes: tuple[str, str], names: Sequence[str]
) -> Figure:
    """A figure with lines of one share against another, by classifier, if there are any points."""
    if not rows:
        return figure
    curves_of = lines(rows, Axes(*axes), names, who="classifier")
    return replace(figure, spec=drawn(layers(curves_of)))


def _at(model: Deployed, x: float | None, y: float | None) -> Row:
    here = {"x": round(x or 0.0, 5), "y": round(y or 0.0, 5)}
    return {"model": model.title, **here}
