"""The sections of the report, before they are a page."""

from __future__ import annotations

import numpy as np
import pytest

from openset.diagnosis.breakdown import breakdown
from openset.diagnosis.deployed import deployed
from openset.diagnosis.flow import IGNORED, RIGHT, UNKNOWN, WRONG, called, fates, targets
from openset.evaluation.run import evaluate_all
from openset.evaluation.scoreboard import Scoreboard
from openset.report.charts import curve_figures
from openset.report.crops import Surroundings
from openset.report.curves import (
    order_changes,
    oscr,
    unknown_ranked,
    wilderness_by_score,
)
from openset.report.gallery import KINDS, choose, is_right
from openset.report.pairs import pairs
from openset.report.slice_charts import slice_figures
from openset.vega import by_model
from scenes.report_runs import run

# ---------------------------------------------------------------------- gallery


def test_gallery_shows_what_its_kinds_say(models):
    items = choose(models, 240)
    assert len(items) <= 240
    assert {item.kind for item in items} >= {"unknown-as-known", "missed-unknown"}
    for item in items:
        model = models[item.model]
        objects, matches = model.matches.objects, model.matches
        if item.kind == "unknown-as-known":
            assert objects.klass[item.object] == matches.n_known
            assert model.called.known[item.box]
        if item.kind == "missed-unknown":
            assert item.box == -1
            assert model.fates[item.object] == 3
        if item.kind == "known-as-unknown":
            assert model.fates[item.object] == UNKNOWN
            assert objects.klass[item.object] < matches.n_known
        if item.kind == "wrong-class":
            assert objects.klass[item.object] not in (matches.klass[item.box], matches.n_known)
        if item.kind.endswith("on-nothing"):
            assert item.object == -1
        if item.kind == "models-disagree":
            other = models[1 - item.model]
            assert is_right(model)[item.object]
            assert not is_right(other)[item.object]


def test_gallery_spreads_over_pairs_of_labels(models):
    model = models[0]
    kind = KINDS[0]
    boxes, objects = kind.find(model)
    cells = {
        (model.matches.objects.label[o], model.matches.klass[b])
        for b, o in zip(boxes, objects, strict=True)
    }
    shown = [item for item in choose((model,), 240) if item.kind == kind.name]
    first = shown[: len(cells)]
    seen = {(model.matches.objects.label[i.object], model.matches.klass[i.box]) for i in first}
    assert len(seen) > len(cells) / 2


def test_regions_hold_their_box_and_stay_in_the_image(made, models):
    scenes = Surroundings(made, models)
    for item in choose(models, 60):
        left, top, width, height = scenes.view(item).region
        assert left >= 0
        assert top >= 0
        assert left + width <= 200
        assert top + height <= 160
        focused = [box for box in scenes.boxes(scenes.view(item)) if box[-1]]
        assert len(focused) == (item.box >= 0) + (item.object >= 0)


# ---------------------------------------------------------------------- scoreboard and pairs


def test_pairs_count_every_object_once(made, models):
    board = Scoreboard.of({model.title: model.evaluation for model in models})
    (pair,) = pairs(models, board, [str(i) for i in made.truth.images.id])
    by_role = {split.role: split for split in pair.splits}
    flow = models[0].flow
    for role, total in (("known", flow.known), ("unknown", flow.unknown)):
        split = by_role[role]
        assert split.both + split.first + split.second + split.neither == total
    assert by_role["known"].both + by_role["known"].first == flow.known_right
    assert any(line.cells[1].difference.interval for line in pair.board.lines)


# ---------------------------------------------------------------------- words


def test_long_names_stand_in_one_column_of_the_legend():
    for names, columns in ((["a", "b"], 2), (["a" * 30, "b"], 1)):
        assert by_model(names)[0]["legend"]["columns"] == columns


def test_no_two_of_many_models_look_alike():
    names = [f"model {n}" for n in range(12)]
    colours, dashes = (look["scale"]["range"] for look in by_model(names))
    assert len({(one, *of) for one, of in zip(colours, dashes, strict=True)}) == len(names)


# ---------------------------------------------------------------------- charts


def test_every_curve_has_points_of_every_detector(models):
    drawn = {figure.name: figure for figure in curve_figures(models)}
    spec = drawn["precision-recall-known"].spec
    rows = next(
        layer["data"]["values"] for layer in spec["layer"] if "values" in layer.get("data", {})
    )
    assert {row["model"] for row in rows} == {model.title for model in models}
    missing = [figure for figure in drawn.values() if figure.spec is None]
    assert all(figure.missing for figure in missing)


