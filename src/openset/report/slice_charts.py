"""Slice charts: what becomes of objects by size, super-class and the like, as bars for a paper.

Vega-Lite charts like those of `openset.report.charts`, for ``report --figures`` only: the page
draws its strata itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from openset.diagnosis.breakdown import Slice
from openset.report.charts import Figure
from openset.vega import Row, chart, field, fields, mark, panels

FATES = ("right", "wrong known", "called unknown", "missed")
FATE_COLOURS = ("#009E73", "#D55E00", "#CC79A7", "#B8B8B8")


def slice_figures(slices: Sequence[Slice]) -> list[Figure]:
    """One chart per way of slicing: what becomes of unknown and of known objects."""
    strata = dict.fromkeys(piece.stratum for piece in slices)
    return [_slice_figure(s, [piece for piece in slices if piece.stratum == s]) for s in strata]


def _slice_figure(stratum: str, slices: Sequence[Slice]) -> Figure:
    order = list(dict.fromkeys(piece.name for piece in slices))
    bars = chart(
        [row for piece in slices for row in _fate_rows(piece)],
        mark("bar", stroke="white", strokeWidth=0.5),
        y=field("slice:N", sort=order, title=None, axis={"labelLimit": 150}),
        x=field(
            "share:Q",
            title=None,
            stack="zero",
            scale={"domain": [0, 1]},
            axis={"format": ".0%", "tickCount": 3},
        ),
        color=field(
            "fate:N",
            scale={"domain": FATES, "range": FATE_COLOURS},
            legend={"title": None, "orient": "bottom", "columns": 4},
        ),
        order=field("rank:Q"),
        tooltip=fields("model:N", "slice:N", "role:N", "fate:N", "objects:Q", "of:Q"),
    )
    roles = [f"{role} objects" for role in ("unknown", "known")]
    facets = {"column": field("role:N", title=None, sort=roles)}
    models = list(dict.fromkeys(piece.model for piece in slices))
    if len(models) > 1:
        facets["row"] = field("model:N", title=None, sort=models)
    spec = panels(bars | {"width": 150, "height": {"step": 20}}, **facets)
    name = "slices-" + "".join(c if c.isalnum() else "-" for c in stratum.lower())[:40]
    note = "Share of objects at each detector's operating point; hover for counts."
    return Figure(name, f"By {stratum}", note, "", spec)


def _fate_rows(piece: Slice) -> list[Row]:
    counts = (piece.right, piece.wrong, piece.unknown, piece.missed)
    return [
        {
            "model": piece.model,
            "slice": piece.name,
            "role": f"{piece.role} objects",
            "fate": fate,
            "rank": rank,
            "objects": n,
            "of": piece.total,
            "share": round(n / piece.total, 5),
        }
        for rank, (fate, n) in enumerate(zip(FATES, counts, strict=True))
        if n
    ]
