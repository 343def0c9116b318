"""Slice charts: what becomes of objects by size, super-class and the like, as bars for a paper.

Vega-Lite charts like those of `openset.report.charts`, for ``report --figures`` only: the page
draws its strata itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openset.diagnosis.breakdown import Slice
from openset.report.charts import Figure
from openset.vega import Row

FATES = ("right", "wrong known", "called unknown", "missed")
FATE_COLOURS = ("#009E73", "#D55E00", "#CC79A7", "#B8B8B8")


def slice_figures(slices: Sequence[Slice]) -> list[Figure]:
    """One chart per way of slicing: what becomes of unknown and of known objects."""
    strata = dict.fromkeys(piece.stratum for piece in slices)
    return [_slice_figure(s, [piece for piece in slices if piece.stratum == s]) for s in strata]


def _slice_figure(stratum: str, slices: Sequence[Slice]) -> Figure:
    import altair as alt

    order = list(dict.fromkeys(piece.name for piece in slices))
    roles = [f"{role} objects" for role in ("unknown", "known")]
    several = len({piece.model for piece in slices}) > 1
    chart = (
        alt.Chart(alt.InlineData(values=[row for piece in slices for row in _fate_rows(piece)]))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            y=alt.Y("slice:N", sort=order, title=None, axis=alt.Axis(labelLimit=150)),
            x=alt.X(
                "share:Q",
                title=None,
                stack="zero",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%", tickCount=3),
            ),
            color=alt.Color(
                "fate:N",
                scale=alt.Scale(domain=list(FATES), range=list(FATE_COLOURS)),
                legend=alt.Legend(title=None, orient="bottom", columns=4),
            ),
            order=alt.Order("rank:Q"),
            tooltip=["model:N", "slice:N", "role:N", "fate:N", "objects:Q", "of:Q"],
        )
        .properties(width=150, height={"step": 20})
    )
    column = alt.Column("role:N", title=None, sort=roles)
    facets: dict[str, Any] = {"column": column}
    if several:
        models = list(dict.fromkeys(piece.model for piece in slices))
        facets["row"] = alt.Row("model:N", title=None, sort=models)
    name = "slices-" + "".join(c if c.isalnum() else "-" for c in stratum.lower())[:40]
    note = "Share of objects at each detector's operating point; hover for counts."
    return Figure(name, f"By {stratum}", note, "", chart.facet(**facets).to_dict(validate=False))


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