def test_oscr_counts_objects_along_the_score(models):
    rows = oscr(models)
    for model in models:
        mine = [row for row in rows if row["model"] == model.title]
        assert len(mine) == len(model.sliders.score)
        for row in mine[::40]:
            matches = model.matches
            call, target = called(matches, row["level"], None), targets(matches)
            fate = fates(matches, call, target)
            unknown = (matches.objects.klass == matches.n_known) & (fate != IGNORED)
            known = ~unknown & (fate != IGNORED)
            assert row["x"] == round((unknown & (fate == WRONG)).sum() / unknown.sum(), 5)
            assert row["y"] == round((known & (fate == RIGHT)).sum() / known.sum(), 5)
        for axis in ("x", "y"):
            assert np.all(np.diff([row[axis] for row in mine]) <= 0)


def test_the_curve_of_ap_unknown_is_of_ranked_boxes(models):
    rows = unknown_ranked(models)
    assert rows
    for model in models:
        mine = [row for row in rows if row["model"] == model.title]
        matches, outcome = model.matches, model.matches.outcome()
        objects, right, wanted = int(matches.positives[-1]), 0, []
        ranked = np.flatnonzero(matches.labelled_unknown & ~outcome.ignored)  # best first
        for boxes, row in enumerate(ranked, 1):
            if outcome.correct[row]:
                right += 1
                wanted.append((round(right / objects, 5), round(right / boxes, 5)))
        assert [(row["x"], row["y"]) for row in mine] == wanted


def test_wilderness_impact_by_score_is_a_loss_of_precision(models):
    for row in wilderness_by_score(models)[::37]:
        matches = next(model.matches for model in models if model.title == row["model"])
        outcome = matches.outcome()
        kept = ~matches.labelled_unknown & ~outcome.ignored & (matches.score >= row["x"])
        closed = kept & ~matches.open_set_errors
        right = (kept & outcome.correct).sum()
        if right:
            apart = (right / closed.sum()) / (right / kept.sum()) - 1
            assert row["y"] == pytest.approx(apart, abs=2e-3 * (1 + apart))


def test_charts_say_where_detectors_change_places():
    lines = {"a": [(0.0, 0.0), (1.0, 1.0)], "b": [(0.0, 1.0), (0.6, 0.5), (1.0, 0.0)]}
    rows = [{"model": m, "x": x, "y": y} for m, some in lines.items() for x, y in some]
    assert order_changes(rows) == [0.6]
    assert order_changes(rows[:2]) == order_changes([]) == []
    level = [{"model": m, "x": x, "y": y} for m, y in (("a", 0.1), ("b", 0.2)) for x in (0.0, 1.0)]
    assert order_changes(level) == []


def test_cursors_start_at_the_operating_point(models):
    spec = next(f for f in curve_figures(models) if f.name == "precision-recall-known").spec
    cursor = next(
        layer["data"]["values"]
        for layer in spec["layer"]
        if layer.get("data", {}).get("name") == "cursor"
    )
    assert [row["x"] for row in cursor] == [round(m.flow.known_recall, 5) for m in models]


def test_nothing_to_draw_is_said_for_its_true_reason():
    """Images are wild, but no class gets as far as the recall at which it is measured."""
    made = run(3, images=40, models=1)
    detections = made.detections["first"]
    few = detections.select(np.arange(len(detections)) % 4 == 0)
    again = evaluate_all(
        made.truth, {"few": few}, known=made.vocabulary, intervals=False, force=True
    )
    drawn = {figure.name: figure for figure in curve_figures(deployed(again))}
    assert again.evaluations["few"].matches.wild.any()
    assert drawn["wilderness-impact-ratio"].spec is None
    assert "reaches recall" in drawn["wilderness-impact-ratio"].missing


def test_ticks_differ_and_scales_that_are_not_linear_say_so(models):
    drawn = {figure.name: figure for figure in curve_figures(models)}
    errors = drawn["a-ose-score"].spec["layer"][0]["encoding"]["y"]
    assert errors["title"].endswith("(√ scale)")
    assert errors["axis"]["tickMinStep"] == 1
    assert drawn["oscr"].spec["layer"][0]["encoding"]["x"]["axis"]["format"] == ".3~%"


def test_the_legend_has_the_shapes_of_the_marks(models):
    layers = next(f for f in curve_figures(models) if f.name == "oscr").spec["layer"]
    colour, shape = (layers[-1]["encoding"][name] for name in ("color", "shape"))
    assert shape["legend"] == colour["legend"] is not None
    assert shape["scale"]["domain"] == colour["scale"]["domain"]
    assert len(set(shape["scale"]["range"])) == len(models)


def test_slices_are_figures_too(made, models):
    drawn = slice_figures(breakdown(models))
    assert all(figure.spec["facet"] for figure in drawn)
    assert len({figure.name for figure in drawn}) == len(drawn)
