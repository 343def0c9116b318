"""Bands of curves: around their lines, and as wide as the choice of images makes them."""

from __future__ import annotations

import numpy as np
import pytest

from openset.diagnosis.deployed import deployed
from openset.report import bands, curves
from openset.report.charts import curve_figures
from scenes.report_runs import run


@pytest.mark.parametrize("name", ["errors_by_score", "wilderness_by_score", "precision_by_ratio"])
def test_bands_lie_around_their_lines(models, name):
    line = {(row["model"], row["x"]): row["y"] for row in getattr(curves, name)(models)}
    band = getattr(bands, name)(models)
    assert {row["model"] for row in band} == {model.title for model in models}
    inside = [row["low"] <= line[row["model"], row["x"]] <= row["high"] for row in band]
    assert np.mean(inside) > 0.97
    assert any(row["low"] < row["high"] for row in band)


def test_a_band_is_that_of_counting_again(models):
    model = models[0]
    weights = bands._weights(model)
    times = weights[model.matches.units][model.matches.image[model.matches.open_set_errors]]
    score = model.matches.score[model.matches.open_set_errors]
    for row in bands.errors_by_score(models[:1])[::7]:
        counts = times[score >= row["x"]].sum(axis=0)
        assert (row["low"], row["high"]) == pytest.approx(np.quantile(counts, [0.025, 0.975]))


def test_without_resamples_there_is_no_band():
    models = deployed(run(3, images=30, intervals=False))
    assert bands.errors_by_score(models) == bands.precision_by_ratio(models) == []


def test_charts_draw_the_band_and_say_so(models):
    drawn = {figure.name: figure for figure in curve_figures(models)}
    marks = [layer["mark"] for layer in drawn["a-ose-score"].spec["layer"]]
    assert "area" in [mark["type"] for mark in marks]
    assert "Bands" in drawn["a-ose-score"].note
    assert "Bands" not in drawn["oscr"].note
