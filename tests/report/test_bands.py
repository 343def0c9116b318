"""Bands of curves: around their lines, and as wide as the choice of images makes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.deployed import deployed
from openset.diagnosis.flow import NO_PART, RIGHT, WRONG
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


@pytest.fixture(scope="module")
def many():
    """Detectors on more images: a resample then reaches most rates."""
    return deployed(run(3, images=400))


ALONG_A_RATE = ["known_precision_recall", "unknown_precision_recall", "unknown_ranked", "oscr"]


@pytest.mark.parametrize("name", ALONG_A_RATE)
def test_bands_along_a_rate_lie_around_their_lines(many, name):
    rows = getattr(curves, name)(many)
    band = getattr(bands, name)(many, rows)
    top = {}
    for row in rows:
        place = row["model"], row["x"]
        top[place] = max(row["y"], top.get(place, 0))
    assert {row["model"] for row in band} == {model.title for model in many}
    inside = [row["low"] - 1e-5 <= top[row["model"], row["x"]] <= row["high"] for row in band]
    assert np.mean(inside) > 0.95
    assert np.mean([row["low"] < row["high"] for row in band]) > 0.5


def counted_again(model, weights, axis):
    """Both rates at each level of a slider, from what every object and box is called there."""
    matches, objects = model.matches, model.matches.objects
    of_box, of_object = weights[matches.image], weights[objects.image]
    unknown = (objects.klass == matches.n_known) & ~objects.ignored
    known = ~unknown & ~objects.ignored
    table = model.sliders
    for level in range(len(table.second if axis == "second" else table.score)):
        place = (model.position[0], level) if axis == "second" else (level, table.rest)
        moved = replace(model, place=place)
        right = of_object[known & (moved.fates == RIGHT)].sum()
        wrong = of_object[unknown & (moved.fates == WRONG)].sum()
        called = moved.called.unknown & (model.targets.unknown >= 0)
        found = np.zeros(len(unknown), bool)
        found[model.targets.unknown[called]] = True
        yield {
            "recall": right / of_object[known].sum(),
            "boxes": of_box[moved.called.known & (model.targets.known != NO_PART)].sum(),
            "right": right,
            "absorbed": wrong / of_object[unknown].sum(),
            "found": of_object[unknown & found].sum(),
            "unknown": of_object[unknown].sum(),
            "said": of_box[moved.called.unknown & (model.targets.unknown != NO_PART)].sum(),
        }


RATES = {
    "recall": lambda p: p["recall"],
    "precision": lambda p: p["right"] / p["boxes"],
    "absorbed": lambda p: p["absorbed"],
    "unknown recall": lambda p: p["found"] / p["unknown"],
    "unknown precision": lambda p: p["found"] / p["said"],
}


@pytest.mark.parametrize(
    ("name", "axis", "x", "y"),
    [
        ("known_precision_recall", "score", "recall", "precision"),
        ("oscr", "score", "absorbed", "recall"),
        ("unknown_precision_recall", "second", "unknown recall", "unknown precision"),
    ],
)
def test_a_band_along_a_rate_is_that_of_counting_again(many, monkeypatch, name, axis, x, y):
    monkeypatch.setattr(bands, "RESAMPLES", 6)
    model = many[0]
    weights = bands._weights(model)[model.matches.units].astype(float)
    line = [{"model": model.title, "x": at / 50} for at in range(51)]
    band = getattr(bands, name)([model], line)
    read = []
    for column in weights.T:
        points = counted_again(model, column, axis)
        if "precision" in y:
            points = (one for one in points if one["boxes" if axis == "score" else "said"])
        top = {}
        for one in points:
            place = RATES[x](one)
            top[place] = max(RATES[y](one), top.get(place, 0))
        xs = sorted(top)
        beyond = -1e9 if "precision" in y else None
        along = [row["x"] for row in band]
        read.append(np.interp(along, xs, [top[at] for at in xs], right=beyond))
    low, high = np.quantile(read, [0.025, 0.975], axis=0)
    assert [row["low"] for row in band] == pytest.approx(low, abs=2e-5)
    assert [row["high"] for row in band] == pytest.approx(high, abs=2e-5)
    assert len(band) > 10 and (len(band) < 51 or name == "oscr")


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
    assert bands.oscr(models, curves.oscr(models)) == []


def test_charts_draw_the_band_and_say_so(models):
    drawn = {figure.name: figure for figure in curve_figures(models)}
    marks = [layer["mark"] for layer in drawn["a-ose-score"].spec["layer"]]
    assert "area" in [mark["type"] for mark in marks]
    assert "Bands" in drawn["a-ose-score"].note
    assert "at each x for itself" in drawn["oscr"].note
    assert "Bands" not in drawn["roc"].note
