"""Figures: the report's charts as files for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openset.diagnosis.breakdown import breakdown
from openset.diagnosis.deployed import first_trainings
from openset.evaluation.run import Run
from openset.plugins import lookup
from openset.report.charts import curve_figures
from openset.report.slice_charts import slice_figures
from openset.vega import FORMATS, write_chart


def figures(run: Run, folder: Path, formats: Sequence[str] = ("pdf", "svg", "png")) -> list[Path]:
    """Write every chart of a run's report in some formats.

    Args:
        run: Several detectors on one benchmark, evaluated.
        folder: Where to write; files of the same names are replaced.
        formats: Any of ``pdf``, ``svg`` and ``png``.

    Returns:
        The files.
    """
    for name in formats:
        lookup(FORMATS, name, "format of figures")
    models = first_trainings(run)
    shown = [*curve_figures(models), *slice_figures(breakdown(models))]
    return [
        write_chart(figure.spec, Path(folder) / f"{figure.name}.{name}")
        for figure in shown
        if figure.spec is not None
        for name in formats
    ]
