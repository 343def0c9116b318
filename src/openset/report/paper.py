"""Figures: the report's charts as files for a paper."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from openset.diagnosis.breakdown import breakdown
from openset.diagnosis.deployed import deployed
from openset.evaluation.run import Run
from openset.files import replacing
from openset.plugins import lookup
from openset.report.charts import curve_figures
from openset.report.slice_charts import slice_figures

_CONFIG: dict[str, Any] = {
    "background": "white",
    "font": "Helvetica, Arial, sans-serif",
    "axis": {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 11},
    "view": {"stroke": None},
}
PIXELS_PER_POINT = 3.0


def figures(run: Run, folder: Path, formats: Sequence[str] = ("pdf", "svg", "png")) -> list[Path]:
    """Write every chart of a run's report in some formats.

    Args:
        run: Several detectors on one benchmark, evaluated.
        folder: Where to write; files of the same names are replaced.
        formats: Any of ``pdf``, ``svg`` and ``png``.

    Returns:
        The files.
    """
    writers = {name: lookup(_WRITERS, name, "format of figures") for name in formats}
    models = deployed(run)
    drawn = [*curve_figures(models), *slice_figures(breakdown(models))]
    written = []
    for figure in drawn:
        if figure.spec is None:
            continue
        spec = {**figure.spec, "config": _CONFIG}
        for name, convert in writers.items():
            path = Path(folder) / f"{figure.name}.{name}"
            with replacing(path, folder=False) as target:
                target.write_bytes(convert(json.dumps(spec)))
            written.append(path)
    return written


def _pdf(spec: str) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_pdf(spec))


def _svg(spec: str) -> bytes:
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec)).encode()


def _png(spec: str) -> bytes:
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(spec, scale=PIXELS_PER_POINT))


_WRITERS: dict[str, Callable[[str], bytes]] = {"pdf": _pdf, "svg": _svg, "png": _png}
